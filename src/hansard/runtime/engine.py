"""The engine: does what the rules say is due, and records it, until the debate is closed.

Its loop asks `decide`, records facts, and calls models. A call is recorded as
started and made durable before its model hears of it, and its end is durable
before anything else is waited for or compared, so a crash never loses a reply that
was paid for and never hides a call that was made. What is recorded between two
waits is stored together, unless there is an observer, which may stop the debate.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from copy import deepcopy
from hashlib import sha256
from typing import Any

from hansard.record.bundle import MAX_EXPORT, MAX_FILES
from hansard.record.policy import Approved
from hansard.rules import spending, steps
from hansard.rules.calls import Call, Calls
from hansard.rules.data import CallAnsweredData, CallStartedData, ToolCalledData
from hansard.rules.events import Fact
from hansard.rules.formats.base import Compare, NotCounted
from hansard.rules.prompts import Message, Prompt
from hansard.rules.spec_parts import NAME
from hansard.rules.state import Step, speaker_of, step_of
from hansard.rules.steps import Announce, Ask, Conclude, Due, Read, Resume
from hansard.rules.transcript import CALLABLE, CUSTOM
from hansard.runtime import outcomes
from hansard.runtime.clock import Clock
from hansard.runtime.flights import Flight, Flights
from hansard.runtime.journal import Journal
from hansard.runtime.models.base import (
    MAX_TOOL_CALLS,
    Completion,
    Model,
    ModelError,
    Request,
    ToolCall,
    complete,
    looked,
)
from hansard.runtime.models.callables import in_turn
from hansard.runtime.models.seen import Seen
from hansard.runtime.output import checker
from hansard.runtime.pacing import Pace, Release, server_of
from hansard.runtime.recording import Recording, Stop
from hansard.runtime.tools import TOO_LONG, Room, Tool, use
from hansard.verify.checks import MAX_REPLY
from hansard.version import __version__

ENGINE = f"hansard/{__version__}"
# Bytes of a record in an export after which nobody is asked any more, and that it may have once all
# replies in flight have come: the rest is for what is said after the close, and for other files.
MOST_RECORDED = MAX_EXPORT - (1 << 25)
MOST_IN_ALL = MAX_EXPORT - (1 << 24)
# Texts that a record may have once all replies in flight have come, and beyond which nobody is
# asked: each is a file of an export, beside templates and what is recorded after the close.
MOST_TEXTS = MAX_FILES - 5000
_OF_CALL = 20  # texts that come of a call: what a server writes that fits no line, what a turn says
_OF_TOOL = 3  # of each tool that it may ask for: name, arguments, result
_OF_TEXT = 1 << 10  # bytes that come with each: its name and salt, its part of entries
FULL = "The record is nearly as large as an export may be."


def is_full(journal: Journal) -> bool:
    """Say whether a record has so much that nobody is asked any more."""
    return journal.size > MOST_RECORDED or len(journal.texts) > MOST_TEXTS


class Engine:
    """Runs one debate whose opening is recorded.

    `models` gives the model of each seat, `files` the bytes of every template,
    schema and tool definition by hash, `tools` the tools by name. `approved` gives
    the approved template hashes of each role where the debate was opened under a
    policy.
    """

    def __init__(
        self,
        recording: Recording,
        models: Mapping[str, Model],
        files: Mapping[str, bytes],
        clock: Clock,
        approved: Approved | None = None,
        tools: Mapping[str, Tool] | None = None,
    ) -> None:
        self._recording, self._journal = recording, recording.journal
        self.state = state = recording.state
        self._models, self._tools = models, tools or {}
        self._files, self._approved = files, approved
        self._clock = clock
        self._texts = recording.texts
        self._calls = Calls(state, files, self._texts.__getitem__)
        self._rendering = threading.Lock()  # a sync callable reads its prompt in another thread
        self.raised: tuple[str, BaseException] | None = None  # the first: its step, and what
        self._replies: dict[str, Mapping[str, Any]] = {}  # that count, by call, until recorded
        self._room = Room(MOST_RECORDED)  # for what its tools give, recorded or not yet
        self._asked: tuple[ToolCall, ...] = ()  # the tools that the last reply asks for
        timeout = state.spec["timeout_ms"]
        self._calling: Flights[CallStartedData, Completion] = Flights(clock, timeout)
        self._using: Flights[ToolCalledData, tuple[str, bool]] = Flights(clock, timeout)
        self._pace = Pace(leading_call=state.spec["leading_call"])
        self._servers = {
            key: server_of(clock, seat["model"], seat["parameters"]["base_url"])
            for key, seat in state.seats.items()
        }

    async def run(self) -> None:
        """Go on until the debate is closed, or a callable (`raised`) or a hook has raised.

        Then what is in flight still ends, and the debate stays open. When cancelled,
        replies that have arrived are recorded, calls in flight stay open in the record,
        and the debate can be resumed.
        """
        try:
            while (due := self._due()) is not None:
                if isinstance(due, Ask):
                    await self._ask(due)
                    continue
                if isinstance(due, Compare):
                    await self._compare(due)
                    continue
                self._do(due)
            await self._recording.commit()
        finally:
            self._stop()
            self._recording.unheard()

    def _due(self) -> Due | None:
        """Return what is to be done; once somebody raised, only what is in flight is waited for."""
        if broken := self._recording.broken:
            waits = isinstance(broken, Exception) and (self._calling or self._using)
            return Ask([]) if waits else None  # what is no Exception is to end the process
        due = steps.decide(self.state, self._replies)
        stop = self._recording.stop
        if stop and isinstance(due, Ask | Resume) and due.steps and not steps.in_flight(self.state):
            said = (self._journal.blob(text) if text else None for text in (stop.by, stop.reason))
            return spending.cut_short(self.state, due.steps[0], spending.stopped(*said))
        return None if isinstance(due, Resume) else due

    def resumed(self) -> None:
        """Record that this process took the debate over; waits that were asked for go on."""
        now = self._journal.time()
        for step, progress in self.state.steps.items():
            waited = spending.milliseconds(progress.failed_at or now, now)
            self._pause(step, max(0, progress.wait_ms - waited))
        self._recording.add(Fact("debate.resumed", {"engine": ENGINE}))

    # What is due and waits for nobody

    def _do(self, due: Due) -> None:
        """Record what follows from replies in hand, or from the rules alone."""
        match due:
            case Read(answer):
                self._read(answer)
            case Announce(answer, number):
                self._announce(answer, number)
            case Conclude(step, answer):
                self._recording.add(self._turn(step, answer))
            case Fact():
                self._recording.add(due)

    async def _compare(self, due: Compare) -> None:
        """Compare answers, in a thread: it may take long, and nothing else must wait for it."""

        def compared() -> Fact:
            found = steps.answers(self.state, due, self._texts.get) or {}
            return steps.compare(self.state, due, found)

        await self._recording.commit()
        self._recording.add(await in_turn(compared))

    def _settle(self) -> None:
        """Do what a reply that has just arrived makes due: nothing is recorded before that."""
        while isinstance(due := steps.decide(self.state, self._replies), Announce | Read):
            self._do(due)

    def _read(self, answer: CallAnsweredData) -> None:
        """Read a reply and keep it until its turn is recorded, or reject it."""
        call, text = answer["call"], self._texts[answer["reply"]["sha256"]]
        reply = steps.read_reply(self.state, answer, text, self._texts.get)
        if not isinstance(reply, NotCounted) and "schema" in reply:
            fits = checker(self._files[reply["schema"]])(text)
            reply = reply if fits else NotCounted("output_schema")
        if isinstance(reply, NotCounted):
            self._recording.add(steps.reject(self.state, step_of(call), call, reply))
        else:
            self._replies[call] = reply

    def _turn(self, step: Step, answer: CallAnsweredData) -> Fact:
        call = answer["call"]
        if call not in self._replies:  # it came before this process took over
            self._read(answer)
        return steps.record(self.state, step, call, self._replies.pop(call))

    # Calls that are made

    async def _ask(self, due: Ask) -> None:
        """Make the calls that may be made now, and wait until one ends or another may be made."""
        if is_full(self._journal) or self._room.was_full:
            self._recording.stop = self._recording.stop or Stop(FULL)
        wanted = [] if self._recording.stop else due.steps
        if wanted and (refused := self._refusal(wanted[0])):
            self._recording.add(refused)
            return
        started: list[tuple[Step, Call, Release]] = []
        try:
            self._choose(wanted, started)
        except BaseException:
            for _, _, release in started:
                release()
            raise
        places = self._pace.settle()
        await self._begin(started)
        self._close_lost_tools()
        over = self.state.cut or self._recording.broken or self._recording.stop
        if self._calling or self._using or not over:
            await self._wait(places)

    def _choose(self, wanted: list[Step], started: list[tuple[Step, Call, Release]]) -> None:
        """Record the start of the calls that may be made now, and add each to `started`."""
        for step in wanted:
            if not self._may_go(step):
                continue
            call = self._start(step, is_first=step is wanted[0])
            if call is None:
                break
            release = self._pace.take(call.data["model"], call.size)
            if self._servers[step.speaker].left_ms(self._clock.monotonic()):
                release()
                self._not_asked(call.data)
            else:
                started.append((step, call, release))

    async def _begin(self, started: list[tuple[Step, Call, Release]]) -> None:
        """Make calls once their start is stored; none where a hook has raised: each may cost."""
        stored = False
        try:
            await self._recording.commit()
            stored = not self._recording.broken
        finally:
            for step, call, release in started:
                if stored:
                    request = self._request(step, call)
                    work = complete(self._models[step.speaker], request)
                    self._calling.begin(call.data, work, release, request.watch)
                else:
                    release()

    def _refusal(self, step: Step) -> Fact | None:
        """Hash each role's template again: a call is made only with approved ones."""
        if self._approved is None:
            return None
        found = {
            row["role"]: sha256(self._files[row["sha256"]]).hexdigest()
            for row in self.state.spec["templates"]
        }
        return steps.refusal(self.state, step.id, self._approved, found)

    def _may_go(self, step: Step) -> bool:
        """Say whether the call has a place, and need not wait."""
        if self._time_left() == 0:
            return True  # no call will be made
        model = self.state.seats[step.speaker]["model"]
        now = self._clock.monotonic()
        if self._pace.paused(step.id, now):
            return False
        left = self._servers[step.speaker].left_ms(now)
        if left and steps.may_wait(self.state, step.id, left, self._journal.time()):
            self._pause(step.id, left)
            return False
        in_flight = {call["step"] for call in self.state.calls.values()}
        if self._pace.follows((step.round, step.phase, model), step.id, in_flight):
            return False
        return self._pace.has_place(model)

    def _start(self, step: Step, *, is_first: bool) -> Call | None:
        """Record that a call starts; None where it could break a ceiling, or has to wait for room.

        A debate is cut short only at the first step that is due, and once nothing is in
        flight: what comes back may have used less than was reserved for it.
        """
        with self._rendering:
            call = self._calls.next(step)
        at = self._journal.time()
        over = spending.exceeded(self.state, call.data, at)
        if over is None:
            if not (self._pace.has_room(call.data["model"], call.size) and self._has_room()):
                return None
            self._recording.add(Fact("call.started", call.data), at)
            return call
        if is_first and not steps.in_flight(self.state):
            self._recording.add(spending.cut_short(self.state, step, over), at)
        return None

    def _has_room(self) -> bool:
        """Say whether an export has room for one more reply beside all those in flight, if any."""
        open_ = len(self.state.calls)
        of_call = _OF_CALL + (_OF_TOOL * MAX_TOOL_CALLS if self._tools else 0)
        texts = self.state.tools_out + open_ * of_call
        if len(self._texts) + texts > MOST_TEXTS:
            return False
        coming = (open_ + 1) * MAX_REPLY + (texts + of_call) * _OF_TEXT
        return not open_ or self._journal.size + coming <= MOST_IN_ALL

    def _request(self, step: Step, call: Call) -> Request:
        seat = self.state.seats[step.speaker]
        given = call.data["parameters"], call.schema, call.schemas
        if call.data["model"].startswith(CALLABLE):  # somebody's own code may change what it gets
            given = deepcopy(given)
        parameters, schema, schemas = given
        return Request(
            call=call.data["call"],
            round=step.round,
            phase=step.phase,
            speaker=step.speaker,
            role=seat["role"],
            agent_type=seat["agent_type"],
            collection_id=self.state.spec["collection_id"],
            model=call.data["model"],
            parameters=parameters,
            reply_schema=schema,
            schemas=schemas,
            tools=tuple(self._tools[row["tool"]].definition for row in call.tools),
            render=lambda: self._render(call.prompt),
            seen=Seen(self.state, step, self._texts),
        )

    def _render(self, prompt: Prompt) -> list[Message]:
        with self._rendering:
            return self._calls.messages(prompt)

    # What is waited for

    def _pause(self, step: str, wait_ms: int) -> None:
        if wait_ms:
            self._pace.pause(step, self._clock.monotonic() + wait_ms / 1000)

    def _time_left(self) -> float | None:
        """Return the seconds until the ceiling on time is met; None where there is none."""
        limit = self.state.spec["limits"]["elapsed_ms"]
        if limit is None:
            return None
        elapsed = spending.milliseconds(self.state.opened_at, self._journal.time())
        return max(0, limit - elapsed) / 1000

    async def _wait(self, places: list[asyncio.Future[None]]) -> None:
        """Wait for the first call or tool to end or to run out of time, and record every end.

        Also for the first of the `places`.
        """
        now = self._clock.monotonic()
        deadlines = [*self._calling.deadlines, *self._using.deadlines]
        pause, left = self._pace.next_end(now), self._time_left()
        ends = [*deadlines, *([] if pause is None else [pause])]
        what: list[asyncio.Future[Any]] = [*self._calling.tasks, *self._using.tasks, *places]
        # When it is up, a step that waits is not asked any more; what is in flight still ends.
        if left is not None and (left or not (self._calling or self._using)):
            ends.append(now + left)
        if not (ends or what):
            return
        timeout = max(0.0, min(ends) - now) if ends else None
        if what:
            await asyncio.wait(what, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(timeout or 0.0)
        now = self._clock.monotonic()
        if now >= min(deadlines, default=float("inf")):
            for _ in range(3):  # where the loop was held up, what came in time is seen first
                await asyncio.sleep(0)
        self._collect()
        for call in self._calling.timed_out(now):
            self._failed(call, ModelError("timeout", wire=looked(call.watch)))
        for tool in self._using.timed_out(now):
            self._returned(tool.data, "the tool did not answer in time", ok=False)
        await self._recording.tell()

    def _collect(self) -> None:
        """Record the ends of all calls and tools that are over."""
        for tool in self._using.ended():
            stopped = tool.task.cancelled() or tool.task.exception() is not None
            result, ok = ("the tool was stopped", False) if stopped else tool.task.result()
            self._returned(tool.data, result, ok=ok)
        for call in self._calling.ended():
            task, model = call.task, call.data["model"]
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            if error is None:
                self._answered(call, task.result())
            elif failure := outcomes.as_failure(error, model, call.watch):
                self._failed(call, failure)
            else:
                self._raised(call, error)

    def _raised(self, call: Flight[CallStartedData, Completion], error: BaseException) -> None:
        """Record that the user's own callable raised; nothing is asked from here on."""
        started = call.data
        self.raised = self.raised or (started["step"], error)
        derived = steps.raised(self.state, started["call"])
        data = outcomes.raised(started, error, self._latency(call)) | derived
        self._recording.add(Fact("call.failed", data))

    def _failed(self, call: Flight[CallStartedData, Completion], error: ModelError) -> None:
        started, step = call.data, self.state.steps[call.data["step"]]
        wait = self._servers[speaker_of(started["step"])].failed(
            started["model"],
            error,
            step.tries,
            began=call.began,
            now=self._clock.monotonic(),
            chance=self._clock.chance(),
        )
        self._over(started, error, wait, self._latency(call))

    def _not_asked(self, started: CallStartedData) -> None:
        """End a call whose server is to be left alone for longer than its step may wait."""
        left = self._servers[speaker_of(started["step"])].left_ms(self._clock.monotonic())
        self._over(started, ModelError("rate_limited", "not-asked"), left, 0)

    def _over(
        self, started: CallStartedData, error: ModelError, wait: int | None, latency_ms: int
    ) -> None:
        """Record that a call failed, and when its step is tried again."""
        data = outcomes.failed(started, error, wait, latency_ms, self._journal.blob)
        at = self._journal.time()
        data["again"] = steps.again_after(self.state, started["step"], data, at)
        self._recording.add(Fact("call.failed", data), at)
        if data["again"]:
            self._pause(started["step"], wait or 0)

    def _answered(self, call: Flight[CallStartedData, Completion], completion: Completion) -> None:
        started = call.data
        self._servers[speaker_of(started["step"])].answered(call.began)
        custom = started["model"].startswith(CUSTOM)  # it was offered no tools
        self._asked = () if custom else completion.tool_calls
        answer = outcomes.answered(
            started,
            completion,
            len(self._asked),
            self.state.prices,
            self._latency(call),
            self._journal.blob,
        )
        self._recording.add(Fact("call.answered", answer))
        self._settle()

    def _latency(self, call: Flight[CallStartedData, Completion]) -> int:
        return int((self._clock.monotonic() - call.began) * 1000)

    # Tools

    def _announce(self, answer: CallAnsweredData, number: int) -> None:
        """Record a tool that a reply asks for; after the last, store all and begin to use them."""
        call = self._asked[number - 1]
        name = call.name if NAME(call.name) else self._journal.blob(call.name)
        arguments = self._journal.blob(call.arguments)
        data = {"call": answer["call"], "number": number, "tool": name, "arguments": arguments}
        self._recording.add(Fact("tool.called", data))
        if number < answer["tools"]:
            return
        self._journal.persist()
        used = self.state.steps[step_of(answer["call"])].tools[-number:]
        room = Room(within=self._room)
        for call, row in zip(self._asked, used, strict=True):
            tool = self._tools.get(call.name)
            self._using.begin(row, use(tool, call.arguments, room))

    def _close_lost_tools(self) -> None:
        """Say of tools that another process was using that nothing came back."""
        own = self._using.data
        if self.state.tools_out == len(own):
            return
        used = {(row["call"], row["number"]) for row in own}
        for pending in self.state.steps.values():
            for called in pending.open_tools:
                if (called["call"], called["number"]) not in used:
                    self._returned(called, "the process that used the tool died", ok=False)

    def _returned(self, called: ToolCalledData, result: str, *, ok: bool) -> None:
        # As many seats as there are may use tools at once: beyond this nobody reads the record.
        if ok and self._journal.size + len(result.encode()) > MOST_RECORDED:
            self._room.was_full = True
            result, ok = TOO_LONG, False
        data = {"call": called["call"], "number": called["number"], "ok": ok}
        self._recording.add(Fact("tool.returned", data | {"result": self._journal.blob(result)}))

    def _stop(self) -> None:
        """Keep what has arrived and let go of the rest."""
        self._pace.close()
        try:
            self._collect()
        finally:
            try:
                self._journal.persist()  # also where the store failed: it was paid for
            finally:
                self._calling.cancel()
                self._using.cancel()
