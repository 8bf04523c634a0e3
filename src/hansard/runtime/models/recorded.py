"""Recorded replies: the same calls answered again from a record, without any model."""

from __future__ import annotations

from collections.abc import Mapping

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
        self._ends: dict[str, list[Completion | ModelError]] = {}
        events = [parse(line) for line in bundle.lines]
        gated.refuse(events)
        tools: dict[str, list[ToolCall]] = {}
        for event in events:
            if event["type"] == "tool.called":
                asked = event["data"]
                texts = [_text(bundle, asked[key]) for key in ("tool", "arguments")]
                tools.setdefault(asked["call"], []).append(ToolCall(*texts))
        for event in events:
            try:
                self._read(event, bundle, tools)
            except UsageError:
                raise
            except ValueError as error:  # it verifies, and yet is more than a call may bring here
                raise UsageError(
                    "model.recorded", f"a reply of the record cannot be given again: {error}"
                ) from None

    def _read(self, event: Event, bundle: Bundle, tools: Mapping[str, list[ToolCall]]) -> None:
        """Keep how a call ended, where the event says it; ValueError for what no call may bring."""
        if event["type"] == "call.failed" and event["data"]["error"] not in UNTRIED:
            data = event["data"]
            seen = Wire(data["status"])
            self._end(data["call"], ModelError(data["error"], data["detail"], wire=seen))
        elif event["type"] == "call.answered":
            answer = event["data"]
            completion = Completion(
                _text(bundle, answer["reply"]),
                finish=answer["finish"],
                tokens_in=answer["tokens_in"],
                tokens_cached=answer["tokens_cached"],
                tokens_cache_write=answer["tokens_cache_write"],
                tokens_out=answer["tokens_out"],
                tool_calls=tuple(tools.get(answer["call"], ())),
            )
            self._end(answer["call"], completion)

    def _end(self, call: str, end: Completion | ModelError) -> None:
        self._ends.setdefault(call.rpartition(":")[0], []).append(end)

    async def complete(self, request: Request) -> Completion:
        """Return the recorded reply to the call of this name, or fail as it failed."""
        step, _, attempt = request.call.rpartition(":")
        ends = self._ends.get(step)
        if not ends:
            raise ModelError("no_reply", "not-in-record")
        end = ends[min(int(attempt), len(ends)) - 1]
        if isinstance(end, ModelError):
            raise ModelError(end.kind, end.detail, wire=end.wire)
        return end


def _text(bundle: Bundle, value: str | Blob) -> str:
    """Return a provider's string, or the text of the blob that holds it."""
    if isinstance(value, str):
        return value
    if value["sha256"] not in bundle.blobs:
        raise UsageError(
            "model.recorded", "a reply was erased from the record, so it cannot be given again"
        )
    return blob.unpack(bundle.blobs[value["sha256"]])
