"""Reading a model's reply, alike in three languages (FORMAT.md §5).

Nothing is coerced: a reply is strict JSON that fits the role's reply schema,
or it does not count.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from hansard.record.canonical import MAX_DEPTH, MAX_INT

JSON = Any
Schema = dict[str, Any]

_SPACE = "\t\n\v\f\r "
_FENCE = "```"


class Unreadable(ValueError):
    """A reply that is not strict JSON."""


def read(text: str) -> JSON:
    """Return the JSON value in `text`, without at most one enclosing fence.

    Raises Unreadable for anything that strict RFC 8259 with unique keys,
    paired surrogates, integers within 2^53-1 and at most 32 nested containers
    does not admit.
    """
    body = _without_fence(text.strip(_SPACE))
    try:
        value = json.loads(
            body,
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_int=_integer,
        )
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from None
    _check(value, 0)
    return value


def _without_fence(text: str) -> str:
    if not text.startswith(_FENCE) or not text.endswith("\n" + _FENCE):
        return text
    first, _, rest = text.partition("\n")
    tag = first[len(_FENCE) :]
    if tag and not (tag.isascii() and tag.isalpha() and tag.islower()):
        return text
    return rest[: -len(_FENCE)].strip(_SPACE)


def _unique(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Unreadable("a key stands twice in one object")
    return value


def _refuse(constant: str) -> NoReturn:
    raise Unreadable(f"{constant} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > 17 or not -MAX_INT <= (value := int(digits)) <= MAX_INT:
        raise Unreadable("an integer is beyond 2^53-1")
    return value


def _check(value: JSON, depth: int) -> None:
    """Refuse lone surrogates and deep nesting, which the parser lets through."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise Unreadable("a string holds a lone surrogate")
    elif isinstance(value, (dict, list)):
        if depth >= MAX_DEPTH:
            raise Unreadable(f"more than {MAX_DEPTH} nested containers")
        if isinstance(value, dict):
            for key in value:
                _check(key, depth)
            value = list(value.values())
        for item in value:
            _check(item, depth + 1)


def mismatch(value: JSON, schema: Schema, path: str = "") -> tuple[str, str] | None:
    """Return where and why `value` does not fit `schema`, or None where it fits.

    The subset of JSON Schema that reply schemas use: `type` (object, string,
    integer), `properties` with `required` and no others, `minLength` and
    `enum`. The second item is the keyword that failed. Object members are
    tried in the order of `required`.
    """
    kind = schema["type"]
    if kind == "object":
        if not isinstance(value, dict):
            return path, "type"
        for key in schema["required"]:
            if key not in value:
                return f"{path}/{key}", "required"
        if len(value) > len(schema["required"]):
            return path, "additionalProperties"
        for key in schema["required"]:
            found = mismatch(value[key], schema["properties"][key], f"{path}/{key}")
            if found:
                return found
        return None
    if not isinstance(value, str):
        return path, "type"
    if "enum" in schema and value not in schema["enum"]:
        return path, "enum"
    if len(value) < schema.get("minLength", 0):
        return path, "minLength"
    return None
