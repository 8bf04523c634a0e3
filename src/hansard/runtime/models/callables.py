"""Python callables as models: anything that turns a request into text can sit in a seat."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import traceback
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import partial
from typing import Any, Literal, TypeVar, cast
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from hansard.errors import UsageError
from hansard.rules.own import Own, name_of
from hansard.rules.spec_parts import PriceSpec, Settings
from hansard.rules.transcript import CUSTOM
from hansard.runtime.models.base import Completion, Model, Request, awaited, exact
from hansard.verify.checks import MAX_REPLY

# Takes the Request, or where its parameter is annotated `str` the prompt as one text, or what its
# parameters name of the Request.
ModelFunction = Callable[..., Any]
REPLIES = "text, a mapping, a dataclass, a pydantic model or a Completion"
BY_NAME = (
    "question", "round", "phase", "speaker", "role", "stance", "stances", "persona", "context",
    "instructions", "options", "evidence", "transcript", "decision", "reply_schema", "messages",
    "prompt",
)  # fmt: skip
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
S = TypeVar("S", bound=BaseModel)
T = TypeVar("T")
_TURNS = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()


@contextmanager
def looked_at(model: str) -> Iterator[None]:
    """Say in a UsageError `model.own` that what sits in a seat raised while it was looked at.

    Its price, settings and signature may be code of the caller's, which raises anything; and
    what ends a process must not end one that has decided nothing.
    """
    try:
        yield
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise UsageError(
            "model.own",
            f"{model} cannot sit in a seat: what it says of itself raised {type(error).__name__} "
            f"({frame.filename}, line {frame.lineno}); nothing was asked",
        ) from error


def says(model: object, member: str, kind: type[S], name: str) -> S | None:
    """Return what the model of that name says of itself; UsageError `model.own` where it raises."""
    with looked_at(name):
        return _stated(model, member, kind)


def _stated(model: object, member: str, kind: type[S]) -> S | None:
    """Return what a model says of itself; None where that is nothing of this kind.

    It is read anew: one of a class below that kind may have fields that no record knows, and
    one that was made without validation any value.
    """
    found = getattr(model, member, None)
    if not isinstance(found, kind):
        return None
    try:
        return kind.model_validate(found.model_dump(warnings=False))
    except ValidationError as error:
        wrong = ", ".join(sorted({str(row["loc"][0]) for row in error.errors()}))
        raise UsageError(
            "model.own",
            f"no record can hold what a {type(model).__name__} states as its `{member}` ({wrong}); "
            f"make it with {kind.__name__}(…)",
        ) from None


def no_reply(request: Request, reply: object, wanted: str) -> TypeError:
    """Return the error of a reply that cannot be one; it names its seat and the reply's type."""
    who, kind = f"{request.speaker} ({request.model})", type(reply).__name__
    said = f"{who} returned a reply of type {kind}; return {wanted}"
    error = TypeError(said)
    error.names_its_seat = said  # type: ignore[attr-defined]
    return error


def _no_record_holds(request: Request, text: str, error: ValueError) -> ValueError:
    """Return the error of a text that is too long for a record, or is not Unicode, with words."""
    what, wanted = f"of more than {MAX_REPLY:,} bytes", "a shorter one"
    if isinstance(error, UnicodeError):
        what, wanted = "that is not Unicode", "text that UTF-8 can write"
    elif len(text.encode()) <= MAX_REPLY:
        what, wanted = "of too many control characters", "one without them"
    who = f"{request.speaker} ({request.model})"
    error.names_its_seat = f"{who} returned a reply {what}; return {wanted}"  # type: ignore[attr-defined]
    return error


class CallableModel:
    """A sync or async function of a Request, of its prompt, or of what its parameters name of it.

    With one argument it is given the Request, or the prompt where that is annotated `str`. With
    several whose names are all members of the Request (`BY_NAME`) it is given these, by name:
    `def turn(question, speaker, round)`.

    It returns the reply's text, a mapping, dataclass or pydantic model (written as JSON), or
    a Completion to state tokens as well. A sync function runs in a thread of its own, so
    one that hangs holds up neither the debate nor the end of the process. `settings` are those
    that the function states of itself, if it has any: they are recorded. Raises UsageError
    `model.signature` for a function that cannot be called so.
    """

    def __init__(self, function: ModelFunction, price: PriceSpec | None = None) -> None:
        self.price = price
        self.settings = _stated(function, "settings", Settings) or Settings()
        self._function = function
        self._names = _wanted(function)
        self._warned = False
        call = getattr(function, "__call__", function)  # noqa: B004 - its async-ness, not whether
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

    async def complete(self, request: Request) -> Completion:
        """Call the function; whatever it raises is the engine's to record."""
        call = self._call(request)
        if self._is_async:
            reply = await awaited(cast(Awaitable[object], call()))
        else:
            reply = await outcome(call)
        if isinstance(reply, Completion):
            return reply
        text = self._words(reply, request) if request.in_words else _json(reply, request)
        try:
            return Completion(exact(text))
        except ValueError as error:  # the function did not raise it
            raise _no_record_holds(request, text, error) from None

    def _call(self, request: Request) -> Callable[[], object]:
        """Return the call of the function, with what it is given."""
        if isinstance(self._names, str):
            return partial(self._function, getattr(request, self._names))
        if self._names:
            given = {name: getattr(request, name) for name in self._names}
            return partial(self._function, **given)
        return partial(self._function, request)

    def _words(self, reply: object, request: Request) -> str:
        """Return the words of a reply: text or `{text}`, or of a custom seat another value.

        No reply, bytes and exceptions are no words of anybody's: TypeError.
        """
        plain = _plain(reply, request)
        if isinstance(plain, Mapping) and isinstance(plain.get("text"), str):
            return str(plain["text"])
        if isinstance(reply, str):
            return reply
        nothing = reply is None or isinstance(reply, (BaseException, bytes))
        if nothing or not request.model.startswith(CUSTOM):
            raise no_reply(request, reply, "words, as text or as {text}")
        if not self._warned:
            self._warned = True
            kind = type(reply).__name__
            warnings.warn(
                f"{request.model} returned a {kind}, neither text nor {{text}}; str() made it text",
                stacklevel=2,
            )
        return str(plain)


def _wanted(function: ModelFunction) -> tuple[str, ...] | Literal["prompt"]:
    """Return what a function is given by name, nothing for the Request, or the prompt alone.

    Raises UsageError for a wrong signature.
    """
    try:
        signature = inspect.signature(function, eval_str=True)
    except (TypeError, ValueError):  # some functions written in C tell nothing of themselves
        return ()
    except Exception:  # noqa: BLE001 - an annotation that only a type checker can read
        signature = inspect.signature(function)
    preset = function.keywords if isinstance(function, partial) else {}
    asked = {name: row for name, row in signature.parameters.items() if name not in preset}
    names = tuple(asked)
    is_known = {*names} <= {*BY_NAME} and all(row.kind in _NAMED for row in asked.values())
    if is_known and len(names) > 1:
        return names
    try:
        first = next(iter(signature.bind(None).arguments), None)
    except TypeError as error:
        if is_known and names:
            return names
        raise UsageError(
            "model.signature",
            f"{name_of(function)}{signature} cannot sit in a seat ({error}): it is called with one "
            "argument, the Request, or the prompt where that is annotated `str`; or by name with "
            f"several of {', '.join(BY_NAME)}",
        ) from None
    annotation = signature.parameters[first].annotation if first else None
    return "prompt" if annotation is str or annotation == "str" else ()


def _plain(reply: object, request: Request) -> object:
    """Return a dataclass or a pydantic model as the mapping that it stands for."""
    is_data = is_dataclass(reply) and not isinstance(reply, type)
    if not (is_data or isinstance(reply, (BaseModel, Mapping))):
        return reply
    try:
        value = dict(reply) if isinstance(reply, Mapping) else reply
        return to_jsonable_python(value, inf_nan_mode="constants")
    except ValueError as error:  # also of what holds itself, or is nested too deep
        raise no_reply(request, reply, f"what JSON knows, {REPLIES} ({error})") from None


def _json(reply: object, request: Request) -> str:
    """Return the text of a reply that is to be JSON; raises TypeError for what is no reply."""
    plain = _plain(reply, request)
    if isinstance(plain, str):
        return plain
    if isinstance(plain, dict):
        return json.dumps(plain, ensure_ascii=False)
    raise no_reply(request, reply, REPLIES)


async def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function gives, called in a thread; what it leaves to await is awaited here."""
    value = await in_thread(function, *arguments)
    return await awaited(value) if inspect.isawaitable(value) else value


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a sync function gives, called in a thread that holds nothing up."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(error: BaseException | None, value: object) -> None:
        if future.done():
            return
        if error:
            future.set_exception(error)
        else:
            future.set_result(value)

    def work() -> None:
        error: BaseException | None = None
        value: object = None
        try:
            value = function(*arguments)
        except BaseException as raised:  # noqa: BLE001 - carried over to the caller
            error = raised
            if _unfit(raised):
                error = RuntimeError(type(raised).__name__)
                error.__cause__ = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, error, value)

    threading.Thread(target=work, daemon=True, name="hansard callable").start()
    return await future


async def in_turn(function: Callable[..., T], *arguments: Any) -> T:
    """Return what a long function of our own gives, as `in_thread` does, one after the other.

    Two at once would take twice the memory, and no less time.
    """
    turns = _TURNS.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    async with turns:
        return cast(T, await in_thread(function, *arguments))


def _unfit(error: BaseException) -> bool:
    """Some exceptions steer a loop or a process and must not be set on a future."""
    return isinstance(error, StopIteration) or not isinstance(error, Exception)


def as_model(model: Model | Own) -> Model:
    """Return `model` itself, or a function or what answers calls as a model.

    Raises UsageError `model.not_callable`.
    """
    answers = getattr(model, "complete", None)
    if isinstance(model, Model) and inspect.iscoroutinefunction(answers):
        return model
    if callable(answers) and not isinstance(model, type):
        return CallableModel(answers, _stated(model, "price", PriceSpec))
    if not callable(model):
        kind = type(model).__name__
        raise UsageError("model.not_callable", f"a model is a function or a Model, not a {kind}")
    return CallableModel(model)
