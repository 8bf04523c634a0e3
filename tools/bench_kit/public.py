"""Figures 11 and 12: what the public API adds to the engine, and stored debates to both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import hansard
from bench_kit.debates import CALLS_A_ROUND, Instant, records_of, spec_of
from bench_kit.floor import Files
from bench_kit.measure import Figure, Pairs, Size, expect
from hansard.record.bundle import Bundle
from hansard.runtime import session
from hansard.store.application import Batch, Store
from hansard.store.database import Extras

ROUNDS = 2
TOGETHER = 100  # debates stored in one transaction before anything is measured

Run = Callable[[Store], Awaitable[object]]


async def by_api(store: Store) -> None:
    """Run a debate through `hansard.run`, and take its result."""
    found = await hansard.run(spec_of(ROUNDS), store=store, models={"instant": Instant()})
    expect(found.status == "complete", "a debate ends")


async def by_engine(store: Store) -> None:
    """Run a debate through the engine's own session, which makes no result of it."""
    await session.run(spec_of(ROUNDS), store, Path(), models={"instant": Instant()})


def filled(files: Files, debates: int, record: Bundle) -> Store:
    """Return a store that already holds so many debates: the lines and texts of one, under ids."""
    store = files.store()
    blobs, templates = list(record.blobs.items()), list(record.templates.items())
    head = record.head
    expect(head is not None, "a record from a store has its head")
    extras = Extras(head, blobs, templates, "/")  # type: ignore[arg-type]
    lines = [("stored", line) for line in record.lines]
    for begin in range(0, debates, TOGETHER):
        count = min(TOGETHER, debates - begin)
        store.append(*(Batch(str(uuid4()), 1, lines, extras) for _ in range(count)))
    return store


def cpu_of(run: Run, store: Store, times: int) -> float:
    """Return the CPU seconds of one debate, run `times` times one after the other."""

    async def measured() -> float:
        begin = time.process_time()
        for _ in range(times):
            await run(store)
        return time.process_time() - begin

    return asyncio.run(measured()) / times


def figure_public(size: Size, files: Files) -> Iterator[Figure]:
    """Figure 11: the API beside the engine, and each beside itself on an empty store."""
    (record,) = records_of(ROUNDS)
    stores = {debates: filled(files, debates, record) for debates in (0, *size.stored)}
    added = {debates: Pairs() for debates in stores}
    grown = {(run, debates): Pairs() for run in (by_api, by_engine) for debates in size.stored}
    for run in (by_api, by_engine):
        cpu_of(run, stores[0], 1)  # whatever is imported or compiled once
    for _ in range(size.repeats):
        for debates, store in stores.items():
            engine = cpu_of(by_engine, store, size.public)
            added[debates].add(engine, cpu_of(by_api, store, size.public))
        for (run, debates), pairs in grown.items():
            alone = cpu_of(run, stores[0], size.public)
            pairs.add(alone, cpu_of(run, stores[debates], size.public))
    for store in stores.values():
        store.close()
    unit = "us/debate"
    for debates, pairs in added.items():
        text = f"hansard.run of 3x{ROUNDS} beside the engine alone, {debates:,} debates stored"
        yield pairs.cost(11, text, 1.25, unit)
    for (run, debates), pairs in grown.items():
        name = "hansard.run" if run is by_api else "the engine"
        yield pairs.cost(11, f"{name}, {debates:,} debates stored, beside none", 1.1, unit)


def figure_public_crowd(size: Size, files: Files) -> Iterator[Figure]:
    """Figure 12: debates at once through the API beside the same through the engine."""

    async def crowd(run: Run, store: Store) -> None:
        await asyncio.gather(*(run(store) for _ in range(size.crowd)))

    pairs = Pairs()
    calls = CALLS_A_ROUND * ROUNDS * size.crowd
    for _ in range(min(3, size.repeats)):
        times = []
        for run in (by_engine, by_api):
            with files.store() as store:
                begin = time.process_time()
                asyncio.run(crowd(run, store))
                times.append((time.process_time() - begin) / calls)
        pairs.add(*times)
    yield pairs.cost(12, f"{size.crowd} debates of 3x{ROUNDS} at once: API beside engine", 1.25)
