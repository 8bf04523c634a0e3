"""Sound counting: agreement is earned (RULES.md §6; FORMAT.md §9).

Only a valid vote for a declared option counts; whoever is silent, crashed,
refused or unreadable abstains. Two options at the threshold are a tie, and a
tie is no consensus.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from hansard.rules.fields import OptionVotes
from hansard.rules.terms import DecisionRule

Rule = Literal["threshold", "majority", "unanimity"]

RULE_NAMES: dict[Rule, DecisionRule] = {
    "threshold": "threshold_vote",
    "majority": "majority_vote",
    "unanimity": "unanimous_vote",
}


def needed(rule: Rule, debaters: int, threshold: int) -> int:
    """Return how many of the registered debaters must hold one option under `rule`.

    `threshold` is what was stated, which counts for the rule of that name alone.
    """
    if rule == "majority":
        return majority(debaters)
    return debaters if rule == "unanimity" else threshold


def majority(debaters: int) -> int:
    """Return how many are more than half of the registered debaters."""
    return debaters // 2 + 1


def tally(options: Sequence[str], votes: Iterable[str | None]) -> tuple[list[OptionVotes], int]:
    """Count current votes: every option in declared order, and the abstentions (None)."""
    counts = dict.fromkeys(options, 0)
    abstentions = 0
    for vote in votes:
        if vote is None:
            abstentions += 1
        else:
            counts[vote] += 1
    return [{"option": option, "votes": counts[option]} for option in options], abstentions


def winner(counts: Iterable[OptionVotes], threshold: int) -> OptionVotes | None:
    """Return the one option at or above `threshold`, or None where none or several are."""
    reached = [row for row in counts if row["votes"] >= threshold]
    return reached[0] if len(reached) == 1 else None
