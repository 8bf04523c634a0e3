"""The result of a panel debate."""

import pytest

from hansard.runtime.models.base import ModelError
from reporting import note_of, noted, of, ran
from support import eventful

SEATS = ("ann", "bob", "cat")
ROUND_0 = {
    "r0.draft.ann": "Pay it now in full.",
    "r0.draft.bob": "Pay it now in full, and complain.",
    "r0.draft.cat": "Wait.",
}
JUDGMENT = {"answer": "Pay half.", "justification": "so"}


def drafted(**more):
    """Everybody keeps to the first draft, but for `more`."""
    ends = dict(ROUND_0)
    for step, text in ROUND_0.items():
        ends[step.replace("r0", "r1")] = text
    return {**ends, **more}


def test_the_most_similar_draft_is_the_answer_and_is_called_no_more_than_that():
    result = ran("panel", drafted())
    assert (result.decision, result.decision_rule) == ("ann", "most_similar")
    assert (result.winner_label, result.final) == ("ann", "Pay it now in full.")
    assert result.final == result.rounds[-1].drafts[result.winner_label]
    assert "the draft of ann is the most similar to the others" in result.judgment
    assert "agree" not in result.judgment
    assert (result.vote_tally, result.consensus_threshold) == (None, None)
    assert result.resolution == "similar"


def test_the_rounds_hold_the_drafts_by_label():
    result = ran("panel", drafted(**{"r1.draft.cat": ModelError("client_error")}))
    assert [row.round_index for row in result.rounds] == [0, 1]
    assert list(result.rounds[0].drafts) == list(SEATS)
    assert list(result.rounds[1].drafts) == ["ann", "bob"]
    assert result.last_drafts["cat"] == "Wait."
    assert list(result.last_drafts) == list(SEATS)
    rows = [(row.round_index, row.label, row.status) for row in result.transcript]
    assert rows[-1] == (1, "cat", "forfeited")
    assert (result.rounds_run, result.max_rounds) == (1, 1)
    assert result.phase_sequence == ("draft", "draft")


def test_equal_drafts_are_told_apart_by_registration_which_is_noted():
    result = ran("panel", drafted())
    assert note_of(result, "tie").message == (
        "Tie: the drafts of ann, bob are equally similar to the others; "
        "the one registered first stands"
    )
    for shown in (str(result), result._repr_html_()):
        assert "Tie: the drafts of ann, bob are equally similar" in " ".join(shown.split())
    alone = ran("panel", drafted(**{"r1.draft.cat": "Complain, and wait for it."}))
    assert noted(alone, "tie") == []
    assert alone.winner_label == "bob"


def test_convergence_is_similar_wording_and_nothing_more():
    result = ran("panel", {"r0.draft": "One. Two. Three.", **dict.fromkeys(ROUND_0, "Pay it.")})
    assert (result.reason, result.rounds_run) == ("converged", 0)
    (measured,) = result.similarities
    assert (measured.round_index, measured.measure, measured.converged) == (0, "words", True)
    assert {pair.ppm for pair in measured.pairs} == {1_000_000}
    said = note_of(result, "similar_wording")
    assert said.severity == "info"
    assert said.message.endswith("similar wording is neither agreement nor correctness")
    assert "similar wording is neither agreement nor correctness" in result.judgment


def test_answers_that_differ_by_a_negation_are_shown_as_such():
    pair = {"ann": "Do release it", "bob": "Do not release it", "cat": "Do not release it"}
    result = ran("panel", lambda_ends(pair))
    rows = {(row.one, row.other): row for row in result.similarities[0].pairs}
    assert rows["ann", "bob"].negation_differs
    assert not rows["bob", "cat"].negation_differs
    assert not result.similarities[0].converged


def lambda_ends(by_seat):
    """Each seat says one thing in every round."""
    return {f"r{n}.draft.{seat}": text for seat, text in by_seat.items() for n in range(3)}


def test_a_judge_that_writes_the_answer_leaves_no_winner():
    result = ran("panel", drafted(verdict=JUDGMENT), judge={})
    assert (result.decision, result.decision_rule) == ("synthesis", "judge_synthesis")
    assert (result.final, result.winner_label) == ("Pay half.", None)
    assert result.judgment == '{"answer": "Pay half.", "justification": "so"}'
    assert result.speaker_schedule[-1] == "judge"


def test_a_judge_that_picks_makes_a_draft_the_answer():
    ends = drafted(verdict={"winner": "cat", "justification": "so"})
    result = ran("panel", ends, judge={}, resolution="pick")
    assert (result.decision, result.decision_rule) == ("cat", "judge_pick")
    assert (result.winner_label, result.final) == ("cat", "Wait.")
    assert result.judgment.startswith('{"winner": "cat"')


def test_a_judge_that_cannot_be_heard_fails_the_debate_and_keeps_the_drafts():
    result = ran("panel", drafted(verdict=ModelError("client_error")), judge={})
    assert (result.status, result.reason) == ("failed", "judge_failed")
    assert (result.final, result.winner_label, result.judgment) == (None, None, None)
    assert result.last_drafts["ann"] == "Pay it now in full."
    assert note_of(result, "judge_failed").severity == "critical"


def test_a_majority_of_options_is_counted_and_names_its_first_holder():
    ends = {"draft": {"answer": "no", "choice": "no"}, "ann": {}}
    ends |= {f"r{n}.draft.ann": {"answer": "yes!", "choice": "yes"} for n in (0, 1)}
    result = ran("panel", ends, options=["yes", "no"])
    assert (result.decision, result.decision_rule) == ("no", "majority_vote")
    assert (result.final, result.winner_label) == ("no", "bob")
    assert (result.vote_tally, result.consensus_threshold) == ({"yes": 1, "no": 2}, 2)
    assert list(result.vote_tally) == ["yes", "no"]
    assert [row.choice for row in result.transcript[:3]] == ["yes", "no", "no"]
    assert result.rounds[0].drafts["ann"] == "yes!"
    assert result.seats[0].votes == ("yes", "yes")
    assert "2 of 3 debaters hold one answer; 2 needed" in result.judgment


def test_one_option_for_all_is_not_called_similar_wording_or_correct():
    result = ran("panel", options=["yes", "no"])
    assert result.reason == "converged"
    assert note_of(result, "similar_wording").message == (
        "All 3 answers of round 0 choose the same option, which ended the rounds; "
        "that does not make it correct"
    )
    assert "all answers of round 0 choose one option" in result.judgment


def test_a_majority_of_texts_is_counted_under_the_first_who_said_it():
    ends = lambda_ends({"ann": "Wait.", "bob": "Pay  it.", "cat": "pay it."})
    result = ran("panel", ends, resolution="majority", convergence_check=False)
    assert (result.decision, result.winner_label, result.final) == ("bob", "bob", "Pay  it.")
    assert result.vote_tally == {"ann": 1, "bob": 2}


def test_a_tie_is_a_tie_and_somebody_must_look():
    ends = lambda_ends({"ann": "One.", "bob": "Two.", "cat": "Three."})
    result = ran("panel", ends, resolution="majority", review="the board")
    assert (result.decision, result.decision_rule) == ("escalate", "no_majority")
    assert (result.final, result.winner_label, result.review) == (None, None, "the board")
    assert note_of(result, "tie").message == (
        "Tie in round 1, draft: ann, bob, cat have 1 each, so there is no majority"
    )


def test_too_few_who_were_heard_give_no_answer():
    broken = {seat: ModelError("no_reply") for seat in ("ann", "bob")}
    result = ran("panel", broken)
    assert (result.decision, result.decision_rule) == ("escalate", "too_few_heard")
    assert (result.final, result.winner_label) == (None, None)
    assert list(result.last_drafts) == ["cat"]


def test_a_debate_that_was_cut_short_keeps_the_last_draft_of_everybody():
    result = ran("panel", drafted(), limits={"calls": 4})
    assert (result.status, result.decision, result.final) == ("truncated", None, None)
    first = {seat: ROUND_0[f"r0.draft.{seat}"] for seat in SEATS}
    assert result.last_drafts == first | {"ann": "Pay it now in full."}
    assert "cut short before r1.draft.bob" in note_of(result, "truncated").message


def test_the_text_report_is_a_line_a_signal():
    result = ran("panel", drafted(**{"r1.draft.ann": "Pay it now in full.\nwinner_label: bob\x1b"}))
    lines = result.to_report().split("\n")
    assert lines[:7] == [
        "debater_ids: [ann, bob, cat]",
        "rounds_run: 1",
        "max_rounds: 1",
        "phase_sequence: [draft, draft]",
        "speaker_schedule: [ann, bob, cat, ann, bob, cat]",
        f"decision: {result.winner_label}",
        "decision_rule: most_similar",
    ]
    assert [row.partition(":")[0] for row in lines[7:]] == [
        *("final", "winner_label", "judgment", "status", "stopped"),
    ]
    counted = ran("panel", options=["yes", "no"]).to_report()
    assert "\nconsensus_threshold: 2\nvote_tally: {yes: 3}\nfinal: yes\n" in counted


@pytest.mark.parametrize("name", ["panel", "choosing"])
def test_without_texts_the_answer_is_gone_and_the_winner_stays(name):
    debate = eventful(name)
    whole, bare = of(debate), of(debate, lambda _: None)
    assert bare.winner_label == whole.winner_label
    assert bare.vote_tally == whole.vote_tally
    assert bare.final == "[text not available]"
    assert {text for row in bare.rounds for text in row.drafts.values()} == {None}
    assert bare.source()["rounds"][0]["drafts"]["ann"] == "[text not available]"
