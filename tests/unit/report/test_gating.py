"""What a gate answered is said in words, each condition with its numbers."""

import pytest

from gating import gate
from hansard.report import gating

BLOB = {"sha256": "a" * 64}


def rows(hedged=False, text=None, **asked):
    found = gating.answered(gate(hedged, **asked), {BLOB["sha256"]: text}.get)
    return dict(gating.rows(found))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"rule": "downside"}, "not advised: the downside is not large enough, or not known"),
        ({"rule": "any"}, "not advised: none of the conditions is met"),
        ({"rule": "all", "confidence_ppm": 1}, "not advised: not all conditions are met"),
        ({"contested": False, "rule": "any", "confidence_ppm": 1}, "not advised: the question is"),
        ({"rule": "any", "confidence_ppm": 1}, "advised: one of the conditions is met"),
    ],
)
def test_the_advice_says_why(asked, words):
    assert rows(**asked)["Gate"].startswith(f"a debate is {words}")


@pytest.mark.parametrize(
    ("downside", "threshold", "words"),
    [
        (None, 1, "not met: no downside is stated"),
        (None, None, "not met: no downside is stated"),
        (1, None, "not met: the cost of a debate is not known"),
        (1, 0, "met: 0.000001 US dollars against 50 times 0.00"),
        (
            2_500_000,
            1_234_567_100_000,
            "not met: 2.50 US dollars against 50 times 1,234,567.10",
        ),
    ],
)
def test_the_amounts(downside, threshold, words):
    assert rows(downside_micro_usd=downside, threshold_micro_usd=threshold)["Downside"] == words


NO_CONFIDENCE = "no confidence of a single model is stated"


@pytest.mark.parametrize(
    ("ppm", "hedged", "answer", "text", "words"),
    [
        (None, False, None, None, f"not met: {NO_CONFIDENCE}"),
        (699_999, False, None, None, "met: the confidence of a single model is 0.699999"),
        (1_000_000, False, None, None, "not met: the confidence of a single model is 1"),
        (0, False, None, None, "met: the confidence of a single model is 0"),
        (None, True, BLOB, "Perhaps.", f"met: {NO_CONFIDENCE}, its answer says “perhaps”"),
        (None, False, BLOB, "Yes.", f"not met: {NO_CONFIDENCE}, its answer does not hedge"),
        (None, True, BLOB, None, f"met: {NO_CONFIDENCE}, its answer is not available"),
        (None, False, BLOB, "", f"not met: {NO_CONFIDENCE}, its answer does not hedge"),
    ],
)
def test_the_doubts(ppm, hedged, answer, text, words):
    assert rows(hedged, text, confidence_ppm=ppm, answer=answer)["Uncertainty"] == words


def test_the_task_type():
    assert rows()["High risk"] == "not met: no task type is stated"
    assert rows(task_type="security")["High risk"] == "met: the task type is security"


def test_no_gate_answers_nothing():
    assert gating.answered(None, {}.get) is None
