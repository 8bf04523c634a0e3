"""The examples from practice: each is written, run as its README.md says, and its page verifies."""

import importlib.util
import json
import re
from importlib.resources import files
from pathlib import Path

import jsonschema
import pypdfium2
import pytest
import yaml
from jsonschema import Draft202012Validator

import hansard as library
from cli_support import files as working_files
from cli_support import only_debate, process
from hansard.cli import starting
from hansard.examples import EXAMPLES
from hansard.installing import install_command
from hansard.rules.model_names import PROVIDERS
from hansard.runtime import documents
from hansard.runtime.inputs import parse_spec
from hansard.runtime.models import google_cloud, provider_rows, providers
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


# `models`: what can be used here, what the others lack, and no key's value

KEY = "sk-planted-and-never-shown"
CLOUD = {google_cloud.PROJECT, google_cloud.LOCATION, "GOOGLE_APPLICATION_CREDENTIALS"}
VARIABLES = {name for row in provider_rows.PROVIDERS.values() for name in (*row.keys, row.variable)}
BARE = dict.fromkeys(
    VARIABLES | CLOUD
)  # a variable of the machine that runs the tests does not count


def listed(hansard, **environ):
    done = hansard("models", "--json", env={**BARE, **environ})
    assert (done.code, done.err) == (0, "")
    return {row["name"]: row for row in json.loads(done.out)["providers"]}


def test_every_provider_of_a_spec_is_listed(hansard):
    found = listed(hansard)
    assert sorted(found) == sorted(PROVIDERS)
    for name in ("scripted", "recorded", "python", "custom"):
        assert (found[name]["usable"], found[name]["missing"], found[name]["extra"]) == (
            True,
            [],
            None,
        )


def test_every_example_can_stand_in_a_spec(hansard):
    for row in listed(hansard).values():
        spec = {"format": "panel", "question": "Shall we?", "model": row["example"]}
        assert {seat.model for seat in parse_spec(spec, "spec").table()} == {row["example"]}


def test_a_provider_without_its_key_is_not_usable_and_says_which(hansard):
    found = listed(hansard)
    assert not found["openai"]["usable"]
    assert any("OPENAI_API_KEY" in row for row in found["openai"]["missing"])
    assert listed(hansard, OPENAI_API_KEY=KEY)["openai"]["usable"]


def test_a_provider_without_its_package_says_how_to_install_it(hansard, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        providers, "find_spec", lambda name: None if name == "anthropic" else real(name)
    )
    found = listed(hansard, ANTHROPIC_API_KEY=KEY, OPENAI_API_KEY=KEY)
    assert found["openai"]["usable"]
    assert not found["anthropic"]["usable"]
    assert found["anthropic"]["missing"] == [install_command("anthropic")]


def test_a_server_of_ones_own_needs_no_key_and_says_where_it_is_asked(hansard):
    found = listed(hansard)["ollama"]
    assert found["usable"]
    assert found["about"] == "127.0.0.1:11434, or OLLAMA_BASE_URL"


def test_one_line_each(hansard):
    done = hansard("models", env=BARE)
    head, *lines = done.out.splitlines()
    assert head.split("  ")[0] == "Model, for example"
    found = listed(hansard)
    assert len(lines) == len(found)
    for line, row in zip(lines, found.values(), strict=True):
        said = row["about"] if row["usable"] else "; ".join(row["missing"])
        words = [word.strip() for word in line.split("  ") if word.strip()]
        assert words == [row["example"], "yes" if row["usable"] else "no", said]


@pytest.mark.parametrize("value", [None, "https://llm.example"])
def test_every_line_fits_80_columns(hansard, value):
    done = hansard("models", env=BARE | dict.fromkeys(VARIABLES, value))
    assert max(len(line.rstrip()) for line in done.out.splitlines()) <= 80


def test_google_cloud_is_looked_for_in_files_alone(hansard, tmp_path, monkeypatch):
    """Its metadata server is not asked, nor its tool run."""
    monkeypatch.setattr(google_cloud, "_MACHINE", tmp_path / "nothing")
    place = {"GOOGLE_CLOUD_PROJECT": "p", "CLOUDSDK_CONFIG": str(tmp_path)}
    found = listed(hansard, **place)["vertex"]
    assert found["missing"] == ["gcloud auth application-default login"]
    (tmp_path / "application_default_credentials.json").write_text("{}")
    assert listed(hansard, **place)["vertex"]["usable"]


def test_json_is_the_document_of_its_schema(hansard):
    schema = json.loads(render("models"))
    found = json.loads(hansard("models", "--json").out)
    assert not list(Draft202012Validator(schema).iter_errors(found))
    assert list(Draft202012Validator(schema).iter_errors({**found, "more": 1}))


@pytest.mark.slow
def test_the_value_of_no_variable_is_shown():
    odd = f"http://{KEY}@127.0.0.1:8000/{KEY}"
    for value in (KEY, f"{KEY}\n", odd, f"ftp://{KEY}"):
        environ = {name: value for name in VARIABLES if "\n" not in value or "KEY" in name}
        for options in ((), ("--json",)):
            done = process("models", *options, **environ)
            assert done.returncode == 0
            assert KEY not in done.stdout + done.stderr


def test_wrong_use(hansard):
    assert hansard("models", "openai").code == 2
    assert "what the others need" in hansard("models", "--help").out
