"""The result of a `baseline`: the answers of one seat, and which of them is taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field
from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard.report import sections, words
from hansard.report.common import common
from hansard.report.display import LENGTH, Display, Row
from hansard.report.fold import Folded, turn_of, words_of
from hansard.report.governance import Watch
from hansard.report.lead import WHOLE, Lead, delivered, left, say
from hansard.report.lead import quoted as opening
from hansard.report.lead import tallied as few_votes
from hansard.report.notes import Note, note
from hansard.report.parts import Spoken
from hansard.report.result import lines, tallied
from hansard.report.safe import one_line
from hansard.report.shown import Shown
from hansard.report.signs import ids, not_heard, quoted, table
from hansard.report.words import GONE
from hansard.rules.data import VotesCountedData
from hansard.rules.fields import closed
from hansard.rules.formats.baseline import number_of, terms_of
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState, Turn
from hansard.rules.terms import DecisionRule
from hansard.vocabulary import many


@closed
class BaselineSource(TypedDict):
    """What is taken, and all answers in the order of draws: null where nobody was heard."""

    answer: str | None
    answers: list[str | None]


class Draw(Spoken):
    """One answer, which saw none of the others."""

    draw: int = Field(description="From 1")
    text: str | None
    choice: str | None = Field(description="The option chosen, where some are declared")


class BaselineResult(Shown):
    """What became of the answers of one seat to one prompt."""

    format: Literal["baseline"] = Field(description="The format of the debate")
    draws: int = Field(description="How many answers were asked for")
    options: tuple[str, ...] = Field(description="What could be answered; none where that was free")
    answer: str | None = Field(
        description="The option that most answers chose, or the first answer that counts"
    )
    vote_tally: dict[str, int] | None = Field(
        description="How many answers chose each option, once they were counted"
    )
    transcript: tuple[Draw, ...] = Field(
        description="The answers in order, those that were not heard among them"
    )

    @property
    def choices(self) -> tuple[str, ...]:
        """The options that can be chosen."""
        return self.options

    @property
    def votes_held(self) -> int | None:
        """How many answers chose what was decided; None where none was counted."""
        return (self.vote_tally and self.vote_tally.get(self.decision or "", 0)) or None

    @property
    def drawn(self) -> int:
        """How many answers were asked for."""
        return self.draws

    @property
    def heard(self) -> tuple[Draw, ...]:
        """The answers that count."""
        return tuple(row for row in self.transcript if row.status == "counted")

    def to_report(self) -> str:
        """Return the signals of the debate, one a line, without a last line end."""
        more = {"draws": str(self.draws)}
        if self.vote_tally is not None:
            more["vote_tally"] = tallied(self.vote_tally)
        more["answer"] = "none" if self.answer is None else one_line(self.answer)
        return lines({**self.signals(), **more, **self.ended()})

    def source(self) -> dict[str, Any]:
        """Return what is taken, and all answers; the format has no published source."""
        texts = [(row.text or GONE) if row.status == "counted" else None for row in self.transcript]
        return dict(BaselineSource(answer=self.answer, answers=texts))


def _tie(_: DebateState, count: VotesCountedData, __: TextOf) -> Iterator[Note]:
    if not count["reached"]:
        most = max(row["votes"] for row in count["tally"])
        tied = [row["option"] for row in count["tally"] if row["votes"] == most]
        yield note("tie", "draws", options=words.listed(tied), answers=many(most, "answer"))


WATCH = Watch(events={"votes.counted": _tie})


def of(found: Folded) -> BaselineResult:
    """Return the result of a folded record."""
    state, terms = found.state, terms_of(found.state)
    draws = tuple(_draw(found, turn, seq) for turn, seq in found.turns("debater"))
    return BaselineResult(
        **common(found, WATCH),
        drift=(),
        draws=terms["draws"],
        options=tuple(terms["options"]),
        answer=_answer(state, draws),
        vote_tally=_tally(state.counts[-1]) if state.counts else None,
        transcript=draws,
    )


def _draw(found: Folded, turn: Turn, seq: int) -> Draw:
    options = terms_of(found.state)["options"]
    text = words_of(found.value(turn), "answer") if options else found.words(turn)
    number = number_of(turn.data["phase"])
    return Draw(draw=number, text=text, choice=turn.vote, **turn_of(turn, seq))


def _answer(state: DebateState, draws: tuple[Draw, ...]) -> str | None:
    decision = state.decision
    if decision is None or decision["rule"] == "no_plurality":
        return None
    if decision["rule"] == "plurality_vote":
        return decision["decision"]
    return next(row.text or GONE for row in draws if row.status == "counted")


def _tally(count: VotesCountedData) -> dict[str, int]:
    """Return the options that were chosen at all, and how many answers were not heard."""
    tally = {row["option"]: row["votes"] for row in count["tally"] if row["votes"]}
    return tally | ({"abstain": count["abstentions"]} if count["abstentions"] else {})


def lead(result: BaselineResult, rule: DecisionRule) -> Lead:
    """Return the option with its count, or the answer in its words."""
    tally = result.vote_tally or {}
    if rule == "no_plurality":
        return left(say("even", tally=few_votes(tally)))
    if rule == "plurality_vote":
        option, said = str(result.decision), delivered(result)
        head = say("carried", words=said, option=option) if said else option
        return Lead(head, say("answers", votes=tally[option], all=result.draws))
    how = say("only") if result.draws == 1 else say("first", all=result.draws)
    return Lead(opening(None if result.answer == GONE else result.answer, WHOLE), how)


def standing(result: BaselineResult) -> str:
    """Say how many answers there are."""
    answers = many(len(result.heard), "answer")
    return say("drafts", drafts=answers) if result.heard else say("nothing")


def rows(result: BaselineResult) -> Iterator[Row]:
    """Yield the count, and the answer, or where nothing was decided how many came."""
    if result.vote_tally is not None:
        yield Row(
            "Votes", ", ".join(f"{vote} {count}" for vote, count in result.vote_tally.items())
        )
    elif result.answer is not None:
        yield Row("Answer", one_line(result.answer, LENGTH))
    else:
        yield Row("Answers", f"{len(result.heard)} of {result.draws}")


def by_round(result: BaselineResult) -> Iterator[Row]:
    """Yield what was chosen in each draw, where there are options."""
    if result.options:
        choices = [f"{row.draw}: {row.choice or 'abstained'}" for row in result.transcript]
        yield Row("Draws", ", ".join(choices))


def decision(result: BaselineResult) -> Iterator[str]:
    """What the answer is, and how the answers were counted."""
    yield from sections.decision(result)
    if result.answer is not None:
        yield "The answer:"
        yield quoted(result.answer)
    if result.vote_tally is not None:
        yield "## Votes"
        counted = ([f"`{option}`", votes] for option, votes in result.vote_tally.items())
        yield table(["answer", "votes"], counted)
        yield f"Of {many(result.draws, 'draw')}: the option with more than any other is taken."
    if result.options:
        yield f"Options: {ids(result.options)}."


def said(result: BaselineResult) -> Iterator[str]:
    """Every answer in its order."""
    yield "## Transcript"
    for turn in result.transcript:
        yield f"### Draw {turn.draw}"
        if turn.reason:
            yield f"{not_heard(turn)} (entry {turn.seq})."
            continue
        choice = f" It chooses `{turn.choice}`." if turn.choice else ""
        yield f"Entry {turn.seq}.{choice}"
        yield quoted(turn.text)


def use(result: BaselineResult) -> str:
    """When to use the format, when not, and its cost in calls."""
    return (
        "to measure what a debate is worth beside one model that answers alone, with as many "
        "calls; not to decide anything, since nobody objects; it costs a call for each draw, "
        f"here {result.draws}, one more with a synthesizer"
    )


BASELINE = Display(
    result=BaselineResult,
    source=BaselineSource,
    of=of,
    lead=lead,
    standing=standing,
    rows=rows,
    by_round=by_round,
    words=lambda result: result.answer,
    turns=lambda result: result.transcript,
    decision=decision,
    said=said,
    use=use,
    watch=WATCH,
)
BaselineResult.display = BASELINE
