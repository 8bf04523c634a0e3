"""When a debate is advised, at each bound (FORMAT.md §3)."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating import NOTHING_MET, gate, met
from hansard.rules import gate as rules
from hansard.rules.gate import HEDGES, HIGH_RISK, contradicts, hedge, is_unread

NAME = "a" * 64
ANSWER = {"answer": {"sha256": NAME}}
LARGEST = 2**53 - 1
TEXTS = {"sure": "It holds.", "hedged": "It probably holds."}


@pytest.mark.parametrize(
    ("downside", "threshold", "factor", "holds"),
    [
        (51, 1, 50, True),
        (50, 1, 50, False),
        (1, 0, 50, True),
        (0, 0, 50, False),
        (None, 1, 50, False),
        (51, None, 50, False),
        (None, None, 50, False),
        (3, 1, 2, True),
        (LARGEST, LARGEST, 1, False),
        (LARGEST, LARGEST - 1, 1, True),
        (LARGEST, LARGEST, LARGEST, False),
    ],
)
def test_the_downside_is_more_than_the_threshold_times_the_factor(
    downside, threshold, factor, holds
):
    asked = {"downside_micro_usd": downside, "threshold_micro_usd": threshold, "factor": factor}
    found = gate(**asked)
    assert met(found) == ["downside"] * holds
    assert found["advised"] is holds


@pytest.mark.parametrize(
    ("ppm", "hedged", "holds"),
    [
        (699_999, False, True),
        (700_000, False, False),
        (0, False, True),
        (1_000_000, False, False),
        (1_000_000, True, True),
        (None, False, False),
        (None, True, True),
    ],
)
def test_a_single_answer_is_uncertain(ppm, hedged, holds):
    found = gate(hedged, confidence_ppm=ppm)
    assert met(found) == ["uncertain"] * holds
    assert not found["advised"]
    assert gate(hedged, confidence_ppm=ppm, rule="any")["advised"] is holds


@pytest.mark.parametrize("kind", [*HIGH_RISK, "Contract", "contracts", "vendor", None])
def test_some_kinds_of_question_are_of_high_risk(kind):
    known = kind in ("contract", "security", "architecture", "investment", "compliance")
    assert met(gate(task_type=kind)) == ["high_risk"] * known


CHEAP = {"downside_micro_usd": 50, "threshold_micro_usd": 1}
DEAR = {"downside_micro_usd": 51, "threshold_micro_usd": 1}
LOW, RISKY = {"confidence_ppm": 0}, {"task_type": "security"}


@pytest.mark.parametrize(
    ("asked", "advised"),
    [
        (DEAR, {"downside", "any"}),
        (CHEAP | LOW, {"any"}),
        (CHEAP | RISKY, {"any"}),
        (CHEAP | LOW | RISKY, {"any"}),
        (DEAR | LOW, {"downside", "any"}),
        (DEAR | LOW | RISKY, {"downside", "any", "all"}),
        (CHEAP, set()),
    ],
)
def test_the_rule_says_which_conditions_are_needed(asked, advised):
    for rule in ("downside", "any", "all"):
        assert gate(**asked, rule=rule)["advised"] is (rule in advised)
        assert not gate(**asked, rule=rule, contested=False)["advised"]


def test_nothing_is_met_of_a_gate_that_was_asked_nothing():
    assert gate()["conditions"] == NOTHING_MET


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        ("It holds.", None),
        ("", None),
        ("It probably holds.", "probably"),
        ("I'm NOT\nsure.", "not sure"),
        ("I am not quite sure.", None),
        ("That cannot possibly hold.", None),
        ("It is never unclear.", None),
        ("It's hard to say.", "hard to say"),
        ("hard to", None),
        ("Perhaps; I think so.", "perhaps"),
        ("It could, be", "could be"),
        ("improbably", None),
        ("x " * 32_767 + "perhaps", None),
        ("x " * 32_764 + "perhaps", "perhaps"),
    ],
)
def test_an_answer_that_hedges(answer, phrase):
    assert hedge(answer) == phrase


def test_the_phrases_are_those_of_the_format():
    page = (Path(__file__).parents[3] / "schemas" / "FORMAT.md").read_text("utf-8")
    stated = re.search(r"right before them: (`not sure`.+?);\n", page)[1]
    assert set(re.findall("`(.+?)`", stated)) == HEDGES
    assert stated.count("`") == 2 * len(HEDGES)


def test_the_downside_alone_counts_by_default_as_in_the_source():
    assert (rules.RULE, rules.FACTOR) == ("downside", 50)


# What is recorded


@pytest.mark.parametrize(
    ("changes", "sound"),
    [
        ({}, True),
        ({"advised": True}, False),
        ({"conditions": []}, False),
        ({"conditions": NOTHING_MET[::-1]}, False),
        ({"conditions": [*NOTHING_MET, NOTHING_MET[0]]}, False),
        ({"conditions": [{"name": "downside", "met": True}, *NOTHING_MET[1:]]}, False),
        ({"conditions": [*NOTHING_MET[:2], {"name": "high_risk", "met": True}]}, False),
    ],
)
def test_a_gate_contradicts_itself(changes, sound):
    assert contradicts(gate() | changes, None, TEXTS.get) is not sound


def test_a_gate_is_of_the_task_type_of_its_opening():
    risky = gate(task_type="contract")
    assert not contradicts(risky, "contract", TEXTS.get)
    assert contradicts(risky, None, TEXTS.get)
    assert contradicts(gate(), "contract", TEXTS.get)
    assert contradicts(gate(task_type="vendor"), "contract", TEXTS.get)


@pytest.mark.parametrize("said", [False, True])
@pytest.mark.parametrize("low", [False, True])
@pytest.mark.parametrize("text", ["sure", "hedged", None])
def test_what_an_answer_says_is_read_again_where_it_is_there(text, low, said):
    ppm = 1 if low else None
    recorded = gate(said, confidence_ppm=ppm, rule="any", **ANSWER)
    uncertain = ["uncertain"] * (said or low)
    assert met(recorded) == uncertain

    def text_of(name):
        assert name == NAME
        return TEXTS.get(text)

    follows = low or text is None or said is (text == "hedged")
    assert contradicts(recorded, None, text_of) is not follows
    assert is_unread(recorded, text_of) is (text is None and not low)


def test_of_an_answer_that_is_gone_the_advice_still_follows():
    recorded = gate(True, rule="any", **ANSWER) | {"advised": False}
    assert contradicts(recorded, None, {}.get)


def test_no_answer_is_gone_where_there_is_none():
    assert not is_unread(None, {}.get)
    assert not is_unread(gate(), {}.get)


AMOUNT = st.none() | st.integers(0, LARGEST)


@given(
    st.sampled_from(["downside", "any", "all"]),
    st.booleans(),
    st.booleans(),
    AMOUNT,
    AMOUNT,
    st.integers(1, LARGEST),
    st.none() | st.integers(0, 1_000_000),
    st.sampled_from([None, "vendor", *HIGH_RISK]),
)
def test_the_advice_follows_from_the_conditions(
    rule, contested, hedged, downside, threshold, factor, ppm, kind
):
    found = gate(
        hedged,
        rule=rule,
        contested=contested,
        downside_micro_usd=downside,
        threshold_micro_usd=threshold,
        factor=factor,
        confidence_ppm=ppm,
        task_type=kind,
    )
    holds = {row["name"]: row["met"] for row in found["conditions"]}
    assert list(holds) == ["downside", "uncertain", "high_risk"]
    wanted = {
        "downside": holds["downside"],
        "any": True in holds.values(),
        "all": False not in holds.values(),
    }
    assert found["advised"] is (contested and wanted[rule])
    assert contradicts(found, kind, TEXTS.get) is (hedged and not rules.is_low(ppm))
    assert contradicts(found | {"advised": not found["advised"]}, kind, TEXTS.get)
