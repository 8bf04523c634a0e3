"""Derived facts are recomputed, never trusted (record.md §3; FORMAT.md §11)."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from derived import ABANDONED, FIELDS, alterations, altered, fields_of
from hansard.debate.replay import Difference, NotDue, Replay, approved_by
from hansard.debate.state import Step
from hansard.record import note, policy
from hansard.record.note import Signer
from support import Debate, Die, Fail, Reply, Setup, eventful, fold, votes, walk

DEBATE = eventful()
EVENTS, TEXTS = DEBATE.record.events, DEBATE.record.texts
PAIR = Setup(debaters=("ann", "bob"), options=("yes", "no"))
VOTES = votes(ann="yes", bob="no")
PROPOSALS = [Step.of(1, "proposal", speaker) for speaker in ("ann", "bob")]


def due_instead(events, text_of=TEXTS.get):
    """What was due where the walk over `events` ends; None where it does not end early."""
    try:
        walk(events, text_of)
    except NotDue as error:
        return error.due
    return None


def reported(events, text_of=TEXTS.get):
    """Whether the walk finds anything wrong."""
    try:
        return bool(walk(events, text_of))
    except NotDue:
        return True


def after(debate, kind, /, **data):
    """What was due instead of this event at the end of a debate so far."""
    event = {**debate.record.events[-1], "type": kind, "data": data}
    return due_instead([*debate.record.events, event], debate.record.texts.get)


def without(number):
    return [*EVENTS[: number - 1], *EVENTS[number:]]


def swapped(event, **data):
    return {**event, "data": {**event["data"], **data}}


def test_a_record_that_follows_the_rules_has_no_differences():
    assert walk(EVENTS, TEXTS.get) == []


def test_the_walk_ends_in_the_state_of_the_record():
    replay = Replay(TEXTS.get)
    for number, event in enumerate(EVENTS, 1):
        replay.step(event)
        if number % 10 == 0:
            assert replay.state == fold(EVENTS[:number])
    assert replay.state == fold(EVENTS)
    assert replay.unread == []


PLACES = {}
for place, field in alterations(EVENTS):
    group = "abandoned" if fields_of(EVENTS[place]) == ABANDONED else EVENTS[place]["type"]
    PLACES.setdefault((group, field), []).append(place)


def test_every_derived_field_is_tried():
    fields = {(kind, field) for kind, fields in FIELDS.items() for field in fields}
    fields |= {("abandoned", field) for field in ABANDONED} | {("debate.opened", "terms")}
    assert set(PLACES) == fields


@pytest.mark.parametrize(("group", "field"), PLACES)
def test_one_alteration_is_one_difference_and_no_cascade(group, field):
    for place in PLACES[group, field]:
        event = altered(EVENTS[place], field)
        found = walk([*EVENTS[:place], event, *EVENTS[place + 1 :]], TEXTS.get)
        was, is_now = EVENTS[place]["data"][field], event["data"][field]
        assert found == [(place + 1, Difference(field, expected=was, found=is_now))]


@pytest.mark.parametrize("number", range(1, len(EVENTS)))
def test_no_event_can_be_left_out(number):
    assert reported(without(number))


@pytest.mark.parametrize("number", range(1, len(EVENTS) + 1))
def test_nothing_happens_twice_but_a_takeover(number):
    twice = [*EVENTS[:number], *EVENTS[number - 1 :]]
    if EVENTS[number - 1]["type"] == "debate.resumed":
        assert walk(twice, TEXTS.get) == []
    else:
        with pytest.raises(NotDue):
            walk(twice, TEXTS.get)


def test_a_record_begins_with_its_opening():
    assert due_instead(EVENTS[1:]) == "debate.opened"


def test_an_opening_names_one_template_for_each_role():
    rows = EVENTS[0]["data"]["templates"]
    for templates in ([], rows[:2], rows[::-1], [*rows, rows[0]]):
        opening = swapped(EVENTS[0], templates=templates)
        assert due_instead([opening]) == (
            "debate.opened with one template each for protocol, block, debater"
        )


@pytest.mark.parametrize("options", [[], ["a", "a"], ["a", "abstain"], [*map(str, range(101))]])
def test_an_opening_has_options_that_can_be_told_apart(options):
    opening = swapped(EVENTS[0], terms=EVENTS[0]["data"]["terms"] | {"options": options})
    assert due_instead([opening]).startswith("debate.opened with 1 to 100 options")


def test_what_a_policy_approves_is_found_by_the_hash_that_the_opening_names():
    signer = Signer("house/approval", Ed25519PrivateKey.from_private_bytes(bytes(32)))
    data = note.sign(policy.write({("consensus", "block"): "a" * 64}), signer)
    digest = policy.parse(data).hash
    opened = EVENTS[0]["data"]
    assert approved_by(opened, {digest: data}) is None
    assert approved_by(opened | {"policy": digest}, {}) is None
    assert approved_by(opened | {"policy": digest}, {digest: data}) == {"block": "a" * 64}


@pytest.mark.parametrize(
    ("number", "due"),
    [
        (2, "debater.registered at position 1"),
        (4, "debater.registered at position 3"),
        (5, "evidence.admitted"),
        (6, "evidence.admitted"),
    ],
)
@pytest.mark.parametrize("kind", [7, 10, 17, 28, 107])
def test_seats_and_documents_come_before_anything_else(number, due, kind):
    assert due_instead([*EVENTS[: number - 1], EVENTS[kind - 1]]) == due


def test_no_id_is_given_twice():
    seats = [*EVENTS[:2], swapped(EVENTS[2], id="planner")]
    assert due_instead(seats) == "debater.registered at position 2"
    documents = [*EVENTS[:5], swapped(EVENTS[5], document="runbook")]
    assert due_instead(documents) == "evidence.admitted"


@pytest.mark.parametrize("model", ["scripted:x.yaml", "recorded:3f2b", "python:x", "scriptedx:y"])
def test_a_debate_with_offline_replies_says_so_and_only_such_a_debate(model):
    offline = model.startswith(("scripted:", "recorded:"))
    events = [*EVENTS[:3], swapped(EVENTS[3], model=model)]
    expected = "debate.opened with scripted: true" if offline else None
    assert due_instead(events) == expected
    events[0] = swapped(events[0], scripted=True)
    assert due_instead(events) == (None if offline else "debate.opened with scripted: false")


def started(script=VOTES):
    """A debate whose first proposals are asked for."""
    debate = Debate(PAIR, script)
    for step in PROPOSALS:
        debate.start(step)
    return debate


def test_only_a_step_that_is_due_is_asked():
    debate = Debate(PAIR, VOTES)
    both = "call.started for r1.proposal.ann or r1.proposal.bob"
    one = "call.started for r1.proposal.bob"
    for step in ("r1.critique.ann", "r2.proposal.ann", "r1.proposal.eve", "r1.proposal"):
        assert after(debate, "call.started", step=step) == both
    debate.start(PROPOSALS[0])
    assert after(debate, "call.started", step="r1.proposal.ann") == one
    debate.start(PROPOSALS[1])
    assert after(debate, "call.started", step="r1.proposal.ann") == "the end of an open call"


def test_only_an_open_call_ends():
    debate = Debate(PAIR, VOTES)
    for kind in ("call.answered", "call.failed"):
        due = after(debate, kind, call="r1.proposal.ann:1")
        assert due == "call.started for r1.proposal.ann or r1.proposal.bob"
        assert after(started(), kind, call="r1.critique.ann:1") == "the end of an open call"


def test_a_call_is_abandoned_only_when_another_process_took_over():
    debate = started(lambda call: Die())
    data = {"call": "r1.proposal.ann:1", "error": "abandoned"}
    assert after(debate, "call.failed", **data) == "debate.resumed before a call is abandoned"
    debate.end("r1.proposal.ann:1")
    assert after(debate, "call.answered", call="r1.proposal.ann:1") == "call.failed"
    assert after(debate, "call.started", step="r1.proposal.ann") == "call.failed"
    assert after(debate, "debate.resumed") is None


def test_a_reply_that_does_not_count_is_rejected_at_once_and_no_other_reply_is():
    bad = started(lambda call: Reply("?"))
    bad.end("r1.proposal.ann:1")
    bad.record.events.pop()
    for kind in ("call.started", "debate.resumed", "turn.recorded"):
        assert after(bad, kind, step="r1.proposal.ann") == "turn.rejected"
    good = started()
    good.end("r1.proposal.ann:1")
    data = {"step": "r1.proposal.ann", "call": "r1.proposal.ann:1", "code": "schema", "again": True}
    assert after(good, "turn.rejected", **data) == "the end of an open call"


def test_the_turn_is_the_one_that_the_schedule_calls_for():
    heard = started()
    for step in PROPOSALS:
        heard.end(f"{step.id}:1")
    for kind in ("turn.forfeited", "votes.counted", "call.started"):
        assert after(heard, kind, step="r1.proposal.ann") == "turn.recorded for r1.proposal.ann"
    lost = started(lambda call: Fail("client_error"))
    for step in PROPOSALS:
        lost.end(f"{step.id}:1")
    assert after(lost, "turn.recorded", vote="yes") == "turn.forfeited"


def test_counts_and_outcome_come_when_they_are_due():
    debate = Debate(PAIR, VOTES).run()
    events = debate.record.events
    for place, event in enumerate(events):
        if event["type"] in ("votes.counted", "decision.reached", "debate.closed"):
            end = [*events[:place], swapped(EVENTS[-1], outcome="complete")]
            expected = None if event["type"] == "debate.closed" else event["type"]
            assert due_instead(end, debate.record.texts.get) == expected


@pytest.mark.parametrize("number", range(1, len(EVENTS) + 1))
def test_nothing_is_due_after_the_close(number):
    assert due_instead([*EVENTS, EVENTS[number - 1]]) == "nothing: the debate is closed"


def test_with_every_text_gone_the_state_is_the_same_and_what_is_unread_is_named():
    replay = Replay(lambda name: None)
    assert [row for event in EVENTS for row in replay.step(event)] == []
    assert replay.state == fold(EVENTS)
    assert replay.unread == [data["step"] for data in DEBATE.record.all("turn.recorded")]


def gone(step):
    """The texts without the reply that this step's turn was read from."""
    calls = {row["step"]: row["call"] for row in DEBATE.record.all("turn.recorded")}
    replies = {row["call"]: row["reply"]["sha256"] for row in DEBATE.record.all("call.answered")}
    return {name: text for name, text in TEXTS.items() if name != replies[calls[step]]}


def altered_vote(step, option):
    return [
        swapped(event, vote=option)
        if event["type"] == "turn.recorded" and event["data"]["step"] == step
        else event
        for event in EVENTS
    ]


def test_a_vote_whose_reply_is_gone_is_taken_as_recorded_and_counted():
    step = "r1.revision.critic"
    replay = Replay(gone(step).get)
    found = [
        (event["type"], row.field)
        for event in altered_vote(step, "escalate")
        for row in replay.step(event)
    ]
    assert replay.unread == [step]
    assert found == [("votes.counted", "tally")]


def test_an_undeclared_option_is_found_even_where_the_reply_is_gone():
    step = "r1.revision.critic"
    events = altered_vote(step, "rollback")
    assert reported(events, gone(step).get)


REJECTED = [event for event in EVENTS if event["type"] == "turn.rejected"]


@pytest.mark.parametrize("event", REJECTED, ids=lambda event: event["data"]["code"])
def test_whether_it_is_tried_again_rests_on_no_text(event):
    place = event["seq"] - 1
    wrong = altered(event, "again")
    found = walk([*EVENTS[:place], wrong], lambda name: None)
    assert [row.field for _, row in found] == ["again"]


def test_a_reply_that_was_cut_off_needs_no_text_to_be_rejected():
    event = next(row for row in REJECTED if row["data"]["code"] == "cut_off")
    wrong = swapped(event, code="filtered")
    found = walk([*EVENTS[: event["seq"] - 1], wrong], lambda name: None)
    assert [row.field for _, row in found] == ["code"]
