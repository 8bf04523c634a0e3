"""`models`: what can be used here, what the others lack, and no key's value."""

import importlib.util
import json

import pytest
from jsonschema import Draft202012Validator

from cli_support import process
from hansard.installing import install_command
from hansard.rules.model_names import PROVIDERS
from hansard.runtime.inputs import parse_spec
from hansard.runtime.models import google_cloud, provider_rows, providers
from hansard.schemas import render

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
