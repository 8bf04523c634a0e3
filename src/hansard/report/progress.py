"""What happens in a debate, as typed facts, while it happens (D 34).

`report.following` says which event means what. Whatever has a `text` holds what a model
wrote, as it wrote it: show it through `safe`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hansard.rules.fields import CallError, Confidence, Cut, Outcome, Rejection
from hansard.rules.terms import CloseReason, DecisionRule, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class _Happened:
    """The entry of the record that says so."""

    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn(_Happened):
    """Whose turn it is about."""

    speaker: str
    role: Role
    round: int
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said(_Turn):
    """What was said: its main part as `text`, all of it as `reply`; what that one call took."""

    text: str
    reply: str
    cost_micro_usd: int | None
    latency_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateOpened(_Happened):
    """The debate is open, in this format."""

    debate: str
    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted(_Happened):
    """The first call of a round is made."""

    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(_Said):
    """A turn that counts: the stance, thesis, argument or answer of a seat that argues.

    `rating` is what a critique says of itself, `struck` the numbers of its
    arguments whose citations do not hold, `unanswered` the objections that a
    rebuttal passes over.
    """

    vote: str | None
    rating: int | None
    struck: tuple[int, ...]
    unanswered: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBack(_Turn):
    """A reply that does not count, why, and whether it is asked for again.

    `member` and `keyword` say where it misses its schema, if that is why.
    """

    code: Rejection
    member: str | None
    keyword: str | None
    rating: int | None
    again: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed(_Turn):
    """A call that brought no reply, and whether it is made again, after how long.

    `status` is HTTP's, `wait_ms` the wait in milliseconds; None where there is none.
    """

    error: CallError
    status: int | None
    again: bool
    wait_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forfeited(_Turn):
    """A speaker who could not be heard."""

    reason: Literal["no_reply", "invalid_reply"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUsed(_Turn):
    """A tool came back; `tool` is None where a model asked for what cannot be a tool's name."""

    tool: str | None
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VotesCounted(_Happened):
    """The current votes after a phase, by option."""

    round: int
    phase: str
    votes: dict[str, int]
    abstentions: int
    threshold: int
    reached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityMeasured(_Happened):
    """How alike the answers of a round are; `least_ppm` is None where no pair was compared."""

    round: int
    measure: Literal["options", "words", "whole"]
    heard: int
    least_ppm: int | None
    threshold_ppm: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Converged(_Happened):
    """The answers of a round are alike, which ends the rounds and proves nothing."""

    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictGiven(_Said):
    """What a judge or a moderator found; what its format does not ask for is None or empty."""

    winner: str | None
    undeclared: bool
    choice: str | None
    upholds: bool | None
    ranking: tuple[str, ...]
    scores: dict[str, int]
    resolved: int
    unresolved: int
    uncertainties: int
    confidence: Confidence | None
    another_round: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated(_Happened):
    """The next call could have broken a ceiling, or a person stops the debate, so it ends.

    In calls, tokens, micro-US-dollars, milliseconds or entries, as the ceiling is; None of
    `operator`, a person.
    """

    ceiling: Cut
    limit: int | None
    spent: int | None
    reserved: int | None
    by: str | None
    why: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(_Happened):
    """What was decided, in the words of the stance where it is one, and under which rule."""

    decision: str
    text: str | None
    rule: DecisionRule


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisWritten(_Said):
    """The deliverable is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateClosed(_Happened):
    """The debate is over: how it ended, and why it stopped."""

    outcome: Outcome
    reason: CloseReason


Progress = (
    DebateOpened
    | RoundStarted
    | Response
    | SentBack
    | CallFailed
    | Forfeited
    | ToolUsed
    | VotesCounted
    | SimilarityMeasured
    | Converged
    | VerdictGiven
    | Truncated
    | Decided
    | SynthesisWritten
    | DebateClosed
)
