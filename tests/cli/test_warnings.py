"""What a spec is warned of: from one table, in the same words, before any money is spent."""

import json
import warnings
from contextlib import suppress
from pathlib import Path
from typing import get_args

import jsonschema
import pytest

import hansard as library
from cli_support import write_debate, write_format
from formats import NAMES, STANCES
from hansard import vocabulary
from hansard.report.notes import NoteCode
from hansard.runtime.warned import WarningCode
from hansard.schemas import render
from papers import docx, pdf

SAME = {"model": "openai:gpt-4o"}
PRICE = {"prices": {"openai:gpt-4o": {"input": "1", "output": "2"}}}
UNPRICED = {"model": "openai:of-nobody"}
NAMED = {"review": "Ada"}
CASES = {
    "unnamed_review": (
        "panel",
        {"review": None},
        "Nobody is named who must look if the debate ends in `escalate`: name somebody under `review`",  # noqa: E501
    ),
    "low_threshold": (
        "consensus",
        {"threshold": 1},
        "The threshold of 1 is not more than half of the 3 debaters",
    ),
    "many_rounds": (
        "judged",
        {"max_rounds": 5},
        "This debate allows 5 rounds; above 4, debaters tend to give in to each other",
    ),
    "theatre": (
        "consensus",
        {"debaters": [{"id": name} for name in NAMES], **SAME, **PRICE},
        "planner, critic, operator use the same model (openai:gpt-4o) without personas, so their agreement means little",  # noqa: E501
    ),
    "single_model": (
        "moderated",
        {**SAME, **PRICE, "moderator": {"model": "scripted:replies.yaml"}, "synthesizer": False},
        "proposer and its critic critic use the same model (openai:gpt-4o), so they share blind spots",  # noqa: E501
    ),
    "self_bias": (
        "judged",
        {"debaters": [row | SAME for row in STANCES], "judge": {"model": "openai:gpt-4.1"}}
        | {"prices": PRICE["prices"] | {"openai:gpt-4.1": {"input": "1", "output": "2"}}},
        "judge and those it judges (ann, bob) use models of the same family (gpt), so it may favour them",  # noqa: E501
    ),
    "custom_seats": (
        "judged",
        {"judge": {"model": "custom:mine"}, "context": "We sell."},
        "Custom functions fill judge; persona, instructions, context and tools do not reach them",
    ),
    "against_gate": (
        "judged",
        {"gate": {"rule": "any"}},
        "The gate does not advise this debate: none of the conditions is met",
    ),
    "no_ceiling": (
        "moderated",
        {"framer": UNPRICED},
        "No ceiling on cost is tested, because the price of openai:of-nobody is not known",
    ),
    "nothing_to_cite": (
        "moderated",
        {"require_cited_critique": True, "evidence": []},
        "Critiques are to cite the evidence (`require_cited_critique`), but there is none, so none is sent back for that",  # noqa: E501
    ),
    "blank_pages": (
        "moderated",
        {"evidence": ["paper.pdf"]},
        "1 of 2 pages of paper hold no text: if they are scans, run OCR on the file first",
    ),
    "unread_parts": (
        "moderated",
        {"evidence": ["letter.docx"]},
        "letter has simple fields, ruby, whose text the models do not see: save it as PDF, and give that",  # noqa: E501
    ),
    "price_unknown": (
        "judged",
        {"judge": UNPRICED},
        "The price of openai:of-nobody is not known, so neither is the cost: state it under `prices` (0 if it is free)",  # noqa: E501
    ),
}


class Stopped(Exception):
    """Raised in place of the first call."""


class Model:
    """A provider's model, or a function, that is never heard."""

    price = None

    async def complete(self, request):
        raise Stopped


@pytest.fixture
def stopped(monkeypatch):
    """Providers' models are found whatever they are, and the first call ends the debate."""
    monkeypatch.setattr("hansard.runtime.seats.open_model", lambda *_: Model())
    monkeypatch.setattr("hansard.runtime.models.scripted.ScriptedModel.complete", Model.complete)


def write(code):
    """Write a spec that draws this warning; return its words."""
    Path("paper.pdf").write_bytes(pdf(["One."], []))
    Path("letter.docx").write_bytes(docx("One.", "<w:p><w:fldSimple/><w:ruby/></w:p>"))
    format_, fields, words = CASES[code]
    fields = NAMED | fields
    if format_ == "consensus":
        write_debate(dict.fromkeys(NAMES, "release"), **fields)
    else:
        write_format(format_, **fields)
    return words


def test_every_warning_has_a_case_and_a_sentence():
    assert [*CASES] == [*get_args(WarningCode)]
    own = vocabulary.table("warnings")
    assert not own.keys() & {*get_args(NoteCode)}
    assert own.keys() | {*get_args(NoteCode)} >= CASES.keys()
    assert own.keys() <= CASES.keys()


@pytest.mark.parametrize("code", CASES)
def test_a_warning_stands_everywhere_in_the_same_words(hansard, stopped, code):
    words = write(code)
    found = json.loads(hansard("estimate", "debate.yaml", "--json").out)
    jsonschema.validate(found, json.loads(render("estimate")))
    told = {row["code"]: row["message"] for row in found["warnings"]}
    assert told[code] == words
    assert library.estimate("debate.yaml").warnings[0].code == found["warnings"][0]["code"]
    shown = [f"{'Warning':<12}{row['message']}" for row in found["warnings"]]
    lines = hansard("estimate", "debate.yaml").out.splitlines()
    assert [line for line in lines if line.startswith("Warning")] == shown
    if code != "custom_seats":  # a function is not passed on the command line
        done = hansard("run", "debate.yaml")
        assert done.err.splitlines()[: len(shown)] == shown
    with pytest.warns(library.SpecWarning) as warned, suppress(library.SeatError):
        library.run_sync("debate.yaml", models={"mine": Model()})
    assert [(row.message.code, str(row.message)) for row in warned] == [
        (row["code"], row["message"]) for row in found["warnings"]
    ]
    assert {row.filename for row in warned} == {__file__}


def test_a_spec_without_faults_draws_none(hansard):
    seats = [{"id": n, "model": "scripted:replies.yaml", "persona": f"You are {n}."} for n in NAMES]
    write_debate(dict.fromkeys(NAMES, "release"), debaters=seats, **NAMED)
    assert json.loads(hansard("estimate", "debate.yaml", "--json").out)["warnings"] == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library.run_sync("debate.yaml")
    assert "Warning" not in hansard("run", "debate.yaml").err


def test_what_was_warned_of_is_noted_in_the_record_and_the_exit_code_is_the_same(hansard):
    write_debate(dict.fromkeys(NAMES, "release"), threshold=1)
    done = hansard("run", "debate.yaml", "--json")
    assert done.code == 0
    review, threshold = done.err.splitlines()[:2]
    assert review.startswith("Warning     Nobody is named")
    assert threshold == "Warning     The threshold of 1 is not more than half of the 3 debaters"
    notes = {row["code"]: row["message"] for row in json.loads(done.out)["notes"]}
    assert threshold.endswith(notes["low_threshold"])


def test_it_comes_before_anything_is_recorded_or_asked(hansard):
    write_debate(dict.fromkeys(NAMES, "release"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", library.SpecWarning)
        with pytest.raises(library.SpecWarning) as raised:
            library.run_sync("debate.yaml", store="sqlite:///own.db")
    assert raised.value.code == "unnamed_review"
    assert library.list_debates(library.open_store("sqlite:///own.db")).debates == ()
