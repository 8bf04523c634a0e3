"""The debates that are measured: of three, with models that answer at once."""

from __future__ import annotations

import asyncio
import time
from itertools import count
from pathlib import Path

from bench_kit.measure import expect
from hansard.record.bundle import Bundle
from hansard.rules.fields import Layout
from hansard.rules.formats import ConsensusSpec
from hansard.runtime import session
from hansard.runtime.models.base import Request
from hansard.store.application import Store

MEMORY = "sqlite:///:memory:"
SEATS = {"planner": "release", "skeptic": "hold", "auditor": "redesign"}  # each votes for its own
CALLS_A_ROUND = 4 * len(SEATS)


def spec_of(rounds: int) -> ConsensusSpec:
    """Return a debate of three whose votes stay split, so that it runs to its cap."""
    return ConsensusSpec.model_validate(
        {
            "question": "Should the new matching engine be released to all customers this week?",
            "debaters": [
                {"id": seat, "model": "python:instant", "persona": f"You answer as the {seat}."}
                for seat in SEATS
            ],
            "options": list(SEATS.values()),
            "threshold": 2,
            "max_rounds": rounds,
        }
    )


class Instant:
    """An async callable that answers at once, each time with another 400 characters."""

    def __init__(self) -> None:
        self._numbers = count(10**9)

    async def __call__(self, request: Request) -> str:
        """Answer without a look at the prompt."""
        number = next(self._numbers)
        reason = f"Reason {number}: the load test of build {number} left this question open. "
        return (
            f'{{"stance": "Position {number}: what was measured decides, not what was hoped.", '
            f'"rationale": "{reason * 3}The rest is settled.", "vote": "{SEATS[request.speaker]}"}}'
        )


class Reader(Instant):
    """The same, but it reads its prompt and notes the CPU time which that takes."""

    def __init__(self) -> None:
        super().__init__()
        self.listing = self.joining = 0.0

    async def __call__(self, request: Request) -> str:
        """List the messages, join their texts, answer."""
        begin = time.process_time()
        messages = request.messages
        listed = time.process_time()
        for message in messages:
            len(message.text)
        self.listing += listed - begin
        self.joining += time.process_time() - listed
        return await super().__call__(request)


async def run_debates(store: Store, spec: ConsensusSpec, times: int, model: Instant) -> None:
    """Run the debate `times` times, one after the other."""
    for _ in range(times):
        found = await session.run(spec, store, Path(), models={"instant": model})
        expect(found.state.rounds_run == spec.max_rounds, "a debate runs to its cap")


def records_of(rounds: int, times: int = 1, layout: Layout = "shared-prefix") -> list[Bundle]:
    """Run distinct debates in memory and return their records."""
    with Store.open(MEMORY) as store:
        spec = spec_of(rounds).model_copy(update={"layout": layout})
        asyncio.run(run_debates(store, spec, times, Instant()))
        return [store.bundle(debate) for debate in store.debates()]
