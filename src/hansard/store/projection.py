"""The projection: one row for each debate of a store, by which debates are found and summed.

- It is derived from the records and from nothing else, and can be made anew: `begin_again`. It
  says which debates to read; whoever shows one reads and verifies its record.
- It follows the entries in the order in which they were stored. `behind` gives the debates that
  have new ones; `write` puts their rows and the place up to which they stand into one
  transaction, unless somebody else has done so in the meantime. So readers and writers need not
  know of each other, and whoever is killed leaves what was there before.
- A debate with new entries gets a new row, made from its whole record. So a text that was erased
  leaves the projection with the next row; `forget` takes it out at once.
- Rows of another version of this module are thrown away.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from eventsourcing.sqlite import SQLiteCursor

from hansard.errors import DataError
from hansard.store.guard import guard, id_of
from hansard.store.rows import SORTS, Row
from hansard.store.sqlite import Recorder

_VERSION = 3  # of the tables, and of what their rows say
_AT_ONCE = 5_000  # entries whose debates are read before their rows are written
_LARGEST = (1 << 53) - 1  # a record may add up to more than SQLite's 2^63 - 1

TABLES = (
    """CREATE TABLE IF NOT EXISTS projected
       (place INTEGER PRIMARY KEY, debate TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
        opened_at TEXT, closed_at TEXT, format TEXT, task_type TEXT, decision TEXT, question TEXT,
        reviewed TEXT, deadline TEXT, spoken INTEGER NOT NULL, look INTEGER NOT NULL,
        retention TEXT, held INTEGER NOT NULL, texts INTEGER NOT NULL,
        scripted INTEGER, cost INTEGER, calls INTEGER, tokens INTEGER, elapsed INTEGER,
        policy TEXT, advised INTEGER, confidence INTEGER, downside INTEGER, threshold INTEGER,
        outcomes TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS projected_question ON projected (question)",
    # The labels, models, notes and exceptions of a debate.
    """CREATE TABLE IF NOT EXISTS projected_names
       (place INTEGER, kind TEXT, name TEXT, PRIMARY KEY (place, kind, name)) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS projected_name ON projected_names (kind, name)",
    # How a review stands by the keys of one trust file.
    """CREATE TABLE IF NOT EXISTS projected_reviews
       (place INTEGER, trust TEXT, state TEXT NOT NULL, PRIMARY KEY (place, trust))
       WITHOUT ROWID""",
    # What a debate counts towards each metric, in millionths.
    """CREATE TABLE IF NOT EXISTS projected_figures
       (place INTEGER, name TEXT, value INTEGER NOT NULL, PRIMARY KEY (place, name))
       WITHOUT ROWID""",
    # Its last entry, and what it counts in a periodic report, as JSON.
    """CREATE TABLE IF NOT EXISTS projected_counts
       (place INTEGER PRIMARY KEY, head TEXT NOT NULL, numbers TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS projected_until
       (version INTEGER PRIMARY KEY, position INTEGER NOT NULL)""",
    "CREATE VIRTUAL TABLE IF NOT EXISTS projected_texts USING fts5(said)",
)
_OF_DEBATES = (
    "projected", "projected_names", "projected_figures", "projected_reviews", "projected_counts",
)  # fmt: skip
# What the projection says of a review, by the keys of `:trust` at the time `:now`.
_REVIEW = """(SELECT CASE WHEN found.state = 'waiting' AND row.deadline < :now THEN 'overdue'
    ELSE found.state END FROM (SELECT coalesce((SELECT state FROM projected_reviews
    WHERE place = row.place AND trust = :trust), row.reviewed) AS state) AS found)"""
_LOOK = f"(row.look OR coalesce({_REVIEW}, 'approved') NOT IN ('approved', 'not required'))"
# A record that does not hold is in every list: nothing that it says can leave it out.
_BAD = "row.state IN ('altered', 'unreadable')"
_NAMED = """EXISTS (SELECT 1 FROM projected_names
    WHERE place = row.place AND kind = '{kind}' AND name = :{kind})"""
_NAMED_SO = """EXISTS (SELECT 1 FROM projected_names AS other
    WHERE other.place = row.place AND other.kind = 'exception' AND other.name = '{name}')"""
_NOBODY: Mapping[str, object] = {"trust": "", "now": ""}  # who reads without keys
_WANTED = {
    "since": "row.opened_at >= :since",
    "until": "substr(row.opened_at, 1, length(:until)) <= :until",  # that day, hour, … included
    "before": "row.opened_at < :before",
    "scripted": "row.scripted = :scripted",
    "format": "row.format = :format",
    "task_type": "row.task_type = :task_type",
    "decision": "row.decision = :decision",
    "question": "row.question = :question",
    "review": f"{_REVIEW} = :review",
    **{kind: _NAMED.format(kind=kind) for kind in ("label", "model", "note", "exception")},
    "words": "row.place IN (SELECT rowid FROM projected_texts WHERE said MATCH :words)",
}
_SORTS = {"opened": "row.place"} | {name: f"coalesce(row.{name}, -1)" for name in SORTS[1:]}


_TEXTS = ("projected_texts", "rowid")
_FIRST = "SELECT rowid FROM stored_events WHERE originator_version = 1"  # the places of debates
# Where the rows stand is a place that no reader could have left.
_ASTRAY = """SELECT 1 FROM projected_until WHERE version = ? AND NOT (typeof(position) = 'integer'
    AND position BETWEEN 0 AND (SELECT coalesce(max(rowid), 0) FROM stored_events))"""
# Of a debate, the places of its first and of its last entry.
_PLACES = "SELECT min(rowid), max(rowid) FROM stored_events WHERE originator_id = ?"


class Behind(NamedTuple):
    """Debates whose last entry stands after `since` and up to `until`, with their places."""

    since: int
    until: int
    debates: dict[str, int]


class Sums(NamedTuple):
    """Of all debates that were asked for: how many, what they cost, and how many need a look.

    `unpriced` are those whose cost is not known though models were asked; `bad` those whose
    records do not hold. `cost` is in micro-US-dollars, None where none is known.
    """

    debates: int
    cost: int | None
    unpriced: int
    look: int
    bad: int


_APART = ("names", "figures", "words", "head", "numbers")  # in tables of their own
_COLUMNS = tuple(name for name in Row.__slots__ if name not in _APART)
_INSERT = f"""INSERT INTO projected (place, {", ".join(_COLUMNS)})
    VALUES (?, {", ".join("?" * len(_COLUMNS))})"""  # noqa: S608


class Projection:
    """The projection of one store."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        with guard():
            made = recorder.select("SELECT 1 FROM sqlite_master WHERE name = 'projected_counts'")
            if not made:  # a store of an earlier version lacks some
                self._make()

    def _make(self) -> None:
        with self._recorder.datastore.transaction(commit=True) as c:
            for statement in TABLES:
                c.execute(statement, ())

    def behind(self) -> Iterator[Behind]:
        """Yield debates with entries that no row has seen, until there are none."""
        with guard():
            if self._recorder.select(_ASTRAY, _VERSION):
                self.begin_again()
            while found := self._behind():
                yield found

    def _behind(self) -> Behind | None:
        with self._recorder.snapshot() as select:
            since = _position(select("SELECT version, position FROM projected_until"))
            rows = select(
                "SELECT rowid, originator_id FROM stored_events WHERE rowid > ? "
                "ORDER BY rowid LIMIT ?",
                since,
                _AT_ONCE,
            )
            until, places = rows[-1][0] if rows else since, dict[str, int]()
            for name in dict.fromkeys(row[1] for row in rows):
                place, last = select(_PLACES, name)[0]
                if last <= until:  # else it is read once, with its last entry
                    places[id_of(name)] = place
        return Behind(since, until, places) if rows else None

    def write(self, behind: Behind, rows: Sequence[Row]) -> None:
        """Keep the rows of debates that were behind, unless others have done so by now."""
        with guard(), self._recorder.datastore.transaction(commit=True) as c:
            # A statement that writes comes first: it waits for other writers, and sees their rows.
            c.execute("DELETE FROM projected_until WHERE version != ?", (_VERSION,))
            if c.sqlite_cursor.rowcount:
                _clear(c)
            c.execute("INSERT OR IGNORE INTO projected_until VALUES (?, 0)", (_VERSION,))
            c.execute(
                "UPDATE projected_until SET position = ? WHERE position = ?",
                (behind.until, behind.since),
            )
            if not c.sqlite_cursor.rowcount:
                return
            for row in rows:
                c.execute(_PLACES, (UUID(row.debate).hex,))
                _, last = c.fetchone()
                if last <= behind.until:  # an entry since may have taken a text: read it anew
                    _replace(c, behind.debates[row.debate], row)

    def correct(self, rows: Sequence[Row]) -> None:
        """Replace rows of debates whose records no longer say what they said."""
        with guard(), self._recorder.datastore.transaction(commit=True) as c:
            for row in rows:
                c.execute("SELECT place FROM projected WHERE debate = ?", (row.debate,))
                for (place,) in c.fetchall():
                    _replace(c, place, row)

    def begin_again(self) -> None:
        """Let every row be made anew; until then it stands, so that no list lacks it meanwhile."""
        with guard(), self._recorder.datastore.transaction(commit=True) as c:
            for table, place in (*((name, "place") for name in _OF_DEBATES), _TEXTS):
                c.execute(f"DELETE FROM {table} WHERE {place} NOT IN ({_FIRST})")  # noqa: S608
            c.execute("UPDATE projected_until SET position = 0")

    def unjudged(self, trust: str) -> list[str]:
        """Return the debates whose review nobody has judged by these keys yet."""
        with guard():
            rows = self._recorder.select(
                """SELECT debate FROM projected AS row WHERE spoken AND NOT EXISTS (SELECT 1
                FROM projected_reviews WHERE place = row.place AND trust = :trust)""",
                trust=trust,
            )
        return [id_of(row[0]) for row in rows]

    def judge(self, trust: str, states: Mapping[str, str]) -> None:
        """Keep how the reviews of debates stand by these keys."""
        with guard(), self._recorder.datastore.transaction(commit=True) as c:
            c.executemany(
                """INSERT OR REPLACE INTO projected_reviews
                SELECT place, ?, ? FROM projected WHERE debate = ?""",
                [(trust, state, debate) for debate, state in states.items()],
            )

    def find(
        self, wanted: Mapping[str, object], sort: str = "opened", limit: int | None = None
    ) -> dict[str, str]:
        """Return the states of debates that are wanted, sorted: of the last `limit` of them.

        `wanted` has values for some of `_WANTED`; where reviews matter, `trust` and `now`.
        """
        with guard():
            rows = self._recorder.select(
                f"SELECT debate, state FROM projected AS row WHERE {_where(wanted)} "  # noqa: S608
                f"ORDER BY {_SORTS[sort]} DESC, row.place DESC LIMIT :limit",
                limit=-1 if limit is None else min(limit, _LARGEST),
                **{**_NOBODY, **wanted},
            )
        return {id_of(debate): str(state) for debate, state in reversed(rows)}

    def sums(self, wanted: Mapping[str, object]) -> Sums:
        """Return the sums of all debates that are wanted."""
        with guard():
            (row,) = self._recorder.select(
                f"""SELECT count(*), sum(row.cost),
                coalesce(sum(row.cost IS NULL AND row.format IS NOT NULL), 0),
                coalesce(sum({_LOOK}), 0), coalesce(sum({_BAD}), 0)
                FROM projected AS row WHERE {_where(wanted)}""",  # noqa: S608
                **{**_NOBODY, **wanted},
            )
        _require(all(map(_is_whole, row)))
        return Sums(*row)

    def figures(
        self, wanted: Mapping[str, object]
    ) -> list[tuple[str, str | None, int, float, float]]:
        """Return, for each metric and type of task, how many debates have it, and its sums.

        In whole units: the sum of the figures, and of their squares.
        """
        with guard():
            rows = self._recorder.select(
                f"""SELECT name, row.task_type, count(*), sum(value / 1e6),
                sum((value / 1e6) * (value / 1e6)) FROM projected AS row
                JOIN projected_figures USING (place) WHERE NOT ({_BAD}) AND ({_where(wanted)})
                GROUP BY name, row.task_type""",  # noqa: S608
                **{**_NOBODY, **wanted},
            )
        for name, task, n, *sums in rows:
            _require(type(name) is str and type(task) in _TEXT_OR_NONE and type(n) is int)
            _require(all(type(found) is float and math.isfinite(found) for found in sums))
        return [tuple(row) for row in rows]

    def counted(self, wanted: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """Return of each record that is wanted and holds what a periodic report says of it.

        Its id, when it was opened, its state, decision, head, numbers as JSON, and how its
        review stands.
        """
        with guard():
            rows = self._recorder.select(
                f"""SELECT debate, opened_at, state, decision, head, numbers, {_REVIEW}
                FROM projected AS row JOIN projected_counts USING (place)
                WHERE NOT ({_BAD}) AND ({_where(wanted)}) ORDER BY row.place""",  # noqa: S608
                **{**_NOBODY, **wanted},
            )
        return [(id_of(row[0]), *row[1:]) for row in rows]

    def models(self, wanted: Mapping[str, object]) -> list[tuple[str, int, int, int]]:
        """Return each model that was asked or served, and in how many debates that are wanted.

        And in how many of these the confidence was low, and how many were escalated.
        """
        low, left = (_NAMED_SO.format(name=name) for name in ("low_confidence", "escalated"))
        with guard():
            rows = self._recorder.select(
                f"""SELECT name, count(*), sum({low}), sum({left}) FROM projected AS row
                JOIN projected_names USING (place) WHERE kind = 'model' AND state != 'open'
                AND NOT ({_BAD}) AND ({_where(wanted)}) GROUP BY name ORDER BY name""",  # noqa: S608
                **{**_NOBODY, **wanted},
            )
        return [tuple(row) for row in rows]

    def gated(self, wanted: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """Return what is known of each gate's answer, and what was noted of its outcome.

        Whether a debate followed, its format, the single answer's confidence, the downside, the
        cost threshold, the cost, and the labels noted. Scripted debates are left out.
        """
        with guard():
            rows = self._recorder.select(
                f"""SELECT row.state != 'gate', row.format, row.confidence, row.downside,
                row.threshold, row.cost, row.outcomes FROM projected AS row
                WHERE row.advised IS NOT NULL AND coalesce(row.scripted, 0) = 0 AND NOT ({_BAD})
                AND row.state != 'open' AND ({_where(wanted)}) ORDER BY row.place""",  # noqa: S608
                **{**_NOBODY, **wanted},
            )
        _require(all(_is_whole(value) for row in rows for value in row[2:6]))
        return [(bool(row[0]), *row[1:6], str(row[6])) for row in rows]

    def policies(self) -> list[tuple[str, str, str]]:
        """Return each policy of a debate: its hash, one of its debates, when the first was opened.

        The one that a debate was opened under last comes first.
        """
        with guard():
            rows = self._recorder.select(
                f"""SELECT policy, min(debate), min(opened_at), max(place) FROM projected AS row
                WHERE policy IS NOT NULL AND NOT ({_BAD})
                GROUP BY policy ORDER BY max(place) DESC"""  # noqa: S608
            )
        return [(str(name), id_of(debate), str(at)) for name, debate, at, _ in rows]

    def retained(self) -> list[tuple[str | None, str, str, bool]]:
        """Return class of retention, id, time of the close, and whether a hold stands.

        Of each closed debate, or gate's answer, that still has a text, in the order opened.
        """
        with guard():
            rows = self._recorder.select(
                f"""SELECT retention, debate, coalesce(closed_at, opened_at), held
                FROM projected AS row WHERE state != 'open' AND texts AND NOT ({_BAD})
                ORDER BY place"""  # noqa: S608
            )
        for name, _, at, _ in rows:
            _require(type(name) in _TEXT_OR_NONE and _is_time(at))
        return [(name, id_of(debate), at, bool(held)) for name, debate, at, held in rows]


def kept() -> Iterator[str]:
    """Yield the statements that SQLite keeps of these tables, those of its own search included."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in TABLES:
            connection.execute(statement)
        found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        yield from (row[0] for row in found)


def forget(c: SQLiteCursor, debate: str) -> None:
    """Take a debate out, with every trace of its texts, where its record has just got an entry.

    So the next reader makes its row anew. In a store without a projection there is nothing.
    """
    c.execute("SELECT 1 FROM sqlite_master WHERE name = 'projected_texts'", ())
    if not c.fetchone():
        return
    c.execute("SELECT place FROM projected WHERE debate = ?", (debate,))
    for (place,) in c.fetchall():
        _remove(c, place)
        c.execute("INSERT INTO projected_texts (projected_texts) VALUES ('optimize')", ())


def words(text: str) -> str:
    """Return the search for all words of `text`, in the language of SQLite's FTS5."""
    return " ".join(
        '"{}"'.format(word.replace('"', '""')) for word in text.replace("\0", " ").split()
    )


_TEXT_OR_NONE = (str, type(None))


def _require(sound: bool) -> None:
    if not sound:
        raise DataError(
            "store.corrupt", "what finds debates was changed: run `hansard projection rebuild`"
        )


def _is_whole(value: object) -> bool:
    return value is None or type(value) is int


def _is_time(at: object) -> bool:
    try:
        return type(at) is str and datetime.fromisoformat(at).tzinfo is not None
    except ValueError:
        return False


def _position(rows: Sequence[Any]) -> int:
    """Return up to where the rows stand; 0 where there are none, or of another version."""
    return next((row[1] for row in rows if row[0] == _VERSION), 0)


def _where(wanted: Mapping[str, object]) -> str:
    found = [statement for name, statement in _WANTED.items() if name in wanted]
    return f"({' AND '.join(found)}) OR {_BAD}" if found else "TRUE"


def _replace(c: SQLiteCursor, place: int, row: Row) -> None:
    c.execute("SELECT place FROM projected WHERE debate = ?", (row.debate,))
    for found in {place, *(found for (found,) in c.fetchall())}:
        _remove(c, found)
    c.execute(_INSERT, (place, *(_storable(getattr(row, name)) for name in _COLUMNS)))
    c.executemany(
        "INSERT INTO projected_names VALUES (?, ?, ?)",
        [(place, kind, name) for kind, name in sorted({*row.names})],
    )
    c.executemany(
        "INSERT INTO projected_figures VALUES (?, ?, ?)",
        [(place, name, _storable(value)) for name, value in sorted(row.figures.items())],
    )
    if row.head:
        counts = (place, row.head, row.numbers)
        c.execute("INSERT INTO projected_counts VALUES (?, ?, ?)", counts)
    if row.words:
        c.execute("INSERT INTO projected_texts (rowid, said) VALUES (?, ?)", (place, row.words))


def _storable(value: object) -> object:
    return min(value, _LARGEST) if type(value) is int else value


def _remove(c: SQLiteCursor, place: int) -> None:
    for table in _OF_DEBATES:
        c.execute(f"DELETE FROM {table} WHERE place = ?", (place,))  # noqa: S608
    c.execute("DELETE FROM projected_texts WHERE rowid = ?", (place,))


def _clear(c: SQLiteCursor) -> None:
    for table in (*_OF_DEBATES, "projected_until"):
        c.execute(f"DELETE FROM {table}", ())  # noqa: S608
    c.execute("DELETE FROM projected_texts", ())
