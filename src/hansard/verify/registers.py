"""A whole register against its checkpoint, those the store kept, and one from outside (§19).

Line by line: of a register of a million lines nothing is kept but its right edge, and the
heads of each record that is asked about, on disk once they are many. The lines may be those of a
file or of a store.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from weakref import finalize

from hansard.errors import DataError, on_disk
from hansard.record import checkpoint as checkpoints
from hansard.record import register
from hansard.record.checkpoint import Checkpoint, Head
from hansard.record.keys import Trust
from hansard.record.register import OF_RECORDS, OPENING, Line
from hansard.record.tree import Edge, leaf_hash
from hansard.verify.findings import Finding, Verification, finding
from hansard.verify.register import signed_by_log

MOST_LISTED = 1000  # findings of the checkpoints that were kept: there may be a million
MOST_SAID = 1 << 23  # characters of these checkpoints together: each may have 65,536

Read = Callable[[int], bytes]  # the next line with its LF, of at most so many bytes

_ROW = struct.Struct("<64sq")  # a head, and the number of the row before it about its record
_IN_MEMORY = 1 << 24  # bytes of rows, until they are on disk


class Heads:
    """What the lines about each record that is asked about name, in bounded memory.

    A register may have any number of lines about a record. So the heads of all records are rows
    of one file, each of which leads to the one before it about the same record. The first head of
    a record is empty where its first line is not that of an opening. Where there is no disk for
    the file, every method raises UsageError `system.temporary`.
    """

    def __init__(self, about: Collection[str] = ()) -> None:
        self._about = about
        self._rows = 0
        self._ends: dict[str, tuple[int, int]] = {}  # by tag: its first row and its last
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - as long as this object
        finalize(self, _close, self._file)

    def add(self, line: Line) -> None:
        """Take in the next line; all of them before anything is asked."""
        if line.tag not in self._about or line.kind not in OF_RECORDS:
            return
        if line.tag not in self._ends and line.kind not in OPENING:
            self._add(line.tag, "")
        self._add(line.tag, line.head)

    def _add(self, tag: str, head: str) -> None:
        first, last = self._ends.get(tag, (self._rows, -1))
        with on_disk():
            self._file.write(_ROW.pack(head.encode(), last))
        self._ends[tag] = first, self._rows
        self._rows += 1

    def __contains__(self, tag: str) -> bool:
        return tag in self._ends

    def ends(self, tag: str) -> tuple[str, str]:
        """Return the first and the last head of a record that is there."""
        first, last = self._ends[tag]
        return self._row(first)[0], self._row(last)[0]

    def back(self, tag: str) -> Iterator[str]:
        """Yield the heads of a record that is there, the last one first."""
        _, at = self._ends[tag]
        while at >= 0:
            head, at = self._row(at)
            yield head

    def _row(self, number: int) -> tuple[str, int]:
        with on_disk():
            self._file.seek(number * _ROW.size)
            head, before = _ROW.unpack(self._file.read(_ROW.size))
        return head.rstrip(b"\0").decode(), before


def _close(file: SpooledTemporaryFile[bytes]) -> None:
    with suppress(OSError):  # what is still to be written has no room, and nobody reads it
        file.close()


@dataclass(slots=True)
class RegisterCheck:
    """What was found of a register.

    `signed` says that a log key which the reader trusts signed its checkpoint, `anchored`
    that somebody outside saw it, or an earlier one that it extends. `opened` is the number of
    records in it.
    """

    checkpoint: Checkpoint | None = None
    size: int = 0  # lines that could be read
    whole: bool = True  # all of them could be
    opened: int = 0
    compared: int = 0  # checkpoints that the store kept
    signed: bool = False
    anchored: bool = False
    findings: list[Finding] = field(default_factory=list)
    heads: Heads = field(default_factory=Heads)

    @property
    def level(self) -> int | None:
        """The level that the register reaches by itself (FORMAT.md §16)."""
        return None if self.findings else int(self.signed) + (self.signed and self.anchored)


def verify_register(
    read: Read,
    checkpoint: bytes,
    trust: Trust,
    *,
    kept: Iterable[bytes] = (),
    since: Checkpoint | None = None,
    about: Collection[str] = (),
) -> RegisterCheck:
    """Check a register against a checkpoint over all of it; never raises for bad bytes.

    `read` is that of a file (`readline`). `kept` are the checkpoints that the store kept, in
    the order of their sizes; `since` is one that the reader kept, as `verify.register.kept`
    returns it; `about` are the tags of records whose heads are wanted.
    """
    try:
        own = checkpoints.parse(checkpoint)
    except DataError:
        return RegisterCheck(whole=False, findings=[finding("17.signature", 0)])
    check, earlier = RegisterCheck(own, heads=Heads(about)), _Kept(kept)
    walk = Walk(own.head.origin, earlier, since, own)
    for line in walk.lines(_lines(read)):
        check.opened += line.kind in OPENING
        check.heads.add(line)
    check.size, check.whole, check.compared = walk.edge.size, walk.whole, walk.compared
    check.findings = [*walk.findings]
    if check.whole:
        check.findings += _against(own.head, walk.edge)
    if earlier.broken:
        check.findings.append(finding("17.kept", 0, found=earlier.broken))
    check.signed = signed_by_log(own, trust)
    seen = 0 < trust.witnesses <= len(own.cosigned(trust))
    check.anchored = seen or since is not None  # what it does not extend is a finding
    return check


def check_export(
    check: RegisterCheck, name: str, entries: Sequence[str], result: Verification
) -> Iterator[Finding]:
    """Compare the export `name`, which holds, with the lines about its record (FORMAT.md §20).

    `entries` are the hashes of all its entries, in order.
    """
    own, place = check.checkpoint, result.place
    if own and place and checkpoints.parse(place.checkpoint.encode()).head != own.head:
        yield finding("17.checkpoint", 0, found=name, variant="another", name=name)
    tag = register.tag(result.debate or "")
    if tag not in check.heads:
        yield finding("17.unregistered", 0, found=name, name=name)
        return
    ends = check.heads.ends(tag)
    for code, variant, at in (("opened", "begins", 0), ("superseded", "ends", -1)):
        expected, found = entries[at], ends[at]
        if found != expected:
            yield finding(
                f"17.{code}", 0, expected=expected, found=found, variant=variant, name=name
            )
    known, other = {*entries, *ends}, None
    for head in check.heads.back(tag):
        other = other if head in known else head  # of several the first
    if other is not None:
        yield finding("17.replaced", 0, found=other, name=name)


def _against(own: Head, edge: Edge) -> Iterator[Finding]:
    """Compare the whole register with what its checkpoint states."""
    if own.size != edge.size:
        yield finding("17.size", 0, expected=own.size, found=edge.size)
    elif own.root != edge.root():
        yield finding("17.root", 0, expected=own.root.hex(), found=edge.root().hex())


class Walk:
    """One pass over the lines of a register, which compares checkpoints with it on the way.

    `kept` are heads that were stated before, in the order of their sizes, each with the text to
    show; `since` is a checkpoint that somebody kept outside, and `own` that of the register.
    """

    def __init__(
        self,
        origin: str,
        kept: Iterable[tuple[Head, str]],
        since: Checkpoint | None,
        own: Checkpoint | None = None,
    ) -> None:
        self.edge = Edge()
        self.findings: list[Finding] = []
        self.compared = 0
        self.whole = True
        self._origin, self._since = origin, since
        self._kept, self._listed, self._said = iter(kept), 0, 0
        self._next = next(self._kept, None)
        self._notes = {own.head.size: own.data.decode()} if own else {}

    def lines(self, rows: Iterable[bytes]) -> Iterator[Line]:
        """Yield each line before it is added, up to the first that is none."""
        self._compare()
        for index, data in enumerate(rows):
            try:
                line = register.parse(data)
            except DataError:
                line = None
            if line is None or line.index != index:
                self.whole = False
                self.findings.append(finding("17.line", index + 1))
                return
            yield line
            self.edge.add(leaf_hash(data))
            self._compare()
        self._end()

    def _compare(self) -> None:
        """Compare what covers as many lines as there are by now."""
        edge = self.edge
        while self._next is not None and self._next[0].size <= edge.size:
            head, said = self._next
            self.compared += 1
            if self._since and head.size == self._since.head.size:
                self._notes[head.size] = said
            if head != Head(self._origin, edge.size, edge.root()):
                self._unfit(head, said)
            self._next = next(self._kept, None)
        since = self._since
        if since and since.head.size == edge.size:
            now = Head(self._origin, edge.size, edge.root())
            if since.head.origin != now.origin:
                self._foreign(since)
            elif since.head != now:
                found = self._notes.get(now.size) or now.text().decode()
                self._find("17.fork", now.size, since.data.decode(), found)
            self._since = None

    def _end(self) -> None:
        """Compare what covers more lines than there are."""
        while self._next is not None:
            self._unfit(*self._next)
            self._next = next(self._kept, None)
        if self._since and self._since.head.origin != self._origin:
            self._foreign(self._since)
        elif self._since:
            self._find("17.rewound", 0, self._since.head.size, self.edge.size)

    def _foreign(self, since: Checkpoint) -> None:
        self._find("17.origin", 0, since.head.origin, self._origin)

    def _unfit(self, head: Head, said: str) -> None:
        self._listed, self._said = self._listed + 1, self._said + len(said)
        if self._listed <= MOST_LISTED and self._said <= MOST_SAID:
            found = self.edge.root().hex() if head.size == self.edge.size else None
            self._find("17.kept", head.size, said, found)

    def _find(self, code: str, seq: int, expected: object, found: object) -> None:
        self.findings.append(finding(code, seq, expected=expected, found=found))


def _lines(read: Read) -> Iterator[bytes]:
    """Yield each line of a file without its LF; one that has none is spelled so as to be none."""
    while data := read(register.MAX_LINE + 2):
        yield data[:-1] if data.endswith(b"\n") else b""


class _Kept:
    """Checkpoints as bytes, of which those that are none are counted."""

    def __init__(self, given: Iterable[bytes]) -> None:
        self._given = given
        self.broken = 0

    def __iter__(self) -> Iterator[tuple[Head, str]]:
        for data in self._given:
            try:
                yield checkpoints.parse(data).head, data.decode()
            except DataError:
                self.broken += 1
