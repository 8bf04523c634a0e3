"""The dialects whose messages are blocks, as a scripted server speaks them; SHAPES are all."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from services import dialects
from services.dialects import Shape
from services.server import KEY, Server

TOKEN = "session-planted-77c1e0"
SERVED = "served-2026-11-01"
CLAUDE = "us.anthropic.claude-haiku-4-5-20251001-v1"  # as Bedrock names it, but for `:0`


def anthropic(text: str = "", finish: str = "stop", asks: Any = (), **more: Any) -> dict[str, Any]:
    """The body of a message, with the tools that it asks for by name and arguments."""
    reasons = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
        for number, (name, given) in enumerate(asks)
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": SERVED,
        "content": content,
        "stop_reason": reasons.get(finish, finish),
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 5},
        **more,
    }


def google(text: str = "", finish: str = "stop", asks: Any = (), **more: Any) -> dict[str, Any]:
    """The body of a response with one candidate."""
    reasons = {"tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
    parts: list[dict[str, Any]] = [{"text": text}] if text else []
    parts += [{"functionCall": {"name": name, "args": given}} for name, given in asks]
    candidate = {
        "content": {"role": "model", "parts": parts},
        "finishReason": reasons.get(finish, finish.upper()),
        "index": 0,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12},
        "modelVersion": SERVED,
        "responseId": "resp_1",
        **more,
    }


def bedrock(text: str = "", finish: str = "stop", asks: Any = (), **more: Any) -> dict[str, Any]:
    """The body of a Converse response."""
    reasons = {
        "stop": "end_turn",
        "length": "max_tokens",
        "tool_calls": "tool_use",
        "content_filter": "guardrail_intervened",
    }
    content: list[dict[str, Any]] = [{"text": text}] if text else []
    content += [
        {"toolUse": {"toolUseId": f"tooluse_{number}", "name": name, "input": given}}
        for number, (name, given) in enumerate(asks)
    ]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": reasons.get(finish, finish),
        "usage": {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12},
        "metrics": {"latencyMs": 3},
        **more,
    }


def _asking(said: Any) -> Any:
    """Return what asks for tools: their arguments are objects on these wires, not texts."""
    return lambda *calls: said(
        finish="tool_calls", asks=[(name, json.loads(given)) for name, given in calls]
    )


def _anthropic_prompt(body: dict[str, Any]) -> list[dict[str, str]]:
    system = [{"role": "system", "content": body["system"]}] if "system" in body else []
    return system + [
        {"role": row["role"], "content": "".join(part["text"] for part in row["content"])}
        for row in body["messages"]
    ]


def _anthropic_schema(body: dict[str, Any]) -> Any:
    return body.get("output_config", {}).get("format", {}).get("schema")


def _anthropic_tools(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**row, "parameters": row["input_schema"]} for row in body.get("tools", ())]


def _google_prompt(body: dict[str, Any]) -> list[dict[str, str]]:
    system = body.get("systemInstruction", {"parts": []})
    rows = [("system", part["text"]) for part in system["parts"]]
    roles = {"user": "user", "model": "assistant"}
    rows += [(roles[row["role"]], row["parts"][0]["text"]) for row in body["contents"]]
    return [{"role": role, "content": text} for role, text in rows]


def _google_schema(body: dict[str, Any]) -> Any:
    return body["generationConfig"].get("responseJsonSchema")


def _google_tools(body: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [row for group in body.get("tools", ()) for row in group["functionDeclarations"]]
    return [{**row, "parameters": row["parameters_json_schema"]} for row in rows]


def _bedrock_prompt(body: dict[str, Any]) -> list[dict[str, str]]:
    return [{"role": "system", "content": row["text"]} for row in body["system"]] + [
        {"role": row["role"], "content": "".join(part.get("text", "") for part in row["content"])}
        for row in body["messages"]
    ]


def _bedrock_schema(body: dict[str, Any]) -> Any:
    wanted = body.get("outputConfig", {}).get("textFormat", {}).get("structure")
    return json.loads(wanted["jsonSchema"]["schema"]) if wanted else None


def _bedrock_tools(body: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [row["toolSpec"] for row in body.get("toolConfig", {}).get("tools", ())]
    return [{**row, "parameters": row["inputSchema"]["json"]} for row in rows]


def _aws(server: Server) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.root,
        "AWS_ACCESS_KEY_ID": "AKIAPLANTED",
        "AWS_SECRET_ACCESS_KEY": KEY,
        "AWS_SESSION_TOKEN": TOKEN,
        "AWS_REGION": "eu-central-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "5",  # which anybody may have set, and no attempt of ours follows
    }


ANTHROPIC = Shape(
    model="anthropic:claude-haiku-4-5",
    path="/v1/messages",
    variables=lambda server: {"ANTHROPIC_BASE_URL": server.root, "ANTHROPIC_API_KEY": KEY},
    said=anthropic,
    asking=_asking(anthropic),
    nothing={"type": "message"},
    prompt=_anthropic_prompt,
    schema=_anthropic_schema,
    tools=_anthropic_tools,
    request_id="request-id",
    wrapped=True,
    ends=("stop", "length", "refusal"),
)
GOOGLE = Shape(
    model="google:gemini-2.5-flash",
    path="/v1beta/models/gemini-2.5-flash:generateContent",
    variables=lambda server: {"GOOGLE_BASE_URL": server.root, "GOOGLE_API_KEY": KEY},
    said=google,
    asking=_asking(google),
    nothing={"candidates": []},
    prompt=_google_prompt,
    schema=_google_schema,
    tools=_google_tools,
    ends=("stop", "length", "content_filter"),
)
VERTEX = replace(
    GOOGLE,
    model="vertex:gemini-2.5-flash",
    path="/v1beta1/publishers/google/models/gemini-2.5-flash:generateContent",
    variables=lambda server: {
        "GOOGLE_VERTEX_BASE_URL": server.root,
        "GOOGLE_API_KEY": KEY,
        "GOOGLE_CLOUD_PROJECT": "",
    },
)
BEDROCK = Shape(
    model=f"bedrock:{CLAUDE}:0",
    path=f"/model/{CLAUDE}%3A0/converse",
    variables=_aws,
    said=bedrock,
    asking=_asking(bedrock),
    nothing={"output": {}},
    prompt=_bedrock_prompt,
    schema=_bedrock_schema,
    tools=_bedrock_tools,
    request_id="x-amzn-requestid",
    wrapped=True,
)
BLOCKS = {"anthropic": ANTHROPIC, "google": GOOGLE, "vertex": VERTEX, "bedrock": BEDROCK}
SHAPES = {**dialects.SHAPES, **BLOCKS}
