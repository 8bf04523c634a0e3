"""Which fields of an event are derived (FORMAT.md §3), and how each can be altered.

An altered event still fits the closed union, so nothing but the rules can tell.
The fields of a case are compared one by one: `case.rating` is one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from hansard.record.line import encode_line
from hansard.rules import data as entries
from hansard.rules import fields, terms
from hansard.rules.events import Event, parse
from hansard.rules.steps import RETRIED
from tables import DERIVED

CASE = tuple(f"case.{name}" for name in fields.Case.__annotations__)
# Left out: what chooses among what is due, or says what else is read; what has only one value; and
# what is derived of some entries alone (`fields_of`).
LEFT_OUT = {
    "debate.opened": {"rules", "terms", "scripted"},
    "gate.answered": {"rules"},
    "call.started": {"step"},
    "call.refused": {"step", "role", "approved"},
    "call.answered": {"tools", "finish"},
    "call.failed": {"wait_ms", "error"},
    "debate.truncated": {"reserved"},
}


def _tried(kind: str) -> tuple[str, ...]:
    out = LEFT_OUT.get(kind, set())
    return tuple(name for name in DERIVED[kind] if name.isidentifier() and name not in out)


FIELDS = {kind: names for kind in DERIVED if (names := _tried(kind))}
ABANDONED = tuple(entries.CallFailedData.__annotations__)
ENUMS = {
    "ceiling": get_args(fields.Ceiling),
    "code": get_args(fields.Rejection),
    "confidence": get_args(fields.Confidence),
    "error": get_args(fields.CallError),
    "finding": get_args(fields.CitationFinding),
    "measure": ("options", "words", "whole"),
    "outcome": get_args(fields.Outcome),
    "phase": terms.PHASES,
    "role": get_args(terms.Role),
    "rule": get_args(terms.DecisionRule),
    ("turn.forfeited", "reason"): ("no_reply", "invalid_reply"),
    ("debate.closed", "reason"): get_args(terms.CloseReason),
}
A_CITATION = {"argument": 1, "citation": 1, "finding": "not_found"}
EMPTY_CASE = {"arguments": 0, "rating": None, "unanswered": [], "citations": [], "struck": []}
# What stands in place of null, or of an empty list.
NULL = {
    "another_round": True,
    "by": {"sha256": "0" * 64},
    "case": EMPTY_CASE,
    "choice": "x",
    "citations": [A_CITATION],
    "confidence": "LOW",
    "cost_micro_usd": 1,
    "cut": {
        **dict.fromkeys(("limit", "spent", "reserved", "by", "reason")),
        "ceiling": "operator",
    },
    "detail": "x",
    "keyword": "type",
    "latency_ms": 1,
    "member": "x",
    "pairs": [{"one": "x", "other": "y", "ppm": 1, "negation_differs": False}],
    "ranking": ["x"],
    "rating": 1,
    "reason": {"sha256": "0" * 64},
    "request_id": "x",
    "reserved_cost_micro_usd": 1,
    "review": {"sha256": "0" * 64},
    "score_ppm": 1,
    "scores": [{"side": "x", "score": 1}],
    "sent": {"sha256": "0" * 64},
    "sent_as_rendered": True,
    "status": 200,
    "struck": [1],
    "threshold": 1,
    "unanswered": [1],
    "upholds": True,
    "vote": "x",
    "votes": 1,
    "wait_ms": 1,
    "winner": "x",
}


def fields_of(event: Event) -> tuple[str, ...]:
    """The fields of an event that the rules determine."""
    kind, data = event["type"], event["data"]
    found = FIELDS.get(kind, ())
    if kind == "call.failed" and data["error"] == "abandoned":
        return ABANDONED
    if kind == "call.failed" and data["error"] not in RETRIED:
        return (*found, "wait_ms")
    if kind == "debate.opened" and data["terms"].get("rule", "threshold") != "threshold":
        return (*found, "terms")
    if kind == "call.answered" and data["finish"] != "tool_calls":
        return (*found, "tools")
    if kind == "turn.recorded" and data["case"]:
        return (*found, *CASE)
    if kind == "debate.truncated" and data["ceiling"] in ("calls", "seconds"):
        return (*found, "reserved", "by", "reason")
    return found


def alterations(record: Sequence[Event]) -> Iterator[tuple[int, str]]:
    """Every place and field of a record that must be found out when it is altered."""
    for place, event in enumerate(record):
        for field in fields_of(event):
            yield place, field


def value_of(event: Event, field: str) -> Any:
    """The value of a field, or of a case's."""
    value: Any = event["data"]
    for key in field.split("."):
        value = value[key]
    return value


def altered(event: Event, field: str) -> Event:
    """The event with another value in one field."""
    value = _another(event["type"], field.rpartition(".")[2], value_of(event, field))
    if field.startswith("case."):
        field, value = "case", {**event["data"]["case"], field[5:]: value}
    return parse(encode_line({**event, "data": {**event["data"], field: value}}))


def _another(kind: str, field: str, value: Any) -> Any:
    names = ENUMS.get((kind, field)) or ENUMS.get(field)
    if value is None or value == []:
        return NULL[field]
    if names:
        name = value.partition("-")[0]
        return names[names.index(name) - 1 if name in names else 0]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value - 1 if value > 1 else value + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1] != "0" else "1")
    if field in ("review", "case"):
        return None
    if isinstance(value, list):
        return [_another(kind, field, value[0]), *value[1:]]
    return _member(value)


def _member(value: dict[str, Any]) -> dict[str, Any]:
    for field in ("sha256", "votes", "threshold", "finding", "score", "ppm", "ceiling"):
        if field in value:
            return {**value, field: _another("", field, value[field])}
    return {**value, "seed": 7}
