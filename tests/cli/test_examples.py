"""The examples from practice: each is written, run as its README.md says, and its page verifies."""

import json
import re
from importlib.resources import files
from pathlib import Path

import jsonschema
import pypdfium2
import pytest
import yaml

import hansard as library
from cli_support import files as working_files
from cli_support import only_debate
from hansard.cli import starting
from hansard.examples import EXAMPLES
from hansard.installing import install_command
from hansard.runtime import documents
from hansard.schemas import render
from papers import pdf

COMMAND = re.compile("(?m)^    hansard (.+)$")


@pytest.fixture
def played(hansard, monkeypatch):
    """Write an example, follow its README.md in its folder, and return the result as JSON."""

    def play(name):
        done = hansard("init", "mine", "--example", name)
        assert done.code == 0
        assert "hansard run mine/debate.yaml" in done.out
        assert "mine/README.md" in done.out
        monkeypatch.chdir("mine")
        for command in COMMAND.findall(Path("README.md").read_text()):
            words = [only_debate() if word == "ID" else word for word in command.split()]
            done = hansard(*words)
            assert done.code == 0, done.err
        return json.loads(hansard("report", only_debate(), "--as", "json").out)

    return play


def _events():
    with library.open_store("sqlite:///hansard.db") as store:
        return library.read_record(store, only_debate()).events


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_runs_and_its_record_and_page_verify(hansard, played, name):
    found = played(name)
    assert (found["status"], found["scripted"]) == ("complete", True)
    assert found["decision"] != "escalate"
    assert "no model wrote" in Path("README.md").read_text()
    assert hansard("verify", only_debate()).code == 0
    done = hansard("verify", "page.html")
    assert done.code == 0
    assert "\n INTACT " in done.out
    kinds = {event["type"] for event in _events()}
    assert "debate.closed" in kinds
    assert kinds.isdisjoint({"turn.forfeited", "turn.rejected", "call.failed"})


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_spec_fits_the_schema_and_init_help_names_it(hansard, name):
    hansard("init", "mine", "--example", name)
    spec = yaml.safe_load(Path("mine/debate.yaml").read_text())
    jsonschema.validate(spec, yaml.safe_load(render("spec")))
    assert Path("mine/debate.schema.json").read_text() == render("spec")
    assert name in hansard("init", "--help").out


def test_the_contract_clause_cites_pages_and_one_quote_does_not_hold(played):
    found = played("contract-clause")
    assert found["evidence"][0]["source"]["pages"] == 3
    assert found["evidence"][0]["source"]["original"]
    cited = _all(found["rounds"], "finding")
    assert {(row["page"], row["finding"]) for row in cited if row["document"] == "agreement"} == {
        (1, "verified"), (2, "verified"), (3, "verified"), (None, "not_found"),
    }  # fmt: skip
    assert [row["quote"] for row in cited if row["finding"] != "verified"] == [
        "The Customer may terminate for convenience on six months' notice."
    ]
    arguments = found["rounds"][0]["exchanges"][0]["proposition"]["supporting_arguments"]
    assert [row["struck"] for row in arguments] == [False, False, True]
    assert not found["released"]


def _all(value, name):
    """Every mapping with a member of this name, in order."""
    rows = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, dict) and name in value else []
    return own + [row for part in rows for row in _all(part, name)]


def test_the_agreement_is_plain_text_as_the_readme_says():
    """A few lines of Python make the same bytes of the lines that it shows."""
    stored = (files("hansard.examples") / "contract-clause/evidence/agreement.pdf").read_bytes()
    with pypdfium2.PdfDocument(stored) as paper:
        pages = [page.get_textpage().get_text_bounded() for page in paper]
    drawn = [re.findall(rb"\((.*)\) Tj", part) for part in stored.split(b"stream\n")[1::2]]
    lines = [[re.sub(r"\\(.)", r"\1", row.decode()) for row in rows[0].split(b") Tj T* (")]
             for rows in drawn]  # fmt: skip
    assert pdf(*lines) == stored
    assert [" ".join(page.split()) for page in pages] == [
        " ".join(" ".join(rows).split()).replace("'", "’") for rows in lines
    ]


def test_the_release_decision_takes_a_stage_at_a_time(played):
    assert played("release-decision")["decision"] == "staged"


def test_the_research_panel_decides_against_a_dissent(played):
    found = played("research-panel")
    assert (found["decision"], found["decision_rule"]) == ("inconclusive", "majority_vote")
    assert found["vote_tally"] == {"inconclusive": 2, "supported": 1}
    chosen = [row["data"]["vote"] for row in _events() if row["type"] == "turn.recorded"]
    assert chosen[:3] == ["inconclusive", "supported", "not-supported"]
    assert chosen[3:] == ["inconclusive", "supported", "inconclusive"]


def test_without_the_extra_init_and_run_say_what_to_install(hansard, monkeypatch):
    monkeypatch.setattr(starting, "find_spec", lambda name: None)
    monkeypatch.setattr(documents, "find_spec", lambda name: None)
    wide = {"COLUMNS": "300"}
    install = install_command("documents")
    done = hansard("init", "mine", "--example", "contract-clause", env=wide)
    assert f"{install}, because its evidence has a PDF" in done.out
    assert f"    {install}\n" in Path("mine/README.md").read_text()
    done = hansard("run", "mine/debate.yaml", env=wide)
    assert done.code == 2
    assert "spec.missing_extra" in done.err
    assert install in done.err
    done = hansard("init", "other", "--example", "release-decision", env=wide)
    assert "install" not in done.out


def test_with_the_extra_init_does_not_ask_for_it(hansard):
    assert "install" not in hansard("init", "mine", "--example", "contract-clause").out


def test_a_format_and_an_example_are_refused_together(hansard):
    done = hansard("init", "mine", "--format", "panel", "--example", "contract-clause")
    assert done.code == 2
    assert "init.format_and_example" in done.err
    assert working_files() == []
