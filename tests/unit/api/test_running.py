"""What `run`, `resume` and `stop` return says of a debate what reading it says later."""

from __future__ import annotations

import pytest

import hansard
from exporting import APPROVAL, SEATS, reply
from formats import FORMATS, PLAYED
from hansard.errors import DataError, SeatError
from hansard.governance.approval import hashes
from hansard.runtime.models.base import Completion, ModelError, ToolCall
from playing import answer, script, spec_of, weak

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


def test_a_policy_that_was_revoked_since_it_was_read_opens_no_debate(store, tmp_path):
    file = hansard.TrustFile(tmp_path / "trust.json")
    file.add(str(APPROVAL.key), "approval")
    signed = hansard.approve_prompts(APPROVAL, FIELDS)
    policy = hansard.read_policy(signed, file.read())
    given = {"models": MODELS, "store": store, "policy": policy}
    assert hansard.run_sync(FIELDS, trust=file.read(), **given).closed_at
    before = store.debates()
    file.revoke_policy(policy, "2020-01-01")
    with pytest.raises(DataError) as caught:
        hansard.run_sync(FIELDS, trust=file.read(), **given)
    assert caught.value.code == "policy.revoked"
    file.remove(str(APPROVAL.key))
    with pytest.raises(DataError) as caught:
        hansard.run_sync(FIELDS, trust=file.read(), **given)
    assert caught.value.code == "policy.untrusted"
    assert store.debates() == before


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


# What `run` and `resume` give is made from what they have in hand, and is what the store holds


def add(a: int) -> str:
    """Add one."""
    return str(a + 1)


def eventful(request):
    """Much goes wrong, and a tool is used."""
    first = request.call.endswith(":1")
    if first and request.tools and request.speaker == "ann":
        return Completion("", tool_calls=(ToolCall("add", '{"a": 1}'), ToolCall("a b", "{}")))
    if first and request.phase not in ("critique", "verdict"):  # of those something else is wrong
        raise ModelError("timeout")
    usual = script({"critique:1": weak(3), "verdict:1": "no JSON"})(request)
    return Completion(usual, tokens_in=3, tokens_out=1) if isinstance(usual, str) else usual


@pytest.mark.parametrize("changes", [{}, {"limits": {"calls": 2}}], ids=["whole", "cut short"])
@pytest.mark.parametrize("format_", FORMATS)
def test_the_result_of_a_run_is_the_one_that_the_store_gives(format_, changes):
    given = {"models": {"bot": eventful}, "tools": {"add": add}}
    with hansard.open_store("sqlite:///:memory:") as store:
        spec = spec_of(format_, tools=["add"], synthesizer=True, **PLAYED[format_].rich | changes)
        found = hansard.run_sync(spec, store=store, **given)
        assert found == hansard.result(store, found.debate)
        assert changes or found.output is not None
        went = {row["type"] for row in store.events(found.debate)}
        assert changes or went & {"call.failed", "tool.returned"}, "much goes wrong"
        assert hansard.verify(store, found.debate).findings == []


class Stop(BaseException):
    pass


@pytest.mark.parametrize("format_", FORMATS)
def test_the_result_of_a_resumed_debate_is_that_of_all_of_it(format_):
    told_of = []

    def stop(event):
        told_of.append(event["type"])
        if told_of.count("turn.recorded") == 2 or event["type"] == "decision.reached":
            raise Stop

    given = {"models": {"bot": answer}, "tools": {"add": add}}
    told = []
    with hansard.open_store("sqlite:///:memory:") as store:
        spec = spec_of(format_, synthesizer=True, tools=["add"], **PLAYED[format_].rich)
        with pytest.raises(Stop):
            hansard.run_sync(spec, store=store, observe=stop, **given)
        (debate,) = store.debates()
        found = hansard.resume_sync(debate, store=store, progress=told.append, **given)
        assert found == hansard.result(store, debate)
        resumed = next(row for row in store.events(debate) if row["type"] == "debate.resumed")
    assert told, "what follows is told"
    assert min(row.seq for row in told) > resumed["seq"], "and nothing of what came before"


def test_no_text_is_read_back_from_the_store_while_a_debate_is_followed(monkeypatch):
    """Whoever follows gets them with the events."""

    def never(*_):
        raise AssertionError("the store was asked")

    with hansard.open_store("sqlite:///:memory:") as store:
        for name in ("text", "bundle", "lines", "events", "find", "debates"):
            monkeypatch.setattr(store, name, never)
        said = []
        found = hansard.run_sync(
            spec_of("judged"), models={"bot": answer}, store=store, progress=said.append
        )
    assert found.status == "complete"
    assert [row.reply for row in said if hasattr(row, "reply")]
