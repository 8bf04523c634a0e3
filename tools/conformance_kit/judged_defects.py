"""What is wrong with records of the `judged` format."""

from __future__ import annotations

from collections.abc import Iterator

from conformance_kit.case import Case, altered, defect, group, undue
from conformance_kit.judged import (
    NOTHING,
    few,
    in_words,
    judged,
    judged_once,
    own_judge,
    undeclared,
    unjudged,
)
from conformance_kit.records import Data


@group
def verdict_cases() -> Iterator[Case]:
    """Checks 9, 12 and 16: what a judge found, and what follows from it."""
    base = judged()
    whys = {
        "winner": ("ben", "The judge found for another stance."),
        "undeclared": (True, "The judge named a stance."),
        "choice": ("ship", "There are no options to choose."),
        "upholds": (True, "There is no proposition to uphold."),
        "ranking": (["ann", "ben"], "There are no positions to rank."),
        "scores": ([{"side": "ship", "score": 7}], "The judge gave no scores."),
        "resolved": (1, "The judge lists no resolved points."),
        "unresolved": (1, "The judge lists no unresolved points."),
        "uncertainties": (1, "The judge lists no uncertainties."),
        "confidence": ("HIGH", "The judge states no confidence."),
        "another_round": (False, "The judge is not asked about another round."),
    }
    for name, (value, why) in whys.items():
        key = f"verdict-{name.replace('_', '-')}"
        yield altered(key, f"12.{name}", why, base, 19, **{name: value})
    yield altered(
        "verdict-winner-as-label",
        "12.winner",
        "The winner is the stance's label, and not the seat's id.",
        base,
        19,
        winner="ship",
    )
    yield altered(
        "verdict-winner-hidden", "12.winner", "The judge named a winner.", base, 19, winner=None
    )
    for name, value in (
        ("step", "r1.verdict.judge"),
        ("round", 1),
        ("phase", "moderation"),
        ("speaker", "ben"),
        ("call", "r2.verdict.judge:2"),
    ):
        why = f"The verdict has another {name} than its place gives."
        yield altered(f"verdict-{name}", f"9.{name}", why, base, 19, **{name: value})
    yield altered(
        "judged-decision-for-the-other",
        "16.decision",
        "The decision is for the stance that the judge did not find for.",
        base,
        20,
        decision="ben",
    )
    yield altered(
        "judged-decision-as-synthesis",
        "16.decision",
        "The judge named a winner, and the decision says that nobody won.",
        base,
        20,
        decision="synthesis",
    )
    yield altered(
        "judged-decision-by-a-pick",
        "16.rule",
        "A judge of stances picks no draft.",
        base,
        20,
        rule="judge_pick",
    )
    yield altered(
        "judged-decision-with-a-score",
        "16.score_ppm",
        "Nothing was compared.",
        base,
        20,
        score_ppm=1,
    )
    yield altered(
        "judged-close-for-votes",
        "16.reason",
        "Nobody voted: the rounds were over.",
        base,
        21,
        reason="votes_reached",
    )
    for key, code, seq, fields, why in (
        ("synthesis", "decision", 14, {"decision": "synthesis"}, "The judge combined nothing."),
        ("verdict", "rule", 14, {"rule": "judge_verdict"}, "No declared stance won."),
        ("review", "review", 14, {"review": None}, "Nobody is named who must look."),
        ("winner", "winner", 13, {"winner": "ann"}, "The judge named no declared stance."),
    ):
        check = 16 if seq == 14 else 12
        yield altered(
            f"judged-undeclared-{key}", f"{check}.{code}", why, own_judge(), seq, **fields
        )
    yield altered(
        "judged-in-words-undeclared",
        "12.undeclared",
        "The judge named a stance by its words.",
        in_words(),
        13,
        winner=None,
        undeclared=True,
    )
    yield altered(
        "judged-failed-as-complete",
        "16.outcome",
        "The judge failed, and so has the debate.",
        unjudged(),
        14,
        outcome="complete",
    )
    yield altered(
        "judged-failed-for-the-moderator",
        "16.reason",
        "It is the judge that failed.",
        unjudged(),
        14,
        reason="moderator_failed",
    )
    yield altered(
        "judged-too-few-as-a-verdict",
        "16.rule",
        "There was no verdict: too few were heard.",
        few(),
        11,
        rule="judge_verdict",
    )
    yield altered(
        "judged-too-few-without-review",
        "16.review",
        "Nobody is named who must look.",
        few(),
        11,
        review=None,
    )


@group
def judged_schedule_cases() -> Iterator[Case]:
    """Check 9: who argues when, and when there is a verdict."""
    base, once = judged(), judged_once()
    asked = base.event(17)["data"]
    yield undue(
        "judge-before-the-last-round",
        11,
        "The judge is asked after the first of two rounds.",
        base.insert(11, "call.started", asked),
    )
    yield undue(
        "judge-skipped", 17, "There is a decision without a verdict.", base.without(17, 18, 19)
    )
    again = {**asked, "call": "r2.verdict.judge:2", "attempt": 2}
    yield undue(
        "judge-asked-again",
        20,
        "The judge is asked again after its verdict.",
        base.insert(20, "call.started", again),
    )
    yield undue(
        "judge-of-too-few",
        11,
        "One debater was heard, and the judge is asked all the same.",
        few().insert(11, "call.started", once.event(11)["data"]),
    )
    decision = {**few().event(11)["data"], "review": unjudged().event(1)["data"]["review"]}
    yield undue(
        "decision-without-a-judge",
        14,
        "The judge failed, and there is a decision all the same.",
        unjudged().insert(14, "decision.reached", decision),
    )
    yield undue(
        "argument-out-of-turn",
        5,
        "The second debater argues first.",
        base.data(5, step="r1.argument.ben", call="r1.argument.ben:1"),
    )
    yield undue(
        "argument-at-once",
        6,
        "The second debater is asked while the first one's call is open.",
        base.insert(6, "call.started", base.event(8)["data"]),
    )
    late = {**base.event(11)["data"], "step": "r3.argument.ann", "call": "r3.argument.ann:1"}
    yield undue(
        "argument-after-the-last-round",
        17,
        "There is a third round of two.",
        base.insert(17, "call.started", late),
    )
    yield undue(
        "verdict-of-a-debater",
        7,
        "A debater's argument is recorded as a verdict.",
        base.retyped(7, "verdict.recorded", **NOTHING),
    )
    yield undue(
        "verdict-as-a-turn",
        19,
        "The verdict is recorded as an argument.",
        base.retyped(19, "turn.recorded", vote=None, case=None),
    )
    yield altered(
        "argument-with-a-vote", "12.vote", "Nobody votes in this format.", base, 7, vote="ship"
    )
    case: Data = {"arguments": 0, "rating": None, "unanswered": [], "citations": [], "struck": []}
    yield altered(
        "argument-with-a-case",
        "12.case",
        "Nothing is counted in an argument of this format.",
        base,
        7,
        case=case,
    )


@group
def undeclared_cases() -> Iterator[Case]:
    """Checks 9 and 12: a winner that is no stance."""
    record, own = undeclared(), own_judge()
    rejection = record.event(13)["data"]
    events = record.events
    events[15]["data"]["call"] = "r1.verdict.judge:1"
    yield undue(
        "undeclared-at-first",
        13,
        "A model in the judge's seat names no stance, has a try left, and is not asked again.",
        record.numbered([*events[:12], *events[15:]]).pruned(),
    )
    yield undue(
        "undeclared-rejected-at-last",
        16,
        "The judge's last try names no stance: that counts, and is not rejected.",
        record.insert(
            16, "turn.rejected", {**rejection, "call": "r1.verdict.judge:2", "again": False}
        ),
    )
    yield undue(
        "undeclared-rejected-of-a-function",
        13,
        "A function in the judge's seat is not asked again for naming no stance.",
        own.insert(13, "turn.rejected", {**rejection, "again": True}),
    )
    yield altered(
        "undeclared-hidden",
        "12.undeclared",
        "The winner named is no stance, which is not said.",
        record,
        16,
        undeclared=False,
    )
    yield undue(
        "undeclared-and-empty",
        13,
        "The winner is no stance and the reasoning is empty: that is not the only defect, and "
        "the reply had to be rejected.",
        own.text(12, "reply", '{"verdict":"Both.","winner":"neither","reasoning":""}'),
    )
    yield altered(
        "undeclared-as-schema",
        "12.code",
        "A winner that is no stance is an `unknown_option`.",
        record,
        13,
        code="schema",
    )


@group
def judged_seat_cases() -> Iterator[Case]:
    """Checks 9 to 11: the opening, and what follows from it."""
    base = judged()
    ann, ben = (base.event(seq)["data"]["stance"] for seq in (2, 3))
    last = 4
    yield undue(
        "judged-label-differs",
        last,
        "A debater's stance has another label than the terms.",
        base.data(2, stance={**ann, "label": "sail"}),
    )
    yield undue(
        "judged-stance-missing",
        last,
        "A debater has no stance.",
        base.data(3, stance=None).pruned(),
    )
    yield undue(
        "judged-stances-swapped",
        last,
        "The stances are not in the order of the terms.",
        base.data(2, stance=ben).data(3, stance=ann),
    )
    yield undue(
        "judged-judge-with-a-stance", last, "The judge has a stance.", base.data(4, stance=ann)
    )
    yield undue(
        "judged-without-a-judge",
        3,
        "The seats are complete, and nobody is to judge.",
        base.data(1, seats=2),
    )
    yield undue(
        "judged-judge-as-a-debater",
        last,
        "The last seat is a debater's.",
        base.data(4, role="debater"),
    )
    for word in ("escalate", "undeclared"):
        yield undue(
            f"judged-seat-called-{word}",
            last,
            f"A seat is called `{word}`, which is a decision of this format.",
            base.data(4, id=word),
        )
    opened = base.event(1)["data"]
    yield defect(
        "judged-schemas-swapped",
        "10.schemas",
        1,
        "The reply schemas are not in their order.",
        base.opening(schemas=opened["schemas"][::-1]),
    )
    yield defect(
        "judged-schema-missing",
        "10.schemas",
        1,
        "The judge's reply schema is left out.",
        base.opening(schemas=opened["schemas"][:1]),
    )
    rows = [row for row in opened["templates"] if row["role"] != "judge"]
    yield undue(
        "judged-templates-of-consensus",
        1,
        "The template roles are those of another format.",
        base.opening(templates=rows),
    )
    template = base.event(5)["data"]["template"]
    yield altered(
        "judged-template-of-the-debaters",
        "10.template",
        "The judge was asked with the debaters' template.",
        base,
        17,
        template=template,
    )
    yield defect(
        "judged-other-seed",
        "11.prompt",
        17,
        "With this seed the judge would have seen another order.",
        base.data(1, seed="0"),
    )
    yield defect(
        "judged-not-anonymised",
        "11.prompt",
        17,
        "The terms say that the judge sees names, and the prompt is one without.",
        base.terms(anonymize_transcript=False),
    )
    yield defect(
        "judged-not-shuffled",
        "11.prompt",
        17,
        "The terms say that the judge sees the order of the debate; the prompt is of another.",
        base.terms(shuffle_for_judge=False),
    )
    other = {**ann, "text": base.event(1)["data"]["review"]}
    yield defect(
        "judged-other-stance",
        "11.prompt",
        5,
        "The words of a stance are others than those that everybody was shown.",
        base.data(2, stance=other).pruned(),
    )
