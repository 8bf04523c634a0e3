"""Derived facts are recomputed, never trusted (FORMAT.md §11)."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from derived import ABANDONED, CASE, FIELDS, alterations, altered, fields_of, value_of
from formats import FORMATS
from gating import gate
from hansard.record import note, policy
from hansard.record.note import Signer
from hansard.rules.data import VerdictData
from hansard.rules.fields import SENT_BACK
from hansard.rules.replay import Difference, NotDue, Replay, approved_by
from hansard.rules.state import Step
from hansard.rules.steps import Ask
from support import (
    EVENTFUL,
    PRICE,
    SERVED,
    Debate,
    Die,
    Fail,
    Raise,
    Reply,
    Setup,
    eventful,
    fold,
    script,
    tried_again,
    votes,
    walk,
)
from tables import ANYTIME

DEBATES = {name: eventful(name) for name in EVENTFUL}
DEBATES |= {f"{name}, tried again": tried_again(name) for name in FORMATS}
EACH = pytest.mark.parametrize("debate", DEBATES.values(), ids=DEBATES)
DEBATE = DEBATES["consensus"]
EVENTS, TEXTS = DEBATE.record.events, DEBATE.record.texts
PAIR = Setup(debaters=("ann", "bob"), options=("yes", "no"))
VOTES = votes(ann="yes", bob="no")
STOP = {"ceiling": "operator", **dict.fromkeys(("limit", "spent", "reserved", "by", "reason"))}
PROPOSALS = [Step.of(1, "proposal", speaker) for speaker in ("ann", "bob")]


def test_much_happens_in_a_debate_of_every_format():
    assert {DEBATES[name].setup.spec.format for name in EVENTFUL} == set(FORMATS)


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


def swapped(event, **data):
    return {**event, "data": {**event["data"], **data}}


@EACH
def test_a_record_that_follows_the_rules_has_no_differences(debate):
    assert walk(debate.record.events, debate.record.texts.get) == []


@EACH
def test_the_walk_ends_in_the_state_of_the_record(debate):
    events = debate.record.events
    replay = Replay(debate.record.texts.get)
    for number, event in enumerate(events, 1):
        replay.step(event)
        if number % 10 == 0:
            assert replay.state == fold(events[:number])
    assert replay.state == fold(events)
    assert (replay.gone, replay.unread, replay.uncited, replay.uncompared) == ([], [], [], 0)


PLACES = {}
for name, debate in DEBATES.items():
    for place, field in alterations(debate.record.events):
        event = debate.record.events[place]
        group = "abandoned" if fields_of(event) == ABANDONED else event["type"]
        PLACES.setdefault((group, field), []).append((name, place))


def test_every_derived_field_is_tried():
    fields = {(kind, field) for kind, fields in FIELDS.items() for field in fields}
    fields |= {("abandoned", field) for field in ABANDONED} | {("debate.opened", "terms")}
    fields |= {("turn.recorded", field) for field in CASE}
    fields |= {
        ("call.answered", "tools"),
        *(("debate.truncated", name) for name in ("reserved", "by", "reason")),
    }
    fields |= {("call.failed", "wait_ms")}
    assert set(PLACES) == fields


@pytest.mark.parametrize(("group", "field"), PLACES)
def test_one_alteration_is_one_difference_and_no_cascade(group, field):
    for name, place in PLACES[group, field]:
        events = DEBATES[name].record.events
        event = altered(events[place], field)
        found = walk([*events[:place], event, *events[place + 1 :]], DEBATES[name].record.texts.get)
        was, is_now = value_of(events[place], field), value_of(event, field)
        shown = field.rpartition(".")[2]
        assert found == [(place + 1, Difference(shown, expected=was, found=is_now))]


def test_a_call_takes_no_longer_than_the_time_that_passed():
    """But for a millisecond of rounding; a call that was abandoned took nobody knows how long."""
    events = DEBATES["consensus"].record.events
    ends = [row for row in events if row["type"] in ("call.answered", "call.failed")]
    assert {row["data"]["latency_ms"] for row in ends} == {None, 1}
    for end in (row for row in ends if row["data"]["latency_ms"]):
        place, longer = end["seq"] - 1, {**end["data"], "latency_ms": 2}
        changed = [*events[:place], {**end, "data": longer}, *events[place + 1 :]]
        found = walk(changed, DEBATES["consensus"].record.texts.get)
        assert found == [(end["seq"], Difference("latency_ms", expected=1, found=2))]


def test_a_function_in_a_seat_asks_for_no_tools():
    record = DEBATES["consensus"].record
    place = next(n for n, row in enumerate(record.events) if row["type"] == "call.answered")
    asking = {**record.events[place]["data"], "finish": "tool_calls", "tools": 1}
    events = [*record.events[:place], {**record.events[place], "data": asking}]
    for model, expected in (("python:own", []), ("custom:own", [Difference("tools", 0, 1)])):
        seated = [
            {**row, "data": {**row["data"], "model": model}} if "persona" in row["data"] else row
            for row in events
        ]
        found = [row for seq, row in walk(seated, record.texts.get) if seq == place + 1]
        assert [row for row in found if row.field == "tools"] == expected


@EACH
def test_no_event_can_be_left_out(debate):
    events = debate.record.events
    for number in range(1, len(events)):
        left = [*events[: number - 1], *events[number:]]
        assert reported(left, debate.record.texts.get), events[number - 1]


@EACH
def test_nothing_happens_twice_but_what_may_come_at_any_time(debate):
    events = debate.record.events
    for number, event in enumerate(events, 1):
        twice = [*events[:number], *events[number - 1 :]]
        if event["type"] in ANYTIME:
            assert walk(twice, debate.record.texts.get) == []
        else:
            assert due_instead(twice, debate.record.texts.get), event


def test_a_record_begins_with_its_opening():
    assert due_instead(EVENTS[1:]) == "debate.opened or gate.answered"


def test_an_opening_names_one_template_for_each_role():
    rows = EVENTS[0]["data"]["templates"]
    for templates in ([], rows[:2], rows[::-1], [*rows, rows[0]]):
        opening = swapped(EVENTS[0], templates=templates)
        assert due_instead([opening]) == (
            "debate.opened with one template each for protocol, block, again, debater, synthesizer"
        )


@pytest.mark.parametrize("options", [[], ["a", "a"], ["a", "abstain"], [*map(str, range(101))]])
def test_an_opening_has_options_that_can_be_told_apart(options):
    opening = swapped(EVENTS[0], terms=EVENTS[0]["data"]["terms"] | {"options": options})
    assert due_instead([opening]).startswith("debate.opened with 1 to 100 options")


COSTS = ("cost_least_micro_usd", "cost_expected_micro_usd", "cost_most_micro_usd")
ANOTHER = "00000000-0000-4000-8000-00000000000f"
ORIGIN = {"kind": "repeat", "debate": ANOTHER, "head": "a" * 64, "seq": None}


def expected(*costs, calls=(3, 24)):
    """An estimate in an opening."""
    least, most = calls
    return {"calls_least": least, "calls_most": most, **dict(zip(COSTS, costs, strict=True))}


NONE = (None, None, None)
NO_PRICE = "debate.opened with an estimated cost where each model has its price"


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"labels": []}, None),
        ({"labels": ["Q4", "berlin"]}, None),
        ({"labels": ["berlin", "Q4"]}, "labels in order"),
        ({"labels": ["a", "a"]}, "labels in order"),
        ({"estimate": expected(*NONE)}, None),
        ({"estimate": expected(*NONE, calls=(24, 24))}, None),
        ({"estimate": expected(*NONE, calls=(25, 24))}, "an estimate whose least"),
        ({"estimate": expected(1, 1, 1)}, None),
        ({"estimate": expected(2, 1, 3)}, "an estimate whose least"),
        ({"estimate": expected(1, 3, 2)}, "an estimate whose least"),
        ({"estimate": expected(1, None, 2)}, "an estimate whose least"),
        ({"origin": ORIGIN}, None),
        ({"origin": ORIGIN | {"debate": EVENTS[0]["debate"]}}, "an origin"),
        ({"origin": ORIGIN | {"seq": 4}}, "an origin"),
        ({"origin": ORIGIN | {"kind": "branch"}}, "an origin"),
        ({"origin": ORIGIN | {"kind": "branch", "seq": 4}}, None),
        ({"origin": ORIGIN | {"debate": None}}, "an origin"),
        ({"origin": ORIGIN | {"debate": None, "head": None}}, "an origin"),
        ({"origin": ORIGIN | {"kind": "evaluation"}}, None),
        ({"origin": ORIGIN | {"kind": "evaluation", "head": None}}, "an origin"),
        ({"origin": ORIGIN | {"kind": "evaluation", "debate": None, "head": None}}, None),
        ({"gate": gate()}, None),
        ({"gate": gate(task_type="contract"), "task_type": "contract"}, None),
        ({"gate": gate(task_type="contract")}, "a gate"),
        ({"gate": gate() | {"advised": True}}, "a gate"),
    ],
)
def test_what_an_opening_says_of_itself_agrees_with_itself(fields, wrong):
    found = due_instead([swapped(EVENTS[0], **fields)])
    assert (found or "").startswith(f"debate.opened with {wrong}") if wrong else found is None


def test_a_cost_is_expected_exactly_where_each_model_has_its_price():
    for costs, prices, wrong in (
        (NONE, [], None),
        ((1, 2, 3), [], NO_PRICE),
        (NONE, [PRICE], NO_PRICE),
        ((1, 2, 3), [PRICE], None),
    ):
        opening = swapped(EVENTS[0], estimate=expected(*costs), prices=prices)
        assert due_instead([opening, *EVENTS[1:4]]) == wrong


def test_what_a_policy_approves_is_found_by_the_hash_that_the_opening_names():
    signer = Signer("house/approval", Ed25519PrivateKey.from_private_bytes(bytes(32)))
    data = note.sign(policy.write([policy.Line("consensus.block", "template", "a" * 64)]), signer)
    digest = policy.parse(data).hash
    opened = EVENTS[0]["data"]
    assert approved_by(opened, {digest: data}) is None
    assert approved_by(opened | {"policy": digest}, {}) is None
    found = approved_by(opened | {"policy": digest}, {digest: data})
    roles = [row["role"] for row in opened["templates"]]
    assert found == {role: [] for role in roles} | {"block": ["a" * 64]}


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


def test_only_a_resumption_is_due_once_a_function_raised():
    debate = started(lambda call: Raise() if call.attempt == 1 else VOTES(call))
    debate.end("r1.proposal.ann:1")
    step = {"step": "r1.proposal.ann"}
    assert after(debate, "call.started", **step) == "the end of an open call"
    debate.end("r1.proposal.bob:1")
    for kind in ("call.started", "turn.forfeited", "debate.truncated", "debate.closed"):
        cut = {"ceiling": "calls", "reserved": 1, "cut": None}
        assert after(debate, kind, **step, **cut) == "debate.resumed"
    assert after(debate, "debate.resumed") is None
    debate.run()
    assert walk(debate.record.events, debate.record.texts.get) == []


def test_a_person_stops_a_debate_where_a_call_is_due_and_nothing_is_in_flight():
    stop = {"step": "r1.proposal.ann", **STOP}
    debate = Debate(PAIR, VOTES)
    assert after(debate, "debate.truncated", **stop) is None
    assert after(started(), "debate.truncated", **stop) == "the end of an open call"
    event = {**debate.record.events[-1], "type": "debate.truncated", "data": {**stop, "limit": 1}}
    found = walk([*debate.record.events, event], debate.record.texts.get)
    assert [row for _, row in found] == [Difference("limit", None, 1)]
    broken = started(lambda call: Raise())
    for step in PROPOSALS:
        broken.end(f"{step.id}:1")
    assert after(broken, "debate.truncated", **stop) is None


def test_after_the_decision_a_stop_or_a_ceiling_takes_the_deliverable_alone():
    debate = Debate(Setup("judged", output_schema={"type": "object"}), script())
    while not isinstance(due := debate.due(), Ask) or due.steps[0].phase != "synthesis":
        debate.do(due)
    step = due.steps[0]
    place = {"step": step.id, "round": step.round, "phase": step.phase, "speaker": step.speaker}
    turn = {**place, "reason": "operator", "cut": STOP}
    assert after(debate, "turn.forfeited", **turn) is None
    due_still = f"call.started for {step.id}"
    assert after(debate, "debate.truncated", step=step.id, **STOP) == due_still
    unset = {**STOP, "ceiling": "calls"}
    assert after(debate, "turn.forfeited", **turn | {"cut": unset}) == due_still


def test_only_a_function_raises():
    debate = Debate(PAIR.but(model=SERVED), VOTES)
    for step in PROPOSALS:
        debate.start(step)
    data = {"call": "r1.proposal.ann:1", "error": "raised"}
    assert after(debate, "call.failed", **data) == "call.failed with another error"


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
        data = {"step": "r1.proposal.ann", "cut": None}
        assert after(heard, kind, **data) == "the turn r1.proposal.ann"
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


@EACH
def test_nothing_is_due_after_the_close(debate):
    events = debate.record.events
    for event in events:
        due = due_instead([*events, event], debate.record.texts.get)
        assert due == "a review, an outcome, a hold or a redaction, and nothing else"


READ = ("turn.recorded", "verdict.recorded", "synthesis.recorded")


@EACH
def test_with_every_text_gone_the_state_is_the_same_and_what_is_unread_is_named(debate):
    replay = Replay(lambda name: None)
    assert [row for event in debate.record.events for row in replay.step(event)] == []
    assert replay.state == fold(debate.record.events)
    answered = debate.record.all("call.answered")
    assert replay.gone == [row["call"] for row in answered if row["finish"] == "stop"]
    read = debate.record.all(*READ)
    assert replay.unread == [row["step"] for row in read if row["phase"] != "synthesis"]
    compared = [event for event in debate.record.events if rests_on_texts(event)]
    kinds = ("similarity.measured", "votes.counted")
    assert replay.uncompared == sum(event["type"] in kinds for event in compared)


@EACH
def test_with_any_one_text_gone_nothing_differs(debate):
    for name in debate.record.texts:
        texts = {key: text for key, text in debate.record.texts.items() if key != name}
        assert walk(debate.record.events, texts.get) == []


FINISHED = ("cut_off", "refused", "filtered", "not_finished")


def rests_on_texts(event):
    """The derived fields of an event that nobody can check without its debate's texts."""
    kind, data = event["type"], event["data"]
    if kind == "turn.recorded":
        return {"vote", "case", *CASE}
    if kind == "verdict.recorded":
        return {*VerdictData.__annotations__} - {"step", "round", "phase", "speaker", "call"}
    if kind == "turn.rejected":
        if data["code"] == "uncited_critique":
            return {"rating", "code"}  # the other one has such a rating where it is weak
        if data["code"] in SENT_BACK:
            return {"rating"}  # another code has none, and is tried again only so often
        if data["code"] in ("schema", "unknown_option"):
            return {"code", "member", "keyword"}
        return {"code"} if data["code"] not in FINISHED else set()
    if kind == "similarity.measured":
        return {"pairs", "converged"} if data["measure"] != "options" else set()
    counted = kind == "votes.counted" and data["phase"] == "draft"
    return {"tally"} if counted else set()


RESTS_ON = {"tally": {"reached"}, "code": {"member", "keyword"}}  # on what is stated


@EACH
def test_what_rests_on_no_text_is_checked_with_every_text_gone(debate):
    """What does rest on one is taken as recorded, if it is something that a reply can give."""
    events = debate.record.events
    for place, field in alterations(events):
        unchecked = field in rests_on_texts(events[place])
        wrong = altered(events[place], field)
        try:
            found = walk([*events[:place], wrong], lambda name: None)
        except NotDue:
            assert unchecked
        else:
            rests = RESTS_ON.get(field, set())
            assert bool({row.field for _, row in found} - rests) != unchecked, (place, field)


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


def test_a_seats_rows_of_instructions_stand_in_order_of_their_rounds():
    rows = [{"round": 1, "text": None}, {"round": 2, "text": None}]
    why = "debater.registered with instructions in order of rounds, each once"
    for told, wrong in ((rows, None), (rows[::-1], why), ([rows[0]] * 2, why)):
        assert due_instead([EVENTS[0], swapped(EVENTS[1], instructions=told)]) == wrong


def test_a_document_without_a_file_has_no_original():
    seats = [event for event in EVENTS if event["type"] == "debater.registered"]
    (document, *_) = (event for event in EVENTS if event["type"] == "evidence.admitted")
    lone = swapped(document, source=None, original=document["data"]["text"])
    why = "evidence.admitted without an original, since it has no source"
    assert due_instead([EVENTS[0], *seats, lone]) == why
