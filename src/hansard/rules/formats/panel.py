"""The `panel` format: independent drafts, then rounds in which all revise in parallel.

In round 0 nobody sees another's draft; from then on everybody sees all drafts
of all earlier rounds. After every round the answers are compared, and once all
are alike the rounds end. Then a judge combines them or picks one, or without a
judge the answers of the last round are counted, or the one most similar to the
others is taken (RULES.md §5; D 30 to D 37; FORMAT.md §8.4).

When to use it: a high-stakes decision on which specialists may well differ, and
blind spots of different models or perspectives should cover for each other.
When not: there is one right answer that can be computed, somebody is waiting
for it, or there are very many to be answered cheaply. Cost: debaters x
(rounds + 1) calls, and one with a judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, cast

from hansard.rules import similarity
from hansard.rules.counting import needed, tally, winner
from hansard.rules.events import Fact, RegisteredData
from hansard.rules.fields import CloseReason, OptionVotes, PanelTerms, Rejection, Role
from hansard.rules.formats.common import (
    ESCALATE,
    RESERVED,
    Compare,
    decided,
    heard_in,
    ruling,
    verdict,
)
from hansard.rules.prompts import TextOf
from hansard.rules.replies import Schema, members, one_of, words
from hansard.rules.state import DebateState, Step, Turn

TEMPLATES: dict[str, tuple[str, ...]] = {
    "protocol": (),
    "block": ("label",),
    "again": ("code", "keyword", "member"),
    "debater": ("last_round", "round", "speaker"),
    "chooser": ("last_round", "options", "round", "speaker"),
    "judge": (),
    "judge_choosing": ("options",),
    "judge_picking": ("labels",),
    "synthesizer": ("decision", "rule"),
}
LEAST = 2


def terms_of(state: DebateState) -> PanelTerms:
    """Return the opening's terms."""
    return cast(PanelTerms, state.spec["terms"])


def schemas(terms: PanelTerms) -> dict[Role, Schema]:
    """A draft is words, with a choice among options; a judge writes an answer or picks."""
    return _schemas(tuple(terms["options"]), tuple(terms["labels"]), terms["resolution"])


@lru_cache(maxsize=64)
def _schemas(options: tuple[str, ...], labels: tuple[str, ...], how: str) -> dict[Role, Schema]:
    choice = {"choice": one_of(options)} if options else {}
    if how == "pick":
        judge = members(winner=one_of(labels), justification=words())
    else:
        judge = members(answer=words(), **choice, justification=words())
    return {"debater": members(answer=words(), **choice) if options else words(), "judge": judge}


def misfit(terms: PanelTerms, seats: Sequence[RegisteredData]) -> str | None:
    """The debaters of the terms, at least two, and a judge where one resolves it."""
    judges = terms["resolution"] in ("synthesis", "pick")
    roles = ["debater"] * len(terms["labels"]) + ["judge"] * judges
    ids = [seat["id"] for seat in seats]
    fit = [seat["role"] for seat in seats] == roles and ids[: len(terms["labels"])] == terms[
        "labels"
    ]
    plain = all(seat["stance"] is None for seat in seats) and RESERVED.isdisjoint(ids)
    plain = plain and not set(terms["options"]) & {"synthesis", *terms["labels"]}
    return None if fit and plain and len(terms["labels"]) >= LEAST else "the debaters of the terms"


def due(state: DebateState) -> Fact | Compare | tuple[Step, ...] | CloseReason:
    """Return who drafts, the comparison after a round, or what resolves it."""
    terms, many = terms_of(state), len(state.votes)
    drafts = sum(row.role == "debater" for row in state.turns)
    done, spoken = divmod(drafts, many)
    if spoken or not done:
        return tuple(Step.of(done, "draft", speaker) for speaker in [*state.votes][spoken:])
    last = done - 1
    if terms["convergence_ppm"] is not None and len(state.similarities) <= last:
        return _compare(state, last)
    if done <= terms["max_rounds"] and not _converged(state):
        return tuple(Step.of(done, "draft", speaker) for speaker in state.votes)
    if len(heard_in(state, last)) < LEAST:
        return decided(state, ESCALATE, "too_few_heard")
    if terms["resolution"] in ("synthesis", "pick"):
        return _judged(state, last)
    return _counted(state, last) if _is_counted(state) else _most_similar(state, last)


def _converged(state: DebateState) -> bool:
    """Say whether the answers of any round were alike: a last comparison is no such test."""
    return any(row["converged"] for row in state.similarities)


def _compare(state: DebateState, round_: int) -> Fact | Compare:
    """Declared options are equal or not; other answers are compared by their texts."""
    terms = terms_of(state)
    limit = cast(int, terms["convergence_ppm"])
    if not terms["options"]:
        return Compare(round_, "whole" if limit == similarity.MILLION else "words", final=False)
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


def compared(state: DebateState, what: Compare, answers: Mapping[str, str]) -> Fact:
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


def _judged(state: DebateState, last: int) -> Fact | tuple[Step, ...] | CloseReason:
    found = ruling(state)
    if found is None:
        return (Step.of(last, "verdict", state.of_role("judge")[0]["id"]),)
    if isinstance(found, str):
        return "judge_failed"
    if found["winner"]:
        if found["winner"] not in heard_in(state):
            return decided(state, ESCALATE, "too_few_heard")
        return decided(state, found["winner"], "judge_pick")
    return decided(state, found["choice"] or "synthesis", "judge_synthesis")


def _is_counted(state: DebateState) -> bool:
    """Similar answers that converged are no exact majority: the most similar one stands (D 31)."""
    terms = terms_of(state)
    by_text = not terms["options"] and _converged(state)
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
            return Compare(last, "votes", final=True)
        rows, abstentions = tally(terms["options"], state.votes.values())
        return _count(state, last, rows, abstentions)
    count = state.counts[-1]
    found = winner(count["tally"], count["threshold"])
    numbers = {"votes": found["votes"] if found else 0, "threshold": count["threshold"]}
    if found:
        return decided(state, found["option"], "majority_vote", **numbers)
    return decided(state, ESCALATE, "no_majority", **numbers)


def _tally_of_texts(state: DebateState, last: int, answers: Mapping[str, str]) -> Fact:
    """Count equal answers, each under the first debater who gave it."""
    first: dict[str, str] = {}
    held = []
    for speaker, answer in answers.items():
        held.append(first.setdefault(similarity.normalised(answer), speaker))
    rows, _ = tally(list(first.values()), held)
    return _count(state, last, rows, len(state.votes) - len(answers))


def _count(state: DebateState, last: int, rows: list[OptionVotes], abstentions: int) -> Fact:
    threshold = cast(int, needed("majority", len(state.votes), None))
    data = {
        "round": last,
        "phase": "draft",
        "tally": rows,
        "abstentions": abstentions,
        "threshold": threshold,
        "reached": winner(rows, threshold) is not None,
    }
    return Fact("votes.counted", data)


def _most_similar(state: DebateState, last: int) -> Fact | Compare:
    """Take the draft most similar to the others; the first registered one among equals."""
    measured = state.similarities[-1] if state.similarities else None
    if measured is None or measured["round"] != last or measured["measure"] != "words":
        return Compare(last, "words", final=True)
    scores = similarity.scores(measured["pairs"])
    best = max(state.votes, key=lambda seat: scores.get(seat, -1))
    return decided(state, best, "most_similar", score_ppm=scores.get(best, 0))


def reason(state: DebateState) -> CloseReason:
    """Return why it stopped."""
    return "converged" if _converged(state) else "rounds_complete"


def most_turns(terms: PanelTerms, debaters: int) -> int:
    """Everybody drafts in round 0 and in every round after it, and a judge may speak once."""
    return debaters * (terms["max_rounds"] + 1) + (terms["resolution"] in ("synthesis", "pick"))


def read(state: DebateState, step: Step, value: Any, text_of: TextOf) -> dict[str, Any] | Rejection:
    """Return the choice of a draft or a judge, or the draft that a judge picked."""
    options = terms_of(state)["options"]
    if step.phase == "draft":
        return {"vote": value["choice"] if options else None, "case": None}
    if "winner" in value:
        return verdict(winner=value["winner"])
    return verdict(choice=value["choice"] if options else None)


def answer_of(value: Any) -> str:
    """Return the answer of a draft that counts: all of it, or beside its choice."""
    return cast(str, value if isinstance(value, str) else value["answer"])


def admits(state: DebateState, step: Step, data: dict[str, Any]) -> bool:
    """A choice is a declared option, a pick one of the debaters."""
    terms = terms_of(state)
    options: list[str | None] = [*terms["options"]] or [None]
    if step.phase == "draft":
        return data["vote"] in options and data["case"] is None
    picks = terms["resolution"] == "pick"
    named = data["winner"] in terms["labels"] if picks else data["choice"] in options
    free = verdict(winner=data["winner"]) if picks else verdict(choice=data["choice"])
    return named and all(data[name] == value for name, value in free.items())


def template(state: DebateState, step: Step) -> str:
    """Return the template's role: with options one chooses, and a judge may pick."""
    terms = terms_of(state)
    if step.phase == "draft":
        return "chooser" if terms["options"] else "debater"
    if terms["resolution"] == "pick":
        return "judge_picking"
    return "judge_choosing" if terms["options"] else "judge"


def values(state: DebateState, step: Step | None) -> dict[str, str]:
    """Return what is filled into the protocol (no step), or into the speaker's instruction."""
    if step is None:
        return {}
    terms, role = terms_of(state), template(state, step)
    known = {
        "labels": ", ".join(terms["labels"]),
        "last_round": str(terms["max_rounds"]),
        "options": ", ".join(terms["options"]),
        "round": str(step.round),
        "speaker": step.speaker,
    }
    return {name: known[name] for name in TEMPLATES[role]}


def label(state: DebateState, turn: Turn) -> tuple[str, bool]:
    """A draft is titled with its debater and its round, and quoted as it is."""
    data = turn.data
    title = f"{data['speaker']}, round {data['round']}"
    return title if turn.role == "debater" else "verdict of the judge", False


def retold(state: DebateState, step: Step) -> None:
    """Everybody sees the transcript in its order."""
