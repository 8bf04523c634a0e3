"""Google's Gemini: `google:MODEL`, through the Gemini API.

The server caches what prompts begin with by itself, so the messages go as plain
texts, and the schema as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from google.genai import Client
from google.genai.types import HttpOptions
from pydantic_ai.models.google import GoogleModel as LibraryModel
from pydantic_ai.models.google import GoogleModelSettings
from pydantic_ai.profiles import DEFAULT_PROFILE, ModelProfile, merge_profile
from pydantic_ai.profiles.google import GoogleModelProfile
from pydantic_ai.providers.google import GoogleProvider

from hansard.rules.fields import Finish, Parameters
from hansard.rules.prompts import Message
from hansard.runtime.models.base import Completion, Request, ToolCall
from hansard.runtime.models.blocks import as_json, members, preferring, total
from hansard.runtime.models.client import RecordingClient
from hansard.runtime.models.form import ASKED, Form
from hansard.runtime.models.providers import Server
from hansard.runtime.models.reading import count, finish_of, words
from hansard.runtime.models.wire import WireModel, decimal, given

NO_KEY = "none"  # the client insists on one, also for servers that ask for none
_FINISHES: dict[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
}


class GeminiModel(WireModel):
    """A model behind generateContent."""

    def __init__(self, name: str, server: Server) -> None:
        keyed = {"x-goog-api-key": server.key} if server.key else {}
        client = RecordingClient(keyed if server.plain else None)
        vendor = self.connect(server, client)
        model = LibraryModel(name, provider=GoogleProvider(client=vendor), profile=_profile)
        super().__init__(name, model, client, enveloped=server.enveloped)
        known = cast(GoogleModelProfile, GoogleProvider.model_profile(name) or {})
        self._combines = known.get("google_supports_tool_combination", False)

    def connect(self, server: Server, client: RecordingClient) -> Client:
        """Return the vendor's client, which sends through `client`."""
        key = server.key or NO_KEY
        return Client(vertexai=False, api_key=key, http_options=through(client, server))

    def form(self, request: Request) -> Form:
        """Return the form of the reply: older models take no schema where there are tools."""
        is_native = self._combines or not request.tools
        return super().form(preferring(request, "native" if is_native else "tool"))

    def settings(self, asked: Parameters) -> GoogleModelSettings:
        """Return what was asked for in the library's words, without what was not."""
        settings = cast(GoogleModelSettings, super().settings(asked))
        if asked["reasoning_effort"] is not None:
            level: Any = asked["reasoning_effort"].upper()
            settings["google_thinking_config"] = {"thinking_level": level}
        return settings

    def rendered(self, request: Request, form: Form) -> dict[str, Any]:
        """Return the body that says what was rendered and asked for, and nothing else."""
        system = [row.text for row in request.messages if row.role == "system"]
        body = {
            "contents": [_content(row) for row in request.messages if row.role != "system"],
            "generationConfig": _config(request.parameters, form),
        }
        if system:
            body["systemInstruction"] = {"role": "user", "parts": [{"text": row} for row in system]}
        rows = [(row.name, row.description, row.parameters) for row in request.tools]
        if form.mode == "tool":
            rows.append((form.name, ASKED, form.schema))
        if rows:
            # The vendor's client spells this one so; the server takes both spellings.
            names = ("name", "description", "parameters_json_schema")
            declared = [dict(zip(names, row, strict=True)) for row in rows]
            mode = "ANY" if form.mode == "tool" else "AUTO"
            body["tools"] = [{"functionDeclarations": declared}]
            body["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
        return body

    def read(self, body: Mapping[str, Any]) -> Completion:
        """Return what the first candidate says; none at all is a prompt that was blocked."""
        usage = members(body.get("usageMetadata"))
        known: dict[str, Any] = {
            "model": words(body.get("modelVersion")),
            "tokens_in": count(usage.get("promptTokenCount")),
            "tokens_cached": count(usage.get("cachedContentTokenCount")),
            "tokens_out": total(usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount")),
            "response_id": words(body.get("responseId")),
        }
        if not body.get("candidates") and body["promptFeedback"]["blockReason"]:
            return Completion("", finish="content_filter", **known)
        candidate = body["candidates"][0]
        rows = (candidate.get("content") or {}).get("parts") or []
        asked = [row["functionCall"] for row in rows if "functionCall" in row]
        return Completion(
            "".join(row["text"] for row in rows if "text" in row and not row.get("thought")),
            finish=finish_of(candidate.get("finishReason"), _FINISHES),
            tool_calls=tuple(
                ToolCall(row["name"], as_json(row.get("args") or {})) for row in asked
            ),
            **known,
        )


def open_model(name: str, server: Server) -> GeminiModel:
    """Return the model `name` at `server`."""
    return GeminiModel(name, server)


def through(client: RecordingClient, server: Server) -> HttpOptions:
    """Return what has the vendor's client send through `client` alone.

    It makes another one too, which nobody uses, and which must not fail on a proxy's variables.
    """
    return HttpOptions(
        base_url=server.base_url, httpx_async_client=client, client_args={"trust_env": False}
    )


def _profile(_default: ModelProfile) -> ModelProfile:
    """Return a profile under which everything is sent as it is given.

    The library's own would, by the model's name, rewrite schemas and refuse
    one together with tools.
    """
    return merge_profile(
        DEFAULT_PROFILE,
        GoogleModelProfile(supports_json_schema_output=True, google_supports_tool_combination=True),
    )


def _content(message: Message) -> dict[str, Any]:
    role = "model" if message.role == "assistant" else "user"
    return {"role": role, "parts": [{"text": message.text}]}


def _config(asked: Parameters, form: Form) -> dict[str, Any]:
    effort = asked["reasoning_effort"]
    config: dict[str, Any] = {
        "responseModalities": ["TEXT"],
        **given(
            temperature=decimal(asked["temperature"]),
            topP=decimal(asked["top_p"]),
            maxOutputTokens=asked["max_tokens"],
            seed=asked["seed"],
            thinkingConfig=None if effort is None else {"thinking_level": effort.upper()},
        ),
    }
    if form.mode == "native":
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = {**form.schema, "title": form.name}
    return config
