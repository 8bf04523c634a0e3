"""Whether debates answer known questions better than what costs less: a golden set, counted.

- Three ways answer each question: the debate, a single agent, and the same agent asked as often
  as the debate had calls, whose most frequent answer is taken (self-consistency).
- An answer is right if it is the decision of a debate that is complete, and the expert's label.
  What failed, was cut short or was left to a person is not right, and no decision.
- Debates are better if a sign test over the questions that only one of two ways got right says
  so (`chance.LEVEL`), and there are `chance.LEAST` questions. Else they are worse, or nobody can
  tell yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from pydantic import Field

from hansard.closed import Closed
from hansard.report.chance import LEAST, LEVEL, interval, more_needed, sign_test
from hansard.report.formats import DebateResult
from hansard.report.result import Status
from hansard.rules.spending import milliseconds

Way = Literal["debate", "single", "self_consistency"]
Rival = Literal["single", "self_consistency"]
Found = Literal["better", "worse", "too few to tell"]
RIVALS: tuple[Rival, ...] = ("single", "self_consistency")
WAYS: tuple[Way, ...] = ("debate", *RIVALS)
NAMES = {"debate": "debate", "single": "single agent", "self_consistency": "self-consistency"}
UNDECIDED = frozenset({"escalate", "undeclared", "synthesis"})


class Held(Closed):
    """What one way made of one question."""

    debate: str = Field(description="The id of its record")
    status: Status
    decision: str | None = Field(description="Null where nothing was decided")
    right: bool = Field(description="Whether it decided what the expert says")
    calls: int
    tokens: int
    cost_micro_usd: int | None = Field(
        description="As far as models said what they used; null: a price is unknown"
    )
    elapsed_ms: int | None = Field(description="Null of what was resumed: nobody worked meanwhile")
    scripted: bool = Field(description="Whether any reply came from a script or a record")


class Question(Closed):
    """A question of the golden set, its expert's answer, and what each way made of it."""

    id: str
    label: str = Field(description="The answer of the expert")
    debate: Held
    single: Held
    self_consistency: Held

    def by(self, way: Way) -> Held:
        """Return what one way made of it."""
        found: Held = getattr(self, way)
        return found


class Total(Closed):
    """One way over all questions. Intervals hold 90 % of the bootstrap."""

    way: Way
    n: int = Field(description="Questions")
    right: int
    accuracy: float
    low: float
    high: float
    failed: int = Field(description="Of these failed: they are not right")
    truncated: int = Field(description="Of these were cut short: they are not right")
    undecided: int = Field(description="Of these decided for no answer that can be a label")
    calls: int
    tokens: int
    cost_micro_usd: int | None = Field(description="Of all of them; null: a price is unknown")
    cost_per_right_micro_usd: int | None = Field(description="Null also where nothing was right")


class Against(Closed):
    """The debates beside one rival, on the same questions."""

    rival: Rival
    result: Found
    n: int
    won: int = Field(description="Questions that only the debate got right")
    lost: int = Field(description="Questions that only the rival got right")
    difference: float = Field(description="Of the accuracies; above 0 the debates are better")
    low: float
    high: float
    p: float = Field(description="How probable that many won, or more, are by chance alone")
    p_worse: float = Field(description="The same of those lost")
    more_needed: int | None = Field(
        description="About how many more questions would tell; null: none, or nobody can say"
    )
    cost: float | None = Field(description="Cost of the debates, as a multiple of the rival's")
    tokens: float | None = Field(description="The same of tokens")
    latency: float | None = Field(description="The same of the time from opening to close")


class Evaluation(Closed):
    """What a golden set says of a spec: `result` is that against the single agent."""

    evaluation: Literal["hansard-evaluation/v1"] = Field(
        default="hansard-evaluation/v1", description="The form of this document"
    )
    name: str = Field(description="The collection that its debates belong to")
    format: str = Field(description="The format of the debates")
    task_type: str | None = Field(description="As the spec says; null where it says none")
    result: Found = Field(description="Beside the single agent")
    n: int = Field(description="Questions")
    scripted: bool = Field(description="Whether any reply came from a script or a record")
    reused: int = Field(description="Debates that were in the store: nothing was paid again")
    capped: int = Field(
        description="Debates with more calls than self-consistency can have draws, which is 99"
    )
    due: str = Field(description="Evaluate again before this day, UTC: each quarter")
    totals: tuple[Total, ...] = Field(description="Of the three ways")
    against: tuple[Against, ...] = Field(description="Of the two rivals, the single agent first")
    questions: tuple[Question, ...] = Field(description="In the order of the golden set")


def held(result: DebateResult, label: str) -> Held:
    """Return what a debate, or a rival, made of a question whose right answer is `label`."""
    totals, closed = result.totals, result.closed_at
    paused = result.resumes or closed is None
    return Held(
        debate=result.debate,
        status=result.status,
        decision=result.decision,
        right=result.decision == label,  # of a debate that is not complete it is None
        calls=totals.calls,
        tokens=totals.tokens_in + totals.tokens_out,
        cost_micro_usd=totals.cost_micro_usd,
        elapsed_ms=None if paused else milliseconds(result.opened_at, closed or ""),
        scripted=result.scripted,
    )


def total(way: Way, questions: Sequence[Question]) -> Total:
    """Return the sums of one way."""
    rows = [row.by(way) for row in questions]
    right, cost = sum(row.right for row in rows), _sum(row.cost_micro_usd for row in rows)
    low, high = interval(right, 0, len(rows)) or (0.0, 1.0)
    return Total(
        way=way,
        n=len(rows),
        right=right,
        accuracy=right / len(rows),
        low=low,
        high=high,
        failed=sum(row.status == "failed" for row in rows),
        truncated=sum(row.status == "truncated" for row in rows),
        undecided=sum(row.decision in UNDECIDED and not row.right for row in rows),
        calls=sum(row.calls for row in rows),
        tokens=sum(row.tokens for row in rows),
        cost_micro_usd=cost,
        cost_per_right_micro_usd=None if cost is None or not right else cost // right,
    )


def against(rival: Rival, questions: Sequence[Question]) -> Against:
    """Return the debates beside a rival."""
    pairs = [(row.debate, row.by(rival)) for row in questions]
    won = sum(ours.right and not theirs.right for ours, theirs in pairs)
    lost = sum(theirs.right and not ours.right for ours, theirs in pairs)
    n, p, p_worse = len(pairs), sign_test(won, lost), sign_test(lost, won)
    low, high = interval(won, lost, n) or (-1.0, 1.0)
    result: Found = "too few to tell"
    if n >= LEAST and min(p, p_worse) < LEVEL:
        result = "better" if p < p_worse else "worse"
    timed = [row for row in pairs if None not in (row[0].elapsed_ms, row[1].elapsed_ms)]
    return Against(
        rival=rival,
        result=result,
        n=n,
        won=won,
        lost=lost,
        difference=(won - lost) / n,
        low=low,
        high=high,
        p=p,
        p_worse=p_worse,
        more_needed=more_needed(won, lost, n) if result == "too few to tell" else None,
        cost=_multiple(pairs, lambda row: row.cost_micro_usd),
        tokens=_multiple(pairs, lambda row: row.tokens),
        latency=_multiple(timed, lambda row: row.elapsed_ms),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    """Return a sum; None where any of it is unknown."""
    rows = [*values]
    return None if None in rows else sum(row or 0 for row in rows)


def _multiple(
    pairs: Sequence[tuple[Held, Held]], size: Callable[[Held], int | None]
) -> float | None:
    """Return a size of the debates as a multiple of their rivals'; None where it is unknown."""
    ours = _sum(size(debate) for debate, _ in pairs)
    theirs = _sum(size(rival) for _, rival in pairs)
    return ours / theirs if ours is not None and theirs else None


def evaluation(questions: Sequence[Question], **said: object) -> Evaluation:
    """Return what the questions say together; what else is `said` stands as it is."""
    beside = tuple(against(rival, questions) for rival in RIVALS)
    return Evaluation.model_validate(
        {
            **said,
            "result": beside[0].result,
            "n": len(questions),
            "scripted": any(row.by(way).scripted for row in questions for way in WAYS),
            "totals": tuple(total(way, questions) for way in WAYS),
            "against": beside,
            "questions": tuple(questions),
        }
    )
