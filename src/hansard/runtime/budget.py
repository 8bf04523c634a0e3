"""One sum of money for many debates: a debate is opened only where the most it may cost fits."""

from __future__ import annotations

import asyncio
from decimal import Decimal, InvalidOperation

from hansard.errors import UsageError


class Budget:
    """Money in micro-US-dollars; `limit` None is no limit. `spent` was spent before.

    A debate that does not fit waits while others run, for what they leave over of what was
    reserved. It is refused once nothing runs that could leave anything.
    """

    def __init__(self, limit: int | None, spent: int) -> None:
        self._limit, self._taken, self._running = limit, spent, 0
        self._changed = asyncio.Condition()

    async def reserve(self, most: int, *, is_open: bool) -> bool:
        """Reserve the most that a debate may cost, and say whether it fits; an open one goes on."""
        async with self._changed:
            await self._changed.wait_for(lambda: is_open or self._fits(most) or not self._running)
            if not (is_open or self._fits(most)):
                return False
            self._taken += most
            self._running += 1
            return True

    async def settle(self, most: int, cost: int | None) -> None:
        """Put what a debate did cost in place of what was reserved; None: nobody knows."""
        async with self._changed:
            self._taken += 0 if cost is None else cost - most
            self._running -= 1
            self._changed.notify_all()

    @property
    def left(self) -> int:
        """What is neither spent nor reserved."""
        return max(0, (self._limit or 0) - self._taken)

    def _fits(self, most: int) -> bool:
        return self._limit is None or self._taken + most <= self._limit


def micro_of(dollars: str) -> int:
    """Return US dollars as whole micro-US-dollars; raises UsageError `batch.budget`."""
    try:
        found = Decimal(dollars)
        if found.is_finite() and 0 <= found <= 10**9:
            return int(found * 1_000_000)
    except InvalidOperation:
        pass
    raise UsageError("batch.budget", f"{dollars!r:.40} is not a sum of US dollars, such as 20.00")


def dollars_of(micro: int) -> str:
    """Return micro-US-dollars as US dollars, to the cent."""
    return f"{Decimal(micro) / 1_000_000:.2f}"
