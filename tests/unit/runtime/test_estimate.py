"""An estimate is the debate that would be run, with filler in place of replies."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import takewhile

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import hansard
from formats import FORMATS
from hansard.errors import UsageError
from hansard.record.canonical import dump
from hansard.rules import replies
from hansard.rules.formats import FORMATS as RULES
from hansard.rules.formats import most_turns
from hansard.rules.spec_parts import PriceSpec
from hansard.runtime import estimate as estimating
from hansard.runtime.estimate import estimate, expectation, rehearsed
from hansard.runtime.files import Files
from hansard.runtime.models.base import Completion
from hansard.runtime.models.callables import CallableModel
from hansard.runtime.rehearsal import (
    BYTES,
    CACHED_FROM,
    REPLY,
    Rehearsal,
    Sized,
    filler,
    rehearsals,
)
from hansard.verify.checks import MAX_REPLY
from hansard.verify.verifier import verify
from playing import MODEL, POSITIONS, data, play, spec_of

PRICES = {MODEL: {"input": "2", "cached": "0.5", "cache_write": "2.5", "output": "10"}}
LONG = [{"id": "memo", "text": "Payment is due within thirty days of the invoice.\n" * 200}]
ALONE = {"convergence_check": False}


def of(format_, **changes):
    return estimate(spec_of(format_, **changes), Files(None))


CASES = [
    ("consensus", {}, 24, 3),
    ("consensus", {"options": ["release", "revise"], "threshold": 1, "max_rounds": 5}, 60, 3),
    ("consensus", {"synthesizer": True}, 25, 4),
    ("judged", {}, 5, 5),
    ("judged", {"max_rounds": 4, "synthesizer": True}, 10, 10),
    ("moderated", {}, 5, 5),
    ("moderated", {"max_rounds": 3}, 13, 5),
    ("moderated", {"max_rounds": 2, "neutrality_check": True}, 10, 6),
    ("moderated", {"max_rounds": 3, "positions": POSITIONS}, 31, 11),
    ("moderated", {"require_cited_critique": True}, 5, 5),
    ("moderated", {"positions": POSITIONS, "critique": False}, 5, 5),
    ("panel", {"rounds": 1}, 6, 3),
    ("panel", {"rounds": 4, "judge": {}}, 16, 4),
    ("panel", {"rounds": 4, "judge": {}, "resolution": "pick"}, 16, 4),
    ("panel", {"rounds": 4, "options": ["a", "b"], "judge": {}}, 16, 4),
    ("panel", {"options": ["a", "b"], "resolution": "majority", "fallback": "similar"}, 6, 3),
    ("panel", {"rounds": 2, **ALONE}, 9, 9),
]


@pytest.mark.parametrize(("format_", "changes", "most", "fewest"), CASES)
def test_the_most_and_the_fewest_calls(format_, changes, most, fewest):
    spec = spec_of(format_, **changes)
    found = estimate(spec, Files(None))
    assert (found.most.calls, found.fewest.calls) == (most, fewest)
    assert most_turns(spec.terms(), [row.role for row in spec.table()]) == most
    assert sum(seat.calls for seat in found.most.seats) == most
    assert [seat.id for seat in found.most.seats] == [row.id for row in spec.table()]


class Sayer:
    """A model that says what the estimate assumes, and keeps what it was sent."""

    def __init__(self, tokens=REPLY, *, states=True):
        self.sent, self.sizes, self.tokens, self.states = [], [], tokens, states

    def __call__(self, request):
        text = filler(request.reply_schema, self.tokens * BYTES, yes=False)
        self.sent.append("".join(message.text for message in request.messages))
        size = len(self.sent[-1].encode()) + len(dump(request.reply_schema))
        self.sizes.append(-(-size // BYTES))
        out = self.tokens if self.states else None
        return Completion(text, tokens_in=self.sizes[-1], tokens_out=out)


SAME = [
    ("consensus", {"evidence": LONG}),
    ("judged", {"max_rounds": 3, "evidence": LONG, "synthesizer": True}),
    ("judged", {"layout": "role-first", "instructions": "Be brief.", "context": "We are two."}),
    ("moderated", {"synthesizer": True}),
    ("moderated", {"positions": POSITIONS}),
    ("panel", {"rounds": 2, **ALONE}),
]


@pytest.mark.parametrize(("format_", "changes"), SAME)
def test_prompts_are_those_of_the_debate_with_such_replies(format_, changes):
    sayer = Sayer()
    play(format_, sayer, **changes)
    found = of(format_, **changes).fewest
    assert found.calls == len(sayer.sizes)
    assert found.tokens_in == sum(sayer.sizes)
    assert found.tokens_out == REPLY * len(sayer.sizes)


LIMITS = [
    ("judged", {"max_rounds": 4, "limits": {"tokens": 16_000}}),
    ("judged", {"max_rounds": 4, "limits": {"calls": 3}}),
    ("judged", {"max_rounds": 4, "limits": {"cost_usd": "0.08"}}),
    ("panel", {"rounds": 4, "limits": {"cost_usd": "0.08"}, **ALONE}),
    ("panel", {"rounds": 4, "limits": {"tokens": 1000}, **ALONE}),
    ("moderated", {"limits": {"tokens": 11_000, "calls": 4}}),
]


@pytest.mark.parametrize(("format_", "changes"), LIMITS)
def test_the_debate_stops_where_the_estimate_says(format_, changes):
    changes = {**changes, "prices": PRICES}
    sayer = Sayer()
    bundle = play(format_, sayer, **changes)
    found = of(format_, **changes)
    (cut,) = data(bundle, "debate.truncated")
    stop = found.fewest.stop
    assert (stop.ceiling, stop.limit, stop.calls) == (
        cut["ceiling"],
        cut["limit"],
        len(sayer.sizes),
    )
    assert found.fewest.calls > stop.calls  # what all of it would take is said as well


def test_what_is_reserved_against_a_ceiling_is_what_the_debate_reserves():
    changes = {"settings": {"max_tokens": 100}, "max_rounds": 1}
    first = data(play("judged", **changes), "call.started")[0]
    exact = first["reserved_tokens_in"] + first["reserved_tokens_out"]
    assert of("judged", limits={"tokens": exact - 1}, **changes).most.stop.calls == 0
    assert of("judged", limits={"tokens": exact}, **changes).most.stop.calls == 1


def test_a_ceiling_that_is_not_met_stops_nothing():
    found = of("judged", limits={"calls": 5, "tokens": 10**6})
    assert (found.most.stop, found.fewest.stop) == (None, None)


def test_a_ceiling_can_leave_the_shortest_course_alone():
    found = of("panel", rounds=4, limits={"calls": 3})
    assert found.fewest.stop is None
    assert found.most.stop.calls == 3


def repeated(sent):
    """Count the characters with which each prompt repeats the beginning of an earlier one."""
    return [
        max((alike(text, earlier) for earlier in sent[:number]), default=0)
        for number, text in enumerate(sent)
    ]


def alike(one, other):
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same)


@pytest.mark.parametrize(
    ("format_", "changes"),
    [
        ("judged", {"max_rounds": 3}),
        ("judged", {"max_rounds": 3, "synthesizer": True, "shuffle_for_judge": False}),
        ("moderated", {"neutrality_check": True}),
    ],
)
def test_the_cache_can_give_what_begins_like_an_earlier_prompt(format_, changes):
    changes = {**changes, "evidence": LONG}
    sayer = Sayer()
    play(format_, sayer, **changes)
    exact = sum(length // BYTES for length in repeated(sayer.sent))
    found = of(format_, **changes).fewest
    assert exact - 30 * found.calls < found.tokens_cached <= exact  # titles may begin alike
    assert found.tokens_cached > found.tokens_in / 2


def test_prompts_too_short_for_any_cache_are_read_anew():
    found = of("judged", max_rounds=1).most
    assert found.tokens_in < CACHED_FROM * found.calls
    assert found.tokens_cached == 0


def test_calls_that_leave_at_once_share_nothing_unless_one_leads():
    ann, bob, _ = of("panel", evidence=LONG).fewest.seats
    assert (ann.tokens_cached, bob.tokens_cached) == (0, 0)
    ann, bob, cat = of("panel", evidence=LONG, leading_call=True).fewest.seats
    assert ann.tokens_cached == 0
    assert bob.tokens_cached == cat.tokens_cached > CACHED_FROM


def test_each_model_has_a_cache_of_its_own():
    names = ("planner", "critic", "operator")
    seats = [{"id": name, "model": f"python:{name}"} for name in names]
    one = of("consensus", evidence=LONG, max_rounds=1)
    three = of("consensus", evidence=LONG, max_rounds=1, debaters=seats)
    assert three.most.tokens_in == one.most.tokens_in
    assert three.most.tokens_cached < one.most.tokens_cached


def test_role_first_shares_nearly_nothing():
    assert of("consensus", evidence=LONG).most.tokens_cached > 0
    found = of("consensus", evidence=LONG, layout="role-first")
    assert (found.layout, found.most.tokens_cached) == ("role-first", 0)


def test_cost_is_tokens_times_price_with_and_without_the_cache():
    found = of("judged", evidence=LONG, max_rounds=3, prices=PRICES).most
    for seat in found.seats:
        plain = seat.tokens_in * 2 + seat.tokens_out * 10
        assert seat.cost_micro_usd == plain
        most_saved = seat.tokens_cached * 1.5
        written = (seat.tokens_in - seat.tokens_cached) * 0.5
        assert plain - most_saved <= seat.cost_cached_micro_usd <= plain - most_saved + written
    assert found.cost_micro_usd == sum(seat.cost_micro_usd for seat in found.seats)
    assert found.cost_cached_micro_usd < found.cost_micro_usd


def test_writing_to_the_cache_for_nothing_costs_more():
    found = of("panel", evidence=LONG, prices=PRICES).fewest
    assert found.tokens_cached == 0
    assert found.cost_cached_micro_usd > found.cost_micro_usd


def test_an_unknown_price_is_named_and_never_zero():
    seats = [{"id": "ann", "model": "ollama:qwen3"}, {"id": "bob", "model": MODEL}]
    found = of("panel", debaters=seats, prices=PRICES)
    ann, bob = found.most.seats
    assert found.unpriced == ("ollama:qwen3",)
    assert (ann.cost_micro_usd, ann.cost_cached_micro_usd) == (None, None)
    assert bob.cost_micro_usd > 0
    assert (found.most.cost_micro_usd, found.fewest.cost_cached_micro_usd) == (None, None)


def test_what_is_free_costs_nothing():
    found = of("panel", prices={MODEL: {"input": "0", "output": "0"}})
    assert found.unpriced == ()
    assert found.most.cost_micro_usd == found.most.cost_cached_micro_usd == 0


def test_a_ceiling_on_cost_needs_every_price():
    with pytest.raises(UsageError) as refused:
        of("panel", limits={"cost_usd": "1"})
    assert refused.value.code == "spec.price_unknown"


def test_a_listed_price_is_used_and_says_whose_it_is():
    found = of("panel", model="openai:gpt-4o-mini", limits={"cost_usd": "1"})
    (price,) = found.prices
    assert price["source"].startswith("genai-prices/")
    assert found.unpriced == ()
    assert found.most.cost_micro_usd > 0


def test_a_file_of_scripted_replies_may_state_a_price(tmp_path):
    row = {"price": {"input": "1", "output": "3"}, "replies": {}}
    (tmp_path / "script.yaml").write_text(yaml.safe_dump(row))
    found = estimate(spec_of("panel", model="scripted:script.yaml"), Files(tmp_path))
    assert found.scripted
    assert found.prices[0]["source"] == "model"
    assert found.most.cost_micro_usd == found.most.tokens_in + 3 * found.most.tokens_out


def test_a_callable_may_state_a_price_and_is_not_called():
    def never(request):
        raise AssertionError("it was called")

    model = CallableModel(never, PriceSpec(input="1", output="3"))
    fields = {"format": "panel", "question": "Shall we?", "model": MODEL}
    found = hansard.estimate(fields, models={"bot": model})
    assert not found.scripted
    assert found.most.cost_micro_usd == found.most.tokens_in + 3 * found.most.tokens_out
    assert hansard.estimate(fields).unpriced == (MODEL,)


def test_a_reply_is_assumed_to_be_as_long_as_it_may_be():
    seats = [{"id": "ann", "settings": {"max_tokens": 1000}}, {"id": "bob"}]
    found = of("panel", debaters=seats, rounds=1, settings={"max_tokens": 50})
    ann, bob = found.most.seats
    assert (ann.reply_tokens, ann.tokens_out) == (1000, 2000)
    assert (bob.reply_tokens, bob.tokens_out) == (50, 100)
    short = of("panel", debaters=[{"id": "ann"}, {"id": "bob"}], rounds=1).most.seats[0]
    assert (short.reply_tokens, ann.tokens_in - short.tokens_in) == (REPLY, 600 - 350)


def test_a_cap_that_only_ceilings_need_is_not_what_is_assumed():
    capped = of("panel", limits={"tokens": 10**6})
    assert capped.most.seats[0].reply_tokens == REPLY
    assert capped.most.tokens_out == of("panel").most.tokens_out


def test_a_cap_beyond_every_reply_is_no_flood():
    found = of("judged", max_rounds=1, settings={"max_tokens": 10**9})
    assert found.most.tokens_out == 3 * 10**9
    assert found.most.tokens_in < 3 * MAX_REPLY


def test_what_comes_on_top_is_said():
    found = of("panel", attempts=4, tools=["look_up"], tool_rounds=2, limits={"seconds": 9})
    assert (found.retry_calls, found.tool_calls) == (6 * 3, 6 * 2)
    assert found.seconds == 9
    plain = of("panel", attempts=1, tool_rounds=2)
    assert (plain.retry_calls, plain.tool_calls, plain.seconds) == (0, 0, None)


def test_nothing_is_kept_and_nothing_is_needed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    seats = [{"id": "ann", "model": "anthropic:x"}, {"id": "bob", "model": "bedrock:y"}]
    assert of("panel", debaters=seats, tools=["not_given"]).most.calls == 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"evidence": ["nowhere.md"]}, "spec.evidence_missing"),
        ({"model": "scripted:nowhere.yaml"}, "spec.unreadable"),
        ({"prompts": {"debater": "nowhere.md"}}, "spec.prompt_missing"),
    ],
)
def test_a_spec_that_cannot_be_run_has_no_estimate(tmp_path, changes, code):
    with pytest.raises(UsageError) as refused:
        estimate(spec_of("panel", **changes), Files(tmp_path))
    assert refused.value.code == code


TERMS = [
    *((format_, {}) for format_ in FORMATS),
    ("moderated", {"positions": POSITIONS}),
    ("panel", {"judge": {}, "options": ["a", "b"]}),
    ("panel", {"judge": {}, "resolution": "pick"}),
]


@pytest.mark.parametrize("size", [1, 400, 1600])
@pytest.mark.parametrize(("format_", "changes"), TERMS)
def test_filler_fits_every_role(format_, changes, size):
    for schema in RULES[format_].schemas(spec_of(format_, **changes).terms()).values():
        for yes in (True, False):
            text = filler(schema, size, yes=yes)
            value = replies.value_of(text, schema)
            assert replies.mismatch(value, schema) is None
            if size > 400:
                assert abs(len(text) - size) < 20


def test_importing_hansard_imports_no_estimate():
    code = "import sys, hansard; print('hansard.runtime.estimate' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("format_", "changes", "calls"),
    [
        ("consensus", {}, 12),
        ("consensus", {"max_rounds": 3}, 18),
        ("consensus", {"max_rounds": 1, "synthesizer": True}, 10),
        ("judged", {}, 5),
        ("moderated", {"max_rounds": 3}, 9),
        ("moderated", {"max_rounds": 2}, 5),
        ("panel", {"rounds": 2, "judge": {}}, 7),
    ],
)
def test_half_of_the_rounds_are_expected_to_be_used(format_, changes, calls):
    found = of(format_, prices=PRICES, **changes)
    assert found.expected.calls == calls
    assert found.fewest.calls <= calls <= found.most.calls
    costs = [each.cost_micro_usd for each in (found.fewest, found.expected, found.most)]
    assert costs == sorted(costs)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("prices", [PRICES, {}])
def test_what_was_expected_is_recorded_before_the_first_call(format_, prices):
    bundle = play(format_, prices=prices, synthesizer=True)
    found = of(format_, prices=prices, synthesizer=True)
    (opened,) = data(bundle, "debate.opened")
    courses = (found.fewest, found.expected, found.most)
    least, expected, most = sorted(each.cost_micro_usd or 0 for each in courses)
    costs = {"least": least, "expected": expected, "most": most}
    assert opened["estimate"] == {
        "calls_least": found.fewest.calls,
        "calls_most": found.most.calls,
        **{f"cost_{part}_micro_usd": cost if prices else None for part, cost in costs.items()},
    }
    assert verify(bundle).ok


@pytest.mark.parametrize(
    ("bound", "work", "changes"),
    [
        ("MOST_REHEARSED", 24, {}),
        ("MOST_PARTS", 24 * 25, {"layout": "role-first", "evidence": LONG}),
        ("MOST_SAID", 24 * BYTES * 900, {"settings": {"max_tokens": 900}}),
        ("MOST_SAID", 24 * MAX_REPLY, {"settings": {"max_tokens": 10**9}}),
    ],
)
def test_a_debate_too_long_to_be_rehearsed_has_no_estimate(monkeypatch, bound, work, changes):
    made = []
    monkeypatch.setattr(estimating, "rehearsals", lambda *it: made.append(it) or rehearsals(*it))
    monkeypatch.setattr(estimating, bound, work)
    assert of("consensus", **changes).most.calls == 24
    assert len(made) == 1
    monkeypatch.setattr(estimating, bound, work - 1)
    with pytest.raises(UsageError, match="24 turns") as caught:
        of("consensus", **changes)
    assert caught.value.code == "estimate.too_long"
    assert data(play("consensus", **changes), "debate.opened")[0]["estimate"] is None
    assert len(made) == 1


class Whole(Sized):
    """A rehearsal that is repeated whether it matters that all agree or not."""

    is_fixed = False


DRAWN = {
    "consensus": {
        "options": [["release", "revise"], ["release", "revise", "escalate"]],
        "threshold": [1, 2, 3],
    },
    "judged": {"anonymize_transcript": [True, False], "layout": ["role-first", "shared-prefix"]},
    "moderated": {
        "positions": [[], POSITIONS],
        "neutrality_check": [True, False],
        "require_cited_critique": [True, False],
    },
    "panel": {
        "convergence_check": [True, False],
        "judge": [None, {}],
        "options": [[], ["a", "b"]],
    },
    "baseline": {"options": [[], ["a", "b"]]},
}
ANY = {
    "evidence": [[], LONG],
    "synthesizer": [True, False],
    "prices": [{}, PRICES],
    "leading_call": [True, False],
    "settings": [{}, {"max_tokens": 900}],
    "limits": [{}, {"calls": 2, "tokens": 2000}],
}


@st.composite
def drawn(draw):
    """A spec of any format, whose calls have a price or none."""
    format_ = draw(st.sampled_from(FORMATS))
    fields = {
        name: draw(st.sampled_from(values)) for name, values in (DRAWN[format_] | ANY).items()
    }
    rounds = {"panel": "rounds", "baseline": "draws"}.get(format_, "max_rounds")
    return spec_of(format_, **{rounds: draw(st.integers(1, 3)), **fields})


@pytest.mark.slow
@given(drawn())
@settings(max_examples=150, deadline=None)
def test_what_is_recorded_is_that_of_three_whole_rehearsals(spec):
    opening = rehearsed(spec, Files(None))
    courses = [estimating._course(row) for row in rehearsals(Whole, opening)]
    assert expectation(opening) == estimating._recorded(courses)
    found = estimate(spec, Files(None))
    assert [found.most, found.expected, found.fewest] == courses


@pytest.mark.parametrize("prices", [{}, PRICES])
def test_a_debate_is_rehearsed_once_where_no_agreement_can_end_it(prices):
    for alone in (spec_of("panel", rounds=2, prices=prices, **ALONE), spec_of("judged")):
        assert len(set(map(id, rehearsals(Sized, rehearsed(alone, Files(None)))))) == 1
    together = rehearsed(spec_of("panel", rounds=2, prices=prices), Files(None))
    assert len(set(map(id, rehearsals(Rehearsal, together)))) == 3
