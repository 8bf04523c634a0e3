"""Retention: how long the texts of debates are kept, and of which they are due to go."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hansard.api.listing import caught_up

if TYPE_CHECKING:
    from hansard.record.policy import Policy
    from hansard.report.retention import Retention
    from hansard.store.application import Store


def retention(store: Store, policy: Policy | None = None) -> Retention:
    """Return, by class of retention, how many debates are kept, and which are due to go.

    A debate is due once as many days have passed since its close as the `retention` terms of
    `policy` say of its class; of several, the most that any scope says. Without a policy, or
    for a class that it does not name, nothing is due. A debate under a hold is never due. What
    is due is deleted by nobody but you: `redact` erases all its texts, and its record stays.

    Counted are the closed debates, and gate's answers, of which any text is left, whose records
    hold. Raises DataError where the store cannot be read.

    >>> from hansard import debate, open_store
    >>> with open_store("sqlite:///:memory:") as store:
    ...     _ = debate("Why?", format="panel", agents=lambda _: "Because.", store=store)
    ...     found = retention(store)
    >>> [(row.retention, row.days, row.debates, row.due) for row in found.classes]
    [(None, None, 1, ())]
    """
    from hansard.report.retention import Class, Retention
    from hansard.runtime.clock import Clock

    now, days = datetime.fromisoformat(Clock().now()), _days(policy)
    groups = defaultdict[str | None, list[tuple[str, datetime | None, bool]]](list)
    rows = caught_up(store)
    for name, debate, closed, held in rows.retained():
        term = days.get(name or "")
        groups[name].append((debate, None if term is None else _after(closed, term), held))
    return Retention(
        not_counted=rows.sums({"before": ""}).bad,
        classes=tuple(
            Class(
                retention=name,
                days=days.get(name or ""),
                debates=len(group),
                held=sum(held for _, _, held in group),
                due=tuple(debate for debate, at, held in group if at and at <= now and not held),
                next=min((_text(at) for _, at, _ in group if at and at > now), default=None),
            )
            for name, group in sorted(groups.items(), key=lambda row: (row[0] is None, row[0]))
        ),
    )


def _days(policy: Policy | None) -> dict[str, int]:
    """Return how many days each class is kept, by the longest that any scope says."""
    found: dict[str, int] = {}
    for line in policy.lines if policy else ():
        if line.term == "retention":
            name, _, days = line.value.partition(":")
            found[name] = max(found.get(name, 0), int(days))
    return found


def _after(closed: str, days: int) -> datetime:
    moment = datetime.fromisoformat(closed)
    try:
        return moment + timedelta(days=days)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def _text(moment: datetime) -> str:
    return moment.date().isoformat()
