"""The spans of one debate, begun and ended by its events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode

from hansard.record.line import encode_line, line_hash
from hansard.rules.data import CallStartedData, RegisteredData
from hansard.rules.events import Event
from hansard.rules.state import step_of
from hansard.rules.steps import place_of
from hansard.runtime.models.provider_rows import PROVIDERS
from hansard.telemetry.names import (
    ADDRESS,
    AGENT_ID,
    AGENT_NAME,
    AGENT_TYPE,
    BEGAN,
    CLOSED,
    COLLECTION,
    CONVERSATION,
    DEBATE_FORMAT,
    DECIDED,
    ERROR,
    EVALUATION,
    FAILED,
    FINISH,
    LABEL,
    METRIC,
    MODEL,
    OPENED,
    OPERATION,
    OVER,
    PORT,
    PROVIDER,
    REJECTED,
    REJECTION,
    REQUEST,
    RESPONSE,
    RESPONSE_ID,
    SCORE,
    SIDE,
    STARTED,
    STEP,
    TOOL,
    TOOL_TYPE,
    WORKFLOW,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_IN_PROCESS = ("scripted", "recorded", "python", "custom")
_INTERRUPTED = "interrupted"  # what ended without an entry that says so


@dataclass
class DebateSpans:
    """The open spans of one debate, and what later spans repeat of earlier events."""

    tracer: trace.Tracer
    at: str = ""
    opened: dict[str, Any] = field(default_factory=dict)
    seats: dict[str, RegisteredData] = field(default_factory=dict)
    heard: dict[str, str] = field(default_factory=dict)  # call -> response id, of answers
    last: dict[str, str] = field(default_factory=dict)  # side -> response id of its last turn
    root: Span | None = None
    open: dict[str, Span] = field(default_factory=dict)  # by step, by call, by tool; in this order
    task: asyncio.Task[Any] | None = None
    done: Callable[[Any], None] | None = None

    def watch(self, done: Callable[[Any], None]) -> None:
        """Have `done` called when the task that runs the debate is over, however it ends."""
        try:
            self.task = asyncio.current_task()
        except RuntimeError:  # events of a store, read without a loop
            return
        if self.task:
            self.done = done
            self.task.add_done_callback(done)

    def forget(self) -> None:
        """No longer wait for the task: many debates may run in it."""
        if self.task and self.done:
            self.task.remove_done_callback(self.done)

    def learn(self, event: Event) -> None:
        """Keep what later spans repeat."""
        self.at = event["at"]
        if event["type"] == "debate.opened":
            self.opened = {**event["data"]}
        elif event["type"] == "debater.registered":
            self.seats[event["data"]["id"]] = event["data"]
        elif event["type"] == "call.answered" and isinstance(event["data"]["response_id"], str):
            self.heard[event["data"]["call"]] = event["data"]["response_id"]
        elif event["type"] in ("turn.recorded", "verdict.recorded"):
            data: Any = event["data"]
            seat = self.seats.get(data["speaker"])
            response = self.heard.get(data["call"])
            if seat and response:
                label = seat["stance"]["label"] if seat["stance"] else seat["role"]
                self.last |= dict.fromkeys((seat["id"], label), response)

    def follow(self, event: Event) -> None:
        """Make, change or end the spans that an event is about."""
        handle = _HANDLERS.get(event["type"])
        if handle:
            handle(self, event, cast(Any, event["data"]))

    def interrupt(self) -> None:
        """End what is open at the time of the last entry, children first."""
        left, self.open = list(self.open.values()), {}
        if self.root:
            left.insert(0, self.root)
            self.root = None
        for span in reversed(left):
            span.set_attribute(ERROR, _INTERRUPTED)
            span.set_status(StatusCode.ERROR)
            span.end(_time(self.at))

    def _begin_debate(self, event: Event, _: Any) -> None:
        name = self.opened.get("name") or event["debate"]
        known = _of(self.opened, OPENED) | {WORKFLOW: name}
        if self.opened:
            known[DEBATE_FORMAT] = self.opened["terms"]["format"]
        self.root = self._begin(event, "invoke_workflow", name, known, None)

    def _begin_call(self, event: Event, data: CallStartedData) -> None:
        step = data["step"]
        if step not in self.open:
            place = place_of(step)
            known = _of(place._asdict(), STEP) | _of(self.opened, {"collection_id": COLLECTION})
            known |= {AGENT_NAME: data["role"], AGENT_ID: place.speaker}
            if place.speaker in self.seats:
                known[AGENT_TYPE] = self.seats[place.speaker]["agent_type"]
            self.open[step] = self._begin(event, "invoke_agent", data["role"], known, self.root)
        provider, _, model = data["model"].partition(":")
        known = _asked(data) | {PROVIDER: traced(provider), MODEL: model}
        kind = SpanKind.INTERNAL if provider in _IN_PROCESS else SpanKind.CLIENT
        parent = self.open[step]
        self.open[data["call"]] = self._begin(event, "chat", model, known, parent, kind)

    def _begin_tool(self, event: Event, data: Any) -> None:
        # What a model asks for is its own words, unless it is one of the tools it was offered.
        offered = [row["tool"] for row in self.opened.get("tools", ())]
        name = data["tool"] if data["tool"] in offered else "unknown"
        known = {TOOL: name, TOOL_TYPE: "function", STARTED["call"]: data["call"]}
        parent = self.open.get(step_of(data["call"]), self.root)
        self.open[_tool(data)] = self._begin(event, "execute_tool", name, known, parent)

    def _begin(
        self,
        event: Event,
        operation: str,
        name: str,
        known: Mapping[str, Any],
        parent: Span | None,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        return self.tracer.start_span(
            f"{operation} {name}",
            trace.set_span_in_context(parent) if parent else None,
            kind,
            {OPERATION: operation, CONVERSATION: event["debate"], **known, **_entry(event)},
            start_time=_time(event["at"]),
        )

    def _end_call(self, event: Event, data: Any) -> None:
        self._end(event, data["call"], _of(data, RESPONSE) | {FINISH: [data["finish"]]})

    def _fail_call(self, event: Event, data: Any) -> None:
        self._end(event, data["call"], _of(data, FAILED), data["error"])

    def _end_tool(self, event: Event, data: Any) -> None:
        self._end(event, _tool(data), {}, None if data["ok"] else "tool_error")

    def _reject(self, event: Event, data: Any) -> None:
        span = self.open.get(data["step"])
        if span:
            span.add_event(REJECTION, _of(data, REJECTED), _time(event["at"]))

    def _end_turn(self, event: Event, data: Any) -> None:
        self._end(event, data["step"], {})

    def _forfeit(self, event: Event, data: Any) -> None:
        self._end(event, data["step"], {}, data["reason"])

    def _decide(self, _: Event, data: Any) -> None:
        if self.root:
            self.root.set_attributes(_of(data, DECIDED))

    def _end(
        self, event: Event, key: str, known: Mapping[str, Any], error: str | None = None
    ) -> None:
        """End a span, if an earlier process did not begin it."""
        span = self.open.pop(key, None)
        if span:
            _finish(span, event, known, error)

    def _evaluate(self, event: Event, data: Any) -> None:
        """Add what a judge or a moderator found, to the span of whoever judged.

        A score (1 to 10) is of a side's arguments, and names its last reply.
        """
        rows: list[dict[str, Any]] = [
            {METRIC: "argument_quality", SCORE: float(row["score"]), SIDE: row["side"]}
            for row in data["scores"]
        ]
        if data["confidence"]:
            rows.append({METRIC: "confidence", LABEL: data["confidence"]})
        if data["winner"]:
            rows.append({METRIC: "verdict", LABEL: "winner", SIDE: data["winner"]})
        span = self.open.get(data["step"])
        if span:
            for row in rows:
                evaluated = _of(self.last, {row.get(SIDE, ""): RESPONSE_ID})
                span.add_event(EVALUATION, row | evaluated | _entry(event), _time(event["at"]))
        self._end_turn(event, data)

    def _close(self, event: Event, data: Any) -> None:
        root, self.root = self.root, None
        self.interrupt()
        if root:
            failed = data["outcome"] == "failed"
            _finish(root, event, _of(data, CLOSED), data["reason"] if failed else None)


# What each type of event does to the spans; the others leave them as they are.
_HANDLERS: Mapping[str, Callable[[DebateSpans, Event, Any], None]] = {
    "debate.opened": DebateSpans._begin_debate,
    "debate.resumed": DebateSpans._begin_debate,
    "call.started": DebateSpans._begin_call,
    "call.answered": DebateSpans._end_call,
    "call.failed": DebateSpans._fail_call,
    "tool.called": DebateSpans._begin_tool,
    "tool.returned": DebateSpans._end_tool,
    "turn.recorded": DebateSpans._end_turn,
    "turn.rejected": DebateSpans._reject,
    "turn.forfeited": DebateSpans._forfeit,
    "verdict.recorded": DebateSpans._evaluate,
    "synthesis.recorded": DebateSpans._end_turn,
    "decision.reached": DebateSpans._decide,
    "debate.closed": DebateSpans._close,
}


def _tool(data: Any) -> str:
    """Return the key of a tool's span."""
    return f"{data['call']}#{data['number']}"


def _finish(span: Span, event: Event, known: Mapping[str, Any], error: str | None) -> None:
    """End a span with what its last entry says."""
    try:
        span.set_attributes({**known, **_entry(event, OVER)})
        if error:
            span.set_attribute(ERROR, error)
            span.set_status(StatusCode.ERROR)
    finally:
        span.end(_time(event["at"]))


def _asked(data: CallStartedData) -> dict[str, Any]:
    """Return what was asked of a model; of its address host and port alone."""
    settings: Any = data["parameters"]
    known = _of(data, STARTED) | _of(settings, REQUEST)
    for name in (REQUEST["temperature"], REQUEST["top_p"]):
        if name in known:
            known[name] = float(known[name])
    base = urlsplit(settings.get("base_url") or "")
    if base.hostname:
        known |= {
            ADDRESS: base.hostname,
            PORT: base.port or (443 if base.scheme == "https" else 80),
        }
    return known


def traced(provider: str) -> str:
    """Return what the conventions call a provider."""
    row = PROVIDERS.get(provider)
    return (row and row.traced) or provider


def _of(data: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the known fields under their names as attributes; a text outside the line has none."""
    found = {name: data.get(key) for key, name in names.items()}
    return {name: value for name, value in found.items() if isinstance(value, str | int)}


def _entry(event: Event, prefix: str = BEGAN) -> dict[str, Any]:
    """Return where an event stands in the record."""
    digest = line_hash(encode_line(event))
    return {f"{prefix}.seq": event["seq"], f"{prefix}.sha256": digest}


def _time(at: str) -> int:
    """Return nanoseconds since 1970.

    >>> _time("1970-01-01T00:00:01.000002Z")
    1000002000
    """
    return (datetime.fromisoformat(at) - _EPOCH) // _MICROSECOND * 1000
