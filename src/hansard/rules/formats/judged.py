"""The `judged` format: assigned stances argue for a fixed number of rounds, one judge decides.

Every debater speaks in every round, in declared order, with all arguments
before it in front of it, titled by stance and not by name. After the last
round one judge reads them, by default without names and with the order inside
each round permuted by the seed, and names the strongest stance or none
(RULES.md §3; D 12 to D 14; FORMAT.md §8.2).

When to use it: a question has a real tradeoff that should be argued out, the
answer gains from being pressed, and a verdict with its reasons is wanted. When
not: a fact can be looked up, nobody would contest the answer, or one model
call is the budget. Cost: debaters x rounds calls, and one; each sends again
what was said before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, ClassVar, Literal, cast

from pydantic import Field, field_validator

from hansard.rules import similarity
from hansard.rules.data import RegisteredData
from hansard.rules.events import Fact
from hansard.rules.formats.base import Format, TextGone
from hansard.rules.formats.common import decided, ruling, silent, still_in, verdict
from hansard.rules.prompts import TextOf
from hansard.rules.replies import JSON, Schema, members, one_of, words
from hansard.rules.spec_base import BaseSpec
from hansard.rules.spec_parts import Advocates, Seat, Seated, refuse
from hansard.rules.state import DebateState, Step, Turn
from hansard.rules.terms import ESCALATE, OUTCOMES, UNDECLARED, CloseReason, JudgedTerms, Role

TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "protocol": ("stances",),
    "block": ("label",),
    "again": ("code", "keyword", "member"),
    "debater": ("max_rounds", "round", "stance"),
    "judge": ("rounds", "stances"),
    "synthesizer": ("decision", "rule"),
}
LEAST = 2  # stances that must have been heard before anybody judges


class JudgedSpec(BaseSpec):
    """A debate in the `judged` format: assigned stances, and one judge at the end."""

    TEMPLATES: ClassVar[Mapping[str, tuple[str, ...]]] = TEMPLATES

    format: Literal["judged"] = Field(default="judged", description="The format of the debate")
    debaters: Advocates = Field(
        min_length=2,
        max_length=98,
        description="The stances, in the order in which they are argued",
    )
    judge: Seat = Field(default=Seat(), description="Reads all of it once, after the last round")
    max_rounds: int = Field(default=2, ge=1, le=1000, description="How many rounds are argued")
    anonymize_transcript: bool = Field(default=True, description="The judge sees no names")
    shuffle_for_judge: bool = Field(
        default=True, description="The judge sees each round in an order drawn from the seed"
    )

    @field_validator("judge", mode="before")
    @classmethod
    def _needs_judge(cls, value: object) -> object:
        if value is False or value is None:
            refuse("spec.judge", "a judged debate needs its judge; remove the line")
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

    def terms(self) -> JudgedTerms:
        """Return the terms of the opening."""
        return {
            "format": self.format,
            "stances": [row.label for row in self.debaters],
            "max_rounds": self.max_rounds,
            "anonymize_transcript": self.anonymize_transcript,
            "shuffle_for_judge": self.shuffle_for_judge,
        }


def terms_of(state: DebateState) -> JudgedTerms:
    """Return the opening's terms."""
    return cast(JudgedTerms, state.spec["terms"])


def schemas(terms: JudgedTerms) -> dict[Role, Schema]:
    """A debater replies in words; the judge with verdict, winning stance or none, reasoning."""
    return {"debater": words(), "judge": _verdict_schema(tuple(terms["stances"]))}


@lru_cache(maxsize=64)
def _verdict_schema(stances: tuple[str, ...]) -> Schema:
    return members(verdict=words(), winner=one_of(stances, or_none=True), reasoning=words())


def wrong_seats(terms: JudgedTerms, seats: Sequence[RegisteredData]) -> str | None:
    """At least two debaters with the stances of the terms, then one judge."""
    stances = terms["stances"]
    roles = ["debater"] * len(stances) + ["judge"]
    labels = [seat["stance"]["label"] if seat["stance"] else None for seat in seats]
    unique = len(set(stances)) == len(stances) >= LEAST
    named = OUTCOMES.isdisjoint([*stances, *(seat["id"] for seat in seats)])
    fit = [seat["role"] for seat in seats] == roles and labels == [*stances, None]
    return None if fit and unique and named else "two or more debaters, a stance each, and a judge"


def due(state: DebateState) -> Fact | tuple[Step, ...] | CloseReason:  # noqa: PLR0911 - the schedule reads from top to bottom
    """Return who argues; after the last round the judge, and then the decision."""
    speakers, rounds = list(state.votes), terms_of(state)["max_rounds"]
    done, spoken = divmod(len(state.turns), len(speakers))
    if 0 < done <= rounds and not spoken and silent(state.turns[-len(speakers) :]):
        return "nobody_heard"
    if done < rounds:
        return (Step.of(done + 1, "argument", speakers[spoken]),)
    if len(state.spoken) < LEAST:
        return decided(state, ESCALATE, "too_few_heard")
    found = ruling(state)
    if found is None:
        return (Step.of(rounds, "verdict", state.of_role("judge")[0]["id"]),)
    if isinstance(found, str):
        return "judge_failed"
    if found["winner"] and found["winner"] not in state.spoken:
        return decided(state, ESCALATE, "too_few_heard")
    if found["undeclared"]:
        return decided(state, UNDECLARED, "judge_undeclared")
    stance = state.seats[found["winner"]]["stance"] if found["winner"] else None
    return decided(state, stance["label"] if stance else "synthesis", "judge_verdict")


def lost(state: DebateState) -> bool:
    """Whether fewer stances than a judge must hear have been heard, or still can be."""
    return len(state.spoken.union(still_in(state))) < LEAST


def reason(_state: DebateState) -> CloseReason:
    """Return why it stopped: always because its rounds were over."""
    return "rounds_complete"


def most_turns(terms: JudgedTerms, debaters: int) -> int:
    """Everybody argues in every round, and the judge speaks once."""
    return debaters * terms["max_rounds"] + 1


def read(state: DebateState, step: Step, value: JSON, _text_of: TextOf) -> dict[str, Any]:
    """Return what a verdict says; an argument says nothing that is counted."""
    if step.phase == "argument":
        return {"vote": None, "case": None}
    return verdict(winner=seat_of(state, value["winner"]))


def seat_of(state: DebateState, stance: str | None) -> str | None:
    """Return the seat that argues a stance."""
    for seat in state.seats.values():
        if seat["stance"] and seat["stance"]["label"] == stance:
            return seat["id"]
    return None


def named_in_words(state: DebateState, winner: str, text_of: TextOf) -> dict[str, Any]:
    """Return the verdict of a function that names its winner by what a stance says.

    A winner that is not the words of exactly one stance is undeclared. Raises
    TextGone where the words of a stance are gone.
    """
    found, named = [], similarity.fold(winner)
    same: dict[str, bool] = {}  # by the name of a text: stances may share one
    for seat in state.of_role("debater"):
        name = seat["stance"]["text"]["sha256"] if seat["stance"] else ""
        if name not in same:
            text = text_of(name) if name else None
            if text is None:
                raise TextGone
            same[name] = similarity.fold(text) == named
        if same[name]:
            found.append(seat["id"])
    return verdict(winner=found[0]) if len(found) == 1 else verdict(undeclared=True)


def admits(state: DebateState, step: Step, data: Mapping[str, Any]) -> bool:
    """A verdict names a debater or none, and an argument nothing."""
    if step.phase == "argument":
        return data["vote"] is None and data["case"] is None
    free = verdict(winner=data["winner"], undeclared=data["undeclared"])
    named = data["winner"] is None or (data["winner"] in state.votes and not data["undeclared"])
    return named and all(data[name] == value for name, value in free.items())


def template(_state: DebateState, step: Step) -> str:
    """Return the template's role: debaters and judge have one each."""
    return "debater" if step.phase == "argument" else "judge"


def values(state: DebateState, step: Step | None) -> dict[str, str]:
    """Return what is filled into the protocol (no step), or into the speaker's instruction."""
    terms = terms_of(state)
    stances = {"stances": ", ".join(terms["stances"])}
    if step is None:
        return stances
    if step.phase == "verdict":
        return stances | {"rounds": str(terms["max_rounds"])}
    stance = state.seats[step.speaker]["stance"]
    return {
        "max_rounds": str(terms["max_rounds"]),
        "round": str(step.round),
        "stance": stance["label"] if stance else "",
    }


def label(state: DebateState, turn: Turn) -> tuple[str, bool]:
    """An argument is titled with its stance and its round, and never with a name."""
    stance = state.seats[turn.data["speaker"]]["stance"]
    return titled(stance["label"], turn.data["round"]) if stance else "verdict of the judge", False


def titled(stance: str, round_: int, speaker: str | None = None) -> str:
    """Return the title of an argument, with its speaker's name where that may be seen."""
    title = f"{stance}, round {round_}"
    return f"{title}, {speaker}" if speaker else title


def retold(state: DebateState, step: Step) -> list[tuple[str, Turn]] | None:
    """Return the arguments as the judge sees them, where that is not as debaters do."""
    terms = terms_of(state)
    if step.phase != "verdict" or (
        terms["anonymize_transcript"] and not terms["shuffle_for_judge"]
    ):
        return None
    turns = [row for row in state.turns if row.heard]
    if terms["shuffle_for_judge"]:
        drawn = partial(shuffle_key, state.spec["seed"], step.id)
        turns.sort(key=lambda row: drawn(row.data["round"], row.data["speaker"]))
    stances = {id_: seat["stance"]["label"] for id_, seat in state.seats.items() if seat["stance"]}
    rows = []
    for row in turns:  # of debaters alone: nobody else speaks before the verdict
        speaker = row.data["speaker"]
        shown = None if terms["anonymize_transcript"] else speaker
        rows.append((titled(stances[speaker], row.data["round"], shown), row))
    return rows


def shuffle_key(seed: str, step: str, round_: int, speaker: str) -> tuple[int, bytes]:
    """Return what turns are sorted by: their round, and in it a hash (FORMAT.md §7).

    The order is drawn anew for each round. `seed` is decimal, `step` the one that is shown it.
    """
    parts = ("hansard-shuffle/v1", seed, step, str(round_), speaker)
    return round_, sha256("\n".join(parts).encode()).digest()


JUDGED = Format(
    summary="debaters argue assigned stances before a judge",
    spec=JudgedSpec,
    schemas=schemas,
    most_turns=most_turns,
    wrong_seats=wrong_seats,
    due=due,
    lost=lost,
    reason=reason,
    read=read,
    named_in_words=named_in_words,
    admits=admits,
    template=template,
    values=values,
    label=label,
    retold=retold,
)
