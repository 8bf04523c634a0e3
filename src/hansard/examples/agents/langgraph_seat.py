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
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable

from hansard import Completion, Request

Seat = Callable[[Request], Awaitable[Completion]]


def model_seat(model: Runnable[Any, Any]) -> Seat:
    """Return a seat that a chat model fills, or a chain that ends in one."""

    async def complete(request: Request) -> Completion:
        return _completion([await model.ainvoke(_messages(request))])

    return complete


def graph_seat(graph: Runnable[Any, Any]) -> Seat:
    """Return a seat that a graph fills whose state holds `messages`; the last one is the reply."""

    async def complete(request: Request) -> Completion:
        state = await graph.ainvoke({"messages": _messages(request)})
        return _completion([row for row in state["messages"] if isinstance(row, AIMessage)])

    return complete


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
