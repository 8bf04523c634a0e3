"""`should_debate` and `ask_gate`: what is given, what it answers, what is refused."""

from decimal import Decimal

import pytest

import hansard
from hansard.errors import UsageError

SPEC = {
    "format": "panel",
    "question": "What comes first?",
    "model": "python:seat",
    "judge": {},
    "task_type": "security",
    "prices": {"python:seat": {"input": "10", "output": "10"}},
}


def met(found):
    return [row["name"] for row in found.conditions if row["met"]]


def test_the_downside_decides_by_default():
    assert hansard.should_debate("vendor", 0.9, 50.01, cost_threshold=1).advised
    assert not hansard.should_debate("contract", 0.1, 50, cost_threshold=1).advised
    assert not hansard.should_debate().advised
    assert hansard.should_debate(estimated_downside=Decimal("0.1"), cost_threshold="0").advised


@pytest.mark.parametrize("amount", [10**400, Decimal("1E+999999999999")])
def test_an_amount_that_nobody_can_write_out_is_refused(amount):
    for given in (
        {"estimated_downside": amount},
        {"cost_threshold": amount},
        {"confidence": amount},
        {"factor": amount},
    ):
        with pytest.raises(UsageError):
            hansard.should_debate(**given)
    with pytest.raises(UsageError):
        hansard.ask_gate(SPEC | {"gate": {"downside": amount}})


@pytest.mark.parametrize("spec", [[], None, 7, [SPEC]])
def test_what_is_no_spec_is_refused(spec):
    for take in (hansard.read_spec, hansard.estimate, hansard.ask_gate, hansard.run_sync):
        with pytest.raises(UsageError, match="a spec is a mapping of its fields") as caught:
            take(spec)
        assert caught.value.code == "spec.yaml"


def test_any_condition_will_do_or_all_are_needed():
    risky = {"task_type": "contract", "cost_threshold": 1, "estimated_downside": 51}
    assert hansard.should_debate("security", rule="any").advised
    assert hansard.should_debate(confidence=0.5, rule="any").advised
    assert hansard.should_debate(answer="It depends.", rule="any").advised
    assert not hansard.should_debate(answer="It holds.", rule="any").advised
    assert not hansard.should_debate(rule="all", **risky).advised
    assert hansard.should_debate(confidence="0.69", rule="all", **risky).advised
    assert not hansard.should_debate("security", contested=False, rule="any").advised


def test_the_answer_says_what_was_asked():
    found = hansard.should_debate(
        "contract", 0.65, 250_000, answer="I think so.", cost_threshold="2.50", factor=10
    )
    assert isinstance(found, hansard.GateAnswer)
    assert met(found) == ["downside", "uncertain", "high_risk"]
    assert found.model_dump(exclude={"conditions"}) == {
        "advised": True,
        "rule": "downside",
        "contested": True,
        "confidence_ppm": 650_000,
        "downside_micro_usd": 250_000_000_000,
        "threshold_micro_usd": 2_500_000,
        "factor": 10,
        "task_type": "contract",
        "answered": True,
        "answer": "I think so.",
        "hedge": "i think",
    }


def test_an_empty_answer_is_none():
    assert not hansard.should_debate(answer="").answered


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"confidence": 2}, "spec.out_of_range"),
        ({"estimated_downside": "much"}, "spec.invalid_value"),
        ({"cost_threshold": -1}, "spec.invalid_value"),
        ({"factor": 0}, "spec.out_of_range"),
        ({"rule": "most"}, "spec.invalid_value"),
        ({"task_type": "a contract"}, "spec.invalid_value"),
    ],
)
def test_what_cannot_be_asked_is_refused(given, code):
    with pytest.raises(UsageError) as caught:
        hansard.should_debate(**given)
    assert caught.value.code == code


def test_a_spec_is_asked_with_its_own_cost_and_what_is_given():
    cost = hansard.estimate(SPEC).expected.cost_micro_usd
    found = hansard.ask_gate(SPEC)
    assert (found.threshold_micro_usd, found.downside_micro_usd) == (cost, None)
    assert (found.task_type, met(found)) == ("security", ["high_risk"])
    spec = SPEC | {"gate": {"downside": 1, "threshold": 9, "rule": "any", "contested": False}}
    found = hansard.ask_gate(spec, downside=451, contested=True, confidence=1, answer="Maybe so.")
    assert met(found) == ["downside", "high_risk"]
    assert found.advised
    assert not hansard.ask_gate(hansard.read_spec(spec)).advised


def test_an_answer_is_a_text_or_a_file_of_your_own(tmp_path):
    file = tmp_path / ".single.md"
    file.write_text("Unclear.\n")
    assert hansard.ask_gate(SPEC, answer=file).hedge == "unclear"
    assert hansard.ask_gate(SPEC, answer="Unclear?").hedge == "unclear"
    file.write_text(" \n")
    with pytest.raises(UsageError) as caught:
        hansard.ask_gate(SPEC, answer=file)
    assert caught.value.code == "spec.gate_answer"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("nowhere.md", "spec.gate_answer"),
        ("../outside.md", "spec.file_outside"),
        (".hidden.md", "spec.file_outside"),
        ("large.md", "spec.file_size"),
    ],
)
def test_a_file_that_a_spec_names_is_below_its_folder(tmp_path, name, code):
    folder = tmp_path / "own"
    folder.mkdir()
    for path in (tmp_path / "outside.md", folder / ".hidden.md", folder / "single.md"):
        path.write_text("So it is.")
    (folder / "large.md").write_bytes(b"a" * (2**21 + 1))
    with pytest.raises(UsageError) as caught:
        hansard.ask_gate(SPEC | {"gate": {"answer": {"file": name}}}, folder=folder)
    assert caught.value.code == code
    inside = SPEC | {"gate": {"answer": {"file": "single.md"}}}
    assert hansard.ask_gate(inside, folder=folder).answer == "So it is."
    outside = SPEC | {"gate": {"answer": {"file": "../outside.md"}}}
    assert hansard.ask_gate(outside, folder=folder, allow=[tmp_path]).answered


def test_a_text_is_no_longer_than_a_file():
    with pytest.raises(UsageError) as caught:
        hansard.ask_gate(SPEC, answer="é" * 2**20 + "a")
    assert caught.value.code == "spec.file_size"
    assert hansard.ask_gate(SPEC, answer="é" * 2**20).answered
