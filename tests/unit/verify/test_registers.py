"""A whole register: what it must give, and what a checkpoint from outside shows of it."""

import gc
import io
import re
import tempfile
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import verify as tool
from hansard.errors import DataError, UsageError
from hansard.record import checkpoint as checkpoints
from hansard.record import note
from hansard.record.checkpoint import Head
from hansard.record.keys import Trust, TrustedKey
from hansard.record.note import Signer, witness_key
from hansard.record.register import Line, tag
from hansard.record.tree import EMPTY, Edge
from hansard.verify import registers
from hansard.verify.register import kept as read_kept
from hansard.verify.registers import MOST_LISTED, check_export, verify_register
from measuring import traced

LOG, STRANGER, WITNESS = (
    Signer(name, Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32))
    for name, seed in (("acme/log", 1), ("acme/log", 2), ("other/witness", 3))
)
TRUST = Trust(
    keys=[
        TrustedKey.model_validate({"role": "log", "key": str(LOG.key)}),
        TrustedKey.model_validate({"role": "witness", "key": str(witness_key(WITNESS))}),
    ]
)
LINES = [
    Line(0, "opened", tag("a"), "0" * 64),
    Line(1, "opened", tag("b"), "1" * 64),
    Line(2, "key_approved", tag("2" * 64), "2" * 64),
    Line(3, "head", tag("a"), "3" * 64),
    Line(4, "head", tag("a"), "4" * 64),
]


def root_of(lines):
    edge = Edge()
    for line in lines:
        edge.add(line.leaf)
    return edge.root()


def checkpoint(lines=LINES, origin="acme/log", by=LOG):
    return note.sign(Head(origin, len(lines), root_of(lines)).text(), by)


def file_of(lines=LINES):
    return b"".join(line.data + b"\n" for line in lines)


def look(data=None, own=None, trust=TRUST, **given):
    """What the package finds, once tools/verify.py has found the same."""
    data = file_of() if data is None else data
    own = checkpoint() if own is None else own
    found = verify_register(io.BytesIO(data).readline, own, trust, **given)
    with NamedTemporaryFile() as file:
        Path(file.name).write_bytes(trust.dump())
        keys, _, witnesses = tool.read_trust(Path(file.name))
    if given.get("since"):
        given["since"] = tool.read_checkpoint(given["since"].data)
    other = tool.verify_register(io.BytesIO(data).readline, own, keys, witnesses, **given)
    mine = [row.model_dump() for row in found.findings]
    assert [row._asdict() for row in other.findings] == mine
    for name in ("level", "size", "whole", "opened", "compared", "signed", "anchored"):
        assert getattr(other, name) == getattr(found, name), name
    for name in given.get("about", ()):
        heads = heads_of(found, name)
        assert other.heads.ends(name) == (heads and [heads[0], heads[-1]])
        beside = next(iter(heads[1:]), None)
        assert not heads or other.heads.first_beside(name, heads[:1]) == beside
    return found


def heads_of(found, name):
    """The heads of a record, the first one first; nothing for one that is not there."""
    return [*found.heads.back(name)][::-1] if name in found.heads else []


def codes(found):
    return [(row.code, row.seq) for row in found.findings]


def test_a_register_that_is_whole():
    found = look(about={tag("a"), tag("c"), tag("2" * 64)})
    assert (codes(found), found.size, found.level, found.compared) == ([], 5, 1, 0)
    assert (found.whole, found.opened) == (True, 2)
    assert heads_of(found, tag("a")) == ["0" * 64, "3" * 64, "4" * 64]
    assert tag("c") not in found.heads
    assert tag("2" * 64) not in found.heads
    empty = note.sign(Head("acme/log", 0, EMPTY).text(), LOG)
    assert look(b"", empty).level == 1


def test_a_record_whose_first_line_is_no_opening_has_no_first_entry():
    lines = [Line(0, "head", tag("a"), "0" * 64), Line(1, "gate", tag("b"), "1" * 64)]
    found = look(file_of(lines), checkpoint(lines), about={tag("a"), tag("b")})
    assert heads_of(found, tag("a")) == ["", "0" * 64]
    assert heads_of(found, tag("b")) == ["1" * 64]
    assert found.opened == 1


def test_who_signed_it():
    assert look(own=checkpoint(by=STRANGER)).level == 0
    assert look(own=checkpoint(origin="another/log")).level == 0
    assert look(own=checkpoint(origin="acme/log/2")).level == 1
    assert codes(look(own=b"a note\n")) == [("17.signature", 0)]


@pytest.mark.parametrize(
    ("data", "seq"),
    [
        (file_of().replace(b'"index":2', b'"index":3'), 3),
        (file_of().replace(b'"head","tag"', b'"heads","tag"'), 4),
        (file_of()[:-1], 5),
        (b"x" * 1_000_000 + b"\n", 1),
        (file_of(LINES[:3]) + b"\n" + file_of(LINES[3:]), 4),
        (file_of([LINES[0], LINES[0]]), 2),
    ],
)
def test_a_line_that_is_none_ends_the_reading(data, seq):
    found = look(data)
    assert codes(found) == [("17.line", seq)], "what covers the rest is not compared"
    assert (found.size, found.level) == (seq - 1, None)


def test_no_more_of_a_line_is_read_than_a_line_has():
    asked = []

    def read(most):
        asked.append(most)
        return b"x" * most

    assert ("17.line", 1) in codes(verify_register(read, checkpoint(), TRUST))
    assert asked == [258]


def test_lines_and_checkpoint_fit_each_other():
    assert codes(look(file_of(LINES[:4]))) == [("17.size", 0)]
    assert codes(look(own=checkpoint(LINES[:4]))) == [("17.size", 0)]
    altered = [*LINES[:4], Line(4, "head", tag("a"), "5" * 64)]
    assert codes(look(file_of(altered))) == [("17.root", 0)]


def test_every_checkpoint_that_was_kept_is_compared():
    kept = [checkpoint(LINES[:size]) for size in (1, 2, 4, 4)]
    found = look(kept=kept)
    assert (codes(found), found.compared) == ([], 4)
    wrong = [*LINES[:1], Line(1, "opened", tag("c"), "1" * 64)]
    assert codes(look(kept=[kept[0], checkpoint(wrong), kept[2]])) == [("17.kept", 2)]
    assert codes(look(kept=[kept[1], kept[0]])) == [("17.kept", 1)]
    assert codes(look(kept=[checkpoint(LINES[:1], "acme/log/2")])) == [("17.kept", 1)]
    more = [*LINES, Line(5, "opened", tag("c"), "1" * 64)]
    assert codes(look(kept=[kept[0], checkpoint(more)])) == [("17.kept", 6)]
    broken = look(kept=[b"none", kept[0], b"", kept[1]])
    assert [(row.code, row.seq, row.found) for row in broken.findings] == [("17.kept", 0, 2)]
    assert broken.compared == 2
    many = look(kept=[checkpoint(wrong)] * (MOST_LISTED + 1))
    assert len(many.findings) == MOST_LISTED


def test_no_more_checkpoints_are_listed_than_fit(monkeypatch):
    """A thousand of 64 KB take 130 MB, beside the largest export."""
    wrong = checkpoint([*LINES[:1], Line(1, "opened", tag("c"), "1" * 64)])
    for module in (registers, tool):
        monkeypatch.setattr(module, "MOST_SAID", 3 * len(wrong))
    assert len(look(kept=[wrong] * 3).findings) == 3
    assert len(look(kept=[wrong] * 9).findings) == 3


def since(lines, **given):
    return read_kept(checkpoint(lines, **given), TRUST)


@pytest.mark.parametrize("size", range(6))
def test_a_checkpoint_from_outside_that_it_extends(size):
    found = look(since=since(LINES[:size]))
    assert (codes(found), found.level) == ([], 2)


def test_a_checkpoint_from_outside_that_it_does_not_extend():
    other = [*LINES[:2], Line(2, "key_approved", tag("5" * 64), "5" * 64)]
    found = look(since=since(other))
    assert (codes(found), found.level) == ([("17.fork", 3)], None)
    assert found.findings[0].expected == checkpoint(other).decode()
    assert found.findings[0].found == Head("acme/log", 3, root_of(LINES[:3])).text().decode()
    assert codes(look(since=since([*LINES, LINES[0]]))) == [("17.rewound", 0)]
    for lines in (LINES[:2], [*LINES, LINES[0]]):
        foreign = look(since=since(lines, origin="acme/log/2"))
        assert (codes(foreign), foreign.level) == ([("17.origin", 0)], None)


def test_a_fork_is_shown_with_both_notes():
    other = [*LINES[:2], Line(2, "key_approved", tag("5" * 64), "5" * 64)]
    found = look(since=since(other), kept=[checkpoint(LINES[:1]), checkpoint(LINES[:3])])
    assert found.findings[0].found == checkpoint(LINES[:3]).decode()
    last = [*LINES[:4], Line(4, "head", tag("a"), "5" * 64)]
    found = look(since=since(last))
    assert (codes(found), found.findings[0].found) == ([("17.fork", 5)], checkpoint().decode())


def test_enough_witnesses():
    own = checkpoints.cosign(checkpoint(), WITNESS, 1_700_000_000)
    for needed, level in ((0, 1), (1, 2), (2, 1)):
        assert look(own=own, trust=TRUST.model_copy(update={"witnesses": needed})).level == level
    assert look(own=checkpoint(by=STRANGER), since=since(LINES)).level == 0


def test_only_a_checkpoint_of_a_trusted_log_is_one_that_was_kept():
    assert since(LINES).head.size == 5
    assert read_kept(checkpoint(origin="acme/log/2"), TRUST).head.origin == "acme/log/2"
    revoked = {"role": "log", "key": str(LOG.key), "revoked": "2026-01-01T00:00:00.000000Z"}
    assert read_kept(checkpoint(), Trust(keys=[TrustedKey.model_validate(revoked)]))
    for data, code in (
        (checkpoint(by=STRANGER), "checkpoint.unsigned"),
        (checkpoint(origin="another/log"), "checkpoint.unsigned"),
        (b"", "checkpoint.malformed"),
    ):
        with pytest.raises(DataError) as caught:
            read_kept(data, TRUST)
        assert caught.value.code == code


@pytest.mark.parametrize("verify", ["package", "tool"])
def test_memory_does_not_grow_with_the_lines_of_a_record(verify, monkeypatch, tmp_path):
    monkeypatch.setattr(registers, "_IN_MEMORY", 1_000)
    monkeypatch.setattr(tool, "IN_MEMORY", 1_000)
    asked = tag("a")
    trust = tmp_path / "trust.json"
    trust.write_bytes(TRUST.dump())
    given = (TRUST,) if verify == "package" else tool.read_trust(trust)[::2]
    work = verify_register if verify == "package" else tool.verify_register

    def peak(count):
        lines = (Line(at, "head" if at else "opened", asked, f"{at:064}") for at in range(count))
        edge = Edge()
        for at in range(count):
            edge.add(Line(at, "head" if at else "opened", asked, f"{at:064}").leaf)
        own = checkpoints.sign(Head("acme/log", count, edge.root()), LOG)

        def read(_):
            return next((line.data + b"\n" for line in lines), b"")

        found, most = traced(lambda: work(read, own, *given, about={asked}))
        assert found.level == 1
        assert asked in found.heads if verify == "package" else found.heads.ends(asked)
        return most

    peak(10)  # what is read once
    assert peak(4_000) < peak(500) + 20_000


def test_what_is_on_disk_is_compared_as_what_is_in_memory(monkeypatch):
    lines = [Line(at, "head" if at else "opened", tag("a"), f"{at:064}") for at in range(50)]
    seen: Any = SimpleNamespace(place=None, debate="a")
    found = list[list[tuple[str, object]]]()
    for most in (1, 1 << 20):
        monkeypatch.setattr(registers, "_IN_MEMORY", most)
        check = look(file_of(lines), checkpoint(lines), about={tag("a")})
        for entries in ([f"{at:064}" for at in range(50)], [f"{0:064}", f"{2:064}", f"{49:064}"]):
            rows = check_export(check, "a.zip", entries, seen)
            found.append([(row.code, row.found) for row in rows])
    assert found == [[], [("17.replaced", f"{1:064}")]] * 2


@pytest.mark.parametrize("count", [3, 2_000])  # found when it is read, and while it is written
def test_a_temporary_disk_without_room_is_said_alike(monkeypatch, count):
    monkeypatch.setattr(registers, "_IN_MEMORY", 1)
    monkeypatch.setattr(tool, "IN_MEMORY", 1)
    full = Path("/dev/full")
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full.open("w+b"))
    asked = tag("a")
    lines = [Line(at, "head" if at else "opened", asked, f"{at:064}") for at in range(count)]
    data, own = file_of(lines), checkpoint(lines)

    def by_package():
        check = verify_register(io.BytesIO(data).readline, own, TRUST, about={asked})
        return check.heads.ends(asked)

    def by_tool():
        check = tool.verify_register(io.BytesIO(data).readline, own, [], about={asked})
        return check.heads.ends(asked)

    said = "^" + re.escape("no temporary file can be written (No space left on device): ")
    for verify, error in ((by_package, UsageError), (by_tool, tool.CannotOpen)):
        with pytest.raises(error, match=said):
            verify()
    gc.collect()  # what is closed then does not complain once more
