"""What may follow a close, what each entry must agree with, and what is signed (FORMAT.md §18)."""

import pytest

from hansard.record.line import line_hash
from hansard.record.note import Signer
from hansard.rules import after
from hansard.rules.events import Fact
from hansard.rules.replay import NotDue, Replay
from reviewing import ANN, BOB, closed, hold, note, review, reviewed, say, signed
from support import DEBATE, digest

DUE = "a review, an outcome, a hold or a redaction, and nothing else"
A = "a" * 64


def differences(debate):
    """What a walk finds of each entry after the close, in order; or what was due instead."""
    replay, found = Replay(debate.record.texts.get), []
    for event in debate.record.events:
        ended = replay.state.closed
        try:
            rows = replay.step(event)
        except NotDue as error:
            return str(error.due)
        if ended:
            found += [(row.field, row.expected, row.found) for row in rows]
    return found


def test_everything_that_people_say_is_due_after_a_close():
    debate = reviewed()
    assert differences(debate) == []
    assert len(debate.state.after) == 8
    assert debate.state.at == next(
        event["at"] for event in debate.record.events if event["type"] == "debate.closed"
    )


def test_nothing_else_is():
    for event in closed().record.events:
        debate = closed()
        debate.record.add(Fact(event["type"], event["data"]))
        assert differences(debate) == DUE


def test_nor_is_any_of_it_while_the_debate_is_open():
    debate = closed()
    open_ = debate.cut(len(debate.record.lines) - 1, None)
    say(open_, "hold.placed", reason=None)
    assert differences(open_) == "debate.closed"


def test_holds_take_turns():
    debate = closed()
    hold(debate, lift=True)
    assert differences(debate) == DUE
    debate = closed()
    hold(debate)
    hold(debate, lift=True)
    hold(debate)
    assert differences(debate) == []
    assert after.is_held(debate.state)
    hold(debate)
    assert differences(debate) == DUE


def test_at_most_a_thousand_entries():
    debate = closed()
    for _ in range(after.MOST_AFTER):
        note(debate, None)
    assert differences(debate) == []
    note(debate, None)
    assert differences(debate) == DUE


def test_the_head_is_that_of_the_close_or_of_a_later_entry():
    debate = closed()
    heads = [event["prev"] for event in debate.record.events]
    first = review(debate)
    review(debate, head=first.data["head"], by=BOB)
    note(debate, None, head=first.data["head"])
    assert differences(debate) == []
    for head in (heads[-1], A):
        debate = closed()
        review(debate, head=head)
        assert differences(debate) == [("head", first.data["head"], head)]
        note(debate, head=head)
        assert differences(debate)[-1][::2] == ("head", head)


def test_whoever_signs_again_has_seen_what_they_signed_before():
    debate = closed()
    first = review(debate)
    second = review(debate, "rejected")
    head = debate.record.events[-1]["prev"]
    note(debate, BOB, head=first.data["head"])
    note(debate, head=line_hash(debate.record.lines[-2]))
    assert differences(debate) == []
    for said in (first, second):  # repeated by somebody who cannot sign
        debate.add(said)
        prev = debate.record.events[-1]["prev"]
        assert differences(debate)[-1] == ("head", prev, said.data["head"])
    renamed = Signer("house/another", ANN.private)  # one key, whatever it is called
    note(debate, renamed, head=head)
    assert differences(debate)[-1][::2] == ("head", head)
    hold(debate)
    lifted = hold(debate, lift=True)
    hold(debate)
    debate.add(lifted)
    assert differences(debate)[-1][::2] == ("head", lifted.data["head"])


def test_conditions_are_there_exactly_where_they_are_the_outcome():
    debate = closed()
    review(debate, "conditions", conditions=[])
    assert differences(debate) == [("conditions", None, "conditions")]
    debate = closed()
    review(debate, "approved", conditions=["x"])
    assert differences(debate) == [("conditions", None, "approved")]


def test_an_outcome_closes_a_condition_of_an_earlier_review():
    debate = closed()
    note(debate, condition=A)
    assert differences(debate) == [("condition", None, A)]
    fact = review(debate, "conditions", conditions=["x", "y"])
    for condition in fact.data["conditions"]:
        note(debate, condition=condition["sha256"])
    assert len(differences(debate)) == 1


def test_what_is_signed():
    data = {"head": A, "label": "right", "note": None, "condition": None, "signature": None}
    text = after.message("outcome.noted", DEBATE, data)
    head, _, rest = text.partition(b"\n")
    assert head == b"hansard-outcome.noted/v1"
    said = f'{{"condition":null,"debate":"{DEBATE}","head":"{A}","label":"right","note":null}}'
    assert rest == said.encode()


def forged(debate, **changes):
    """The review that would be signed now, with its signature changed."""
    fact = review(debate)
    debate.record.lines.pop()
    debate.record.events.pop()
    debate.state.after.pop()
    data = dict(fact.data)
    for name, value in changes.items():
        data = data | (
            {"signature": data["signature"] | {name: value(data["signature"][name])}}
            if name in ("key", "value")
            else {name: value(data[name])}
        )
    debate.add(Fact("review.signed", data))
    return differences(debate)


WEAK = "house/ann+" + digest(b"house/ann\n\x01" + bytes(32))[:8] + "+AQ" + "A" * 42


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": lambda _: "rejected"},
        {"comment": lambda _: {"sha256": A}},
        {"reviewer": lambda _: {"sha256": A}},
        {"key": lambda _: str(BOB.key)},
        {"key": lambda key: key.replace("ann", "eve")},
        {"key": lambda _: WEAK},
        {"key": lambda key: key[:-44] + "BA" + key[-42:]},
        {"value": lambda value: ("B" if value[0] == "A" else "A") + value[1:]},
        {"value": lambda value: value[:-3] + chr(ord(value[-3]) + 1) + "=="},
    ],
)
def test_a_signature_is_over_all_of_it_by_the_key_that_it_names(changes):
    debate = closed()
    found = forged(debate, **changes)
    key = debate.record.events[-1]["data"]["signature"]["key"]
    assert found == [("signature", None, key.partition("+")[0])]
    assert forged(closed()) == []


def test_a_signature_is_of_this_debate_and_of_this_type():
    debate = closed()
    said = {"head": debate.record.events[-1]["prev"], "reason": None}
    said["head"] = note(debate, None).data["head"]
    other = signed("hold.placed", said, ANN, debate="0" * 8 + DEBATE[8:])
    debate.add(other)
    assert differences(debate) == [("signature", None, "house/ann")]
    debate = closed()
    said["head"] = note(debate, None).data["head"]
    lifted = signed("hold.lifted", said, ANN)
    debate.add(Fact("hold.placed", lifted.data))
    assert differences(debate) == [("signature", None, "house/ann")]


def test_an_outcome_and_a_hold_need_no_signature():
    debate = closed()
    note(debate, None)
    hold(debate, None)
    assert differences(debate) == []
    assert after.signatures_of(debate.record.events[-1]) == ()
