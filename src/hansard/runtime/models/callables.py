"""Python callables as models: anything that turns a request into text can sit in a seat."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from hansard.errors import UsageError
from hansard.rules.spec_parts import PriceSpec
from hansard.rules.transcript import CUSTOM
from hansard.runtime.models.base import Completion, Model, Request

Reply = str | Mapping[str, Any] | Completion
ModelFunction = Callable[[Request], Reply | Awaitable[Reply]]


class CallableModel:
    """A sync or async function of a Request.

    It returns the reply's text, a mapping (written as JSON), or a Completion
    to state tokens as well. A sync function runs in a thread of its own, so
    one that hangs holds up neither the debate nor the end of the process.
    """

    def __init__(self, function: ModelFunction, price: PriceSpec | None = None) -> None:
        self.price = price
        self._function = function
        self._warned = False
        call = getattr(function, "__call__", function)  # noqa: B004 - its async-ness, not whether
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

    async def complete(self, request: Request) -> Completion:
        """Call the function; whatever it raises is the engine's to record."""
        if self._is_async:
            reply = await cast(Awaitable[Reply], self._function(request))
        else:
            reply = await outcome(self._function, request)
        if request.in_words and not isinstance(reply, Completion):
            return Completion(self._words(reply, request))
        return as_completion(reply)

    def _words(self, reply: object, request: Request) -> str:
        """Return the words of a reply: text or `{text}`, or of a custom seat another value.

        No reply, bytes and exceptions are no words of anybody's: TypeError.
        """
        if isinstance(reply, Mapping) and isinstance(reply.get("text"), str):
            return str(reply["text"])
        if isinstance(reply, str):
            return reply
        nothing = reply is None or isinstance(reply, (BaseException, bytes))
        if nothing or not request.model.startswith(CUSTOM):
            raise TypeError(f"a model that is asked for words must return text, not {type(reply)}")
        if not self._warned:
            self._warned = True
            kind = type(reply).__name__
            warnings.warn(
                f"{request.model} returned a {kind}, neither text nor {{text}}; str() made it text",
                stacklevel=2,
            )
        return str(reply)


def as_completion(reply: object) -> Completion:
    """Return what a callable gave back as a Completion; raises TypeError for other shapes."""
    if isinstance(reply, Completion):
        return reply
    if isinstance(reply, str):
        return Completion(reply)
    if isinstance(reply, Mapping):
        return Completion(json.dumps(dict(reply), ensure_ascii=False))
    raise TypeError(f"a model must return text, a mapping or a Completion, not {type(reply)}")


async def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function gives, called in a thread; what it leaves to await is awaited here."""
    value = await in_thread(function, *arguments)
    return await value if inspect.isawaitable(value) else value


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


def _unfit(error: BaseException) -> bool:
    """Some exceptions steer a loop or a process and must not be set on a future."""
    return isinstance(error, StopIteration) or not isinstance(error, Exception)


def as_model(model: Model | ModelFunction) -> Model:
    """Return `model` itself, or a function as a model; raises UsageError `model.not_callable`."""
    if isinstance(model, Model):
        return model
    if not callable(model):
        kind = type(model).__name__
        raise UsageError("model.not_callable", f"a model is a function or a Model, not a {kind}")
    return CallableModel(model)
