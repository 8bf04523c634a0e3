"""How a record begins: its opening, its seats in order, its documents (FORMAT.md §11, rule 1).

Or a gate's answer, after which no debate is held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from hansard.record.canonical import dump
from hansard.rules import gate
from hansard.rules.data import Event, GateAnsweredData, OpenedData, RegisteredData
from hansard.rules.fields import Estimated, Origin, TemplateHash
from hansard.rules.formats import format_of
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState
from hansard.rules.steps import NotDue
from hansard.rules.transcript import CALLABLE

OFFLINE = ("scripted:", "recorded:")  # models whose replies nobody paid for
LOCAL = (*OFFLINE, *CALLABLE)  # models that are asked without a wire; others: providers'


def derive(state: DebateState, event: Event, text_of: TextOf) -> Mapping[str, Any]:
    """Return the fields that the rules determine of the next event of an opening.

    The opening first, then seats in order of position, then documents; no id twice. `text_of`
    gives a blob's text, None where it is gone. Raises NotDue for any other event.
    """
    kind: str = event["type"]
    data: Any = event["data"]
    if kind == "gate.answered" and state.opened is None:
        return _gated(data, text_of)
    if state.opened is None:
        return _opening(kind, data, event["debate"], text_of)
    seats = state.spec["seats"]
    if len(state.seats) < seats:
        if kind != "debater.registered" or data["id"] in state.seats:
            raise NotDue(f"debater.registered at position {len(state.seats) + 1}")
        rounds = [row["round"] for row in data["instructions"] or ()]
        if rounds != sorted(set(rounds)):
            raise NotDue("debater.registered with instructions in order of rounds, each once")
        if len(state.seats) == seats - 1:
            _last_seat(state, data)
        return {"position": len(state.seats) + 1}
    if kind != "evidence.admitted" or data["document"] in {
        row["document"] for row in state.evidence
    }:
        raise NotDue("evidence.admitted")
    if data["original"] and not data["source"]:
        raise NotDue("evidence.admitted without an original, since it has no source")
    return {}


def _opening(kind: str, data: OpenedData, debate: str, text_of: TextOf) -> Mapping[str, Any]:
    if kind != "debate.opened":
        raise NotDue("debate.opened or gate.answered")
    rules = format_of(data["terms"])
    synthesizer = data["schemas"][-1:] if _synthesizes(data) else []
    terms = rules.settled(data["terms"], data["seats"] - len(synthesizer))
    if isinstance(terms, str):
        raise NotDue(f"debate.opened with {terms}")
    if [row["role"] for row in data["templates"]] != list(rules.templates):
        raise NotDue("debate.opened with one template each for " + ", ".join(rules.templates))
    _own_words(data, debate)
    if data["gate"] and gate.contradicts(data["gate"], data["task_type"], text_of):
        raise NotDue("debate.opened with a gate that follows from what it was asked")
    own: list[TemplateHash] = [
        {"role": role, "sha256": sha256(dump(schema)).hexdigest()}
        for role, schema in rules.schemas(terms).items()
    ]
    return {"terms": terms, "schemas": own + synthesizer}


def _gated(data: GateAnsweredData, text_of: TextOf) -> Mapping[str, Any]:
    _in_order("gate.answered", data["labels"])
    if gate.contradicts(data["gate"], data["gate"]["task_type"], text_of):
        raise NotDue("gate.answered with what follows from what it was asked")
    return {}


def _in_order(kind: str, labels: list[str]) -> None:
    if labels != sorted(set(labels)):
        raise NotDue(f"{kind} with labels in order, each once")


def _own_words(data: OpenedData, debate: str) -> None:
    """What a debate says of itself agrees with itself."""
    expected, origin = data["estimate"], data["origin"]
    _in_order("debate.opened", data["labels"])
    if expected and not (
        expected["calls_least"] <= expected["calls_most"] and _ascend(_costs(expected))
    ):
        raise NotDue("debate.opened with an estimate whose least is not above its most")
    if origin and not _goes_back(origin, debate):
        raise NotDue("debate.opened with an origin that names what its kind names")


def _costs(expected: Estimated) -> list[int | None]:
    return [
        expected["cost_least_micro_usd"],
        expected["cost_expected_micro_usd"],
        expected["cost_most_micro_usd"],
    ]


def _ascend(costs: Sequence[int | None]) -> bool:
    """Whether all costs are unknown, or all are known and in order."""
    known = [cost for cost in costs if cost is not None]
    return len(known) in (0, len(costs)) and known == sorted(known)


def _goes_back(origin: Origin, own: str) -> bool:
    """Whether an origin names another debate and its head, as its kind wants; a branch an entry."""
    debate, head = origin["debate"], origin["head"]
    named = debate != own and (debate is not None or origin["kind"] == "evaluation")
    is_branch = origin["kind"] == "branch"
    return named and (debate is None) == (head is None) and (origin["seq"] is not None) == is_branch


def _last_seat(state: DebateState, last: RegisteredData) -> None:
    """The seats are those of the format, and offline replies are labelled as such."""
    spec, rows = state.spec, [*state.seats.values(), last]
    models = {row["model"] for row in rows}
    offline = any(model.startswith(OFFLINE) for model in models)
    if _synthesizes(spec):
        extra = rows.pop()
        if extra["role"] != "synthesizer" or extra["stance"]:
            raise NotDue("debater.registered for the synthesizer")
    wanted = format_of(spec["terms"]).wrong_seats(spec["terms"], rows)
    if wanted:
        raise NotDue(f"debater.registered for {wanted}")
    priced = models <= {row["model"] for row in spec["prices"]}
    if spec["estimate"] and (spec["estimate"]["cost_most_micro_usd"] is not None) != priced:
        raise NotDue("debate.opened with an estimated cost where each model has its price")
    if offline != spec["scripted"]:
        raise NotDue(f"debate.opened with scripted: {str(offline).lower()}")


def _synthesizes(opened: OpenedData) -> bool:
    """Whether the opening announces a synthesizer: it names the schema of its reply."""
    return bool(opened["schemas"]) and opened["schemas"][-1]["role"] == "synthesizer"
