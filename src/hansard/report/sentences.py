"""What code found in a debate, a sentence each: counts, comparisons, verdicts, decisions."""

from __future__ import annotations

from collections.abc import Mapping

from hansard.report.words import stance
from hansard.rules.data import SimilarityData, VerdictData, VotesCountedData
from hansard.rules.prompts import TextOf
from hansard.rules.similarity import MILLION
from hansard.rules.state import DebateState
from hansard.rules.terms import DecisionRule


def decided(state: DebateState, decision: str, rule: DecisionRule, text: str | None) -> str:
    """Say what was decided, who argued it where it is a stance of this text, under which rule."""
    argued = [f", argued by {seat}" for seat in state.seats if stance_of(state, seat) == decision]
    return f"{stance(decision, text)}{''.join(argued)} ({rule})"


def decided_text(state: DebateState, text_of: TextOf) -> str | None:
    """Return the words of the stance that was decided for; None where they are gone or none."""
    decision = state.decision["decision"] if state.decision else None
    for seat in state.seats.values():
        if seat["stance"] and seat["stance"]["label"] == decision:
            return text_of(seat["stance"]["text"]["sha256"])
    return None


def stance_of(state: DebateState, seat: str) -> str | None:
    """Return the label of the stance that a seat argues."""
    row = state.seats.get(seat)
    return row["stance"]["label"] if row and row["stance"] else None


def counted(count: VotesCountedData) -> str:
    """Say what was counted after a phase."""
    votes = {row["option"]: row["votes"] for row in count["tally"]}
    told = tallied(votes, count["abstentions"], count["threshold"], count["reached"])
    return f"round {count['round']} {count['phase']}: {told}"


def tallied(votes: Mapping[str, int], abstentions: int, threshold: int, reached: bool) -> str:
    """Say how many hold each option, and whether that is enough."""
    held = [f"{option} {count}" for option, count in votes.items() if count]
    held += [f"abstain {abstentions}"] if abstentions else []
    return f"{', '.join(held)}; threshold {threshold} {'reached' if reached else 'not reached'}"


def compared(found: SimilarityData) -> str:
    """Say how alike the answers of a round are, and whether that ends the rounds."""
    ends = "; the rounds end" if found["converged"] else ""
    if found["measure"] == "options":
        what = "all choose the same" if found["converged"] else "not all choose the same"
    elif not found["pairs"]:
        what = "there are no two answers to compare"
    elif found["measure"] == "whole":
        what = "all answers are the same" if found["converged"] else "not all answers are the same"
    else:
        what = _alike(found)
    return f"round {found['round']}: {what}{ends}"


def _alike(found: SimilarityData) -> str:
    least, limit = min(row["ppm"] for row in found["pairs"]), found["threshold_ppm"]
    if found["converged"]:
        return f"similar wording {share(least)}, all pairs"
    if least < limit:
        return f"similar wording from {share(least)}; {share(limit)} in all pairs ends the rounds"
    differs = any(row["negation_differs"] for row in found["pairs"])
    negated = ", but not all negate equally often" if differs else ""
    return f"similar wording from {share(least)}{negated}"


def share(ppm: int) -> str:
    """Return millionths with two digits, rounded down.

    >>> share(849_999)
    '0.84'
    """
    return f"{ppm * 100 // MILLION / 100:.2f}"


def moderated(found: VerdictData) -> str:
    """Say what a moderator found, in numbers."""
    scores = ", ".join(f"{row['side']} {row['score']}" for row in found["scores"])
    points = f"points resolved {found['resolved']}, open {found['unresolved']}"
    more = "another round wanted" if found["another_round"] else "no further round wanted"
    outcome = ["ranking " + ", ".join(found["ranking"])] if found["ranking"] else []
    if found["upholds"] is not None:
        outcome = ["proposition upheld" if found["upholds"] else "proposition not upheld"]
    uncertain = f"uncertain {found['uncertainties']}"
    return "; ".join([f"scores {scores}", f"{points}, {uncertain}", *outcome, more])


def judged(found: VerdictData) -> str:
    """Say what a judge or a moderator found."""
    if found["scores"]:
        return moderated(found)
    nobody = "no declared stance" if found["undeclared"] else "several combined"
    return f"{found['speaker']}: {found['winner'] or found['choice'] or nobody}"
