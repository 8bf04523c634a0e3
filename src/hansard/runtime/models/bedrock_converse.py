"""Amazon Bedrock's Converse: `bedrock:MODEL`, with the credentials of the usual AWS chain.

The vendor's client is a blocking one. It writes, signs and reads in a thread of
its own; what it sends goes through the event loop's recording client, like the
requests of every other dialect, so that a call that nobody waits for any more
ends at once. Of these threads there are 40 at the most.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NoReturn, cast

import boto3  # type: ignore[import-untyped]
import httpx2
from botocore import UNSIGNED  # type: ignore[import-untyped]
from botocore.awsrequest import AWSPreparedRequest  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]
from pydantic_ai import messages as parts
from pydantic_ai.models.bedrock import BedrockConverseModel, BedrockModelSettings
from pydantic_ai.profiles import DEFAULT_PROFILE, ModelProfile, merge_profile
from pydantic_ai.providers.bedrock import BedrockModelProfile, BedrockProvider

from hansard.errors import UsageError
from hansard.rules.fields import Finish, Parameters
from hansard.rules.prompts import Message
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
from hansard.runtime.models.reading import count, finish_of
from hansard.runtime.models.wire import WireModel, decimal, given, mapped

_HOME = re.compile(
    r"https://bedrock-runtime(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-[0-9])\.(?:amazonaws\.com(?:\.cn)?|api\.aws)/?"
).fullmatch
_POINT = {"cachePoint": {"type": "default", "ttl": "5m"}}
_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "tool_use": "tool_calls",
}


class _Flight:
    """What a call has in flight, for as long as somebody waits for it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._sending: Future[NoReturn] | None = None
        self._is_over = False

    def send(self, client: RecordingClient, request: httpx2.Request) -> NoReturn:
        """Send `request` in the event loop, and wait for its end; called from a thread."""
        self._sending = sending = asyncio.run_coroutine_threadsafe(client.send(request), self._loop)
        if self._is_over:
            sending.cancel()
        sending.result()

    def end(self) -> None:
        """Stop whatever is still being sent, and whatever would be; keep nothing of it."""
        self._is_over = True
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None


_FLIGHT: ContextVar[_Flight] = ContextVar("flight")  # that of the running call


class ConverseModel(WireModel):
    """A model behind Converse: JSON is asked for as a tool's arguments where it can be forced."""

    def __init__(self, name: str, server: Server) -> None:
        home = _HOME(server.base_url or "")
        is_foreign = server.plain and not home
        keyed = {"authorization": f"Bearer {server.key}"} if server.key else {}
        client = RecordingClient(keyed if is_foreign else None)
        vendor = _connect(server.base_url, home[1] if home else None, is_foreign=is_foreign)
        vendor.meta.events.register("before-send.bedrock-runtime", self._send)
        known = cast(BedrockModelProfile, BedrockProvider.model_profile(name) or {})
        self._caches = known.get("bedrock_supports_prompt_caching", False)
        self._chooses = known.get("bedrock_supports_tool_choice", False)
        self._is_claude = known.get("bedrock_thinking_variant") == "anthropic"
        model = BedrockConverseModel(
            name, provider=BedrockProvider(bedrock_client=vendor), profile=self._profile
        )
        super().__init__(name, model, client, enveloped=server.enveloped)

    def _profile(self, _default: ModelProfile) -> ModelProfile:
        """Return a profile under which everything is sent as it is given, where the model takes it.

        The library's own would, by the model's name, drop temperature and
        top_p, cap the reply's length, and rewrite the schema.
        """
        return merge_profile(
            DEFAULT_PROFILE,
            BedrockModelProfile(
                supports_json_schema_output=True,
                bedrock_supports_prompt_caching=self._caches,
                bedrock_supports_tool_choice=self._chooses,
            ),
        )

    async def complete(self, request: Request) -> Completion:
        """Ask once; raises ModelError for whatever is not a completion."""
        flight = _Flight()
        token = _FLIGHT.set(flight)
        try:
            return await super().complete(request)
        finally:
            _FLIGHT.reset(token)
            flight.end()

    def _send(self, request: AWSPreparedRequest, **_: Any) -> NoReturn:
        """Send what the vendor's client has signed; it never sees the response."""
        client = cast(RecordingClient, self._client)
        headers = {
            key: value.decode() if isinstance(value, bytes) else value
            for key, value in request.headers.items()
        }
        ready = client.build_request(
            request.method, request.url, headers=headers, content=request.body
        )
        _FLIGHT.get().send(client, ready)

    def strict(self, schema: dict[str, Any]) -> bool:
        """Say whether a grammar leaves the schema its sense."""
        return is_closed(schema)

    def form(self, request: Request) -> Form:
        """Return the form of the reply: a tool where the model can be made to use it, else text."""
        form = super().form(preferring(request, "tool" if self._chooses else "text"))
        schema = narrowed(form.schema) if form.mode == "native" else form.schema
        return replace(form, schema=schema, strict=False)

    def messages(self, request: Request) -> list[parts.ModelMessage]:
        """Return the prompt in the library's words, the user's in blocks."""
        rows = request.messages
        return [mapped_blocks(row) if row.role == "user" else mapped(row) for row in rows]

    def settings(self, asked: Parameters) -> BedrockModelSettings:
        """Return what was asked for in the library's words; there is no seed here."""
        settings = cast(BedrockModelSettings, super().settings({**asked, "seed": None}))
        more = self._more(asked)
        if more:
            settings["bedrock_additional_model_requests_fields"] = more
        return settings

    def _more(self, asked: Parameters) -> dict[str, Any]:
        """Return the fields that Converse hands on to the model as they are."""
        effort = asked["reasoning_effort"]
        if effort is None:
            return {}
        return (
            {"output_config": {"effort": effort}}
            if self._is_claude
            else {"reasoning_effort": effort}
        )

    def rendered(self, request: Request, form: Form) -> dict[str, Any]:
        """Return the body that says what was rendered and asked for, and nothing else."""
        asked = request.parameters
        rows = request.messages
        config = given(
            maxTokens=asked["max_tokens"],
            temperature=decimal(asked["temperature"]),
            topP=decimal(asked["top_p"]),
            seed=asked["seed"],
        )
        return {
            "messages": [self._blocks(row) for row in rows if row.role != "system"],
            "system": [{"text": row.text} for row in rows if row.role == "system"],
            "inferenceConfig": config,
            **self._tools(request, form),
            **given(
                outputConfig=_native(form) if form.mode == "native" else None,
                additionalModelRequestFields=self._more(asked) or None,
            ),
        }

    def _blocks(self, message: Message) -> dict[str, Any]:
        if message.role == "assistant":
            return {"role": "assistant", "content": [{"text": message.text}]}
        content: list[dict[str, Any]] = []
        for block, point in marked(message):
            content += [{"text": block}, _POINT] if point and self._caches else [{"text": block}]
        return {"role": "user", "content": content}

    def _tools(self, request: Request, form: Form) -> dict[str, Any]:
        """Return what a body says of tools: those of the spec, and the one that takes the reply."""
        rows = [(row.name, row.description, row.parameters) for row in request.tools]
        if form.mode == "tool":
            rows.append((form.name, ASKED, form.schema))
        if not rows:
            return {}
        specs = [
            {"name": name, "inputSchema": {"json": schema}, **given(description=about or None)}
            for name, about, schema in rows
        ]
        choice: dict[str, Any] = {"any" if form.mode == "tool" else "auto": {}}
        return {
            "toolConfig": {
                "tools": [{"toolSpec": spec} for spec in specs],
                **({"toolChoice": choice} if self._chooses else {}),
            }
        }

    def read(self, body: Mapping[str, Any]) -> Completion:
        """Return what a response's body says; it names neither the model nor itself."""
        content = body["output"]["message"]["content"]
        usage = members(body.get("usage"))
        read, written = usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens")
        fresh = count(usage.get("inputTokens"))  # neither read from the cache nor written to it
        asked = [row["toolUse"] for row in content if "toolUse" in row]
        return Completion(
            "".join(row["text"] for row in content if "text" in row),
            finish=finish_of(body.get("stopReason"), _FINISHES),
            tokens_in=None if fresh is None else total(fresh, read, written),
            tokens_cached=count(read),
            tokens_cache_write=count(written),
            tokens_out=count(usage.get("outputTokens")),
            tool_calls=tuple(ToolCall(row["name"], as_json(row["input"])) for row in asked),
        )


def open_model(name: str, server: Server) -> ConverseModel:
    """Return the model `name`; UsageError `model.no_region`, `model.no_key` or `model.aws`."""
    try:
        return ConverseModel(name, server)
    except UsageError:
        raise
    except (BotoCoreError, ValueError) as error:  # its text quotes what it could not use
        raise UsageError(
            "model.aws",
            f"bedrock:… cannot be asked ({type(error).__name__}): check the variables AWS_… and "
            "the files of AWS",
        ) from None


def _connect(base_url: str | None, region: str | None, *, is_foreign: bool) -> Any:
    """Return the vendor's client, without retries; a foreign server gets no signature."""
    session = boto3.Session()
    region = region or os.environ.get("AWS_REGION") or session.region_name
    if is_foreign:
        region = region or "us-east-1"  # which the client insists on, and nobody reads
    else:
        needs = [] if region else ["a region: set AWS_REGION"]
        if not os.environ.get("AWS_BEARER_TOKEN_BEDROCK") and session.get_credentials() is None:
            needs.append("AWS credentials: AWS_PROFILE, AWS_ACCESS_KEY_ID or another way of AWS")
        if needs:
            code = "model.no_key" if region else "model.no_region"
            raise UsageError(code, f"bedrock:… needs {' and '.join(needs)}")
    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        signature_version=UNSIGNED if is_foreign else None,
    )
    return session.client(
        "bedrock-runtime", region_name=region, endpoint_url=base_url, config=config
    )


def _native(form: Form) -> dict[str, Any]:
    schema = {"name": form.name, "schema": as_json(form.schema)}
    return {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}
