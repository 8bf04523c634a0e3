"""Models behind HTTP, through pydantic-ai: what is common to all dialects.

pydantic-ai maps messages, schema and settings to a provider's dialect, and
hides what happens on the wire: it drops or rewrites what it knows better, and
keeps neither the reply as it came nor the headers. So a recording client
beneath it keeps the one request and the one response of each attempt (an
`Exchange`), and everything the record says is read from those:

- `sent_as_rendered` says that the body sent is, value for value, the one that
  was rendered: no message, schema, tool or parameter more, less or other;
- the reply, the tools it asks for, the model served, the ids, the fingerprint
  and the tokens are those of the response's body;
- an error is told by the status or by what broke, never by a client's text,
  which may quote keys and addresses.

Nothing is retried or redirected: a second request within one attempt is refused.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from pydantic_ai import messages as parts
from pydantic_ai.direct import model_request
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from hansard.rules.fields import CallError, Parameters, Structured
from hansard.rules.prompts import Message
from hansard.rules.replies import Schema
from hansard.rules.spec_parts import PriceSpec
from hansard.runtime.models.base import (
    MAX_PROMPT,
    Closing,
    Completion,
    ModelError,
    Request,
    Wire,
    looked,
)
from hansard.runtime.models.bodies import Held
from hansard.runtime.models.envelope import envelope, refers
from hansard.runtime.models.form import ASKED, Form, as_asked, name_for
from hansard.runtime.models.reading import status_error, wait_of, words

MAX_NAME = 1_000  # characters of a model or an id, in a server's words: views repeat it
MAX_VALUES = 20_000  # in a response: a vendor's library makes objects of thousands of bytes of them
_REQUEST_IDS = (
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "mistral-correlation-id",
)


@dataclass
class Exchange:
    """What one attempt put on the wire, and what came back.

    `as_rendered` says, once it was compared, whether `sent` is what was rendered.
    `headers` have names in lower case; only what is asked of them by name is
    ever kept. `key_sent_back` says that the body holds the key that was sent,
    which must reach no record; `says_key` finds it in a text, also in JSON that is yet to be
    read. `broken` is what kept the whole response from coming: a class of
    error, and the name of what broke. `held` is the room that the response takes.
    """

    sent: bytes | None = None
    as_rendered: bool | None = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    key_sent_back: bool = False
    says_key: Callable[[str], object] = field(default=lambda _: None, repr=False)
    broken: tuple[CallError, str] | None = None
    held: Held = field(default_factory=Held)

    def begin(self, body: bytes) -> None:
        """Keep the body of the attempt's request; raises RuntimeError for a second one."""
        if self.sent is not None:
            raise RuntimeError("an attempt is one request")
        self.sent = body


EXCHANGE: ContextVar[Exchange] = ContextVar("exchange")  # that of the running attempt


class WireModel(ABC):
    """A model of one provider; `aclose` lets go of its connections.

    A dialect gives the library's model (under a profile that sends everything
    as it is given, with a client that records, without retries), and the methods below.
    """

    best: Structured = "native"  # how JSON is asked for where a seat leaves it open

    def __init__(self, name: str, model: Model, client: Closing, *, enveloped: bool) -> None:
        self.price: PriceSpec | None = None
        self.name = name
        self._model = model
        self._client = client
        self._enveloped = enveloped

    @abstractmethod
    def rendered(self, request: Request, form: Form) -> dict[str, Any]:
        """Return the body that says what was rendered and asked for, and nothing else."""

    @abstractmethod
    def read(self, body: Mapping[str, Any]) -> Completion:
        """Return what a response's body says: all but what only the exchange knows.

        Tools are those asked for, a tool that takes the reply among them. Raises ModelError
        for an error it tells of; LookupError, TypeError, AttributeError or ValueError for a
        body that is none.
        """

    def messages(self, request: Request) -> list[parts.ModelMessage]:
        """Return the prompt in the library's words."""
        return [mapped(message) for message in request.messages]

    def settings(self, asked: Parameters) -> ModelSettings:
        """Return what was asked for in the library's words, without what was not."""
        settings = ModelSettings()
        if asked["temperature"] is not None:
            settings["temperature"] = float(asked["temperature"])
        if asked["top_p"] is not None:
            settings["top_p"] = float(asked["top_p"])
        if asked["seed"] is not None:
            settings["seed"] = asked["seed"]
        if asked["max_tokens"] is not None:
            settings["max_tokens"] = asked["max_tokens"]
        return settings

    def strict(self, schema: Schema) -> bool:  # noqa: ARG002 - most servers know one way only
        """Say whether the server can be asked to hold the model to `schema` strictly."""
        return False

    async def complete(self, request: Request) -> Completion:
        """Ask once; raises ModelError for whatever is not a completion."""
        exchange = Exchange()
        try:
            return await self._complete(request, exchange)
        finally:
            wire = looked(request.watch)
            request.watch.look = lambda: wire  # and no longer at all that was sent
            exchange.held.release()

    async def _complete(self, request: Request, exchange: Exchange) -> Completion:
        pieces = (piece for message in request.messages for piece in message.pieces)
        if sum(len(piece.encode(errors="surrogatepass")) for piece in pieces) > MAX_PROMPT:
            raise ModelError("client_error", "prompt-too-long")
        token = EXCHANGE.set(exchange)
        trouble = ""
        form = self.form(request)
        request.watch.look = lambda: self._seen(exchange, request, form)
        try:
            await model_request(
                self._model,
                self.messages(request),
                model_settings=self.settings(request.parameters),
                model_request_parameters=_wanted(request, form),
                instrument=False,
            )
        except Exception as error:  # noqa: BLE001 - the exchange says what happened, and says it better
            trouble = type(error).__name__
            _let_go(error)
        except asyncio.CancelledError as error:  # given up, such as when its time is up
            _let_go(error)
            raise
        finally:
            EXCHANGE.reset(token)
        if exchange.sent is None:  # the client never came to send it
            raise ModelError("client_error", trouble)
        return self._settle(exchange, self._seen(exchange, request, form), form)

    async def aclose(self) -> None:
        """Close all connections; the model can no longer be asked."""
        await self._client.aclose()

    def form(self, request: Request) -> Form:
        """Return how to ask for the reply: as the seat wants it, else in the best way there is."""
        mode = request.parameters["structured"] or self.best
        if request.in_words or mode == "text":
            return Form("text")
        name = name_for(request)
        own = request.reply_schema
        strict = self.strict(own)
        if refers(own):
            return Form(mode, own, name, strict)
        schemas = self._together(request, strict=strict) if self._enveloped else [own]
        # The arguments of a tool are an object, and so is what the vendors' schema modes take.
        fits = own.get("type") == "object" or not (self._enveloped or mode == "tool")
        wrapped = len(schemas) > 1 or not fits
        return Form(mode, envelope(schemas) if wrapped else own, name, strict, wrapped)

    def _together(self, request: Request, *, strict: bool) -> list[Schema]:
        """Return the schemas that share an envelope, this call's among them.

        One that cannot be strict would take the others' strictness from them.
        """
        rows: list[Schema] = []
        for schema in (*request.schemas, request.reply_schema):
            if schema not in rows and not refers(schema) and self.strict(schema) == strict:
                rows.append(schema)
        return rows

    def _seen(self, exchange: Exchange, request: Request, form: Form) -> Wire:
        """Return what has been seen on the wire by now, also of a call that is still in flight."""
        if exchange.sent is None:
            return Wire()
        if exchange.as_rendered is None:
            body = _exact(self.rendered(request, form))
            exchange.as_rendered = loads(exchange.sent) == body
        found = (words(exchange.headers.get(name)) for name in _REQUEST_IDS)
        return Wire(
            status=exchange.status,
            request_id=next((name for name in found if name and len(name) <= MAX_NAME), None),
            sent_as_rendered=exchange.as_rendered,
            sent=None if exchange.as_rendered else exchange.sent.decode(errors="replace"),
        )

    def _settle(self, exchange: Exchange, wire: Wire, form: Form) -> Completion:
        """Return what the exchange holds, or raise the ModelError that it was."""
        if exchange.broken or exchange.status is None:
            kind, detail = exchange.broken or ("crashed", "no-response")
            raise ModelError(kind, detail, wire=wire)
        if not 200 <= exchange.status < 300:
            wait = wait_of(exchange.headers)
            raise status_error(exchange.status, retry_after=wait, wire=wire)
        try:
            said = as_asked(self.read(_object(exchange.body)), form)
            _check_names(said)
            _check_key(exchange, said)
            return replace(said, **vars(wire))
        except ModelError as error:
            raise ModelError(error.kind, error.detail, wire=wire) from None
        except (LookupError, TypeError, AttributeError, ValueError):
            # Not what the dialect says; or what no text holds, or too much of something.
            raise ModelError("server_error", "malformed", wire=wire) from None


def _let_go(error: BaseException | None) -> None:
    """Forget where an error came through.

    Libraries that try again keep the error of a try in its own frames, so that the prompt would
    stay in memory until garbage is collected.
    """
    while error and error.__traceback__:
        error.__traceback__ = None
        error = error.__context__


def _check_key(exchange: Exchange, said: Completion) -> None:
    """Raise ModelError for a reply that comes with the key that was sent.

    A body may spell it in escapes, or in parts that are put together: what is kept is looked at.
    """
    names = (said.text, said.model, said.response_id, said.fingerprint)
    kept = [*filter(None, names), *(part for row in said.tool_calls for part in vars(row).values())]
    if exchange.key_sent_back or any(map(exchange.says_key, kept)):
        raise ModelError("server_error", "key-sent-back")


def _check_names(said: Completion) -> None:
    """Raise ValueError for a long name: a dozen replies would make a record that nobody reads."""
    names = (said.model, said.response_id, said.fingerprint)
    if any(len(name) > MAX_NAME for name in names if name is not None):
        raise ValueError(f"the name of a model and an id have at most {MAX_NAME} characters")


def mapped(message: Message) -> parts.ModelMessage:
    """Return one message in the library's words."""
    if message.role == "assistant":
        return parts.ModelResponse(parts=[parts.TextPart(message.text)])
    kind = parts.SystemPromptPart if message.role == "system" else parts.UserPromptPart
    return parts.ModelRequest(parts=[kind(message.text)])


def given(**values: Any) -> dict[str, Any]:
    """Return the members that were asked for: those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def decimal(text: str | None) -> Decimal | None:
    """Return a setting's number exactly as it was written."""
    return None if text is None else Decimal(text)


def loads(data: bytes) -> Any:
    """Return the JSON value of a body, decimals exact; None for what is no JSON."""
    try:
        return json.loads(
            data, parse_float=Decimal, parse_constant=_refused, object_pairs_hook=_once
        )
    except (ValueError, ArithmeticError, RecursionError):
        return None


def _refused(constant: str) -> None:
    raise ValueError(constant)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's members; raises ValueError for a key that stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _exact(value: Any) -> Any:
    """Return a value as `loads` gives it: the floats of a schema as decimals."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {key: _exact(row) for key, row in value.items()}
    return [_exact(row) for row in value] if isinstance(value, (list, tuple)) else value


def _object(data: bytes) -> dict[str, Any]:
    body = loads(data)
    if not isinstance(body, dict):
        raise TypeError("no object")
    return body


def _wanted(request: Request, form: Form) -> ModelRequestParameters:
    """Return form and tools in the library's words; text is allowed, or tools would be forced."""
    tools = [
        ToolDefinition(
            name=row.name, description=row.description, parameters_json_schema=row.parameters
        )
        for row in request.tools
    ]
    if form.mode == "text":
        return ModelRequestParameters(function_tools=tools)
    if form.mode == "native":
        wanted = OutputObjectDefinition(json_schema=form.schema, name=form.name, strict=form.strict)
        return ModelRequestParameters(
            function_tools=tools, output_mode="native", output_object=wanted
        )
    reply = ToolDefinition(
        name=form.name,
        description=ASKED,
        parameters_json_schema=form.schema,
        strict=form.strict,
        kind="output",
    )
    return ModelRequestParameters(
        function_tools=tools, output_mode="tool", output_tools=[reply], allow_text_output=False
    )
