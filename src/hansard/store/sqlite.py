"""SQLite: lines, blobs and heads in one file and one transaction (FORMAT.md §12).

The `eventsourcing` recorder stores each line as it was hashed. Beside it stand
the blobs of that batch, the templates, and each debate's head and length, so
that a line lost from the end shows.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from os.path import samestat
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
    SQLiteFactory,
)
from typing_extensions import override

from hansard import private
from hansard.errors import DataError
from hansard.record.bundle import MAX_EXPORT, Head
from hansard.store import file as files
from hansard.store import registering
from hansard.store.file import LOCK_SECONDS

MOST_BYTES = 2 * MAX_EXPORT  # that are read at once: no record that can be exported has as many

_TABLES = (
    """CREATE TABLE IF NOT EXISTS blobs
       (debate TEXT, name TEXT, body BLOB NOT NULL, PRIMARY KEY (debate, name)) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS templates
       (sha256 TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS heads
       (debate TEXT PRIMARY KEY, length INTEGER NOT NULL, head TEXT NOT NULL) WITHOUT ROWID""",
    # Where a run's relative file names begin: not part of any record.
    """CREATE TABLE IF NOT EXISTS runs
       (debate TEXT PRIMARY KEY, folder TEXT NOT NULL) WITHOUT ROWID""",
    # They stop accidents, not an owner of the file; the chain shows the rest.
    """CREATE TRIGGER IF NOT EXISTS lines_stay BEFORE DELETE ON stored_events
       BEGIN SELECT RAISE(ABORT, 'lines are never deleted'); END""",
    """CREATE TRIGGER IF NOT EXISTS lines_stand BEFORE UPDATE ON stored_events
       BEGIN SELECT RAISE(ABORT, 'lines are never changed'); END""",
    *registering.TABLES,
)


class Extras(NamedTuple):
    """What is stored in the same transaction as a batch of lines."""

    head: Head
    blobs: Sequence[tuple[str, bytes]] = ()
    templates: Sequence[tuple[str, bytes]] = ()
    folder: str | None = None
    erased: Sequence[str] = ()  # the names of blobs that go


class Pool(SQLiteConnectionPool):
    """Connections that reach the disk before they say so and leave no deleted text behind."""

    @override
    def _create_connection(self) -> SQLiteConnection:
        # The base class asks for `cached_statements=True`, which is a cache of one: every
        # statement of an append would be compiled again.
        connection = sqlite3.connect(
            self.db_name,
            timeout=LOCK_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=128,
            uri=True,
        )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.row_factory = sqlite3.Row
        return SQLiteConnection(connection, max_age=self.max_age)


class Recorder(SQLiteApplicationRecorder):
    """Stores a batch of lines with its blobs and its head, all or nothing."""

    place = "rowid"  # the column of entries that counts them in the order of the log

    @override
    def construct_create_table_statements(self) -> list[str]:
        return [*super().construct_create_table_statements(), *_TABLES]

    @override
    def create_table(self) -> None:
        name = self.datastore.pool.db_name
        if name.startswith("file:"):  # in memory
            super().create_table()
        else:
            files.make(Path(name), self.create_table_statements)

    def examine(self, more: Iterable[str]) -> None:
        """Refuse a store that holds what we did not make: a trigger or view acts while we read.

        Its own tables may be there, and those of the statements `more`.

        What is missing, as after tampering, shows where it is read. Raises DataError
        `store.foreign`, or `store.old` for a store without a register.
        """
        ours = set(map(_as_kept, (*self.create_table_statements, *more)))
        made = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        rows = self.select(made)
        for kind, name, statement in rows:
            if type(statement) is not str or _as_kept(statement) not in ours:
                raise DataError(
                    "store.foreign",
                    f"{self.datastore.pool.db_name} holds the {kind} {name!r:.64}, which no "
                    "Hansard store has; name another store, or restore it from a copy",
                )
        if "register" not in {row[1] for row in rows}:
            raise DataError(
                "store.old",
                f"{self.datastore.pool.db_name} has no register: an earlier version of Hansard "
                "made it, or the register was taken out; read it with that version or restore it "
                "from a copy, and name another store for new debates",
            )

    def has(self, table: str) -> bool:
        """Whether there is a table of this name."""
        return bool(self.select("SELECT 1 FROM sqlite_master WHERE name = ?", table))

    def entries(self) -> int:
        """Return how many entries there are: none is ever deleted."""
        return self.max_notification_id() or 0

    def insert(self, c: SQLiteCursor, events: Sequence[StoredEvent], extras: Extras) -> int:
        """Insert a batch of one debate; return how many entries there are then.

        Raises sqlite3.IntegrityError where the batch does not come next.
        """
        first = events[0]
        debate = _key(first.originator_id)
        places = self._insert_events(c, events)
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
            c.executemany("INSERT OR IGNORE INTO templates VALUES (?, ?)", extras.templates)
        if extras.folder is not None:
            c.execute("INSERT INTO runs VALUES (?, ?)", (debate, os.fsencode(extras.folder)))
        length, head = extras.head.length, extras.head.hash
        if first.originator_version == 1:
            c.execute("INSERT INTO heads VALUES (?, ?, ?)", (debate, length, head))
        else:
            c.execute(
                "UPDATE heads SET length = ?, head = ? WHERE debate = ? AND length = ?",
                (length, head, debate, first.originator_version - 1),
            )
            if c.sqlite_cursor.rowcount != 1:
                raise sqlite3.IntegrityError("the debate has another length")
        return places[-1] if places else 0

    def scrub(self) -> None:
        """Write the store anew without what was deleted, and empty its write-ahead log.

        Raises DataError `store.busy` while another process reads an older state.
        """
        name = self.datastore.pool.db_name
        if name.startswith("file:"):  # in memory, where nothing stays
            return
        with closing(sqlite3.connect(name, timeout=LOCK_SECONDS, isolation_level=None)) as own:
            own.execute("PRAGMA synchronous = FULL")
            own.execute("PRAGMA secure_delete = ON")
            own.execute("VACUUM")
            busy = own.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise DataError(
                "store.busy",
                f"what was to be erased is out of the record, but {name}-wal still has it, since "
                "another process reads the store; end that process, and run `hansard list`",
            )

    def select(self, statement: str, *params: object, **named: object) -> list[sqlite3.Row]:
        """Return the rows of a read-only statement."""
        with self.snapshot() as select:
            return select(statement, *params, **named)

    @contextmanager
    def snapshot(self) -> Iterator[Callable[..., list[sqlite3.Row]]]:
        """Give a `select` all of whose rows are as they stood at one moment.

        They have a bound together: in a file from a stranger, any number of long values may lie
        in the same few pages. Raises DataError `store.size`.
        """
        with self.datastore.transaction(commit=False) as c:
            left = MOST_BYTES

            def select(statement: str, *params: object, **named: object) -> list[sqlite3.Row]:
                nonlocal left
                c.execute(statement, named or params)
                rows = list[sqlite3.Row]()
                for row in iter(c.fetchone, None):
                    left -= sum(len(value) for value in row if isinstance(value, (bytes, str)))
                    if left < 0:
                        raise DataError(
                            "store.size",
                            f"{self.datastore.pool.db_name} has more than {MOST_BYTES:,} bytes of "
                            "a debate, which is more than Hansard reads",
                        )
                    rows.append(row)
                return rows

            yield select


class Factory(SQLiteFactory):
    """Wires the recorder to our connections; found by `eventsourcing` by its place here."""

    application_recorder_class = Recorder

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        pool = self.datastore.pool
        self.datastore.pool = Pool(db_name=pool.db_name, lock_timeout=LOCK_SECONDS)


def _as_kept(statement: str) -> str:
    """Return a statement as SQLite keeps it, but for its spaces."""
    return " ".join(statement.replace(" IF NOT EXISTS", "", 1).split())


def _key(debate: UUID | str) -> str:
    return debate.hex if isinstance(debate, UUID) else debate


class RunnerLock:
    """A lock on one debate that dies with its process.

    It is SQLite's own lock on an empty file beside the store: an operating
    system lock, portable, and gone however the process ends. Should two
    runners append all the same, the sequence number decides.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._connection: sqlite3.Connection | None = None

    def acquire(self) -> bool:
        """Take the lock; False where another process holds it.

        Raises OSError, sqlite3.Error, and DataError `store.beside` for a file that is no lock.
        """
        while self._connection is None:
            with suppress(FileExistsError):
                os.close(private.create(self.path))
            file = files.regular(self.path)
            if file is None:  # its holder has just removed it
                continue
            if file.st_size:
                raise DataError(
                    "store.beside", f"{self.path} is not a lock, which is an empty file; remove it"
                )
            files.examine_beside(self.path)
            connection = sqlite3.connect(self.path, timeout=0, isolation_level=None)
            if not _is_free(connection):
                return False
            # Only the holder removes the file: a lock on one that is gone is no lock.
            if _stands(file, self.path):
                self._connection = connection
            else:
                connection.close()
        return True

    def release(self) -> None:
        """Give the lock back, if it is held."""
        if self._connection is not None:
            with suppress(OSError):  # some systems keep a file that is open
                self.path.unlink()
            self._connection.close()
            self._connection = None


def _stands(file: os.stat_result, path: Path) -> bool:
    """Say whether a path still leads to the file that was there."""
    try:
        return samestat(file, path.lstat())
    except FileNotFoundError:
        return False


def _is_free(connection: sqlite3.Connection) -> bool:
    """Lock a lock's file, whose connection is closed where that fails; False where it is held."""
    try:
        # A journal on disk would be a second open file for each debate that runs.
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


__all__ = ["Extras", "Factory", "Recorder", "RunnerLock", "SQLiteDatastore"]
