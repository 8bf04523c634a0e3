"""What a copy of a store knows of itself: whose it is, and up to where it stands.

One row, written with every step of the copy. A store whose copy is not finished is for nobody
else: a later entry, such as the review that rejects a decision, may still be missing.
"""

from __future__ import annotations

from typing import NamedTuple

from hansard.errors import UsageError
from hansard.store.database import Select


class Copied(NamedTuple):
    """Up to where a copy stands.

    `id` is that of the register; `position` the place of the last entry that was copied where it
    came from, `place` the one that it has here. `erased` is 1 where texts that it had went again,
    until no file has a trace of them; `finished` once the copy was compared with its source.
    """

    id: str
    position: int
    place: int
    erased: int = 0
    finished: int = 0


def read(select: Select) -> Copied | None:
    """Return up to where a store is a copy; None where it is none."""
    rows = select("SELECT id, position, place, erased, finished FROM copied")
    return Copied(*rows[0]) if rows else None


def require_finished(select: Select, name: str) -> None:
    """Refuse a store whose copy is not finished; raises UsageError `store.copying`."""
    found = read(select)
    if found and not found.finished:
        raise UsageError(
            "store.copying",
            f"{name} is a copy that is not finished; run the same `hansard copy` again, which "
            "goes on where it stopped",
        )
