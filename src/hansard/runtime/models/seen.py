"""What a seat may see, by name: for a function that would otherwise parse its prompt.

It is what the prompt of the same call shows, no more and no less: the turns in the order and
under the titles in which the seat is told them, the documents that are visible by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hansard.rules import replies
from hansard.rules.context import value_of
from hansard.rules.fields import Blob
from hansard.rules.formats import format_of
from hansard.rules.state import DebateState, Step, Turn
from hansard.rules.steps import schema_of
from hansard.rules.terms import Role
from hansard.rules.transcript import CUSTOM, instructions_of


@dataclass(frozen=True)
class Stance:
    """A stance that is argued: its label, and its words."""

    label: str
    text: str


@dataclass(frozen=True)
class Document:
    """A document of the evidence."""

    id: str
    text: str


@dataclass(frozen=True)
class Said:
    """A turn, as the seat is told of it.

    `speaker` is None where the seat is not told the name; `stance` is a label. `text` is the
    reply word for word, `value` what it says: its JSON, or where words were asked for the
    words. `struck` are the numbers of the arguments that rest on a citation which was not found.
    """

    title: str
    round: int
    phase: str
    role: Role
    speaker: str | None
    stance: str | None
    text: str
    value: Any
    struck: tuple[int, ...] = ()


class Seen:
    """What the speaker of a step may see; each part is made when it is first read."""

    def __init__(self, state: DebateState, step: Step, texts: Mapping[str, str]) -> None:
        self._state, self._step, self._texts = state, step, texts
        self._turns, self._documents = len(state.turns), len(state.evidence)
        self._seat = state.seats[step.speaker]
        # Turns in another order or under other titles: as they stand now, whenever it is read.
        rules = format_of(state.spec["terms"])
        self._retold = None if step.phase == "synthesis" else rules.retold(state, step)
        # What was decided, for whoever speaks after it.
        self.decision = state.decision["decision"] if state.decision else None

    def _text(self, blob: Blob | None) -> str | None:
        return self._texts[blob["sha256"]] if blob else None

    @property
    def question(self) -> str:
        """The question that is debated."""
        return self._texts[self._state.spec["question"]["sha256"]]

    @property
    def persona(self) -> str | None:
        """The point of view that the seat was given."""
        return None if self._fills_itself else self._text(self._seat["persona"])

    @property
    def instructions(self) -> str | None:
        """What the seat is instructed in this round."""
        told = instructions_of(self._state.spec, self._seat, self._step.round)
        return None if self._fills_itself else self._text(told)

    @property
    def context(self) -> Any:
        """The background that the seat is told, as the value that was given."""
        hidden = self._fills_itself or self._seat["role"] == "moderator"
        text = None if hidden else self._text(self._state.spec["context"])
        return None if text is None else value_of(text)

    @property
    def _fills_itself(self) -> bool:
        return self._seat["model"].startswith(CUSTOM)

    @cached_property
    def stances(self) -> tuple[Stance, ...]:
        """All stances that are argued, in order."""
        rows = [seat["stance"] for seat in self._state.seats.values()]
        return tuple(
            Stance(row["label"], self._texts[row["text"]["sha256"]]) for row in rows if row
        )

    @property
    def stance(self) -> Stance | None:
        """The stance that the seat argues, if it argues one."""
        own = self._seat["stance"]
        return next((row for row in self.stances if own and row.label == own["label"]), None)

    @property
    def options(self) -> tuple[str, ...]:
        """What can be decided for: the options, or the labels of the stances."""
        terms: Mapping[str, Any] = self._state.spec["terms"]
        return tuple(terms.get("options") or (row.label for row in self.stances))

    @cached_property
    def evidence(self) -> tuple[Document, ...]:
        """The documents that are visible by this round."""
        rows = self._state.evidence[: self._documents]
        until = max(1, self._step.round)
        return tuple(
            Document(row["document"], self._texts[row["text"]["sha256"]])
            for row in rows
            if row["from_round"] <= until
        )

    @cached_property
    def transcript(self) -> tuple[Said, ...]:
        """What was said, as the seat is told of it; nobody's turn that was not heard."""
        told = self._retold
        if told is None:
            rules = format_of(self._state.spec["terms"])
            turns = (row for row in self._state.turns[: self._turns] if row.heard)
            told = [(rules.label(self._state, row)[0], row) for row in turns]
        return tuple(self._said(title, turn) for title, turn in told)

    def _said(self, title: str, turn: Turn) -> Said:
        data, seat = turn.data, self._state.seats[turn.data["speaker"]]
        text = self._text(turn.reply) or ""
        schema = schema_of(self._state, turn.role) or {"type": "object"}
        stance = seat["stance"]
        return Said(
            title=title,
            round=data["round"],
            phase=data["phase"],
            role=turn.role,
            speaker=seat["id"] if seat["id"] in title.split(", ") else None,
            stance=stance["label"] if stance else None,
            text=text,
            value=replies.named(replies.value_of(text, schema), schema),
            struck=tuple(turn.case["struck"]) if turn.case else (),
        )
