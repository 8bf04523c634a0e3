"""Heads of responses as they come: a piece at a time, and no more of them than a bound.

A server that a spec names may send a head of any length, or informational ones (1xx) without end,
and an HTTP client makes objects of each line before anybody can look at them.

- Until an attempt has a status, everything that is read for it counts as head: the head of its
  response, informational heads before it, and what a proxy says. It is read in pieces of at most
  PIECE bytes.
- The bound is checked before each further piece (`Held.check_heads`). So a body that comes in one
  piece with the end of its head does not count, and heads may exceed the bound by that piece.
- Once there is a status, the rest is body, and is read as the client asks for it.
"""

from __future__ import annotations

from typing import Any

from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

from hansard.runtime.models.wire import EXCHANGE

PIECE = 1 << 10


class HeadBackend(AsyncNetworkBackend):
    """Opens connections as another backend does; heads of what they bring have a bound."""

    def __init__(self, own: AsyncNetworkBackend) -> None:
        self._own = own

    async def connect_tcp(self, *given: Any, **named: Any) -> AsyncNetworkStream:
        """Connect to a host."""
        return _HeadStream(await self._own.connect_tcp(*given, **named))

    async def connect_unix_socket(self, *given: Any, **named: Any) -> AsyncNetworkStream:
        """Connect to a socket of this machine."""
        return _HeadStream(await self._own.connect_unix_socket(*given, **named))

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._own.sleep(seconds)


class _HeadStream(AsyncNetworkStream):
    def __init__(self, own: AsyncNetworkStream) -> None:
        self._own = own

    async def read(self, max_bytes: int, *given: Any, **named: Any) -> bytes:
        """Read on; raises TooLarge where what came before is too much for heads."""
        exchange = EXCHANGE.get()
        if exchange.status is not None:
            return await self._own.read(max_bytes, *given, **named)
        exchange.held.check_heads()
        piece = await self._own.read(min(max_bytes, PIECE), *given, **named)
        exchange.held.count_head(piece)
        return piece

    async def write(self, *given: Any, **named: Any) -> None:
        await self._own.write(*given, **named)

    async def aclose(self) -> None:
        await self._own.aclose()

    async def start_tls(self, *given: Any, **named: Any) -> AsyncNetworkStream:
        """Count what is read under TLS, too."""
        return _HeadStream(await self._own.start_tls(*given, **named))

    def get_extra_info(self, info: str) -> Any:
        return self._own.get_extra_info(info)
