"""Anything that turns a request into text can sit in a seat."""

from __future__ import annotations

import asyncio
import functools
import threading
import typing
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import Enum
from types import MappingProxyType, SimpleNamespace
from unittest.mock import MagicMock

import pytest
from pydantic import BaseModel

from hansard.errors import UsageError
from hansard.rules.prompts import Message
from hansard.rules.spec_parts import PriceSpec
from hansard.runtime.models.base import Completion, ModelError, Request
from hansard.runtime.models.callables import BY_NAME, CallableModel, as_model
from hansard.verify.checks import MAX_REPLY
from instant import GUARD
from playing import request


@pytest.fixture
def request_():
    return request()


class Sync:
    def __call__(self, request):
        return request.speaker


class Async:
    async def __call__(self, request):
        return request.speaker


async def coroutine(request):
    return request.speaker


def gives_a_coroutine(request):
    return coroutine(request)


WORDS = {"minLength": 1, "type": "string"}
FUNCTIONS = {
    "function": lambda request: request.speaker,
    "async function": coroutine,
    "object": Sync(),
    "async object": Async(),
    "bound method": Sync().__call__,
    "partial": functools.partial(lambda request, more: request.speaker, more=1),
    "async partial": functools.partial(coroutine),
    "function that gives a coroutine": gives_a_coroutine,
    "completion": lambda request: Completion(request.speaker),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_every_kind_of_callable_answers(kind, request_):
    assert asyncio.run(as_model(FUNCTIONS[kind]).complete(request_)).text == "a"


def test_a_sync_function_runs_beside_the_loop(request_):
    model = CallableModel(lambda request: threading.current_thread().name)
    assert asyncio.run(model.complete(request_)).text == "hansard callable"


def answer(function, **asked):
    return asyncio.run(CallableModel(function).complete(request(**asked))).text


def test_a_mapping_becomes_json_in_the_readers_own_letters():
    assert answer(lambda _: {"stance": "café"}) == '{"stance": "café"}'


class Vote(Enum):
    YES = "yes"


@dataclass
class Said:
    stance: str
    vote: Vote
    price: Decimal = Decimal("2.50")


class Model(BaseModel):
    stance: str
    vote: Vote
    nested: Said | None = None


@dataclass
class Words:
    text: str


class Worded(BaseModel):
    text: str


JSON = '{"stance": "café", "vote": "yes"'


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Said("café", Vote.YES), JSON + ', "price": "2.50"}'),
        (Model(stance="café", vote=Vote.YES), JSON + ', "nested": null}'),
        ({"stance": "café", "vote": Vote.YES}, JSON + "}"),
        (MappingProxyType({"said": (1, Model(stance="", vote=Vote.YES))}), None),
    ],
)
def test_a_dataclass_or_a_pydantic_model_is_the_mapping_that_it_stands_for(reply, text):
    expected = '{"said": [1, {"stance": "", "vote": "yes", "nested": null}]}'
    assert answer(lambda _: reply) == (text or expected)


@pytest.mark.parametrize("reply", [Words("so"), Worded(text="so")])
def test_words_may_come_in_a_dataclass_or_a_model(reply):
    assert answer(lambda _: reply, reply_schema=WORDS) == "so"


def nested(depth: int) -> dict:
    return {"in": nested(depth - 1)} if depth else {}


RING: dict = {}
RING["in"] = RING


@pytest.mark.parametrize("reply", [7, None, ["a"], b"a", {"a": object()}, Said, RING, nested(300)])
def test_what_json_does_not_know_is_no_reply(reply):
    with pytest.raises(
        TypeError, match=r"returned a reply of type [A-Za-z]+; return (text|what JSON knows)"
    ):
        answer(lambda _: reply)


def annotated(prompt: str):
    return prompt


async def coroutine_of_text(prompt: str):
    return prompt


class Prompted:
    def __call__(self, prompt: str):
        return prompt


def unknown(request: typing.Nothing):  # type: ignore[name-defined]
    return request.speaker


def garbled(request: "no code"):  # type: ignore[valid-type]  # noqa: F722
    return request.speaker


@pytest.mark.parametrize("function", [unknown, garbled])
def test_an_annotation_that_nobody_can_read_does_not_matter(function, request_):
    assert asyncio.run(as_model(function).complete(request_)).text == request_.speaker


def test_a_kind_of_text_is_recorded_as_the_text_that_it_is(request_):
    class Other(str):
        __slots__ = ()

        def encode(self, *_):
            return b"other"

    text = asyncio.run(as_model(lambda _: Other("this")).complete(request_)).text
    assert type(text) is str
    assert text.encode() == b"this"


@pytest.mark.parametrize("function", [annotated, coroutine_of_text, Prompted()])
def test_a_parameter_annotated_str_is_given_the_prompt(function):
    assert answer(function, render=lambda: [Message("user", ["what ", "now?"])]) == "what now?"


def by_name(speaker, round, role="nobody"):  # noqa: A002 - the member's own name
    return f"{speaker} {round} {role}"


def by_name_with_default(speaker, persona="nobody's"):
    return f"{speaker} {persona}"


async def by_keyword_alone(*, speaker):
    return speaker


class Named:
    def turn(self, phase, speaker):
        return f"{speaker} {phase}"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (by_name, "a 1 debater"),
        (by_name_with_default, "a a pilot"),
        (by_keyword_alone, "a"),
        (Named().turn, "a proposal"),
        (functools.partial(by_name, role="preset"), "a 1 preset"),
    ],
)
def test_parameters_that_name_members_of_the_request_are_given_by_name(function, said):
    assert answer(function, seen=SimpleNamespace(persona="a pilot")) == said


def test_a_single_parameter_is_given_the_request_whatever_its_name(request_):
    assert answer(lambda question: question.speaker) == "a"


def test_every_name_that_may_be_asked_for_is_a_member_of_the_request():
    members = {row.name for row in fields(Request)} | {*dir(Request)}
    assert [name for name in BY_NAME if name not in members] == []


def any_number(*requests):
    return requests[0].speaker


def with_default(request, more=1):
    return request.speaker


def of_an_unknown_type(request: Unheard):  # type: ignore[name-defined]  # noqa: F821
    return request.speaker


@pytest.mark.parametrize("function", [any_number, with_default, of_an_unknown_type])
def test_every_function_that_one_argument_will_do_for_can_sit(function):
    assert answer(function) == "a"


@pytest.mark.parametrize(
    "function",
    [
        lambda: "",
        lambda a, b: "",
        lambda *, request: "",
        lambda a, *, b: "",
        lambda speaker, round_index: "",
        lambda *, speaker, **more: "",
        lambda **more: "",
    ],
)
def test_a_function_with_another_signature_is_refused_before_it_is_called(function):
    with pytest.raises(UsageError, match="it is called with one argument, the Request") as caught:
        CallableModel(function)
    assert caught.value.code == "model.signature"


def test_a_model_is_taken_as_it_is():
    model = CallableModel(str)
    assert as_model(model) is model
    assert model.price is None


def test_only_a_price_is_the_price_of_what_answers(request_):
    """A stand-in of a test has any attribute that it is asked for."""
    price = PriceSpec(input="1", output="2")
    complete = MagicMock(return_value="a")
    assert as_model(SimpleNamespace(complete=complete, price=price)).price == price
    stand_in = as_model(MagicMock(complete=complete))
    assert stand_in.price is None
    assert asyncio.run(stand_in.complete(request_)).text == "a"


def test_what_a_function_raises_is_raised(request_):
    def model(request):
        raise ModelError("server_error", "HTTP-503")

    with pytest.raises(ModelError, match=r"server_error \(HTTP-503\)"):
        asyncio.run(CallableModel(model).complete(request_))


def workers():
    """The threads in which functions are called."""
    return [row for row in threading.enumerate() if row.name == "hansard callable"]


@pytest.mark.parametrize("late", ["value", "error", "after the loop"])
def test_a_late_end_disturbs_nobody(late, request_):
    """The thread of a call that was given up ends, and nothing is raised anywhere."""
    free, ended = threading.Event(), threading.Event()

    def model(request):
        free.wait(GUARD)
        ended.set()
        if late == "error":
            raise ValueError
        return "late"

    async def give_up():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(CallableModel(model).complete(request_), 0.01)
        if late != "after the loop":
            free.set()
            for thread in workers():
                await asyncio.to_thread(thread.join, GUARD)
            await asyncio.sleep(0)  # the loop hears of its end

    asyncio.run(give_up())
    free.set()
    assert ended.wait(GUARD)
    for thread in workers():
        thread.join(GUARD)


def test_messages_are_rendered_once_and_joined():
    rendered = []

    def render():
        rendered.append(1)
        return [Message("system", ["system"]), Message("user", ["user"])]

    asked = request(render=render)
    assert asked.prompt == asked.prompt == "system\nuser"
    assert rendered == [1]


SHAPES = {
    "text": (lambda _: "so", "so"),
    "a mapping with text": (lambda _: {"text": "so"}, "so"),
    "a completion": (lambda _: Completion("so"), "so"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_where_words_are_asked_for_text_is_words(shape):
    model, text = SHAPES[shape]
    asked = request(reply_schema=WORDS)
    assert asked.in_words
    assert asyncio.run(CallableModel(model).complete(asked)).text == text


@pytest.mark.parametrize(
    ("value", "text"), [(7, "7"), ({"text": 7}, "{'text': 7}"), (["a"], "['a']")]
)
def test_other_shapes_of_a_custom_seat_are_made_words_with_one_warning(value, text):
    asked = request(reply_schema=WORDS, model="custom:m")
    model = CallableModel(lambda _: value)
    with pytest.warns(UserWarning, match="custom:m returned a ") as warned:
        replies = [asyncio.run(model.complete(asked)).text for _ in range(3)]
    assert replies == [text] * 3
    assert len(warned) == 1


@pytest.mark.parametrize(
    ("model", "value"),
    [
        *(("python:m", value) for value in (7, {"text": 7}, {"answer": "so"}, ["so"], None)),
        *(("custom:m", value) for value in (None, b"so", ValueError("so"), KeyboardInterrupt())),
    ],
)
def test_what_is_nobodys_words_is_an_error(model, value):
    asked = request(reply_schema=WORDS, model=model)
    with pytest.raises(TypeError, match=r"returned a reply of type [A-Za-z]+; return words"):
        asyncio.run(CallableModel(lambda _: value).complete(asked))


@pytest.mark.parametrize("model", [None, "m", {"m": str}, 7])
def test_what_cannot_be_called_is_no_model(model):
    with pytest.raises(UsageError, match=f"not a {type(model).__name__}") as caught:
        as_model(model)
    assert caught.value.code == "model.not_callable"


def test_a_deliverable_is_json_whatever_its_schema_says():
    asked = request(reply_schema=WORDS, role="synthesizer")
    assert not asked.in_words
    assert asyncio.run(CallableModel(lambda _: {"text": "so"}).complete(asked)).text == (
        '{"text": "so"}'
    )


def test_a_schema_need_not_say_its_type():
    assert not request(reply_schema={"anyOf": [{"type": "string"}]}).in_words


def test_a_reply_that_no_verifier_would_read_is_no_completion():
    assert Completion("é" * (MAX_REPLY // 2)).text
    with pytest.raises(ValueError, match="a reply has at most 1048576 bytes"):
        Completion("é" * (MAX_REPLY // 2) + "x")


def test_a_reply_that_prompts_would_show_at_eight_times_its_length_is_no_completion():
    assert Completion("\x01" * (MAX_REPLY // 4 - 1)).text
    with pytest.raises(ValueError, match="at most 2097152 bytes as prompts show it"):
        Completion("\x01" * (MAX_REPLY // 4))
