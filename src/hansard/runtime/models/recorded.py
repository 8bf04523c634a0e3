"""Recorded replies: the same calls answered again from a record, without any model."""

from __future__ import annotations

from typing import Any

from hansard.errors import UsageError
from hansard.record import blob
from hansard.record.bundle import Bundle
from hansard.report import gated
from hansard.rules.events import Event, parse
from hansard.rules.fields import UNTRIED, Blob
from hansard.rules.spec_parts import PriceSpec
from hansard.runtime.models.base import Completion, ModelError, Request, ToolCall, Wire


class RecordedModel:
    """Answers the calls of each step as the record says that they ended.

    Calls that were abandoned or raised have no end, so attempts are counted
    without them; the last end repeats. Raises UsageError `model.recorded` for a record
    that cannot be given again, `record.gate` for that of a gate.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.price: PriceSpec | None = None
        self.size = 0  # bytes of what is kept
        self._ends: dict[str, list[bytes]] = {}  # entries, by step
        self._tools: dict[str, list[bytes]] = {}  # entries, by call
        self._texts: dict[str, bytes] = {}  # blobs, of which a text takes up to four times as much
        for line in bundle.lines:
            self._keep(line, bundle)
        for line in (line for lines in self._ends.values() for line in lines):
            try:
                self._given(line)
            except ValueError as error:  # it verifies, and yet is more than a call may bring here
                raise UsageError(
                    "model.recorded", f"a reply of the record cannot be given again: {error}"
                ) from None

    def _keep(self, line: bytes, bundle: Bundle) -> None:
        """Keep an entry that says how a call ended or which tool it asked for, with its texts."""
        event = parse(line)
        gated.refuse([event])
        data: Any = event["data"]
        texts = []
        if event["type"] == "tool.called":
            texts = [data["tool"], data["arguments"]]
            self._tools.setdefault(data["call"], []).append(line)
        elif event["type"] == "call.answered" or _failed(event):
            texts = [data["reply"]] if event["type"] == "call.answered" else []
            self._ends.setdefault(data["call"].rpartition(":")[0], []).append(line)
        else:
            return
        self.size += len(line)
        for name in (text["sha256"] for text in texts if not isinstance(text, str)):
            if name not in bundle.blobs:
                raise UsageError(
                    "model.recorded",
                    "a reply was erased from the record, so it cannot be given again",
                )
            self.size += len(bundle.blobs[name]) if name not in self._texts else 0
            self._texts[name] = bundle.blobs[name]

    def _given(self, line: bytes) -> Completion | ModelError:
        """Return how an entry says that a call ended; ValueError for what no call may bring."""
        event = parse(line)
        data: Any = event["data"]
        if event["type"] == "call.failed":
            return ModelError(data["error"], data["detail"], wire=Wire(data["status"]))
        asked: list[Any] = [parse(row)["data"] for row in self._tools.get(data["call"], ())]
        return Completion(
            self._text(data["reply"]),
            finish=data["finish"],
            tokens_in=data["tokens_in"],
            tokens_cached=data["tokens_cached"],
            tokens_cache_write=data["tokens_cache_write"],
            tokens_out=data["tokens_out"],
            tool_calls=tuple(
                ToolCall(self._text(row["tool"]), self._text(row["arguments"])) for row in asked
            ),
        )

    def _text(self, value: str | Blob) -> str:
        """Return a provider's string, or the text of the blob that holds it."""
        return value if isinstance(value, str) else blob.unpack(self._texts[value["sha256"]])

    async def complete(self, request: Request) -> Completion:
        """Return the recorded reply to the call of this name, or fail as it failed."""
        step, _, attempt = request.call.rpartition(":")
        ends = self._ends.get(step)
        if not ends:
            raise ModelError("no_reply", "not-in-record")
        end = self._given(ends[min(int(attempt), len(ends)) - 1])
        if isinstance(end, ModelError):
            raise end
        return end


def _failed(event: Event) -> bool:
    """Whether an event is the end of a call that failed as a call may."""
    return event["type"] == "call.failed" and event["data"]["error"] not in UNTRIED
