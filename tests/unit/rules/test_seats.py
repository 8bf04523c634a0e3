"""Seats that cannot be asked any more, and debates that lose too many (FORMAT.md §8, §11)."""

import pytest

from exporting import both, exported
from hansard.rules import steps
from hansard.rules.state import speaker_of
from hansard.runtime.models.base import Wire
from support import DEFAULTS, Debate, Die, Fail, Reply, Setup, say, script, vote, walk

REFUSED = Fail("client_error", wire=Wire(401))
BAD = Fail("client_error", wire=Wire(400))
AWAY = Fail("unreachable")
SEATS = ("planner", "critic", "operator")
PHASES = ("proposal", "critique", "revision", "consensus")
SPLIT = dict(zip(SEATS, ("release", "revise", "escalate"), strict=True))


def split(ends, **fields):
    """One round in which nobody agrees; the operator's calls end as they are named."""
    usual = lambda call: vote(SPLIT[call.step.speaker])  # noqa: E731
    named = {f"r1.{phase}.operator": end for phase, end in zip(PHASES, ends, strict=False)}
    return Debate(Setup(max_rounds=1, **fields), script(named, usual)).run()


def forfeits(debate):
    return [row["reason"] for row in debate.record.all("turn.forfeited")]


def asked(debate, seat):
    return [row["step"] for row in debate.record.all("call.started") if seat in row["step"]]


def failed(debate, reason):
    assert walk(debate.record.events, debate.record.texts.get) == []
    assert debate.state.decision is None
    return debate.state.closed == {"outcome": "failed", "reason": reason}


@pytest.mark.parametrize(
    ("status", "calls"), [(400, 2), (401, 1), (402, 1), (403, 1), (404, 1), (405, 2), (None, 2)]
)
def test_a_seat_is_out_when_its_server_would_refuse_whatever_it_asks(status, calls):
    debate = split([Fail("client_error", wire=Wire(status))] * 4)
    assert len(asked(debate, "operator")) == calls
    assert forfeits(debate) == ["no_reply"] * calls + ["seat_out"] * (4 - calls)
    assert walk(debate.record.events, debate.record.texts.get) == []


def test_a_seat_is_out_after_two_turns_at_a_server_that_cannot_be_reached():
    debate = split([AWAY] * 4, attempts=3)
    assert len(asked(debate, "operator")) == 6
    assert forfeits(debate) == ["no_reply", "no_reply", "seat_out", "seat_out"]


@pytest.mark.parametrize("between", [Fail("no_reply"), Fail("timeout"), Reply("?")])
def test_turns_that_are_lost_otherwise_end_the_row(between):
    debate = split([BAD, between, AWAY], attempts=2)
    assert "seat_out" not in forfeits(debate)
    assert "r1.consensus.operator" in asked(debate, "operator")


def test_a_turn_that_counts_ends_the_row():
    debate = split([BAD, vote("escalate"), BAD])
    assert forfeits(debate) == ["no_reply", "no_reply"]


def test_a_weak_critique_that_counts_does_not_bring_a_refused_critic_back():
    ends = {
        "r1.critique.critic:1": say(challenge_strength=4),
        "r1.critique.critic:2": REFUSED,
        "r1.moderation.moderator": say(recommend_another_round=True),
    }
    debate = Debate(Setup("moderated", max_rounds=2), script(ends)).run()
    assert forfeits(debate) == ["seat_out"]
    assert debate.state.closed["outcome"] == "complete"
    assert walk(debate.record.events, debate.record.texts.get) == []


def test_whoever_resumes_may_have_mended_it():
    ends = {"r1.proposal.operator": REFUSED, "r1.revision.planner:1": Die()}
    usual = lambda call: vote(SPLIT[call.step.speaker])  # noqa: E731
    debate = Debate(Setup(max_rounds=1), script(ends, usual)).run()
    assert forfeits(debate) == ["no_reply", "seat_out"]
    assert asked(debate, "operator")[1:] == ["r1.revision.operator", "r1.consensus.operator"]
    assert walk(debate.record.events, debate.record.texts.get) == []


def test_one_that_is_asked_again_in_the_middle_of_a_phase_is_waited_for():
    """Who drafts at once is due at once; the process dies before the others are over."""
    ends = {"r0.draft.cat": REFUSED, "r1.draft.ann:1": Die()}
    debate = Debate(Setup("panel", rounds=1, convergence_check=False), script(ends)).run()
    assert forfeits(debate) == ["no_reply"]
    assert "r1.draft.cat" in asked(debate, "cat")
    assert walk(debate.record.events, debate.record.texts.get) == []


def test_seats_are_lost_only_where_one_is_out():
    """More votes are needed than there are debaters, which no writer admits: all are heard."""
    setup = Setup(max_rounds=1)
    setup.spec = setup.spec.model_copy(update={"threshold": 4})
    debate = Debate(setup, script({"r1.critique.critic": BAD})).run()
    assert debate.state.decision["rule"] == "max_rounds_exhausted"
    assert walk(debate.record.events, debate.record.texts.get) == []
    assert both(exported(debate.bundle())).ok


THREE = DEFAULTS["judged"]["debaters"]
FOUR = ("ann", "bob", "cat", "dan")


@pytest.mark.parametrize(
    ("setup", "out", "reason"),
    [
        (Setup(threshold=3), ["operator"], "seats_lost"),
        (Setup(threshold=2), ["operator"], None),
        (Setup(threshold=2), ["critic", "operator"], "seats_lost"),
        (Setup(threshold=1), ["critic", "operator"], None),
        (Setup(threshold=1), SEATS, "nobody_heard"),
        (Setup("judged"), ["ann"], None),
        (Setup("judged"), ["ann", "cat"], "seats_lost"),
        (Setup("panel"), ["bob"], None),
        (Setup("panel"), ["ann", "bob"], "seats_lost"),
        (Setup("panel", judge={}), ["ann", "bob"], "seats_lost"),
        (Setup("panel", debaters=FOUR, options=["yes", "no"]), FOUR[:2], "seats_lost"),
        (Setup("panel", debaters=FOUR, options=["yes", "no"], fallback="similar"), FOUR[:2], None),
        (Setup("panel", debaters=FOUR, resolution="majority"), FOUR[:2], "seats_lost"),
        (Setup("panel", debaters=FOUR), FOUR[:2], None),
        (Setup("moderated"), ["proposer"], "nobody_heard"),
        (Setup("moderated"), ["critic", "rebuttal", "framer"], None),
        (Setup("moderated", positions=THREE), ["ann", "bob"], None),
        (Setup("moderated", positions=THREE), ["ann", "bob", "cat"], "nobody_heard"),
        (Setup("judged"), ["judge"], "judge_failed"),
        (Setup("moderated"), ["moderator"], "moderator_failed"),
    ],
)
def test_a_debate_fails_where_nothing_but_escalation_is_left(setup, out, reason):
    debate = Debate(setup, script(dict.fromkeys(out, REFUSED))).run()
    if reason is None:
        assert debate.state.closed["outcome"] == "complete"
        assert walk(debate.record.events, debate.record.texts.get) == []
    else:
        assert failed(debate, reason)
        assert len(debate.record.all("call.failed")) <= len(out)
        assert debate.record.all("votes.counted", "similarity.measured") == []


def test_who_was_heard_before_still_counts_before_the_judge():
    ends = {"r2.argument.ann": REFUSED, "r2.argument.bob": REFUSED}
    debate = Debate(Setup("judged"), script(ends)).run()
    assert forfeits(debate) == ["no_reply", "no_reply"]
    assert debate.state.decision["rule"] == "judge_verdict"


def test_seats_that_are_lost_later_end_the_debate_before_the_next_call():
    ends = {f"r1.critique.{seat}": REFUSED for seat in SEATS[:2]}
    usual = lambda call: vote(SPLIT[call.step.speaker])  # noqa: E731
    debate = Debate(Setup(), script(ends, usual)).run()
    assert failed(debate, "seats_lost")
    assert asked(debate, "operator") == ["r1.proposal.operator"]


def test_who_was_asked_is_read_from_each_step_once(monkeypatch):
    """Forty seats that are out and forty that are waited for: not forty times forty an entry."""
    seats = [f"seat{number}" for number in range(80)]
    ends = {f"r0.draft.{seat}": REFUSED for seat in seats[::2]}
    setup = Setup("panel", debaters=seats, rounds=1, convergence_check=False)
    debate = Debate(setup, script(ends)).run()
    read = []
    monkeypatch.setattr(steps, "speaker_of", lambda step: read.append(step) or speaker_of(step))
    assert walk(debate.record.events, debate.record.texts.get) == []
    assert 0 < len(read) <= len(seats) * len(debate.record.events)
