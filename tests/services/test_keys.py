"""Keys stay where they are: nothing that is kept, printed or raised holds one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from hansard.errors import UsageError
from hansard.installing import install_command
from hansard.record.bundle import pack, to_files
from hansard.rules.model_names import key_variable
from hansard.runtime.models import client
from hansard.runtime.models.base import ModelError
from hansard.runtime.models.provider_rows import PROVIDERS
from hansard.runtime.models.providers import open_model
from hansard.store.application import Store
from instant import GUARD
from services.asking import ask, asked
from services.block_dialects import BLOCKS, SHAPES, TOKEN
from services.dialects import CHAT, LOCAL, RESPONSES
from services.server import KEY, SEATS, Raw, Server


def write_spec(folder, provider="openai", **more):
    spec = {
        "question": "Do we release?",
        "options": ["release", "revise"],
        "threshold": 2,
        "max_rounds": 1,
        "attempts": 1,
        "debaters": [{"id": seat, "model": f"{provider}:{seat}"} for seat in SEATS],
    }
    (folder / "debate.yaml").write_text(yaml.safe_dump(spec | more))


def hansard(folder, *arguments, **environ):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "hansard", *arguments],
        cwd=folder,
        env={**os.environ, "OPENAI_LOG": "debug", **environ},
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
    )


def leaks(folder, *outputs, key=KEY):
    texts = [text.encode() for text in outputs]
    texts += [path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()]
    return [text for text in texts if key.encode() in text]


TEXT = '{"stance": "s", "rationale": "r", "vote": "release"}'
ECHO = f'{{"error": {{"message": "Incorrect API key provided: {KEY}.", "code": "{KEY}"}}}}'.encode()
NO_WAIT = {"retry-after": "0"}
FAILING = {
    "refused key": Raw(401, ECHO, {"x-request-id": "req"}),
    "rate limit": Raw(429, ECHO, NO_WAIT),
    "down": Raw(500, ECHO, NO_WAIT),
    "garbage": Raw(200, ECHO),
    "cut off": Raw(200, ECHO, cut=9),
    "hang-up": Raw(body=None),
}
# Where each provider's key and address are found.
HELD = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "openai-responses": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "vllm": ("VLLM_API_KEY", "VLLM_BASE_URL"),
    "ollama": ("OLLAMA_API_KEY", "OLLAMA_BASE_URL"),
    "mistral": ("MISTRAL_API_KEY", "MISTRAL_BASE_URL"),
    "openrouter": ("OPENROUTER_API_KEY", "OPENROUTER_BASE_URL"),
}
RUNS = [
    ("openai", None),
    ("openai-responses", "refused key"),
    ("vllm", None),
    ("openai", "cut off"),
    ("mistral", "refused key"),
    ("openrouter", "garbage"),
]


@pytest.mark.parametrize(("provider", "failing"), RUNS)
def test_a_run_leaves_no_key_anywhere(tmp_path, serve, provider, failing):
    said = RESPONSES.said if provider == "openai-responses" else CHAT.said
    server = serve(lambda body: FAILING[failing] if failing else said(TEXT))
    write_spec(tmp_path, provider, retry_seconds=1)  # a server that fails is not waited for
    key, address = HELD[provider]
    held = {"OPENAI_API_KEY": "sk-other", "OPENAI_BASE_URL": "", key: KEY, address: server.url}
    done = hansard(tmp_path, "run", "debate.yaml", **held)
    assert done.returncode == bool(failing), done.stderr  # where nobody answers, it ends with 1
    assert {row["authorization"] for row in server.headers} == {f"Bearer {KEY}"}
    assert leaks(tmp_path, done.stdout, done.stderr) == []
    assert "Traceback" not in done.stderr
    with Store.open(f"sqlite:///{tmp_path}/hansard.db") as store:
        (debate,) = store.debates()
        exported = pack(to_files(store.bundle(debate)))
    assert KEY.encode() not in exported


SENT_BACK = {  # where a server says the key again that it was sent, and how the run ends
    "a header": (TEXT, {}, {"x-request-id": f"Bearer {KEY}"}, 0),
    "an id": (TEXT, {"id": KEY}, {}, 1),
    "a reply": (TEXT.replace('"r"', f'"{KEY}"'), {}, {}, 1),
}


@pytest.mark.parametrize("where", SENT_BACK)
@pytest.mark.parametrize("name", ["chat", "azure", "anthropic", "google"])
def test_a_key_that_a_server_sends_back_is_kept_nowhere(tmp_path, serve, name, where):
    text, more, headers, ends = SENT_BACK[where]
    shape = SHAPES[name]
    body = json.dumps(shape.said(text) | more).encode()
    server = serve(lambda _: Raw(200, body, headers), shape)
    write_spec(tmp_path, shape.model.partition(":")[0])
    done = hansard(tmp_path, "run", "debate.yaml", **shape.variables(server))
    assert done.returncode == ends, done.stderr
    assert leaks(tmp_path, done.stdout, done.stderr) == []


ESCAPED = "".join(f"\\u{ord(sign):04X}" for sign in KEY)
SPELLED = {  # as a body has it: one that reads JSON anew, or puts parts together, has the key
    "in escapes": ESCAPED,
    "with one escape": KEY.replace("-", r"\u002d"),
    "in escapes of JSON within JSON": ESCAPED.replace("\\", r"\\"),
}


@pytest.mark.parametrize("spelled", SPELLED)
@pytest.mark.parametrize("name", ["chat", "responses", "azure", "anthropic", "google"])
def test_a_key_that_is_sent_back_in_escapes_is_kept_nowhere(table, serve, name, spelled):
    shape = SHAPES[name]
    body = json.dumps(shape.said(TEXT.replace('"r"', f'"{KEY}"'))).replace(KEY, SPELLED[spelled])
    serve(lambda _: Raw(200, body.encode()), shape)
    seats = [{"id": seat, "model": shape.model} for seat in SEATS]
    table.run(debaters=seats, attempts=1, max_rounds=1)
    assert {row["detail"] for row in table.data("call.failed")} == {"key-sent-back"}
    assert leaks(table.folder) == []
    assert leaks(table.folder, key=ESCAPED) == []


def test_a_key_that_is_sent_back_in_parts_is_kept_nowhere(serve):
    shape = SHAPES["anthropic"]
    parts = [{"type": "text", "text": part} for part in (KEY[:5], KEY[5:])]
    serve(lambda _: shape.said("") | {"content": parts}, shape)
    with pytest.raises(ModelError, match="key-sent-back"):
        ask(asked(), model=shape.model)


def test_a_key_in_the_address_stays_there_too(tmp_path, serve):
    server = serve(lambda body: Raw(403, b"{}"))
    write_spec(tmp_path)
    address = server.url.replace("http://", f"http://user:{KEY}@")
    done = hansard(tmp_path, "run", "debate.yaml", OPENAI_BASE_URL=address, OPENAI_LOG="")
    assert done.returncode == 1
    assert len(server.raw) == 3
    assert leaks(tmp_path, done.stdout, done.stderr) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_a_run_in_blocks_leaves_no_key_anywhere(tmp_path, serve, name):
    """In each phase one call is answered, and two fail, each in another way."""
    said, failing = BLOCKS[name].said(TEXT), iter(reversed(FAILING.values()))
    answers = iter([row for _ in range(3) for row in (said, next(failing), next(failing))])
    server = serve(lambda body: next(answers, said), BLOCKS[name])
    write_spec(tmp_path, name)
    done = hansard(tmp_path, "run", "debate.yaml", ANTHROPIC_LOG="debug")
    assert done.returncode == 0, done.stderr
    assert len(server.raw) > len(FAILING)
    for secret in (KEY, TOKEN):
        assert leaks(tmp_path, done.stdout, done.stderr, key=secret) == []
    with Store.open(f"sqlite:///{tmp_path}/hansard.db") as store:
        (debate,) = store.debates()
        exported = pack(to_files(store.bundle(debate)))
    assert KEY.encode() not in exported
    assert TOKEN.encode() not in exported


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("failing", FAILING)
def test_no_traceback_holds_a_key(serve, name, failing):
    """Not even what an exception was raised from."""
    shape = SHAPES[name]
    serve(lambda body: FAILING[failing], shape)
    with pytest.raises(ModelError) as caught:
        ask(asked(), model=shape.model)
    lines = traceback.TracebackException.from_exception(caught.value, capture_locals=False)
    assert KEY not in "".join(lines.format(chain=True))
    assert KEY not in repr(vars(caught.value))


# A spec may come from somebody else


@pytest.mark.parametrize("provider", HELD)
def test_a_server_that_a_seat_names_is_given_no_key_of_the_environment(
    table, serve, monkeypatch, provider
):
    """Nor a header that the vendor's library finds there."""
    said = RESPONSES.said if provider == "openai-responses" else CHAT.said
    server = serve(lambda body: said(TEXT))
    names = ["OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"]
    for name in [key for key, _ in HELD.values()] + names:
        monkeypatch.setenv(name, KEY)
    for _, name in HELD.values():
        monkeypatch.setenv(name, "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"x-gateway: {KEY}\nauthorization: Bearer {KEY}")
    settings = {"base_url": server.url}
    seats = [{"id": seat, "model": f"{provider}:m", "settings": settings} for seat in SEATS]
    table.run(debaters=seats)
    assert {row["authorization"] for row in server.headers} == {"Bearer none"}
    monkeypatch.setenv(key_variable(server.url), "sk-for-this-one")
    table.run(debaters=seats)
    assert {row["authorization"] for row in server.headers[3:]} == {"Bearer sk-for-this-one"}
    assert len(server.headers) == 6
    assert KEY not in str(server.headers)


def test_a_server_of_ones_own_gets_no_header_that_is_meant_for_openai(serve, monkeypatch):
    server = serve(lambda body: CHAT.said("{}"), LOCAL)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"authorization: Bearer {KEY}\nx-gateway: {KEY}")
    monkeypatch.setenv("OPENAI_ORG_ID", KEY)
    ask(asked(), model=LOCAL.model)
    assert server.headers[0]["authorization"] == "Bearer none"
    assert KEY not in str(server.headers)


def test_the_vendors_own_server_gets_what_its_library_sends(serve, monkeypatch):
    server = serve(lambda body: CHAT.said("{}"))
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    ask(asked())
    assert server.headers[0]["openai-organization"] == "org-1"


# What cannot work


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
        open_model("openai:m", None, environ)
    assert caught.value.code == code
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


# What the environment names beside keys and addresses


PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")  # in either case


@pytest.fixture
def unset(monkeypatch):
    """An environment that names no proxy and no certificates."""
    for name in PROXIES:
        for spelled in (name, name.upper()):
            monkeypatch.delenv(spelled, raising=False)
    monkeypatch.setattr(client, "_trusted", cache(client._trusted.__wrapped__))
    return monkeypatch


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "LOCALHOST", "127.1", "2130706433", "0.0.0.0", "[::ffff:127.0.0.1]"],
)
def test_what_is_for_this_machine_goes_through_no_proxy(serve, unset, host, variable):
    """A proxy would read it, and the key in it: over http: nothing is encrypted."""
    server = serve(lambda body: CHAT.said(TEXT))
    with Server(lambda body: CHAT.said(TEXT)) as proxy:
        unset.setenv(variable, proxy.root)
        unset.setenv("OPENAI_BASE_URL", server.url.replace("127.0.0.1", host))
        ask(asked())
        unset.setenv("OPENAI_BASE_URL", "http://llm.invalid/v1")
        ask(asked())
    assert len(server.raw) == 1
    assert len(proxy.raw) == 1  # what is for another machine: so it would have been seen


UNUSABLE = {
    "an address of another kind": ("HTTPS_PROXY", f"ftp://ann:{KEY}@proxy.example", "proxy"),
    "half an address": ("HTTP_PROXY", "http://[::1", "proxy"),
    "no port": ("all_proxy", f"http://proxy.example:{KEY}", "proxy"),
    "no certificates": ("SSL_CERT_FILE", __file__, "certificates"),
    "no file": ("SSL_CERT_FILE", f"/{KEY}", "certificates"),
}


@pytest.mark.parametrize("provider", ["openai", "google", "vertex", "anthropic"])
def test_whom_a_proxy_is_not_for_may_be_spelled_in_any_way(unset, provider):
    """The library beneath ignores what it cannot read there, as curl does."""
    unset.setenv("NO_PROXY", "[::1, localhost")
    key = dict.fromkeys(PROVIDERS[provider].keys, KEY)
    assert callable(open_model(f"{provider}:m", None, key).complete)


def test_certificates_are_read_once_a_process(unset):
    read, times = httpx2.create_ssl_context, []
    unset.setattr(httpx2, "create_ssl_context", lambda: times.append(1) or read())
    for name in ("openai:a", "openai:b"):
        open_model(name, None, {"OPENAI_API_KEY": KEY})
    assert times == [1]


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_proxy_or_certificates_that_cannot_be_used_are_refused(unset, case):
    variable, value, what = UNUSABLE[case]
    unset.setenv(variable, value)
    with pytest.raises(UsageError) as caught:
        open_model("openai:m", None, {"OPENAI_API_KEY": KEY})
    assert caught.value.code == f"model.{what}"
    assert variable.upper() in str(caught.value)
    assert KEY not in str(caught.value)


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
    server = serve(lambda body: CHAT.said(TEXT))
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
    model: Any = open_model("openai:m", None, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": address})
    assert model._cap == name


def test_the_package_is_imported_only_when_used_and_missed_by_name(tmp_path):
    """Without the extra everything else works, and the sentence says what to install."""
    (tmp_path / "openai.py").write_text("raise ImportError('not here')\n")
    write_spec(tmp_path)
    done = hansard(tmp_path, "run", "debate.yaml", PYTHONPATH=str(tmp_path), OPENAI_API_KEY=KEY)
    assert done.returncode == 2
    assert install_command("openai") in done.stderr
    assert "Traceback" not in done.stderr
    loaded = (
        "import hansard, hansard.cli.main, sys; print({'pydantic_ai', 'openai'} & {*sys.modules})"
    )
    run = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True, timeout=GUARD
    )
    assert run.stdout.strip() == "set()"
