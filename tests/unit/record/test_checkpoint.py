"""Checkpoints, cosignatures and proofs: those of others are read, and ours have one spelling."""

import base64
import io

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansard.errors import DataError
from hansard.record import checkpoint, note, tree
from hansard.record.checkpoint import Head
from hansard.record.keys import Trust, TrustedKey, is_origin_of
from hansard.record.note import Signer, VerifierKey, cosigned_at, witness_key
from hansard.record.register import Line, tag

# A checkpoint of a public log of Certificate Transparency, cosigned by witnesses
# (github.com/larsch/tlog-scales, its tests). Its first signature line is of a type of its own.
PUBLIC = """arche2025h1.staging.ct.transparency.dev
1432088532
U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=

— arche2025h1.staging.ct.transparency.dev zTM8sQAAAZ5W0WdjBAMARjBEAiBjW5IQf9pvsYLfQFX6hoGREPMHbdQ3urbllzalApkptQIgIpwtEroeW2BXaHAI4kJXFbon5Ch9MNL5zRNZ55lvGt0=
— arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=
— transparency.dev/DEV:witness-little-garden 2AQqhwAAAABqEiEgzgFIqqhbUoDwjMWE6UP8nd8/KYTzwZ2rhIgcqoXHAwVkjZr4AscylP3v7sEodkRAErumC2q44vdgJY096st5BQ==
— remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==
""".encode()  # noqa: E501 - as it was published
PUBLIC_LOG = (
    "arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f"
)
PUBLIC_WITNESS = "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2"

LOG = Signer("example.org/log", Ed25519PrivateKey.from_private_bytes(b"l" * 32))
WITNESS = Signer("example.net/witness", Ed25519PrivateKey.from_private_bytes(b"w" * 32))
LINES = [Line(index, "opened", tag(str(index)), "0" * 64) for index in range(5)]
STORED: list[bytes] = []
for _line in LINES:
    STORED += tree.added(_line.index, _line.leaf, tree.reader(STORED))
READ = tree.reader(STORED)
HEAD = Head("example.org/log", 5, tree.root(5, READ))
SIGNED = checkpoint.sign(HEAD, LOG)
PROOF = checkpoint.write_proof(LINES[3], tree.inclusion(3, 5, READ), SIGNED)


def refused(read, data, code):
    with pytest.raises(DataError) as caught:
        read(data)
    return caught.value.code == code


def test_a_public_checkpoint_and_its_cosignature_are_read():
    found = checkpoint.parse(PUBLIC)
    assert (found.head.origin, found.head.size) == (PUBLIC_LOG.partition("+")[0], 1432088532)
    log, witness = VerifierKey.parse(PUBLIC_LOG), VerifierKey.parse(PUBLIC_WITNESS)
    assert found.note.signed_by(log)
    assert found.note.signed_by(witness)
    altered = checkpoint.parse(PUBLIC.replace(b"1432088532", b"1432088533"))
    assert not altered.note.signed_by(log)
    assert not altered.note.signed_by(witness)
    (row,) = (row for row in found.note.signatures if row.name == witness.name)
    assert cosigned_at(row.signature) == 1779573024
    assert not witness.verifies(found.note.text, b"\0" * 7 + b"\1" + row.signature[8:])
    assert not witness.verifies(found.note.text, row.signature[8:])
    assert not VerifierKey(witness.name, witness.public).verifies(found.note.text, row.signature)


def test_a_checkpoint_byte_by_byte():
    root = base64.b64encode(HEAD.root)
    assert HEAD.text() == b"example.org/log\n5\n" + root + b"\n"
    assert note.sign(HEAD.text(), LOG) == SIGNED
    found = checkpoint.parse(SIGNED)
    assert (found.data, found.head) == (SIGNED, HEAD)
    assert found.note.signed_by(LOG.key)


def test_a_log_signs_for_origins_that_begin_with_its_name():
    assert is_origin_of("a/log", "a/log")
    assert is_origin_of("a/log", "a/log/7f3a")
    assert not is_origin_of("a/log", "a/log7")
    assert not is_origin_of("a/log", "b/log")
    assert checkpoint.parse(checkpoint.sign(Head("example.org/log/2", 0, tree.EMPTY), LOG))
    with pytest.raises(ValueError, match="begins with the name"):
        checkpoint.sign(Head("example.org/other", 0, tree.EMPTY), LOG)


def test_a_witness_cosigns_a_text_and_a_time():
    cosigned = checkpoint.cosign(SIGNED, WITNESS, 1_700_000_000)
    assert cosigned.startswith(SIGNED)
    found = checkpoint.parse(cosigned)
    key = witness_key(WITNESS)
    assert found.note.signed_by(key)
    assert found.note.signed_by(LOG.key)
    row = found.note.signatures[-1]
    assert (row.key_id, cosigned_at(row.signature)) == (key.id, 1_700_000_000)
    message = b"cosignature/v1\ntime 1700000000\n" + HEAD.text()
    assert WITNESS.key.verifies(message, row.signature[8:])  # as a plain signature over both


def test_a_time_that_no_clock_has_counts_for_nothing():
    text = HEAD.text()
    for seconds in ((1 << 63) - 1, 1 << 63):
        line = note.cosignature(text, WITNESS, seconds)
        signed = checkpoint.parse(SIGNED + line).note.signed_by(witness_key(WITNESS))
        assert signed == (seconds < 1 << 63)


def test_no_more_lines_than_a_note_has():
    cosigned = SIGNED
    for second in range(15):
        cosigned = checkpoint.cosign(cosigned, WITNESS, second)
    with pytest.raises(DataError) as caught:
        checkpoint.cosign(cosigned, WITNESS, 16)
    assert caught.value.code == "checkpoint.full"


def test_other_notes_have_no_cosignatures():
    line = note.cosignature(HEAD.text(), WITNESS, 1)
    assert refused(note.parse, SIGNED + line, "note.malformed")


def text_of(*lines):
    return note.sign("".join(f"{line}\n" for line in lines).encode(), LOG)


ROOT = base64.b64encode(HEAD.root).decode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x" * (checkpoint.MAX_CHECKPOINT + 1),
        HEAD.text(),
        text_of("a log", 5, ROOT),
        text_of("", 5, ROOT),
        text_of("a/log", "05", ROOT),
        text_of("a/log", "-5", ROOT),
        text_of("a/log", 1 << 53, ROOT),
        text_of("a/log", 5, ROOT[:-1]),
        text_of("a/log", 5, ROOT[:-2] + "/="),
        text_of("a/log", 5, ROOT, "more"),
        text_of("a/log", 5),
        text_of("a/log", 0, ROOT),
        SIGNED + "— a/witness AAAA\n".encode(),
        SIGNED + "— a/witness AAAAAAB=\n".encode(),
    ],
)
def test_what_is_no_checkpoint(data):
    assert refused(checkpoint.parse, data, "checkpoint.malformed")


def test_what_is_just_a_checkpoint():
    for data in (
        text_of("a/log", 0, base64.b64encode(tree.EMPTY).decode()),
        text_of("a/log", (1 << 53) - 1, ROOT),
        SIGNED + "— a/witness AAAAAAA=\n".encode(),
    ):
        assert checkpoint.parse(data).data == data
    padded = SIGNED + b"".join(
        b"\xe2\x80\x94 a/w " + base64.b64encode(bytes(size)) + b"\n" for size in (48000, 843)
    )
    assert len(padded) < checkpoint.MAX_CHECKPOINT
    assert checkpoint.parse(padded)


def test_a_proof_byte_by_byte():
    hashes = tree.inclusion(3, 5, READ)
    rows = [b"c2sp.org/tlog-proof@v1", b"extra " + base64.b64encode(LINES[3].data), b"index 3"]
    assert b"\n".join([*rows, *map(base64.b64encode, hashes)]) + b"\n\n" + SIGNED == PROOF
    found = checkpoint.parse_proof(PROOF)
    assert (found.line, found.hashes, found.checkpoint.data) == (LINES[3], tuple(hashes), SIGNED)
    assert found.holds()


@pytest.mark.parametrize("index", range(5))
def test_a_proof_holds_of_its_own_line_alone(index):
    hashes = tree.inclusion(index, 5, READ)
    for line in LINES:
        found = checkpoint.parse_proof(checkpoint.write_proof(line, hashes, SIGNED))
        assert found.holds() == (line.index == index)


def test_a_proof_of_a_tree_of_one_line():
    head = Head("example.org/log", 1, LINES[0].leaf)
    found = checkpoint.parse_proof(checkpoint.write_proof(LINES[0], [], checkpoint.sign(head, LOG)))
    assert found.holds()


EXTRA = base64.b64encode(LINES[3].data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        SIGNED,
        PROOF[:-1],
        PROOF + b"\n",
        PROOF.replace(b"@v1", b"@v2"),
        PROOF.replace(b"extra " + EXTRA + b"\n", b""),
        PROOF.replace(EXTRA, EXTRA + b"="),
        PROOF.replace(EXTRA, base64.b64encode(b"not a line")),
        PROOF.replace(EXTRA, base64.b64encode(LINES[2].data)),
        PROOF.replace(b"index 3", b"index 2"),
        PROOF.replace(b"index 3", b"index 03"),
        PROOF.replace(b"index 3\n", b"index 3\n" + b"A" * 42 + b"B=\n"),
        PROOF.replace(b"index 3\n", b"index 3\n" + b"A" * 43 + b"\n"),
        PROOF.replace(b"index 3\n", b"index 3\n" + (b"A" * 43 + b"=\n") * tree.MOST_HASHES),
        PROOF.replace(b"\n\nexample", b"\nexample"),
        PROOF.replace(b"example.org/log\n5\n", b"example.org/log\n"),
        PROOF + b"x" * checkpoint.MAX_PROOF,
    ],
)
def test_what_is_no_proof(data):
    assert refused(checkpoint.parse_proof, data, "proof.malformed")


def test_a_proof_may_be_as_long_as_a_checkpoint_allows():
    large = SIGNED + b"\xe2\x80\x94 a/w " + base64.b64encode(bytes(48_900)) + b"\n"
    assert checkpoint.MAX_CHECKPOINT - 300 < len(large) <= checkpoint.MAX_CHECKPOINT
    hashes = [bytes(32)] * tree.MOST_HASHES
    assert not checkpoint.parse_proof(checkpoint.write_proof(LINES[3], hashes, large)).holds()


# Who cosigned


def trusting(*rows):
    return Trust(keys=[TrustedKey.model_validate(row) for row in rows])


def row_of(witness, **times):
    return {"role": "witness", "key": str(witness_key(witness)), **times}


def seen(*witnesses, seconds=1_700_000_000):
    data = SIGNED
    for witness in witnesses:
        data = checkpoint.cosign(data, witness, seconds)
    return checkpoint.parse(data)


def test_who_cosigned_and_when():
    found = seen(WITNESS).cosigned(trusting(row_of(WITNESS)))
    assert found == [("example.net/witness", "2023-11-14T22:13:20.000000Z")]
    assert seen(WITNESS).cosigned(trusting()) == []
    assert seen().cosigned(trusting(row_of(WITNESS))) == []
    log = {"role": "log", "key": str(LOG.key)}
    assert seen(WITNESS).cosigned(trusting(log, row_of(WITNESS))) == found


def test_a_witness_counts_once_under_all_its_names():
    namesake = Signer("example.net/namesake", WITNESS.private)
    found = seen(WITNESS, WITNESS, namesake).cosigned(trusting(row_of(WITNESS), row_of(namesake)))
    assert [row.name for row in found] == [WITNESS.name]


def test_a_witness_counts_in_its_time():
    at = "2023-11-14T22:13:20.000000Z"
    for times, counts in (
        ({"from": at}, True),
        ({"until": at}, False),
        ({"revoked": at}, False),
        ({"revoked": at.replace("000Z", "001Z")}, True),
    ):
        assert bool(seen(WITNESS).cosigned(trusting(row_of(WITNESS, **times)))) == counts


def test_a_forged_cosignature_counts_for_nothing():
    forged = seen(WITNESS).data.replace(b"\n5\n", b"\n6\n")
    assert checkpoint.parse(forged).cosigned(trusting(row_of(WITNESS))) == []


@pytest.mark.parametrize(
    ("seconds", "at"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (951_782_399, "2000-02-28T23:59:59.000000Z"),
        (951_782_400, "2000-02-29T00:00:00.000000Z"),
        (951_868_800, "2000-03-01T00:00:00.000000Z"),
        (1_798_761_599, "2026-12-31T23:59:59.000000Z"),
        (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
        (253_402_300_799, "9999-12-31T23:59:59.000000Z"),
    ],
)
def test_when_a_time_was(seconds, at):
    (found,) = seen(WITNESS, seconds=seconds).cosigned(trusting(row_of(WITNESS)))
    assert found.at == at


def test_a_time_after_the_last_year_counts_for_nothing():
    assert seen(WITNESS, seconds=253_402_300_800).cosigned(trusting(row_of(WITNESS))) == []


SOME = [b"a\n1\nx\n\n\xe2\x80\x94 k s\n", b"a\n2\ny\n\n\xe2\x80\x94 k s\n\xe2\x80\x94 w c\n"]


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"", []),
        (b"".join(SOME), SOME),
        (b"none\n" + SOME[0], [b"none\n" + SOME[0]]),
        (SOME[0] + b"none", [SOME[0], b"none"]),
        (SOME[1][:-1], [SOME[1][:-1]]),
        (
            b"x" * checkpoint.MAX_CHECKPOINT + b"\xe2\x80\x94 k\n",
            None,
        ),  # no line begins within a line
    ],
)
def test_checkpoints_that_stand_one_after_the_other_are_divided(data, parts):
    assert [*checkpoint.split(io.BytesIO(data).readline)] == ([data] if parts is None else parts)


def test_what_is_too_long_for_a_checkpoint_is_cut_off_and_what_follows_is_read():
    long = b"x" * 9 * checkpoint.MAX_CHECKPOINT + b"\n\xe2\x80\x94 k s\n"
    first, second = checkpoint.split(io.BytesIO(long + SOME[0]).readline)
    assert (checkpoint.MAX_CHECKPOINT < len(first) <= 2 * checkpoint.MAX_CHECKPOINT, second) == (
        True,
        SOME[0],
    )
