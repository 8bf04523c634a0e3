"""How lines get into the register (FORMAT.md §12).

The lines stand as they were hashed, and beside them the hashes that a root or a proof is made
of, in the order of `record.tree`; and the root at each checkpoint, with its signed note once
there is one. All of it is written in the transaction of the heads that it covers, after a
write that keeps other processes out: their lines come one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson

from hansard.errors import DataError
from hansard.record import register, tree
from hansard.record.line import line_hash
from hansard.record.register import Kind, Line
from hansard.rules.data import AFTER
from hansard.store.database import Cursor, Select

_OPENING: dict[str, Kind] = {"debate.opened": "opened", "gate.answered": "gate"}
_HEADS = frozenset({"debate.closed", *AFTER})
HASH = len(tree.EMPTY)  # bytes
_DAMAGED = "the store's register is damaged; restore the store from a copy"


class Row(NamedTuple):
    """A line to be added: its kind, the debate's id or the hash that it is about, the head."""

    kind: Kind
    subject: str
    head: str


def due(first: int, lines: Iterable[tuple[str, bytes]], debate: str) -> list[Row]:
    """Return what the register says of entries that are stored now, beginning with `first`.

    That a debate was opened, under which policy, and each head that it has once it is closed.
    """
    rows = []
    for seq, (kind, line) in enumerate(lines, first):
        if seq == 1 and kind in _OPENING:
            policy = orjson.loads(line)["data"].get("policy")
            rows += [Row("policy_approved", policy, policy)] if policy else []
            rows.append(Row(_OPENING[kind], debate, line_hash(line)))
        elif kind in _HEADS:
            rows.append(Row("head", debate, line_hash(line)))
    return rows


def is_over(last: bytes) -> bool:
    """Whether a record with this last entry is registered up to its end; also if it is none.

    The type that a store keeps beside an entry is a label, and may be another.
    """
    try:
        kind = orjson.loads(last)["type"]
    except (ValueError, TypeError, KeyError):
        return True
    return kind in (*_HEADS, *_OPENING) and kind != "debate.opened"


def append(select: Select, c: Cursor, rows: Iterable[Row]) -> int:
    """Add lines, and a checkpoint after them; return how many were not there already.

    A debate's line is there where its last line has the same head, a policy's or key's where
    it has any of that kind. `select` reads in the transaction of `c`, which must have written
    before, and so keep others out.
    """
    before = size = size_of(select)
    read = reader(select)
    for row in rows:
        line = Line(size, row.kind, register.tag(row.subject), row.head)
        if _is_there(line, select):
            continue
        _add(c, line, read)
        size += 1
    if size > before:
        root = tree.root(size, read)
        c.execute("INSERT INTO checkpoints (size, root) VALUES (?, ?)", (size, root))
    return size - before


def extend(select: Select, c: Cursor, size: int, lines: Iterable[bytes]) -> None:
    """Add the lines of another register that follow its first `size`, which are there.

    No checkpoint is made. Raises DataError `register.damaged` or `register.line`.
    """
    read = reader(select)
    for place, data in enumerate(lines, size):
        line = register.parse(data)
        if line.index != place:
            raise DataError("register.damaged", f"{_DAMAGED}: a line has another place")
        _add(c, line, read)


def _add(c: Cursor, line: Line, read: tree.Read) -> None:
    """Store a line at its place, and the hashes that it brings."""
    c.execute("INSERT INTO register VALUES (?, ?, ?)", (line.index, line.tag, line.data))
    place = tree.stored_hashes(line.index)
    for number, found in enumerate(tree.added(line.index, line.leaf, read), place):
        c.execute("INSERT INTO register_hashes VALUES (?, ?)", (number, found))


def _is_there(line: Line, select: Select) -> bool:
    if line.kind == "opened":  # its id is new
        return False
    rows = select("SELECT line FROM register WHERE tag = ? ORDER BY place", line.tag)
    known = [(row.kind, row.head) for row in (register.parse(bytes_of(each[0])) for each in rows)]
    if line.kind == "head":  # an opening is a head, too
        return bool(known) and known[-1][1] == line.head
    return (line.kind, line.head) in known


def size_of(select: Select) -> int:
    """Return how many lines there are; raises DataError `register.damaged` for too many."""
    last = select("SELECT max(place) FROM register")[0][0]
    size = 0 if last is None else int(last) + 1
    if size > tree.MAX_SIZE:
        raise DataError("register.damaged", f"{_DAMAGED}: a line is where none can be")
    return size


def reader(select: Select) -> tree.Read:
    """Return what reads the stored hashes; raises DataError `register.damaged`."""

    def read(places: Sequence[int]) -> list[bytes]:
        rows = [select("SELECT hash FROM register_hashes WHERE place = ?", at) for at in places]
        if not all(rows):
            raise DataError("register.damaged", f"{_DAMAGED}: a hash is missing")
        return [bytes_of(found[0][0], HASH) for found in rows]

    return read


def bytes_of(value: object, size: int | None = None) -> bytes:
    """Return a stored value that must be bytes; SQLite columns may hold anything."""
    if type(value) is not bytes or size not in (None, len(value)):
        raise DataError("register.damaged", f"{_DAMAGED}: what should be a line or a hash is none")
    return value
