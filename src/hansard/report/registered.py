"""The register of a store: what is in it, and whether it holds and extends what somebody kept."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from pydantic import Field

from hansard.closed import Closed
from hansard.errors import DataError
from hansard.record import checkpoint as checkpoints
from hansard.record import register, tree
from hansard.record.checkpoint import Checkpoint, Head
from hansard.record.keys import Trust, verifier_key
from hansard.record.note import SIGNATURE, Signature
from hansard.record.register import KINDS, OF_RECORDS, OPENING, Line
from hansard.store.register import Kept, Register, Stored
from hansard.verify.findings import Finding, finding
from hansard.verify.registers import Walk


class CheckpointShown(Closed):
    """A checkpoint of the store."""

    lines: int = Field(description="Over how many lines")
    root: str = Field(description="The root over them, in base64")
    signed: bool
    witnesses: tuple[str, ...] = Field(
        description="Which witnesses that the reader trusts cosigned it, by their keys' names"
    )
    others: int = Field(
        description="How many other cosignatures there are; the reader trusts none of them"
    )


class Registered(Closed):
    """What is in the register of a store."""

    form: Literal["hansard-register/v1"] = Field(
        default="hansard-register/v1", description="The form of this document"
    )
    origin: str | None = Field(
        description="The name of this log; null as long as no checkpoint was signed"
    )
    lines: int = Field(description="How many lines there are")
    kinds: dict[str, int] = Field(description="How many lines there are of each kind")
    checkpoints: int = Field(description="How many checkpoints are kept")
    signed: int = Field(description="How many of them are signed")
    latest: CheckpointShown | None = Field(description="The last one; null where there is none")


class RegisterFinding(Closed):
    """One thing that is wrong with a register."""

    code: str = Field(pattern=r"^(17|register)\.[a-z]+$")
    line: int | None = Field(description="The line it is about, from 1; null: the register")
    message: str = Field(description="One sentence")
    notes: tuple[str, ...] = Field(
        default=(), description="Two checkpoints that cannot both be true, as they stand"
    )


class RegisterCheck(Closed):
    """Whether the register of a store holds, and extends a checkpoint that somebody kept."""

    form: Literal["hansard-register-check/v1"] = Field(
        default="hansard-register-check/v1", description="The form of this document"
    )
    origin: str | None = Field(description="The name of this log; null: it has none yet")
    lines: int = Field(description="How many lines there are")
    debates: int = Field(description="Debates of the store that were compared")
    since: int | None = Field(
        default=None, description="Over how many lines the kept checkpoint is; null: none given"
    )
    signed_by: tuple[str, ...] = Field(
        default=(), description="Trusted log keys that signed the kept checkpoint, by name"
    )
    findings: tuple[RegisterFinding, ...] = Field(description="What is wrong; none where it holds")

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def show(log: Register, trust: Trust) -> Registered:
    """Return what is in a register; `trust` names the witnesses that count."""
    size, kept, signed, last = log.size, 0, 0, None
    counts = Counter(register.parse(data).kind for data in log.lines(size))
    for kept, last in enumerate(log.checkpoints(), 1):  # noqa: B007 - the last one counts
        signed += last.note is not None
    return Registered(
        origin=log.origin,
        lines=size,
        kinds={kind: counts[kind] for kind in KINDS if counts[kind]},
        checkpoints=kept,
        signed=signed,
        latest=_latest(last, trust) if last else None,
    )


def _latest(kept: Kept, trust: Trust) -> CheckpointShown:
    note = checkpoints.parse(kept.note) if kept.note else None
    counted = note.cosigned(trust) if note else ()
    lines = sum(map(_is_cosignature, note.note.signatures)) if note else 0
    return CheckpointShown(
        lines=kept.size,
        root=b64encode(kept.root).decode(),
        signed=note is not None,
        witnesses=tuple(row.name for row in counted),
        others=lines - len(counted),
    )


def check(log: Register, trust: Trust, since: Checkpoint | None = None) -> RegisterCheck:
    """Compare a register's lines with its hashes, its checkpoints, the store, and `since`.

    Raises DataError `checkpoint.forged` where a known log key signed another text than `since`.
    """
    signers = _signers(since, trust) if since else ()
    walk, records, findings = _walk(log, since)
    debates = 0
    if walk.whole:
        debates, more = _stored(log, records)
        findings += more
    return RegisterCheck(
        origin=log.origin,
        lines=log.size,
        debates=debates,
        since=since.head.size if since else None,
        signed_by=signers,
        findings=tuple(findings),
    )


def _is_cosignature(row: Signature) -> bool:
    return len(row.signature) != SIGNATURE


def _signers(since: Checkpoint, trust: Trust) -> tuple[str, ...]:
    """Return who signed a kept checkpoint, at whatever time: whoever kept it knows when."""
    keys = {verifier_key(row.key) for row in trust.keys if row.role == "log"}
    lines = {(row.name, row.key_id) for row in since.note.signatures}
    named = {key for key in keys if (key.name, key.id) in lines}
    if not all(map(since.note.signed_by, named)):
        raise DataError(
            "checkpoint.forged",
            "the checkpoint that you kept is not as it was signed: it was changed, or damaged",
        )
    return tuple(sorted(key.name for key in named))


@dataclass(slots=True)
class _Lines:
    """The lines about a record: where the first stands, what it opens, the last head, how many."""

    index: int
    opened: str  # empty where the first line opens nothing
    last: str
    number: int = 1


def _walk(
    log: Register, since: Checkpoint | None
) -> tuple[Walk, dict[str, _Lines], list[RegisterFinding]]:
    """Read the lines, and compare the hashes that are stored beside them, and the checkpoints.

    Return also what the lines say of each record, by its tag, and what was found.
    """
    size, origin = log.size, log.origin or ""
    if since and log.is_named(since.head.origin):
        origin = since.head.origin  # a store that was put back may have no name yet
    walk = Walk(origin, _stated(log, origin), since)
    records = dict[str, _Lines]()
    stored, other, hashes = log.hashes(size), list[RegisterFinding](), walk.edge.hashes
    for line in walk.lines(log.lines(size)):
        own = tree.added(line.index, line.leaf, lambda places: hashes[::-1][: len(places)])
        if [*islice(stored, len(own))] != own and not other:
            other = [_found("hash", line.index, "the hashes beside this line are not its own")]
        if line.kind in OF_RECORDS:
            _note(records, line)
    if walk.whole and walk.edge.size != size:  # a line stands beyond a gap
        walk.findings.append(finding("17.line", walk.edge.size + 1))
    return walk, records, [*map(_shown, walk.findings), *other]


def _note(records: dict[str, _Lines], line: Line) -> None:
    """Note a line about a record."""
    known = records.get(line.tag)
    if known is None:
        opened = line.head if line.kind in OPENING else ""
        records[line.tag] = _Lines(line.index, opened, line.head)
    else:
        known.last, known.number = line.head, known.number + 1


def _stated(log: Register, origin: str) -> Iterator[tuple[Head, str]]:
    """Yield what the store's own checkpoints state, those that are signed and all others."""
    for row in log.checkpoints():
        head = Head(origin, row.size, row.root)
        try:
            signed = checkpoints.parse(row.note) if row.note else None
        except DataError:  # what states nothing fits nothing
            head, signed = Head(origin, row.size, b""), None
        yield head, signed.data.decode() if signed else head.text().decode()
        if signed and signed.head != head:
            yield signed.head, signed.data.decode()


def _stored(log: Register, left: dict[str, _Lines]) -> tuple[int, list[RegisterFinding]]:
    """Compare the debates of the store with what the register says; return how many there are."""
    number, findings = 0, list[RegisterFinding]()
    for number, row in enumerate(log.debates(), 1):  # noqa: B007 - the last one counts
        if found := _of_debate(log, row, left.pop(register.tag(row.debate), None)):
            findings.append(found)
    said = "the debate that this line is about is not in the store"
    return number, findings + [_found("dropped", row.index, said) for row in left.values()]


def _of_debate(log: Register, row: Stored, lines: _Lines | None) -> RegisterFinding | None:
    """Return what is wrong with the lines about a debate, if anything is."""
    name = f"debate {row.debate[:8]}"
    if lines is None:
        return _found("missing", None, f"{name} is in the store and not in the register")
    if lines.opened != row.opened:
        return _found("opening", lines.index, f"{name} does not begin as it was registered")
    if row.over and lines.last != row.head:
        said = f"{name} does not end with the entry that was registered last"
        return _found("head", lines.index, said)
    if lines.number <= 2 and lines.last in (row.opened, row.head):
        return None
    other = _replaced(log, row)
    return _shown(finding("17.replaced", other.index + 1, name=name)) if other else None


def _replaced(log: Register, row: Stored) -> Line | None:
    """Return the first line about a debate that names none of its entries, which are read for it.

    What has more lines than two is nearly always an entry after the close: so the last is first.
    """
    lines = log.of(row.debate)
    left = {line.head for line in lines} - {row.opened, row.head}
    entries = log.entries(row.debate)
    while left and (entry := next(entries, None)):
        left.discard(entry)
    return next((line for line in lines if line.head in left), None)


def _shown(row: Finding) -> RegisterFinding:
    """Return what the walk found; a fork with both checkpoints."""
    notes = (str(row.expected), str(row.found)) if row.code == "17.fork" else ()
    return RegisterFinding(code=row.code, line=row.seq or None, message=row.message, notes=notes)


def _found(code: str, line: int | None, message: str) -> RegisterFinding:
    number = None if line is None else line + 1
    return RegisterFinding(code=f"register.{code}", line=number, message=message)
