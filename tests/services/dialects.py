"""What each dialect looks like on the wire, for tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from services.server import KEY, Server, asking, completion


@dataclass(frozen=True)
class Shape:
    """One dialect, as a scripted server speaks it.

    `said(text, finish)` is the body of a reply, `nothing` one without any;
    `asking((name, arguments))` asks for tools. `prompt`, `schema` and `tools`
    read the messages, the native schema and the tools of a request. `wrapped`: replies stand in an
    envelope where the model fills roles with several schemas. `details` are
    names of failures that differ from those of the others, `ends` the ends of a
    reply that it has words for.
    """

    model: str
    path: str
    variables: Callable[[Server], Mapping[str, str]]
    said: Callable[..., dict[str, Any]]
    asking: Callable[..., dict[str, Any]]
    nothing: dict[str, Any]
    prompt: Callable[[dict[str, Any]], list[dict[str, str]]]
    schema: Callable[[dict[str, Any]], Any]
    tools: Callable[[dict[str, Any]], list[dict[str, Any]]]
    request_id: str = "x-request-id"
    wrapped: bool = False
    details: Mapping[str, str] = field(default_factory=dict)
    ends: tuple[str, ...] = ("stop", "length", "content_filter", "refusal")


def _openai(server: Server) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}


def _chat_said(text: str, finish: str = "stop", **more: Any) -> dict[str, Any]:
    if finish == "refusal":
        return completion(None, refusal=text, **more)
    return completion(text, finish=finish, **more)


def _chat_schema(body: dict[str, Any]) -> Any:
    return body["response_format"]["json_schema"]["schema"] if "response_format" in body else None


CHAT = Shape(
    model="openai:m",
    path="/v1/chat/completions",
    variables=_openai,
    said=_chat_said,
    asking=asking,
    nothing=completion("", choices=[]),
    prompt=lambda body: body["messages"],
    schema=_chat_schema,
    tools=lambda body: [row["function"] for row in body.get("tools", ())],
    wrapped=True,
)
LOCAL = replace(
    CHAT,
    model="vllm:m",
    variables=lambda server: {"VLLM_BASE_URL": server.url},
    wrapped=False,
)


def _azure(server: Server) -> dict[str, str]:
    return {"AZURE_OPENAI_ENDPOINT": server.root, "AZURE_OPENAI_API_KEY": KEY}


AZURE = replace(CHAT, model="azure:m", path="/openai/v1/chat/completions", variables=_azure)
MISTRAL = replace(
    CHAT,
    model="mistral:m",
    variables=lambda server: {"MISTRAL_BASE_URL": server.url, "MISTRAL_API_KEY": KEY},
    wrapped=False,
)
OPENROUTER = replace(
    CHAT,
    model="openrouter:maker/m",
    variables=lambda server: {"OPENROUTER_BASE_URL": server.url, "OPENROUTER_API_KEY": KEY},
    wrapped=False,
)


def response(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The body of a response with these items; `more` replaces or adds top-level fields."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "served-2026-11-01",
        "output": list(items),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        **more,
    }


def message(*parts: dict[str, Any]) -> dict[str, Any]:
    """An item of a response that says something."""
    row = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
    return {**row, "content": list(parts)}


def output(text: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def function_call(name: Any, arguments: Any) -> dict[str, Any]:
    """An item of a response that asks for a tool."""
    row = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed"}
    return {**row, "name": name, "arguments": arguments}


REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


def _response_said(text: str, finish: str = "stop", **more: Any) -> dict[str, Any]:
    if finish == "refusal":
        return response(message({"type": "refusal", "refusal": text}), **more)
    if finish in REASONS:
        more |= {"status": "incomplete", "incomplete_details": {"reason": REASONS[finish]}}
    return response(message(output(text)), **more)


RESPONSES = Shape(
    model="openai-responses:m",
    path="/v1/responses",
    variables=_openai,
    said=_response_said,
    asking=lambda *calls: response(*(function_call(*row) for row in calls)),
    nothing=response(),
    prompt=lambda body: body["input"],
    schema=lambda body: body["text"]["format"]["schema"] if "text" in body else None,
    tools=lambda body: list(body.get("tools", ())),
    wrapped=True,
)

SHAPES = {
    "chat": CHAT,
    "local": LOCAL,
    "responses": RESPONSES,
    "azure": AZURE,
    "mistral": MISTRAL,
    "openrouter": OPENROUTER,
}
