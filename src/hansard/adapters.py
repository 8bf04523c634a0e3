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
import warnings
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any, NamedTuple, Protocol, cast, overload

from hansard.errors import UsageError
from hansard.rules.fields import Finish, Parameters, Structured
from hansard.rules.looks import require
from hansard.rules.prompts import Message
from hansard.rules.replies import Schema
from hansard.rules.spec_parts import Settings
from hansard.runtime.models.base import Completion, ModelError, Request, ToolCall, ToolDefinition
from hansard.runtime.models.callables import outcome
from hansard.runtime.models.envelope import envelope, refers
from hansard.runtime.models.form import ASKED, Form, as_asked, is_strict, name_for
from hansard.runtime.models.grammar import is_closed, narrowed
from hansard.runtime.models.reading import (
    CHAT,
    cap_name,
    count,
    error_of,
    finish_of,
    words,
)


class Complete(Protocol):
    """What answers in a seat, and for a prompt alone, as `hansard.blocks` asks."""

    settings: Settings

    @overload
    def __call__(self, asked: Request, /) -> Awaitable[Completion]: ...
    @overload
    def __call__(self, asked: str, /) -> Awaitable[str]: ...
    def __call__(self, asked: Request | str, /) -> Awaitable[Completion | str]:
        """Return what the vendor's model says; of a prompt, its words alone."""


# How a reply ended, in the words of Anthropic's messages.
_MESSAGES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
}
_REFUSALS = ("http-400", "http-422")  # what a server answers that does not know what it is sent


def openai_complete(client: Any, *, model: str, temperature: float | None = None) -> Complete:
    """Return a model that asks OpenAI's chat completions through `client`.

    `client` is an `OpenAI` or `AsyncOpenAI`, made with `max_retries=0`.
    `temperature` holds where the seat's `settings` give none, and is recorded.

    Where the reply is to be JSON, it is asked for by `response_format`, or as the seat's
    `structured` says (`native`, `tool`, `text`). Where that says nothing, a server that
    answers 400 or 422 is asked in the prompt's words alone from then on: that attempt is
    recorded as `server_error`, and tried again like any other. A client that takes no
    `response_format` is not given one.

    It may be called with a prompt, too, as `hansard.blocks` does, and returns the reply's
    words. Rate limits, timeouts and other statuses become a ModelError; whatever else the
    client raises is the engine's to record. Raises UsageError `model.client` for another
    object, and `api.value` for a `temperature` that is no number.

    >>> from types import SimpleNamespace as Shape  # stands for OpenAI(max_retries=0)
    >>> def create(model, messages):
    ...     said = Shape(content=f"{model} was asked: {messages[0]['content']}")
    ...     return Shape(model=model, choices=[Shape(message=said, finish_reason="stop")])
    >>> client = Shape(chat=Shape(completions=Shape(create=create)))
    >>> import asyncio
    >>> asyncio.run(openai_complete(client, model="gpt-5-mini")("Why?"))
    'gpt-5-mini was asked: Why?'
    """
    require(float, temperature=temperature)
    create = _method(client, "chat.completions.create")
    cap = cap_name(str(getattr(client, "base_url", "")))

    def body(asked: _Asked, form: Form) -> dict[str, Any]:
        settings = asked.settings
        tools = [{"type": "function", "function": vars(row)} for row in asked.tools]
        wanted: dict[str, Any] = {}
        if form.mode == "native":
            schema = {"name": form.name, "schema": form.schema, "strict": form.strict}
            wanted["response_format"] = {"type": "json_schema", "json_schema": schema}
        if form.mode == "tool":
            reply = {"name": form.name, "description": ASKED, "parameters": form.schema}
            tools.append({"type": "function", "function": reply})
            wanted["tool_choice"] = "required"
        return {
            "messages": [{"role": row.role, "content": row.text} for row in asked.messages],
            **_sampling(settings, temperature),
            "seed": settings["seed"],
            "reasoning_effort": settings["reasoning_effort"],
            cap: settings["max_tokens"],
            "tools": tools or None,
            **wanted,
        }

    default: Structured = "native" if _takes(create, "response_format") else "text"
    forms = _Forms(default, lambda schema: is_strict(schema, model))
    complete = _answering(partial(create, model=model), forms, body, _chat_completion)
    return _stated(complete, f"openai_complete:{model}", temperature)


def anthropic_complete(
    client: Any, *, model: str, max_tokens: int = 4096, temperature: float | None = None
) -> Complete:
    """Return a model that asks Anthropic's messages through `client`.

    `client` is an `Anthropic` or `AsyncAnthropic`, made with `max_retries=0`.
    `max_tokens` (of the reply; the vendor wants it said) and `temperature` hold
    where the seat's `settings` give none. There is no seed and no reasoning
    effort to be sent: a seat that asks for one fails as `client_error`.

    Where the reply is to be JSON, it is asked for as the arguments of a tool, which every
    model of the vendor's knows, or as the seat's `structured` says: `native` is
    `output_config`. What a server that refuses it is asked, and calls with a prompt, are as of
    `openai_complete`, which raises the same.

    >>> from types import SimpleNamespace as Shape  # stands for Anthropic(max_retries=0)
    >>> def create(model, messages, max_tokens):
    ...     said = Shape(type="text", text=f"{messages[0]['content']} In {max_tokens} tokens.")
    ...     return Shape(model=model, content=[said], stop_reason="end_turn")
    >>> client = Shape(messages=Shape(create=create))
    >>> import asyncio
    >>> asyncio.run(anthropic_complete(client, model="claude-haiku-4-5", max_tokens=90)("Why?"))
    'Why? In 90 tokens.'
    """
    require(float, temperature=temperature)
    require(int, max_tokens=max_tokens)
    create = _method(client, "messages.create")

    def body(asked: _Asked, form: Form) -> dict[str, Any]:
        settings = asked.settings
        if settings["seed"] is not None or settings["reasoning_effort"] is not None:
            raise ModelError("client_error", "unsupported-setting")
        system = "\n".join(row.text for row in asked.messages if row.role == "system")
        rows = [(row.name, row.description, row.parameters) for row in asked.tools]
        wanted: dict[str, Any] = {}
        if form.mode == "native":
            schema = {"type": "json_schema", "schema": narrowed(form.schema)}
            wanted["output_config"] = {"format": schema}
        if form.mode == "tool":
            rows.append((form.name, ASKED, form.schema))
            wanted["tool_choice"] = {"type": "any"}
        names = ("name", "description", "input_schema")
        return {
            "system": system or None,
            "messages": [
                {"role": row.role, "content": row.text}
                for row in asked.messages
                if row.role != "system"
            ],
            **_sampling(settings, temperature),
            "max_tokens": settings["max_tokens"] or max_tokens,
            "tools": [dict(zip(names, row, strict=True)) for row in rows] or None,
            **wanted,
        }

    forms = _Forms("tool" if _takes(create, "tools") else "text", is_closed)
    complete = _answering(partial(create, model=model), forms, body, _message)
    return _stated(complete, f"anthropic_complete:{model}", temperature, max_tokens)


class _Asked(NamedTuple):
    """What one call is to say."""

    messages: list[Message]
    settings: Mapping[str, Any]
    tools: tuple[ToolDefinition, ...] = ()


class _Forms:
    """How replies are asked for: as a seat says, else by `default` until a server refuses it."""

    def __init__(self, default: Structured, strict: Callable[[Schema], bool]) -> None:
        self.default, self._strict = default, strict

    def form(self, request: Request) -> Form:
        """Return how to ask for the reply of a request."""
        mode, own = request.parameters["structured"] or self.default, request.reply_schema
        wrapped = own.get("type") != "object"  # what vendors take is an object
        if request.in_words or mode == "text" or (wrapped and refers(own)):
            return Form("text")
        schema = envelope([own]) if wrapped else own
        return Form(mode, schema, name_for(request), self._strict(schema), wrapped)

    def refused(self, request: Request, form: Form, error: ModelError) -> ModelError:
        """Return the error of a call, and ask in words from now on where its form may be why."""
        if form.mode == "text" or request.parameters["structured"]:
            return error
        if error.detail not in _REFUSALS:
            return error
        self.default = "text"
        return ModelError("server_error", "form-refused", wire=error.wire)


def _answering(
    create: Callable[..., Any],
    forms: _Forms,
    body: Callable[[_Asked, Form], dict[str, Any]],
    read: Callable[[Any], Completion],
) -> Callable[[Request | str], Awaitable[Completion | str]]:
    """Return what answers a request, or a prompt, by one call of `create`."""

    async def complete(asked: Request | str) -> Completion | str:
        if isinstance(asked, str):
            nothing = dict.fromkeys(Parameters.__annotations__)
            message = _Asked([Message("user", [asked])], nothing)
            said = await _ask(create, body(message, Form("text")), read)
            if said.finish != "stop":
                raise ModelError("no_reply", said.finish)
            return said.text
        form = forms.form(asked)
        told = _Asked(asked.messages, asked.parameters, asked.tools)
        try:
            return as_asked(await _ask(create, body(told, form), read), form)
        except ModelError as error:
            raise forms.refused(asked, form, error) from None

    return complete


def _stated(
    complete: Any, name: str, temperature: float | None, max_tokens: int | None = None
) -> Complete:
    """Give a model the name and the settings that are recorded of its seats."""
    stated = {"temperature": temperature, "max_tokens": max_tokens}
    settings = Settings(**{key: value for key, value in stated.items() if value is not None})
    complete.__qualname__, complete.settings = name, settings
    return cast(Complete, complete)


def _method(client: object, path: str) -> Callable[..., Any]:
    """Return the client's method at `path`."""
    found: Any = client
    for name in path.split("."):
        found = getattr(found, name, None)
    if not callable(found):
        raise UsageError("model.client", f"this client has no {path}: pass the vendor's own")
    return found  # type: ignore[no-any-return]


def _takes(create: Callable[..., Any], name: str) -> bool:
    """Say whether a client's method can be given this argument."""
    try:
        rows = signature(create).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(row.name == name or row.kind is row.VAR_KEYWORD for row in rows)


def _sampling(asked: Mapping[str, Any], temperature: float | None) -> dict[str, float | None]:
    stated, top_p = asked["temperature"], asked["top_p"]
    return {
        "temperature": temperature if stated is None else float(stated),
        "top_p": None if top_p is None else float(top_p),
    }


async def _ask(
    create: Callable[..., Any], body: Mapping[str, Any], read: Callable[[Any], Completion]
) -> Completion:
    """Send what is given of `body`, once, and read the answer.

    What the client has no argument for goes into `extra_body`; one that has none of that
    either fails as `client_error`: nothing is left out silently.
    """
    given = {key: value for key, value in body.items() if value is not None}
    more = {key: given.pop(key) for key in [*given] if not _takes(create, key)}
    if more and not _takes(create, "extra_body"):
        raise ModelError("client_error", "unsupported-setting")
    if more:
        given["extra_body"] = more
    try:
        answer = await outcome(partial(create, **given))
    except Exception as error:
        told = error_of(error)
        if told is None:
            raise
        raise told from None
    try:
        return read(answer)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, AttributeError):
            warnings.warn(
                f"what the client returned has no `{error.name}`, so it counts as a server error",
                stacklevel=2,
            )
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
