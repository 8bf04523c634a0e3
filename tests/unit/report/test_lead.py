"""The sentence that leads: what it quotes, where it cuts, and what it never says.

Each of its sentences, and that the page says the same, is tested in `page/test_figures.py`.
"""

import pytest

from hansard.record.keys import Trust
from hansard.report.lead import LIMIT, quoted
from hansard.report.reviews import Reader
from hansard.report.view import build
from hansard.report.words import GONE
from reporting import ran
from reviewing import ANN, closed, review, trusting
from support import votes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, GONE),
        (" \n ", GONE),
        ("Ship it.", "“Ship it”"),
        ("Pay up to approx. 600 EUR from May.", "“Pay up to approx. 600 EUR from May”"),
        ("Pay up to 600 EUR from May. Not before.", "“Pay up to 600 EUR from May …”"),
        ("No. Pay nothing before May.", "“No. Pay nothing before May”"),
        ("Pay”: 3 of 3 votes, “so", "“Pay’: 3 of 3 votes, ‘so”"),
        ("Pay\x1b[2K\u202enow", "“Pay<U+001B>[2K<U+202E>now”"),
        ("word " * 100, f"“{'word ' * 31}word…”"),
        ("字" * 500, f"“{'字' * (LIMIT // 2)}…”"),
    ],
)
def test_what_a_model_wrote_is_cut_and_quoted(text, words):
    assert quoted(text) == words


def test_a_failed_debate_names_no_decision():
    result = ran("judged", {"verdict": "I would rather not say."}, attempts=1)
    assert result.status == "failed"
    assert result.sentence == "Failed without a decision: the judge gave no valid reply"


def test_a_position_that_was_ranked_first_leads_in_its_words():
    positions = [
        {"id": name, "label": name, "stance": f"So {name}.\nNow."} for name in ("ann", "bob")
    ]
    result = ran("moderated", {"moderation": {"ranking": ["bob", "ann"]}}, positions=positions)
    assert result.sentence.startswith("So bob. Now. (bob): ranked first of 2 by the moderator; ")


@pytest.mark.parametrize(
    ("outcome", "trust", "head", "said"),
    [
        ("rejected", trusting(ANN), None, "Rejected in review. "),
        ("remanded", trusting(ANN), None, "Sent back by a review. "),
        ("approved", trusting(ANN), None, "Approved in review. "),
        ("approved", Trust(), None, ""),
        (
            "rejected",
            Trust(),
            None,
            "Not final: a review by a key that you have not confirmed rejects this",
        ),
        (
            "remanded",
            Trust(),
            None,
            "Not final: a review by a key that you have not confirmed rejects this",
        ),
        ("rejected", Trust(), "0" * 64, ""),  # of another record
    ],
)
def test_a_review_leads_and_one_that_nobody_confirmed_is_not_passed_over(
    outcome, trust, head, said
):
    debate = closed(votes(planner="release", critic="release", operator="revise"))
    review(debate, outcome, **({"head": head} if head else {}))
    result = build(debate.record.events, debate.record.texts.get, Reader(trust=trust))
    assert result.sentence.startswith(said)
    assert result.sentence.endswith("release: 2 of 3 votes, operator dissented")
    assert said or result.sentence.startswith("release: ")
