"""What a spec may ask its gate, and what is recorded of it."""

from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from gating import ASKED, NOTHING_MET, met
from hansard.rules.spec_gate import GateSpec, SingleAnswer

BLOB = {"sha256": "a" * 64}


def asked(task_type=None, answer=None, expected=None, **fields):
    return GateSpec.model_validate(fields).asked(task_type, answer, expected)


def code(**fields):
    with pytest.raises(ValidationError) as caught:
        GateSpec.model_validate(fields)
    return caught.value.errors()[0]["type"]


def test_a_gate_that_asks_nothing():
    assert asked() == ASKED | {"conditions": NOTHING_MET}


@pytest.mark.parametrize(
    ("written", "recorded"),
    [
        ("250000", 250_000_000_000),
        (250_000, 250_000_000_000),
        (0, 0),
        ("2.50", 2_500_000),
        (0.1 + 0.2, 300_000),
        (Decimal("0.000001"), 1),
        (1e-7, 0),
        ("999999999.999999", 999_999_999_999_999),
        (999_999_999, 999_999_999_000_000),
        (None, None),
    ],
)
def test_money_is_recorded_in_millionths_of_a_dollar(written, recorded):
    assert asked(downside=written)["downside_micro_usd"] == recorded
    assert asked(threshold=written)["threshold_micro_usd"] == recorded


@pytest.mark.parametrize("written", [-1, "-1", "1,000", "$5", "", 10**9, 1e16, True, float("nan")])
def test_what_is_no_amount_is_refused(written):
    assert code(downside=written) == code(threshold=written) == "spec.invalid_value"
    assert code(downside=[1]) == "spec.invalid_value"


# Spelled out, the last of them has a million million digits.
@pytest.mark.parametrize(
    "written", [10**400, -(10**400), Decimal("1E+12"), Decimal("1E+999999999999"), Decimal("NaN")]
)
def test_a_number_beyond_any_amount_is_refused_and_not_spelled_out(written):
    assert code(downside=written) == code(threshold=written) == "spec.invalid_value"
    assert code(confidence=written) == "spec.out_of_range"


def test_a_number_next_to_nothing_is_not_spelled_out_either():
    assert asked(downside=Decimal("1E-999999999999"))["downside_micro_usd"] == 0
    assert code(confidence=Decimal("1E-999999999999")) == "spec.out_of_range"


def test_a_decimal_is_no_whole_number():
    assert (
        code(factor=Decimal("1E+999999999999")) == code(factor=Decimal(2)) == "spec.invalid_value"
    )


@pytest.mark.parametrize(
    ("written", "ppm"),
    [
        (0, 0),
        (1, 1_000_000),
        ("1.0", 1_000_000),
        (0.7, 700_000),
        ("0.69999999", 699_999),
        (0.6931471805599453, 693_147),
        (1e-9, 0),
        (None, None),
    ],
)
def test_a_confidence_is_rounded_down(written, ppm):
    assert asked(confidence=written)["confidence_ppm"] == ppm


@pytest.mark.parametrize("written", [1.000001, "1.1", -0.1, "2", "high", "", float("inf")])
def test_what_is_no_share_is_refused(written):
    assert code(confidence=written) == "spec.out_of_range"


def test_a_confidence_is_not_true():
    assert code(confidence=True) == "string_type"


def test_a_threshold_that_is_left_out_is_what_the_debate_is_expected_to_cost():
    found = asked(downside="100", expected=1_999_999)
    assert found["threshold_micro_usd"] == 1_999_999
    assert met(found) == ["downside"]
    assert found["advised"]
    assert not asked(downside="100", expected=2_000_000)["advised"]
    assert not asked(downside="100")["advised"]
    stated = asked(downside="100", threshold="1", expected=10**9)
    assert stated["threshold_micro_usd"] == 1_000_000
    assert stated["advised"]


def test_an_answer_is_a_text_or_a_file():
    assert GateSpec(answer="So.").answer == SingleAnswer(text="So.")
    assert GateSpec(answer={"text": "So."}).answer == SingleAnswer(text="So.")
    assert GateSpec(answer={"file": "so.md"}).answer.file == "so.md"
    assert GateSpec(answer={"file": Path("so.md")}).answer.file == Path("so.md")
    assert code(answer={}) == "spec.gate_answer"
    assert code(answer={"text": "So.", "file": "so.md"}) == "spec.gate_answer"
    assert code(answer="") == "string_too_short"


@pytest.mark.parametrize(("text", "hedges"), [("So it is.", False), ("Perhaps.", True)])
def test_an_answer_that_hedges_is_uncertain(text, hedges):
    found = GateSpec(answer=text, rule="any").asked("vendor", BLOB, None)
    assert met(found) == ["uncertain"] * hedges
    assert found["advised"] is hedges


def test_the_answer_is_named_and_the_task_type_is_that_of_the_debate():
    found = GateSpec(answer="So.").asked("contract", BLOB, None)
    assert (found["answer"], found["task_type"]) == (BLOB, "contract")
    assert met(found) == ["high_risk"]


def test_other_words():
    found = asked(contested=False, rule="all", factor=7)
    assert (found["contested"], found["rule"], found["factor"]) == (False, "all", 7)
    for fields in ({"factor": 0}, {"factor": 1.5}, {"rule": "most"}, {"contested": "x"}, {"x": 1}):
        assert code(**fields)
