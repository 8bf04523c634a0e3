"""The state is a fold of clear fields, and of nothing else (FORMAT.md §2)."""

import pytest

from hansard.rules import state
from hansard.rules.data import AFTER
from hansard.rules.events import TYPES
from hansard.rules.state import DebateState, Spend, Step, speaker_of
from support import Debate, Die, Setup, eventful, fold, vote, votes

DEBATE = eventful()
STATE = fold(DEBATE.record.events)


def test_a_state_without_an_opening_is_not_a_debate_yet():
    with pytest.raises(AttributeError):
        _ = DebateState().spec
    assert DebateState().rounds_run == 0


def test_every_type_of_event_has_its_fold():
    assert {*state._FOLDS, *AFTER} == set(TYPES)


def test_the_same_events_give_the_same_state():
    assert fold(DEBATE.record.events) == DEBATE.state
    assert fold(DEBATE.record.events[:-1]) != DEBATE.state


def test_everything_that_was_recorded_is_in_the_state():
    record = DEBATE.record
    assert STATE.debate == record.events[0]["debate"]
    assert (STATE.seq, STATE.at) == (len(record.lines), record.events[-1]["at"])
    assert STATE.opened_at == record.events[0]["at"]
    assert STATE.spec == record.all("debate.opened")[0]
    assert list(STATE.seats.values()) == record.all("debater.registered")
    assert STATE.evidence == record.all("evidence.admitted")
    assert STATE.counts == record.all("votes.counted")
    assert STATE.failures == record.all("call.failed")
    assert STATE.rejections == len(record.all("turn.rejected"))
    assert STATE.resumes == len(record.all("debate.resumed"))
    assert [STATE.decision] == record.all("decision.reached")
    assert [STATE.closed] == record.all("debate.closed")
    assert (STATE.calls, STATE.steps, STATE.abandoned) == ({}, {}, [])


def test_turns_stand_in_order_with_the_reply_they_were_read_from():
    kinds = ("turn.recorded", "turn.forfeited")
    events = [event["data"] for event in DEBATE.record.events if event["type"] in kinds]
    replies = {data["call"]: data["reply"] for data in DEBATE.record.all("call.answered")}
    assert [turn.data for turn in STATE.turns] == events
    assert [turn.vote for turn in STATE.turns] == [data.get("vote") for data in events]
    assert [turn.reply for turn in STATE.turns] == [
        replies.get(data.get("call")) for data in events
    ]
    assert STATE.rounds_run == 2


def test_the_seats_are_complete_when_all_that_was_announced_is_there():
    seated = [fold(DEBATE.record.events[:end]).seated for end in range(7)]
    assert seated == [False] * 6 + [True]
    bare = Debate(Setup(), votes())
    assert bare.state.seated
    assert not fold(bare.record.events[:-1]).seated


def test_each_seat_has_one_current_vote_the_latest():
    last = {}
    for turn in STATE.turns:
        last[turn.data["speaker"]] = turn.vote
    assert STATE.votes == last == {"planner": "release", "critic": "revise", "operator": "release"}
    after_registration = fold(DEBATE.record.events[:6])
    assert after_registration.votes == dict.fromkeys(last)


def test_what_was_used_is_added_up_by_seat_and_in_all():
    answered, started = DEBATE.record.all("call.answered"), DEBATE.record.all("call.started")
    abandoned = [row for row in DEBATE.record.all("call.failed") if row["error"] == "abandoned"]
    assert len(abandoned) == 3
    total = STATE.total()
    assert total.calls == len(started) == sum(seat.calls for seat in STATE.spend.values())
    for field in ("tokens_in", "tokens_cached", "tokens_out"):
        assert getattr(total, field) == sum(row[field] or 0 for row in answered)
    costs = [row["cost_micro_usd"] or 0 for row in (*answered, *abandoned)]
    assert total.cost_micro_usd == sum(costs)
    assert STATE.spend["planner"] == Spend(
        calls=9, tokens_in=7000, tokens_cached=2800, tokens_out=210, cost_micro_usd=32 + 7 * 1900
    )


def test_calls_that_were_open_when_a_process_died_wait_to_be_abandoned():
    ends = iter([Die()])
    debate = Debate(Setup(), lambda call: next(ends, vote("release")))
    debate.run()
    events = debate.record.events
    resumed = next(n for n, event in enumerate(events, 1) if event["type"] == "debate.resumed")
    calls = [f"r1.proposal.{who}:1" for who in ("planner", "critic", "operator")]
    for done in range(4):
        state = fold(events[: resumed + done])
        assert state.abandoned == list(state.calls) == calls[done:]


@pytest.mark.parametrize("speaker", ["planner", "a.b.c", "r1.proposal.x", "x:1", "."])
def test_a_step_is_named_by_round_phase_and_speaker(speaker):
    step = Step.of(12, "critique", speaker)
    assert step.id == f"r12.critique.{speaker}"
    assert speaker_of(step.id) == speaker
