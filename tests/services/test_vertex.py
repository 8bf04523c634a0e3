"""`vertex:MODEL` in a project: where its token comes from, where it goes, and what is asked."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from google.auth.exceptions import DefaultCredentialsError

from formats import FORMATS
from hansard.runtime.models import google_cloud
from hansard.runtime.models.base import ModelError
from hansard.runtime.models.providers import open_model
from services.asking import ask, asked
from services.block_dialects import GOOGLE, TOKEN, VERTEX, google
from services.packaged import check_as_rendered, play_packaged
from services.server import KEY, Raw
from support import example

MODEL = VERTEX.model
TEXT = '{"vote": "yes"}'
PLACE = "/v1beta1/projects/my-project/locations/europe-west4/publishers/google/models"
PRIVATE = rsa.generate_private_key(65537, 2048).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
)


class Tokens:
    """A token server on loopback; `answer` is its status and body."""

    def __init__(self):
        self.answer = 200, {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}
        self.asked = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.tokens = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/token"

    def close(self):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        tokens = self.server.tokens  # type: ignore[attr-defined]
        tokens.asked.append(parse_qs(self.rfile.read(int(self.headers["content-length"])).decode()))
        status, body = tokens.answer
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def tokens(monkeypatch, tmp_path):
    """A project, and a service account whose tokens come from loopback."""
    started = Tokens()
    account = {
        "type": "service_account",
        "client_email": "me@my-project.iam.gserviceaccount.com",
        "private_key": PRIVATE.decode(),
        "private_key_id": "1",
        "token_uri": started.url,
    }
    (tmp_path / "account.json").write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)  # that of the Gemini API, which is not sent
    yield started
    started.close()


@pytest.fixture
def say(serve, monkeypatch):
    def start(script=lambda body: google(TEXT)):
        server = serve(script, GOOGLE)
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", server.root)
        return server

    return start


def test_a_model_is_asked_in_the_project_with_a_token(say, tokens):
    server = say()
    done, _ = ask(asked(max_tokens=90), asked(), model=MODEL)
    assert (done.text, done.model, done.status) == (TEXT, "served-2026-11-01", 200)
    assert (done.sent_as_rendered, done.request_id) == (True, "req_1")
    assert server.paths == [f"{PLACE}/gemini-2.5-flash:generateContent"] * 2
    assert {row["authorization"] for row in server.headers} == {f"Bearer {TOKEN}"}
    assert not any("x-goog-api-key" in row for row in server.headers)
    assert len(tokens.asked) == 1  # a token that is still good is used again


def test_calls_that_go_out_at_once_take_one_token(say, tokens):
    """Of several that each took one, some found none, and failed."""

    async def go():
        model: Any = open_model(MODEL)
        try:
            return await asyncio.gather(*(model.complete(asked()) for _ in range(5)))
        finally:
            await model.aclose()

    server = say()
    assert [row.text for row in asyncio.run(go())] == [TEXT] * 5
    assert {row["authorization"] for row in server.headers} == {f"Bearer {TOKEN}"}
    assert len(tokens.asked) == 1


@pytest.mark.parametrize("format_", FORMATS)
def test_the_packaged_debates(table, say, tokens, format_):
    server = say(lambda body: google(_fitting(body)))
    play_packaged(table, format_, "vertex:gemini")
    check_as_rendered(table, [GOOGLE.prompt(body) for body in server.bodies])


def _fitting(body):
    schema = GOOGLE.schema(body)
    return "I argue." if schema is None else json.dumps(example(schema))


def test_without_a_project_the_key_is_sent(say, monkeypatch, tokens):
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", " ")
    server = say()
    ask(asked(), model=MODEL)
    assert server.paths == [VERTEX.path]
    assert server.headers[0]["x-goog-api-key"] == KEY
    assert "authorization" not in server.headers[0]
    assert tokens.asked == []


def test_a_server_that_a_seat_names_is_told_neither_token_nor_project(serve, monkeypatch, tokens):
    monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", "http://127.0.0.1:9")
    server = serve(lambda body: google(TEXT), GOOGLE)
    ask(asked(), model=MODEL, base_url=server.root)
    assert server.paths == [VERTEX.path]
    sent = json.dumps(server.headers) + server.raw[0].decode()
    assert not any(secret in sent for secret in (TOKEN, KEY, "my-project"))
    assert tokens.asked == []


FAILING = {
    "refused": ((400, {"error": "invalid_grant"}), "client_error", "RefreshError"),
    "down": ((503, {"error": "unavailable"}), "unreachable", "RefreshError"),
    "no token": ((200, {}), "client_error", "RefreshError"),
}


@pytest.mark.parametrize("case", FAILING)
def test_without_a_token_nothing_is_asked(say, tokens, monkeypatch, case):
    monkeypatch.setattr("time.sleep", lambda _: None)  # the library asks a server that is down anew
    tokens.answer, kind, detail = FAILING[case]
    server = say()
    with pytest.raises(ModelError) as caught:
        ask(asked(), model=MODEL)
    error = caught.value
    assert (error.kind, error.detail, error.wire.status) == (kind, detail, None)
    assert server.raw == []


def test_a_token_server_that_is_not_there_can_be_tried_again(say, tokens, monkeypatch, tmp_path):
    account = json.loads((tmp_path / "account.json").read_text())
    (tmp_path / "account.json").write_text(
        json.dumps(account | {"token_uri": "http://127.0.0.1:9/token"})
    )
    monkeypatch.setattr("time.sleep", lambda _: None)
    say()
    with pytest.raises(ModelError) as caught:
        ask(asked(), model=MODEL)
    assert (caught.value.kind, caught.value.detail) == ("unreachable", "TransportError")


def test_a_file_that_is_no_account_is_refused_and_not_quoted(say, tokens, tmp_path):
    (tmp_path / "account.json").write_text(json.dumps({"type": KEY}))
    say()
    with pytest.raises(ModelError) as caught:
        ask(asked(), model=MODEL)
    assert (caught.value.kind, caught.value.detail) == ("client_error", "DefaultCredentialsError")
    assert KEY not in repr(caught.value)


def test_credentials_are_looked_for_when_they_are_first_wanted(say, tokens, monkeypatch):
    """Looking for them may ask Google's metadata server, and wait for it."""
    looked = []

    def default(**_):
        looked.append(True)
        raise DefaultCredentialsError("none")

    monkeypatch.setattr("google.auth.default", default)
    model = open_model(MODEL)
    assert looked == []
    say()
    with pytest.raises(ModelError):
        ask(asked(), model=MODEL)
    assert looked == [True]
    assert model.price is None


def test_a_key_that_is_echoed_stays_where_it_is(say, tokens):
    say(lambda body: Raw(401, f'{{"error": "{TOKEN}"}}'.encode()))
    with pytest.raises(ModelError) as caught:
        ask(asked(), model=MODEL)
    assert (caught.value.kind, caught.value.wire.status) == ("client_error", 401)
    assert TOKEN not in repr(vars(caught.value))


# What is missing: by the environment and files alone

FILE, LOGIN = "GOOGLE_APPLICATION_CREDENTIALS", "gcloud auth application-default login"
IN_PROJECT = {"GOOGLE_CLOUD_PROJECT": "p"}


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    monkeypatch.setattr(google_cloud, "_MACHINE", tmp_path / "product_name")
    return {"CLOUDSDK_CONFIG": str(tmp_path)}


def lacking(nowhere, key=None, **more):
    return google_cloud.lacking(nowhere | more, key)


def test_a_project_or_a_key_is_needed(nowhere):
    assert lacking(nowhere) == ["GOOGLE_CLOUD_PROJECT or GOOGLE_API_KEY"]
    assert lacking(nowhere, "k") == []
    assert lacking(nowhere, "k", **IN_PROJECT) == [LOGIN]


def test_credentials_are_those_of_a_file_or_of_googles_own_machine(nowhere, tmp_path):
    here = tmp_path / "here.json"
    assert lacking(nowhere, **IN_PROJECT, **{FILE: str(here)}) == [f"the file that {FILE} names"]
    here.write_text("{}")
    assert lacking(nowhere, **IN_PROJECT, **{FILE: str(here)}) == []
    assert lacking(nowhere, **IN_PROJECT, K_SERVICE="debates") == []
    (tmp_path / "product_name").write_text("Google Compute Engine\n")
    assert lacking(nowhere, **IN_PROJECT) == []
    (tmp_path / "product_name").write_text("Another\n")
    assert lacking(nowhere, **IN_PROJECT) == [LOGIN]
    (tmp_path / "application_default_credentials.json").write_text("{}")
    assert lacking(nowhere, **IN_PROJECT) == []


@pytest.mark.parametrize("name", ["a/b", "evil.example#", "a b", "é"])
def test_what_stands_in_an_address_is_a_name(nowhere, name):
    found = lacking(nowhere, GOOGLE_CLOUD_PROJECT="p", GOOGLE_CLOUD_LOCATION=name)
    assert found == ["a name in GOOGLE_CLOUD_LOCATION"]
    assert lacking(nowhere, GOOGLE_CLOUD_PROJECT=name) == ["a name in GOOGLE_CLOUD_PROJECT"]
