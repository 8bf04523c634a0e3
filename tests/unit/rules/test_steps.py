"""What is due next, and the facts that follow (FORMAT.md §3, §5, §11)."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hansard.rules import spending, steps
from hansard.rules.data import CallFailedData
from hansard.rules.events import Fact
from hansard.rules.formats import FORMATS
from hansard.rules.state import Step
from support import PRICE, Debate, Die, Fail, Raise, Reply, Setup, script, vote, votes

PAIR = Setup(debaters=("ann", "bob"), options=("yes", "no"))
ANN, BOB = Step.of(1, "proposal", "ann"), Step.of(1, "proposal", "bob")


def started(script=votes(ann="yes", bob="no"), setup=PAIR):  # noqa: B008 - never changed
    """A debate whose first proposals are asked for."""
    debate = Debate(setup, script)
    for step in debate.due().steps:
        debate.start(step)
    return debate


def test_first_proposals_are_due_at_once():
    assert steps.decide(Debate(PAIR, votes()).state) == steps.Ask([ANN, BOB])


def test_nothing_is_due_while_calls_are_open():
    assert steps.decide(started().state) == steps.Ask([])


def test_a_turn_is_due_when_the_whole_parallel_phase_is_heard():
    debate = started()
    debate.end("r1.proposal.bob:1")
    assert debate.due() == steps.Ask([])
    debate.end("r1.proposal.ann:1")
    due = debate.due()
    assert due == steps.Conclude(ANN, debate.record.all("call.answered")[1])
    debate.do(due)
    assert debate.due() == steps.Conclude(BOB, debate.record.all("call.answered")[0])


@pytest.mark.parametrize("end", [Fail("timeout"), Reply("?")])
def test_a_step_is_asked_again_while_others_are_still_open(end):
    debate = started(lambda call: end)
    debate.end("r1.proposal.ann:1")
    assert debate.due() == steps.Ask([ANN])


def test_nothing_is_due_after_the_close():
    assert steps.decide(Debate(PAIR, votes(ann="no", bob="no")).run().state) is None


def test_counts_decision_and_close_come_before_any_further_call():
    kinds = [event["type"] for event in Debate(PAIR, votes(ann="no", bob="no")).run().record.events]
    assert kinds[-5:] == ["turn.recorded"] * 2 + [
        "votes.counted",
        "decision.reached",
        "debate.closed",
    ]


ABANDONED = {
    **dict.fromkeys(CallFailedData.__annotations__),
    "error": "abandoned",
    "again": True,
}


def test_open_calls_are_abandoned_in_order_and_charged_at_their_reservation():
    debate = started(lambda call: Die(), PAIR.but(prices=(PRICE,)))
    debate.end("r1.proposal.ann:1")
    for speaker in ("ann", "bob"):
        due = debate.due()
        call = f"r1.proposal.{speaker}:1"
        assert due == ("call.failed", {**ABANDONED, "call": call, "cost_micro_usd": 32})
        debate.add(due)
    assert debate.due() == steps.Ask([ANN, BOB])


def tries(end, attempts):
    """How each attempt at a step ended that never brings a reply that counts."""
    setup = PAIR.but(attempts=attempts, max_rounds=1)
    record = Debate(setup, lambda call: end).run().record
    rows = record.all("call.failed") + record.all("turn.rejected")
    return [row["again"] for row in rows if row["call"].startswith("r1.proposal.ann:")]


@pytest.mark.parametrize("attempts", [1, 2, 5])
@pytest.mark.parametrize(
    "end",
    [
        *map(Fail, ("rate_limited", "timeout", "server_error", "unreachable", "crashed")),
        Reply("?"),
    ],
)
def test_a_step_is_tried_as_often_as_the_spec_allows(end, attempts):
    assert tries(end, attempts) == [True] * (attempts - 1) + [False]


@pytest.mark.parametrize("error", ["client_error", "no_reply"])
def test_what_would_only_fail_alike_is_not_tried_again(error):
    assert tries(Fail(error), 5) == [False]


def test_an_abandoned_call_is_no_try_but_has_a_number():
    ends = iter([Die(), Die(), Fail("timeout")])
    setup = PAIR.but(attempts=2)
    record = Debate(setup, lambda call: next(ends, vote("no"))).run().record
    started = [row for row in record.all("call.started") if row["step"] == ANN.id]
    assert [row["attempt"] for row in started] == [1, 2, 3, 4]
    assert [row["call"] for row in started] == [f"r1.proposal.ann:{n}" for n in (1, 2, 3, 4)]
    assert [row["again"] for row in record.all("call.failed")][-1] is True
    assert record.all("turn.recorded")[0]["call"] == "r1.proposal.ann:4"


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ([Fail("timeout"), Fail("timeout")], "no_reply"),
        ([Reply("?"), Fail("timeout")], "no_reply"),
        ([Fail("timeout"), Reply("?")], "invalid_reply"),
        ([Reply("?"), Die(), Reply("?")], "invalid_reply"),
        ([Reply("?"), Fail("client_error")], "no_reply"),
    ],
)
def test_a_turn_is_forfeited_for_how_its_last_attempt_ended(ends, reason):
    rows = iter(ends)

    def script(call):
        return next(rows) if call.step.speaker == "ann" else vote("no")

    setup = PAIR.but(attempts=2, threshold=1)
    (forfeited,) = Debate(setup, script).run().record.all("turn.forfeited")
    place = {"step": ANN.id, "round": 1, "phase": "proposal", "speaker": "ann"}
    assert forfeited == {**place, "reason": reason, "cut": None}


@pytest.mark.parametrize(
    ("finish", "text", "why"),
    [
        ("length", vote("yes").text, ("cut_off", None, None, None)),
        ("refusal", vote("yes").text, ("refused", None, None, None)),
        ("content_filter", vote("yes").text, ("filtered", None, None, None)),
        ("other", vote("yes").text, ("not_finished", None, None, None)),
        ("length", "?", ("cut_off", None, None, None)),
        ("stop", "?", ("unreadable", None, None, None)),
        ("stop", "{}", ("schema", "stance", "required", None)),
        ("stop", "[]", ("schema", None, "type", None)),
        (
            "stop",
            '{"stance":"","rationale":"r","vote":"maybe"}',
            ("schema", "stance", "minLength", None),
        ),
        ("stop", vote("maybe").text, ("unknown_option", "vote", "enum", None)),
        ("stop", vote("Yes").text, ("unknown_option", "vote", "enum", None)),
        ("stop", vote("").text, ("unknown_option", "vote", "enum", None)),
    ],
)
def test_a_reply_that_does_not_count_is_rejected_with_the_first_code_that_applies(
    finish, text, why
):
    debate = started()
    answer = {"finish": finish, "call": "r1.proposal.ann:1"}
    assert steps.read_reply(debate.state, answer, text, {}.get) == why


def test_a_reply_that_counts_is_read_as_it_stands():
    reply = vote("no")
    answer = {"finish": "stop", "call": "r1.proposal.ann:1"}
    read = steps.read_reply(started().state, answer, f"```json\n{reply.text}\n```", {}.get)
    assert read == {"vote": "no", "case": None}


def test_a_call_says_whom_it_asks_and_with_what():
    data = started().record.all("call.started")[1]
    state = started().state
    assert data["role"] == "debater"
    assert data["model"] == state.seats["bob"]["model"]
    assert data["parameters"] == state.seats["bob"]["parameters"]
    assert data["template"] == state.spec["templates"][3]["sha256"]
    assert data["schema"] == state.spec["schemas"][0]["sha256"]


ODD = {
    "model": "odd",
    "source": "spec",
    "input_micro_usd": 3,
    "cached_micro_usd": 1,
    "cache_write_micro_usd": 4,
    "output_micro_usd": 7,
}


def by_model(*prices):
    return {row["model"]: row for row in prices}


@pytest.mark.parametrize(
    ("model", "tokens", "cost"),
    [
        ("python:test", (1000, 400, 0, 30), 1900),  # 600 × 2.5 + 400 × 0.25 + 30 × 10
        ("python:test", (1000, None, None, 30), 2800),
        ("python:test", (1000, 0, 0, 0), 2500),
        ("python:test", (1000, 5000, 0, 0), 250),  # no more can be cached than came in
        ("python:test", (0, 0, 0, 0), 0),
        ("odd", (1, 0, 0, 0), 1),  # rounded up
        ("odd", (1_000_000, 0, 0, 1), 4),
        ("odd", (1_000_000, 0, 0, 0), 3),
        ("odd", (3_000_000, 1_000_000, 1_000_000, 0), 8),  # 3 + 1 + 4
        ("odd", (3_000_000, 2_000_000, 5_000_000, 0), 6),  # no more written than is left
        ("python:test", (None, None, None, 30), None),
        ("python:test", (1000, None, None, None), None),
        ("another", (1000, 400, 0, 30), None),
    ],
)
def test_a_call_costs_its_tokens_at_the_price_of_the_opening(model, tokens, cost):
    assert spending.cost(by_model(PRICE, ODD), model, spending.Tokens(*tokens)) == cost


@pytest.mark.parametrize(
    ("model", "tokens", "dearest"),
    [
        ("odd", (2_000_000, 1_000_000), 15),  # all of it may be written to a cache
        ("another", (1, 1), None),
        ("cheap", (2_000_000, 0), 6),  # where writing is cheaper, none of it need be
    ],
)
def test_a_reservation_is_the_most_that_a_call_can_cost(model, tokens, dearest):
    cheap = {**ODD, "model": "cheap", "cache_write_micro_usd": 1}
    assert spending.dearest(by_model(PRICE, ODD, cheap), model, *tokens) == dearest


@pytest.mark.parametrize(
    ("model", "tokens", "saved"),
    [
        ("odd", (3_000_000, 2_000_000, 0, 5), 4),
        ("odd", (3_000_000, 0, 3_000_000, 0), -3),
        ("odd", (None, 1, 1, 1), 0),
        ("another", (3, 2, 0, 5), 0),
    ],
)
def test_the_cache_saves_what_the_input_would_have_cost_without_it(model, tokens, saved):
    assert spending.saved(by_model(ODD), model, spending.Tokens(*tokens)) == saved


# How long a step is tried again


@pytest.mark.parametrize(
    ("error", "wait", "after_ms", "again"),
    [
        ("rate_limited", 100, 900, True),
        ("rate_limited", 101, 900, False),
        ("server_error", None, 1000, True),
        ("timeout", 0, 1001, False),
        ("client_error", None, 0, False),
    ],
)
def test_a_failed_call_is_tried_again_within_its_time(error, wait, after_ms, again):
    state = started(lambda call: Die(), PAIR.but(retry_seconds=1)).state
    began = datetime.fromisoformat(state.steps[ANN.id].began)
    at = (began + timedelta(milliseconds=after_ms)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    failed = {"error": error, "wait_ms": wait}
    assert steps.again_after(state, ANN.id, failed, at) is again


def test_nothing_is_due_after_a_function_raised_until_the_debate_is_resumed():
    debate = started(lambda call: Raise(), PAIR.but(prices=(PRICE,), attempts=1))
    debate.end("r1.proposal.ann:1")
    (failed,) = debate.record.all("call.failed")
    assert (failed["error"], failed["detail"], failed["again"]) == ("raised", "KeyError", True)
    assert (failed["cost_micro_usd"], failed["wait_ms"]) == (32, None)
    assert debate.due() == steps.Ask([]), "bob's call is in flight"
    debate.end("r1.proposal.bob:1")
    assert debate.due() == steps.Resume([ANN, BOB])
    debate.do(debate.due())
    assert debate.due() == steps.Ask([ANN, BOB])


@pytest.mark.parametrize("format_", ["baseline", "consensus", "judged", "moderated", "panel"])
def test_a_schedule_is_asked_once_for_each_turn_and_fact_however_much_is_in_between(
    format_, monkeypatch
):
    asked, rules = [], FORMATS[format_]
    counting = replace(rules, due=lambda state: asked.append(state) or rules.due(state))
    monkeypatch.setitem(FORMATS, format_, counting)
    debate = Debate(Setup(format_), script())
    for _ in range(100):
        debate.add(Fact("debate.resumed", {"engine": "test/1"}))
        debate.due()
    assert len(asked) == 1
    debate.run()
    facts = debate.state.turns + debate.state.counts + debate.state.similarities
    assert debate.state.closed
    assert len(asked) == len(facts) + 1  # the decision is the last that it names


def test_a_call_that_raised_is_no_try_but_has_a_number():
    ends = iter([Raise(), Fail("timeout"), Raise()])
    record = Debate(PAIR.but(attempts=2), lambda call: next(ends, vote("no"))).run().record
    started = [row["call"] for row in record.all("call.started") if row["step"] == ANN.id]
    assert started == [f"r1.proposal.ann:{n}" for n in range(1, len(started) + 1)]
    assert {row["again"] for row in record.all("call.failed")} == {True}
    assert record.all("turn.forfeited") == []
