"""How a record begins: its opening, its seats in order, its documents (FORMAT.md §11, rule 1)."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from hansard.record.canonical import dump
from hansard.rules.data import OpenedData, RegisteredData
from hansard.rules.fields import TemplateHash
from hansard.rules.formats import format_of
from hansard.rules.state import DebateState
from hansard.rules.steps import NotDue
from hansard.rules.transcript import CUSTOM

OFFLINE = ("scripted:", "recorded:")  # models whose replies nobody paid for
LOCAL = (*OFFLINE, "python:", CUSTOM)  # models that are asked without a wire; others: providers'


def derive(state: DebateState, kind: str, data: Any) -> Mapping[str, Any]:
    """Return the fields that the rules determine of the next event of an opening.

    The opening first, then seats in order of position, then documents; no id twice.
    Raises NotDue for any other event.
    """
    if state.opened is None:
        return _opening(kind, data)
    seats = state.spec["seats"]
    if len(state.seats) < seats:
        if kind != "debater.registered" or data["id"] in state.seats:
            raise NotDue(f"debater.registered at position {len(state.seats) + 1}")
        if len(state.seats) == seats - 1:
            _last_seat(state, data)
        return {"position": len(state.seats) + 1}
    if kind != "evidence.admitted" or data["document"] in {
        row["document"] for row in state.evidence
    }:
        raise NotDue("evidence.admitted")
    return {}


def _opening(kind: str, data: OpenedData) -> Mapping[str, Any]:
    if kind != "debate.opened":
        raise NotDue("debate.opened")
    rules = format_of(data["terms"])
    synthesizer = data["schemas"][-1:] if _synthesizes(data) else []
    terms = rules.settled(data["terms"], data["seats"] - len(synthesizer))
    if isinstance(terms, str):
        raise NotDue(f"debate.opened with {terms}")
    if [row["role"] for row in data["templates"]] != list(rules.templates):
        raise NotDue("debate.opened with one template each for " + ", ".join(rules.templates))
    own: list[TemplateHash] = [
        {"role": role, "sha256": sha256(dump(schema)).hexdigest()}
        for role, schema in rules.schemas(terms).items()
    ]
    return {"terms": terms, "schemas": own + synthesizer}


def _last_seat(state: DebateState, last: RegisteredData) -> None:
    """The seats are those of the format, and offline replies are labelled as such."""
    spec, rows = state.spec, [*state.seats.values(), last]
    offline = any(row["model"].startswith(OFFLINE) for row in rows)
    if _synthesizes(spec):
        extra = rows.pop()
        if extra["role"] != "synthesizer" or extra["stance"]:
            raise NotDue("debater.registered for the synthesizer")
    wanted = format_of(spec["terms"]).wrong_seats(spec["terms"], rows)
    if wanted:
        raise NotDue(f"debater.registered for {wanted}")
    if offline != spec["scripted"]:
        raise NotDue(f"debate.opened with scripted: {str(offline).lower()}")


def _synthesizes(opened: OpenedData) -> bool:
    """Whether the opening announces a synthesizer: it names the schema of its reply."""
    return bool(opened["schemas"]) and opened["schemas"][-1]["role"] == "synthesizer"
