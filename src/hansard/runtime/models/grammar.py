"""What a server can hold a model to, of a JSON Schema, where it makes a grammar of it.

Such servers refuse what their grammar has no word for: bounds of numbers and
lengths, patterns, open objects. What is left out here is checked all the same
once the reply is read, and shown to the model where it was not met.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hansard.rules.replies import Schema

_KEPT = frozenset(("type", "required", "additionalProperties", "$ref", "title", "description"))
_MAPS = frozenset(("properties", "$defs", "definitions"))


def narrowed(schema: Schema | bool) -> Schema:
    """Return the part of `schema` that a grammar can express."""
    if isinstance(schema, bool):  # anything, or nothing at all: a grammar has no word for either
        return {}
    kept: Schema = {}
    for key, value in schema.items():
        if key in _MAPS:
            kept[key] = {name: narrowed(row) for name, row in value.items()}
        elif key in ("anyOf", "allOf", "oneOf"):
            kept["anyOf" if key == "oneOf" else key] = [narrowed(row) for row in value]
        elif key == "items" and isinstance(value, Mapping):
            kept[key] = narrowed(dict(value))
        elif key in _KEPT or (key == "minItems" and value in (0, 1)):
            kept[key] = value
    literal = {key: schema[key] for key in ("enum", "const") if key in schema}
    if literal:
        kept.pop("type", None)  # the values say it; with a list of types the two are refused
    return kept | literal


def is_closed(schema: Any) -> bool:
    """Say whether a grammar leaves `schema` its sense: no object is open, nothing refers on."""
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return False
    if not {"enum", "const"}.isdisjoint(schema):
        return True
    kinds = schema.get("type")
    if "object" in (kinds if isinstance(kinds, list) else [kinds]):
        members = schema.get("properties", {})
        shut = schema.get("additionalProperties") is False
        return shut and all(map(is_closed, members.values()))
    if kinds is not None and kinds != "array":
        return True
    within = [schema[key] for key in ("anyOf", "allOf", "oneOf", "items") if key in schema]
    return bool(within) and all(map(is_closed, within))
