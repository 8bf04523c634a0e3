"""Copying a store into another: byte for byte, in the order of its log, and compared at the end.

- Entries come in steps. A step is one transaction, and says up to where the copy stands: whoever
  is killed leaves a store that the next copy goes on with.
- The texts of a debate come with the last entry that the source has of it, and what the source
  has erased by then goes with it. A text that the source lacks and that no entry says was erased
  was lost: it stays in the copy, which may be the only one that still has it.
- Then come the lines of the register as they stand, and its checkpoints with their notes, until
  the source has nothing that is new. What it stores later, the next copy brings.
- A target that holds anything else is refused; so is a copy that was used as a store. A finished
  copy is compared before it is closed to go on: where its source was damaged since, it is a backup.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

from eventsourcing.persistence import StoredEvent

from hansard.errors import DataError, UsageError
from hansard.record.bundle import Bundle, Head
from hansard.record.line import line_hash
from hansard.rules import redactions
from hansard.rules.events import parse
from hansard.store import copied, registering
from hansard.store.application import Store
from hansard.store.copied import Copied
from hansard.store.database import Cursor, Extras, NotNext, Select, Tables
from hansard.store.guard import guard, id_of, require_later
from hansard.store.mapping import bytes_of
from hansard.store.projection import forget
from hansard.store.register import Kept

_ENTRIES = 200  # that are read at once
_BYTES = 1 << 24  # of texts, after which a step is stored
_LINES = 5_000  # of the register that are stored at once
_SIGNED = 5  # times that checkpoints are compared, where somebody signs or cosigns some meanwhile
_CHECKPOINTS = """SELECT size, root, note, cosigned FROM checkpoints
    WHERE size > ? AND size <= ? ORDER BY size LIMIT ?"""
_KEEP = """INSERT INTO checkpoints (size, root, note, cosigned) VALUES (?, ?, ?, ?)
    ON CONFLICT (size) DO UPDATE SET note = excluded.note, cosigned = excluded.cosigned"""

Each = Callable[[str], object]


class Summary(NamedTuple):
    """What a copy holds; `behind` says whether the source has got more since."""

    debates: int
    entries: int
    texts: int
    lines: int  # of the register
    root: bytes  # of the register
    behind: bool


class _Batch(NamedTuple):
    """Entries of one debate that follow one another in the log, up to a place there.

    `weight` is in bytes of texts; `last` says whether the source has no more of the debate.
    """

    debate: str
    events: Sequence[StoredEvent]
    extras: Extras
    until: int
    weight: int
    last: bool


def copy(source: Store, target: Store, each: Each) -> Summary:
    """Copy a store into one that is new, empty or an earlier copy of it, and compare them.

    `each` is called with every debate that is copied up to its last entry, and again when it is
    compared. Raises UsageError `copy.holds`, `copy.running` or `store.copying`, and DataError
    `copy.damaged` or `copy.differs`.
    """
    copying = _Copying(source, target, each)
    copying.begin()
    while not copying.is_level():
        before = copying.stands
        copying.entries()
        copying.register()
        if copying.stands == before:  # it says that it has more than there is
            raise DataError(
                "copy.damaged",
                f"{source.url} lacks entries, or lines of its register, so it cannot be copied: "
                "`hansard register verify` says more; restore it from a backup",
            )
    copying.checkpoints()
    summary = copying.compare()
    copying.require_source()
    copying.finish()
    return summary


class _Copying:
    def __init__(self, source: Store, target: Store, each: Each) -> None:
        self._source, self._target, self._each = source, target, each
        self._from, self._to = source._recorder, target._recorder
        self._at = Copied(source.register.id, 0, 0)
        self._signed = b""  # the hash of the checkpoints that the source had

    def begin(self) -> None:
        """Take the target, if it is empty, or what an earlier copy left; else refuse it."""
        with guard():
            found = copied.read(self._to.select)
            place, size = _last(self._to, self._to.select), registering.size_of(self._to.select)
            named = self._to.select("SELECT size FROM checkpoints LIMIT 1")  # even of no lines
        goes_on = self._goes_on(found, place, size) if found else place == size == 0 and not named
        if not goes_on or self._from.name == self._to.name:
            raise UsageError(
                "copy.holds",
                f"{self._target.url} holds something other than a copy of {self._source.url}: "
                "name a store that is new or empty",
            )
        if found and found.finished:
            self._require_kept()
        with guard(), self._to.transaction() as c:
            if found:
                self._at = found._replace(finished=0)
            elif copied.read(self._to.reading(c)) is None:
                c.execute("INSERT INTO copied VALUES (?, ?, ?, ?, ?)", self._at)
            self._hold(c)
            c.execute("UPDATE register_log SET id = ?", (self._at.id,))
        try:
            self.require_source()
        except UsageError:  # also where it is the target by another name
            with guard(), self._to.transaction() as c:
                c.execute("UPDATE copied SET finished = ?", (found.finished if found else 0,))
            raise

    def _require_kept(self) -> None:
        """Refuse a source that has no longer what a finished copy has of it; raises DataError."""
        for debate in self._target.debates():
            there = self._source.bundle(debate)
            with guard():
                _require_erased(debate, self._names(debate) - there.blobs.keys(), there.lines)
            there = _hashed(there)
            if not self._is_same(debate, there, _hashed(self._target.bundle(debate))):
                raise DataError(
                    "copy.differs",
                    f"debate {debate} is not the same in {self._source.url} as in its copy "
                    f"{self._target.url}: one of them was damaged or altered since, and `hansard "
                    f"verify {debate[:8]}` in each says more; the copy stays as it is",
                )

    def require_source(self) -> None:
        """Refuse a source into which somebody copies: of its last debates something is missing."""
        with guard():
            copied.require_finished(self._from.select, self._source.url)

    def _goes_on(self, found: Copied, place: int, size: int) -> bool:
        """Whether the target is what a copy of this source left, and nothing was added to it."""
        log = self._source.register
        if (found.id, found.place) != (self._at.id, place) or size > log.size:
            return False
        with guard():
            same = _entry(self._from, found.position) == _entry(self._to, place)
        same = same and log.root(size) == self._target.register.root(size)
        return same and all(map(self._has_signed, self._target.register.checkpoints()))

    def _has_signed(self, here: Kept) -> bool:
        """Whether the source has each signature of a checkpoint: the next copy writes over it."""
        if here.note is None:
            return True
        there = self._source.register.checkpoint(here.size)
        lines = there.note.splitlines() if there and there.note else []
        return {*lines}.issuperset(here.note.splitlines())

    @property
    def stands(self) -> tuple[int, int]:
        """Up to which entry of the source the target stands, and how many lines it has."""
        return self._at.position, self._target.register.size

    def is_level(self) -> bool:
        """Whether the target has all entries and lines that the source has at this moment."""
        with guard(), self._from.snapshot() as select:
            last, size = _last(self._from, select), registering.size_of(select)
        return (last, size) == self.stands

    def _hold(self, c: Cursor) -> None:
        """Keep others out of the target, in which only this copy may have written."""
        c.execute("UPDATE copied SET finished = 0", ())  # a write comes first
        select = self._to.reading(c)
        if (copied.read(select), _last(self._to, select)) != (self._at, self._at.place):
            raise UsageError(
                "copy.running",
                f"another process writes into {self._target.url}, too; end it, and copy again",
            )

    # Entries

    def entries(self) -> None:
        """Copy the entries that the target has not, in steps."""
        while rows := self._page():
            step, weight = list[_Batch](), 0
            for batch in self._batches(rows):
                step.append(batch)
                weight += batch.weight
                if weight > _BYTES:
                    self._store(step)
                    step, weight = [], 0
            if step:
                self._store(step)

    def _page(self) -> list[tuple[int, StoredEvent]]:
        place = self._from.place
        with guard():
            rows = self._from.select(
                f"SELECT {place}, originator_id, originator_version, topic, state "  # noqa: S608
                f"FROM stored_events WHERE {place} > ? ORDER BY {place} LIMIT ?",
                self._at.position,
                _ENTRIES,
            )
        return [(row[0], _stored(*row[1:])) for row in rows]

    def _batches(self, rows: Sequence[tuple[int, StoredEvent]]) -> Iterator[_Batch]:
        ends = {event.originator_id: event.originator_version for _, event in rows}
        for key, found in groupby(rows, key=lambda row: row[1].originator_id):
            places, events = zip(*found, strict=True)
            debate, first, end = str(key), events[0].originator_version, events[-1]
            folder = self._source.folder(debate) if first == 1 else None
            head = Head(end.originator_version, line_hash(end.state))
            extras = Extras(head, folder=None if folder is None else str(folder))
            last = ends[key] == head.length >= self._length(debate)
            if last:
                extras = self._with_texts(debate, extras)
            weight = sum(len(body) for _, body in extras.blobs)
            yield _Batch(debate, events, extras, places[-1], weight, last)

    def _length(self, debate: str) -> int:
        """Return how many entries the source says that it has of a debate."""
        with guard():
            rows = self._from.select("SELECT length FROM heads WHERE debate = ?", UUID(debate).hex)
        length = rows[0][0] if rows else 0
        if type(length) is not int:
            raise _damaged(debate)
        return length

    def _with_texts(self, debate: str, extras: Extras) -> Extras:
        """Add what the source keeps of a debate beside its entries; what it has not is erased."""
        bundle = self._source.bundle(debate)
        with guard():
            here = self._names(debate)
        gone = here - bundle.blobs.keys()
        _require_erased(debate, gone, bundle.lines)
        head = bundle.head
        if head is None or head.length != extras.head.length:  # it has gone on since
            head = extras.head
        return extras._replace(
            head=head,  # as it is kept, even if it is not the hash of the last entry
            blobs=[row for row in bundle.blobs.items() if row[0] not in here],
            templates=[*bundle.templates.items(), *bundle.policies.items()],
            erased=sorted(gone),
        )

    def _names(self, debate: str) -> set[str]:
        """Return the names of the texts that the target has of a debate."""
        rows = self._to.select("SELECT name FROM blobs WHERE debate = ?", UUID(debate).hex)
        return {str(row[0]) for row in rows}

    def _store(self, step: Sequence[_Batch]) -> None:
        """Store a step, and up to where the copy stands with it."""
        moved = self._at

        def work(c: Cursor) -> int:
            nonlocal moved
            if moved != self._at and copied.read(self._to.reading(c)) == moved:
                return moved.place  # it was stored, and the connection lost before that was told
            self._hold(c)
            for batch in step:
                try:
                    place = self._to.insert(c, batch.events, batch.extras)
                except NotNext:
                    raise _damaged(batch.debate) from None
                if batch.extras.erased:
                    forget(self._to, c, batch.debate)
            erased = self._at.erased or int(any(batch.extras.erased for batch in step))
            moved = self._at._replace(position=step[-1].until, place=place, erased=erased)
            c.execute("UPDATE copied SET position = ?, place = ?, erased = ?", moved[1:4])
            return place

        with guard():
            self._to.write(work)
        self._at = moved
        for batch in step:
            if batch.last:
                self._each(batch.debate)

    # The register

    def register(self) -> None:
        """Copy the lines that the target has not, as they stand."""
        log, size = self._source.register, self._source.register.size
        for begin in range(self._target.register.size, size, _LINES):
            lines = list(log.lines(min(begin + _LINES, size), begin))
            with guard(), self._to.transaction() as c:
                self._hold(c)
                registering.extend(self._to.reading(c), c, begin, lines)

    def checkpoints(self) -> None:
        """Copy the name of the register, and the checkpoints that belong to its lines."""
        self._signed = _digest(self._kept(self._from))
        for rows in self._kept(self._from):
            with guard(), self._to.transaction() as c:
                self._hold(c)
                c.executemany(_KEEP, rows)
        with guard(), self._to.transaction() as c:
            self._hold(c)
            c.execute("UPDATE register_log SET origin = ?", (self._source.register.origin,))

    def _kept(self, recorder: Tables) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the checkpoints of a store, some at a time, up to the size of the target."""
        size, after = self._target.register.size, -1
        while True:
            with guard():
                rows = recorder.select(_CHECKPOINTS, after, size, _LINES)
            if not rows:
                return
            yield [tuple(row) for row in rows]
            require_later(rows[-1][0], after)
            after = rows[-1][0]

    # The end

    def compare(self) -> Summary:
        """Compare the target with the source; raises DataError `copy.differs`, `copy.damaged`."""
        debates = entries = texts = 0
        names = self._target.debates()
        for name in {*self._source.debates()}.difference(names):
            if not self._source.lines(name):  # else it is new
                raise _damaged(name)
        for name in names:
            bundle = _hashed(self._target.bundle(name))
            if not self._is_same(name, _hashed(self._source.bundle(name)), bundle):
                raise _differs(f"debate {name}", self._target)
            debates, entries = debates + 1, entries + len(bundle.lines)
            texts += len(bundle.blobs)
            self._each(name)
        with guard():
            held = [_count(self._from, self._at.position), _count(self._to, self._at.place)]
        if held != [entries, entries]:
            raise _differs("the number of entries", self._target)
        log = self._target.register
        size, root = log.size, log.root(log.size)
        if self._source.register.root(size) != root:
            raise _differs("the root of the register", self._target)
        self._compare_checkpoints()
        return Summary(debates, entries, texts, size, root, not self.is_level())

    def _compare_checkpoints(self) -> None:
        """Compare the checkpoints, and copy them again where somebody has signed some since."""
        for _ in range(_SIGNED):
            there, here = (_digest(self._kept(each)) for each in (self._from, self._to))
            if there == here:
                return
            if there == self._signed:
                break
            self.checkpoints()
        raise _differs("a checkpoint of the register", self._target)

    def _is_same(self, debate: str, there: Bundle, here: Bundle) -> bool:
        """Compare the hashes of a debate; raises DataError `copy.damaged`.

        It may have gone on in the source, where texts may have been erased then.
        """
        length = len(here.lines)
        if there.head is None or there.head.length != len(there.lines):
            raise _damaged(debate)
        same = there == here
        if there.head.length > length:
            end = Head(length, here.lines[-1].hex())
            texts = here.blobs.items()
            same = (there.lines[:length], end) == (here.lines, here.head) and all(
                there.blobs.get(name, body) == body for name, body in texts
            )
        return same

    def finish(self) -> None:
        """Let the target be used, without a trace of what was erased on the way."""
        if self._at.erased:
            self._target.scrub()
        with guard(), self._to.transaction() as c:
            self._hold(c)
            c.execute("UPDATE copied SET erased = 0, finished = 1", ())


def _require_erased(debate: str, gone: Collection[str], lines: Sequence[bytes]) -> None:
    """Refuse to erase texts of a copy that no entry of the source says were erased.

    Raises DataError `copy.damaged`.
    """
    if not gone:
        return
    try:
        events = [parse(line) for line in lines]
        found = redactions.read(events, lambda place: events[place - 1])
    except DataError:
        found = []
    if {*gone} - {row.data["blob"] for row in found if not row.faulty}:
        raise DataError(
            "copy.damaged",
            f"the source lacks texts of debate {debate[:8]} that the copy has, and no entry says "
            "that they were erased; so they stay in the copy, and nothing is copied: `hansard "
            f"verify {debate[:8]}` says more; restore the source from a backup",
        )


def _stored(key: object, seq: object, kind: object, line: object) -> StoredEvent:
    """Return an entry of the source, whose columns may hold anything; raises DataError."""
    debate, state = id_of(key), bytes_of(line)
    if not (type(seq) is int and type(kind) is str):
        raise _damaged(debate)
    return StoredEvent(UUID(debate), seq, kind, state)


def _digest(pages: Iterable[object]) -> bytes:
    found = sha256()
    for rows in pages:
        found.update(repr(rows).encode())
    return found.digest()


def _hashed(bundle: Bundle) -> Bundle:
    """Return a bundle with hashes in the place of its bytes: two may not fit in memory."""

    def hashed(bodies: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return {name: sha256(body).digest() for name, body in bodies.items()}

    return replace(
        bundle,
        lines=[sha256(line).digest() for line in bundle.lines],
        blobs=hashed(bundle.blobs),
        templates=hashed(bundle.templates),
        policies=hashed(bundle.policies),
    )


def _last(recorder: Tables, select: Select) -> int:
    """Return the place of the last entry; 0 where there is none."""
    rows = select(f"SELECT max({recorder.place}) FROM stored_events")  # noqa: S608
    return int(rows[0][0] or 0)


def _count(recorder: Tables, place: int) -> int:
    """Return how many entries there are up to a place."""
    rows = recorder.select(
        f"SELECT count(*) FROM stored_events WHERE {recorder.place} <= ?",  # noqa: S608
        place,
    )
    return int(rows[0][0])


def _entry(recorder: Tables, place: int) -> list[tuple[Any, ...]]:
    """Return the entry at a place, in a list; an empty one where there is none."""
    rows = recorder.select(
        f"SELECT originator_version, state FROM stored_events WHERE {recorder.place} = ?",  # noqa: S608
        place,
    )
    return [tuple(row) for row in rows]


def _damaged(debate: str) -> DataError:
    return DataError(
        "copy.damaged",
        f"the source lacks entries of debate {debate[:8]}, so it cannot be copied: "
        f"`hansard verify {debate[:8]}` says more; restore it from a backup",
    )


def _differs(what: str, target: Store) -> DataError:
    return DataError(
        "copy.differs",
        f"{what} is not the same in {target.url}: do not use that copy; copy into a new store",
    )
