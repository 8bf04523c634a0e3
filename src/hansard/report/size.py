"""How much a report says: a record may name one long text as often as it likes."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from hansard.errors import DataError

MOST = 1 << 28  # characters: twice what an export has at most


class Room:
    """What is left of the room for `what` would be printed."""

    def __init__(self, what: str) -> None:
        self._what, self._left = what, MOST

    def take(self, size: int) -> None:
        """Take so many characters of it; raises DataError `report.size` where it has fewer."""
        self._left -= size
        if self._left < 0:
            raise DataError(
                "report.size",
                f"this {self._what} would have more than {MOST:,} characters, since the record "
                "names long texts again and again, or what is in them has to be spelled out; "
                "read them in its export",
            )


def require_room(found: object, what: str = "report") -> None:
    """Refuse what would be printed with more characters than an honest record gives.

    `found` is a result or a JSON value; its texts are counted as often as they stand in it.
    `what` says what would be printed.
    Raises DataError `report.size`.
    """
    room, left = Room(what), [found]
    while left:
        value = left.pop()
        if isinstance(value, str):
            room.take(len(value))
        elif isinstance(value, BaseModel):
            left += vars(value).values()
        elif isinstance(value, Mapping):
            left += value.values()
        elif isinstance(value, list | tuple):
            left += value
