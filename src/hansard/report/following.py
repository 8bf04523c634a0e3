"""Follows a debate event by event, and says what each means to somebody who watches (D 34)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hansard.report.progress import (
    CallFailed,
    Converged,
    DebateClosed,
    DebateOpened,
    Decided,
    Forfeited,
    Progress,
    Response,
    RoundStarted,
    SentBack,
    SimilarityMeasured,
    SynthesisWritten,
    ToolUsed,
    Truncated,
    VerdictGiven,
    VotesCounted,
)
from hansard.report.sentences import decided_text
from hansard.rules import replies, steps
from hansard.rules.data import CallAnsweredData, SynthesisData, TurnRecordedData, VerdictData
from hansard.rules.events import Event
from hansard.rules.replies import Schema
from hansard.rules.state import DebateState, evolve, step_of

# The member of a reply that says most, in the order in which they are looked for.
_MAIN = ("stance", "thesis", "answer", "verdict", "synthesis", "justification")

Texts = Mapping[str, str]  # of a record, by name
_PLACE = ("step", "round", "phase", "speaker", "call")  # what every turn's data has


class Follower:
    """Folds the events of one debate, and says what each means."""

    def __init__(self) -> None:
        self.state = DebateState()
        self._answers: dict[str, CallAnsweredData] = {}
        self._round = -1  # the last one begun; a panel begins with round 0

    def fold(self, event: Event) -> None:
        """Take an event in without a word."""
        evolve(self.state, event)
        if event["type"] == "call.answered":
            self._answers[event["data"]["call"]] = event["data"]
        elif event["type"] == "call.started":
            self._round = max(self._round, steps.place_of(event["data"]["step"]).round)

    def follow(self, event: Event, texts: Texts) -> list[Progress]:
        """Take an event in and return what happened.

        `texts` are those of the record up to this event, by name.
        """
        before = self._round
        self.fold(event)
        if self._round > before:
            return [RoundStarted(seq=event["seq"], round=self._round)]
        means = _MEANS.get(event["type"])
        return [*means(self, event["seq"], event["data"], texts)] if means else []

    def _response(self, seq: int, data: Any, texts: Texts) -> Iterator[Progress]:
        case = data["case"] or {"rating": None, "struck": (), "unanswered": ()}
        yield Response(
            **self._said(seq, data, texts),
            vote=data["vote"],
            rating=case["rating"],
            struck=tuple(case["struck"]),
            unanswered=tuple(case["unanswered"]),
        )

    def _verdict(self, seq: int, data: Any, texts: Texts) -> Iterator[Progress]:
        found = {name: data[name] for name in data if name not in _PLACE}
        found["ranking"] = tuple(data["ranking"])
        found["scores"] = {row["side"]: row["score"] for row in data["scores"]}
        yield VerdictGiven(**self._said(seq, data, texts), **found)

    def _synthesis(self, seq: int, data: Any, texts: Texts) -> Iterator[Progress]:
        yield SynthesisWritten(**self._said(seq, data, texts))

    def _sent_back(self, seq: int, data: Any, _: Texts) -> Iterator[Progress]:
        why = _of(data, "code", "member", "keyword", "rating", "again")
        yield SentBack(**self._place(seq, data["step"]), **why)

    def _forfeited(self, seq: int, data: Any, _: Texts) -> Iterator[Progress]:
        yield Forfeited(**self._place(seq, data["step"]), reason=data["reason"])

    def _call_failed(self, seq: int, data: Any, _: Texts) -> Iterator[Progress]:
        why = _of(data, "error", "status", "again", "wait_ms")
        yield CallFailed(**self._place(seq, step_of(data["call"])), **why)

    def _tool_used(self, seq: int, data: Any, _: Texts) -> Iterator[Progress]:
        step = step_of(data["call"])
        tool = self._tool(step, data["call"], data["number"])
        yield ToolUsed(**self._place(seq, step), tool=tool, ok=data["ok"])

    def _opened(self, seq: int, data: Any, _: Texts) -> Iterator[Progress]:
        yield DebateOpened(seq=seq, debate=self.state.debate, format=data["terms"]["format"])

    def _counted(self, seq: int, data: Any, _: Texts) -> Iterator[Progress]:
        votes = {row["option"]: row["votes"] for row in data["tally"]}
        kept = _of(data, "round", "phase", "abstentions", "threshold", "reached")
        yield VotesCounted(seq=seq, votes=votes, **kept)

    def _measured(self, seq: int, data: Any, _: Texts) -> Iterator[Progress]:
        least = min((row["ppm"] for row in data["pairs"]), default=None)
        kept = _of(data, "round", "measure", "heard", "threshold_ppm")
        yield SimilarityMeasured(seq=seq, least_ppm=least, **kept)
        if data["converged"]:
            yield Converged(seq=seq, round=data["round"])

    def _truncated(self, seq: int, data: Any, texts: Texts) -> Iterator[Progress]:
        by, why = (row and texts.get(row["sha256"]) for row in (data["by"], data["reason"]))
        kept = _of(data, "ceiling", "limit", "spent", "reserved")
        yield Truncated(seq=seq, by=by, why=why, **kept)

    def _decided(self, seq: int, data: Any, texts: Texts) -> Iterator[Progress]:
        text = decided_text(self.state, texts.get)
        yield Decided(seq=seq, text=text, **_of(data, "decision", "rule"))

    def _closed(self, seq: int, data: Any, _: Texts) -> Iterator[Progress]:
        yield DebateClosed(seq=seq, **_of(data, "outcome", "reason"))

    def _said(
        self,
        seq: int,
        data: TurnRecordedData | VerdictData | SynthesisData,
        texts: Texts,
    ) -> Any:
        """Return the fields of a turn that was heard."""
        answer = self._answers[data["call"]]
        reply = texts[answer["reply"]["sha256"]]
        place = self._place(seq, data["step"])
        return place | {
            "text": _main(reply, steps.schema_of(self.state, place["role"])),
            "reply": reply,
            "cost_micro_usd": answer["cost_micro_usd"],
            "latency_ms": answer["latency_ms"],
        }

    def _place(self, seq: int, step: str) -> Any:
        """Return the fields that say whose turn it is about."""
        round_, phase, speaker, _ = steps.place_of(step)
        role = self.state.seats[speaker]["role"]
        return {"seq": seq, "speaker": speaker, "role": role, "round": round_, "phase": phase}

    def _tool(self, step: str, call: str, number: int) -> str | None:
        """Return the name of a tool that came back; one that is no name is a text."""
        called = self.state.steps[step].asked[call, number]
        return called["tool"] if isinstance(called["tool"], str) else None


def _main(reply: str, schema: Schema | None) -> str:
    """Return what a reply that counts says in the first place; all of it where no part does."""
    schema = schema or {"type": "object"}  # of a deliverable, which the user describes
    value = replies.named(replies.value_of(reply, schema), schema)
    parts = (value.get(name) for name in _MAIN) if isinstance(value, dict) else (value,)
    return next((part for part in parts if isinstance(part, str)), reply)


def _of(data: Any, *names: str) -> Any:
    """Return the members of these names."""
    return {name: data[name] for name in names}


# What each type of event means to somebody who watches; the others mean nothing by themselves.
_MEANS: Mapping[str, Callable[[Follower, int, Any, Texts], Iterator[Progress]]] = {
    "debate.opened": Follower._opened,
    "turn.recorded": Follower._response,
    "turn.rejected": Follower._sent_back,
    "turn.forfeited": Follower._forfeited,
    "call.failed": Follower._call_failed,
    "tool.returned": Follower._tool_used,
    "votes.counted": Follower._counted,
    "similarity.measured": Follower._measured,
    "verdict.recorded": Follower._verdict,
    "debate.truncated": Follower._truncated,
    "decision.reached": Follower._decided,
    "synthesis.recorded": Follower._synthesis,
    "debate.closed": Follower._closed,
}
