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


# `gate --record`: the record of a gate, and what every other command says of it

REFUSED = "[record.gate]"


@pytest.fixture
def asked(hansard):
    """The id of a record in which only the gate was asked."""
    spec = write_debate(AGREED, requester="Ann Lee", labels=["b", "a"], task_type="security")
    done = hansard("gate", spec, "--record")
    assert done.code == 3
    (row,) = listed(hansard)
    assert row["debate"] in done.err
    assert f"hansard outcome {row['debate'][:8]} --label LABEL" in done.err
    return row["debate"]


@pytest.mark.parametrize("command", ["show", "review"])
def test_a_question_of_many_lines_adds_none_to_what_is_said_of_the_gate(hansard, command):
    spec = write_debate(AGREED, question="Shall we?\nDecision    release, approved by all")
    assert hansard("gate", spec, "--record").code == 3
    words = ("--outcome", "approved", "--reviewer", "Bo", "--yes") if command == "review" else ()
    done = hansard(command, listed(hansard)[0]["debate"], *words)
    assert done.code == 0
    assert "Shall we? Decision release, approved by all\n" in done.out + done.err
    assert (done.out + done.err).count("\nDecision ") == 1


def listed(hansard):
    return json.loads(hansard("list", "--json").out)["debates"]


def test_nothing_is_recorded_unless_it_is_asked_for(hansard):
    assert hansard("gate", write_debate(AGREED)).code == 3
    assert hansard("list").code == 2  # there is no store


def test_what_cannot_be_asked_is_not_recorded(hansard):
    spec = write_debate(AGREED)
    assert hansard("gate", spec, "--record", "--confidence", "2").code == 2
    assert hansard("list").code in (0, 2)
    assert "gate" not in hansard("list").out


def test_it_is_recorded_where_the_store_is(hansard, tmp_path):
    url = f"sqlite:///{tmp_path / 'other.db'}"
    spec = write_debate(AGREED, gate={"downside": 9, "threshold": 0})
    done = hansard("gate", spec, "--record", "--json", "--store", url)
    found = json.loads(done.out)
    assert (done.code, found["advised"], found["entries"]) == (0, True, 1)
    jsonschema.validate(found, json.loads(render("gate-record")))
    row = json.loads(hansard("list", "--json", "--store", url).out)["debates"][0]
    assert (row["debate"], row["state"], row["advised"]) == (found["debate"], "gate", True)
    assert "A debate is advised" in hansard("list", "--store", url).out


def test_show_says_what_was_answered_and_that_nothing_was_decided(hansard, asked):
    done = hansard("show", asked[:8])
    assert done.code == 0
    for words in (
        "Shall we release?",
        "a debate is not advised: the downside is not large enough, or not known",
        "met: the task type is security",
        "Ann Lee",
        "nobody answers for this result",
        "a, b",
        "1 entry, as recorded",
        "only the gate was asked: no debate was held, and nothing was decided",
    ):
        assert words in done.out
    assert "No debate is advised" in hansard("list").out


def test_outcomes_and_holds_are_recorded_on_it(hansard, asked):
    assert hansard("outcome", asked, "--label", "wrong", "--note", "It cost us.").code == 0
    assert hansard("outcome", asked, "--label", "late", "--sign").code == 0
    assert hansard("hold", asked, "--reason", "An audit.").code == 0
    assert hansard("hold", asked).code == 2
    shown = hansard("show", asked).out
    assert "wrong: It cost us. (unsigned)" in shown
    assert "late (signed by the key" in shown
    assert "a hold stands" in shown
    found = json.loads(hansard("report", asked, "--as", "json").out)
    assert [row["label"] for row in found["reviewed"]["outcomes"]] == ["wrong", "late"]
    jsonschema.validate(found, json.loads(render("gate-record")))


def test_a_review_is_shown_what_it_signs_and_releases_nothing(hansard, asked):
    done = hansard("review", asked, "--outcome", "approved", "--reviewer", "Bo", "--yes")
    assert done.code == 0
    assert "only the gate was asked" in done.err
    assert "review: approved: Bo" in done.err
    words = ("--outcome", "conditions", "--condition", "Ask again.", "--reviewer", "Bo", "--yes")
    assert hansard("review", asked, *words).code == 0
    assert "Ask again." in hansard("show", asked).out
    done = hansard("status", asked)
    assert done.code == 3
    assert "NO: there is nothing to act on" in done.out
    done = hansard("status", asked, "--json")
    assert (done.code, json.loads(done.out)["released"]) == (3, False)


def test_a_review_is_signed_away_from_the_store_and_taken_in(hansard, asked):
    assert hansard("export", asked, "-o", "it.zip").code == 0
    words = ("--outcome", "remanded", "--comment", "Ask again.", "--reviewer", "Bo", "--yes")
    done = hansard("review", "it.zip", *words, "-o", "review.json")
    assert done.code == 0
    assert "only the gate was asked" in done.err
    done = hansard("review", asked, "--import", "review.json")
    assert done.code == 0
    assert "review: sent back" in done.err
    assert "--remand" not in done.err  # there is no debate to be held again
    done = hansard("status", asked)
    assert (done.code, "--remand" in done.out) == (3, False)
    assert hansard("verify", asked).code == 0
    done = hansard("review", asked, "--import", "review.json")
    assert (done.code, "[review.recorded]" in done.err) == (2, True)


def test_a_gate_whose_label_is_the_id_of_a_debate_does_not_go_back_to_it(hansard):
    debate = json.loads(hansard("run", write_debate(AGREED), "--json").out)["debate"]
    assert hansard("gate", write_debate(AGREED, labels=[debate]), "--record").code == 3
    assert hansard("status", debate).code == 0
    with library.open_store("sqlite:///hansard.db") as store:
        assert library.remands_of(store, debate) == ()


@pytest.mark.parametrize(
    "words",
    [
        ("report",),
        ("report", "--as", "markdown"),
        ("report", "--as", "source"),
        ("replay",),
        ("replay", "--unverified"),
        ("resume",),
        ("stop",),
        ("show", "--prompt", "r1.proposal.planner:1"),
        ("run", "debate.yaml", "--follow-up"),
        ("run", "debate.yaml", "--remand"),
    ],
)
def test_what_needs_a_debate_is_refused_in_one_sentence(hansard, asked, words):
    done = hansard(*words, asked)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        (
            f"error: record {asked[:8]} is that of a gate: no debate was held; `hansard show "
            f"{asked[:8]}` says what was answered {REFUSED}"
        )
    ]
    assert listed(hansard)[0]["state"] == "gate"


def test_its_replies_cannot_be_given_again(hansard, asked):
    write_debate(AGREED, debaters=[{"id": n, "model": f"recorded:{asked}"} for n in NAMES])
    done = hansard("run", "debate.yaml")
    assert done.code == 2
    assert REFUSED in done.err


def test_it_is_verified_exported_and_shown_as_a_page(hansard, asked):
    assert hansard("outcome", asked, "--label", "wrong").code == 0
    assert hansard("verify", asked).code == 0
    for command, file in (("export", "it.zip"), ("page", "it.html")):
        assert hansard(command, asked, "-o", file).code == 0
        done = hansard("verify", file)
        assert (done.code, "INTACT" in done.out) == (0, True)
        assert "only the gate was asked: there is no decision to check" in done.out
        assert "wrong (unsigned)" in hansard("show", file).out
        assert hansard("status", file).code == 3
    assert hansard("verify", asked, "--require-policy").code == 1


def test_in_the_library_the_answer_names_its_record(asked):
    spec = write_debate(AGREED, task_type="security")
    url = "sqlite:///hansard.db"
    found = library.ask_gate(spec, store=url)
    assert isinstance(found, library.GateRecord)
    plain = library.ask_gate(spec)
    assert not isinstance(plain, library.GateRecord)
    assert {**found.model_dump(), **plain.model_dump()} == found.model_dump()
    noted = library.note_outcome(found.debate, "right", store=url, note="It held.")
    assert isinstance(noted, library.GateRecord)
    assert [row.note for row in noted.reviewed.outcomes] == ["It held."]
    with library.open_store(url) as store:
        assert [row.state for row in library.list_debates(store).debates] == ["gate", "gate"]
        record = library.read_record(store, found.debate)
        assert record.gate() == record.standing() == noted
        for refused in (record.result, record.replay, lambda: record.prompt("r1.x.y:1")):
            with pytest.raises(library.UsageError) as caught:
                refused()
            assert caught.value.code == "record.gate"
