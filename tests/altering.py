"""Altering records in memory: every field of every line, as it stands or chained anew.

for change in changes(bundle, 7):        # of line 7, each named
    verify(as_it_stands(bundle, 7, change.event))
    verify(chained_anew(bundle, 7, change.event))
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple, get_args, get_type_hints

import orjson

from hansard.record.bundle import Bundle, Head
from hansard.rules import data, fields, terms

ENUMS: tuple[tuple[str, ...], ...] = (
    terms.PHASES,
    *(
        get_args(enum)
        for enum in (
            terms.Role,
            fields.Finish,
            fields.CallError,
            fields.Rejection,
            fields.CitationFinding,
            fields.Confidence,
            fields.Ceiling,
            fields.Layout,
            fields.Structured,
            terms.DecisionRule,
            terms.CloseReason,
            get_type_hints(data.SimilarityData)["measure"],
            get_type_hints(data.TurnForfeitedData)["reason"],
            get_type_hints(terms.ConsensusTerms)["rule"],
            get_type_hints(terms.PanelTerms)["resolution"],
            get_type_hints(terms.PanelTerms)["fallback"],
        )
    ),
)
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z").fullmatch
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch


class Change(NamedTuple):
    path: str  # "data.tally.*.votes"
    how: str
    event: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.path}: {self.how}"


def dump(event: Any) -> bytes:
    return orjson.dumps(event, option=orjson.OPT_SORT_KEYS)


def events_of(bundle: Bundle) -> list[dict[str, Any]]:
    return [json.loads(line) for line in bundle.lines]


def as_it_stands(bundle: Bundle, seq: int, event: Any) -> Bundle:
    """Replace one line and nothing else; `seq` counts from 1."""
    lines = list(bundle.lines)
    lines[seq - 1] = dump(event)
    return replace(bundle, lines=lines)


def chained_anew(bundle: Bundle, seq: int, event: Any) -> Bundle:
    """Replace one line and make all links from it to the head fit: what a forger can do."""
    lines = [*bundle.lines[: seq - 1], dump(event)]
    for line in bundle.lines[seq:]:
        before = sha256(lines[-1]).hexdigest().encode()
        at = line.rindex(b'"prev":"') + 8
        lines.append(line[:at] + before + line[at + 64 :])
    return replace(bundle, lines=lines, head=head_of(lines))


def numbered_anew(bundle: Bundle, lines: list[bytes]) -> Bundle:
    """Number and link any lines as one record."""
    chained: list[bytes] = []
    for seq, line in enumerate(lines, 1):
        prev = sha256(chained[-1]).hexdigest() if chained else "0" * 64
        chained.append(dump(json.loads(line) | {"seq": seq, "prev": prev}))
    return replace(bundle, lines=chained, head=head_of(chained))


def head_of(lines: list[bytes]) -> Head:
    return Head(len(lines), sha256(lines[-1]).hexdigest())


def changes(bundle: Bundle, seq: int) -> Iterator[Change]:
    """Yield changes of every key, value, item and type of one line, a few of each kind."""
    event = json.loads(bundle.lines[seq - 1])
    words = _words(bundle)
    before = json.loads(bundle.lines[seq - 2])["at"] if seq > 1 else event["at"][:20] + "000000Z"
    yield from _walk(event, "", words, lambda new: new)
    if before != event["at"]:
        yield Change("at", "as the line before", event | {"at": before})


def _words(bundle: Bundle) -> list[tuple[str, ...]]:
    """The sets of names of which one may stand for another: enums, options, seats, texts."""
    opened, *rest = events_of(bundle)
    seats = [row["data"]["id"] for row in rest if row["type"] == "debater.registered"]
    models = {row["data"]["model"] for row in rest if row["type"] == "debater.registered"}
    answers = [row["data"]["reply"]["sha256"] for row in rest if row["type"] == "call.answered"]
    templates = [row["sha256"] for row in opened["data"].get("templates", ())]
    types = {event["type"] for event in (opened, *rest)}
    terms = opened["data"].get("terms", {})  # a gate has none
    named = [terms.get(key, []) for key in ("options", "stances", "positions")]
    sets = (*named, seats, models, answers[:2], templates, types)
    return [*ENUMS, *(tuple(words) for words in sets)]


def _walk(
    value: Any, path: str, words: list[tuple[str, ...]], put: Callable[[Any], Any]
) -> Iterator[Change]:
    """Go through `value`; `put` returns the whole event with this value replaced."""
    for how, new in _values(value, words):
        if new != value or type(new) is not type(value):
            yield Change(path, how, put(new))
    if isinstance(value, dict):
        for key, item in value.items():
            below = f"{path}.{key}" if path else key
            yield from _walk(item, below, words, lambda new, key=key: put(value | {key: new}))
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from _walk(
                item,
                f"{path}.*",
                words,
                lambda new, n=n: put([*value[:n], new, *value[n + 1 :]]),
            )


def _values(value: Any, words: list[tuple[str, ...]]) -> Iterator[tuple[str, Any]]:
    """Yield what one value may be replaced with: a likely value, and other shapes."""
    if isinstance(value, bool):
        yield "negated", not value
        yield "as a number", int(value)
    elif isinstance(value, int):
        yield "one more", value + 1
        yield "one less", value - 1
        yield "twice as much", value * 2
        yield "a fraction", value + 0.5
        yield "as text", str(value)
    elif isinstance(value, str):
        yield from _texts(value, words)
    elif isinstance(value, dict):
        yield "one more key", value | {"zz": 1}
        yield from (
            (f"without {key}", {k: v for k, v in value.items() if k != key}) for key in value
        )
    elif isinstance(value, list):
        yield "emptied", []
        yield "one dropped", value[1:]
        yield "one repeated", [*value, *value[-1:]]
        yield "reversed", value[::-1]
    else:
        yield from (
            ("a word", "x"),
            ("a number", 0),
            ("true", True),
            ("a text", {"sha256": "0" * 64}),
        )
    if value is not None:
        yield "null", None


def _texts(value: str, words: list[tuple[str, ...]]) -> Iterator[tuple[str, Any]]:
    yield "two words", value + " x"
    if _AT(value):
        yield "long after", "2999" + value[4:]
    elif _UUID(value):
        yield "another id", value[:-1] + ("0" if value[-1] != "0" else "1")
    elif len(value) == 64:
        yield "another digit", value[:-1] + ("0" if value[-1] != "0" else "1")
    elif value.isdigit():
        yield "another number", value + "1"
    else:
        yield "a letter more", value + "x"
    for set_ in words:
        if value in set_:
            yield from ((f"now {word[:12]}", word) for word in set_ if word != value)
