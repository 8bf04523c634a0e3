"""`anthropic:MODEL`: what is sent to Messages, and what is read from there."""

from __future__ import annotations

import json
from itertools import cycle
from typing import Any

import pytest

from formats import FORMATS
from hansard.runtime.models import anthropic_messages
from hansard.runtime.models.base import ModelError, ToolCall, ToolDefinition
from hansard.runtime.models.form import ASKED
from hansard.runtime.models.providers import open_model
from services.asking import SCHEMA, ask, asked
from services.block_dialects import ANTHROPIC, anthropic
from services.packaged import MESSAGES, check_as_rendered, in_blocks, play_packaged
from services.server import KEY, SEATS, Raw

MODEL = ANTHROPIC.model
CACHED = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}
LOOK = ToolDefinition("look_up", "Look it up.", {"properties": {"q": SCHEMA}, "type": "object"})
FULL = {"temperature": "0.70", "top_p": "0.95", "max_tokens": 90, "reasoning_effort": "low"}
BOUND = SCHEMA | {"properties": {"vote": {"minLength": 1, "maxLength": 9, "type": "string"}}}
OPEN = {"properties": {"vote": {"type": "string"}}, "type": "object"}
REFERS = SCHEMA | {"properties": {"vote": {"$ref": "#/$defs/v"}}, "$defs": {"v": {"type": "null"}}}


def say(serve, *args, **more):
    return serve(lambda body: anthropic(*args, **more), ANTHROPIC)


# What is sent


def test_the_whole_body(serve):
    server = say(serve, '{"vote": "yes"}')
    (done,) = ask(in_blocks((1, 2), schema=BOUND, tools=(LOOK,), **FULL), model=MODEL)
    assert (done.sent_as_rendered, done.sent) == (True, None)
    assert server.paths == ["/v1/messages"]
    assert server.bodies == [
        {
            "model": "claude-haiku-4-5",
            "stream": False,
            "system": MESSAGES[0],
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": MESSAGES[1], **CACHED},
                        {"type": "text", "text": MESSAGES[2], **CACHED},
                        {"type": "text", "text": MESSAGES[3]},
                    ],
                }
            ],
            "output_config": {
                "format": {
                    "type": "json_schema",
                    "schema": SCHEMA | {"properties": {"vote": {"type": "string"}}},
                },
                "effort": "low",
            },
            "tools": [
                {
                    "name": "look_up",
                    "description": "Look it up.",
                    "input_schema": LOOK.parameters,
                }
            ],
            "tool_choice": {"type": "auto"},
            "temperature": 0.7,
            "top_p": 0.95,
            "max_tokens": 90,
        }
    ]


def test_the_reply_as_a_tool_is_asked_for_with_its_whole_schema(serve):
    answer = {"asks": [("reply", {"vote": "yes"})], "finish": "tool_calls"}
    server = say(serve, **answer)
    wanted = in_blocks((), schema=BOUND, tools=(LOOK,), structured="tool", max_tokens=9)
    (done,) = ask(wanted, model=MODEL)
    (body,) = server.bodies
    assert body["tools"][1:] == [{"name": "reply", "description": ASKED, "input_schema": BOUND}]
    assert (body["tool_choice"], "output_config" in body) == ({"type": "any"}, False)
    assert (done.text, done.finish, done.tool_calls) == ('{"vote":"yes"}', "stop", ())
    assert done.sent_as_rendered


@pytest.mark.parametrize(
    ("model", "schema", "mode"),
    [
        ("anthropic:claude-haiku-4-5", SCHEMA, "native"),
        ("anthropic:claude-haiku-4-5", OPEN, "tool"),
        ("anthropic:claude-haiku-4-5", REFERS, "tool"),
        ("anthropic:a-model-of-ones-own", SCHEMA, "tool"),
    ],
)
def test_native_where_model_and_schema_allow_it(serve, model, schema, mode):
    server = say(serve, "{}")
    (done,) = ask(asked(schema=schema, max_tokens=9), model=model)
    (body,) = server.bodies
    assert ("output_config" in body, "tools" in body) == (mode == "native", mode == "tool")
    assert done.sent_as_rendered


@pytest.mark.parametrize(
    ("repeats", "marked"),
    [
        ((), []),
        ((0,), []),
        ((2, 2, 9), [2]),
        ((3, 1), [1, 3]),
        ((1, 2, 3, 4, 5, 6), [3, 4, 5, 6]),
    ],
)
def test_a_cache_point_after_each_repeat_and_never_more_than_four(serve, repeats, marked):
    server = say(serve, "{}")
    (done,) = ask(in_blocks(repeats, blocks=6, max_tokens=9), model=MODEL)
    content = server.bodies[0]["messages"][0]["content"]
    assert [at for at, row in enumerate(content, 1) if row.get("cache_control")] == marked
    assert done.sent_as_rendered
    assert "cache_control" not in json.dumps(server.bodies[0]["system"])


def test_in_a_debate_the_cache_points_stand_where_later_prompts_go_the_same_way(table, serve):
    votes = cycle(["release", "revise", "escalate"])

    def script(body):
        return anthropic(json.dumps({"stance": "s", "rationale": "r", "vote": next(votes)}))

    server = serve(script, ANTHROPIC)
    seats = [{"id": seat, "model": MODEL} for seat in SEATS]
    table.run(debaters=seats, threshold=3, max_rounds=2)
    prompts = [body["messages"][0]["content"] for body in server.bodies]
    assert len(prompts) == 24
    for number, blocks in enumerate(prompts[:-1]):
        points = [at for at, row in enumerate(blocks, 1) if "cache_control" in row]
        later = [[row["text"] for row in other] for other in prompts[number + 1 :]]
        texts = [row["text"] for row in blocks]
        assert 1 <= len(points) <= 4
        assert all(any(row[:at] == texts[:at] for row in later) for at in points)
    assert len(prompts[-2]) - 1 in points  # all that was said before is one of them
    assert {row["sent_as_rendered"] for row in table.data("call.answered")} == {True}


def test_nothing_is_altered_on_the_way(serve):
    special = "<|im_start|>system\nobey [INST] “quotes” \u200d\t</s> é\U0001f600"
    rows = (("system", special), ("user", special), ("assistant", "a\n"), ("user", special))
    server = say(serve, "{}")
    for name in ("claude-haiku-4-5", "claude-opus-5-5", "claude-fable-5", "glm-5"):
        (done,) = ask(asked(rows, **FULL), model=f"anthropic:{name}")
        assert (done.sent_as_rendered, done.sent) == (True, None)
        body = server.bodies[-1]
        assert body["system"] == special
        assert [row["content"] for row in body["messages"]] == [
            [{"type": "text", "text": text}] for _, text in rows[1:]
        ]
        assert (body["temperature"], body["max_tokens"]) == (0.7, 90)


def test_there_is_no_seed_and_that_shows(serve):
    server = say(serve, "{}")
    (done,) = ask(asked(seed=7, max_tokens=9), model=MODEL)
    assert "seed" not in server.bodies[0]
    assert (done.sent_as_rendered, done.sent.encode()) == (False, server.raw[0])


@pytest.mark.parametrize(
    "habit",
    [
        {"anthropic_max_output_tokens": 8},
        {"native_output_requires_schema_in_instructions": True},
        {"may_tokenize_special_tokens_in_content": True},
    ],
)
def test_whatever_the_library_alters_shows(serve, monkeypatch, habit):
    neutral = anthropic_messages._profile
    monkeypatch.setattr(anthropic_messages, "_profile", lambda given: {**neutral(given), **habit})
    server = say(serve, "{}")
    (done,) = ask(asked([("user", "<|im_start|>")], max_tokens=9), model=MODEL)
    assert (done.sent_as_rendered, done.sent.encode()) == (False, server.raw[0])


def test_the_clients_retries_are_off(serve):
    """A second request is refused anyway, but only after a wait that nobody asked for."""
    say(serve, "{}")
    model: Any = open_model(MODEL)
    assert model._model.client.max_retries == 0


# What is read


def test_what_a_message_tells_of_itself(serve):
    usage = {
        "input_tokens": 70,
        "cache_read_input_tokens": 400,
        "cache_creation_input_tokens": 50,
        "output_tokens": 30,
        "cache_creation": {"ephemeral_5m_input_tokens": 50, "ephemeral_1h_input_tokens": 0},
    }
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "text", "text": '{"vote": '},
        {"type": "text", "text": '"no"} '},
    ]
    say(serve, usage=usage, content=content)
    (done,) = ask(asked(max_tokens=9), model=MODEL)
    assert (done.text, done.finish) == ('{"vote": "no"} ', "stop")
    assert (done.tokens_in, done.tokens_cached, done.tokens_cache_write) == (520, 400, 50)
    assert (done.tokens_out, done.model, done.response_id) == (30, "served-2026-11-01", "msg_1")
    assert (done.status, done.request_id) == (200, "req_1")


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input_tokens": 7, "output_tokens": 5}, (7, None, None, 5)),
        ({"cache_read_input_tokens": 9}, (None, 9, None, None)),
        ({"input_tokens": "many", "output_tokens": -1}, (None, None, None, None)),
        ("none", (None, None, None, None)),
        (None, (None, None, None, None)),
    ],
)
def test_what_is_not_said_of_usage_is_unknown(serve, usage, tokens):
    say(serve, "{}", usage=usage)
    (done,) = ask(asked(max_tokens=9), model=MODEL)
    told = (done.tokens_in, done.tokens_cached, done.tokens_cache_write, done.tokens_out)
    assert told == tokens


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "other"),
        (None, "other"),
        (7, "other"),
    ],
)
def test_how_a_message_ended(serve, reason, finish):
    say(serve, "so", stop_reason=reason)
    (done,) = ask(asked(max_tokens=9), model=MODEL)
    assert (done.text, done.finish) == ("so", finish)


def test_a_message_without_content_is_an_empty_reply_that_was_paid_for(serve):
    say(serve, "")
    (done,) = ask(asked(max_tokens=9), model=MODEL)
    assert (done.text, done.finish, done.tokens_out) == ("", "stop", 5)


def test_the_arguments_of_a_tool_keep_their_numbers(serve):
    raw = '{"q": 1.10, "far": 1E+400, "é": ["\\u00e9", null, true, 12345678901234567]}'
    body = json.dumps(anthropic(finish="tool_calls", asks=[("look_up", "HERE")]))
    server = serve(lambda _: {}, ANTHROPIC)
    server.script = lambda _: Raw(body=body.replace('"HERE"', raw).encode())
    (done,) = ask(asked(tools=(LOOK,), max_tokens=9), model=MODEL)
    told = '{"q":1.10,"far":1E+400,"é":["é",null,true,12345678901234567]}'
    assert done.tool_calls == (ToolCall("look_up", told),)
    assert (done.text, done.finish) == ("", "tool_calls")


def test_a_message_that_was_cut_off_asks_for_no_tools(serve):
    say(serve, "so", finish="length", asks=[("look_up", {})])
    (done,) = ask(asked(tools=(LOOK,), max_tokens=9), model=MODEL)
    assert (done.text, done.finish, done.tool_calls) == ("so", "length", ())


MALFORMED = {
    "no content": {"content": None},
    "content of a kind": {"content": 3},
    "a block without a type": {"content": [{}]},
    "a text of a kind": {"content": [{"type": "text", "text": 7}]},
    "a tool without a name": {"content": [{"type": "tool_use", "input": {}}]},
    "a tool without arguments": {"content": [{"type": "tool_use", "name": "x"}]},
    "a surrogate": {"content": [{"type": "text", "text": "\ud800"}]},
    "a surrogate in a tool": {
        "content": [{"type": "tool_use", "name": "x", "input": {"q": "\ud800"}}]
    },
    "a number that no record holds": {
        "content": [{"type": "tool_use", "name": "x", "input": {"q": 10**30}}]
    },
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_message_that_says_nothing(serve, case):
    say(serve, **MALFORMED[case])
    with pytest.raises(ModelError, match=r"^server_error \(malformed\)$") as caught:
        ask(asked(max_tokens=9), model=MODEL)
    assert (caught.value.wire.status, caught.value.wire.sent_as_rendered) == (200, True)


# Keys


def test_the_key_goes_to_ones_own_server(serve):
    server = say(serve, "{}")
    ask(asked(max_tokens=9), model=MODEL)
    headers = server.headers[0]
    assert KEY in (headers.get("x-api-key"), headers["authorization"].removeprefix("Bearer "))


def test_a_server_of_a_spec_gets_nothing_that_is_not_meant_for_it(serve, monkeypatch):
    server = say(serve, "{}")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"X-Gateway: {KEY}")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    (done,) = ask(asked(max_tokens=9), model=MODEL, base_url=server.root)
    assert done.sent_as_rendered
    assert KEY not in str(server.headers)
    assert server.headers[0]["anthropic-version"]
    name = f"HANSARD_KEY_127_0_0_1_{server.root.rpartition(':')[2]}"
    monkeypatch.setenv(name, "another")
    ask(asked(max_tokens=9), model=MODEL, base_url=server.root)
    assert (server.headers[1]["x-api-key"], KEY in str(server.headers)) == ("another", False)


# Against llmock, which others wrote


@pytest.mark.parametrize("format_", FORMATS)
def test_the_packaged_debates(llmock, table, format_):
    """The mock knows this wire's tools and not its schemas; models of no known name use tools."""
    result = play_packaged(table, format_, "anthropic:mock")
    assert result.decision
    prompts = [ANTHROPIC.prompt(row.body) for row in llmock.requests]
    check_as_rendered(table, prompts)
    llmock.assert_resilient(strict=True)


def test_faults_are_met_with_as_much_patience_as_is_asked_for(llmock, table):
    llmock.rate_limit(retry_after=0.2).fail(500).fail(529)
    play_packaged(table, "consensus", "anthropic:mock")
    failed = table.data("call.failed")
    assert sorted(row["detail"] for row in failed) == ["http-429", "http-500", "http-529"]
    assert len(llmock.requests) == len(table.data("call.started"))
    assert {row.sdk_retry_count for row in llmock.requests} == {0}
    llmock.assert_resilient()
