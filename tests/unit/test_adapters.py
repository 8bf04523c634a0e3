import asyncio
import json
from types import SimpleNamespace as Shape

import httpx2
import pytest
from openai import AsyncOpenAI, OpenAI

import hansard
from hansard.adapters import anthropic_complete, openai_complete
from hansard.errors import UsageError
from hansard.rules.prompts import Message
from hansard.runtime.models.base import ModelError, Request, ToolCall, ToolDefinition
from hansard.runtime.models.callables import as_model

LOOKUP = ToolDefinition("lookup", "Look it up.", {"type": "object", "properties": {}})


def request(tools=(), **settings):
    names = ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort", "structured")
    return Request(
        call="r1.argument.a:1",
        round=1,
        phase="argument",
        speaker="a",
        role="debater",
        agent_type="sub",
        collection_id=None,
        model="python:m",
        parameters=dict.fromkeys(names) | settings,
        reply_schema={"type": "string", "minLength": 1},
        schemas=(),
        tools=tools,
        render=lambda: [Message("system", ["Be ", "brief."]), Message("user", ["Why?"])],
        seen=None,
    )


def ask(model, asked=None):
    return asyncio.run(as_model(model).complete(asked or request()))


# OpenAI's own client, over a transport that answers as its server does.


class Endpoint:
    """Answers requests of the vendor's client, and keeps their bodies."""

    def __init__(self, body=None, status=200, error=None):
        self.body, self.status, self.error = body, status, error
        self.asked = []

    def __call__(self, sent):
        self.asked.append(json.loads(sent.content))
        if self.error:
            raise self.error("broken", request=sent)
        return httpx2.Response(self.status, json=self.body, headers={"x-request-id": "req-1"})

    def client(self, kind, **options):
        transport = httpx2.MockTransport(self)
        base = httpx2.AsyncClient if kind is AsyncOpenAI else httpx2.Client
        options = {"api_key": "sk-planted", "max_retries": 0} | options
        return kind(http_client=base(transport=transport), **options)


def chat(text="Because.", finish="stop", **message):
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini-2024-07-18",
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "logprobs": None,
                "message": {"role": "assistant", "content": text, "refusal": None, **message},
            }
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "total_tokens": 107,
            "prompt_tokens_details": {"cached_tokens": 64},
        },
    }


@pytest.fixture(params=[OpenAI, AsyncOpenAI], ids=["sync", "async"])
def kind(request):
    return request.param


def test_openai_is_asked_by_role_and_answers_with_all_that_it_says(kind):
    endpoint = Endpoint(chat())
    got = ask(openai_complete(endpoint.client(kind), model="gpt-4o-mini", temperature=0.7))
    assert endpoint.asked == [
        {
            "model": "gpt-4o-mini",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Why?"},
            ],
            "temperature": 0.7,
        }
    ]
    assert (got.text, got.finish, got.model) == ("Because.", "stop", "gpt-4o-mini-2024-07-18")
    assert (got.tokens_in, got.tokens_cached, got.tokens_out) == (100, 64, 7)
    assert (got.response_id, got.request_id, got.fingerprint) == ("chatcmpl-1", "req-1", "fp_1")
    assert got.sent_as_rendered is None


@pytest.mark.parametrize(
    ("base_url", "cap"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("http://localhost:11434/v1", "max_tokens"),
        ("https://openai.com.example.org/v1", "max_tokens"),
    ],
)
def test_what_a_seat_asks_for_is_sent(base_url, cap):
    endpoint = Endpoint(chat())
    client = endpoint.client(OpenAI, base_url=base_url)
    settings = {"temperature": "0", "top_p": "0.9", "seed": 0, "max_tokens": 300}
    settings["reasoning_effort"] = "low"
    ask(openai_complete(client, model="m", temperature=1), request((LOOKUP,), **settings))
    del endpoint.asked[0]["messages"]
    assert endpoint.asked == [
        {
            "model": "m",
            "temperature": 0.0,
            "top_p": 0.9,
            "seed": 0,
            "reasoning_effort": "low",
            cap: 300,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "lookup",
                        "description": "Look it up.",
                        "parameters": LOOKUP.parameters,
                    },
                }
            ],
        }
    ]


CALLS = [{"id": "1", "type": "function", "function": {"name": "lookup", "arguments": '{"q": 1}'}}]


@pytest.mark.parametrize(
    ("body", "text", "finish", "tools"),
    [
        (chat("cut", "length"), "cut", "length", ()),
        (chat("", "content_filter"), "", "content_filter", ()),
        (chat(None, "tool_calls", tool_calls=CALLS), "", "tool_calls", 1),
        (chat(None, "stop", tool_calls=CALLS), "", "stop", 1),
        (chat(None, "length", tool_calls=CALLS), "", "length", ()),
        (chat(None, refusal="I will not."), "I will not.", "refusal", ()),
        (chat(None, refusal="I will not.", tool_calls=CALLS), "I will not.", "refusal", ()),
        (chat("x", "end_turn"), "x", "other", ()),
    ],
)
def test_openai_says_how_a_reply_ended(kind, body, text, finish, tools):
    got = ask(openai_complete(Endpoint(body).client(kind), model="m"))
    wanted = (ToolCall("lookup", '{"q": 1}'),) if tools else ()
    assert (got.text, got.finish, got.tool_calls) == (text, finish, wanted)


def test_what_a_server_does_not_say_is_unknown():
    body = chat()
    del body["usage"], body["system_fingerprint"]
    got = ask(openai_complete(Endpoint(body).client(OpenAI), model="m"))
    assert (got.tokens_in, got.tokens_cached, got.tokens_out, got.fingerprint) == (None,) * 4


@pytest.mark.parametrize(
    ("status", "error", "detail"),
    [
        (429, "rate_limited", "http-429"),
        (408, "timeout", "http-408"),
        (500, "server_error", "http-500"),
        (529, "server_error", "http-529"),
        (400, "client_error", "http-400"),
        (401, "client_error", "http-401"),
    ],
)
def test_a_status_is_a_class_of_error(kind, status, error, detail):
    endpoint = Endpoint({"error": {"message": "the key sk-planted"}}, status)
    with pytest.raises(ModelError) as caught:
        ask(openai_complete(endpoint.client(kind), model="m"))
    assert (caught.value.kind, caught.value.detail) == (error, detail)
    assert "sk-planted" not in str(caught.value)
    assert len(endpoint.asked) == 1


def test_a_wait_that_the_server_asks_for_is_passed_on():
    class Busy(Exception):
        status_code = 429
        response = Shape(headers={"Retry-After": "7"})

    def create(**asked):
        raise Busy

    client = Shape(chat=Shape(completions=Shape(create=create)))
    with pytest.raises(ModelError) as caught:
        ask(openai_complete(client, model="m"))
    assert caught.value.retry_after == 7


@pytest.mark.parametrize(
    ("broken", "error", "detail"),
    [
        (httpx2.ReadTimeout, "timeout", "APITimeoutError"),
        (httpx2.ConnectError, "unreachable", "APIConnectionError"),
    ],
)
def test_what_breaks_on_the_way_is_told_by_its_class(kind, broken, error, detail):
    endpoint = Endpoint(error=broken)
    with pytest.raises(ModelError) as caught:
        ask(openai_complete(endpoint.client(kind), model="m"))
    assert (caught.value.kind, caught.value.detail) == (error, detail)


@pytest.mark.parametrize("body", [chat() | {"choices": []}, chat() | {"choices": None}, {}])
@pytest.mark.filterwarnings("ignore:what the client returned")
def test_an_answer_that_is_none_is_malformed(kind, body):
    with pytest.raises(ModelError) as caught:
        ask(openai_complete(Endpoint(body).client(kind), model="m"))
    assert (caught.value.kind, caught.value.detail) == ("server_error", "malformed")


# Anthropic's client, by the attributes that its SDK documents.


def message(*blocks, stop="end_turn", **usage):
    counts = {"input_tokens": 20, "output_tokens": 5} | usage
    return Shape(
        id="msg_1",
        type="message",
        role="assistant",
        model="claude-haiku-4-5-20251001",
        content=list(blocks) or [Shape(type="text", text="Because.", citations=None)],
        stop_reason=stop,
        stop_sequence=None,
        usage=Shape(**counts),
        _request_id="req_1",
    )


class Messages:
    """Stands for `client.messages`; gives or raises what it was made with."""

    def __init__(self, answer, is_async):
        self.answer, self.is_async = answer, is_async
        self.asked = []

    def create(self, **asked):
        self.asked.append(asked)
        return self.later() if self.is_async else self.now()

    def now(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def later(self):
        return self.now()


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def messages(request):
    return lambda answer: Messages(answer, request.param)


def anthropic(messages, asked=None, **options):
    return ask(anthropic_complete(Shape(messages=messages), model="m", **options), asked)


def test_anthropic_is_asked_with_its_system_apart(messages):
    there = messages(message(cache_creation_input_tokens=30, cache_read_input_tokens=50))
    got = anthropic(there, temperature=0)
    assert there.asked == [
        {
            "model": "m",
            "system": "Be brief.",
            "messages": [{"role": "user", "content": "Why?"}],
            "temperature": 0,
            "max_tokens": 4096,
        }
    ]
    assert (got.text, got.finish, got.model) == ("Because.", "stop", "claude-haiku-4-5-20251001")
    assert (got.tokens_in, got.tokens_cached, got.tokens_out) == (100, 50, 5)
    assert (got.response_id, got.request_id, got.fingerprint) == ("msg_1", "req_1", None)


def test_anthropic_is_sent_what_a_seat_asks_for(messages):
    there = messages(message())
    asked = request((LOOKUP,), temperature="0.3", top_p="0.5", max_tokens=12)
    anthropic(there, asked, max_tokens=99, temperature=1)
    sent = there.asked[0]
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"]) == (0.3, 0.5, 12)
    assert sent["tools"] == [
        {"name": "lookup", "description": "Look it up.", "input_schema": LOOKUP.parameters}
    ]


@pytest.mark.parametrize("setting", [{"seed": 0}, {"reasoning_effort": "high"}])
def test_a_setting_that_anthropic_has_not_is_no_silent_loss(messages, setting):
    there = messages(message())
    with pytest.raises(ModelError) as caught:
        anthropic(there, request(**setting))
    assert (caught.value.kind, caught.value.detail) == ("client_error", "unsupported-setting")
    assert there.asked == []


USE = Shape(type="tool_use", id="1", name="lookup", input={"q": "ö"})


@pytest.mark.parametrize(
    ("stop", "finish", "tools"),
    [
        ("end_turn", "stop", 1),
        ("tool_use", "tool_calls", 1),
        ("stop_sequence", "stop", 1),
        ("max_tokens", "length", 0),
        ("model_context_window_exceeded", "length", 0),
        ("refusal", "refusal", 0),
        ("pause_turn", "other", 0),
        ("stop", "other", 0),
        (None, "other", 0),
    ],
)
def test_anthropic_says_how_a_reply_ended(messages, stop, finish, tools):
    blocks = [
        Shape(type="thinking", thinking="hm"),
        Shape(type="text", text="One, "),
        USE,
        Shape(type="text", text="two."),
    ]
    got = anthropic(messages(message(*blocks, stop=stop)))
    assert (got.text, got.finish) == ("One, two.", finish)
    assert got.tool_calls == (ToolCall("lookup", '{"q": "ö"}'),) * tools


class APIStatusError(Exception):
    status_code = 529


class APIConnectionError(Exception):
    pass


class APITimeoutError(APIConnectionError):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (APIStatusError("the key"), "server_error"),
        (APITimeoutError("the key"), "timeout"),
        (APIConnectionError("the key"), "server_error"),
    ],
)
def test_errors_of_anthropic_are_told_by_status_or_class(messages, error, kind):
    with pytest.raises(ModelError) as caught:
        anthropic(messages(error))
    assert caught.value.kind == kind
    assert "the key" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("lacking", ["model", "stop_reason", "content"])
def test_what_a_stand_in_for_a_client_lacks_is_said(messages, lacking):
    answer = message(Shape(type="text", text="So."))
    delattr(answer, lacking)
    with pytest.warns(UserWarning, match=f"has no `{lacking}`"), pytest.raises(ModelError):
        anthropic(messages(answer))


def test_any_other_exception_is_left_to_the_engine(messages):
    with pytest.raises(ZeroDivisionError):
        anthropic(messages(ZeroDivisionError()))


@pytest.mark.parametrize(
    "answer",
    [
        Shape(),
        message(Shape(type="text")),
        message(Shape(type="text", text=None)),
        message(Shape(type="text", text="\ud800")),
        message(Shape(type="tool_use", name="n", input={1, 2})),
    ],
)
@pytest.mark.filterwarnings("ignore:what the client returned")
def test_a_message_that_is_none_is_malformed(messages, answer):
    with pytest.raises(ModelError) as caught:
        anthropic(messages(answer))
    assert (caught.value.kind, caught.value.detail) == ("server_error", "malformed")


@pytest.mark.parametrize("client", [Shape(), Shape(chat=None, messages=Shape(create=1)), None])
@pytest.mark.parametrize("adapter", [openai_complete, anthropic_complete])
def test_another_object_is_no_client(adapter, client):
    with pytest.raises(UsageError) as caught:
        adapter(client, model="m")
    assert caught.value.code == "model.client"


def test_a_client_sits_in_a_seat_itself_and_its_model_and_settings_are_recorded(messages):
    one = openai_complete(Endpoint(chat()).client(OpenAI), model="gpt-4o", temperature=0.7)
    other = anthropic_complete(Shape(messages=messages(message())), model="claude", temperature=0)
    result = hansard.debate("Why?", format="panel", agents=[one, other], rounds=1)
    assert [row.model for row in result.seats] == [
        "python:openai_complete:gpt-4o",
        "python:anthropic_complete:claude",
    ]
    assert [row.parameters["temperature"] for row in result.seats] == ["0.7", "0"]
    assert [row.parameters["max_tokens"] for row in result.seats] == [None, 4096]
