"""The seam to a model: a request in, a completion or a ModelError out.

The engine sees nothing else. A model never retries by itself: each attempt is
an event of the record, and the engine makes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import isnan
from typing import Any, Protocol, TypeVar, get_args, runtime_checkable

from hansard.errors import HansardError
from hansard.record.canonical import TEXT
from hansard.rules.fields import UNTRIED, CallError, Finish, Parameters
from hansard.rules.prompts import Message, quote
from hansard.rules.replies import Schema
from hansard.rules.spec_parts import PriceSpec
from hansard.rules.terms import Role
from hansard.runtime.models.seen import Document, Said, Seen, Stance
from hansard.runtime.notation import crowd
from hansard.verify.checks import MAX_REPLY

R = TypeVar("R")
MAX_TEXT = 16_000_000  # characters, of what is no reply: a store keeps a text in one value
MAX_PROMPT = 16 << 20  # bytes, of one that is sent over a wire: no model reads as much
MAX_TOOL_CALLS = 100  # in one reply
MOST_QUOTED = 2 * MAX_REPLY  # bytes: a control character has eight where it is spelled out
# In what one reply asks of its tools: all are used at once, and of each value that does not fit
# its tool, a parser makes an error or several, of hundreds of bytes.
MAX_ARGUMENTS = 20_000
LONGEST_WAIT = 3600.0  # seconds: no server's word holds a debate up for longer
MAX_TOKENS = 10**9  # of one call: its cost at any price then fits an integer of the record


@dataclass(frozen=True)
class ToolDefinition:
    """A tool that a model may ask for: `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Schema


@dataclass(frozen=True)
class ToolCall:
    """What a model asked of a tool: its `name` and its `arguments`, in the words it used."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Completion:
    """What came back: the exact `text` of the reply, and what is known about it.

    `finish` says how it ended: `stop` in full, `length` cut off, or in another way. Counts are
    of tokens: `tokens_out` written, and `tokens_in` read, which includes what was read from a
    cache (`tokens_cached`) and written to one (`tokens_cache_write`). None is unknown, as of
    `model`, which the provider says has served it, and of the provider's ids (`response_id`,
    `request_id`, `fingerprint`). `status` is HTTP's. `sent_as_rendered` is None where nothing
    went over a wire; where it is False, `sent` is the body that was sent. These three are
    recorded of a provider's models alone. A reply with `tool_calls` is no turn: the tools are
    run, and the model is asked again with what they gave.

    Raises TypeError or ValueError for what no record can hold, such as a reply of more than
    1 MiB, what it asks of its tools included.
    """

    text: str
    model: str | None = None
    finish: Finish = "stop"
    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_cache_write: int | None = None
    tokens_out: int | None = None
    status: int | None = None
    response_id: str | None = None
    request_id: str | None = None
    fingerprint: str | None = None
    sent_as_rendered: bool | None = None
    sent: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no record can hold, while it is still the model's mistake."""
        names = (self.model, self.response_id, self.request_id, self.fingerprint)
        asked = [text for row in self.tool_calls for text in (row.name, row.arguments)]
        known = [text for text in (self.sent, *names) if text is not None]
        for text in (self.text, *known, *asked):
            _check_text(text)
        _check_reply(self.text)
        if not (self.sent_as_rendered is None or isinstance(self.sent_as_rendered, bool)):
            raise TypeError("sent_as_rendered is true, false or unknown")
        if (self.sent_as_rendered is False) != (self.sent is not None):
            raise ValueError("sent is what was sent where it differs from what was rendered")
        # As many replies as are in flight may all ask for as much: a record has room for them.
        if sum(len(text.encode()) for text in (self.text, *asked)) > MAX_REPLY:
            raise ValueError(f"a reply has at most {MAX_REPLY} bytes, with what it asks of tools")
        if len(self.tool_calls) > MAX_TOOL_CALLS:
            raise ValueError(f"a reply asks for at most {MAX_TOOL_CALLS} tools")
        given = sum(crowd(row.arguments.encode(), MAX_ARGUMENTS) for row in self.tool_calls)
        if given > MAX_ARGUMENTS:
            raise ValueError(f"a reply gives its tools at most {MAX_ARGUMENTS} values")
        if type(self.finish) is not str or self.finish not in get_args(Finish):
            raise ValueError(f"finish must be one of {get_args(Finish)}")
        counts = (self.tokens_in, self.tokens_cached, self.tokens_cache_write, self.tokens_out)
        for count in (*counts, self.status):
            if count is not None and not (type(count) is int and 0 <= count <= MAX_TOKENS):
                raise ValueError(f"a token count is a whole number up to {MAX_TOKENS}")


def _check_reply(text: str) -> None:
    if len(text.encode()) > MAX_REPLY:  # a verifier reads no longer one
        raise ValueError(f"a reply has at most {MAX_REPLY} bytes")
    if len(quote(text).encode()) > MOST_QUOTED:
        raise ValueError(f"a reply has at most {MOST_QUOTED} bytes as prompts show it")


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise TypeError("what a model says about its reply is text")
    if len(text) > MAX_TEXT:
        raise ValueError(f"a text has at most {MAX_TEXT} characters")
    text.encode()


@dataclass(frozen=True)
class Wire:
    """What is known of an attempt on the wire; as in Completion."""

    status: int | None = None
    request_id: str | None = None
    sent_as_rendered: bool | None = None
    sent: str | None = None

    def __post_init__(self) -> None:
        """Refuse what no record can hold."""
        Completion("", **vars(self))


@dataclass
class Watch:
    """What was seen on the wire of a call that is given up before it ends: `look` says it."""

    look: Callable[[], Wire] = Wire


@dataclass(frozen=True)
class Request:
    """What one call asks of a model.

    Everything the seat may see is here twice: by name (`question`, `stance`, `transcript`, …),
    for a function that makes its own of it, and as the prompt that was rendered from it
    (`messages`, `prompt`). Both are made when they are first read, of `seen` and by `render`;
    who does not read them pays nothing for a long transcript. The reply is JSON that fits
    `reply_schema`, or where it is `in_words` a text as it stands.

    `call` is r<round>.<phase>.<speaker>:<attempt>; a `round` counts from 1, and 0 is that of a
    panel's first drafts. `phase` is what is done in it, `speaker` the id of the seat, `role` and
    `agent_type` what it is. `model` and `parameters` are what the seat asks for, as recorded;
    `tools` are those that the reply may ask for, and `collection_id` groups debates. `schemas`
    are those of all roles that the same model answers in JSON, this one's among them: where a
    wire counts the schema into the cached prefix, it asks for one envelope of them, so that all
    these calls share the prefix. A model that asks over a wire lets `watch` say what it has
    seen there.
    """

    call: str
    round: int
    phase: str
    speaker: str
    role: Role
    agent_type: str
    collection_id: str | None
    model: str
    parameters: Parameters
    reply_schema: Schema
    schemas: tuple[Schema, ...]
    tools: tuple[ToolDefinition, ...]
    render: Callable[[], list[Message]]
    seen: Seen = field(compare=False, repr=False)
    watch: Watch = field(default_factory=Watch, compare=False, repr=False)

    @property
    def in_words(self) -> bool:
        """Whether the reply is plain text; a deliverable is JSON whatever its schema."""
        return self.role != "synthesizer" and self.reply_schema.get("type") == "string"

    @property
    def question(self) -> str:
        """The question that is debated."""
        return self.seen.question

    @property
    def persona(self) -> str | None:
        """The point of view that the seat was given, in words."""
        return self.seen.persona

    @property
    def instructions(self) -> str | None:
        """What the seat is instructed in this round, beside its template."""
        return self.seen.instructions

    @property
    def context(self) -> Any:
        """The background that the seat is told, words or another JSON value; a moderator's None."""
        return self.seen.context

    @property
    def stance(self) -> Stance | None:
        """The stance that the seat argues, if it argues one."""
        return self.seen.stance

    @property
    def stances(self) -> tuple[Stance, ...]:
        """All stances that are argued, in order."""
        return self.seen.stances

    @property
    def options(self) -> tuple[str, ...]:
        """What can be decided for: the options, or the labels of the stances."""
        return self.seen.options

    @property
    def evidence(self) -> tuple[Document, ...]:
        """The documents that are visible by this round."""
        return self.seen.evidence

    @property
    def transcript(self) -> tuple[Said, ...]:
        """What was said so far, in the order and under the titles in which the seat is told it."""
        return self.seen.transcript

    @property
    def decision(self) -> str | None:
        """What was decided, for whoever speaks after it."""
        return self.seen.decision

    @cached_property
    def messages(self) -> list[Message]:
        """The prompt, message by message."""
        return self.render()

    @property
    def prompt(self) -> str:
        """The prompt as one text, for models that know no messages."""
        return "\n".join(message.text for message in self.messages)


class ModelError(Exception):
    """A call that brought no reply. `kind` is one of the record's error classes.

    `detail` is a short name such as an exception's class, never its text:
    error texts of clients quote keys and addresses. What is no id is dropped.
    `retry_after` are the seconds that the server asks to wait at the least.
    """

    def __init__(
        self,
        kind: CallError,
        detail: str | None = None,
        *,
        retry_after: float | None = None,
        wire: Wire | None = None,
    ) -> None:
        if kind not in get_args(CallError) or kind in UNTRIED:
            raise ValueError(f"{kind!r} is not a class of error that a model can report")
        if not isinstance(retry_after, (int, float)) or isnan(retry_after):
            retry_after = None
        else:
            retry_after = min(max(retry_after, 0), LONGEST_WAIT)
        detail = detail if type(detail) is str and TEXT(detail) else None
        super().__init__(kind if detail is None else f"{kind} ({detail})")
        self.kind: CallError = kind
        self.detail = detail
        self.retry_after = retry_after
        self.wire = wire or Wire()

    __reduce__ = HansardError.__reduce__


class Unavailable(ModelError):
    """Raised by your own callable when it cannot answer now, and another try may help.

    The call is tried again like one whose server could not be reached, and the turn is
    forfeited once all tries are used. `message` is for you: it is not recorded.
    """

    def __init__(self, message: str = "", *, retry_after: float | None = None) -> None:
        super().__init__("unreachable", type(self).__name__, retry_after=retry_after)
        self.args = (message,) if message else self.args


@runtime_checkable
class Model(Protocol):
    """Answers calls. `price` is what the model states about itself, if anything."""

    price: PriceSpec | None

    async def complete(self, request: Request) -> Completion:
        """Return the reply to `request`, or raise ModelError."""
        ...


@runtime_checkable
class Closing(Protocol):
    """A model that holds something open, and is told when nobody will ask it again."""

    async def aclose(self) -> None:
        """Let go of it."""
        ...


async def complete(model: Model, request: Request) -> Completion:
    """Ask `model`, holding it to its side of the seam."""
    return await awaited(_complete(model, request))


async def _complete(model: Model, request: Request) -> Completion:
    completion = await model.complete(request)
    if not isinstance(completion, Completion):
        raise TypeError("a model must return a Completion")
    asked = [ToolCall(exact(row.name), exact(row.arguments)) for row in completion.tool_calls]
    return Completion(**{**_members(Completion, completion), "tool_calls": tuple(asked)})


async def awaited(work: Awaitable[R]) -> R:
    """Return what is awaited; what would end the process fails like whatever else it raises."""
    try:
        return await work
    except (Exception, asyncio.CancelledError, GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(type(error).__name__) from error


def stated(error: ModelError) -> ModelError:
    """Return a failure as it can be recorded; raises where one of a class of its own cannot be."""
    kind, wait = exact(error.kind), error.retry_after
    return ModelError(kind, exact(error.detail), retry_after=wait, wire=_wire(error.wire))


def looked(watch: Watch) -> Wire:
    """Return what was seen on the wire: nothing where looking, which may be own code, fails."""
    try:
        return _wire(watch.look())
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the call is over all the same, and is to be recorded
        return Wire()


def _wire(found: Wire) -> Wire:
    return Wire(**_members(Wire, found))


def _members(kind: type[Completion | Wire], found: object) -> dict[str, Any]:
    """Return what an object says of itself once: one of a class of its own may change its mind."""
    return {row.name: exact(getattr(found, row.name)) for row in fields(kind)}


def exact(value: Any) -> Any:
    """Return text as plain text: a kind of `str` may be encoded as other text than it shows."""
    return str.__str__(value) if isinstance(value, str) else value
