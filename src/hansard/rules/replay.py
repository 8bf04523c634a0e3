"""Walk a record through the rules and say where it differs from what they give.

What came from outside (the spec, replies, failures, the size of prompts) is taken
from the record; everything else is derived again. Where a recorded fact
differs, the walk goes on from the derived one, so that one alteration is one
difference and not a cascade. An event that was not due ends the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from hansard.record.policy import Approved, Policy
from hansard.record.policy import parse as parse_policy
from hansard.rules import after, citations, gate, seating, spending, steps, wire
from hansard.rules.data import (
    CallAnsweredData,
    CallFailedData,
    CallRefusedData,
    CallStartedData,
    CutData,
    OpenedData,
    ToolReturnedData,
    TruncatedData,
    TurnForfeitedData,
)
from hansard.rules.events import Event, Fact
from hansard.rules.fields import SENT_BACK
from hansard.rules.formats import format_of
from hansard.rules.formats.base import Compare, NotCounted, TextGone
from hansard.rules.state import DebateState, evolve, speaker_of, step_of
from hansard.rules.steps import Announce, Ask, Conclude, Due, NotDue, Read, Resume, name_of
from hansard.rules.transcript import CALLABLE, CUSTOM, Prompter, hash_of

_ROUNDED = 1  # millisecond: the times of both entries and the latency are rounded

__all__ = ["Difference", "NotDue", "Replay", "approved_by", "approved_in"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A field whose recorded value is not the derived one."""

    field: str
    expected: object
    found: object


class Replay:
    """The walk over one record.

    `text_of` gives a blob's text, or None where it is gone; `approved` the
    template hashes by role of the policy that the opening names, or None where
    it names none or the policy is gone.
    """

    def __init__(
        self,
        text_of: Callable[[str], str | None],
        approved: Approved | None = None,
    ) -> None:
        self.state = DebateState()
        self.prompter = Prompter(self.state)
        self.gone: list[str] = []  # calls whose reply is gone, and would have had to be read
        self.unread: list[str] = []  # steps whose turn is for that reason taken as recorded
        self.uncited: list[str] = []  # steps whose citations rest on a document that is gone
        self.uncompared = 0  # comparisons of texts of which one is gone
        self._text_of = text_of
        self._approved = approved
        self._began: dict[str, str] = {}  # when each open call was started
        # By call, until recorded: what was read of each reply that counts; None where it is gone.
        self._replies: dict[str, Mapping[str, Any] | None] = {}
        self._rejection: Mapping[str, Any] = {}  # of the last reply that does not count

    @property
    def ungated(self) -> bool:
        """Whether the answer that a gate rests on is gone, and what it says taken as recorded."""
        said = self.state.said
        return said is not None and gate.is_unread(said["gate"], self._text_of)

    def step(self, event: Event) -> list[Difference]:
        """Check the next event, fold it in, and return the differences.

        Raises NotDue when the rules call for something else.
        """
        recorded = cast(dict[str, Any], event["data"])
        derived = self._derive(event)
        differences: list[Difference] = []
        if event["type"] == "call.started":
            differences = self._unapproved(derived["step"])
            started = cast(CallStartedData, {**recorded, **derived})
            differences += self._over(started, event["at"])
            self._began[started["call"]] = event["at"]
        elif event["type"] in ("call.answered", "call.failed"):
            ended = {**recorded, **derived}
            differences = [*self._wired(ended), *self._timed(ended, event["at"])]
        elif self.state.ended:
            differences = [Difference(*fault) for fault in after.faults(self.state.after, event)]
        if {**recorded, **derived} != recorded:
            event = cast(Event, {**event, "data": {**recorded, **derived}})
            differences += _differences(derived, recorded)
        evolve(self.state, event)
        return differences

    def due(self) -> Due | None:
        """Return what the rules call for next, once a reply that has just arrived is read."""
        due = steps.decide(self.state, self._replies)
        if isinstance(due, Read):
            self._read(due.answer)
            due = steps.decide(self.state, self._replies)
        return due

    def _read(self, answer: CallAnsweredData) -> None:
        """Keep a reply until its turn is recorded, unless it does not count."""
        call = answer["call"]
        text = self._text_of(answer["reply"]["sha256"])
        if text is None and answer["finish"] == "stop":
            self._replies[call] = None
            return
        try:
            found = steps.read_reply(self.state, answer, text or "", self._text_of)
        except TextGone:
            self.gone.append(call)
            self._replies[call] = None
            return
        if isinstance(found, NotCounted):
            self._rejection = steps.reject(self.state, step_of(call), call, found).data
        else:
            self._replies[call] = found

    def _derive(self, event: Event) -> Mapping[str, Any]:
        """Return the fields of an event's data that the rules determine, with their values."""
        if self.state.ended:
            after.check(self.state, event)
            return {}
        if not self.state.seated:
            return seating.derive(self.state, event, self._text_of)
        due = self.due()
        if isinstance(due, Announce | Read) and event["type"] != name_of(due):
            raise NotDue(name_of(due))
        derive = _DERIVATIONS.get(event["type"], Replay._derived)
        return derive(self, due, event)

    def _derived(self, due: Due | None, event: Event) -> Mapping[str, Any]:
        """What follows from replies that were read, or from the rules alone."""
        kind, data = event["type"], cast(Mapping[str, Any], event["data"])
        if isinstance(due, Conclude):
            return self._recorded(kind, due, data)
        if isinstance(due, Compare):
            return self._compared(kind, due, data)
        if isinstance(due, Fact) and due.type == kind:
            return due.data
        raise NotDue(name_of(due))

    def _resumed(self, _: Due | None, __: Event) -> Mapping[str, Any]:
        """Another process may take over at any time before the close."""
        return {}

    def _announced(self, due: Due | None, _: Event) -> Mapping[str, Any]:
        """The tools that a reply asks for stand right after it, in its order."""
        if not isinstance(due, Announce):
            raise NotDue(name_of(due))
        return {"call": due.answer["call"], "number": due.number}

    def _rejected(self, due: Due | None, event: Event) -> Mapping[str, Any]:
        """A reply that does not count is rejected right after it came, and no other reply is.

        Of one that is gone the record is believed, as far as it can say so, and of a
        deliverable that it does not fit the user's own schema.
        """
        if isinstance(due, Read):
            return self._rejection
        data, answer = cast(Mapping[str, Any], event["data"]), self.state.last_answer
        if answer is None or answer["call"] not in self._replies:
            raise NotDue(name_of(due))
        call = answer["call"]
        step, read = step_of(call), self._replies[call]
        if read is None:
            why = _stated(data)
            may = format_of(self.state.spec["terms"]).may_send_back
            if why.code in SENT_BACK and not may(self.state, steps.place_of(step), why):
                raise NotDue("turn.rejected with what can be said of its reply")
        elif "schema" in read:
            why = NotCounted("output_schema")
        else:
            raise NotDue(name_of(due))
        if why.code not in SENT_BACK:  # its turn may come of this very reply
            del self._replies[call]
        return steps.reject(self.state, step, call, why).data

    def _started(self, due: Due | None, event: Event) -> Mapping[str, Any]:
        data = cast(CallStartedData, event["data"])
        for step in due.steps if isinstance(due, Ask) else ():
            if step.id == data["step"]:
                start = steps.start(self.state, step, self.prompter.prompt(step).digest)
                return {**start, **self._reserved(start, data["reserved_tokens_in"])}
        raise NotDue(name_of(due))

    def _reserved(self, start: Mapping[str, Any], tokens_in: int) -> Mapping[str, Any]:
        """What a call reserves for its reply, and in money, once its prompt is known."""
        model, tokens_out = start["model"], start["parameters"]["max_tokens"] or 0
        cost = spending.dearest(self.state.prices, model, tokens_in, tokens_out)
        return {"reserved_tokens_out": tokens_out, "reserved_cost_micro_usd": cost}

    def _over(self, data: CallStartedData, at: str) -> list[Difference]:
        """Say which ceiling a call could have broken that was made all the same."""
        over = spending.exceeded(self.state, data, at)
        return [Difference("ceiling", over["limit"], over["spent"])] if over else []

    def _truncated(self, due: Due | None, event: Event) -> Mapping[str, Any]:
        """A debate is cut short where a call is due that could break the ceiling named.

        It may be stopped there whatever the ceilings, also after a call that raised.
        """
        return self._cut("debate.truncated", due, cast(TruncatedData, event["data"]), event["at"])

    def _forfeited(self, due: Due | None, event: Event) -> Mapping[str, Any]:
        """After the decision, the deliverable is forfeited where the debate would be cut short."""
        cut = cast(TurnForfeitedData, event["data"])["cut"]
        if cut is None or not isinstance(due, Ask | Resume):
            return self._derived(due, event)
        return self._cut("turn.forfeited", due, cut, event["at"])

    def _cut(self, kind: str, due: Due | None, cut: CutData, at: str) -> Mapping[str, Any]:
        places = Ask | Resume if cut["ceiling"] == "operator" else Ask
        if not isinstance(due, places) or not due.steps or steps.in_flight(self.state):
            raise NotDue(name_of(due))
        found: CutData | None
        if cut["ceiling"] == "operator":
            found = spending.stopped(cut["by"], cut["reason"])
        else:
            found = spending.cut_by(self.state, cut["ceiling"], cut["reserved"] or 0, at)
        fact = spending.cut_short(self.state, due.steps[0], found) if found else None
        if fact is None or fact.type != kind:
            raise NotDue(name_of(due))
        return fact.data

    def _unapproved(self, step: str) -> list[Difference]:
        """Say which template a call was made with that the policy does not approve."""
        refused = self._refusal(step) if self._approved is not None else None
        if not refused:
            return []
        return [Difference("not_approved", refused["approved"], refused["found"])]

    def _refusal(self, step: str) -> Mapping[str, Any] | None:
        """Return the refusal that is due for `step` because of the opening's own templates."""
        opened = {row["role"]: row["sha256"] for row in self.state.spec["templates"]}
        fact = steps.refusal(self.state, step, self._approved or {}, opened)
        return fact.data if fact else None

    def _refused(self, due: Due | None, event: Event) -> Mapping[str, Any]:
        data = cast(CallRefusedData, event["data"])
        if not isinstance(due, Ask) or not due.steps or self.state.spec["policy"] is None:
            raise NotDue(name_of(due))
        step = due.steps[0].id
        if self._approved is None:
            return {"step": step}
        refused = self._refusal(step)
        if refused:
            return refused
        roles = [row["role"] for row in self.state.spec["templates"]]
        approved = self._approved.get(data["role"], [])
        if data["role"] not in roles or data["found"] in approved:
            raise NotDue(name_of(due))
        return {"step": step, "approved": approved}

    def _answered(self, due: Due | None, event: Event) -> Mapping[str, Any]:
        data = cast(CallAnsweredData, event["data"])
        step = self._step_in_flight(due, data["call"])
        if data["finish"] == "stop" and self._text_of(data["reply"]["sha256"]) is None:
            self.gone.append(data["call"])
        model = self.state.seats[speaker_of(step)]["model"]
        cost = spending.cost(self.state.prices, model, spending.Tokens.of(data))
        found = {"cost_micro_usd": cost}
        may_ask = data["finish"] == "tool_calls" and not model.startswith(CUSTOM)
        return found if may_ask else {**found, "tools": 0}

    def _failed(self, due: Due | None, event: Event) -> Mapping[str, Any]:
        if self.state.abandoned:
            return self._derived(due, event)
        data = cast(CallFailedData, event["data"])
        step = self._step_in_flight(due, data["call"])
        if data["error"] == "abandoned":
            raise NotDue("debate.resumed before a call is abandoned")
        if data["error"] == "raised":
            if not self.state.seats[speaker_of(step)]["model"].startswith(CALLABLE):
                raise NotDue("call.failed with another error")
            return steps.raised(self.state, data["call"])
        waits = {} if data["error"] in steps.RETRIED else {"wait_ms": None}
        again = steps.again_after(self.state, step, data, event["at"])
        return {"again": again, "cost_micro_usd": None, **waits}

    def _wired(self, data: Mapping[str, Any]) -> list[Difference]:
        """Say of a call that ended that what is recorded of the wire cannot be."""
        model = self.state.seats[speaker_of(step_of(data["call"]))]["model"]
        if data.get("error") == "abandoned" or not wire.contradicts(model, data):
            return []
        return [Difference("wire", None, model)]

    def _timed(self, data: Mapping[str, Any], at: str) -> list[Difference]:
        """Say of a call that ended that it took longer than there was time."""
        most = spending.milliseconds(self._began.pop(data["call"]), at) + _ROUNDED
        if (data["latency_ms"] or 0) <= most:
            return []
        return [Difference("latency_ms", most, data["latency_ms"])]

    def _step_in_flight(self, due: Due | None, call: str) -> str:
        """Return the step of a call that is open, and may end now."""
        if self.state.abandoned or call not in self.state.calls:
            raise NotDue(name_of(due))
        return self.state.calls[call]["step"]

    def _returned(self, due: Due | None, event: Event) -> Mapping[str, Any]:
        """A tool comes back once, and only one that was called."""
        data = cast(ToolReturnedData, event["data"])
        pending = self.state.steps.get(step_of(data["call"]))
        place = (data["call"], data["number"])
        if pending and not self.state.abandoned and pending.is_out(*place):
            return {}
        raise NotDue(name_of(due))

    def _recorded(self, kind: str, due: Conclude, data: Mapping[str, Any]) -> Mapping[str, Any]:
        state, call = self.state, due.answer["call"]
        sent_back = call not in self._replies  # a critique that was sent back, and now counts
        read = self._replies.pop(call, None)
        text = self._text_of(due.answer["reply"]["sha256"])
        if sent_back and text is not None:
            found = steps.read_reply(state, due.answer, text, self._text_of)
            read = None if isinstance(found, NotCounted) else found
        gone = read is None
        fact = steps.record(state, due.step, call, read or {})
        if kind != fact.type:
            raise NotDue(name_of(due))
        if gone and kind == "synthesis.recorded":
            schema = hash_of(state.spec["schemas"], "synthesizer")
            return {**fact.data, "text": due.answer["reply"], "schema": schema}
        if gone:
            if not format_of(state.spec["terms"]).admits(state, due.step, data):
                raise NotDue(f"{name_of(due)} with what a reply can say")
            self.unread.append(due.step.id)
            return fact.data
        case = fact.data.get("case")
        if case and case["citations"] is None:  # they rest on a document that is gone
            self.uncited.append(due.step.id)
            known = {name: case[name] for name in ("arguments", "rating")}
            stated = data["case"] or {"unanswered": [], "citations": [], "struck": []}
            stated = {**stated, **known}
            if not citations.in_order(stated):
                raise NotDue(f"{name_of(due)} with what a reply can say")
            return {**fact.data, "case": stated}
        return fact.data

    def _compared(self, kind: str, due: Compare, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Compare a round's answers again; what rests on one that is gone is taken as recorded."""
        found = steps.answers(self.state, due, self._text_of)
        fact = steps.compare(self.state, due, found or {})
        if kind != fact.type:
            raise NotDue(name_of(due))
        if found is not None:
            return fact.data
        stated = due.by.restated(self.state, due, data)
        if stated is None:
            raise NotDue(f"{name_of(due)} with what answers can give")
        self.uncompared += 1
        return stated


# The events that bring something from outside, each with what the rules say of it; of all others
# every field follows.
_DERIVATIONS: Mapping[str, Callable[[Replay, Due | None, Event], Mapping[str, Any]]] = {
    "debate.resumed": Replay._resumed,
    "call.started": Replay._started,
    "call.refused": Replay._refused,
    "call.answered": Replay._answered,
    "call.failed": Replay._failed,
    "tool.called": Replay._announced,
    "tool.returned": Replay._returned,
    "turn.rejected": Replay._rejected,
    "debate.truncated": Replay._truncated,
    "turn.forfeited": Replay._forfeited,
}


def _stated(data: Mapping[str, Any]) -> NotCounted:
    """Return why a reply that is gone did not count, as far as the record can say so."""
    code = data["code"]
    rating = data["rating"] if code in SENT_BACK else None
    if code not in ("schema", "unknown_option"):
        return NotCounted(code, rating=rating)
    return NotCounted(code, data["member"], data["keyword"])


def _differences(derived: Mapping[str, Any], recorded: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the fields that differ; those of a case one by one."""
    for field, value in derived.items():
        found = recorded[field]
        if field == "case" and value and found:
            yield from _differences(value, found)
        elif found != value:
            yield Difference(field, value, found)


def approved_by(opened: OpenedData, policies: Mapping[str, bytes]) -> Approved | None:
    """Return the template hashes by role that a debate's policy approves.

    None where its opening names no policy, or one that is not among `policies`.
    """
    policy = policy_of(opened, policies)
    return approved_in(opened, policy) if policy else None


def policy_of(opened: OpenedData | None, policies: Mapping[str, bytes]) -> Policy | None:
    """Return the policy that an opening names; None where none is named, or there."""
    data = policies.get((opened and opened["policy"]) or "")
    return parse_policy(data) if data else None


def approved_in(opened: OpenedData, policy: Policy) -> Approved:
    """Return the template hashes that a policy approves for each role of an opening."""
    roles = [row["role"] for row in opened["templates"]]
    return policy.approved(opened["terms"]["format"], roles)
