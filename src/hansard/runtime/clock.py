"""The world's time and chance, in one place, so that a test can replace them."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4


class Clock:
    """Reads the machine's clocks and its random source."""

    def now(self) -> str:
        """Return the time as RFC 3339 UTC with microseconds."""
        return spelled(datetime.now(UTC))

    def timeline(self, after: str = "") -> Callable[[], str]:
        """Return what tells the times of a debate that this process opens or takes over now.

        The wall clock is read once; `monotonic` moves its time on. So a clock that is set
        back or forward meanwhile neither stalls nor stretches a debate. `after` is the time
        of the last entry, where there is one: the times begin there if the wall clock is
        behind it.
        """
        begun, anchor = self.monotonic(), _moment(self.now())
        anchor = max(anchor, _moment(after, anchor))
        left = datetime.max.replace(tzinfo=UTC) - anchor

        def now() -> str:
            return spelled(anchor + min(timedelta(seconds=self.monotonic() - begun), left))

        return now

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    def chance(self) -> float:
        """Return a random number in [0, 1)."""
        return random.random()  # noqa: S311 - it spreads retries, and guards nothing

    def salt(self) -> bytes:
        """Return 32 fresh random bytes."""
        return os.urandom(32)

    def debate_id(self) -> str:
        """Return a new debate's id, a random UUID."""
        return str(uuid4())


_FIRST = datetime.min.replace(tzinfo=UTC)
CLOCK = Clock()  # the machine's, for all debates of this process


def spelled(moment: datetime) -> str:
    """Return a time in UTC as entries have it."""
    # strftime would write the year 1 without its zeros.
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _moment(at: str, otherwise: datetime = _FIRST) -> datetime:
    """Return a time of a record; `otherwise` for a day that no month has, or no time at all."""
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return otherwise
