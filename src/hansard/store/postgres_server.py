"""Where a store in PostgreSQL is: how it is reached, made and looked at, and who runs a debate.

The right to run a debate is an advisory lock of a session that the store keeps open. The server
gives it back when the session ends, however its process does.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from threading import RLock
from typing import Any, LiteralString, TypeVar, cast

import psycopg
from eventsourcing.persistence import PersistenceError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import InsufficientPrivilege, LockNotAvailable
from psycopg.types.composite import CompositeInfo, register_composite
from typing_extensions import override

from hansard.addresses import hidden, is_clear, without_secrets
from hansard.errors import DataError, HansardError, UsageError
from hansard.store import postgres_planted, postgres_schema, queue, queue_schema
from hansard.store.database import (
    LOCK_SECONDS,
    Cursor,
    Database,
    migrate_command,
    require_current,
    require_known,
)
from hansard.store.mapping import Debates
from hansard.store.postgres_errors import failure, is_lost, unreachable
from hansard.store.postgres_reading import Whole
from hansard.store.postgres_tables import VERSIONS
from hansard.version import __version__

T = TypeVar("T")
LEAST_SERVER = 14
_DEFAULTS = {"application_name": "hansard", "connect_timeout": "10", "keepalives_idle": "30"}
# What changes the meaning of statements, or ends a session that has the lock of a debate while its
# models answer: a database brings its own.
_PINNED = {
    "client_encoding": "UTF8",
    "gin_fuzzy_search_limit": "0",
    "idle_session_timeout": "0",
    "quote_all_identifiers": "off",
    "standard_conforming_strings": "on",
}
# A commit is on disk before it is told; nobody waits for ever, or keeps others waiting, also when
# a machine is gone without a word.
_SETTINGS = f"""SET lock_timeout = '{LOCK_SECONDS}s';
    SET idle_in_transaction_session_timeout = '{LOCK_SECONDS}s';
    SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;
    SELECT pg_catalog.set_config(name, 'on'::pg_catalog.text, false)
    FROM (SELECT 'synchronous_commit'::pg_catalog.text AS name) AS one
    WHERE pg_catalog.current_setting(name) OPERATOR(pg_catalog.=) 'off'::pg_catalog.text;
    {"; ".join(f"SET {name} = '{value}'" for name, value in _PINNED.items())}"""  # noqa: S608
CONNINFO = "CONNINFO"
_UNUSED = dict.fromkeys(
    (f"POSTGRES_{name}" for name in ("DBNAME", "HOST", "PORT", "USER", "PASSWORD")), "-"
)

# These come before there is a search path of ours, so they name the schema of all that they call.
_SERVER = """SELECT
    pg_catalog.current_setting('server_version_num'::pg_catalog.text)::pg_catalog.int4,
    pg_catalog.current_setting('server_encoding'::pg_catalog.text), pg_catalog.current_schema(),
    pg_catalog.current_setting('search_path'::pg_catalog.text)"""
_STAY = "SELECT pg_catalog.set_config('search_path'::pg_catalog.text, %s::pg_catalog.text, false)"
# A schema of the role's own name comes before `public`, so nobody else may have made it.
_PLANTED = """SELECT rolname FROM pg_namespace JOIN pg_roles ON pg_roles.oid = nspowner
    WHERE nspname = current_schema() AND nspname = current_user AND rolname <> current_user
    AND NOT rolsuper AND %s::text LIKE '%%$user%%'"""
_MADE = """SELECT 1 FROM pg_tables
    WHERE schemaname = current_schema() AND tablename = 'hansard_versions'"""
_VERSIONS = """CREATE TABLE hansard_versions
    (version integer PRIMARY KEY, engine text NOT NULL, at timestamptz NOT NULL DEFAULT now())"""
_MADE_HERE = postgres_schema.made_by((_VERSIONS, *chain(*VERSIONS)))
_VERSION = "SELECT coalesce(max(version), 0) FROM hansard_versions"
_MIGRATED = "INSERT INTO hansard_versions (version, engine) VALUES (%s, %s)"
_NOT_MINE = """SELECT tableowner FROM pg_tables WHERE schemaname = current_schema()
    AND tablename = 'hansard_versions' AND NOT pg_has_role(tableowner, 'MEMBER'::text)"""
_MIGRATING = "SELECT pg_advisory_lock(hashtext('hansard migrate'))"
_MIGRATES_NO_MORE = "SELECT pg_advisory_unlock(hashtext('hansard migrate'))"
_WHO_MIGRATES = """SELECT pid, usename FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND (classid::bigint << 32) | objid::bigint = hashtext('hansard migrate')
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
_MAY_MAKE = "SELECT has_schema_privilege(current_schema()::text, 'CREATE'::text)"
_MAY_ERASE = "SELECT has_table_privilege('blobs'::text, 'DELETE'::text)"
_MAY_QUEUE = """SELECT bool_and(has_table_privilege(name, right_to))
    FROM unnest(ARRAY['procrastinate_jobs', 'procrastinate_events', 'procrastinate_workers',
        'procrastinate_periodic_defers', 'hansard_pauses']) AS name,
    unnest(ARRAY['INSERT', 'UPDATE', 'DELETE']) AS right_to"""


class Postgres(Database):
    """A store on a PostgreSQL server. It is looked at as soon as it is named."""

    def __init__(self, url: str, *, current: bool = True) -> None:
        super().__init__(without_secrets(url), url, Path())
        self.conninfo = _conninfo(url)
        given = dict(self.conninfo.items() - _DEFAULTS.items())
        self._hidden = hidden(self.url, map(str, given.values()))
        self._held = dict[str, int]()  # the debates that this process runs, with their locks
        self._lost = set[str]()  # those whose lock another process has taken meanwhile
        self._alone = RLock()
        self._types = list[CompositeInfo]()
        self._has_our_queue = False
        try:
            self._session = self._connect()
        except psycopg.Error as error:
            raise unreachable(error, self.url, self._hidden) from None
        try:
            with self.told():
                self._schema = self._examine()
                if current:
                    self._require_current()
        except BaseException:
            self._session.close()
            raise

    def _examine(self) -> str:
        """Return the schema in which the store is, or may be made, and stay in it.

        Raises DataError `store.server` for a server on which it cannot be, and `store.foreign`
        where others have put something into that schema.
        """
        row = self._session.execute(_SERVER).fetchone()
        number, encoding, schema, path = row or (0, "", None, "")
        problem = None
        if number < LEAST_SERVER * 10_000:
            problem = f"it is PostgreSQL {number // 10_000}, and Hansard needs {LEAST_SERVER}"
        elif encoding != "UTF8":
            problem = f"the encoding of the database is {encoding}; make one with UTF8"
        elif schema is None:
            problem = "the search_path of this user names no schema that is there"
        else:
            self._stay(str(schema))
            if planted := self._session.execute(_PLANTED, (path,)).fetchone():
                problem = (
                    f"the schema {schema}, which has the name of this user, belongs to "
                    f"{planted[0]}; let an administrator of the server drop it"
                )
        if problem:
            raise DataError("store.server", f"{self.url} cannot hold a store: {problem}")
        postgres_planted.require_none(self._session, self.url)
        return str(schema)

    def _stay(self, schema: str) -> None:
        """Let this session, and all that follow, look into one schema, whatever is made later.

        None of them waits for ever for a lock; nor do those of a worker, which is given the `dsn`.
        """
        path = '"' + schema.replace('"', '""') + '"'
        self._session.execute(_STAY, (path,))
        options = re.sub(r"([\\\s])", r"\\\1", path)
        before = self.conninfo.get("options") or ""
        pinned = " ".join(f"-c{name}={value}" for name, value in _PINNED.items())
        given = f"-csearch_path={options} -clock_timeout={LOCK_SECONDS}s {pinned}"
        options = f"{before} {given}".strip()
        self.conninfo = {**self.conninfo, "options": options}

    def _version(self) -> int | None:
        if not self._session.execute(_MADE).fetchall():
            return None
        found = postgres_schema.read(self._session, _MADE_HERE)
        postgres_schema.require_ours(found, self.url, (_VERSIONS,))
        version = int(self._session.execute(_VERSION).fetchall()[0][0])
        if version <= len(VERSIONS):  # else it is refused, and a later Hansard's
            postgres_schema.require_ours(found, self.url, chain(*VERSIONS[:version]))
        return version

    def _require_current(self) -> None:
        version = self._version()
        if version is None:
            how = f"make it with `{migrate_command(self.url)}`"
            if not self._may(_MAY_MAKE):
                how = (
                    "this role may make no tables, so make it with `hansard store migrate` as the "
                    "role that is to own them (hansard_owner)"
                )
            raise UsageError("store.missing", f"there is no store at {self.url}; {how}")
        owners = self._session.execute(_NOT_MINE).fetchall()
        as_owner = "with `hansard store migrate` as their owner, the role {}"
        require_current(version, self.url, as_owner.format(*owners[0]) if owners else "")

    @override
    def migrate(self) -> int | None:
        with self.told(), self._alone_migrating(), self._session.transaction():
            version = self._version()
            require_known(version or 0, self.url)
            if version is None:
                self._session.execute(_VERSIONS)
            for number, statements in enumerate(VERSIONS[version or 0 :], (version or 0) + 1):
                for statement in statements:
                    self._session.execute(statement.encode())
                self._session.execute(_MIGRATED, (number, __version__))
            queue.make(self._session)
        return version

    @contextmanager
    def _alone_migrating(self) -> Iterator[None]:
        """Let nobody else migrate meanwhile; raises DataError `store.busy` and says who does."""
        try:
            self._session.execute(_MIGRATING)
        except LockNotAvailable:
            who = [f"{pid} of {role!r}" for pid, role in self._session.execute(_WHO_MIGRATES)]
            raise DataError(
                "store.busy",
                f"the lock of `hansard store migrate` on {self.url} was held for {LOCK_SECONDS} "
                f"seconds by another session (process {', '.join(who) or 'not known'}); try it "
                "again once that has ended, or let an administrator of the server end it",
            ) from None
        try:
            yield
        finally:
            with suppress(psycopg.Error):  # a session that is lost has no lock
                self._session.execute(_MIGRATES_NO_MORE)

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(**self.conninfo)
        configure(connection)
        for kind in self._types:
            register_composite(kind, connection)
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
        return failure(error, self.url, self._hidden)

    def _may(self, question: LiteralString) -> bool:
        return self._asked(lambda session: bool(session.execute(question).fetchall()[0][0]))

    def _asked(self, ask: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Return what a session answers; where it turns out to be lost, what a new one does."""
        with self.told():
            try:
                with self.writing() as session:
                    return ask(session)
            except psycopg.Error as error:
                if not is_lost(error):
                    raise
            with self.writing() as session:
                return ask(session)

    def _require(self, question: LiteralString, what: str) -> None:
        """Raise what the server would raise of `what`, before anything is done."""
        if not self._may(question):
            raise self._error(InsufficientPrivilege(f"permission denied for {what}"))

    @override
    def is_there(self) -> bool:
        return True

    @override
    def exposed(self) -> str | None:
        return self._asked(
            lambda session: postgres_planted.exposed(session, self.url, self._schema)
        )

    @override
    def open(self) -> Debates:
        settings = {
            **_UNUSED,
            "PERSISTENCE_MODULE": "hansard.store.postgres:Factory",
            "POSTGRES_SCHEMA": self._schema,
            "CREATE_TABLE": "n",
            CONNINFO: self.dsn,
        }
        with self.told():
            opened = Debates(settings)
        recorder = cast(Any, opened.recorder)  # as the Factory makes it
        recorder.home, self._types = self, [*recorder.datastore.psycopg_type_adapters.values()]
        for kind in self._types:
            register_composite(kind, self._session)
        return opened

    @override
    def close(self) -> None:
        self._session.close()

    @property
    @override
    def dsn(self) -> str:
        return make_conninfo(**self.conninfo)

    @override
    def require_queue(self) -> None:
        self._asked(self._require_queue)
        self._require(_MAY_QUEUE, "the tables procrastinate_… and hansard_pauses")

    @override
    def require_erasing(self) -> None:
        self._require(_MAY_ERASE, "table blobs")

    @override
    def enqueue(self, c: Cursor, debate: str, priority: int) -> None:
        connection = cast(Any, c).connection
        self._require_queue(connection)
        queue.put(connection, debate, priority)

    @override
    def cancel(self, debate: str) -> bool:
        return self._asked(lambda session: self._cancel(session, debate))

    def _cancel(self, session: psycopg.Connection[Any], debate: str) -> bool:
        if not queue.is_there(session):
            return False
        self._require_queue(session)
        return queue.cancel(session, debate)

    def _require_queue(self, session: psycopg.Connection[Any]) -> None:
        """Look at the queue before it is used first, as at the tables of the store."""
        if not self._has_our_queue:
            queue.require(session)
            queue_schema.require_ours(session, self.url)
            self._has_our_queue = True

    @override
    def lock(self, debate: str) -> RunnerLock:
        return RunnerLock(self, debate)

    def hold(self, debate: str) -> bool:
        """Take the lock of a debate's runner; False where another session, or this one, has it."""
        with self.told(), self.writing():
            return debate not in self._held and self._hold(debate)

    def _hold(self, debate: str) -> bool:
        name = hashlib.sha256(f"{self._schema}/{debate}".encode()).digest()
        key = int.from_bytes(name[:8], signed=True)
        ((taken,),) = self._session.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchall()
        if taken:
            self._held[debate] = key
        return bool(taken)

    @contextmanager
    def writing(self) -> Iterator[psycopg.Connection[Any]]:
        """Give the session that has the locks, to nobody else meanwhile.

        Where it was lost, there is a new one, with the locks of this process taken anew. Raises
        psycopg.Error where there can be none.
        """
        with self._alone:
            if not self._is_alive():
                self._session = self._connect()
                self._hold_anew()
            yield self._session

    def _hold_anew(self) -> None:
        """Take all locks of this process in a new session; one that is lost leaves all to the next.

        Else another process could run what this one goes on to ask its models for.
        """
        held, self._held = self._held, {}
        try:
            for debate in held:
                if not self._hold(debate):
                    self._lost.add(debate)
        except BaseException:
            self._held = held
            self._session.close()
            raise

    def require_held(self, debate: str) -> None:
        """Raise UsageError `store.running` where another process has taken a lock of this one."""
        if debate in self._lost:
            raise UsageError(
                "store.running",
                f"the connection to {self.url} was lost, and another process has run debate "
                f"{debate} since; this one stops, and nothing is lost",
            )

    def _is_alive(self) -> bool:
        """Say whether the session is there, as far as is known without asking the server."""
        with suppress(psycopg.Error):
            self._session.pgconn.consume_input()  # what the server said at last
            self._session.pgconn.consume_input()  # and that it has gone
        return not self._session.closed

    def let_go(self, debate: str) -> None:
        """Give the lock of a debate's runner back, if the session that has it is still there."""
        self._lost.discard(debate)
        with self._alone, suppress(psycopg.Error):
            self._session.execute("SELECT pg_advisory_unlock(%s)", (self._held.pop(debate, None),))


class RunnerLock:
    """A lock on one debate that the server gives back once its session is gone."""

    def __init__(self, home: Postgres, debate: str) -> None:
        self._home, self._debate = home, debate

    def acquire(self) -> bool:
        """Take the lock; False where somebody else holds it."""
        return self._home.hold(self._debate)

    def release(self) -> None:
        """Give the lock back."""
        self._home.let_go(self._debate)


def _conninfo(url: str) -> Mapping[str, Any]:
    """Return what a URL says to libpq; raises UsageError `store.url`, which quotes no password."""
    try:
        found = conninfo_to_dict(url) if is_clear(url.partition("://")[2]) else {}
    except (psycopg.ProgrammingError, UnicodeError):
        found = {}
    if not found or not re.fullmatch("[0-9,]*", str(found.get("port", ""))):
        raise UsageError(
            "store.url",
            f"{without_secrets(url)} cannot be read as the URL of a store; write "
            "postgresql://USER@HOST/DATABASE, with signs such as @ and / in a password as %40 "
            "and %2F",
        )
    return {**_DEFAULTS, **found}


def configure(connection: psycopg.Connection[Any]) -> None:
    """Set a new connection up."""
    connection.autocommit = True
    connection.execute(_SETTINGS)
    connection.adapters.register_loader("numeric", Whole)
