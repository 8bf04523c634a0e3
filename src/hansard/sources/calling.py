"""A function of a source in a seat: its signature is checked, and the record has its own name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from hansard.errors import UsageError
from hansard.rules.own import name_of

Seat = Callable[..., Any]


def check_call(function: object, expected: str, *given: object, **named: object) -> None:
    """Refuse what cannot be called with these arguments: UsageError `model.signature`.

    `expected` is the call as a person writes it. Raises `model.not_callable` for what is none.

    >>> check_call(print, "print(text)", "")
    >>> check_call(7, "ask(text)", "")
    Traceback (most recent call last):
    hansard.errors.UsageError: ask(text) is called, and this is a int
    """
    if not callable(function):
        kind = type(function).__name__
        raise UsageError("model.not_callable", f"{expected} is called, and this is a {kind}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C tell nothing of themselves
        return
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        raise UsageError(
            "model.signature",
            f"{name_of(function)}{signature} is called as {expected}, and cannot be: {error}",
        ) from None


def named_after(function: Callable[..., Any], seat: Seat) -> Seat:
    """Return the seat, which the record calls what the function is called. Never raises.

    >>> named_after(str.upper, lambda request: "").__qualname__
    'str.upper'
    """
    seat.__qualname__ = name_of(function)
    return seat
