"""Where a turn of a `moderated` debate stands, and what it is about."""

from __future__ import annotations

from typing import cast

from hansard.rules.state import DebateState
from hansard.rules.terms import ModeratedTerms


def terms_of(state: DebateState) -> ModeratedTerms:
    """Return the opening's terms."""
    return cast(ModeratedTerms, state.spec["terms"])


def evidence_in(state: DebateState, round_: int) -> bool:
    """Whether a document is visible in a round."""
    return any(row["from_round"] <= round_ for row in state.evidence)


def target_of(state: DebateState, phase: str) -> str:
    """Return the proposer that a critique or a rebuttal is about."""
    number = phase.partition("-")[2]
    return state.of_role("proposer")[int(number) - 1 if number else 0]["id"]
