"""A pydantic-ai Agent in a seat, with the reply's schema as its output type.

>>> from pydantic_ai import Agent
>>> from pydantic_ai.models.test import TestModel
>>> from hansard import run_sync
>>> agent = Agent(TestModel())  # Agent("anthropic:…")
>>> spec = {
...     "question": "Shall version 2 be released on Friday?",
...     "options": ["release", "revise"],
...     "threshold": 2,
...     "max_rounds": 1,
...     "debaters": [{"id": seat, "model": "python:mine"} for seat in ("planner", "critic")],
... }
>>> run_sync(spec, models={"mine": agent_seat(agent)}).decision
'release'
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai import Agent, StructuredDict

from hansard import Completion, Request


def agent_seat(agent: Agent[None, Any]) -> Callable[[Request], Awaitable[Completion]]:
    """Return a seat that an agent fills, its own tools and instructions included."""

    async def complete(request: Request) -> Completion:
        schema = dict(request.reply_schema)
        # A StructuredDict writes `$defs` out in each place that refers to them, which can be far
        # too much, and takes objects alone. The prompt has the schema as well.
        structured = schema.get("type") == "object" and "$defs" not in schema
        wanted = StructuredDict(schema) if structured and not request.in_words else str
        result = await agent.run(request.prompt, output_type=wanted)
        reply = result.output
        return Completion(
            reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False),
            model=result.response.model_name,
            tokens_in=result.usage.input_tokens,
            tokens_cached=result.usage.cache_read_tokens,
            tokens_cache_write=result.usage.cache_write_tokens,
            tokens_out=result.usage.output_tokens,
        )

    return complete
