"""How much work one transaction may be for SQLite: as much as a file of its size can ask for.

The pages of a file may lead back to one another, and SQLite does not see it. So a small file from
a stranger may have rows without end, and SQLite may pass over all of them in search of one. Rows
that it gives out are bounded elsewhere (`database.bounded`); here the search itself is: all of a
transaction in steps of SQLite's machine, and each statement in time, since one step may read a
value of any size.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import get_ident
from time import thread_time

STEPS = 10_000  # of SQLite's machine, after which it is looked how many there were
_ALWAYS = 10_000  # looks that any store has: a few seconds
_EACH = 16  # steps for each byte: to find, count and sum rows takes fewer than one
_SECONDS = 30  # of a thread, which any statement has
_SPEED = 1_000_000  # bytes for which it has another: to read them takes a fiftieth


class Work:
    """The looks of one connection: SQLite calls it, and stops where it says so."""

    def __init__(self, store: Path) -> None:
        self._files = [Path(f"{store}{end}") for end in ("", "-wal")]
        self._looks = 0
        self._begun = (get_ident(), thread_time())
        self.exceeded = False  # else it was Ctrl-C that SQLite was stopped by

    def begin(self) -> None:
        """Count the steps anew: a transaction begins."""
        self._looks = 0

    def time(self) -> None:
        """Take the time anew: a statement begins."""
        self._begun = (get_ident(), thread_time())

    def __call__(self) -> bool:
        """Say whether there were more steps, or more time, than the store can ask for."""
        self._looks += 1
        beyond = (self._looks - _ALWAYS) * STEPS
        thread, begun = self._begun
        late = thread_time() - begun - _SECONDS if thread == get_ident() else 0
        self.exceeded = (beyond > 0 and beyond > _EACH * self._size) or (
            late > 0 and late > self._size / _SPEED
        )
        return self.exceeded

    @property
    def _size(self) -> int:
        """Its bytes on the disk, of which a hole is none; in its files where nobody says that."""
        size = 0
        for path in self._files:
            with suppress(OSError):
                found = path.stat()
                size += min(found.st_size, 512 * getattr(found, "st_blocks", 0) or found.st_size)
        return size
