"""Whether a review is required, whose counts, and when a decision is released (FORMAT.md §18)."""

from hashlib import sha256

import pytest

from hansard.record.keys import Trust, TrustedKey, verifier_key
from hansard.record.note import VerifierKey
from hansard.rules.review import review_of
from reviewing import ANN, BOB, TRUST, closed, hold, note, review, signer, trusting
from reviewing import say as said_of
from support import Debate, Setup, argued, eventful, say, script, votes
from unit.rules.test_demands import read

CAT = signer("house/cat")
ALWAYS, TWO = "* review always", "* reviewers 2"
SPLIT = votes(planner="release", critic="revise", operator="release")


def standing(debate, *lines, trust=TRUST, now=None):
    return review_of(debate.state, read(*lines) if lines else None, trust, now)


def found(debate, *lines, **more):
    """The state, and whether the decision is released."""
    row = standing(debate, *lines, **more)
    return row.state, row.released


def test_a_decision_without_an_exception_needs_no_review():
    assert found(closed()) == ("not required", True)
    assert found(closed(), "* review exceptions") == ("not required", True)
    assert found(closed(), ALWAYS) == ("waiting", False)


def moderated(confidence="HIGH", *citations):
    ends = {
        "proposition": say(supporting_arguments=[argued(*citations)]),
        "moderation": say(confidence=confidence),
    }
    return closed(script(ends), format_="moderated", evidence=(("memo", "It failed.", 1),))


EXCEPTIONS = {
    "escalated": lambda: closed(SPLIT, rule="unanimity"),
    "truncated": lambda: closed(limits={"calls": 1}),
    "against_gate": lambda: closed(gate={}),
    "low_confidence": lambda: moderated("LOW"),
    "citations": lambda: moderated("HIGH", ("memo", "it stood")),
}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_what_asks_for_a_review_by_default(name):
    debate = EXCEPTIONS[name]()
    assert standing(debate).exceptions == (name,)
    assert found(debate) == ("waiting", False)
    released = name not in ("escalated", "truncated")
    assert found(debate, "* review never") == ("not required", released)
    review(debate)
    assert found(debate) == ("approved", released)


def test_what_does_not():
    assert standing(moderated("HIGH", ("memo", "failed"))).exceptions == ()
    assert standing(moderated("MODERATE")).exceptions == ()


def test_an_undeclared_winner_is_never_released():
    debate = closed()
    debate.state.verdict = {"undeclared": True, "confidence": None}
    assert standing(debate).exceptions == ("undeclared",)
    review(debate)
    assert found(debate) == ("approved", False)


def test_a_failed_debate_and_an_open_one_are_never_released():
    failed = Debate(Setup(approved={}), lambda _: None).run()
    assert failed.state.closed["outcome"] == "failed"
    assert found(failed, ALWAYS) == ("not required", False)
    review(failed)
    assert found(failed) == ("approved", False)
    open_ = closed().cut(9, None)
    assert found(open_, ALWAYS) == ("not required", False)


# Who says what, in order, of a decision for which two approvals are required, and what stands.
A, B = ("approved", ANN), ("approved", BOB)
STATES = [
    ([], "waiting"),
    ([A], "partly"),
    ([A, A], "partly"),
    ([A, B], "approved"),
    ([("conditions", ANN)], "partly"),
    ([("conditions", ANN), B], "partly"),
    ([("rejected", ANN)], "rejected"),
    ([("rejected", ANN), B], "disagreement"),
    ([("rejected", ANN), A, B], "approved"),
    ([A, B, ("rejected", BOB)], "disagreement"),
    ([A, ("rejected", ANN)], "rejected"),
    ([("remanded", ANN), B], "remanded"),
    ([("remanded", ANN), ("rejected", BOB)], "remanded"),
    ([("remanded", ANN), ("rejected", BOB), A], "disagreement"),
]


@pytest.mark.parametrize(("said", "state"), STATES)
def test_the_first_state_that_applies(said, state):
    debate = closed()
    for outcome, by in said:
        review(debate, outcome, by)
    assert found(debate, ALWAYS, TWO) == (state, state == "approved")
    assert standing(debate, ALWAYS, TWO).wanted == 2


def test_a_third_may_disagree_with_a_remand_that_stands():
    debate = closed()
    for outcome, by in (("remanded", ANN), ("rejected", BOB), ("approved", CAT)):
        review(debate, outcome, by)
    assert found(debate, trust=trusting(ANN, BOB, CAT)) == ("disagreement", False)


def test_one_person_under_two_names_is_one():
    debate = closed()
    twin = type(ANN)("house/ann-again", ANN.private)
    review(debate)
    review(debate, by=twin)
    assert found(debate, ALWAYS, TWO, trust=trusting(ANN, twin)) == ("partly", False)


def test_a_review_that_nobody_asked_for_counts_too():
    debate = closed()
    review(debate, "rejected")
    assert found(debate) == ("rejected", False)
    debate = closed()
    review(debate)
    assert found(debate) == ("approved", True)


def test_conditions_are_open_until_a_reviewer_notes_each_as_met():
    debate = closed()
    names = [
        row["sha256"]
        for row in review(debate, "conditions", conditions=["x", "y"]).data["conditions"]
    ]
    note(debate, condition=names[0])
    note(debate, None, condition=names[1])
    note(debate, CAT, condition=names[1])
    note(debate, condition=None)
    assert standing(debate, ALWAYS).open == (names[1],)
    assert found(debate, ALWAYS) == ("partly", False)
    note(debate, BOB, condition=names[1])
    assert standing(debate, ALWAYS).open == ()
    assert found(debate, ALWAYS) == ("approved", True)


def test_it_is_overdue_when_the_days_are_over():
    debate = closed()
    at = debate.state.at
    lines = (ALWAYS, "* review_days 2")
    then = at.replace("11-21T", "11-23T")
    assert found(debate, *lines, now=then) == ("waiting", False)
    late = at.replace("11-21T", "11-24T")
    assert found(debate, *lines, now=late) == ("overdue", False)
    assert found(debate, *lines) == ("waiting", False)
    assert found(debate, "* review_days 2", now=late) == ("not required", True)
    assert standing(debate, *lines).due == 2
    review(debate)
    assert found(debate, *lines, now=late) == ("approved", True)


TIMES = ("2026-11-21T20:16:02.000000Z", "2026-11-21T20:16:04.000000Z")  # around every entry


@pytest.mark.parametrize(
    ("trust", "why"),
    [
        (TRUST, "trusted"),
        (Trust(), "unknown"),
        (trusting(BOB), "unknown"),
        (trusting(type(ANN)(ANN.name, BOB.private)), "unknown"),
        (trusting(ANN, role="export"), "role"),
        (trusting(ANN, **{"from": TIMES[0], "until": TIMES[1]}), "trusted"),
        (trusting(ANN, **{"from": TIMES[1]}), "time"),
        (trusting(ANN, until=TIMES[0]), "time"),
        (trusting(ANN, revoked=TIMES[0]), "revoked"),
        (trusting(ANN, revoked=TIMES[1]), "trusted"),
    ],
)
def test_whose_review_counts(trust, why):
    debate = closed()
    review(debate)
    row = standing(debate, ALWAYS, trust=trust)
    assert [one.standing for one in row.reviews] == [why]
    assert row.state == ("approved" if why == "trusted" else "waiting")


def person(by):
    return {"name": "Somebody", "key": by.name}


@pytest.mark.parametrize(
    ("people", "lines", "counts"),
    [
        ({"requester": person(ANN)}, (), False),
        ({"requester": person(ANN)}, ("* reviewer_may_be requester",), True),
        ({"requester": person(ANN)}, ("* reviewer_may_be nobody_involved",), False),
        ({"owner": person(ANN)}, (), True),
        ({"owner": person(ANN)}, ("* reviewer_may_be requester",), True),
        ({"owner": person(ANN)}, ("* reviewer_may_be nobody_involved",), False),
        ({"requester": person(BOB)}, ("* reviewer_may_be nobody_involved",), True),
    ],
)
def test_who_is_involved(people, lines, counts):
    debate = closed(**people)
    review(debate)
    row = standing(debate, ALWAYS, *lines)
    assert [one.standing for one in row.reviews] == ["trusted" if counts else "involved"]
    assert row.released is counts


def test_whoever_is_involved_is_so_under_every_name_of_the_key():
    other = type(ANN)("house/another", ANN.private)
    debate = closed(requester=person(ANN))
    review(debate, by=other)
    for more, why in (((ANN,), "involved"), ((), "trusted")):
        row = standing(debate, ALWAYS, trust=trusting(other, *more))
        assert [one.standing for one in row.reviews] == [why]
    exported = trusting(ANN, role="export").keys
    found = standing(debate, ALWAYS, trust=Trust(keys=[*trusting(other).keys, *exported]))
    assert found.reviews[0].standing == "involved"


def test_a_condition_is_met_by_what_is_noted_after_the_review_only():
    debate = closed()
    data = review(debate, "conditions").data
    (condition,) = data["conditions"]
    note(debate, condition=condition["sha256"])
    assert found(debate, ALWAYS) == ("approved", True)
    again = {key: data[key] for key in ("reviewer", "outcome", "comment", "conditions")}
    said_of(debate, "review.signed", **again)
    assert found(debate, ALWAYS) == ("partly", False)
    assert standing(debate, ALWAYS).open == (condition["sha256"],)
    note(debate, condition=condition["sha256"])
    assert found(debate, ALWAYS) == ("approved", True)


def test_a_review_with_a_fault_does_not_count():
    for change in ({"head": "a" * 64}, {"conditions": ["x"]}):
        debate = closed()
        review(debate, **change)
        assert [row.standing for row in standing(debate).reviews] == ["faulty"]
    debate = closed()
    said = review(closed(votes(planner="revise", critic="revise", operator="revise")))
    debate.add(said)  # replayed onto another record
    assert [row.standing for row in standing(debate, ALWAYS).reviews] == ["faulty"]
    assert found(debate, ALWAYS) == ("waiting", False)


def test_where_a_review_stands():
    debate = eventful()
    review(debate)
    (row,) = standing(debate).reviews
    assert (row.seq, row.at) == (debate.state.seq, debate.record.events[-1]["at"])
    assert row.key == str(ANN.key)
    assert row.data == debate.record.events[-1]["data"]


def test_each_end_of_a_hold_is_told_with_its_key_and_whether_that_counts():
    debate, told = closed(), []
    for by, how in ((ANN, "trusted"), (CAT, "unknown"), (None, None)):
        hold(debate)
        hold(debate, by, lift=True)
        last = debate.record.events[-1]
        told.append((last["seq"], last["at"], by and by.name, how))
    rows = standing(debate).lifts
    assert [(row.seq, row.at, row.key, row.standing) for row in rows] == told


def test_each_key_of_a_large_trust_file_is_read_once_whatever_is_asked():
    """A file has room for 48,000 keys, and a record for 1,000 reviews."""
    keys = [VerifierKey("a", sha256(b"%d" % number).digest()) for number in range(5_000)]
    rows = [TrustedKey(role="log", key=str(key)) for key in keys]
    debate = closed()
    for _ in range(20):
        review(debate)
    before = verifier_key.cache_info().misses
    assert found(debate, trust=Trust(keys=[*TRUST.keys, *rows])) == ("approved", True)
    assert verifier_key.cache_info().misses - before <= len(keys) + len(TRUST.keys)
