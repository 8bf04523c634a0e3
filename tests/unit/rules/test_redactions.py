"""What a text.redacted must agree with, and whose signature counts for it (FORMAT.md §18)."""

import pytest

from hansard.errors import DataError
from hansard.record.keys import Trust
from hansard.record.line import line_hash
from hansard.record.policy import Line, Policy
from hansard.rules import after, redactions
from hansard.rules.demands import of_signature
from hansard.rules.events import Fact, parse
from hansard.rules.redactions import texts_of
from hansard.rules.replay import NotDue, Replay
from reviewing import (
    ANN,
    BOB,
    TRUST,
    closed,
    hold,
    note,
    redact,
    review,
    signatures,
    signer,
    trusting,
)
from support import DEBATE

CAT, DAN = signer("house/cat"), signer("house/dan")
QUESTION = (1, "question")


def walked(debate):
    """What the walk finds of each redaction, or what was due instead."""
    replay, found = Replay(debate.record.texts.get), []
    for event in debate.record.events:
        ended = replay.state.ended
        try:
            rows = replay.step(event)
        except NotDue as error:
            return str(error.due)
        found += [(row.field, row.expected, row.found) for row in rows if ended]
    return found


def read(debate):
    events = debate.record.events
    return redactions.read(events, lambda seq: events[seq - 1])


def standings(debate, trust=TRUST, policy=None):
    found = [redactions.signing(row, debate.state.said, policy, trust) for row in read(debate)]
    return [(dict(row.keys), row.counts) for row in found]


def test_a_text_is_erased_where_it_stands():
    debate = closed()
    redact(debate, *QUESTION)
    (row,) = read(debate)
    assert (row.seq, row.misplaced, row.faulty) == (len(debate.record.events), None, False)
    assert row.data["blob"] == debate.state.opened["question"]["sha256"]
    assert walked(debate) == []
    assert standings(debate) == [({"house/ann": "trusted"}, True)]


def test_an_entry_is_read_once_for_all_redactions_that_name_a_text_of_it():
    """A thousand of them that name a long entry would take minutes."""
    debate = closed()
    for field in ("question", "review", "question"):
        redact(debate, 1, field)
    redact(debate, len(debate.record.events), "reason")
    asked, events = [], debate.record.events

    def entry(seq):
        asked.append(seq)
        return events[seq - 1]

    found = redactions.read(events, entry)
    assert [row.misplaced is None for row in found] == [True, True, False, True]
    assert sorted(asked) == [1, len(events) - 1]


def test_every_text_of_an_entry_has_a_place():
    debate = closed()
    review(debate, "conditions", conditions=["x", "y"])
    data = debate.record.events[-1]["data"]
    assert dict(texts_of(data)) == {
        "reviewer": data["reviewer"]["sha256"],
        "conditions.0": data["conditions"][0]["sha256"],
        "conditions.1": data["conditions"][1]["sha256"],
    }
    redact(debate, len(debate.record.events), "conditions.1")
    assert read(debate)[0].misplaced is None


@pytest.mark.parametrize(
    ("seq", "field"),
    [(1, "context"), (1, "review.sha256"), (1, "templates.0"), (2, "question"), (1, ""), (99, "q")],
)
def test_a_redaction_names_a_text_that_stands_there(seq, field):
    debate = closed()
    question = debate.state.opened["question"]["sha256"]
    data = redact(debate, *QUESTION).data
    debate.record.events[-1]["data"] = {**data, "seq": seq, "field": field}
    (row,) = read(debate)
    assert (row.misplaced, row.faulty) == (("blob", None, question), True)
    assert standings(debate) == [({"house/ann": "faulty"}, False)]


def test_a_text_of_another_entry_is_not_the_one_that_stands_there():
    debate = closed()
    question, other = (debate.state.opened[name]["sha256"] for name in ("question", "review"))
    redact(debate, *QUESTION, blob=other)
    (row,) = read(debate)
    assert row.misplaced == ("blob", question, other)
    own = len(debate.record.events) + 1
    data = redact(debate, 1, "review").data
    debate.record.events[-1]["data"] = {**data, "seq": own, "field": "reason"}
    assert read(debate)[-1].misplaced == ("blob", None, data["blob"]), "its own texts are there"


def test_a_text_is_erased_once():
    debate = closed()
    blob = redact(debate, *QUESTION).data["blob"]
    redact(debate, *QUESTION, blob=blob)
    first, second = read(debate)
    assert first.misplaced is None
    assert second.misplaced == ("blob", None, blob)


def test_nothing_is_erased_under_a_hold():
    debate = closed()
    hold(debate)
    redact(debate, *QUESTION)
    assert walked(debate) == "a review, an outcome, a hold or a redaction, and nothing else"
    debate = closed()
    hold(debate)
    hold(debate, lift=True)
    redact(debate, *QUESTION)
    assert walked(debate) == []


def test_nobody_signs_over_what_the_record_was_before():
    debate = closed()
    head = line_hash(debate.record.lines[-1])
    note(debate, None)
    redact(debate, *QUESTION)
    for say, by in ((review, BOB), (note, None)):
        say(debate, by=by, head=head)
        assert walked(debate)[-1] == ("head", debate.record.events[-1]["prev"], head)
    seen = line_hash(debate.record.lines[-3])  # of the redaction itself
    review(debate, by=CAT, head=seen)
    assert walked(debate)[-1][2] == head


def test_two_redactions_cannot_be_signed_over_one_head():
    debate = closed()
    head = line_hash(debate.record.lines[-1])
    redact(debate, *QUESTION)
    redact(debate, 1, "review", (BOB,), head=head)
    assert walked(debate) == [("head", debate.record.events[-1]["prev"], head)]
    assert [row.faulty for row in read(debate)] == [False, True]


def altered(debate, change):
    """The redaction with its signatures changed."""
    data = redact(debate, *QUESTION, (ANN, BOB)).data
    said = {name: value for name, value in data.items() if name != "signatures"}
    changed = {**data, "signatures": change(data["signatures"], said)}
    debate.record.events[-1]["data"] = changed
    return [row[0::2] for row in after.faults(debate.state.after[:-1], debate.record.events[-1])]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda rows, _: rows[::-1], ("signatures", "house/bob,house/ann")),
        (
            lambda rows, said: signatures(said, [ANN, type(ANN)("house/zoe", ANN.private)]),
            ("signatures", "house/ann,house/zoe"),
        ),
        (lambda rows, _: [rows[0], rows[0]], ("signatures", "house/ann,house/ann")),
        (
            lambda rows, _: [rows[0], {**rows[1], "value": rows[0]["value"]}],
            ("signature", "house/bob"),
        ),
        (
            lambda rows, said: signatures(said, [ANN], "0" * 8 + DEBATE[8:]),
            ("signature", "house/ann"),
        ),
        (
            lambda rows, said: signatures({**said, "seq": 2}, [ANN]),
            ("signature", "house/ann"),
        ),
    ],
)
def test_each_key_signs_once_in_order_and_over_this_redaction(change, found):
    debate = closed()
    assert altered(debate, change) == [found]
    assert standings(debate) == [(dict.fromkeys(dict(standings(debate)[0][0]), "faulty"), False)]


def test_a_redaction_has_one_to_three_signatures():
    debate = closed()
    redact(debate, *QUESTION, (ANN, BOB, CAT))
    line = debate.record.lines[-1]
    assert parse(line)
    for keys in ((), (ANN, BOB, CAT, DAN)):
        with pytest.raises(DataError) as caught:
            redact(closed(), *QUESTION, keys)
        assert caught.value.code == "7.schema"


def test_whose_signature_counts():
    debate = closed()
    redact(debate, *QUESTION)
    at = debate.record.events[-1]["at"]
    for trust, standing in (
        (trusting(ANN, role="approval"), "trusted"),
        (trusting(ANN, role="export"), "role"),
        (trusting(ANN, until=at), "time"),
        (trusting(ANN, revoked=at), "revoked"),
        (
            Trust(keys=[*trusting(ANN, until=at).keys, *trusting(ANN, role="approval").keys]),
            "trusted",
        ),
        (Trust(keys=[*trusting(ANN, role="approval", revoked=at).keys]), "revoked"),
        (trusting(BOB), "unknown"),
        (Trust(), "unknown"),
    ):
        assert standings(debate, trust) == [({"house/ann": standing}, standing == "trusted")]


def policy(*lines):
    rows = tuple(Line("*", *line.split(" ")) for line in lines)
    return Policy(b"", None, rows)


def test_four_eyes_where_the_policy_asks_for_them():
    one, two = closed(), closed()
    redact(one, *QUESTION)
    redact(two, *QUESTION, (ANN, BOB))
    wanting = policy("redactors 2")
    assert standings(one, TRUST, wanting)[0][1] is False
    assert standings(two, TRUST, wanting)[0][1] is True
    assert standings(two, trusting(ANN), wanting) == [
        ({"house/ann": "trusted", "house/bob": "unknown"}, False)
    ]


def test_a_policy_says_how_many_signatures_there_are():
    for by, found in (((ANN,), [("redactors", ("2",), 1)]), ((ANN, BOB), [])):
        debate = closed()
        redact(debate, *QUESTION, by)
        opened, event = debate.state.opened, debate.record.events[-1]
        rows = of_signature(policy("redactors 2"), opened, event)
        assert [(row.term, row.expected, row.found) for row in rows] == found
        assert list(of_signature(policy(), opened, event)) == []


def test_nobody_involved_signs():
    person = {"name": {"sha256": "a" * 64}, "key": "house/ann"}
    debate = closed()
    redact(debate, *QUESTION)
    said = {**debate.state.said, "requester": person}
    (row,) = read(debate)
    found = redactions.signing(row, said, None, TRUST)
    assert (found.keys, found.counts) == ((("house/ann", "involved"),), False)
    assert redactions.signing(row, said, policy("reviewer_may_be requester"), TRUST).counts


def test_more_entries_than_a_record_may_have_after_its_close_explain_nothing(monkeypatch):
    debate = closed()
    note(debate, None)
    redact(debate, *QUESTION)
    assert len(read(debate)) == 1
    monkeypatch.setattr("hansard.rules.redactions.MOST_AFTER", 1)
    assert read(debate) == []


def test_an_entry_of_another_type_is_looked_over():
    debate = closed()
    redact(debate, *QUESTION)
    debate.add(Fact("debate.resumed", {"engine": "x"}))
    assert len(read(debate)) == 1


@pytest.mark.parametrize(
    "named",
    ["", "question", "0.question", "99.question", "1.seed", "²1.question", "00000001.question"],
)
def test_a_text_is_found_by_its_entry_and_field(named):
    events = closed().record.events
    assert redactions.find(events, "1.question") == events[0]["data"]["question"]["sha256"]
    assert redactions.find(events, named) is None
