"""A debate as OpenTelemetry spans, by the semantic conventions for generative AI.

    from hansard import run, telemetry
    result = await run(spec, observe=telemetry.SpanObserver())

    invoke_workflow {debate}          the debate
      invoke_agent {role}             one step of a speaker: all that was tried for one turn
        chat {model}                  one attempt
        execute_tool {name}           one tool that a reply asked for

It needs the extra `otel`, which is OpenTelemetry's API alone: whoever runs the
program configures its SDK and where spans go. Spans are made from the recorded
events and carry their times, sequence numbers and hashes, so whoever sees a span
finds its entry in the record. They hold names and numbers of the record's clear
fields and none of its texts. Telemetry is never the record: it may be sampled,
lost or switched off, and a debate is not disturbed by a tracer that fails.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points
from typing import Any
from urllib.parse import urlsplit

from hansard.errors import UsageError
from hansard.record.line import encode_line, line_hash
from hansard.rules.data import CallStartedData, RegisteredData
from hansard.rules.events import Event
from hansard.rules.state import step_of
from hansard.rules.steps import place_of
from hansard.version import __version__

try:
    from opentelemetry import trace
    from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider
except ImportError:
    raise UsageError(
        "telemetry.missing", "telemetry needs OpenTelemetry: install the extra `hansard[otel]`"
    ) from None

__all__ = ["SpanObserver", "exporting"]

_LOG = logging.getLogger(__name__)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

# Every name of the conventions stands here and nowhere else: they are still in development.
OPERATION = "gen_ai.operation.name"
CONVERSATION = "gen_ai.conversation.id"
WORKFLOW = "gen_ai.workflow.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
AGENT_NAME, AGENT_ID = "gen_ai.agent.name", "gen_ai.agent.id"
TOOL, TOOL_TYPE = "gen_ai.tool.name", "gen_ai.tool.type"
FINISH = "gen_ai.response.finish_reasons"
RESPONSE_ID = "gen_ai.response.id"
ERROR = "error.type"
ADDRESS, PORT = "server.address", "server.port"
EVALUATION = "gen_ai.evaluation.result"
METRIC = "gen_ai.evaluation.name"
SCORE, LABEL = "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"
REQUEST = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "seed": "gen_ai.request.seed",
    "max_tokens": "gen_ai.request.max_tokens",
}
RESPONSE = {
    "model": "gen_ai.response.model",
    "response_id": RESPONSE_ID,
    "tokens_in": "gen_ai.usage.input_tokens",
    "tokens_cached": "gen_ai.usage.cache_read.input_tokens",
    "tokens_cache_write": "gen_ai.usage.cache_creation.input_tokens",
    "tokens_out": "gen_ai.usage.output_tokens",
    "status": "http.response.status_code",
}
PROVIDERS = {
    "openai-responses": "openai",
    "google": "gcp.gemini",
    "bedrock": "aws.bedrock",
}

# What only this engine knows. Each span has the entry that began it and the one that ended it.
BEGAN, OVER = "hansard.event", "hansard.end"
DEBATE_FORMAT, SIDE = "hansard.format", "hansard.side"
COLLECTION, AGENT_TYPE = "hansard.collection.id", "hansard.agent.type"
REJECTION = "hansard.turn.rejected"
STEP = {"id": "hansard.step", "round": "hansard.round", "phase": "hansard.phase"}
OPENED = {"collection_id": COLLECTION, "scripted": "hansard.scripted", "layout": "hansard.layout"}
STARTED = {"call": "hansard.call", "attempt": "hansard.attempt"}
FAILED = {
    "status": RESPONSE["status"],
    "again": "hansard.retried",
    "wait_ms": "hansard.retry.wait_ms",
}
REJECTED = {"code": "hansard.rejection", "again": "hansard.retried"}
DECIDED = {"decision": "hansard.decision", "rule": "hansard.decision.rule"}
CLOSED = {"outcome": "hansard.outcome", "reason": "hansard.close_reason"}

_IN_PROCESS = ("scripted", "recorded", "python", "custom")
_INTERRUPTED = "interrupted"  # what ended without an entry that says so


class SpanObserver:
    """Follows the events of debates, any number at once, and makes spans of them.

    Pass it as `observe`, or call it with the events of a store. `provider` is a
    tracer provider of the SDK; without one the global provider is used. The span
    of a debate is a child of whatever span is current when the debate is opened.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer("hansard", __version__, provider)
        self._debates: dict[str, _Debate] = {}
        self._told = False

    def __call__(self, event: Event) -> None:
        """Make, change or end the spans that an event is about; never raises."""
        self._safely(lambda: self._follow(event))

    def fold(self, event: Event) -> None:
        """Take in an event that an earlier process recorded: what it says, without a span."""
        self._of(event).learn(event)

    def close(self, debate: str | None = None) -> None:
        """End what is open of one debate or of all, because no more events will come.

        Of a debate that was cancelled this happens by itself, once the asyncio task that
        runs it is over.
        """
        for name in [debate] if debate else list(self._debates):
            found = self._debates.pop(name, None)
            if found:
                found.forget()
                self._safely(found.interrupt)

    def _of(self, event: Event) -> _Debate:
        if event["debate"] not in self._debates:
            self._debates[event["debate"]] = _Debate(self._tracer)
        return self._debates[event["debate"]]

    def _follow(self, event: Event) -> None:
        debate = event["debate"]
        found = self._of(event)
        found.learn(event)
        if event["type"] in ("debate.opened", "debate.resumed"):
            found.watch(lambda _: self.close(debate))
        try:
            found.follow(event)
        finally:
            if event["type"] == "debate.closed":
                self.close(debate)

    def _safely(self, work: Callable[[], None]) -> None:
        """Do it; say once, by the error's class alone, that telemetry is not whole."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a tracer's failure is not the debate's
            if not self._told:
                self._told = True
                _LOG.warning("telemetry is not whole: %s in the tracer", type(error).__name__)


@dataclass
class _Debate:
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
        data: Any = event["data"]
        match event["type"]:
            case "debate.opened" | "debate.resumed":
                self._begin_debate(event)
            case "call.started":
                self._begin_call(event, data)
            case "call.answered":
                known = _of(data, RESPONSE) | {FINISH: [data["finish"]]}
                self._end(event, data["call"], known)
            case "call.failed":
                self._end(event, data["call"], _of(data, FAILED), data["error"])
            case "tool.called":
                self._begin_tool(event, data)
            case "tool.returned":
                error = None if data["ok"] else "tool_error"
                self._end(event, f"{data['call']}#{data['number']}", {}, error)
            case "turn.rejected":
                span = self.open.get(data["step"])
                if span:
                    span.add_event(REJECTION, _of(data, REJECTED), _time(event["at"]))
            case "turn.recorded" | "synthesis.recorded":
                self._end(event, data["step"], {})
            case "verdict.recorded":
                self._evaluate(event, data)
                self._end(event, data["step"], {})
            case "turn.forfeited":
                self._end(event, data["step"], {}, data["reason"])
            case "decision.reached":
                if self.root:
                    self.root.set_attributes(_of(data, DECIDED))
            case "debate.closed":
                self._close(event, data)

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

    def _begin_debate(self, event: Event) -> None:
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
        known = _asked(data) | {PROVIDER: PROVIDERS.get(provider, provider), MODEL: model}
        kind = SpanKind.INTERNAL if provider in _IN_PROCESS else SpanKind.CLIENT
        parent = self.open[step]
        self.open[data["call"]] = self._begin(event, "chat", model, known, parent, kind)

    def _begin_tool(self, event: Event, data: Any) -> None:
        # What a model asks for is its own words, unless it is one of the tools it was offered.
        offered = [row["tool"] for row in self.opened.get("tools", ())]
        name = data["tool"] if data["tool"] in offered else "unknown"
        known = {TOOL: name, TOOL_TYPE: "function", STARTED["call"]: data["call"]}
        parent = self.open.get(step_of(data["call"]), self.root)
        key = f"{data['call']}#{data['number']}"
        self.open[key] = self._begin(event, "execute_tool", name, known, parent)

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
        for row in rows if span else ():
            assert span
            evaluated = _of(self.last, {row.get(SIDE, ""): RESPONSE_ID})
            span.add_event(EVALUATION, row | evaluated | _entry(event), _time(event["at"]))

    def _close(self, event: Event, data: Any) -> None:
        root, self.root = self.root, None
        self.interrupt()
        if root:
            failed = data["outcome"] == "failed"
            _finish(root, event, _of(data, CLOSED), data["reason"] if failed else None)


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


@contextmanager
def exporting() -> Iterator[SpanObserver]:
    """Give an observer whose spans go where the OTEL_* variables say, sent when the block ends.

    For programs that configure no SDK of their own, such as the command line.
    OTLP over HTTP unless OTEL_TRACES_EXPORTER or OTEL_EXPORTER_OTLP_PROTOCOL names
    another exporter. Raises UsageError `telemetry.missing` where SDK or exporter
    are not installed.
    """
    try:
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - an extra of an extra
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise _not_installed("opentelemetry-sdk") from None
    provider = TracerProvider(shutdown_on_exit=False)
    for name in _exporters():
        found = list(entry_points(group="opentelemetry_traces_exporter", name=name))
        if not found:
            raise _not_installed(f"opentelemetry-exporter-{name.replace('_', '-')}")
        try:
            exporter = found[0].load()()
        except Exception as error:  # noqa: BLE001 - its text may quote a header, so a key
            kind = type(error).__name__
            raise UsageError(
                "telemetry.exporter", f"exporter {name} cannot be made: {kind}; check OTEL_*"
            ) from None
        provider.add_span_processor(BatchSpanProcessor(exporter))
    observer = SpanObserver(provider)
    try:
        yield observer
    finally:
        observer.close()
        provider.shutdown()


def _exporters() -> list[str]:
    """Return the names of the exporters that the environment asks for."""
    names = os.environ.get("OTEL_TRACES_EXPORTER") or "otlp"
    protocol = (
        os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
        or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        or "http/protobuf"
    )
    otlp = f"otlp_proto_{protocol.partition('/')[0]}"
    given = [name.strip() for name in names.split(",")]
    return [otlp if name == "otlp" else name for name in given if name != "none"]


def _not_installed(package: str) -> UsageError:
    return UsageError("telemetry.missing", f"spans cannot be sent: install {package}")
