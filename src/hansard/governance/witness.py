"""A witness: somebody outside who cosigns a register's checkpoints (C2SP tlog-witness).

A witness keeps, of each register, the last checkpoint that it cosigned, and cosigns only what
extends that one. It needs no store and sees no record. What it keeps is written before
a cosignature is given out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from hansard.errors import DataError, ForkError, UsageError
from hansard.governance import files
from hansard.record import checkpoint as checkpoints
from hansard.record import note, tree
from hansard.record.checkpoint import MAX_CHECKPOINT, Checkpoint
from hansard.record.keys import Trust, who_signed
from hansard.record.note import Signer

MAX_REQUEST = MAX_CHECKPOINT + (1 << 12)
_HEADER = re.compile(
    rb"old (0|[1-9][0-9]{0,15})\n((?:[A-Za-z0-9+/]{43}=\n){0,%d})\n" % tree.MOST_HASHES
)


class Cosigned(NamedTuple):
    """A checkpoint with the witness's line, and over how many lines the one before it was."""

    note: bytes
    checkpoint: Checkpoint
    before: int | None


class _Request(NamedTuple):
    """A checkpoint to be cosigned, and the proof that it extends one of `old` lines."""

    old: int | None
    hashes: list[bytes]
    checkpoint: Checkpoint


class Witness:
    """Keeps what was cosigned in `folder`, a file for each register."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def seen(self, origin: str) -> Checkpoint | None:
        """Return the last checkpoint that was cosigned of a register; None where none was."""
        path = self._path(origin)
        return checkpoints.parse(files.read(path)) if files.is_there(path) else None

    def cosign(self, data: bytes, signer: Callable[[], Signer], trust: Trust, now: str) -> Cosigned:
        """Cosign a checkpoint that a trusted log key signed and that extends the last one seen.

        `data` is a checkpoint, or one with its proof as `registrar.extend` gives it; `now` is
        the time in UTC; `signer` gives the key, and is asked once all else is right: it may make
        one, or ask somebody for a passphrase. Raises ForkError
        `checkpoint.fork`; DataError `checkpoint.malformed`, `checkpoint.forged`,
        `checkpoint.untrusted` or `checkpoint.proof`; UsageError `checkpoint.older`, or
        `checkpoint.unproven` where the proof is missing or from another checkpoint.
        """
        asked = _parse(data)
        new = asked.checkpoint
        _check_signed(new, trust, now)
        self._check(asked)
        key = signer()
        with files.edited(self._path(new.head.origin)):
            seen = self._check(asked)  # another process may have cosigned one meanwhile
            seconds = int(datetime.fromisoformat(now).timestamp())
            made = checkpoints.cosign(new.data, key, seconds)
            files.write(self._path(new.head.origin), new.data)
        return Cosigned(made, new, None if seen is None else seen.head.size)

    def _check(self, asked: _Request) -> Checkpoint | None:
        """Refuse what does not extend the last checkpoint seen; return that, None for the first."""
        seen = self.seen(asked.checkpoint.head.origin)
        if seen is not None:
            _check_extends(seen, asked)
        return seen

    def _path(self, origin: str) -> Path:
        return self._folder / f"{sha256(origin.encode()).hexdigest()}.note"


def _parse(data: bytes) -> _Request:
    found = _HEADER.match(data)
    if found is None:
        return _Request(None, [], checkpoints.parse(data))
    hashes = [note.decode(row) for row in found[2].split(b"\n")[:-1]]
    if None in hashes:
        raise DataError("checkpoint.malformed", "the proof of a checkpoint is not in base64")
    kept = [row for row in hashes if row is not None]
    return _Request(int(found[1]), kept, checkpoints.parse(data[found.end() :]))


def _check_signed(new: Checkpoint, trust: Trust, now: str) -> None:
    """Refuse what no trusted log key of this register signed."""
    signing = who_signed(new.note, "log", trust, now, origin=new.head.origin)
    if signing.forged:
        raise DataError("checkpoint.forged", "the checkpoint was altered after it was signed")
    if not signing.trusted:
        raise DataError(
            "checkpoint.untrusted",
            f"the checkpoint is {signing.words}: get the log key of {new.head.origin} from its "
            "owner, and add it with `hansard trust add KEY --role log`",
        )


def _check_extends(seen: Checkpoint, asked: _Request) -> None:
    """Refuse a checkpoint that does not extend the last one seen."""
    old, new = seen.head, asked.checkpoint.head
    if new.size < old.size:
        raise UsageError(
            "checkpoint.older",
            f"the checkpoint is over {new.size:,} lines; you have cosigned one of {old.size:,}: "
            "ask for a newer one, and if there is none, lines were lost",
        )
    if new.size == old.size:
        if new.root != old.root:
            raise ForkError(
                "checkpoint.fork",
                f"there are two checkpoints of {old.size:,} lines: the register was forked",
                (seen.data, asked.checkpoint.data),
            )
        return
    if old.size and asked.old != old.size:
        raise UsageError(
            "checkpoint.unproven",
            f"it takes a proof that the checkpoint extends that of {old.size:,} lines: ask for "
            "`hansard register prove --since CHECKPOINT` of the one that you cosigned",
        )
    if not tree.extends(old.size, new.size, old.root, new.root, asked.hashes):
        raise ForkError(
            "checkpoint.fork",
            f"the proof does not lead from the checkpoint of {old.size:,} lines that you cosigned "
            "to this one: do not cosign it",
            (seen.data, asked.checkpoint.data),
        )
