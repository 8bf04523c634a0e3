"""The commands and examples of README.md and of the documents do what they say."""

import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

import hansard
from hansard import vocabulary
from hansard.api.trust import read_draft
from hansard.export.write import instructions
from hansard.rules.formats import FORMATS
from hansard.runtime.inputs import parse_spec

ROOT = Path(__file__).resolve().parent.parent
PATHS = [ROOT / "README.md", ROOT / "schemas" / "RULES.md", *sorted(ROOT.glob("tools/docs/*.md"))]
PAGES = {path.name: path.read_text(encoding="utf-8") for path in PATHS}
README = PAGES["README.md"]
LANGUAGES = ("console", "python", "yaml")
BLOCK = re.compile(rf"^```({'|'.join(LANGUAGES)})\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# ([\w-]+\.(?:py|yaml))\n")  # such an example is a file of the session
IDS = (
    "0a1b2c3d",
    "1b2c3d4e",
    "2c3d4e5f",
)  # stand for the ids of the debates of a session, in their order
NEW = re.compile(r"^Debate +([0-9a-f]{8})-", re.MULTILINE)
# An example that names it is run by tests/peers/test_documents.py: [dev] does not bring it.
WITH_PEERS = "langgraph"


def blocks(language):
    """The examples in a language, each with the name of its document."""
    return [
        (name, example)
        for name, page in PAGES.items()
        for kind, example in BLOCK.findall(page)
        if kind == language
    ]


SESSIONS = sorted({name for name, _ in blocks("console")})


def as_pattern(expected):
    """A line of nothing but an ellipsis is any number of lines, one within a line any text."""
    lines = [
        r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n"
        for line in expected.splitlines()
    ]
    return "".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", SESSIONS)
def test_the_session_goes_as_shown(name, tmp_path):
    """Each document is read alone, in an empty folder beside `verify.py` of the release."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HANSARD_STORE": f"sqlite:///{tmp_path}/hansard.db",
        "HANSARD_HOME": str(tmp_path / "home"),
    }
    work, where = tmp_path / "work", tmp_path / "where"
    work.mkdir()
    where.write_text(str(work))
    (work / "verify.py").write_bytes(hansard.standalone_verifier().read_bytes())
    real = []

    def shell(command):
        for stand_in, debate in zip(IDS, real, strict=False):
            command = command.replace(stand_in, debate)
        done = subprocess.run(
            ["bash", "-c", f"exec 2>&1; cd {where.read_text()}\n{command}\npwd > {where}"],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        real.extend(row for row in NEW.findall(done.stdout) if row not in real)
        found = done.stdout
        for stand_in, debate in zip(IDS, real, strict=False):
            found = found.replace(debate, stand_in)
        return found

    for kind, example in BLOCK.findall(PAGES[name]):
        if file := NAMED.match(example):
            (work / file[1]).write_text(example, encoding="utf-8")
        for step in re.split(r"^\$ ", example, flags=re.MULTILINE)[1:] if kind == "console" else ():
            command, _, expected = step.partition("\n")
            found = shell(command)
            assert re.fullmatch(as_pattern(expected), found), f"$ {command}\n{found}"


ALONE = [row for row in blocks("python") if WITH_PEERS not in row[1]]


@pytest.mark.parametrize(("name", "example"), ALONE)
def test_the_library_examples_run(name, example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(example, name, "exec"), {"__name__": "example"})


def test_no_example_is_left_out():
    """As many as there are fences: a block that is indented or unclosed would not be run."""
    fences = sum(page.count(f"```{kind}") for page in PAGES.values() for kind in LANGUAGES)
    assert sum(len(blocks(kind)) for kind in LANGUAGES) == fences
    assert len(blocks("python")) == 28


def fitting(schema):
    """A reply that says as little as its schema admits."""
    if schema["type"] == "object":
        return {key: fitting(row) for key, row in schema["properties"].items()}
    if schema["type"] == "array":
        return [fitting(schema["items"])] * schema["minItems"]
    other = {"integer": schema.get("maximum"), "boolean": False, "string": "because"}
    return schema["enum"][0] if "enum" in schema else other[schema["type"]]


POLICIES = [row for name, row in blocks("yaml") if name.startswith("policies")]
GATES = [row for name, row in blocks("yaml") if name.startswith("gate")]
SPECS = [
    (name, row)
    for name, row in blocks("yaml")
    if not (name.startswith(("policies", "gate")) or NAMED.match(row))
]


@pytest.mark.parametrize("example", POLICIES)
def test_the_examples_of_policies_can_be_signed(example):
    assert read_draft(yaml.safe_load(example))


@pytest.mark.parametrize("example", GATES)
def test_the_examples_of_gates_can_be_asked(example, tmp_path):
    (tmp_path / "single.md").write_text("Perhaps.")
    spec = {"format": "panel", "question": "Why?", "model": "python:mine", "judge": {}}
    found = hansard.ask_gate(spec | yaml.safe_load(example), folder=tmp_path)
    assert (found.hedge, found.task_type) == ("perhaps", "contract")


def test_every_format_has_an_example():
    found = [parse_spec(yaml.safe_load(row), name).format for name, row in SPECS]
    assert found == [*FORMATS, "judged"]  # the last with models of several providers


@pytest.mark.parametrize(("name", "example"), SPECS, ids=[*FORMATS, "models"])
def test_the_examples_of_specs_run(name, example):
    offline, seats = re.subn("(?:openai|anthropic):[A-Z-]+", "python:mine", example)
    assert seats
    with hansard.open_store("sqlite:///:memory:") as store:
        result = hansard.run_sync(
            yaml.safe_load(offline),
            models={"mine": lambda request: fitting(request.reply_schema)},
            store=store,
        )
        assert result.status == "complete"
        assert result.decision != "escalate"
        assert hansard.verify(store, result.debate).ok


@pytest.mark.parametrize("command", ["hansard demo", "tools/check --full"])
def test_the_two_commands_are_one_line_each(command):
    lines = [line for line in README.splitlines() if line.startswith("    python3 -m venv ")]
    assert sum(line.endswith(command) for line in lines) == 1


def test_every_command_is_listed():
    from hansard.cli.main import cli

    for name in cli.commands:
        assert f"`hansard {name}" in README or f"`{name} " in README, name


def test_every_public_verb_is_in_the_document_of_the_library():
    verbs = [
        name for name in hansard.__all__ if callable(getattr(hansard, name)) and name.islower()
    ]
    assert "run" in verbs
    assert [name for name in verbs if not re.search(rf"`{name}[`(]", PAGES["library.md"])] == []


def test_the_top_of_the_repository_holds_nothing_else():
    ignored = [row.rstrip("/") for row in (ROOT / ".gitignore").read_text("utf-8").split()]
    names = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    found = {name for name in names if not any(fnmatch(name, row) for row in ignored)}
    wanted = "CHANGELOG.md LICENSE README.md pyproject.toml schemas src tests tools"
    assert found - {"PKG-INFO"} == set(wanted.split())  # of a source distribution


DUTIES = [line.split(" | ") for line in PAGES["duties.md"].splitlines() if line.startswith("| ")][
    1:
]


@pytest.mark.parametrize("row", DUTIES, ids=[row[0][2:20] for row in DUTIES])
def test_each_duty_names_commands_and_sections_that_there_are(row):
    from hansard.cli.main import cli

    duty, part, shown, missing = row
    format_ = (ROOT / "schemas/FORMAT.md").read_text("utf-8")
    sections = set(re.findall(r"(?m)^## ([0-9]+)\.", format_))
    named = set(re.findall(r"§([0-9]+)", part))
    commands = re.findall(r"`hansard ([^`]+)`", shown)
    assert all((duty.strip("| "), len(missing) > 10, named, commands))
    assert named <= sections
    for command, *words in map(str.split, commands):
        found = cli.get_command(None, command)
        assert found, command
        if words and hasattr(found, "commands"):
            assert words[0] in found.commands, (command, words)
        known = {name for option in found.params for name in option.opts}
        assert {word for word in words if word.startswith("--")} <= known, (command, words)


def test_the_duties_promise_nothing():
    page = PAGES["duties.md"]
    assert "complian" not in page.replace("for-compliance.md", "")
    assert all(name in page for name in ("SR 11-7", "SR 26-2", "17 April 2026", "4511", "11.10(e)"))
    assert len(DUTIES) >= 13


def test_what_is_not_proven_stands_in_one_sentence():
    claims = vocabulary.words("claims")
    assert claims["unproven"] in PAGES["README.md"]
    said = instructions().decode()
    assert claims["unproven"] in said
    assert claims["proven"].partition("{")[0] in said
    assert "{{" not in said
