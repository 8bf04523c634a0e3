"""The world's time and chance, in one place, so that a test can replace them."""

from __future__ import annotations

import os
import random
import time
from datetime import UTC, datetime
from uuid import uuid4


class Clock:
    """Reads the machine's clocks and its random source."""

    def now(self) -> str:
        """Return the time as RFC 3339 UTC with microseconds."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

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
