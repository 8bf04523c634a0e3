"""Where a debate stands after an entry: what a live view and a replay show of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hansard.report.sentences import compared, counted, decided, decided_text, judged, moderated
from hansard.rules import spending, steps
from hansard.rules.data import TruncatedData
from hansard.rules.formats import most_turns
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState, Step, speaker_of
from hansard.rules.steps import Ask, Conclude, Due
from hansard.rules.terms import votes_stand


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a debate stands. Money is in micro-US-dollars.

    `debate` is its id; `entries` have been recorded, the last one at the time `at` (UTC).
    `seats` are the ids of those at the table, all of them once it is `seated`; `options` is
    what can be voted for, chosen, or declared the winner, and `threshold` how many must hold
    one (None where nobody counts). `turns` were recorded of `most_turns`
    that there can be (0 until everybody is seated), in `rounds_run` of `max_rounds` rounds.
    `speaking` are those whose calls are in flight. `calls` were started; they cost
    `cost_micro_usd` as far as that is known (None without any price). Against the ceiling
    `cost_limit_micro_usd` (None: there is none) counts `charged_micro_usd`, with what calls
    in flight have reserved. `moderated` and `cut_short` are sentences, None where it was not.

    `round` and `phase` are those of the calls in flight, else of the last turn;
    None before the first. `votes` has the vote of each debater that counts now,
    where the format declares options. `counted`, `compared`, `found` and `decided`
    are sentences about the latest of each, None where there is none yet.
    """

    debate: str
    entries: int
    at: str
    seated: bool
    seats: tuple[str, ...]
    options: tuple[str, ...]  # what can be voted for, chosen, or declared the winner
    turns: int
    most_turns: int  # that there can be; 0 until everybody is seated
    rounds_run: int
    max_rounds: int
    round: int | None
    phase: str | None
    speaking: tuple[str, ...]
    calls: int
    cost_micro_usd: int | None  # what is known; None without any price
    charged_micro_usd: int  # against a ceiling, calls in flight included
    cost_limit_micro_usd: int | None
    threshold: int | None
    votes: Mapping[str, str | None] | None
    counted: str | None
    compared: str | None
    found: str | None
    moderated: str | None  # what was found, where it was a moderator who did
    cut_short: str | None
    decided: str | None


def standing(state: DebateState, text_of: TextOf) -> Standing:
    """Return where a debate stands whose opening is recorded."""
    terms: Any = state.spec["terms"]
    spent, decision, cut = state.total(), state.decision, state.truncated
    place = _place(state)
    return Standing(
        debate=state.debate,
        entries=state.seq,
        at=state.at,
        seated=state.seated,
        seats=tuple(state.seats),
        options=(*terms.get("options", ()), *terms.get("stances", ())),
        turns=len(state.turns),
        most_turns=most_turns(terms, [row["role"] for row in state.seats.values()])
        if state.seated
        else 0,
        rounds_run=state.rounds_run,
        max_rounds=terms["max_rounds"],
        round=place.round if place else None,
        phase=place.phase if place else None,
        speaking=tuple(speaker_of(call["step"]) for call in state.calls.values()),
        calls=spent.calls,
        cost_micro_usd=spent.cost_micro_usd if state.spec["prices"] else None,
        charged_micro_usd=spending.spent_by(state, state.at)["cost"],
        cost_limit_micro_usd=state.spec["limits"]["cost_micro_usd"],
        threshold=terms.get("threshold"),
        votes=dict(state.votes) if votes_stand(terms) else None,
        counted=counted(state.counts[-1]) if state.counts else None,
        compared=compared(state.similarities[-1]) if state.similarities else None,
        found=judged(state.verdict) if state.verdict else None,
        moderated=moderated(state.verdict)
        if state.verdict and state.verdict["confidence"]
        else None,
        cut_short=_cut(cut) if cut else None,
        decided=decided(state, decision["decision"], decision["rule"], decided_text(state, text_of))
        if decision
        else None,
    )


def _cut(cut: TruncatedData) -> str:
    whose = "by a person" if cut["ceiling"] == "operator" else f"ceiling on {cut['ceiling']}"
    return f"before {cut['step']}, {whose}"


def _place(state: DebateState) -> Step | None:
    """Return the step of a call in flight, else of the last turn."""
    found = [call["step"] for call in state.calls.values()]
    found += [turn.data["step"] for turn in state.turns[-1:]]
    return steps.place_of(found[0]) if found else None


def due_next(due: Due | None) -> str:
    """Say what the rules call for next."""
    if isinstance(due, Ask):
        names = [step.id for step in due.steps]
        return f"a call for {', '.join(names)}" if names else "the end of a call in flight"
    if isinstance(due, Conclude):
        return f"the turn {due.step.id}, from the reply that came"
    return steps.name_of(due)
