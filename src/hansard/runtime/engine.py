"""The engine: does what the rules say is due, and records it, until the debate is closed.

Its loop asks `decide`, records facts, and calls models. A call is recorded as
started and made durable before its model hears of it, and its end is durable
before anything else is waited for, so a crash never loses a reply that was
paid for and never hides a call that was made.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

from hansard.debate import steps
from hansard.debate.events import (
    CallAnsweredData,
    CallFailedData,
    CallStartedData,
    Event,
    Fact,
    ToolCalledData,
)
from hansard.debate.fields import Blob, Rejection
from hansard.debate.formats.common import Compare
from hansard.debate.prompts import Message, Prompt, Renderer
from hansard.debate.spec_parts import NAME
from hansard.debate.state import DebateState, Step, evolve
from hansard.debate.steps import Ask, Read
from hansard.debate.transcript import CUSTOM, Transcript
from hansard.record.canonical import TEXT
from hansard.runtime.clock import Clock
from hansard.runtime.journal import Journal, Observer
from hansard.runtime.models.base import (
    Completion,
    Model,
    ModelError,
    Request,
    ToolCall,
)
from hansard.runtime.output import checker
from hansard.runtime.tools import Tool
from hansard.version import __version__

ENGINE = f"hansard/{__version__}"


@dataclass(slots=True)
class _Running:
    """A call in the air."""

    started: CallStartedData
    began: float
    deadline: float


@dataclass(slots=True)
class _Using:
    """A tool that is being used."""

    called: ToolCalledData
    deadline: float


class Engine:
    """Runs one debate whose opening is recorded.

    `models` gives the model of each seat, `templates` the bytes of every
    template hash; `journal` must stand at the end of the record that `state`
    was folded from. `approved` gives the approved template hash of each role
    where the debate was opened under a policy. `observe` is called with every
    event, after it is folded.
    """

    def __init__(
        self,
        state: DebateState,
        journal: Journal,
        models: Mapping[str, Model],
        templates: Mapping[str, bytes],
        clock: Clock,
        approved: Mapping[str, str] | None = None,
        observe: Observer | None = None,
        tools: Mapping[str, Tool] | None = None,
    ) -> None:
        self.state = state
        self._journal = journal
        self._models = models
        self._clock = clock
        self._approved = approved
        self._templates = templates
        self._observe = observe
        self._transcript = Transcript(state)
        self._rendering = threading.Lock()
        self._renderer = Renderer(templates, journal.texts.__getitem__)
        self._broken: BaseException | None = None  # what the observer raised
        self._replies: dict[str, Mapping[str, Any]] = {}  # that count, by call, until recorded
        self._running: dict[asyncio.Task[Completion], _Running] = {}
        self._tools = tools or {}
        self._using: dict[asyncio.Task[tuple[str, bool]], _Using] = {}

    async def run(self) -> DebateState:
        """Go on until the debate is closed and return its state.

        When cancelled, replies that have arrived are recorded, calls in the
        air stay open in the record, and the debate can be resumed.
        """
        try:
            while (due := steps.decide(self.state)) is not None:
                if self._broken:
                    raise self._broken
                if isinstance(due, Ask):
                    await self._ask(due)
                else:
                    self._record(self._derived(due))
            self._journal.flush()
        finally:
            self._stop()
        if self._broken:
            raise self._broken
        return self.state

    def resumed(self) -> None:
        """Record that this process took the debate over."""
        self._record(Fact("debate.resumed", {"engine": ENGINE}))

    async def _ask(self, due: Ask) -> None:
        """Make the calls that are due, as far as templates and ceilings admit, and wait for one."""
        if due.steps and (refused := self._refusal(due.steps[0])):
            self._record(refused)
            return
        started = []
        for step in due.steps:
            call = self._start(step)
            if call is None:
                break
            started.append((step, *call))
        self._journal.flush()
        for step, data, prompt in started:
            self._call(step, data, prompt)
        self._close_lost_tools()
        if self._running or self._using:
            await self._wait()

    def _derived(self, due: Read | Compare | Fact) -> Fact:
        """Return the fact that follows from replies in hand, or from the rules alone."""
        if isinstance(due, Read):
            return self._read(due)
        if isinstance(due, Compare):
            found = steps.answers(self.state, due.round, self._journal.texts.get)
            assert found is not None, "no text is gone while a debate runs"
            return steps.compare(self.state, due, found)
        return due

    def _record(self, fact: Fact, at: str | None = None) -> Event:
        event = self._journal.add(fact, at)
        evolve(self.state, event)
        if self._observe and not self._broken:
            try:
                self._observe(event)
            except BaseException as error:  # noqa: BLE001 - raised again once all is stored
                self._broken = error
        return event

    def _refusal(self, step: Step) -> Fact | None:
        """Hash each role's template again: a call is made only with approved ones."""
        if self._approved is None:
            return None
        found = {
            row["role"]: sha256(self._templates[row["sha256"]]).hexdigest()
            for row in self.state.spec["templates"]
        }
        return steps.refusal(self.state, step.id, self._approved, found)

    def _read(self, due: Read) -> Fact:
        call = due.answer["call"]
        if call not in self._replies:  # it came before this process took over
            text = self._journal.texts[due.answer["reply"]["sha256"]]
            self._keep(due.answer, text)
        return steps.record(self.state, due.step, call, self._replies.pop(call))

    def _keep(self, answer: CallAnsweredData, text: str) -> Rejection | None:
        """Read a reply and keep it for its turn; return the code that says why not, if not."""
        reply = steps.read_reply(self.state, answer, text, self._journal.texts.get)
        if isinstance(reply, str):
            return reply
        if "schema" in reply and not checker(self._templates[reply["schema"]])(text):
            return "output_schema"
        self._replies[answer["call"]] = reply
        return None

    def _start(self, step: Step) -> tuple[CallStartedData, Prompt] | None:
        """Record that a call starts; None where it could break a ceiling.

        A debate is cut short only once nothing is in the air: what comes back
        may have used less than was reserved for it.
        """
        prompt = self._transcript.prompt(step)
        data = steps.start(self.state, step, prompt)
        sent = [self._templates[data["schema"]], *(row.document for row in self._offered(step))]
        with self._rendering:
            size = self._renderer.size(prompt) + sum(map(len, sent))
        # Three bytes a token: prose in Latin script has about four, CJK script three.
        tokens_in = -(-size // 3)
        tokens_out = data["parameters"]["max_tokens"] or 0
        spent = (tokens_in, 0, tokens_out)
        data |= {
            "reserved_tokens_in": tokens_in,
            "reserved_tokens_out": tokens_out,
            "reserved_cost_micro_usd": steps.cost(self.state.spec["prices"], data["model"], spent),
        }
        at = self._journal.time()
        over = steps.exceeded(self.state, step.id, data, at)
        if over:
            if not steps.in_the_air(self.state):
                self._record(over, at)
            return None
        self._record(Fact("call.started", data), at)
        return cast(CallStartedData, data), prompt

    def _call(self, step: Step, data: CallStartedData, prompt: Prompt) -> None:
        spec, seat = self.state.spec, self.state.seats[step.speaker]
        schema = steps.schema_of(self.state, seat["role"])
        if schema is None:
            schema = json.loads(self._templates[data["schema"]])
        request = Request(
            call=data["call"],
            round=step.round,
            phase=step.phase,
            speaker=step.speaker,
            role=seat["role"],
            agent_type=seat["agent_type"],
            collection_id=spec["collection_id"],
            model=data["model"],
            parameters=data["parameters"],
            reply_schema=schema,
            tools=tuple(tool.definition for tool in self._offered(step)),
            render=lambda: self._render(prompt),
        )
        began = self._clock.monotonic()
        task = asyncio.ensure_future(_ask(self._models[step.speaker], request))
        self._running[task] = _Running(data, began, began + spec["timeout_ms"] / 1000)

    def _render(self, prompt: Prompt) -> list[Message]:
        """Return the messages of a prompt; a sync callable asks from a thread of its own."""
        with self._rendering:
            return self._renderer.messages(prompt)

    def _offered(self, step: Step) -> list[Tool]:
        """Return the tools of a call: those of the spec, until the step's rounds are used up."""
        progress = self.state.steps.get(step.id)
        custom = self.state.seats[step.speaker]["model"].startswith(CUSTOM)
        if custom or (progress and progress.tool_rounds >= self.state.spec["tool_rounds"]):
            return []
        return list(self._tools.values())

    def _use(self, answer: CallAnsweredData, calls: tuple[ToolCall, ...]) -> None:
        """Record which tools a reply asks for, and begin to use them."""
        for number, call in enumerate(calls, 1):
            name = call.name if NAME(call.name) else self._journal.blob(call.name)
            arguments = self._journal.blob(call.arguments)
            data = {"call": answer["call"], "number": number, "tool": name, "arguments": arguments}
            event = self._record(Fact("tool.called", data))
            assert event["type"] == "tool.called"
            deadline = self._clock.monotonic() + self.state.spec["timeout_ms"] / 1000
            task = asyncio.ensure_future(_use(self._tools.get(call.name), call))
            self._using[task] = _Using(event["data"], deadline)

    def _close_lost_tools(self) -> None:
        """Say of tools that another process was using that nothing came back."""
        used = {(row.called["call"], row.called["number"]) for row in self._using.values()}
        for progress in self.state.steps.values():
            for use in progress.tools:
                key = (use.called["call"], use.called["number"])
                if use.returned is None and key not in used:
                    self._returned(use.called, "the process that used the tool died", ok=False)

    def _returned(self, called: ToolCalledData, result: str, *, ok: bool) -> None:
        data = {"call": called["call"], "number": called["number"], "ok": ok}
        self._record(Fact("tool.returned", data | {"result": self._journal.blob(result)}))

    async def _wait(self) -> None:
        """Wait for the first call or tool to end or to run out of time, and record every end."""
        deadlines = [row.deadline for row in self._running.values()]
        deadline = min([*deadlines, *(row.deadline for row in self._using.values())])
        left = max(0.0, deadline - self._clock.monotonic())
        tasks = [*self._running, *self._using]
        await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        now = self._clock.monotonic()
        if now >= deadline:
            for _ in range(3):  # where the loop was held up, what came in time is seen first
                await asyncio.sleep(0)
        self._collect()
        for task, running in list(self._running.items()):
            if running.deadline <= now:
                del self._running[task]
                task.cancel()
                self._failed(running, ModelError("timeout"))
        for tool, using in list(self._using.items()):
            if using.deadline <= now:
                del self._using[tool]
                tool.cancel()
                self._returned(using.called, "the tool did not answer in time", ok=False)
        self._journal.flush()

    def _collect(self) -> None:
        """Record the ends of all calls and tools that are over."""
        for used in [task for task in self._using if task.done()]:
            using = self._using.pop(used)
            cancelled = used.cancelled() or used.exception() is not None
            result, ok = ("the tool was stopped", False) if cancelled else used.result()
            self._returned(using.called, result, ok=ok)
        for task in [task for task in self._running if task.done()]:
            running = self._running.pop(task)
            if task.cancelled():
                self._failed(running, ModelError("crashed", "CancelledError"))
            elif error := task.exception():
                self._failed(running, error if isinstance(error, ModelError) else _crash(error))
            else:
                self._answered(running, task.result())

    def _failed(self, running: _Running, error: ModelError) -> None:
        data: CallFailedData = {
            "call": running.started["call"],
            "error": error.kind,
            "detail": error.detail,
            "again": steps.again(self.state, running.started["step"], error.kind),
            "cost_micro_usd": None,
            "latency_ms": self._latency(running),
        }
        self._record(Fact("call.failed", data))

    def _answered(self, running: _Running, completion: Completion) -> None:
        started = running.started
        tokens = (completion.tokens_in, completion.tokens_cached, completion.tokens_out)
        custom = started["model"].startswith(CUSTOM)  # it was offered no tools
        asked = () if custom else completion.tool_calls
        answer: dict[str, Any] = {
            "call": started["call"],
            "reply": self._journal.blob(completion.text),
            "model": self._name(completion.model) or started["model"],
            "response_id": self._name(completion.response_id),
            "request_id": self._name(completion.request_id),
            "fingerprint": self._name(completion.fingerprint),
            "finish": "tool_calls" if completion.tool_calls else completion.finish,
            "tools": len(asked),
            "tokens_in": completion.tokens_in,
            "tokens_cached": completion.tokens_cached,
            "tokens_out": completion.tokens_out,
            "cost_micro_usd": steps.cost(self.state.spec["prices"], started["model"], tokens),
            "latency_ms": self._latency(running),
            "sent_as_rendered": completion.sent_as_rendered,
            "sent": self._journal.blob(completion.sent) if completion.sent else None,
        }
        event = self._record(Fact("call.answered", answer))
        assert event["type"] == "call.answered"
        if self.state.announcing:
            self._use(event["data"], asked)
            return
        rejected = self._keep(event["data"], completion.text)
        if rejected:
            weak = rejected == "weak_critique"
            rating = steps.rating_of(completion.text) if weak else None
            step, call = started["step"], started["call"]
            self._record(steps.reject(self.state, step, call, rejected, rating))

    def _name(self, text: str | None) -> str | Blob | None:
        """A provider's string stands in the line if it fits there, else it is a blob."""
        return text if text is None or TEXT(text) else self._journal.blob(text)

    def _latency(self, running: _Running) -> int:
        return int((self._clock.monotonic() - running.began) * 1000)

    def _stop(self) -> None:
        """Keep what has arrived and let go of the rest."""
        try:
            self._collect()
        finally:
            try:
                self._journal.flush()  # once more where the store failed: it was paid for
            finally:
                for task in (*self._running, *self._using):
                    task.cancel()


async def _use(tool: Tool | None, call: ToolCall) -> tuple[str, bool]:
    """Return what a tool gives for the arguments that a model wrote."""
    return await tool.call(call.arguments) if tool else ("there is no such tool", False)


def _crash(error: BaseException) -> ModelError:
    """Return a failure that names the kind of `error`: its text may quote a key.

    Whoever writes the model sees all of it with HANSARD_DEBUG=1.
    """
    if os.environ.get("HANSARD_DEBUG") == "1":
        traceback.print_exception(error)
    return ModelError("crashed", type(error).__name__)


async def _ask(model: Model, request: Request) -> Completion:
    """Call `model`, holding it to its side of the seam."""
    completion = await model.complete(request)
    if not isinstance(completion, Completion):
        raise TypeError("a model must return a Completion")
    return completion
