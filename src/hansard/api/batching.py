"""Many debates as one batch: checked together, run some at a time, found again by a label.

A batch that is run again opens only the rows that no debate of it names, and goes on with those
that are open.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hansard.api.batches import alone, debates_of, kept_row, known
from hansard.api.listing import caught_up
from hansard.api.rows import MOST_HELD, TOO_LONG, Mistakes, Planned, planned
from hansard.api.running import opened, play, require_approval, resume
from hansard.api.specs import BATCH, allowed_in, folder_in
from hansard.api.unchanged import planned_cost, require_asked
from hansard.errors import HansardError, SpecWarning, UsageError

if TYPE_CHECKING:
    from hansard.api.rows import Rows
    from hansard.api.specs import Spec
    from hansard.record.keys import Trust
    from hansard.record.policy import Policy
    from hansard.report.batched import Batch, BatchRow
    from hansard.report.formats import AnyResult
    from hansard.runtime.budget import Budget
    from hansard.runtime.holding import Shared
    from hansard.runtime.seats import Models
    from hansard.runtime.tools import Tools
    from hansard.store.application import Store

    Each = Callable[[BatchRow], object]

MOST_PRIORITY = 1_000_000  # of a debate in the queue, up or down
AT_ONCE = 4  # debates of a batch, where nobody says how many
_NAME = re.compile(r"(?!-)[A-Za-z0-9._/@+=-]{1,58}").fullmatch  # no option of a command
Told = Callable[[str], object]
Wanted = TypeVar("Wanted")
Done = TypeVar("Done")


async def run_batch(
    specs: Rows,
    *,
    name: str,
    store: Store | str,
    template: Spec | None = None,
    jobs: int = AT_ONCE,
    budget_usd: str | None = None,
    budget_over: str = "batch",
    queue: int | None = None,
    models: Models | None = None,
    tools: Tools | None = None,
    policy: Policy | None = None,
    trust: Callable[[], Trust] | None = None,
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
    each: Each | None = None,
    begun: Callable[[Sequence[str]], object] | None = None,
) -> Batch:
    """Run many debates, `jobs` of them at once, and return what became of each.

    `specs` are specs, as `run` takes them, in a list or by the names of their rows. With a
    `template`, itself a spec, they are by name the fields that stand in place of its own, or the
    path of a CSV file with a column for each such field. All of them are read and checked before
    any is opened. `name` is that of the batch: rows of which the store has a debate under it are
    not run again; one that is open is gone on with. `budget_usd`, a decimal such as "20.00", is
    what all debates of the batch may cost together, those of the month (`budget_over` "month") or
    those of a label ("label:NAME"): of each the upper end of its estimate is reserved, and its
    cost takes that place once it has ended. What does not fit is not opened. With `queue`, a
    priority, debates are opened for workers to run, the highest priority first; neither keys nor
    functions are needed here. `trust` gives the keys by which the approval of the `policy` must
    still count as each debate opens: it is asked anew, since a batch may run for days. `begun` is
    called with the names of the rows that are left to do, `each` with every row that is over. The
    other arguments are those of `run`, for all rows.

    A debate that fails stops no other one: its row says why. When cancelled, debates that are
    running stay open. Raises UsageError with every mistake in every row (`batch.*` or what `run`
    raises), `batch.changed` where a row was opened with another question, documents, rules or
    models, or is open with anything else than it now says, `batch.running` where another process
    runs this batch, `batch.budget_running` where one runs another under a budget of a month or a
    label, as this one has; `queue.*` where there is no queue.

    >>> import asyncio
    >>> from hansard import run_batch
    >>> panel = {"format": "panel", "question": "?", "agents": 2, "model": "python:ask"}
    >>> found = asyncio.run(run_batch(
    ...     {"north": {"question": "Do we ship north?"}, "south": {"question": "And south?"}},
    ...     template=panel,
    ...     name="shipping",
    ...     store="sqlite:///:memory:",
    ...     models={"ask": lambda request: "Yes."},
    ... ))
    >>> [(row.row, row.state) for row in found.rows]
    [('north', 'closed'), ('south', 'closed')]
    """
    from hansard.report.batched import Batch
    from hansard.runtime.budget import micro_of

    _check_call(name, jobs, queue or 0)
    mistakes, allowed = Mistakes(), allowed_in(allow)
    rows = planned(specs, template, folder_in(folder), name, mistakes)
    given: dict[str, Any] = {
        "allow": allowed, "models": models, "tools": tools, "policy": policy,
    }  # fmt: skip
    limit = None if budget_usd is None else micro_of(budget_usd)
    shared = limit is not None and budget_over != "batch"
    with (
        opened(store, create=True) as shelf,
        alone(shelf, "batch", name),
        alone(shelf, "budget") if shared else nullcontext(),
    ):
        if queue is not None:
            shelf.require_queue()
        before = dict(debates_of(shelf, name)) if shelf.debates() else {}
        work = await _checked(rows, shelf, before, given, limit, queue, mistakes, trust)
        budget = _budget(shelf, limit, budget_over, name, work)
        if begun:
            begun(_left(work))
        return Batch(name=name, rows=await _all(work, shelf, budget, jobs, each))


async def resume_batch(
    name: str,
    *,
    store: Store | str,
    jobs: int = AT_ONCE,
    models: Models | None = None,
    tools: Tools | None = None,
    allow: Iterable[Path | str] = (),
    each: Each | None = None,
    begun: Callable[[Sequence[str]], object] | None = None,
) -> Batch:
    """Go on with the open debates of a batch, and return what became of every one that it has.

    Rows that were not opened are in no store: `run_batch` opens them. The arguments are those of
    `run_batch`. Raises UsageError `batch.unknown` and `batch.running`.

    >>> import asyncio
    >>> from hansard import open_store, resume_batch, run_batch
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     broken, mended = {"ask": lambda request: 1 / 0}, {"ask": lambda request: "Because."}
    ...     first = asyncio.run(run_batch([spec], name="one", store=store, models=broken))
    ...     then = asyncio.run(resume_batch("one", store=store, models=mended))
    >>> [batch.rows[0].state for batch in (first, then)]
    ['open', 'closed']
    """
    from hansard.report.batched import Batch

    _check_call(name, jobs)
    given: dict[str, Any] = {"allow": allowed_in(allow), "models": models, "tools": tools}
    with opened(store, create=False) as shelf, alone(shelf, "batch", name):
        work = [_kept(shelf, row, debate, given) for row, debate in known(shelf, name)]
        if begun:
            begun(_left(work))
        budget = _budget(shelf, None, "batch", name, work)
        return Batch(name=name, rows=await _all(work, shelf, budget, jobs, each))


@dataclass(frozen=True)
class _Piece:
    """A row with something left to do: to run its debate, or to go on with the open one.

    `start` is given what is to be told of the debate's id, and gives the result, or None where a
    worker will run it. Of its cost, `most` is reserved, and `before` was spent.
    """

    row: str | None
    start: Callable[[Told], Awaitable[AnyResult | None]]
    most: int
    before: int = 0
    debate: str | None = None  # the open one that is gone on with
    warnings: tuple[tuple[str, str], ...] = ()


def _check_call(name: str, jobs: int, priority: int = 0) -> None:
    if not _NAME(name):
        raise UsageError(
            "batch.name",
            f"{name!r:.80} cannot name a batch; use up to 58 letters, digits and ._/@+=-, "
            "which may not begin with -",
        )
    if jobs < 1:
        raise UsageError("batch.jobs", f"`jobs` is {jobs}; run at least one debate at once")
    if abs(priority) > MOST_PRIORITY:
        raise UsageError(
            "queue.priority", f"a priority is at most {MOST_PRIORITY:,}, or minus that"
        )


def _left(work: Sequence[_Piece | BatchRow]) -> list[str]:
    """Return the rows that are left to do."""
    return [piece.row or "" for piece in work if isinstance(piece, _Piece)]


def _kept(
    store: Store,
    row: str | None,
    debate: str,
    given: Mapping[str, Any],
    queue: int | None = None,
) -> _Piece | BatchRow:
    """Return what is left to do of a debate that the store has."""
    found = kept_row(store, row, debate)
    if found.state != "open":
        return found
    opening: Any = store.opening(debate)["data"]
    most = _most(opening["estimate"], opening["limits"]["cost_micro_usd"]) or 0
    before = found.charged_micro_usd or 0

    def go_on(told: Told) -> Awaitable[AnyResult]:
        told(debate)
        return resume(debate, store=store, **given)

    async def enqueue(told: Told) -> None:
        store.enqueue(debate, queue or 0)
        told(debate)

    start = go_on if queue is None else enqueue
    return _Piece(row, start, max(0, most - before), before, debate)


async def _checked(
    rows: Sequence[Planned],
    store: Store,
    before: Mapping[str | None, str],
    given: dict[str, Any],
    limit: int | None,
    queue: int | None,
    mistakes: Mistakes,
    trust: Callable[[], Trust] | None,
) -> list[_Piece | BatchRow]:
    """Return what is left to do of each row; raises UsageError with what is wrong with any.

    What is to be known of several rows is warned of once.
    """
    from hansard.runtime.holding import Shared
    from hansard.store.rows import BAD

    work: list[_Piece | BatchRow] = []
    shared = Shared()
    more = {name: value for name, value in given.items() if name != "policy"}
    for row in rows:
        try:
            debate = before.get(row.row)
            if debate is None:
                work.append(await _piece(row, store, given, limit, queue, shared, trust))
                if shared.size > MOST_HELD:
                    mistakes.add(row.row, UsageError("batch.size", TOO_LONG))
                    break
            else:
                left = _kept(store, row.row, debate, more, queue)
                if isinstance(left, _Piece):
                    most = _most(*await planned_cost(store, debate, row, given)) or 0
                    left = replace(left, most=max(0, most - left.before))
                elif left.state not in BAD:
                    await require_asked(store, debate, row, given)
                work.append(left)
        except HansardError as error:
            mistakes.add(row.row, error)
    mistakes.require_none()
    pieces = [piece for piece in work if isinstance(piece, _Piece)]
    for said in dict.fromkeys(said for piece in pieces for said in piece.warnings):
        warnings.warn(SpecWarning(*said), stacklevel=3)
    return work


async def _piece(
    wanted: Planned,
    store: Store,
    given: Mapping[str, Any],
    limit: int | None,
    queue: int | None,
    shared: Shared,
    trust: Callable[[], Trust] | None,
) -> _Piece:
    """Return a debate that can be opened; raises what `run` would, and `batch.unpriced`."""
    from hansard.runtime import session

    checked = await session.check(
        wanted.spec, store, wanted.folder, **given, elsewhere=queue is not None
    )
    spec = shared.among(checked.spec)
    most = _most(checked.expected, checked.ceiling)
    if most is None and limit is not None:
        said = (
            "its cost cannot be estimated; state the prices of its models in `prices`, or a "
            "ceiling `cost_usd` under `limits`"
        )
        raise UsageError("batch.unpriced", said)

    def run(told: Told) -> Awaitable[AnyResult]:
        return play(
            spec, wanted.folder, store=store, follow_up=None, remand=None, trust=trust and trust(),
            observe=lambda event: told(event["debate"]), told=True, **given,
        )  # fmt: skip

    async def enqueue(told: Told) -> None:
        require_approval(given["policy"], trust and trust())
        told(await session.enqueue(spec, store, wanted.folder, queue or 0, **given))

    said_of_it = tuple((found.code, found.message) for found in checked.warnings)
    start = run if queue is None else enqueue
    return _Piece(wanted.row, start, most or 0, warnings=said_of_it)


# Running them


async def _all(
    work: Sequence[_Piece | BatchRow], store: Store, budget: Budget, jobs: int, each: Each | None
) -> tuple[BatchRow, ...]:
    """Do what is left to do, some at once, and return all rows in their order."""

    async def end(piece: _Piece) -> BatchRow:
        row = await _end(piece, store, budget)
        if each:
            each(row)
        return row

    # What is open goes on whatever it costs, so it has its money before anything else is opened.
    left = sorted(
        (row for row in work if isinstance(row, _Piece)), key=lambda piece: piece.debate is None
    )
    done = {id(piece): row for piece, row in zip(left, await at_once(jobs, end, left), strict=True)}
    return tuple(done[id(row)] if isinstance(row, _Piece) else row for row in work)


async def at_once(
    jobs: int, do: Callable[[Wanted], Awaitable[Done]], wanted: Sequence[Wanted]
) -> list[Done]:
    """Do so many at a time, and return what came of each, in order.

    Where one raises, or all are cancelled, none goes on.
    """
    import asyncio

    done: dict[int, Done] = {}
    left = iter(enumerate(wanted))

    async def take() -> None:
        for place, each in left:
            done[place] = await do(each)

    tasks = [asyncio.create_task(take()) for _ in range(min(jobs, len(wanted)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [done[place] for place in range(len(wanted))]


async def _end(piece: _Piece, store: Store, budget: Budget) -> BatchRow:
    """Run a debate to its end, unless the budget forbids it, and return its row."""
    from hansard.report.batched import BatchRow
    from hansard.runtime.budget import dollars_of

    if not await budget.reserve(piece.most, is_open=piece.debate is not None):
        said = (
            f"it may cost {dollars_of(piece.most)} US dollars, and the budget has "
            f"{dollars_of(budget.left)} left"
        )
        return BatchRow(row=piece.row, state="unopened", code="batch.budget", error=said)
    row = await _played(piece, store)
    cost = piece.before if row.state == "unopened" else row.charged_micro_usd
    if row.state == "open" and row.error is None:  # a worker will run it
        cost = None
    await budget.settle(piece.most, None if cost is None else cost - piece.before)
    return row


async def _played(piece: _Piece, store: Store) -> BatchRow:
    """Run a debate and return its row, which says why, if it did not reach its end."""
    from hansard.report.batched import BatchRow, row_of

    debates = list[str]()
    try:
        result = await piece.start(debates.append)
        return row_of(piece.row, result) if result else kept_row(store, piece.row, debates[0])
    except HansardError as error:
        why = {"code": error.code, "error": getattr(error, "sentence", str(error))}
        if not debates:
            return BatchRow(row=piece.row, state="unopened", **why)
        return kept_row(store, piece.row, debates[0]).model_copy(update=why)


# Money, in micro-US-dollars


def _budget(
    store: Store, limit: int | None, over: str, name: str, work: Sequence[_Piece | BatchRow]
) -> Budget:
    """Return the budget with what was spent of it; raises UsageError `batch.budget_over`.

    What is open elsewhere, such as in the queue of another batch, may still cost its most.
    """
    from hansard.runtime.budget import Budget
    from hansard.runtime.clock import Clock

    if limit is None:
        return Budget(None, 0)
    wanted = {
        "batch": {"label": BATCH + name},
        "month": {"since": Clock().now()[: len("2026-11")]},
    }.get(over) or {"label": over.removeprefix("label:")}
    if over not in ("batch", "month") and not over.startswith("label:"):
        said = f"a budget cannot cover {over!r:.80}; write batch, month or label:NAME"
        raise UsageError("batch.budget_over", said)
    rows = caught_up(store)
    ours = {piece.debate for piece in work if isinstance(piece, _Piece)}
    is_open = [debate for debate, state in rows.find(wanted).items() if state == "open"]
    theirs = [_kept(store, None, debate, {}) for debate in is_open if debate not in ours]
    due = sum(piece.most for piece in theirs if isinstance(piece, _Piece))
    return Budget(limit, rows.charged(wanted) + due)


def _most(expected: Any, ceiling: int | None) -> int | None:
    """Return the upper end of what a debate may cost, which is no higher than its ceiling."""
    most = expected and expected["cost_most_micro_usd"]
    return min((cost for cost in (most, ceiling) if cost is not None), default=None)
