import json
from collections import Counter

import pytest

from hansard.report import signals
from hansard.report.view import build
from hansard.report.words import GONE
from reporting import noted, of
from support import (
    DEBATE,
    EVENTFUL,
    PRICE,
    Debate,
    Fail,
    Setup,
    eventful,
    say,
    script,
    vote,
    votes,
)


def result_of(debate, gone=()):
    texts = {name: text for name, text in debate.record.texts.items() if name not in gone}
    return build(debate.record.events, texts.get)


def debated(script, **setup):
    return result_of(Debate(Setup(**setup), script).run())


def codes(result):
    return [note.code for note in result.notes]


def notes_of(result, code):
    return [(note.seq, note.message) for note in result.notes if note.code == code]


def test_a_consensus_is_shown_with_all_its_signals():
    result = debated(votes(planner="release", critic="revise", operator="revise"))
    assert result.debate == DEBATE
    assert result.report == "hansard-report/v1"
    assert (result.status, result.reason) == ("complete", "votes_reached")
    assert (result.decision, result.decision_rule, result.review) == (
        "revise",
        "threshold_vote",
        None,
    )
    assert list(result.vote_tally.items()) == [("release", 1), ("revise", 2)]
    assert result.phase_sequence == ("proposal",)
    assert result.speaker_schedule == ("planner", "critic", "operator")
    assert result.speaker_selected_by == "schedule"
    assert [(row.speaker, row.vote) for row in result.dissent] == [("planner", "release")]
    assert result.question == "Shall we release?"
    assert result.opened_at < result.closed_at
    turn = result.transcript[1]
    assert (turn.speaker_id, turn.stance, turn.rationale) == ("critic", "so", "because")
    assert (turn.vote, turn.status, turn.reason) == ("revise", "counted", None)


def test_each_turn_names_the_entry_that_holds_it():
    debate = eventful()
    turns = ("turn.recorded", "turn.forfeited")
    seqs = [event["seq"] for event in debate.record.events if event["type"] in turns]
    assert [turn.seq for turn in result_of(debate).transcript] == seqs


def test_the_tally_is_ordered_by_the_first_debater_who_holds_an_option():
    result = debated(votes(planner="revise", critic="release", operator="release"))
    assert list(result.vote_tally) == ["revise", "release"]


def test_abstentions_are_counted_last_and_only_where_there_are_some():
    def script(call):
        return Fail("client_error") if call.step.speaker == "planner" else vote("release")

    result = debated(script)
    assert list(result.vote_tally.items()) == [("release", 2), ("abstain", 1)]
    assert [(row.speaker, row.vote) for row in result.dissent] == [("planner", None)]
    turn = result.transcript[0]
    assert (turn.stance, turn.vote, turn.status, turn.reason) == (
        None,
        None,
        "forfeited",
        "no_reply",
    )


def test_phases_repeat_over_rounds():
    result = debated(votes(planner="release", critic="revise", operator="escalate"))
    assert result.phase_sequence == ("proposal", "critique", "revision", "consensus") * 2
    assert result.rounds_run == result.max_rounds == 2


def test_an_escalation_names_who_must_look_and_has_no_dissent():
    result = debated(votes(planner="release", critic="revise", operator="escalate"))
    assert (result.decision, result.decision_rule) == ("escalate", "max_rounds_exhausted")
    assert (result.review, result.dissent) == ("the release board", ())


def test_an_escalation_that_was_voted_for_has_dissent():
    result = debated(votes(planner="release", critic="escalate", operator="escalate"))
    assert (result.decision_rule, result.review) == ("threshold_vote", "the release board")
    assert [row.speaker for row in result.dissent] == ["planner"]


def test_an_open_debate_has_no_decision_and_counts_nobody_who_has_not_spoken():
    debate = Debate(Setup(), votes(planner="release", critic="revise", operator="revise"))
    result = result_of(debate)
    assert (result.status, result.decision, result.closed_at) == ("open", None, None)
    assert (result.vote_tally, result.dissent) == ({}, ())
    assert result.to_report().splitlines()[-3:] == [
        "decision: none",
        "decision_rule: none",
        "speaker_schedule: []",
    ]


def test_seats_show_their_votes_and_what_they_used():
    result = result_of(eventful())
    planner, critic, operator = result.seats
    assert critic.persona == "You run the pager."
    assert planner.persona is None
    assert operator.votes[0] == "release"
    assert planner.votes[:2] == ("release", None)
    assert len(planner.votes) == len(result.phase_sequence) == 8
    summed = ("calls", "failed", "tokens_in", "tokens_cached", "tokens_cache_write", "tokens_out")
    for name in (*summed, "cost_micro_usd", "saved_micro_usd"):
        assert getattr(result.totals, name) == sum(getattr(seat, name) for seat in result.seats)
    assert result.totals.cost_micro_usd > 0


def test_cost_is_unknown_without_a_price():
    result = debated(votes(planner="release", critic="revise", operator="revise"))
    assert result.totals.cost_micro_usd is None
    assert {seat.cost_micro_usd for seat in result.seats} == {None}


def test_every_call_is_counted_by_how_it_ended():
    result = result_of(eventful())
    calls = result.calls
    assert calls.asked == calls.answered + calls.failed + calls.abandoned
    assert (calls.failed, calls.rejected) == (2, 4)
    assert result.totals.failed == calls.failed, "abandoned calls are in neither"
    assert calls.abandoned == len(notes_of(result, "abandoned")) > 0
    assert result.resumes == len(notes_of(result, "resumed")) == 1


def test_evidence_shows_size_round_and_blob():
    debate = eventful()
    result = result_of(debate)
    assert [(row.id, row.from_round) for row in result.evidence] == [("runbook", 1), ("memo", 2)]
    assert result.evidence[0].characters == len("Rollback takes an hour.")
    names = [row["text"]["sha256"] for row in debate.record.all("evidence.admitted")]
    assert [row.sha256 for row in result.evidence] == names


def test_without_any_text_the_same_is_counted():
    debate = eventful()
    whole, bare = result_of(debate), build(debate.record.events, lambda _: None)
    assert bare.to_report() == whole.to_report()
    assert bare.totals == whole.totals
    assert bare.question is None
    assert bare.review == GONE
    assert bare.seats[1].persona == GONE
    assert {turn.stance for turn in bare.transcript} == {None}
    assert {row.characters for row in bare.evidence} == {None}
    said = [message for _, message in notes_of(bare, "text_gone")]
    assert said[:4] == [
        "The text of the question is not available",
        "The text of the persona of critic is not available",
        "The text of the document runbook is not available",
        "The text of the document memo is not available",
    ]
    counted = [turn for turn in bare.transcript if turn.status == "counted"]
    assert len(said) == 5 + len(counted)


def test_one_lost_reply_is_named():
    debate = Debate(Setup(), votes(planner="release", critic="revise", operator="revise")).run()
    lost = debate.record.all("call.answered")[0]["reply"]["sha256"]
    result = result_of(debate, gone={lost})
    assert result.transcript[0].stance is None
    assert result.transcript[0].vote == "release"
    assert notes_of(result, "text_gone") == [
        (
            result.transcript[0].seq,
            "The text of the turn of planner (round 1, proposal) is not available",
        )
    ]


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"stance": 1, "rationale": null}'])
def test_a_reply_that_was_altered_shows_no_words(text):
    debate = Debate(Setup(), votes(planner="release", critic="revise", operator="revise")).run()
    name = debate.record.all("call.answered")[0]["reply"]["sha256"]
    result = build(debate.record.events, (debate.record.texts | {name: text}).get)
    assert (result.transcript[0].stance, result.transcript[0].rationale) == (None, None)


def test_scripted_replies_are_labelled():
    script = votes(planner="release", critic="revise", operator="revise")
    result = debated(script, model="scripted:replies.yaml")
    assert result.scripted
    assert notes_of(result, "scripted") == [(None, "Replies were scripted: no model was asked")]


def test_replies_of_some_seats_only_are_labelled_by_seat():
    debate = Debate(Setup(), votes(planner="release", critic="revise", operator="revise")).run()
    events = [dict(event) for event in debate.record.events]
    events[2] = events[2] | {"data": events[2]["data"] | {"model": "recorded:ab"}}
    result = build(events, debate.record.texts.get)
    assert notes_of(result, "recorded") == [
        (None, "Replies of critic were taken from a record: no model was asked")
    ]


@pytest.mark.parametrize(("threshold", "noted"), [(1, True), (2, False)])
def test_a_threshold_of_no_more_than_half_is_noted(threshold, noted):
    result = debated(
        votes(planner="release", critic="revise", operator="revise"), threshold=threshold
    )
    assert ("low_threshold" in codes(result)) is noted


def test_seats_with_one_model_and_one_prompt_are_theatre():
    script = votes(planner="release", critic="revise", operator="revise")
    alike = debated(script)
    little = "without personas, so their agreement means little"
    assert notes_of(alike, "theatre") == [
        (
            None,
            f"planner, critic, operator use the same model (python:test) {little}",
        )
    ]
    little = little.replace("without personas", "with the same persona")
    pair = debated(script, personas={"planner": "Be bold.", "critic": "Be bold."})
    assert notes_of(pair, "theatre") == [
        (
            None,
            f"planner, critic use the same model (python:test) {little}",
        )
    ]
    apart = {"planner": "Be bold.", "critic": "Doubt.", "operator": "Count."}
    assert notes_of(debated(script, personas=apart), "theatre") == []


def test_a_tie_is_noted_where_it_was_counted():
    votes_ = votes(planner="release", critic="revise", operator="escalate")
    result = debated(votes_, threshold=1, max_rounds=1)
    ties = notes_of(result, "tie")
    assert len(ties) == 4
    assert ties[0][1] == (
        "Tie in round 1, proposal: release, revise, escalate all reach the threshold, "
        "so there is no consensus"
    )
    assert result.decision == "escalate"


def test_trouble_is_noted_with_its_entry():
    debate = eventful()
    result = result_of(debate)
    for code, kind in (
        ("rejected", "turn.rejected"),
        ("resumed", "debate.resumed"),
    ):
        seqs = [event["seq"] for event in debate.record.events if event["type"] == kind]
        assert [seq for seq, _ in notes_of(result, code)] == seqs != []
    forfeits = [event["seq"] for event in debate.record.events if "forfeited" in event["type"]]
    told = (
        'the last reply was rejected: critic (round 1, critique): "stance" is missing',
        "planner (round 1, critique) was not heard, so it abstains: no reply came",
        "critic (round 1, critique) was not heard, so it abstains: no valid reply came",
    )
    found = notes_of(result, "forfeited")
    assert [seq for seq, _ in found] == [None, *forfeits]
    assert all(part in message for part, (_, message) in zip(told, found, strict=True))
    assert "A reply of critic (round 1, critique) does not count: it was cut off; " in (
        " ".join(message for _, message in notes_of(result, "rejected"))
    )
    assert (
        "Call r1.proposal.planner:1 was in flight when its process died"
        in (notes_of(result, "abandoned")[0][1])
    )


def test_the_first_turns_that_were_forfeited_with_a_rejected_reply_are_named():
    phases = ("proposal", "critique")
    ends = {f"r1.{phase}.operator": vote("neither") for phase in phases}
    ends["critic"] = vote("neither")
    (seq, message), *_ = notes_of(debated(script(ends, vote("release"))), "forfeited")
    begin, names = message.split(": ", 1)
    assert (seq, begin) == (None, "5 turns not heard because the last reply was rejected")
    assert names.endswith(
        'critic (round 1, critique): "vote" is not one of the allowed options and 2 more'
    )


def test_costs_that_are_not_known_are_not_passed_over():
    assert "cost_incomplete" in codes(result_of(eventful()))

    def script(call):
        return vote("release", tokens=(10, 0, 10))

    assert "cost_incomplete" not in codes(debated(script, prices=(PRICE,)))


def test_a_result_comes_back_from_its_json():
    result = result_of(eventful())
    again = type(result).model_validate_json(result.model_dump_json())
    assert again == result
    assert list(json.loads(result.model_dump_json())["vote_tally"]) == list(result.vote_tally)


@pytest.mark.parametrize("name", EVENTFUL)
def test_without_any_text_every_debate_is_shown_and_counted_alike(name):
    debate = eventful(name)
    whole, bare = of(debate), of(debate, lambda _: None)
    counted = ("decision", "decision_rule", "status", "seats", "speaker_schedule", "rounds_run")
    for field in counted[:3] + counted[4:]:
        assert getattr(bare, field) == getattr(whole, field)
    assert [seat.votes for seat in bare.seats] == [seat.votes for seat in whole.seats]
    assert bare.question is None
    assert noted(bare, "text_gone")
    assert noted(whole, "text_gone") == []
    assert bare.to_report().splitlines()[-1] == whole.to_report().splitlines()[-1]
    assert json.loads(json.dumps(bare.source()))


@pytest.mark.parametrize("name", EVENTFUL)
def test_every_result_comes_back_from_its_json(name):
    result = of(eventful(name))
    assert type(result).model_validate_json(result.model_dump_json()) == result
    assert len(result.seats) == len({row.id for row in result.seats})


@pytest.mark.parametrize("name", EVENTFUL)
def test_every_beginning_of_every_record_can_be_shown(name):
    debate = eventful(name)
    events = debate.record.events
    for length in range(1, len(events) + 1):
        result = build(events[:length], debate.record.texts.get)
        assert result.entries == length
        assert (result.status == "open") is (length < len(events))
        assert result.to_markdown().endswith("aside.\n")
        assert result.to_report().startswith("debater_ids: [")
        assert result.source()


def test_what_fails_in_the_report_of_a_sound_record_is_a_bug_and_says_so(monkeypatch):
    """A planted error is neither hidden nor taken for a defect of the record."""

    def broken(_):
        raise KeyError("planted")

    monkeypatch.setattr(signals, "shares", broken)
    with pytest.raises(KeyError, match="planted"):
        of(eventful("panel"))


def test_a_synthesizer_changes_nothing_of_the_nine_lines():
    script_ = script({"synthesis": say(synthesis="so")}, vote("release"))
    without = debated(script_)
    result = debated(script_, synthesizer=True)
    assert result.output == {"synthesis": "so"}
    assert result.to_report() == without.to_report()
    assert (result.debater_ids, result.vote_tally) == (without.debater_ids, {"release": 3})
    assert [seat.votes for seat in result.seats] == [("release",)] * 3 + [()]


def test_a_counted_debate_that_was_cut_short_keeps_its_tally():
    votes_ = votes(planner="release", critic="revise", operator="escalate")
    result = debated(votes_, limits={"calls": 4})
    assert (result.status, result.reason, result.decision) == ("truncated", "calls_ceiling", None)
    assert result.vote_tally == {"release": 1, "revise": 1, "escalate": 1}
    assert result.to_report().splitlines()[5:8] == [
        "vote_tally: {release: 1, revise: 1, escalate: 1}",
        "decision: none",
        "decision_rule: none",
    ]


def test_a_prompt_that_was_not_approved_is_critical():
    result = result_of(Debate(Setup(approved={}), script()).run())
    assert (result.status, result.reason) == ("failed", "prompt_refused")
    refused = [note for note in result.notes if note.code == "refused"]
    assert [note.severity for note in refused] == ["critical", "critical"]
    assert "policy" in codes(result)


@pytest.mark.parametrize(
    ("used", "said"),
    [(200, []), (201, ["The last calls went over a ceiling: 603 tokens of 600 tokens"])],
)
def test_what_went_over_a_ceiling_is_critical(used, said):
    reply = vote("release", tokens=(used, 0, 0))
    seats = [{"id": seat, "settings": {"max_tokens": 100}} for seat in ("ann", "bob", "cat")]
    result = debated(lambda call: reply, debaters=seats, limits={"tokens": 600})
    found = [note for note in result.notes if note.code == "over_ceiling"]
    assert [note.message for note in found] == said
    assert {note.severity for note in found} <= {"critical"}


def test_the_ceilings_are_shown_and_what_broke_them():
    result = debated(
        votes(planner="release", critic="revise", operator="revise"), limits={"seconds": 0.001}
    )
    assert result.limits.elapsed_ms == 1
    assert result.truncated is None
    slow = Debate(Setup(limits={"seconds": 0.001}), script({}, vote("release")), tick=2000).run()
    cut = result_of(slow)
    assert (cut.truncated.ceiling, cut.truncated.limit) == ("seconds", 1)
    (said,) = (note.message for note in cut.notes if note.code == "truncated")
    assert "of a ceiling of 0.001 seconds, " in said


def test_a_text_is_read_once_however_many_name_it():
    record, read = eventful("panel").record, Counter()

    def text_of(name):
        read[name] += 1
        return record.texts[name]

    build(record.events, text_of)
    assert set(read.values()) == {1}
