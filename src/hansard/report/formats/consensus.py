"""A `consensus` debate as it is shown: counted votes, the source's nine signals, positions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Literal, cast

from pydantic import Field
from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard.closed import Closed
from hansard.report import hollow, sections, signals, words
from hansard.report.common import common
from hansard.report.display import Display, Row
from hansard.report.fold import Folded, tally_of, turn_of, words_of
from hansard.report.governance import Watch
from hansard.report.lead import Lead, counted, left, say, short, voters
from hansard.report.lead import tallied as few_votes
from hansard.report.notes import Note, note
from hansard.report.parts import Spoken
from hansard.report.result import lines, listed, tallied, told
from hansard.report.shown import Shown
from hansard.report.signs import ids, not_heard, quoted, table, undecided, voted
from hansard.rules.counting import Rule
from hansard.rules.data import VotesCountedData
from hansard.rules.fields import closed
from hansard.rules.formats import consensus
from hansard.rules.formats.consensus import PHASES
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState
from hansard.rules.terms import DecisionRule, Phase
from hansard.vocabulary import many


@closed
class ConsensusTurn(TypedDict):
    """One turn of the source's `Turn`."""

    round_index: int
    speaker_id: str
    phase: str
    stance: str | None
    rationale: str | None
    vote: str | None


@closed
class ConsensusSource(TypedDict):
    """The source's `DebateResult`."""

    debater_ids: list[str]
    max_rounds: int
    rounds_run: int
    consensus_threshold: int
    speaker_schedule: list[str]
    phase_sequence: list[str]
    vote_tally: dict[str, int]
    decision: str | None
    decision_rule: str | None
    speaker_selected_by: Literal["schedule"]
    transcript: list[ConsensusTurn]


class Stated(Spoken):
    """One debater's position."""

    round_index: int
    speaker_id: str
    phase: Phase
    stance: str | None
    rationale: str | None
    vote: str | None = Field(description="The option voted for; null is an abstention")


class Dissent(Closed):
    """A debater whose current vote is not the decision; null is an abstention."""

    speaker: str
    vote: str | None


class ConsensusResult(Shown):
    """What became of a debate in the `consensus` format: its decision and how it was counted."""

    format: Literal["consensus"] = Field(description="The format of the debate")
    options: tuple[str, ...] = Field(description="What could be voted for")
    rule: Rule = Field(description="How votes become a decision")
    consensus_threshold: int = Field(description="How many debaters had to hold one option")
    vote_tally: dict[str, int] = Field(
        description="Options somebody holds, by the first debater who does; then `abstain`"
    )
    dissent: tuple[Dissent, ...] = Field(description="Who did not hold what was decided")
    transcript: tuple[Stated, ...] = Field(
        description="The turns in order, those that were not heard among them"
    )

    @property
    def choices(self) -> tuple[str, ...]:
        """The options that can be voted for."""
        return self.options

    @property
    def votes_held(self) -> int | None:
        """How many hold what was decided; None where nothing was."""
        return None if self.decision is None else self.vote_tally.get(self.decision, 0)

    def to_report(self) -> str:
        """Return the nine signals of a counted debate, one a line, without a last line end."""
        return lines(
            {
                "debater_ids": listed(self.debater_ids),
                "rounds_run": str(self.rounds_run),
                "max_rounds": str(self.max_rounds),
                "phase_sequence": listed(self.phase_sequence),
                "consensus_threshold": str(self.consensus_threshold),
                "vote_tally": tallied(self.vote_tally),
                "decision": self.decision or "none",
                "decision_rule": self.decision_rule or "none",
                "speaker_schedule": listed(self.speaker_schedule),
            }
        )

    def source(self) -> dict[str, Any]:
        """Return the result in the shape that the pattern's own code gives it."""
        shape: ConsensusSource = {
            "debater_ids": [*self.debater_ids],
            "max_rounds": self.max_rounds,
            "rounds_run": self.rounds_run,
            "consensus_threshold": self.consensus_threshold,
            "speaker_schedule": [*self.speaker_schedule],
            "phase_sequence": [*self.phase_sequence],
            "vote_tally": dict(self.vote_tally),
            "decision": self.decision,
            "decision_rule": self.decision_rule,
            "speaker_selected_by": self.speaker_selected_by,
            "transcript": [
                {
                    "round_index": row.round_index,
                    "speaker_id": row.speaker_id,
                    "phase": row.phase,
                    "stance": None if row.reason else told(row.stance),
                    "rationale": None if row.reason else told(row.rationale),
                    "vote": row.vote,
                }
                for row in self.transcript
            ],
        }
        return dict(shape)


def _tie(_: DebateState, count: VotesCountedData, __: TextOf) -> Iterator[Note]:
    least = count["threshold"]
    tied = [row["option"] for row in count["tally"] if row["votes"] >= least]
    if len(tied) > 1:
        where = {"round": count["round"], "phase": count["phase"]}
        yield note("tie", "threshold", options=words.listed(tied), **where)


def _whole(state: DebateState) -> Iterator[Note]:
    threshold, seated = consensus.terms_of(state)["threshold"], len(state.votes)
    if threshold * 2 <= seated:
        yield note("low_threshold", threshold=threshold, debaters=seated)
    decision = hollow.unseen(state)
    if decision:
        yield note("hollow_consensus", "votes", votes=many(cast(int, decision["votes"]), "vote"))


WATCH = Watch(events={"votes.counted": _tie}, whole=_whole)


def of(found: Folded) -> ConsensusResult:
    """Return the result of a folded record."""
    state, terms = found.state, consensus.terms_of(found.state)
    rows = []
    for turn, seq in found.turns("debater"):
        value = found.value(turn)
        rows.append(
            Stated(
                round_index=turn.data["round"],
                speaker_id=turn.data["speaker"],
                phase=turn.data["phase"],
                stance=words_of(value, "stance"),
                rationale=words_of(value, "rationale"),
                vote=turn.vote,
                **turn_of(turn, seq),
            )
        )
    return ConsensusResult(
        **common(found, WATCH),
        drift=tuple(signals.votes(found)),
        options=tuple(terms["options"]),
        rule=terms["rule"],
        consensus_threshold=terms["threshold"],
        vote_tally=tally_of(state),
        dissent=_dissent(state),
        transcript=tuple(rows),
    )


def _dissent(state: DebateState) -> tuple[Dissent, ...]:
    """Return who does not hold what was decided; nobody where nothing was agreed on."""
    decision = state.decision
    if decision is None or decision["rule"] == "max_rounds_exhausted":
        return ()
    return tuple(
        Dissent(speaker=seat, vote=vote)
        for seat, vote in state.votes.items()
        if vote != decision["decision"]
    )


def how(result: ConsensusResult) -> str:
    """Say how many votes the decision has, and how many it needed."""
    if result.decision_rule == "max_rounds_exhausted":
        return f"no option reached {result.consensus_threshold} votes"
    votes = f"{result.votes_held} of {len(result.debater_ids)} votes"
    return f"{votes}, {result.consensus_threshold} needed"


def lead(result: ConsensusResult, rule: DecisionRule) -> Lead:
    """Return the option with its count, or that none has enough votes."""
    if rule == "max_rounds_exhausted":
        return left(short(result, result.consensus_threshold, result.vote_tally))
    found = counted(result, result.votes_held or 0)
    return left(f"{found.head}, {found.tail}") if result.review else found


def standing(result: ConsensusResult) -> str:
    """Say how the votes stood."""
    if not result.vote_tally:
        return say("nothing")
    return say("theirs", tally=few_votes(result.vote_tally), all=len(voters(result)))


def rows(result: ConsensusResult) -> Iterator[Row]:
    """Yield the votes that stand, or who dissents from a decision."""
    if result.decision is None and result.vote_tally:
        tally = [f"{vote} {count}" for vote, count in result.vote_tally.items()]
        yield Row("Votes now", ", ".join(tally))
    if result.dissent:
        votes = [f"{row.speaker}: {row.vote or 'abstained'}" for row in result.dissent]
        yield Row("Dissent", ", ".join(votes))


def by_round(result: ConsensusResult) -> Iterator[Row]:
    """Yield the votes of each phase."""
    for (number, phase), turns in groupby(
        result.transcript, key=lambda turn: (turn.round_index, turn.phase)
    ):
        votes = [f"{turn.speaker_id}: {turn.vote or 'abstained'}" for turn in turns]
        yield Row(f"Round {number}, {phase}", ", ".join(votes))


def points(result: ConsensusResult) -> Iterator[str]:
    """Yield the dissents."""
    for row in result.dissent:
        yield f"{row.speaker} {f'voted {row.vote}' if row.vote else 'abstained'}"


def decision(result: ConsensusResult) -> Iterator[str]:
    """What was decided and how it was counted."""
    yield "## Decision"
    many, needed = len(result.debater_ids), result.consensus_threshold
    rounds = f"after {result.rounds_run} of at most {result.max_rounds} rounds"
    if result.decision is None:
        yield from undecided(result)
    elif result.decision_rule == "max_rounds_exhausted":
        yield f"**`{result.decision}`**: no single option was held by {needed} of {many} {rounds}."
    else:
        yield (
            f"**`{result.decision}`**, held by {result.votes_held} of {many} debaters {rounds}; "
            f"{needed} were needed (`{result.rule}`)."
        )
    yield from sections.missing(result)
    yield from _votes(result)


def _votes(result: ConsensusResult) -> Iterator[str]:
    yield "## Votes"
    rows = []
    for (round_, phase), turns in groupby(
        result.transcript, key=lambda turn: (turn.round_index, turn.phase)
    ):
        by_speaker = {turn.speaker_id: voted(turn.vote) for turn in turns}
        rows.append([round_, phase, *(by_speaker.get(seat, "") for seat in result.debater_ids)])
    yield table(["round", "phase", *(f"`{seat}`" for seat in result.debater_ids)], rows)
    yield f"Options: {ids(result.options)}."


def said(result: ConsensusResult) -> Iterator[str]:
    """Every position in its order."""
    yield "## Transcript"
    for turn in result.transcript:
        yield f"### Round {turn.round_index}, {turn.phase}: `{turn.speaker_id}`"
        yield from _turn(turn)


def _turn(turn: Stated) -> Iterator[str]:
    if turn.reason:
        yield f"{not_heard(turn)}. Counts as an abstention (entry {turn.seq})."
        return
    yield f"Vote: {voted(turn.vote)} (entry {turn.seq})"
    yield "Stance:"
    yield quoted(turn.stance)
    yield "Rationale:"
    yield quoted(turn.rationale)


def use(result: ConsensusResult) -> str:
    """When to use the format, when not, and its cost in calls."""
    seats, phases = len(result.debater_ids), len(PHASES)
    most = seats * phases * result.max_rounds
    return (
        "when a high-stakes decision needs several perspectives and a "
        "counted vote, not when one critic or a test can decide; it costs at most debaters × "
        f"{phases} × rounds calls, here {seats} × {phases} × {result.max_rounds} = {most}"
    )


CONSENSUS = Display(
    result=ConsensusResult,
    source=ConsensusSource,
    of=of,
    lead=lead,
    standing=standing,
    how=how,
    rows=rows,
    by_round=by_round,
    points=points,
    turns=lambda result: result.transcript,
    decision=decision,
    said=said,
    use=use,
    watch=WATCH,
)
ConsensusResult.display = CONSENSUS
