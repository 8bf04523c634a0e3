"""The result of a baseline."""

from hansard.runtime.models.base import ModelError
from reporting import note_of, noted, ran

SILENT = ModelError("no_reply")
OPTIONS = ["yes", "no", "later"]


def test_the_most_frequent_answer_with_its_count():
    ends = {"draw-2": {"choice": "no"}, "draw-4": SILENT}
    result = ran("baseline", ends, draws=4, options=OPTIONS)
    assert (result.decision, result.answer, result.final) == ("yes", "yes", "yes")
    assert result.vote_tally == {"yes": 2, "no": 1, "abstain": 1}
    assert result.sentence == "yes: 2 of 4 answers; the debater is a custom function"
    assert [(row.draw, row.choice, row.status) for row in result.transcript] == [
        (1, "yes", "counted"),
        (2, "no", "counted"),
        (3, "yes", "counted"),
        (4, None, "forfeited"),
    ]
    assert "vote_tally: {yes: 2, no: 1, abstain: 1}" in result.to_report()
    assert result.source() == {"answer": "yes", "answers": ["so", "so", "so", None]}


def test_answers_of_one_seat_are_no_votes_that_change():
    result = ran("baseline", {"draw-2": {"choice": "no"}}, options=OPTIONS)
    assert noted(result, "drift") == noted(result, "first_answer") == []
    assert noted(result, "hollow_consensus") == []
    assert result.drift == ()
    assert result.seats[0].votes == ()
    assert "kept_votes" not in [row.code for row in result.governance]


def test_a_tie_is_left_to_a_person():
    result = ran("baseline", {"draw-2": {"choice": "no"}}, draws=2, options=OPTIONS)
    assert (result.decision, result.answer, result.final) == ("escalate", None, None)
    assert result.sentence.startswith(
        "A person must decide: no option has more answers than every other one (yes 1, no 1)"
    )
    assert note_of(result, "tie").message == (
        "Tie: yes, no are chosen by 1 answer each, more than any other, so none of them is taken"
    )


def test_without_options_the_first_answer_that_counts():
    result = ran("baseline", {"draw-1": SILENT, "draw-2": "Pay half."})
    assert (result.decision, result.answer, result.final) == ("debater", "Pay half.", "Pay half.")
    assert result.sentence == (
        "“Pay half”: the first of 3 independent answers; the debater is a custom function"
    )
    assert result.vote_tally is None
    assert "Pay half." in result.to_markdown()
    one = ran("baseline", {"draw-1": "Pay half."}, draws=1)
    assert one.sentence.startswith("“Pay half”: the only answer;")


def test_what_was_cut_short_says_how_many_answers_came():
    result = ran("baseline", {}, limits={"calls": 2}, leading_call=True)
    assert (result.status, result.answer) == ("truncated", None)
    assert "2 answers written, and none chosen" in result.sentence
    assert "Answers: 2 of 3" in str(result)
    none = ran("baseline", {}, limits={"tokens": 1})
    assert "nobody had answered yet" in none.sentence
