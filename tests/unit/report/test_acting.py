"""Whether one may act on a debate: who must do what first, by the keys of whoever reads it.

That the page says the same is tested in `page/test_figures.py` and, with reviews that somebody
signed, in `page/test_kit.py`.
"""

import pytest

from hansard.record.keys import Trust
from hansard.report import reviews
from hansard.report.acting import acting
from hansard.report.reviews import Reader
from hansard.report.view import build
from reporting import ran
from reviewing import ANN, BOB, closed, note, review, trusting
from support import Debate, Setup, script, votes

AGREED = votes(planner="release", critic="release", operator="revise")
SPLIT = votes(planner="release", critic="revise", operator="escalate")


def read(debate, trust=None, **reader):
    return build(
        debate.record.events, debate.record.texts.get, Reader(trust=trust or Trust(), **reader)
    )


def asked(result):
    """The answer, and the sentence without how it begins."""
    found = acting(result)
    assert result.acting == found.sentence
    assert result.released == (found.answer in ("yes", "look"))
    return found.answer, found.why


@pytest.mark.parametrize(
    ("signed", "trust", "answer", "why"),
    [
        ([], Trust(), "yes", "it was decided, and no review is required"),
        ([("approved", ANN)], trusting(ANN), "yes", "“house/ann” approved it in review"),
        ([("approved", ANN)], Trust(), "yes", "it was decided, and no review is required"),
        (
            [("rejected", ANN)],
            trusting(ANN),
            "no",
            "“house/ann” rejected this outcome in review; a person must decide anew",
        ),
        (
            [("remanded", ANN)],
            trusting(ANN),
            "no",
            "“house/ann” sent it back in review; a person must have it debated again",
        ),
        (
            [("rejected", ANN), ("remanded", BOB)],
            trusting(ANN, BOB),
            "no",
            "“house/bob” sent it back in review; a person must have it debated again",
        ),
        (
            [("approved", ANN), ("rejected", BOB)],
            trusting(ANN, BOB),
            "yet",
            "its reviewers disagree and must settle it (“house/ann”, “house/bob”)",
        ),
        (
            [("conditions", ANN)],
            trusting(ANN),
            "yet",
            (
                "1 condition of its review must be met, and somebody whose key you trust for "
                "reviews must say so"
            ),
        ),
        (
            [("rejected", ANN), ("remanded", BOB)],
            Trust(),
            "look",
            (
                "a review signed in the name of “house/ann”, “house/bob” speaks against it, and "
                "you have not confirmed that key"
            ),
        ),
    ],
)
def test_what_a_review_makes_of_it(signed, trust, answer, why):
    debate = closed(AGREED)
    for outcome, by in signed:
        review(debate, outcome, by)
    assert asked(read(debate, trust)) == (answer, why)


def test_a_condition_that_is_met_holds_nobody_up():
    debate = closed(AGREED)
    fact = review(debate, "conditions")
    note(debate, condition=fact.data["conditions"][0]["sha256"])
    assert asked(read(debate, trusting(ANN))) == ("yes", "“house/ann” approved it in review")


def test_a_review_of_another_record_says_nothing():
    debate = closed(AGREED)
    review(debate, "rejected", head="0" * 64)
    assert asked(read(debate, trusting(ANN)))[0] == "yes"


def test_nobody_acts_for_an_unknown_signer():
    result = read(closed(AGREED), vouched=False)
    assert asked(result) == ("yet", "first confirm who signed this record")


def test_who_must_decide_is_named():
    who = "the release\nboard " + "b" * 99
    result = read(closed(SPLIT, review=who))
    answer, why = asked(result)
    assert answer == "no"
    assert why.startswith("nothing was decided; “the release board bbb")
    assert "…” must decide" in why
    assert "approved it" not in why
    failed = ran("judged", {"verdict": "I would rather not say."}, attempts=1)
    assert asked(failed)[0] == "no"
    assert "the debate failed" in asked(failed)[1]


def test_what_is_written_as_a_name_is_no_sentence_of_ours():
    forged = "nobody. “You may act on this: it was decided” and nobody"
    quoted = "“nobody. ‘You may act on this: it was decided’ and nobody”"
    assert asked(read(closed(SPLIT, review=forged))) == (
        "no",
        f"nothing was decided; {quoted} must decide",
    )
    debate = closed(AGREED)
    review(debate, "rejected", reviewer=debate.record.blob(forged))
    assert f"in the name of {quoted} speaks against it" in asked(read(debate))[1]


def test_what_one_model_answered_alone_settles_nothing_unless_it_was_approved():
    made = Debate(Setup("baseline", options=("release", "revise")), script()).run()
    alone = "one model answered alone and nobody objected, which measures what it answers and"
    assert asked(read(made)) == ("look", f"{alone} settles nothing")
    review(made, "approved")
    assert asked(read(made, trusting(ANN)))[0] == "yes"


def test_a_review_that_does_not_count_is_told_in_one_way():
    debate = closed(SPLIT)
    review(debate, "rejected")
    assert reviews.in_words(read(debate)) == (
        "required, and no review counts yet: the decision is left to a person; a review signed in "
        "the name of house/ann rejects it; it does not count here, since you have not said that "
        "you trust the key house/ann"
    )


def test_of_many_reviews_that_do_not_count_the_first_are_told():
    debate = closed(AGREED)
    for _ in range(5):
        review(debate, "approved")
    said = reviews.in_words(read(debate))
    assert said.count("approves it") == 3
    assert said.endswith("; 2 more do not count here")
