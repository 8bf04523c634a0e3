"""Workers: processes that run the debates of a queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hansard.api.running import opened

if TYPE_CHECKING:
    from hansard.report.batched import BatchRow
    from hansard.runtime.seats import Models
    from hansard.runtime.tools import Tools
    from hansard.runtime.working import Told
    from hansard.store.application import Store


async def work(
    store: Store | str,
    *,
    jobs: int = 4,
    models: Models | None = None,
    tools: Tools | None = None,
    allow: Iterable[Path | str] = (),
    each: Callable[[BatchRow], object] | None = None,
    stay: bool = True,
    heartbeat: float = 10,
    dead: float = 30,
    wait: float = 30,
    grace: float = 30,
) -> None:
    """Run the debates that wait in the queue of a store in PostgreSQL, `jobs` of them at once.

    `run_batch(…, queue=PRIORITY)` puts them there. `models`, `tools` and `allow` are those of
    `resume`. A debate for which this worker lacks something stays in the queue; it is tried again
    after `wait` seconds. `each` is called with what became of every debate that was taken up, or
    why it waits. Without `stay` the worker ends once the queue has nothing for it, else at SIGTERM
    or Ctrl-C: what runs goes on for `grace` seconds, and is then put back. A worker that gave no
    sign of life, every `heartbeat` seconds, for `dead` seconds counts as dead, and others take its
    debates over.

    Raises UsageError `queue.store`, `queue.extra` or `queue.missing`; DataError
    `store.unreachable` once the server is gone, `store.failed` for what else it refuses, and
    `queue.dead` where others took this worker for dead. Its debates stay open.

    >>> import asyncio
    >>> from hansard import work
    >>> asyncio.run(work("sqlite:///:memory:"))
    Traceback (most recent call last):
    hansard.errors.UsageError: sqlite:///:memory: has no queue; workers need a store in PostgreSQL
    """
    with opened(store, create=False) as shelf:
        shelf.require_queue()
        from hansard.runtime import working

        def tell(told: Told) -> None:
            if each:
                each(_row(told))

        await working.work(
            shelf,
            jobs=jobs,
            models=models,
            tools=tools,
            allow=tuple(map(Path, allow)),
            tell=tell,
            stay=stay,
            times=working.Times(heartbeat, dead, wait, grace),
        )


def _row(told: Told) -> BatchRow:
    from hansard.api.batches import row_named
    from hansard.api.running import result_of
    from hansard.report.batched import BatchRow, row_of

    if told.ended is not None:
        found = result_of(told.ended)
        return row_of(row_named(found.labels), found)
    error = told.error
    said, code = getattr(error, "sentence", str(error)), error.code if error else None
    if told.waits:
        said = f"waits for another worker, or to be tried again: {said}"
    state: Literal["open", "unopened"] = "open" if told.debate else "unopened"
    return BatchRow(row=None, debate=told.debate, state=state, code=code, error=said)
