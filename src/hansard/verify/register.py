"""Check 17: the proofs of a record's first and latest line in a register (FORMAT.md §19)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hansard import vocabulary
from hansard.errors import DataError
from hansard.record import checkpoint as checkpoints
from hansard.record.bundle import PROOFS
from hansard.record.checkpoint import Checkpoint, Cosigned, Proof
from hansard.record.keys import Trust, is_origin_of, verifier_key
from hansard.record.line import line_hash
from hansard.record.register import tag
from hansard.verify.findings import REGISTER, Cosignature, Finding, Kept, Place, finding
from hansard.verify.reading import Reading


def check_register(reading: Reading) -> Iterator[Finding]:
    """Check 17: what each proof shows, and that together they are about this record."""
    given = reading.bundle.proofs
    if not given:
        return
    reading.more.add(REGISTER)
    for name in PROOFS:
        file = f"register/{name}.proof"
        if name not in given:
            yield finding("17.missing", 0, expected=file, name=file)
            continue
        try:
            proof = reading.proofs[name] = checkpoints.parse_proof(given[name])
        except DataError:
            yield finding("17.malformed", 0, found=file, name=file)
            continue
        if not proof.holds():
            yield finding("17.proof", 0, found=file, name=file)
    if len(reading.proofs) < len(PROOFS):
        return
    yield from _together(reading.proofs["opened"], reading.proofs["head"])
    if reading.whole and reading.begins:
        yield from _of_record(reading)
    else:
        reading.aside[REGISTER] = ("unchecked", vocabulary.passed(REGISTER, "entries"))
    yield from _since(reading)


def _together(opened: Proof, head: Proof) -> Iterator[Finding]:
    """Compare the two proofs with each other."""
    one, other = opened.checkpoint, head.checkpoint
    if one.data != other.data:
        yield finding("17.checkpoint", 0, expected=_text(one), found=_text(other))
    if head.line.index < opened.line.index:
        yield finding("17.order", 0, expected=opened.line.index + 1, found=head.line.index + 1)


def _of_record(reading: Reading) -> Iterator[Finding]:
    """Compare the lines of both proofs with the record."""
    opened, head = (reading.proofs[name].line for name in ("opened", "head"))
    lines, debate = reading.bundle.lines, reading.events[0]["debate"]
    kind = "opened" if reading.opened else "gate"
    kinds = {"opened": kind, "head": kind if head.index == opened.index else "head"}
    for name in PROOFS:
        line, file = reading.proofs[name].line, f"register/{name}.proof"
        if line.kind != kinds[name]:
            yield finding("17.kind", 0, expected=kinds[name], found=line.kind, name=file)
        if line.tag != tag(debate):
            yield finding("17.tag", 0, expected=tag(debate), found=line.tag, name=file)
    first, last = line_hash(lines[0]), line_hash(lines[-1])
    if opened.head != first:
        yield finding("17.opened", 0, expected=first, found=opened.head)
    if head.head != last:
        known = any(line_hash(line) == head.head for line in lines)
        code = "17.head" if known else "17.superseded"
        yield finding(code, 0, expected=last, found=head.head)


def _since(reading: Reading) -> Iterator[Finding]:
    """Compare the checkpoint of the proofs with the one that the reader kept."""
    since, own = reading.since, reading.proofs["head"].checkpoint
    if since and compared(since, own) == "fork":
        yield finding("17.fork", 0, expected=_text(since), found=_text(own))


def kept(data: bytes, trust: Trust) -> Checkpoint:
    """Return a checkpoint that the reader kept, which a log key that they trust signed.

    It has no date of its own, so the times of the key are not looked at. Raises DataError
    `checkpoint.malformed`, or `checkpoint.unsigned` where no such key signed it.
    """
    found = checkpoints.parse(data)
    if not signed_by_log(found, trust):
        raise DataError(
            "checkpoint.unsigned",
            f"no log key that you trust signed the checkpoint of {found.head.origin}",
        )
    return found


def signed_by_log(checkpoint: Checkpoint, trust: Trust) -> bool:
    """Say whether a log key that the reader trusts, at whatever time, signed a checkpoint."""
    keys = [verifier_key(row.key) for row in trust.keys if row.role == "log"]
    own = [key for key in keys if is_origin_of(key.name, checkpoint.head.origin)]
    return any(checkpoint.note.signed_by(key) for key in own)


def compared(since: Checkpoint, own: Checkpoint) -> Kept:
    """Say how a checkpoint stands to one that was kept, as far as the two alone show it."""
    if since.head.origin != own.head.origin:
        return "origin"
    if since.head.size != own.head.size:
        return "size"
    return "same" if since.head.root == own.head.root else "fork"


def place_of(reading: Reading) -> Place | None:
    """Return where the record stands in a register; None where it has no two proofs of that."""
    if len(reading.proofs) < len(PROOFS):
        return None
    opened, head = (reading.proofs[name] for name in ("opened", "head"))
    own = head.checkpoint
    cosigned = own.cosigned(reading.trust)
    seen = [Cosignature(name=row.name, at=row.at) for row in cosigned]
    place = Place(
        origin=own.head.origin,
        size=own.head.size,
        opened=opened.line.index + 1,
        head=head.line.index + 1,
        checkpoint=_text(own),
        cosigned=seen,
        kept=compared(reading.since, own) if reading.since else None,
    )
    told = place.model_dump(include={"opened", "head", "size", "origin"})
    reading.say(REGISTER, **told, cosigned=cosigners(cosigned))
    return place


def cosigners(seen: Iterable[Cosigned]) -> str:
    """Say which trusted witnesses cosigned a checkpoint."""
    said = vocabulary.words("register")
    names = ", ".join(vocabulary.fill(said["witness"], name=row.name, at=row.at) for row in seen)
    return vocabulary.fill(said["cosigned"], witnesses=names) if names else said["alone"]


def is_anchored(place: Place, witnesses: int) -> bool:
    """Say whether somebody outside saw the checkpoint: level 2 asks for that (FORMAT.md §16)."""
    return place.kept == "same" or 0 < witnesses <= len(place.cosigned)


def _text(checkpoint: Checkpoint) -> str:
    """Return a checkpoint, all of whose bytes are text."""
    return checkpoint.data.decode()
