"""`estimate`: calls, tokens and cost on one screen, before anything is spent."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import hansard as library
from cli_support import files, process, write_debate, write_format
from formats import NAMES
from hansard.cli.starting import write_example
from hansard.rules.formats import FORMATS
from hansard.schemas import render

VOTES = dict.fromkeys(NAMES, "release")


def rows(out):
    """The lines of the table by their first words, and the remarks by their labels."""
    table, _, remarks = out.partition("\n\n")
    found = {}
    for line in remarks.splitlines():
        label, words = line[:12].strip(), line[12:]
        found.setdefault(label, []).append(words)
    return {
        re.split(r"  +", line)[0]: re.split(r"  +", line)[1:] for line in table.splitlines()
    }, found


@pytest.mark.parametrize("format_", FORMATS)
def test_every_example_has_an_estimate_and_nothing_is_made(hansard, format_):
    write_example(Path("it"), format_)
    before = files()
    done = hansard("estimate", "it/debate.yaml")
    assert (done.code, done.err) == (0, "")
    assert files() == before
    table, remarks = rows(done.out)
    most, least = table["At most"], table["At least"]
    assert int(most[0]) >= int(least[0]) > 0
    assert most[4].startswith("$")
    assert done.out.count("\n") < 24
    assert set(remarks) == {"Scripted", "Model", "Assumed", "Left out"}


def test_the_numbers_are_those_of_the_library(hansard):
    write_format("moderated", max_rounds=2)
    table, remarks = rows(hansard("estimate", "debate.yaml").out)
    found = library.estimate("debate.yaml")
    assert list(table) == [
        "Seat",
        *(seat.id for seat in found.most.seats),
        "At most",
        "Expected",
        "At least",
    ]
    courses = (("At most", found.most), ("Expected", found.expected), ("At least", found.fewest))
    for label, use in courses:
        assert table[label] == [
            str(use.calls),
            f"{use.tokens_in:,}",
            f"{use.tokens_cached:,}",
            f"{use.tokens_out:,}",
            f"${use.cost_micro_usd / 10**6:.4f}",
            f"${use.cost_cached_micro_usd / 10**6:.4f}",
        ]
    moderator = next(seat for seat in found.most.seats if seat.id == "moderator")
    assert table["moderator"][:2] == ["moderator", str(moderator.calls)]
    (model,) = remarks["Model"]
    assert model.startswith("scripted:replies.yaml: framer, proposer, critic, rebuttal, moderator,")
    assert model.endswith("; $2 in, $2 cached, $8 out per million tokens (as the model states)")
    assert "retries (up to 20 calls)" in remarks["Left out"][0]
    assert "weak critiques" in remarks["Left out"][0]


def test_json_is_the_document_of_its_schema(hansard):
    write_format("panel")
    done = hansard("estimate", "debate.yaml", "--json")
    found = json.loads(done.out)
    schema = json.loads(render("estimate"))
    assert not list(Draft202012Validator(schema).iter_errors(found))
    assert list(Draft202012Validator(schema).iter_errors(found | {"more": 1}))
    assert found == library.estimate("debate.yaml").model_dump(mode="json")


def test_each_model_is_named_with_its_seats_and_whose_price_it_is(hansard):
    write_format(
        "moderated",
        synthesizer=False,
        models={"strong": "openai:gpt-4o-mini", "other": "ollama:qwen3"},
        model="scripted:replies.yaml",
        proposer={"model": "strong"},
        critic={"model": "strong"},
        moderator={"model": "other"},
        prices={"scripted:replies.yaml": {"input": "1", "cached": "0.25", "output": "2.50"}},
    )
    table, remarks = rows(hansard("estimate", "debate.yaml").out)
    own, listed, unknown = remarks["Model"]
    assert own == (
        "scripted:replies.yaml: framer, rebuttal; "
        "$1 in, $0.25 cached, $2.5 out per million tokens (as the spec says)"
    )
    assert listed.startswith("openai:gpt-4o-mini: proposer, critic; $")
    assert re.search(r"\(genai-prices/[0-9.]+\)$", listed)
    assert unknown == (
        "ollama:qwen3: moderator; its price is unknown; state it (0 if it is free): "
        'prices: {"ollama:qwen3": {input: "2.50", output: "10.00"}}'
    )
    assert table["moderator"][-2:] == table["At most"][-2:] == ["–", "–"]
    assert table["critic"][-1].startswith("$")


def test_what_it_says_of_a_price_can_be_pasted_into_the_spec(hansard):
    write_format("panel", model="ollama:qwen3")
    _, remarks = rows(hansard("estimate", "debate.yaml").out)
    stated = re.search("prices: .*", remarks["Model"][0])[0]
    spec = Path("debate.yaml")
    spec.write_text(spec.read_text() + stated + "\n")
    table, remarks = rows(hansard("estimate", "debate.yaml").out)
    assert table["At most"][-1].startswith("$")
    assert remarks["Model"][0].endswith("(as the spec says)")


def test_a_dearest_tier_is_said(hansard):
    write_format("panel", model="google:gemini-2.5-pro", rounds=60)  # prompts may grow long
    _, remarks = rows(hansard("estimate", "debate.yaml").out)
    assert remarks["Model"][0].endswith(", its dearest tier)")


@pytest.mark.parametrize(
    ("limits", "sentences"),
    [
        ({"calls": 1}, ["calls, 1: in the worst case it would stop after about 1 call"]),
        ({"tokens": 2000}, ["tokens, 2,000: in the worst case it would stop after about 0 calls"]),
        (
            {"cost_usd": "0.02"},
            ["cost, $0.0200: in the worst case it would stop after about 0 calls"],
        ),
        ({"calls": 99, "seconds": 30}, ["seconds, 30: time is not estimated"]),
        ({"calls": 99}, []),
    ],
)
def test_ceilings_that_would_be_met(hansard, limits, sentences):
    prices = {"scripted:replies.yaml": {"input": "2", "output": "8"}}
    write_debate(VOTES, limits=limits, prices=prices)
    _, remarks = rows(hansard("estimate", "debate.yaml").out)
    found = [row for row in remarks.get("Ceiling", []) if "in the best case" not in row]
    assert found == sentences


def test_the_fewest_calls_may_meet_a_ceiling_too(hansard):
    write_debate(VOTES, limits={"calls": 2})
    _, remarks = rows(hansard("estimate", "debate.yaml").out)
    after = "it would stop after about 2 calls"
    assert remarks["Ceiling"] == [
        f"calls, 2: in the worst case {after}",
        f"calls, 2: in the best case {after}",
    ]


def test_functions_of_python_are_not_needed(hansard):
    seats = [{"id": name, "model": f"python:{name}"} for name in NAMES]
    write_debate(VOTES, debaters=seats, tools=["look_up"], tool_rounds=2)
    done = hansard("estimate", "debate.yaml")
    assert done.code == 0
    _, remarks = rows(done.out)
    assert "Scripted" not in remarks
    assert len(remarks["Model"]) == 3
    said = "tools and their rounds (up to 48 calls); the definitions of look_up"
    assert said in remarks["Left out"][0]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"evidence": ["nowhere.md"]}, "spec.evidence_missing"),
        ({"treshold": 2}, "spec.unknown_field"),
        ({"limits": {"cost_usd": "1"}}, "spec.price_unknown"),
    ],
)
def test_a_spec_that_cannot_be_run_is_refused_alike(hansard, fields, code):
    write_debate(VOTES, **fields)
    done = hansard("estimate", "debate.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err == hansard("run", "debate.yaml").err
    assert done.err.endswith(f"[{code}]\n")


def test_no_key_is_needed_and_none_is_shown():
    write_format("panel", model="openai:gpt-4o-mini")
    key = "sk-planted-and-never-shown"
    for environ in ({}, {"OPENAI_API_KEY": key, "ANTHROPIC_API_KEY": key}):
        done = process("estimate", "debate.yaml", **environ)
        assert (done.returncode, done.stderr) == (0, "")
        assert key not in done.stdout


def test_help_says_what_is_not_done(hansard):
    words = " ".join(hansard("estimate", "--help").out.split())
    assert "No model is called, no key is needed, and nothing is recorded." in words
    assert "Exit codes: 0 estimated" in words


def test_a_question_and_documents_stand_in_place_of_those_of_the_spec(hansard, tmp_path):
    spec = write_debate(VOTES)
    (tmp_path / "long.md").write_text("Words of a document. " * 500)
    plain = json.loads(hansard("estimate", spec, "--json").out)
    more = hansard("estimate", spec, "--json", "--evidence", tmp_path / "long.md")
    asked = hansard("estimate", spec, "--json", "--question", "Do we? " * 500)
    for done in (more, asked):
        found = json.loads(done.out)
        assert found["most"]["calls"] == plain["most"]["calls"]
        assert found["fewest"]["tokens_in"] > plain["fewest"]["tokens_in"] + 800
    assert hansard("estimate", spec, "--question", "").code == 2


def test_an_estimate_shows_itself_in_one_line():
    spec = {"format": "panel", "question": "Why?", "agents": 2, "rounds": 1, "model": "python:a"}
    shown = repr(library.estimate(spec))
    assert re.fullmatch(
        r"<Estimate panel: at most 4 calls, [\d,]+ tokens in, [\d,]+ out, cost unknown>", shown
    )
    priced = {**spec, "prices": {"python:a": {"input": "1", "output": "100"}}}
    assert re.search(r", \$0\.\d{4}>$", repr(library.estimate(priced)))
