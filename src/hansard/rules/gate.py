"""Whether a question is worth a debate: the conditions of a gate (FORMAT.md §3).

    downside    a wrong answer costs more than `factor` times the cost threshold
    uncertain   a single model's answer has a low confidence score, or hedges
    high_risk   the kind of question is one in which single answers are known to miss much

A debate is advised where the question is contested, and the conditions that the rule asks for
are met. What fills a record and what answers in a program are the same functions.
"""

from __future__ import annotations

from hansard.rules.fields import Gate, GateCondition, GateRule
from hansard.rules.prompts import TextOf
from hansard.rules.similarity import MAX_COMPARED, first_phrase

FACTOR = 50
RULE: GateRule = "downside"
LOW_PPM = 700_000  # a confidence score below it is low
HIGH_RISK = ("contract", "security", "architecture", "investment", "compliance")
_HEDGES = """
not sure, not certain, not clear, unsure, uncertain, unclear, hard to say, difficult to say,
it depends, i think, i believe, i guess, it seems, might be, may be, could be, perhaps, possibly,
probably
"""
HEDGES = frozenset(_HEDGES.strip().replace("\n", " ").split(", "))


def hedge(answer: str) -> str | None:
    """Return the first phrase by which an answer hedges; else None.

    >>> hedge("It isn't clear to me. Probably yes.")
    'probably'
    >>> hedge("That cannot possibly hold.")
    """
    return first_phrase(answer[:MAX_COMPARED], HEDGES)


def is_low(confidence_ppm: int | None) -> bool:
    """Say whether a confidence score is known and low."""
    return confidence_ppm is not None and confidence_ppm < LOW_PPM


def settled(gate: Gate, *, hedged: bool) -> Gate:
    """Return a gate with what follows from what it was asked: its conditions and its advice.

    `hedged` says whether the single answer hedges.
    """
    downside, threshold = gate["downside_micro_usd"], gate["threshold_micro_usd"]
    conditions: list[GateCondition] = [
        {
            "name": "downside",
            "met": downside is not None
            and threshold is not None
            and downside > threshold * gate["factor"],
        },
        {"name": "uncertain", "met": hedged or is_low(gate["confidence_ppm"])},
        {"name": "high_risk", "met": gate["task_type"] in HIGH_RISK},
    ]
    met = [row["met"] for row in conditions]
    enough = {"downside": met[0], "any": any(met), "all": all(met)}
    advised = gate["contested"] and enough[gate["rule"]]
    return {**gate, "conditions": conditions, "advised": advised}


def rests_on(gate: Gate) -> str | None:
    """Return the name of the answer that decides a condition; None where no text does."""
    answer = gate["answer"]
    return None if answer is None or is_low(gate["confidence_ppm"]) else answer["sha256"]


def contradicts(gate: Gate, task_type: str | None, text_of: TextOf) -> bool:
    """Say whether a recorded gate does not follow from what it was asked.

    If the answer is gone, nobody can tell whether it hedges: what the record says is accepted.
    """
    name, hedged = rests_on(gate), False
    if name is not None:
        text = text_of(name)
        stated = {"name": "uncertain", "met": True} in gate["conditions"]
        hedged = stated if text is None else hedge(text) is not None
    return gate["task_type"] != task_type or gate != settled(gate, hedged=hedged)


def is_unread(gate: Gate | None, text_of: TextOf) -> bool:
    """Say whether the answer that decides a condition is gone."""
    name = rests_on(gate) if gate else None
    return name is not None and text_of(name) is None
