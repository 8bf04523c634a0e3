"""What the dialects have in common whose messages and replies are lists of blocks."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import orjson
from pydantic_ai import messages as parts

from hansard.rules.fields import Structured
from hansard.rules.prompts import Message
from hansard.runtime.models.base import Request
from hansard.runtime.models.reading import count

MAX_POINTS = 4  # cache points of one request, with Anthropic as on Bedrock
POINT = parts.CachePoint()


def preferring(request: Request, mode: Structured) -> Request:
    """Return a request that asks for JSON in `mode` where its seat leaves that open."""
    chosen = request.parameters["structured"] or mode
    return replace(request, parameters={**request.parameters, "structured": chosen})


def marked(message: Message) -> list[tuple[str, bool]]:
    """Return the blocks of a message, each with whether a cache point follows it.

    Where there are more points than a request may have, the last ones stay.
    """
    blocks = message.blocks
    points = sorted({end for end in message.repeats if 0 < end <= len(blocks)})[-MAX_POINTS:]
    return [(block, number in points) for number, block in enumerate(blocks, 1)]


def mapped_blocks(message: Message) -> parts.ModelMessage:
    """Return a user's message in the library's words, block by block with its cache points."""
    content: list[parts.UserContent] = []
    for block, point in marked(message):
        content += [block, POINT] if point else [block]
    return parts.ModelRequest(parts=[parts.UserPromptPart(content)])


def as_json(value: Any) -> str:
    """Return a value of a body as JSON text, its numbers as they stood there.

    Raises TypeError for what no JSON text holds.
    """
    return orjson.dumps(value, default=_number).decode()


def _number(value: object) -> object:
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value))
    raise TypeError(type(value).__name__)


def members(value: object) -> dict[str, Any]:
    """Return the members of an object of a body; none of anything else."""
    return value if isinstance(value, dict) else {}


def total(*values: object) -> int | None:
    """Return the sum of the counts that are known; None where none is, or no record can hold it."""
    known = [found for found in map(count, values) if found is not None]
    return count(sum(known)) if known else None
