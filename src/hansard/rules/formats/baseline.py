"""The `baseline` format: one seat answers one prompt, once or many times, and nobody debates.

It is what a debate is measured against. One draw is a single agent; several are
self-consistency. All draws are due at once and have the same prompt, so that none
can see another's answer. With options the most frequent answer is taken, and a tie
is `escalate`; without them the first answer is the result (RULES.md §16;
FORMAT.md §8.5).

When to use it: as the rival of a debate with as many calls. When not: to decide
something. Cost: `draws` calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, cast

from pydantic import Field

from hansard.rules.counting import tally
from hansard.rules.data import RegisteredData
from hansard.rules.events import Fact
from hansard.rules.fields import Name
from hansard.rules.formats.base import Format
from hansard.rules.formats.common import (
    MOST_OPTIONS,
    UNSOUND,
    by_count,
    counted,
    decided,
    silent,
    sound,
)
from hansard.rules.prompts import TextOf
from hansard.rules.replies import JSON, Schema, members, one_of, words
from hansard.rules.spec_base import BaseSpec
from hansard.rules.spec_parts import Mistakes, Seat, Seated, between_options
from hansard.rules.state import DebateState, Step, Turn
from hansard.rules.terms import OUTCOMES, BaselineTerms, CloseReason, Role

ROUND = 1  # the only one
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "protocol": (),
    "block": ("label",),
    "again": ("code", "keyword", "member"),
    "debater": (),
    "chooser": ("options",),
    "synthesizer": ("decision", "rule"),
}


class BaselineSpec(BaseSpec):
    """Answers of one seat to one prompt, each without a look at the others.

    With `draws` 1 it is a single agent, with more it is self-consistency: the rivals
    of a debate with as many calls.

    >>> import hansard
    >>> def ask(request):
    ...     return {"answer": "I tried it.", "choice": "no" if request.phase == "draw-2" else "yes"}
    >>> result = hansard.debate(
    ...     "Does it run?", format="baseline", model=ask, draws=3, options=["yes", "no"]
    ... )
    >>> result.decision, result.decision_rule, result.vote_tally
    ('yes', 'plurality_vote', {'yes': 2, 'no': 1})
    """

    TEMPLATES: ClassVar[Mapping[str, tuple[str, ...]]] = TEMPLATES

    format: Literal["baseline"] = Field(default="baseline", description="The format of the debate")
    debater: Seat = Field(default=Seat(), description="Who answers; default: the debate's model")
    draws: int = Field(default=1, ge=1, le=99, description="How often it answers, all at once")
    options: list[Name] = Field(
        default=[],
        max_length=MOST_OPTIONS,
        description="What may be answered, where that is a choice",
        json_schema_extra={"anyOf": [{"maxItems": 0}, {"minItems": 2}]},
    )

    def _between(self) -> Mistakes:
        yield from super()._between()
        yield from between_options(self.options)

    @property
    def last_round(self) -> int:
        """The number of the last round there can be."""
        return ROUND

    def _rows(self) -> list[Seated]:
        return [self._seated("debater", self.debater)]

    def terms(self) -> BaselineTerms:
        """Return the terms of the opening."""
        return {
            "format": self.format,
            "options": list(self.options),
            "draws": self.draws,
            "max_rounds": ROUND,
        }


def terms_of(state: DebateState) -> BaselineTerms:
    """Return the opening's terms."""
    return cast(BaselineTerms, state.spec["terms"])


def number_of(phase: str) -> int:
    """Return which draw this phase is: `draw-3` is the third."""
    return int(phase.partition("-")[2])


def settled(terms: BaselineTerms, _seats: int) -> BaselineTerms | str:
    """Nothing is derived, but options must be what can be chosen."""
    return terms if sound(terms["options"]) else UNSOUND


def wrong_seats(_terms: BaselineTerms, seats: Sequence[RegisteredData]) -> str | None:
    """One debater without a stance, who is called as no outcome is."""
    found = [(seat["role"], seat["stance"], seat["id"] in OUTCOMES) for seat in seats]
    return None if found == [("debater", None, False)] else "one debater"


def schemas(terms: BaselineTerms) -> dict[Role, Schema]:
    """An answer is words, with a choice among options."""
    options = terms["options"]
    return {"debater": members(answer=words(), choice=one_of(options)) if options else words()}


def due(state: DebateState) -> Fact | tuple[Step, ...] | CloseReason:
    """Return all draws, then their count, and what it decides."""
    terms, (seat,) = terms_of(state), state.votes
    if len(state.turns) < terms["draws"]:
        left = range(len(state.turns) + 1, terms["draws"] + 1)
        return tuple(Step.of(ROUND, f"draw-{number}", seat) for number in left)
    if silent(state.turns):
        return "nobody_heard"
    if not terms["options"]:
        return decided(state, seat, "first_draw")
    if not state.counts:
        return _count(terms, state.turns)
    return by_count(state, "plurality_vote", "no_plurality")


def _count(terms: BaselineTerms, draws: Sequence[Turn]) -> Fact:
    """Count the draws: an option wins with one more than any other has."""
    rows, abstentions = tally(terms["options"], (turn.vote for turn in draws))
    ranked = sorted((row["votes"] for row in rows), reverse=True)
    return counted(ROUND, "draw", rows, abstentions, sum(ranked[1:2]) + 1)


def reason(_state: DebateState) -> CloseReason:
    """Return that all draws were made."""
    return "rounds_complete"


def most_turns(terms: BaselineTerms, _debaters: int) -> int:
    """A turn for each draw."""
    return terms["draws"]


def read(state: DebateState, _step: Step, value: JSON, _text_of: TextOf) -> dict[str, Any]:
    """Return the choice of an answer."""
    return {"vote": value["choice"] if terms_of(state)["options"] else None, "case": None}


def admits(state: DebateState, _step: Step, data: Mapping[str, Any]) -> bool:
    """A choice is a declared option."""
    options: list[str | None] = [*terms_of(state)["options"]]
    return data["vote"] in (options or [None]) and data["case"] is None


def template(state: DebateState, _step: Step) -> str:
    """Return the template's role: with options one chooses."""
    return "chooser" if terms_of(state)["options"] else "debater"


def values(state: DebateState, step: Step | None) -> dict[str, str]:
    """Return what is filled into the instruction: the options, and nothing that tells draws."""
    if step is None or template(state, step) == "debater":
        return {}
    return {"options": ", ".join(terms_of(state)["options"])}


def label(_state: DebateState, turn: Turn) -> tuple[str, bool]:
    """A draw is titled with its number, and quoted as it is: only a synthesizer sees it."""
    return f"draw {number_of(turn.data['phase'])}", False


BASELINE = Format(
    summary="one seat answers alone, once or several times; it is what a debate is measured by",
    spec=BaselineSpec,
    schemas=schemas,
    most_turns=most_turns,
    settled=settled,
    wrong_seats=wrong_seats,
    due=due,
    reason=reason,
    read=read,
    admits=admits,
    template=template,
    values=values,
    label=label,
)
