"""Who speaks in a `panel` debate, and how it is resolved (D 30, D 31, D 37)."""

from __future__ import annotations

from collections.abc import Sequence

from hansard.rules import similarity
from hansard.rules.counting import majority, tally
from hansard.rules.data import RegisteredData
from hansard.rules.events import Fact
from hansard.rules.formats.base import Compare
from hansard.rules.formats.common import (
    UNSOUND,
    by_count,
    decided,
    heard_in,
    ruling,
    silent,
    sound,
    still_in,
)
from hansard.rules.formats.panel.comparing import compare, converged, count, texts
from hansard.rules.formats.panel.reading import terms_of
from hansard.rules.formats.panel.spec import BY_JUDGE, LEAST
from hansard.rules.state import DebateState, Step
from hansard.rules.terms import ESCALATE, OUTCOMES, CloseReason, PanelTerms


def settled(terms: PanelTerms, _seats: int) -> PanelTerms | str:
    """Nothing is derived, but options must be what can be voted for."""
    return terms if sound(terms["options"]) else UNSOUND


def wrong_seats(terms: PanelTerms, seats: Sequence[RegisteredData]) -> str | None:
    """The debaters of the terms, at least two, and a judge where one resolves it."""
    judges = terms["resolution"] in BY_JUDGE
    roles = ["debater"] * len(terms["labels"]) + ["judge"] * judges
    ids = [seat["id"] for seat in seats]
    fit = [seat["role"] for seat in seats] == roles and ids[: len(terms["labels"])] == terms[
        "labels"
    ]
    plain = all(seat["stance"] is None for seat in seats) and OUTCOMES.isdisjoint(ids)
    plain = plain and not set(terms["options"]) & {"synthesis", *terms["labels"]}
    return None if fit and plain and len(terms["labels"]) >= LEAST else "the debaters of the terms"


def due(state: DebateState) -> Fact | Compare | tuple[Step, ...] | CloseReason:  # noqa: PLR0911 - the schedule reads from top to bottom
    """Return who drafts, the comparison after a round, or what resolves it."""
    terms, many = terms_of(state), len(state.votes)
    drafts = len(state.turns) - sum(row.role != "debater" for row in state.turns[-2:])
    done, spoken = divmod(drafts, many)
    if spoken or not done:
        return tuple(Step.of(done, "draft", speaker) for speaker in [*state.votes][spoken:])
    if silent(state.turns[drafts - many : drafts]):
        return "nobody_heard"
    last = done - 1
    if terms["convergence_ppm"] is not None and len(state.similarities) <= last:
        return compare(state, last)
    if done <= terms["max_rounds"] and not converged(state):
        return tuple(Step.of(done, "draft", speaker) for speaker in state.votes)
    if len(heard_in(state, last)) < LEAST:
        return decided(state, ESCALATE, "too_few_heard")
    if terms["resolution"] in BY_JUDGE:
        return _judged(state, last)
    return _counted(state, last) if _is_counted(state) else _most_similar(state, last)


def _judged(state: DebateState, last: int) -> Fact | tuple[Step, ...] | CloseReason:
    found = ruling(state)
    if found is None:
        return (Step.of(last, "verdict", state.of_role("judge")[0]["id"]),)
    if isinstance(found, str):
        return "judge_failed"
    if found["winner"]:
        if found["winner"] not in state.spoken:
            return decided(state, ESCALATE, "too_few_heard")
        return decided(state, found["winner"], "judge_pick")
    return decided(state, found["choice"] or "synthesis", "judge_synthesis")


def _is_counted(state: DebateState) -> bool:
    """Similar answers that converged are no exact majority: the most similar one stands (D 31)."""
    terms = terms_of(state)
    by_text = not terms["options"] and converged(state)
    counted = bool(state.counts) and not state.counts[-1]["reached"]
    return (
        terms["resolution"] == "majority"
        and not by_text
        and not (counted and terms["fallback"] == "similar")
    )


def _counted(state: DebateState, last: int) -> Fact | Compare:
    """Count the answers of the last round: more than half of the registered must hold one."""
    terms = terms_of(state)
    if not state.counts:
        if not terms["options"]:
            return texts(last, "votes", final=True)
        rows, abstentions = tally(terms["options"], state.votes.values())
        return count(state, last, rows, abstentions)
    return by_count(state, "majority_vote", "no_majority")


def _most_similar(state: DebateState, last: int) -> Fact | Compare:
    """Take the draft most similar to the others; the first registered one among equals."""
    measured = state.similarities[-1] if state.similarities else None
    if measured is None or measured["round"] != last or measured["measure"] != "words":
        return texts(last, "words", final=True)
    scores = similarity.scores(measured["pairs"])
    best = max(state.votes, key=lambda seat: scores.get(seat, -1))
    return decided(state, best, "most_similar", score_ppm=scores.get(best, 0))


def lost(state: DebateState) -> bool:
    """Whether too few are left for two drafts, or for the majority on which all depends."""
    terms, left = terms_of(state), len(still_in(state))
    counted = terms["resolution"] == "majority" and terms["fallback"] == "escalate"
    return left < (majority(len(state.votes)) if counted else LEAST)


def reason(state: DebateState) -> CloseReason:
    """Return why it stopped."""
    return "converged" if converged(state) else "rounds_complete"


def most_turns(terms: PanelTerms, debaters: int) -> int:
    """Everybody drafts in round 0 and in every round after it, and a judge may speak once."""
    return debaters * (terms["max_rounds"] + 1) + (terms["resolution"] in BY_JUDGE)
