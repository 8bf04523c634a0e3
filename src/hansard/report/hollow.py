"""Hollow consensus: what a debate decided before anybody could object (RULES.md D 63)."""

from __future__ import annotations

from hansard.rules.data import DecisionData
from hansard.rules.state import DebateState
from hansard.rules.terms import ESCALATE


def decision_of(state: DebateState) -> DecisionData | None:
    """Return what a complete debate decided; None where a person must decide."""
    decision, closed = state.decision, state.closed
    complete = closed is not None and closed["outcome"] == "complete"
    return decision if complete and decision and decision["decision"] != ESCALATE else None


def unseen(state: DebateState) -> DecisionData | None:
    """Return the decision of a debate in which no debater saw another's argument, else None.

    Of a format whose first phase is asked for in parallel: nobody spoke after it.
    """
    turns = [turn.data for turn in state.turns if turn.role == "debater"]
    once = len({(data["round"], data["phase"]) for data in turns}) == 1
    return decision_of(state) if once else None
