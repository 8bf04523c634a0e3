"""A vendor's own client in a seat: `models={"NAME": openai_complete(client, model=…)}`.

For the seats of a spec that are `python:NAME`. The client is whatever you
construct, sync or async; nothing of the vendor's is imported here. Construct it
with `max_retries=0`: each attempt is an event of the record, and the engine
makes it. A debater's label is its id in the spec, so every seat can have a
client of its own:

>>> from types import SimpleNamespace as Shape  # stands for the vendors' clients
>>> def chat(**asked):
...     message = Shape(content='{"answer": "a", "justification": "b"}')
...     return Shape(model=asked["model"], choices=[Shape(message=message, finish_reason="stop")])
>>> def messages(**asked):
...     block = Shape(type="text", text="Two hours.")
...     return Shape(model=asked["model"], content=[block], stop_reason="end_turn")
>>> one = Shape(chat=Shape(completions=Shape(create=chat)))  # OpenAI(max_retries=0)
>>> other = Shape(messages=Shape(create=messages))  # Anthropic(max_retries=0)
>>> models = {
...     "gpt": openai_complete(one, model="gpt-4o-mini", temperature=0.7),
...     "claude": anthropic_complete(other, model="claude-haiku-4-5", temperature=0.7),
...     "judge": openai_complete(one, model="gpt-4o", temperature=0),
... }
>>> spec = {
...     "format": "panel",
...     "question": "What did the outage cost?",
...     "debaters": [
...         {"id": "OPENAI", "model": "python:gpt"},
...         {"id": "CLAUDE", "model": "python:claude"},
...     ],
...     "judge": {"model": "python:judge"},
... }
>>> import hansard
>>> hansard.run_sync(spec, models=models).decision
'synthesis'
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from hansard.errors import UsageError
from hansard.rules.fields import Finish
from hansard.rules.spec_parts import Settings
from hansard.runtime.models.base import Completion, ModelError, Request, ToolCall
from hansard.runtime.models.callables import outcome
from hansard.runtime.models.reading import (
    CHAT,
    cap_name,
    count,
    error_of,
    finish_of,
    words,
)

Complete = Callable[[Request], Awaitable[Completion]]

# How a reply ended, in the words of Anthropic's messages.
_MESSAGES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
}


def openai_complete(client: Any, *, model: str, temperature: float | None = None) -> Complete:
    """Return a model that asks OpenAI's chat completions through `client`.

    `client` is an `OpenAI` or `AsyncOpenAI`, made with `max_retries=0`.
    `temperature` holds where the seat's `settings` give none, and is recorded. Rate limits,
    timeouts and other statuses become a ModelError; whatever else the client raises is
    the engine's to record. Raises UsageError `model.client` for another object.
    """
    create = _method(client, "chat.completions.create")
    cap = cap_name(str(getattr(client, "base_url", "")))

    async def complete(request: Request) -> Completion:
        asked = request.parameters
        tools = [{"type": "function", "function": vars(row)} for row in request.tools]
        body = {
            "messages": [{"role": row.role, "content": row.text} for row in request.messages],
            **_sampling(request, temperature),
            "seed": asked["seed"],
            "reasoning_effort": asked["reasoning_effort"],
            cap: asked["max_tokens"],
            "tools": tools or None,
        }
        return await _ask(create, model, body, _chat_completion)

    return _stated(complete, f"openai_complete:{model}", temperature)


def anthropic_complete(
    client: Any, *, model: str, max_tokens: int = 4096, temperature: float | None = None
) -> Complete:
    """Return a model that asks Anthropic's messages through `client`.

    `client` is an `Anthropic` or `AsyncAnthropic`, made with `max_retries=0`.
    `max_tokens` (of the reply; the vendor wants it said) and `temperature` hold
    where the seat's `settings` give none. There is no seed and no reasoning
    effort to be sent: a seat that asks for one fails as `client_error`. Errors
    are those of `openai_complete`.
    """
    create = _method(client, "messages.create")

    async def complete(request: Request) -> Completion:
        asked = request.parameters
        if asked["seed"] is not None or asked["reasoning_effort"] is not None:
            raise ModelError("client_error", "unsupported-setting")
        messages = request.messages
        system = "\n".join(row.text for row in messages if row.role == "system")
        tools = [
            {"name": row.name, "description": row.description, "input_schema": row.parameters}
            for row in request.tools
        ]
        body = {
            "system": system or None,
            "messages": [
                {"role": row.role, "content": row.text} for row in messages if row.role != "system"
            ],
            **_sampling(request, temperature),
            "max_tokens": asked["max_tokens"] or max_tokens,
            "tools": tools or None,
        }
        return await _ask(create, model, body, _message)

    return _stated(complete, f"anthropic_complete:{model}", temperature, max_tokens)


def _stated(
    complete: Complete, name: str, temperature: float | None, max_tokens: int | None = None
) -> Complete:
    """Give a model the name and the settings that are recorded of its seats."""
    stated = {"temperature": temperature, "max_tokens": max_tokens}
    settings = Settings(**{key: value for key, value in stated.items() if value is not None})
    complete.__qualname__, complete.settings = name, settings  # type: ignore[attr-defined]
    return complete


def _method(client: object, path: str) -> Callable[..., Any]:
    """Return the client's method at `path`."""
    found: Any = client
    for name in path.split("."):
        found = getattr(found, name, None)
    if not callable(found):
        raise UsageError("model.client", f"this client has no {path}: pass the vendor's own")
    return found  # type: ignore[no-any-return]


def _sampling(request: Request, temperature: float | None) -> dict[str, float | None]:
    asked = request.parameters
    stated, top_p = asked["temperature"], asked["top_p"]
    return {
        "temperature": temperature if stated is None else float(stated),
        "top_p": None if top_p is None else float(top_p),
    }


async def _ask(
    create: Callable[..., Any],
    model: str,
    body: Mapping[str, Any],
    read: Callable[[Any], Completion],
) -> Completion:
    """Send what is given of `body`, once, and read the answer."""
    given = {key: value for key, value in body.items() if value is not None}
    try:
        answer = await outcome(partial(create, model=model, **given))
    except Exception as error:
        told = error_of(error)
        if told is None:
            raise
        raise told from None
    try:
        return read(answer)
    except (LookupError, TypeError, AttributeError, ValueError):
        raise ModelError("server_error", "malformed") from None


def _chat_completion(answer: Any) -> Completion:
    """Read OpenAI's ChatCompletion."""
    choice = answer.choices[0]
    message = choice.message
    refusal = words(getattr(message, "refusal", None))
    asked = getattr(message, "tool_calls", None) or ()
    usage = getattr(answer, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    return _completion(
        answer,
        text=refusal or message.content or "",
        finish="refusal" if refusal else finish_of(choice.finish_reason, CHAT),
        tokens_in=count(getattr(usage, "prompt_tokens", None)),
        tokens_cached=count(getattr(details, "cached_tokens", None)),
        tokens_out=count(getattr(usage, "completion_tokens", None)),
        fingerprint=words(getattr(answer, "system_fingerprint", None)),
        tool_calls=tuple(ToolCall(row.function.name, row.function.arguments) for row in asked),
    )


def _message(answer: Any) -> Completion:
    """Read Anthropic's Message; its input tokens leave out those written to and read from cache."""
    usage = getattr(answer, "usage", None)
    parts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    fresh, written, cached = (count(getattr(usage, name, None)) for name in parts)
    blocks = answer.content
    calls = [
        ToolCall(row.name, json.dumps(row.input, ensure_ascii=False))
        for row in blocks
        if row.type == "tool_use"
    ]
    return _completion(
        answer,
        text="".join(row.text for row in blocks if row.type == "text"),
        finish=finish_of(answer.stop_reason, _MESSAGES),
        tokens_in=None if fresh is None else fresh + (written or 0) + (cached or 0),
        tokens_cached=cached,
        tokens_out=count(getattr(usage, "output_tokens", None)),
        tool_calls=tuple(calls),
    )


def _completion(answer: Any, *, finish: Finish, tool_calls: Any, **known: Any) -> Completion:
    """Return the completion, with what both vendors say alike.

    A reply that was cut off, filtered or refused asks for no tools.
    """
    return Completion(
        **known,
        finish=finish,
        tool_calls=tool_calls if finish in ("stop", "tool_calls") else (),
        model=words(answer.model),
        response_id=words(getattr(answer, "id", None)),
        request_id=words(getattr(answer, "_request_id", None)),
    )
