"""What of a store's register leaves the store: signed checkpoints, and proofs under them.

A checkpoint is signed when somebody asks for it, and not while a debate runs: so no run waits
for a passphrase or for an HSM, and no process that only runs debates needs the log key. The
note is the same as if it had been signed at once: Ed25519 gives one signature, and a
checkpoint has no time.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import NamedTuple

from hansard.errors import DataError, ForkError, UsageError
from hansard.record import checkpoint as checkpoints
from hansard.record import note, register, tree
from hansard.record.checkpoint import Checkpoint, Head
from hansard.record.keys import Trust, who_signed
from hansard.record.note import Signature, Signer, VerifierKey
from hansard.record.register import OPENING, Line
from hansard.record.tree import Edge
from hansard.store.register import Kept, Register

Key = Callable[[], Signer]  # gives the log key: asked for only where something is to be signed


class Proofs(NamedTuple):
    """The first line of a debate and its last, each proven under one checkpoint."""

    opened: bytes
    head: bytes


class TakenIn(NamedTuple):
    """How many lines of witnesses are `new`, and how many others were `ignored`."""

    new: int
    ignored: int


def sign(log: Register, key: Key, size: int | None = None) -> Checkpoint:
    """Return the checkpoint after `size` lines, or all, signed by the log key, and keep it.

    It keeps the lines of those who signed it before: of an earlier log key, and of witnesses.
    Raises UsageError `register.key` where the register is that of a key of another name,
    ForkError `register.fork` where what was signed before states other lines, and DataError
    `register.damaged` or `register.line` where the lines are not those of its hashes, and
    `checkpoint.full`.
    """
    signer, size = key(), log.size if size is None else size
    head = Head(log.name(signer.name), size, log.root(size))
    known = _as_signed(log.checkpoint(size))
    if known and known.head == head and known.note.signed_by(signer.key):
        return known
    _check_lines(log, head)
    made = checkpoints.parse(checkpoints.sign(head, signer))
    with log.keeping(size) as (kept, keep):
        known = _as_signed(kept)  # it may have been signed, or cosigned, meanwhile
        if known:
            made = _with_others(made, known, signer.key)
        keep(made)
    return made


def _check_lines(log: Register, head: Head) -> None:
    """Refuse to sign what the lines do not give, or what departs from what was signed before.

    The root is made of the hashes that stand beside the lines. Signed over other lines, it would
    be a fork, by our own hand. Of the lines under the last signed checkpoint its root speaks; so
    only those since are read.
    """
    newest = _as_signed(log.last_signed())
    if newest and newest.head.size > log.size:  # its last lines are gone
        raise _forked(newest, head)
    known, edge = _as_signed(log.last_signed(head.size)), Edge()
    if known:
        edge = log.edge(known.head.size)
        if known.head != (now := Head(head.origin, edge.size, edge.root())):
            raise _forked(known, now)
    for line in map(register.parse, log.lines(head.size, edge.size)):
        if line.index != edge.size:
            break
        edge.add(line.leaf)
    if (edge.size, edge.root()) != (head.size, head.root):
        raise _damaged("so nothing is signed")


def _forked(known: Checkpoint, now: Head) -> ForkError:
    return ForkError(
        "register.fork",
        f"the store has signed another checkpoint of {known.head.size:,} lines than its "
        "register has now: lines were changed, dropped or replaced since, so nothing is signed",
        (known.data, now.text()),
    )


def _damaged(then: str) -> DataError:
    return DataError(
        "register.damaged",
        f"the lines of the register are not those of its hashes, {then}: `hansard register "
        "verify` says more; restore the store from a copy",
    )


def _with_others(made: Checkpoint, known: Checkpoint, own: VerifierKey) -> Checkpoint:
    """Return `made` with the signatures that others have added to `known`."""
    if known.head != made.head:
        raise _forked(known, made.head)
    rows = zip(known.note.signatures, note.divide(known.data)[1], strict=True)
    return made.extended(
        *(line for row, line in rows if (row.name, row.key_id) != (own.name, own.id))
    )


def _as_signed(kept: Kept | None) -> Checkpoint | None:
    """Return a checkpoint of the store as it was signed, if it was."""
    return checkpoints.parse(kept.note) if kept and kept.note else None


def prove(
    log: Register, debate: str, head: str, key: Key, under: Checkpoint | None = None
) -> Proofs:
    """Return the proofs of a debate whose last entry is `head`, which is registered first.

    They are made under `under`, or else under the signed checkpoint that has the last line
    and that most witnesses saw; of those the newest; where there is none, one is signed now.
    Raises what `check_begins` and `sign` raise, and UsageError `register.late` where `under` is
    older than the last line.
    """
    log.add_head(debate, head)
    lines = log.of(debate)
    if lines[0].kind not in OPENING:
        raise DataError(
            "register.damaged", f"the register does not begin debate {debate[:8]} with its opening"
        )
    signed = _signed(log, lines[-1].index, key, under)
    if lines[-1].index >= signed.head.size:
        raise UsageError(
            "register.late",
            f"the last entry of debate {debate[:8]} is line {lines[-1].index + 1:,} of the "
            f"register, and this checkpoint is over {signed.head.size:,}: name a newer one",
        )
    return Proofs(*(_proof(log, line, signed) for line in (lines[0], lines[-1])))


def _proof(log: Register, line: Line, signed: Checkpoint) -> bytes:
    size, root = signed.head.size, signed.head.root
    hashes = log.inclusion(line.index, size)
    if not tree.includes(line.index, size, line.leaf, hashes, root):
        raise _damaged("so they prove nothing")
    return checkpoints.write_proof(line, hashes, signed.data)


def _signed(log: Register, index: int, key: Key, under: Checkpoint | None) -> Checkpoint:
    """Return the checkpoint to prove line `index` under, as this store has signed it."""
    if under is not None:
        check_begins(log, under)
        size = under.head.size
        return _as_signed(log.checkpoint(size)) or sign(log, key, size)
    return _as_signed(log.signed(index + 1)) or sign(log, key)


def check_begins(log: Register, old: Checkpoint) -> None:
    """Refuse a checkpoint that the register does not begin with.

    Raises UsageError `register.other` or `register.rewound`, and ForkError `register.fork`.
    """
    head, size = old.head, log.size
    if not log.is_named(head.origin):
        said = f"the checkpoint is of {head.origin}, which is not the register of this store"
        raise UsageError("register.other", said)
    if head.size > size:
        raise UsageError(
            "register.rewound",
            f"the checkpoint is over {head.size:,} lines, and the register has {size:,}: lines "
            "were lost, as after going back to a backup",
        )
    now = Head(head.origin, head.size, log.root(head.size))
    if now != head:
        kept = _as_signed(log.checkpoint(head.size))
        raise ForkError(
            "register.fork",
            f"the first {head.size:,} lines of the register are not those of the checkpoint: "
            "lines were changed, dropped or replaced since, as by going on from a backup",
            (old.data, kept.data if kept else now.text()),
        )


def extend(log: Register, old: Checkpoint, key: Key) -> bytes:
    """Return the latest checkpoint with the proof that it extends one that somebody kept.

    It has the form of what a C2SP tlog-witness is sent: `old` and the size, the hashes of the
    consistency proof in base64, an empty line, the checkpoint. Raises what `check_begins` and
    `sign` do.
    """
    check_begins(log, old)
    new = sign(log, key)
    begin, end = old.head, new.head
    hashes = log.consistency(begin.size, end.size)
    if not tree.extends(begin.size, end.size, begin.root, end.root, hashes):
        raise _damaged("so they prove nothing")
    rows = [b"old %d" % old.head.size, *map(b64encode, hashes), b"", new.data]
    return b"\n".join(rows)


def take_in(log: Register, cosigned: Checkpoint, trust: Trust) -> TakenIn:
    """Keep the lines that trusted witnesses added to a checkpoint of this store.

    Like a C2SP witness's client, it ignores all others: what nobody checked is neither kept
    nor counted. Of each witness one line is kept. Raises what `check_begins` raises, UsageError
    `register.unsigned`, UsageError `register.witness` where no line is of a trusted witness,
    and DataError `checkpoint.forged` where one of a known key is not over this checkpoint, or
    `checkpoint.full`.
    """
    check_begins(log, cosigned)
    rows = dict(zip(cosigned.note.signatures, note.divide(cosigned.data)[1], strict=True))
    with log.keeping(cosigned.head.size) as (kept, keep):
        own = _as_signed(kept)
        if own is None:
            raise UsageError(
                "register.unsigned",
                f"no checkpoint of {cosigned.head.size:,} lines was signed in this store",
            )
        seen = _witnessed(cosigned, trust)
        there = own.witnessed(trust)
        new = [rows[line] for key, line in seen.items() if key not in there]
        if new:
            keep(own.extended(*new))
    return TakenIn(len(new), len(rows.keys() - {*own.note.signatures, *seen.values()}))


def _witnessed(cosigned: Checkpoint, trust: Trust) -> dict[bytes, Signature]:
    """Return the line of each witness that counts, by its public key, if there is any."""
    if who_signed(cosigned.note, "log", trust, None).forged:
        raise DataError("checkpoint.forged", "the checkpoint was altered after it was signed")
    if found := cosigned.witnessed(trust):
        return {key: line for key, (line, _) in found.items()}
    raise UsageError(
        "register.witness",
        "no witness that you trust cosigned the checkpoint: get the witness's key from "
        "them, and add it with `hansard trust add KEY --role witness`",
    )
