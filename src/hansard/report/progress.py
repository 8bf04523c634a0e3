"""What happens in a debate, as typed facts, while it happens (D 34).

`report.following` says which event means what. Whatever has a `text` holds what a model
wrote, as it wrote it: show it through `safe`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from hansard.report.safe import COLUMNS, escaped, one_line, untypeset
from hansard.report.sentences import share, tallied
from hansard.report.words import ERRORS, REASONS, STOPPED, rejection, seconds, stance, stopper
from hansard.rules.fields import CallError, Confidence, Cut, Outcome, Rejection
from hansard.rules.terms import CloseReason, DecisionRule, Role


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Happened:
    """The entry of the record that says so.

    `str` and a notebook show it in one line, made safe and at most 80 characters long.
    """

    seq: int

    @property
    def told(self) -> str:
        """What happened, in words."""
        raise NotImplementedError

    def __str__(self) -> str:
        return one_line(f"#{self.seq} {self.told}", COLUMNS)

    def __repr__(self) -> str:
        return one_line(f"<{type(self).__name__} #{self.seq} {self.told}", COLUMNS - 1) + ">"

    def _repr_html_(self) -> str:
        return untypeset(escaped(str(self)))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Turn(_Happened):
    """Whose turn it is about."""

    speaker: str
    role: Role
    round: int
    phase: str

    @property
    def place(self) -> str:
        """Whose turn it is, and when."""
        return f"round {self.round} {self.phase} {self.speaker}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Said(_Turn):
    """What was said: its main part as `text`, all of it as `reply`; what that one call took."""

    text: str
    reply: str
    cost_micro_usd: int | None
    latency_ms: int

    @property
    def mark(self) -> str:
        """What marks it, in a word; empty for nothing."""
        return ""

    @property
    def told(self) -> str:
        """What happened, in words."""
        mark = f" -> {self.mark}" if self.mark else ""
        return f"{self.place}{mark}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DebateOpened(_Happened):
    """The debate is open, in this format."""

    debate: str
    format: str

    @property
    def told(self) -> str:
        """What happened, in words."""
        return f"debate {self.debate} is open: {self.format}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RoundStarted(_Happened):
    """The first call of a round is made."""

    round: int

    @property
    def told(self) -> str:
        """What happened, in words."""
        return f"round {self.round} begins"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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

    @property
    def mark(self) -> str:
        """What marks it, in a word; empty for nothing."""
        return self.vote or (f"strength {self.rating}" if self.rating else "")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SentBack(_Turn):
    """A reply that does not count, why, and whether it is asked for again.

    `member` and `keyword` say where it misses its schema, if that is why.
    """

    code: Rejection
    member: str | None
    keyword: str | None
    rating: int | None
    again: bool

    @property
    def told(self) -> str:
        """What happened, in words."""
        why = rejection(self.code, self.member, self.keyword, self.rating)
        return f"{self.place}: {why}{_again(self.again)}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CallFailed(_Turn):
    """A call that brought no reply, and whether it is made again, after how long.

    `status` is HTTP's, `wait_ms` the wait in milliseconds; None where there is none.
    """

    error: CallError
    status: int | None
    again: bool
    wait_ms: int | None

    @property
    def told(self) -> str:
        """What happened, in words."""
        status = f" (HTTP {self.status})" if self.status else ""
        wait = f" after {seconds(self.wait_ms)}" if self.wait_ms else ""
        return f"{self.place}: {ERRORS[self.error]}{status}{_again(self.again)}{wait}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Forfeited(_Turn):
    """A speaker who could not be heard."""

    reason: Literal["no_reply", "invalid_reply"]

    @property
    def told(self) -> str:
        """What happened, in words."""
        return f"{self.place} is not heard: {REASONS[self.reason]}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolUsed(_Turn):
    """A tool came back; `tool` is None where a model asked for what cannot be a tool's name."""

    tool: str | None
    ok: bool

    @property
    def told(self) -> str:
        """What happened, in words."""
        came = "" if self.ok else "; it gave nothing"
        return f"{self.speaker} used the tool {self.tool or 'of no known name'}{came}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VotesCounted(_Happened):
    """The current votes after a phase, by option."""

    round: int
    phase: str
    votes: dict[str, int]
    abstentions: int
    threshold: int
    reached: bool

    @property
    def told(self) -> str:
        """What happened, in words."""
        where = f"round {self.round} {self.phase}"
        return f"{where}: {tallied(self.votes, self.abstentions, self.threshold, self.reached)}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SimilarityMeasured(_Happened):
    """How alike the answers of a round are; `least_ppm` is None where no pair was compared."""

    round: int
    measure: Literal["options", "words", "whole"]
    heard: int
    least_ppm: int | None
    threshold_ppm: int

    @property
    def told(self) -> str:
        """What happened, in words."""
        alike = "no two to compare" if self.least_ppm is None else f"from {share(self.least_ppm)}"
        return f"round {self.round}: answers compared by {self.measure}, alike {alike}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Converged(_Happened):
    """The answers of a round are alike, which ends the rounds and proves nothing."""

    round: int

    @property
    def told(self) -> str:
        """What happened, in words."""
        return f"the answers of round {self.round} are alike: the rounds end"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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

    @property
    def mark(self) -> str:
        """What marks it, in a word; empty for nothing."""
        if self.undeclared:
            return "undeclared"
        return self.confidence or self.winner or self.choice or "synthesis"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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

    @property
    def told(self) -> str:
        """What happened, in words."""
        if self.ceiling == "operator":
            return f"cut short {stopper(self.by, self.why)}"
        return f"cut short: {STOPPED[cast(CloseReason, f'{self.ceiling}_ceiling')]}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Decided(_Happened):
    """What was decided, in the words of the stance where it is one, and under which rule."""

    decision: str
    text: str | None
    rule: DecisionRule

    @property
    def told(self) -> str:
        """What happened, in words."""
        return f"decided: {stance(self.decision, self.text)} ({self.rule})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SynthesisWritten(_Said):
    """The deliverable is there."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DebateClosed(_Happened):
    """The debate is over: how it ended, and why it stopped."""

    outcome: Outcome
    reason: CloseReason

    @property
    def told(self) -> str:
        """What happened, in words."""
        return f"{self.outcome}: {STOPPED[self.reason]}"


def _again(again: bool) -> str:
    return "; asked again" if again else ""


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
