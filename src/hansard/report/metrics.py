"""Metrics over many debates: what a debate counts towards each, and what many of them say.

- A debate counts for a metric only where it has the figure: no critique, no strength.
- A metric is a mean, or a share of debates. Its alert compares it with a *threshold*, or with
  its value in the time before; a policy (`metric <name>:<number>`) says either by itself.
- Nothing is alerted below `LEAST` debates, nor a change within two standard errors or a quarter
  of what it is compared with.
- What critics and moderators say of themselves is their own word, and called so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from pydantic import Field

from hansard.closed import Closed
from hansard.report.formats import DebateResult
from hansard.report.formats.moderated import ModeratedResult

UNIT = 1_000_000  # figures are kept in millionths
LEAST = 20  # debates
_ERRORS, _PART = 2, 0.25
Alert = Literal["above", "below", "off", "more", "none"]
Against = Literal["threshold", "policy", "before"]


class _Metric(NamedTuple):
    """In words, with its alert: `above` or `below` a threshold, or `off` or `more` than before."""

    what: str
    alert: Alert
    threshold: float | None = None
    share: bool = False


METRICS: Mapping[str, _Metric] = {
    "challenge_strength": _Metric("strength of critiques, in the critics' own word", "below", 6.5),
    "low_confidence": _Metric("moderator's own confidence is LOW", "above", 0.3, share=True),
    "uncertainties": _Metric("uncertainties that the moderator names", "off"),
    "upheld": _Metric("moderator upheld the proposition", "off", share=True),
    "cost_to_estimate": _Metric("cost, as a multiple of what was expected", "above", 1.5),
    "first_answer": _Metric("decided as the first who spoke argued", "none", share=True),
    "escalated": _Metric("escalated to a person", "more", share=True),
    "truncated": _Metric("cut short", "more", share=True),
    "failed": _Metric("failed", "more", share=True),
    "citations": _Metric("cited what is not in the evidence", "more", share=True),
}
_RULES: Mapping[Alert, str] = {
    "above": "alert above the threshold",
    "below": "alert below the threshold",
    "off": "alert when it changes by more than two standard errors and a quarter",
    "more": "alert when it rises by more than two standard errors and a quarter",
    "none": "no alert",
}


class Sum(NamedTuple):
    """How many debates have a figure, its sum, and the sum of its squares; in units."""

    n: int = 0
    total: float = 0
    squares: float = 0

    def plus(self, n: int, total: float, squares: float) -> Sum:
        """Return the sum of these debates and others."""
        return Sum(self.n + n, self.total + total, self.squares + squares)

    @property
    def mean(self) -> float | None:
        """The mean; None of nothing."""
        return self.total / self.n if self.n else None

    @property
    def error(self) -> float:
        """The standard error of the mean; without bound where it cannot be told."""
        if self.n < 2:
            return math.inf
        spread = max(0.0, self.squares - self.total**2 / self.n) / (self.n - 1)
        return math.sqrt(spread / self.n)


class Metric(Closed):
    """One metric over the debates of a time, of one type of task where it has one."""

    name: str
    what: str = Field(description="In words")
    task_type: str | None = Field(description="Of which debates; null: of all")
    share: bool = Field(description="Whether the value is a share of debates, else a mean")
    n: int = Field(description="Debates that have the figure")
    value: float | None = Field(description="Null where no debate has it")
    against: Against | None = Field(description="What it is compared with; null: with nothing")
    baseline: float | None
    alert: bool
    why: str = Field(description="The rule of the alert, in words")

    def spelled(self, value: float) -> str:
        """Return a value of it, or of its baseline, as it is shown."""
        return f"{value:.0%}" if self.share else f"{value:.2f}"


class Metrics(Closed):
    """The metrics of the debates that were opened in a time."""

    metrics: Literal["hansard-metrics/v1"] = Field(
        default="hansard-metrics/v1", description="The form of this document"
    )
    since: str = Field(description="The debates were opened from then on, UTC")
    until: str = Field(description="And before then")
    task_type: str | None = Field(description="Only those of this type; null: all")
    debates: int = Field(description="Closed ones that count")
    scripted: int = Field(description="Left out, since their replies came from a script or record")
    not_counted: int = Field(
        default=0, description="Records of the store, of whatever time, that do not hold"
    )
    rows: tuple[Metric, ...] = Field(description="Each over all debates, then by type of task")

    @property
    def alerts(self) -> tuple[Metric, ...]:
        """Those that somebody must look at."""
        return tuple(row for row in self.rows if row.alert)


def figures(result: DebateResult) -> dict[str, int]:
    """Return what a debate counts towards each metric, in millionths.

    One that is open counts for nothing yet, and one that evaluates for nothing at all.
    """
    if result.status == "open" or (result.origin and result.origin["kind"] == "evaluation"):
        return {}
    counted = {
        "escalated": result.decision == "escalate",
        "truncated": result.status == "truncated",
        "failed": result.status == "failed",
    }
    if result.evidence:
        counted["citations"] = "citations" in result.reviewed.exceptions
    if result.decision is not None and result.first_answer is not None:
        counted["first_answer"] = result.decision == result.first_answer
    found = {name: UNIT * value for name, value in counted.items()}
    expected = result.estimate and result.estimate["cost_expected_micro_usd"]
    if expected and result.totals.cost_micro_usd is not None:
        found["cost_to_estimate"] = UNIT * result.totals.cost_micro_usd // expected
    if isinstance(result, ModeratedResult):
        found |= _moderated(result)
    return found


def _moderated(result: ModeratedResult) -> dict[str, int]:
    found = {}
    if result.decision in ("upheld", "not_upheld"):
        found["upheld"] = UNIT * (result.decision == "upheld")
    said = [
        side.critique.challenge_strength
        for row in result.rounds
        for side in row.exchanges
        if side.critique and side.critique.challenge_strength is not None
    ]
    if said:
        found["challenge_strength"] = UNIT * sum(said) // len(said)
    if result.moderation and result.moderation.confidence:
        found["low_confidence"] = UNIT * (result.moderation.confidence == "LOW")
        found["uncertainties"] = UNIT * len(result.moderation.explicit_uncertainties)
    return found


def metric(
    name: str, now: Sum, before: Sum, by_policy: float | None, task_type: str | None
) -> Metric:
    """Return what the figures of a time say beside those of the time before it."""
    kind = METRICS[name]
    against, baseline = _baseline(kind, before, by_policy)
    return Metric(
        name=name,
        what=kind.what,
        task_type=task_type,
        share=kind.share,
        n=now.n,
        value=now.mean,
        against=against,
        baseline=baseline,
        alert=now.n >= LEAST and _is_off(kind.alert, now, baseline, before, against),
        why=_RULES[kind.alert],
    )


def _baseline(
    kind: _Metric, before: Sum, by_policy: float | None
) -> tuple[Against | None, float | None]:
    if kind.alert == "none":
        return None, None
    if by_policy is not None:
        return "policy", by_policy
    if kind.threshold is not None:
        return "threshold", kind.threshold
    return ("before", before.mean) if before.n >= LEAST else (None, None)


def _is_off(
    alert: Alert, now: Sum, baseline: float | None, before: Sum, against: Against | None
) -> bool:
    value = now.mean
    if value is None or baseline is None:
        return False
    if alert in ("above", "below"):
        return value > baseline if alert == "above" else value < baseline
    error = math.hypot(now.error, before.error if against == "before" else 0)
    change = value - baseline if alert == "more" else abs(value - baseline)
    return change > max(_ERRORS * error, _PART * abs(baseline))


def by_task(rows: Iterable[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    """Return the metrics in their order, each over all debates and then for each type of task."""
    places = {name: place for place, name in enumerate(METRICS)}
    return sorted(set(rows), key=lambda row: (places[row[0]], row[1] is not None, row[1] or ""))
