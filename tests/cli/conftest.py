"""A command line in an empty folder."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from cli_support import only_debate, write_debate
from formats import NAMES
from hansard.cli.main import cli


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test works in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for name in ("HANSARD_STORE", "HANSARD_DEBUG", "FORCE_COLOR", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def hansard():
    """Run a command in this process: exit code, standard output, standard error."""

    def invoke(*args, env=None):
        result = CliRunner(env=env).invoke(cli, [str(arg) for arg in args], prog_name="hansard")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Result(result.exit_code, result.stdout, result.stderr)

    return invoke


@pytest.fixture
def debate(hansard):
    """A debate that was run into hansard.db; its id."""
    write_debate(dict(zip(NAMES, ("release", "revise", "revise"), strict=True)))
    assert hansard("run", "debate.yaml").code == 0
    return only_debate()


@pytest.fixture
def home(folder, monkeypatch):
    """A home of its own, beside the working folder."""
    monkeypatch.setenv("HANSARD_HOME", str(folder.parent / f"{folder.name}-home"))
    monkeypatch.setenv("HANSARD_ORG", "house")
    monkeypatch.delenv("HANSARD_PASSPHRASE", raising=False)
    return Path(os.environ["HANSARD_HOME"])


@pytest.fixture
def ending(hansard, home):
    """Run a command, which must end with `code`; its streams."""

    def invoke(*args, code=0):
        done = hansard(*args)
        assert done.code == code, done
        return done

    return invoke


@pytest.fixture
def zipped(hansard, debate, home):
    """The export of a debate, signed with one's own key."""
    assert hansard("export", debate, "-o", "record.zip").code == 0
    return Path("record.zip")
