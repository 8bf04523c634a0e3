"""What is due next: the rules of every format, and of nothing that has an effect.

`decide` looks at the state and says which steps want a call, which turn is to
be recorded, or which derived fact follows. The engine does what it says; the
verifier and the replay ask it again and compare. Whoever speaks is named by
the schedule, never by a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from hansard.debate import replies
from hansard.debate.events import (
    CallAnsweredData,
    CallError,
    Fact,
    Price,
    Rejection,
)
from hansard.debate.formats import FORMATS
from hansard.debate.prompts import Prompt
from hansard.debate.state import DebateState, Progress, Step
from hansard.debate.transcript import hash_of

# Errors after which the same call is tried again; the others would only fail alike.
RETRIED: frozenset[CallError] = frozenset(
    {"rate_limited", "timeout", "server_error", "unreachable", "crashed"}
)
_UNFINISHED: dict[str, Rejection] = {
    "length": "cut_off",
    "refusal": "refused",
    "content_filter": "filtered",
    "other": "not_finished",
}


class Ask(NamedTuple):
    """Steps that want a call now; none while calls that are open are waited for."""

    steps: list[Step]


class Read(NamedTuple):
    """The turn of this step is to be recorded from the reply in hand."""

    step: Step
    answer: CallAnsweredData


Due = Ask | Read | Fact


def decide(state: DebateState) -> Due | None:
    """Return what is due, or None for a closed debate."""
    if state.closed:
        return None
    if state.abandoned:
        return abandon(state, state.abandoned[0])
    if state.refused:
        closed = {"outcome": "failed", "reason": "prompt_refused"}
        return Ask([]) if state.calls else Fact("debate.closed", closed)
    rules = FORMATS[state.spec["terms"]["format"]]
    fact: Fact | None = rules.next_fact(state)
    if fact:
        return fact
    steps: tuple[Step, ...] = rules.due(state)
    wanted = []
    waiting = False
    for step in steps:
        progress = state.steps.get(step.id)
        if progress is None or not (progress.answer or progress.exhausted):
            waiting = True
            if progress is None or progress.call is None:
                wanted.append(step)
    if waiting:
        return Ask(wanted)
    first = state.steps[steps[0].id]
    return Read(steps[0], first.answer) if first.answer else forfeit(steps[0], first)


def refusal(
    state: DebateState, step: str, approved: Mapping[str, str], found: Mapping[str, str]
) -> Fact | None:
    """Return what stands in place of a call whose templates are not the approved ones.

    `approved` and `found` map template roles to hashes. None where all agree.
    """
    for row in state.spec["templates"]:
        role = row["role"]
        for digest in (row["sha256"], found[role]):
            if digest != approved.get(role):
                data = {"step": step, "role": role, "found": digest}
                return Fact("call.refused", {**data, "approved": approved.get(role)})
    return None


def forfeit(step: Step, progress: Progress) -> Fact:
    """Return the turn of a speaker who could not be heard."""
    return Fact(
        "turn.forfeited",
        {
            "step": step.id,
            "round": step.round,
            "phase": step.phase,
            "speaker": step.speaker,
            "reason": "invalid_reply" if progress.rejected else "no_reply",
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
            "again": True,
            "cost_micro_usd": state.calls[call]["reserved_cost_micro_usd"],
            "latency_ms": None,
        },
    )


def start(state: DebateState, step: Step, prompt: Prompt) -> dict[str, Any]:
    """Return the data of `call.started` for the next attempt at `step`, reservations aside."""
    seat = state.seats[step.speaker]
    progress = state.steps.get(step.id)
    attempt = progress.number + 1 if progress else 1
    return {
        "call": f"{step.id}:{attempt}",
        "step": step.id,
        "attempt": attempt,
        "role": seat["role"],
        "model": seat["model"],
        "parameters": seat["parameters"],
        "template": hash_of(state.spec["templates"], seat["role"]),
        "schema": hash_of(state.spec["schemas"], seat["role"]),
        "prompt": prompt.digest,
    }


def again(state: DebateState, step: str, error: CallError | None = None) -> bool:
    """Say whether `step` is tried again after an attempt that brought nothing."""
    if error and error not in RETRIED:
        return False
    return state.steps[step].tries + 1 < state.spec["attempts"]


def cost(
    prices: list[Price], model: str, tokens: tuple[int | None, int | None, int | None]
) -> int | None:
    """Return what a call cost in micro-US-dollars, rounded up; None where it is unknown.

    `tokens` are in (cached ones included), cached (None is 0) and out.
    """
    tokens_in, cached, tokens_out = tokens
    for price in prices:
        if price["model"] == model and tokens_in is not None and tokens_out is not None:
            cached = min(cached or 0, tokens_in)
            total = (
                (tokens_in - cached) * price["input_micro_usd"]
                + cached * price["cached_micro_usd"]
                + tokens_out * price["output_micro_usd"]
            )
            return -(-total // 1_000_000)
    return None


def read_reply(
    state: DebateState, answer: CallAnsweredData, text: str
) -> Mapping[str, Any] | Rejection:
    """Read a reply: its JSON object where it counts, else the code that says why not."""
    if answer["finish"] != "stop":
        return _UNFINISHED[answer["finish"]]
    try:
        value = replies.read(text)
    except replies.Unreadable:
        return "unreadable"
    spec = state.spec
    rules = FORMATS[spec["terms"]["format"]]
    found = replies.mismatch(value, rules.reply_schema(spec["terms"]["options"]))
    if found:
        return "unknown_option" if found[1] == "enum" else "schema"
    return cast(Mapping[str, Any], value)


def reject(state: DebateState, step: str, call: str, code: Rejection) -> Fact:
    """Return the event that a reply does not count."""
    return Fact(
        "turn.rejected",
        {"step": step, "call": call, "code": code, "again": again(state, step)},
    )


def record(step: Step, call: str, reply: Mapping[str, Any]) -> Fact:
    """Return the turn that a reply which counts makes."""
    return Fact(
        "turn.recorded",
        {
            "step": step.id,
            "round": step.round,
            "phase": step.phase,
            "speaker": step.speaker,
            "call": call,
            "vote": reply["vote"],
        },
    )
