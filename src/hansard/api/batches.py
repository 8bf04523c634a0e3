"""The batches of a store: which debates each has, and what became of them.

A batch is nothing but labels: each of its debates records `batch:NAME` and `row:ROW`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Literal
from uuid import NAMESPACE_URL, uuid5

from hansard.api.listing import caught_up, require_text
from hansard.api.records import of_store
from hansard.api.specs import BATCH
from hansard.errors import DataError, UsageError, is_of_all

if TYPE_CHECKING:
    from hansard.record.keys import Trust
    from hansard.report.batched import Batch, BatchCounts, BatchRow
    from hansard.store.application import Store

ROW = "row:"  # how the label begins that names a row
_NAMED = 5  # of the batches that there are, where another one was asked for


def batch_report(store: Store, name: str, trust: Trust | None = None) -> Batch:
    """Return what became of each debate of a batch, every record being verified.

    `trust` says whose reviews count. Rows that were not opened are not in it: the store does not
    know them. Raises UsageError `batch.unknown`, or `list.text` for a name that no batch can have.

    >>> import asyncio
    >>> from hansard import batch_report, open_store, run_batch
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     ask = {"ask": lambda request: "Because."}
    ...     _ = asyncio.run(run_batch([spec], name="one", store=store, models=ask))
    ...     report = batch_report(store, "one")
    >>> report.counts["closed"], report.rows[0].decision
    (1, 'agent_1')
    """
    from hansard.report.batched import Batch

    rows = [kept_row(store, row, debate, trust) for row, debate in known(store, name)]
    return Batch(name=name, rows=tuple(rows))


def list_batches(store: Store) -> list[BatchCounts]:
    """Return every batch of a store by its name, with how many debates are in which state.

    They are counted in the rows by which debates are found; `batch_report` verifies each record.
    Raises DataError where the store cannot be read.

    >>> import asyncio
    >>> from hansard import list_batches, open_store, run_batch
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     ask = {"ask": lambda request: "Because."}
    ...     _ = asyncio.run(run_batch([spec, spec], name="two", store=store, models=ask))
    ...     [(found.name, found.counts) for found in list_batches(store)]
    [('two', {'closed': 2})]
    """
    from hansard.report.batched import BatchCounts

    rows = caught_up(store)
    counts, costs = defaultdict[str, Counter[str]](Counter), dict[str, int | None]()
    for label, state, n, cost in rows.labelled(BATCH):
        counts[label] += Counter({state: n})  # of no debate, no state
        known = [each for each in (costs.get(label), cost) if each is not None]
        costs[label] = sum(known) if known else None
    # What does not hold has no row that says its labels, and is found whatever is looked for.
    for debate, state in rows.find({"label": ""}).items():
        for label in {*_labels(store, debate)}:
            if label.startswith(BATCH):
                counts[label][state] += 1
    return [
        BatchCounts(name=label.removeprefix(BATCH), counts=n, cost_micro_usd=costs.get(label))
        for label, n in sorted(counts.items())
    ]


def debates_of(store: Store, name: str) -> Iterator[tuple[str | None, str]]:
    """Yield row and id of each debate of a batch, in the order they were opened.

    At the end come those that only their openings name: somebody changed their rows.
    """
    from hansard.record.canonical import dump
    from hansard.store.rows import BAD

    rows, label = caught_up(store), BATCH + name
    # One that is not found would be asked anew, and paid for.
    found = [*rows.find({"label": label}), *store.naming(dump(label).decode())]
    for debate in dict.fromkeys(found):
        labels, kept = _labels(store, debate), rows.labels_of(debate)
        # Altered since its row was made, it would be left out, and its row asked anew, in silence.
        if kept and {*kept} != {*labels} and kept_row(store, None, debate).state in BAD:
            labels = kept
        if label in labels:  # what does not hold is in every list
            yield row_named(labels), debate


def row_named(labels: Iterable[str]) -> str | None:
    """Return the row that labels name."""
    return next((label.removeprefix(ROW) for label in labels if label.startswith(ROW)), None)


def known(store: Store, name: str) -> list[tuple[str | None, str]]:
    """Return what `debates_of` yields; raises UsageError `batch.unknown` where that is nothing."""
    require_text("name", name)
    found = list(debates_of(store, name))
    if not found:
        raise unknown(store, name)
    return found


def unknown(store: Store, name: str | None) -> UsageError:
    """Return the error that a batch, or any, is not in a store, which names a few that are."""
    said = f"{store.url} has no batch {name!r:.80}" if name else f"{store.url} has no batch"
    there = [f"{row.name!r:.80}" for row in list_batches(store)[:_NAMED]]
    more = f"it has {', '.join(there)}" if there else "`hansard batch` runs one"
    return UsageError("batch.unknown", f"{said}; {more}")


def _labels(store: Store, debate: str) -> Sequence[str]:
    """Return the labels that the opening of a debate has; none where it cannot be read."""
    try:
        event = store.opening(debate)
    except DataError as error:
        if is_of_all(error):  # else its row would be opened once more
            raise
        return ()
    return event["data"]["labels"] if event["type"] == "debate.opened" else ()


def kept_row(store: Store, row: str | None, debate: str, trust: Trust | None = None) -> BatchRow:
    """Return the row of a debate as it stands, its record being verified."""
    from hansard.report.batched import BatchRow, row_of

    try:
        record = of_store(store, debate, trust)
        if record.verification.ok:
            return row_of(row, record.result())
    except DataError as error:
        if is_of_all(error):
            raise
        return unreadable(row, debate, error)
    said = f"its record does not hold; `hansard verify {debate[:8]}` says why"
    return BatchRow(row=row, debate=debate, state="altered", code="record.altered", error=said)


def unreadable(row: str | None, debate: str | None, error: DataError) -> BatchRow:
    """Return the row of a debate whose record cannot be read, or shown."""
    from hansard.report.batched import BatchRow

    return BatchRow(row=row, debate=debate, state="unreadable", code=error.code, error=str(error))


@contextmanager
def alone(store: Store, kind: Literal["batch", "eval", "budget"], name: str = "") -> Iterator[None]:
    """Hold a batch or an evaluation while the block runs: two processes would pay for it twice.

    Or the `budget` that several batches have: each would spend what is left of it. Raises
    UsageError `batch.running`, `eval.running` or `batch.budget_running`.
    """
    with ExitStack() as held:
        try:
            held.enter_context(store.runner(str(uuid5(NAMESPACE_URL, f"{kind}:{name}"))))
        except UsageError as error:
            if error.code != "store.running":
                raise
            code, what = {
                "batch": ("batch.running", f"batch {name}"),
                "eval": ("eval.running", f"evaluation {name}"),
                "budget": ("batch.budget_running", "a batch under a budget of several batches"),
            }[kind]
            said = f"another process runs {what}; wait until it ends, or interrupt it first"
            raise UsageError(code, said) from None
        yield
