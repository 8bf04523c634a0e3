"""What a debate counts towards each metric, and when many of them draw an alert."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.report import metrics
from hansard.report.metrics import LEAST, METRICS, UNIT, Sum, figures, metric
from hansard.report.view import build
from support import Debate, Setup, argued, say, script, vote, votes


def result(setup, replies):
    record = Debate(setup, replies).run().record
    return build(record.events, record.texts.get)


def summed(values):
    return Sum(len(values), sum(values), sum(value * value for value in values))


def test_what_a_debate_counts():
    split = votes(planner="release", critic="revise", operator="escalate")
    cases = [
        (Setup(), script(usual=vote("release")), {"escalated": 0, "first_answer": 1}),
        (
            Setup(),
            votes(planner="revise", critic="release", operator="release"),
            {"first_answer": 0},
        ),
        (Setup(max_rounds=1), split, {"escalated": 1, "failed": 0, "truncated": 0}),
        (Setup(limits={"calls": 4}), split, {"truncated": 1}),
        (
            Setup("moderated"),
            script({"moderation": say(confidence="LOW", explicit_uncertainties=["a", "b"])}),
            {"low_confidence": 1, "uncertainties": 2, "challenge_strength": 10},
        ),
        (
            Setup("moderated", evidence=(("memo", "It failed.", 1),)),
            script({"critique": say(counter_arguments=[argued(("memo", "no such words"))])}),
            {"citations": 1, "low_confidence": 0},
        ),
        (Setup("moderated"), script({"moderation": say(upholds_proposition=True)}), {"upheld": 1}),
        (Setup("moderated"), script({"moderation": say(upholds_proposition=False)}), {"upheld": 0}),
        (Setup("judged"), script(usual=say(winner="wait")), {"first_answer": 0}),
    ]
    for setup, replies, expected in cases:
        found = figures(result(setup, replies))
        assert {name: found.get(name) for name in expected} == {
            name: UNIT * value for name, value in expected.items()
        }
        assert found.keys() <= METRICS.keys()


def test_what_a_debate_does_not_have_it_does_not_count_for():
    found = figures(result(Setup(), script(usual=vote("release"))))
    assert {
        "challenge_strength",
        "low_confidence",
        "uncertainties",
        "citations",
        "upheld",
    }.isdisjoint(found)
    assert "cost_to_estimate" not in found
    ended = result(Setup(), script(usual=vote("release")))
    assert figures(ended.model_copy(update={"status": "open"})) == {}
    evaluated = {"kind": "evaluation", "debate": None, "head": None, "seq": None}
    assert figures(ended.model_copy(update={"origin": evaluated})) == {}
    costs = {"cost_least_micro_usd": 1, "cost_most_micro_usd": 9, "cost_expected_micro_usd": 4}
    estimate = {"calls_least": 1, "calls_most": 2, **costs}
    totals = ended.totals.model_copy(update={"cost_micro_usd": 6})
    paid = ended.model_copy(update={"estimate": estimate, "totals": totals})
    assert figures(paid)["cost_to_estimate"] == UNIT * 3 // 2
    free = {**estimate, "cost_expected_micro_usd": 0}
    assert "cost_to_estimate" not in figures(paid.model_copy(update={"estimate": free}))


@given(st.lists(st.integers(0, 10), min_size=2, max_size=60))
def test_means_and_errors_are_those_of_statistics(values):
    found = summed(values)
    assert found.mean == pytest.approx(statistics.mean(values))
    error = statistics.stdev(values) / math.sqrt(len(values))
    assert found.error == pytest.approx(error, abs=1e-6)


def test_nothing_has_no_mean_and_one_no_error():
    assert Sum().mean is None
    assert Sum().error == summed([3]).error == math.inf


MANY = LEAST * 5
NOW, BEFORE = [1] * MANY, [0, 1] * (MANY // 2)


@pytest.mark.parametrize(
    ("name", "now", "before", "by_policy", "against", "alert"),
    [
        ("challenge_strength", [6.4] * LEAST, [], None, "threshold", True),
        ("challenge_strength", [6.5] * LEAST, [], None, "threshold", False),
        ("challenge_strength", [6.4] * (LEAST - 1), [], None, "threshold", False),
        ("challenge_strength", [6.4] * LEAST, [], 6.0, "policy", False),
        ("low_confidence", [0, 0, 1] * LEAST, [], None, "threshold", True),
        ("low_confidence", [0, 0, 0, 1] * LEAST, [], None, "threshold", False),
        ("cost_to_estimate", [1.6] * LEAST, [], None, "threshold", True),
        ("uncertainties", NOW, [], None, None, False),
        ("uncertainties", NOW, BEFORE, None, "before", True),
        ("uncertainties", BEFORE, NOW, None, "before", True),
        ("uncertainties", BEFORE, BEFORE, None, "before", False),
        ("uncertainties", NOW, BEFORE[: LEAST - 2], None, None, False),
        ("uncertainties", [1.2] * MANY, [1] * MANY, None, "before", False),  # below a quarter
        ("uncertainties", [0, 9] * (LEAST // 2), [3] * LEAST, None, "before", False),  # by chance
        ("uncertainties", NOW, BEFORE, 1.0, "policy", False),
        ("failed", NOW, BEFORE, None, "before", True),
        ("failed", BEFORE, NOW, None, "before", False),
        ("failed", [0] * MANY, [0] * MANY, None, "before", False),
        ("first_answer", NOW, BEFORE, 0.1, None, False),
        ("failed", [], BEFORE, None, "before", False),
    ],
)
def test_when_there_is_an_alert(name, now, before, by_policy, against, alert):
    found = metric(name, summed(now), summed(before), by_policy, None)
    assert (found.against, found.alert) == (against, alert)
    assert (found.baseline is None) == (against is None)
    assert found.value == (pytest.approx(statistics.mean(now)) if now else None)


def test_a_moderator_who_comes_to_lean_to_one_side_draws_an_alert():
    even, leaning = summed([1, 0] * 20), summed([1] * 36 + [0] * 4)
    assert metric("upheld", leaning, even, None, None).alert
    assert metric("upheld", summed([0] * 36 + [1] * 4), even, None, None).alert
    assert not metric("upheld", even, even, None, None).alert


def test_each_metric_stands_before_its_types_of_task():
    rows = metrics.by_task([("failed", "b"), ("failed", None), ("uncertainties", "a")])
    assert rows == [("uncertainties", "a"), ("failed", None), ("failed", "b")]
