"""The `consensus` format: rounds of proposal, critique, revision, consensus.

All debaters speak in registration order. First proposals are independent and
asked for in parallel: nobody sees another's. From then on everybody sees every
earlier turn, in order. The votes that stand are counted after every phase, and
the debate stops when exactly one option has reached the threshold, or with
`escalate` when the rounds are used up (RULES.md §2; FORMAT.md §8.1).

When to use it: a high-stakes decision gains from several perspectives where
one critic is too narrow, must show a counted vote, and unresolved disagreement
has somebody to go to. When not: one critic is enough, a test can decide it,
many calls cannot be paid for or waited for, or all seats would be one model
with one prompt. Cost: debaters x 4 x rounds calls at the most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal, cast

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from hansard.rules.counting import RULE_NAMES, needed, tally, winner
from hansard.rules.data import RegisteredData
from hansard.rules.events import Fact
from hansard.rules.fields import Name
from hansard.rules.formats.base import Format
from hansard.rules.formats.common import MOST_OPTIONS, counted, decided, silent, sound, still_in
from hansard.rules.prompts import TextOf
from hansard.rules.replies import JSON, Schema, members, one_of, words
from hansard.rules.spec_base import BaseSpec
from hansard.rules.spec_parts import Debater, Mistakes, Seated, between_options, mistake
from hansard.rules.state import DebateState, Step, Turn
from hansard.rules.terms import ESCALATE, CloseReason, ConsensusTerms, Role

PHASES = ("proposal", "critique", "revision", "consensus")
# The templates, and what is filled into each (FORMAT.md §7).
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "protocol": ("options",),
    "block": ("label",),
    "again": ("code", "keyword", "member"),
    "debater": ("max_rounds", "options", "phase", "round", "speaker"),
    "synthesizer": ("decision", "rule"),
}


def _threshold_with_its_rule(schema: JsonDict) -> None:
    """Say in the published schema which rule takes a threshold."""
    schema["if"] = {"properties": {"rule": {"const": "threshold"}}}
    schema["then"] = {"required": ["threshold"], "properties": {"threshold": {"type": "integer"}}}
    schema["else"] = {"properties": {"threshold": {"type": "null"}}}


class ConsensusSpec(BaseSpec):
    """A debate in the `consensus` format.

    `threshold` belongs to the rule `threshold` and has no default; `majority`
    is more than half of the debaters, `unanimity` all of them.
    """

    model_config = ConfigDict(json_schema_extra=_threshold_with_its_rule)

    TEMPLATES: ClassVar[Mapping[str, tuple[str, ...]]] = TEMPLATES
    TAKEN: ClassVar[frozenset[str]] = frozenset()  # a decision is an option, and never a seat

    format: Literal["consensus"] = Field(
        default="consensus", description="The format of the debate"
    )
    debaters: list[Debater] = Field(
        min_length=2, max_length=99, description="Who debates, in the order in which they speak"
    )
    options: list[Name] = Field(
        min_length=2, max_length=MOST_OPTIONS, description="What may be voted for"
    )
    rule: Literal["threshold", "majority", "unanimity"] = Field(
        default="threshold", description="How votes become a decision"
    )
    threshold: int | None = Field(
        default=None,
        ge=1,
        description="How many must hold one option; only with the rule `threshold`",
    )
    max_rounds: int = Field(ge=1, le=1000, description="The most rounds there can be")

    def _between(self) -> Mistakes:
        yield from super()._between()
        yield from between_options(self.options)
        if self.rule == "threshold" and self.threshold is None:
            yield mistake(
                "spec.threshold",
                "the rule `threshold` needs a `threshold`; say how many debaters must agree",
            )
        if self.rule != "threshold" and self.threshold is not None:
            yield mistake(
                "spec.threshold",
                f"the rule `{self.rule}` sets its own threshold; remove `threshold: "
                f"{self.threshold}`",
            )
        if self.needed > len(self.debaters):
            yield mistake(
                "spec.threshold",
                f"`threshold` is {self.needed}, but there are only {len(self.debaters)} debaters; "
                "lower it",
            )

    @property
    def needed(self) -> int:
        """How many debaters must hold one option."""
        return needed(self.rule, len(self.debaters), self.threshold or 0)

    @property
    def last_round(self) -> int:
        """The number of the last round there can be."""
        return self.max_rounds

    def _rows(self) -> list[Seated]:
        return [self._seated("debater", row) for row in self.debaters]

    def terms(self) -> ConsensusTerms:
        """Return the terms of the opening."""
        return {
            "format": self.format,
            "options": list(self.options),
            "rule": self.rule,
            "threshold": self.needed,
            "max_rounds": self.max_rounds,
        }


def terms_of(state: DebateState) -> ConsensusTerms:
    """Return the opening's terms."""
    return cast(ConsensusTerms, state.spec["terms"])


def schemas(terms: ConsensusTerms) -> dict[Role, Schema]:
    """Return what a reply must be: stance and rationale in words, a vote for one option."""
    return {"debater": _reply_schema(tuple(terms["options"]))}


@lru_cache(maxsize=64)
def _reply_schema(options: tuple[str, ...]) -> Schema:
    return members(stance=words(), rationale=words(), vote=one_of(options))


def settled(terms: ConsensusTerms, seats: int) -> ConsensusTerms | str:
    """Return the terms with the threshold that follows from the rule and the debaters."""
    if not (terms["options"] and sound(terms["options"])):
        return "1 to 100 options, each once, none of them abstain or undeclared"
    return {**terms, "threshold": needed(terms["rule"], seats, terms["threshold"])}


def wrong_seats(_terms: ConsensusTerms, seats: Sequence[RegisteredData]) -> str | None:
    """Every seat is a debater without a stance."""
    fit = bool(seats) and all(
        seat["role"] == "debater" and seat["stance"] is None for seat in seats
    )
    return None if fit else "debaters, without stances"


def phase_of(number: int) -> tuple[int, str]:
    """Return round and phase of the phase with this number, both counted from the start."""
    return number // len(PHASES) + 1, PHASES[number % len(PHASES)]


def due(state: DebateState) -> Fact | tuple[Step, ...] | CloseReason:
    """Return the count or decision that is due, else who speaks.

    All speak at once in the first phase, one by one in every later one.
    """
    many, terms = len(state.votes), terms_of(state)
    phases, rest = divmod(len(state.turns), many)
    if phases and not rest:
        if silent(state.turns[-many:]):
            return "nobody_heard"
        if len(state.counts) < phases:
            return _count(state, phases - 1)
        if state.counts[-1]["reached"] or phases == len(PHASES) * terms["max_rounds"]:
            return _decide(state)
    return _speakers(len(state.turns), tuple(state.votes))


@lru_cache(maxsize=4096)  # a schedule depends on nothing else, and is asked for at every turn
def _speakers(turns: int, seats: tuple[str, ...]) -> tuple[Step, ...]:
    number, spoken = divmod(turns, len(seats))
    round_, phase = phase_of(number)
    last = len(seats) if number == 0 else spoken + 1
    return tuple(Step.of(round_, phase, speaker) for speaker in seats[spoken:last])


def _count(state: DebateState, number: int) -> Fact:
    terms = terms_of(state)
    rows, abstentions = tally(terms["options"], state.votes.values())
    round_, phase = phase_of(number)
    return counted(round_, phase, rows, abstentions, terms["threshold"])


def _decide(state: DebateState) -> Fact:
    terms, count = terms_of(state), state.counts[-1]
    found = winner(count["tally"], terms["threshold"])
    decision = found["option"] if found else ESCALATE
    held = {row["option"]: row["votes"] for row in count["tally"]}
    return decided(
        state,
        decision,
        RULE_NAMES[terms["rule"]] if found else "max_rounds_exhausted",
        votes=held.get(decision, 0),
        threshold=terms["threshold"],
    )


def lost(state: DebateState) -> bool:
    """Whether fewer debaters are left than must hold one option."""
    return len(still_in(state)) < terms_of(state)["threshold"]


def reason(state: DebateState) -> CloseReason:
    """Return why it stopped."""
    exhausted = state.decision and state.decision["rule"] == "max_rounds_exhausted"
    return "max_rounds_exhausted" if exhausted else "votes_reached"


def most_turns(terms: ConsensusTerms, debaters: int) -> int:
    """Everybody speaks in every phase of every round."""
    return debaters * len(PHASES) * terms["max_rounds"]


def read(_state: DebateState, _step: Step, value: JSON, _text_of: TextOf) -> dict[str, Any]:
    """Return the vote."""
    return {"vote": value["vote"], "case": None}


def admits(state: DebateState, _step: Step, data: Mapping[str, Any]) -> bool:
    """A vote is for a declared option."""
    return data["vote"] in terms_of(state)["options"] and data["case"] is None


def template(_state: DebateState, _step: Step) -> str:
    """Every debater has the same template."""
    return "debater"


def values(state: DebateState, step: Step | None) -> dict[str, str]:
    """Return what is filled into the protocol (no step), or into a debater's instruction."""
    terms = terms_of(state)
    options = {"options": ", ".join(terms["options"])}
    if step is None:
        return options
    return options | {
        "max_rounds": str(terms["max_rounds"]),
        "phase": step.phase,
        "round": str(step.round),
        "speaker": step.speaker,
    }


def label(_state: DebateState, turn: Turn) -> tuple[str, bool]:
    """A turn is titled with its place in the schedule, and quoted as it is."""
    data = turn.data
    return f"{data['speaker']}, round {data['round']}, {data['phase']}", False


CONSENSUS = Format(
    summary="debaters propose, criticise and vote",
    spec=ConsensusSpec,
    schemas=schemas,
    most_turns=most_turns,
    settled=settled,
    wrong_seats=wrong_seats,
    due=due,
    lost=lost,
    reason=reason,
    read=read,
    admits=admits,
    template=template,
    values=values,
    label=label,
)
