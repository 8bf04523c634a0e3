"""What is wrong with records of the `panel` format."""

from __future__ import annotations

from collections.abc import Iterator

from conformance_kit.case import Case, altered, group, undue
from conformance_kit.panel import (
    alike,
    chosen,
    combined,
    counted_texts,
    fallback,
    few_drafts,
    majority,
    negated,
    not_judged,
    picked,
    quorum,
    similar,
    tie,
    whole,
)


@group
def measured_cases() -> Iterator[Case]:
    """Check 14: how alike answers are."""
    pair = alike().event(10)["data"]["pairs"][0]
    pairs = similar().event(23)["data"]["pairs"]
    whole_pair = whole().event(17)["data"]["pairs"][0]
    for key, record, seq, fields, why in (
        ("rounded-up", alike(), 10, {"pairs": [{**pair, "ppm": 952381}]}, "Shares are cut off."),
        (
            "negation-denied",
            negated(),
            10,
            {"pairs": [{**negated().event(10)["data"]["pairs"][0], "negation_differs": False}]},
            "One answer says `not`, and the other one does not.",
        ),
        (
            "negation-invented",
            alike(),
            10,
            {"pairs": [{**pair, "negation_differs": True}]},
            "Neither answer negates.",
        ),
        ("pair-missing", similar(), 23, {"pairs": pairs[:2]}, "Three answers make three pairs."),
        (
            "pairs-unsorted",
            similar(),
            23,
            {"pairs": pairs[::-1]},
            "The pairs are in another order.",
        ),
        (
            "pair-turned",
            alike(),
            10,
            {"pairs": [{**pair, "one": "ben", "other": "ann"}]},
            "Each answer is compared with the later ones.",
        ),
        (
            "whole-by-words",
            whole(),
            10,
            {"pairs": [{**whole_pair, "ppm": 1_000_000}]},
            "The words are the same, in another order: compared whole they are not alike.",
        ),
        ("heard", similar(), 23, {"heard": 2}, "Three debaters were heard."),
        ("round", alike(), 10, {"round": 1}, "It is round 0 that is over."),
        ("measure-whole", alike(), 10, {"measure": "whole"}, "Below 1.0 words are compared."),
        ("measure-words", whole(), 17, {"measure": "words"}, "At 1.0 answers are compared whole."),
        (
            "measure-in-the-end",
            whole(),
            18,
            {"measure": "whole"},
            "The most similar answer is found by words.",
        ),
        (
            "measure-of-options",
            majority(),
            14,
            {"measure": "words"},
            "Where options are declared, agreement is of options.",
        ),
        ("threshold", alike(), 10, {"threshold_ppm": 900_000}, "The terms say 850,000."),
        (
            "threshold-off",
            similar(),
            23,
            {"threshold_ppm": 850_000},
            "The terms set no threshold.",
        ),
        ("not-converged", alike(), 10, {"converged": False}, "The answers are alike enough."),
        (
            "converged-negated",
            negated(),
            10,
            {"converged": True},
            "Answers that do not negate equally often are never alike.",
        ),
        (
            "converged-in-the-end",
            similar(),
            23,
            {"converged": True},
            "What is compared after the last round ends nothing.",
        ),
        (
            "converged-options",
            majority(),
            14,
            {"converged": True},
            "The debaters chose different options.",
        ),
        ("converged-by-half", quorum(), 18, {"converged": True}, "Two of four were not heard."),
        ("converged-alone", few_drafts(), 24, {"converged": True}, "One answer is like no other."),
    ):
        (name,) = fields
        yield altered(f"similarity-{key}", f"14.{name}", why, record, seq, **fields)


@group
def panel_count_cases() -> Iterator[Case]:
    """Check 14: how the last round is counted."""
    for key, record, seq, fields, why in (
        (
            "over-those-heard",
            quorum(),
            32,
            {"threshold": 2},
            "The majority is of the four debaters registered, and not of the two heard.",
        ),
        ("reached-by-two", quorum(), 32, {"reached": True}, "Two of four are no majority."),
        ("silent-left-out", quorum(), 32, {"abstentions": 0}, "Two debaters were silent."),
        ("tie", tie(), 16, {"reached": True}, "A tie is no majority."),
        ("round", majority(), 25, {"round": 0}, "The last round is counted."),
        ("phase", majority(), 25, {"phase": "proposal"}, "Drafts are counted."),
        (
            "of-the-first-round",
            majority(),
            25,
            {"tally": [{"option": "yes", "votes": 1}, {"option": "no", "votes": 2}]},
            "The drafts of the first round are counted.",
        ),
        (
            "texts-under-the-second",
            counted_texts(),
            23,
            {"tally": [{"option": "ann", "votes": 1}, {"option": "cy", "votes": 2}]},
            "Equal answers are counted under the first debater who gave them.",
        ),
        (
            "texts-apart",
            counted_texts(),
            23,
            {"tally": [{"option": seat, "votes": 1} for seat in ("ann", "ben", "cy")]},
            "Two answers are equal but for white space, case and the kind of apostrophe.",
        ),
    ):
        (name,) = fields
        yield altered(f"panel-count-{key}", f"14.{name}", why, record, seq, **fields)


@group
def panel_outcome_cases() -> Iterator[Case]:
    """Check 16: the decision and the close."""
    for key, record, seq, fields, why in (
        (
            "less-similar",
            similar(),
            24,
            {"decision": "ben"},
            "Another draft has the highest score.",
        ),
        (
            "last-of-equals",
            fallback(),
            18,
            {"decision": "ben"},
            "Among equals the first registered one stands.",
        ),
        ("score", similar(), 24, {"score_ppm": 566_667}, "The score is the sum of its pairs."),
        ("score-left-out", alike(), 11, {"score_ppm": None}, "The score is stated."),
        ("similar-by-majority", alike(), 11, {"rule": "majority_vote"}, "Nothing was counted."),
        ("other-option", majority(), 26, {"decision": "no"}, "The majority is for `yes`."),
        ("votes", majority(), 26, {"votes": 3}, "Two debaters chose it."),
        ("votes-of-a-tie", tie(), 17, {"votes": 1}, "No option reached the majority."),
        ("threshold", majority(), 26, {"threshold": 1}, "More than half of three are two."),
        ("text-of-the-first", counted_texts(), 24, {"decision": "ann"}, "Ben's answer has two."),
        ("tie-decided", tie(), 17, {"decision": "yes"}, "A tie decides nothing."),
        ("other-pick", picked(), 20, {"decision": "ann"}, "The judge picked the other draft."),
        ("pick-as-synthesis", picked(), 20, {"rule": "judge_synthesis"}, "The judge picked."),
        ("other-choice", chosen(), 20, {"decision": "yes"}, "The judge chose the other option."),
        (
            "choice-left-out",
            chosen(),
            20,
            {"decision": "synthesis"},
            "The judge chose an option.",
        ),
        (
            "combined-for-one",
            combined(),
            20,
            {"decision": "ann"},
            "The judge combined the drafts.",
        ),
        (
            "one-heard-stands",
            few_drafts(),
            25,
            {"decision": "ann"},
            "One debater alone is no panel.",
        ),
        ("rounds", majority(), 26, {"rounds_run": 2}, "The last round is round 1."),
    ):
        (name,) = fields
        yield altered(f"panel-decision-{key}", f"16.{name}", why, record, seq, **fields)
    for key, record, seq, reason, why in (
        ("complete", alike(), 12, "rounds_complete", "The answers converged before."),
        ("converged", majority(), 27, "converged", "The drafts never converged."),
        ("moderator", not_judged(), 20, "moderator_failed", "It is the judge that failed."),
    ):
        yield altered(f"panel-close-{key}", "16.reason", why, record, seq, reason=reason)


@group
def panel_reply_cases() -> Iterator[Case]:
    """Checks 9 and 12: what drafts and judges say."""
    for key, code, record, seq, fields, why in (
        ("vote", "vote", majority(), 11, {"vote": "no"}, "Ann chose `yes`."),
        ("vote-null", "vote", majority(), 11, {"vote": None}, "Ann chose `yes`."),
        ("vote-of-a-text", "vote", alike(), 8, {"vote": "ann"}, "There is nothing to choose."),
        ("choice", "choice", chosen(), 19, {"choice": "yes"}, "The judge chose `no`."),
        ("choice-null", "choice", chosen(), 19, {"choice": None}, "The judge chose `no`."),
        ("choice-of-a-text", "choice", combined(), 19, {"choice": "yes"}, "There is no option."),
        ("pick", "winner", picked(), 19, {"winner": "ann"}, "The judge picked ben's draft."),
        ("pick-null", "winner", picked(), 19, {"winner": None}, "The judge picked ben's draft."),
        (
            "pick-undeclared",
            "undeclared",
            picked(),
            19,
            {"undeclared": True},
            "The judge picked a draft that is there.",
        ),
        ("winner", "winner", combined(), 19, {"winner": "ann"}, "A judge who combines picks none."),
    ):
        yield altered(f"panel-{key}", f"12.{code}", why, record, seq, **fields)
    for key, record, seq, text, why in (
        (
            "choice-undeclared",
            chosen(),
            18,
            '{"answer":"A","choice":"maybe","justification":"J"}',
            "The judge chooses what is no option.",
        ),
        (
            "pick-of-nobody",
            picked(),
            18,
            '{"winner":"cy","justification":"J"}',
            "The judge picks what is no draft.",
        ),
        (
            "pick-of-none",
            picked(),
            18,
            '{"winner":null,"justification":"J"}',
            "The judge must pick.",
        ),
    ):
        yield undue(
            f"panel-{key}", seq + 1, f"{why} The reply counts.", record.text(seq, "reply", text)
        )
