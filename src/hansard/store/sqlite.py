"""SQLite: lines, blobs and heads in one file and one transaction (FORMAT.md §12).

The `eventsourcing` recorder stores each line as it was hashed. Beside it stand
the blobs of that batch, the templates, and each debate's head and length, so
that a line lost from the end shows.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteFactory,
)
from typing_extensions import override

from hansard.errors import DataError
from hansard.record.bundle import MAX_EXPORT
from hansard.store import file as files
from hansard.store.beside import Place, RunnerLock, Tally, Unscrubbed
from hansard.store.database import (
    LOCK_SECONDS,
    SCHEMA,
    Cursor,
    Database,
    Lock,
    Select,
    Tables,
    require_current,
    require_known,
)
from hansard.store.guard import guard
from hansard.store.mapping import Debates
from hansard.store.sound import Sound, require_sound
from hansard.store.sqlite_tables import DERIVED, NEW_WORDS, ROWS, TABLES
from hansard.store.work import STEPS, Work

SCHEME = "sqlite:///"
_LONGEST_TEXT = 1 << 24  # bytes of a text that is no blob: names, numbers, hashes
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_SPACES = re.compile("[ \t\n\f\r]+")
_ROOTS = "SELECT rootpage FROM sqlite_master WHERE rootpage > 0"
_MEMORY = "file:"  # begins the name of a store in memory; that of a file is an absolute path


class _Cursor(sqlite3.Cursor):
    """Takes the time of each statement."""

    connection: _Connection

    @override
    def execute(self, *given: Any) -> Any:
        if self.connection.work:
            self.connection.work.time()
        return super().execute(*given)


class _Connection(sqlite3.Connection):
    """A connection that knows which files it has open; those of a store in memory are none."""

    place: Place | None = None
    work: Work | None = None

    @override
    def cursor(self, *_: Any) -> Any:
        """Give a cursor, with which a transaction begins: its work is counted anew."""
        if self.work:
            self.work.begin()
        return super().cursor(_Cursor)


class Pool(SQLiteConnectionPool):
    """Connections that reach the disk before they say so and leave no deleted text behind."""

    @override
    def _create_connection(self) -> SQLiteConnection:
        # The base class asks for `cached_statements=True`, which is a cache of one: every
        # statement of an append would be compiled again.
        in_memory = self.db_name.startswith(_MEMORY)
        connection = sqlite3.connect(
            self.db_name if in_memory else files.uri_of(Path(self.db_name)),
            timeout=LOCK_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=128,
            uri=True,
            factory=_Connection,
        )
        files.read_schema(connection, Path(self.db_name))
        # Python has a value a second time before anybody can count its bytes.
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_EXPORT)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.row_factory = sqlite3.Row
        connection.text_factory = _text
        if not in_memory:
            connection.place = Place(Path(self.db_name))
            connection.work = Work(Path(self.db_name))
            connection.set_progress_handler(connection.work, STEPS)
        return SQLiteConnection(connection, max_age=self.max_age)


class Recorder(Tables, SQLiteApplicationRecorder):
    """Stores a batch of lines with its blobs and its head, all or nothing."""

    place = "rowid"
    holds = "instr({}, ?)"
    searched = "row.place IN (SELECT rowid FROM projected_texts WHERE said MATCH :words)"
    refused = sqlite3.IntegrityError
    sound: Sound | None = None

    @override
    def construct_create_table_statements(self) -> list[str]:
        return [*super().construct_create_table_statements(), *TABLES]

    @override
    def create_table(self) -> None:
        if self._in_memory:
            super().create_table()
        else:
            files.make(Path(self.name), self.create_table_statements, SCHEMA)

    @property
    @override
    def name(self) -> str:
        return self.datastore.pool.db_name

    @property
    def _in_memory(self) -> bool:
        return self.name.startswith(_MEMORY)

    def examine(self) -> None:
        """Refuse a store that holds what we did not make: a trigger or view acts while we read.

        SQLite finds a table by its statement alone, so kind and name are to be ours as well. Nor
        may two tables begin in one page: what is written into one would be lost in the other.
        What is missing, as after tampering, shows where it is read; what `upgrade` throws away may
        be of an earlier version. Raises DataError `store.foreign`, `store.corrupt`, or `store.old`
        for a store without a register.
        """
        ours = set(_kept(self.create_table_statements))
        left = DERIVED if self.version() == 0 else ()
        rows = self.select(_SCHEMA)
        for kind, name, table, statement in rows:
            if (kind == "table" and name in left) or (statement is None and table in left):
                continue
            kept = _as_kept(statement) if type(statement) is str else statement
            if (kind, name, table, kept) not in ours:
                raise DataError(
                    "store.foreign",
                    f"{self.name} holds {name!r:.64}, which no Hansard store has so; name another "
                    "store, or restore it from a copy",
                )
        roots = [row[0] for row in self.select(_ROOTS)]
        if len(roots) != len(set(roots)):
            raise DataError(
                "store.corrupt",
                f"{self.name} has two tables that begin in one page, so a write into one would "
                "damage the other; restore it from a copy",
            )
        if "register" not in {row[1] for row in rows}:
            raise DataError(
                "store.old",
                f"{self.name} has no register: an earlier version of Hansard made it, or the "
                "register was taken out; read it with that version or restore it from a copy, and "
                "name another store for new debates",
            )

    def version(self) -> int:
        """Return the version of the tables: 0 from before it was noted."""
        return int(self.select("PRAGMA user_version")[0][0])

    def upgrade(self) -> None:
        """Make what the tables lack. Those of version 0 may lack the projection."""
        with self.transaction() as c:
            for statement in self.create_table_statements:
                c.execute(statement)
            c.execute(f"PRAGMA user_version = {SCHEMA}")

    def entries(self) -> int:
        """Return how many entries there are: none is ever deleted."""
        return self.max_notification_id() or 0

    @override
    @contextmanager
    def transaction(self) -> Iterator[SQLiteCursor]:
        with self._begun(commit=True) as c:
            c.execute("DELETE FROM checkpoints WHERE 0")  # a write of nothing keeps others out
            if place := cast(_Connection, c.sqlite_cursor.connection).place:
                place.require()
            yield c

    @override
    @contextmanager
    def snapshot(self, *, paged: bool = False) -> Iterator[Select]:
        with self._begun(commit=False) as c:
            yield self.reading(c, paged=paged)

    @contextmanager
    def _begun(self, *, commit: bool) -> Iterator[SQLiteCursor]:
        """Begin a transaction; Ctrl-C while SQLite works is Ctrl-C, and no damage to the store.

        Python swallows what is raised in a progress handler, and SQLite says that it was stopped.
        """
        with self.datastore.transaction(commit=commit) as c:
            try:
                yield c
            except sqlite3.OperationalError as error:
                work = cast(_Connection, c.sqlite_cursor.connection).work
                number = getattr(error, "sqlite_errorcode", None)  # some are Python's own
                if number == sqlite3.SQLITE_INTERRUPT and work and not work.exceeded:
                    raise KeyboardInterrupt from None
                raise

    @override
    def rows(self, c: SQLiteCursor, statement: str, params: Any) -> Generator[Sequence[Any]]:
        c.execute(statement, params)
        yield from iter(c.fetchone, None)

    @override
    def write(self, work: Callable[[Cursor], int]) -> None:
        self.require_sound()
        with self.transaction() as c:
            entries = work(c)
        if not self._in_memory:
            Tally(Path(self.name)).write(entries)

    @override
    def add(self, c: Cursor, events: Sequence[StoredEvent]) -> int:
        places = self._insert_events(cast(SQLiteCursor, c), events)
        return places[-1] if places else 0

    @override
    def changed(self, c: Cursor) -> int:
        return cast(SQLiteCursor, c).sqlite_cursor.rowcount

    @override
    def will_erase(self) -> None:
        if not self._in_memory:
            Unscrubbed(Path(self.name)).set()

    @override
    def scrub(self) -> None:
        """Write the store anew without what was deleted, and empty its write-ahead log.

        SQLite overwrites what it deletes. But the write-ahead log keeps what a page was, and
        pages may hold what was moved. Raises DataError `store.busy` while another process reads
        an older state.
        """
        if self._in_memory:  # where nothing stays
            return
        unscrubbed = Unscrubbed(Path(self.name))
        word = unscrubbed.read()
        require_sound("pages", Path(self.name))  # else there would be no end to it
        with closing(_own(self.name, LOCK_SECONDS)) as own:
            own.execute("PRAGMA synchronous = FULL")
            own.execute("PRAGMA secure_delete = ON")
            own.execute("VACUUM")
            busy = own.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if not busy:
                own.execute("BEGIN IMMEDIATE")  # nobody erases meanwhile
                unscrubbed.clear(word)
        if busy:
            raise DataError(
                "store.busy",
                f"another process reads an older state of the store, which {self.name}-wal keeps; "
                "end that process",
            )

    @override
    def search(self, text: str) -> object:
        return " ".join(
            '"{}"'.format(word.replace('"', '""')) for word in text.replace("\0", " ").split()
        )

    @override
    def require_sound(self) -> None:
        if self.sound:
            self.sound.require()

    @override
    def require_sound_rows(self) -> None:
        if self.sound:
            self.sound.require_rows()

    @override
    def make_rows(self, c: Cursor) -> None:
        for statement in ROWS:
            c.execute(statement)

    @override
    def put_words(self, c: Cursor, place: int, words: str) -> None:
        c.execute("INSERT INTO projected_texts (rowid, said) VALUES (?, ?)", (place, words))

    @override
    def drop_words(self, c: Cursor, place: int | None, *, wholly: bool = False) -> None:
        if place is None:
            for statement in NEW_WORDS:
                c.execute(statement)
            return
        c.execute("SAVEPOINT words")
        try:
            c.execute("DELETE FROM projected_texts WHERE rowid = ?", (place,))
            if wholly:  # also what stands in the index alone
                c.execute("INSERT INTO projected_texts (projected_texts) VALUES ('rebuild')", ())
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT):
                raise
            c.execute("ROLLBACK TO words")  # else what the index still holds spoils the new one
            self.drop_words(c, None)
        c.execute("RELEASE words")


class Factory(SQLiteFactory):
    """Wires the recorder to our connections; found by `eventsourcing` by its place here."""

    application_recorder_class = Recorder

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        pool = self.datastore.pool
        self.datastore.pool = Pool(db_name=pool.db_name, lock_timeout=LOCK_SECONDS)


def _own(name: str, seconds: float) -> sqlite3.Connection:
    """Return a connection beside the pool, to a file that is there; it waits so long for a lock."""
    uri = files.uri_of(Path(name))
    return sqlite3.connect(uri, timeout=seconds, isolation_level=None, uri=True)


def _text(data: bytes) -> str:
    """Return a text as SQLite gives it; one long text would take four times its bytes.

    Raises UnicodeDecodeError, and MemoryError for one that is longer than any of a store's.
    """
    if len(data) > _LONGEST_TEXT:
        raise MemoryError
    return data.decode()


def _as_kept(statement: str) -> str:
    """Return a statement as SQLite keeps it, but for what it takes for spaces.

    To it, any other space is a letter of a name: with one between them, PRIMARY KEY makes no key.
    """
    return _SPACES.sub(" ", statement.replace(" IF NOT EXISTS", "", 1)).strip(" ")


def _kept(statements: Iterable[str]) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield the rows of the schema that SQLite keeps of these, those of its own search included."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        for kind, name, table, kept in connection.execute(_SCHEMA):
            yield kind, name, table, kept and _as_kept(kept)


@contextmanager
def _closed_on_error(opened: Debates) -> Iterator[None]:
    try:
        yield
    except BaseException:
        opened.close()
        raise


class SQLite(Database):
    """A store in one file, or in memory."""

    def __init__(self, url: str, *, create: bool) -> None:
        name, self._opened = url.removeprefix(SCHEME), False
        if name == ":memory:":
            self._name, self._path = f"{_MEMORY}{uuid4()}?mode=memory&cache=shared", None
            super().__init__(url, None, None)
            return
        with guard():  # a name may be too long, or in a folder that is closed
            files.look_at(Path(name), create=create)
        # `file:x.db` is a name, and a process may change its folder. SQLite, too, names what stands
        # beside a store after the file that a link leads to.
        named = files.absolute(Path(name))
        self._path = Path(os.path.realpath(named))
        self._name = str(self._path)
        super().__init__(url, url, named.parent)

    @override
    def is_there(self) -> bool:
        return self._path is None or self._path.exists()

    @override
    def exposed(self) -> str | None:
        return files.exposed(self._path) if self._path else None

    @override
    def is_locked(self) -> bool:
        if self._path is None:
            return False
        try:
            with closing(_own(self._name, seconds=0)) as connection:
                connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
        return False

    @override
    def open(self) -> Debates:
        """Open it: a new file is made only when something is to be stored."""
        opened, recorder = self._examined()
        if self._path:
            with _closed_on_error(opened):
                require_current(recorder.version(), self.url)
                if Unscrubbed(self._path).read() is not None:
                    with suppress(
                        sqlite3.Error, OSError, DataError
                    ):  # in use: the next to open it does
                        recorder.scrub()
        self._opened = True
        return opened

    @override
    def migrate(self) -> int | None:
        new = self._path is None or files.is_blank(self._path)
        opened, recorder = self._examined()
        with _closed_on_error(opened):
            version = recorder.version()
            require_known(version, self.url)
            recorder.upgrade()
        opened.close()
        return None if new else version

    def _examined(self) -> tuple[Debates, Recorder]:
        before = Tally(self._path).read() if self._path else 0
        self._sound = Sound(self._path) if self._path else None
        opened = Debates({"PERSISTENCE_MODULE": f"{__name__}:Factory", "SQLITE_DBNAME": self._name})
        recorder = cast(Recorder, opened.recorder)  # as our Factory makes it
        recorder.sound = self._sound
        if self._path:
            with _closed_on_error(opened):
                recorder.examine()
                Tally(self._path).check(before, recorder.entries())
        return opened, recorder

    @override
    def close(self) -> None:
        if self._path and self._opened:
            Tally(self._path).clear()
            if self._sound:
                self._sound.note()

    @override
    def lock(self, debate: str) -> Lock | None:
        return RunnerLock(f"{self._path}-run-{debate}") if self._path else None
