"""The engine: does what the rules say is due, and records it, until the debate is closed.

Its loop asks `decide`, records facts, and calls models. A call is recorded as
started and made durable before its model hears of it, and its end is durable
before anything else is waited for, so a crash never loses a reply that was
paid for and never hides a call that was made.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

from hansard.rules import spending, steps
from hansard.rules.events import (
    CallAnsweredData,
    CallStartedData,
    Event,
    Fact,
    ToolCalledData,
)
from hansard.rules.formats.base import Compare, NotCounted
from hansard.rules.prompts import Message, Prompt, Renderer
from hansard.rules.spec_parts import NAME, has_server
from hansard.rules.state import DebateState, Step, evolve
from hansard.rules.steps import Ask, Read
from hansard.rules.transcript import CUSTOM, Transcript
from hansard.runtime import outcomes
from hansard.runtime.clock import Clock
from hansard.runtime.journal import Journal, Observer
from hansard.runtime.models.base import (
    Completion,
    Model,
    ModelError,
    Request,
    ToolCall,
    complete,
)
from hansard.runtime.output import checker
from hansard.runtime.pacing import Pace, Release, nothing, wait_ms
from hansard.runtime.tools import Tool, use
from hansard.version import __version__

ENGINE = f"hansard/{__version__}"
BYTES_A_TOKEN = 3  # as reserved: prose in Latin script has about four, CJK script three


@dataclass(slots=True)
class _Running:
    """A call in flight."""

    started: CallStartedData
    began: float
    deadline: float
    release: Release


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
        self._pace = Pace(leading_call=state.spec["leading_call"])
        deliverable = [row for row in state.spec["schemas"] if row["role"] == "synthesizer"]
        own = json.loads(templates[deliverable[0]["sha256"]]) if deliverable else None
        self._schemas = steps.schemas_by_model(state, own)

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
            await self._journal.commit()
        finally:
            self._stop()
        if self._broken:
            raise self._broken
        return self.state

    def resumed(self) -> None:
        """Record that this process took the debate over; waits that were asked for go on."""
        now = self._journal.time()
        for step, progress in self.state.steps.items():
            waited = spending.milliseconds(progress.failed_at or now, now)
            self._pause(step, max(0, progress.wait_ms - waited))
        self._record(Fact("debate.resumed", {"engine": ENGINE}))

    def _pause(self, step: str, wait_ms: int) -> None:
        if wait_ms:
            self._pace.pause(step, self._clock.monotonic() + wait_ms / 1000)

    async def _ask(self, due: Ask) -> None:
        """Make the calls that may be made now, and wait until one ends or another may be made."""
        if due.steps and (refused := self._refusal(due.steps[0])):
            self._record(refused)
            return
        started = []
        for step in due.steps:
            release = self._turn_of(step)
            if release is None:
                continue
            call = self._start(step, is_first=step is due.steps[0])
            if call is None:
                release()
                break
            started.append((step, *call, release))
        try:
            await self._journal.commit()
        except BaseException:
            for *_, release in started:
                release()
            raise
        for step, data, prompt, release in started:
            self._call(step, data, prompt, release)
        self._close_lost_tools()
        if self._running or self._using or not self.state.truncated:
            await self._wait()

    def _turn_of(self, step: Step) -> Release | None:
        """Return the release of a place for the call, or None where the call has to wait."""
        if self._time_left() == 0:
            return nothing  # no call will be made
        model = self.state.seats[step.speaker]["model"]
        if self._pace.paused(step.id, self._clock.monotonic()):
            return None
        in_the_air = {call["step"] for call in self.state.calls.values()}
        if self._pace.follows((step.round, step.phase, model), step.id, in_the_air):
            return None
        return self._pace.place(model)

    def _time_left(self) -> float | None:
        """Return the seconds until the ceiling on time is met; None where there is none."""
        limit = self.state.spec["limits"]["elapsed_ms"]
        if limit is None:
            return None
        elapsed = spending.milliseconds(self.state.opened_at, self._journal.time())
        return max(0, limit - elapsed) / 1000

    def _derived(self, due: Read | Compare | Fact) -> Fact:
        """Return the fact that follows from replies in hand, or from the rules alone."""
        if isinstance(due, Read):
            return self._read(due)
        if isinstance(due, Compare):
            found = steps.answers(self.state, due, self._journal.texts.get)
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

    def _keep(self, answer: CallAnsweredData, text: str) -> NotCounted | None:
        """Read a reply and keep it for its turn; return why it does not count, if it does not."""
        reply = steps.read_reply(self.state, answer, text, self._journal.texts.get)
        if isinstance(reply, NotCounted):
            return reply
        if "schema" in reply and not checker(self._templates[reply["schema"]])(text):
            return NotCounted("output_schema")
        self._replies[answer["call"]] = reply
        return None

    def _start(self, step: Step, *, is_first: bool) -> tuple[CallStartedData, Prompt] | None:
        """Record that a call starts; None where it could break a ceiling.

        A debate is cut short only at the first step that is due, and once nothing is in the
        air: what comes back may have used less than was reserved for it.
        """
        prompt = self._transcript.prompt(step)
        data = steps.start(self.state, step, prompt)
        sent = [self._templates[data["schema"]], *(row.document for row in self._offered(step))]
        if has_server(data["model"]):  # which may ask for one envelope of all schemas
            sent += [json.dumps(row).encode() for row in self._schemas.get(data["model"], ())]
        with self._rendering:
            size = self._renderer.size(prompt) + sum(map(len, sent))
        tokens_in = -(-size // BYTES_A_TOKEN)
        tokens_out = data["parameters"]["max_tokens"] or 0
        data |= {
            "reserved_tokens_in": tokens_in,
            "reserved_tokens_out": tokens_out,
            "reserved_cost_micro_usd": spending.dearest(
                self.state.spec["prices"], data["model"], tokens_in, tokens_out
            ),
        }
        at = self._journal.time()
        over = spending.exceeded(self.state, step.id, data, at)
        if over:
            if is_first and not steps.in_the_air(self.state):
                self._record(over, at)
            return None
        self._record(Fact("call.started", data), at)
        return cast(CallStartedData, data), prompt

    def _call(self, step: Step, data: CallStartedData, prompt: Prompt, release: Release) -> None:
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
            schemas=self._schemas.get(data["model"], ()),
            tools=tuple(tool.definition for tool in self._offered(step)),
            render=lambda: self._render(prompt),
        )
        began = self._clock.monotonic()
        task = asyncio.ensure_future(complete(self._models[step.speaker], request))
        task.add_done_callback(lambda _: release())
        task.add_done_callback(_looked_at)
        self._running[task] = _Running(data, began, began + spec["timeout_ms"] / 1000, release)

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
        """Record which tools a reply asks for, and begin to use them once that is stored."""
        wanted = []
        for number, call in enumerate(calls, 1):
            name = call.name if NAME(call.name) else self._journal.blob(call.name)
            arguments = self._journal.blob(call.arguments)
            data = {"call": answer["call"], "number": number, "tool": name, "arguments": arguments}
            event = self._record(Fact("tool.called", data))
            assert event["type"] == "tool.called"
            wanted.append((call, event["data"]))
        self._journal.flush()
        for call, called in wanted:
            deadline = self._clock.monotonic() + self.state.spec["timeout_ms"] / 1000
            task = asyncio.ensure_future(use(self._tools.get(call.name), call.arguments))
            task.add_done_callback(_looked_at)
            self._using[task] = _Using(called, deadline)

    def _close_lost_tools(self) -> None:
        """Say of tools that another process was using that nothing came back."""
        used = {(row.called["call"], row.called["number"]) for row in self._using.values()}
        for progress in self.state.steps.values():
            for tool in progress.tools:
                key = (tool.called["call"], tool.called["number"])
                if tool.returned is None and key not in used:
                    self._returned(tool.called, "the process that used the tool died", ok=False)

    def _returned(self, called: ToolCalledData, result: str, *, ok: bool) -> None:
        data = {"call": called["call"], "number": called["number"], "ok": ok}
        self._record(Fact("tool.returned", data | {"result": self._journal.blob(result)}))

    async def _wait(self) -> None:
        """Wait for the first call or tool to end or to run out of time, and record every end."""
        now = self._clock.monotonic()
        deadlines = [row.deadline for row in self._running.values()]
        deadlines += [row.deadline for row in self._using.values()]
        pause, left = self._pace.next_end(now), self._time_left()
        ends = [*deadlines, *([] if pause is None else [pause])]
        if (
            left is not None
        ):  # when it is up, whoever waits for a place or a pause is not asked any more
            ends.append(now + left)
        what: list[asyncio.Future[Any]] = [*self._running, *self._using, *self._pace.waited_for]
        if not (ends or what):
            return
        left = max(0.0, min(ends) - now) if ends else None
        if what:
            await asyncio.wait(what, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(left or 0.0)
        deadline = min(deadlines, default=float("inf"))
        now = self._clock.monotonic()
        if now >= deadline:
            for _ in range(3):  # where the loop was held up, what came in time is seen first
                await asyncio.sleep(0)
        self._collect()
        for task, running in list(self._running.items()):
            if running.deadline <= now:
                del self._running[task]
                task.cancel()
                running.release()
                self._failed(running, ModelError("timeout"))
        for tool, using in list(self._using.items()):
            if using.deadline <= now:
                del self._using[tool]
                tool.cancel()
                self._returned(using.called, "the tool did not answer in time", ok=False)
        await self._journal.commit()

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
                self._failed(running, outcomes.as_error(error))
            else:
                self._answered(running, task.result())

    def _failed(self, running: _Running, error: ModelError) -> None:
        started = running.started
        tries = self.state.steps[started["step"]].tries
        wait = wait_ms(started["model"], error, tries, self._clock.chance())
        data = outcomes.failed(started, error, wait, self._latency(running), self._journal.blob)
        at = self._journal.time()
        data["again"] = steps.again_after(self.state, started["step"], data, at)
        self._record(Fact("call.failed", data), at)
        self._pause(started["step"], wait or 0)

    def _answered(self, running: _Running, completion: Completion) -> None:
        started = running.started
        custom = started["model"].startswith(CUSTOM)  # it was offered no tools
        asked = () if custom else completion.tool_calls
        answer = outcomes.answered(
            started,
            completion,
            len(asked),
            self.state.spec["prices"],
            self._latency(running),
            self._journal.blob,
        )
        event = self._record(Fact("call.answered", answer))
        assert event["type"] == "call.answered"
        if self.state.announcing:
            self._use(event["data"], asked)
            return
        refused = self._keep(event["data"], completion.text)
        if refused:
            self._record(steps.reject(self.state, started["step"], started["call"], refused))

    def _latency(self, running: _Running) -> int:
        return int((self._clock.monotonic() - running.began) * 1000)

    def _stop(self) -> None:
        """Keep what has arrived and let go of the rest."""
        self._pace.close()
        try:
            self._collect()
        finally:
            try:
                self._journal.flush()  # once more where the store failed: it was paid for
            finally:
                for task in (*self._running, *self._using):
                    task.cancel()


def _looked_at(task: asyncio.Task[Any]) -> None:
    """Look at what a call or tool raised, also one given up: asyncio would print its text."""
    if not task.cancelled():
        task.exception()
