"""The result of a `judged` debate: what the stances argued, and the judge's verdict."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import Any, Literal

from pydantic import Field
from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard.closed import Closed
from hansard.report import sections
from hansard.report.common import common
from hansard.report.display import LENGTH, Display, Row
from hansard.report.fold import Folded, turn_of, words_of
from hansard.report.governance import Watch
from hansard.report.lead import LIMIT, WHOLE, Lead, by_rule, delivered, left, say
from hansard.report.lead import quoted as opening
from hansard.report.notes import Note, note
from hansard.report.parts import Spoken, Stance
from hansard.report.result import lines, listed, told
from hansard.report.safe import one_line
from hansard.report.shown import Shown
from hansard.report.signs import ids, named, not_heard, quoted
from hansard.report.words import GONE, TITLE, stance
from hansard.rules.data import VerdictData
from hansard.rules.fields import closed
from hansard.rules.formats import judged
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState
from hansard.rules.terms import DecisionRule

MANY_ROUNDS = 4  # above, debaters give in to each other


@closed
class JudgedInput(TypedDict):
    """What a debate is asked: `debateInputSchema`."""

    question: str


@closed
class JudgedState(TypedDict):
    """What the rounds keep beside the transcript: `debateStateSchema`."""

    question: str
    round: int


@closed
class JudgedEntry(TypedDict):
    """One argument of the transcript: `debateContributionEntrySchema`."""

    round: int
    agentName: str
    stance: str
    text: str


@closed
class JudgedVerdict(TypedDict):
    """What a judge must return: `debateVerdictSchema`. A winner of null combines several."""

    verdict: str
    winner: str | None
    reasoning: str


@closed
class JudgedTranscript(TypedDict):
    """All arguments so far, in order: `debateTranscriptStateSchema`."""

    entries: list[JudgedEntry]


@closed
class JudgedSource(TypedDict):
    """The source's `DebateRawOutput`; its verdict is null where no judge was heard."""

    rounds: int
    question: str
    transcript: list[JudgedEntry]
    verdict: JudgedVerdict | None


class Argued(Stance):
    """A stance, and the debater who was given it."""

    debater: str


class Argument(Spoken):
    """What one debater argued in one round."""

    round: int
    agent_name: str
    stance: str = Field(description="The label of the stance")
    text: str | None


class Verdict(Closed):
    """What the judge found. Its words are null where they are gone."""

    verdict: str | None
    winner: str | None = Field(
        description="A stance in its words, or its label where they are gone; null: several were "
        "combined, or none was named"
    )
    winner_label: str | None
    winner_id: str | None = Field(description="The debater who argued it")
    reasoning: str | None
    undeclared: bool = Field(description="Whether the judge named something that is no stance")
    named: str | None = Field(description="What it named then, in its own words")
    seq: int


class JudgeView(Closed):
    """What the judge was shown of who said what, and in which order."""

    anonymized: bool
    shuffled: bool
    order: tuple[tuple[str, ...], ...] = Field(
        description="The stances of each round as the judge read them"
    )


class JudgedResult(Shown):
    """What became of a debate in the `judged` format: assigned stances, and a judge's verdict."""

    format: Literal["judged"] = Field(description="The format of the debate")
    stances: tuple[Argued, ...] = Field(description="What was argued, and by whom")
    verdict: Verdict | None = Field(description="What the judge said; null where no verdict counts")
    judge_view: JudgeView | None = Field(description="Null where no judge was asked")
    transcript: tuple[Argument, ...] = Field(
        description="The arguments in order, those that were not heard among them"
    )

    def to_report(self) -> str:
        """Return the signals of the debate, one a line, without a last line end."""
        found = self.verdict
        return lines(
            {
                **self.signals(),
                "stances": listed(tuple(row.label for row in self.stances)),
                "verdict": one_line(found.verdict or GONE) if found else "none",
                "winner": one_line(found.winner) if found and found.winner else "none",
                "reasoning": one_line(found.reasoning or GONE) if found else "none",
                **self.ended(),
            }
        )

    def source(self) -> dict[str, Any]:
        """Return the raw result in the shape that the format's source gives it."""
        found, words = self.verdict, {row.label: row.spoken for row in self.stances}
        shape: JudgedSource = {
            "rounds": self.rounds_run,
            "question": told(self.question),
            "transcript": [
                {
                    "round": row.round,
                    "agentName": row.agent_name,
                    "stance": words[row.stance],
                    "text": told(row.text),
                }
                for row in self.transcript
                if row.status == "counted"
            ],
            "verdict": {
                "verdict": told(found.verdict),
                "winner": found.winner,
                "reasoning": told(found.reasoning),
            }
            if found
            else None,
        }
        return dict(shape)


def _undeclared(_: DebateState, data: VerdictData, __: TextOf) -> Iterator[Note]:
    if data["undeclared"]:
        yield note("undeclared_winner")


def _whole(state: DebateState) -> Iterator[Note]:
    rounds = judged.terms_of(state)["max_rounds"]
    if rounds > MANY_ROUNDS:
        yield note("many_rounds", rounds=rounds, limit=MANY_ROUNDS)


WATCH = Watch(events={"verdict.recorded": _undeclared}, whole=_whole)


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
    shared = common(found, WATCH)
    return JudgedResult(
        **shared,
        drift=(),  # whoever argues a stance is told to keep it, and nobody votes
        stances=tuple(
            Argued(label=seat.stance.label, text=seat.stance.text, debater=seat.id)
            for seat in shared["seats"]
            if seat.stance
        ),
        verdict=_verdict(found),
        judge_view=_judge_view(found, labels),
        transcript=arguments,
    )


def _verdict(found: Folded) -> Verdict | None:
    data = found.state.verdict
    if data is None:
        return None
    turn, seq = next(row for row in found.turns("judge") if row[0].heard)
    value = found.value(turn)
    won = found.state.seats[data["winner"]]["stance"] if data["winner"] else None
    return Verdict(
        verdict=words_of(value, "verdict"),
        winner=(found.text(won["text"]) or won["label"]) if won else None,
        winner_label=won["label"] if won else None,
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


def lead(result: JudgedResult, rule: DecisionRule) -> Lead:
    """Return the stance that won, in its words; several combined, in the deliverable's."""
    found = result.verdict
    if found and rule == "judge_undeclared":
        return left(_misnamed(found))
    if found is None or rule != "judge_verdict":
        return by_rule(rule)
    won = _won(result)
    if won is None:
        words = delivered(result, WHOLE) or opening(found.verdict, WHOLE)
        return Lead(words, say("combined"))
    return Lead(stance(won.label, won.text, LIMIT), say("judge", who=won.debater))


def _misnamed(found: Verdict) -> str:
    """Say what the judge named that is no declared stance."""
    return say("undeclared", named=opening(found.named))


def rows(result: JudgedResult) -> Iterator[Row]:
    """Yield the verdict, and the winner where that is not what was decided."""
    found = result.verdict
    if found is None:
        return
    if result.argued_by is None:
        undeclared = f": {_misnamed(found)}" if found.undeclared else ""
        won = _won(result)
        argued = f"{stance(won.label, won.text)}, argued by {won.debater}" if won else ""
        yield Row("Winner", argued or f"none{undeclared}")
    yield Row("Verdict", one_line(found.verdict or GONE, LENGTH))
    yield Row("Reasoning", one_line(found.reasoning or GONE, LENGTH))


def _won(result: JudgedResult) -> Argued | None:
    """Return the stance that the judge named."""
    label = result.verdict.winner_label if result.verdict else None
    return next((row for row in result.stances if row.label == label), None)


def decision(result: JudgedResult) -> Iterator[str]:
    """What the judge found."""
    yield from sections.decision(result)
    yield from _found(result)
    yield "## Stances"
    for row in result.stances:
        yield f"`{row.label}`, argued by `{row.debater}`:"
        yield quoted(row.text)


def _found(result: JudgedResult) -> Iterator[str]:
    found = result.verdict
    if found is None:
        return
    if found.undeclared:
        yield "No winner: the judge named what is no declared stance:"
        yield quoted(found.named)
    elif found.winner is None:
        yield "No single winner: the judge combined several stances."
    elif (won := _won(result)) and result.argued_by is None:
        yield f"Winner: {named(won.label, won.text)}, argued by `{won.debater}`."
    yield f"Verdict (entry {found.seq}):"
    yield quoted(found.verdict)
    yield "Reasoning:"
    yield quoted(found.reasoning)


def said(result: JudgedResult) -> Iterator[str]:
    """Every argument in its order, and the order in which the judge read them."""
    yield "## Transcript"
    view = result.judge_view
    if view:
        names = "without names" if view.anonymized else "with names"
        order = "in an order drawn from the seed" if view.shuffled else "in the order of speaking"
        yield f"The judge read it {names}, {order}:"
        yield "\n".join(f"- round {n}: {ids(row)}" for n, row in enumerate(view.order, 1))
    titles = {row.label: named(row.label, row.text, TITLE) for row in result.stances}
    for turn in result.transcript:
        yield f"### Round {turn.round}, {titles[turn.stance]}: `{turn.agent_name}`"
        if turn.reason:
            yield f"{not_heard(turn)} (entry {turn.seq})."
        else:
            yield f"Entry {turn.seq}:"
            yield quoted(turn.text)


def use(result: JudgedResult) -> str:
    """When to use the format, when not, and its cost in calls."""
    seats, rounds = len(result.debater_ids), result.max_rounds
    return (
        "when a question has a real tradeoff that should be argued out and a verdict with its "
        "reasons is wanted, not for a fact that can be looked up, an answer that nobody disputes "
        "or where one call is the budget; it costs debaters × rounds + 1 calls, here "
        f"{seats} × {rounds} + 1 = {seats * rounds + 1}, one more with a synthesizer"
    )


JUDGED = Display(
    result=JudgedResult,
    source=JudgedSource,
    of=of,
    lead=lead,
    standing=lambda _: say("unruled"),
    rows=rows,
    words=lambda result: result.verdict.verdict if result.verdict else None,
    turns=lambda result: result.transcript,
    decision=decision,
    said=said,
    use=use,
    watch=WATCH,
    published={
        "input": ("What a judged debate is asked", JudgedInput),
        "state": ("What its rounds keep", JudgedState),
        "entry": ("One argument of its transcript", JudgedEntry),
        "verdict": ("What its judge returns", JudgedVerdict),
        "transcript": ("All its arguments so far", JudgedTranscript),
    },
)
JudgedResult.display = JUDGED
