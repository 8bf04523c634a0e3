"""What is due next, and the facts that follow (FORMAT.md §3, §5, §11)."""

import pytest

from hansard.debate import steps
from hansard.debate.state import Step
from support import PRICE, Debate, Die, Fail, Reply, Setup, vote, votes

PAIR = Setup(debaters=("ann", "bob"), options=("yes", "no"))
ANN, BOB = Step.of(1, "proposal", "ann"), Step.of(1, "proposal", "bob")


def started(script=votes(ann="yes", bob="no"), setup=PAIR):  # noqa: B008 - never changed
    """A debate whose first proposals are asked for."""
    debate = Debate(setup, script)
    for step in steps.decide(debate.state).steps:
        debate.start(step)
    return debate


def test_first_proposals_are_due_at_once():
    assert steps.decide(Debate(PAIR, votes()).state) == steps.Ask([ANN, BOB])


def test_nothing_is_due_while_calls_are_open():
    assert steps.decide(started().state) == steps.Ask([])


def test_a_turn_is_due_when_the_whole_parallel_phase_is_heard():
    debate = started()
    debate.end("r1.proposal.bob:1")
    assert steps.decide(debate.state) == steps.Ask([])
    debate.end("r1.proposal.ann:1")
    due = steps.decide(debate.state)
    assert due == steps.Read(ANN, debate.record.all("call.answered")[1])
    debate.do(due)
    assert steps.decide(debate.state) == steps.Read(BOB, debate.record.all("call.answered")[0])


@pytest.mark.parametrize("end", [Fail("timeout"), Reply("?")])
def test_a_step_is_asked_again_while_others_are_still_open(end):
    debate = started(lambda call: end)
    debate.end("r1.proposal.ann:1")
    assert steps.decide(debate.state) == steps.Ask([ANN])


def test_nothing_is_due_after_the_close():
    assert steps.decide(Debate(PAIR, votes(ann="no", bob="no")).run().state) is None


def test_counts_decision_and_close_come_before_any_further_call():
    kinds = [event["type"] for event in Debate(PAIR, votes(ann="no", bob="no")).run().record.events]
    assert kinds[-5:] == ["turn.recorded"] * 2 + [
        "votes.counted",
        "decision.reached",
        "debate.closed",
    ]


ABANDONED = {"error": "abandoned", "detail": None, "again": True, "latency_ms": None}


def test_open_calls_are_abandoned_in_order_and_charged_at_their_reservation():
    debate = started(lambda call: Die(), PAIR.but(prices=(PRICE,)))
    debate.end("r1.proposal.ann:1")
    for speaker in ("ann", "bob"):
        due = steps.decide(debate.state)
        call = f"r1.proposal.{speaker}:1"
        assert due == ("call.failed", {**ABANDONED, "call": call, "cost_micro_usd": 25})
        debate.add(due)
    assert steps.decide(debate.state) == steps.Ask([ANN, BOB])


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
    assert Debate(setup, script).run().record.all("turn.forfeited") == [
        {"step": ANN.id, "round": 1, "phase": "proposal", "speaker": "ann", "reason": reason}
    ]


@pytest.mark.parametrize(
    ("finish", "text", "code"),
    [
        ("length", vote("yes").text, "cut_off"),
        ("refusal", vote("yes").text, "refused"),
        ("content_filter", vote("yes").text, "filtered"),
        ("other", vote("yes").text, "not_finished"),
        ("length", "?", "cut_off"),
        ("stop", "?", "unreadable"),
        ("stop", "{}", "schema"),
        ("stop", '{"stance":"","rationale":"r","vote":"maybe"}', "schema"),
        ("stop", vote("maybe").text, "unknown_option"),
        ("stop", vote("Yes").text, "unknown_option"),
        ("stop", vote("").text, "unknown_option"),
    ],
)
def test_a_reply_that_does_not_count_is_rejected_with_the_first_code_that_applies(
    finish, text, code
):
    debate = started()
    answer = {"finish": finish, "call": "r1.proposal.ann:1"}
    assert steps.read_reply(debate.state, answer, text, {}.get) == code


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
    assert data["template"] == state.spec["templates"][2]["sha256"]
    assert data["schema"] == state.spec["schemas"][0]["sha256"]


ODD = {"model": "odd", "input_micro_usd": 3, "cached_micro_usd": 1, "output_micro_usd": 7}


@pytest.mark.parametrize(
    ("model", "tokens", "cost"),
    [
        ("python:test", (1000, 400, 30), 1900),  # 600 × 2.5 + 400 × 0.25 + 30 × 10
        ("python:test", (1000, None, 30), 2800),
        ("python:test", (1000, 0, 0), 2500),
        ("python:test", (1000, 5000, 0), 250),  # no more can be cached than came in
        ("python:test", (0, 0, 0), 0),
        ("odd", (1, 0, 0), 1),  # rounded up
        ("odd", (1_000_000, 0, 1), 4),
        ("odd", (1_000_000, 0, 0), 3),
        ("python:test", (None, None, 30), None),
        ("python:test", (1000, None, None), None),
        ("another", (1000, 400, 30), None),
    ],
)
def test_a_call_costs_its_tokens_at_the_price_of_the_opening(model, tokens, cost):
    assert steps.cost([PRICE, ODD], model, tokens) == cost
