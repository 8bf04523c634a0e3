"""Workers: processes that run the debates of a queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from hansard.api.running import opened
from hansard.api.specs import allowed_in
from hansard.errors import DataError

if TYPE_CHECKING:
    from hansard.record.keys import Trust
    from hansard.record.policy import Policy
    from hansard.report.batched import BatchRow
    from hansard.runtime.recording import Observer
    from hansard.runtime.seats import Models
    from hansard.runtime.tools import Tools
    from hansard.runtime.working import Told
    from hansard.store.application import Store


class Due(NamedTuple):
    """What somebody must look at in a store, in numbers.

    Metrics that alert, debates whose texts are due to go (None where no policy says so), and
    reviews that are overdue.
    """

    alerts: int
    texts: int | None
    reviews: int


async def work(
    store: Store | str,
    *,
    jobs: int = 4,
    models: Models | None = None,
    tools: Tools | None = None,
    allow: Iterable[Path | str] = (),
    each: Callable[[BatchRow], object] | None = None,
    policy: Policy | None = None,
    trust: Trust | None = None,
    hourly: Callable[[Due], object] | None = None,
    observe: Observer | None = None,
    stay: bool = True,
    heartbeat: float = 10,
    dead: float = 30,
    wait: float = 30,
    grace: float = 30,
) -> None:
    """Run the debates that wait in the queue of a store in PostgreSQL, `jobs` of them at once.

    `run_batch(…, queue=PRIORITY)` puts them there. `models`, `tools` and `allow` are those of
    `resume`. A debate for which this worker lacks something stays in the queue; it is tried again
    after `wait` seconds, and where the worker does not `stay` after twice as many each time. `each`
    is called with what became of every debate that was taken up, or why it waits. Without `stay`
    the worker ends once the queue has nothing for it, else at SIGTERM or Ctrl-C: what runs goes on
    for `grace` seconds, and is then put back. A worker that gave no sign of life, every `heartbeat`
    seconds, for `dead` seconds counts as dead, and others take its debates over.

    Once an hour one of the workers that stay brings up to date what finds the debates of the
    store, and `hourly` is called there with what is due: by the metrics and retention of
    `policy`, and by the reviews of keys in `trust`. Nothing is deleted or signed. `observe` is
    told of what is recorded here of all debates, as that of `resume` is.

    Raises UsageError `queue.store`, `queue.extra` or `queue.missing`; DataError
    `store.unreachable` once the server is gone, `store.busy` where others keep it locked for a
    minute, `store.failed` for what else it refuses, and `queue.dead` where others took this worker
    for dead. Its debates stay open.

    >>> import asyncio
    >>> from hansard import work
    >>> asyncio.run(work("sqlite:///:memory:"))
    Traceback (most recent call last):
    hansard.errors.UsageError: sqlite:///:memory: has no queue; workers need a store in PostgreSQL
    """
    with opened(store, create=False) as shelf:
        shelf.require_queue()
        import asyncio

        from hansard.runtime import working

        async def look() -> None:
            # In a thread: records that are read must not keep the worker from a sign of life.
            found = await asyncio.to_thread(_due, shelf.secret_url or "", policy, trust)
            if hourly:
                hourly(found)

        await working.work(
            shelf,
            jobs=jobs,
            models=models,
            tools=tools,
            allow=allowed_in(allow),
            row=_row,
            each=each or (lambda _: None),
            look=look,
            observe=observe,
            stay=stay,
            times=working.Times(heartbeat, dead, wait, grace),
        )


def _due(url: str, policy: Policy | None, trust: Trust | None) -> Due:
    """Return what is due in the store at a URL, once what finds its debates is up to date."""
    from hansard.api.listing import list_debates
    from hansard.api.measuring import metrics
    from hansard.api.retaining import retention
    from hansard.api.storing import open_store

    with open_store(url, create=False) as store:
        alerts = len(metrics(store, policy=policy).alerts)
        texts = sum(len(row.due) for row in retention(store, policy).classes)
        late = list_debates(store, trust, review="overdue", limit=0).totals
        return Due(alerts, texts if policy else None, late.debates - late.not_as_recorded)


def _row(told: Told) -> BatchRow:
    from hansard.api.batches import row_named, unreadable
    from hansard.api.running import result_of
    from hansard.report.batched import BatchRow, row_of

    if told.ended is not None:
        row = row_named(told.ended.state.spec["labels"])
        try:
            return row_of(row, result_of(told.ended))
        except DataError as refused:
            return unreadable(row, told.debate, refused)
    error = told.error
    said, code = getattr(error, "sentence", str(error)), error.code if error else None
    if told.waits:
        said = f"waits for another worker, or to be tried again: {said}"
    state: Literal["open", "unopened"] = "open" if told.debate else "unopened"
    return BatchRow(row=None, debate=told.debate, state=state, code=code, error=said)
