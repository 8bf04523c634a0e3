"""The projection: one row for each debate of a store, by which debates are found and summed.

- It is derived from the records and from nothing else, and can be made anew: `begin_again`. It
  says which debates to read; whoever shows one reads and verifies its record.
- It follows the entries in the order in which they were stored. `behind` gives the debates that
  have new ones; `write` puts their rows and the place up to which they stand into one
  transaction, unless somebody else has done so in the meantime. So readers and writers need not
  know of each other, and whoever is killed leaves what was there before.
- A debate of which no entry is left stands in no order, and gets its row apart, as does one whose
  row somebody took out: `missing`, `add`.
- A debate with new entries gets a new row, made from its whole record. So a text that was erased
  leaves the projection with the next row; `forget` takes it out at once.
- Rows of another version of this module are thrown away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from hansard.store.database import Cursor, Select, Tables
from hansard.store.guard import guard, guard_rows, id_of, to_be_rebuilt
from hansard.store.rows import CHARGED, SORTS, Row

_VERSION = 4  # of the tables, and of what their rows say
_UNTIL = "SELECT version, position FROM projected_until"
_HEAD = "SELECT head FROM heads WHERE debate = ?"
_PLACES = "SELECT place FROM projected WHERE debate = ?"
# SQLite's count of all rows is one step of its machine, and pages may lead back to one another.
_COUNTS = "SELECT (SELECT count(debate) FROM heads), (SELECT count(place) FROM projected)"
_HEADS = "SELECT debate FROM heads WHERE debate > ? ORDER BY debate LIMIT ?"
_AT_ONCE = 5_000  # entries whose debates are read before their rows are written
_HUGE = 1e40  # more than any sum of figures, or of their squares
_LARGEST = (1 << 53) - 1  # a record may add up to more than SQLite's 2^63 - 1
_LONGEST = 1 << 16  # characters of the numbers, or the outcomes, of one debate
_MOST_GROUPS = 100_000  # of rows, by a name
_MOST_MODELS = 1_000
_PART = 1_000_000  # of costs, which are added in two parts: a thousand of the largest are too many

_OF_DEBATES = (
    "projected", "projected_names", "projected_figures", "projected_reviews", "projected_counts",
)  # fmt: skip
# What the projection says of a review, by the keys of `:trust` at the time `:now`.
_REVIEW = """(SELECT CASE WHEN found.state = 'waiting' AND row.deadline < :now THEN 'overdue'
    ELSE found.state END FROM (SELECT coalesce((SELECT state FROM projected_reviews
    WHERE place = row.place AND trust = :trust), row.reviewed) AS state) AS found)"""
_LOOK = f"(row.look OR coalesce({_REVIEW}, 'approved') NOT IN ('approved', 'not required'))"
_COSTS = f"sum(row.cost / {_PART}), sum(row.cost - row.cost / {_PART} * {_PART}), max(row.cost)"
# What counts as its cost under a budget, which is more where a call did not say what it used.
_CHARGED = f"""coalesce((SELECT value FROM projected_figures
    WHERE place = row.place AND name = '{CHARGED}'), cost)"""  # noqa: S608
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
    "unasked": "row.question IS NULL",  # such as where it was erased
    "review": f"{_REVIEW} = :review",
    **{kind: _NAMED.format(kind=kind) for kind in ("label", "model", "note", "exception")},
}
_WHOLE = "(value / CAST(1000000 AS DOUBLE PRECISION))"
_SORTS = {"opened": "row.place"} | {name: f"coalesce(row.{name}, -1)" for name in SORTS[1:]}


class Behind(NamedTuple):
    """Debates whose last entry stands after `since` and up to `until`, in the order of these.

    With each come the places of its first and its last entry.
    """

    since: int
    until: int
    debates: dict[str, tuple[int, int]]

    def first(self, number: int) -> Behind:
        """Return the first so many of them, to be written by themselves."""
        if number >= len(self.debates):
            return self
        part = dict(islice(self.debates.items(), number))
        return Behind(self.since, max(last for _, last in part.values()), part)


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

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def behind(self) -> Iterator[Behind]:
        """Yield debates with entries that no row has seen, until there are none."""
        with guard_rows():
            if self._is_astray():
                self.begin_again()
            while found := self._behind():
                yield found

    def _behind(self) -> Behind | None:
        with self._tables.snapshot() as select:
            since = _position(select(_UNTIL))
            place = self._tables.place
            rows = select(
                f"SELECT {place}, originator_id FROM stored_events WHERE {place} > ? "  # noqa: S608
                f"ORDER BY {place} LIMIT ?",
                since,
                _AT_ONCE,
            )
            until, places = rows[-1][0] if rows else since, dict[str, tuple[int, int]]()
            _require(not rows or until > since)  # pages may lead back to one another
            for name in dict.fromkeys(row[1] for row in rows):
                debate, (first, last) = id_of(name), self._ends(select, name)
                # Spelled otherwise, it would take the place of the debate that is meant.
                _require(name in (UUID(debate), UUID(debate).hex) and last > since)
                if last <= until:  # else it is read once, with its last entry
                    places[debate] = first, last
        ordered = dict(sorted(places.items(), key=lambda row: row[1][1]))
        return Behind(since, until, ordered) if rows else None

    def _ends(self, select: Select, name: object) -> tuple[int, int]:
        """Return the places of a debate's first and last entry; in a damaged file it has none."""
        place = self._tables.place
        ((first, last),) = select(
            f"SELECT min({place}), max({place}) FROM stored_events WHERE originator_id = ?",  # noqa: S608
            name,
        )
        _require(type(first) is int and type(last) is int)
        return first, last

    def write(self, behind: Behind, rows: Sequence[Row]) -> None:
        """Keep the rows of debates that were behind, unless others have done so by now."""
        with guard_rows(), self._tables.transaction() as c:
            c.execute("DELETE FROM projected_until WHERE version != ?", (_VERSION,))
            if self._tables.changed(c):
                self._clear(c)
            c.execute(
                "INSERT INTO projected_until VALUES (?, 0) ON CONFLICT DO NOTHING", (_VERSION,)
            )
            c.execute(
                "UPDATE projected_until SET position = ? WHERE position = ?",
                (behind.until, behind.since),
            )
            if not self._tables.changed(c):
                return
            select = self._tables.reading(c)
            for row in rows:
                _, last = self._ends(select, UUID(row.debate).hex)
                if last <= behind.until:  # an entry since may have taken a text: read it anew
                    _replace(self._tables, c, behind.debates[row.debate][0], row)

    def missing(self, *, every: bool = False) -> Iterator[list[str]]:
        """Yield debates that have no row, some at a time.

        No entry of them is left, or somebody took their rows out, as by restoring one table, or
        moved their entries to where no database has any: a batch would run them again, and pay.
        To look for each debate takes long. So it is done for `every` one if asked for, else only
        where there are more heads than rows.
        """
        moved = f"SELECT DISTINCT originator_id FROM stored_events WHERE {self._tables.place} <= 0"  # noqa: S608
        with guard_rows():
            ((debates, rows),) = self._tables.select(_COUNTS)
            after = UUID(int=0).hex if every or debates > rows else None
            while after and (found := self._tables.select(_HEADS, after, _AT_ONCE)):
                last = UUID(id_of(found[-1][0])).hex
                _require(last > after)  # pages may lead back to one another
                after = last
                yield self._without_row(found)
            yield self._without_row(self._tables.select(moved))

    def _without_row(self, found: Sequence[Sequence[Any]]) -> list[str]:
        with self._tables.snapshot() as select:
            return [name for (debate,) in found if not select(_PLACES, name := id_of(debate))]

    def add(self, rows: Sequence[Row]) -> None:
        """Keep the rows of debates that are `missing`: those without a place before all others.

        One that was made before the last entry is left out, as by `correct`.
        """
        place = f"SELECT min({self._tables.place}) FROM stored_events WHERE originator_id = ?"  # noqa: S608
        with guard_rows(), self._tables.transaction() as c:
            select = self._tables.reading(c)
            for row in rows:
                if _is_late(select, row):
                    continue
                ((own,),) = select(place, UUID(row.debate).hex)
                ((first,),) = select("SELECT min(place) FROM projected")
                _replace(self._tables, c, min(first or 0, 0) - 1 if own is None else own, row)

    def correct(self, rows: Sequence[Row]) -> None:
        """Replace rows of debates whose records no longer say what they said.

        One that was made before the last entry, which may have taken a text, is left out.
        """
        with guard_rows(), self._tables.transaction() as c:
            select = self._tables.reading(c)
            for row in rows:
                if _is_late(select, row):
                    continue
                for place in _places_of(self._tables, c, row.debate):
                    _replace(self._tables, c, place, row)

    def _clear(self, c: Cursor) -> None:
        for table in (*_OF_DEBATES, "projected_until"):
            c.execute(f"DELETE FROM {table}", ())  # noqa: S608
        self._tables.drop_words(c, None)

    def begin_again(self) -> None:
        """Let every row be made anew; until then it stands, so that no list lacks it meanwhile.

        What finds words is made anew at once: it may be damaged. So is a table that is missing.
        `behind` reads from place 1 on, the first that a database gives, and writes the row of a
        debate where its entries begin. A row that stands anywhere else is deleted: somebody moved
        entries, and nothing would write it anew. Raises DataError `store.corrupt` where SQLite may
        find entries, or rows, where there are none.
        """
        tables = self._tables
        first = (
            f"SELECT min({tables.place}) FROM stored_events GROUP BY originator_id "  # noqa: S608
            f"HAVING min({tables.place}) > 0"
        )
        with guard():
            tables.require_sound_rows()
        with guard(), tables.transaction() as c:
            tables.make_rows(c)
            for table in _OF_DEBATES:
                c.execute(f"DELETE FROM {table} WHERE place NOT IN ({first})", ())  # noqa: S608
            tables.drop_words(c, None)
            c.execute("UPDATE projected_until SET position = 0", ())

    def _is_astray(self) -> bool:
        """Say whether the rows stand at a place that no reader could have left."""
        with self._tables.snapshot() as select:
            stored = f"SELECT coalesce(max({self._tables.place}), 0) FROM stored_events"  # noqa: S608
            place, ((last,),) = _position(select(_UNTIL)), select(stored)
            return type(place) is not int or not 0 <= place <= last

    def unjudged(self, trust: str) -> list[str]:
        """Return the debates whose review nobody has judged by these keys yet."""
        with guard_rows():
            rows = self._tables.select(
                """SELECT debate FROM projected AS row WHERE spoken AND NOT EXISTS (SELECT 1
                FROM projected_reviews WHERE place = row.place AND trust = :trust)""",
                trust=trust,
            )
        return [id_of(row[0]) for row in rows]

    def judge(self, trust: str, states: Mapping[str, str]) -> None:
        """Keep how the reviews of debates stand by these keys."""
        with guard_rows(), self._tables.transaction() as c:
            c.executemany(
                """INSERT INTO projected_reviews
                SELECT place, ?, ? FROM projected WHERE debate = ?
                ON CONFLICT (place, trust) DO UPDATE SET state = excluded.state""",
                [(trust, state, debate) for debate, state in states.items()],
            )

    def find(
        self, wanted: Mapping[str, object], sort: str = "opened", limit: int | None = None
    ) -> dict[str, str]:
        """Return the states of debates that are wanted, sorted: of the last `limit` of them.

        `wanted` has values for some of `_WANTED`, or `words` to be searched for; where reviews
        matter, `trust` and `now`.
        """
        most = "" if limit is None else f"LIMIT {min(limit, _LARGEST):d}"
        with guard_rows():
            rows = self._asked(
                f"SELECT debate, state FROM projected AS row WHERE {self._where(wanted)} "  # noqa: S608
                f"ORDER BY {_SORTS[sort]} DESC, row.place DESC {most}",
                wanted,
            )
        return {id_of(debate): str(state) for debate, state in reversed(rows)}

    def labels_of(self, debate: str) -> list[str]:
        """Return the labels of a debate as its row has them: none where its record did not hold."""
        with guard_rows():
            rows = self._tables.select(
                f"SELECT name FROM projected_names WHERE kind = 'label' AND place = ({_PLACES})",  # noqa: S608
                debate,
            )
        return [str(name) for (name,) in rows]

    def labelled(self, beginning: str) -> list[tuple[str, str, int, int | None]]:
        """Return each label that begins so, and each state of debates that have it.

        With both come how many debates these are, and what they cost; none whose record does not
        hold is among them, and none at all of a label that no row has any more.
        """
        with guard_rows():
            rows = self._tables.select(
                f"""SELECT name, row.state, count(row.state), {_COSTS}
                FROM projected_names LEFT JOIN projected AS row USING (place)
                WHERE kind = 'label' AND substr(name, 1, :length) = :beginning
                AND (row.state IS NULL OR NOT ({_BAD}))
                GROUP BY name, row.state ORDER BY name, row.state LIMIT {_MOST_GROUPS + 1}""",  # noqa: S608
                length=len(beginning),
                beginning=beginning,
            )
        _require(len(rows) <= _MOST_GROUPS)
        _require(all(_is_whole(value) for row in rows for value in row[2:]))
        return [(str(name), str(state), n, _added(*costs)) for name, state, n, *costs in rows]

    def sums(self, wanted: Mapping[str, object]) -> Sums:
        """Return the sums of all debates that are wanted."""
        with guard_rows():
            (row,) = self._asked(
                f"""SELECT {_COSTS}, count(*),
                count(*) FILTER (WHERE row.cost IS NULL AND row.format IS NOT NULL),
                count(*) FILTER (WHERE {_LOOK}), count(*) FILTER (WHERE {_BAD})
                FROM projected AS row WHERE {self._where(wanted)}""",  # noqa: S608
                wanted,
            )
        _require(all(map(_is_whole, row)))
        *costs, debates, unpriced, look, bad = row
        return Sums(debates, _added(*costs), unpriced, look, bad)

    def charged(self, wanted: Mapping[str, object]) -> int:
        """Return what all debates that are wanted count under a budget, in micro-US-dollars."""
        with guard_rows():
            (costs,) = self._asked(
                f"""SELECT {_COSTS} FROM (SELECT {_CHARGED} AS cost FROM projected AS row
                WHERE {self._where(wanted)}) AS row""",  # noqa: S608
                wanted,
            )
        _require(all(map(_is_whole, costs)))
        return _added(*costs) or 0

    def figures(
        self, names: Iterable[str], wanted: Mapping[str, object]
    ) -> list[tuple[str, str | None, int, float, float]]:
        """Return, for each of these metrics and type of task, how many debates have it, and sums.

        In whole units: the sum of the figures, and of their squares.
        """
        metrics = ", ".join(f"'{name}'" for name in names)
        with guard_rows():
            rows = self._asked(
                f"""SELECT name, row.task_type, count(*), sum({_WHOLE}), sum({_WHOLE} * {_WHOLE})
                FROM projected AS row JOIN projected_figures USING (place)
                WHERE name IN ({metrics}) AND NOT ({_BAD}) AND ({self._where(wanted)})
                GROUP BY name, row.task_type LIMIT {_MOST_GROUPS + 1}""",  # noqa: S608
                wanted,
            )
        _require(len(rows) <= _MOST_GROUPS)
        for name, task, n, *sums in rows:
            _require(type(name) is str and type(task) in _TEXT_OR_NONE and type(n) is int)
            _require(all(type(found) is float and abs(found) < _HUGE for found in sums))
        return [tuple(row) for row in rows]

    def _asked(self, statement: str, wanted: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        words = wanted.get("words")
        found = {"words": self._tables.search(words)} if isinstance(words, str) else {}
        return self._tables.select(statement, **{**_NOBODY, **wanted, **found})

    def _where(self, wanted: Mapping[str, object]) -> str:
        found = [statement for name, statement in _WANTED.items() if name in wanted]
        found += [self._tables.searched] if "words" in wanted else []
        return f"({' AND '.join(found)}) OR {_BAD}" if found else "TRUE"

    def counted(self, wanted: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """Return of each record that is wanted and holds what a periodic report says of it.

        Its id, when it was opened, its state, decision, head, numbers as JSON, and how its
        review stands.
        """
        with guard_rows():
            rows = self._asked(
                f"""SELECT debate, opened_at, state, decision, head,
                substr(numbers, 1, {_LONGEST + 1}), {_REVIEW}
                FROM projected AS row JOIN projected_counts USING (place)
                WHERE NOT ({_BAD}) AND ({self._where(wanted)}) ORDER BY row.place""",  # noqa: S608
                wanted,
            )
        _require(all(type(row[5]) is str and len(row[5]) <= _LONGEST for row in rows))
        return [(id_of(row[0]), *row[1:]) for row in rows]

    def models(self, wanted: Mapping[str, object]) -> list[tuple[str, int, int, int]]:
        """Return the models that most debates asked or served that are wanted, and how many.

        And in how many of these the confidence was low, and how many were escalated.
        """
        low, left = (_NAMED_SO.format(name=name) for name in ("low_confidence", "escalated"))
        with guard_rows():
            rows = self._asked(
                f"""SELECT name, count(*), count(*) FILTER (WHERE {low}),
                count(*) FILTER (WHERE {left}) FROM projected AS row
                JOIN projected_names USING (place) WHERE kind = 'model' AND state != 'open'
                AND NOT ({_BAD}) AND ({self._where(wanted)}) GROUP BY name
                ORDER BY count(*) DESC, name LIMIT {_MOST_MODELS}""",  # noqa: S608
                wanted,
            )
        return sorted((str(name), n, lows, lefts) for name, n, lows, lefts in rows)

    def gated(self, wanted: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """Return what is known of each gate's answer, and what was noted of its outcome.

        Whether a debate followed, its format, the single answer's confidence, the downside, the
        cost threshold, the cost, and the labels noted. Scripted debates are left out.
        """
        with guard_rows():
            rows = self._asked(
                f"""SELECT row.state != 'gate', row.format, row.confidence, row.downside,
                row.threshold, row.cost, substr(row.outcomes, 1, {_LONGEST + 1})
                FROM projected AS row
                WHERE row.advised IS NOT NULL AND row.scripted IS NOT TRUE AND NOT ({_BAD})
                AND row.state != 'open' AND ({self._where(wanted)}) ORDER BY row.place""",  # noqa: S608
                wanted,
            )
        _require(all(_is_whole(value) for row in rows for value in row[2:6]))
        _require(all(len(str(row[6])) <= _LONGEST for row in rows))
        return [(bool(row[0]), *row[1:6], str(row[6])) for row in rows]

    def policies(self) -> list[tuple[str, str, str]]:
        """Return each policy of a debate: its hash, one of its debates, when the first was opened.

        The one that a debate was opened under last comes first.
        """
        with guard_rows():
            rows = self._tables.select(
                f"""SELECT row.policy, row.debate, found.at FROM projected AS row JOIN
                (SELECT max(row.place) AS place, min(row.opened_at) AS at FROM projected AS row
                WHERE row.policy IS NOT NULL AND NOT ({_BAD}) GROUP BY row.policy) AS found
                ON found.place = row.place ORDER BY row.place DESC"""  # noqa: S608
            )
        return [(str(name), id_of(debate), str(at)) for name, debate, at in rows]

    def retained(self) -> list[tuple[str | None, str, str, bool]]:
        """Return class of retention, id, time of the close, and whether a hold stands.

        Of each closed debate, or gate's answer, that still has a text, in the order opened.
        """
        with guard_rows():
            rows = self._tables.select(
                f"""SELECT retention, debate, coalesce(closed_at, opened_at), held
                FROM projected AS row WHERE state != 'open' AND texts AND NOT ({_BAD})
                ORDER BY place"""  # noqa: S608
            )
        for name, _, at, _ in rows:
            _require(type(name) in _TEXT_OR_NONE and _is_time(at))
        return [(name, id_of(debate), at, bool(held)) for name, debate, at, held in rows]


def forget(tables: Tables, c: Cursor, debate: str) -> None:
    """Take a debate out, with every trace of its texts, where its record has just got an entry.

    So the next reader makes its row anew. Raises DataError `store.corrupt` for damaged rows.
    """
    with guard_rows():
        for place in _places_of(tables, c, debate):
            _remove(tables, c, place, wholly=True)


_TEXT_OR_NONE = (str, type(None))


def _require(sound: bool) -> None:
    if not sound:
        raise to_be_rebuilt()


def _added(parts: int | None, rest: int, _: int) -> int | None:
    """Return a sum of costs; the greatest is asked for, since it is what is no number at all."""
    return None if parts is None else parts * _PART + rest


def _is_whole(value: object) -> bool:
    """Say whether a value is a number of things, or of money, or not known."""
    return value is None or (type(value) is int and value >= 0)


def _is_time(at: object) -> bool:
    try:
        return type(at) is str and datetime.fromisoformat(at).tzinfo is not None
    except ValueError:
        return False


def _position(rows: Sequence[Any]) -> int:
    """Return up to where the rows stand; 0 where there are none, or of another version."""
    return next((row[1] for row in rows if row[0] == _VERSION), 0)


def _is_late(select: Select, row: Row) -> bool:
    """Say whether a row was made of a record before its last entry."""
    return bool(row.head) and [(row.head,)] != [*map(tuple, select(_HEAD, UUID(row.debate).hex))]


def _places_of(tables: Tables, c: Cursor, debate: str) -> list[int]:
    """Return where the rows of a debate are: at one place, unless somebody added to them."""
    return [row[0] for row in tables.reading(c)(_PLACES, debate)]


def _replace(tables: Tables, c: Cursor, place: int, row: Row) -> None:
    for found in {place, *_places_of(tables, c, row.debate)}:
        _remove(tables, c, found)
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
        tables.put_words(c, place, row.words)


def _storable(value: object) -> object:
    return min(value, _LARGEST) if type(value) is int else value


def _remove(tables: Tables, c: Cursor, place: int, *, wholly: bool = False) -> None:
    for table in _OF_DEBATES:
        c.execute(f"DELETE FROM {table} WHERE place = ?", (place,))  # noqa: S608
    tables.drop_words(c, place, wholly=wholly)
