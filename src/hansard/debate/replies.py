"""Reading a model's reply, alike in three languages (FORMAT.md §5).

Nothing is coerced: a reply is strict JSON that fits the role's reply schema,
or it does not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
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
        value = _DECODER.decode(body)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from None
    if body.count("{") + body.count("[") > MAX_DEPTH and _too_deep(value):
        raise Unreadable(f"more than {MAX_DEPTH} nested containers")
    if "\\u" in body and _has_lone_surrogate(value):
        raise Unreadable("a string holds a lone surrogate")
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


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_int=_integer)


def _items(value: JSON) -> Iterable[JSON]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else ()


def _too_deep(value: JSON) -> bool:
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        containers = [row for row in level if isinstance(row, (dict, list))]
        level = [item for row in containers for item in _items(row)]
        depth += bool(containers)
    return depth > MAX_DEPTH


def _has_lone_surrogate(value: JSON) -> bool:
    if isinstance(value, str):
        return any("\ud800" <= char <= "\udfff" for char in value)
    return any(map(_has_lone_surrogate, _items(value)))


def mismatch(value: JSON, schema: Schema) -> tuple[str, str] | None:
    """Return the member and the keyword in which `value` does not fit `schema`, or None.

    The subset of JSON Schema that reply schemas use: an object with
    `required` members and no others, each a string with `minLength` or an
    `enum`. Members are tried in the order of `required`; the object itself is
    the member "".
    """
    required: list[str] = schema["required"]
    if not isinstance(value, dict):
        return "", "type"
    for key in required:
        if key not in value:
            return key, "required"
    if len(value) > len(required):
        return "", "additionalProperties"
    for key in required:
        member, rule = value[key], schema["properties"][key]
        if not isinstance(member, str):
            return key, "type"
        if "enum" in rule and member not in rule["enum"]:
            return key, "enum"
        if len(member) < rule.get("minLength", 0):
            return key, "minLength"
    return None
