"""What `run`, `resume` and `stop` return says of a debate what reading it says later."""

from __future__ import annotations

import pytest

import hansard
from exporting import APPROVAL, SEATS, reply
from hansard.errors import SeatError
from hansard.governance.approval import hashes

FIELDS = {
    "question": "Do we release?",
    "options": ["release", "revise"],
    "threshold": 2,
    "max_rounds": 1,
    "debaters": [{"id": seat, "model": "python:seat"} for seat in SEATS[:2]],
}
MODELS = {"seat": lambda _: reply("release")}


def dies(event):
    if event["type"] == "call.answered":
        raise KeyError("the process dies")


@pytest.fixture
def store():
    with hansard.open_store("sqlite:///:memory:") as shelf:
        yield shelf


@pytest.fixture
def policy():
    """A policy that wants every decision reviewed."""
    found = hashes(hansard.prompt_templates(FIELDS))
    draft = {f"consensus.{role}": {"template": digest} for role, digest in found.items()}
    signed = hansard.approve_policy(APPROVAL, draft | {"*": {"review": "always"}})
    return hansard.parse_policy(signed)


def same(made, store):
    """What was returned, once reading the record has said the same."""
    assert made == hansard.result(store, made.debate)
    return made.released, made.reviewed.state, made.reviewed.wanted


def test_a_decision_of_which_the_policy_wants_a_review_is_not_released(store, policy):
    made = hansard.run_sync(FIELDS, models=MODELS, store=store, policy=policy)
    assert (made.decision, *same(made, store)) == ("release", False, "waiting", 1)


def test_one_of_which_no_policy_wants_a_review_is(store):
    made = hansard.run_sync(FIELDS, models=MODELS, store=store)
    assert same(made, store) == (True, "not required", 0)


def test_the_policy_still_holds_once_a_debate_is_resumed_or_stopped(store, policy):
    for end in (
        lambda one: hansard.resume_sync(one, store=store, models=MODELS),
        lambda one: hansard.stop_sync(one, store=store),
    ):
        with pytest.raises(SeatError) as caught:
            hansard.run_sync(FIELDS, models=MODELS, store=store, policy=policy, observe=dies)
        assert same(end(caught.value.debate), store) == (False, "waiting", 1)
