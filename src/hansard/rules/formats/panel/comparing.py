"""How the answers of a `panel` round are compared and counted (D 30 to D 32, D 37)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, cast

from hansard.rules import similarity
from hansard.rules.counting import majority, tally, winner
from hansard.rules.events import Fact
from hansard.rules.fields import OptionVotes
from hansard.rules.formats.base import Compare, Comparison
from hansard.rules.formats.common import counted, heard_in
from hansard.rules.formats.panel.reading import answer_of, terms_of
from hansard.rules.formats.panel.spec import LEAST
from hansard.rules.similarity import Measured
from hansard.rules.state import DebateState


def converged(state: DebateState) -> bool:
    """Say whether the answers of any round were alike: a last comparison is no such test."""
    return any(row["converged"] for row in state.similarities[-2:])  # it ends the rounds


def compare(state: DebateState, round_: int) -> Fact | Compare:
    """Declared options are equal or not; other answers are compared by their texts."""
    terms = terms_of(state)
    limit = cast(int, terms["convergence_ppm"])
    if not terms["options"]:
        return texts(round_, "whole" if limit == similarity.MILLION else "words", final=False)
    heard = heard_in(state, round_)
    votes = [state.votes[seat] for seat in heard]
    return Fact(
        "similarity.measured",
        {
            "round": round_,
            "measure": "options",
            "heard": len(heard),
            "pairs": [],
            "threshold_ppm": limit,
            "converged": _enough(state, len(votes)) and len(set(votes)) == 1,
        },
    )


def compared(state: DebateState, what: Compare, answers: Mapping[str, Measured]) -> Fact:
    """Return the fact that a comparison of the answers, by debater, gives."""
    if what.measure == "votes":
        return _tally_of_texts(state, what.round, answers)
    limit = terms_of(state)["convergence_ppm"] or 0
    rows = similarity.pairs(answers, whole=what.measure == "whole")
    data = {
        "round": what.round,
        "measure": what.measure,
        "heard": len(answers),
        "pairs": rows,
        "threshold_ppm": limit,
        "converged": not what.final
        and _enough(state, len(answers))
        and similarity.converged(rows, limit),
    }
    return Fact("similarity.measured", data)


def _enough(state: DebateState, heard: int) -> bool:
    """Whether those who were heard are at least two, and most of the debaters."""
    return heard >= LEAST and 2 * heard > len(state.votes)


def restated(state: DebateState, what: Compare, data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what follows of a comparison where an answer is gone; None where none gives `data`.

    Who is compared is known all the same, and what their answers give is as recorded.
    """
    heard, fact = heard_in(state, what.round), compared(state, what, {}).data
    if what.measure == "votes":
        named = [row["option"] for row in data["tally"]]
        if len(set(named)) < len(named) or not set(named) <= set(heard):
            return None
        reached = winner(data["tally"], fact["threshold"]) is not None
        known = {"abstentions": len(state.votes) - len(heard), "reached": reached}
        return {**fact, "tally": data["tally"], **known}
    if [(row["one"], row["other"]) for row in data["pairs"]] != [*combinations(heard, 2)]:
        return None
    converged = data["converged"] and not what.final and _enough(state, len(heard))
    return {**fact, "pairs": data["pairs"], "heard": len(heard), "converged": converged}


def _tally_of_texts(state: DebateState, last: int, answers: Mapping[str, Measured]) -> Fact:
    """Count equal answers, each under the first debater who gave it."""
    first: dict[bytes, str] = {}
    held = []
    for speaker, answer in answers.items():
        held.append(first.setdefault(answer.normalised, speaker))
    rows, _ = tally(list(first.values()), held)
    return count(state, last, rows, len(state.votes) - len(answers))


def count(state: DebateState, last: int, rows: list[OptionVotes], abstentions: int) -> Fact:
    """Return the count of the last round: more than half of the registered debaters decide."""
    return counted(last, "draft", rows, abstentions, majority(len(state.votes)))


TEXTS = Comparison(answer_of, compared, restated)


def texts(round_: int, measure: str, *, final: bool) -> Compare:
    """Return that the texts of a round are to be compared."""
    return Compare(round_, measure, final, TEXTS)
