"""Spans and metrics of debates, as OpenTelemetry's own SDK collects them in memory."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.semconv.attributes import (
    error_attributes,
    http_attributes,
    server_attributes,
)
from opentelemetry.trace import SpanKind, StatusCode

import hansard
import support
from cli_support import leave_open, write_debate
from hansard import Completion, ModelError, SeatError, ToolCall, UsageError, open_store, telemetry
from hansard.record.line import encode_line, line_hash
from hansard.report.view import build
from hansard.telemetry import exporters, names, sending
from instant import GUARD
from playing import POSITIONS, answer, script, served, spec_of


class Measured:
    """A meter provider of the SDK, and what was counted and measured with it."""

    def __init__(self):
        self.memory = InMemoryMetricReader()
        self.provider = MeterProvider([self.memory], shutdown_on_exit=False)

    @property
    def metrics(self):
        """All metrics by name; none where nothing was recorded."""
        found = self.memory.get_metrics_data()
        rows = found.resource_metrics[0].scope_metrics[0].metrics if found else ()
        return {row.name: row for row in rows}

    def by(self, name, *keys):
        """The values of a metric, or of a histogram its sums, by those of some attributes."""
        found = Counter()
        for point in self.metrics[name].data.data_points if name in self.metrics else ():
            value = point.sum if hasattr(point, "sum") else point.value
            found[tuple(point.attributes[key] for key in keys)] += value
        return dict(found)

    def all(self, name):
        return sum(self.by(name).values())


class Traced:
    """Providers of the SDK, the spans that ended, the metrics, and a store with the debates."""

    def __init__(self, store, folder):
        self.memory = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.memory))
        self.meter = Measured()
        self.observe = telemetry.SpanObserver(self.provider, self.meter.provider)
        self.store, self.folder = store, folder

    def start(self, format_, ends=None, *, use=None, **changes):
        return hansard.run(
            spec_of(format_, **changes),
            models={"bot": ends if callable(ends) else script(ends or {})},
            tools=use,
            store=self.store,
            observe=self.observe,
        )

    def play(self, format_, ends=None, **given):
        return asyncio.run(self.start(format_, ends, **given))

    @property
    def spans(self):
        return self.memory.get_finished_spans()

    def named(self, begin):
        return [span for span in self.spans if span.name.split()[0] == begin]

    def by(self, key, value):
        (found,) = (span for span in self.spans if span.attributes.get(key) == value)
        return found

    def call(self, call):
        (found,) = (s for s in self.named("chat") if s.attributes["hansard.call"] == call)
        return found

    @property
    def events(self):
        return self.store.events(self.store.debates()[-1])


@pytest.fixture
def traced(tmp_path):
    with open_store("sqlite:///:memory:") as store:
        yield Traced(store, tmp_path)


def parent_of(span, spans):
    found = [row for row in spans if span.parent and row.context.span_id == span.parent.span_id]
    return found[0] if found else None


PLAYED: dict[str, dict[str, Any]] = {
    "consensus": {"name": "weekly"},
    "judged": {"judge": {}, "synthesizer": True},
    "moderated": {"neutrality_check": True},
    "panel": {"judge": {}},
    "baseline": {},
}


@pytest.mark.parametrize("format_", PLAYED)
def test_every_turn_of_every_format_is_one_agent_span_with_its_attempts_inside(traced, format_):
    result = traced.play(format_, {"critique:1": "no JSON"}, **PLAYED[format_])
    name = PLAYED[format_].get("name", result.debate)
    (root,) = traced.named("invoke_workflow")
    assert root.name == f"invoke_workflow {name}"
    assert root.parent is None
    turns = [event for event in traced.events if "phase" in event["data"]]
    turns = [event["data"]["step"] for event in turns if "step" in event["data"]]
    agents = traced.named("invoke_agent")
    assert Counter(span.attributes["hansard.step"] for span in agents) == Counter(turns)
    started = [event["data"] for event in traced.events if event["type"] == "call.started"]
    for data in started:
        chat = traced.call(data["call"])
        agent = parent_of(chat, traced.spans)
        assert agent.attributes["hansard.step"] == data["step"]
        assert agent.name == f"invoke_agent {data['role']}"
        assert parent_of(agent, traced.spans) == root
    assert len(traced.spans) == 1 + len(turns) + len(started)
    assert {span.context.trace_id for span in traced.spans} == {root.context.trace_id}
    for span in traced.spans:
        assert span.attributes["gen_ai.conversation.id"] == result.debate
        assert span.attributes["gen_ai.operation.name"] == span.name.split()[0]


def nanoseconds(at):
    whole, micro = at[:-1].split(".")
    seconds = subprocess.check_output(["date", "-u", "-d", f"{whole}Z", "+%s"])
    return int(seconds) * 10**9 + int(micro) * 1000


def test_each_span_stands_on_its_entries_and_has_their_times(traced):
    traced.play("moderated", {"critique:1": ModelError("timeout")}, name="weekly", attempts=2)
    lines = {event["seq"]: event for event in traced.events}
    for span in traced.spans:
        for prefix, time in (
            ("hansard.event", span.start_time),
            ("hansard.end", span.end_time),
        ):
            event = lines[span.attributes[f"{prefix}.seq"]]
            assert span.attributes[f"{prefix}.sha256"] == line_hash(encode_line(event))
            assert time == nanoseconds(event["at"])
    types = {
        span.name.split()[0]: (
            lines[span.attributes["hansard.event.seq"]]["type"],
            lines[span.attributes["hansard.end.seq"]]["type"],
        )
        for span in traced.spans
        if span.status.status_code != StatusCode.ERROR
    }
    assert types == {
        "invoke_workflow": ("debate.opened", "debate.closed"),
        "invoke_agent": ("call.started", "verdict.recorded"),
        "chat": ("call.started", "call.answered"),
    }


def test_what_was_asked_and_what_came_back(traced):
    def reply(request):
        return Completion(
            json.dumps(answer(request)),
            model="gpt-9-2026",
            finish="stop",
            tokens_in=100,
            tokens_cached=60,
            tokens_cache_write=7,
            tokens_out=5,
            status=200,
            sent_as_rendered=True,
            response_id="resp-1",
        )

    settings = {
        "temperature": "0.70",
        "top_p": "0.9",
        "seed": 4,
        "max_tokens": 50,
    }
    seats = [{"id": "ann", "settings": settings}, {"id": "bob"}]
    with served(reply):
        traced.play(
            "consensus",
            debaters=seats,
            model="openai:gpt-9",
            name="weekly",
            collection_id="board",
            threshold=1,
            agent_types={"debater": "reviewer"},
        )
    known = traced.call("r1.proposal.ann:1").attributes
    assert {key: value for key, value in known.items() if not key.startswith("hansard.")} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": traced.store.debates()[-1],
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-9",
        "gen_ai.request.temperature": 0.7,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.seed": 4,
        "gen_ai.request.max_tokens": 50,
        "gen_ai.response.model": "gpt-9-2026",
        "gen_ai.response.id": "resp-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_creation.input_tokens": 7,
        "gen_ai.usage.output_tokens": 5,
        "http.response.status_code": 200,
    }
    agent = traced.by("hansard.step", "r1.proposal.bob").attributes
    assert agent["gen_ai.agent.name"] == "debater"
    assert agent["gen_ai.agent.id"] == "bob"
    assert agent["hansard.agent.type"] == "reviewer"
    assert agent["hansard.collection.id"] == "board"
    assert (agent["hansard.round"], agent["hansard.phase"]) == (1, "proposal")
    root = traced.named("invoke_workflow")[0].attributes
    assert root["hansard.collection.id"] == "board"
    assert root["hansard.decision"] == "release"
    assert root["hansard.outcome"] == "complete"


def started(model, base_url=None):
    """A debate is taken over, and `model` asked."""
    parameters = dict.fromkeys(("temperature", "top_p", "seed", "max_tokens"))
    parameters["base_url"] = base_url
    data = {"call": "r1.proposal.a:1", "step": "r1.proposal.a", "attempt": 1, "role": "debater"}
    data |= {"model": model, "parameters": parameters}
    line = {"at": "2026-11-21T20:16:03.000000Z", "debate": "d", "prev": "0" * 64, "v": 1}
    return [
        line | {"seq": 9, "type": "debate.resumed", "data": {"engine": "hansard/1"}},
        line | {"seq": 10, "type": "call.started", "data": data},
    ]


@pytest.mark.parametrize(
    ("model", "provider", "kind"),
    [
        ("openai:gpt-9", "openai", SpanKind.CLIENT),
        ("openai-responses:gpt-9", "openai", SpanKind.CLIENT),
        ("anthropic:gpt-9", "anthropic", SpanKind.CLIENT),
        ("google:gpt-9", "gcp.gemini", SpanKind.CLIENT),
        ("bedrock:gpt-9", "aws.bedrock", SpanKind.CLIENT),
        ("azure:gpt-9", "azure.ai.openai", SpanKind.CLIENT),
        ("vertex:gpt-9", "gcp.vertex_ai", SpanKind.CLIENT),
        ("mistral:gpt-9", "mistral_ai", SpanKind.CLIENT),
        ("openrouter:gpt-9", "openrouter", SpanKind.CLIENT),
        ("ollama:gpt-9", "ollama", SpanKind.CLIENT),
        ("scripted:gpt-9", "scripted", SpanKind.INTERNAL),
        ("recorded:gpt-9", "recorded", SpanKind.INTERNAL),
        ("custom:gpt-9", "custom", SpanKind.INTERNAL),
    ],
)
def test_providers_have_the_names_of_the_conventions(traced, model, provider, kind):
    for event in started(model):
        traced.observe(event)
    traced.observe.close()
    (chat,) = traced.named("chat")
    assert chat.name == "chat gpt-9"
    assert chat.attributes["gen_ai.provider.name"] == provider
    assert chat.kind == kind


@pytest.mark.parametrize(
    ("base_url", "address", "port"),
    [
        ("https://models.example/v1", "models.example", 443),
        ("http://127.0.0.1/v1", "127.0.0.1", 80),
        ("https://somebody:sk-SECRET@models.example:8443/v1", "models.example", 8443),
        (None, None, None),
    ],
)
def test_of_an_address_host_and_port_are_told_and_nothing_else(traced, base_url, address, port):
    for event in started("openai:gpt-9", base_url):
        traced.observe(event)
    traced.observe.close()
    (chat,) = traced.named("chat")
    assert chat.attributes.get("server.address") == address
    assert chat.attributes.get("server.port") == port
    assert "SECRET" not in chat.to_json()


def test_every_standard_name_is_one_of_the_conventions():
    modules = (gen_ai_attributes, gen_ai_metrics, error_attributes, http_attributes)
    modules += (server_attributes,)
    known = {value for row in modules for value in vars(row).values() if isinstance(value, str)}
    used = []
    for value in vars(names).values():
        rows = value.values() if isinstance(value, dict) else [value]
        used += [row for row in rows if isinstance(row, str)]
    standard = {row for row in used if row.startswith(("gen_ai.", "error.", "http.", "server."))}
    assert standard - known == {"gen_ai.evaluation.result"}  # an event, not an attribute
    assert len(standard) >= 24


def test_attempts_are_siblings_and_say_why_they_failed(traced):
    ends = {
        "r1.proposal.planner:1": ModelError("rate_limited", retry_after=0),
        "r1.proposal.planner:2": "no JSON",
        "r1.proposal.critic": ModelError("client_error"),
    }
    traced.play("consensus", ends, attempts=3, threshold=1, max_rounds=1)
    one, two, three = (traced.call(f"r1.proposal.planner:{n}") for n in (1, 2, 3))
    assert one.status.status_code == StatusCode.ERROR
    assert one.attributes["error.type"] == "rate_limited"
    assert one.attributes["hansard.retried"] is True
    assert 250 <= one.attributes["hansard.retry.wait_ms"] <= 500
    assert two.status.status_code == three.status.status_code == StatusCode.UNSET
    assert [span.attributes["hansard.attempt"] for span in (one, two, three)] == [1, 2, 3]
    assert one.parent.span_id == two.parent.span_id == three.parent.span_id
    agent = traced.by("hansard.step", "r1.proposal.planner")
    (sent_back,) = agent.events
    assert sent_back.name == "hansard.turn.rejected"
    assert sent_back.attributes["hansard.rejection"] == "unreadable"
    assert "error.type" not in agent.attributes
    silent = traced.by("hansard.step", "r1.proposal.critic")
    assert silent.attributes["error.type"] == "no_reply"
    assert silent.status.status_code == StatusCode.ERROR


def test_calls_at_once_are_siblings_that_overlap(traced):
    arrived = []

    async def together(request):
        arrived.append(request.speaker)
        if len(arrived) == 3:
            everybody.set()
        await everybody.wait()
        return answer(request)

    everybody = asyncio.Event()
    traced.play("panel", together)
    calls = [f"r0.draft.{seat}" for seat in ("ann", "bob", "cat")]
    drafts = [traced.by("hansard.step", call) for call in calls]
    assert len({span.parent.span_id for span in drafts}) == 1
    chats = [traced.call(f"{call}:1") for call in calls]
    assert len(chats) == 3
    assert max(span.start_time for span in chats) <= min(span.end_time for span in chats)


def look(what: str) -> str:
    """Look something up."""
    if what == "nothing":
        raise LookupError
    return "SECRET-RESULT"


def test_tools_are_spans_beside_the_attempts(traced):
    asked = [
        ToolCall("look", '{"what": "SECRET-ARGUMENT"}'),
        ToolCall("look", '{"what": "nothing"}'),
        ToolCall("SECRET-no-tool", "{}"),
        ToolCall("SECRET no name", "{}"),
    ]
    ends = {"r1.argument.ann:1": Completion("SECRET", tool_calls=tuple(asked))}
    given = {"tools": ["look"], "judge": {}, "max_rounds": 1}
    traced.play("judged", ends, use={"look": look}, **given)
    used = sorted(traced.named("execute_tool"), key=lambda s: s.attributes["hansard.event.seq"])
    assert [span.name.removeprefix("execute_tool ") for span in used] == [
        "look",
        "look",
        "unknown",
        "unknown",
    ]
    agent = traced.by("hansard.step", "r1.argument.ann")
    for span in used:
        assert span.parent.span_id == agent.context.span_id
        assert span.attributes["hansard.call"] == "r1.argument.ann:1"
        assert span.attributes["gen_ai.tool.name"] == span.name.split()[1]
    assert [span.attributes.get("error.type") for span in used] == [None] + ["tool_error"] * 3
    assert traced.call("r1.argument.ann:1").attributes["gen_ai.response.finish_reasons"] == (
        "tool_calls",
    )
    assert traced.call("r1.argument.ann:2")
    assert "SECRET" not in "".join(span.to_json() for span in traced.spans)


def test_a_verdicts_scores_are_evaluation_results(traced):
    ends = {
        "proposer": lambda request: Completion(json.dumps(answer(request)), response_id="p-1"),
        "moderation": {"confidence": "LOW"},
    }
    traced.play("moderated", ends)
    agent = traced.by("hansard.step", "r1.moderation.moderator")
    rows = [dict(event.attributes) for event in agent.events]
    assert {event.name for event in agent.events} == {"gen_ai.evaluation.result"}
    quality = {row["hansard.side"]: row for row in rows if "hansard.side" in row}
    assert set(quality) == {"proposer", "critic", "rebuttal"}
    entry = {key: agent.attributes[key.replace("event", "end")] for key in
             ("hansard.event.seq", "hansard.event.sha256")}  # fmt: skip
    assert quality["proposer"] == entry | {
        "gen_ai.evaluation.name": "argument_quality",
        "gen_ai.evaluation.score.value": 10.0,
        "gen_ai.response.id": "p-1",
        "hansard.side": "proposer",
    }
    assert "gen_ai.response.id" not in quality["critic"]
    (confidence,) = (row for row in rows if row["gen_ai.evaluation.name"] == "confidence")
    assert confidence["gen_ai.evaluation.score.label"] == "LOW"


def test_positions_and_winners_are_evaluated_by_name(traced):
    traced.play("moderated", positions=POSITIONS)
    agent = traced.by("hansard.step", "r1.moderation.moderator")
    sides = {event.attributes.get("hansard.side") for event in agent.events}
    assert {"build", "buy", "wait"} <= sides
    traced.memory.clear()
    traced.play("judged", {"verdict": {"winner": "wait"}}, judge={}, max_rounds=1)
    agent = traced.by("hansard.step", "r1.verdict.judge")
    (found,) = agent.events
    assert found.attributes["gen_ai.evaluation.name"] == "verdict"
    assert found.attributes["hansard.side"] == "bob"


TEXT = "SECRET-TEXT sk-SECRET"


@pytest.mark.parametrize("format_", PLAYED)
def test_no_text_of_anybody_is_in_a_span_or_a_metric(traced, format_):
    def reply(request):
        reply = json.loads(json.dumps(answer(request)).replace('"so"', f'"{TEXT}"'))
        words = reply if isinstance(reply, str) else json.dumps(reply)
        return Completion(
            f"{TEXT} {words}" if request.in_words else words,
            model=f"model {TEXT}",
            response_id=f"id {TEXT}",
            fingerprint=f"print {TEXT}",
        )

    texts = {
        "question": TEXT,
        "context": TEXT,
        "instructions": TEXT,
        "review": TEXT,
        "evidence": [{"id": "memo", "text": TEXT}],
    }
    traced.play(format_, reply, **texts, **PLAYED[format_])
    assert "SECRET" not in traced.meter.memory.get_metrics_data().to_json()
    for span in traced.named("chat"):
        assert not {"gen_ai.response.model", "gen_ai.response.id"} & set(span.attributes)
    assert "SECRET" not in "".join(span.to_json() for span in traced.spans)


class Failing(SpanProcessor):
    """Breaks where it is told to."""

    def __init__(self, where):
        self._where = where

    def on_start(self, span, parent_context=None):
        if self._where == "start":
            raise RuntimeError("sk-SECRET")

    def on_end(self, span):
        if self._where == "end":
            raise RuntimeError("sk-SECRET")


@pytest.mark.parametrize("where", ["start", "end"])
def test_a_tracer_that_fails_costs_the_debate_nothing_and_is_told_once(traced, where, caplog):
    traced.provider.add_span_processor(Failing(where))
    with caplog.at_level(logging.WARNING, "hansard.telemetry"):
        result = traced.play("consensus")
    assert result.status == "complete"
    assert hansard.verify(traced.store, result.debate).ok
    told = [row.getMessage() for row in caplog.records if row.name == "hansard.telemetry"]
    assert told == ["telemetry is not whole: RuntimeError in the tracer"]
    assert traced.meter.all("hansard.debates") == 1


def test_a_debate_that_is_cancelled_ends_its_open_spans(traced):
    async def hang(request):
        asked.append(request)
        if len(asked) == 3:
            everybody.set()
        await asyncio.sleep(60)

    async def cancelled():
        task = asyncio.ensure_future(traced.start("consensus", hang))
        await everybody.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asked, everybody = [], asyncio.Event()
    asyncio.run(cancelled())
    assert Counter(span.name.split()[0] for span in traced.spans) == {
        "chat": 3,
        "invoke_agent": 3,
        "invoke_workflow": 1,
    }
    last = nanoseconds(traced.events[-1]["at"])
    for span in traced.spans:
        assert span.attributes["error.type"] == "interrupted"
        assert span.status.status_code == StatusCode.ERROR
        assert span.end_time == last
        assert "hansard.end.seq" not in span.attributes
    assert [span.name.split()[0] for span in traced.spans][-1] == "invoke_workflow"


def test_a_task_that_runs_many_debates_remembers_none_of_them(traced, monkeypatch):
    closed, close = [], traced.observe.close
    monkeypatch.setattr(
        traced.observe, "close", lambda debate: (closed.append(debate), close(debate))
    )

    async def two():
        await traced.start("judged")
        await traced.start("panel")

    asyncio.run(two())
    assert closed == traced.store.debates()


def test_a_debate_that_goes_on_has_spans_again(traced):
    spec = {"threshold": 3, "max_rounds": 1, "name": "weekly"}
    votes = {"planner": "release", "critic": "revise", "operator": "escalate"}

    def split(request):
        return {**answer(request), "vote": votes[request.speaker]}

    def breaks(event):
        traced.observe(event)
        if event["type"] == "votes.counted":
            raise InterruptedError

    running = hansard.run(
        spec_of("consensus", **spec), models={"bot": split}, store=traced.store, observe=breaks
    )
    with pytest.raises(SeatError):
        asyncio.run(running)
    traced.memory.clear()
    (debate,) = traced.store.debates()
    for event in traced.store.events(debate):
        traced.observe.fold(event)
    before = len(traced.store.events(debate))
    hansard.resume_sync(debate, models={"bot": split}, store=traced.store, observe=traced.observe)
    (root,) = traced.named("invoke_workflow")
    assert root.name == "invoke_workflow weekly"
    assert root.attributes["hansard.event.seq"] > before
    assert root.attributes["hansard.outcome"] == "complete"
    assert all(span.attributes["hansard.agent.type"] for span in traced.named("invoke_agent"))
    assert len(traced.named("chat")) == 9


def test_a_debate_within_a_span_of_the_callers_is_its_child(traced):
    tracer = trace.get_tracer("caller", tracer_provider=traced.provider)

    async def two():
        with tracer.start_as_current_span("supervise"):
            await asyncio.gather(traced.start("panel"), traced.start("judged"))

    asyncio.run(two())
    outer = next(span for span in traced.spans if span.name == "supervise")
    roots = traced.named("invoke_workflow")
    assert [span.parent.span_id for span in roots] == [outer.context.span_id] * 2
    assert {span.context.trace_id for span in traced.spans} == {outer.context.trace_id}


def without_ids(spans):
    """What spans say, without what the SDK draws anew."""
    rows = [json.loads(span.to_json()) for span in spans]
    return [{key: row[key] for key in ("name", "attributes", "events", "end_time")} for row in rows]


def test_a_finished_record_can_be_traced_later(traced):
    traced.play("judged", judge={}, max_rounds=1)
    live = without_ids(traced.spans)
    traced.memory.clear()
    for event in traced.events:
        traced.observe(event)
    assert without_ids(traced.spans) == live


def test_without_an_sdk_nothing_happens(traced):
    result = hansard.run_sync(
        spec_of("judged"), models={"bot": answer}, observe=telemetry.SpanObserver()
    )
    assert result.status == "complete"


PRICES = {"python:bot": {"input": "2", "output": "8"}}
CALLS = ("hansard.calls.failed", "hansard.replies.rejected", "hansard.calls.abandoned")


def agrees(meters, result):
    """Whether what some meters count of a debate, together, is what its report says."""

    def total(name, *keys):
        return sum((Counter(meter.by(name, *keys)) for meter in meters), Counter())

    calls, used = result.calls, result.totals
    numbers = (calls.failed, calls.rejected, calls.abandoned)
    assert tuple(sum(total(name).values()) for name in CALLS) == numbers
    tokens = total("gen_ai.client.token.usage", "gen_ai.token.type")
    assert tokens == Counter({("input",): used.tokens_in, ("output",): used.tokens_out})
    cost = sum(total("hansard.cost").values())
    assert cost == pytest.approx((used.cost_micro_usd or 0) / 1_000_000)
    seconds = (meter.metrics.get("gen_ai.client.operation.duration") for meter in meters)
    counts = (point.count for row in seconds if row for point in row.data.data_points)
    assert sum(counts) == calls.answered + calls.failed
    return total("hansard.debates", "hansard.format", "hansard.ending")


@pytest.mark.parametrize("format_", PLAYED)
def test_metrics_of_every_format_say_what_its_report_says(traced, format_):
    told = []

    def reply(request):
        told.append(request.call)
        if len(told) == 1:
            raise ModelError("rate_limited", retry_after=0)
        words = answer(request)
        return Completion(
            words if isinstance(words, str) else json.dumps(words),
            finish="length" if len(told) == 2 else "stop",
            tokens_in=1000,
            tokens_out=len(told),
        )

    given = PLAYED[format_] | {"attempts": 3, "prices": PRICES}
    result = traced.play(format_, reply, **given)
    assert (result.calls.failed, result.calls.rejected) == (1, 1)
    assert result.totals.cost_micro_usd > 0
    assert agrees([traced.meter], result) == {(format_, "reached"): 1}


@pytest.mark.parametrize("name", support.EVENTFUL)
def test_metrics_of_a_record_say_what_its_report_says(traced, name):
    record = support.eventful(name).record
    for event in record.events:
        traced.observe(event)
    result = build(record.events, record.texts.get)
    assert sum(agrees([traced.meter], result).values()) == 1


def ended(name):
    """A debate that ends in one way."""
    if name == "failed":
        return support.Debate(support.Setup(), support.script(usual=support.Fail("client_error")))
    if name == "undeclared":
        ends = {"verdict": support.say(winner="neither")}
        setup = support.Setup("judged", judge={"model": "custom:board"})
        return support.Debate(setup, support.script(ends))
    return support.eventful({"reached": "judged", "escalate": "consensus"}.get(name, name))


@pytest.mark.parametrize("name", ["reached", "escalate", "undeclared", "truncated", "failed"])
def test_a_debate_is_counted_by_how_it_ended(traced, name):
    for event in ended(name).run().record.events:
        traced.observe(event)
    assert traced.meter.by("hansard.debates", "hansard.ending") == {(name,): 1}


@pytest.mark.parametrize("first", ["debate.resumed", "votes.counted", "debate.closed"])
def test_what_an_earlier_process_recorded_is_not_counted_again(traced, first):
    record, later = support.eventful().record, Measured()
    before = [event["type"] for event in record.events].index(first)
    observe = telemetry.SpanObserver(traced.provider, later.provider)
    for event in record.events[:before]:
        traced.observe(event)
        observe.fold(event)
    assert later.metrics == {}
    for event in record.events[before:]:
        observe(event)
    result = build(record.events, record.texts.get)
    assert result.calls.abandoned > 0
    assert agrees([traced.meter, later], result) == {("consensus", "escalate"): 1}


def test_a_call_that_a_process_left_is_of_who_was_asked(traced):
    for event in support.eventful().record.events:
        traced.observe(event)
    for point in traced.meter.metrics["hansard.calls.abandoned"].data.data_points:
        assert point.attributes == {
            "gen_ai.provider.name": "python",
            "gen_ai.request.model": "test",
            "error.type": "abandoned",
        }


ANSWERED = {"call": "r1.proposal.a:1", "latency_ms": 2500, "finish": "stop", "response_id": None}
ANSWERED |= {"model": "SERVED", "tokens_in": 300, "tokens_out": 20, "cost_micro_usd": 1250}
FAILED = {"call": "r1.proposal.a:1", "error": "timeout", "status": None, "again": True}
REJECTED = {"call": "r1.proposal.a:1", "step": "r1.proposal.a", "again": True, "code": "schema"}
FAILED |= {"wait_ms": 0, "latency_ms": 60_000, "cost_micro_usd": None}


def over(model, kind, data):
    """A debate is taken over, `model` asked, and then something comes of it."""
    events = started(model)
    return [*events, events[-1] | {"seq": 11, "type": kind, "data": data}]


def test_metrics_have_the_names_units_and_attributes_of_the_conventions(traced):
    for event in (
        *over("google:gpt-9", "call.answered", ANSWERED),
        *over("google:gpt-9", "call.failed", FAILED),
        *over("google:gpt-9", "turn.rejected", REJECTED),
    ):
        traced.observe(event)
    asked = {"gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "gpt-9"}
    chat = asked | {"gen_ai.operation.name": "chat"}
    found = {
        name: (row.unit, [(p.attributes, getattr(p, "sum", None) or p.value) for p in
        sorted(row.data.data_points, key=lambda p: len(p.attributes))])
        for name, row in traced.meter.metrics.items()
    }  # fmt: skip
    assert found == {
        "gen_ai.client.token.usage": (
            "{token}",
            [
                (chat | {"gen_ai.token.type": "input"}, 300),
                (chat | {"gen_ai.token.type": "output"}, 20),
            ],
        ),
        "gen_ai.client.operation.duration": (
            "s",
            [(chat, 2.5), (chat | {"error.type": "timeout"}, 60.0)],
        ),
        "hansard.calls.failed": ("{call}", [(asked | {"error.type": "timeout"}, 1)]),
        "hansard.replies.rejected": ("{reply}", [(asked | {"hansard.rejection": "schema"}, 1)]),
        "hansard.cost": ("USD", [(asked, 0.00125)]),
    }


BOUNDS = {
    "gen_ai.client.token.usage": (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576,
                                  4194304, 16777216, 67108864),
    "gen_ai.client.operation.duration": (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56,
                                         5.12, 10.24, 20.48, 40.96, 81.92),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_histograms_have_the_bounds_that_the_conventions_advise(traced, name):
    for event in over("openai:gpt-9", "call.answered", ANSWERED):
        traced.observe(event)
    for point in traced.meter.metrics[name].data.data_points:
        assert point.explicit_bounds == BOUNDS[name]


def test_names_as_attributes_are_cut_and_what_served_a_call_is_none(traced):
    for event in over(f"{'p' * 999}:{'m' * 999}", "call.answered", ANSWERED):
        traced.observe(event)
    (point,) = traced.meter.metrics["hansard.cost"].data.data_points
    assert point.attributes == {
        "gen_ai.provider.name": "p" * 100,
        "gen_ai.request.model": "m" * 100,
    }
    assert "SERVED" not in traced.meter.memory.get_metrics_data().to_json()


def test_no_person_label_or_debate_is_in_a_metric(traced):
    who = {"requester": "HIDDEN-asks", "owner": "HIDDEN-owns", "labels": ["HIDDEN-label"]}
    who |= {"name": "HIDDEN-name", "collection_id": "HIDDEN-board", "task_type": "HIDDEN-task"}
    seats = [{"id": f"HIDDEN-{n}"} for n in range(3)]
    ends = {"HIDDEN-0": ModelError("client_error"), "HIDDEN-1": "no JSON"}
    result = traced.play("consensus", ends, debaters=seats, threshold=1, **who)
    told = traced.meter.memory.get_metrics_data().to_json()
    assert "hansard.calls.failed" in told
    assert "hansard.replies.rejected" in told
    assert "HIDDEN" not in told
    assert result.debate not in told


def test_a_meter_that_fails_costs_debate_and_spans_nothing_and_is_told_once(traced, caplog):
    def broken(*_):
        raise RuntimeError("sk-SECRET")

    instruments = vars(traced.observe._instruments)
    instruments.update(dict.fromkeys(instruments, SimpleNamespace(add=broken, record=broken)))
    with caplog.at_level(logging.WARNING, "hansard.telemetry"):
        result = traced.play("consensus")
    assert hansard.verify(traced.store, result.debate).ok
    assert len(traced.named("chat")) == result.calls.asked
    told = [row.getMessage() for row in caplog.records if row.name == "hansard.telemetry"]
    assert told == ["telemetry is not whole: RuntimeError in the meter"]


WITHOUT = """
import sys
for name in {hidden!r}:
    sys.modules[name] = None
from hansard.cli.main import cli
cli()
"""


def command(tmp_path, *args, hidden=(), **env):
    code = WITHOUT.format(hidden=list(hidden))
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HANSARD_HOME": str(tmp_path / "home"), **env},
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
    )


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_debate({"planner": "release", "critic": "release"}, name="debate.yaml")
    return tmp_path


def test_the_command_line_sends_spans_and_metrics_by_otlp(scripted):
    received = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        done = command(
            scripted,
            "run",
            "debate.yaml",
            "--telemetry",
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_EXPORTER_OTLP_TIMEOUT=str(GUARD),
            OTEL_SERVICE_NAME="debates",
        )
        server.shutdown()
    assert done.returncode == 0, done.stderr
    sent = dict(received)
    assert sorted(sent) == ["/v1/metrics", "/v1/traces"]
    body = b"".join(sent.values())
    assert b"hansard.debates" in sent["/v1/metrics"]
    assert b"gen_ai.client.operation.duration" in sent["/v1/metrics"]
    assert body.count(b"invoke_agent debater") == 2
    assert b"debates" in body
    assert b"Shall we release?" not in body


def test_the_command_line_goes_on_with_spans_and_metrics(scripted):
    write_debate({"planner": "release", "critic": "revise"}, max_rounds=1, collection_id="board")
    debate = leave_open(turns=4)
    env = {"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "console"}
    done = command(scripted, "resume", debate, "--telemetry", **env)
    assert done.returncode == 0, done.stderr
    ended = {"hansard.format": "consensus", "hansard.ending": "escalate"}
    assert f'"attributes": {json.dumps(ended)}' in re.sub(r"\s+", " ", done.stdout).replace(
        "{ ", "{"
    ).replace(" }", "}")
    assert '"name": "invoke_workflow ' in done.stdout
    assert '"hansard.collection.id": "board"' in done.stdout
    assert '"hansard.agent.type": "sub"' in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("hidden", ["opentelemetry", "opentelemetry.sdk.trace"])
def test_without_the_packages_the_command_line_says_what_is_missing(scripted, hidden):
    done = command(scripted, "run", "debate.yaml", "--telemetry", hidden=[hidden])
    assert done.returncode == 2
    (said,) = done.stderr.splitlines()
    assert said.startswith("error: ")
    assert said.endswith("[telemetry.missing]")
    assert not command(scripted, "list", "--json").stdout.count("scripted")


def test_the_extra_brings_all_that_the_command_line_sends_spans_with():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extra = project["project"]["optional-dependencies"]["otel"]
    named = {row.partition(">")[0] for row in extra}
    exporters_ = {
        each.dist.name
        for signal in ("traces", "metrics")
        for each in entry_points(group=f"opentelemetry_{signal}_exporter", name="otlp_proto_http")
    }
    assert len(exporters_) == 1
    assert named == {"opentelemetry-api", "opentelemetry-sdk", *exporters_}


@pytest.mark.parametrize(
    ("variable", "value", "package"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "opentelemetry-exporter-otlp-proto-grpc"),
        ("OTEL_TRACES_EXPORTER", "zipkin", "opentelemetry-exporter-zipkin"),
        ("OTEL_METRICS_EXPORTER", "prometheus", "opentelemetry-exporter-prometheus"),
    ],
)
def test_an_exporter_that_is_not_there_is_named(monkeypatch, variable, value, package):
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=f"install {package}$") as raised, telemetry.exporting():
        pass
    assert raised.value.code == "telemetry.missing"


def test_an_exporter_that_cannot_be_made_is_told_without_its_words(monkeypatch):
    def broken():
        raise ValueError("sk-SECRET")

    found = [SimpleNamespace(load=lambda: broken)]
    monkeypatch.setattr(exporters, "entry_points", lambda **_: found)
    with pytest.raises(UsageError, match="ValueError") as raised, telemetry.exporting():
        pass
    assert raised.value.code == "telemetry.exporter"
    assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize("headers", ["Bearer sk-SECRET", "a=b,authorization: sk-SECRET"])
def test_headers_that_cannot_be_read_are_told_of_without_their_words(monkeypatch, caplog, headers):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", headers)
    with pytest.raises(UsageError, match="URL-encoded") as raised, telemetry.exporting():
        pass
    assert raised.value.code == "telemetry.exporter"
    assert "SECRET" not in str(raised.value) + caplog.text


def test_the_environment_may_ask_for_no_exporter(monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    with telemetry.exporting() as observe:
        assert isinstance(observe, telemetry.SpanObserver)


def test_a_reader_that_others_read_is_taken_as_it_is(monkeypatch):
    reader = InMemoryMetricReader()
    found = [SimpleNamespace(load=lambda: lambda: reader)]
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setattr(exporters, "entry_points", lambda **_: found)
    with telemetry.exporting() as observe:
        for event in support.eventful().record.events:
            observe(event)
        assert "hansard.debates" in reader.get_metrics_data().to_json()


def test_an_interval_that_cannot_be_is_a_usage_error(monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "console")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "0")
    with pytest.raises(UsageError, match="ValueError") as raised, telemetry.exporting():
        pass
    assert raised.value.code == "telemetry.exporter"


def test_a_filter_that_is_none_is_a_usage_error(monkeypatch):
    monkeypatch.setenv("OTEL_METRICS_EXEMPLAR_FILTER", "sk-SECRET")
    with pytest.raises(UsageError, match="ValueError") as raised, telemetry.exporting():
        pass
    assert raised.value.code == "telemetry.exporter"
    assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("OTEL_BSP_SCHEDULE_DELAY", "ValueError; check OTEL_BSP_SCHEDULE_DELAY"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "ValueError; check OTEL_BSP_MAX_QUEUE_SIZE"),
        ("OTEL_EXPERIMENTAL_RESOURCE_DETECTORS", "StopIteration; check OTEL_*"),
    ],
)
def test_a_value_that_the_library_would_pass_over_is_a_usage_error(
    monkeypatch, caplog, variable, said
):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    monkeypatch.setenv(variable, "sk-SECRET")
    with pytest.raises(UsageError) as raised, telemetry.exporting():
        pass
    assert raised.value.code == "telemetry.exporter"
    assert str(raised.value).endswith(f" cannot be set up: {said}")
    assert "SECRET" not in str(raised.value) + caplog.text


def test_a_limit_that_is_none_is_a_usage_error(scripted):
    """The SDK reads it while it is imported, so this takes a process of its own."""
    env = {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "many"}
    done = command(scripted, "run", "debate.yaml", "--telemetry", **env)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("[telemetry.exporter]\n")


def test_what_cannot_be_sent_at_the_end_is_told_without_its_words(monkeypatch, caplog):
    class Stuck(InMemoryMetricReader):
        def shutdown(self, timeout_millis=0, **_):
            raise RuntimeError("sk-SECRET")

    found = [SimpleNamespace(load=lambda: Stuck)]
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setattr(exporters, "entry_points", lambda **_: found)
    with telemetry.exporting():
        pass
    assert "telemetry is not whole: Exception at the end" in caplog.text
    assert "SECRET" not in caplog.text


def test_a_collector_that_is_not_there_costs_the_debate_nothing(scripted):
    done = command(
        scripted,
        "run",
        "debate.yaml",
        "--telemetry",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
        OTEL_EXPORTER_OTLP_TIMEOUT="1",
    )
    assert done.returncode == 0
    assert "Decision    release" in done.stdout


@contextmanager
def collector(monkeypatch, status, headers=(), body=b""):
    """A collector that the environment names, which answers so; how much of the body was taken."""
    taken = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            taken.append(0)
            self.send_response(status, "sk-\x1b[31m")
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-length", str(64 * len(body)))
            self.end_headers()
            with suppress(OSError):
                for _ in range(64 * bool(body)):
                    self.wfile.write(body)
                    taken[-1] += len(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", str(GUARD))
        yield taken
        server.shutdown()


def send():
    with telemetry.exporting() as observe:
        for event in support.eventful().record.events:
            observe(event)


def test_a_collectors_answer_is_not_read(monkeypatch, caplog):
    with collector(monkeypatch, 200, body=bytes(1 << 20)) as taken:
        send()
    assert len(taken) == 2
    assert max(taken) < 64 << 20
    assert caplog.text == ""


def test_a_collector_sends_nothing_elsewhere(monkeypatch, caplog):
    """What the exporter is given follows no redirect, whatever the exporter asks for."""
    with collector(monkeypatch, 307, [("location", "/elsewhere")]) as taken:
        send()
        endpoint = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
        session = sending.options(OTLPSpanExporter)["session"]
        with pytest.raises(requests.TooManyRedirects):
            session.post(endpoint, data=b"", headers={"x-key": "sk-SECRET"}, allow_redirects=True)
    assert len(taken) == 3
    assert "telemetry may not be whole: TooManyRedirects in the trace_exporter" in caplog.text


def test_who_names_a_session_keeps_it(monkeypatch):
    monkeypatch.setenv("OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER", "theirs")
    assert not sending.options(OTLPSpanExporter)


def test_a_collector_may_ask_to_wait(monkeypatch):
    with collector(monkeypatch, 503, [("retry-after", "7"), ("x-other", "8")]):
        session = sending.options(OTLPSpanExporter)["session"]
        said = session.post(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], data=b"")
    assert (said.status_code, said.reason) == (503, "Service Unavailable")
    assert dict(said.headers) == {"retry-after": "7"}
    assert not said.content


def test_no_word_of_a_collector_is_told(monkeypatch, caplog):
    with collector(monkeypatch, 400):
        send()
        send()
    assert sorted(caplog.messages) == [
        *2 * ["telemetry may not be whole: 400 in the metric_exporter"],
        *2 * ["telemetry may not be whole: 400 in the trace_exporter"],
    ]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=sk-SECRET%0D%0Amore"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "htp://sk-SECRET@127.0.0.1"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:99999/?token=sk-SECRET"),
    ],
)
def test_no_key_is_told_where_nothing_can_be_sent(monkeypatch, caplog, variable, value):
    monkeypatch.setenv(variable, value)
    send()
    assert "telemetry may not be whole: Inv" in caplog.text
    assert "SECRET" not in caplog.text


def test_an_error_in_what_sends_is_told_by_its_class_once(monkeypatch, caplog):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    with telemetry.exporting():
        for _ in range(2):
            logging.getLogger("opentelemetry.sdk.some").error(
                "sent %(what)s", {"what": "sk-SECRET"}, exc_info=ValueError("sk-SECRET")
            )
    assert caplog.messages == ["telemetry may not be whole: ValueError in the some"]


def test_importing_the_library_imports_no_telemetry():
    code = "import hansard, sys; print('opentelemetry.trace' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_the_module_without_its_extra_is_a_usage_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "hansard.telemetry")
    with pytest.raises(UsageError, match=r"not installed: pip install .*\[otel\]") as raised:
        __import__("hansard.telemetry")
    assert raised.value.code == "telemetry.missing"
