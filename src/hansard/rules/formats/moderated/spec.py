"""What a user writes of a `moderated` debate, and the templates of its roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from hansard.rules.similarity import fold
from hansard.rules.spec_base import BaseSpec
from hansard.rules.spec_parts import Advocates, Mistakes, Seat, Seated, mistake
from hansard.rules.terms import ModeratedTerms, Role

MOST_ROUNDS = 3
SIDES: tuple[Role, ...] = ("proposer", "critic", "rebuttal")
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "protocol": (),
    "block": ("label",),
    "again": ("code", "keyword", "member"),
    "framer": (),
    "proposer": ("position", "round"),
    "critic": ("position", "round"),
    "critic_again": ("code", "rating"),
    "rebuttal": ("position", "round"),
    "moderator": ("citations", "round"),
    "moderator_ranking": ("citations", "positions", "round"),
    "synthesizer": ("decision", "rule"),
}


class ModeratedSpec(BaseSpec):
    """A debate in the `moderated` format: propose, attack, defend, moderate."""

    TEMPLATES: ClassVar[Mapping[str, tuple[str, ...]]] = TEMPLATES
    COST_CEILING: ClassVar[int | None] = 500_000  # where the prices are known (D 21)

    format: Literal["moderated"] = Field(
        default="moderated", description="The format of the debate"
    )
    framer: Seat = Field(default=Seat(), description="Turns the question into a proposition")
    proposer: Seat | None = Field(default=None, description="Not with `positions`")
    positions: Advocates = Field(
        default=[], max_length=90, description="Two or more, each with a proposer of its own"
    )
    critic: Seat | None = Field(default=None, description="Attacks the proposal")
    rebuttal: Seat | None = Field(default=None, description="Answers every objection")
    moderator: Seat = Field(
        default=Seat(), description="Best of another model family than proposer and critic"
    )
    critique: bool = Field(default=True, description="With `positions`, false: nobody attacks them")
    max_rounds: int = Field(default=1, ge=1, description="The most rounds there can be, up to 3")
    require_critic_retry_below: int = Field(
        default=6, ge=1, le=10, description="A critique that rates itself below is sent back once"
    )
    min_challenge_strength: int = Field(
        default=6, ge=1, le=10, description="A last critique below is marked as weak"
    )
    require_cited_critique: bool = Field(
        default=False,
        description="A critique of which no citation of the evidence holds is sent back once",
    )
    neutrality_check: bool = Field(
        default=False, description="Moderate once more with the sides in the other order"
    )

    def _between(self) -> Mistakes:
        yield from super()._between()
        if self.max_rounds > MOST_ROUNDS:
            yield mistake(
                "spec.max_rounds",
                f"`max_rounds` is {self.max_rounds}, but a moderated debate has at most "
                f"{MOST_ROUNDS}; lower it",
            )
        if len(self.positions) == 1:
            yield mistake("spec.positions", "`positions` lists only one; list two or more, or none")
        if self.positions and self.proposer:
            yield mistake(
                "spec.positions", "with `positions` each has its own proposer; remove `proposer`"
            )
        if not (self.critique or self.positions):
            yield mistake(
                "spec.critique",
                "`critique: false` needs `positions`: a single proposition must have its critic",
            )
        if not self.critique and (self.critic or self.rebuttal):
            yield mistake("spec.critique", "`critique` is false; remove `critic` and `rebuttal`")
        if not self.critique and self.require_cited_critique:
            yield mistake("spec.critique", "`critique` is false; remove `require_cited_critique`")
        if {name for row in self.positions for name in (row.label, fold(row.stance))} & {*SIDES}:
            yield mistake(
                "spec.label",
                "a position cannot be called proposer, critic or rebuttal: those are roles; "
                "choose another label, or other words",
            )

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

    def terms(self) -> ModeratedTerms:
        """Return the terms of the opening."""
        return {
            "format": self.format,
            "positions": [row.label for row in self.positions],
            "critique": self.critique,
            "max_rounds": self.max_rounds,
            "require_critic_retry_below": self.require_critic_retry_below,
            "min_challenge_strength": self.min_challenge_strength,
            "require_cited_critique": self.require_cited_critique,
            "neutrality_check": self.neutrality_check,
        }
