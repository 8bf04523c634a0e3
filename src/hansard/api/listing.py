"""The debates of a store: which there are, found by what they say, and listed.

Which debates are listed is read from the store's projection, which catches up first; what is said
of each is read from its record, which is verified. So a list costs what it lists.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from sys import getsizeof
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from hansard.api.records import facts, of_store
from hansard.errors import DataError, UsageError, is_of_all, on_disk

if TYPE_CHECKING:
    from hansard.api.records import Record
    from hansard.record.keys import Trust
    from hansard.report.formats import DebateResult
    from hansard.report.gated import GateRecord
    from hansard.report.listing import Entry, Listing, Totals
    from hansard.store.application import Store
    from hansard.store.projection import Projection, Sums
    from hansard.store.rows import BadState, Row

_MOST_HELD = 1 << 26  # bytes of memory, of the texts of rows that are written together
_TIME = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2}(T[0-9]{2}(:[0-9]{2}(:[0-9]{2})?)?)?)?)?")


def list_debates(
    store: Store,
    trust: Trust | None = None,
    *,
    since: str | None = None,
    until: str | None = None,
    format: str | None = None,  # noqa: A002 - as the field of a spec
    task_type: str | None = None,
    label: str | None = None,
    decision: str | None = None,
    model: str | None = None,
    note: str | None = None,
    exception: str | None = None,
    review: str | None = None,
    search: str | None = None,
    sort: str = "opened",
    limit: int | None = None,
) -> Listing:
    """Return debates of a store, each verified: all, or those for which everything given holds.

    `since` and `until` are times of the opening, in UTC, as exact as one likes: `2026`,
    `2026-11`, `2026-11-24` or `2026-11-24T09:30`, and `until` includes all of it. `model` is one
    that was asked or that served, `note` the code of a note, `exception` why a review is asked
    for, `review` how it stands by the keys of `trust`, `search` words that all stand in the
    question, name, labels, decision or deliverable. They come in the order of `sort`:
    `opened`, `cost`, `calls`, `tokens` or `elapsed`, the largest last; with a `limit` only the
    last of them, while `totals` counts all.

    Of a record that does not hold only its id and its state are listed, whatever was asked
    for. Raises DataError where the store itself cannot be read, and UsageError `list.time`,
    `list.text` or `list.sort`.

    >>> from hansard import debate, open_store
    >>> with open_store("sqlite:///:memory:") as store:
    ...     for question in ("Is clause 11 fair?", "Is clause 12 fair?", "Do we ship?"):
    ...         _ = debate(question, format="panel", agents=lambda _: "Yes.", store=store)
    ...     found = list_debates(store, search="clause fair", limit=1)
    >>> [row.question for row in found.debates], found.totals.debates
    (['Is clause 12 fair?'], 2)
    """
    from hansard.record.keys import Trust
    from hansard.report.listing import Listing, named
    from hansard.runtime.clock import Clock
    from hansard.store.rows import SORTS

    if sort not in SORTS:
        raise UsageError(
            "list.sort", f"{sort!r} is no order of a list; it can be {', '.join(SORTS)}"
        )
    terms = {
        "since": since,
        "until": until,
        "format": format,
        "task_type": task_type,
        "label": label,
        "decision": decision,
        "model": model,
        "note": note,
        "exception": exception,
        "review": review,
        "words": search if search and search.strip() else None,
    }
    given = {name: value for name, value in terms.items() if value is not None}
    for name, value in given.items():
        if name in ("since", "until"):
            time_of(name, value)
        require_text(name, value)
    if model is not None:
        given["model"] = named(model)
    trust, rows = trust or Trust(), caught_up(store)
    wanted = {**given, "trust": judged(store, rows, trust), "now": Clock().now()}
    listed = _listed(store, rows, trust, partial(rows.find, wanted, sort, limit))
    return Listing(debates=listed, totals=_totals(rows.sums(wanted)))


def _listed(
    store: Store, rows: Projection, trust: Trust, find: Callable[[], Mapping[str, str]]
) -> tuple[Entry, ...]:
    """Return what is found, each read from its record; found again where its row was wrong."""
    from hansard.report.listing import Held
    from hansard.store.rows import BAD

    for _ in range(2):
        found, held = find(), Held()
        listed = {debate: held.of(_entry(store, debate, trust)) for debate in found}
        wrong = [name for name, row in listed.items() if row.holds is (found[name] in BAD)]
        for part in _parts(store, wrong):
            rows.correct(part)
        if not wrong:
            break
    return tuple(listed.values())


def asking(store: Store, question: str) -> list[str]:
    """Return the debates of a store that were asked `question`, in the order they were opened."""
    from hansard.report.listing import asked
    from hansard.store.rows import BAD

    found = caught_up(store).find({"question": asked(question)})
    return [debate for debate, state in found.items() if state not in BAD]


def rebuild_projection(store: Store) -> int:
    """Make the rows by which the debates of a store are found anew; return how many there are.

    Nothing needs it: they catch up by themselves. Raises DataError where the store cannot be
    read, and UsageError `system.temporary` where SQLite lacks the temporary file that it needs.

    >>> from hansard import debate, open_store
    >>> with open_store("sqlite:///:memory:") as store:
    ...     _ = debate("Do we ship?", format="panel", agents=lambda _: "Yes.", store=store)
    ...     rebuild_projection(store)
    1
    """
    try:
        store.projection.begin_again()
    except DataError as error:
        if error.code == "store.failed":  # SQLite tells no missing folder from a disk that fails
            with on_disk():
                TemporaryFile().close()
        raise
    return caught_up(store, every=True).sums({}).debates


def time_of(name: str, at: str) -> str:
    """Return a time that somebody gave; raises UsageError `list.time` for what is none."""
    if not _TIME.fullmatch(at):
        raise UsageError("list.time", f"{name} is {at!r}: write a time as 2026-11-24")
    return at


def require_text(name: str, value: str) -> None:
    """Refuse a term that no record can hold; raises UsageError `list.text`."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError("list.text", f"{name} is not Unicode: write it in UTF-8") from None
    if "\0" in value and name not in ("words", "model"):  # what is looked for there is made plain
        raise UsageError("list.text", f"{name} holds U+0000, which no name has: leave it out")


def caught_up(store: Store, *, every: bool = False) -> Projection:
    """Return the projection of a store, with a row of every debate as it stands now.

    `every`: also where somebody took out as many rows as heads of debates.
    """
    rows = store.projection
    for behind in rows.behind():  # what a part leaves is behind again
        part = next(_parts(store, behind.debates), [])
        rows.write(behind.first(len(part)), part)
    for missing in rows.missing(every=every):
        for part in _parts(store, missing):
            rows.add(part)
    return rows


def _parts(store: Store, debates: Iterable[str]) -> Iterator[list[Row]]:
    """Yield the rows of debates, as many at a time as there is memory for their texts."""
    part: list[Row] = []
    size = 0
    for debate in debates:
        row = _row(store, debate)
        part.append(row)
        size += getsizeof(row.words) + sum(getsizeof(name) for _, name in row.names)
        if size >= _MOST_HELD:
            yield part
            part, size = [], 0
    if part:
        yield part


def _standing(
    store: Store, debate: str, trust: Trust | None
) -> tuple[Record, DebateResult | GateRecord] | BadState:
    """Return the record of a debate and what became of it; of a bad one, only what it is."""
    try:
        record = of_store(store, debate, trust)
        return (record, record.standing()) if record.verification.ok else "altered"
    except DataError as error:
        if is_of_all(error):  # else a sound record would be listed as a bad one, until it is read
            raise
        return "unreadable"


def _row(store: Store, debate: str) -> Row:
    from hansard.report.listing import row
    from hansard.report.quoting import erasable
    from hansard.store.rows import Row
    from hansard.verify.recount import numbers_of

    found = _standing(store, debate, None)
    if isinstance(found, str):
        return Row(debate=debate, state=found)
    record, result = found
    whole = not result.reviewed.erased or any(erasable([*facts(record)], record.text))
    numbers = json.dumps(numbers_of(facts(record), result.reviewed.exceptions))
    opened: Any = next(facts(record))["data"]
    more = {"head": record.head, "numbers": numbers, "policy": opened.get("policy")}
    return replace(row(result), texts=whole, **more)


def _entry(store: Store, debate: str, trust: Trust) -> Entry:
    from hansard.report.listing import Entry, entry

    found = _standing(store, debate, trust)
    return Entry(debate=debate, state=found) if isinstance(found, str) else entry(found[1])


def judged(store: Store, rows: Projection, trust: Trust) -> str:
    """Keep how reviews stand by these keys where that is not known yet; return their name."""
    name = hashlib.sha256(trust.dump()).hexdigest()
    states = {debate: _entry(store, debate, trust).reviewed for debate in rows.unjudged(name)}
    # Only time makes a review overdue, and the row knows its deadline.
    rows.judge(name, {each: _lasting(state) for each, state in states.items() if state})
    return name


def _lasting(state: str) -> str:
    return "waiting" if state == "overdue" else state


def _totals(sums: Sums) -> Totals:
    from hansard.report.listing import Totals

    return Totals(
        debates=sums.debates,
        cost_micro_usd=sums.cost,
        unpriced=sums.unpriced,
        need_a_look=sums.look,
        not_as_recorded=sums.bad,
    )
