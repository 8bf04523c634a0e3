"""How much memory SQLite may take in a process that is all ours."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hansard.record.bundle import MAX_EXPORT

# To store a text takes SQLite the memory of two, and the longest of a debate has 64,000,000 bytes.
# Beside what is read of a debate (`MOST_BYTES`) a process stays below 512 MiB.
HEAP = MAX_EXPORT + (48 << 20)


def bound() -> None:
    """Let SQLite have no more memory in this process than it takes to store the longest text.

    The bound is on every database, and cannot be raised again. What would need more is a
    MemoryError, which `guard` tells.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"PRAGMA hard_heap_limit = {HEAP:d}")
