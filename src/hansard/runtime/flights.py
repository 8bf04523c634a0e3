"""What is in flight: calls and tools that have not come back, each with its deadline.

Where the loop was held up beyond a deadline, what came in time is still to be read. So that
deadline is once put off by as long as that took.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hansard.runtime.clock import Clock
from hansard.runtime.models.base import Watch
from hansard.runtime.pacing import Release, nothing

_LATE = 0.1  # seconds after a deadline: a loop that looks then was held up
_LONGEST = 10.0  # seconds for which one is put off: a long reply is read in fewer
D = TypeVar("D")
R = TypeVar("R")


@dataclass(slots=True)
class Flight(Generic[D, R]):
    """One call or tool: `data` is what the record says of its start; times are the clock's."""

    data: D
    task: asyncio.Future[R]
    began: float
    deadline: float
    release: Release
    watch: Watch
    was_put_off: bool = False


class Flights(Generic[D, R]):
    """Calls, or tools, that are waited for together."""

    def __init__(self, clock: Clock, timeout_ms: int) -> None:
        self._clock, self._timeout = clock, timeout_ms / 1000
        self._flights: dict[asyncio.Future[R], Flight[D, R]] = {}

    def __bool__(self) -> bool:
        """Whether anything is in flight."""
        return bool(self._flights)

    def begin(
        self, data: D, work: Awaitable[R], release: Release = nothing, watch: Watch | None = None
    ) -> None:
        """Begin `work`; `release` is called as soon as it is over, `watch` looks on at its wire."""
        began, task = self._clock.monotonic(), asyncio.ensure_future(work)
        task.add_done_callback(lambda _: release())
        task.add_done_callback(_looked_at)
        self._flights[task] = Flight(
            data, task, began, began + self._timeout, release, watch or Watch()
        )

    @property
    def tasks(self) -> list[asyncio.Future[R]]:
        """What is waited for."""
        return list(self._flights)

    @property
    def data(self) -> list[D]:
        """What the record says of the start of each."""
        return [row.data for row in self._flights.values()]

    @property
    def deadlines(self) -> list[float]:
        """By when each must have come back."""
        return [row.deadline for row in self._flights.values()]

    def ended(self) -> Iterator[Flight[D, R]]:
        """Yield those that are over, each of which is then in flight no longer."""
        for task in self.tasks:
            if task.done():
                yield self._flights.pop(task)

    def timed_out(self, now: float) -> Iterator[Flight[D, R]]:
        """Yield those whose deadline has passed, each cancelled and in flight no longer."""
        for task, flight in [*self._flights.items()]:
            late = now - flight.deadline
            if late > _LATE and not flight.was_put_off:
                flight.deadline, flight.was_put_off = now + min(late, _LONGEST), True
            elif late >= 0:
                del self._flights[task]
                task.cancel()
                flight.release()
                yield flight

    def cancel(self) -> None:
        """Let go of everything."""
        for task in self._flights:
            task.cancel()


def _looked_at(task: asyncio.Future[Any]) -> None:
    """Look at what a call or tool raised, also one given up: asyncio would print its text."""
    if not task.cancelled():
        task.exception()
