"""Anything that turns a request into text can sit in a seat."""

from __future__ import annotations

import asyncio
import functools
import threading

import pytest

from hansard.runtime.models.base import Completion, ModelError, Request
from hansard.runtime.models.callables import CallableModel, as_completion, as_model


@pytest.fixture
def request_():
    return Request(
        call="r1.proposal.a:1",
        round=1,
        phase="proposal",
        speaker="a",
        model="python:m",
        parameters={},
        reply_schema={},
        render=list,
    )


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
    assert asyncio.run(model.complete(request_)).text == "model r1.proposal.a:1"


def test_a_mapping_becomes_json_in_the_readers_own_letters():
    assert as_completion({"stance": "café"}).text == '{"stance": "café"}'


def test_a_model_is_taken_as_it_is():
    model = CallableModel(str)
    assert as_model(model) is model
    assert model.price is None


def test_what_a_function_raises_is_raised(request_):
    def model(request):
        raise ModelError("server_error", "HTTP-503")

    with pytest.raises(ModelError, match=r"server_error \(HTTP-503\)"):
        asyncio.run(CallableModel(model).complete(request_))


@pytest.mark.parametrize("late", ["value", "error", "after the loop"])
def test_a_late_end_disturbs_nobody(late, request_):
    """The thread of a call that was given up ends, and nothing is raised anywhere."""
    free, ended = threading.Event(), threading.Event()

    def model(request):
        free.wait(5)
        ended.set()
        if late == "error":
            raise ValueError
        return "late"

    async def give_up():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(CallableModel(model).complete(request_), 0.01)
        if late != "after the loop":
            free.set()
            await asyncio.sleep(0.05)

    asyncio.run(give_up())
    free.set()
    assert ended.wait(5)
    for thread in threading.enumerate():
        if thread.name.startswith("model "):
            thread.join(5)


def test_messages_are_rendered_once_and_joined():
    class Message:
        def __init__(self, text):
            self.text = text

    rendered = []

    def render():
        rendered.append(1)
        return [Message("system"), Message("user")]

    request = Request(
        call="c:1", round=1, phase="proposal", speaker="a", model="python:m", parameters={},
        reply_schema={}, render=render,
    )  # fmt: skip
    assert request.prompt == request.prompt == "system\nuser"
    assert rendered == [1]
