"""The `consensus` format, driven by its rules alone (RULES.md §2)."""

from itertools import product

import pytest

from hansard.rules import steps
from hansard.rules.formats.consensus import PHASES, phase_of
from support import Debate, Fail, Reply, Setup, vote, votes

FAIL = Fail("no_reply")


def scripted(setup, **by_phase):
    """Run a debate in which each phase says in the debaters' order how each turn ends."""

    def script(call):
        ends = by_phase[call.step.phase]
        end = ends[setup.speakers.index(call.step.speaker)]
        return vote(end) if isinstance(end, str) else end

    return Debate(setup, script).run()


def held(debate, number=-1):
    count = debate.state.counts[number]
    return {row["option"]: row["votes"] for row in count["tally"]}


def schedule(debate):
    turns = [turn.data for turn in debate.state.turns]
    return [(turn["round"], turn["phase"], turn["speaker"]) for turn in turns]


def test_the_seeds_first_example_is_decided_by_the_proposals():
    debate = Debate(Setup(), votes(planner="release", critic="revise", operator="revise")).run()
    assert debate.state.decision == {
        "decision": "revise",
        "rule": "threshold_vote",
        "votes": 2,
        "threshold": 2,
        "score_ppm": None,
        "rounds_run": 1,
        "review": None,
    }
    assert schedule(debate) == [(1, "proposal", who) for who in ("planner", "critic", "operator")]
    assert held(debate) == {"release": 1, "revise": 2, "escalate": 0}
    assert [count["phase"] for count in debate.state.counts] == ["proposal"]
    assert debate.state.closed == {"outcome": "complete", "reason": "votes_reached"}


def test_the_seeds_second_example_escalates_when_the_rounds_are_used_up():
    debate = Debate(Setup(), votes(planner="release", critic="revise", operator="escalate")).run()
    assert debate.state.decision == {
        "decision": "escalate",
        "rule": "max_rounds_exhausted",
        "votes": 1,
        "threshold": 2,
        "score_ppm": None,
        "rounds_run": 2,
        "review": debate.state.spec["review"],
    }
    assert schedule(debate) == list(product((1, 2), PHASES, ("planner", "critic", "operator")))
    assert held(debate) == {"release": 1, "revise": 1, "escalate": 1}
    assert not any(count["reached"] for count in debate.state.counts)
    assert debate.state.closed == {"outcome": "complete", "reason": "max_rounds_exhausted"}


def test_phases_are_counted_through_the_rounds():
    assert PHASES == ("proposal", "critique", "revision", "consensus")
    assert [phase_of(number) for number in (0, 3, 4, 7, 8)] == [
        (1, "proposal"),
        (1, "consensus"),
        (2, "proposal"),
        (2, "consensus"),
        (3, "proposal"),
    ]


def test_the_first_phase_is_asked_in_parallel_and_every_later_one_turn_by_turn():
    setup = Setup(rule="unanimity")
    debate = Debate(setup, votes(planner="release", critic="revise", operator="revise"))
    asked = []
    while (due := debate.due()) is not None:
        if isinstance(due, steps.Ask) and due.steps:
            asked.append([(step.phase, step.speaker) for step in due.steps])
        debate.do(due)
    assert asked[0] == [("proposal", speaker) for speaker in setup.speakers]
    later = [*product(PHASES[1:], setup.speakers), *product(PHASES, setup.speakers)]
    assert asked[1:] == [[step] for step in later]


@pytest.mark.parametrize("order", [min, max], ids=["first", "last"])
def test_parallel_replies_are_kept_as_they_come_and_recorded_in_order(order):
    script = votes(planner="release", critic="revise", operator="revise")
    record = Debate(Setup(), script, pick=order).run().record
    answered = [data["call"] for data in record.all("call.answered")]
    recorded = [data["call"] for data in record.all("turn.recorded")]
    assert recorded == [f"r1.proposal.{who}:1" for who in ("planner", "critic", "operator")]
    assert answered == sorted(recorded, reverse=order is max)


def test_votes_are_counted_after_every_whole_phase_and_never_within_one():
    kinds = ("votes.counted", "turn.recorded")
    debate = scripted(
        Setup(),
        proposal=("release", "revise", "escalate"),
        critique=("revise", "revise", "release"),  # two agree before the third has spoken
    )
    events = [event["type"] for event in debate.record.events if event["type"] in kinds]
    assert events == [*["turn.recorded"] * 3, "votes.counted"] * 2
    assert [count["reached"] for count in debate.state.counts] == [False, True]
    assert debate.state.decision["decision"] == "revise"


@pytest.mark.parametrize(
    ("lost", "code"),
    [
        (FAIL, "no_reply"),
        (Reply("No vote from me."), "invalid_reply"),
        (vote("rollback"), "invalid_reply"),
        (vote("release", finish="refusal"), "invalid_reply"),
    ],
)
def test_a_turn_that_is_lost_takes_back_the_earlier_vote_until_a_valid_one_follows(lost, code):
    debate = scripted(
        Setup(),
        proposal=("release", "revise", "escalate"),
        critique=(lost, "revise", "release"),  # with planner's old vote it would be settled
        revision=("release", "revise", "release"),
    )
    assert [data["reason"] for data in debate.record.all("turn.forfeited")] == [code]
    assert held(debate, 1) == {"release": 1, "revise": 1, "escalate": 0}
    assert [count["abstentions"] for count in debate.state.counts] == [0, 1, 0]
    assert [count["reached"] for count in debate.state.counts] == [False, False, True]


def test_a_rejected_reply_alone_takes_nothing_back():
    ends = iter([vote("release"), vote("revise"), Reply("?"), vote("release"), vote("release")])
    setup = Setup(debaters=("a", "b"), options=("release", "revise"))
    debate = Debate(setup, lambda call: next(ends)).run()
    assert len(debate.record.all("turn.rejected")) == 1
    assert debate.state.decision["decision"] == "release"
    assert not debate.record.all("turn.forfeited")


@pytest.mark.parametrize("end", [FAIL, Fail("crashed"), Reply(""), vote("yes"), Reply("release")])
def test_silence_is_never_agreement(end):
    heard = lambda call: vote("release") if call.step.speaker == "planner" else end  # noqa: E731
    debate = Debate(Setup(max_rounds=1), heard).run()
    assert held(debate) == {"release": 1, "revise": 0, "escalate": 0}
    assert [count["abstentions"] for count in debate.state.counts] == [2] * 4
    assert debate.state.decision["rule"] == "max_rounds_exhausted"


@pytest.mark.parametrize("phase", PHASES)
def test_a_phase_in_which_nobody_is_heard_is_the_last_whatever_stood_before_it(phase):
    split = {"planner": "release", "critic": "revise", "operator": "escalate"}
    ends = lambda call: Reply("?") if call.step.phase == phase else vote(split[call.step.speaker])  # noqa: E731
    debate = Debate(Setup(), ends).run()
    assert debate.state.closed == {"outcome": "failed", "reason": "nobody_heard"}
    assert (debate.state.decision, debate.state.rounds_run) == (None, 1)
    assert len(debate.state.counts) == PHASES.index(phase)


def test_the_threshold_is_of_the_registered_debaters_whoever_is_absent():
    ends = ("release", FAIL, FAIL)
    setup = Setup(rule="majority", max_rounds=1)
    debate = scripted(setup, **dict.fromkeys(PHASES, ends))
    assert held(debate)["release"] == 1
    assert debate.state.decision["decision"] == "escalate"


def test_two_options_at_the_threshold_are_a_tie_also_at_the_cap():
    tie = ("release", "release", "revise", "revise")
    setup = Setup(debaters=("a", "b", "c", "d"), max_rounds=1)
    debate = scripted(setup, **dict.fromkeys(PHASES, tie))
    assert [count["reached"] for count in debate.state.counts] == [False] * 4
    assert debate.state.decision["decision"] == "escalate"
    assert debate.state.decision["rule"] == "max_rounds_exhausted"
    assert debate.state.decision["votes"] == 0
    ends = {**dict.fromkeys(PHASES, tie), "consensus": ("release", FAIL, *tie[2:])}
    broken = scripted(setup, **ends)
    assert broken.state.decision["decision"] == "revise"


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("threshold", "threshold_vote"),
        ("majority", "majority_vote"),
        ("unanimity", "unanimous_vote"),
    ],
)
def test_escalate_as_a_declared_option_is_reached_under_the_rule_voted_under(rule, name):
    setup = Setup(rule=rule)
    debate = scripted(setup, proposal=("escalate", "escalate", "escalate"))
    decision = debate.state.decision
    assert (decision["decision"], decision["rule"], decision["votes"]) == ("escalate", name, 3)
    assert decision["review"] == debate.state.spec["review"]
    assert debate.state.closed["reason"] == "votes_reached"


def test_escalation_at_the_cap_needs_no_such_option_and_names_who_must_look():
    setup = Setup(options=("release", "revise", "wait"), max_rounds=1)
    debate = Debate(setup, votes(planner="release", critic="revise", operator="wait")).run()
    decision = debate.state.decision
    assert (decision["decision"], decision["votes"]) == ("escalate", 0)
    assert debate.record.texts[decision["review"]["sha256"]] == "the release board"
