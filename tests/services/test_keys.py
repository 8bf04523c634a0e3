"""Keys stay where they are: nothing that is kept, printed or raised holds one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hansard.errors import UsageError
from hansard.runtime.models.pydantic_ai import open_model
from services.server import KEY, SEATS, Raw, completion


def write_spec(folder):
    spec = {
        "question": "Do we release?",
        "options": ["release", "revise"],
        "threshold": 2,
        "max_rounds": 1,
        "attempts": 2,
        "debaters": [{"id": seat, "model": f"openai:{seat}"} for seat in SEATS],
    }
    (folder / "debate.yaml").write_text(yaml.safe_dump(spec))


def hansard(folder, *arguments, **environ):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "hansard", *arguments],
        cwd=folder,
        env={**os.environ, "OPENAI_LOG": "debug", **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def leaks(folder, *outputs, key=KEY):
    texts = [text.encode() for text in outputs]
    texts += [path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()]
    return [text for text in texts if key.encode() in text]


TEXT = '{"stance": "s", "rationale": "r", "vote": "release"}'
ECHO = f'{{"error": {{"message": "Incorrect API key provided: {KEY}.", "code": "{KEY}"}}}}'.encode()
SERVERS = {
    "well": lambda body: completion(TEXT),
    "refused key": lambda body: Raw(401, ECHO, {"x-request-id": "req"}),
    "rate limit": lambda body: Raw(429, ECHO),
    "down": lambda body: Raw(500, ECHO),
    "garbage": lambda body: Raw(200, ECHO),
    "hang-up": lambda body: Raw(body=None),
}


@pytest.mark.parametrize("case", SERVERS)
def test_a_run_leaves_no_key_anywhere(tmp_path, serve, case):
    server = serve(SERVERS[case])
    write_spec(tmp_path)
    done = hansard(tmp_path, "run", "debate.yaml")
    assert done.returncode == 0, done.stderr
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert leaks(tmp_path, done.stdout, done.stderr) == []
    assert "Traceback" not in done.stderr


def test_a_key_in_the_address_stays_there_too(tmp_path, serve):
    server = serve(lambda body: Raw(403, b"{}"))
    write_spec(tmp_path)
    address = server.url.replace("http://", f"http://user:{KEY}@")
    done = hansard(tmp_path, "run", "debate.yaml", OPENAI_BASE_URL=address, OPENAI_LOG="")
    assert done.returncode == 0
    assert len(server.raw) == 12
    assert leaks(tmp_path, done.stdout, done.stderr) == []


BAD = {
    "no key": ({}, "model.no_key"),
    "empty": ({"OPENAI_API_KEY": " ", "OPENAI_BASE_URL": " "}, "model.no_key"),
    "broken key": ({"OPENAI_API_KEY": f"{KEY}\nx"}, "model.bad_key"),
    "no key of this world": ({"OPENAI_API_KEY": f"{KEY}é"}, "model.bad_key"),
    "no scheme": ({"OPENAI_BASE_URL": f"{KEY}:8000/v1"}, "model.base_url"),
    "no host": ({"OPENAI_BASE_URL": f"http:///{KEY}"}, "model.base_url"),
    "a file": ({"OPENAI_BASE_URL": f"file:///{KEY}"}, "model.base_url"),
    "no port": ({"OPENAI_BASE_URL": "http://localhost:65536/v1"}, "model.base_url"),
    "a query": ({"OPENAI_BASE_URL": f"http://localhost/v1?key={KEY}"}, "model.base_url"),
    "no address": ({"OPENAI_BASE_URL": f"http://localhost:{KEY}/v1"}, "model.base_url"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_setting_that_cannot_work_is_refused_without_being_quoted(case):
    environ, code = BAD[case]
    with pytest.raises(UsageError) as caught:
        open_model("m", environ)
    assert caught.value.code == code
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_refused_before_anything_is_recorded(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    write_spec(tmp_path)
    done = hansard(tmp_path, "run", "debate.yaml")
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "hansard.db").exists() or hansard(tmp_path, "list").stdout.strip() == ""


def test_a_server_of_ones_own_needs_no_key(serve, monkeypatch, table):
    server = serve(lambda body: completion(TEXT))
    monkeypatch.delenv("OPENAI_API_KEY")
    table.run()
    assert server.headers[0]["authorization"] == "Bearer none"
    assert table.verified().ok


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("http://localhost:11434/v1", "max_tokens"),
        ("https://openai.com.example/v1", "max_tokens"),
    ],
)
def test_the_reply_cap_is_named_as_the_endpoint_knows_it(address, name):
    model = open_model("m", {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": address})
    assert model._cap == name


def test_the_package_is_imported_only_when_used_and_missed_by_name(tmp_path):
    """Without the extra everything else works, and the sentence says what to install."""
    (tmp_path / "openai.py").write_text("raise ImportError('not here')\n")
    write_spec(tmp_path)
    done = hansard(tmp_path, "run", "debate.yaml", PYTHONPATH=str(tmp_path), OPENAI_API_KEY=KEY)
    assert done.returncode == 2
    assert "pip install 'hansard[openai]'" in done.stderr
    assert "Traceback" not in done.stderr
    loaded = (
        "import hansard, hansard.cli.main, sys; print({'pydantic_ai', 'openai'} & {*sys.modules})"
    )
    run = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "set()"
