"""Asking one model once, without a debate around it."""

from __future__ import annotations

import asyncio

from hansard.rules.prompts import Message
from hansard.rules.spec_parts import Settings
from hansard.runtime.models.base import Completion, Request
from hansard.runtime.models.providers import open_model
from playing import request

SCHEMA = {
    "additionalProperties": False,
    "properties": {"vote": {"enum": ["yes", "no"], "type": "string"}},
    "required": ["vote"],
    "type": "object",
}
WORDS = {"minLength": 1, "type": "string"}


def asked(messages=(("user", "x"),), schema=SCHEMA, tools=(), schemas=(), **settings) -> Request:
    """A request as the engine makes one."""
    return request(
        model="openai:m",
        parameters=Settings(**settings).model_dump(),
        reply_schema=schema,
        schemas=schemas,
        tools=tools,
        render=lambda: [Message(role, [text[:3], text[3:]]) for role, text in messages],
    )


def ask(*requests: Request, model: str = "openai:m", **options) -> list[Completion]:
    """Ask one model, then close it; return what came of each request."""

    async def go():
        opened = open_model(model, **options)
        try:
            return [await opened.complete(request) for request in requests]
        finally:
            await opened.aclose()

    return asyncio.run(go())
