"""What is wrong with records of the `moderated` format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance_kit.case import Case, altered, defect, group, undue
from conformance_kit.judged import NOTHING
from conformance_kit.moderated import (
    HOLDS,
    RANKED,
    all_struck,
    attacked,
    defended,
    moderated,
    ranked,
    twice_ranked,
    two_rounds,
    unchallenged,
    unmoderated,
    unsupported,
    weighed,
)
from conformance_kit.records import Record


def cased(record: Record, seq: int, /, **fields: Any) -> Record:
    """Change fields of a turn's case."""
    return record.data(seq, case={**record.event(seq)["data"]["case"], **fields})


@group
def moderation_cases() -> Iterator[Case]:
    """Checks 9, 12 and 16: what the moderator found, and what follows from it."""
    base, positions = moderated(), ranked()
    scores = base.event(22)["data"]["scores"]
    for key, name, value, why in (
        ("upholds", "upholds", False, "The moderator upholds the proposition."),
        ("upholds-nothing", "upholds", None, "Without positions it is upheld or not."),
        ("ranking", "ranking", ["proposer"], "There are no positions to rank."),
        ("score", "scores", [{**scores[0], "score": 9}, *scores[1:]], "A score is another one."),
        ("scores-unsorted", "scores", scores[::-1], "The sides are not in their order."),
        ("score-missing", "scores", scores[:2], "A side has no score."),
        ("resolved", "resolved", 2, "One point is listed as resolved."),
        ("unresolved", "unresolved", 0, "Two points are listed as unresolved."),
        ("uncertainties", "uncertainties", 0, "Three uncertainties are listed."),
        ("confidence", "confidence", "HIGH", "The moderator's confidence is MODERATE."),
        ("another-round", "another_round", True, "The moderator wants no other round."),
        ("winner", "winner", "proposer", "A moderator names no winner."),
    ):
        yield altered(f"moderation-{key}", f"12.{name}", why, base, 22, **{name: value})
    for key, value, why in (
        ("swapped", ["ann", "ben"], "The moderator ranked the other position first."),
        ("as-labels", ["slow", "fast"], "The ranking is of labels, and not of seats' ids."),
    ):
        yield altered(f"ranking-{key}", "12.ranking", why, positions, 32, ranking=value)
    yield altered(
        "ranking-and-upholds",
        "12.upholds",
        "With positions there is no proposition to uphold.",
        positions,
        32,
        upholds=True,
    )
    yield altered(
        "neutrality-score",
        "12.resolved",
        "What the neutrality check found is derived like any other moderation.",
        positions,
        35,
        resolved=0,
    )
    yield undue(
        "moderation-as-a-turn",
        22,
        "The moderation is recorded as a turn.",
        base.retyped(22, "turn.recorded", vote=None, case=None),
    )
    yield undue(
        "proposition-as-a-verdict",
        13,
        "The proposition is recorded as a verdict.",
        base.retyped(13, "verdict.recorded", **NOTHING),
    )
    twice = weighed(RANKED, ranking=["slow", "slow"]).text
    yield undue(
        "ranking-twice-counted",
        32,
        "The ranking names one position twice, and counts.",
        positions.text(31, "reply", twice),
    )


@group
def moderated_outcome_cases() -> Iterator[Case]:
    """Check 16: the decision and the close."""
    base, positions, long = moderated(), ranked(), two_rounds()
    for key, code, record, seq, fields, why in (
        (
            "not-upheld",
            "decision",
            base,
            23,
            {"decision": "not_upheld"},
            "The moderator upholds the proposition.",
        ),
        (
            "by-neutrality",
            "decision",
            long,
            45,
            {"decision": "upheld"},
            "The decision rests on the neutrality check, and not on the last moderation.",
        ),
        (
            "second",
            "decision",
            positions,
            36,
            {"decision": "ann"},
            "The decision is for the position that is ranked second.",
        ),
        (
            "by-synthesis",
            "rule",
            positions,
            36,
            {"rule": "moderator_synthesis"},
            "Positions are ranked.",
        ),
        ("with-votes", "votes", base, 23, {"votes": 1}, "Nobody voted."),
        ("with-threshold", "threshold", base, 23, {"threshold": 1}, "Nobody voted."),
        ("rounds", "rounds_run", long, 45, {"rounds_run": 1}, "There were two rounds."),
        (
            "unchallenged-upheld",
            "decision",
            unchallenged(),
            20,
            {"decision": "upheld"},
            "Nobody challenged the proposition.",
        ),
        (
            "unsupported-upheld",
            "decision",
            unsupported(),
            23,
            {"decision": "upheld"},
            "Every argument of the proposition is struck.",
        ),
        (
            "struck-challenge",
            "rule",
            all_struck(),
            23,
            {"rule": "moderator_synthesis"},
            "What challenged the proposition rests on a quote that was made up.",
        ),
    ):
        yield altered(f"moderated-decision-{key}", f"16.{code}", why, record, seq, **fields)
    for key, record, seq, reason, why in (
        ("exhausted", base, 24, "max_rounds_exhausted", "The moderator wanted no other round."),
        ("satisfied", long, 46, "moderator_satisfied", "The moderator wanted another round."),
        ("judge", unmoderated(), 23, "judge_failed", "It is the moderator that failed."),
    ):
        yield altered(f"moderated-close-{key}", "16.reason", why, record, seq, reason=reason)


@group
def argued_cases() -> Iterator[Case]:
    """Checks 12 and 13: what is counted in propositions, critiques and rebuttals."""
    record = two_rounds()
    case = record.event(14)["data"]["case"]
    found = case["citations"]

    def finding(number: int, finding: str) -> list[dict[str, Any]]:
        return [{**row, "finding": finding} if row is found[number] else row for row in found]

    for key, code, seq, fields, why in (
        ("arguments", "12.arguments", 14, {"arguments": 3}, "There are four arguments."),
        ("rating-of-a-proposer", "12.rating", 14, {"rating": 5}, "Only a critic rates itself."),
        ("rating", "12.rating", 20, {"rating": 9}, "The critic gave itself 5."),
        ("rating-hidden", "12.rating", 20, {"rating": None}, "The critic gave itself 5."),
        (
            "answered-by-what-is-struck",
            "12.unanswered",
            23,
            {"unanswered": []},
            "What answers objection 3 is struck, so it answers nothing.",
        ),
        (
            "unanswered-but-struck",
            "12.unanswered",
            23,
            {"unanswered": [2, 3]},
            "Objection 2 is struck and wants no answer.",
        ),
        (
            "unanswered-but-conceded",
            "12.unanswered",
            23,
            {"unanswered": [3, 4]},
            "Objection 4 is conceded.",
        ),
        (
            "unanswered-of-a-critic",
            "12.unanswered",
            20,
            {"unanswered": [1]},
            "Only a rebuttal leaves objections unanswered.",
        ),
        (
            "not-found-as-verified",
            "13.citations",
            14,
            {"citations": finding(2, "verified")},
            "The quote does not occur in the document.",
        ),
        (
            "verified-as-not-found",
            "13.citations",
            14,
            {"citations": finding(0, "not_found")},
            "The quote occurs in the document, white space folded.",
        ),
        (
            "not-yet-visible-as-verified",
            "13.citations",
            14,
            {"citations": finding(3, "verified")},
            "The document came a round later.",
        ),
        (
            "not-yet-visible-as-nowhere",
            "13.citations",
            14,
            {"citations": finding(3, "no_such_document")},
            "There is such a document, though it came a round later.",
        ),
        (
            "nowhere-as-not-found",
            "13.citations",
            14,
            {"citations": finding(4, "not_found")},
            "There is no document of this id.",
        ),
        (
            "citation-left-out",
            "13.citations",
            14,
            {"citations": found[:-1]},
            "The last citation is left out.",
        ),
        (
            "citations-unsorted",
            "13.citations",
            14,
            {"citations": found[::-1]},
            "The citations are not in their order.",
        ),
        ("nothing-struck", "13.struck", 14, {"struck": []}, "Three arguments rest on nothing."),
        (
            "struck-too-much",
            "13.struck",
            14,
            {"struck": [1, 2, 3, 4]},
            "The first argument's citation holds.",
        ),
        (
            "one-citation-of-two",
            "13.struck",
            14,
            {"struck": [3, 4]},
            "One of an argument's two citations does not hold: that is enough.",
        ),
    ):
        yield defect(f"case-{key}", code, seq, why, cased(record, seq, **fields))
    capitals = moderated().event(13)["data"]["case"]["citations"]
    yield defect(
        "case-in-capitals",
        "13.citations",
        13,
        "The quote occurs in the document in small letters alone.",
        cased(moderated(), 13, citations=[{**row, "finding": "verified"} for row in capitals]),
    )
    yield altered("case-null", "12.case", "A proposition has a case.", record, 14, case=None)
    yield altered("case-of-a-framing", "12.case", "A framing has none.", record, 11, case=case)
    yield altered(
        "case-with-a-vote", "12.vote", "A proposer votes for nothing.", record, 14, vote="a"
    )
    reply = defended((1, [HOLDS]), (2, [])).text
    yield undue(
        "objection-out-of-range",
        19,
        "The rebuttal answers objection 2 of one, and counts.",
        moderated().text(18, "reply", reply),
    )
    yield undue(
        "concession-out-of-range",
        19,
        "The rebuttal concedes objection 2 of one, and counts.",
        moderated().text(18, "reply", defended(conceded=[2]).text),
    )
    for key, strength, why in (
        ("fraction", 8.0, "`8.0`, which is no integer"),
        ("true", True, "`true`, which is no integer"),
        ("eleven", 11, "11 of 10"),
    ):
        yield undue(
            f"strength-{key}",
            16,
            f"The critique rates itself {why}, and counts.",
            moderated().text(15, "reply", attacked(strength, [HOLDS]).text),
        )


@group
def weak_cases() -> Iterator[Case]:
    """Checks 9 and 12: critiques that are sent back."""
    base, record = moderated(), two_rounds()
    rejection = record.event(17)["data"]
    second = {**rejection, "call": "r1.critique.critic:2", "rating": 5}
    yield undue(
        "weak-twice",
        20,
        "A critique is sent back a second time.",
        record.insert(20, "turn.rejected", second),
    )
    events = record.events
    first = {**events[19]["data"], "call": "r1.critique.critic:1"}
    events[19]["data"] = first
    yield undue(
        "weak-and-counted",
        17,
        "A weak critique counts at once, without being sent back.",
        record.numbered([*events[:16], *events[19:]]).pruned(),
    )
    strong = {**rejection, "rating": 8}
    yield undue(
        "strong-sent-back",
        16,
        "A critique is sent back that rates itself strong enough.",
        base.insert(16, "turn.rejected", strong),
    )
    yield undue(
        "strong-under-other-terms",
        16,
        "The terms want a rating of 9, and the critique that counts has 8.",
        base.terms(require_critic_retry_below=9),
    )
    for key, code, fields, why in (
        ("rating", "12.rating", {"rating": 3}, "The critique gave itself 4."),
        ("rating-hidden", "12.rating", {"rating": None}, "The rating has to be named."),
        ("code", "12.code", {"code": "schema"}, "The reply fits its schema; it is too weak."),
        ("again", "9.again", {"again": False}, "A critique that is sent back is tried again."),
    ):
        yield altered(f"weak-{key}", code, why, record, 17, **fields)
    yield altered(
        "rejection-with-a-rating",
        "12.rating",
        "A rating is named where a reply is rejected for something else.",
        twice_ranked(),
        32,
        rating=4,
    )
    yield altered(
        "weak-instead-of-the-next",
        "9.call",
        "The turn rests on the critique that was sent back, though a later one counts.",
        record,
        20,
        call="r1.critique.critic:1",
    )
    yield altered(
        "weak-from-the-failed-call",
        "9.call",
        "The turn rests on the call that failed; the critique came with the one before.",
        record,
        35,
        call="r2.critique.critic:2",
    )
    place = {name: events[34]["data"][name] for name in ("step", "round", "phase", "speaker")}
    yield undue(
        "weak-forfeited",
        35,
        "The turn is forfeited, though a critique is there that counts at last.",
        record.top(35, type="turn.forfeited", data={**place, "reason": "no_reply", "cut": None}),
    )
