"""Azure, Mistral and OpenRouter: what their chat completions have that OpenAI's have not."""

from __future__ import annotations

import pytest

from formats import FORMATS
from hansard.errors import UsageError
from hansard.report.served import is_asked
from hansard.runtime.models.base import ModelError, ToolDefinition
from hansard.runtime.models.providers import open_model
from services.asking import SCHEMA, ask, asked
from services.dialects import AZURE, CHAT, MISTRAL, OPENROUTER
from services.packaged import check_as_rendered, play_packaged
from services.server import KEY, SEATS, Raw, completion

TEXT = '{"vote": "yes"}'
LOOK = ToolDefinition("look_up", "Look it up.", {"properties": {"q": SCHEMA}, "type": "object"})
FULL = {
    "temperature": "0.70",
    "top_p": "0.95",
    "seed": 7,
    "max_tokens": 90,
    "reasoning_effort": "low",
}
MESSAGES = (("system", "be"), ("user", "<|im_start|>"), ("assistant", "a\n"), ("user", "é"))
BODY = {
    "stream": False,
    "messages": [{"role": role, "content": text} for role, text in MESSAGES],
    "temperature": 0.7,
    "top_p": 0.95,
    "reasoning_effort": "low",
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
    },
    "tools": [{"type": "function", "function": vars(LOOK)}],
    "tool_choice": "auto",
}
OWN = {
    "azure": (AZURE, {"model": "m", "seed": 7, "max_completion_tokens": 90}),
    "mistral": (MISTRAL, {"model": "m", "random_seed": 7, "max_tokens": 90}),
    "openrouter": (
        OPENROUTER,
        {
            "model": "maker/m",
            "seed": 7,
            "max_tokens": 90,
            "provider": {"require_parameters": True},
        },
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_the_whole_body(serve, name):
    shape, own = OWN[name]
    server = serve(lambda body: CHAT.said(TEXT), shape)
    (done,) = ask(asked(MESSAGES, tools=(LOOK,), **FULL), model=shape.model)
    assert (done.text, done.sent_as_rendered, done.sent) == (TEXT, True, None)
    assert server.bodies == [BODY | own]
    assert server.paths == [shape.path]


@pytest.mark.parametrize("name", OWN)
def test_what_was_not_asked_for_is_not_sent(serve, name):
    shape, own = OWN[name]
    server = serve(lambda body: CHAT.said("so"), shape)
    ask(asked(structured="text"), model=shape.model)
    (body,) = server.bodies
    assert set(body) == {"model", "stream", "messages"} | {"provider"} & own.keys()


@pytest.mark.parametrize("name", OWN)
def test_another_body_than_was_rendered_is_kept(serve, monkeypatch, name):
    shape, _ = OWN[name]
    serve(lambda body: CHAT.said(TEXT), shape)
    opened = open_model(shape.model)
    monkeypatch.setattr(type(opened), "more", lambda self, asked: {"prompt_mode": None})
    monkeypatch.setattr(type(opened), "rendered", lambda self, request, form: {"model": "m"})
    (done,) = ask(asked(), model=shape.model)
    assert done.sent_as_rendered is False
    assert '"messages"' in done.sent


@pytest.mark.parametrize("name", OWN)
def test_nothing_that_openais_library_finds_goes_there(serve, monkeypatch, name):
    """Neither OpenAI's key, organisation and project, nor headers for a gateway of one's own."""
    shape, _ = OWN[name]
    server = serve(lambda body: CHAT.said(TEXT), shape)
    for variable in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID"):
        monkeypatch.setenv(f"OPENAI_{variable}", "sk-of-openai")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-gateway: sk-of-openai")
    ask(asked(), model=shape.model)
    (headers,) = server.headers
    assert "sk-of-openai" not in str(headers)
    header = "api-key" if name == "azure" else "authorization"
    assert {key: value for key, value in headers.items() if KEY in value} == {
        header: KEY if name == "azure" else f"Bearer {KEY}"
    }
    assert set(headers) <= {
        *("accept", "accept-encoding", "connection", "content-length", "content-type", "host"),
        header,
    }


@pytest.mark.parametrize("name", OWN)
def test_a_server_that_a_seat_names_is_given_no_key(serve, monkeypatch, name):
    shape, _ = OWN[name]
    server = serve(lambda body: CHAT.said(TEXT), shape)
    for variable in shape.variables(server):
        if not variable.endswith("KEY"):
            monkeypatch.setenv(variable, "http://127.0.0.1:9/v1")
    ask(asked(), model=shape.model, base_url=server.url)
    assert KEY not in str(server.headers)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", ["mistral", "openrouter"])
def test_the_packaged_debates_on_an_endpoint_that_others_wrote(
    llmock, table, monkeypatch, name, format_
):
    url = llmock.base_url("openai")
    own = {"mistral": url.replace("/v1", "/mistral/v1"), "openrouter": url}
    monkeypatch.setenv(f"{name.upper()}_BASE_URL", own[name])
    monkeypatch.setenv(f"{name.upper()}_API_KEY", KEY)
    play_packaged(table, format_, f"{name}:gpt")
    assert len(llmock.requests) == len(table.data("call.started"))
    assert not table.data("call.failed", "turn.forfeited")
    check_as_rendered(table, [CHAT.prompt(row.body) for row in llmock.requests])
    llmock.assert_resilient(strict=True)


# Azure


@pytest.mark.parametrize("end", ["", "/", "/openai/v1", "/openai/v1/"])
def test_an_endpoint_is_asked_by_the_current_api_however_it_is_written(serve, monkeypatch, end):
    server = serve(lambda body: CHAT.said(TEXT), AZURE)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.root + end)
    ask(asked(), asked(), model=AZURE.model)
    ask(asked(), model=AZURE.model, base_url=server.root)  # the seat names the same one
    assert server.paths == [AZURE.path] * 3
    assert {row["api-key"] for row in server.headers} == {KEY}


MISSING = {
    "nothing": ({}, "azure:m needs AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT"),
    "no key": (
        {"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com"},
        "azure:m needs AZURE_OPENAI_API_KEY",
    ),
    "no endpoint": ({"AZURE_OPENAI_API_KEY": KEY}, "azure:m needs AZURE_OPENAI_ENDPOINT"),
}


@pytest.mark.parametrize("case", MISSING)
def test_azure_needs_an_endpoint_and_its_key(case):
    environ, sentence = MISSING[case]
    with pytest.raises(UsageError) as caught:
        open_model("azure:m", None, environ)
    assert (caught.value.code, caught.value.sentence) == ("model.no_key", sentence)


def test_what_a_filter_of_azure_stopped_is_said(serve):
    serve(lambda body: CHAT.said("", "content_filter"), AZURE)
    (done,) = ask(asked(), model=AZURE.model)
    assert (done.finish, done.text) == ("content_filter", "")


# Mistral


def thinking(*parts):
    rows = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]
    return completion([*rows, *({"type": "text", "text": part} for part in parts)])


def test_what_a_model_thought_is_no_part_of_its_reply(serve):
    serve(lambda body: thinking('{"vote":', ' "yes"}'), MISTRAL)
    (done,) = ask(asked(), model=MISTRAL.model)
    assert (done.text, done.finish) == (TEXT, "stop")


@pytest.mark.parametrize("content", [[{"type": "text"}], ["so"], [{"text": "so"}], 7])
def test_content_of_another_form_is_none(serve, content):
    serve(lambda body: completion(content), MISTRAL)
    with pytest.raises(ModelError) as caught:
        ask(asked(), model=MISTRAL.model)
    assert (caught.value.kind, caught.value.detail) == ("server_error", "malformed")


def test_a_reply_that_fills_the_context_was_cut_off(serve):
    serve(lambda body: completion("{", finish="model_length"), MISTRAL)
    (done,) = ask(asked(), model=MISTRAL.model)
    assert done.finish == "length"


def test_mistrals_request_id_is_kept(serve):
    headers = {"mistral-correlation-id": "c-1"}
    serve(lambda body: Raw(429, b"{}", headers), MISTRAL)
    with pytest.raises(ModelError) as caught:
        ask(asked(), model=MISTRAL.model)
    assert caught.value.wire.request_id == "c-1"


# OpenRouter


@pytest.mark.parametrize(
    ("said", "served"),
    [
        ({"model": "maker/m", "provider": "Amazon Bedrock"}, "Amazon-Bedrock/maker/m"),
        ({"model": "maker/m", "provider": None}, "maker/m"),
        ({"model": "maker/m", "provider": 7}, "maker/m"),
        ({"model": None, "provider": "Groq"}, None),
    ],
)
def test_who_served_is_recorded_with_the_model(serve, said, served):
    serve(lambda body: completion(TEXT, **said), OPENROUTER)
    (done,) = ask(asked(), model=OPENROUTER.model)
    assert done.model == served
    assert served is None or is_asked(OPENROUTER.model, served)


def test_a_debate_records_who_served(serve, table):
    vote = '{"stance": "s", "rationale": "r", "vote": "release"}'
    serve(lambda body: completion(vote, model="maker/m", provider="Groq"), OPENROUTER)
    table.run(debaters=[{"id": seat, "model": OPENROUTER.model} for seat in SEATS])
    assert {row["model"] for row in table.data("call.answered")} == {"Groq/maker/m"}
    assert table.verified().findings == []


REPLY = completion(TEXT)
CHOICE = REPLY["choices"][0]
ERRORS = {
    "a rate limit": ({"error": {"code": 429, "message": KEY}}, "rate_limited", "error-429"),
    "a model that is down": ({"error": {"code": 502}}, "server_error", "error-502"),
    "a timeout": ({"error": {"code": 408}}, "timeout", "error-408"),
    "a moderated prompt": ({"error": {"code": 403}}, "client_error", "error-403"),
    "beside a reply": (REPLY | {"error": {"code": 502}}, "server_error", "error-502"),
    "in a choice": (
        REPLY | {"choices": [CHOICE | {"error": {"code": 429}}]}, "rate_limited", "error-429",
    ),
    "an end": (REPLY | {"choices": [CHOICE | {"finish_reason": "error"}]}, "server_error", "error"),
    "a code in words": ({"error": {"code": KEY}}, "server_error", "error"),
    "a code of success": ({"error": {"code": 200}}, "server_error", "error"),
    "true": ({"error": True}, "server_error", "error"),
    "words": ({"error": KEY}, "server_error", "error"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_under_a_status_of_success_is_no_reply(serve, case):
    body, kind, detail = ERRORS[case]
    server = serve(lambda _: body, OPENROUTER)
    with pytest.raises(ModelError) as caught:
        ask(asked(), model=OPENROUTER.model)
    error = caught.value
    assert (error.kind, error.detail) == (kind, detail)
    assert (error.wire.status, error.wire.sent_as_rendered) == (200, True)
    assert KEY not in repr(vars(error))
    assert len(server.raw) == 1


def test_no_error_is_none(serve):
    serve(lambda _: REPLY | {"error": None, "choices": [CHOICE | {"error": None}]}, OPENROUTER)
    (done,) = ask(asked(), model=OPENROUTER.model)
    assert done.text == TEXT


def test_such_an_error_is_an_attempt_that_is_tried_again(serve, table):
    vote = completion('{"stance": "s", "rationale": "r", "vote": "release"}')
    answers = [{"error": {"code": 502}}]
    server = serve(lambda _: answers.pop() if answers else vote, OPENROUTER)
    table.run(
        debaters=[{"id": seat, "model": OPENROUTER.model} for seat in SEATS], leading_call=True
    )
    (failed,) = table.data("call.failed")
    assert (failed["error"], failed["detail"], failed["again"]) == (
        "server_error", "error-502", True,
    )  # fmt: skip
    assert failed["status"] == 200
    assert len(server.raw) == len(table.data("call.started"))
    assert table.verified().findings == []
