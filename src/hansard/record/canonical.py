"""The JCS profile of event lines: write, and strict bounded read (FORMAT.md §1).

RFC 8785 canonical JSON, restricted: keys `[a-z][a-z0-9_]*`, strings
`[A-Za-z0-9._:/@+=-]{1,256}`, integers within ±(2^53-1), no floats, at most 32
nested containers, at most 1 MiB. Inside this profile `orjson` with sorted keys
writes exactly the bytes of RFC 8785; outside it does not, so nothing outside
is ever handed to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn

import orjson

from hansard.errors import DataError

MAX_LINE = 1 << 20
MAX_DEPTH = 32
MAX_INT = (1 << 53) - 1

TEXT = re.compile(r"[A-Za-z0-9._:/@+=-]{1,256}").fullmatch
_BRACKET = re.compile(rb'(?s)\\.|["\[\]{}]').findall  # an escape is one of its own
_KEY = re.compile(r"[a-z][a-z0-9_]*").fullmatch


def encode(value: object) -> bytes:
    """Return the canonical bytes of `value`.

    Raises DataError `4.profile` or `4.size` for what no line may hold.
    """
    check_profile(value)
    line = dump(value)
    if len(line) > MAX_LINE:
        raise DataError("4.size", f"a line has {len(line)} bytes, more than {MAX_LINE}")
    return line


def decode(line: bytes) -> Any:
    """Parse one canonical line (without its LF) and return its value.

    Raises DataError with the first code that applies: `4.size`, `4.profile`
    for what nests too deeply, `4.json`, `4.profile`, or `4.bytes` for another
    spelling of the same value, which includes 7.0 for 7 and a key twice.
    Every language's parser comes to the same code: it is not `orjson` that
    reads here, which refuses or rounds some of what the others take.
    """
    if len(line) > MAX_LINE:
        raise DataError("4.size", f"a line has {len(line)} bytes, more than {MAX_LINE}")
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH and _too_deep(line):
        raise DataError("4.profile", f"more than {MAX_DEPTH} nested containers")
    try:
        value = _DECODER.decode(line.decode())
    except ValueError:
        raise DataError("4.json", "a line is not JSON in strict UTF-8") from None
    check_profile(value)
    if dump(value) != line:
        raise DataError("4.bytes", "a line is not in canonical form")
    return value


def _too_deep(line: bytes) -> bool:
    """Whether too many containers are open at some byte, before a parser goes down into them.

    Brackets in strings are none: they could make the count sink while containers open.
    """
    depth, quoted = 0, False
    for mark in _BRACKET(line):
        if mark == b'"':
            quoted = not quoted
        elif not quoted and len(mark) == 1:
            depth += 1 if mark in b"{[" else -1
            if depth > MAX_DEPTH:
                return True
    return False


def _number(digits: str) -> float:
    """Read 7.0 as 7, spelled wrongly: a parser that knows one kind of number cannot tell."""
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) <= MAX_INT else 0.5


def _integer(digits: str) -> int:
    return int(digits) if len(digits) < 20 else MAX_INT + 1


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_number, parse_constant=_refuse)


def dump(value: object) -> bytes:
    """Write `value` with sorted keys; canonical for values known to be in the profile.

    What `orjson` returns keeps room for many times its length, so a copy of it is returned.
    """
    return bytes(memoryview(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)))


_known_keys: set[str] = set()  # those that matched already; only a writer's own, so few


def check_profile(value: Any, depth: int = 1) -> None:  # noqa: C901 - one walk over the kinds of JSON value
    """Raise DataError `4.profile` unless `value` and all it holds is in the profile."""
    kind = type(value)
    if kind is dict:
        if not _known_keys.issuperset(value):
            _check_keys(value)
        items: Iterable[Any] = value.values()
    elif kind is list:
        items = value
    else:
        items, depth = (value,), 0
    if depth > MAX_DEPTH:
        raise DataError("4.profile", f"more than {MAX_DEPTH} nested containers")
    for item in items:
        kind = type(item)
        if kind is str:
            if not TEXT(item):
                raise DataError("4.profile", "a string is not an id, hash, time or base64")
        elif kind is int:
            if not -MAX_INT <= item <= MAX_INT:
                raise DataError("4.profile", "an integer is beyond 2^53-1")
        elif kind is dict or kind is list:
            check_profile(item, depth + 1)
        elif item is not None and kind is not bool:
            raise DataError("4.profile", f"a value of type {kind.__name__} has no place in a line")


def _check_keys(value: dict[Any, Any]) -> None:
    for key in value:
        if type(key) is not str or not _KEY(key):
            raise DataError("4.profile", "a key is not of the form [a-z][a-z0-9_]*")
    if len(_known_keys) < 1024:
        _known_keys.update(value)
