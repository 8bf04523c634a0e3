"""What is due next: the rules of every format, and of nothing that has an effect.

`decide` looks at the state and says which steps want a call, which reply is to
be read, which tools and turns are to be recorded, which texts are to be
compared, or which derived fact follows. The engine does what it says; the
verifier and the replay ask it again and compare. Whoever speaks is named by the
schedule, never by a model.

What a reply makes due comes before everything else (FORMAT.md §11, rule 2): the
tools that it asks for are recorded right after it, and so is its rejection where
it does not count.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, NamedTuple, cast

from hansard.record.policy import Approved
from hansard.rules import replies, spending
from hansard.rules.data import CallAnsweredData
from hansard.rules.events import Fact
from hansard.rules.fields import SENT_BACK, CallError, Rejection
from hansard.rules.formats import format_of
from hansard.rules.formats.base import Compare, Format, Next, NotCounted
from hansard.rules.formats.common import turn, verdict
from hansard.rules.prompts import TextOf
from hansard.rules.replies import Schema
from hansard.rules.similarity import Measured, measured
from hansard.rules.state import DebateState, Pending, Step, speaker_of, step_of
from hansard.rules.terms import JUDGING, Role, Terms
from hansard.rules.transcript import CALLABLE, CUSTOM, hash_of, template_of

# Errors after which the same call is tried again; the others would only fail alike.
RETRIED: frozenset[CallError] = frozenset(
    {"rate_limited", "timeout", "server_error", "unreachable", "crashed"}
)
_UNFINISHED: dict[str, Rejection] = {
    "length": "cut_off",
    "refusal": "refused",
    "content_filter": "filtered",
    "tool_calls": "not_finished",
    "other": "not_finished",
}
_TYPES: dict[Role, str] = {
    **dict.fromkeys(JUDGING, "verdict.recorded"),
    "synthesizer": "synthesis.recorded",
}


class Ask(NamedTuple):
    """Steps that want a call now; none while calls or tools in flight are waited for."""

    steps: list[Step]


class Resume(NamedTuple):
    """A callable raised, and nothing is in flight: only another process may go on.

    `steps` are those that want a call then; in their place a person may stop the debate.
    """

    steps: list[Step]


class Read(NamedTuple):
    """A reply has just arrived: it is to be read, and rejected now unless it counts."""

    answer: CallAnsweredData


class Announce(NamedTuple):
    """A tool that a reply asks for, in this place counted from 1, is to be recorded."""

    answer: CallAnsweredData
    number: int


class Conclude(NamedTuple):
    """The turn of a step is to be recorded from the reply in hand."""

    step: Step
    answer: CallAnsweredData


Due = Ask | Resume | Read | Announce | Conclude | Fact | Compare


class NotDue(Exception):
    """An event that the rules do not call for at its place; says what was due instead."""

    def __init__(self, due: str) -> None:
        super().__init__(due)
        self.due = due


def name_of(due: Due | None) -> str:  # noqa: PLR0911 - what comes first decides
    """Say in the record's words what is due."""
    match due:
        case None:
            return "a review, an outcome, a hold or a redaction, and nothing else"
        case Ask(steps=[]):
            return "the end of an open call"
        case Resume():
            return "debate.resumed"
        case Ask(steps=rows):
            return "call.started for " + " or ".join(step.id for step in rows)
        case Read():
            return "turn.rejected"
        case Announce():
            return "tool.called"
        case Conclude(step=step):
            return f"the turn {step.id}"
        case Compare(round=round_):
            return f"the comparison of the answers of round {round_}"
    return due.type


def decide(state: DebateState, read: Container[str] = ()) -> Due | None:  # noqa: PLR0911 - what comes first decides
    """Return what is due, or None for a closed debate.

    `read` holds the calls whose replies have been read and were not rejected.
    """
    if state.announcing:
        left = state.steps[step_of(state.announcing["call"])].announced
        return Announce(state.announcing, state.announcing["tools"] - left + 1)
    if state.last_answer and state.last_answer["call"] not in read:
        return Read(state.last_answer)
    if state.closed:
        return None
    if state.abandoned:
        return abandon(state, state.abandoned[0])
    if state.raised:
        return Ask([]) if in_flight(state) else Resume(_left(state))
    if state.refused or state.truncated:
        return Ask([]) if in_flight(state) else _stop(state)
    found = _next(state)
    out = any(map(state.is_out, state.lost))
    if out and _begins(state, found) and _rules(state).lost(state):
        found = "seats_lost"
    if isinstance(found, (Fact, Compare)):
        return found
    if isinstance(found, str):
        return Fact("debate.closed", {"outcome": "failed", "reason": found})
    return _heard(state, found)


def _next(state: DebateState) -> Next:
    """Return what the schedule says: a call, a tool or a resumption in between changes nothing."""
    if state.scheduled is None:
        found = _after_decision(state) if state.decision else _rules(state).due(state)
        state.scheduled = found
    return cast(Next, state.scheduled)


def _begins(state: DebateState, found: Next) -> bool:
    """Whether a count, a comparison, a decision or the first call of new turns comes next."""
    if state.decision or isinstance(found, str):
        return False
    if isinstance(found, (Fact, Compare)):
        return True
    asked = any(step.id in state.steps for step in found)
    return not (asked or all(state.is_out(step.speaker) for step in found))


def _steps_due(state: DebateState) -> tuple[Step, ...]:
    found = _next(state)
    return found if isinstance(found, tuple) and not isinstance(found, (Fact, Compare)) else ()


def _left(state: DebateState) -> list[Step]:
    """Return the steps that want a call once a debate that stands still is resumed."""
    due = None if state.refused else _heard(state, _steps_due(state))
    return due.steps if isinstance(due, Ask) else []


def _rules(state: DebateState) -> Format[Terms]:
    return format_of(state.spec["terms"])


def _after_decision(state: DebateState) -> Fact | tuple[Step, ...]:
    """After the decision the synthesizer speaks, where there is one; then the debate closes."""
    seats = state.of_role("synthesizer")
    if seats and not any(row.role == "synthesizer" for row in state.turns[-1:]):
        return (Step.of(state.rounds_run, "synthesis", seats[0]["id"]),)
    return Fact("debate.closed", {"outcome": "complete", "reason": _rules(state).reason(state)})


def _stop(state: DebateState) -> Conclude | Fact:
    """Close a debate that goes no further; replies that are in hand still become turns."""
    if state.truncated:
        for step in _steps_due(state):
            pending = state.steps.get(step.id)
            if pending and pending.heard:
                return Conclude(step, pending.heard)
        ceiling = state.truncated["ceiling"]
        reason = ceiling if ceiling == "operator" else f"{ceiling}_ceiling"
        return Fact("debate.closed", {"outcome": "truncated", "reason": reason})
    return Fact("debate.closed", {"outcome": "failed", "reason": "prompt_refused"})


def in_flight(state: DebateState) -> bool:
    """Whether a call or a tool has not come back."""
    return bool(state.calls) or any(row.using_tools for row in state.steps.values())


def _heard(state: DebateState, steps: tuple[Step, ...]) -> Ask | Conclude | Fact:
    """Ask until every step has a reply that counts or is exhausted; then record the first."""
    wanted = []
    waiting = False
    asked = {speaker_of(step) for step in state.steps}
    for step in steps:
        pending = state.steps.get(step.id)
        # A seat that was out before any of its steps that are due was asked is passed over.
        if pending is None and step.speaker not in asked and state.is_out(step.speaker):
            continue
        if pending is None or not (pending.answer or pending.exhausted):
            waiting = True
            if pending is None or not (pending.call or pending.using_tools):
                wanted.append(step)
    if waiting:
        return Ask(wanted)
    first = state.steps.get(steps[0].id)
    answer = first and first.heard
    return Conclude(steps[0], answer) if answer else forfeit(steps[0], first)


def refusal(
    state: DebateState, step: str, approved: Approved, found: Mapping[str, str]
) -> Fact | None:
    """Return what stands in place of a call whose templates are not the approved ones.

    `found` maps template roles to hashes. None where all are approved.
    """
    for row in state.spec["templates"]:
        role = row["role"]
        for digest in (row["sha256"], found[role]):
            admitted = approved.get(role, [])
            if digest not in admitted:
                data = {"step": step, "role": role, "found": digest, "approved": admitted}
                return Fact("call.refused", data)
    return None


def forfeit(step: Step, pending: Pending | None) -> Fact:
    """Return the turn of a speaker who could not be heard; without `pending`, or even asked."""
    tried = "invalid_reply" if pending and pending.rejected else "no_reply"
    return Fact(
        "turn.forfeited",
        {
            "step": step.id,
            "round": step.round,
            "phase": step.phase,
            "speaker": step.speaker,
            "reason": tried if pending else "seat_out",
            "cut": None,
        },
    )


def abandon(state: DebateState, call: str) -> Fact:
    """Return the end of a call that was open when its process died.

    It is charged at its reservation and asked again: no free second try.
    """
    return Fact(
        "call.failed",
        {
            "call": call,
            "error": "abandoned",
            "detail": None,
            "status": None,
            "request_id": None,
            "wait_ms": None,
            "again": True,
            "cost_micro_usd": state.calls[call]["reserved_cost_micro_usd"],
            "latency_ms": None,
            "sent_as_rendered": None,
            "sent": None,
        },
    )


def raised(state: DebateState, call: str) -> dict[str, Any]:
    """Return what the rules say of a call in which the user's own function raised.

    It is charged at its reservation like an abandoned one, and asked anew once the
    debate is resumed.
    """
    cost = state.calls[call]["reserved_cost_micro_usd"]
    return {"again": True, "cost_micro_usd": cost, "wait_ms": None}


def start(state: DebateState, step: Step, prompt: str) -> dict[str, Any]:
    """Return the data of `call.started` for the next attempt at `step`, reservations aside.

    `prompt` is the digest of what is sent.
    """
    seat = state.seats[step.speaker]
    pending = state.steps.get(step.id)
    attempt = pending.number + 1 if pending else 1
    return {
        "call": f"{step.id}:{attempt}",
        "step": step.id,
        "attempt": attempt,
        "role": seat["role"],
        "model": seat["model"],
        "parameters": seat["parameters"],
        "template": hash_of(state.spec["templates"], template_of(state, step)),
        "schema": hash_of(state.spec["schemas"], seat["role"]),
        "prompt": prompt,
    }


def again(state: DebateState, step: str) -> bool:
    """Say whether `step` is tried again after an attempt that brought nothing that counts."""
    return state.steps[step].tries + 1 < state.spec["attempts"]


def again_after(state: DebateState, step: str, failed: Mapping[str, Any], at: str) -> bool:
    """Say whether `step` is tried again after a call that `failed` at a time.

    Not where it would only fail alike, and not where the wait that is due before
    the next attempt would end later than the time in which a step may be retried.
    """
    if failed["error"] not in RETRIED or not again(state, step):
        return False
    return may_wait(state, step, failed["wait_ms"] or 0, at)


def may_wait(state: DebateState, step: str, wait_ms: int, at: str) -> bool:
    """Say whether a wait that begins `at` ends within the time in which a step may be retried."""
    pending = state.steps.get(step)
    began = (pending.began if pending else None) or at
    return spending.milliseconds(began, at) + wait_ms <= state.spec["retry_ms"]


def place_of(step: str) -> Step:
    """Return the step with this name (a speaker may hold dots)."""
    round_, phase, speaker = step.split(".", 2)
    return Step(int(round_[1:]), phase, speaker, step)


def schema_of(state: DebateState, role: Role) -> Schema | None:
    """Return what a reply of this role must be; None for a synthesis, which the user describes."""
    return _rules(state).schemas(state.spec["terms"]).get(role)


def read_reply(
    state: DebateState, answer: CallAnsweredData, text: str, text_of: TextOf
) -> Mapping[str, Any] | NotCounted:
    """Read a reply: its clear fields where it counts, else why not.

    Whether a synthesis fits the user's own schema is not looked at here. Raises
    TextGone where that rests on another text that is gone: the words of a stance,
    or a document that a critique must cite.
    """
    if answer["finish"] != "stop":
        return NotCounted(_UNFINISHED[answer["finish"]])
    step = place_of(step_of(answer["call"]))
    role = state.seats[step.speaker]["role"]
    schema = schema_of(state, role)
    try:
        value = replies.value_of(text, schema) if schema else replies.read(text)
    except replies.Unreadable:
        return NotCounted("unreadable")
    if schema is None:
        digest = hash_of(state.spec["schemas"], role)
        return {"text": answer["reply"], "schema": digest}
    if state.seats[step.speaker]["model"].startswith(CALLABLE):
        value = replies.named(value, schema)
    found = replies.mismatch(value, schema)
    if found:
        if found == ("winner", "enum") and _last_word(state, step):
            known = {**value, "winner": None}
            if replies.mismatch(known, schema) is None:  # it is the only defect, and nobody may win
                return _unlabelled(state, step, value["winner"], text_of)
        member, keyword = found
        code: Rejection = "unknown_option" if keyword == "enum" else "schema"
        return NotCounted(code, member or None, keyword)
    return _rules(state).read(state, step, value, text_of)


def _last_word(state: DebateState, step: Step) -> bool:
    """Whether a judge that names nothing declared is not asked again (D 13)."""
    return _is_custom(state, step) or not again(state, step.id)


def _is_custom(state: DebateState, step: Step) -> bool:
    return state.seats[step.speaker]["model"].startswith(CUSTOM)


def _unlabelled(state: DebateState, step: Step, winner: str, text_of: TextOf) -> Mapping[str, Any]:
    """Return the verdict of a judge whose winner is no label: a function may say it in words."""
    in_words = _rules(state).named_in_words
    if in_words and _is_custom(state, step):
        return in_words(state, winner, text_of)
    return verdict(undeclared=True)


def reject(state: DebateState, step: str, call: str, why: NotCounted) -> Fact:
    """Return the event that a reply does not count."""
    more = why.code in SENT_BACK or again(state, step)  # it is sent back whatever tries are left
    data = {"step": step, "call": call, **why._asdict(), "again": more}
    return Fact("turn.rejected", data)


def record(state: DebateState, step: Step, call: str, read: Mapping[str, Any]) -> Fact:
    """Return the turn that a reply which counts makes."""
    role = state.seats[step.speaker]["role"]
    return Fact(_TYPES.get(role, "turn.recorded"), turn(step, call, **read))


def answers(state: DebateState, what: Compare, text_of: TextOf) -> dict[str, Measured] | None:
    """Return the answers that are to be compared, by debater; None where one is gone."""
    found = {}
    for row in state.of_round(what.round):
        if row.role == "debater" and row.reply:
            text = text_of(row.reply["sha256"])
            schema = schema_of(state, "debater")
            if text is None or schema is None:
                return None
            found[row.data["speaker"]] = measured(what.by.answer_of(replies.value_of(text, schema)))
    return found


def compare(state: DebateState, what: Compare, found: Mapping[str, Measured]) -> Fact:
    """Return the fact that comparing the answers `found` gives."""
    return what.by.compared(state, what, found)
