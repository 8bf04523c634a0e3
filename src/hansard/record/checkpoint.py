"""Checkpoints of a register, and proofs of its lines under one (FORMAT.md §19).

A checkpoint is a signed note of the log key (C2SP tlog-checkpoint), whose text is

    <origin>
    <number of lines>
    <base64 of the root>

Witnesses add cosignatures, each with the time at which it was made (C2SP tlog-cosignature).
A proof (C2SP tlog-proof) holds one line, its index, an inclusion proof and a checkpoint:

    c2sp.org/tlog-proof@v1
    extra <base64 of the line>
    index <its index>
    <base64 of a hash>, from the leaf's sibling up to the root's child

    <the checkpoint>
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hansard.errors import DataError
from hansard.record import note, register, tree
from hansard.record.keys import Trust, is_origin_of, key_of, standing
from hansard.record.note import COSIGNATURE, Note, Signature, Signer
from hansard.record.register import Line

MAX_CHECKPOINT = 1 << 16
_LAST_SECOND = 253_402_300_799  # of the year 9999
MAX_PROOF = MAX_CHECKPOINT + (1 << 13)  # with the longest line and most hashes
_TEXT = re.compile(rb"([A-Za-z0-9._:/@=-]{1,128})\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n")
_PROOF = re.compile(
    rb"c2sp\.org/tlog-proof@v1\nextra ([A-Za-z0-9+/]+=*)\nindex (0|[1-9][0-9]{0,15})\n"
    rb"((?:[A-Za-z0-9+/]{43}=\n){0,%d})\n" % tree.MOST_HASHES
)


@dataclass(frozen=True, slots=True)
class Head:
    """What a checkpoint states: of which log, how many lines, and the root over them."""

    origin: str
    size: int
    root: bytes

    def text(self) -> bytes:
        """Return the text to be signed."""
        root = base64.b64encode(self.root).decode()
        return f"{self.origin}\n{self.size}\n{root}\n".encode()


class Cosigned(NamedTuple):
    """A trusted witness, by the name of its key, and when it cosigned."""

    name: str
    at: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint as it was read: its bytes (`data`), the `note`, what that states (`head`)."""

    data: bytes
    note: Note
    head: Head

    def extended(self, *lines: bytes) -> Checkpoint:
        """Return it with more signature lines; raises DataError `checkpoint.full`."""
        if len(self.note.signatures) + len(lines) > note.MAX_SIGNATURES:
            raise DataError(
                "checkpoint.full",
                f"a checkpoint has at most {note.MAX_SIGNATURES} signature lines, and this one "
                "would have more: sign a later one, after the next debate",
            )
        return parse(self.data + b"".join(lines))

    def cosigned(self, trust: Trust) -> list[Cosigned]:
        """Return which witnesses cosigned it, once a public key, in the order of their lines."""
        return [found for _, found in self.witnessed(trust).values()]

    def witnessed(self, trust: Trust) -> dict[bytes, tuple[Signature, Cosigned]]:
        """Return, by its public key, the line of each witness that cosigned it.

        A witness counts that is in force, and not revoked, at the time of its cosignature.
        """
        found = dict[bytes, tuple[Signature, Cosigned]]()
        for row in self.note.signatures:
            key = key_of(trust, row)
            if key is None or key.algorithm != COSIGNATURE or key.public in found:
                continue
            at = _time(note.cosigned_at(row.signature))
            counts = at is not None and standing(trust, key, "witness", at) == "trusted"
            if at and counts and key.verifies(self.note.text, row.signature):
                found[key.public] = row, Cosigned(key.name, at)
        return found


@dataclass(frozen=True, slots=True)
class Proof:
    """That a line is in the register of a checkpoint: `hashes` lead from it to the root."""

    line: Line
    hashes: tuple[bytes, ...]
    checkpoint: Checkpoint

    def holds(self) -> bool:
        """Say whether the line is where it says, under the root of the checkpoint."""
        head = self.checkpoint.head
        return tree.includes(self.line.index, head.size, self.line.leaf, self.hashes, head.root)


def sign(head: Head, signer: Signer) -> bytes:
    """Return a checkpoint, signed by a log key whose name its origin begins with."""
    if not is_origin_of(signer.name, head.origin):
        raise ValueError("a checkpoint's origin begins with the name of its log key")
    return note.sign(head.text(), signer)


def cosign(checkpoint: bytes, witness: Signer, seconds: int) -> bytes:
    """Return a checkpoint with one more signature line: of a witness, at this POSIX time.

    Raises DataError `checkpoint.malformed` for what is none, and `checkpoint.full`.
    """
    known = parse(checkpoint)
    return known.extended(note.cosignature(known.note.text, witness, seconds)).data


def parse(data: bytes) -> Checkpoint:
    """Read a checkpoint; raises DataError `checkpoint.malformed`. Signatures are not looked at."""
    malformed = DataError("checkpoint.malformed", "this is not a checkpoint of a register")
    if len(data) > MAX_CHECKPOINT:
        raise malformed
    try:
        signed = note.parse(data, cosigned=True)
    except DataError:
        raise malformed from None
    found = _TEXT.fullmatch(signed.text)
    root = note.decode(found[3]) if found else None
    if not found or root is None or int(found[2]) > tree.MAX_SIZE:
        raise malformed
    head = Head(found[1].decode(), int(found[2]), root)
    if head.size == 0 and head.root != tree.EMPTY:
        raise malformed
    return Checkpoint(data, signed, head)


def split(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield each of the checkpoints that stand one after the other in a file (FORMAT.md §20).

    `read` is its `readline`. A new one begins with a line after a signature line that is none
    itself. What is longer than a checkpoint may be is cut off, so as to be none.
    """
    held, size, signed, begins = list[bytes](), 0, False, True
    while data := read(MAX_CHECKPOINT):
        if begins:
            before, signed = signed, data.startswith(note.DASH)
            if before and not signed:
                yield b"".join(held)
                held, size = [], 0
        if size <= MAX_CHECKPOINT:
            held.append(data)
            size += len(data)
        begins = data.endswith(b"\n")
    if held:
        yield b"".join(held)


def write_proof(line: Line, hashes: Sequence[bytes], checkpoint: bytes) -> bytes:
    """Return the proof of a line under a checkpoint."""
    rows = [b"c2sp.org/tlog-proof@v1", b"extra " + base64.b64encode(line.data)]
    rows += [b"index %d" % line.index, *map(base64.b64encode, hashes), b"", checkpoint]
    return b"\n".join(rows)


def parse_proof(data: bytes) -> Proof:
    """Read a proof, which need not hold; raises DataError `proof.malformed`."""
    malformed = DataError("proof.malformed", "this is not a proof of a register's line")
    found = _PROOF.match(data) if len(data) <= MAX_PROOF else None
    if found is None:
        raise malformed
    try:
        line = register.parse(note.decode(found[1]) or b"")
        checkpoint = parse(data[found.end() :])
    except DataError:
        raise malformed from None
    hashes = [note.decode(row) for row in found[3].split(b"\n")[:-1]]
    if line.index != int(found[2]) or None in hashes:
        raise malformed
    return Proof(line, tuple(row for row in hashes if row is not None), checkpoint)


def _time(seconds: int) -> str | None:
    """Return a POSIX time as entries have it; None for one after the year 9999."""
    if seconds > _LAST_SECOND:
        return None
    days, second = divmod(seconds, 86_400)
    era, day = divmod(days + 719_468, 146_097)  # eras of 400 years, from 0000-03-01
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153  # from March
    day -= (153 * month + 2) // 5 - 1
    year += 400 * era + (month >= 10)
    month += -9 if month >= 10 else 3
    hour, minute = divmod(second // 60, 60)
    date = f"{year:04}-{month:02}-{day:02}"
    return f"{date}T{hour:02}:{minute:02}:{second % 60:02}.000000Z"
