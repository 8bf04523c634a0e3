"""What every client of a provider reads alike: statuses, counts, names, how a reply ended."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from hansard.debate.fields import Finish
from hansard.runtime.models.base import MAX_TOKENS, ModelError

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


def status_error(status: int) -> ModelError:
    """Return what a response means that is no success."""
    if status == 429:
        return ModelError("rate_limited", "http-429")
    if status == 408:
        return ModelError("timeout", "http-408")
    return ModelError("server_error" if status >= 500 else "client_error", f"http-{status}")


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
