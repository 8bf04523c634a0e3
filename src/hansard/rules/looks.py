"""What is a number, and what is true or false: what looks so, and nothing that could be read so.

A count is a whole number without quotation marks and without decimals: `"2"`, 2.0 and true are
none. So nobody has to know what a text, or a switch, would be taken for.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from hansard.errors import UsageError

_VALUE = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?|true|false", re.IGNORECASE).fullmatch
_SENTENCES = {
    int: "this must be a whole number, such as 2",
    float: "this must be a number, such as 0.5",
    bool: "this must be true or false",
}


def unlike(value: object, kinds: Collection[type]) -> str | None:
    """Return what is wrong with a value that is to be of one of these kinds; None if nothing is.

    >>> unlike(2, [int]), unlike(2, [float]), unlike("2", [int])
    (None, None, 'this must be a whole number, such as 2, without quotation marks')
    >>> unlike(True, [int])
    'this must be a number, and true and false are none'
    """
    if isinstance(value, bool):
        is_one, other = bool in kinds, "this must be a number, and true and false are none"
        return None if is_one else other
    if (isinstance(value, int) and {int, float} & {*kinds}) or (
        isinstance(value, float) and float in kinds
    ):
        return None
    said = next(sentence for kind, sentence in _SENTENCES.items() if kind in kinds)
    is_quoted = isinstance(value, str) and _VALUE(value)
    return f"{said}, without quotation marks" if is_quoted else said


def require(kind: type, **given: object) -> None:
    """Refuse each argument of this kind that does not look so, None aside; UsageError `api.value`.

    >>> require(bool, shuffle="no")
    Traceback (most recent call last):
    hansard.errors.UsageError: `shuffle`: this must be true or false
    """
    for name, value in given.items():
        if value is not None and (said := unlike(value, [kind])):
            raise UsageError("api.value", f"`{name}`: {said}")
