"""Reading a model's reply, alike in every verifier (FORMAT.md §5).

Nothing is coerced: a reply is strict JSON that fits the role's reply schema,
or it does not count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from hansard.record.canonical import MAX_DEPTH, MAX_INT

JSON = Any
Schema = dict[str, Any]

_SPACE = "\t\n\v\f\r "
_FENCE = "```"
# Whatever is no white space, and is seen: a text without it says nothing (FORMAT.md §6).
VISIBLE = re.compile(
    "[^\t-\r \xa0\xad\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
).search


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


def value_of(text: str, schema: Schema) -> JSON:
    """Return what a reply says: its JSON value, or where words are asked for the words.

    Raises Unreadable where JSON is asked for and this is none.
    """
    return text.strip(_SPACE) if schema["type"] == "string" else read(text)


def named(value: JSON, schema: Schema) -> JSON:
    """Return a value with those members alone that its schema names, at any depth.

    What else a user's own function replies is kept in the reply's text, and read by nobody.

    >>> named({"vote": "ship", "model": "m"}, members(vote=words()))
    {'vote': 'ship'}
    """
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return {key: named(member, known[key]) for key, member in value.items() if key in known}
    if isinstance(value, list) and "items" in schema:
        return [named(item, schema["items"]) for item in value]
    return value


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def mismatch(value: JSON, schema: Schema, where: str = "") -> tuple[str, str] | None:  # noqa: PLR0911 - the first failure decides
    """Return the member and the keyword in which `value` does not fit `schema`, or None.

    The subset of JSON Schema that reply schemas use (FORMAT.md §6): `type`,
    `enum`, bounds, and for containers `required` members and no others, or
    `items`. The first failure decides; the reply itself is the member "".
    """
    kind = schema["type"]
    if kind == "string":  # most members are texts, and are done with here
        if not isinstance(value, str):
            return where, "type"
        if "enum" in schema:
            return None if value in schema["enum"] else (where, "enum")
        return None if VISIBLE(value) else (where, "minLength")
    if not any(_is(value, name) for name in (kind if isinstance(kind, list) else [kind])):
        return where, "type"
    if isinstance(value, dict):
        return _object_mismatch(value, schema)
    if isinstance(value, list):
        return _list_mismatch(value, schema, where)
    if "enum" in schema and value not in schema["enum"]:
        return where, "enum"
    if kind == "integer" and not schema["minimum"] <= value <= schema["maximum"]:
        return where, "minimum"
    return None


def _is(value: JSON, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _object_mismatch(value: dict[str, JSON], schema: Schema) -> tuple[str, str] | None:
    required: list[str] = schema["required"]
    for key in required:
        if key not in value:
            return key, "required"
    if len(value) > len(required):
        return "", "additionalProperties"
    properties = schema["properties"]
    for key in required:
        found = mismatch(value[key], properties[key], key)
        if found:
            return found
    return None


def _list_mismatch(value: list[JSON], schema: Schema, where: str) -> tuple[str, str] | None:
    if not schema["minItems"] <= len(value) <= schema["maxItems"]:
        return where, "minItems"
    items = schema["items"]
    for number, item in enumerate(value):
        found = mismatch(item, items, str(number))
        if found:
            return found
    return None


def words() -> Schema:
    """Return the schema of a text in which something can be seen."""
    return {"minLength": 1, "type": "string"}


def one_of(names: Iterable[str], *, or_none: bool = False) -> Schema:
    """Return the schema of one name among `names`, or null where that is admitted."""
    if or_none:
        return {"enum": [*names, None], "type": ["string", "null"]}
    return {"enum": list(names), "type": "string"}


def whole(least: int, most: int) -> Schema:
    """Return the schema of an integer between two bounds."""
    return {"maximum": most, "minimum": least, "type": "integer"}


def many(items: Schema, most: int, least: int = 0) -> Schema:
    """Return the schema of a list of `items`."""
    return {"items": items, "maxItems": most, "minItems": least, "type": "array"}


def members(**properties: Schema) -> Schema:
    """Return the schema of an object with exactly these members, asked for in this order."""
    return {
        "additionalProperties": False,
        "properties": properties,
        "required": list(properties),
        "type": "object",
    }
