"""The tree of RFC 6962: published vectors, its own definition, and few hashes read."""

import random

import pytest

from hansard.record.tree import (
    EMPTY,
    Edge,
    added,
    consistency,
    extends,
    includes,
    inclusion,
    leaf_hash,
    node_hash,
    position,
    reader,
    root,
    stored_hashes,
)
from hansard.record.tree import (
    edge as tree_edge,
)

# The leaves, roots and proofs that Certificate Transparency's own implementations are
# tested with (github.com/transparency-dev/merkle, testonly/constants.go, proof/verify_test.go).
LEAVES = [
    *map(bytes.fromhex, ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")),
    bytes.fromhex("606162636465666768696a6b6c6d6e6f"),
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
INCLUSION = {
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
CONSISTENCY = {
    (1, 1): [],
    (1, 8): INCLUSION[0, 8],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): INCLUSION[1, 5][1:],
    (6, 7): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
}
SOME = bytes.fromhex("abacaba000000000000000000000000000000000000000000060061e00123456")


def tree_of(leaves):
    """Return the stored hashes of a tree that grew leaf by leaf."""
    stored = []
    for number, leaf in enumerate(leaves):
        assert len(stored) == stored_hashes(number)
        stored += added(number, leaf_hash(leaf), reader(stored))
    return stored


def unhex(hashes):
    return [bytes.fromhex(row) for row in hashes]


STORED = tree_of(LEAVES)


def test_the_hashes_that_others_publish():
    assert leaf_hash(b"L123456").hex() == (
        "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56"
    )
    assert node_hash(b"N123", b"N456").hex() == (
        "aa217fe888e47007fa15edab33c2b492a722cb106c64667fc2b044444de66bbb"
    )
    for size, expected in enumerate(ROOTS):
        edge = Edge()
        for leaf in LEAVES[:size]:
            edge.add(leaf_hash(leaf))
        assert edge.root().hex() == root(size, reader(STORED)).hex() == expected
        assert edge == tree_edge(size, reader(STORED))
        assert edge.size == size
        assert len(edge.hashes) == size.bit_count()
    assert EMPTY.hex() == ROOTS[0]


@pytest.mark.parametrize(("index", "size"), INCLUSION)
def test_the_inclusion_proofs_that_others_publish(index, size):
    proof, leaf = unhex(INCLUSION[index, size]), LEAVES[index]
    top = bytes.fromhex(ROOTS[size])
    assert inclusion(index, size, reader(STORED)) == proof
    assert includes(index, size, leaf_hash(leaf), proof, top)
    wrong = [
        (index - 1, size, proof),
        (index + 1, size, proof),
        (index ^ 2, size, proof),
        (index, size * 2, proof),
        (index, size // 2, proof),
        (index, size, [*proof, b""]),
        (index, size, [*proof, top]),
        (index, size, [b"", *proof]),
        (index, size, [top, *proof]),
        *(
            (index, size, [*proof[:at], flip(row), *proof[at + 1 :]])
            for at, row in enumerate(proof)
        ),
        *([(index, size, proof[:-1])] if proof else []),
        *([(index, size, [proof[0], SOME, *proof[1:]])] if proof else []),
    ]
    for at, of, hashes in wrong:
        assert not includes(at, of, leaf_hash(leaf), hashes, top)
    assert not includes(index, size, b"WrongLeaf", proof, top)
    assert not includes(index, size, leaf_hash(leaf), proof, SOME)
    assert not includes(index, size, leaf_hash(leaf), proof, EMPTY)


def flip(row):
    return bytes([row[0] ^ 8]) + row[1:]


@pytest.mark.parametrize(("old", "new"), CONSISTENCY)
def test_the_consistency_proofs_that_others_publish(old, new):
    proof = unhex(CONSISTENCY[old, new])
    before, after = unhex([ROOTS[old], ROOTS[new]])
    assert consistency(old, new, reader(STORED)) == proof
    assert extends(old, new, before, after, proof)
    if not proof:
        assert not extends(old, new, before, after, [EMPTY])
        return
    for sizes in ((old - 1, new), (old + 1, new), (old ^ 2, new), (old, new * 2), (old, new // 2)):
        assert not extends(*sizes, before, after, proof)
    garbage = [[], [*proof, b""], [*proof, before], [*proof, after], proof[:-1]]
    garbage += [[row, *proof] for row in (b"", before, after, proof[0])]
    garbage += [[*proof[:at], flip(row), *proof[at + 1 :]] for at, row in enumerate(proof)]
    for hashes in garbage:
        assert not extends(old, new, before, after, hashes)
    assert not extends(old, new, b"WrongRoot", after, proof)
    assert not extends(old, new, before, b"WrongRoot", proof)
    assert not extends(old, new, after, before, proof)


def test_sizes_that_need_no_proof():
    one, two = b"1" * 32, b"2" * 32
    assert extends(0, 0, EMPTY, EMPTY, [])
    assert extends(0, 1, EMPTY, one, [])
    assert extends(1, 1, one, one, [])
    assert not extends(0, 1, one, two, [])
    assert not extends(1, 1, one, two, [])
    assert not extends(0, 0, EMPTY, two, [])
    assert not extends(1, 0, one, two, [])
    assert not extends(2, 1, one, two, [])
    assert not extends(-1, 1, EMPTY, two, [])
    assert not extends(1, 2, one, two, [])
    assert not extends(0, 1, EMPTY, two, [EMPTY])
    assert not extends(1, 1, EMPTY, EMPTY, [EMPTY])
    for index, size in ((0, 0), (1, 0), (2, 1), (-1, 1)):
        assert not includes(index, size, EMPTY, [], EMPTY)


def top_of(leaves):
    """MTH of RFC 6962, 2.1, as it stands there."""
    if not leaves:
        return EMPTY
    if len(leaves) == 1:
        return leaf_hash(leaves[0])
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return node_hash(top_of(leaves[:half]), top_of(leaves[half:]))


def test_every_proof_of_every_small_tree_holds_and_no_other_does():
    leaves = [b"%d" % number for number in range(33)]
    read, roots = reader(tree_of(leaves)), [top_of(leaves[:size]) for size in range(34)]
    for size in range(1, 34):
        assert root(size, read) == roots[size]
        for index in range(size):
            proof = inclusion(index, size, read)
            held = [
                at
                for at in range(size)
                if includes(at, size, leaf_hash(leaves[index]), proof, roots[size])
            ]
            assert held == [index]
        for old in range(size + 1):
            proof = consistency(old, size, read)
            held = [
                at for at in range(size + 1) if extends(at, size, roots[old], roots[size], proof)
            ]
            assert held == [old]


def test_what_cannot_be_proven_is_refused():
    for index, size in ((3, 3), (-1, 3), (0, 0)):
        with pytest.raises(ValueError, match="has no leaf"):
            inclusion(index, size, reader(STORED))
    for old, new in ((4, 3), (-1, 3)):
        with pytest.raises(ValueError, match="does not extend"):
            consistency(old, new, reader(STORED))


def test_the_stored_hashes_stand_where_others_store_them():
    """Positions as in Go's `tlog.StoredHashIndex`, worked out from its rule level by level."""

    def stored_index(level, number):
        for _ in range(level):
            number = 2 * number + 1
        at = level
        while number:
            at += number
            number >>= 1
        return at

    for level in range(6):
        for number in range(40):
            assert position(level, number) == stored_index(level, number)


def test_few_hashes_are_read_however_large_the_tree():
    """Of a million lines an append reads one on average, a root or proof at most forty."""
    size, chance, reads = 1_000_000, random.Random(6962), []

    def read(places):
        reads.append(len(places))
        assert all(0 <= place < stored_hashes(size) for place in places)
        return [b"%032d" % place for place in places]

    for _ in range(200):
        root(chance.randrange(1, size + 1), read)
        new = chance.randrange(2, size + 1)
        inclusion(chance.randrange(new), new, read)
        consistency(chance.randrange(new), new, read)
    assert max(reads) <= 40
    reads.clear()
    for number in range(4096):
        added(number, EMPTY, read)
    assert sum(reads) < 4096
