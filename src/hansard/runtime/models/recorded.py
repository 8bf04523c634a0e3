"""Recorded replies: the same calls answered again from a record, without any model."""

from __future__ import annotations

from hansard.debate.events import parse
from hansard.debate.spec import PriceSpec
from hansard.errors import UsageError
from hansard.record import blob
from hansard.record.bundle import Bundle
from hansard.runtime.models.base import Completion, ModelError, Request


class RecordedModel:
    """Answers each call as the record says that it ended.

    Raises UsageError `model.recorded` for a record that cannot be read.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.price: PriceSpec | None = None
        self._ends: dict[str, Completion | ModelError] = {}
        for line in bundle.lines:
            event = parse(line)
            if event["type"] == "call.failed" and event["data"]["error"] != "abandoned":
                data = event["data"]
                self._ends[data["call"]] = ModelError(data["error"], data["detail"])
            elif event["type"] == "call.answered":
                answer = event["data"]
                name = answer["reply"]["sha256"]
                if name not in bundle.blobs:
                    raise UsageError(
                        "model.recorded",
                        f"the reply to {answer['call']} is no longer in the record",
                    )
                self._ends[answer["call"]] = Completion(
                    blob.unpack(bundle.blobs[name]),
                    finish=answer["finish"],
                    tokens_in=answer["tokens_in"],
                    tokens_cached=answer["tokens_cached"],
                    tokens_out=answer["tokens_out"],
                )

    async def complete(self, request: Request) -> Completion:
        """Return the recorded reply to the call of this name, or fail as it failed."""
        end = self._ends.get(request.call)
        if end is None:
            raise ModelError("no_reply", "not-in-record")
        if isinstance(end, ModelError):
            raise ModelError(end.kind, end.detail)
        return end
