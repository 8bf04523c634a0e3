"""The command that installs an extra works for however this package was installed (PEP 610)."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, PathDistribution

import pytest

from hansard import installing
from hansard.installing import command_for, install_command

METADATA = """\
Metadata-Version: 2.4
Name: hansard
Version: 0.1.0
Requires-Dist: click<9,>=8
Requires-Dist: jsonschema<5,>=4.21; extra == "schema"
Requires-Dist: pydantic-ai-slim[openai]>=2.68; extra == 'openai'
Provides-Extra: openai
"""


@pytest.fixture
def installed(tmp_path):
    def install(origin=None):
        info = tmp_path / "site" / "hansard-0.1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(METADATA)
        if origin is not None:
            (info / "direct_url.json").write_text(json.dumps(origin))
        return PathDistribution(info)

    return install


def test_from_an_index(installed):
    assert command_for("openai", installed()) == "pip install 'hansard[openai]'"


@pytest.mark.parametrize(
    ("editable", "edits"), [(True, ["-e"]), (False, [])], ids=["editable", "copied"]
)
@pytest.mark.parametrize("name", ["clone", "my clone's"])
def test_from_a_clone(installed, tmp_path, editable, edits, name):
    clone = tmp_path / name
    clone.mkdir()
    origin = {"url": clone.as_uri(), "dir_info": {"editable": True} if editable else {}}
    found = command_for("openai", installed(origin))
    assert shlex.split(found) == ["pip", "install", *edits, f"{clone}[openai]"]


def test_from_a_wheel_on_disk(installed, tmp_path):
    wheel = tmp_path / "hansard-0.1.0-py3-none-any.whl"
    wheel.touch()
    origin = {"url": wheel.as_uri(), "archive_info": {"hash": "sha256=00"}}
    found = shlex.split(command_for("openai", installed(origin)))
    assert found == ["pip", "install", f"hansard[openai] @ {wheel.as_uri()}"]


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://user:secret@example.org/hansard.whl", "https://example.org/hansard.whl"),
        ("https://token@example.org/hansard.whl", "https://example.org/hansard.whl"),
    ],
)
def test_from_an_address_whose_password_is_nobodys(installed, url, kept):
    origin = {"url": url, "archive_info": {}}
    assert command_for("openai", installed(origin)) == f"pip install 'hansard[openai] @ {kept}'"


def test_from_a_repository(installed):
    origin = {
        "url": "ssh://git@example.org/hansard.git",
        "vcs_info": {"vcs": "git", "commit_id": "abc"},
        "subdirectory": "py",
    }
    found = shlex.split(command_for("otel", installed(origin)))
    source = "git+ssh://git@example.org/hansard.git@abc#subdirectory=py"
    assert found == ["pip", "install", f"hansard[otel] @ {source}"]


@pytest.mark.parametrize("name", ["gone", "line\nfeed"])
def test_what_is_gone_or_cannot_be_written_in_a_line_is_named_by_what_it_needs(
    installed, tmp_path, name
):
    if name != "gone":
        (tmp_path / name).mkdir()
    origin = {"url": (tmp_path / name).as_uri(), "dir_info": {"editable": True}}
    found = command_for("openai", installed(origin))
    assert found == "pip install 'pydantic-ai-slim[openai]>=2.68'"


def test_here_it_is_the_command_of_this_installation(monkeypatch, installed):
    found = installed()
    monkeypatch.setattr(installing, "distribution", lambda name: found)
    assert install_command("schema") == "pip install 'hansard[schema]'"


def test_without_an_installation_it_is_that_of_an_index(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(installing, "distribution", missing)
    assert install_command("schema") == "pip install 'hansard[schema]'"
