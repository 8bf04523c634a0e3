"""Models behind HTTP, through pydantic-ai: any OpenAI-compatible endpoint, as `openai:MODEL`.

pydantic-ai maps messages, schema and settings to the endpoint's dialect, and
hides what happens on the wire: it drops or rewrites what it knows better, and
keeps neither the reply as it came nor the headers. So a recording client
beneath it keeps the one request and the one response of each attempt, and
everything the record says is read from those:

- `sent_as_rendered` says that the body sent is, value for value, the one that
  was rendered: no message, schema, tool or parameter more, less or other;
- the reply, the tools it asks for, the model served, the ids, the fingerprint
  and the tokens are those of the response's body;
- an error is told by the status or by what broke, never by a client's text,
  which may quote keys and addresses.

Nothing is retried or redirected here: a second request within one attempt is
refused. The base URL comes from OPENAI_BASE_URL, the key from OPENAI_API_KEY.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextvars import ContextVar
from decimal import Decimal
from typing import Any

from hansard.debate.fields import Finish, Parameters
from hansard.debate.prompts import Message
from hansard.debate.spec_parts import PriceSpec
from hansard.errors import UsageError
from hansard.runtime.models.base import Completion, ModelError, Request, ToolCall
from hansard.runtime.models.provider import CHAT, cap_name, count, finish_of, status_error, words

try:
    import httpx2
    from openai import AsyncOpenAI
    from pydantic_ai import messages as parts
    from pydantic_ai.direct import model_request
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.profiles import DEFAULT_PROFILE, ModelProfile, merge_profile
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.tools import ToolDefinition
except ImportError as error:
    raise UsageError(
        "model.missing_extra",
        "models named openai:… need a package that is not installed: pip install 'hansard[openai]'",
    ) from error

OPENAI = "https://api.openai.com/v1"
_NO_KEY = "none"  # servers on one's own machine ask for none, and the client insists on one
_SCHEMA_NAME = "reply"


class _Exchange:
    """What one attempt put on the wire, and what came back."""

    def __init__(self) -> None:
        self.sent: bytes | None = None
        self.response: httpx2.Response | None = None
        self.error: Exception | None = None


_EXCHANGE: ContextVar[_Exchange] = ContextVar("exchange")


class _RecordingClient(httpx2.AsyncClient):
    """Keeps request and response in the running attempt's exchange, and sends one a time."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send `request` where it is the attempt's first; headers are never kept."""
        exchange = _EXCHANGE.get()
        if exchange.sent is not None:
            raise RuntimeError("an attempt is one request")
        exchange.sent = request.content
        try:
            response = await super().send(request, **options)
            await response.aread()
        except Exception as error:
            exchange.error = error
            raise
        exchange.response = response
        return response


class OpenAIModel:
    """A model of an OpenAI-compatible endpoint; `aclose` lets go of its connections."""

    def __init__(self, name: str, base_url: str, key: str) -> None:
        self.price: PriceSpec | None = None
        self._name = name
        self._cap = cap_name(base_url)
        # Timeouts are the engine's. Redirects stay off: a prompt goes where the user sent it.
        self._client = _RecordingClient(timeout=None, follow_redirects=False)
        client = AsyncOpenAI(
            api_key=key, base_url=base_url, max_retries=0, timeout=None, http_client=self._client
        )
        self._model = OpenAIChatModel(
            name, provider=OpenAIProvider(openai_client=client), profile=self._profile
        )

    def _profile(self, _default: ModelProfile) -> ModelProfile:
        """Return a profile under which everything is sent as it is given.

        The library's own would, by the model's name, drop temperature and
        top_p, rewrite the schema, and put joiners into the messages.
        """
        return merge_profile(
            DEFAULT_PROFILE,
            OpenAIModelProfile(
                supports_json_schema_output=True,
                openai_chat_supports_max_completion_tokens=self._cap == "max_completion_tokens",
            ),
        )

    async def complete(self, request: Request) -> Completion:
        """Ask once; raises ModelError for whatever is not a completion."""
        exchange = _Exchange()
        token = _EXCHANGE.set(exchange)
        trouble: Exception | None = None
        try:
            await model_request(
                self._model,
                [_mapped(message) for message in request.messages],
                model_settings=_settings(request.parameters),
                model_request_parameters=_wanted(request, self._name),
                instrument=False,
            )
        except Exception as error:  # noqa: BLE001 - the exchange says what happened, and says it better
            trouble = error
        finally:
            _EXCHANGE.reset(token)
        return self._read(request, exchange, trouble)

    async def aclose(self) -> None:
        """Close all connections; the model can no longer be asked."""
        await self._client.aclose()

    def _read(self, request: Request, exchange: _Exchange, trouble: Exception | None) -> Completion:
        """Return what the exchange holds, or raise the ModelError that it was."""
        if exchange.error:
            raise _broken(exchange.error)
        if exchange.response is None or exchange.sent is None:  # the client never came to send it
            raise ModelError("client_error", type(trouble).__name__)
        body = _body(exchange.response)
        as_rendered = _loads(exchange.sent) == self._rendered(request)
        text, finish, tool_calls = _reply(body)
        tokens_in, tokens_cached, tokens_out = _usage(body.get("usage"))
        try:
            return Completion(
                text,
                model=words(body.get("model")),
                finish=finish,
                tokens_in=tokens_in,
                tokens_cached=tokens_cached,
                tokens_out=tokens_out,
                response_id=words(body.get("id")),
                request_id=words(exchange.response.headers.get("x-request-id")),
                fingerprint=words(body.get("system_fingerprint")),
                sent_as_rendered=as_rendered,
                sent=None if as_rendered else exchange.sent.decode(),
                tool_calls=tool_calls,
            )
        except ValueError:  # lone surrogates, which no text has, or too much of something
            raise ModelError("server_error", "malformed") from None

    def _rendered(self, request: Request) -> dict[str, Any]:
        """Return the body that says what was rendered and asked for, and nothing else."""
        asked = request.parameters
        decimals = {"temperature": asked["temperature"], "top_p": asked["top_p"]}
        plain = {
            "seed": asked["seed"],
            self._cap: asked["max_tokens"],
            "reasoning_effort": asked["reasoning_effort"],
        }
        return {
            "model": self._name,
            "stream": False,
            "messages": [{"role": row.role, "content": row.text} for row in request.messages],
            **self._form(request),
            **{key: Decimal(value) for key, value in decimals.items() if value is not None},
            **{key: value for key, value in plain.items() if value is not None},
        }

    def _form(self, request: Request) -> dict[str, Any]:
        """Return what a body says of the reply's form and of the tools, where it says anything."""
        form: dict[str, Any] = {}
        if not request.in_words:
            schema = request.reply_schema
            strict = _is_strict(schema, self._name)
            wanted = {"name": _SCHEMA_NAME, "schema": schema, "strict": strict}
            form["response_format"] = {"type": "json_schema", "json_schema": wanted}
        if request.tools:
            form["tools"] = [{"type": "function", "function": vars(row)} for row in request.tools]
            form["tool_choice"] = "auto"
        return form


def open_model(name: str, environ: Mapping[str, str] = os.environ) -> OpenAIModel:
    """Return the model `name` of the endpoint that the environment names.

    Raises UsageError `model.no_key`, `model.bad_key` or `model.base_url`;
    neither key nor address stands in the sentence.
    """
    base_url = environ.get("OPENAI_BASE_URL", "").strip()
    key = environ.get("OPENAI_API_KEY", "").strip()
    if not key and not base_url:
        raise UsageError(
            "model.no_key",
            f"openai:{name} needs OPENAI_API_KEY, or OPENAI_BASE_URL for a server of yours",
        )
    if not (key.isascii() and key.isprintable()):
        raise UsageError("model.bad_key", "OPENAI_API_KEY holds characters that no key can have")
    if base_url and not _is_address(base_url):
        raise UsageError(
            "model.base_url",
            "OPENAI_BASE_URL is not an http:// or https:// address without a query",
        )
    return OpenAIModel(name, base_url or OPENAI, key or _NO_KEY)


def _is_address(url: str) -> bool:
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        return False
    plain = not parsed.query and not parsed.fragment and (parsed.port or 0) < 1 << 16
    return parsed.scheme in ("http", "https") and bool(parsed.host) and plain


def _mapped(message: Message) -> parts.ModelMessage:
    if message.role == "assistant":
        return parts.ModelResponse(parts=[parts.TextPart(message.text)])
    kind = parts.SystemPromptPart if message.role == "system" else parts.UserPromptPart
    return parts.ModelRequest(parts=[kind(message.text)])


def _settings(asked: Parameters) -> OpenAIChatModelSettings:
    """Return what was asked for in the library's words, without what was not."""
    settings = OpenAIChatModelSettings()
    if asked["temperature"] is not None:
        settings["temperature"] = float(asked["temperature"])
    if asked["top_p"] is not None:
        settings["top_p"] = float(asked["top_p"])
    if asked["seed"] is not None:
        settings["seed"] = asked["seed"]
    if asked["max_tokens"] is not None:
        settings["max_tokens"] = asked["max_tokens"]
    if asked["reasoning_effort"] is not None:
        settings["openai_reasoning_effort"] = asked["reasoning_effort"]  # type: ignore[typeddict-item]
    return settings


def _wanted(request: Request, name: str) -> ModelRequestParameters:
    """Return form and tools in the library's words; text is allowed, or tools would be forced."""
    tools = [
        ToolDefinition(
            name=row.name, description=row.description, parameters_json_schema=row.parameters
        )
        for row in request.tools
    ]
    if request.in_words:
        return ModelRequestParameters(function_tools=tools)
    schema = request.reply_schema
    wanted = OutputObjectDefinition(
        json_schema=schema, name=_SCHEMA_NAME, strict=_is_strict(schema, name)
    )
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=wanted)


def _is_strict(schema: object, name: str) -> bool:
    """Say whether the endpoint can be asked to hold the model to `schema` strictly.

    OpenAI's strict mode wants every object closed and every member required;
    its fine-tuned models (`ft:…`) know no bounds on a string's length.
    """
    if isinstance(schema, list):
        return all(_is_strict(row, name) for row in schema)
    if not isinstance(schema, dict):
        return True
    if name.startswith("ft:") and not {"minLength", "maxLength"}.isdisjoint(schema):
        return False
    if schema.get("type") == "object":
        members = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", [])) != set(members):
            return False
        return all(_is_strict(row, name) for row in members.values())
    return all(_is_strict(row, name) for row in schema.values())


def _broken(error: Exception) -> ModelError:
    """Return the class of what kept a response from coming."""
    name = type(error).__name__
    if isinstance(error, httpx2.TimeoutException):
        return ModelError("timeout", name)
    if isinstance(error, httpx2.DecodingError):
        return ModelError("server_error", "malformed")
    if isinstance(error, (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError)):
        return ModelError("client_error", name)
    if isinstance(error, (httpx2.RequestError, OSError)):
        return ModelError("unreachable", name)
    return ModelError("crashed", name)


def _body(response: httpx2.Response) -> dict[str, Any]:
    """Return the JSON object of a response that succeeded; raises ModelError."""
    if not response.is_success:
        raise status_error(response.status_code)
    body = _loads(response.content)
    if not isinstance(body, dict):
        raise ModelError("server_error", "malformed")
    return body


def _loads(data: bytes) -> Any:
    """Return the JSON value of a body, decimals exact; None for what is no JSON."""
    try:
        return json.loads(data, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError):
        return None


def _reply(body: Mapping[str, Any]) -> tuple[str, Finish, tuple[ToolCall, ...]]:
    """Return text, finish and tools asked for of the first choice; raises ModelError for none.

    A reply that was cut off or filtered asks for no tools: what it says of them is not whole.
    """
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
        reason = choice.get("finish_reason")
        asked = [row["function"] for row in message.get("tool_calls") or ()]
        tools = [(row["name"], row["arguments"]) for row in asked]
    except (LookupError, TypeError, AttributeError):
        raise ModelError("server_error", "malformed") from None
    if words(refusal):
        return refusal, "refusal", ()
    texts = ["" if content is None else content, *(text for row in tools for text in row)]
    if not all(isinstance(text, str) for text in texts):
        raise ModelError("server_error", "malformed")
    finish = finish_of(reason, CHAT)
    calls = tuple(ToolCall(*row) for row in tools)
    return texts[0], finish, calls if finish in ("stop", "tool_calls") else ()


def _usage(usage: object) -> tuple[int | None, int | None, int | None]:
    """Return the tokens in, of these cached, and out; None is what the endpoint did not say."""
    rows = usage if isinstance(usage, dict) else {}
    details = rows.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return count(rows.get("prompt_tokens")), count(cached), count(rows.get("completion_tokens"))
