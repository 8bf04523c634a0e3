"""How much a report says, and holds: a record may name one long text as often as it likes.

Memory is another matter than length: Python keeps each character of a text in as many bytes as
its widest one takes, so that a single emoji makes a text four times as large.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from sys import getsizeof

from pydantic import BaseModel

from hansard.errors import DataError
from hansard.rules.prompts import TextOf

MOST = 1 << 28  # characters: twice what an export has at most
MOST_HELD = 5 << 25  # bytes of memory, of texts: all that an export holds where none is wide
MOST_VALUES = 4_000_000  # in entries: read, a short one takes up to 200 bytes
_WIDE = re.compile(r"\\u[dD][89abAB]")  # in JSON, half a character that takes four bytes


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


class Memory:
    """What is left of the memory that texts may take which are shown together: 160 MiB.

    What is read of a text as JSON is held beside it, and takes as much again. Entries take some
    beside it: by how many values they have, since a hostile one may hold nothing but short ones.
    """

    def __init__(self) -> None:
        self._left, self._values = MOST_HELD, MOST_VALUES

    def hold(self, lines: Iterable[bytes]) -> None:
        """Take what the entries of a record need; raises DataError `report.size` beyond."""
        self._values -= sum(line.count(b",") for line in lines)
        if self._values < 0:
            raise DataError(
                "report.size",
                f"the entries to be shown have more than {MOST_VALUES:,} values; "
                "`hansard verify` checks their record, and its export holds them",
            )

    def of(self, text_of: TextOf) -> TextOf:
        """Return `text_of`, by which each text is read once and kept while there is room.

        It raises DataError `report.size` beyond.
        """

        @cache
        def kept(name: str) -> str | None:
            text = text_of(name)
            if text is not None:
                self._take(text)
            return text

        return kept

    def _take(self, text: str) -> None:
        self._left -= _memory(text)
        if self._left < 0:
            raise DataError(
                "report.size",
                f"the texts to be shown take more than {MOST_HELD >> 20} MiB of memory; "
                "`hansard verify` checks their record, and its export holds them",
            )


def _memory(text: str) -> int:
    """Return how many bytes a text takes, or what it says where it is JSON and that takes more."""
    escaped = 4 if _WIDE.search(text) else 2 if "\\u" in text else 1
    return max(getsizeof(text), escaped * len(text))
