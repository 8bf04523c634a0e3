"""Anthropic's Messages, and every server that speaks them: `anthropic:MODEL`.

The user's message goes as blocks, with cache points where other calls of the
debate begin with the same ones. The reply is held to its schema where the model
can be, and is else asked for as the arguments of a tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from anthropic import AsyncAnthropic
from pydantic_ai import messages as parts
from pydantic_ai.models.anthropic import AnthropicModel as LibraryModel
from pydantic_ai.models.anthropic import AnthropicModelSettings
from pydantic_ai.profiles import DEFAULT_PROFILE, ModelProfile, merge_profile
from pydantic_ai.providers.anthropic import AnthropicProvider

from hansard.rules.fields import Finish, Parameters
from hansard.rules.prompts import Message
from hansard.rules.replies import Schema
from hansard.runtime.models.base import Completion, Request, ToolCall
from hansard.runtime.models.blocks import (
    as_json,
    mapped_blocks,
    marked,
    members,
    preferring,
    total,
)
from hansard.runtime.models.client import RecordingClient
from hansard.runtime.models.form import ASKED, Form
from hansard.runtime.models.grammar import is_closed, narrowed
from hansard.runtime.models.providers import Server
from hansard.runtime.models.reading import count, finish_of, words
from hansard.runtime.models.wire import WireModel, decimal, given, mapped

_NO_KEY = "none"  # the client insists on one, also for servers that ask for none
_VERSION = "2023-06-01"  # of the protocol, as every server knows it
_CACHED = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}
_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "tool_use": "tool_calls",
}


class AnthropicModel(WireModel):
    """A model behind Messages; its native schemas are those of a grammar."""

    def __init__(self, name: str, server: Server) -> None:
        client = RecordingClient(_headers(server.key) if server.plain else None)
        vendor = AsyncAnthropic(
            api_key=server.key or _NO_KEY,
            base_url=server.base_url,
            max_retries=0,
            timeout=None,
            http_client=client,
        )
        model = LibraryModel(
            name, provider=AnthropicProvider(anthropic_client=vendor), profile=_profile
        )
        super().__init__(name, model, client, enveloped=server.enveloped)
        known = AnthropicProvider.model_profile(name) or {}
        self._is_native = bool(known.get("supports_json_schema_output"))

    def strict(self, schema: Schema) -> bool:
        """Say whether a grammar leaves the schema its sense."""
        return is_closed(schema)

    def form(self, request: Request) -> Form:
        """Return the form of the reply: native where model and schema allow it, else a tool."""
        is_native = self._is_native and is_closed(request.reply_schema)
        form = super().form(preferring(request, "native" if is_native else "tool"))
        if form.mode == "native":
            return replace(form, schema=narrowed(form.schema))
        return replace(form, strict=False)

    def messages(self, request: Request) -> list[parts.ModelMessage]:
        """Return the prompt in the library's words, the user's in blocks."""
        rows = request.messages
        return [mapped_blocks(row) if row.role == "user" else mapped(row) for row in rows]

    def settings(self, asked: Parameters) -> AnthropicModelSettings:
        """Return what was asked for in the library's words; there is no seed here."""
        settings = cast(AnthropicModelSettings, super().settings({**asked, "seed": None}))
        if asked["reasoning_effort"] is not None:
            settings["anthropic_effort"] = asked["reasoning_effort"]  # type: ignore[typeddict-item]
        return settings

    def rendered(self, request: Request, form: Form) -> dict[str, Any]:
        """Return the body that says what was rendered and asked for, and nothing else."""
        asked = request.parameters
        native = {"type": "json_schema", "schema": form.schema} if form.mode == "native" else None
        config = given(format=native, effort=asked["reasoning_effort"])
        system = [row.text for row in request.messages if row.role == "system"]
        return {
            "model": self.name,
            "stream": False,
            "messages": [_blocks(row) for row in request.messages if row.role != "system"],
            **_tools(request, form),
            **given(
                system="\n\n".join(system) or None,
                output_config=config or None,
                temperature=decimal(asked["temperature"]),
                top_p=decimal(asked["top_p"]),
                seed=asked["seed"],
                max_tokens=asked["max_tokens"],
            ),
        }

    def read(self, body: Mapping[str, Any]) -> Completion:
        """Return what a response's body says."""
        content = body["content"]
        usage = members(body.get("usage"))
        read, written = (
            usage.get("cache_read_input_tokens"),
            usage.get("cache_creation_input_tokens"),
        )
        fresh = count(
            usage.get("input_tokens")
        )  # what was read from the cache or written to it is not
        return Completion(
            "".join(row["text"] for row in content if row["type"] == "text"),
            model=words(body.get("model")),
            finish=finish_of(body.get("stop_reason"), _FINISHES),
            tokens_in=None if fresh is None else total(fresh, read, written),
            tokens_cached=count(read),
            tokens_cache_write=count(written),
            tokens_out=count(usage.get("output_tokens")),
            response_id=words(body.get("id")),
            tool_calls=tuple(
                ToolCall(row["name"], as_json(row["input"]))
                for row in content
                if row["type"] == "tool_use"
            ),
        )


def open_model(name: str, server: Server) -> AnthropicModel:
    """Return the model `name` at `server`."""
    return AnthropicModel(name, server)


def _headers(key: str | None) -> dict[str, str]:
    """Return what a server that is not the vendor's is sent: the key in both its forms."""
    keyed = {"x-api-key": key, "authorization": f"Bearer {key}"} if key else {}
    return {"anthropic-version": _VERSION, **keyed}


def _profile(_default: ModelProfile) -> ModelProfile:
    """Return a profile under which everything is sent as it is given.

    The library's own would, by the model's name, drop temperature and top_p,
    cap the reply's length, and rewrite the schema.
    """
    return merge_profile(DEFAULT_PROFILE, ModelProfile(supports_json_schema_output=True))


def _blocks(message: Message) -> dict[str, Any]:
    if message.role == "assistant":
        return {"role": "assistant", "content": [{"type": "text", "text": message.text}]}
    content = [
        {"type": "text", "text": block, **(_CACHED if point else {})}
        for block, point in marked(message)
    ]
    return {"role": "user", "content": content}


def _tools(request: Request, form: Form) -> dict[str, Any]:
    """Return what a body says of tools: those of the spec, and the one that takes the reply."""
    rows = [(row.name, row.description, row.parameters) for row in request.tools]
    if form.mode == "tool":
        rows.append((form.name, ASKED, form.schema))
    if not rows:
        return {}
    names = ("name", "description", "input_schema")
    return {
        "tools": [dict(zip(names, row, strict=True)) for row in rows],
        "tool_choice": {"type": "any" if form.mode == "tool" else "auto"},
    }
