"""Bodies of responses as they come: unpacked once, and no more of them at a time than fit.

A server that a spec names may send what it likes. An HTTP client's own decoders would unpack what
was packed five times over, a few bytes into more than any machine has, before they let go of a
byte that could be counted; and as many calls as are in flight may all be answered at length.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from threading import Lock

PACKINGS = "gzip, deflate"  # what a server is told that it may use
MAX_BODY = 16_000_000  # bytes of a response, counted while they are read: a reply has few of them
MAX_HEAD = 1 << 15  # bytes of all heads of a response, those of 1xx included
MAX_LINES = 500  # ends of lines in them: an HTTP client makes hundreds of bytes of each
SHORT = 1 << 17  # bytes of a response that are always read: each of 13 providers has 100 calls
ROOM = 64 << 20  # bytes of all longer responses that a process holds at once

_GZIP, _ZLIB, _RAW = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS
_WAYS = {"gzip": (_GZIP,), "x-gzip": (_GZIP,), "deflate": (_ZLIB, _RAW)}


class TooLarge(Exception):
    """A response too long in its heads or its body, with too many values, or without room for it.

    Heads have MAX_HEAD bytes and MAX_LINES, a body MAX_BODY bytes.
    """


class Room:
    """What a process has left for the long responses that it holds."""

    def __init__(self) -> None:
        self._taken = 0
        self._lock = Lock()  # debates may run in several threads

    def take(self, size: int) -> None:
        """Take so many bytes more; raises TooLarge where they are not left."""
        with self._lock:
            if self._taken + size > ROOM:
                raise TooLarge
            self._taken += size

    def give_back(self, size: int) -> None:
        """Give so many bytes back."""
        with self._lock:
            self._taken -= size


_ROOM = Room()


class Held:
    """What one call holds of that room, until it gives it back."""

    def __init__(self, room: Room = _ROOM) -> None:
        self._room = room
        self._size = 0
        self._head = 0
        self._lines = 0
        self._is_over = False

    def count_head(self, piece: bytes) -> None:
        """Count what may be a piece of heads, or begin a body in the end."""
        self._head += len(piece)
        self._lines += piece.count(b"\n")

    def check_heads(self) -> None:
        """Raise TooLarge where all that was counted is too much for heads, or once it is over."""
        if self._head > MAX_HEAD or self._lines > MAX_LINES or self._is_over:
            raise TooLarge

    def hold(self, size: int) -> None:
        """Hold a response of `size` bytes at the least; raises TooLarge, also once it is over."""
        if size > MAX_BODY or self._is_over:
            raise TooLarge
        if size > SHORT and size > self._size:
            self._room.take(size - self._size)
            self._size = size

    def release(self) -> None:
        """Hold nothing, from now on."""
        self._is_over = True
        self._room.give_back(self._size)
        self._size = 0


def unpacked(data: bytes, packings: Sequence[str]) -> bytes:
    """Return what was packed in one of these ways, or not at all: MAX_BODY and a byte at the most.

    Raises ValueError for what was packed twice or in another way, and for what ends early or late.

    >>> unpacked(zlib.compress(b"{}"), ["deflate"])
    b'{}'
    """
    named = [name for name in packings if name not in ("", "identity")]
    if not named or not data:  # some servers say how nothing is packed
        return data
    if len(named) > 1 or named[0] not in _WAYS:
        raise ValueError("packed in a way that nobody asked for")
    for way in _WAYS[named[0]]:
        unpacking = zlib.decompressobj(way)
        try:
            body = unpacking.decompress(data, MAX_BODY + 1)
        except zlib.error:
            continue
        if len(body) <= MAX_BODY and (not unpacking.eof or unpacking.unused_data):
            raise ValueError("it does not end where it should")
        return body
    raise ValueError("not what was packed")
