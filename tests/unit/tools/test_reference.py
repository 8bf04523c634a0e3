"""Whatever is public tells what it does, and the reference is built of it."""

import subprocess
import sys
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import click
import pytest
from pydantic import BaseModel, Field

import hansard
from hansard.cli.main import cli

TOOL = Path(__file__).parents[3] / "tools" / "reference"


@pytest.fixture(scope="module")
def reference():
    loader = SourceFileLoader("reference", str(TOOL))
    module = module_from_spec(spec_from_loader("reference", loader))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setitem(sys.modules, "reference", module)
        loader.exec_module(module)
        yield module


def test_every_public_name_and_every_command_tells_all_of_it():
    command = [sys.executable, str(TOOL), "--check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_both_pages_are_written(reference, tmp_path, capsys):
    assert reference.main([str(tmp_path / "new")]) == 0
    library = (tmp_path / "new" / "library.md").read_text()
    for name in set(hansard.__all__) - {"__version__"}:
        assert f"### `{name}`\n" in library, name
    assert "#### `sources.lemmas.debate`\n" in library
    assert "async run(\n    spec: Spec,\n    *,\n" in library
    assert "    format: str = 'consensus',\n" in library
    assert "```pycon\n>>> formats()" in library
    assert "| `question` | `str \\| None` | Null where the text is gone |" in library
    commands = (tmp_path / "new" / "commands.md").read_text()
    for name in cli.commands:
        assert f"## `hansard {name}`\n" in commands
    assert "## `hansard policy approve`\n\n```text\nUsage: hansard policy approve" in commands
    assert max(map(len, commands.splitlines())) <= reference.WIDTH
    assert commands.count("  -h, --help ") == commands.count("Usage: ")


def test_without_a_folder_it_says_how_it_is_used(reference, capsys):
    assert reference.main([]) == 2
    assert "tools/reference DIR" in capsys.readouterr().err


def test_a_function_without_errors_or_an_example_is_found(reference):
    def silent():
        """Return nothing."""

    def told():
        """Return nothing. Never raises.

        >>> told()
        """

    found = reference.gaps({"silent": silent, "told": told, "bare": lambda: None})
    assert list(found) == [
        "silent: does not say what it raises",
        "silent: no example",
        "bare: no docstring",
        "bare: does not say what it raises",
        "bare: no example",
    ]


def test_a_function_of_a_module_is_found_and_of_one_below_it(reference):
    below = ModuleType("hansard.below")
    exec("def silent():\n    'Return nothing.'\n\nclass Kept:\n    pass\n", vars(below))
    assert list(reference.gaps({"below": below})) == [
        "below: no docstring",
        "below.silent: does not say what it raises",
        "below.silent: no example",
    ]
    assert any(name == "lemmas" for name, _ in reference._offered(hansard.sources))


def test_a_member_of_a_class_that_nothing_tells_of_is_found(reference):
    class Row(BaseModel):
        """A row."""

        told: int = Field(description="A number")
        silent: int

    @dataclass
    class Pair:
        """A pair of `one`."""

        one: int
        two: int

    class Bare:
        __module__ = "hansard.bare"

        def act(self):
            pass

    found = reference.gaps({"Row": Row, "Pair": Pair, "Bare": Bare})
    assert list(found) == [
        "Row.silent: no description",
        "Pair.two: not named in the docstring of Pair",
        "Bare: no docstring",
        "Bare.act: no docstring",
    ]


def test_a_command_that_keeps_something_to_itself_is_found(reference):
    @click.group()
    def group():
        """Do."""

    @group.command()
    @click.option("--silent")
    @click.option("--told", help="A word.")
    def act(silent, told):
        """Act."""

    assert list(reference.gaps_of(group, "hansard")) == [
        "hansard act: does not say its exit codes",
        "hansard act --silent: no help",
    ]
