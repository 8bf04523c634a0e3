"""OpenAI's responses: the dialect after chat completions, with nothing kept at the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.profiles import DEFAULT_PROFILE, ModelProfile, merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile

from hansard.rules.fields import CallError, Finish, Parameters
from hansard.rules.replies import Schema
from hansard.runtime.models.base import Completion, ModelError, Request, ToolCall
from hansard.runtime.models.form import ASKED, Form, is_strict
from hansard.runtime.models.openai_chat import connect, effort, used
from hansard.runtime.models.providers import Server
from hansard.runtime.models.reading import finish_of, words
from hansard.runtime.models.wire import WireModel, decimal, given

# Why a reply is incomplete.
_INCOMPLETE: dict[str, Finish] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}
# What a response says that failed with a status of success; another code is the server's fault.
_FAILED: dict[object, CallError] = {
    "rate_limit_exceeded": "rate_limited",
    "invalid_prompt": "client_error",
}


class ResponsesModel(WireModel):
    """A model behind /responses."""

    def __init__(self, name: str, server: Server) -> None:
        client, provider = connect(server)
        model = OpenAIResponsesModel(name, provider=provider, profile=self._profile)
        super().__init__(name, model, client, enveloped=server.enveloped)

    def _profile(self, _default: ModelProfile) -> ModelProfile:
        """Return a profile under which everything is sent as it is given; as in ChatModel."""
        return merge_profile(DEFAULT_PROFILE, OpenAIModelProfile(supports_json_schema_output=True))

    def settings(self, asked: Parameters) -> OpenAIResponsesModelSettings:
        """Return what was asked for in the library's words; responses know no seed."""
        settings = cast(OpenAIResponsesModelSettings, super().settings({**asked, "seed": None}))
        return (
            settings | cast(OpenAIResponsesModelSettings, effort(asked)) | {"openai_store": False}
        )

    def strict(self, schema: Schema) -> bool:
        """Say whether OpenAI's strict mode takes `schema`."""
        return is_strict(schema, self.name)

    def rendered(self, request: Request, form: Form) -> dict[str, Any]:
        """Return the body that says what was rendered and asked for, and nothing else."""
        asked = request.parameters
        reasoning = given(effort=asked["reasoning_effort"])
        body = {
            "model": self.name,
            "stream": False,
            "store": False,
            "input": [{"role": row.role, "content": row.text} for row in request.messages],
            **given(
                temperature=decimal(asked["temperature"]),
                top_p=decimal(asked["top_p"]),
                seed=asked["seed"],
                max_output_tokens=asked["max_tokens"],
                reasoning=reasoning or None,
            ),
        }
        tools = [{"type": "function", **vars(row), "strict": False} for row in request.tools]
        if form.mode == "native":
            wanted = {"name": form.name, "schema": form.schema, "strict": form.strict}
            body["text"] = {"format": {"type": "json_schema", **wanted}}
        if form.mode == "tool":
            reply = {"name": form.name, "description": ASKED, "parameters": form.schema}
            tools.append({"type": "function", **reply, "strict": form.strict})
        if tools:
            body["tools"] = tools
            body["tool_choice"] = "required" if form.mode == "tool" else "auto"
        return body

    def read(self, body: Mapping[str, Any]) -> Completion:
        """Return what the items of the output say; one that failed is an error."""
        status = body.get("status")
        if status == "failed":
            error = body.get("error")
            code = error.get("code") if isinstance(error, dict) else None
            kind = _FAILED.get(code, "server_error") if isinstance(code, str) else "server_error"
            raise ModelError(kind, "failed")
        items = body["output"]
        parts = [part for row in items if row["type"] == "message" for part in row["content"]]
        calls = [row for row in items if row["type"] == "function_call"]
        if status == "completed" and not parts and not calls:
            raise LookupError("it says nothing")
        refusal = "".join(row["refusal"] for row in parts if row["type"] == "refusal")
        text = "".join(row["text"] for row in parts if row["type"] == "output_text")
        return Completion(
            refusal or text,
            model=words(body.get("model")),
            finish="refusal" if refusal else _finish(body, asks=bool(calls)),
            **used(body.get("usage"), "input_tokens", "output_tokens"),
            response_id=words(body.get("id")),
            tool_calls=tuple(ToolCall(row["name"], row["arguments"]) for row in calls),
        )


def _finish(body: Mapping[str, Any], *, asks: bool) -> Finish:
    """Return how a response ended, by its status and what it is incomplete for."""
    if body.get("status") == "completed":
        return "tool_calls" if asks else "stop"
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return finish_of(reason, _INCOMPLETE)


def open_model(name: str, server: Server) -> ResponsesModel:
    """Return the model `name` of `server`."""
    return ResponsesModel(name, server)
