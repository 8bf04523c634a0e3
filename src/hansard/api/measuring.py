"""Metrics over the debates of a store."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hansard.api.listing import caught_up, require_text, time_of
from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.record.policy import Policy
    from hansard.report.metrics import Metrics, Sum
    from hansard.store.application import Store
    from hansard.store.projection import Projection

DAYS = 90  # that a time has where only its end is given
_FIRST = datetime.min.replace(tzinfo=UTC)


def metrics(
    store: Store,
    *,
    since: str | None = None,
    until: str | None = None,
    task_type: str | None = None,
    policy: Policy | None = None,
) -> Metrics:
    """Return what the closed debates say together that were opened in a time, and its alerts.

    The time ends before `until`, by default now, and begins with `since`, by default 90 days
    earlier; both are UTC, as in `2026-11-24` or `2026-11-24T09:30`. What has no threshold is
    compared with the same number of days before, unless the `metric` terms of `policy` name a
    baseline. Debates whose replies came from a script, or that evaluate, do not count, nor
    does a record that does not hold. Money is compared, never summed.

    Raises UsageError `list.time` or `list.text`, and DataError where the store cannot be read.

    >>> from hansard import debate, open_store
    >>> with open_store("sqlite:///:memory:") as store:
    ...     for _ in range(3):
    ...         _ = debate("Why?", format="panel", agents=lambda _: "Because.", store=store)
    ...     found = metrics(store)
    >>> found.debates, [(row.name, row.value, row.n) for row in found.rows if row.name == "failed"]
    (3, [('failed', 0.0, 3)])
    """
    from hansard.runtime.clock import Clock

    end = _moment(time_of("until", until)) if until else datetime.fromisoformat(Clock().now())
    begin = _moment(time_of("since", since)) if since else _back(end, timedelta(days=DAYS))
    if begin >= end:
        raise UsageError(
            "list.time", f"the time from {since} to {until or 'now'} ends before it begins"
        )
    if task_type is not None:
        require_text("task_type", task_type)
    return measured(caught_up(store), begin, end, task_type, policy)


def measured(
    rows: Projection,
    begin: datetime,
    end: datetime,
    task_type: str | None = None,
    policy: Policy | None = None,
) -> Metrics:
    """Return what the debates of a projection say together that were opened in a time."""
    from hansard.report.metrics import METRICS, Metrics, Sum, by_task, metric
    from hansard.runtime.clock import spelled

    now = _sums(rows, begin, end, task_type)
    before = _sums(rows, _back(begin, end - begin), begin, task_type)
    baselines = _baselines(policy)
    asked = {(name, None) for name in METRICS} | {
        key for key in now if key[0] in METRICS and key[1]
    }
    counted = _wanted(begin, end, task_type)
    scripted = rows.sums({**counted, "scripted": True})
    return Metrics(
        since=spelled(begin),
        until=spelled(end),
        task_type=task_type,
        debates=now["failed", None].n,
        scripted=scripted.debates - scripted.bad,
        not_counted=scripted.bad,
        rows=tuple(
            metric(
                name,
                now.get((name, task), Sum()),
                before.get((name, task), Sum()),
                baselines.get(name),
                task,
            )
            for name, task in by_task(asked)
        ),
    )


def _sums(
    rows: Projection, begin: datetime, end: datetime, task_type: str | None
) -> dict[tuple[str, str | None], Sum]:
    """Return the sums of each metric: over all debates, and by type of task."""
    from hansard.report.metrics import METRICS, Sum

    found: dict[tuple[str, str | None], Sum] = defaultdict(Sum)
    wanted = {**_wanted(begin, end, task_type), "scripted": False}
    for name, task, n, total, squares in rows.figures(METRICS, wanted):
        for key in {(name, None), (name, task)}:
            found[key] = found[key].plus(n, total, squares)
    return found


def _wanted(begin: datetime, end: datetime, task_type: str | None) -> dict[str, str]:
    from hansard.runtime.clock import spelled

    wanted = {"since": spelled(begin), "before": spelled(end)}
    return wanted if task_type is None else {**wanted, "task_type": task_type}


def _baselines(policy: Policy | None) -> dict[str, float]:
    terms = policy.values("metric", "*") if policy else None
    return {name: float(value) for name, _, value in (row.partition(":") for row in terms or ())}


def _moment(at: str) -> datetime:
    """Return the first moment of a time, as exact as it is given."""
    try:
        moment = datetime.fromisoformat(at + "0001-01-01T00:00"[len(at) : 16])
    except ValueError:
        raise UsageError("list.time", f"there is no time {at!r}") from None
    return moment.replace(tzinfo=UTC)


def _back(moment: datetime, time: timedelta) -> datetime:
    return moment - time if moment - _FIRST >= time else _FIRST
