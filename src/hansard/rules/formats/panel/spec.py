"""What a user writes of a `panel` debate, and the templates of its roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal as Exact
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from hansard.rules import similarity
from hansard.rules.fields import Name
from hansard.rules.formats.common import MOST_OPTIONS
from hansard.rules.spec_base import BaseSpec
from hansard.rules.spec_parts import (
    Debater,
    Mistakes,
    Number,
    Seat,
    Seated,
    Text,
    between_options,
    mistake,
    refuse,
)
from hansard.rules.terms import PanelTerms, Resolution

LEAST = 2  # debaters, and of them heard
BY_JUDGE = ("synthesis", "pick")  # resolutions
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "protocol": (),
    "block": ("label",),
    "again": ("code", "keyword", "member"),
    "debater": ("last_round", "round", "speaker"),
    "chooser": ("last_round", "options", "round", "speaker"),
    "judge": (),
    "judge_choosing": ("options",),
    "judge_picking": ("labels",),
    "synthesizer": ("decision", "rule"),
}


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


class PanelSpec(BaseSpec):
    """A debate in the `panel` format: independent drafts, revised in parallel."""

    TEMPLATES: ClassVar[Mapping[str, tuple[str, ...]]] = TEMPLATES
    FIRST_ROUND: ClassVar[int] = 0

    format: Literal["panel"] = Field(default="panel", description="The format of the debate")
    debaters: list[Debater] = Field(
        default=[], max_length=98, description="Labelled seats; or `agents` of one model"
    )
    agents: int | None = Field(
        default=None, ge=2, le=98, description="How many of the debate's model; default: 3"
    )
    personas: list[Text] | None = Field(default=None, description="One for each agent or debater")
    judge: Seat | None = Field(
        default=None, description="Who combines or picks the answer; left out: nobody"
    )
    rounds: int = Field(default=2, ge=1, le=1000, description="After the independent round 0")
    options: list[Name] = Field(
        default=[],
        max_length=MOST_OPTIONS,
        description="What may be answered, where that is a choice",
        json_schema_extra={"anyOf": [{"maxItems": 0}, {"minItems": 2}]},
    )
    convergence_check: bool = Field(default=True, description="Stop once the drafts are alike")
    convergence_similarity: Number = Field(
        default="0.85", description="From 0 to 1; at 1 answers must be the same"
    )
    resolution: Resolution | None = Field(
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

    def _between(self) -> Mistakes:
        yield from super()._between()
        if self.debaters and self.agents:
            yield mistake("spec.agents", "give either `debaters` or `agents`, and not both")
        if Exact(self.convergence_similarity) > 1:
            yield mistake(
                "spec.out_of_range",
                f"`convergence_similarity` is {self.convergence_similarity}; it must lie from 0 "
                "to 1",
            )
        yield from between_options(self.options)
        if self.resolves == "judge" and self.judge is None:
            yield mistake("spec.judge", f"`resolution: {self.resolution}` needs a `judge`; add one")
        if self.resolves != "judge" and self.judge is not None:
            yield mistake(
                "spec.judge", f"`resolution: {self.resolution}` asks no judge; remove `judge`"
            )
        if self.judge_instructions and self.judge is None:
            yield mistake(
                "spec.judge", "`judge_instructions` need a `judge`; add one, or remove them"
            )

    def _at(self, table: list[Seated]) -> Mistakes:
        yield from super()._at(table)
        ids = [row.id for row in table if row.role == "debater"]
        if len(ids) < LEAST:
            yield mistake("spec.too_few", f"a panel needs at least {LEAST} debaters; add one")
        for option in self.options:
            if option in ("synthesis", *ids):
                yield mistake(
                    "spec.option",
                    f"{option!r} cannot be an option: it names another outcome; choose another",
                )

    @property
    def resolves(self) -> str:
        """Who resolves it: "judge", or the rule's own name."""
        how = self._resolution()
        return "judge" if how in BY_JUDGE else how

    @property
    def last_round(self) -> int:
        """The number of the last round there can be."""
        return self.rounds

    def replaced(self) -> Iterator[tuple[str, str]]:
        """Yield the templates that the user's own instructions stand in place of (D 35)."""
        for role in ("debater", "chooser") if self.debater_instructions else ():
            yield role, self.debater_instructions or ""
        for role in ("judge", "judge_choosing", "judge_picking") if self.judge_instructions else ():
            yield role, self.judge_instructions or ""

    def _drafters(self) -> list[Debater]:
        seats = self.debaters or [
            Debater(id=f"agent_{n}") for n in range(1, (self.agents or 3) + 1)
        ]
        personas = self.personas
        if personas is None and not self.debaters:
            if len(seats) > len(PERSONAS):
                refuse(
                    "spec.personas",
                    f"there are packaged personas for {len(PERSONAS)} agents, not for "
                    f"{len(seats)}; list `personas`, one for each",
                )
            personas = [*PERSONAS[: len(seats)]]
        if personas is None:
            return seats
        if len(personas) != len(seats):
            refuse(
                "spec.personas",
                f"`personas` lists {len(personas)}, but there are {len(seats)} debaters; list one "
                "for each",
            )
        return [
            row.model_copy(update={"persona": persona})
            for row, persona in zip(seats, personas, strict=True)
        ]

    def _rows(self) -> list[Seated]:
        rows = [self._seated("debater", row) for row in self._drafters()]
        return [*rows, self._seated("judge", self.judge)] if self.judge else rows

    def terms(self) -> PanelTerms:
        """Return the terms of the opening."""
        return {
            "format": self.format,
            "labels": [row.id for row in self._drafters()],
            "options": list(self.options),
            "max_rounds": self.rounds,
            "convergence_ppm": self._least_alike(),
            "resolution": self._resolution(),
            "fallback": self.fallback,
        }

    def _resolution(self) -> Resolution:
        if self.resolution:
            return self.resolution
        return "synthesis" if self.judge else "majority" if self.options else "similar"

    def _least_alike(self) -> int | None:
        """Return the least likeness of answers that end the rounds, in millionths."""
        share = int(Exact(self.convergence_similarity) * similarity.MILLION)
        return share if self.convergence_check else None
