"""PostgreSQL: the same tables as in SQLite, on a server (FORMAT.md §12).

- Whoever writes takes one advisory lock first, in the transaction. So entries are numbered in the
  order in which they are committed, and no role needs the right to change an entry, which
  PostgreSQL asks for before it locks a table.
- The right to run a debate is an advisory lock of a session that the store keeps open. The server
  gives it back when the session ends, however its process does.
- A connection that is lost while entries are stored says nothing about them. So they are stored
  once more, and where that says that they are there already, their bytes are compared.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import psycopg
import psycopg.errors
from eventsourcing.persistence import PersistenceError, StoredEvent
from eventsourcing.postgres import (
    ConnectionPool,
    PostgresAggregateRecorder,
    PostgresApplicationRecorder,
    PostgresFactory,
)
from psycopg.adapt import Buffer, Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row, tuple_row
from psycopg.sql import SQL
from psycopg_pool import PoolTimeout
from typing_extensions import override

from hansard.errors import DataError, HansardError, UsageError
from hansard.store import database
from hansard.store.addresses import without_secrets
from hansard.store.database import (
    LOCK_SECONDS,
    SCHEMA,
    Cursor,
    Database,
    NotNext,
    Select,
    Tables,
    bounded,
    require_known,
)
from hansard.store.mapping import Debates
from hansard.store.postgres_tables import VERSIONS
from hansard.version import __version__

LEAST_SERVER = 14
_TRIES = 3  # of what is stored over a connection that is lost
_PAUSE = 0.5  # seconds between them
_MOST_CONNECTIONS = 10  # of one store, at once
_DEFAULTS = {"application_name": "hansard", "connect_timeout": "10", "keepalives_idle": "30"}
# A commit is on disk before it is told; nobody waits for ever, or keeps others waiting.
_SETTINGS = f"""SET lock_timeout = '{LOCK_SECONDS}s';
    SET idle_in_transaction_session_timeout = '{LOCK_SECONDS}s';
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'"""
_ALONE = "SELECT pg_advisory_xact_lock('stored_events'::regclass::oid::bigint)"
_MARK = re.compile(r"\?|(?<!:):([a-z_]+)")
_LONGEST_WORD = 200  # characters by which a word is found
_CHUNK = 8_000  # words in a row: a `tsvector` counts to 16,383


_SERVER = """SELECT current_setting('server_version_num')::int,
    current_setting('server_encoding'), current_schema()"""
_MADE = """SELECT 1 FROM pg_tables
    WHERE schemaname = current_schema() AND tablename = 'hansard_versions'"""
_VERSIONS = """CREATE TABLE hansard_versions
    (version integer PRIMARY KEY, engine text NOT NULL, at timestamptz NOT NULL DEFAULT now())"""
_VERSION = "SELECT coalesce(max(version), 0) FROM hansard_versions"
_MIGRATED = "INSERT INTO hansard_versions (version, engine) VALUES (%s, %s)"
_GONE = (
    "store.unreachable",
    "the connection to {url} was lost: {said}; what was stored before is there, and once the "
    + "server is back, `hansard resume` goes on",
)
_FAILED = ("store.failed", "the store {url} cannot be read or written: {said}")
_FAILURES = {
    "42501": (
        "store.role",
        "the role of {url} may not do this: {said}; tools/docs/operations.md says which role may",
    ),
    "25006": ("store.not_writable", "{url} cannot be written: {said}; name the server's primary"),
    "53": ("store.full", "the server of {url} has no room left: {said}; nothing was stored"),
    "42P07": (
        "store.foreign",
        "{url} holds other tables: {said}; name a database of the store's own",
    ),
    "42710": (
        "store.foreign",
        "{url} holds other tables: {said}; name a database of the store's own",
    ),
    "42": (
        "store.corrupt",
        "{url} lacks what a store has, or has it otherwise: {said}; restore it from a backup",
    ),
    "55P03": ("store.busy", "{url} is locked by others: {said}; try it again"),
}


class Recorder(Tables, PostgresApplicationRecorder):
    """Stores a batch of lines with its blobs and its head, all or nothing."""

    place = "notification_id"
    holds = "position(? IN {}) > 0"
    searched = """row.place IN (SELECT place
        FROM unnest(CAST(:words AS text[])) AS word
        JOIN projected_texts ON said @@ phraseto_tsquery('simple', word)
        GROUP BY place HAVING count(DISTINCT word) = cardinality(CAST(:words AS text[])))"""
    refused = psycopg.errors.IntegrityError
    home: Postgres  # set as soon as it is open

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.lock_table_statements = [SQL(_ALONE)]

    @property
    @override
    def name(self) -> str:
        return self.home.url

    @override
    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        with self.home.told(), self._transaction() as c:
            yield c

    @contextmanager
    def _transaction(self) -> Iterator[Cursor]:
        with self.datastore.get_connection() as connection, connection.transaction():
            c = _Cursor(connection)
            c.execute(_ALONE)
            yield c

    @override
    @contextmanager
    def snapshot(self) -> Iterator[Select]:
        with (
            self.home.told(),
            self.datastore.get_connection() as connection,
            connection.transaction(),
        ):
            c, left = _Cursor(connection), database.MOST_BYTES
            c.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

            def select(statement: str, *params: object, **named: object) -> list[Sequence[Any]]:
                nonlocal left
                c.execute(statement, named or params)
                rows, left = bounded(c.fetchall(), left, self.name)
                return rows

            yield select

    @override
    def select(self, statement: str, *params: object, **named: object) -> Sequence[Sequence[Any]]:
        with self.home.told(), self.datastore.get_connection() as connection:
            c = _Cursor(connection)
            c.execute(statement, named or params)
            return bounded(c.fetchall(), database.MOST_BYTES, self.name)[0]

    @override
    def write(self, work: Callable[[Cursor], int], is_stored: Callable[[], bool]) -> None:
        lost = 0
        with self.home.told():
            while True:
                try:
                    with self._transaction() as c:
                        work(c)
                except NotNext:
                    if lost and is_stored():
                        return
                    raise
                except PersistenceError as error:
                    lost += 1
                    if lost == _TRIES or not _is_lost(error.__cause__):
                        raise
                    time.sleep(_PAUSE)
                    self.home.hold_again()
                else:
                    return

    @override
    def add(self, c: Cursor, events: Sequence[StoredEvent]) -> int:
        cursor = cast(_Cursor, c).connection.cursor()
        self._notify_channel(cursor)
        # The lock is held already.
        PostgresAggregateRecorder._insert_stored_events(self, cursor, events)
        return max(self._fetch_ids_after_insert_events(cursor, events) or [0])

    @override
    def changed(self, c: Cursor) -> int:
        return cast(_Cursor, c).changed

    @override
    def scrub(self) -> None:
        """Give the room of what was deleted free, where this role may.

        PostgreSQL overwrites nothing: what was deleted is out of reach at once, but its bytes
        stay in the files until their room is used anew, and in the write-ahead log and in
        backups for as long as those are kept (tools/docs/operations.md).
        """
        with self.home.told(), self.datastore.get_connection() as connection:
            connection.execute("VACUUM blobs, projected, projected_names, projected_texts")

    @override
    def is_projected(self, select: Select) -> bool:
        return True

    @override
    def make_projection(self) -> None:
        raise NotImplementedError  # `migrate` has made it

    @override
    def search(self, text: str) -> object:
        words = {" ".join(_tokens(word)) for word in text.split()}
        return sorted(words - {""})

    @override
    def put_words(self, c: Cursor, place: int, words: str) -> None:
        found = list(_tokens(words))
        c.executemany(
            "INSERT INTO projected_texts VALUES (?, to_tsvector('simple', ?))",
            [(place, " ".join(found[n : n + _CHUNK])) for n in range(0, len(found), _CHUNK)],
        )

    @override
    def drop_words(self, c: Cursor, place: int | None, *, wholly: bool = False) -> None:
        where, params = ("", ()) if place is None else (" WHERE place = ?", (place,))
        c.execute(f"DELETE FROM projected_texts{where}", params)  # noqa: S608


class _Cursor:
    """Runs statements that have SQLite's marks."""

    def __init__(self, connection: psycopg.Connection[DictRow]) -> None:
        self.connection = connection
        self._cursor = connection.cursor(row_factory=tuple_row)

    def execute(self, statement: str, params: Any = (), /) -> object:
        return self._cursor.execute(_marked(statement), params or None)

    def executemany(self, statement: str, params: Any, /) -> object:
        self._cursor.executemany(_marked(statement), params)
        return self

    def fetchone(self) -> Any:
        return self._cursor.fetchone()

    def fetchall(self) -> Any:
        return self._cursor.fetchall()

    @property
    def changed(self) -> int:
        return self._cursor.rowcount


@lru_cache
def _marked(statement: str) -> bytes:
    """Return a statement with psycopg's marks in the place of SQLite's."""
    return _MARK.sub(lambda mark: f"%({mark[1]})s" if mark[1] else "%s", statement).encode()


def _tokens(text: str) -> Iterator[str]:
    """Yield the words of a text as SQLite's search finds them: letters and digits, no accents.

    So both databases find the same. A word ends where they do not count it any further.
    """
    plain = "".join(
        " " if unicodedata.category(sign)[0] not in "LN" else sign
        for sign in unicodedata.normalize("NFKD", text.casefold())
        if unicodedata.category(sign) != "Mn"
    )
    return (word[:_LONGEST_WORD] for word in plain.split())


class Factory(PostgresFactory):
    """Wires the recorder to our connections; found by `eventsourcing` by its place here."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.datastore.pool = ConnectionPool(
            env[_CONNINFO],
            connection_class=psycopg.Connection[DictRow],
            kwargs={"row_factory": dict_row},
            min_size=1,
            max_size=_MOST_CONNECTIONS,
            open=False,
            configure=_configure,
            check=ConnectionPool.check_connection,  # the server may have been started anew
            timeout=10,
        )

    @override
    def application_recorder(self) -> Recorder:
        return Recorder(self.datastore)


_CONNINFO = "CONNINFO"
_UNUSED = dict.fromkeys(
    (f"POSTGRES_{name}" for name in ("DBNAME", "HOST", "PORT", "USER", "PASSWORD")), "-"
)


def _configure(connection: psycopg.Connection[Any]) -> None:
    connection.autocommit = True
    connection.execute(_SETTINGS)
    connection.adapters.register_loader("numeric", _Whole)


class _Whole(Loader):
    """Reads a sum of whole numbers."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data))


class Postgres(Database):
    """A store on a PostgreSQL server. It is looked at as soon as it is named."""

    def __init__(self, url: str) -> None:
        super().__init__(without_secrets(url), url, Path())
        self.conninfo = _conninfo(url)
        self._held = dict[str, int]()  # the debates that this process runs, with their locks
        self._session = self.connect()
        try:
            with self.told():
                self._schema = self._examine()
        except BaseException:
            self._session.close()
            raise

    def _examine(self) -> str:
        """Return the schema in which the store is, or may be made.

        Raises DataError `store.server` for a server on which it cannot be.
        """
        row = self._session.execute(_SERVER).fetchone()
        number, encoding, schema = row or (0, "", None)
        problem = None
        if number < LEAST_SERVER * 10_000:
            problem = f"it is PostgreSQL {number // 10_000}, and Hansard needs {LEAST_SERVER}"
        elif encoding != "UTF8":
            problem = f"the encoding of the database is {encoding}; make one with UTF8"
        elif schema is None:
            problem = "the search_path of this user names no schema that is there"
        if problem:
            raise DataError("store.server", f"{self.url} cannot hold a store: {problem}")
        return str(schema)

    @property
    def version(self) -> int | None:
        """The version of the store's tables; None where there is no store."""
        with self.told():
            if not self._session.execute(_MADE).fetchall():
                return None
            return int(self._session.execute(_VERSION).fetchall()[0][0])

    def require_current(self) -> None:
        """Raise UsageError `store.missing` or DataError `store.old` or `store.newer`."""
        version, command = self.version, f"hansard store migrate --store {shlex.quote(self.url)}"
        if version is None:
            raise UsageError(
                "store.missing", f"there is no store at {self.url}; make it with `{command}`"
            )
        require_known(version, self.url)
        if version < SCHEMA:
            raise DataError(
                "store.old",
                f"an earlier version of Hansard made the tables of {self.url}; bring them up to "
                f"date with `{command}`",
            )

    def migrate(self) -> None:
        """Make the tables of a store, or bring them up to date, in one transaction.

        Raises DataError `store.newer`, and `store.foreign` where other tables are in the way.
        """
        with self.told(), self._session.transaction():
            self._session.execute("SELECT pg_advisory_xact_lock(hashtext('hansard migrate'))")
            version = self.version or 0
            require_known(version, self.url)
            if not version:
                self._session.execute(_VERSIONS)
            for number, statements in enumerate(VERSIONS[version:], version + 1):
                for statement in statements:
                    self._session.execute(statement.encode())
                self._session.execute(_MIGRATED, (number, __version__))

    def connect(self) -> psycopg.Connection[Any]:
        """Return a connection of its own; raises DataError `store.unreachable`."""
        try:
            connection = psycopg.connect(**self.conninfo)
        except psycopg.Error as error:
            raise DataError(
                "store.unreachable",
                f"cannot connect to {self.url}: {self._said(error)}; see to the server, the "
                "address, the user and the password (PGPASSWORD or ~/.pgpass)",
            ) from None
        with self.told():
            _configure(connection)
        return connection

    @contextmanager
    def told(self) -> Iterator[None]:
        """Turn every failure of the server into one clear error."""
        try:
            yield
        except PersistenceError as error:
            raise self._error(error.__cause__ or error) from None
        except psycopg.Error as error:
            raise self._error(error) from None

    def _error(self, error: BaseException) -> HansardError:
        state = getattr(error, "sqlstate", None) or ""
        found = [row for start, row in _FAILURES.items() if state.startswith(start)]
        code, sentence = (*found, _GONE if _is_lost(error) or not state else _FAILED)[0]
        return DataError(code, sentence.format(url=self.url, said=self._said(error)))

    def _said(self, error: BaseException) -> str:
        """Return what the server or the driver says, in one line and without the password."""
        said = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
        line = next((line.strip() for line in reversed(said.splitlines()[:1])), "")
        line = line.rpartition("failed: ")[2].removeprefix("FATAL:").removeprefix("ERROR:").strip()
        secret = self.conninfo.get("password")
        return line.replace(str(secret), "…") if secret else line

    @override
    def is_there(self) -> bool:
        return True

    @override
    def exposed(self) -> str | None:
        return None  # the server's roles say who may do what

    @override
    def open(self) -> Debates:
        settings = {
            **_UNUSED,
            "PERSISTENCE_MODULE": f"{__name__}:Factory",
            "POSTGRES_SCHEMA": self._schema,
            "CREATE_TABLE": "n",
            _CONNINFO: make_conninfo(**self.conninfo),
        }
        with self.told():
            opened = Debates(settings)
        cast(Recorder, opened.recorder).home = self
        return opened

    @override
    def close(self) -> None:
        self._session.close()

    @override
    def lock(self, debate: str) -> RunnerLock:
        return RunnerLock(self, debate)

    def hold(self, debate: str) -> bool:
        """Take the lock of a debate's runner; False where another session, or this one, has it."""
        if debate in self._held:
            return False
        name = hashlib.sha256(f"{self._schema}/{debate}".encode()).digest()
        key = int.from_bytes(name[:8], signed=True)
        if self._session.closed:
            self._session = self.connect()
        found = self._session.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone()
        if found and found[0]:
            self._held[debate] = key
        return debate in self._held

    def hold_again(self) -> None:
        """Take the locks of this process anew, where the server has given them back.

        Raises UsageError `store.running` where another process runs one of the debates by now.
        """
        try:
            self._session.execute("SELECT 1")
        except psycopg.Error:
            self._session.close()
            held, self._held = self._held, {}
            for debate in held:
                if not self.hold(debate):
                    raise UsageError(
                        "store.running",
                        f"the connection to {self.url} was lost, and another process runs debate "
                        f"{debate} by now; this one stops, and nothing is lost",
                    ) from None

    def let_go(self, debate: str) -> None:
        """Give the lock of a debate's runner back, if the session that has it is still there."""
        with suppress(psycopg.Error):
            self._session.execute("SELECT pg_advisory_unlock(%s)", (self._held.pop(debate),))


class RunnerLock:
    """A lock on one debate that the server gives back once its session is gone."""

    def __init__(self, home: Postgres, debate: str) -> None:
        self._home, self._debate = home, debate

    def acquire(self) -> bool:
        """Take the lock; False where somebody else holds it."""
        with self._home.told():
            return self._home.hold(self._debate)

    def release(self) -> None:
        """Give the lock back."""
        self._home.let_go(self._debate)


def _conninfo(url: str) -> Mapping[str, Any]:
    """Return what a URL says to libpq; raises UsageError `store.url`, which quotes no password."""
    try:
        found = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        found = {}
    if not found or "@" in str(found.get("host", "")):
        raise UsageError(
            "store.url",
            f"{without_secrets(url)} cannot be read as the URL of a store; write "
            "postgresql://USER@HOST/DATABASE, with signs such as @ and / in a password as %40 "
            "and %2F",
        )
    return {**_DEFAULTS, **found}


def _is_lost(error: BaseException | None) -> bool:
    """Say whether an error means that the connection is gone, and nothing else."""
    state = getattr(error, "sqlstate", None) or "08"
    lost = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return lost and state.startswith(("08", "57P")) and not isinstance(error, PoolTimeout)
