"""Asking one model once, without a debate around it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from hansard.rules.prompts import Message
from hansard.rules.spec_parts import Settings
from hansard.runtime.models.base import Completion, Model, Request
from hansard.runtime.models.providers import open_model
from instant import GUARD
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


async def give_up(model: Model, arrived: threading.Event) -> None:
    """Ask a model whose server hangs, and give up once the request has arrived there."""
    call = asyncio.ensure_future(model.complete(asked()))
    assert await asyncio.to_thread(arrived.wait, GUARD)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


def ask(*requests: Request, model: str = "openai:m", **options) -> list[Completion]:
    """Ask one model, then close it; return what came of each request."""

    async def go():
        opened: Any = open_model(model, **options)
        try:
            return [await opened.complete(request) for request in requests]
        finally:
            await opened.aclose()

    return asyncio.run(go())
