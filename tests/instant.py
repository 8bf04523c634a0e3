"""Time in tests: no test waits for it, and none depends on how fast the machine is.

What a test waits for is an event; `GUARD` only ends a test that would hang.

A debate whose models are functions runs in no time:

    instant.run(session.run(spec, store, folder, models=models, clock=instant.Clock()))

While a coroutine is ready or a model works in a thread, the loop's clock stands
still. When everybody waits, the clock goes to the next timer. So a timeout of
0.1 seconds is met by a call that hangs and by no other, on any machine.

A debate over a real network waits for it, beside a clock that stands still until
a test moves it (`Held`).

A function that is to hang in its thread calls `hang`; an observer that is to
hold up the loop calls `spend`.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

from hansard.runtime import clock

GUARD = 300  # seconds, far more than anything in a test may take
START = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
WORKER = "hansard callable"  # the name of the threads in which functions are called
Result = TypeVar("Result")
_hanging: set[threading.Thread] = set()
_over = threading.Event()


class _Selector(selectors.DefaultSelector):
    """Waits for threads only; instead of waiting for a timer it moves the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        while timeout:
            working = any(
                thread.name == WORKER and thread not in _hanging for thread in threading.enumerate()
            )
            found = super().select(0.001 if working else 0)
            if found:
                return found
            if not working:
                self.now += timeout
                return []
        return super().select(timeout)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.timer = _Selector()
        super().__init__(self.timer)

    def time(self) -> float:
        return self.timer.now


class Clock(clock.Clock):
    """The clock of the loop that runs; retries wait the shortest time that they may."""

    def now(self) -> str:
        at = START + timedelta(seconds=self.monotonic())
        return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def chance(self) -> float:
        return 0.0


class Held(clock.Clock):
    """A clock that stands still until `seconds` is set; while it does, no call is late."""

    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end, as asyncio.run does, in no time."""
    _over.clear()
    try:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            return runner.run(main)
    finally:
        _over.set()


def spend(seconds: float) -> None:
    """Let time pass while the loop that runs is held up."""
    cast(_Loop, asyncio.get_running_loop()).timer.now += seconds


def hang() -> None:
    """Hold up the thread of a called function, while time passes, until the loop has ended."""
    thread = threading.current_thread()
    _hanging.add(thread)
    _over.wait()
    _hanging.discard(thread)
