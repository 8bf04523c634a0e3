"""Walk a record through the rules and say where it differs from what they give.

What came from outside (the spec, replies, failures, reservations) is taken
from the record; everything else is derived again. Where a recorded fact
differs, the walk goes on from the derived one, so that one alteration is one
difference and not a cascade. An event that was not due ends the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

from hansard.record.canonical import dump
from hansard.record.policy import parse as parse_policy
from hansard.rules import spending, steps
from hansard.rules.events import CallAnsweredData, Event, Fact, OpenedData, RegisteredData
from hansard.rules.fields import TemplateHash
from hansard.rules.formats import format_of
from hansard.rules.formats.base import Compare, NotCounted
from hansard.rules.state import DebateState, evolve, speaker_of, step_of
from hansard.rules.steps import Ask, Read
from hansard.rules.transcript import Transcript, hash_of

OFFLINE = ("scripted:", "recorded:")  # models whose replies nobody paid for


@dataclass(frozen=True, slots=True)
class Difference:
    """A field whose recorded value is not the derived one."""

    field: str
    expected: object
    found: object


class NotDue(Exception):
    """An event that the rules do not call for at its place; says what was due instead."""

    def __init__(self, due: str) -> None:
        super().__init__(due)
        self.due = due


class Replay:
    """The walk over one record.

    `text_of` gives a blob's text, or None where it is gone; `approved` the
    template hashes by role of the policy that the opening names, or None where
    it names none or the policy is gone.
    """

    def __init__(
        self,
        text_of: Callable[[str], str | None],
        approved: Mapping[str, str] | None = None,
    ) -> None:
        self.state = DebateState()
        self.transcript = Transcript(self.state)
        self.gone: list[str] = []  # calls whose reply is gone, and would have had to be read
        self.unread: list[str] = []  # steps whose turn is for that reason taken as recorded
        self.uncited: list[str] = []  # steps whose citations rest on a document that is gone
        self.uncompared = 0  # comparisons of texts of which one is gone
        self._text_of = text_of
        self._approved = approved
        self._replies: dict[str, Mapping[str, Any]] = {}  # read, by call, until recorded

    def step(self, event: Event) -> list[Difference]:
        """Check the next event, fold it in, and return the differences.

        Raises NotDue when the rules call for something else.
        """
        recorded = cast(dict[str, Any], event["data"])
        derived = self._derive(event["type"], recorded, event["at"])
        differences = []
        if event["type"] == "call.started":
            differences = [*self._unapproved(derived["step"]), *self._over(recorded, event["at"])]
        if {**recorded, **derived} != recorded:
            event = cast(Event, {**event, "data": {**recorded, **derived}})
            differences += _differences(derived, recorded)
        evolve(self.state, event)
        return differences

    def _derive(self, kind: str, data: Mapping[str, Any], at: str) -> Mapping[str, Any]:
        """Return the fields of `data` that the rules determine, with their values."""
        state = self.state
        if state.announcing:
            return self._announced(kind, state.announcing)
        if state.last_answer:
            rejected = self._rejection(kind, data, state.last_answer)
            if rejected is not None:
                return rejected
        if not state.seated:
            return self._seating(kind, data)
        if kind == "call.started":
            return self._start(data)
        if kind == "call.refused":
            return self._refuse(data)
        if kind == "debate.truncated":
            return self._truncate(data, at)
        if kind in ("call.answered", "call.failed", "tool.returned") and not state.abandoned:
            return self._end_of_call(kind, data, at)
        if kind == "debate.resumed" and not state.closed:
            return {}
        due = steps.decide(state)
        if isinstance(due, Read):
            return self._recorded(kind, due, data)
        if isinstance(due, Compare):
            return self._compared(kind, due, data)
        if isinstance(due, Fact) and due.type == kind:
            return due.data
        raise NotDue(_name(due))

    def _opening(self, kind: str, data: OpenedData) -> Mapping[str, Any]:
        if kind != "debate.opened":
            raise NotDue("debate.opened")
        rules = format_of(data["terms"])
        synthesizer = data["schemas"][-1:] if _synthesizes(data) else []
        terms = rules.settled(data["terms"], data["seats"] - len(synthesizer))
        if isinstance(terms, str):
            raise NotDue(f"debate.opened with {terms}")
        if [row["role"] for row in data["templates"]] != list(rules.templates):
            raise NotDue("debate.opened with one template each for " + ", ".join(rules.templates))
        own: list[TemplateHash] = [
            {"role": role, "sha256": sha256(dump(schema)).hexdigest()}
            for role, schema in rules.schemas(terms).items()
        ]
        return {"terms": terms, "schemas": own + synthesizer}

    def _seating(self, kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The opening first, then seats in order of position, then documents; no id twice."""
        state = self.state
        if state.opened is None:
            return self._opening(kind, cast(OpenedData, data))
        seats = state.spec["seats"]
        if len(state.seats) < seats:
            if kind != "debater.registered" or data["id"] in state.seats:
                raise NotDue(f"debater.registered at position {len(state.seats) + 1}")
            if len(state.seats) == seats - 1:
                self._last_seat(cast(RegisteredData, data))
            return {"position": len(state.seats) + 1}
        if kind != "evidence.admitted" or data["document"] in {
            row["document"] for row in state.evidence
        }:
            raise NotDue("evidence.admitted")
        return {}

    def _last_seat(self, last: RegisteredData) -> None:
        """The seats are those of the format, and offline replies are labelled as such."""
        spec, rows = self.state.spec, [*self.state.seats.values(), last]
        if _synthesizes(spec):
            extra = rows.pop()
            if extra["role"] != "synthesizer" or extra["stance"]:
                raise NotDue("debater.registered for the synthesizer")
        wanted = format_of(spec["terms"]).wrong_seats(spec["terms"], rows)
        if wanted:
            raise NotDue(f"debater.registered for {wanted}")
        self._label(last)

    def _label(self, last: RegisteredData) -> None:
        """A debate with offline replies says so in its opening, and only such a debate."""
        rows = [*self.state.seats.values(), last]
        offline = any(row["model"].startswith(OFFLINE) for row in rows)
        if offline != self.state.spec["scripted"]:
            raise NotDue(f"debate.opened with scripted: {str(offline).lower()}")

    def _announced(self, kind: str, answer: CallAnsweredData) -> Mapping[str, Any]:
        """The tools that a reply asks for stand right after it, in its order."""
        if kind != "tool.called":
            raise NotDue("tool.called")
        left = self.state.steps[step_of(answer["call"])].announced
        return {"call": answer["call"], "number": answer["tools"] - left + 1}

    def _rejection(
        self, kind: str, data: Mapping[str, Any], answer: CallAnsweredData
    ) -> Mapping[str, Any] | None:
        """A reply that does not count is rejected right after it came, and no other reply is."""
        state, call = self.state, answer["call"]
        step = step_of(call)
        text = self._text_of(answer["reply"]["sha256"])
        if text is None and answer["finish"] == "stop":
            if kind != "turn.rejected":
                return None
            weak, terms = data["code"] == "weak_critique", state.spec["terms"]
            if weak and not format_of(terms).sent_back(state, step, data["rating"]):
                raise NotDue("turn.rejected with what can be said of its reply")
            return steps.reject(state, step, call, _stated(data)).data
        found = steps.read_reply(state, answer, text or "", self._text_of)
        if not isinstance(found, NotCounted):
            if kind == "turn.rejected" and "schema" in found:
                why = NotCounted("output_schema")  # the user's own
                return steps.reject(state, step, call, why).data
            self._replies[call] = found
            return None
        if kind != "turn.rejected":
            raise NotDue("turn.rejected")
        return steps.reject(state, step, call, found).data

    def _start(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        due = steps.decide(self.state)
        for step in due.steps if isinstance(due, Ask) else ():
            if step.id == data["step"]:
                return steps.start(self.state, step, self.transcript.prompt(step))
        raise NotDue(_name(due))

    def _over(self, data: Mapping[str, Any], at: str) -> list[Difference]:
        """Say which ceiling a call could have broken that was made all the same."""
        over = spending.exceeded(self.state, data["step"], data, at)
        if over is None:
            return []
        return [Difference("ceiling", over.data["limit"], over.data["spent"])]

    def _truncate(self, data: Mapping[str, Any], at: str) -> Mapping[str, Any]:
        """A debate is cut short where a call is due that could break the ceiling named."""
        state, ceiling = self.state, data["ceiling"]
        due = steps.decide(state)
        limit = spending.limits_of(state).get(ceiling)
        if not isinstance(due, Ask) or not due.steps or limit is None or steps.in_the_air(state):
            raise NotDue(_name(due))
        spent = spending.spent_by(state, at)[ceiling]
        reserved = {"calls": 1, "seconds": 0}.get(ceiling, data["reserved"])
        if spent + reserved < limit + (ceiling != "seconds"):
            raise NotDue(_name(due))
        return {"step": due.steps[0].id, "limit": limit, "spent": spent, "reserved": reserved}

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

    def _refuse(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        due = steps.decide(self.state)
        if not isinstance(due, Ask) or not due.steps or self.state.spec["policy"] is None:
            raise NotDue(_name(due))
        step = due.steps[0].id
        if self._approved is None:
            return {"step": step}
        refused = self._refusal(step)
        if refused:
            return refused
        roles = [row["role"] for row in self.state.spec["templates"]]
        approved = self._approved.get(data["role"])
        if data["role"] not in roles or data["found"] == approved:
            raise NotDue(_name(due))
        return {"step": step, "approved": approved}

    def _end_of_call(self, kind: str, data: Mapping[str, Any], at: str) -> Mapping[str, Any]:
        state = self.state
        if kind == "tool.returned":
            progress = state.steps.get(step_of(data["call"]))
            for use in progress.tools if progress else ():
                called = (use.called["call"], use.called["number"])
                if use.returned is None and called == (data["call"], data["number"]):
                    return {}
            raise NotDue(_name(steps.decide(state)))
        if data["call"] not in state.calls:
            raise NotDue(_name(steps.decide(state)))
        step = state.calls[data["call"]]["step"]
        if kind == "call.failed":
            if data["error"] == "abandoned":
                raise NotDue("debate.resumed before a call is abandoned")
            waits = {} if data["error"] in steps.RETRIED else {"wait_ms": None}
            again = steps.again_after(state, step, data, at)
            return {"again": again, "cost_micro_usd": None, **waits}
        if data["finish"] == "stop" and self._text_of(data["reply"]["sha256"]) is None:
            self.gone.append(data["call"])
        model = state.seats[speaker_of(step)]["model"]
        cost = spending.cost(state.spec["prices"], model, spending.Tokens.of(data))
        found = {"cost_micro_usd": cost}
        return found if data["finish"] == "tool_calls" else {**found, "tools": 0}

    def _recorded(self, kind: str, due: Read, data: Mapping[str, Any]) -> Mapping[str, Any]:
        state, call = self.state, due.answer["call"]
        read = self._replies.pop(call, None)
        text = self._text_of(due.answer["reply"]["sha256"])
        if read is None and text is not None:  # a critique that was sent back, and counts at last
            found = steps.read_reply(state, due.answer, text, self._text_of)
            read = None if isinstance(found, NotCounted) else found
        gone = read is None
        fact = steps.record(state, due.step, call, read or {})
        if kind != fact.type:
            raise NotDue(_name(due))
        if gone and kind == "synthesis.recorded":
            schema = hash_of(state.spec["schemas"], "synthesizer")
            return {**fact.data, "text": due.answer["reply"], "schema": schema}
        if gone:
            if not format_of(state.spec["terms"]).admits(state, due.step, data):
                raise NotDue(f"{_name(due)} with what a reply can say")
            self.unread.append(due.step.id)
            return fact.data
        case = fact.data.get("case")
        if case and case["citations"] is None:  # they rest on a document that is gone
            self.uncited.append(due.step.id)
            known = {name: case[name] for name in ("arguments", "rating")}
            stated = data["case"] or {"unanswered": [], "citations": [], "struck": []}
            return {**fact.data, "case": {**stated, **known}}
        return fact.data

    def _compared(self, kind: str, due: Compare, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Compare a round's answers again; what rests on one that is gone is taken as recorded."""
        found = steps.answers(self.state, due, self._text_of)
        fact = steps.compare(self.state, due, found or {})
        if kind != fact.type:
            raise NotDue(_name(due))
        if found is not None:
            return fact.data
        stated = due.by.restated(self.state, due, data)
        if stated is None:
            raise NotDue(f"{_name(due)} with what answers can give")
        self.uncompared += 1
        return stated


def _stated(data: Mapping[str, Any]) -> NotCounted:
    """Return why a reply that is gone did not count, as far as the record can say so."""
    code = data["code"]
    rating = data["rating"] if code == "weak_critique" else None
    if code not in ("schema", "unknown_option"):
        return NotCounted(code, rating=rating)
    return NotCounted(code, data["member"], data["keyword"])


def _synthesizes(opened: OpenedData) -> bool:
    """Whether the opening announces a synthesizer: it names the schema of its reply."""
    return bool(opened["schemas"]) and opened["schemas"][-1]["role"] == "synthesizer"


def _differences(derived: Mapping[str, Any], recorded: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the fields that differ; those of a case one by one."""
    for field, value in derived.items():
        found = recorded[field]
        if field == "case" and value and found:
            yield from _differences(value, found)
        elif found != value:
            yield Difference(field, value, found)


def approved_by(opened: OpenedData, policies: Mapping[str, bytes]) -> Mapping[str, str] | None:
    """Return the template hashes by role that a debate's policy approves.

    None where its opening names no policy, or one that is not among `policies`.
    """
    data = policies.get(opened["policy"] or "")
    return parse_policy(data).approved(opened["terms"]["format"]) if data else None


def _name(due: steps.Due | None) -> str:
    """Say in the record's words what was due."""
    if isinstance(due, Fact):
        return due.type
    if isinstance(due, Read):
        return f"the turn {due.step.id}"
    if isinstance(due, Compare):
        return f"the comparison of the answers of round {due.round}"
    if due is None:
        return "nothing: the debate is closed"
    if due.steps:
        return "call.started for " + " or ".join(step.id for step in due.steps)
    return "the end of an open call"
