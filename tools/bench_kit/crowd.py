"""Figures 7 to 9: a phase in parallel, a thousand debates at once, and their CPU time."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench_kit.debates import CALLS_A_ROUND, Instant, run_debates, spec_of
from bench_kit.floor import Files
from bench_kit.measure import Figure, Pairs, Size
from hansard.rules.events import Event
from hansard.rules.formats import PanelSpec
from hansard.runtime import session
from hansard.runtime.models.base import Request
from hansard.runtime.pacing import VARIABLE
from hansard.store.application import Store

LATENCY = 0.05  # seconds
AT_ONCE = 100  # calls
ROUNDS = 2


class Slow(Instant):
    """A model that takes its time, and notes how long that was."""

    def __init__(self) -> None:
        super().__init__()
        self.took: list[float] = []

    async def __call__(self, request: Request) -> str:
        """Answer after the latency."""
        begin = time.perf_counter()
        await asyncio.sleep(LATENCY)
        self.took.append(time.perf_counter() - begin)
        return await super().__call__(request)


def figure_phase(size: Size, files: Files) -> Iterator[Figure]:
    """Figure 7: from the first call of a parallel phase to its last reply, stored."""
    spec = PanelSpec.model_validate(
        {
            "question": "Should the new matching engine be released this week?",
            "model": "python:slow",
            "debaters": [{"id": seat} for seat in ("planner", "skeptic", "auditor")],
            "rounds": 1,
            "convergence_check": False,
        }
    )
    phases, calls = [], []
    for _ in range(size.repeats):
        times: dict[str, list[float]] = {}

        def observe(event: Event, times: dict[str, list[float]] = times) -> None:
            times.setdefault(event["type"], []).append(time.perf_counter())

        model = Slow()
        with files.store() as store:
            running = session.run(spec, store, Path(), models={"slow": model}, observe=observe)
            asyncio.run(running)
        # Three drafts, then three revisions; a turn is recorded once its reply is stored.
        begins, ends = times["call.started"], times["turn.recorded"]
        phases += [ends[at + 2] - begins[at] for at in (0, 3)]
        calls += model.took
    ours, floor = 1e3 * median(phases), 1e3 * median(calls)
    text = "a phase of 3 calls in parallel, beside one call"
    yield Figure(7, text, "ms", ours, floor, ours / floor, at_most=1.15)


async def run_crowd(store: Store, debates: int, model: Instant) -> None:
    """Run debates at once."""
    spec, models = spec_of(ROUNDS), {"instant": model}
    await asyncio.gather(*(session.run(spec, store, Path(), models=models) for _ in range(debates)))


def figure_crowd(size: Size, files: Files) -> Iterator[Figure]:
    """Figures 8 and 9: a crowd's wall time with a slow model, its CPU time with an instant one."""
    calls = CALLS_A_ROUND * ROUNDS * size.crowd
    os.environ[VARIABLE] = str(AT_ONCE)
    with files.store() as store:
        begin = time.perf_counter()
        asyncio.run(run_crowd(store, size.crowd, Slow()))
        wall = time.perf_counter() - begin
    least = calls * LATENCY / AT_ONCE
    name = f"{size.crowd} debates of 3x{ROUNDS} at once"
    text = f"{name}, {AT_ONCE} calls at a time, beside what these take"
    yield Figure(8, text, "s", wall, least, wall / least, at_most=1.5)

    alone = max(1, size.crowd // 20)
    pairs = Pairs()
    for _ in range(min(3, size.repeats)):
        with files.store() as store:
            begin = time.process_time()
            asyncio.run(run_debates(store, spec_of(ROUNDS), alone, Instant()))
            single = time.process_time() - begin
        with files.store() as store:
            begin = time.process_time()
            asyncio.run(run_crowd(store, size.crowd, Instant()))
            crowd = time.process_time() - begin
        pairs.add(single / (CALLS_A_ROUND * ROUNDS * alone), crowd / calls)
    yield pairs.cost(9, f"{name}, beside one after the other", 0.9)
