"""Debates that failed, since too few could be heard: they have no decision."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from conformance_kit.case import Case, altered, group, sound, undue
from conformance_kit.debates import voting
from conformance_kit.judged import arguing
from conformance_kit.moderated import unproposed
from conformance_kit.panel import drafting
from conformance_kit.records import Record, fails

VOTES = {"ann": "a", "ben": "b"}


@cache
def unheard() -> Record:
    """Ten entries: 4-5 started, 6-7 failed, 8-9 both forfeit, 10 closed."""
    return voting("unheard", VOTES, {f"r1.proposal.{seat}:1": fails("no_reply") for seat in VOTES})


@cache
def unheard_later() -> Record:
    """Seventeen entries: 4-10 the proposals, 11-13 and 14-16 nobody criticises, 17 closed."""
    script = {f"r1.critique.{seat}:1": fails("no_reply") for seat in VOTES}
    return voting("unheard-later", VOTES, script)


@cache
def unargued() -> Record:
    """Seventeen entries: 5-10 round 1, 11-13 and 14-16 nobody argues in round 2, 17 closed."""
    script = {f"r2.argument.{seat}:1": fails("no_reply") for seat in VOTES}
    return arguing("unargued", script, max_rounds=3)


@cache
def undrafted() -> Record:
    """Seventeen entries: 4-9 round 0, 10 similarity, 11-16 nobody drafts in round 1, 17 closed."""
    return drafting("undrafted", [["a", "b"], [None, None], ["a", "b"]])


@group
def unheard_cases() -> Iterator[Case]:
    """Nobody is heard in a phase or a round: the debate ends there, and nothing was decided."""
    for key, record, why in (
        ("unheard-consensus", unheard(), "No debater was heard in the first phase."),
        (
            "unheard-later",
            unheard_later(),
            "Both debaters voted, but neither was heard in the phase that followed.",
        ),
        ("unheard-judged", unargued(), "Nobody argued in round 2 of 3, so the judge is not asked."),
        ("unheard-panel", undrafted(), "Nobody drafted in round 1, though all did in round 0."),
    ):
        yield sound(key, why, record)
    for key, record, seq in (
        ("consensus", unheard(), 10),
        ("judged", unargued(), 17),
        ("moderated", unproposed(), 14),
        ("panel", undrafted(), 17),
    ):
        why = "Nobody was heard, and it is said to be complete."
        yield altered(f"unheard-{key}-complete", "16.outcome", why, record, seq, outcome="complete")
    why = "It is not the judge that failed: nobody was heard."
    yield altered("unheard-judge", "16.reason", why, unargued(), 17, reason="judge_failed")
    count = {
        "round": 1,
        "phase": "proposal",
        "tally": [{"option": "a", "votes": 0}, {"option": "b", "votes": 0}],
        "abstentions": 2,
        "threshold": 2,
        "reached": False,
    }
    why = "Votes are counted in a phase in which nobody was heard."
    yield undue("unheard-counted", 10, why, unheard().insert(10, "votes.counted", count))
    compared = {**undrafted().event(10)["data"], "round": 1, "heard": 0, "pairs": []}
    why = "The answers of a round are compared in which there are none."
    record = undrafted().insert(17, "similarity.measured", compared)
    yield undue("unheard-compared", 17, why, record)
    decision = {
        "decision": "escalate",
        "rule": "too_few_heard",
        "rounds_run": 1,
        "review": unproposed().event(1)["data"]["review"],
        "votes": None,
        "threshold": None,
        "score_ppm": None,
    }
    why = "A debate in which no proposer was heard has no decision, not even that somebody decides."
    record = unproposed().insert(14, "decision.reached", decision)
    yield undue("unheard-escalated", 14, why, record)
