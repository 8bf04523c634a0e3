"""Python callables as models: anything that turns a request into text can sit in a seat."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hansard.debate.spec import PriceSpec
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
        call = getattr(function, "__call__", function)  # noqa: B004 - its async-ness, not whether
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

    async def complete(self, request: Request) -> Completion:
        """Call the function; whatever it raises is the engine's to record."""
        if self._is_async:
            reply = self._function(request)
        else:
            reply = await _in_thread(self._function, request)
        if inspect.isawaitable(reply):
            reply = await reply
        return as_completion(reply)


def as_completion(reply: object) -> Completion:
    """Return what a callable gave back as a Completion; raises TypeError for other shapes."""
    if isinstance(reply, Completion):
        return reply
    if isinstance(reply, str):
        return Completion(reply)
    if isinstance(reply, Mapping):
        return Completion(json.dumps(dict(reply), ensure_ascii=False))
    raise TypeError(f"a model must return text, a mapping or a Completion, not {type(reply)}")


async def _in_thread(function: ModelFunction, request: Request) -> Any:
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
            value = function(request)
        except BaseException as raised:  # noqa: BLE001 - carried over to the caller
            error = RuntimeError(type(raised).__name__) if _unfit(raised) else raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, error, value)

    threading.Thread(target=work, daemon=True, name=f"model {request.call}").start()
    return await future


def _unfit(error: BaseException) -> bool:
    """Some exceptions steer a loop or a process and must not be set on a future."""
    return isinstance(error, StopIteration) or not isinstance(error, Exception)


def as_model(model: Model | ModelFunction) -> Model:
    """Return `model` itself, or a function as a model."""
    return model if isinstance(model, Model) else CallableModel(model)
