"""What a call that is over leaves in the record: a completion, or an error, as event data."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

from hansard.record.canonical import TEXT
from hansard.rules import spending
from hansard.rules.data import CallStartedData
from hansard.rules.fields import Blob
from hansard.rules.seating import LOCAL
from hansard.rules.transcript import CALLABLE
from hansard.runtime.models.base import Completion, ModelError, Watch, Wire, looked, stated
from hansard.runtime.models.reading import error_of

Keep = Callable[[str], Blob]  # keeps a text, and gives its reference


def answered(
    started: CallStartedData,
    completion: Completion,
    tools: int,
    prices: spending.Prices,
    latency_ms: int,
    keep: Keep,
) -> dict[str, Any]:
    """Return the data of `call.answered`; `tools` are those that will be used.

    Of a local model nothing is recorded that only a wire can tell (FORMAT.md §3).
    """
    wire = Wire() if started["model"].startswith(LOCAL) else completion
    data: dict[str, Any] = {
        "call": started["call"],
        "reply": keep(completion.text),
        "model": _name(completion.model, keep),
        "response_id": _name(completion.response_id, keep),
        "request_id": _name(completion.request_id, keep),
        "status": wire.status,
        "fingerprint": _name(completion.fingerprint, keep),
        "finish": "tool_calls" if completion.tool_calls else completion.finish,
        "tools": tools,
        "tokens_in": completion.tokens_in,
        "tokens_cached": completion.tokens_cached,
        "tokens_cache_write": completion.tokens_cache_write,
        "tokens_out": completion.tokens_out,
        "latency_ms": latency_ms,
        "sent_as_rendered": wire.sent_as_rendered,
        "sent": None if wire.sent is None else keep(wire.sent),
    }
    cost = spending.cost(prices, started["model"], spending.Tokens.of(data))
    return data | {"cost_micro_usd": cost}


def failed(
    started: CallStartedData, error: ModelError, wait_ms: int | None, latency_ms: int, keep: Keep
) -> dict[str, Any]:
    """Return the data of `call.failed` but for `again`, which the rules say."""
    wire = error.wire
    if started["model"].startswith(LOCAL):
        wire = Wire(wire.status, wire.request_id)
    return {
        "call": started["call"],
        "error": error.kind,
        "detail": error.detail,
        "status": wire.status,
        "request_id": _name(wire.request_id, keep),
        "wait_ms": wait_ms,
        "cost_micro_usd": None,
        "latency_ms": latency_ms,
        "sent_as_rendered": wire.sent_as_rendered,
        "sent": None if wire.sent is None else keep(wire.sent),
    }


def raised(started: CallStartedData, error: BaseException, latency_ms: int) -> dict[str, Any]:
    """Return the data of `call.failed` that a bug in the user's own callable leaves.

    Of `error` only the class is recorded: its text may quote a key.
    """
    name = type(error).__name__
    unknown = dict.fromkeys(("status", "request_id", "wait_ms", "sent_as_rendered", "sent"))
    found = {"call": started["call"], "error": "raised", "detail": name if TEXT(name) else None}
    return {**unknown, **found, "latency_ms": latency_ms}


def as_failure(error: BaseException, model: str, watch: Watch) -> ModelError | None:
    """Return the failed call that `error` is; None for a bug in the user's own callable.

    Of a bug in a client of ours it names the class; whoever mends it sees all of it
    with HANSARD_DEBUG=1.
    """
    if model.startswith(CALLABLE):
        try:
            return stated(error) if isinstance(error, ModelError) else error_of(error)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - what it says of itself can be code that raises
            return None
    if isinstance(error, ModelError):
        return error
    if os.environ.get("HANSARD_DEBUG") == "1":
        traceback.print_exception(error)
    return ModelError("crashed", type(error).__name__, wire=looked(watch))


def _name(text: str | None, keep: Keep) -> str | Blob | None:
    """A provider's string stands in the line if it fits there, else it is a blob."""
    return text if text is None or TEXT(text) else keep(text)
