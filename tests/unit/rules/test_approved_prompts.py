"""A call is made with approved templates only (FORMAT.md §15)."""

import pytest

from hansard.rules import steps
from hansard.rules.replay import Difference, NotDue, Replay
from hansard.rules.state import Step
from support import OWN, Debate, Fail, Reply, Setup, fold, vote, votes, walk

OTHER = "0" * 64
UNAPPROVED = {**OWN, "block": OTHER, "debater": OTHER}
ANN, BOB = (Step.of(1, "proposal", speaker) for speaker in ("ann", "bob"))
CLOSED = {"outcome": "failed", "reason": "prompt_refused"}


def setup(approved=OWN):
    return Setup(debaters=("ann", "bob"), options=("yes", "no"), approved=approved)


def changed(script=votes(ann="yes", bob="no"), **found):  # noqa: B008 - never changed
    """A debate whose templates are others after the first proposals."""
    debate = Debate(setup(), script)
    while not debate.state.counts:
        debate.do(debate.due())
    debate.found |= found
    return debate.run()


def replayed(debate, policy=OWN, /, **altered):
    """Walk a record in which some fields of the refusal are altered."""
    events = [
        {**event, "data": {**event["data"], **altered}}
        if event["type"] == "call.refused"
        else event
        for event in debate.record.events
    ]
    found = walk(events, debate.record.texts.get, policy)
    return [(row.field, row.expected, row.found) for _, row in found]


def not_due(debate, kind, policy=OWN, /, **data):
    """What was due instead of this event at the end of a debate so far."""
    event = {**debate.record.events[-1], "type": kind, "data": data}
    with pytest.raises(NotDue) as caught:
        walk([*debate.record.events, event], debate.record.texts.get, policy)
    return caught.value.due


def kinds(debate):
    return [event["type"] for event in debate.record.events]


def test_approved_templates_change_nothing():
    debate = Debate(setup(), votes(ann="yes", bob="no")).run()
    assert "call.refused" not in kinds(debate)
    assert debate.state.closed["outcome"] == "complete"
    assert replayed(debate) == replayed(debate, None) == []


def test_a_template_that_was_never_approved_stops_the_first_call():
    debate = Debate(setup(UNAPPROVED), votes()).run()
    refusal = {"step": ANN.id, "role": "block", "found": OWN["block"], "approved": [OTHER]}
    assert debate.record.all("call.refused") == [refusal] == [debate.state.refused]
    assert kinds(debate)[3:] == ["call.refused", "debate.closed"]
    assert debate.state.closed == CLOSED
    assert debate.state.decision is None
    assert replayed(debate, UNAPPROVED) == []
    assert fold(debate.record.events) == debate.state


def test_a_role_that_the_policy_does_not_know_is_not_approved():
    debate = Debate(setup({}), votes()).run()
    assert debate.state.refused == {
        "step": ANN.id,
        "role": "protocol",
        "found": OWN["protocol"],
        "approved": [],
    }
    assert replayed(debate, {}) == []


def test_a_template_that_changed_since_stops_the_next_call():
    debate = changed(debater=OTHER)
    assert debate.state.refused == {
        "step": "r1.critique.ann",
        "role": "debater",
        "found": OTHER,
        "approved": [OWN["debater"]],
    }
    assert kinds(debate)[-3:] == ["votes.counted", "call.refused", "debate.closed"]
    assert debate.state.closed == CLOSED
    assert replayed(debate) == []


@pytest.mark.parametrize("end", [vote("yes"), Reply("?"), Fail("timeout")])
def test_calls_still_open_end_as_they_do_and_nothing_else_is_asked(end):
    ends = {"ann": Fail("timeout"), "bob": end}
    debate = Debate(setup(), lambda call: ends[call.step.speaker])
    debate.start(ANN)
    debate.start(BOB)
    debate.end(f"{ANN.id}:1")
    debate.found["protocol"] = OTHER
    debate.do(debate.due())
    assert debate.due() == steps.Ask([])
    assert not_due(debate, "call.started", step=ANN.id) == "the end of an open call"
    assert not_due(debate, "call.refused", step=ANN.id) == "the end of an open call"
    assert not_due(debate, "debate.closed", **CLOSED) == "the end of an open call"
    debate.run()
    assert len(debate.record.all("call.started")) == 2
    assert debate.state.turns == []
    assert debate.state.closed == CLOSED
    assert replayed(debate) == []


def test_a_call_made_all_the_same_is_found():
    debate = Debate(setup(), votes(ann="no", bob="no")).run()
    assert replayed(debate, UNAPPROVED) == [("not_approved", [OTHER], OWN["block"])] * 2


def test_a_refusal_for_the_openings_own_template_is_derived_whole():
    debate = Debate(setup(UNAPPROVED), votes()).run()
    for field, value in [
        ("step", BOB.id),
        ("role", "debater"),
        ("found", OTHER),
        ("approved", []),
    ]:
        was = debate.state.refused[field]
        assert replayed(debate, UNAPPROVED, **{field: value}) == [(field, was, value)]


def test_of_a_refusal_for_a_changed_template_the_rest_is_derived():
    debate = changed(debater=OTHER)
    refused = debate.state.refused
    for field, value in [("step", BOB.id), ("approved", []), ("approved", [OTHER])]:
        found = replayed(debate, **{field: value})
        assert found == [(field, refused[field], value)]
    assert replayed(debate, role="block") == [("approved", [OWN["block"]], [OWN["debater"]])]


def test_a_refusal_rests_on_a_policy():
    bare = Debate(setup(approved=None), votes())
    both = "call.started for r1.proposal.ann or r1.proposal.bob"
    data = {"step": ANN.id, "role": "debater", "found": OTHER, "approved": []}
    assert not_due(bare, "call.refused", None, **data) == both
    approved = Debate(setup(), votes())
    for wrong in ({"found": OWN["debater"]}, {"role": "judge"}):
        assert not_due(approved, "call.refused", OWN, **(data | wrong)) == both


def test_where_the_policy_is_gone_a_refusal_is_taken_as_recorded():
    debate = changed(debater=OTHER)
    assert replayed(debate, None, role="block", found="1" * 64) == []
    step = debate.state.refused["step"]
    assert replayed(debate, None, step=BOB.id) == [("step", step, BOB.id)]


def test_nothing_follows_a_refusal_but_the_close():
    debate = changed(block=OTHER)
    closed = debate.record.events.pop()
    for kind in ("call.started", "call.refused", "votes.counted", "decision.reached"):
        assert not_due(debate, kind, step="r1.critique.ann") == "debate.closed"
    replay = Replay(debate.record.texts.get, OWN)
    for event in debate.record.events:
        replay.step(event)
    wrong = {**closed, "data": {"outcome": "complete", "reason": "votes_reached"}}
    assert replay.step(wrong) == [
        Difference("outcome", "failed", "complete"),
        Difference("reason", "prompt_refused", "votes_reached"),
    ]
