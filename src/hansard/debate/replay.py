"""Walk a record through the rules and say where it differs from what they give.

What came from outside (the spec, replies, failures, reservations) is taken
from the record; everything else is derived again. Where a recorded fact
differs, the walk goes on from the derived one, so that one alteration is one
difference and not a cascade. An event that was not due ends the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

from hansard.debate import steps
from hansard.debate.counting import needed
from hansard.debate.events import CallAnsweredData, Event, Fact, OpenedData, RegisteredData
from hansard.debate.formats import FORMATS
from hansard.debate.state import DebateState, evolve, speaker_of
from hansard.debate.steps import Ask, Read
from hansard.debate.transcript import Transcript
from hansard.record.canonical import dump
from hansard.record.policy import parse as parse_policy

ABSTAIN = "abstain"  # what silence counts as; no option may be called so
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
        self._text_of = text_of
        self._approved = approved
        self._replies: dict[str, Mapping[str, Any]] = {}  # read, by call, until recorded

    def step(self, event: Event) -> list[Difference]:
        """Check the next event, fold it in, and return the differences.

        Raises NotDue when the rules call for something else.
        """
        recorded = cast(dict[str, Any], event["data"])
        derived = self._derive(event["type"], recorded)
        differences = []
        if event["type"] == "call.started" and self._approved is not None:
            differences = self._unapproved(derived["step"])
        if {**recorded, **derived} != recorded:
            event = cast(Event, {**event, "data": {**recorded, **derived}})
            differences += [
                Difference(field, value, recorded[field])
                for field, value in derived.items()
                if recorded[field] != value
            ]
        evolve(self.state, event)
        return differences

    def _derive(self, kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields of `data` that the rules determine, with their values."""
        state = self.state
        if state.last_answer:
            rejected = self._rejection(kind, state.last_answer)
            if rejected is not None:
                return rejected
        if not state.seated:
            return self._seating(kind, data)
        if kind == "call.started":
            return self._start(data)
        if kind == "call.refused":
            return self._refuse(data)
        if kind in ("call.answered", "call.failed") and not state.abandoned:
            return self._end_of_call(kind, data)
        if kind == "debate.resumed" and not state.closed:
            return {}
        due = steps.decide(state)
        if isinstance(due, Read):
            return self._recorded(kind, due, data)
        if isinstance(due, Fact) and due.type == kind:
            return due.data
        raise NotDue(_name(due))

    def _opening(self, kind: str, data: OpenedData) -> Mapping[str, Any]:
        if kind != "debate.opened":
            raise NotDue("debate.opened")
        terms = data["terms"]
        rules = FORMATS[terms["format"]]
        threshold = needed(terms["rule"], data["seats"], terms["threshold"])
        options = terms["options"]
        if len(set(options)) != len(options) or not 1 <= len(options) <= 100 or ABSTAIN in options:
            raise NotDue("debate.opened with 1 to 100 options, each once, none of them abstain")
        if [row["role"] for row in data["templates"]] != list(rules.TEMPLATES):
            raise NotDue("debate.opened with one template each for " + ", ".join(rules.TEMPLATES))
        schema = sha256(dump(rules.reply_schema(terms["options"]))).hexdigest()
        return {
            "terms": {**terms, "threshold": threshold},
            "schemas": [{"role": "debater", "sha256": schema}],
        }

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
                self._label(cast(RegisteredData, data))
            return {"position": len(state.seats) + 1, "role": "debater"}
        if kind != "evidence.admitted" or data["document"] in {
            row["document"] for row in state.evidence
        }:
            raise NotDue("evidence.admitted")
        return {}

    def _label(self, last: RegisteredData) -> None:
        """A debate with offline replies says so in its opening, and only such a debate."""
        rows = [*self.state.seats.values(), last]
        offline = any(row["model"].startswith(OFFLINE) for row in rows)
        if offline != self.state.spec["scripted"]:
            raise NotDue(f"debate.opened with scripted: {str(offline).lower()}")

    def _rejection(self, kind: str, answer: CallAnsweredData) -> Mapping[str, Any] | None:
        """A reply that does not count is rejected right after it came, and no other reply is."""
        state = self.state
        step = answer["call"].rpartition(":")[0]
        text = self._text_of(answer["reply"]["sha256"])
        if text is None and answer["finish"] == "stop":
            if kind != "turn.rejected":
                return None
            return {"step": step, "call": answer["call"], "again": steps.again(state, step)}
        found = steps.read_reply(state, answer, text or "")
        if not isinstance(found, str):
            self._replies[answer["call"]] = found
            return None
        if kind != "turn.rejected":
            raise NotDue("turn.rejected")
        return steps.reject(state, step, answer["call"], found).data

    def _start(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        due = steps.decide(self.state)
        for step in due.steps if isinstance(due, Ask) else ():
            if step.id == data["step"]:
                return steps.start(self.state, step, self.transcript.prompt(step))
        raise NotDue(_name(due))

    def _unapproved(self, step: str) -> list[Difference]:
        """Say which template a call was made with that the policy does not approve."""
        refused = self._refusal(step)
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

    def _end_of_call(self, kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        state = self.state
        if data["call"] not in state.calls:
            raise NotDue(_name(steps.decide(state)))
        step = state.calls[data["call"]]["step"]
        if kind == "call.failed":
            if data["error"] == "abandoned":
                raise NotDue("debate.resumed before a call is abandoned")
            return {"again": steps.again(state, step, data["error"]), "cost_micro_usd": None}
        if data["finish"] == "stop" and self._text_of(data["reply"]["sha256"]) is None:
            self.gone.append(data["call"])
        model = state.seats[speaker_of(step)]["model"]
        tokens = (data["tokens_in"], data["tokens_cached"], data["tokens_out"])
        return {"cost_micro_usd": steps.cost(state.spec["prices"], model, tokens)}

    def _recorded(self, kind: str, due: Read, data: Mapping[str, Any]) -> Mapping[str, Any]:
        if kind != "turn.recorded":
            raise NotDue(_name(due))
        call = due.answer["call"]
        if call not in self._replies:
            if data["vote"] not in self.state.spec["terms"]["options"]:
                raise NotDue(f"{_name(due)} with a vote for an option")
            self.unread.append(due.step.id)
        return steps.record(due.step, call, self._replies.pop(call, data)).data


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
        return f"turn.recorded for {due.step.id}"
    if due is None:
        return "nothing: the debate is closed"
    if due.steps:
        return "call.started for " + " or ".join(step.id for step in due.steps)
    return "the end of an open call"
