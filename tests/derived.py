"""Which fields of an event are derived (FORMAT.md §3), and how each can be altered.

An altered event still fits the closed union, so nothing but the rules can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from hansard.debate import events
from hansard.debate.events import Event, parse
from hansard.record.line import encode_line

TURN = ("step", "round", "phase", "speaker")
# Left out: `call.started.step`, which chooses among the steps that are due, and what has
# only one value (`role`, `rules`).
FIELDS: dict[str, tuple[str, ...]] = {
    "debate.opened": ("schemas",),
    "debater.registered": ("position",),
    "call.started": ("call", "attempt", "model", "parameters", "template", "schema", "prompt"),
    "call.answered": ("cost_micro_usd",),
    "call.failed": ("again", "cost_micro_usd"),
    "turn.recorded": (*TURN, "call", "vote"),
    "turn.rejected": ("step", "call", "code", "again"),
    "turn.forfeited": (*TURN, "reason"),
    "votes.counted": ("round", "phase", "tally", "abstentions", "threshold", "reached"),
    "decision.reached": ("decision", "rule", "votes", "threshold", "rounds_run", "review"),
    "debate.closed": ("outcome", "reason"),
}
ABANDONED = ("call", "error", "detail", "again", "cost_micro_usd", "latency_ms")
ENUMS = {
    "code": get_args(events.Rejection),
    "error": get_args(events.CallError),
    "outcome": get_args(events.Outcome),
    "phase": get_args(events.Phase),
    "rule": get_args(events.DecisionRule),
    ("turn.forfeited", "reason"): ("no_reply", "invalid_reply"),
    ("debate.closed", "reason"): get_args(events.CloseReason),
}
NULL = {"detail": "x", "latency_ms": 1, "cost_micro_usd": 1, "review": {"sha256": "0" * 64}}


def fields_of(event: Event) -> tuple[str, ...]:
    """The fields of an event that the rules determine."""
    kind, data = event["type"], event["data"]
    if kind == "call.failed" and data["error"] == "abandoned":
        return ABANDONED
    if kind == "debate.opened" and data["terms"]["rule"] != "threshold":
        return (*FIELDS[kind], "terms")
    return FIELDS.get(kind, ())


def alterations(record: Sequence[Event]) -> Iterator[tuple[int, str]]:
    """Every place and field of a record that must be found out when it is altered."""
    for place, event in enumerate(record):
        for field in fields_of(event):
            yield place, field


def altered(event: Event, field: str) -> Event:
    """The event with another value in one field."""
    value = _another(event["type"], field, event["data"][field])
    return parse(encode_line({**event, "data": {**event["data"], field: value}}))


def _another(kind: str, field: str, value: Any) -> Any:
    names = ENUMS.get((kind, field)) or ENUMS.get(field)
    if names:
        return names[names.index(value) - 1]
    if value is None:
        return NULL[field]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1] != "0" else "1")
    if field == "review":
        return None
    if isinstance(value, list):
        return [_member(value[0]), *value[1:]]
    return _member(value)


def _member(value: dict[str, Any]) -> dict[str, Any]:
    for field in ("sha256", "votes", "threshold"):
        if field in value:
            return {**value, field: _another("", field, value[field])}
    return {**value, "seed": 7}
