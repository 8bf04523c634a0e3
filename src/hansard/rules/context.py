"""The context of a debate, which may be any JSON value: as a text of the record, and back.

A text is recorded as it is. Any other value is recorded as JSON in one spelling: keys in order, no
white space. A text that is exactly such JSON itself is recorded as a JSON string, in quotes, so
that each value comes back as what it was.
"""

from __future__ import annotations

import json
from typing import Any


def as_text(value: Any) -> str:
    """Return a context as it is recorded and shown.

    Raises ValueError, TypeError or RecursionError for what is no JSON.

    >>> as_text("Two people."), as_text({"team": 2}), as_text("2")
    ('Two people.', '{"team":2}', '"2"')
    """
    text = value if isinstance(value, str) and value_of(value) is value else _spelled(value)
    text.encode()  # a lone surrogate is no text
    return text


def value_of(text: str) -> Any:
    """Return the value that a recorded context stands for: the text itself, but for such JSON.

    >>> value_of("Two people."), value_of('{"team":2}'), value_of('"2"'), value_of("[ 2 ]")
    ('Two people.', {'team': 2}, '2', '[ 2 ]')
    """
    try:
        value = json.loads(text)
        return value if _spelled(value) == text else text
    except (ValueError, RecursionError):
        return text


def _spelled(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
