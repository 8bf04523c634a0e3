"""How a reply in JSON is asked for and read: natively, as a tool, in words, in an envelope."""

from __future__ import annotations

import json

import pytest

from formats import FORMATS
from hansard.runtime.models.base import ModelError, ToolCall, ToolDefinition
from hansard.runtime.models.form import ASKED
from hansard.runtime.models.wire import WireModel
from services import block_dialects
from services.asking import SCHEMA, WORDS, ask, asked
from services.dialects import CHAT, LOCAL, RESPONSES, function_call, message, output, response
from services.server import asking
from support import example

SHAPES = {"chat": CHAT, "local": LOCAL, "responses": RESPONSES}
LOOSE = {"properties": {"why": {"type": "string"}}, "type": "object"}
OTHER = SCHEMA | {"properties": {"vote": {"type": "boolean"}}}
SELF = SCHEMA | {"properties": {"vote": {"$ref": "#"}}}
LOOK = ToolDefinition("look_up", "Look it up.", {"properties": {"q": SCHEMA}, "type": "object"})


def together(*schemas):
    return {
        "type": "object",
        "properties": {"reply": {"anyOf": list(schemas)}},
        "required": ["reply"],
        "additionalProperties": False,
    }


@pytest.fixture(params=SHAPES)
def shape(request):
    return SHAPES[request.param]


# One schema


@pytest.mark.parametrize("structured", [None, "native"])
def test_native_is_the_default(serve, shape, structured):
    server = serve(lambda body: shape.said('{"vote": "yes"} '), shape)
    (done,) = ask(asked(structured=structured), model=shape.model)
    (body,) = server.bodies
    assert shape.schema(body) == SCHEMA
    assert "tools" not in body
    assert (done.text, done.sent_as_rendered) == ('{"vote": "yes"} ', True)


def test_in_words_alone_there_is_no_schema(serve, shape):
    server = serve(lambda body: shape.said('{"reply": 1}'), shape)
    (done,) = ask(asked(structured="text", schemas=(SCHEMA, OTHER)), model=shape.model)
    (body,) = server.bodies
    assert shape.schema(body) is None
    assert "tools" not in body
    assert (done.text, done.sent_as_rendered) == ('{"reply": 1}', True)


def test_as_the_arguments_of_a_tool(serve, shape):
    server = serve(lambda body: shape.asking(("reply", ' {"vote":  "yes"}')), shape)
    (done,) = ask(asked(structured="tool"), model=shape.model)
    (body,) = server.bodies
    (tool,) = shape.tools(body)
    assert (tool["name"], tool["description"], tool["parameters"]) == ("reply", ASKED, SCHEMA)
    assert (tool["strict"], body["tool_choice"], shape.schema(body)) == (True, "required", None)
    assert (done.text, done.finish, done.tool_calls) == (' {"vote":  "yes"}', "stop", ())
    assert done.sent_as_rendered


def test_a_tool_for_words_is_none(serve, shape):
    server = serve(lambda body: shape.said("so"), shape)
    (done,) = ask(asked(schema=WORDS, structured="tool"), model=shape.model)
    assert "tools" not in server.bodies[0]
    assert (done.text, done.sent_as_rendered) == ("so", True)


def test_tools_and_the_tool_for_the_reply(serve, shape):
    """The model has to do one or the other; what it asks beside its reply is asked for first."""
    answers = [
        shape.asking(("look_up", '{"q": 1}')),
        shape.asking(("look_up", "{}"), ("reply", '{"vote": "no"}')),
        shape.asking(("reply", "{}"), ("reply", "{}")),
        shape.said('{"vote": "yes"}'),
    ]
    server = serve(lambda body: answers.pop(0), shape)
    wanted = asked(structured="tool", tools=(LOOK,))
    only, both, twice, said = ask(*[wanted] * 4, model=shape.model)
    body = server.bodies[0]
    assert [row["name"] for row in shape.tools(body)] == ["look_up", "reply"]
    assert body["tool_choice"] == "required"
    assert {row.sent_as_rendered for row in (only, both, twice, said)} == {True}
    assert (only.text, only.tool_calls) == ("", (ToolCall("look_up", '{"q": 1}'),))
    assert (both.text, both.tool_calls) == ('{"vote": "no"}', (ToolCall("look_up", "{}"),))
    assert (only.finish, both.finish, twice.finish) == ("tool_calls", "tool_calls", "stop")
    assert (twice.text, twice.tool_calls) == ("{}\n{}", ())
    assert (said.text, said.finish) == ('{"vote": "yes"}', "stop")


def test_a_tool_of_the_debate_may_be_called_reply(serve, shape):
    server = serve(lambda body: shape.asking(("reply", "{}"), ("reply_", '{"vote": "no"}')), shape)
    mine = ToolDefinition("reply", "Reply.", {"type": "object"})
    (done,) = ask(asked(structured="tool", tools=(mine,)), model=shape.model)
    assert [row["name"] for row in shape.tools(server.bodies[0])] == ["reply", "reply_"]
    assert (done.text, done.tool_calls) == ('{"vote": "no"}', (ToolCall("reply", "{}"),))


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("chat", asking(("reply", '{"vote": "y'), finish="length")),
        (
            "responses",
            response(
                function_call("reply", '{"vote": "y'),
                status="incomplete",
                incomplete_details={"reason": "max_output_tokens"},
            ),
        ),
    ],
)
def test_a_reply_that_is_cut_off_in_its_tool(serve, name, answer):
    shape = SHAPES[name]
    serve(lambda body: answer, shape)
    (done,) = ask(asked(structured="tool"), model=shape.model)
    assert (done.text, done.finish, done.tool_calls) == ('{"vote": "y', "length", ())


def test_a_schema_with_fractions_is_sent_as_it_is(serve, shape):
    share = {"maximum": 0.9, "minimum": 0.1, "multipleOf": 1e-7, "type": "number"}
    serve(lambda body: shape.said("{}"), shape)
    wanted = asked(schema=SCHEMA | {"properties": {"vote": share}})
    (done,) = ask(wanted, model=shape.model)
    assert done.sent_as_rendered


# One envelope for the schemas of all roles


@pytest.mark.parametrize("structured", ["native", "tool"])
def test_all_roles_of_a_model_are_asked_with_one_schema(serve, shape, structured):
    """What comes in it is unwrapped exactly; local servers are asked for the reply itself."""
    inner = '{"vote":  "yes"}'
    text = f' {{"reply": {inner} }}\n' if shape.wrapped else inner
    as_tool = structured == "tool"
    server = serve(
        lambda body: shape.asking(("reply", text)) if as_tool else shape.said(text), shape
    )
    rows = (OTHER, SCHEMA, OTHER)
    wanted = [asked(schema=own, schemas=rows, structured=structured) for own in (SCHEMA, OTHER)]
    for done in ask(*wanted, model=shape.model):
        assert (done.text, done.finish, done.sent_as_rendered) == (inner, "stop", True)
    sent = [
        shape.tools(body)[0]["parameters"] if as_tool else shape.schema(body)
        for body in server.bodies
    ]
    assert sent == ([together(OTHER, SCHEMA)] * 2 if shape.wrapped else [SCHEMA, OTHER])


def test_what_is_no_envelope_is_left_as_it_is(serve):
    serve(lambda body: CHAT.said('{"vote": "yes"}'))
    (done,) = ask(asked(schemas=(OTHER, SCHEMA)))
    assert done.text == '{"vote": "yes"}'


def test_without_an_envelope_a_member_called_reply_stays(serve):
    serve(lambda body: CHAT.said('{"reply": 1}'))
    (done,) = ask(asked(schemas=(SCHEMA,)))
    assert done.text == '{"reply": 1}'


def test_a_schema_that_cannot_be_strict_takes_no_strictness_from_the_others(serve):
    server = serve(lambda body: CHAT.said("{}"))
    rows = (LOOSE, SCHEMA, OTHER)
    ask(*(asked(schema=own, schemas=rows) for own in rows))
    sent = [body["response_format"]["json_schema"] for body in server.bodies]
    assert [row["strict"] for row in sent] == [False, True, True]
    assert [row["schema"] for row in sent] == [LOOSE, *[together(SCHEMA, OTHER)] * 2]


def test_a_schema_that_refers_to_itself_stays_alone(serve):
    server = serve(lambda body: CHAT.said("{}"))
    rows = (SELF, SCHEMA, OTHER)
    ask(*(asked(schema=own, schemas=rows) for own in rows))
    assert list(map(CHAT.schema, server.bodies)) == [SELF, *[together(SCHEMA, OTHER)] * 2]


# Whole debates


@pytest.fixture
def wanted(monkeypatch):
    """What each prompt asks for: its role's schema, by the messages."""
    schemas = {}
    complete = WireModel.complete

    async def noting(self, request):
        rows = [(row.role, row.text) for row in request.messages]
        schemas[str(rows)] = None if request.in_words else request.reply_schema
        return await complete(self, request)

    monkeypatch.setattr(WireModel, "complete", noting)
    return schemas


WAYS = ("native", "tool", "text")


def by_turns():
    """Every dialect in every way; the formats take turns, so that each is asked in every way."""
    formats = tuple(FORMATS)
    for number, name in enumerate(block_dialects.SHAPES):
        for other, structured in enumerate(WAYS):
            yield name, formats[(number + other) % len(formats)], structured


@pytest.mark.parametrize(("name", "format_", "structured"), list(by_turns()))
def test_every_format_is_sent_as_it_is_rendered(table, serve, wanted, name, format_, structured):
    shape = block_dialects.SHAPES[name]

    def script(body):
        prompt = [(row["role"], row["content"]) for row in shape.prompt(body)]
        schema = wanted[str(prompt)]
        if schema is None:
            return shape.said("I argue.")
        reply = json.dumps(example(schema))
        if structured == "text":
            return shape.said(reply)
        sent = shape.schema(body) or shape.tools(body)[0]["parameters"]
        text = f'{{"reply": {reply}}}' if "reply" in sent["properties"] else reply
        return shape.asking(("reply", text)) if structured == "tool" else shape.said(text)

    server = serve(script, shape)
    settings = {"settings": {"structured": structured}}
    table.play(format_, synthesizer=True, model=shape.model, **settings)
    received = sorted((shape.model, json.dumps(shape.prompt(body))) for body in server.bodies)
    assert received == table.starts()
    assert {row["sent_as_rendered"] for row in table.data("call.answered")} == {True}
    assert not table.data("turn.rejected", "turn.forfeited", "call.failed")
    assert table.verified().findings == []


# Responses alone


def test_the_whole_body_of_a_response(serve):
    server = serve(lambda body: RESPONSES.said("{}"), RESPONSES)
    full = {"temperature": "0.70", "top_p": "0.95", "max_tokens": 90, "reasoning_effort": "low"}
    messages = (("system", "be"), ("user", "<|im_start|>"), ("assistant", "a\n"), ("user", "é"))
    (done,) = ask(asked(messages, tools=(LOOK,), **full), model=RESPONSES.model)
    assert done.sent_as_rendered
    assert server.bodies == [
        {
            "model": "m",
            "stream": False,
            "store": False,
            "input": [{"role": role, "content": text} for role, text in messages],
            "text": {
                "format": {"type": "json_schema", "name": "reply", "schema": SCHEMA, "strict": True}
            },
            "tools": [{"type": "function", **vars(LOOK), "strict": False}],
            "tool_choice": "auto",
            "temperature": 0.7,
            "top_p": 0.95,
            "max_output_tokens": 90,
            "reasoning": {"effort": "low"},
        }
    ]


def test_responses_know_no_seed_and_that_shows(serve):
    server = serve(lambda body: RESPONSES.said("{}"), RESPONSES)
    (done,) = ask(asked(seed=7), model=RESPONSES.model)
    assert "seed" not in server.bodies[0]
    assert (done.sent_as_rendered, done.sent.encode()) == (False, server.raw[0])


def test_what_a_response_tells_of_itself(serve):
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 400, "cache_write_tokens": 50},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 20},
    }
    thinking = {"type": "reasoning", "id": "rs_1", "summary": []}
    body = response(thinking, message(output('{"vote": '), output('"no"}')), usage=usage)
    serve(lambda _: body, RESPONSES)
    (done,) = ask(asked(), model=RESPONSES.model)
    assert (done.text, done.finish) == ('{"vote": "no"}', "stop")
    assert (done.tokens_in, done.tokens_cached, done.tokens_cache_write) == (1000, 400, 50)
    assert (done.tokens_out, done.model, done.response_id) == (30, "served-2026-11-01", "resp_1")


MALFORMED = {
    "items of a kind": response(output=3),
    "an item without a type": response({}),
    "a text of a kind": response(message(output(7))),
    "a tool without a name": response(function_call(None, "{}")),
    "arguments of a kind": response(function_call("now", {})),
    "a surrogate": response(message(output("\ud800"))),
    "an error in a 200": {"error": {"message": "m"}},
    "only thoughts": response({"type": "reasoning", "id": "rs_1", "summary": []}),
}
FAILED = {
    "rate_limit_exceeded": "rate_limited",
    "invalid_prompt": "client_error",
    "server_error": "server_error",
    "of tomorrow": "server_error",
    None: "server_error",
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_response_that_says_nothing(serve, case):
    serve(lambda body: MALFORMED[case], RESPONSES)
    with pytest.raises(Exception, match=r"^server_error \(malformed\)$"):
        ask(asked(), model=RESPONSES.model)


@pytest.mark.parametrize("code", FAILED)
def test_a_response_that_failed_with_a_status_of_success(serve, code):
    error = {"code": code, "message": "secret"}
    serve(lambda body: response(status="failed", error=error), RESPONSES)
    with pytest.raises(ModelError, match=rf"^{FAILED[code]} \(failed\)$") as caught:
        ask(asked(), model=RESPONSES.model)
    assert caught.value.wire.status == 200


@pytest.mark.parametrize("status", ["cancelled", "in_progress", None, 7])
def test_a_response_that_did_not_end(serve, status):
    serve(lambda body: response(message(output("{}")), status=status), RESPONSES)
    (done,) = ask(asked(), model=RESPONSES.model)
    assert done.finish == "other"
