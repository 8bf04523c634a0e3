"""What formats share: what a turn, a verdict and a decision are made of, and who was heard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from hansard.rules.counting import winner
from hansard.rules.data import DecisionData, VerdictData
from hansard.rules.events import Fact
from hansard.rules.fields import OptionVotes
from hansard.rules.state import DebateState, Step, Turn
from hansard.rules.terms import ESCALATE, NO_OPTION, UNDECLARED, DecisionRule

MOST_OPTIONS = 100
UNSOUND = "at most 100 options, each once, none abstain or undeclared"


def turn(step: Step, call: str, **fields: Any) -> dict[str, Any]:
    """Return the data of a turn that counts: its place, its call, and what was read from it."""
    place = {"step": step.id, "round": step.round, "phase": step.phase, "speaker": step.speaker}
    return {**place, "call": call, **fields}


def verdict(**found: Any) -> dict[str, Any]:
    """Return what was read from a verdict, with nothing for what its format does not ask."""
    empty: dict[str, Any] = {
        "winner": None,
        "undeclared": False,
        "choice": None,
        "upholds": None,
        "ranking": [],
        "scores": [],
        "resolved": 0,
        "unresolved": 0,
        "uncertainties": 0,
        "confidence": None,
        "another_round": None,
    }
    return empty | found


def decided(state: DebateState, decision: str, rule: DecisionRule, **numbers: Any) -> Fact:
    """Return the decision, with who must look where nothing was agreed on."""
    data: dict[str, Any] = {"votes": None, "threshold": None, "score_ppm": None} | numbers
    data |= {
        "decision": decision,
        "rule": rule,
        "rounds_run": state.rounds_run,
        "review": state.spec["review"] if decision in (ESCALATE, UNDECLARED) else None,
    }
    return Fact("decision.reached", cast(DecisionData, data))


def counted(
    round_: int, phase: str, rows: list[OptionVotes], abstentions: int, threshold: int
) -> Fact:
    """Return a count of votes: `reached` where one option alone has `threshold` or more."""
    data = {
        "round": round_,
        "phase": phase,
        "tally": rows,
        "abstentions": abstentions,
        "threshold": threshold,
        "reached": winner(rows, threshold) is not None,
    }
    return Fact("votes.counted", data)


def by_count(state: DebateState, reached: DecisionRule, missed: DecisionRule) -> Fact:
    """Return the decision of the last count: its option by one rule, or none by the other."""
    count = state.counts[-1]
    found = winner(count["tally"], count["threshold"])
    numbers = {"votes": found["votes"] if found else 0, "threshold": count["threshold"]}
    if found:
        return decided(state, found["option"], reached, **numbers)
    return decided(state, ESCALATE, missed, **numbers)


def silent(turns: Sequence[Turn]) -> bool:
    """Whether all who had a turn forfeited it: then nobody was heard, and nothing is decided."""
    return not any(turn.heard for turn in turns)


def still_in(state: DebateState) -> list[str]:
    """Return the debaters who can still be asked."""
    return [seat for seat in state.votes if not state.is_out(seat)]


def heard_in(state: DebateState, round_: int) -> list[str]:
    """Return the debaters whose turns in this round count, as they spoke."""
    rows = state.of_round(round_)
    return [row.data["speaker"] for row in rows if row.role == "debater" and row.heard]


def ruling(state: DebateState) -> VerdictData | str | None:
    """Return the judge's verdict, "failed" where none could be had, None before it."""
    if state.verdict:
        return state.verdict
    spoke = any(row.role == "judge" for row in state.turns[-1:])  # it has the last word
    return "failed" if spoke else None


def sound(options: Sequence[str]) -> bool:
    """Whether each option stands once, and none is a word for something else."""
    return len(set(options)) == len(options) <= MOST_OPTIONS and NO_OPTION.isdisjoint(options)
