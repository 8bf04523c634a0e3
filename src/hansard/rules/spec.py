"""What a user writes: the spec of a debate, one class for each format.

Nothing here reads a file or a clock: `runtime.inputs` loads a spec and the
files that it names.
"""

from __future__ import annotations

from decimal import Decimal as Exact
from typing import Annotated, Any, Literal, Self

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)
from pydantic.config import JsonDict

from hansard.rules import similarity
from hansard.rules.counting import needed
from hansard.rules.fields import Name
from hansard.rules.spec_base import BaseSpec
from hansard.rules.spec_parts import (
    Advocate,
    Debater,
    Number,
    Seat,
    Seated,
    Text,
    refuse,
    unique,
)

# What agents of one model get that were given no personas of their own (D 36).
PERSONAS = (
    "You reason from first principles and distrust whatever cannot be derived.",
    "You are a practitioner: you ask what happened when somebody tried it, and at what cost.",
    "You are a sceptic: you look for the strongest reason why the obvious answer is wrong.",
    "You think in rare cases: what can go badly wrong, for whom, and can it be undone?",
    "You read the evidence closely and say exactly what it shows and what it does not.",
    "You speak for those who are affected and are not in the room.",
    "You look for what all sides take for granted, and ask whether it holds.",
    "You think long-term: what will this be like to live with in five years?",
)


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

    format: Literal["consensus"] = "consensus"
    debaters: list[Debater] = Field(min_length=2, max_length=99)
    options: list[Name] = Field(min_length=1, max_length=100, description="What may be voted for")
    rule: Literal["threshold", "majority", "unanimity"] = "threshold"
    threshold: int | None = Field(default=None, ge=1)
    max_rounds: int = Field(ge=1, le=1000)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _options(self.options)
        if self.rule == "threshold" and self.threshold is None:
            refuse("spec.threshold", "the rule threshold needs `threshold`: how many must agree")
        if self.rule != "threshold" and self.threshold is not None:
            refuse("spec.threshold", f"the rule {self.rule} sets its threshold; leave yours out")
        if self.needed > len(self.debaters):
            many = len(self.debaters)
            refuse("spec.threshold", f"threshold {self.needed} is above the {many} debaters")
        return self

    @property
    def needed(self) -> int:
        """How many debaters must hold one option."""
        count = needed(self.rule, len(self.debaters), self.threshold)
        assert count is not None, "validated: the rule 'threshold' has one"
        return count

    @property
    def last_round(self) -> int:
        """The number of the last round there can be."""
        return self.max_rounds

    def _rows(self) -> list[Seated]:
        return [self._seated("debater", row) for row in self.debaters]

    def terms(self) -> dict[str, Any]:
        """Return the terms of the opening."""
        return {
            "format": self.format,
            "options": list(self.options),
            "rule": self.rule,
            "threshold": self.needed,
            "max_rounds": self.max_rounds,
        }


class JudgedSpec(BaseSpec):
    """A debate in the `judged` format: assigned stances, and one judge at the end."""

    format: Literal["judged"] = "judged"
    debaters: list[Advocate] = Field(min_length=2, max_length=98)
    judge: Seat = Field(default=Seat(), description="Reads all of it once, after the last round")
    max_rounds: int = Field(default=2, ge=1, le=1000)
    anonymize_transcript: bool = Field(default=True, description="The judge sees no names")
    shuffle_for_judge: bool = Field(
        default=True, description="The judge sees each round in an order drawn from the seed"
    )

    @field_validator("judge", mode="before")
    @classmethod
    def _needs_judge(cls, value: object) -> object:
        if value is False or value is None:
            refuse("spec.judge", "a judged debate cannot do without its judge")
        return value

    @property
    def last_round(self) -> int:
        """The number of the last round there can be."""
        return self.max_rounds

    def _rows(self) -> list[Seated]:
        return [
            *(self._seated("debater", row) for row in self.debaters),
            self._seated("judge", self.judge),
        ]

    def terms(self) -> dict[str, Any]:
        """Return the terms of the opening."""
        return {
            "format": self.format,
            "stances": [row.label for row in self.debaters],
            "max_rounds": self.max_rounds,
            "anonymize_transcript": self.anonymize_transcript,
            "shuffle_for_judge": self.shuffle_for_judge,
        }


class ModeratedSpec(BaseSpec):
    """A debate in the `moderated` format: propose, attack, defend, moderate."""

    format: Literal["moderated"] = "moderated"
    framer: Seat = Seat()
    proposer: Seat | None = Field(default=None, description="Not with `positions`")
    positions: list[Advocate] = Field(
        default=[], max_length=90, description="Two or more, each with a proposer of its own"
    )
    critic: Seat | None = None
    rebuttal: Seat | None = None
    moderator: Seat = Field(
        default=Seat(), description="Best of another model family than proposer and critic"
    )
    critique: bool = Field(default=True, description="With `positions`, false: nobody attacks them")
    max_rounds: int = Field(default=1, ge=1)
    require_critic_retry_below: int = Field(
        default=6, ge=1, le=10, description="A critique that rates itself below is sent back once"
    )
    min_challenge_strength: int = Field(
        default=6, ge=1, le=10, description="A last critique below is marked as weak"
    )
    neutrality_check: bool = Field(
        default=False, description="Moderate once more with the sides in the other order"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.max_rounds > 3:
            refuse("spec.max_rounds", "a moderated debate has at most 3 rounds")
        if len(self.positions) == 1:
            refuse("spec.positions", "one position is no choice; name two or more, or none")
        if self.positions and self.proposer:
            refuse("spec.positions", "with `positions` each has its proposer; leave `proposer` out")
        if not (self.critique or self.positions):
            refuse("spec.critique", "one proposition needs its critic; critique cannot be false")
        if not self.critique and (self.critic or self.rebuttal):
            refuse("spec.critique", "critique is false; leave critic and rebuttal out")
        if {row.label for row in self.positions} & {"proposer", "critic", "rebuttal"}:
            refuse(
                "spec.label", "proposer, critic and rebuttal are roles; label a position otherwise"
            )
        return self

    @property
    def last_round(self) -> int:
        """The number of the last round there can be."""
        return self.max_rounds

    def _rows(self) -> list[Seated]:
        proposers: list[Seat] = [*self.positions] or [self.proposer or Seat()]
        rows = [self._seated("framer", self.framer)]
        rows += [self._seated("proposer", row) for row in proposers]
        if self.critique:
            rows.append(self._seated("critic", self.critic or Seat()))
            rows.append(self._seated("rebuttal", self.rebuttal or Seat()))
        return [*rows, self._seated("moderator", self.moderator)]

    def terms(self) -> dict[str, Any]:
        """Return the terms of the opening."""
        return {
            "format": self.format,
            "positions": [row.label for row in self.positions],
            "critique": self.critique,
            "max_rounds": self.max_rounds,
            "require_critic_retry_below": self.require_critic_retry_below,
            "min_challenge_strength": self.min_challenge_strength,
            "neutrality_check": self.neutrality_check,
        }


class PanelSpec(BaseSpec):
    """A debate in the `panel` format: independent drafts, revised in parallel."""

    format: Literal["panel"] = "panel"
    debaters: list[Debater] = Field(
        default=[], max_length=98, description="Labelled seats; or `agents` of one model"
    )
    agents: int | None = Field(
        default=None, ge=2, le=98, description="How many of the debate's model; default: 3"
    )
    personas: list[Text] | None = Field(default=None, description="One for each agent or debater")
    judge: Seat | None = None
    rounds: int = Field(default=2, ge=1, le=1000, description="After the independent round 0")
    options: list[Name] = Field(
        default=[], max_length=100, description="What may be answered, where that is a choice"
    )
    convergence_check: bool = True
    convergence_similarity: Number = Field(
        default="0.85", description="From 0 to 1; at 1 answers must be the same"
    )
    resolution: Literal["synthesis", "pick", "majority", "similar"] | None = Field(
        default=None,
        description="A judge's synthesis or pick; without one the majority of the last round, "
        "or the most similar draft. Default: synthesis, majority with options, else similar",
    )
    fallback: Literal["escalate", "similar"] = Field(
        default="escalate", description="What follows where no majority is found"
    )
    debater_instructions: Text | None = Field(
        default=None, description="In place of the packaged instruction"
    )
    judge_instructions: Text | None = Field(
        default=None, description="In place of the packaged instruction"
    )

    @field_validator("convergence_similarity", mode="before")
    @classmethod
    def _as_written(cls, value: object) -> object:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return str(value) if is_number else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.debaters and self.agents:
            refuse("spec.agents", "name the debaters, or say how many agents; not both")
        if len(self._drafters()) < 2:
            refuse("spec.too_few", "a panel needs at least two debaters")
        if Exact(self.convergence_similarity) > 1:
            refuse("spec.out_of_range", "convergence_similarity is a share from 0 to 1")
        _options(self.options)
        for option in self.options:
            if option in ("synthesis", *(row.id for row in self._drafters())):
                refuse("spec.option", f"{option!r} cannot be an option: it names another outcome")
        if self.resolves == "judge" and self.judge is None:
            refuse("spec.judge", f"the resolution {self.resolution} needs a judge")
        if self.resolves != "judge" and self.judge is not None:
            refuse("spec.judge", f"the resolution {self.resolution} asks no judge; leave it out")
        if self.judge_instructions and self.judge is None:
            refuse("spec.judge", "judge_instructions need a judge")
        return self

    @property
    def resolves(self) -> str:
        """Who resolves it: "judge", or the rule's own name."""
        how = self.terms()["resolution"]
        return "judge" if how in ("synthesis", "pick") else str(how)

    @property
    def last_round(self) -> int:
        """The number of the last round there can be."""
        return self.rounds

    def _drafters(self) -> list[Debater]:
        seats = self.debaters or [
            Debater(id=f"agent_{n}") for n in range(1, (self.agents or 3) + 1)
        ]
        personas = self.personas
        if personas is None and not self.debaters:
            if len(seats) > len(PERSONAS):
                refuse(
                    "spec.personas", f"more than {len(PERSONAS)} agents need `personas` of theirs"
                )
            personas = [*PERSONAS[: len(seats)]]
        if personas is None:
            return seats
        if len(personas) != len(seats):
            refuse("spec.personas", f"there are {len(personas)} personas for {len(seats)} debaters")
        return [
            row.model_copy(update={"persona": persona})
            for row, persona in zip(seats, personas, strict=True)
        ]

    def _rows(self) -> list[Seated]:
        rows = [self._seated("debater", row) for row in self._drafters()]
        return [*rows, self._seated("judge", self.judge)] if self.judge else rows

    def terms(self) -> dict[str, Any]:
        """Return the terms of the opening."""
        default = "synthesis" if self.judge else "majority" if self.options else "similar"
        share = int(Exact(self.convergence_similarity) * similarity.MILLION)
        return {
            "format": self.format,
            "labels": [row.id for row in self._drafters()],
            "options": list(self.options),
            "max_rounds": self.rounds,
            "convergence_ppm": share if self.convergence_check else None,
            "resolution": self.resolution or default,
            "fallback": self.fallback,
        }


def _options(options: list[str]) -> None:
    unique("option", options)
    if "abstain" in options:
        refuse("spec.option", "'abstain' cannot be an option: it is what silence counts as")


def _format_of(value: Any) -> str:
    """Return which spec a value is: `consensus` where it does not say."""
    if isinstance(value, dict):
        return str(value.get("format", "consensus"))
    return str(value.format)


SPECS: dict[str, type[BaseSpec]] = {
    "consensus": ConsensusSpec,
    "judged": JudgedSpec,
    "moderated": ModeratedSpec,
    "panel": PanelSpec,
}
DebateSpec = Annotated[
    Annotated[ConsensusSpec, Tag("consensus")]
    | Annotated[JudgedSpec, Tag("judged")]
    | Annotated[ModeratedSpec, Tag("moderated")]
    | Annotated[PanelSpec, Tag("panel")],
    Discriminator(_format_of),
]
AnySpec = ConsensusSpec | JudgedSpec | ModeratedSpec | PanelSpec
