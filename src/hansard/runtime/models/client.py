"""The HTTP client beneath the vendors' libraries: it keeps one exchange an attempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2

from hansard.rules.fields import CallError
from hansard.runtime.models.wire import EXCHANGE, MAX_BODY, MAX_VALUES, Exchange
from hansard.runtime.notation import is_crowded

_PLAIN = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}


class _TooLarge(Exception):
    """A response longer than MAX_BODY, or with more than MAX_VALUES."""


class RecordingClient(httpx2.AsyncClient):
    """Keeps request and response in the running attempt's exchange, and sends one a time.

    `only` are the headers that are sent beyond those of HTTP itself, whatever
    the vendor's library adds from the environment; None leaves that to it.
    """

    def __init__(self, only: Mapping[str, str] | None = None) -> None:
        # Timeouts are the engine's. Redirects stay off: a prompt goes where the user sent it.
        super().__init__(timeout=None, follow_redirects=False)
        self._only = only

    async def send(self, request: httpx2.Request, **_options: Any) -> httpx2.Response:
        """Send `request` where it is the attempt's first, and return the whole response."""
        exchange = EXCHANGE.get()
        exchange.begin(request.content)
        if self._only is not None:
            kept = {key: value for key, value in request.headers.items() if key in _PLAIN}
            request.headers = httpx2.Headers({**kept, **self._only})
        try:
            response = await super().send(request, stream=True, follow_redirects=False)
            try:
                exchange.status = response.status_code
                exchange.headers = {key.lower(): value for key, value in response.headers.items()}
                exchange.body = await _bounded(response)
            finally:
                await response.aclose()
        except Exception as error:
            exchange.broken = _broken(error)
            raise
        return _whole(exchange, request)


async def _bounded(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_BODY:
            raise _TooLarge
    if b"\0" in body:  # JSON in UTF-16, as some libraries read too: nothing in it can be counted
        raise httpx2.DecodingError("no JSON in UTF-8")
    if is_crowded(body, MAX_VALUES):
        raise _TooLarge
    return bytes(body)


def _whole(exchange: Exchange, request: httpx2.Request) -> httpx2.Response:
    """Return the response as the libraries want it: read, and decoded already.

    It is UTF-8, whatever its headers say: in another charset that Python knows, the values
    that were counted would be others, and some take hours to decode.
    """
    coded = ("content-encoding", "content-length", "transfer-encoding")
    headers = {key: value for key, value in exchange.headers.items() if key not in coded}
    if "content-type" in headers:
        headers["content-type"] = headers["content-type"].partition(";")[0]
    return httpx2.Response(
        exchange.status or 0, headers=headers, content=exchange.body, request=request
    )


def _broken(error: Exception) -> tuple[CallError, str]:  # noqa: PLR0911 - one line an error
    """Return the class of what kept a response from coming, and its name."""
    name = type(error).__name__
    if isinstance(error, httpx2.TimeoutException):
        return "timeout", name
    if isinstance(error, httpx2.DecodingError):
        return "server_error", "malformed"
    if isinstance(error, _TooLarge):
        return "server_error", "too-large"
    if isinstance(error, (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError)):
        return "client_error", name
    if isinstance(error, httpx2.ConnectError):
        return "unreachable", name
    if isinstance(error, (httpx2.RequestError, OSError)):
        return "server_error", name  # it was sent, or may have been: it counts as used
    return "crashed", name
