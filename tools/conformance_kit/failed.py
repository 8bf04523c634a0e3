"""Seats that cannot be asked, and debates that failed since too few could be heard."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from conformance_kit.case import Case, altered, group, sound, undue
from conformance_kit.debates import voting
from conformance_kit.judged import arguing
from conformance_kit.misread import RESUMED
from conformance_kit.moderated import attacked, moderating, unproposed, weighed
from conformance_kit.panel import YES_NO, drafting
from conformance_kit.records import DIES, Record, Script, fails
from hansard.runtime.models.base import Wire

VOTES = {"ann": "a", "ben": "b"}
SPLIT = {**VOTES, "cy": "a"}
REFUSED = fails("client_error", Wire(401))
ONE_VOTE = {  # the count of `short`, were it made
    "round": 1,
    "phase": "proposal",
    "tally": [{"option": "a", "votes": 1}, {"option": "b", "votes": 0}],
    "abstentions": 1,
    "threshold": 2,
    "reached": False,
}


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


def splitting(name: str, script: Script) -> Record:
    """Run one round of three debaters, of whom ann and ben never agree; two votes are needed."""
    return voting(name, SPLIT, script, rule="threshold", threshold=2)


@cache
def refused() -> Record:
    """Forty entries: cy is refused once, and forfeits three turns without a call.

    5-7 started, 8-9 answered, 10 failed, 11-13 turns, 14 count, 15-17 and 18-20 ann and ben,
    21 cy is out, 22 count, 23-30 and 31-38 alike, 39 decision, 40 closed.
    """
    return splitting("refused-once", {"r1.proposal.cy:1": REFUSED})


@cache
def mended() -> Record:
    """Twenty-nine entries: the process dies in the critique, and cy is asked: 24 started."""
    script: Script = {"r1.proposal.cy:1": REFUSED, "r1.critique.ben:1": DIES}
    return splitting("mended", script)


@cache
def short() -> Record:
    """Ten entries: 4-5 started, 6 answered, 7 ann is refused, 8-9 turns, 10 closed."""
    return voting("short", {"ann": "a", "ben": "a"}, {"r1.proposal.ann:1": REFUSED})


@cache
def one_sided() -> Record:
    """Eight entries: 5 started, 6 ann is refused, 7 she forfeits, 8 closed."""
    return arguing("one-sided", {"r1.argument.ann:1": REFUSED})


@cache
def lone() -> Record:
    """Ten entries: 4-5 started, 6-7 ended, 8-9 turns, 10 closed; no answers are compared."""
    return drafting("lone", [["a", "b"]] * 2, {"r0.draft.ben:1": REFUSED})


@cache
def late() -> Record:
    """Cy is out in round 1; after 19 another process takes over, and cy sees what ann said."""
    return drafting("late", [["a", "b", "c"]] * 2, {"r0.draft.cy:1": REFUSED}, kept=19)


@group
def seat_out_cases() -> Iterator[Case]:
    """A seat that would be refused again is not asked, until the debate is resumed."""
    for status in (400, 401, 404, 405):
        script: Script = {"r1.proposal.cy:1": fails("client_error", Wire(status))}
        out = 401 <= status <= 404
        why = f"A call fails with status {status}: its seat is {'out' if out else 'asked again'}."
        yield sound(f"seat-out-status-{status}", why, splitting(f"status-{status}", script))
    for key, why, ends in (
        (
            "lost-twice",
            "Cy loses two turns in a row to other rejected requests, and is not asked again.",
            {f"r1.{phase}.cy:1": fails("client_error") for phase in ("proposal", "critique")},
        ),
        (
            "unreachable-twice",
            "Cy's server cannot be reached in two turns, each tried twice; cy is out.",
            {
                f"r1.{phase}.cy:{number}": fails("unreachable")
                for phase in ("proposal", "critique")
                for number in (1, 2)
            },
        ),
        (
            "not-in-a-row",
            "Cy loses a turn, times out in the next and loses the one after: cy is still in.",
            {
                "r1.proposal.cy:1": fails("client_error"),
                "r1.critique.cy:1": fails("no_reply"),
                "r1.revision.cy:1": fails("client_error"),
            },
        ),
        (
            "heard-between",
            "Cy loses two turns, but is heard in one between them: cy is still in.",
            {f"r1.{phase}.cy:1": fails("client_error") for phase in ("proposal", "revision")},
        ),
    ):
        yield sound(f"seat-out-{key}", why, splitting(key, ends))
    yield sound("seat-out-mended", "After a resumption, a seat that was out is asked.", mended())
    why = "A seat that was out is asked after others of its round were recorded, and sees them."
    yield sound("seat-out-asked-late", why, late())
    script = {
        "r1.critique.critic:1": attacked(4, []),
        "r1.critique.critic:2": REFUSED,
        "r1.moderation.moderator:1": weighed(recommend_another_round=True),
    }
    yield sound(
        "seat-out-after-a-weak-critique",
        "The critic is refused when its weak critique was sent back. That one counts; in round 2 "
        "the critic is out.",
        moderating("refused-critic", script, max_rounds=2),
    )
    base = refused()
    out = base.event(21)["data"]
    asked = {**base.event(15)["data"], "step": out["step"], "call": f"{out['step']}:1"}
    why = "Cy is out, and is asked all the same."
    yield undue("seat-out-asked", 21, why, base.insert(21, "call.started", asked))
    for key, seq, reason, why in (
        ("as-silent", 21, "no_reply", "Cy was not asked: the seat is out."),
        ("too-early", 13, "seat_out", "Cy was asked in this turn."),
    ):
        yield altered(f"seat-out-{key}", "9.reason", why, base, seq, reason=reason)
    again = mended()
    place = again.seq("call.started", step="r1.critique.cy")
    record = again.insert(place, "turn.forfeited", out)
    why = "The debate was resumed, so that cy is in again, and is not asked."
    yield undue("seat-out-after-a-resumption", place, why, record)


@group
def seats_lost_cases() -> Iterator[Case]:
    """So many seats are out that only `escalate` is left: the debate failed."""
    two = {f"r0.draft.{seat}:1": REFUSED for seat in ("ben", "dee")}
    four = [["yes", "no", "yes", "no"]] * 2
    for key, record, why in (
        ("consensus", short(), "Both debaters must agree, and one of them is out."),
        ("judged", one_sided(), "One of two stances can no longer be heard."),
        ("panel", lone(), "One of two debaters is out: no two drafts can be had."),
        (
            "majority",
            drafting("lost-majority", four, two, options=YES_NO),
            "Two of four debaters are out: the others are no majority.",
        ),
    ):
        yield sound(f"seats-lost-{key}", why, record)
    for key, record, why in (
        (
            "fallback",
            drafting("kept-fallback", four, two, options=YES_NO, fallback="similar"),
            "Two of four debaters are out, but without a majority the most similar draft is taken.",
        ),
        (
            "heard-before",
            arguing("heard-before", {"r2.argument.ann:1": REFUSED}, max_rounds=2),
            "Ann is out in round 2, but was heard in round 1: the judge is asked.",
        ),
        (
            "nobody-heard",
            voting("refused-all", VOTES, {f"r1.proposal.{seat}:1": REFUSED for seat in VOTES}),
            "Both seats are out; but nobody was heard, and that comes first.",
        ),
    ):
        yield sound(f"seats-kept-{key}", why, record)
    why = "A seat that the outcome needs is out, and votes are counted."
    yield undue("seats-lost-counted", 10, why, short().insert(10, "votes.counted", ONE_VOTE))
    started = {**one_sided().event(5)["data"], "step": "r1.argument.ben"}
    started["call"] = "r1.argument.ben:1"
    why = "A stance can no longer be heard, and the other one is asked."
    yield undue("seats-lost-asked", 8, why, one_sided().insert(8, "call.started", started))
    for key, record, seq, reason in (
        ("unheard", short(), 10, "nobody_heard"),
        ("judge", one_sided(), 8, "judge_failed"),
        ("rounds", lone(), 10, "rounds_complete"),
    ):
        why = "Too few seats are left, and another reason is given."
        yield altered(f"seats-lost-as-{key}", "16.reason", why, record, seq, reason=reason)


@group
def resumed_cases() -> Iterator[Case]:
    """A debate that was to close for lost seats is resumed, and all of them are in again."""
    compared = {**undrafted().event(10)["data"], "heard": 1, "pairs": []}
    for key, record, seq, kind, data in (
        ("consensus", short(), 10, "votes.counted", ONE_VOTE),
        ("panel", lone(), 10, "similarity.measured", compared),
    ):
        yield sound(
            f"seats-lost-and-resumed-{key}",
            "Before the debate was closed another process took it over: no seat is out any more, "
            "and it goes on.",
            record.without(seq).insert(seq, "debate.resumed", RESUMED).insert(seq + 1, kind, data),
        )
    for key, record, seq in (
        ("consensus", short(), 10),
        ("judged", one_sided(), 8),
        ("panel", lone(), 10),
    ):
        yield undue(
            f"seats-lost-and-resumed-{key}-but-closed",
            seq + 1,
            "Another process took the debate over, so that no seat is out, and closed it for seats "
            "that were.",
            record.insert(seq, "debate.resumed", RESUMED),
        )
