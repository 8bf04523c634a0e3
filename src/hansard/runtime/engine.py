"""The engine: does what the rules say is due, and records it, until the debate is closed.

Its loop asks `decide`, records facts, and calls models. A call is recorded as
started and made durable before its model hears of it, and its end is durable
before anything else is waited for, so a crash never loses a reply that was
paid for and never hides a call that was made.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

from hansard.debate import steps
from hansard.debate.events import (
    Blob,
    CallAnsweredData,
    CallFailedData,
    CallStartedData,
    Event,
    Fact,
    Rejection,
)
from hansard.debate.formats import FORMATS
from hansard.debate.prompts import Prompt, Renderer
from hansard.debate.state import DebateState, Step, evolve
from hansard.debate.steps import Ask, Read
from hansard.debate.transcript import Transcript
from hansard.record.canonical import TEXT
from hansard.runtime.clock import Clock
from hansard.runtime.journal import Journal, Observer
from hansard.runtime.models.base import Completion, Model, ModelError, Request
from hansard.version import __version__

ENGINE = f"hansard/{__version__}"


@dataclass(slots=True)
class _Running:
    """A call in the air."""

    started: CallStartedData
    began: float
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
    ) -> None:
        self.state = state
        self._journal = journal
        self._models = models
        self._clock = clock
        self._approved = approved
        self._templates = templates
        self._observe = observe
        self._transcript = Transcript(state)
        self._renderer = Renderer(templates, journal.texts.__getitem__)
        self._broken: BaseException | None = None  # what the observer raised
        self._replies: dict[str, Mapping[str, Any]] = {}  # that count, by call, until recorded
        self._running: dict[asyncio.Task[Completion], _Running] = {}

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
                    if due.steps and (refused := self._refusal(due.steps[0])):
                        self._record(refused)
                        continue
                    started = [(step, *self._start(step)) for step in due.steps]
                    self._journal.flush()
                    for step, data, prompt in started:
                        self._call(step, data, prompt)
                    await self._wait()
                else:
                    self._record(self._read(due) if isinstance(due, Read) else due)
            self._journal.flush()
        finally:
            self._stop()
        if self._broken:
            raise self._broken
        return self.state

    def resumed(self) -> None:
        """Record that this process took the debate over."""
        self._record(Fact("debate.resumed", {"engine": ENGINE}))

    def _record(self, fact: Fact) -> Event:
        event = self._journal.add(fact)
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
        return steps.record(due.step, call, self._replies.pop(call))

    def _keep(self, answer: CallAnsweredData, text: str) -> Rejection | None:
        """Read a reply and keep it for its turn; return the code that says why not, if not."""
        reply = steps.read_reply(self.state, answer, text)
        if isinstance(reply, str):
            return reply
        self._replies[answer["call"]] = reply
        return None

    def _start(self, step: Step) -> tuple[CallStartedData, Prompt]:
        prompt = self._transcript.prompt(step)
        data = steps.start(self.state, step, prompt)
        # Three bytes a token: prose in Latin script has about four, CJK script three.
        tokens_in = -(-self._renderer.size(prompt) // 3)
        tokens_out = data["parameters"]["max_tokens"] or 0
        spent = (tokens_in, 0, tokens_out)
        data |= {
            "reserved_tokens_in": tokens_in,
            "reserved_tokens_out": tokens_out,
            "reserved_cost_micro_usd": steps.cost(self.state.spec["prices"], data["model"], spent),
        }
        self._record(Fact("call.started", data))
        return cast(CallStartedData, data), prompt

    def _call(self, step: Step, data: CallStartedData, prompt: Prompt) -> None:
        spec = self.state.spec
        request = Request(
            call=data["call"],
            round=step.round,
            phase=step.phase,
            speaker=step.speaker,
            model=data["model"],
            parameters=data["parameters"],
            reply_schema=FORMATS[spec["terms"]["format"]].reply_schema(spec["terms"]["options"]),
            render=lambda: self._renderer.messages(prompt),
        )
        began = self._clock.monotonic()
        task = asyncio.ensure_future(_ask(self._models[step.speaker], request))
        self._running[task] = _Running(data, began, began + spec["timeout_ms"] / 1000)

    async def _wait(self) -> None:
        """Wait for the first call to end or to run out of time, and record every end."""
        deadline = min(running.deadline for running in self._running.values())
        left = max(0.0, deadline - self._clock.monotonic())
        await asyncio.wait(self._running, timeout=left, return_when=asyncio.FIRST_COMPLETED)
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
        self._journal.flush()

    def _collect(self) -> None:
        """Record the ends of all calls that are over."""
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
        answer: dict[str, Any] = {
            "call": started["call"],
            "reply": self._journal.blob(completion.text),
            "model": self._name(completion.model) or started["model"],
            "response_id": self._name(completion.response_id),
            "request_id": self._name(completion.request_id),
            "fingerprint": self._name(completion.fingerprint),
            "finish": completion.finish,
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
        rejected = self._keep(event["data"], completion.text)
        if rejected:
            self._record(steps.reject(self.state, started["step"], started["call"], rejected))

    def _name(self, text: str | None) -> str | Blob | None:
        """A provider's string stands in the line if it fits there, else it is a blob."""
        return text if text is None or TEXT(text) else self._journal.blob(text)

    def _latency(self, running: _Running) -> int:
        return int((self._clock.monotonic() - running.began) * 1000)

    def _stop(self) -> None:
        """Keep what has arrived and let go of the rest."""
        try:
            self._collect()
            self._journal.flush()  # once more where the store failed: what is here was paid for
        finally:
            for task in self._running:
                task.cancel()


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
