"""Chat completions: OpenAI's, and those of any server that speaks them alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.profiles import DEFAULT_PROFILE, ModelProfile, merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

from hansard.rules.fields import Finish, Parameters
from hansard.rules.replies import Schema
from hansard.runtime.models.base import Completion, Request, ToolCall
from hansard.runtime.models.client import RecordingClient
from hansard.runtime.models.form import ASKED, Form, is_strict
from hansard.runtime.models.providers import Server
from hansard.runtime.models.reading import CHAT, cap_name, count, finish_of, words
from hansard.runtime.models.wire import WireModel, decimal, given

_NO_KEY = "none"  # servers on one's own machine ask for none, and the client insists on one


class ChatModel(WireModel):
    """A model behind /chat/completions.

    A dialect that is nearly this one says what differs: `cap` is its name of the reply
    cap, where that does not depend on the server; `finishes` how a reply may end;
    `seeded`, whether it calls a seed so.
    """

    cap: str | None = None
    finishes: Mapping[str, Finish] = CHAT
    seeded = True

    def __init__(self, name: str, server: Server) -> None:
        client, provider = connect(server, self.headers)
        self._cap = self.cap or cap_name(server.base_url or "")
        model = OpenAIChatModel(name, provider=provider, profile=self._profile)
        super().__init__(name, model, client, enveloped=server.enveloped)

    def _profile(self, _default: ModelProfile) -> ModelProfile:
        """Return a profile under which everything is sent as it is given.

        The library's own would, by the model's name, drop temperature and
        top_p, rewrite the schema, and put joiners into the messages.
        """
        is_new = self._cap == "max_completion_tokens"
        return merge_profile(
            DEFAULT_PROFILE,
            OpenAIModelProfile(
                supports_json_schema_output=True,
                openai_chat_supports_max_completion_tokens=is_new,
            ),
        )

    def headers(self, key: str) -> dict[str, str]:
        """Return the key as the server wants it."""
        return bearer(key)

    def more(self, asked: Parameters) -> dict[str, Any]:  # noqa: ARG002 - nothing, in OpenAI's
        """Return what a body says beyond what OpenAI's does."""
        return {}

    def said(self, content: Any) -> Any:
        """Return the text of a reply's content."""
        return "" if content is None else content

    def settings(self, asked: Parameters) -> OpenAIChatModelSettings:
        """Return what was asked for in the library's words, without what was not."""
        known = asked if self.seeded else {**asked, "seed": None}
        settings = cast(OpenAIChatModelSettings, super().settings(known))
        if more := self.more(asked):
            settings["extra_body"] = more
        return settings | effort(asked)

    def strict(self, schema: Schema) -> bool:
        """Say whether OpenAI's strict mode takes `schema`."""
        return is_strict(schema, self.name)

    def rendered(self, request: Request, form: Form) -> dict[str, Any]:
        """Return the body that says what was rendered and asked for, and nothing else."""
        asked = request.parameters
        body = {
            "model": self.name,
            "stream": False,
            "messages": [{"role": row.role, "content": row.text} for row in request.messages],
            **given(
                temperature=decimal(asked["temperature"]),
                top_p=decimal(asked["top_p"]),
                seed=asked["seed"] if self.seeded else None,
                reasoning_effort=asked["reasoning_effort"],
            ),
            **given(**{self._cap: asked["max_tokens"]}),
            **self.more(asked),
        }
        tools = [{"type": "function", "function": vars(row)} for row in request.tools]
        if form.mode == "native":
            wanted = {"name": form.name, "schema": form.schema, "strict": form.strict}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        if form.mode == "tool":
            reply = {"name": form.name, "description": ASKED, "parameters": form.schema}
            strict = {"strict": True} if form.strict else {}
            tools.append({"type": "function", "function": {**reply, **strict}})
        if tools:
            body["tools"] = tools
            body["tool_choice"] = "required" if form.mode == "tool" else "auto"
        return body

    def read(self, body: Mapping[str, Any]) -> Completion:
        """Return what the first choice says."""
        choice = body["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), words(message.get("refusal"))
        asked = [row["function"] for row in message.get("tool_calls") or ()]
        return Completion(
            refusal or self.said(content),
            model=words(body.get("model")),
            finish="refusal" if refusal else finish_of(choice.get("finish_reason"), self.finishes),
            **used(body.get("usage"), "prompt_tokens", "completion_tokens"),
            response_id=words(body.get("id")),
            fingerprint=words(body.get("system_fingerprint")),
            tool_calls=tuple(ToolCall(row["name"], row["arguments"]) for row in asked),
        )


def open_model(name: str, server: Server) -> ChatModel:
    """Return the model `name` of `server`."""
    return ChatModel(name, server)


def bearer(key: str) -> dict[str, str]:
    """Return the header that most servers want a key in."""
    return {"authorization": f"Bearer {key}"}


def connect(
    server: Server, headers: Callable[[str], dict[str, str]] = bearer
) -> tuple[RecordingClient, OpenAIProvider]:
    """Return a recording client, and the library's provider that sends through it."""
    key = server.key or _NO_KEY
    client = RecordingClient(headers(key) if server.plain else None)
    vendor = AsyncOpenAI(
        api_key=key, base_url=server.base_url, max_retries=0, timeout=None, http_client=client
    )
    return client, OpenAIProvider(openai_client=vendor)


def effort(asked: Parameters) -> OpenAIChatModelSettings:
    """Return the setting for the reasoning effort, where one was asked for."""
    if asked["reasoning_effort"] is None:
        return {}
    return {"openai_reasoning_effort": cast(Any, asked["reasoning_effort"])}


def used(usage: object, into: str, out: str) -> dict[str, Any]:
    """Return the tokens of a completion, by the vendor's names; None is what it did not say."""
    rows = usage if isinstance(usage, dict) else {}
    details = rows.get(f"{into}_details")
    cache = details if isinstance(details, dict) else {}
    return {
        "tokens_in": count(rows.get(into)),
        "tokens_cached": count(cache.get("cached_tokens")),
        "tokens_cache_write": count(cache.get("cache_write_tokens")),
        "tokens_out": count(rows.get(out)),
    }
