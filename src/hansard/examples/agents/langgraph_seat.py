"""A LangChain chat model or a compiled LangGraph graph in a seat.

>>> from langchain_core.language_models.fake_chat_models import FakeListChatModel
>>> from hansard import run_sync
>>> model = FakeListChatModel(responses=["Two hours."])  # ChatOpenAI(…, max_retries=0)
>>> spec = {
...     "format": "panel",
...     "question": "What did the outage cost?",
...     "agents": 3,
...     "rounds": 1,
...     "model": "python:mine",
... }
>>> run_sync(spec, models={"mine": model_seat(model)}).decision_rule
'most_similar'

LangChain keeps a provider's client for the whole process, and its open connections
work in one event loop alone, while each `run_sync` has a loop of its own. So all
calls are made in one loop, which a thread runs as long as the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import cache
from threading import Thread
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable

from hansard import Completion, Request

Seat = Callable[[Request], Awaitable[Completion]]


def model_seat(model: Runnable[Any, Any]) -> Seat:
    """Return a seat that a chat model fills, or a chain that ends in one."""

    async def complete(request: Request) -> Completion:
        return _completion([await _in_one_loop(model.ainvoke(_messages(request)))])

    return complete


def graph_seat(graph: Runnable[Any, Any]) -> Seat:
    """Return a seat that a graph fills whose state holds `messages`; the last one is the reply."""

    async def complete(request: Request) -> Completion:
        state = await _in_one_loop(graph.ainvoke({"messages": _messages(request)}))
        return _completion([row for row in state["messages"] if isinstance(row, AIMessage)])

    return complete


async def _in_one_loop(call: Coroutine[Any, Any, Any]) -> Any:
    """Return what a call gives; one that is given up here is cancelled there."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, _loop()))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, daemon=True, name="langchain").start()
    return loop


def _messages(request: Request) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in request.messages]


def _completion(said: Sequence[AIMessage]) -> Completion:
    """Return the last message, with what all of them used where they say so."""
    used = [row.usage_metadata for row in said if row.usage_metadata]
    about = said[-1].response_metadata
    return Completion(
        str(said[-1].text),
        model=about.get("model_name"),
        finish="length" if about.get("finish_reason") == "length" else "stop",
        tokens_in=sum(row["input_tokens"] for row in used) if used else None,
        tokens_out=sum(row["output_tokens"] for row in used) if used else None,
    )
