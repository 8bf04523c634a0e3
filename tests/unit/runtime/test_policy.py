"""Under a policy every call is preceded by a look at the templates' bytes as they are then."""

import asyncio
from hashlib import sha256

import pytest

import altering
import playing
from exporting import VOTES, approved, both, exported, play, reply, spec, unheld
from formats import FORMATS
from hansard.runtime.engine import Engine
from hansard.runtime.inputs import packaged_templates
from hansard.runtime.models.base import ModelError

TEMPLATES = packaged_templates("consensus")
APPROVED = {role: sha256(body).hexdigest() for role, body in TEMPLATES.items()}


@pytest.fixture
def engines(monkeypatch):
    """The engines that were made."""
    made = []
    init = Engine.__init__

    def remember(self, *args, **named):
        init(self, *args, **named)
        made.append(self)

    monkeypatch.setattr(Engine, "__init__", remember)
    return made


def answering(asked, before=lambda call: None):
    """A model that remembers what it was asked."""

    def model(request):
        asked.append(request.call)
        before(request.call)
        return reply(VOTES[request.speaker])

    return model


@pytest.mark.parametrize("role", APPROVED)
def test_bytes_that_change_between_two_calls_stop_the_next_one(engines, role):
    other = TEMPLATES[role] + b" "

    def change(call):
        if call == "r1.critique.planner:1":
            engines[0]._files[APPROVED[role]] = other

    asked = []
    record = play(spec(), answering(asked, change), policy=approved())
    refused, closed = altering.events_of(record)[-2:]
    assert refused["type"] == "call.refused"
    assert refused["data"] == {
        "step": "r1.critique.critic",
        "role": role,
        "approved": [APPROVED[role]],
        "found": sha256(other).hexdigest(),
    }
    assert closed["data"] == {"outcome": "failed", "reason": "prompt_refused"}
    assert asked[-1] == "r1.critique.planner:1"
    assert len(asked) == 4
    assert both(exported(record)).level == 1


def test_a_template_that_was_never_approved_stops_the_first_call():
    asked = []
    policy = approved(templates=TEMPLATES | {"block": b"another"})
    record = play(spec(), answering(asked), policy=policy)
    refused = altering.events_of(record)[-2]["data"]
    assert asked == []
    assert (refused["role"], refused["found"]) == ("block", APPROVED["block"])
    assert refused["approved"] == [sha256(b"another").hexdigest()]


def test_a_role_that_the_policy_does_not_name_stops_the_first_call():
    rest = {role: body for role, body in TEMPLATES.items() if role != "protocol"}
    record = play(spec(), answering([]), policy=approved(templates=rest))
    refused = altering.events_of(record)[-2]["data"]
    assert (refused["role"], refused["approved"]) == ("protocol", [])
    assert both(exported(record)).level == 1


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_is_held_to_a_policy_of_its_own(table, format_):
    asked = []

    def model(request):
        asked.append(request.call)
        return playing.answer(request)

    state = table.play(format_, model, policy=approved(format_=format_))
    assert state.closed["outcome"] == "complete"
    assert both(exported(table.store.bundle(table.debate))).level == 1
    asked.clear()
    other = "panel" if format_ != "panel" else "judged"
    with unheld():
        state = table.play(format_, model, policy=approved(format_=other))
    assert state.closed == {"outcome": "failed", "reason": "prompt_refused"}
    assert (state.refused["role"], state.refused["approved"]) == ("protocol", [])
    assert asked == []
    assert both(exported(table.store.bundle(table.debate))).level == 1


def test_a_template_refused_in_the_middle_of_a_parallel_round_waits_for_what_is_in_flight(
    table, engines
):
    """Two drafts are out when the third is tried again: they are recorded before the close."""
    hashes = {role: sha256(body).hexdigest() for role, body in packaged_templates("panel").items()}
    free = asyncio.Event()

    async def model(request):
        if request.call == "r0.draft.ann:1":
            engines[0]._files[hashes["judge"]] = b"another"
            asyncio.get_running_loop().call_later(0.02, free.set)
            raise ModelError("rate_limited")
        await free.wait()
        return playing.answer(request)

    state = table.play("panel", model, policy=approved(format_="panel"))
    kinds = [kind for kind in table.types if kind.startswith(("call.", "debate.closed"))]
    assert kinds[3:] == [
        "call.failed",
        "call.refused",
        "call.answered",
        "call.answered",
        "debate.closed",
    ]
    assert state.refused["role"] == "judge"
    assert both(exported(table.store.bundle(table.debate))).level == 1


def test_without_a_policy_nothing_is_refused(engines):
    def change(call):
        engines[0]._files[APPROVED["block"]] = b"another"

    asked = []
    record = play(spec(), answering(asked, change))
    kinds = {row["type"] for row in altering.events_of(record)}
    assert "call.refused" not in kinds
    assert len(asked) == 24
