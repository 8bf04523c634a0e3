"""Ceilings: no call is made that could break one, however many are asked for at once."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

import instant
from formats import FORMATS, PLAYED
from hansard.errors import UsageError
from hansard.report.view import build
from hansard.rules.formats import ModeratedSpec
from hansard.rules.spending import limits_of, spent_by
from hansard.rules.state import DebateState, evolve
from hansard.runtime.clock import Clock
from hansard.runtime.models.base import Completion, ModelError, ToolCall
from hansard.runtime.models.callables import CallableModel
from hansard.runtime.opening import REPLY_CAP
from playing import MODEL, POSITIONS, answer, script, spec_of, weak

PRICES = {MODEL: {"input": "2.50", "cached": "0.25", "output": "10"}}
COST_CEILING = ModeratedSpec.COST_CEILING
SETTINGS = {"max_tokens": 100}
DRAFTERS = [{"id": f"seat{n}", "settings": SETTINGS} for n in range(5)]


def stating(tokens):
    """A model that says what it used: `tokens` of the request, in and out."""

    def model(request):
        text = answer(request)
        tokens_in, tokens_out = tokens(request)
        text = text if isinstance(text, str) else json.dumps(text)
        return Completion(text, tokens_in=tokens_in, tokens_out=tokens_out)

    return model


def worst(request):
    """All that was reserved, but for what the reply's schema took."""
    return len(request.prompt.encode()) // 3, request.parameters["max_tokens"] or 0


def half(request):
    return worst(request)[0] // 2, 10


def held(table):
    """Fold the record and say that no ceiling was ever reached over, calls in flight included."""
    state = DebateState()
    for event in table.events:
        evolve(state, event)
        if event["type"] == "call.started":
            spent = spent_by(state, state.at)
            assert all(spent[name] <= limit for name, limit in limits_of(state).items())
    return state


@pytest.mark.parametrize("calls", [1, 2, 3, 4, 5, 6, 8, 9])
def test_calls_are_counted_before_they_are_made(table, calls):
    state = table.play("panel", limits={"calls": calls}, rounds=2)
    assert len(table.data("call.started")) == min(calls, 9)
    held(table)
    if calls == 9:
        assert state.closed["outcome"] == "complete"
        assert not table.data("debate.truncated")
        return
    (cut,) = table.data("debate.truncated")
    step = f"r{calls // 3}.draft.{('ann', 'bob', 'cat')[calls % 3]}"
    numbers = {"limit": calls, "spent": calls, "reserved": 1}
    assert cut == {"step": step, "ceiling": "calls", **numbers, "by": None, "reason": None}
    assert state.closed == {"outcome": "truncated", "reason": "calls_ceiling"}
    assert state.decision is None
    assert len(table.data("call.answered")) == calls
    cut_at = table.types.index("debate.truncated")
    assert table.types[cut_at + 1 :] == [*["turn.recorded"] * (calls % 3), "debate.closed"]
    assert len(state.turns) == len(table.data("turn.recorded")) == calls
    assert table.verified().findings == []


@pytest.mark.parametrize("how", [worst, half])
@pytest.mark.parametrize("ceiling", ["tokens", "cost"])
def test_no_parallel_call_breaks_a_ceiling_of_any_height(table, ceiling, how):
    """The whole debate's use is measured first, then every tenth of it is a ceiling."""
    given = {"debaters": DRAFTERS, "rounds": 2, "prices": PRICES, "convergence_check": False}
    whole = table.play("panel", stating(how), **given)
    used = whole.total()
    total = used.tokens_in + used.tokens_out if ceiling == "tokens" else used.cost_micro_usd
    outcomes = set()
    for tenth in range(1, 13):
        limit = total * tenth // 10
        row = {"tokens": limit} if ceiling == "tokens" else {"cost_usd": f"0.{limit:06}"}
        state = table.play("panel", stating(how), limits=row, **given)
        now = held(table).total()
        spent = now.tokens_in + now.tokens_out if ceiling == "tokens" else now.cost_micro_usd
        assert spent <= limit
        assert table.verified().findings == []
        outcomes.add(state.closed["outcome"])
        for cut in table.data("debate.truncated"):
            assert (cut["ceiling"], cut["limit"]) == (ceiling, limit)
            assert cut["spent"] + cut["reserved"] > limit
    assert outcomes == {"truncated", "complete"}


def test_a_call_that_must_wait_is_made_once_another_used_less(table):
    """Two of three fit at once; what they leave over is enough for the third."""
    little = stating(lambda request: (10, 1))
    table.play("panel", little, limits={"tokens": 10**9}, rounds=1)
    wanted = [reserved(row)[0] for row in table.data("call.started")]

    async def model(request):
        await asyncio.sleep({"ann": 0.01, "bob": 0.1, "cat": 0.0}[request.speaker])
        return little(request)

    state = table.play("panel", model, limits={"tokens": sum(wanted[:2]) + 100}, rounds=1)
    started = [event["type"] for event in table.events if event["type"].startswith("call.")]
    assert started[:4] == ["call.started", "call.started", "call.answered", "call.started"]
    assert state.closed["outcome"] == "complete"
    held(table)
    assert table.verified().findings == []


def test_the_debate_is_cut_short_only_once_nothing_is_in_flight(table):
    async def model(request):
        await asyncio.sleep({"ann": 0.0, "bob": 0.03}[request.speaker])
        return answer(request)

    table.play("panel", model, limits={"calls": 2})
    assert table.types[-6:] == [
        *["call.answered"] * 2,
        "debate.truncated",
        *["turn.recorded"] * 2,
        "debate.closed",
    ]
    assert len(table.data("call.answered")) == 2


# Replies in hand become turns


def result(table):
    """What became of the last debate, and that its record holds."""
    verified = table.verified()
    assert verified.findings == []
    return build(table.events, lambda name: table.store.text(table.debate, name))


def test_the_drafts_of_a_round_that_was_cut_short_stand(table):
    table.play("panel", limits={"calls": 4})
    (cut,) = table.data("debate.truncated")
    assert cut["step"] == "r1.draft.bob"
    assert table.types[-3:] == ["debate.truncated", "turn.recorded", "debate.closed"]
    assert table.data("turn.recorded")[-1]["step"] == "r1.draft.ann"
    assert table.data("similarity.measured")[-1]["round"] == 0
    found = result(table)
    assert found.last_drafts == {
        "ann": "ann says this in draft of round 1.",
        "bob": "bob says this in draft of round 0.",
        "cat": "cat says this in draft of round 0.",
    }
    assert [list(row.drafts) for row in found.rounds] == [["ann", "bob", "cat"], ["ann"]]
    assert (found.decision, found.rounds_run) == (None, 1)


def test_whoever_is_not_heard_when_a_round_is_cut_short_is_not_forfeited(table):
    model = script({"r0.draft.ann": ModelError("client_error")})
    state = table.play("panel", model, limits={"calls": 2})
    assert table.types[-3:] == ["debate.truncated", "turn.recorded", "debate.closed"]
    assert [turn.data["step"] for turn in state.turns] == ["r0.draft.bob"]
    assert list(result(table).last_drafts) == ["bob"]


def test_the_first_proposals_of_a_debate_that_was_cut_short_are_its_standing(table):
    state = table.play("consensus", script({"critic": {"vote": "revise"}}), limits={"calls": 2})
    assert table.types[-4:] == ["debate.truncated", *["turn.recorded"] * 2, "debate.closed"]
    assert not table.data("votes.counted")
    assert state.votes == {"planner": "release", "critic": "revise", "operator": None}
    found = result(table)
    assert found.vote_tally == {"release": 1, "revise": 1}
    assert [row.speaker_id for row in found.transcript] == ["planner", "critic"]
    assert found.decision is None


def test_a_weak_critique_whose_rewrite_is_too_dear_counts_and_is_marked_weak(table):
    state = table.play("moderated", script({"critique": weak(4)}), limits={"calls": 3})
    (cut,) = table.data("debate.truncated")
    assert cut["step"] == "r1.critique.critic"
    assert table.types[-3:] == ["debate.truncated", "turn.recorded", "debate.closed"]
    assert [row["code"] for row in table.data("turn.rejected")] == ["weak_critique"]
    assert state.turns[-1].case["rating"] == 4
    critique = result(table).rounds[0].exchanges[0].critique
    assert (critique.status, critique.challenge_strength, critique.weak) == ("counted", 4, True)


@pytest.mark.parametrize(
    ("format_", "calls", "step"),
    [("panel", 4, "r1.draft.ann"), ("moderated", 3, "r1.critique.critic")],
)
def test_another_process_makes_turns_of_the_replies_in_hand(table, format_, calls, step):
    class BrokenOff(BaseException):
        pass

    def break_off(event):
        if event["type"] == "debate.truncated":
            raise BrokenOff

    given = {"limits": {"calls": calls}, "observe": break_off}
    with pytest.raises(BrokenOff):
        table.play(format_, script({"critique": weak(4)}), **given)
    assert table.types[-1] == "debate.truncated"
    state = table.go_on()
    assert table.types[-3:] == ["debate.resumed", "turn.recorded", "debate.closed"]
    assert state.turns[-1].data["step"] == step
    assert table.verified().findings == []


def test_a_deliverable_that_was_sent_back_is_no_reply_in_hand(table):
    model = script({"synthesis": "no JSON"})
    state = table.play("judged", model, limits={"calls": 6}, synthesizer=True)
    assert table.types[-3:] == ["turn.rejected", "turn.forfeited", "debate.closed"]
    assert state.closed["outcome"] == "complete"
    assert (state.decision["decision"], state.synthesis) == ("ship", None)
    assert table.verified().findings == []


# What nobody knows counts as it was reserved


def silent(request):
    """A model that says nothing of what it used."""
    text = answer(request)
    return Completion(text if isinstance(text, str) else json.dumps(text))


def late(request):
    raise ModelError("timeout")


def busy(request):
    raise ModelError("rate_limited")


def partly(request):
    """A model that says only what it took in."""
    return replace(silent(request), tokens_in=1)


UNSTATED = {"nothing is said": silent, "half is said": partly, "timeout": late}
TIGHT = {"prices": PRICES, "judge": {"settings": SETTINGS}, "max_rounds": 1}
TIGHT["debaters"] = [
    {"id": seat, "label": label, "stance": f"So {label}", "settings": SETTINGS}
    for seat, label in (("ann", "ship"), ("bob", "wait"))
]


def reserved(row):
    """What a call has reserved of the ceilings on tokens and cost."""
    return row["reserved_tokens_in"] + row["reserved_tokens_out"], row["reserved_cost_micro_usd"]


def first(end):
    """The first call ends as `end` says, all others take in 10 tokens and give 1."""
    usual = stating(lambda request: (10, 1))
    return lambda request: (end if request.call == "r1.argument.ann:1" else usual)(request)


@pytest.mark.parametrize("how", UNSTATED)
def test_what_a_call_does_not_state_counts_as_it_was_reserved(table, how):
    state = table.play("judged", first(UNSTATED[how]), **TIGHT)
    tokens, cost = reserved(table.data("call.started")[0])
    others = table.data("call.answered")[how != "timeout" :]
    assert state.used_tokens == tokens + 11 * len(others)
    assert state.used_micro_usd == cost + sum(row["cost_micro_usd"] for row in others)
    assert cost > 0


def test_a_call_that_a_provider_turned_away_used_nothing(table):
    state = table.play("judged", first(busy), **TIGHT)
    answered = table.data("call.answered")
    assert [row["error"] for row in table.data("call.failed")] == ["rate_limited"]
    assert state.used_tokens == 11 * len(answered) == 33
    assert state.used_micro_usd == sum(row["cost_micro_usd"] for row in answered)


@pytest.mark.parametrize("ceiling", ["tokens", "cost"])
@pytest.mark.parametrize(("how", "is_cut"), [(silent, True), (late, True), (busy, False)])
def test_the_next_call_is_not_made_where_it_could_break_a_ceiling(table, ceiling, how, is_cut):
    """There is room for what each call reserves and a hundred more, not for two of them."""
    table.play("judged", first(how), **TIGHT)
    rows = [reserved(row) for row in table.data("call.started")]
    tokens, cost = (max(column) for column in zip(*rows, strict=True))
    limits = {"tokens": {"tokens": tokens + 100}, "cost": {"cost_usd": f"0.{cost + 100:06}"}}
    state = table.play("judged", first(how), limits=limits[ceiling], **TIGHT)
    assert table.verified().findings == []
    held(table)
    if not is_cut:
        assert state.closed["outcome"] == "complete"
        return
    (cut,) = table.data("debate.truncated")
    assert len(table.data("call.started")) == 1
    spent = reserved(table.data("call.started")[0])[ceiling == "cost"]
    assert (cut["ceiling"], cut["spent"]) == (ceiling, spent)
    assert cut["spent"] + cut["reserved"] > cut["limit"] >= cut["reserved"]


class Ticking(Clock):
    """A clock on which a second passes with every look at it."""

    def __init__(self):
        self.looks = 0

    def timeline(self, after=""):
        return self.now

    def now(self):
        self.looks += 1
        return f"2026-11-21T20:{self.looks // 60:02}:{self.looks % 60:02}.000000Z"


def test_no_call_is_made_once_the_time_is_up(table):
    state = table.play("judged", limits={"seconds": 12.5}, clock=Ticking(), max_rounds=9)
    (cut,) = table.data("debate.truncated")
    assert (cut["ceiling"], cut["limit"], cut["reserved"]) == ("seconds", 12_500, 0)
    assert 12_500 <= cut["spent"] <= 16_000
    assert state.closed == {"outcome": "truncated", "reason": "seconds_ceiling"}
    assert state.turns
    assert table.verified().findings == []


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_is_cut_short_at_every_call_and_verifies(table, format_):
    whole = table.play(format_, limits={"calls": 1000}, output_schema={"type": "object"})
    many = whole.total().calls
    assert whole.synthesis
    for calls in range(1, many):
        state = table.play(format_, limits={"calls": calls}, output_schema={"type": "object"})
        assert state.cut["ceiling"] == "calls"
        late = calls == many - 1  # only the deliverable was left
        assert state.closed["outcome"] == ("complete" if late else "truncated")
        assert len(table.data("call.started")) == calls
        assert table.verified().findings == []


def test_a_tool_round_counts_as_the_call_that_it_is(table):
    def model(request):
        attempt = int(request.call.rpartition(":")[2])
        asks = (ToolCall("look", "{}"),) if attempt < 3 else ()
        return Completion("so", tool_calls=asks)

    state = table.play("judged", model, use={"look": lambda: "it"}, limits={"calls": 2})
    assert len(table.data("call.started")) == 2
    assert state.closed["reason"] == "calls_ceiling"
    assert len(table.data("tool.returned")) == 2
    assert table.verified().findings == []


# Which ceilings there are


def opened(table):
    return table.data("debate.opened")[0]["limits"]


def test_a_moderated_debate_whose_price_is_known_may_cost_half_a_dollar(table):
    table.play("moderated", prices=PRICES)
    assert opened(table)["cost_micro_usd"] == COST_CEILING == 500_000
    priced = CallableModel(answer, spec_of("moderated", prices=PRICES).prices[MODEL])
    table.play("moderated", priced)
    assert opened(table)["cost_micro_usd"] == COST_CEILING


@pytest.mark.parametrize(
    ("format_", "given", "limit"),
    [
        ("moderated", {}, None),  # no price is known: no default ceiling
        ("moderated", {"prices": PRICES, "limits": {"cost_usd": None}}, None),
        ("moderated", {"prices": PRICES, "limits": {"cost_usd": 1.25}}, 1_250_000),
        ("moderated", {"prices": PRICES, "limits": {"calls": 50}}, COST_CEILING),
        ("judged", {"prices": PRICES}, None),
        ("panel", {"prices": PRICES, "limits": {"cost_usd": "0.10"}}, 100_000),
    ],
)
def test_the_ceiling_on_cost(table, format_, given, limit):
    table.play(format_, **given)
    assert opened(table)["cost_micro_usd"] == limit


@pytest.mark.parametrize("text", ["0", "0.0", "0.000001"])
def test_a_ceiling_of_nothing_is_one_that_no_call_fits_below(table, text):
    state = table.play("judged", prices=PRICES, limits={"cost_usd": text})
    assert opened(table)["cost_micro_usd"] == 1
    assert state.closed == {"outcome": "truncated", "reason": "cost_ceiling"}
    assert not table.data("call.started")
    assert table.verified().findings == []


@pytest.mark.parametrize("format_", FORMATS)
def test_a_stated_ceiling_without_a_price_is_refused_before_anything_is_recorded(table, format_):
    with pytest.raises(UsageError) as caught:
        table.play(format_, limits={"cost_usd": "1"})
    assert caught.value.code == "spec.price_unknown"
    assert MODEL in str(caught.value)
    assert table.store.debates() == []


def test_every_seats_price_must_be_known(table):
    seats = [{"label": "a", "stance": "A"}, {"label": "b", "stance": "B", "model": "python:cheap"}]
    with pytest.raises(UsageError, match="python:cheap"):
        table.play(
            "judged",
            models={"cheap": answer},
            debaters=seats,
            prices=PRICES,
            limits={"cost_usd": "1"},
        )


@pytest.mark.parametrize(
    ("limits", "prices", "cap"),
    [
        ({"tokens": 10**6}, {}, REPLY_CAP),
        ({"cost_usd": "1"}, PRICES, REPLY_CAP),
        ({"calls": 50}, {}, None),
        ({"seconds": 50}, {}, None),
        ({}, PRICES, None),
    ],
)
def test_a_reply_is_capped_where_a_ceiling_must_know_how_long_it_can_be(table, limits, prices, cap):
    asked = []

    def model(request):
        asked.append(request.parameters["max_tokens"])
        return answer(request)

    judge = {"settings": {"max_tokens": 77}}
    table.play("judged", model, limits=limits, prices=prices, judge=judge)
    caps = {row["id"]: row["parameters"]["max_tokens"] for row in table.data("debater.registered")}
    assert caps == {"ann": cap, "bob": cap, "judge": 77}
    assert asked == [cap] * 4 + [77]
    for row in table.data("call.started"):
        assert row["reserved_tokens_out"] == (row["parameters"]["max_tokens"] or 0)


def test_what_an_abandoned_call_reserved_stays_spent(table):
    """Killed and resumed it has no second try for free."""

    price = {"prices": PRICES, "limits": {"cost_usd": "1", "calls": 3}}

    async def killed():
        async def model(request):
            if request.speaker == "bob":
                task.cancel()
                await asyncio.sleep(60)
            return answer(request)

        task = asyncio.ensure_future(table.debating("judged", model, **price))
        with pytest.raises(asyncio.CancelledError):
            await task

    instant.run(killed())
    state = table.go_on()
    assert state.closed == {"outcome": "truncated", "reason": "calls_ceiling"}
    (failed,) = table.data("call.failed")
    asked = {row["call"]: row for row in table.data("call.started")}
    assert failed["error"] == "abandoned"
    assert failed["cost_micro_usd"] == asked[failed["call"]]["reserved_cost_micro_usd"] > 0
    assert len(asked) == 3
    assert table.verified().findings == []


def test_positions_are_proposed_in_parallel_below_the_ceiling(table):
    state = table.play("moderated", positions=POSITIONS, limits={"calls": 3})
    assert len(table.data("call.started")) == 3
    assert state.closed["reason"] == "calls_ceiling"
    held(table)


@pytest.mark.parametrize("ceiling", ["tokens", "cost"])
@pytest.mark.parametrize("format_", FORMATS)
def test_wherever_a_ceiling_is_met_everything_paid_for_is_in_the_record(table, format_, ceiling):
    """Every twelfth of what the whole debate uses is a ceiling: some fall into each phase."""
    given = {"prices": PRICES, "settings": SETTINGS, "synthesizer": True, **PLAYED[format_].longer}
    paid = []

    def model(request):
        completion = stating(half)(request)
        paid.append(completion.text)
        return completion

    used = table.play(format_, model, **given).total()
    total = used.tokens_in + used.tokens_out if ceiling == "tokens" else used.cost_micro_usd
    phases = set()
    for part in range(1, 13):
        paid.clear()
        limit = total * part // 12
        row = {"tokens": limit} if ceiling == "tokens" else {"cost_usd": f"0.{limit:06}"}
        state = table.play(format_, model, limits=row, **given)
        answered = table.data("call.answered")
        assert sorted(table.text(one["reply"]) for one in answered) == sorted(paid)
        assert held(table).total().calls == len(paid)
        assert table.verified().findings == []
        for cut in table.data("debate.truncated"):
            assert state.closed == {"outcome": "truncated", "reason": f"{ceiling}_ceiling"}
            phases.add(cut["step"].split(".")[1])
    assert len(phases) >= 3 if format_ == "moderated" else phases
