"""What a store asks of its database, and the statements that every database takes alike.

Statements are written with SQLite's marks, `?` and `:name`. What only one database knows (how it
is opened, locked, searched and rid of what was erased) is in the module of that database.
"""

from __future__ import annotations

import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from sys import getsizeof
from typing import Any, ClassVar, NamedTuple, Protocol
from uuid import UUID

from eventsourcing.persistence import StoredEvent

from hansard.errors import DataError, UsageError
from hansard.record.bundle import MAX_EXPORT, Head
from hansard.store.mapping import Debates

MOST_BYTES = 2 * MAX_EXPORT  # that are read at once: no record that can be exported has as many
TEMPLATE = "SELECT body FROM templates WHERE sha256 = ?"
EACH = 64  # bytes that a row counts for, beside what is in it
_MOST_ENTRIES = 1 << 52  # of a store in which a debate is opened
LOCK_SECONDS = 60  # for which a writer waits for another

Select = Callable[..., Sequence[Sequence[Any]]]


class Extras(NamedTuple):
    """What is stored in the same transaction as a batch of lines."""

    head: Head
    blobs: Sequence[tuple[str, bytes]] = ()
    templates: Sequence[tuple[str, bytes]] = ()
    folder: str | None = None
    erased: Sequence[str] = ()  # the names of blobs that go
    priority: int | None = None  # in the queue of debates that wait for a worker


class NotNext(Exception):
    """A batch does not come next in its debate, which is named: something else stands there."""


class Cursor(Protocol):
    """What runs the statements of one transaction."""

    def execute(self, statement: str, params: Any = (), /) -> object:
        """Run a statement."""

    def executemany(self, statement: str, params: Any, /) -> object:
        """Run a statement once with each of these parameters."""


class Lock(Protocol):
    """The right to run one debate, which ends with its process however that ends."""

    def acquire(self) -> bool:
        """Take the lock; False where somebody else holds it."""

    def release(self) -> None:
        """Give the lock back, if it is held."""


class Tables(ABC):
    """The tables of an open database; each database has a recorder of its own that is one.

    `place` is the column of entries that counts them in the order in which they were stored,
    `holds` says whether a blob's bytes hold others, and `searched` whether a row of the
    projection was found by its words.
    """

    place: ClassVar[str]
    holds: ClassVar[str]
    searched: ClassVar[str]
    refused: ClassVar[type[Exception]]  # what a statement raises that stores a key twice

    @property
    @abstractmethod
    def name(self) -> str:
        """The database, to be shown."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Cursor]:
        """Give a cursor whose changes are all made durably at the end, or none of them.

        From its first statement on, nobody else writes.
        """

    @abstractmethod
    def snapshot(self, *, paged: bool = False) -> AbstractContextManager[Select]:
        """Give a `select` all of whose rows are as they stood at one moment.

        They have a bound together (`bounded`); `paged`: those of each statement have.
        """

    @abstractmethod
    def rows(self, c: Any, statement: str, params: Any) -> Generator[Sequence[Any]]:
        """Yield the rows of a statement, few of which are in memory at once."""

    def reading(self, c: Any, *, paged: bool = True) -> Select:
        """Return what reads in the transaction of a cursor, with the bounds of a `snapshot`."""
        left = MOST_BYTES

        def select(statement: str, *params: object, **named: object) -> list[Sequence[Any]]:
            nonlocal left
            with closing(self.rows(c, statement, named or params)) as rows:
                found, rest = bounded(rows, left, self.name)
            left = left if paged else rest
            return found

        return select

    @abstractmethod
    def write(self, work: Callable[[Cursor], int]) -> None:
        """Store entries in one transaction; `work` returns how many the store has then.

        Raises NotNext: also where they were stored, and a connection was lost before that was
        told.
        """

    @abstractmethod
    def add(self, c: Cursor, events: Sequence[StoredEvent]) -> int:
        """Insert events; return how many there are then. Raises `refused`."""

    @abstractmethod
    def changed(self, c: Cursor) -> int:
        """Return how many rows the last statement has changed."""

    @abstractmethod
    def will_erase(self) -> None:
        """Note that texts go with this transaction: who comes next scrubs if this one cannot."""

    @abstractmethod
    def scrub(self) -> None:
        """Leave nothing in the files of the database of what was deleted, as far as it can."""

    @abstractmethod
    def search(self, text: str) -> object:
        """Return what `:words` of `searched` is for a search for all words of `text`."""

    def require_sound(self) -> None:  # noqa: B027 - a server sees to that itself
        """Refuse a file in which what is recorded would be lost."""

    def require_sound_rows(self) -> None:  # noqa: B027 - a server sees to that itself
        """Refuse a file in which entries, or rows, may be found where there are none."""

    def make_rows(self, c: Cursor) -> None:  # noqa: B027 - some databases do nothing
        """Make the missing tables of the projection; on a server only their owner can do that."""

    @abstractmethod
    def put_words(self, c: Cursor, place: int, words: str) -> None:
        """Let a row of the projection be found by these words."""

    @abstractmethod
    def drop_words(self, c: Cursor, place: int | None, *, wholly: bool = False) -> None:
        """Forget the words of a row, or of all; `wholly`: leave no trace of them in the index.

        An index that is damaged is made anew, and every row of the projection is then due.
        """

    def select(self, statement: str, *params: object, **named: object) -> Sequence[Sequence[Any]]:
        """Return the rows of a read-only statement."""
        with self.snapshot() as select:
            return select(statement, *params, **named)

    def insert(self, c: Cursor, events: Sequence[StoredEvent], extras: Extras) -> int:
        """Insert a batch of one debate; return how many entries there are then.

        Raises NotNext where the batch does not come next.
        """
        try:
            return self._insert(c, events, extras)
        except self.refused:
            raise NotNext(events[0].originator_id) from None

    def _insert(self, c: Cursor, events: Sequence[StoredEvent], extras: Extras) -> int:
        first = events[0]
        debate = UUID(str(first.originator_id)).hex
        entries = self.add(c, events)
        self._require_last(c, entries, opens=first.originator_version == 1)
        if extras.blobs:
            c.executemany(
                "INSERT INTO blobs VALUES (?, ?, ?)",
                [(debate, name, body) for name, body in extras.blobs],
            )
        if extras.erased:
            c.executemany(
                "DELETE FROM blobs WHERE debate = ? AND name = ?",
                [(debate, name) for name in extras.erased],
            )
        if extras.templates:
            c.executemany(
                "INSERT INTO templates VALUES (?, ?) ON CONFLICT DO NOTHING", extras.templates
            )
            self._require_kept(c, extras.templates)
        if extras.folder is not None:
            c.execute("INSERT INTO runs VALUES (?, ?)", (debate, os.fsencode(extras.folder)))
        length, head = extras.head.length, extras.head.hash
        if first.originator_version == 1:
            c.execute("INSERT INTO heads VALUES (?, ?, ?)", (debate, length, head))
            return entries
        c.execute(
            "UPDATE heads SET length = ?, head = ? WHERE debate = ? AND length = ?",
            (length, head, debate, first.originator_version - 1),
        )
        if self.changed(c) != 1:
            raise NotNext(first.originator_id)
        return entries

    def _require_last(self, c: Cursor, entries: int, *, opens: bool) -> None:
        """Raise DataError `store.corrupt` where the entries just added do not come last.

        What reads the log in its order would miss them. Where there are no higher numbers left, a
        database gives them in no order; so a debate is opened only where all of it will fit.
        """
        later = f"SELECT 1 FROM stored_events WHERE {self.place} > ? LIMIT 1"  # noqa: S608
        if (opens and entries > _MOST_ENTRIES) or self.reading(c)(later, entries):
            raise DataError(
                "store.corrupt",
                f"{self.name} does not number a new entry after all others, so what reads them in "
                "their order would miss it; restore it from a copy, or name another store",
            )

    def _require_kept(self, c: Cursor, templates: Iterable[tuple[str, bytes]]) -> None:
        """Raise DataError where another text stands under a template's name: debates share it.

        Every debate that names it would be altered from its first entry on.
        """
        select = self.reading(c)
        for name, body in templates:
            if [tuple(row) for row in select(TEMPLATE, name)] != [(body,)]:
                raise DataError(
                    "store.corrupt",
                    f"{self.name} holds another text under the name of the template {name[:8]}: "
                    "it was damaged or altered; restore it from a copy",
                )


class Database(ABC):
    """Where a store is kept, and how it is opened there.

    `url` names it without a secret; `secret_url` is what opens it from another process, None
    where that cannot be. `place` is the folder that its owner trusts with the files of debates:
    that of its file; None in memory.
    """

    def __init__(self, url: str, secret_url: str | None, place: Path | None) -> None:
        self.url, self.secret_url, self.place = url, secret_url, place

    @abstractmethod
    def is_there(self) -> bool:
        """Whether there is anything to read."""

    @abstractmethod
    def exposed(self) -> str | None:
        """Say who beside its owner can read or change it, in words; None where nobody can."""

    @abstractmethod
    def open(self) -> Debates:
        """Open it, and make it where it may be made; its recorder is `Tables`.

        Raises DataError `store.*` where it holds what no store holds.
        """

    @abstractmethod
    def migrate(self) -> int | None:
        """Make the tables of a store, or bring them up to date; return the version that they had.

        None where there were none. Raises DataError `store.newer`, and as `open`.
        """

    @abstractmethod
    def close(self) -> None:
        """See to what is beside it once it is closed."""

    def is_locked(self) -> bool:
        """Say whether others lock it at this moment; False where only an attempt can tell."""
        return False

    def enqueue(self, c: Cursor, debate: str, priority: int) -> None:  # noqa: ARG002
        """Put a debate into the queue, in this transaction; raises UsageError `queue.*`."""
        raise self._no_queue()

    def cancel(self, debate: str) -> bool:  # noqa: ARG002
        """Take a debate out of the queue; say whether a worker that runs it was asked to stop."""
        return False

    def require_queue(self) -> None:
        """Raise UsageError `queue.store`, `queue.extra` or `queue.missing` where there is none."""
        raise self._no_queue()

    def require_erasing(self) -> None:  # noqa: B027 - who may write a file may erase in it
        """Raise DataError `store.role` where whoever is connected may not delete texts."""

    @property
    def dsn(self) -> str:
        """What libpq connects with: do not show it; raises UsageError `queue.store`."""
        raise self._no_queue()

    def _no_queue(self) -> UsageError:
        said = f"{self.url} has no queue; workers need a store in PostgreSQL"
        return UsageError("queue.store", said)

    @abstractmethod
    def lock(self, debate: str) -> Lock | None:
        """Return the lock of the debate's runner; None where no other process can be one."""


SCHEMA = 1  # the version of a store's tables


def require_current(version: int, url: str, how: str = "") -> None:
    """Raise DataError `store.newer` or `store.old` for tables of another version than ours.

    `how` says how they are brought up to date where `migrate_command` does not do it.
    """
    require_known(version, url)
    if version < SCHEMA:
        how = how or f"with `{migrate_command(url)}`"
        raise DataError(
            "store.old",
            f"an earlier version of Hansard made the tables of {url}; bring them up to date {how}",
        )


def require_known(version: int, url: str) -> None:
    """Raise DataError `store.newer` for tables of a version after ours."""
    if version > SCHEMA:
        raise DataError(
            "store.newer",
            f"a later version of Hansard made the tables of {url} (their version is {version}, "
            f"and this one knows {SCHEMA}); use that version of Hansard",
        )


def migrate_command(url: str) -> str:
    """Return the command that makes the tables of a store, or brings them up to date."""
    return f"hansard store migrate --store {shlex.quote(url)}"


def bounded(rows: Iterable[Sequence[Any]], left: int, name: str) -> tuple[list[Sequence[Any]], int]:
    """Return rows, and how many bytes of `left` the next ones may have.

    In a file from a stranger, any number of values may lie in the same few pages, and the shorter
    they are the more of a row is what Python adds. A text may take four times its characters. So
    what a value takes in memory counts. Raises DataError `store.size`.
    """
    found = list[Sequence[Any]]()
    for row in rows:
        left -= EACH + sum(map(getsizeof, row))
        if left < 0:
            raise DataError(
                "store.size",
                f"{name} has more than {MOST_BYTES:,} bytes of a debate, which is more than "
                "Hansard reads",
            )
        found.append(row)
    return found, left
