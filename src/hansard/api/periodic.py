"""The report on all debates of a store that were opened in a time."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hansard.api.listing import caught_up, judged
from hansard.api.measuring import measured
from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.record.keys import Trust
    from hansard.report.periodic import CountedDebate, PeriodicReport
    from hansard.store.application import Store

_MOST_NUMBERS = 10_000  # by name: honest rows have a few dozen, and one for each policy
_PERIOD = re.compile(r"([0-9]{4})(?:-Q([1-4])|-([0-9]{2})(?:-([0-9]{2}))?)?").fullmatch


def periodic_report(
    store: Store,
    period: str | None = None,
    *,
    since: str | None = None,
    until: str | None = None,
    trust: Trust | None = None,
) -> PeriodicReport:
    """Return what the debates come to that were opened in a time: numbers, exceptions, cost.

    `period` is a year, a quarter, a month or a day: `2026`, `2026-Q4`, `2026-11` or
    `2026-11-24`, in UTC. In its place, `since` and `until` are two of these, both included;
    without `until` the time ends now. `trust` names the keys whose reviews count.

    What is said of a debate was taken from its record when that last changed, and the record held
    then; `verify_store` looks at all of them again, and `verify_exports` counts a signed report
    again. Before you sign one, call `rebuild_projection`, as `hansard report -o` does: somebody who
    can write to the store may have changed a record since, or what was taken. Raises UsageError
    `period.time`, and DataError where the store cannot be read.

    >>> from hansard import debate, open_store
    >>> with open_store("sqlite:///:memory:") as store:
    ...     _ = debate("Do we ship?", format="panel", agents=lambda _: "Yes.", store=store)
    ...     found = periodic_report(store, since="2000")
    ...     empty = periodic_report(store, "1999-Q4")
    >>> found.numbers["closed.complete"], empty.numbers, empty.until
    (1, {}, '2000-01-01T00:00:00.000000Z')
    """
    from hansard.record.keys import Trust
    from hansard.report.periodic import CountedDebate, ModelUse, PeriodicReport
    from hansard.runtime.clock import Clock, spelled
    from hansard.store.guard import to_be_rebuilt

    at = Clock().now()
    begin, end = _bounds(period, since, until, at)
    rows, trust = caught_up(store), trust or Trust()
    times = {"since": spelled(begin), "before": spelled(end)}
    wanted = {**times, "trust": judged(store, rows, trust), "now": at}
    numbers, debates = Counter[str](), list[CountedDebate]()
    for row in rows.counted(wanted):
        counted, said = _counted(row)
        numbers.update(counted)
        debates.append(said)
        if len(numbers) > _MOST_NUMBERS:
            raise to_be_rebuilt()
    return PeriodicReport(
        since=times["since"],
        until=times["before"],
        at=at,
        numbers=dict(sorted(numbers.items())),
        debates=tuple(debates),
        not_counted=tuple(rows.find({"before": ""})),  # what does not hold is always found
        models=tuple(
            ModelUse(model=name, debates=debates, low_confidence=low, escalated=left)
            for name, debates, low, left in rows.models(times)
        ),
        metrics=measured(rows, begin, end),
    )


def _counted(row: tuple[Any, ...]) -> tuple[dict[str, int], CountedDebate]:
    """Return the numbers of a record, its review among them, and what is said of it."""
    from hansard.record.periodic import is_countable
    from hansard.report.periodic import CountedDebate
    from hansard.rules.spec_parts import NAME
    from hansard.store.guard import to_be_rebuilt
    from hansard.verify.recount import of_review

    debate, opened_at, state, decision, head, kept, review = row
    try:
        numbers = json.loads(kept)
        if not is_countable(numbers, debate, head) or not (decision is None or NAME(decision)):
            raise to_be_rebuilt()
        if state in ("open", "gate"):
            review = None
        else:
            numbers[of_review(review)] = 1
        said = CountedDebate(
            debate=debate,
            head=head,
            opened_at=opened_at,
            state=state,
            decision=decision,
            exceptions=tuple(
                name.removeprefix("exception.") for name in numbers if name.startswith("exception.")
            ),
            review=review,
            calls=numbers.get("calls", 0),
            cost_micro_usd=numbers.get("cost_micro_usd", 0),
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise to_be_rebuilt() from None
    return numbers, said


def _bounds(
    period: str | None, since: str | None, until: str | None, now: str
) -> tuple[datetime, datetime]:
    """Return when a time begins, and when it is over."""
    if period is not None and (since or until):
        raise UsageError("period.time", "give a period, or since when and until when, not both")
    if period is None and since is None:
        raise UsageError("period.time", "give a period, such as 2026-Q4, or since when")
    begin = _span(period or since or "")[0]
    last = period or until
    end = _span(last)[1] if last else datetime.fromisoformat(now)
    if begin >= end:
        raise UsageError(
            "period.time", f"the time from {since} to {until or 'now'} ends before it begins"
        )
    return begin, end


def _span(text: str) -> tuple[datetime, datetime]:
    """Return when a year, quarter, month or day begins, and when it is over."""
    found = _PERIOD(text)
    try:
        if found and found[4]:
            begin = datetime.fromisoformat(text).replace(tzinfo=UTC)
            return begin, begin + timedelta(days=1)
        if found:
            months = 1 if found[3] else 3 if found[2] else 12
            year, month = int(found[1]), int(found[3] or 3 * int(found[2] or 1) - 2)
            begin, last = datetime(year, month, 1, tzinfo=UTC), month + months - 1
            return begin, datetime(year + last // 12, last % 12 + 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        pass
    raise UsageError(
        "period.time", f"{text!r:.64} is not a period; write 2026, 2026-Q4, 2026-11 or 2026-11-24"
    )
