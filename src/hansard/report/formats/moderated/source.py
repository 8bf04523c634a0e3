"""A `moderated` result in the shape, and under the keys, that its source gives it.

What a debate here can have and the source does not know (a turn that was
forfeited, no decision yet) is null; a text that is gone says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NotRequired

from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard.report.formats.moderated.parts import Exchange, Moderation, NumberedArgument, Round
from hansard.report.result import told
from hansard.rules.fields import CitationFinding, Confidence, closed


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
class ModeratedSource(TypedDict):
    """Status and round records; the status is null while the debate is open."""

    status: Literal["COMPLETE", "DEBATE_TRUNCATED", "FAILED"] | None
    rounds: list[RoundRecord]


STATUS: Mapping[str, Literal["COMPLETE", "DEBATE_TRUNCATED", "FAILED"]] = {
    "complete": "COMPLETE",
    "truncated": "DEBATE_TRUNCATED",
    "failed": "FAILED",
}


def round_record(
    debate: str, question: str | None, row: Round, words: Mapping[str, str]
) -> RoundRecord:
    """Return a round as the source records it, up to where it came.

    `words` are those of each of several positions, by label.
    """
    positions = [_position(exchange, words) for exchange in row.exchanges]
    first = positions[0] if positions else None
    tokens, found = row.token_cost, row.moderation
    record: RoundRecord = {
        "debateId": debate,
        "roundNumber": row.round_index,
        "question": told(question),
        "proposerPosition": first["proposerPosition"] if first else None,
        "criticPosition": first["criticPosition"] if first else None,
        "rebuttalPosition": first["rebuttalPosition"] if first else None,
        "moderatorEvaluation": _evaluation(found, words)
        if found and found.status == "counted"
        else None,
        "tokenCost": {
            "proposer": tokens.get("proposer", 0),
            "critic": tokens.get("critic", 0),
            "rebuttal": tokens.get("rebuttal", 0),
            "moderator": tokens.get("moderator", 0),
        },
    }
    if words:
        record["positions"] = positions
    return record


def _position(exchange: Exchange, words: Mapping[str, str]) -> Position:
    case, attack, answer = exchange.proposition, exchange.critique, exchange.rebuttal
    found: Position = {
        "position": words[exchange.position] if exchange.position else "",
        "proposerPosition": None,
        "criticPosition": None,
        "rebuttalPosition": None,
    }
    if case.status == "counted":
        found["proposerPosition"] = {
            "thesis": told(case.thesis),
            "supporting_arguments": [told(row.text) for row in case.supporting_arguments],
            "evidence_cited": _cited(case.supporting_arguments),
        }
    if attack and attack.status == "counted":
        found["criticPosition"] = {
            "thesis": told(attack.thesis),
            "counter_arguments": [told(row.text) for row in attack.counter_arguments],
            "evidence_cited": _cited(attack.counter_arguments),
            "challengeStrength": attack.challenge_strength,
        }
    if answer and answer.status == "counted":
        found["rebuttalPosition"] = {
            "thesis": told(answer.thesis),
            "rebuttals": [
                {
                    "objection": row.objection,
                    "answer": told(row.text),
                    "evidence_cited": _cited([row]),
                }
                for row in answer.rebuttals
            ],
            "concessions": [
                {"objection": row.objection, "reason": told(row.reason)}
                for row in answer.concessions
            ],
        }
    return found


def _cited(arguments: Iterable[NumberedArgument]) -> list[EvidenceCited]:
    return [
        {
            "argument": row.number,
            "document": told(cited.document),
            "quote": told(cited.quote),
            "finding": cited.finding,
        }
        for row in arguments
        for cited in row.citations
    ]


def _evaluation(found: Moderation, words: Mapping[str, str]) -> ModeratorEvaluation:
    scores = {words.get(side, side): n for side, n in found.scores.items()}
    evaluation: ModeratorEvaluation = {
        # By labels where two sides have the same words, as no spec has it but a record may.
        "argumentQualityScore": scores if len(scores) == len(found.scores) else dict(found.scores),
        "resolvedPoints": [*found.resolved_points],
        "unresolvedPoints": [*found.unresolved_points],
        "recommendAnotherRound": found.recommend_another_round,
        "synthesis": told(found.synthesis),
        "confidenceLevel": found.confidence,
        "explicitUncertainties": [*found.explicit_uncertainties],
    }
    if found.ranking:
        evaluation["ranking"] = [words[label] for label in found.ranking]
    return evaluation
