"""Debates in which a critic's prompt is tried: each on a question of its own."""

import hansard
from support import answered, argued

EVIDENCE = "Payment is due within thirty days. Liability is capped at one year of fees."
NOTHING = argued(words="This is generally reasonable; the font is small.")
CITED = argued(("contract", "capped at one year of fees"), words="One year is too little.")
STRUCK = argued(("contract", "no such words"), words="It says nothing of the kind.")
FRAMING = {"thesis": "It is safe.", "scope": "All.", "criteria": ["Risk"], "key_evidence": []}
PROPOSITION = {
    "thesis": "It is safe.",
    "supporting_arguments": [argued(words="It is capped.")],
    "anticipated_objections": [],
}
MODERATION = {
    "scores": {"proposer": 8, "critic": 7, "rebuttal": 6},
    "resolved_points": [],
    "unresolved_points": [],
    "recommend_another_round": False,
    "synthesis": "Sign.",
    "confidence": "MODERATE",
    "explicit_uncertainties": ["The size of a loss."],
    "upholds_proposition": True,
}


def tried(store, argument=NOTHING, rating=9, *, conceded=False, **spec):
    """Run one debate whose critic says this of itself; return its id."""
    concessions = [{"objection": 1, "reason": "That is so."}] if conceded else []
    replies = {
        "framing": FRAMING,
        "proposition": PROPOSITION,
        "critique": {
            "thesis": "It is not.",
            "counter_arguments": [argument],
            "challenge_strength": rating,
        },
        "rebuttal": {
            "thesis": "It is.",
            "rebuttals": [] if conceded else [answered(1)],
            "concessions": concessions,
        },
        "moderation": MODERATION,
    }
    fields = {
        "format": "moderated",
        "question": "Is the clause safe?",
        "model": "python:seat",
        "evidence": [{"id": "contract", "text": EVIDENCE}],
    }
    seats = {"seat": lambda request: replies[request.phase]}
    return hansard.run_sync(fields | spec, models=seats, store=store).debate


def trial(store, number, *words, first=0, **more):
    """Run so many of them, on other questions, and return their records."""
    asked = [f"Is clause {place} safe?" for place in range(first, first + number)]
    made = [tried(store, *words, question=question, **more) for question in asked]
    return [hansard.read_record(store, debate) for debate in made]
