"""Where a turn of a `moderated` debate stands, and what it is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from hansard.rules.state import DebateState, Turn
from hansard.rules.terms import ModeratedTerms


def terms_of(state: DebateState) -> ModeratedTerms:
    """Return the opening's terms."""
    return cast(ModeratedTerms, state.spec["terms"])


def turns_of(state: DebateState, round_: int) -> Iterator[Turn]:
    """Yield the turns of a round that are over."""
    return (row for row in state.turns if row.data["round"] == round_)


def target_of(state: DebateState, phase: str) -> str:
    """Return the proposer that a critique or a rebuttal is about."""
    number = phase.partition("-")[2]
    return state.of_role("proposer")[int(number) - 1 if number else 0]["id"]
