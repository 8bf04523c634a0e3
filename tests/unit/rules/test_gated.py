"""A gate's answer as a record of its own, and what may follow it (FORMAT.md §11, 18)."""

import pytest

from gating import gate
from hansard.record.chain import Chain
from hansard.rules.events import Fact, blob_names
from hansard.rules.fields import Blob
from hansard.rules.replay import NotDue, Replay
from hansard.rules.review import review_of
from hansard.rules.state import DebateState
from reviewing import ANN, TRUST, closed, signed
from support import DEBATE, fold

AT = "2026-01-05T09:00:00.000000Z"
AFTER = "a review, an outcome, a hold or a redaction, and nothing else"
TEXTS = {"a" * 64: "Perhaps."}


def blob(letter) -> Blob:
    return {"sha256": letter * 64}


def asked(**fields):
    """What a gate is asked and answers, as its record begins."""
    told = {
        "engine": "hansard/1",
        "rules": 1,
        "question": blob("e"),
        "requester": None,
        "owner": None,
        "labels": [],
        "retention": None,
        "gate": gate(),
    }
    return Fact("gate.answered", told | fields)


def record(*facts):
    """The events of a record of these facts; a fact may be made from the hash of the last entry."""
    chain, events = Chain(DEBATE), []
    for fact in facts:
        made = fact(chain.prev) if callable(fact) else fact
        events.append(chain.add(made.type, made.data, AT)[0])
    return events


def walked(events):
    """What a walk finds of each entry; or what was due instead of the first that was not."""
    replay, found = Replay(TEXTS.get), []
    for event in events:
        try:
            found += [row.field for row in replay.step(event)]
        except NotDue as error:
            return str(error.due)
    return found


def noted(**fields):
    data = {"label": "right", "note": None, "condition": None, "signature": None}
    return lambda prev: Fact("outcome.noted", {"head": prev, **data, **fields})


def reviewed(outcome="approved"):
    """A review, signed by Ann."""

    def fact(prev):
        data = {"head": prev, "reviewer": blob("d"), "outcome": outcome}
        data |= {"comment": None, "conditions": []}
        return signed("review.signed", data, ANN)

    return fact


def held(kind="placed"):
    data = {"reason": None, "signature": None}
    return lambda prev: Fact(f"hold.{kind}", {"head": prev, **data})


def test_it_begins_a_record_and_what_people_say_follows():
    events = record(asked(), noted(), held(), reviewed(), held("lifted"))
    assert walked(events) == []
    state = fold(events)
    assert (state.ended, state.closed, state.opened, len(state.after)) == (True, None, None, 4)
    assert state.said == state.gated == events[0]["data"]
    assert state.opened_at == state.at == AT
    assert not DebateState().ended
    assert DebateState().said is None


def test_its_texts_are_named_in_the_order_of_the_entry():
    person = {"name": blob("c"), "key": None}
    found = asked(
        requester=person, owner={"name": blob("b"), "key": None}, gate=gate(answer=blob("a"))
    )
    (event,) = record(found)
    assert [name[0] for name in blob_names(event)] == ["a", "b", "e", "c"]


@pytest.mark.parametrize(
    ("fields", "due"),
    [
        ({"gate": gate() | {"advised": True}}, "gate.answered with what follows"),
        ({"gate": gate(hedged=True)}, "gate.answered with what follows"),
        ({"gate": gate(rule="any", answer=blob("a"))}, "gate.answered with what follows"),
        ({"labels": ["b", "a"]}, "gate.answered with labels in order"),
        ({"labels": ["a", "a"]}, "gate.answered with labels in order"),
    ],
)
def test_what_does_not_follow_is_not_due(fields, due):
    assert walked(record(asked(**fields))).startswith(due)


def test_what_follows_from_what_it_was_asked_is_due():
    risky = gate(task_type="contract", rule="any")
    assert risky["advised"]
    assert walked(record(asked(gate=risky, labels=["a", "b"]))) == []
    assert walked(record(asked(gate=gate(hedged=True, rule="any", answer=blob("a"))))) == []


def test_an_answer_that_is_gone_is_taken_as_recorded():
    for hedged in (False, True):
        (event,) = record(asked(gate=gate(hedged=hedged, answer=blob("f"))))
        replay = Replay(TEXTS.get)
        assert not replay.ungated
        assert replay.step(event) == []
        assert replay.ungated
    replay = Replay(TEXTS.get)
    replay.step(record(asked())[0])
    assert not replay.ungated


def test_nothing_of_a_debate_follows():
    for event in closed().record.events:
        later = Fact(event["type"], event["data"])
        assert walked(record(asked(), later)) == AFTER
    assert walked(record(asked(), asked())) == AFTER
    assert walked(record(asked(), held("lifted"))) == AFTER


def test_nor_does_it_follow_anything_of_a_debate():
    events = closed().record.events
    for length in range(1, len(events) + 1):
        facts = [Fact(event["type"], event["data"]) for event in events[:length]]
        found = walked(record(*facts, asked()))
        assert isinstance(found, str), length
    assert (
        walked(record(Fact("debate.resumed", {"engine": "x"}))) == "debate.opened or gate.answered"
    )


def test_the_head_is_that_of_its_first_entry_or_of_a_later_one():
    assert walked(record(asked(), noted(head="0" * 64))) == ["head"]
    assert walked(record(asked(), noted(condition="0" * 64))) == ["condition"]


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        ((), "not required"),
        (("approved",), "approved"),
        (("rejected",), "rejected"),
        (("remanded",), "remanded"),
    ],
)
def test_a_review_has_its_state_and_nothing_is_released(outcomes, state):
    events = record(asked(), *map(reviewed, outcomes))
    found = review_of(fold(events), None, TRUST, AT)
    assert (found.state, found.released, found.wanted) == (state, False, 0)
    assert (found.exceptions, found.due) == ((), None)
    own = {"name": blob("c"), "key": ANN.name}
    found = review_of(fold(record(asked(requester=own), *map(reviewed, outcomes))), None, TRUST)
    assert [row.standing for row in found.reviews] == ["involved"] * len(outcomes)
