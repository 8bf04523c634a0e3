"""A worker: takes debates out of the queue of its store and runs them to their end.

- The queue gives each debate to one worker. The store's own lock holds beside it: where both
  disagree, the debate waits.
- A worker that dies is noticed by its heartbeat. Another one puts its debates back and goes on
  with them: no recorded reply is asked for again.
- What a worker lacks for a debate (a key, a package, a function, a file) another may have: the
  debate waits, and the worker says why.
- Anybody who may add to the queue can add anything. A job is run only if it names a debate as
  the store does.
- A debate whose workers die is tried behind all others, and after `MOST_DEATHS` of them no more.
- Once an hour one of the workers looks at the store as a whole.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from procrastinate import App, BaseRetryStrategy, RetryDecision
from procrastinate.exceptions import ConnectorException, JobAborted
from procrastinate.job_context import AbortReason, JobContext
from procrastinate.jobs import Job, Status
from typing_extensions import override

from hansard.errors import DataError, HansardError, SeatError, UsageError
from hansard.runtime import session
from hansard.runtime.models.callables import in_turn
from hansard.runtime.recording import Observer, Recording
from hansard.runtime.seats import Models
from hansard.runtime.sharing import shared
from hansard.runtime.tools import Tools
from hansard.store.application import Store
from hansard.store.guard import id_or_none
from hansard.store.jobs import Jobs, is_refused
from hansard.store.queue import FAILED, LOCKED, LOOK, LOST, PRUNED, QUEUE, TASK, said_of

T = TypeVar("T")
MOST_DEATHS = 8  # of workers, until a debate waits for somebody who puts it into the queue again
_LAST = -(1 << 30)  # the priority of a debate whose worker died; one less for each further death
_HOURLY, _HOUR = "0 * * * *", 3600  # in UTC; in seconds
_MOST_DOUBLED = 10  # times that a wait is
_FIRST = 1 << 30  # the priority of a look, before that of any debate
_DEADLY = (
    f"{MOST_DEATHS} workers died while they ran it; find out why, and put it into the queue again"
)
_REFUSED = (
    "job {} of the queue is not one that Hansard put there as it stands, so it could not be put "
    "back and was taken out; put its debate into the queue again, if it names one"
)


@dataclass(frozen=True)
class Told:
    """What became of a debate that a worker took up: its record at its end, or why it is open.

    `debate` is None for a job that names none.
    """

    debate: str | None
    ended: Recording | None = None
    error: HansardError | None = None
    waits: bool = False


@dataclass(frozen=True)
class Times:
    """Of a worker, in seconds.

    `heartbeat` passes between two signs of life, and `dead` without one until a worker counts as
    dead; `wait` until a debate is tried again that could not be run; `grace` is given to what
    runs when the worker is asked to end.
    """

    heartbeat: float = 10
    dead: float = 30
    wait: float = 30
    grace: float = 30


class _Later(Exception):
    """The debate cannot be run here and now."""


class _Again(BaseRetryStrategy):
    """Puts back what could not be run, and what a worker that ends was running.

    What a worker that does not `stay` has put back before waits twice as long each time: of a
    long queue the first would else be due again before the last was tried, and it would never end.
    """

    def __init__(self, wait: float, *, stay: bool) -> None:
        self._wait, self._stay = wait, stay
        self._waited = Counter[str | None]()

    @override
    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if isinstance(exception, _Later):
            debate = _debate_of(job.task_kwargs)
            wait = self._wait * 2 ** min(self._waited[debate], _MOST_DOUBLED)
            if not self._stay:
                self._waited[debate] += 1
            return RetryDecision(retry_in={"milliseconds": int(wait * 1000)})
        return RetryDecision() if isinstance(exception, asyncio.CancelledError) else None


async def work(
    store: Store,
    *,
    jobs: int,
    models: Models | None,
    tools: Tools | None,
    allow: Sequence[Path],
    row: Callable[[Told], T],
    each: Callable[[T], object],
    look: Callable[[], Awaitable[None]],
    observe: Observer | None,
    stay: bool,
    times: Times,
) -> None:
    """Run debates of the queue, `jobs` at once, until SIGTERM or Ctrl-C.

    Unless it is to `stay`, the worker ends once none is left. `each` is called with the `row` of
    whatever was taken up; that of a debate that ended may take long, and is made in a thread. Each
    hour one of those that stay calls its `look`. A debate that runs when the worker is asked to end
    goes on for `times.grace`; after that it is put back.
    """
    tell = _telling(row, each)
    app = _app(store.dsn, look, tell, stay=stay)

    @app.task(name=TASK, queue=QUEUE, pass_context=True, retry=_Again(times.wait, stay=stay))
    async def run(context: JobContext, /, **given: Any) -> None:
        debate = _debate_of(given)
        if debate is None:
            said = f"job {context.job.id} of the queue names no debate; it was not run"
            tell(Told(None, error=UsageError("queue.job", said)))
            raise JobAborted
        try:
            found = await session.resume(
                debate, store, allow=allow, models=models, tools=tools, observe=observe
            )
            each(await in_turn(row, Told(debate, found)))
        except HansardError as error:
            if error.code == "debate.closed":  # whoever ran it died before it could say so
                return
            waits = _may_run_elsewhere(error)
            tell(Told(debate, error=error, waits=waits))
            raise (_Later if waits else JobAborted) from None
        except asyncio.CancelledError:
            if context.abort_reason() is AbortReason.USER_REQUEST:
                raise JobAborted from None
            raise

    def waits(said: str) -> None:
        tell(Told(None, error=UsageError("queue.places", said)))

    with _told(store):
        async with app.open_async(), shared(store.dsn, waits) as over:
            await _put_back(app, times, tell)
            rescuing = asyncio.create_task(_rescue(app, times, tell))
            working = asyncio.create_task(
                app.run_worker_async(
                    queues=[QUEUE],
                    concurrency=jobs,
                    wait=stay,
                    delete_jobs="successful",
                    shutdown_graceful_timeout=times.grace,
                    update_heartbeat_interval=times.heartbeat,
                    stalled_worker_timeout=times.dead,
                )
            )
            try:
                await asyncio.wait([rescuing, working, over], return_when=asyncio.FIRST_COMPLETED)
            finally:
                working.cancel()
                rescuing.cancel()
                await asyncio.wait([working, rescuing])
            for task in (working, rescuing, over):
                if task.done() and not task.cancelled() and (error := task.exception()):
                    raise error


def _telling(row: Callable[[Told], T], each: Callable[[T], object]) -> Callable[[Told], object]:
    return lambda told: each(row(told))


def _app(
    dsn: str, look: Callable[[], Awaitable[None]], tell: Callable[[Told], object], *, stay: bool
) -> App:
    """Return an app whose one task is a look, which workers that `stay` put into the queue.

    However many they are, it is put there once for each hour, by the first that is there then.
    """
    app = App(connector=Jobs(dsn), periodic_defaults={"max_delay": _HOUR})
    app.tasks.clear()  # it brings some that delete jobs

    @app.task(name=LOOK, queue=QUEUE, queueing_lock=LOOK, priority=_FIRST)
    async def run(**_: Any) -> None:
        try:
            await look()
        except HansardError as error:
            tell(Told(None, error=error))
            raise JobAborted from None

    if stay:
        periodic: Any = app.periodic(cron=_HOURLY)  # its type wants a timestamp to be used
        periodic(run)
    return app


@contextmanager
def _told(store: Store) -> Iterator[None]:
    """Raise DataError where the server is gone, or fails, or others took the worker for dead."""
    left = "and the worker ends; its debates stay open: start it again, and it goes on with them"
    try:
        yield
    except (ConnectorException, FAILED) as error:
        cause = said_of(error) if isinstance(error, ConnectorException) else error
        if isinstance(cause, PRUNED):
            code = "queue.dead"
            said = (
                f"this worker gave no sign of life for so long that others took it for dead, {left}"
            )
        elif isinstance(cause, LOCKED):
            code, said = "store.busy", f"others have kept {store.url} locked for too long, {left}"
        elif isinstance(cause, LOST):
            code, said = "store.unreachable", f"the connection to {store.url} was lost, {left}"
        else:
            first = str(cause).strip().partition("\n")[0]
            code, said = "store.failed", f"{store.url} cannot be read or written: {first}, {left}"
        raise DataError(code, said) from None


def _may_run_elsewhere(error: HansardError) -> bool:
    """Say whether a debate that failed here may run later, or at another worker."""
    if isinstance(error, SeatError):
        return False
    if isinstance(error, DataError):
        return error.code.startswith("store.")
    return isinstance(error, UsageError) and error.code != "store.unknown"


def _debate_of(given: object) -> str | None:
    """Return the debate that a job names, spelled as the store spells it; None for anything else.

    In other letters it would have another lock, and its entries another debate.
    """
    debate = given["debate"] if isinstance(given, dict) and given.keys() == {"debate"} else None
    return debate if debate is not None and id_or_none(debate) == debate else None


async def _rescue(app: App, times: Times, tell: Callable[[Told], object]) -> None:
    """Put back the debates of workers that die, until cancelled."""
    while True:
        await asyncio.sleep(times.heartbeat)
        await _put_back(app, times, tell)


async def _put_back(app: App, times: Times, tell: Callable[[Told], object]) -> None:
    """Put back the debates of workers that are dead, but for one that killed too many of them.

    Nothing else is put back: there is another look in an hour.
    """
    manager: Any = app.job_manager
    for job in await manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=times.dead):
        priority = min(job.priority, _LAST + 1) - 1
        again = job.task_name == TASK and _LAST - priority < MOST_DEATHS - 1
        code, said = "queue.deaths", _DEADLY
        try:
            if again:
                await manager.retry_job(job, priority=priority)
            else:
                await manager.finish_job(job, status=Status.ABORTED, delete_job=False)
        except ConnectorException as error:
            if not is_refused(error):  # another worker has just done so
                continue
            with suppress(ConnectorException):
                await manager.finish_job(job, status=Status.ABORTED, delete_job=True)
            again, code, said = False, "queue.job", _REFUSED.format(job.id)
        if job.task_name == TASK and not again:
            tell(Told(_debate_of(job.task_kwargs), error=UsageError(code, said)))
