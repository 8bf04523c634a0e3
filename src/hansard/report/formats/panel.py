"""The result of a `panel` debate: the drafts of each round, and the answer they came to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Literal, cast

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard import vocabulary
from hansard.closed import Closed
from hansard.report import hollow, sections, signals, words
from hansard.report.common import common
from hansard.report.display import LENGTH, Display, Row
from hansard.report.fold import Folded, tally_of, turn_of, words_of
from hansard.report.governance import Watch
from hansard.report.lead import WHOLE, Lead, by_rule, counted, left, say, short
from hansard.report.lead import quoted as opening
from hansard.report.notes import Note, note
from hansard.report.parts import Spoken
from hansard.report.result import lines, tallied, told
from hansard.report.safe import one_line
from hansard.report.shown import Shown
from hansard.report.signs import ids, not_heard, quoted, table
from hansard.report.words import ALIKE, GONE, percent
from hansard.rules import similarity
from hansard.rules.data import DecisionData, SimilarityData, VotesCountedData
from hansard.rules.fields import closed
from hansard.rules.formats.panel.reading import terms_of
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState, Turn
from hansard.rules.terms import DecisionRule, Resolution
from hansard.vocabulary import fill, many


@closed
class SourceRound(TypedDict):
    """The source's `DebateRound`."""

    round_index: int
    drafts: dict[str, str]


@closed
class PanelSource(TypedDict):
    """The source's `DebateResult`."""

    final: str | None
    winner_label: str | None
    rounds: list[SourceRound]
    judgment: str | None


class Draft(Spoken):
    """What one debater answered in one round."""

    round_index: int
    label: str
    text: str | None
    choice: str | None = Field(description="The option chosen, where some are declared")


class PanelRound(Closed):
    """The drafts of a round by their debaters: whoever was not heard is left out."""

    round_index: int = Field(description="0 is the independent one")
    drafts: dict[str, str | None] = Field(description="Null where the text is gone")


class Pair(Closed):
    """How alike two answers of one round are."""

    one: str
    other: str
    ppm: int
    negation_differs: bool = Field(description="They are then never taken for alike")


class Similarity(Closed):
    """How alike the answers of a round are: their wording, not what they mean."""

    round_index: int
    measure: Literal["options", "words", "whole"]
    heard: int
    pairs: tuple[Pair, ...]
    threshold_ppm: int
    converged: bool = Field(description="Whether that ended the rounds")


class PanelResult(Shown):
    """What became of a debate in the `panel` format: its final answer, and the drafts before it.

    A debate that was cut short has no final answer, but the `last_drafts`.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    format: Literal["panel"] = Field(description="The format of the debate")
    options: tuple[str, ...] = Field(description="What could be answered; none where that was free")
    resolution: Resolution = Field(description="How the answer was to be found")
    answer: str | None = Field(
        alias="final",
        description="The answer: a draft, the judge's words, or the option that a majority chose",
    )
    winner_label: str | None = Field(
        description="Whose last draft won, the first registered of those who hold a majority's "
        "answer; null when a judge synthesised, or there is no final answer"
    )
    judgment: str | None = Field(
        description="The judge's reply as it came, or a note on how the answer was found"
    )
    consensus_threshold: int | None = Field(description="Of a majority, where one was counted")
    vote_tally: dict[str, int] | None = Field(
        description="Where it was counted: of each option, or first debater to give an answer"
    )
    rounds: tuple[PanelRound, ...] = Field(
        description="The rounds from 0, with how alike their drafts were"
    )
    last_drafts: dict[str, str | None] = Field(description="The last of each that was heard")
    similarities: tuple[Similarity, ...] = Field(
        description="Each pair of drafts that was compared"
    )
    transcript: tuple[Draft, ...] = Field(
        description="The drafts in order, those that were not heard among them"
    )

    @property
    def choices(self) -> tuple[str, ...]:
        """The options that can be chosen."""
        return self.options

    @property
    def votes_held(self) -> int | None:
        """How many gave the answer that was decided on; None where nobody counted."""
        if self.decision is None or self.vote_tally is None:
            return None
        return self.vote_tally.get(self.decision, 0)

    def to_report(self) -> str:
        """Return the signals of the debate, one a line, without a last line end."""
        more: dict[str, str] = {}
        if self.vote_tally is not None:
            more["consensus_threshold"] = str(self.consensus_threshold)
            more["vote_tally"] = tallied(self.vote_tally)
        more["final"] = "none" if self.answer is None else one_line(self.answer)
        more["winner_label"] = self.winner_label or "none"
        more["judgment"] = "none" if self.judgment is None else one_line(self.judgment)
        return lines({**self.signals(), **more, **self.ended()})

    def source(self) -> dict[str, Any]:
        """Return the result in the shape that the format's source gives it."""
        shape: PanelSource = {
            "final": self.answer,
            "winner_label": self.winner_label,
            "rounds": [
                {
                    "round_index": row.round_index,
                    "drafts": {label: told(text) for label, text in row.drafts.items()},
                }
                for row in self.rounds
            ],
            "judgment": self.judgment,
        }
        return dict(shape)


def _tie(_: DebateState, count: VotesCountedData, __: TextOf) -> Iterator[Note]:
    """No two answers can both be held by more than half, so the leaders tie."""
    most = max((row["votes"] for row in count["tally"]), default=0)
    tied = [row["option"] for row in count["tally"] if row["votes"] == most]
    if len(tied) > 1:
        where = {"round": count["round"], "phase": count["phase"]}
        yield note("tie", "votes", votes=most, options=words.listed(tied), **where)


def _similar(_: DebateState, data: SimilarityData, __: TextOf) -> Iterator[Note]:
    if data["converged"]:
        least = percent(min((row["ppm"] for row in data["pairs"]), default=0))
        said = {"round": data["round"], "heard": data["heard"], "least": least, "alike": ALIKE}
        yield note(
            "similar_wording", "options" if data["measure"] == "options" else "words", **said
        )


def _equals(state: DebateState, data: DecisionData, _: TextOf) -> Iterator[Note]:
    """Drafts that are equally like the others are told apart by their registration."""
    if data["rule"] == "most_similar":
        scores = similarity.scores(state.similarities[-1]["pairs"])
        best = [name for name, score in scores.items() if score == max(scores.values())]
        if len(best) > 1:
            yield note("tie", "similarity", debaters=words.listed(best))


def _whole(state: DebateState) -> Iterator[Note]:
    if hollow.unseen(state):
        drafts = sum(turn.role == "debater" and turn.heard for turn in state.turns)
        yield note("hollow_consensus", "drafts", drafts=many(drafts, "draft"))


WATCH = Watch(
    events={
        "votes.counted": _tie,
        "similarity.measured": _similar,
        "decision.reached": _equals,
    },
    whole=_whole,
)


def of(found: Folded) -> PanelResult:
    """Return the result of a folded record."""
    state, terms = found.state, terms_of(found.state)
    drafts = tuple(_draft(found, turn, seq) for turn, seq in found.turns("debater"))
    rounds = [
        {
            row.label: row.text
            for row in drafts
            if row.round_index == number and row.status == "counted"
        }
        for number in sorted({row.round_index for row in drafts})
    ]
    last: dict[str, str | None] = {}
    for row in rounds:
        last |= row
    last = {seat: last[seat] for seat in state.votes if seat in last}
    final, winner = _answer(found, last)
    counted = state.counts[-1] if state.counts else None
    drift = signals.votes(found) if terms["options"] else signals.answers(rounds)
    return PanelResult(
        **common(found, WATCH),
        drift=tuple(drift),
        options=tuple(terms["options"]),
        resolution=terms["resolution"],
        final=final,
        winner_label=winner,
        judgment=_judgment(found),
        consensus_threshold=counted["threshold"] if counted else None,
        vote_tally=_tally(found) if counted else None,
        rounds=tuple(
            PanelRound(round_index=number, drafts=row) for number, row in enumerate(rounds)
        ),
        last_drafts=last,
        similarities=tuple(
            Similarity(
                round_index=row["round"],
                measure=row["measure"],
                heard=row["heard"],
                pairs=tuple(Pair(**pair) for pair in row["pairs"]),
                threshold_ppm=row["threshold_ppm"],
                converged=row["converged"],
            )
            for row in state.similarities
        ),
        transcript=drafts,
    )


def _draft(found: Folded, turn: Turn, seq: int) -> Draft:
    options = terms_of(found.state)["options"]
    text = words_of(found.value(turn), "answer") if options else found.words(turn)
    return Draft(
        round_index=turn.data["round"],
        label=turn.data["speaker"],
        text=text,
        choice=turn.vote,
        **turn_of(turn, seq),
    )


def _answer(found: Folded, last: dict[str, str | None]) -> tuple[str | None, str | None]:
    """Return the final answer, and whose draft it is."""
    state, decision = found.state, found.state.decision
    if decision is None or decision["rule"] in ("too_few_heard", "no_majority"):
        return None, None
    if decision["rule"] == "judge_synthesis":
        turn, _ = _judges(found)
        return words_of(found.value(turn), "answer") or GONE, None
    option = decision["decision"]
    if decision["rule"] == "majority_vote" and terms_of(state)["options"]:
        return option, next(seat for seat, vote in state.votes.items() if vote == option)
    return last[option] or GONE, option


def _judges(found: Folded) -> tuple[Turn, int]:
    """Return the judge's turn that was heard."""
    return next(row for row in found.turns("judge") if row[0].heard)


def _judgment(found: Folded) -> str | None:
    """Return the judge's reply, or say how the answer was found without one."""
    state, decision = found.state, found.state.decision
    if state.verdict:
        return found.shown(_judges(found)[0].reply)
    said, judgments = [], vocabulary.words("judgments")
    similar = [row for row in state.similarities if row["converged"]]
    if similar:
        measure = "options" if similar[-1]["measure"] == "options" else "words"
        said.append(fill(judgments[measure], round=similar[-1]["round"], alike=ALIKE))
    if decision and decision["rule"] == "most_similar":
        others = state.similarities[-1]["heard"] - 1
        average = percent(cast(int, decision["score_ppm"]) // others)
        said.append(fill(judgments["similar"], decision=decision["decision"], similar=average))
    elif decision and decision["votes"] is not None:
        counted = {"votes": decision["votes"], "threshold": decision["threshold"]}
        said.append(fill(judgments["votes"], debaters=len(state.votes), **counted))
    return "; ".join(said) or None


def _tally(found: Folded) -> dict[str, int]:
    """Return what was counted: current choices, or equal answers under the first who gave them."""
    state = found.state
    if terms_of(state)["options"]:
        return tally_of(state)
    count = state.counts[-1]
    tally = {row["option"]: row["votes"] for row in count["tally"]}
    return tally | ({"abstain": count["abstentions"]} if count["abstentions"] else {})


def lead(result: PanelResult, rule: DecisionRule) -> Lead:
    """Return the answer in its words, and whose it is; an option with its count."""
    if rule == "majority_vote" and result.options:
        return counted(result, result.votes_held or 0)
    if rule == "no_majority" and result.options:
        return left(short(result, result.consensus_threshold or 0, result.vote_tally or {}))
    if result.answer is None:
        return by_rule(rule)
    whose = result.winner_label
    votes = {"votes": result.votes_held, "all": len(result.debater_ids)}
    how = {
        "judge_synthesis": say("answer"),
        "judge_pick": say("picked", who=whose),
        "most_similar": say("similar", who=whose, alike=ALIKE),
    }
    words = opening(None if result.answer == GONE else result.answer, WHOLE)
    if rule == "judge_synthesis" and result.options:
        words = say("carried", words=words, option=result.decision)
    return Lead(words, how.get(rule) or say("alike", **votes))


def standing(result: PanelResult) -> str:
    """Say how many drafts there are."""
    drafts = many(len(result.last_drafts), "draft")
    return say("drafts", drafts=drafts) if result.last_drafts else say("nothing")


def rows(result: PanelResult) -> Iterator[Row]:
    """Yield the count of a majority, and the answer, or else the last drafts."""
    if result.vote_tally is not None:
        tally = [f"{vote} {count}" for vote, count in result.vote_tally.items()]
        needed = f"{result.consensus_threshold} of {len(result.debater_ids)} needed"
        yield Row("Votes", f"{', '.join(tally)}; {needed}")
    if result.answer is not None:
        whose = f"{result.winner_label}: " if result.winner_label else ""
        yield Row("Answer", whose + one_line(result.answer, LENGTH))
        return
    for label, text in result.last_drafts.items():
        yield Row("Draft", f"{label}: {one_line(text or GONE, LENGTH)}")


def by_round(result: PanelResult) -> Iterator[Row]:
    """Yield the choices of each round, where there are options, and how alike its answers were."""
    for number, turns in groupby(result.transcript, key=lambda turn: turn.round_index):
        if result.options:
            choices = [f"{turn.label}: {turn.choice or 'abstained'}" for turn in turns]
            yield Row(f"Round {number}", ", ".join(choices))
    for row in result.similarities:
        least = min((pair.ppm for pair in row.pairs), default=None)
        alike = "nothing to compare" if least is None else f"at least {percent(least)} alike"
        yield Row(f"Answers of round {row.round_index}", alike)


def decision(result: PanelResult) -> Iterator[str]:
    """What the answer is, or the last drafts where there is none."""
    yield from sections.decision(result)
    yield from _final(result)
    yield from _votes(result)
    yield from _similarities(result)


def _final(result: PanelResult) -> Iterator[str]:
    if result.answer is not None:
        whose = f", from the last draft of `{result.winner_label}`" if result.winner_label else ""
        yield f"The final answer{whose}:"
        yield quoted(result.answer)
    if result.judgment is not None:
        yield "How it was found, or the judge's reply as it came:"
        yield quoted(result.judgment)
    if result.answer is None:
        for label, text in result.last_drafts.items():
            yield f"The last draft of `{label}`:"
            yield quoted(text)


def _votes(result: PanelResult) -> Iterator[str]:
    if result.vote_tally is not None:
        yield "## Votes"
        rows = ([f"`{option}`", votes] for option, votes in result.vote_tally.items())
        yield table(["answer", "votes"], rows)
        yield f"{result.consensus_threshold} of {len(result.debater_ids)} were needed."
    if result.options:
        yield f"Options: {ids(result.options)}."


def _similarities(result: PanelResult) -> Iterator[str]:
    rows = [
        [
            found.round_index,
            f"`{pair.one}`",
            f"`{pair.other}`",
            percent(pair.ppm),
            "differs" if pair.negation_differs else "same",
        ]
        for found in result.similarities
        for pair in found.pairs
    ]
    if rows:
        yield "## Wording"
        yield f"How alike the answers are: {ALIKE}."
        yield table(["round", "one", "other", "alike", "negation"], rows)


def said(result: PanelResult) -> Iterator[str]:
    """Every draft in its order."""
    yield "## Transcript"
    for turn in result.transcript:
        yield f"### Round {turn.round_index}, draft: `{turn.label}`"
        if turn.reason:
            yield f"{not_heard(turn)} (entry {turn.seq})."
            continue
        choice = f" It chooses `{turn.choice}`." if turn.choice else ""
        yield f"Entry {turn.seq}.{choice}"
        yield quoted(turn.text)


def use(result: PanelResult) -> str:
    """When to use the format, when not, and its cost in calls."""
    seats, rounds = len(result.debater_ids), result.max_rounds
    judged = int(any(seat.role == "judge" for seat in result.seats))
    most = seats * (rounds + 1) + judged
    return (
        "when different models or perspectives should cover for each other's blind spots, not "
        "where a right answer can be computed or somebody is waiting for it; it costs at most "
        f"debaters × (rounds + 1) calls and one for a judge, here {seats} × ({rounds} + 1) + "
        f"{judged} = {most}, one more with a synthesizer"
    )


PANEL = Display(
    result=PanelResult,
    source=PanelSource,
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
PanelResult.display = PANEL
