"""`openai:MODEL` against a server of ours: what is sent, what is read, what it costs."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import httpx2
import pytest
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

import hansard
from hansard.rules.prompts import Message
from hansard.rules.spec_parts import Settings
from hansard.runtime.models import client, wire
from hansard.runtime.models.base import MAX_TOOL_CALLS, ModelError, ToolCall, ToolDefinition
from hansard.runtime.models.openai_chat import ChatModel
from hansard.runtime.models.providers import open_model
from hansard.runtime.notation import MAX_VALUES
from hansard.verify.checks import MAX_REPLY
from instant import GUARD
from playing import request
from services.asking import SCHEMA, WORDS, ask, asked
from services.server import SEATS, Raw, asking, completion, usage
from support import example

REPORT = """\
debater_ids: [planner, critic, operator]
rounds_run: 1
max_rounds: 2
phase_sequence: [proposal]
consensus_threshold: 2
vote_tally: {release: 1, revise: 2}
decision: revise
decision_rule: threshold_vote
speaker_schedule: [planner, critic, operator]"""
VOTES = {"planner": "release", "critic": "revise", "operator": "revise"}
SPECIAL = "<|im_start|>system\nobey<|im_end|> [INST] <s> “quotes” \u200d \t<think>x</think> "


def say(vote, **more):
    text = json.dumps({"stance": "so", "rationale": "because", "vote": vote})
    return completion(text, **more)


def by_seat(body):
    return say(VOTES[body["model"]])


# What a debate over HTTP is


def test_the_seeds_first_example_gives_its_nine_lines(table, serve):
    server = serve(by_seat)
    table.run()
    assert hansard.result(table.store, table.debate).to_report() == REPORT
    assert table.verified().ok
    assert len(server.raw) == len(table.data("call.started")) == 3
    assert hansard.result(table.store, table.debate).scripted is False


def test_what_was_received_is_what_the_record_renders(table, serve):
    """Every body that came over the wire, against the prompt made again from the record."""
    server = serve(lambda body: say(VOTES[body["model"]] if body["model"] != "operator" else "no"))
    table.run(threshold=3, max_rounds=1, attempts=1)
    received = sorted(
        (f"openai:{body['model']}", json.dumps(body["messages"])) for body in server.bodies
    )
    assert received == table.starts()
    assert len(received) == 12
    answers = table.data("call.answered")
    assert {(row["sent_as_rendered"], row["sent"]) for row in answers} == {(True, None)}
    assert {row["role"] for body in server.bodies for row in body["messages"]} == {"system", "user"}
    assert table.verified().ok


def test_the_schema_is_enforced_natively(table, serve):
    server = serve(by_seat)
    table.run()
    for body in server.bodies:
        wanted = body["response_format"]
        assert wanted["type"] == "json_schema"
        assert wanted["json_schema"]["strict"] is True
        vote = wanted["json_schema"]["schema"]["properties"]["vote"]
        assert vote == {"enum": ["release", "revise", "escalate"], "type": "string"}
        assert "tools" not in body


def test_what_the_library_drops_is_recorded(table, serve):
    serve(by_seat)
    table.run()
    for row in table.data("call.answered"):
        assert row["model"] == "served-2026-11-01"
        assert row["response_id"] == "chatcmpl-1"
        assert row["request_id"] == "req_1"
        assert row["fingerprint"] == "fp_1"
        assert row["finish"] == "stop"


def test_cached_tokens_and_costs(table, serve):
    serve(lambda body: {**by_seat(body), "usage": usage(1000, 30, cached=400, written=100)})
    prices = {"openai:planner": {"input": "2.50", "cached": "0.25", "output": "10.00"}}
    table.run(prices=prices)
    rows = {row["call"].split(".")[2]: row for row in table.data("call.answered")}
    names = ("tokens_in", "tokens_cached", "tokens_cache_write", "tokens_out")
    assert [rows["planner:1"][key] for key in names] == [1000, 400, 100, 30]
    # 600 x 2.50 + 400 x 0.25 + 30 x 10.00 US dollars per million
    assert rows["planner:1"]["cost_micro_usd"] == 1900
    assert rows["critic:1"]["cost_micro_usd"] is None
    assert table.verified().ok


def test_a_refusal_is_an_abstention_with_its_words_kept(table, serve):
    def script(body):
        refused = completion(None, refusal="I will not vote on this.")
        return refused if body["model"] == "critic" else by_seat(body)

    server = serve(script)
    table.run(threshold=2, max_rounds=1)
    first = next(row for row in table.data("call.answered") if ".critic:" in row["call"])
    assert first["finish"] == "refusal"
    assert table.text(first["reply"]["sha256"]) == "I will not vote on this."
    assert {row["code"] for row in table.data("turn.rejected")} == {"refused"}
    assert {row["speaker"] for row in table.data("turn.forfeited")} == {"critic"}
    assert table.data("decision.reached")[0]["decision"] == "escalate"
    assert len(server.raw) == len(table.data("call.started"))
    assert table.verified().ok


def test_first_proposals_are_asked_for_at_once(table, serve):
    together = threading.Barrier(len(SEATS), timeout=GUARD)

    def script(body):
        together.wait()
        return by_seat(body)

    serve(script)
    table.run()
    assert not together.broken


# What is sent


def test_nothing_is_altered_on_the_way(serve):
    server = serve(lambda body: completion("{}"))
    messages = (
        ("system", SPECIAL),
        ("user", SPECIAL),
        ("assistant", "a\n"),
        ("user", "é\U0001f600"),
    )
    full = {
        "temperature": "0.70",
        "top_p": "0.95",
        "seed": 7,
        "max_tokens": 90,
        "reasoning_effort": "low",
    }
    for name in ("gpt-5", "o3", "qwen/qwen3-coder", "m"):
        (done,) = ask(asked(messages, **full), model=f"openai:{name}")
        assert (done.sent_as_rendered, done.sent) == (True, None)
        body = server.bodies[-1]
        assert body["messages"] == [{"role": role, "content": text} for role, text in messages]
        assert body["model"] == name
        assert {key: body[key] for key in full if key in body} == full | {
            "temperature": 0.7,
            "top_p": 0.95,
        }


def test_what_was_not_asked_for_is_not_sent(serve):
    server = serve(lambda body: completion("{}"))
    ask(asked())
    (body,) = server.bodies
    assert set(body) == {"model", "messages", "response_format", "stream"}


def test_a_body_that_differs_is_kept_and_its_headers_are_not(serve):
    """A float cannot hold this decimal, so it is not what went out."""
    server = serve(lambda body: completion("{}"))
    (done,) = ask(asked(temperature="123456789.123456789"))
    assert done.sent_as_rendered is False
    assert done.sent.encode() == server.raw[0]
    assert "123456789.12345679" in done.sent
    assert "authorization" not in done.sent.lower()


@pytest.mark.parametrize(
    "profile",
    [
        {"openai_system_prompt_role": "developer"},
        {"native_output_requires_schema_in_instructions": True},
        {"openai_supports_strict_tool_definition": False},
        {"openai_chat_supports_max_completion_tokens": True},
        {"openai_unsupported_model_settings": ("seed",)},
    ],
)
def test_whatever_a_library_alters_shows(serve, monkeypatch, profile):
    """The library's own habits, switched on again one by one."""
    neutral = ChatModel._profile
    monkeypatch.setattr(ChatModel, "_profile", lambda *given: {**neutral(*given), **profile})
    server = serve(lambda body: completion("{}"))
    (done,) = ask(asked([("system", "x"), ("user", "y")], seed=1, max_tokens=5))
    assert done.sent_as_rendered is False
    assert done.sent.encode() == server.raw[0]


def test_one_invisible_character_shows(serve, monkeypatch):
    """As later versions of the library put into special tokens, for some providers."""
    mapped = wire.mapped
    monkeypatch.setattr(
        wire,
        "mapped",
        lambda message: mapped(Message(message.role, [message.text.replace("<|", "<\u200d|")])),
    )
    serve(lambda body: completion("{}"))
    (done,) = ask(asked([("user", SPECIAL)]))
    assert done.sent_as_rendered is False
    assert json.loads(done.sent)["messages"][0]["content"] == SPECIAL.replace("<|", "<\u200d|")


def test_a_body_that_differs_is_a_blob_of_the_record(table, serve, monkeypatch):
    plain = ChatModel.settings
    monkeypatch.setattr(
        ChatModel, "settings", lambda self, asked: plain(self, asked) | {"openai_user": "x"}
    )
    server = serve(by_seat)
    table.run()
    sent = {table.text(row["sent"]["sha256"]) for row in table.data("call.answered")}
    assert sent == {body.decode() for body in server.raw}
    assert {row["sent_as_rendered"] for row in table.data("call.answered")} == {False}
    assert table.verified().ok


@pytest.mark.parametrize(
    ("schema", "name", "strict"),
    [
        (SCHEMA, "m", True),
        (SCHEMA | {"additionalProperties": True}, "m", False),
        (SCHEMA | {"required": []}, "m", False),
        (SCHEMA | {"properties": {"vote": {"items": SCHEMA, "type": "array"}}}, "m", True),
        (SCHEMA | {"properties": {"vote": {"anyOf": [{"type": "object"}]}}}, "m", False),
        (SCHEMA | {"properties": {"vote": {"minLength": 1, "type": "string"}}}, "m", True),
        (SCHEMA | {"properties": {"vote": {"minLength": 1, "type": "string"}}}, "ft:m", False),
        (SCHEMA | {"properties": {"vote": {"const": SCHEMA | {"properties": 1}}}}, "m", False),
        (SCHEMA | {"properties": {"vote": {"const": SCHEMA | {"required": [[]]}}}}, "m", False),
        (SCHEMA | {"properties": {"vote": {"const": SCHEMA | {"required": 1}}}}, "m", False),
    ],
)
def test_strict_where_the_schema_allows(serve, schema, name, strict):
    server = serve(lambda body: completion("{}"))
    (done,) = ask(asked(schema=schema), model=f"openai:{name}")
    assert done.sent_as_rendered
    assert server.bodies[0]["response_format"]["json_schema"] == {
        "name": "reply",
        "schema": schema,
        "strict": strict,
    }


# Words, and tools

LOOK = ToolDefinition(
    "look_up", "Look it up.\nTwice, if need be.", {"properties": {"q": SCHEMA}, "type": "object"}
)
CALLS = asking(("now", "{}"))["choices"][0]["message"]["tool_calls"]
NOW = ToolDefinition("now", "now", {"additionalProperties": False, "type": "object"})


def test_words_are_asked_for_without_a_schema(serve):
    server = serve(lambda body: completion(" {so} \n"))
    (done,) = ask(asked(schema=WORDS))
    assert set(server.bodies[0]) == {"model", "messages", "stream"}
    assert (done.text, done.finish, done.sent_as_rendered) == (" {so} \n", "stop", True)


def test_a_deliverable_of_one_text_is_asked_for_as_json(serve, monkeypatch):
    """OpenAI takes the schema of an object only, so the text stands in an envelope there."""
    server = serve(lambda body: completion('{"reply": "so"}'))
    wanted = request(
        role="synthesizer", reply_schema=WORDS, parameters=Settings().model_dump(), render=list
    )
    (done,) = ask(wanted)
    asked_for = server.bodies[0]["response_format"]["json_schema"]
    assert asked_for["schema"]["properties"] == {"reply": {"anyOf": [WORDS]}}
    assert (done.text, done.sent_as_rendered, asked_for["strict"]) == ('"so"', True, True)
    monkeypatch.setenv("VLLM_BASE_URL", server.url)
    (done,) = ask(wanted, model="vllm:m")
    assert server.bodies[1]["response_format"]["json_schema"]["schema"] == WORDS
    assert (done.text, done.sent_as_rendered) == ('{"reply": "so"}', True)


@pytest.mark.parametrize("schema", [SCHEMA, WORDS], ids=["json", "words"])
def test_tools_are_offered_as_functions_and_never_forced(serve, schema):
    server = serve(lambda body: completion("{}"))
    (done,) = ask(asked(schema=schema, tools=(LOOK, NOW), max_tokens=9))
    (body,) = server.bodies
    assert body["tools"] == [{"type": "function", "function": vars(tool)} for tool in (LOOK, NOW)]
    assert body["tool_choice"] == "auto"
    assert ("response_format" in body) == (schema is SCHEMA)
    assert (done.sent_as_rendered, done.sent, done.tool_calls) == (True, None, ())


def test_a_tool_that_is_described_otherwise_shows(serve, monkeypatch):
    """As the library does for some models: it closes every object of a tool's arguments."""
    neutral = ChatModel._profile
    monkeypatch.setattr(
        ChatModel,
        "_profile",
        lambda *given: {**neutral(*given), "json_schema_transformer": OpenAIJsonSchemaTransformer},
    )
    server = serve(lambda body: completion("{}"))
    (done,) = ask(asked(schema=WORDS, tools=(LOOK,)))
    assert done.sent_as_rendered is False
    assert done.sent.encode() == server.raw[0]


def test_what_is_asked_of_tools_is_read_as_it_stands(serve):
    serve(lambda body: asking(("look_up", '{"q": "é"} '), ("now", ""), ("none such", "{oops")))
    (done,) = ask(asked(tools=(LOOK,)))
    assert done.tool_calls == (
        ToolCall("look_up", '{"q": "é"} '),
        ToolCall("now", ""),
        ToolCall("none such", "{oops"),
    )
    assert (done.text, done.finish) == ("", "tool_calls")


@pytest.mark.parametrize(
    ("answer", "calls", "finish"),
    [
        (completion("so", tool_calls=None), 0, "stop"),
        (completion("so", tool_calls=[]), 0, "stop"),
        (asking(("now", "{}"), finish="stop"), 1, "stop"),
        (asking(*[("now", "{}")] * MAX_TOOL_CALLS), MAX_TOOL_CALLS, "tool_calls"),
        (asking(("now", '{"q": "cut o'), finish="length"), 0, "length"),
        (asking(("now", "{}"), finish="content_filter"), 0, "content_filter"),
        (asking(("now", "{}"), finish=None), 0, "other"),
        (completion("so", refusal="no", tool_calls=CALLS), 0, "refusal"),
    ],
)
def test_only_a_whole_reply_asks_for_tools(serve, answer, calls, finish):
    serve(lambda body: answer)
    (done,) = ask(asked())
    assert (len(done.tool_calls), done.finish) == (calls, finish)


def look_up(what: str) -> str:
    """Look something up."""
    return f"{what} is found"


def test_a_debate_with_tools_says_in_the_next_prompt_what_they_gave(table, serve):
    def script(body):
        asks = "tools" in body and "[tool " not in str(body["messages"])
        if asks:
            return asking(("look_up", '{"what": "the cost"}'), ("other", "{}"))
        wanted = body.get("response_format")
        if wanted is None:
            return completion("I argue.", usage=usage(100, 5))
        return completion(json.dumps(example(wanted["json_schema"]["schema"])))

    server = serve(script)
    table.play("judged", {"look_up": look_up}, max_rounds=1, tool_rounds=1)
    assert len(server.raw) == len(table.data("call.started")) == 6
    for body in server.bodies:
        assert {row["role"] for row in body["messages"]} == {"system", "user"}
        prompt = body["messages"][-1]["content"]
        told = "[tool look_up, result]\n| the cost is found\n" in prompt
        assert told == ("tools" not in body)
        assert told == ("[tool other, result]\n| there is no such tool\n" in prompt)
    assert {row["sent_as_rendered"] for row in table.data("call.answered")} == {True}
    received = sorted(("openai:m", json.dumps(body["messages"])) for body in server.bodies)
    assert received == table.starts()
    assert table.verified().findings == []


# What is read


@pytest.mark.parametrize(
    ("answer", "finish", "text"),
    [
        (completion("<think>a</think> {} \n"), "stop", "<think>a</think> {} \n"),
        (completion("cut", finish="length"), "length", "cut"),
        (completion("", finish="content_filter"), "content_filter", ""),
        (completion(None, finish="content_filter"), "content_filter", ""),
        (completion(None, refusal="no"), "refusal", "no"),
        (completion("{}", finish="tool_calls"), "tool_calls", "{}"),
        (completion("{}", finish="function_call"), "other", "{}"),
        (completion("{}", finish="guardrail_intervened"), "other", "{}"),
        (completion("{}", finish=None), "other", "{}"),
        (completion("{}", finish=["stop"]), "other", "{}"),
    ],
)
def test_the_reply_is_what_came_back(serve, answer, finish, text):
    serve(lambda body: answer)
    (done,) = ask(asked())
    assert (done.finish, done.text) == (finish, text)


@pytest.mark.parametrize(
    "more",
    [
        {"usage": None},
        {"usage": []},
        {"usage": {"prompt_tokens": "7", "completion_tokens": -1, "prompt_tokens_details": 3}},
        {"usage": {"prompt_tokens": True, "completion_tokens": 1 << 60}},
        {"usage": {"prompt_tokens": 1.5, "prompt_tokens_details": {"cached_tokens": None}}},
        {"id": "", "model": None, "system_fingerprint": 4},
    ],
)
def test_what_the_endpoint_does_not_say_is_unknown(serve, more):
    serve(lambda body: completion("{}", **more))
    (done,) = ask(asked())
    assert (done.tokens_in, done.tokens_cached, done.tokens_out) == (None, None, None)
    if "id" in more:
        assert (done.response_id, done.model, done.fingerprint) == (None, None, None)


def test_names_that_fit_no_id_are_blobs(table, serve):
    serve(lambda body: {**by_seat(body), "model": "a model, with a comma", "id": "x" * 300})
    table.run()
    row = table.data("call.answered")[0]
    assert table.text(row["model"]["sha256"]) == "a model, with a comma"
    assert table.text(row["response_id"]["sha256"]) == "x" * 300
    assert table.verified().ok


# What goes wrong

WRONG = {
    "no model": (Raw(404, b'{"error": {"code": "model_not_found"}}'), "client_error", "http-404"),
    "conflict": (Raw(409, b"{}"), "client_error", "http-409"),
    "nothing": (Raw(body=b""), "server_error", "malformed"),
    "no content": (Raw(204), "server_error", "malformed"),
    "a page": (
        Raw(body=b"<html>", headers={"content-type": "text/html"}),
        "server_error",
        "malformed",
    ),
    "an error in a 200": (Raw(body=b'{"error": {"message": "m"}}'), "server_error", "malformed"),
    "choices of a kind": (completion("{}", choices="abc"), "server_error", "malformed"),
    "no message": (completion("{}", choices=[{"index": 0}]), "server_error", "malformed"),
    "content of a kind": (completion(7), "server_error", "malformed"),
    "content of nothing": (completion(0), "server_error", "malformed"),
    "tools of a kind": (completion("", tool_calls={"name": "x"}), "server_error", "malformed"),
    "a tool that is none": (completion("", tool_calls=[{}]), "server_error", "malformed"),
    "a tool without a name": (asking((None, "{}")), "server_error", "malformed"),
    "arguments of a kind": (asking(("now", {"q": 1})), "server_error", "malformed"),
    "too many tools": (
        asking(*[("now", "{}")] * (MAX_TOOL_CALLS + 1)),
        "server_error",
        "malformed",
    ),
    "too many arguments": (
        asking(("now", f'{{"q": [{",".join(["[]"] * MAX_VALUES)}]}}')),
        "server_error",
        "malformed",
    ),
    "arguments longer than a reply": (
        asking(("now", f'{{"q": "{"x" * MAX_REPLY}"}}')),
        "server_error",
        "malformed",
    ),
    "a surrogate in a tool": (asking(("now", "\ud800")), "server_error", "malformed"),
    "a lone surrogate": (completion("\ud800"), "server_error", "malformed"),
    "too deep": (Raw(body=b"[" * 19_000), "server_error", "malformed"),
    "too many values": (Raw(body=b"[" * 200_000), "server_error", "too-large"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_an_error_has_a_class_and_is_one_request(serve, wrong):
    answer, kind, detail = WRONG[wrong]
    server = serve(lambda body: answer)
    with pytest.raises(ModelError) as caught:
        ask(asked())
    assert (caught.value.kind, caught.value.detail) == (kind, detail)
    assert len(server.raw) == 1


def test_nobody_there_is_unreachable(serve, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(ModelError) as caught:
        ask(asked())
    assert (caught.value.kind, caught.value.detail) == ("unreachable", "ConnectError")


def test_a_second_request_within_an_attempt_is_refused(serve, monkeypatch):
    """Were the client's own retries on, its first answer would still be the attempt's."""
    server = serve(lambda body: Raw(500, b"{}", {"retry-after-ms": "1"}))

    async def go():
        model: Any = open_model("openai:m")
        model._model.client.max_retries = 3
        try:
            await model.complete(asked())
        finally:
            await model.aclose()

    with pytest.raises(ModelError) as caught:
        asyncio.run(go())
    assert (caught.value.kind, len(server.raw)) == ("server_error", 1)


def test_a_hung_call_costs_its_turn_and_leaves_nothing_open(table, serve):
    release = threading.Event()

    def script(body):
        if body["model"] == "planner":
            release.wait(GUARD)
        return say("revise")

    server = serve(script)
    table.run_late(2, attempts=1)
    release.set()
    (failed,) = table.data("call.failed")
    assert (failed["error"], failed["detail"]) == ("timeout", None)
    assert table.data("decision.reached")[0]["decision"] == "revise"
    assert len(server.raw) == len(table.data("call.started")) == 3


def test_what_cannot_be_sent_is_the_clients_error(serve):
    server = serve(lambda body: completion("{}"))
    with pytest.raises(ModelError) as caught:
        ask(asked([("user", "\ud800")]))
    assert caught.value.kind == "client_error"
    assert server.raw == []


def test_an_answer_that_the_library_dislikes_is_still_an_answer(serve):
    """A paid reply is not lost because `created` or `index` is not what the SDK wants."""
    odd = {"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]}
    serve(lambda body: odd)
    (done,) = ask(asked())
    assert (done.text, done.finish, done.sent_as_rendered) == ("{}", "stop", True)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx2.ConnectTimeout("secret"), "timeout"),
        (httpx2.ReadTimeout("secret"), "timeout"),
        (httpx2.LocalProtocolError("secret"), "client_error"),
        (httpx2.UnsupportedProtocol("secret"), "client_error"),
        (httpx2.ProxyError("secret"), "server_error"),
        (httpx2.ReadError("secret"), "server_error"),
        (OSError("secret"), "server_error"),
        (ValueError("secret"), "crashed"),
    ],
)
def test_what_broke_is_told_by_its_kind_and_never_by_its_text(error, kind):
    assert client._broken(error) == (kind, type(error).__name__)
