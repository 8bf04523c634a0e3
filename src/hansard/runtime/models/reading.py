"""What every client of a provider reads alike: statuses, waits, counts, how a reply ended."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from hansard.rules.fields import Finish
from hansard.runtime.models.base import LONGEST_WAIT, MAX_TOKENS, ModelError, Wire

# How a reply ended, in the words of OpenAI's chat completions.
CHAT: dict[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
}


def finish_of(reason: object, known: Mapping[str, Finish]) -> Finish:
    """Return how a reply ended; a reason that is not known is `other`."""
    return known.get(reason, "other") if isinstance(reason, str) else "other"


def status_error(
    status: int, *, retry_after: float | None = None, wire: Wire | None = None
) -> ModelError:
    """Return what a response means that is no success."""
    if status == 429:
        kind, detail = "rate_limited", "http-429"
    elif status == 408:
        kind, detail = "timeout", "http-408"
    else:
        kind, detail = "server_error" if status >= 500 else "client_error", f"http-{status}"
    return ModelError(kind, detail, retry_after=retry_after, wire=wire)  # type: ignore[arg-type]


_TIMEOUTS = {"TimeoutError", "APITimeoutError", "TimeoutException", "Timeout"}
_CONNECTIONS = {"ConnectionError", "APIConnectionError", "NetworkError", "ClientConnectionError"}
# Whatever broke later was sent, or may have been: it counts as used.
_BROKEN = {"BrokenPipeError", "ConnectionAbortedError", "ConnectionResetError", "ReadError"}


def error_of(error: BaseException) -> ModelError | None:
    """Return what went wrong between a client and its server; None for any other exception.

    It is told by the status that the exception holds, itself or in its `response`, or by
    the names of its classes: Python's own, and those of OpenAI, Anthropic, httpx, requests
    and aiohttp, none of which is imported here.
    """
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", getattr(response, "status_code", None))
    if type(status) is int and 100 <= status <= 599:
        headers = getattr(response, "headers", None) or {}
        lowered = {str(name).lower(): str(value) for name, value in dict(headers).items()}
        return status_error(status, retry_after=wait_of(lowered), wire=Wire(status))
    kinds, name = {kind.__name__ for kind in type(error).__mro__}, type(error).__name__
    if kinds & _TIMEOUTS:  # of some clients it is a connection error, too
        return ModelError("timeout", name)
    if "APIConnectionError" in kinds:
        refused = type(error.__cause__).__name__ == "ConnectError"
        return ModelError("unreachable" if refused else "server_error", name)
    if kinds & _CONNECTIONS:
        return ModelError("server_error" if kinds & _BROKEN else "unreachable", name)
    return None


def wait_of(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait, at least 0 and at most LONGEST_WAIT.

    `retry-after-ms` is read before `retry-after` (seconds, or a date of HTTP);
    None where neither says anything that can be read. Names are in lower case.
    """
    exact = _number(headers.get("retry-after-ms"))
    seconds = _number(headers.get("retry-after")) if exact is None else exact / 1000
    if seconds is None:
        seconds = _until(headers.get("retry-after"))
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_WAIT)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return None if value != value else value  # noqa: PLR0124 - NaN is no number


def _until(text: str | None) -> float | None:
    try:
        then = parsedate_to_datetime(text or "")
        aware = then if then.tzinfo else then.replace(tzinfo=UTC)
        return (aware - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None


def count(value: object) -> int | None:
    """Return a number of tokens that a record can hold; None for anything else."""
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else None


def words(value: object) -> str | None:
    """Return a text that says something; None for anything else."""
    return value if isinstance(value, str) and value else None


def cap_name(base_url: str) -> str:
    """Return what chat completions call the reply cap, at the server with that address.

    OpenAI refuses `max_tokens` for reasoning models; some other servers
    (Ollama) silently ignore `max_completion_tokens`, and all know the older one.
    """
    host = urlsplit(base_url).hostname or ""
    vendor = host.endswith((".openai.com", ".openai.azure.com"))
    return "max_completion_tokens" if vendor else "max_tokens"
