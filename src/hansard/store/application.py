"""The store: debates as they are kept, through `eventsourcing` (FORMAT.md §12).

An `Application` gives wiring and the notification log; our mapper stores the
canonical line itself as an event's state, so that the bytes which were hashed
are the bytes which are kept.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self, cast
from uuid import UUID, uuid4

from eventsourcing.application import Application
from eventsourcing.persistence import Mapper, StoredEvent
from eventsourcing.sqlite import SQLiteCursor
from eventsourcing.utils import Environment
from typing_extensions import override

from hansard.errors import DataError, UsageError
from hansard.record.blob import unpack
from hansard.record.bundle import Bundle, Head
from hansard.rules.events import Event, parse
from hansard.store import copied, registering
from hansard.store.file import Tally, examine, examine_beside, exposed
from hansard.store.guard import guard, id_of, id_or_none
from hansard.store.projection import Projection, forget, kept
from hansard.store.register import Register
from hansard.store.sqlite import Extras, Recorder, RunnerLock

_SCHEME = "sqlite:///"
_LINES = "SELECT state FROM stored_events WHERE originator_id = ? ORDER BY originator_version"
_BLOBS = "SELECT name, body FROM blobs WHERE debate = ?"
_TEMPLATE = "SELECT body FROM templates WHERE sha256 = ?"
_HEAD = "SELECT length, head FROM heads WHERE debate = ?"
# The ids stand in the index of the lines' own key, so that neither reads a line.
_DEBATES = "SELECT originator_id FROM stored_events WHERE originator_version = 1 ORDER BY +rowid"
_BEGINNING = """SELECT originator_id FROM stored_events
    WHERE originator_id >= ? AND originator_id < ? AND originator_version = 1"""
_NAMING = """SELECT originator_id FROM stored_events
    WHERE originator_version = 1 AND instr(state, CAST(? AS BLOB)) ORDER BY +rowid"""
_HOLDING = """SELECT debate, name FROM blobs
    WHERE debate != ? AND instr(body, CAST(? AS BLOB))"""
_LEAST = 12  # characters of a text that is looked for in other debates
_ID = frozenset("0123456789abcdef-")


@dataclass(frozen=True, slots=True)
class StoredLine:
    """A line on its way into the store; `eventsourcing` names its key originator."""

    originator_id: UUID
    originator_version: int
    type: str
    line: bytes


class Batch(NamedTuple):
    """What one debate stores at once: (type, line) pairs from sequence number `first`."""

    debate: str
    first: int
    lines: Sequence[tuple[str, bytes]]
    extras: Extras


class _NotNext(Exception):
    """What is to be stored does not come next in its debate: something stands there already."""


class LineMapper(Mapper[UUID]):
    """Stores a line's bytes untouched and reads them back through the closed union.

    A stored topic is only a label: it never selects code.
    """

    @override
    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        return StoredEvent(
            domain_event.originator_id,
            domain_event.originator_version,
            domain_event.type,
            domain_event.line,
        )

    @override
    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        return parse(_bytes(stored_event.state))


def _bytes(value: object) -> bytes:
    """Return a stored value that must be bytes; SQLite columns may hold anything."""
    if type(value) is not bytes:
        raise DataError(
            "store.corrupt", "a stored entry or text is not bytes: the store was altered"
        )
    return value


def _head(length: object, head: object) -> Head:
    """Return a stored head, whose columns may hold anything as well."""
    if type(length) is not int or type(head) is not str:
        raise DataError("store.corrupt", "the stored end of a record is not a length and a hash")
    return Head(length, head)


class _Debates(Application[UUID]):
    name = "hansard"

    @override
    def construct_env(self, name: str, env: Any = None) -> Environment:
        return Environment(name, dict(env))  # the process environment changes nothing here

    @override
    def construct_mapper(self) -> LineMapper:
        return LineMapper(self.construct_transcoder())


class Store:
    """The debates of one SQLite file.

    Every failure of the file is a DataError `store.*`; what was appended
    before it stays. Use as a context manager, or call `close`.
    """

    def __init__(
        self, url: str, database: str, path: Path | None, *, unfinished: bool = False
    ) -> None:
        self.url = url
        self._database = database
        self._path = path
        self._tally = Tally(path) if path else None
        self._application: _Debates | None = None
        self._unfinished = unfinished

    def _open(self) -> _Debates:
        """Return the open database: a new file is made only when something is to be stored."""
        if self._application is None:
            before = self._tally.read() if self._tally else 0
            opened = _Debates(
                {
                    "PERSISTENCE_MODULE": "hansard.store.sqlite:Factory",
                    "SQLITE_DBNAME": self._database,
                }
            )
            if self._tally:
                recorder = cast(Recorder, opened.recorder)
                try:
                    recorder.examine((*kept(), *copied.TABLES))
                    self._tally.check(before, recorder.entries())
                    if not self._unfinished:
                        copied.require_finished(recorder, self.url)
                except BaseException:
                    opened.close()
                    raise
            self._application = opened
        return self._application

    @property
    def _recorder(self) -> Recorder:
        return cast(Recorder, self._open().recorder)  # as our Factory makes it

    @classmethod
    def open(cls, url: str, *, create: bool = False, unfinished: bool = False) -> Self:
        """Open the store at `sqlite:///PATH` or `sqlite:///:memory:`.

        Only who copies opens an `unfinished` copy. Raises UsageError `store.url`,
        `store.missing` (unless `create`), or DataError `store.corrupt`, `store.foreign` or
        `store.beside`; and UsageError `store.copying` once it is used.
        """
        if not url.startswith(_SCHEME) or url == _SCHEME:
            raise UsageError(
                "store.url", f"{url!r} does not name a store; write sqlite:///PATH/FILE.db"
            )
        name = url.removeprefix(_SCHEME)
        path = None if name == ":memory:" else Path(name)
        if path is None:
            name = f"file:{uuid4()}?mode=memory&cache=shared"
        else:
            with guard():  # a name may be too long, or in a folder that is closed
                _examine(path, create=create)
        if path is not None:
            # `file:x.db` is a name, and a process may change its folder.
            name = str(path := _absolute(path))
        return cls(url, name, path, unfinished=unfinished)

    def close(self) -> None:
        """Close every connection."""
        if self._application is not None:
            self._application.close()
            if self._tally:
                self._tally.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, *batches: Batch) -> None:
        """Append the batches in one transaction, all of them or none, durably.

        A batch that is there already, byte for byte, stays as it is: it was stored though its
        process heard of an error. Raises UsageError `store.conflict` when another process
        appended first.
        """
        if not batches:
            return
        with guard():
            try:
                self.write(lambda c: [self._insert(c, batch) for batch in batches][-1])
            except _NotNext as found:
                if not all(map(self._is_stored, batches)):
                    raise UsageError(
                        "store.conflict",
                        f"another process is writing debate {found}; this one stops, "
                        "and nothing is lost",
                    ) from None

    def _is_stored(self, batch: Batch) -> bool:
        """Say whether a batch is there, byte for byte: its entries and its texts."""
        there, begin = self.bundle(batch.debate), batch.first - 1
        lines = there.lines[begin : begin + len(batch.lines)]
        return (
            lines == [line for _, line in batch.lines]
            and dict(batch.extras.blobs).items() <= there.blobs.items()
        )

    def write(self, work: Callable[[SQLiteCursor], int]) -> None:
        """Store entries in one transaction; `work` returns how many the store has then.

        Raises whatever the database raises.
        """
        with self._recorder.datastore.transaction(commit=True) as c:
            entries = work(c)
        if self._tally:
            self._tally.write(entries)

    def _insert(self, c: SQLiteCursor, batch: Batch) -> int:
        """Insert a batch; return how many entries the store has now. Raises _NotNext."""
        key, to_stored = UUID(batch.debate), self._open().mapper.to_stored_event
        events = [
            to_stored(StoredLine(key, seq, kind, line))
            for seq, (kind, line) in enumerate(batch.lines, batch.first)
        ]
        try:
            entries = self._recorder.insert(c, events, batch.extras)
        except sqlite3.IntegrityError:
            raise _NotNext(batch.debate) from None
        registering.append(c, registering.due(batch.first, batch.lines, batch.debate))
        if batch.extras.erased:
            forget(c, batch.debate)
        return entries

    def debates(self) -> list[str]:
        """Return the ids of all debates, in the order they were opened."""
        if self._path and not self._path.exists():
            return []
        with guard():
            rows = self._recorder.select(_DEBATES)
        return [id_of(row[0]) for row in rows]

    def naming(self, debate: str) -> list[str]:
        """Return the ids of the other debates whose opening names `debate`, as they were opened.

        What cannot be read is left out.
        """
        with guard():
            rows = self._recorder.select(_NAMING, debate)
        return [found for row in rows if (found := id_or_none(row[0])) not in (None, debate)]

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
        if not prefix or not _ID.issuperset(prefix) or (self._path and not self._path.exists()):
            return []
        first = prefix.replace("-", "")
        with guard():
            rows = self._recorder.select(_BEGINNING, first, f"{first}g")  # g: after every digit
        return [
            debate for debate in map(id_of, (row[0] for row in rows)) if debate.startswith(prefix)
        ]

    def holding(self, debate: str, texts: Sequence[str]) -> dict[str, int]:
        """Return how many texts of each other debate hold one of these texts word for word.

        Texts of a few characters are not looked for.
        """
        found = dict[str, set[str]]()
        for text in {text.strip() for text in texts if len(text.strip()) >= _LEAST}:
            with guard():
                rows = self._recorder.select(_HOLDING, UUID(debate).hex, text)
            for row in rows:
                found.setdefault(id_of(row[0]), set()).add(str(row[1]))
        return {name: len(found[name]) for name in sorted(found)}

    def scrub(self) -> None:
        """Leave nothing in the store's files of what was erased from it.

        SQLite overwrites what it deletes. But the write-ahead log keeps what a page was, and
        pages may hold what was moved: so the file is written anew, and the log is emptied.
        Raises DataError `store.busy` where another process keeps the log in use.
        """
        with guard():
            self._recorder.scrub()

    def lines(self, debate: str) -> list[bytes]:
        """Return a debate's lines in order."""
        with guard():
            return [_bytes(row[0]) for row in self._recorder.select(_LINES, UUID(debate).hex)]

    def events(self, debate: str) -> list[Event]:
        """Return a debate's lines as events; raises DataError for a line that is not one."""
        return [parse(line) for line in self.lines(debate)]

    def opening(self, debate: str) -> Event:
        """Return a debate's first entry; raises DataError where it cannot be read."""
        with guard():
            rows = self._recorder.select(f"{_LINES} LIMIT 1", UUID(debate).hex)
        return parse(_bytes(rows[0][0]) if rows else b"")

    def text(self, debate: str, name: str) -> str:
        """Return the text of one blob; raises KeyError where it is gone."""
        with guard():
            key = UUID(debate).hex
            rows = self._recorder.select(f"{_BLOBS} AND name = ?", key, name)
        if not rows:
            raise KeyError(name)
        return unpack(_bytes(rows[0][1]))

    def bundle(self, debate: str) -> Bundle:
        """Return everything that is kept of a debate, as it stands in the file at one moment."""
        key = UUID(debate).hex
        with guard(), self._recorder.snapshot() as select:
            bodies = [_bytes(row[0]) for row in select(_LINES, key)]
            blobs, heads = select(_BLOBS, key), select(_HEAD, key)
            named, policy = _named(bodies)
            rows = {name: select(_TEMPLATE, name) for name in (*named, policy)}
        kept = {name: _bytes(found[0][0]) for name, found in rows.items() if found}
        return Bundle(
            lines=bodies,
            blobs={str(row[0]): _bytes(row[1]) for row in blobs},
            templates={name: kept[name] for name in named if name in kept},
            head=_head(*heads[0]) if heads else Head(0, ""),
            policies={policy: kept[policy]} if policy in kept else {},
        )

    @property
    def register(self) -> Register:
        """The register of the store: what it has opened, closed and added to, in order."""
        return Register(lambda: self._recorder)

    @property
    def exposed(self) -> str | None:
        """Who beside you can read or change the store's file, in words; None where nobody can."""
        return exposed(self._path) if self._path else None

    @property
    def place(self) -> Path | None:
        """The folder of the store's file; None in memory."""
        return self._path.parent if self._path else None

    def folder(self, debate: str) -> Path | None:
        """Return the folder in which the run's relative file names begin; None: it has none.

        Raises DataError `store.corrupt` for what cannot be a folder.
        """
        with guard():
            rows = self._recorder.select(
                "SELECT folder FROM runs WHERE debate = ?", UUID(debate).hex
            )
        if not rows:
            return None
        name = os.fsdecode(rows[0][0])
        if "\0" in name:
            raise DataError("store.corrupt", f"the stored folder of {debate} is not a path")
        return Path(name)

    @contextmanager
    def runner(self, debate: str) -> Iterator[None]:
        """Hold the right to run `debate` while the block runs.

        Raises UsageError `store.running` where another process holds it.
        """
        if self._path is None:
            yield
            return
        with guard():
            lock = RunnerLock(f"{self._path}-run-{debate}")
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


def _examine(path: Path, *, create: bool) -> None:
    """Refuse what cannot be opened as a store; raises OSError and what `Store.open` raises."""
    if path.exists():
        examine_beside(path)
        examine(path)
    elif not create:
        raise UsageError(
            "store.missing", f"there is no store at {path}; run a debate first, or name --store"
        )
    elif not path.parent.is_dir():
        raise UsageError(
            "store.missing", f"there is no folder {path.parent} for the store; create it first"
        )
    else:
        examine_beside(_absolute(path))


def _absolute(path: Path) -> Path:
    try:
        return path.absolute()
    except FileNotFoundError:
        raise UsageError(
            "store.missing",
            "the working directory was removed; change to one that is there, or name --store",
        ) from None
