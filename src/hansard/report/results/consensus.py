"""The result of a `consensus` debate: counted votes, and the seed's nine lines."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from pydantic import Field

from hansard.report import signals, source
from hansard.report.fold import Folded, common, turn_of, words_of
from hansard.report.results.common import Part, Result, Spoken, lines, listed, tallied
from hansard.rules.counting import Rule
from hansard.rules.fields import Phase
from hansard.rules.formats import consensus
from hansard.rules.state import DebateState


class Turn(Spoken):
    """One debater's position."""

    round_index: int
    speaker_id: str
    phase: Phase
    stance: str | None
    rationale: str | None
    vote: str | None = Field(description="The option voted for; null is an abstention")


class Dissent(Part):
    """A debater whose current vote is not the decision; null is an abstention."""

    speaker: str
    vote: str | None


class ConsensusResult(Result):
    """What became of a debate in the `consensus` format: its decision and how it was counted."""

    format: Literal["consensus"]
    options: tuple[str, ...]
    rule: Rule
    consensus_threshold: int
    vote_tally: dict[str, int] = Field(
        description="Options somebody holds, by the first debater who does; then `abstain`"
    )
    dissent: tuple[Dissent, ...]
    transcript: tuple[Turn, ...]

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
        return dict(source.consensus(self))


def of(found: Folded) -> ConsensusResult:
    """Return the result of a folded record."""
    state, terms = found.state, consensus.terms_of(found.state)
    rows = []
    for turn, seq in found.turns("debater"):
        value = found.value(turn)
        rows.append(
            Turn(
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
        **common(found),
        drift=tuple(signals.votes(found)),
        shares=signals.shares(found),
        options=tuple(terms["options"]),
        rule=terms["rule"],
        consensus_threshold=terms["threshold"],
        vote_tally=tally_of(state),
        dissent=_dissent(state),
        transcript=tuple(rows),
    )


def tally_of(state: DebateState) -> dict[str, int]:
    """Count the current votes of those who had a turn (D 2)."""
    spoken = {row.data["speaker"] for row in state.turns}
    held = [vote for seat, vote in state.votes.items() if seat in spoken]
    tally = dict(Counter(vote for vote in held if vote is not None))
    silent = held.count(None)
    return tally | ({"abstain": silent} if silent else {})


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
