"""Each format's result in the exact shape, and under the keys, that its source gives it.

What a debate here can have and a source does not know (a turn that was
forfeited, no decision yet) is null; a text that is gone says so. With
`synthesizer: false` the shape of `judged` is all there is: its raw output.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard.report.words import GONE
from hansard.rules.fields import CitationFinding, Confidence, closed

if TYPE_CHECKING:
    from hansard.report.results.consensus import ConsensusResult
    from hansard.report.results.judged import JudgedResult
    from hansard.report.results.moderated import (
        Argument,
        Exchange,
        ModeratedResult,
        Moderation,
        Round,
    )
    from hansard.report.results.panel import PanelResult


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
class Consensus(TypedDict):
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
class Judged(TypedDict):
    """The source's `DebateRawOutput`; its verdict is null where no judge was heard."""

    rounds: int
    question: str
    transcript: list[JudgedEntry]
    verdict: JudgedVerdict | None


@closed
class EvidenceCited(TypedDict):
    """A citation, the argument that rests on it, and whether it holds."""

    argument: int
    document: str
    quote: str
    finding: CitationFinding


@closed
class ProposerPosition(TypedDict):
    """The case for a position."""

    thesis: str
    supporting_arguments: list[str]
    evidence_cited: list[EvidenceCited]


@closed
class CriticPosition(TypedDict):
    """The case against it."""

    thesis: str
    counter_arguments: list[str]
    evidence_cited: list[EvidenceCited]
    challengeStrength: int | None


@closed
class RebuttalAnswer(TypedDict):
    """An answer to one objection."""

    objection: int | None
    answer: str
    evidence_cited: list[EvidenceCited]


@closed
class RebuttalConcession(TypedDict):
    """An objection that is granted."""

    objection: int | None
    reason: str


@closed
class RebuttalPosition(TypedDict):
    """What the proposition's side replies."""

    thesis: str
    rebuttals: list[RebuttalAnswer]
    concessions: list[RebuttalConcession]


@closed
class ModeratorEvaluation(TypedDict):
    """`ranking` only where there are several positions."""

    argumentQualityScore: dict[str, int]
    resolvedPoints: list[str]
    unresolvedPoints: list[str]
    recommendAnotherRound: bool | None
    synthesis: str
    confidenceLevel: Confidence | None
    explicitUncertainties: list[str]
    ranking: NotRequired[list[str]]


@closed
class TokenCost(TypedDict):
    """Tokens in and out; with several positions those of all of them."""

    proposer: int
    critic: int
    rebuttal: int
    moderator: int


@closed
class Position(TypedDict):
    """What was said for and against one of several positions."""

    position: str
    proposerPosition: ProposerPosition | None
    criticPosition: CriticPosition | None
    rebuttalPosition: RebuttalPosition | None


@closed
class RoundRecord(TypedDict):
    """The source's round record.

    Several positions stand in `positions`, the first one also under the
    source's own keys.
    """

    debateId: str
    roundNumber: int
    question: str
    proposerPosition: ProposerPosition | None
    criticPosition: CriticPosition | None
    rebuttalPosition: RebuttalPosition | None
    moderatorEvaluation: ModeratorEvaluation | None
    tokenCost: TokenCost
    positions: NotRequired[list[Position]]


@closed
class Moderated(TypedDict):
    """Status and round records; the status is null while the debate is open."""

    status: Literal["COMPLETE", "DEBATE_TRUNCATED", "FAILED"] | None
    rounds: list[RoundRecord]


@closed
class PanelRound(TypedDict):
    """The source's `DebateRound`."""

    round_index: int
    drafts: dict[str, str]


@closed
class Panel(TypedDict):
    """The source's `DebateResult`."""

    final: str | None
    winner_label: str | None
    rounds: list[PanelRound]
    judgment: str | None


_STATUS: dict[str, Literal["COMPLETE", "DEBATE_TRUNCATED", "FAILED"]] = {
    "complete": "COMPLETE",
    "truncated": "DEBATE_TRUNCATED",
    "failed": "FAILED",
}


def _told(text: str | None) -> str:
    return GONE if text is None else text


def consensus(result: ConsensusResult) -> Consensus:
    """Return a `consensus` result as its source does."""
    return {
        "debater_ids": [*result.debater_ids],
        "max_rounds": result.max_rounds,
        "rounds_run": result.rounds_run,
        "consensus_threshold": result.consensus_threshold,
        "speaker_schedule": [*result.speaker_schedule],
        "phase_sequence": [*result.phase_sequence],
        "vote_tally": dict(result.vote_tally),
        "decision": result.decision,
        "decision_rule": result.decision_rule,
        "speaker_selected_by": result.speaker_selected_by,
        "transcript": [
            {
                "round_index": row.round_index,
                "speaker_id": row.speaker_id,
                "phase": row.phase,
                "stance": None if row.reason else _told(row.stance),
                "rationale": None if row.reason else _told(row.rationale),
                "vote": row.vote,
            }
            for row in result.transcript
        ],
    }


def judged(result: JudgedResult) -> Judged:
    """Return a `judged` result as its source does: only what was argued is in its transcript."""
    found = result.verdict
    return {
        "rounds": result.rounds_run,
        "question": _told(result.question),
        "transcript": [
            {
                "round": row.round,
                "agentName": row.agent_name,
                "stance": row.stance,
                "text": _told(row.text),
            }
            for row in result.transcript
            if row.status == "counted"
        ],
        "verdict": {
            "verdict": _told(found.verdict),
            "winner": found.winner,
            "reasoning": _told(found.reasoning),
        }
        if found
        else None,
    }


def moderated(result: ModeratedResult) -> Moderated:
    """Return a `moderated` result as its source does: a record a round, up to where it came."""
    return {
        "status": _STATUS.get(result.status),
        "rounds": [_round(result, row) for row in result.rounds],
    }


def _round(result: ModeratedResult, row: Round) -> RoundRecord:
    positions = [_position(exchange) for exchange in row.exchanges]
    first = positions[0] if positions else None
    tokens, found = row.token_cost, row.moderation
    record: RoundRecord = {
        "debateId": result.debate,
        "roundNumber": row.round_index,
        "question": _told(result.question),
        "proposerPosition": first["proposerPosition"] if first else None,
        "criticPosition": first["criticPosition"] if first else None,
        "rebuttalPosition": first["rebuttalPosition"] if first else None,
        "moderatorEvaluation": _evaluation(found) if found and found.status == "counted" else None,
        "tokenCost": {
            "proposer": tokens.get("proposer", 0),
            "critic": tokens.get("critic", 0),
            "rebuttal": tokens.get("rebuttal", 0),
            "moderator": tokens.get("moderator", 0),
        },
    }
    if result.positions:
        record["positions"] = positions
    return record


def _position(exchange: Exchange) -> Position:
    case, attack, answer = exchange.proposition, exchange.critique, exchange.rebuttal
    found: Position = {
        "position": exchange.position or "",
        "proposerPosition": None,
        "criticPosition": None,
        "rebuttalPosition": None,
    }
    if case.status == "counted":
        found["proposerPosition"] = {
            "thesis": _told(case.thesis),
            "supporting_arguments": [_told(row.text) for row in case.supporting_arguments],
            "evidence_cited": _cited(case.supporting_arguments),
        }
    if attack and attack.status == "counted":
        found["criticPosition"] = {
            "thesis": _told(attack.thesis),
            "counter_arguments": [_told(row.text) for row in attack.counter_arguments],
            "evidence_cited": _cited(attack.counter_arguments),
            "challengeStrength": attack.challenge_strength,
        }
    if answer and answer.status == "counted":
        found["rebuttalPosition"] = {
            "thesis": _told(answer.thesis),
            "rebuttals": [
                {
                    "objection": row.objection,
                    "answer": _told(row.text),
                    "evidence_cited": _cited([row]),
                }
                for row in answer.rebuttals
            ],
            "concessions": [
                {"objection": row.objection, "reason": _told(row.reason)}
                for row in answer.concessions
            ],
        }
    return found


def _cited(arguments: Iterable[Argument]) -> list[EvidenceCited]:
    return [
        {
            "argument": row.number,
            "document": _told(cited.document),
            "quote": _told(cited.quote),
            "finding": cited.finding,
        }
        for row in arguments
        for cited in row.citations
    ]


def _evaluation(found: Moderation) -> ModeratorEvaluation:
    evaluation: ModeratorEvaluation = {
        "argumentQualityScore": dict(found.scores),
        "resolvedPoints": [*found.resolved_points],
        "unresolvedPoints": [*found.unresolved_points],
        "recommendAnotherRound": found.recommend_another_round,
        "synthesis": _told(found.synthesis),
        "confidenceLevel": found.confidence,
        "explicitUncertainties": [*found.explicit_uncertainties],
    }
    if found.ranking:
        evaluation["ranking"] = [*found.ranking]
    return evaluation


def panel(result: PanelResult) -> Panel:
    """Return a `panel` result as its source does."""
    return {
        "final": result.final,
        "winner_label": result.winner_label,
        "rounds": [
            {
                "round_index": row.round_index,
                "drafts": {label: _told(text) for label, text in row.drafts.items()},
            }
            for row in result.rounds
        ],
        "judgment": result.judgment,
    }
