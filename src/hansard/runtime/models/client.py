"""The HTTP client beneath the vendors' libraries: it keeps one exchange an attempt."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from http.cookiejar import CookieJar
from typing import Any, NoReturn, cast

import httpx2

from hansard.errors import UsageError
from hansard.rules.fields import CallError
from hansard.runtime.models.bodies import PACKINGS, Held, TooLarge, unpacked
from hansard.runtime.models.heads import HeadBackend
from hansard.runtime.models.providers import is_here
from hansard.runtime.models.wire import EXCHANGE, MAX_VALUES
from hansard.runtime.notation import is_crowded

# Pieces of a response that are read before others have their turn: what has come may be thousands
# of one byte each, of as many calls as are in flight, and deadlines have to be looked at meanwhile.
_AT_ONCE = 64
# Headers that hold a key, and how long one is at least: servers of one's own take any word for one.
_KEYED = ("authorization", "api-key", "x-api-key", "x-goog-api-key", "x-amz-security-token")
_LEAST_KEY = 16
_PLAIN = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}


class _Recorded(Exception):
    """The exchange has the whole response."""


class _NoCookies(CookieJar):
    """Keeps no cookie: a server could set thousands with each reply, for as long as a run lasts."""

    def extract_cookies(self, response: object, request: object) -> None:
        """Read none either."""


class RecordingClient(httpx2.AsyncClient):
    """Keeps request and response in the running attempt's exchange, and sends one a time.

    The vendor's library never sees the response: nobody asks what it makes of one, and it would
    repeat words of the server's in warnings, or decode them in whatever charset a header names.

    `only` are the headers that are sent beyond those of HTTP itself, whatever
    the vendor's library adds from the environment; None leaves that to it.
    Raises UsageError `model.certificates` or `model.proxy`.
    """

    def __init__(self, only: Mapping[str, str] | None = None) -> None:
        trusted = _trusted()
        try:
            # Timeouts are the engine's. Redirects stay off: a prompt goes where the user sent it.
            super().__init__(
                headers={"accept-encoding": PACKINGS},
                cookies=_NoCookies(),
                timeout=None,
                follow_redirects=False,
                verify=trusted,
            )
        except (ImportError, ValueError, httpx2.InvalidURL):  # its text quotes a password
            raise UsageError(
                "model.proxy",
                "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names no proxy that can be used: write "
                "http://HOST:PORT (socks5:// needs the package socksio)",
            ) from None
        self._only = only
        for transport in (self._transport, *self._mounts.values()):
            if transport is not None:  # as for what goes through no proxy
                pool = cast(Any, transport)._pool  # httpx2 takes no backend
                pool._network_backend = HeadBackend(pool._network_backend)

    def _transport_for_url(self, url: httpx2.URL) -> httpx2.AsyncBaseTransport:
        """Send what is for this machine to no proxy that the environment names: it never leaves."""
        return self._transport if is_here(url.host) else super()._transport_for_url(url)

    async def send(self, request: httpx2.Request, **_options: Any) -> NoReturn:
        """Send `request` where it is the attempt's first, and keep the whole response.

        Raises what breaks, else _Recorded.
        """
        exchange = EXCHANGE.get()
        exchange.begin(request.content)
        if self._only is not None:
            kept = {key: value for key, value in request.headers.items() if key in _PLAIN}
            request.headers = httpx2.Headers({**kept, **self._only})
        try:
            response = await super().send(request, stream=True, follow_redirects=False)
            try:
                exchange.status = response.status_code
                keys = _keys(request)
                exchange.headers = _without(keys, response.headers)
                exchange.body = await _bounded(response, exchange.held)
                exchange.key_sent_back = any(key.encode() in exchange.body for key in keys)
                exchange.says_key = partial(_says, keys)
            finally:
                await response.aclose()
        except Exception as error:
            exchange.broken = _broken(error)
            raise
        raise _Recorded


def _keys(request: httpx2.Request) -> list[str]:
    """Return the keys that a request sends, as they stand there."""
    found = [request.headers.get(name, "").rpartition(" ")[2] for name in _KEYED]
    return [key for key in found if len(key) >= _LEAST_KEY]


def _says(keys: list[str], text: str) -> bool:
    """Say whether a text holds one of these keys, also in JSON that is yet to be read."""
    return any(_search(key)(text) for key in keys)


@lru_cache(maxsize=64)  # a long token takes longer to compile than most replies to read
def _search(key: str) -> Callable[[str], object]:
    """Return what finds a key: as it stands, or with signs of it escaped as JSON has them."""
    signs = ((re.escape(sign), ord(sign)) for sign in key)
    spelled = (rf"(?:\\?{plain}|\\u(?i:{code:04x}))" for plain, code in signs)
    return re.compile("".join(spelled)).search


def _without(keys: list[str], headers: httpx2.Headers) -> dict[str, str]:
    """Return headers by name, without those that hold a key."""
    return {
        name.lower(): value
        for name, value in headers.items()
        if not any(key in value for key in keys)
    }


@cache
def _trusted() -> ssl.SSLContext:
    """Read the certificates that this process trusts: once, since that takes longer than a call."""
    try:
        return httpx2.create_ssl_context()
    except OSError:
        raise UsageError(
            "model.certificates",
            "the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read",
        ) from None


async def _bounded(response: httpx2.Response, held: Held) -> bytes:
    """Return the body of a response, unpacked; raises TooLarge, or DecodingError for no body."""
    packed, pieces = bytearray(), 0
    async for chunk in response.aiter_raw():
        packed += chunk
        held.hold(len(packed))
        pieces += 1
        if pieces % _AT_ONCE == 0:
            await asyncio.sleep(0)
    packings = response.headers.get_list("content-encoding", split_commas=True)
    try:
        body = unpacked(bytes(packed), [name.strip().lower() for name in packings])
    except ValueError as error:
        raise httpx2.DecodingError(str(error)) from None
    held.hold(len(body))
    if b"\0" in body:  # JSON in UTF-16, as some libraries read too: nothing in it can be counted
        raise httpx2.DecodingError("no JSON in UTF-8")
    if is_crowded(body, MAX_VALUES):
        raise TooLarge
    return body


def _broken(error: Exception) -> tuple[CallError, str]:  # noqa: PLR0911 - one line an error
    """Return the class of what kept a response from coming, and its name."""
    name = type(error).__name__
    if isinstance(error, httpx2.TimeoutException):
        return "timeout", name
    if isinstance(error, httpx2.DecodingError):
        return "server_error", "malformed"
    if isinstance(error, TooLarge):
        return "server_error", "too-large"
    if isinstance(error, (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError)):
        return "client_error", name
    if isinstance(error, httpx2.ConnectError):
        return "unreachable", name
    if isinstance(error, (httpx2.RequestError, OSError)):
        return "server_error", name  # it was sent, or may have been: it counts as used
    return "crashed", name
