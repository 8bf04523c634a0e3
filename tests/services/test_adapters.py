"""Vendors' own clients in seats, over loopback: JSON is asked for where the role wants it."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace as Shape

import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI

import hansard
from hansard.adapters import anthropic_complete, openai_complete
from hansard.runtime.models.base import ModelError
from services.server import Raw, Server, completion

KNOWN = {"api_key": "sk-planted", "max_retries": 0}
CLOSING = {"Connection": "close"}  # nothing stays open once a reply is there
VERDICT = {"verdict": "Wait.", "winner": "wait", "reasoning": "Risk."}
DEBATERS = {"ship": "Ship now.", "wait": "Wait."}


def openai_of(server, kind):
    return kind(base_url=server.url, default_headers=CLOSING, **KNOWN)


def anthropic_of(server, kind):
    return kind(base_url=server.root, default_headers=CLOSING, **KNOWN)


def debate(judge, **spec):
    def argue(request):
        return f"{request.stance.text} Really."

    with hansard.open_store("sqlite:///:memory:") as store:
        result = hansard.debate(
            "Ship?",
            format="judged",
            debaters=DEBATERS,
            model=argue,
            judge=judge,
            max_rounds=1,
            store=store,
            **spec,
        )
        assert hansard.verify(store, result.debate).ok
        kinds = [row["type"] for row in hansard.read_record(store, result.debate).events]
    return result, kinds


def message(*blocks, stop):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-served",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 5},
    }


TEXT = {"type": "text", "text": json.dumps(VERDICT)}


def by_tool(body):
    (tool,) = body["tools"]
    call = {"type": "tool_use", "id": "t1", "name": tool["name"], "input": VERDICT}
    return message(call, stop="tool_use")


@pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI])
def test_openai_is_asked_for_json_by_its_schema_mode(kind):
    with Server(lambda body: completion(json.dumps(VERDICT))) as server:
        judge = openai_complete(openai_of(server, kind), model="gpt-x", temperature=0)
        result, _ = debate(judge)
    (body,) = server.bodies
    wanted = body["response_format"]["json_schema"]
    assert (wanted["name"], wanted["strict"]) == ("reply", True)
    assert list(wanted["schema"]["properties"]) == ["verdict", "winner", "reasoning"]
    assert result.decision == "wait"
    assert result.seats[-1].model == "python:openai_complete:gpt-x"
    assert result.seats[-1].parameters["temperature"] == "0"


@pytest.mark.parametrize("kind", [Anthropic, AsyncAnthropic])
def test_anthropic_is_asked_for_json_as_the_arguments_of_a_tool(kind):
    with Server(by_tool) as server:
        judge = anthropic_complete(anthropic_of(server, kind), model="claude-x", temperature=0)
        result, _ = debate(judge)
    (body,) = server.bodies
    assert (body["tool_choice"], body["temperature"]) == ({"type": "any"}, 0)
    assert body["tools"][0]["input_schema"]["required"] == ["verdict", "winner", "reasoning"]
    assert result.decision == "wait"
    assert result.seats[-1].parameters["max_tokens"] == 4096


def test_anthropic_takes_a_schema_natively_where_the_seat_says_so():
    with Server(lambda body: message(TEXT, stop="end_turn")) as server:
        judge = anthropic_complete(anthropic_of(server, Anthropic), model="claude-x")
        result, _ = debate({"model": judge, "settings": {"structured": "native"}})
    (body,) = server.bodies
    assert body["output_config"]["format"]["schema"]["additionalProperties"] is False
    assert "tools" not in body
    assert result.decision == "wait"


def test_openai_is_asked_by_a_tool_where_the_seat_says_so():
    def script(body):
        (tool,) = body["tools"]
        function = {"name": tool["function"]["name"], "arguments": json.dumps(VERDICT)}
        calls = [{"id": "1", "type": "function", "function": function}]
        return completion(None, finish="tool_calls", tool_calls=calls)

    with Server(script) as server:
        judge = openai_complete(openai_of(server, OpenAI), model="gpt-x")
        result, _ = debate({"model": judge, "settings": {"structured": "tool"}})
    assert server.bodies[0]["tool_choice"] == "required"
    assert "response_format" not in server.bodies[0]
    assert result.decision == "wait"


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_refuses_the_form_is_asked_in_words_by_the_next_attempt(status):
    def script(body):
        refused = Raw(status, b'{"error":{"message":"response_format?"}}')
        return refused if "response_format" in body else completion(json.dumps(VERDICT))

    with Server(script) as server:
        judge = openai_complete(openai_of(server, OpenAI), model="local")
        result, kinds = debate(judge, retry_seconds=60)
        again, once_more = debate(judge)
    assert ["response_format" in body for body in server.bodies] == [True, False, False]
    assert (result.decision, kinds.count("call.failed")) == ("wait", 1)
    assert (again.decision, once_more.count("call.failed")) == ("wait", 0)


def test_what_the_seat_states_is_not_changed_by_a_refusal():
    with Server(lambda body: Raw(400, b"{}")) as server:
        judge = openai_complete(openai_of(server, OpenAI), model="local")
        result, kinds = debate({"model": judge, "settings": {"structured": "native"}})
    assert len(server.bodies) == kinds.count("call.failed") == 1
    assert result.decision is None


def test_words_are_asked_for_as_words():
    with Server(lambda body: completion("Because.")) as server:
        one = openai_complete(openai_of(server, OpenAI), model="gpt-x")
        hansard.debate("Why?", format="panel", agents=[one, one], rounds=1)
    assert not any("response_format" in body for body in server.bodies)


def test_a_deliverable_that_is_no_object_stands_in_one():
    reply = json.dumps({"reply": ["ship", "wait"]})
    with Server(lambda body: completion(reply)) as server:
        writer = openai_complete(openai_of(server, OpenAI), model="gpt-x")
        result = hansard.debate(
            "Why?",
            format="panel",
            agents=[lambda asked: "No.", lambda asked: "No."],
            rounds=1,
            synthesizer=writer,
            output_schema={"type": "array", "items": {"type": "string"}},
        )
    assert result.final == ["ship", "wait"]


def test_a_prompt_alone_is_answered_with_words():
    with Server(lambda body: completion("Because.")) as server:
        ask = openai_complete(openai_of(server, AsyncOpenAI), model="gpt-x")
        argue = hansard.blocks.debater(ask, "Ship now.")
        assert _wait(argue("Ship?")) == "Because."
    (body,) = server.bodies
    assert [row["role"] for row in body["messages"]] == ["user"]


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_prompt_whose_answer_is_not_whole_has_none(finish):
    with Server(lambda body: completion("Beca", finish=finish)) as server:
        ask = openai_complete(openai_of(server, OpenAI), model="gpt-x")
        with pytest.raises(ModelError, match=f"no_reply .{finish}."):
            _wait(ask("Why?"))


def _wait(awaitable):
    async def whole():
        return await awaitable

    return asyncio.run(whole())


def test_a_client_that_knows_no_schema_is_given_none():
    asked = []

    class Completions:
        def create(self, *, model, messages):
            asked.append(messages)
            said = Shape(content=json.dumps(VERDICT))
            return Shape(model=model, choices=[Shape(message=said, finish_reason="stop")])

    class Chat:
        completions = Completions()

    class Client:
        chat = Chat()

    with pytest.raises(ModelError, match="unsupported-setting"):  # nothing is lost silently
        _wait(openai_complete(Client(), model="own", temperature=0)("Why?"))
    result, kinds = debate(openai_complete(Client(), model="own"))
    assert (result.decision, len(asked), "call.failed" in kinds) == ("wait", 1, False)
