"""The store: debates as they are kept, through `eventsourcing` (FORMAT.md §12)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, NamedTuple, Self, cast
from uuid import UUID

from hansard import vocabulary
from hansard.addresses import POSTGRES, is_spelled, without_secrets
from hansard.errors import DataError, UsageError
from hansard.installing import install_command
from hansard.record.blob import unpack
from hansard.record.bundle import Bundle, Head
from hansard.rules.events import Event, parse
from hansard.store import copied, registering, sqlite
from hansard.store.database import SCHEMA, TEMPLATE, Cursor, Database, Extras, NotNext, Tables
from hansard.store.guard import guard, id_of, id_or_none
from hansard.store.mapping import Debates, StoredLine, bytes_of
from hansard.store.projection import Projection, forget
from hansard.store.register import Register
from hansard.store.searching import holding

_LINES = "SELECT state FROM stored_events WHERE originator_id = ? ORDER BY originator_version"
_BLOBS = "SELECT name, body FROM blobs WHERE debate = ?"
_HEAD = "SELECT length, head FROM heads WHERE debate = ?"
# The ids stand in the index of the lines' own key, so that neither reads a line.
_DEBATES = "SELECT originator_id FROM stored_events WHERE originator_version = 1 ORDER BY +{place}"
# Those whose first entry is gone: else nobody would miss it.
_BEHEADED = """SELECT debate FROM heads WHERE NOT EXISTS (SELECT 1 FROM stored_events
    WHERE originator_id = debate AND originator_version = 1) ORDER BY debate"""
_BEGINNING = """SELECT originator_id FROM stored_events
    WHERE originator_id BETWEEN ? AND ? AND originator_version = 1
    UNION SELECT debate FROM heads WHERE debate BETWEEN ? AND ?"""
_NAMING = """SELECT originator_id FROM stored_events
    WHERE originator_version = 1 AND {state_holds} ORDER BY +{place}"""
_ID = frozenset("0123456789abcdef-")
_DIGITS = 32  # of an id
_LONGEST_PATH = 2**15  # characters; no system opens a longer one


class Batch(NamedTuple):
    """What one debate stores at once: (type, line) pairs from sequence number `first`."""

    debate: str
    first: int
    lines: Sequence[tuple[str, bytes]]
    extras: Extras


def _head(length: object, head: object) -> Head:
    """Return a stored head, whose columns may hold anything as well."""
    if type(length) is not int or type(head) is not str:
        raise DataError("store.corrupt", "the stored end of a record is not a length and a hash")
    return Head(length, head)


class Store:
    """The debates of one database.

    Every failure of it is a DataError `store.*`; what was appended
    before it stays. Use as a context manager, or call `close`.
    """

    def __init__(self, database: Database, *, unfinished: bool = False) -> None:
        self._database = database
        self._debates: Debates | None = None
        self._unfinished = unfinished
        self._opening = RLock()  # of two that open it at once, one would close the other's

    def _open(self) -> Debates:
        with self._opening:
            return self._debates or self._opened()

    def _opened(self) -> Debates:
        with guard():
            opened = self._database.open()
            if not self._unfinished:
                try:
                    copied.require_finished(cast(Tables, opened.recorder).select, self.url)
                except BaseException:
                    opened.close()
                    raise
        self._debates = opened
        return opened

    @property
    def _recorder(self) -> Tables:
        return cast(Tables, self._open().recorder)  # as each database makes it

    def _select(self, statement: str, *values: object) -> Sequence[Sequence[Any]]:
        """Return the rows of a statement, in which each database has its own words."""
        with guard():
            tables = self._recorder
            holds = {f"{column}_holds": tables.holds.format(column) for column in ("state", "body")}
            return tables.select(statement.format(place=tables.place, **holds), *values)

    @classmethod
    def open(cls, url: str, *, create: bool = False, unfinished: bool = False) -> Self:
        """Open the store at `sqlite:///PATH`, `sqlite:///:memory:` or `postgresql://…`.

        A server's tables are made by `migrate` alone, and only who copies opens an `unfinished`
        copy. Raises UsageError `store.url`, `store.extra`, `store.missing` (unless `create` makes
        a file), or DataError `store.*`; and UsageError `store.copying` once it is used.
        """
        return cls(_database(url, create=create), unfinished=unfinished)

    @property
    def url(self) -> str:
        """The URL that names the store, without its password."""
        return self._database.url

    @property
    def secret_url(self) -> str | None:
        """The URL at which another process opens it: do not show it; None in memory."""
        return self._database.secret_url

    def close(self) -> None:
        """Close every connection."""
        if self._debates is not None:
            self._debates.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, *batches: Batch) -> None:
        """Append the batches in one transaction, all of them or none, durably.

        A batch that is there already, byte for byte, stays as it is: it was stored though its
        process heard of an error. Raises UsageError `store.conflict` when another process
        appended first, and `store.copying` when somebody copies into this store; DataError
        `store.corrupt` when what is there takes no next entry.
        """
        if not batches:
            return

        def work(c: Cursor) -> int:
            entries = [self._insert(c, each) for each in batches][-1]
            # Else the copy could neither go on nor be opened, with these entries in it.
            copied.require_finished(self._recorder.reading(c), self.url)
            return entries

        try:
            with guard():
                self._recorder.write(work)
        except NotNext as error:
            if not all(map(self._is_stored, batches)):
                raise self._conflict(str(error), batches) from None

    def _conflict(self, debate: str, batches: Sequence[Batch]) -> UsageError | DataError:
        """Return why a batch does not come next: not always because another process was first."""
        first = next(row.first for row in batches if row.debate == debate)
        there = len(self.lines(debate))
        if there == first - 1:  # it does
            return DataError(
                "store.corrupt",
                f"{self.url} does not take entry {first:,} of debate {debate}, though nothing "
                "stands in its place: its tables do not fit together, as where only some of them "
                "were restored from a backup; restore all of them",
            )
        if there < first - 1:
            said = (
                f"another process is writing debate {debate}, or an older copy of the store was "
                f"put in its place: it has {vocabulary.many(there, 'entry')}, and this process "
                f"stored {first - 1}; this one stops: restore the store from its latest copy"
            )
        else:
            said = (
                f"another process is writing debate {debate}; this one stops, and nothing is lost"
            )
        return UsageError("store.conflict", said)

    def _insert(self, c: Cursor, batch: Batch) -> int:
        """Insert a batch; return how many entries the store has now."""
        key, to_stored = UUID(batch.debate), self._open().mapper.to_stored_event
        events = [
            to_stored(StoredLine(key, seq, kind, line))
            for seq, (kind, line) in enumerate(batch.lines, batch.first)
        ]
        entries = self._recorder.insert(c, events, batch.extras)
        due = registering.due(batch.first, batch.lines, batch.debate)
        registering.append(self._recorder.reading(c), c, due)
        if batch.extras.priority is not None:
            self._database.enqueue(c, batch.debate, batch.extras.priority)
        if batch.extras.erased:
            self._recorder.will_erase()
            forget(self._recorder, c, batch.debate)
        return entries

    def enqueue(self, debate: str, priority: int) -> None:
        """Put an open debate into the queue of debates that wait for a worker.

        Raises UsageError `queue.store`, `queue.extra` or `queue.missing`.
        """
        with guard(), self._recorder.transaction() as c:
            self._database.enqueue(c, debate, priority)

    def cancel(self, debate: str) -> bool:
        """Take a debate out of the queue; say whether a worker that runs it was asked to stop."""
        return self._database.cancel(debate)

    def require_queue(self) -> None:
        """Raise UsageError `queue.store`, `queue.extra` or `queue.missing` where there is none.

        Raises DataError `store.role` where whoever is connected may not use it.
        """
        self._database.require_queue()

    def require_erasing(self) -> None:
        """Raise DataError `store.role` where whoever is connected may not delete texts."""
        self._database.require_erasing()

    @property
    def dsn(self) -> str:
        """What libpq connects with: do not show it; raises UsageError `queue.store`."""
        return self._database.dsn

    def _is_stored(self, batch: Batch) -> bool:
        """Say whether a batch is there, byte for byte: its entries and its texts."""
        there, begin = self.bundle(batch.debate), batch.first - 1
        lines = there.lines[begin : begin + len(batch.lines)]
        return (
            lines == [line for _, line in batch.lines]
            and dict(batch.extras.blobs).items() <= there.blobs.items()
        )

    def debates(self) -> list[str]:
        """Return the ids of all debates, in the order they were opened.

        At the end come those whose first entry is gone.
        """
        if not self._database.is_there():
            return []
        return [id_of(row[0]) for each in (_DEBATES, _BEHEADED) for row in self._select(each)]

    def naming(self, name: str) -> list[str]:
        """Return the ids of debates whose opening holds `name`, as they were opened.

        Where that is a debate's id, it is of the others. What cannot be read is left out.
        """
        rows = self._select(_NAMING, name.encode())
        return [found for row in rows if (found := id_or_none(row[0])) not in (None, name)]

    @property
    def projection(self) -> Projection:
        """The rows by which debates are found."""
        with guard():
            return Projection(self._recorder)

    def find(self, prefix: str) -> str:
        """Return the one debate id that begins with `prefix`.

        Raises UsageError `store.unknown` or `store.ambiguous`.
        """
        found = self._beginning(prefix.lower())
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                "store.ambiguous",
                f"{len(found):,} debates have ids that begin with {prefix!r}; write more of the id",
            )
        raise UsageError(
            "store.unknown", f"no debate in {self.url} has an id that begins with {prefix!r}"
        )

    def _beginning(self, prefix: str) -> list[str]:
        """Return the ids that begin with `prefix`, found in the index of ids."""
        if not prefix or not _ID.issuperset(prefix) or not self._database.is_there():
            return []
        first = prefix.replace("-", "")
        if len(first) > _DIGITS:
            return []
        ends = first.ljust(_DIGITS, "0"), first.ljust(_DIGITS, "f")
        rows = self._select(_BEGINNING, *ends, *ends)
        return [
            debate for debate in map(id_of, (row[0] for row in rows)) if debate.startswith(prefix)
        ]

    def holding(self, debate: str, texts: Sequence[str]) -> dict[str, int]:
        """Return how many texts of each other debate hold one of these texts word for word.

        Texts of a few characters are not looked for. A text in which too much would have to be
        compared counts as one that holds another.
        """
        return holding(self._select, debate, texts)

    def is_locked(self) -> bool:
        """Say whether others lock the store now; False where only an attempt can tell."""
        return self._database.is_locked()

    def scrub(self) -> None:
        """Leave nothing in the store's files of what was erased from it.

        Raises DataError `store.busy` where another process keeps some of it in use.
        """
        with guard():
            self._recorder.scrub()

    def lines(self, debate: str) -> list[bytes]:
        """Return a debate's lines in order."""
        return [bytes_of(row[0]) for row in self._select(_LINES, UUID(debate).hex)]

    def events(self, debate: str) -> list[Event]:
        """Return a debate's lines as events; raises DataError for a line that is not one."""
        return [parse(line) for line in self.lines(debate)]

    def opening(self, debate: str) -> Event:
        """Return a debate's first entry; raises DataError where it cannot be read."""
        rows = self._select(f"{_LINES} LIMIT 1", UUID(debate).hex)
        return parse(bytes_of(rows[0][0]) if rows else b"")

    def text(self, debate: str, name: str) -> str:
        """Return the text of one blob; raises KeyError where it is gone."""
        rows = self._select(f"{_BLOBS} AND name = ?", UUID(debate).hex, name)
        if not rows:
            raise KeyError(name)
        return unpack(bytes_of(rows[0][1]))

    def bundle(self, debate: str) -> Bundle:
        """Return everything that is kept of a debate, as it stands in the file at one moment."""
        key = UUID(debate).hex
        with guard(), self._recorder.snapshot() as select:
            bodies = [bytes_of(row[0]) for row in select(_LINES, key)]
            blobs, heads = select(_BLOBS, key), select(_HEAD, key)
            named, policy = _named(bodies)
            rows = {name: select(TEMPLATE, name) for name in (*named, policy)}
        kept = {name: bytes_of(found[0][0]) for name, found in rows.items() if found}
        return Bundle(
            lines=bodies,
            blobs={str(row[0]): bytes_of(row[1]) for row in blobs},
            templates={name: kept[name] for name in named if name in kept},
            head=_head(*heads[0]) if heads else Head(0, ""),
            policies={policy: kept[policy]} if policy in kept else {},
            debate=str(UUID(debate)),
        )

    @property
    def register(self) -> Register:
        """The register of the store: what it has opened, closed and added to, in order."""
        return Register(lambda: self._recorder)

    @property
    def exposed(self) -> str | None:
        """Who beside you can read or change the store's file, in words; None where nobody can."""
        return self._database.exposed()

    @property
    def place(self) -> Path | None:
        """The folder whose files its debates may read: the file's, or the working directory.

        None for a store in memory.
        """
        return self._database.place

    def folder(self, debate: str) -> Path | None:
        """Return the folder in which the run's relative file names begin; None: it has none.

        Raises DataError `store.corrupt` for what cannot be a folder.
        """
        rows = self._select("SELECT folder FROM runs WHERE debate = ?", UUID(debate).hex)
        if not rows:
            return None
        stored = rows[0][0]
        name = os.fsdecode(stored) if isinstance(stored, (bytes, str)) else "\0"
        # To follow a path takes time that grows as the square of its length.
        if "\0" in name or len(name) > _LONGEST_PATH:
            raise DataError("store.corrupt", f"the stored folder of {debate} is not a path")
        return Path(name)

    @contextmanager
    def runner(self, debate: str) -> Iterator[None]:
        """Hold the right to run `debate` while the block runs.

        Raises UsageError `store.running` where another process holds it.
        """
        lock = self._database.lock(debate)
        if lock is None:
            yield
            return
        with guard():
            held = lock.acquire()
        if not held:
            raise UsageError(
                "store.running",
                f"another process is running debate {debate}; wait until it ends, "
                "or interrupt it with Ctrl-C first",
            )
        try:
            yield
        finally:
            lock.release()


def _named(lines: Sequence[bytes]) -> tuple[list[str], str]:
    """Return the hashes of templates, schemas and tools, and of the policy, of an opening."""
    try:
        opened = parse(lines[0]) if lines else None
    except DataError:
        opened = None
    if opened is None or opened["type"] != "debate.opened":
        return [], ""
    data = opened["data"]
    rows = (*data["templates"], *data["schemas"], *data["tools"])
    return [row["sha256"] for row in rows], data["policy"] or ""


def migrate(url: str) -> tuple[int | None, int]:
    """Make the tables of the store at a URL, or bring them up to date.

    Returns the version that they had, None where there were none, and the one that they have.
    Raises what `Store.open` raises, and DataError `store.newer`.
    """
    database = _database(url, create=True, current=False)
    try:
        with guard():
            return database.migrate(), SCHEMA
    finally:
        database.close()


def _database(url: str, *, create: bool, current: bool = True) -> Database:
    if not is_spelled(url):
        raise UsageError(
            "store.url",
            f"{without_secrets(url)!r} holds a character that the name of a store cannot have; "
            "leave it out",
        )
    if url.startswith(sqlite.SCHEME) and url != sqlite.SCHEME:
        return sqlite.SQLite(url, create=create)
    if url.startswith(POSTGRES):
        return cast(Database, _postgres().Postgres(url, current=current))
    raise UsageError(
        "store.url",
        f"{without_secrets(url)!r} does not name a store; write sqlite:///PATH/FILE.db or "
        "postgresql://USER@HOST/DATABASE",
    )


def _postgres() -> ModuleType:
    try:
        from hansard.store import postgres_server  # noqa: PLC0415 - an extra
    except ImportError as error:
        if error.name not in ("psycopg", "psycopg_pool"):
            raise
        raise UsageError(
            "store.extra",
            f"a store in PostgreSQL needs a package: run `{install_command('postgres')}`",
        ) from None
    return postgres_server
