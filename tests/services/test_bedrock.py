"""`bedrock:MODEL`: what is sent to Converse, and what is read from there."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import httpx2
import pytest
from llmock.schema import example_for

from formats import FORMATS
from hansard.errors import UsageError
from hansard.runtime.models import bedrock_converse
from hansard.runtime.models.base import ModelError, ToolCall, ToolDefinition
from hansard.runtime.models.form import ASKED
from hansard.runtime.models.providers import open_model
from instant import GUARD
from services.asking import SCHEMA, ask, asked, give_up
from services.block_dialects import BEDROCK, CLAUDE, TOKEN, bedrock
from services.packaged import MESSAGES, check_as_rendered, in_blocks, play_packaged
from services.server import KEY, Raw, hanging

MODEL = BEDROCK.model
LLAMA = "bedrock:meta.llama3-8b-instruct-v1:0"
NOVA = "bedrock:amazon.nova-lite-v1:0"
POINT = {"cachePoint": {"type": "default", "ttl": "5m"}}
LOOK = ToolDefinition("look_up", "Look it up.", {"properties": {"q": SCHEMA}, "type": "object"})
LOOKED = {
    "toolSpec": {
        "name": "look_up",
        "description": "Look it up.",
        "inputSchema": {"json": LOOK.parameters},
    }
}
FULL = {"temperature": "0.70", "top_p": "0.95", "max_tokens": 90, "reasoning_effort": "low"}
BOUND = SCHEMA | {"properties": {"vote": {"minLength": 1, "type": "string"}}}


def say(serve, *args, **more):
    return serve(lambda body: bedrock(*args, **more), BEDROCK)


# What is sent


def test_the_whole_body(serve):
    server = say(serve, finish="tool_calls", asks=[("reply", {"vote": "yes"})])
    (done,) = ask(in_blocks((1, 2), schema=BOUND, tools=(LOOK,), **FULL), model=MODEL)
    assert (done.sent_as_rendered, done.sent) == (True, None)
    assert (done.text, done.finish, done.tool_calls) == ('{"vote":"yes"}', "stop", ())
    assert server.paths == [f"/model/{CLAUDE}%3A0/converse"]
    reply = {"name": "reply", "description": ASKED, "inputSchema": {"json": BOUND}}
    assert server.bodies == [
        {
            "system": [{"text": MESSAGES[0]}],
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"text": MESSAGES[1]},
                        POINT,
                        {"text": MESSAGES[2]},
                        POINT,
                        {"text": MESSAGES[3]},
                    ],
                }
            ],
            "inferenceConfig": {"maxTokens": 90, "temperature": 0.7, "topP": 0.95},
            "toolConfig": {"tools": [LOOKED, {"toolSpec": reply}], "toolChoice": {"any": {}}},
            "additionalModelRequestFields": {"output_config": {"effort": "low"}},
        }
    ]


def test_a_schema_is_sent_natively_where_that_is_asked_for(serve):
    server = say(serve, '{"vote": "yes"}')
    (done,) = ask(asked(schema=BOUND, structured="native"), model=MODEL)
    (body,) = server.bodies
    wanted = body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert wanted["name"] == "reply"
    assert json.loads(wanted["schema"]) == SCHEMA | {"properties": {"vote": {"type": "string"}}}
    assert ("toolConfig" in body, done.sent_as_rendered) == (False, True)


@pytest.mark.parametrize(
    ("model", "structured", "tools", "choice"),
    [
        (MODEL, None, (), {"any": {}}),
        (MODEL, "text", (LOOK,), {"auto": {}}),
        (NOVA, None, (), {"any": {}}),
        (LLAMA, None, (), None),
        (LLAMA, "tool", (), "unforced"),
        (LLAMA, "text", (LOOK,), "unforced"),
        ("bedrock:arn:aws:bedrock:eu-central-1:1:inference-profile/x", None, (), None),
    ],
)
def test_a_tool_where_the_model_can_be_made_to_use_it(serve, model, structured, tools, choice):
    """Where it cannot, the prompt alone says what the reply is; a tool may still be offered."""
    server = say(serve, "{}")
    (done,) = ask(asked(structured=structured, tools=tools), model=model)
    config = server.bodies[0].get("toolConfig")
    if choice is None:
        assert config is None
    else:
        assert config.get("toolChoice", "unforced") == choice
    assert done.sent_as_rendered


def test_all_roles_of_a_model_are_asked_with_one_tool(serve):
    """Tools stand before the messages in what is cached: another one would miss all of it."""
    server = say(serve, finish="tool_calls", asks=[("reply", {"reply": {"vote": "no"}})])
    rows = (SCHEMA, BOUND)
    first, second = ask(*(asked(schema=own, schemas=rows) for own in rows), model=MODEL)
    sent = [BEDROCK.tools(body)[0]["parameters"] for body in server.bodies]
    assert sent[0] == sent[1]
    assert sent[0]["properties"] == {"reply": {"anyOf": [SCHEMA, BOUND]}}
    assert (first.text, second.text) == ('{"vote":"no"}', '{"vote":"no"}')
    assert first.sent_as_rendered


@pytest.mark.parametrize(
    ("model", "repeats", "marked"),
    [
        (MODEL, (), []),
        (MODEL, (0, 2), [2]),
        (MODEL, (1, 2, 3, 4, 5, 6), [3, 4, 5, 6]),
        (LLAMA, (1, 2), []),
    ],
)
def test_a_cache_point_after_each_repeat_where_the_model_knows_them(serve, model, repeats, marked):
    server = say(serve, "{}")
    (done,) = ask(in_blocks(repeats, blocks=6), model=model)
    content = server.bodies[0]["messages"][0]["content"]
    texts = ["text" in row for row in content]
    assert [sum(texts[:at]) for at, row in enumerate(content) if row == POINT] == marked
    assert done.sent_as_rendered


def test_nothing_is_altered_on_the_way(serve):
    special = "<|im_start|>system\nobey [INST] “quotes” \u200d\t</s> é\U0001f600"
    rows = (("system", special), ("user", special), ("assistant", "a\n"), ("user", special))
    server = say(serve, "{}")
    for model in (MODEL, NOVA, LLAMA, "bedrock:openai.gpt-oss-120b-1:0"):
        (done,) = ask(asked(rows, **FULL), model=model)
        assert (done.sent_as_rendered, done.sent) == (True, None)
        assert BEDROCK.prompt(server.bodies[-1]) == [
            {"role": role, "content": text} for role, text in rows
        ]
    assert server.bodies[-1]["additionalModelRequestFields"] == {"reasoning_effort": "low"}


def test_there_is_no_seed_and_that_shows(serve):
    server = say(serve, "{}")
    (done,) = ask(asked(seed=7), model=MODEL)
    assert "seed" not in str(server.bodies[0])
    assert (done.sent_as_rendered, done.sent.encode()) == (False, server.raw[0])


@pytest.mark.parametrize(
    "habit",
    [
        {"anthropic_max_output_tokens": 8},
        {"may_tokenize_special_tokens_in_content": True},
        {"bedrock_supports_tool_choice": False},
    ],
)
def test_whatever_the_library_alters_shows(serve, monkeypatch, habit):
    neutral = bedrock_converse.ConverseModel._profile
    monkeypatch.setattr(
        bedrock_converse.ConverseModel, "_profile", lambda *given: {**neutral(*given), **habit}
    )
    server = say(serve, "{}")
    (done,) = ask(asked([("user", "<|im_start|>")], max_tokens=9), model=MODEL)
    assert (done.sent_as_rendered, done.sent.encode()) == (False, server.raw[0])


# What is read


def test_what_a_response_tells_of_itself(serve):
    content = [
        {"reasoningContent": {"reasoningText": {"text": "hm"}}},
        {"text": '{"vote": '},
        {"text": '"no"} '},
    ]
    usage = {
        "inputTokens": 70,
        "cacheReadInputTokens": 400,
        "cacheWriteInputTokens": 50,
        "outputTokens": 30,
        "totalTokens": 550,
    }
    say(serve, output={"message": {"role": "assistant", "content": content}}, usage=usage)
    (done,) = ask(asked(), model=MODEL)
    assert (done.text, done.finish) == ('{"vote": "no"} ', "stop")
    assert (done.tokens_in, done.tokens_cached, done.tokens_cache_write) == (520, 400, 50)
    assert (done.tokens_out, done.model, done.response_id) == (30, None, None)
    assert (done.status, done.request_id) == (200, "req_1")


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"inputTokens": 7, "outputTokens": 5}, (7, None, None, 5)),
        ({"cacheReadInputTokens": 9}, (None, 9, None, None)),
        ("none", (None, None, None, None)),
        (None, (None, None, None, None)),
    ],
)
def test_what_is_not_said_of_usage_is_unknown(serve, usage, tokens):
    say(serve, "{}", usage=usage)
    (done,) = ask(asked(), model=MODEL)
    told = (done.tokens_in, done.tokens_cached, done.tokens_cache_write, done.tokens_out)
    assert told == tokens


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("refusal", "refusal"),
        ("tool_use", "tool_calls"),
        ("malformed_tool_use", "other"),
        (None, "other"),
    ],
)
def test_how_a_response_ended(serve, reason, finish):
    say(serve, "so", stopReason=reason)
    (done,) = ask(asked(), model=MODEL)
    assert (done.text, done.finish) == ("so", finish)


def test_tools_are_asked_for(serve):
    say(serve, "I look.", finish="tool_calls", asks=[("look_up", {"q": [1.5, "é"]})])
    (done,) = ask(asked(tools=(LOOK,)), model=MODEL)
    assert done.tool_calls == (ToolCall("look_up", '{"q":[1.5,"é"]}'),)
    assert (done.text, done.finish) == ("I look.", "tool_calls")


MALFORMED = {
    "no message": {"output": {}},
    "content of a kind": {"output": {"message": {"content": 3}}},
    "a text of a kind": {"output": {"message": {"content": [{"text": 7}]}}},
    "a tool without a name": {"output": {"message": {"content": [{"toolUse": {"input": {}}}]}}},
    "a surrogate": {"output": {"message": {"content": [{"text": "\ud800"}]}}},
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_response_that_says_nothing(serve, case):
    say(serve, **MALFORMED[case])
    with pytest.raises(ModelError, match=r"^server_error \(malformed\)$") as caught:
        ask(asked(), model=MODEL)
    assert (caught.value.wire.status, caught.value.wire.sent_as_rendered) == (200, True)


# One request an attempt, and none that outlives it


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_the_clients_retries_are_off_whatever_the_environment_says(serve, status):
    """AWS_MAX_ATTEMPTS asks for five; a throttle is what its client retries most."""
    told = json.dumps({"__type": "ThrottlingException", "message": "slow down"}).encode()
    server = serve(lambda body: Raw(status, told, {"x-amzn-errortype": "x"}), BEDROCK)
    with pytest.raises(ModelError) as caught:
        ask(asked(), model=MODEL)
    assert (caught.value.detail, len(server.raw)) == (f"http-{status}", 1)
    assert server.headers[0]["amz-sdk-request"] == "attempt=1; max=1"


def test_a_call_that_is_given_up_leaves_nothing_behind(serve):
    """Neither its request, beside other debates, nor its thread once the loop has ended."""
    release, others = threading.Event(), set(threading.enumerate())
    arrived = threading.Event()
    serve(hanging(arrived, release), BEDROCK)

    async def go():
        model: Any = open_model(MODEL)
        try:
            await give_up(model, arrived)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.wait_for(asyncio.gather(*left, return_exceptions=True), GUARD)
        finally:
            await model.aclose()

    asyncio.run(go())
    new = set(threading.enumerate()) - others
    waiting = [thread for thread in new if thread.name.startswith("AnyIO")]
    for thread in waiting:
        thread.join(GUARD)
    assert not any(thread.is_alive() for thread in waiting)
    release.set()


def test_calls_go_out_at_once(serve):
    together = threading.Barrier(8, timeout=GUARD)

    def script(body):
        together.wait()
        return bedrock("{}")

    serve(script, BEDROCK)

    async def go():
        model: Any = open_model(MODEL)
        try:
            return await asyncio.gather(*(model.complete(asked()) for _ in range(8)))
        finally:
            await model.aclose()

    assert [row.text for row in asyncio.run(go())] == ["{}"] * 8


# Credentials


def test_ones_own_server_gets_a_signature_and_no_secret(serve):
    server = say(serve, "{}")
    ask(asked(), model=MODEL)
    (headers,) = server.headers
    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIAPLANTED/")
    assert "/eu-central-1/bedrock/" in headers["authorization"]
    assert headers["x-amz-security-token"] == TOKEN
    assert KEY not in str(headers)


def test_an_api_key_of_bedrock_will_do(serve, monkeypatch):
    """Its client sends one over https only, so the last step to Amazon is taken here."""
    say(serve, "{}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-key")
    sent = []

    async def send(_, request, **options):
        sent.append(request)
        body = httpx2.ByteStream(json.dumps(bedrock("{}")).encode())
        return httpx2.Response(200, stream=body, request=request)

    monkeypatch.setattr(httpx2.AsyncClient, "send", send)
    home = "https://bedrock-runtime.us-west-2.amazonaws.com"
    (done,) = ask(asked(), model=MODEL, base_url=home)
    assert done.sent_as_rendered
    assert str(sent[0].url) == home + BEDROCK.path
    assert sent[0].headers["authorization"] == "Bearer a-key"


def test_a_server_of_a_spec_gets_nothing_that_is_not_meant_for_it(serve, monkeypatch):
    server = say(serve, "{}")
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)
    (done,) = ask(asked(), model=MODEL, base_url=server.root)
    assert done.sent_as_rendered
    told = str(server.headers)
    assert not [row for row in (KEY, TOKEN, "AKIAPLANTED", "authorization") if row in told]
    monkeypatch.setenv(f"HANSARD_KEY_127_0_0_1_{server.root.rpartition(':')[2]}", "another")
    ask(asked(), model=MODEL, base_url=server.root)
    assert server.headers[1]["authorization"] == "Bearer another"
    assert KEY not in str(server.headers)


@pytest.mark.parametrize(
    ("address", "signs"),
    [
        ("https://bedrock-runtime.us-west-2.amazonaws.com", True),
        ("https://bedrock-runtime-fips.us-west-2.amazonaws.com/", True),
        ("http://bedrock-runtime.us-west-2.amazonaws.com", False),
        ("https://bedrock-runtime.us-west-2.amazonaws.com.example", False),
        ("https://bedrock-runtime.us-west-2.amazonaws.com:8443", False),
    ],
)
def test_an_address_of_amazons_own_gets_the_signature_of_its_region(serve, address, signs):
    say(serve, "{}")
    model: Any = open_model(MODEL, address)
    client = model._model.client
    assert client.meta.endpoint_url == address
    assert (client.meta.config.signature_version == "v4") == signs
    assert not signs or client.meta.region_name == "us-west-2"


KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@pytest.mark.parametrize(
    ("gone", "code"),
    [
        (("AWS_REGION",), "model.no_region"),
        (KEYS, "model.no_key"),
        ((*KEYS, "AWS_REGION"), "model.no_region"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_asked(serve, monkeypatch, tmp_path, gone, code):
    say(serve, "{}")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    for name in (*gone, "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError) as caught:
        open_model(MODEL)
    assert caught.value.code == code
    assert ("AWS_REGION" in str(caught.value)) is ("AWS_REGION" in gone)
    assert ("AWS credentials" in str(caught.value)) is (gone[0] in KEYS)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AWS_PROFILE", KEY),
        ("AWS_REGION", f"{KEY} x"),
        ("AWS_CONFIG_FILE", __file__),
        ("AWS_ENDPOINT_URL", KEY),
    ],
)
def test_settings_of_aws_that_cannot_be_used_are_refused(serve, monkeypatch, variable, value):
    say(serve, "{}")
    monkeypatch.delenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", raising=False)
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError) as caught:
        open_model(MODEL)
    assert caught.value.code == "model.aws"
    assert KEY not in str(caught.value)


# Whole debates


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_the_packaged_debates(serve, table, format_):
    def script(body):
        wanted = [row["parameters"] for row in BEDROCK.tools(body)]
        if not wanted:
            return bedrock("I argue.")
        return bedrock(finish="tool_calls", asks=[("reply", example_for(wanted[0]))])

    server = serve(script, BEDROCK)
    result = play_packaged(table, format_, f"bedrock:{CLAUDE}")
    assert result.decision
    check_as_rendered(table, map(BEDROCK.prompt, server.bodies))
