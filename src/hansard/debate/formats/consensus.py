"""The `consensus` format: rounds of proposal, critique, revision, consensus.

All debaters speak in registration order. First proposals are independent and
asked for in parallel: nobody sees another's. From then on everybody sees every
earlier turn, in order. The votes that stand are counted after every phase, and
the debate stops when exactly one option has reached the threshold, or with
`escalate` when the rounds are used up (formats.md §1, §2; FORMAT.md §8).

When to use it: a high-stakes decision gains from several perspectives, must
show a counted vote, and unresolved disagreement has somebody to go to. When
not: one critic is enough, a test can decide it, or all seats would be one
model with one prompt. Cost: debaters x 4 x rounds calls at the most.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from hansard.debate.counting import RULE_NAMES, tally, winner
from hansard.debate.events import ClosedData, DecisionData, Fact, Phase, VotesCountedData
from hansard.debate.replies import Schema
from hansard.debate.state import DebateState, Step

PHASES: tuple[Phase, ...] = ("proposal", "critique", "revision", "consensus")
ESCALATE = "escalate"
# The templates, and what is filled into each (FORMAT.md §7).
FIELDS = {
    "protocol": ("options",),
    "block": ("label",),
    "debater": ("max_rounds", "options", "phase", "round", "speaker"),
}
TEMPLATES = tuple(FIELDS)


def reply_schema(options: Iterable[str]) -> Schema:
    """Return what a reply must be: stance and rationale in words, a vote for one option."""
    return _reply_schema(tuple(options))


@lru_cache(maxsize=64)
def _reply_schema(options: tuple[str, ...]) -> Schema:
    words = {"minLength": 1, "type": "string"}
    return {
        "additionalProperties": False,
        "properties": {
            "rationale": words,
            "stance": words,
            "vote": {"enum": list(options), "type": "string"},
        },
        "required": ["stance", "rationale", "vote"],
        "type": "object",
    }


def phase_of(number: int) -> tuple[int, Phase]:
    """Return round and phase of the phase with this number, both counted from the start."""
    return number // len(PHASES) + 1, PHASES[number % len(PHASES)]


def due(state: DebateState) -> tuple[Step, ...]:
    """Return the steps to be heard now: all of the first phase at once, then one by one."""
    return _due(len(state.turns), tuple(state.seats))


@lru_cache(maxsize=4096)  # a schedule depends on nothing else, and is asked for at every turn
def _due(turns: int, seats: tuple[str, ...]) -> tuple[Step, ...]:
    number, spoken = divmod(turns, len(seats))
    round_, phase = phase_of(number)
    last = len(seats) if number == 0 else spoken + 1
    return tuple(Step.of(round_, phase, speaker) for speaker in seats[spoken:last])


def next_fact(state: DebateState) -> Fact | None:
    """Return the derived fact that is due before anybody speaks again, if any."""
    if state.decision:
        return Fact("debate.closed", _close(state.decision))
    phases, rest = divmod(len(state.turns), len(state.seats))
    if rest or not phases:
        return None
    if len(state.counts) < phases:
        return Fact("votes.counted", _count(state, phases - 1))
    if state.counts[-1]["reached"] or phases == len(PHASES) * state.spec["terms"]["max_rounds"]:
        return Fact("decision.reached", _decide(state))
    return None


def _count(state: DebateState, number: int) -> VotesCountedData:
    terms = state.spec["terms"]
    rows, abstentions = tally(terms["options"], state.votes.values())
    round_, phase = phase_of(number)
    return {
        "round": round_,
        "phase": phase,
        "tally": rows,
        "abstentions": abstentions,
        "threshold": terms["threshold"],
        "reached": winner(rows, terms["threshold"]) is not None,
    }


def _decide(state: DebateState) -> DecisionData:
    terms, count = state.spec["terms"], state.counts[-1]
    found = winner(count["tally"], terms["threshold"])
    decision = found["option"] if found else ESCALATE
    held = {row["option"]: row["votes"] for row in count["tally"]}
    return {
        "decision": decision,
        "rule": RULE_NAMES[terms["rule"]] if found else "max_rounds_exhausted",
        "votes": held.get(decision, 0),
        "threshold": terms["threshold"],
        "rounds_run": state.rounds_run,
        "review": state.spec["review"] if decision == ESCALATE else None,
    }


def _close(decision: DecisionData) -> ClosedData:
    exhausted = decision["rule"] == "max_rounds_exhausted"
    return {
        "outcome": "complete",
        "reason": "max_rounds_exhausted" if exhausted else "votes_reached",
    }
