"""The result of a `judged` debate: what the stances argued, and the judge's verdict."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import Any, Literal

from pydantic import Field

from hansard.report import signals, source
from hansard.report.fold import Folded, common, turn_of, words_of
from hansard.report.results.common import Part, Result, Spoken, Stance, lines, listed
from hansard.report.safe import one_line
from hansard.report.words import GONE
from hansard.rules.formats import judged


class Argued(Stance):
    """A stance, and the debater who was given it."""

    debater: str


class Argument(Spoken):
    """What one debater argued in one round."""

    round: int
    agent_name: str
    stance: str = Field(description="The label of the stance")
    text: str | None


class Verdict(Part):
    """What the judge found. Its words are null where they are gone."""

    verdict: str | None
    winner: str | None = Field(
        description="The label of a stance; null: several were combined, or none was named"
    )
    winner_id: str | None = Field(description="The debater who argued it")
    reasoning: str | None
    undeclared: bool = Field(description="Whether the judge named something that is no stance")
    named: str | None = Field(description="What it named then, in its own words")
    seq: int


class JudgeView(Part):
    """What the judge was shown of who said what, and in which order."""

    anonymized: bool
    shuffled: bool
    order: tuple[tuple[str, ...], ...] = Field(
        description="The stances of each round as the judge read them"
    )


class JudgedResult(Result):
    """What became of a debate in the `judged` format: assigned stances, and a judge's verdict."""

    format: Literal["judged"]
    stances: tuple[Argued, ...]
    verdict: Verdict | None
    judge_view: JudgeView | None = Field(description="Null where no judge was asked")
    transcript: tuple[Argument, ...]

    def to_report(self) -> str:
        """Return the signals of the debate, one a line, without a last line end."""
        found = self.verdict
        return lines(
            {
                **self.signals(),
                "stances": listed(tuple(row.label for row in self.stances)),
                "verdict": one_line(found.verdict or GONE) if found else "none",
                "winner": (found.winner if found else None) or "none",
                "reasoning": one_line(found.reasoning or GONE) if found else "none",
                **self.ended(),
            }
        )

    def source(self) -> dict[str, Any]:
        """Return the raw result in the shape that the format's source gives it."""
        return dict(source.judged(self))


def of(found: Folded) -> JudgedResult:
    """Return the result of a folded record."""
    state = found.state
    labels = {key: seat["stance"]["label"] for key, seat in state.seats.items() if seat["stance"]}
    arguments = tuple(
        Argument(
            round=turn.data["round"],
            agent_name=turn.data["speaker"],
            stance=labels[turn.data["speaker"]],
            text=found.words(turn),
            **turn_of(turn, seq),
        )
        for turn, seq in found.turns("debater")
    )
    shared = common(found)
    return JudgedResult(
        **shared,
        drift=(),  # whoever argues a stance is told to keep it, and nobody votes
        shares=signals.shares(found),
        stances=tuple(
            Argued(label=seat.stance.label, text=seat.stance.text, debater=seat.id)
            for seat in shared["seats"]
            if seat.stance
        ),
        verdict=_verdict(found, labels),
        judge_view=_judge_view(found, labels),
        transcript=arguments,
    )


def _verdict(found: Folded, labels: dict[str, str]) -> Verdict | None:
    data = found.state.verdict
    if data is None:
        return None
    turn, seq = next(row for row in found.turns("judge") if row[0].heard)
    value = found.value(turn)
    return Verdict(
        verdict=words_of(value, "verdict"),
        winner=labels[data["winner"]] if data["winner"] else None,
        winner_id=data["winner"],
        reasoning=words_of(value, "reasoning"),
        undeclared=data["undeclared"],
        named=words_of(value, "winner") if data["undeclared"] else None,
        seq=seq,
    )


def _judge_view(found: Folded, labels: dict[str, str]) -> JudgeView | None:
    """Return what the judge was shown, derived again as its prompt was."""
    state, terms = found.state, judged.terms_of(found.state)
    asked = next((turn for turn, _ in found.turns("judge")), None)
    if asked is None:
        return None
    argued = [turn.data for turn, _ in found.turns("debater") if turn.heard]
    if terms["shuffle_for_judge"]:
        drawn = partial(judged.shuffle_key, state.spec["seed"], asked.data["step"])
        argued.sort(key=lambda row: drawn(row["round"], row["speaker"]))
    return JudgeView(
        anonymized=terms["anonymize_transcript"],
        shuffled=terms["shuffle_for_judge"],
        order=tuple(
            tuple(labels[row["speaker"]] for row in rows)
            for _, rows in groupby(argued, key=lambda row: row["round"])
        ),
    )
