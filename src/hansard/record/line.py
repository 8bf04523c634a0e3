"""One event line: how it is hashed and linked (FORMAT.md §1).

>>> line = encode_line({"seq": 1, "prev": GENESIS})
>>> line
b'{"prev":"0000000000000000000000000000000000000000000000000000000000000000","seq":1}'
>>> line_hash(line)[:16]
'bf44c921c01c4cd3'
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import overload

from hansard.record.canonical import encode as encode_line

__all__ = ["GENESIS", "MAX_ENTRIES", "VERSION", "Lines", "encode_line", "line_hash"]

MAX_ENTRIES = 100_000  # of a record

GENESIS = "0" * 64
VERSION = 1


def line_hash(line: bytes) -> str:
    """Return the hex SHA-256 of a line's bytes, without its LF."""
    return sha256(line).hexdigest()


class Lines(Sequence[bytes]):
    """The lines of a file, split at byte 0x0A only, each cut out when it is asked for.

    So they take no memory of their own. Of a file of more lines than a record has
    entries, those after them can only be counted.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._count = data, data.count(b"\n")
        self._ends = array("Q", islice(_ends(data), MAX_ENTRIES))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> bytes: ...
    @overload
    def __getitem__(self, at: slice) -> list[bytes]: ...
    def __getitem__(self, at: int | slice) -> bytes | list[bytes]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        place = range(len(self._ends))[at]
        begin = self._ends[place - 1] + 1 if place else 0
        return self._data[begin : self._ends[place]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def _ends(data: bytes) -> Iterator[int]:
    at = data.find(b"\n")
    while at >= 0:
        yield at
        at = data.find(b"\n", at + 1)
