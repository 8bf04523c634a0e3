"""What only Python can give a spec: a function, or an object that answers calls, in a seat.

It stands where the name of a model stands, and is recorded as `python:` and its own
qualified name: `python:ask`, `python:Desk.ask`, `python:main.ask` for one that was defined
in `main`, `python:lambda`. Several of one name are told apart by their order at the table:
`python:lambda`, `python:lambda-2`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import ismethod
from typing import Annotated, Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

from pydantic import Field, GetPydanticSchema, PlainSerializer, ValidatorFunctionWrapHandler
from pydantic.functional_validators import WrapValidator

MODEL = r"^[A-Za-z0-9._:/@+=-]{1,256}$"
_LONGEST = 200  # characters of a function's name, so that a number fits behind it


@runtime_checkable
class Answers(Protocol):
    """An object that answers calls in place of a function; its `complete` may be async."""

    def complete(self, request: Any, /) -> Any:
        """Return the reply to a request."""


Own = Callable[..., Any] | Answers


def is_own(value: object) -> TypeGuard[Own]:
    """Say whether a value can sit in a seat itself: a function, or what answers calls."""
    return callable(value) or isinstance(value, Answers)


class Piece(NamedTuple):
    """What a piece of a debate says of itself (`hansard.blocks`), which its seat must say, too.

    `seat` are fields of a seat of its `role`, `debate` fields of the spec.
    """

    role: str
    seat: Mapping[str, Any] = {}
    debate: Mapping[str, Any] = {}


def piece_of(value: object) -> Piece | None:
    """Return what a function says of itself as a piece of a debate; None where it is none."""
    found = getattr(value, "piece", None)
    return found if isinstance(found, Piece) else None


def name_of(model: Own) -> str:
    """Return what a function is called in a record, without a number.

    >>> name_of(lambda request: "yes")
    'lambda'
    """
    found: object = model
    while isinstance(found, partial):
        found = found.func
    name = getattr(found, "__qualname__", None) or type(found).__qualname__
    name = str(name).replace("<locals>.", "").replace("<lambda>", "lambda")
    return re.sub(r"[^A-Za-z0-9._:/@+=-]", "_", name)[-_LONGEST:]


def names_of(models: Sequence[str | Own]) -> list[str]:
    """Return the name of each model in order; a function has the same one wherever it stands.

    >>> names_of([len, "openai:m", max, len])
    ['python:len', 'openai:m', 'python:max', 'python:len']
    """
    taken: dict[str, list[Own]] = {}
    names = []
    for model in models:
        if isinstance(model, str):
            names.append(model)
            continue
        name = name_of(model)
        known = taken.setdefault(name, [])
        if not any(_same(row, model) for row in known):
            known.append(model)
        number = next(n for n, row in enumerate(known, 1) if _same(row, model))
        names.append(f"python:{name}" if number == 1 else f"python:{name}-{number}")
    return names


def _same(one: Own, other: Own) -> bool:
    return one is other or (ismethod(one) and ismethod(other) and one == other)


def _or_own(value: object, read: ValidatorFunctionWrapHandler) -> object:
    return value if is_own(value) else read(value)


_AS_TEXT = Annotated[
    str,
    Field(pattern=MODEL),
    WrapValidator(_or_own),
    PlainSerializer(lambda value: names_of([value])[0], return_type=str),
]
ModelName = Annotated[str | Own, GetPydanticSchema(lambda _, schema: schema(_AS_TEXT))]
