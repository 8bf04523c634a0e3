"""The register of a store: what is in it, and whether it holds and extends what somebody kept."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hansard.errors import DataError
from hansard.record import checkpoint as checkpoints
from hansard.record import register, tree
from hansard.record.checkpoint import Checkpoint, Head
from hansard.record.keys import Trust, verifier_key
from hansard.record.note import SIGNATURE, Signature
from hansard.record.register import KINDS, OPENING
from hansard.store.register import Register


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CheckpointShown(_Part):
    """A checkpoint of the store."""

    lines: int = Field(description="Over how many lines")
    root: str = Field(description="The root over them, in base64")
    signed: bool
    witnesses: tuple[str, ...] = Field(description="Who cosigned it, by the names of their keys")


class Registered(_Part):
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


class RegisterFinding(_Part):
    """One thing that is wrong with a register."""

    code: str = Field(pattern=r"^register\.[a-z]+$")
    line: int | None = Field(description="The line it is about, from 1; null: the register")
    message: str = Field(description="One sentence")
    notes: tuple[str, ...] = Field(
        default=(), description="Two checkpoints that cannot both be true, as they stand"
    )


class RegisterCheck(_Part):
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


def show(log: Register) -> Registered:
    """Return what is in a register."""
    size, kept = log.size, log.checkpoints()
    counts = Counter(register.parse(data).kind for data in log.lines(size))
    latest = None
    if kept:
        last = kept[-1]
        rows = checkpoints.parse(last.note).note.signatures if last.note else ()
        latest = CheckpointShown(
            lines=last.size,
            root=b64encode(last.root).decode(),
            signed=last.note is not None,
            witnesses=tuple(row.name for row in rows if _is_cosignature(row)),
        )
    return Registered(
        origin=log.origin,
        lines=size,
        kinds={kind: counts[kind] for kind in KINDS if counts[kind]},
        checkpoints=len(kept),
        signed=sum(row.note is not None for row in kept),
        latest=latest,
    )


def check(log: Register, trust: Trust, since: Checkpoint | None = None) -> RegisterCheck:
    """Compare a register's lines with its hashes, its checkpoints, the store, and `since`.

    Raises DataError `checkpoint.forged` where a known log key signed another text than `since`.
    """
    signers = _signers(since, trust) if since else ()
    walk = _Walk(log, since)
    findings = [*walk.lines(), *walk.kept(), *walk.stored()]
    return RegisterCheck(
        origin=log.origin,
        lines=walk.size,
        debates=walk.debates,
        since=since.head.size if since else None,
        signed_by=signers,
        findings=tuple(findings),
    )


def departs(
    log: Register, old: Checkpoint, root: Callable[[int], bytes | None]
) -> RegisterFinding | None:
    """Return how a register does not begin as `old` says; None where it does.

    `root` gives the root over so many of its lines, of which there are as many.
    """
    head, size = old.head, log.size
    if not log.is_named(head.origin):
        said = f"the checkpoint is of {head.origin}, which is not the register of this store"
        return _found("other", None, said)
    if head.size > size:
        said = (
            f"the checkpoint is over {head.size:,} lines, and the register has {size:,}: lines "
            "were lost, as after going back to a backup"
        )
        return _found("rewound", None, said)
    found = root(head.size)
    if found == head.root:
        return None
    kept = log.checkpoint(head.size)
    own = (kept and kept.note) or Head(head.origin, head.size, found or b"").text()
    said = (
        f"the first {head.size:,} lines of the register are not those of the checkpoint: lines "
        "were changed, dropped or replaced since, as by going on from a backup"
    )
    return _found("fork", None, said, (old.data.decode(), own.decode()))


def _stated(data: bytes) -> Head | None:
    """Return what a checkpoint states; None for what is none."""
    try:
        return checkpoints.parse(data).head
    except DataError:
        return None


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


class _Walk:
    """One pass over a register and its store, whose findings come in order."""

    def __init__(self, log: Register, since: Checkpoint | None) -> None:
        self.size, self.debates = log.size, 0
        self._log, self._since = log, since
        self._edge = tree.Edge()
        self._roots: dict[int, bytes] = {0: tree.EMPTY}  # where there is a checkpoint
        self._opened: dict[str, tuple[int, str]] = {}  # by tag: where, and the first entry
        self._heads: dict[str, str] = {}

    def lines(self) -> Iterator[RegisterFinding]:
        """Read every line, and compare the hashes beside them."""
        asked = {row.size for row in self._log.checkpoints()} | {self.size}
        if self._since:
            asked.add(self._since.head.size)
        edge, stored, other = self._edge, self._log.hashes(self.size), None
        for index, data in enumerate(self._log.lines(self.size)):
            yield from self._line(index, data)
            leaf = tree.leaf_hash(data)
            for own in tree.added(index, leaf, lambda places: edge.hashes[::-1][: len(places)]):
                if own != next(stored, None) and other is None:
                    other = index
            edge.add(leaf)
            if edge.size in asked:
                self._roots[edge.size] = edge.root()
        if edge.size != self.size:
            yield _found("line", None, f"only {edge.size:,} of {self.size:,} lines are there")
        if other is not None:
            yield _found("hash", other, "the hashes beside this line are not its own")

    def _line(self, index: int, data: bytes) -> Iterator[RegisterFinding]:
        try:
            line = register.parse(data)
        except DataError as error:
            yield _found("line", index, str(error))
            return
        if line.index != index:
            yield _found("line", index, f"the line says that it is line {line.index + 1:,}")
        if line.kind in OPENING:
            self._opened[line.tag] = index, line.head
        self._heads[line.tag] = line.head

    def kept(self) -> Iterator[RegisterFinding]:
        """Compare the store's own checkpoints, and the one that somebody kept outside."""
        origin = self._log.origin
        for row in self._log.checkpoints():
            stated = _stated(row.note) if row.note else None
            same = row.note is None or stated == Head(origin or "", row.size, row.root)
            if not same or self._roots.get(row.size) != row.root:
                said = f"the store's checkpoint of {row.size:,} lines is not over these lines"
                yield _found("checkpoint", None, said)
        found = departs(self._log, self._since, self._roots.get) if self._since else None
        if found:
            yield found

    def stored(self) -> Iterator[RegisterFinding]:
        """Compare the debates of the store with what the register says of them."""
        left = dict(self._opened)
        for row in self._log.debates():
            self.debates += 1
            tag, name = register.tag(row.debate), f"debate {row.debate[:8]}"
            index, opened = left.pop(tag, (None, None))
            if opened is None:
                yield _found("missing", None, f"{name} is in the store and not in the register")
            elif opened != row.opened:
                yield _found("opening", index, f"{name} does not begin as it was registered")
            elif row.over and self._heads[tag] != row.head:
                said = f"{name} does not end with the entry that was registered last"
                yield _found("head", index, said)
        for index, _ in left.values():
            yield _found("dropped", index, "the debate that this line is about is not in the store")


def _found(
    code: str, line: int | None, message: str, notes: tuple[str, ...] = ()
) -> RegisterFinding:
    number = None if line is None else line + 1
    return RegisterFinding(code=f"register.{code}", line=number, message=message, notes=notes)
