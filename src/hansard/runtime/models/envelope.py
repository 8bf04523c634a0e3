"""One schema for the replies of all roles, so that their calls share the cached prefix.

Where a provider counts the schema into the prefix that it caches, a role with a
schema of its own would never find what another role's call has left there. So
all are asked for `{"reply": …}`, and what stands in it is the reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import cast

from hansard.rules.replies import Schema

MEMBER = "reply"
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)  # looked at, and never used as values


def envelope(schemas: Iterable[Schema]) -> Schema:
    """Return the schema of an object whose one member fits one of `schemas`, in their order."""
    return {
        "type": "object",
        "properties": {MEMBER: {"anyOf": list(schemas)}},
        "required": [MEMBER],
        "additionalProperties": False,
    }


def refers(schema: object) -> bool:
    """Say whether a schema refers to parts of itself: moved into another, it would miss them."""
    if isinstance(schema, list):
        return any(map(refers, schema))
    if not isinstance(schema, dict):
        return False
    return not {"$ref", "$dynamicRef"}.isdisjoint(schema) or any(map(refers, schema.values()))


def unwrap(text: str) -> str:
    """Return the text of X where `text` is `{"reply": X}`, exactly as it stands there.

    A text that is no such object, and nothing more, is returned as it is.
    """
    try:
        at = _sign(text, 0, "{")
        name, at = _DECODER.raw_decode(text, _skip(text, at))
        begin = _skip(text, _sign(text, at, ":"))
        _, end = _DECODER.raw_decode(text, begin)
        at = _skip(text, _sign(text, end, "}"))
    except (ValueError, RecursionError):
        return text
    return text[begin:end] if name == MEMBER and at == len(text) else text


def _skip(text: str, at: int) -> int:
    return cast(re.Match[str], _SPACE.match(text, at)).end()  # no space at all will do


def _sign(text: str, at: int, sign: str) -> int:
    """Return where `sign` ends that stands next; raises ValueError."""
    at = _skip(text, at)
    if not text.startswith(sign, at):
        raise ValueError(sign)
    return at + len(sign)
