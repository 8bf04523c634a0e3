"""A supervisor acts on `released` alone: on nothing that people have not approved."""

import random

import pytest

from hansard.record.keys import Trust
from hansard.report.reviews import Reader
from hansard.report.view import build
from reviewing import ANN, BOB, TRUST, closed, note, review, signer, trusting
from support import votes
from unit.rules.test_demands import read

CAT = signer("house/cat")
LINES = ("* review always", "* reviewers 2", "* review_days 1")
LATE = "2026-12-24T00:00:00.000000Z"
BEFORE = "2026-11-21T20:16:02.000000Z"  # any entry
PERSON = {"requester": {"name": "Ann", "key": ANN.name}}


def approve(debate, *signers):
    for each in signers:
        review(debate, by=each)


def conditions(debate, by):
    """Two approvals, one of them with a condition that `by` notes as met."""
    review(debate, by=BOB)
    fact = review(debate, "conditions")
    note(debate, by, condition=fact.data["conditions"][0]["sha256"])


def replayed(debate):
    other = closed(question="Shall we wait?")
    for by in (ANN, BOB):
        debate.add(review(other, by=by))


# What people did of a debate that two of them must approve; nothing of it releases the decision.
HELD_BACK = {
    "missing": lambda debate: None,
    "in part": lambda debate: approve(debate, ANN),
    "twice the same": lambda debate: approve(debate, ANN, ANN),
    "rejected": lambda debate: (approve(debate, BOB), review(debate, "rejected")),
    "taken back": lambda debate: (approve(debate, ANN, BOB), review(debate, "rejected")),
    "remanded": lambda debate: (approve(debate, ANN, BOB), review(debate, "remanded", BOB)),
    "contradicted": lambda debate: (approve(debate, ANN, BOB), review(debate, "rejected", CAT)),
    "conditions open": lambda debate: (approve(debate, BOB), review(debate, "conditions")),
    "met by nobody": lambda debate: conditions(debate, None),
    "met by a stranger": lambda debate: conditions(debate, signer("stranger/x")),
    "by a stranger": lambda debate: approve(debate, ANN, signer("stranger/x")),
    "under another's name": lambda debate: approve(
        debate, ANN, type(ANN)("house/bob", CAT.private)
    ),
    "replayed": replayed,
    "over nothing": lambda debate: [review(debate, by=by, head="0" * 64) for by in (ANN, BOB)],
}
TRUSTING = trusting(ANN, BOB, CAT)


def released(debate, *lines, trust=TRUSTING, now=None, vouched=True):
    reader = Reader(read(*lines) if lines else None, trust, now, vouched)
    return build(debate.record.events, debate.record.texts.get, reader).released


@pytest.mark.parametrize("name", HELD_BACK)
def test_nothing_is_acted_on_that_was_not_approved(name):
    """A hundred debates in all: each of these with other votes, and other times of looking."""
    for seed in range(8):
        chance = random.Random(seed)
        vote = chance.choice(("release", "revise"))
        debate = closed(votes(planner=vote, critic=vote, operator=vote))
        HELD_BACK[name](debate)
        assert not released(debate, *LINES, now=chance.choice((None, LATE)))


@pytest.mark.parametrize(
    "trust",
    [
        Trust(),
        trusting(ANN),
        trusting(ANN, BOB, role="export"),
        trusting(ANN, BOB, until=BEFORE),
        trusting(ANN, BOB, revoked=BEFORE),
    ],
)
def test_nor_what_those_approved_whom_the_reader_does_not_trust(trust):
    debate = closed()
    approve(debate, ANN, BOB)
    assert released(debate, *LINES)
    assert not released(debate, *LINES, trust=trust)


def test_nor_what_the_requester_approved():
    debate = closed(**PERSON)
    approve(debate, ANN, BOB)
    assert not released(debate, *LINES)
    approve(debate, CAT)
    assert released(debate, *LINES)


def test_nor_a_record_of_nobody_knows_whom():
    assert released(closed())
    assert not released(closed(), vouched=False)


def test_what_two_approved_is_acted_on():
    debate = closed()
    approve(debate, ANN, BOB)
    assert released(debate, *LINES, now=LATE)
    debate = closed()
    conditions(debate, ANN)
    assert released(debate, *LINES)
    assert released(closed(), trust=TRUST)
