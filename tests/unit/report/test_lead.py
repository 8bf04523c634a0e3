"""The sentence that leads: what it quotes, where it cuts, and what it never says.

Each of its sentences, and that the page says the same, is tested in `page/test_figures.py`.
"""

import pytest

from hansard.report.lead import LIMIT, WHOLE, quoted
from hansard.report.words import GONE
from reporting import ran


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


def test_an_answer_is_quoted_with_all_its_sentences_that_fit():
    first, second = "Derive the pool from the limit of the database.", "Let a canary stop it."
    assert quoted(f"{first} {second}", WHOLE) == f"“{first} {second[:-1]}”"
    long = f"{first} " * 13  # of which 12 fit
    assert quoted(long, WHOLE) == f"“{(first + ' ') * 11}{first[:-1]} …”"
    assert quoted("word " * 200, WHOLE) == f"“{'word ' * 119}word…”"
    assert quoted("Run `order_event` now") == "“Run order_event now”"


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("scripted:replies.yaml", "the judge is a script"),
        ("recorded:run", "the judge is a recording"),
        ("custom:board", "the judge is a custom function"),
        ("openai:m", "the judge is a model"),
    ],
)
def test_whether_the_judge_is_a_model_is_said(model, kind):
    result = ran("judged", {"verdict": {"verdict": "so", "winner": "ship", "reasoning": "r"}})
    seats = [
        seat.model_copy(update={"model": model}) if seat.role == "judge" else seat
        for seat in result.seats
    ]
    assert result.model_copy(update={"seats": tuple(seats)}).sentence.endswith(f"; {kind}")


def test_debaters_who_vote_are_named_by_all_their_kinds():
    result = ran("consensus", {})
    models = ("openai:m", "custom:x", "openai:n")
    seats = [
        seat.model_copy(update={"model": model})
        for seat, model in zip(result.seats, models, strict=True)
    ]
    said = result.model_copy(update={"seats": tuple(seats)}).sentence
    assert said.endswith("; the debaters are models and custom functions")
