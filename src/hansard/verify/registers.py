"""A whole register against its checkpoint, those the store kept, and one from outside (§19).

Line by line: of a register of a million lines nothing is kept but its right edge, and the
first and latest line of each record that is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from hansard.errors import DataError
from hansard.record import checkpoint as checkpoints
from hansard.record import register
from hansard.record.checkpoint import Checkpoint
from hansard.record.keys import Trust
from hansard.record.register import OF_RECORDS, Line
from hansard.record.tree import Edge, leaf_hash
from hansard.verify.findings import Finding, finding
from hansard.verify.register import signed_by_log

MOST_LISTED = 1000  # findings of the checkpoints that were kept: there may be a million

Read = Callable[[int], bytes]  # the next line with its LF, of at most so many bytes


@dataclass(slots=True)
class RegisterCheck:
    """What was found of a register.

    `signed` says that a log key which the reader trusts signed its checkpoint, `anchored`
    that somebody outside saw it, or an earlier one that it extends. `first` and `latest` are
    the lines of the records asked about, by tag.
    """

    size: int = 0  # lines that could be read
    checkpoint: Checkpoint | None = None
    compared: int = 0  # checkpoints that the store kept
    signed: bool = False
    anchored: bool = False
    findings: list[Finding] = field(default_factory=list)
    first: dict[str, Line] = field(default_factory=dict)
    latest: dict[str, Line] = field(default_factory=dict)

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
    returns it; `about` are the tags of records whose lines are wanted.
    """
    check = RegisterCheck()
    try:
        own = check.checkpoint = checkpoints.parse(checkpoint)
    except DataError:
        check.findings.append(finding("17.signature", 0))
        return check
    waiting, edge = _Waiting(kept, since, own), Edge()
    check.findings += waiting.compare(edge)
    for line, leaf in _lines(read, check):
        edge.add(leaf)
        if line.tag in about and line.kind in OF_RECORDS:
            check.first.setdefault(line.tag, line)
            check.latest[line.tag] = line
        check.findings += waiting.compare(edge)
    check.size = edge.size
    check.findings += [*_against(own, edge), *waiting.beyond(edge)]
    check.compared = waiting.compared
    check.signed = signed_by_log(own, trust)
    seen = 0 < trust.witnesses <= len(own.cosigned(trust))
    check.anchored = seen or since is not None  # what it does not extend is a finding
    return check


def _lines(read: Read, check: RegisterCheck) -> Iterator[tuple[Line, bytes]]:
    """Yield each line with the hash of its leaf, up to the first that is none."""
    for index in count():
        data = read(register.MAX_LINE + 2)
        if not data:
            return
        try:
            line = register.parse(data[:-1])
        except DataError:
            line = None
        if line is None or line.index != index or data[-1:] != b"\n":
            check.findings.append(finding("17.line", index + 1))
            return
        yield line, leaf_hash(data[:-1])


def _against(own: Checkpoint, edge: Edge) -> Iterator[Finding]:
    """Compare the whole register with its checkpoint."""
    if own.head.size != edge.size:
        yield finding("17.size", 0, expected=own.head.size, found=edge.size)
    elif own.head.root != edge.root():
        yield finding("17.root", 0, expected=own.head.root.hex(), found=edge.root().hex())


class _Waiting:
    """The checkpoints that wait until the register has as many lines as they cover."""

    def __init__(self, kept: Iterable[bytes], since: Checkpoint | None, own: Checkpoint) -> None:
        self._kept, self._since = iter(kept), since
        self._origin, self._notes = own.head.origin, {own.head.size: own.data}
        self._listed, self._broken = 0, 0
        self._next = self._read()
        self.compared = 0

    def compare(self, edge: Edge) -> Iterator[Finding]:
        """Compare those that cover as many lines as there are by now."""
        while self._next is not None and self._next.head.size <= edge.size:
            head = self._next.head
            self.compared += 1
            if self._since and head.size == self._since.head.size:
                self._notes[head.size] = self._next.data
            sound = head.size == edge.size and head.root == edge.root()
            if not sound or head.origin != self._origin:
                yield from self._list(self._next, edge)
            self._next = self._read()
        if self._since and self._since.head.size == edge.size:
            yield from self._against_since(self._since, edge)
            self._since = None

    def beyond(self, edge: Edge) -> Iterator[Finding]:
        """Yield what those show that cover more lines than there are."""
        while self._next is not None:
            yield from self._list(self._next, edge)
            self._next = self._read()
        if self._broken:
            yield finding("17.kept", 0, found=self._broken)
        if self._since:
            if self._since.head.origin != self._origin:
                yield self._foreign(self._since)
            else:
                size = self._since.head.size
                yield finding("17.rewound", 0, expected=size, found=edge.size)

    def _against_since(self, since: Checkpoint, edge: Edge) -> Iterator[Finding]:
        if since.head.origin != self._origin:
            yield self._foreign(since)
        elif since.head.root != edge.root():
            note = self._notes.get(since.head.size)
            found = note.decode() if note else edge.root().hex()
            yield finding("17.fork", since.head.size, expected=since.data.decode(), found=found)

    def _foreign(self, since: Checkpoint) -> Finding:
        return finding("17.origin", 0, expected=since.head.origin, found=self._origin)

    def _list(self, kept: Checkpoint, edge: Edge) -> Iterator[Finding]:
        self._listed += 1
        if self._listed <= MOST_LISTED:
            found = edge.root().hex() if kept.head.size == edge.size else None
            yield finding("17.kept", kept.head.size, expected=kept.data.decode(), found=found)

    def _read(self) -> Checkpoint | None:
        """Return the next that was kept; those that are none are counted."""
        for data in self._kept:
            try:
                return checkpoints.parse(data)
            except DataError:
                self._broken += 1
        return None
