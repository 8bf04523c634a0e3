"""The register of a store: one append-only list over all of its debates (FORMAT.md §12, §19).

What one method reads of it is as it stands at one moment, but for what is yielded: debates go
on meanwhile. `at_once` stops that for all methods. A root or a proof reads as many hashes as
the tree is high.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple
from uuid import UUID

from hansard.errors import DataError, UsageError
from hansard.record import register, tree
from hansard.record.checkpoint import Checkpoint
from hansard.record.keys import is_origin_of
from hansard.record.line import line_hash
from hansard.record.note import SIGNATURE
from hansard.record.register import Line
from hansard.store import copied, registering
from hansard.store.database import Cursor, Select, Tables
from hansard.store.guard import guard, id_of, require_later
from hansard.store.registering import HASH, Row, bytes_of

_PAGE = 10_000  # lines that are read at once
_FEW = 500  # debates or notes that are read at once
_LINES = "SELECT line FROM register WHERE place >= ? AND place < ? ORDER BY place"
_HASHES = "SELECT hash FROM register_hashes WHERE place >= ? AND place < ? ORDER BY place"
_OF = "SELECT line FROM register WHERE tag = ? ORDER BY place"
_CHECKPOINTS = "SELECT size, root, note FROM checkpoints WHERE size > ? ORDER BY size LIMIT ?"
_SIGNED = """SELECT size, root, note FROM checkpoints
    WHERE size >= ? AND note IS NOT NULL ORDER BY cosigned DESC, size DESC LIMIT 1"""
_LAST = """SELECT size, root, note FROM checkpoints
    WHERE size <= ? AND note IS NOT NULL ORDER BY size DESC LIMIT 1"""
_NOTES = """SELECT size, note FROM checkpoints
    WHERE size > ? AND size < ? AND note IS NOT NULL ORDER BY size LIMIT ?"""
_ONE = "SELECT size, root, note FROM checkpoints WHERE size = ?"
# Of each debate its first entry, its head, and its last entry.
_DEBATES = """SELECT heads.debate, first.state, heads.head, last.state FROM heads
    JOIN stored_events AS first
    ON first.originator_id = heads.debate AND first.originator_version = 1
    JOIN stored_events AS last
    ON last.originator_id = heads.debate AND last.originator_version = heads.length
    WHERE {} ORDER BY heads.debate LIMIT ?"""
_ENTRIES = """SELECT originator_version, state FROM stored_events
    WHERE originator_id = ? AND originator_version < ? ORDER BY originator_version DESC LIMIT ?"""
_HEAD = "SELECT head FROM heads WHERE debate = ?"
_NAME = "UPDATE register_log SET origin = ? || '/' || id WHERE origin IS NULL"


class Kept(NamedTuple):
    """A checkpoint of the store: how many lines, the root, and the note once it is signed."""

    size: int
    root: bytes
    note: bytes | None


class Stored(NamedTuple):
    """A debate as the store has it: the hash of its first entry, its head, whether it is over.

    A head that is not the hash of its last entry is empty.
    """

    debate: str
    opened: str
    head: str
    over: bool


class Register:
    """The lines, hashes and checkpoints of one store.

    Every method raises DataError `store.*` where the file cannot be read or written, and
    `register.damaged` where what is there is not what was written.
    """

    def __init__(self, tables: Callable[[], Tables], standing: Select | None = None) -> None:
        self._tables = tables
        self._standing = standing  # what reads it as it was at one moment

    @contextmanager
    def at_once(self) -> Iterator[Register]:
        """Give the register to be read as it stands at one moment, whatever is written."""
        with guard(), self._tables().snapshot(paged=True) as select:
            yield Register(self._tables, select)

    @contextmanager
    def _reading(self) -> Iterator[Select]:
        with guard():
            if self._standing:
                yield self._standing
            else:
                with self._tables().snapshot() as select:
                    yield select

    @contextmanager
    def _writing(self) -> Iterator[Cursor]:
        with guard():
            tables = self._tables()
            tables.require_sound()
            with tables.transaction() as c:
                copied.require_finished(tables.reading(c), "this store")
                yield c

    @property
    def id(self) -> str:
        """Sixteen hex digits that tell this log from all others."""
        return self._log[0]

    @property
    def origin(self) -> str | None:
        """The first line of its checkpoints; None as long as none is signed."""
        return self._log[1]

    def is_named(self, origin: str) -> bool:
        """Say whether a checkpoint of this origin is of this register.

        A store that was put back may be from before the register was named.
        """
        ident, own = self._log
        return origin == own if own else origin.endswith(f"/{ident}")

    @property
    def _log(self) -> tuple[str, str | None]:
        with self._reading() as select:
            rows = [tuple(row) for row in select("SELECT id, origin FROM register_log")]
        if len(rows) != 1 or not all(map(_is_name, rows[0])):
            raise DataError("register.damaged", "the store's register has no name of its own")
        return rows[0][0], rows[0][1]

    @property
    def size(self) -> int:
        """How many lines there are."""
        with self._reading() as select:
            return registering.size_of(select)

    def lines(self, size: int, begin: int = 0) -> Iterator[bytes]:
        """Yield the first `size` lines, from line `begin` on; fewer where some are not there."""
        for row in self._paged(_LINES, size, begin):
            yield bytes_of(row)

    def hashes(self, size: int) -> Iterator[bytes]:
        """Yield the hashes that are stored of the first `size` lines, in order."""
        for row in self._paged(_HASHES, tree.stored_hashes(size)):
            yield bytes_of(row, HASH)

    def _paged(self, statement: str, count: int, first: int = 0) -> Iterator[object]:
        """Yield the values in the places below `count`, up to a page that lacks one."""
        for begin in range(first, count, _PAGE):
            end = min(begin + _PAGE, count)
            with self._reading() as select:
                rows = select(statement, begin, end)
            yield from (row[0] for row in rows)
            if len(rows) < end - begin:
                return

    def of(self, subject: str) -> list[Line]:
        """Return the lines about a debate, by its id, or a policy or key, by its hash."""
        with self._reading() as select:
            rows = select(_OF, register.tag(subject))
        return [register.parse(bytes_of(row[0])) for row in rows]

    def root(self, size: int) -> bytes:
        """Return the root over the first `size` lines."""
        with self._reading() as select:
            return tree.root(size, registering.reader(select))

    def edge(self, size: int) -> tree.Edge:
        """Return the right edge of the tree of the first `size` lines."""
        with self._reading() as select:
            return tree.edge(size, registering.reader(select))

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """Return the hashes that show that line `index` is among the first `size`."""
        with self._reading() as select:
            return tree.inclusion(index, size, registering.reader(select))

    def consistency(self, old: int, size: int) -> list[bytes]:
        """Return the hashes that show that the first `size` lines begin with the first `old`."""
        with self._reading() as select:
            return tree.consistency(old, size, registering.reader(select))

    def checkpoints(self) -> Iterator[Kept]:
        """Yield the checkpoints, in order."""
        after = -1
        while True:
            with self._reading() as select:
                rows = [_kept(*row) for row in select(_CHECKPOINTS, after, _FEW)]
            for row in rows:
                require_later(row.size, after)
                after = row.size
                yield row
            if len(rows) < _FEW:
                return

    def checkpoint(self, size: int) -> Kept | None:
        """Return the checkpoint after exactly that many lines; None where none was made."""
        with self._reading() as select:
            return _one(select, size)

    def signed(self, least: int) -> Kept | None:
        """Return the signed checkpoint after that many lines or more which most witnesses saw.

        Of those that as many saw, the last; None where none is signed.
        """
        with self._reading() as select:
            rows = select(_SIGNED, least)
        return _kept(*rows[0]) if rows else None

    def last_signed(self, most: int = tree.MAX_SIZE) -> Kept | None:
        """Return the last signed checkpoint after that many lines or fewer; None: there is none."""
        with self._reading() as select:
            rows = select(_LAST, most)
        return _kept(*rows[0]) if rows else None

    def notes(self, size: int) -> Iterator[bytes]:
        """Yield the signed checkpoints over fewer than `size` lines, in order."""
        after = -1
        while True:
            with self._reading() as select:
                rows = select(_NOTES, after, size, _FEW)
            for row in rows:
                require_later(row[0], after)
                after = row[0]
                yield bytes_of(row[1])
            if len(rows) < _FEW:
                return

    def is_current(self, debate: str) -> bool:
        """Say whether the last line about a debate of the store names its last entry."""
        with self._reading() as select:
            rows = select(_HEAD, UUID(debate).hex)
        return [row[0] for row in rows] == [line.head for line in self.of(debate)[-1:]]

    def debates(self) -> Iterator[Stored]:
        """Yield the debates of the store, in the order of their ids."""
        where, after = "TRUE", tuple[object, ...]()
        while True:
            with self._reading() as select:
                rows = select(_DEBATES.format(where), *after, _FEW)
            for debate, first, head, last in rows:
                opened, end = map(line_hash, map(bytes_of, (first, last)))
                over = registering.is_over(last)
                yield Stored(id_of(debate), opened, head if head == end else "", over)
                if after:
                    require_later(debate, *after)
                where, after = "heads.debate > ?", (debate,)
            if len(rows) < _FEW:
                return

    def entries(self, debate: str) -> Iterator[str]:
        """Yield the hashes of a debate's entries, the last one first."""
        before = tree.MAX_SIZE
        while True:
            with self._reading() as select:
                rows = select(_ENTRIES, UUID(debate).hex, before, _FEW)
            for seq, line in rows:
                require_later(before, seq)
                before = seq
                yield line_hash(bytes_of(line))
            if len(rows) < _FEW:
                return

    def add(self, rows: Iterable[Row]) -> int:
        """Add lines, and a checkpoint; return how many were not there already."""
        with self._writing() as c:
            return registering.append(self._tables().reading(c), c, rows)

    def add_head(self, debate: str, head: str) -> None:
        """Register the last entry of a debate, open or not, where its last line is another.

        Raises UsageError `register.moved` where `head` is its last entry no more.
        """
        with self._writing() as c:
            select = self._tables().reading(c)
            if [row[0] for row in select(_HEAD, UUID(debate).hex)] != [head]:
                raise UsageError(
                    "register.moved",
                    f"debate {debate[:8]} went on since it was read; read it again",
                )
            registering.append(select, c, [Row("head", debate, head)])

    def name(self, key: str) -> str:
        """Return the origin, which from now on begins with the name of this log key.

        Raises UsageError `register.key` where it begins with another's.
        """
        with self._writing() as c:
            c.execute(_NAME, (key,))
        origin = self.origin or ""
        if not is_origin_of(key, origin):
            raise UsageError(
                "register.key",
                f"this register is {origin}, whose log key has another name than {key}: sign "
                "with that key, or with one of the same name (HANSARD_ORG names new keys)",
            )
        return origin

    @contextmanager
    def keeping(self, size: int) -> Iterator[tuple[Kept | None, Callable[[Checkpoint], None]]]:
        """Give the checkpoint after exactly `size` lines, and what keeps a signed note as it.

        Until the end nobody else writes; all of it is one transaction.
        """
        with self._writing() as c:
            yield _one(self._tables().reading(c), size), partial(_keep, c)


def _one(select: Select, size: int) -> Kept | None:
    rows = select(_ONE, size)
    return _kept(*rows[0]) if rows else None


def _keep(c: Cursor, checkpoint: Checkpoint) -> None:
    """Keep the signed note of a checkpoint, in the place of one that is there already."""
    head = checkpoint.head
    cosigned = sum(len(row.signature) != SIGNATURE for row in checkpoint.note.signatures)
    c.execute(
        "INSERT INTO checkpoints (size, root) VALUES (?, ?) ON CONFLICT DO NOTHING",
        (head.size, head.root),
    )
    c.execute(
        "UPDATE checkpoints SET note = ?, cosigned = ? WHERE size = ?",
        (checkpoint.data, cosigned, head.size),
    )


def _is_name(found: object) -> bool:
    return found is None or type(found) is str


def _kept(size: object, root: object, note: object) -> Kept:
    if type(size) is not int:
        raise DataError("register.damaged", "a checkpoint of the register has no size")
    return Kept(size, bytes_of(root, HASH), None if note is None else bytes_of(note))
