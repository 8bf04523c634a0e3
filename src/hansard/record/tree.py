"""The Merkle tree of RFC 6962: roots and proofs from few stored hashes (FORMAT.md §19).

The hashes of all complete subtrees are stored in one list, in the order in which they
become known: of each leaf its own, then those of the subtrees that it completes. So the
list only grows, `position` says where a hash stands, and whoever holds the list adds a leaf,
takes a root or makes a proof by reading O(log n) of it (as Go's `tlog` does).

>>> stored = []
>>> for number in range(3):
...     stored += added(number, leaf_hash(b"line %d" % number), reader(stored))
>>> stored_hashes(3) == len(stored) == 4
True
>>> proof = inclusion(1, 3, reader(stored))
>>> includes(1, 3, leaf_hash(b"line 1"), proof, root(3, reader(stored)))
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from hashlib import sha256

EMPTY = sha256(b"").digest()  # the root of a tree without leaves
MAX_SIZE = (1 << 53) - 1  # of a tree: what three languages count to
MOST_HASHES = 64  # of a proof; one of a tree of that size has at most 54

Read = Callable[[Sequence[int]], Sequence[bytes]]  # the stored hashes at these positions
Range = tuple[int, int]  # leaves from the first, before the second


def leaf_hash(line: bytes) -> bytes:
    """Return the hash of a leaf."""
    return sha256(b"\0" + line).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node over its two halves."""
    return sha256(b"\1" + left + right).digest()


def reader(stored: Sequence[bytes]) -> Read:
    """Return what reads stored hashes that are at hand."""
    return lambda places: [stored[place] for place in places]


def position(level: int, number: int) -> int:
    """Return where the hash of a complete subtree is stored.

    That of level 0 is a leaf, that of level k has 2^k leaves; `number` counts the subtrees
    of one level from 0.
    """
    last = (number + 1 << level) - 1  # its last leaf, which completes it
    return 2 * last - last.bit_count() + level


def stored_hashes(size: int) -> int:
    """Return how many hashes are stored of a tree of this size."""
    return position(0, size)


def added(size: int, leaf: bytes, read: Read) -> list[bytes]:
    """Return the hashes to store, from `stored_hashes(size)` on, when a leaf is added.

    `leaf` is its hash. As many are read as trees that it completes: one on average.
    """
    completes = (~size & size + 1).bit_length() - 1  # the number of ones that `size` ends in
    halves = read([position(level, (size >> level) - 1) for level in range(completes)])
    found = [leaf]
    for half in halves:
        found.append(node_hash(half, found[-1]))
    return found


def root(size: int, read: Read) -> bytes:
    """Return the root of the tree of the first `size` leaves."""
    return _hashes([(0, size)], read)[0]


def inclusion(index: int, size: int, read: Read) -> list[bytes]:
    """Return the proof that leaf `index` is in the tree of `size` leaves, its sibling first."""
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} leaves has no leaf {index}")
    return _hashes(_path(index, (0, size)), read)


def consistency(old: int, new: int, read: Read) -> list[bytes]:
    """Return the proof that the tree of `new` leaves begins with that of `old` leaves."""
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {new} leaves does not extend one of {old}")
    if old in (0, new):
        return []
    begin, end, path = 0, new, list[Range]()
    while end != old:
        middle = begin + _left(end - begin)
        if old <= middle:
            path.append((middle, end))
            end = middle
        else:
            path.append((begin, middle))
            begin = middle
    own = [(begin, end)] if begin else []  # of a whole old tree the reader has the root
    return _hashes([*own, *reversed(path)], read)


def includes(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> bool:
    """Say whether a proof shows the leaf with this hash at `index` under `root`.

    RFC 9162, 2.1.3.2.
    """
    if not 0 <= index < size:
        return False
    at, last, found = index, size - 1, leaf
    for step in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            found = node_hash(step, found)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            found = node_hash(found, step)
        at, last = at >> 1, last >> 1
    return last == 0 and found == root


def extends(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Say whether a proof shows that the new tree begins with the old one.

    RFC 9162, 2.1.4.2; every tree begins with the empty one.
    """
    if old == new:
        return not proof and old_root == new_root
    if not 0 < old < new:
        return old == 0 and not proof and old_root == EMPTY
    steps = [old_root, *proof] if old & old - 1 == 0 else [*proof]
    at, last = old - 1, new - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    if not steps:
        return False
    before = after = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            before, after = node_hash(step, before), node_hash(step, after)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            after = node_hash(after, step)
        at, last = at >> 1, last >> 1
    return last == 0 and before == old_root and after == new_root


@dataclass
class Edge:
    """The right edge of a tree that grows: what the root of a stream of leaves needs.

    `hashes` are the roots of its complete subtrees, the largest first: one for each one in
    the binary `size`.
    """

    size: int = 0
    hashes: list[bytes] = field(default_factory=list)

    def add(self, leaf: bytes) -> None:
        """Add a leaf, given as its hash."""
        size, hashes = self.size, self.hashes
        while size & 1:
            leaf = node_hash(hashes.pop(), leaf)
            size >>= 1
        hashes.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """Return the root of the leaves so far."""
        return _fold(self.hashes)


def edge(size: int, read: Read) -> Edge:
    """Return the right edge of the tree of the first `size` leaves."""
    return Edge(size, [*read([*_complete(0, size)])])


def _fold(hashes: Sequence[bytes]) -> bytes:
    """Return the root over complete subtrees, the largest first."""
    if not hashes:
        return EMPTY
    return reduce(lambda right, left: node_hash(left, right), reversed(hashes))


def _left(size: int) -> int:
    """Return the size of the left half: the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def _path(index: int, leaves: Range) -> list[Range]:
    """Return the siblings on the way from a leaf up to the root."""
    begin, end = leaves
    path = list[Range]()
    while end - begin > 1:
        middle = begin + _left(end - begin)
        if index < middle:
            path.append((middle, end))
            end = middle
        else:
            path.append((begin, middle))
            begin = middle
    return path[::-1]


def _hashes(ranges: Sequence[Range], read: Read) -> list[bytes]:
    """Return the hash over each range of leaves, all read at once."""
    parts = [list(_complete(*leaves)) for leaves in ranges]
    stored = iter(read([place for places in parts for place in places]))
    return [_fold([next(stored) for _ in places]) for places in parts]


def _complete(begin: int, end: int) -> Iterator[int]:
    """Yield the positions of the complete subtrees that a range is made of, the largest first."""
    while begin < end:
        level = (end - begin).bit_length() - 1
        yield position(level, begin >> level)
        begin += 1 << level
