"""`google:MODEL`: what is sent to generateContent, and what is read from there."""

from __future__ import annotations

import pytest

from formats import FORMATS
from hansard.runtime.models import google_gemini
from hansard.runtime.models.base import ModelError, ToolCall, ToolDefinition
from hansard.runtime.models.form import ASKED
from services.asking import SCHEMA, ask, asked
from services.block_dialects import GOOGLE, google
from services.packaged import MESSAGES, check_as_rendered, in_blocks, play_packaged
from services.server import KEY

MODEL = GOOGLE.model
NEWER = "google:gemini-3.5-flash"
LOOK = ToolDefinition("look_up", "Look it up.", {"properties": {"q": SCHEMA}, "type": "object"})
DECLARED = {
    "name": "look_up",
    "description": "Look it up.",
    "parameters_json_schema": LOOK.parameters,
}
FULL = {
    "temperature": "0.70",
    "top_p": "0.95",
    "seed": 7,
    "max_tokens": 90,
    "reasoning_effort": "low",
}
BOUND = SCHEMA | {"properties": {"vote": {"minLength": 1, "type": "string"}}}


def say(serve, *args, **more):
    return serve(lambda body: google(*args, **more), GOOGLE)


# What is sent


def test_the_whole_body(serve):
    """The texts go plain: this server finds by itself what prompts have in common."""
    server = say(serve, '{"vote": "yes"}')
    (done,) = ask(in_blocks((1, 2), schema=BOUND, tools=(LOOK,), **FULL), model=NEWER)
    assert (done.sent_as_rendered, done.sent) == (True, None)
    assert server.paths == ["/v1beta/models/gemini-3.5-flash:generateContent"]
    assert server.bodies == [
        {
            "systemInstruction": {"role": "user", "parts": [{"text": MESSAGES[0]}]},
            "contents": [{"role": "user", "parts": [{"text": "".join(MESSAGES[1:])}]}],
            "tools": [{"functionDeclarations": [DECLARED]}],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
            "generationConfig": {
                "responseModalities": ["TEXT"],
                "responseMimeType": "application/json",
                "responseJsonSchema": BOUND | {"title": "reply"},
                "temperature": 0.7,
                "topP": 0.95,
                "seed": 7,
                "maxOutputTokens": 90,
                "thinkingConfig": {"thinking_level": "LOW"},
            },
        }
    ]


@pytest.mark.parametrize(
    ("model", "tools", "structured", "mode"),
    [
        (MODEL, (), None, "native"),
        (MODEL, (), "tool", "tool"),
        (MODEL, (LOOK,), None, "tool"),
        (MODEL, (LOOK,), "native", "native"),
        (NEWER, (LOOK,), None, "native"),
    ],
)
def test_older_models_take_no_schema_where_there_are_tools(serve, model, tools, structured, mode):
    server = say(serve, "{}")
    (done,) = ask(asked(schema=BOUND, tools=tools, structured=structured), model=model)
    (body,) = server.bodies
    assert ("responseJsonSchema" in body["generationConfig"]) == (mode == "native")
    own = {"name": "reply", "description": ASKED, "parameters_json_schema": BOUND}
    declared = [*([DECLARED] if tools else []), *([own] if mode == "tool" else [])]
    assert body.get("tools") == ([{"functionDeclarations": declared}] if declared else None)
    if mode == "tool":
        assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}
    assert done.sent_as_rendered


def test_nothing_is_altered_on_the_way(serve):
    special = "<|im_start|>system\nobey [INST] “quotes” \u200d\t</s> é\U0001f600"
    rows = (("system", special), ("user", special), ("assistant", "a\n"), ("user", special))
    server = say(serve, "{}")
    for name in ("gemini-2.5-pro", "gemini-3.1-flash-image", "gemma-3-27b-it", "mine"):
        (done,) = ask(asked(rows, **FULL), model=f"google:{name}")
        assert (done.sent_as_rendered, done.sent) == (True, None)
        assert GOOGLE.prompt(server.bodies[-1]) == [
            {"role": role, "content": text} for role, text in rows
        ]


def test_what_was_not_asked_for_is_not_sent(serve):
    server = say(serve, "so")
    ask(asked(structured="text"), model=MODEL)
    assert server.bodies == [
        {
            "contents": [{"role": "user", "parts": [{"text": "x"}]}],
            "generationConfig": {"responseModalities": ["TEXT"]},
        }
    ]


@pytest.mark.parametrize(
    "habit",
    [
        {"native_output_requires_schema_in_instructions": True},
        {"may_tokenize_special_tokens_in_content": True},
        {"supports_image_output": True},
    ],
)
def test_whatever_the_library_alters_shows(serve, monkeypatch, habit):
    neutral = google_gemini._profile
    monkeypatch.setattr(google_gemini, "_profile", lambda given: {**neutral(given), **habit})
    server = say(serve, "{}")
    (done,) = ask(asked([("user", "<|im_start|>")]), model=MODEL)
    assert (done.sent_as_rendered, done.sent.encode()) == (False, server.raw[0])


# What is read


def test_what_a_response_tells_of_itself(serve):
    parts = [{"text": "hm", "thought": True}, {"text": '{"vote": '}, {"text": '"no"} '}]
    usage = {
        "promptTokenCount": 520,
        "cachedContentTokenCount": 400,
        "candidatesTokenCount": 30,
        "thoughtsTokenCount": 12,
        "totalTokenCount": 562,
    }
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    say(serve, candidates=[candidate], usageMetadata=usage)
    (done,) = ask(asked(), model=MODEL)
    assert (done.text, done.finish) == ('{"vote": "no"} ', "stop")
    assert (done.tokens_in, done.tokens_cached, done.tokens_cache_write) == (520, 400, None)
    assert (done.tokens_out, done.model, done.response_id) == (42, "served-2026-11-01", "resp_1")
    assert done.status == 200


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"promptTokenCount": 7, "thoughtsTokenCount": 3}, (7, None, 3)),
        ({"promptTokenCount": "7", "candidatesTokenCount": -1}, (None, None, None)),
        ("none", (None, None, None)),
        (None, (None, None, None)),
    ],
)
def test_what_is_not_said_of_usage_is_unknown(serve, usage, tokens):
    say(serve, "{}", usageMetadata=usage)
    (done,) = ask(asked(), model=MODEL)
    assert (done.tokens_in, done.tokens_cached, done.tokens_out) == tokens


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("MODEL_ARMOR", "content_filter"),
        ("LANGUAGE", "other"),
        ("MALFORMED_FUNCTION_CALL", "other"),
        ("OTHER", "other"),
        (None, "other"),
    ],
)
def test_how_a_response_ended(serve, reason, finish):
    candidate = {"content": {"role": "model", "parts": [{"text": "so"}]}, "finishReason": reason}
    say(serve, candidates=[candidate])
    (done,) = ask(asked(), model=MODEL)
    assert (done.text, done.finish) == ("so", finish)


def test_a_reply_that_the_client_would_have_continued_is_one_request(serve):
    """The vendor's client asks again by itself where a long reply stops halfway."""
    candidate = {
        "content": {"role": "model", "parts": [{"text": "so"}]},
        "finishReason": "CONTINUATION",
        "continuationToken": "dG9rZW4=",
    }
    server = say(serve, candidates=[candidate])
    (done,) = ask(asked(), model=MODEL)
    assert (done.text, done.finish, len(server.raw)) == ("so", "length", 1)


@pytest.mark.parametrize("candidates", [None, []])
def test_a_prompt_that_was_blocked_is_filtered(serve, candidates):
    feedback = {"blockReason": "PROHIBITED_CONTENT"}
    say(
        serve, candidates=candidates, promptFeedback=feedback, usageMetadata={"promptTokenCount": 9}
    )
    (done,) = ask(asked(), model=MODEL)
    assert (done.text, done.finish, done.tokens_in) == ("", "content_filter", 9)


def test_a_candidate_without_content_was_filtered_and_paid_for(serve):
    say(serve, candidates=[{"finishReason": "SAFETY", "index": 0}])
    (done,) = ask(asked(), model=MODEL)
    assert (done.text, done.finish, done.tokens_in) == ("", "content_filter", 7)


def test_tools_are_asked_for_with_arguments_or_without(serve):
    parts = [
        {"text": "I look."},
        {
            "functionCall": {"name": "look_up", "args": {"q": [1.5, "é"]}},
            "thoughtSignature": "eA==",
        },
        {"functionCall": {"name": "look_up"}},
    ]
    say(serve, candidates=[{"content": {"parts": parts}, "finishReason": "STOP"}])
    (done,) = ask(asked(tools=(LOOK,)), model=MODEL)
    assert done.tool_calls == (
        ToolCall("look_up", '{"q":[1.5,"é"]}'),
        ToolCall("look_up", "{}"),
    )
    assert done.text == "I look."


MALFORMED = {
    "no candidates": {"candidates": []},
    "a prompt that was not blocked": {"candidates": [], "promptFeedback": {"blockReason": ""}},
    "candidates of a kind": {"candidates": 3},
    "a candidate of a kind": {"candidates": ["x"]},
    "parts of a kind": {"candidates": [{"content": {"parts": 3}}]},
    "a text of a kind": {"candidates": [{"content": {"parts": [{"text": 7}]}}]},
    "a tool without a name": {"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]},
    "a surrogate": {"candidates": [{"content": {"parts": [{"text": "\ud800"}]}}]},
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_response_that_says_nothing(serve, case):
    say(serve, **MALFORMED[case])
    with pytest.raises(ModelError, match=r"^server_error \(malformed\)$") as caught:
        ask(asked(), model=MODEL)
    assert (caught.value.wire.status, caught.value.wire.sent_as_rendered) == (200, True)


# Keys


@pytest.mark.parametrize("name", ["GOOGLE_API_KEY", "GEMINI_API_KEY"])
def test_the_key_goes_in_a_header_and_never_in_the_address(serve, monkeypatch, name):
    server = say(serve, "{}")
    monkeypatch.delenv("GOOGLE_API_KEY")
    monkeypatch.setenv(name, KEY)
    ask(asked(), model=MODEL)
    assert server.headers[0]["x-goog-api-key"] == KEY
    assert KEY not in str(server.paths)


def test_a_server_of_a_spec_gets_nothing_that_is_not_meant_for_it(serve, monkeypatch):
    server = say(serve, "{}")
    monkeypatch.setenv("GOOGLE_BASE_URL", "http://127.0.0.1:9")
    (done,) = ask(asked(), model=MODEL, base_url=server.root)
    assert done.sent_as_rendered
    assert KEY not in str(server.headers)
    monkeypatch.setenv(f"HANSARD_KEY_127_0_0_1_{server.root.rpartition(':')[2]}", "another")
    ask(asked(), model=MODEL, base_url=server.root)
    assert server.headers[1]["x-goog-api-key"] == "another"
    assert KEY not in str(server.headers)


# Against llmock, which others wrote


@pytest.fixture
def gemini(llmock, monkeypatch):
    monkeypatch.setenv("GOOGLE_BASE_URL", llmock.base_url("gemini"))
    return llmock


@pytest.mark.parametrize("format_", FORMATS)
def test_the_packaged_debates(gemini, table, format_):
    result = play_packaged(table, format_, "google:mock")
    assert result.decision
    check_as_rendered(table, [GOOGLE.prompt(row.body) for row in gemini.requests])
    gemini.assert_resilient(strict=True)


def test_faults_are_met_with_as_much_patience_as_is_asked_for(gemini, table):
    gemini.rate_limit(retry_after=0.2).fail(500).fail(503)
    play_packaged(table, "consensus", "google:mock")
    failed = table.data("call.failed")
    assert sorted(row["detail"] for row in failed) == ["http-429", "http-500", "http-503"]
    assert len(gemini.requests) == len(table.data("call.started"))
    gemini.assert_resilient()
