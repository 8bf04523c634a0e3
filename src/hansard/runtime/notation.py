"""YAML and JSON, read as the values that they look like, in bounded work.

A file whose name ends in `.json` is JSON (RFC 8259); any other is YAML, with the
core schema of YAML 1.2: an unquoted word is text, unless one row of `_PLAIN` below
fits it. So `no`, `12:30:45`, `1_000` and dates are text, and `017` is 17. All keys are
texts, as written, and none stands twice. There are no tags and no merge keys.

Work is linear in the input: values are made of the parser's events without
recursion, nesting, values and digits are bounded, and what an alias stands for
counts as if it were written out. An error says the line, and quotes nothing. YAML is
parsed much more slowly than JSON, so less of it is read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from hansard.errors import UsageError

MAX_DEPTH = 64
MAX_VALUES = 100_000
MAX_YAML = 1 << 20  # characters; the slowest take about 3 seconds
MAX_YAML_VALUES = 50_000  # with aliases written out
MAX_CHARS = 1 << 22  # of all texts, with aliases written out
MAX_DIGITS = 100
MAX_KEY = 1000

_AS_JSON = "save it as JSON, in a file whose name ends in .json"
_NUMBER = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
_LONG = re.compile(rf"{_NUMBER}|0o[0-7]+|0x[0-9a-fA-F]+").fullmatch
_SURROGATE = re.compile("[\ud800-\udfff]").search
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"").findall
_TAGS = {
    yaml.ScalarEvent: ("!", "tag:yaml.org,2002:str"),
    yaml.SequenceStartEvent: ("tag:yaml.org,2002:seq",),
    yaml.MappingStartEvent: ("tag:yaml.org,2002:map",),
}


class _Refused(Exception):
    """What is wrong, in words that quote nothing."""


def parse(text: str, name: str) -> object:
    """Return the value that the text of the file `name` stands for.

    Raises UsageError `spec.yaml`, for JSON too.
    """
    return _from_json(text, name) if name.endswith(".json") else _from_yaml(text, name)


def is_crowded(data: bytes | bytearray, most: int = MAX_VALUES) -> bool:
    """Say whether JSON has more than `most` values."""
    return crowd(data, most) > most


def crowd(data: bytes | bytearray, most: int) -> int:
    """Return how many values JSON has, by its signs outside of strings; beyond `most` any more.

    Each comma and each opening bracket stands for a value at most, with at most two strings.
    Nothing is made of it: a parser makes objects of a hundred times its bytes.
    """
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    parts = plain.split(b'"', 4 * most + 4)
    signs = sum(part.count(sign) for part in parts[::2] for sign in (b",", b"{", b"["))
    return max(signs, most + 1) if len(parts) > 4 * most + 4 else signs


def _from_yaml(text: str, name: str) -> object:
    if len(text) > MAX_YAML:
        what = f"it has more than {MAX_YAML:,} characters, the most in YAML; {_AS_JSON}"
        raise UsageError("spec.yaml", f"{name}: {what}")
    builder, event = _Builder(), None
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            builder.take(event)
    except _Refused as refused:
        line, what = event.start_mark.line + 1 if event and event.start_mark else 1, str(refused)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, what = mark.line + 1 if mark else 1, _unquoted(error.problem or "")
    except yaml.YAMLError:
        line, what = 0, "it holds a character that YAML does not admit"
    except (ValueError, OverflowError):  # such as an escape beyond Unicode
        line, what = 0, "it is not valid YAML"
    else:
        return builder.value
    place = f"{name}, line {line}" if line else name
    raise UsageError("spec.yaml", f"{place}: {what}")


def _unquoted(problem: str) -> str:
    """Return what the parser says, unless it quotes more than a sign or the name of a token."""
    quoted = [one or other for one, other in _QUOTED(problem)]
    is_ours = all(len(part) < 2 or re.fullmatch("<[a-z ]+>", part) for part in quoted)
    return problem if problem and is_ours else "it is not valid YAML"


@dataclass
class _Open:
    """A list or mapping that is being read: its anchor, and what was counted before it."""

    value: Any
    anchor: str | None
    counted: tuple[int, int]
    key: str | None = None


@dataclass
class _Builder:
    """Makes a value of a parser's events."""

    value: object = None
    _documents: int = 0
    _open: list[_Open] = field(default_factory=list)
    _anchors: dict[str, tuple[object, int, int]] = field(default_factory=dict)
    _values: int = 0
    _chars: int = 0

    def take(self, event: yaml.Event) -> None:
        """Take the next event; raises _Refused."""
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise _Refused("a second document begins here; write one to a file")
            case yaml.AliasEvent(anchor=anchor):
                if anchor not in self._anchors:
                    raise _Refused("this alias stands for nothing that is complete before it")
                value, values, chars = self._anchors[anchor]
                self._count(values, chars)
                self._put(value)
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.CollectionStartEvent():
                self._check_tag(event)
                counted = (self._values, self._chars)
                self._count(1, 0)
                is_map = isinstance(event, yaml.MappingStartEvent)
                if self._is_key():
                    raise _Refused("this key is not a name")
                self._open.append(_Open({} if is_map else [], event.anchor, counted))
                if len(self._open) > MAX_DEPTH:
                    raise _Refused(f"it nests too deeply: more than {MAX_DEPTH} levels")
            case yaml.CollectionEndEvent():
                done = self._open.pop()
                self._name(done.anchor, done.value, *done.counted)
                self._put(done.value)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._check_tag(event)
        is_plain = event.style is None and event.tag is None
        if self._is_key() and is_plain and event.value == "<<":
            raise _Refused("merge keys (<<) are not read; write the fields out")
        text = _whole(event.value)
        value = _plain(text) if is_plain and not self._is_key() else text
        before = (self._values, self._chars)
        self._count(1, len(text))
        self._name(event.anchor, value, *before)
        self._put(value)

    def _check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag is not None and event.tag not in _TAGS[type(event)]:
            raise _Refused("tags are not read; remove the one that begins with ! here")

    def _is_key(self) -> bool:
        """Say whether a key comes next."""
        place = self._open[-1] if self._open else None
        return place is not None and isinstance(place.value, dict) and place.key is None

    def _put(self, value: object) -> None:
        if not self._open:
            self.value = value
            return
        place = self._open[-1]
        if isinstance(place.value, list):
            place.value.append(value)
        elif place.key is not None:
            place.value[place.key], place.key = value, None
        elif not isinstance(value, str):
            raise _Refused("this key is not a name")
        elif len(value) > MAX_KEY:
            raise _Refused(f"this key has more than {MAX_KEY:,} signs")
        elif value in place.value:
            raise _Refused("this key is given twice")
        else:
            place.key = value

    def _count(self, values: int, chars: int) -> None:
        self._values += values
        self._chars += chars
        if self._values > MAX_YAML_VALUES:
            raise _Refused(
                f"it holds more than {MAX_YAML_VALUES:,} values, the most in YAML, its aliases "
                f"written out; {_AS_JSON}"
            )
        if self._chars > MAX_CHARS:
            raise _Refused(f"it holds more than {MAX_CHARS:,} signs, its aliases written out")

    def _name(self, anchor: str | None, value: object, values: int, chars: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, self._values - values, self._chars - chars)


def _plain(text: str) -> object:
    """Return what an unquoted word stands for."""
    if len(text) > MAX_DIGITS and not _LONG(text):
        return text
    _check_digits(text)
    return next((value(text) for fits, value in _RESOLVERS if fits(text)), text)


def _check_digits(text: str) -> None:
    if len(text) > MAX_DIGITS:
        raise _Refused(f"a number has more than {MAX_DIGITS} digits")


def _finite(text: str) -> float:
    _check_digits(text)
    number = float(text)
    if math.isinf(number):
        raise _Refused("a number is too large")
    return number


def _based(text: str) -> int:
    return int(text, 0)


_PLAIN: list[tuple[str, Callable[[str], object]]] = [
    (r"~|null|Null|NULL|", lambda _: None),
    (r"true|True|TRUE", lambda _: True),
    (r"false|False|FALSE", lambda _: False),
    (r"[-+]?[0-9]+", int),
    (r"0o[0-7]+", _based),
    (r"0x[0-9a-fA-F]+", _based),
    (_NUMBER, _finite),
    (r"[-+]?\.(inf|Inf|INF)", lambda text: -math.inf if text.startswith("-") else math.inf),
    (r"\.(nan|NaN|NAN)", lambda _: math.nan),
]
_RESOLVERS = [(re.compile(pattern).fullmatch, value) for pattern, value in _PLAIN]


def _whole(text: str) -> str:
    r"""Return a text in which `\ud83d\ude00`, as JSON writes it, is the one character it means."""
    if not _SURROGATE(text):
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise _Refused("a text holds half of a character") from None


def _from_json(text: str, name: str) -> object:
    place = name
    try:
        value = _JSON.decode(text)
        _check_bounds(value)
    except json.JSONDecodeError as error:
        place, what = f"{name}, line {error.lineno}", error.msg
    except RecursionError:
        what = f"it nests too deeply: more than {MAX_DEPTH} levels"
    except _Refused as refused:
        what = str(refused)
    else:
        return value
    raise UsageError("spec.yaml", f"{place}: {what}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Refused("a key is given twice")
    if any(len(key) > MAX_KEY for key in value):
        raise _Refused(f"a key has more than {MAX_KEY:,} signs")
    return value


def _integer(digits: str) -> int:
    _check_digits(digits)
    return int(digits)


def _constant(_: str) -> NoReturn:
    raise _Refused("NaN and Infinity are not JSON")


_JSON = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=_integer,
    parse_float=_finite,
    parse_constant=_constant,
)


def _check_bounds(value: object) -> None:
    """Raise _Refused for a value beyond the bounds; what JSON can hold has no aliases."""
    level, depth, values = [value], 0, 0
    while level:
        values += len(level)
        if values > MAX_VALUES:
            raise _Refused(f"it holds more than {MAX_VALUES:,} values")
        if depth == MAX_DEPTH and any(isinstance(part, (dict, list)) for part in level):
            raise _Refused(f"it nests too deeply: more than {MAX_DEPTH} levels")
        for text in level:
            if isinstance(text, str):
                _whole(text)
        level, depth = [item for part in level for item in _within(part)], depth + 1


def _within(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from value
        yield from value.values()
    elif isinstance(value, list):
        yield from value
