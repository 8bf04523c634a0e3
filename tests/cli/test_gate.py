"""`gate`: whether a debate is advised, with what, and the exit code that says it."""

import json
import warnings
from hashlib import sha256

import jsonschema
import pytest

import hansard as library
from cli_support import write_debate
from formats import NAMES
from hansard.record.keys import generate
from hansard.record.note import Signer
from hansard.schemas import render

PRICED = {"prices": {"scripted:replies.yaml": {"input": "10", "output": "10"}}}
AGREED = dict.fromkeys(NAMES, "release")


def write(**fields):
    return write_debate(AGREED, review="Ada", **fields)


def lines(done):
    return dict(row.split(maxsplit=1) for row in done.out.replace("High risk", "Risk").splitlines())


def test_nothing_is_advised_where_nothing_is_known(hansard):
    done = hansard("gate", write())
    assert done.code == 3
    assert lines(done) == {
        "Gate": "a debate is not advised: the downside is not large enough, or not known",
        "Downside": "not met: no downside is stated",
        "Uncertainty": "not met: no confidence of a single model is stated",
        "Risk": "not met: no task type is stated",
    }


def test_a_debate_is_advised_by_what_the_spec_says(hansard):
    spec = write(
        task_type="contract",
        gate={"downside": "125.000001", "threshold": 2.5, "confidence": 0.65, "rule": "all"},
    )
    done = hansard("gate", spec)
    assert done.code == 0
    assert lines(done) == {
        "Gate": "a debate is advised: all conditions are met",
        "Downside": "met: 125.000001 US dollars against 50 times 2.50",
        "Uncertainty": "met: the confidence of a single model is 0.65",
        "Risk": "met: the task type is contract",
    }


def test_options_stand_in_place_of_what_the_spec_says(hansard, tmp_path):
    spec = write(gate={"downside": "125.1", "threshold": "2.5", "answer": "It holds."})
    assert hansard("gate", spec).code == 0
    assert hansard("gate", spec, "--downside", "125").code == 3
    done = hansard("gate", spec, "--lookup")
    assert done.code == 3
    assert lines(done)["Gate"] == "a debate is not advised: the question is a factual lookup"
    (tmp_path / "single.md").write_text("It may well be; I'm not sure.")
    done = hansard("gate", spec, "--confidence", "0.7", "--answer", tmp_path / "single.md")
    assert lines(done)["Uncertainty"] == (
        "met: the confidence of a single model is 0.7, its answer says “not sure”"
    )
    done = hansard("gate", spec)
    assert lines(done)["Uncertainty"].endswith("is stated, its answer does not hedge")


def test_the_threshold_is_what_the_debate_is_expected_to_cost(hansard):
    spec = write(**PRICED)
    cost = library.estimate(spec).expected.cost_micro_usd
    just = f"{50 * cost / 1_000_000:.6f}"
    more = f"{(50 * cost + 1) / 1_000_000:.6f}"
    assert hansard("gate", spec, "--downside", just).code == 3
    assert hansard("gate", spec, "--downside", more).code == 0
    done = hansard("gate", write(), "--downside", more)
    assert lines(done)["Downside"] == "not met: the cost of a debate is not known"


def test_as_json_it_is_the_answer_of_the_library(hansard):
    spec = write(gate={"downside": 9, "threshold": 0}, task_type="security")
    done = hansard("gate", spec, "--json")
    found = json.loads(done.out)
    assert done.code == 0
    assert found == library.ask_gate(spec).model_dump(mode="json")
    jsonschema.validate(found, json.loads(render("gate")))


def test_what_cannot_be_used_is_refused(hansard):
    spec = write()
    for words, code in (
        (("--downside", "much"), "spec.invalid_value"),
        (("--confidence", "1.5"), "spec.out_of_range"),
        (("--answer", "nowhere.md"), "spec.gate_answer"),
    ):
        done = hansard("gate", spec, *words)
        assert (done.code, done.out) == (2, "")
        assert f"[{code}]" in done.err
    assert hansard("gate", write(gate={"x": 1})).code == 2


# What a debate records of it


def run(spec):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", library.SpecWarning)
        return library.run_sync(spec)


def test_a_debate_records_what_the_command_says(hansard):
    spec = write(
        gate={"downside": 1, "answer": "Perhaps.", "rule": "any", "confidence": "0.8"}, **PRICED
    )
    asked = library.ask_gate(spec)
    assert run(spec).gate == asked
    assert asked.threshold_micro_usd == library.estimate(spec).expected.cost_micro_usd
    assert (asked.answered, asked.answer, asked.hedge) == (True, "Perhaps.", "perhaps")


def test_a_debate_against_its_gate_is_held_all_the_same_and_asks_for_a_review(hansard):
    spec = write(gate={})
    done = hansard("run", spec)
    assert done.code == 0
    note = "The gate does not advise this debate: the downside is not large enough, or not known"
    assert done.err.index(f"Warning     {note}") < done.err.index("control: debate ")
    assert "Decision    " in done.out
    result = run(spec)
    assert [row.message for row in result.notes if row.code == "against_gate"] == [note]
    assert result.reviewed.exceptions == ("against_gate",)
    assert not result.released
    row = next(row for row in result.governance if row.code == "gate")
    assert (row.review, row.checks) == (True, (9,))


def test_a_debate_without_a_gate_says_nothing_of_one(hansard):
    result = run(write())
    assert result.gate is None
    assert "gate" not in [row.code for row in result.governance]
    done = hansard("run", write())
    assert "Gate" not in done.err + done.out


def test_show_and_report_say_it(hansard):
    spec = write(gate={"downside": 300_000, "threshold": "1200.5"})
    debate = json.loads(hansard("run", spec, "--json").out)["debate"]
    words = "met: 300,000.00 US dollars against 50 times 1,200.50"
    assert words in hansard("show", debate).out
    assert f"- Downside: {words}" in hansard("report", debate, "--as", "markdown").out.replace(
        "\\", ""
    )


# Policies


GATED = {"gate_factor": 50, "gate_rule": "downside", "require": "gate"}


@pytest.mark.parametrize(
    ("fields", "points"),
    [
        ({"gate": {"downside": 1}}, []),
        (
            {"gate": {"rule": "any", "factor": 10}},
            [
                "consensus: the `factor` of the gate is 10; the policy wants 50",
                "consensus: the `rule` of the gate is any; the policy wants downside",
            ],
        ),
        ({}, ["consensus: the policy requires `gate`, and it is not stated"]),
    ],
)
def test_a_policy_says_how_a_gate_is_asked(fields, points):
    templates = library.prompt_templates(format="consensus")
    approved = {
        f"consensus.{role}": {"template": sha256(body).hexdigest()}
        for role, body in templates.items()
    }
    signer = Signer("house/approval", generate())
    policy = library.parse_policy(library.approve_policy(signer, {"*": GATED, **approved}))
    spec = write(**fields)
    assert library.not_allowed(policy, spec) == points
    if points:
        with pytest.raises(library.UsageError) as caught:
            library.run_sync(spec, policy=policy)
        assert caught.value.code == "policy.not_allowed"
