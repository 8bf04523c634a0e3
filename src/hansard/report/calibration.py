"""Whether the gate asks for debates where they pay: what became of questions on both of its arms.

- One arm are debates that were opened with a gate's answer, the other gates' answers after which
  no debate was held. A record counts once somebody noted how its answer turned out.
- Questions on the two arms differ, so they are compared within bands of a single model's own
  confidence. A debate *gains* by how much more often it was right.
- A debate is worth its cost where `gain x downside > cost`. So the factor of the gate, by which the
  downside must exceed the cost threshold, is `1 / gain`, times what debates really cost as a
  multiple of that threshold.
- Nothing is proposed below `chance.LEAST` noted records on each arm, or where chance alone may
  have made the difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import Literal, NamedTuple

from pydantic import Field

from hansard.closed import Closed
from hansard.record.canonical import MAX_INT
from hansard.report.chance import LEAST, LEVEL, Gain, Stratum, gain, in_words
from hansard.rules.gate import LOW_PPM

Found = Literal["proposed", "too few to tell", "no gain", "worse"]
BANDS: Mapping[str, tuple[int, int]] = {
    "below 0.5": (0, 500_000),
    "0.5 to 0.7": (500_000, LOW_PPM),
    "0.7 to 0.9": (LOW_PPM, 900_000),
    "0.9 or more": (900_000, 1_000_001),
}
UNSTATED = "not stated"


class Gated(NamedTuple):
    """A gate's answer: whether a debate followed, what it was asked, and the outcomes noted.

    Money is in micro-US-dollars; `labels` are those of the outcomes in order, with spaces
    between.
    """

    debated: bool
    format: str | None
    confidence_ppm: int | None
    downside: int | None
    threshold: int | None
    cost: int | None
    labels: str


class Arm(Closed):
    """The noted questions of a band on one arm."""

    n: int
    right: int
    accuracy: float | None
    cost_micro_usd: int | None = Field(description="Of one debate, in the mean; null: not known")


class Band(Closed):
    """Questions of about one confidence, with and without a debate."""

    confidence: str = Field(description="Of a single model in its answer, as the gate was told")
    debated: Arm
    undebated: Arm
    gain: float | None = Field(description="By how much more of the debated ones were right")

    @property
    def stratum(self) -> Stratum:
        """Both arms, to be tested."""
        return _stratum(self.debated, self.undebated)


class Calibration(Closed):
    """What the outcomes of both arms say of the gate's factor."""

    calibration: Literal["hansard-calibration/v1"] = Field(
        default="hansard-calibration/v1", description="The form of this document"
    )
    since: str | None = Field(description="Asked from then on; null: from the first")
    until: str | None = Field(description="And up to then; null: to the last")
    task_type: str | None = Field(description="Only of this type; null: all")
    result: Found = Field(description="Whether a factor is proposed, or why none is")
    bands: tuple[Band, ...] = Field(description="By the single model's own confidence")
    debated: int = Field(description="Noted questions with a debate, in bands that have both")
    undebated: int = Field(description="Noted questions without one, in these bands")
    unnoted: int = Field(description="Gates' answers of which nobody noted how they turned out")
    not_counted: int = Field(description="Records of the store, of whatever time, that do not hold")
    gain: float | None = Field(description="Over all bands that have both arms")
    low: float | None = Field(description="The least gain in its 90 % interval")
    high: float | None = Field(description="The greatest")
    p: float | None = Field(description="How probable that gain, or more, is by chance alone")
    cost_ratio: float = Field(description="Cost of debates, as a multiple of the threshold")
    factor: int = Field(description="In force: of the policy, or the gate's default")
    policy: str | None = Field(description="The hash of that policy; null: none names a factor")
    approved: str | None = Field(
        description="When a debate was first opened under it: it was approved by then"
    )
    due: bool = Field(description="Whether that is more than a quarter ago, or never was")
    proposed: int | None = Field(description="The factor that the gain is worth")
    proposed_low: int | None = Field(description="What the greatest gain would be worth")
    proposed_high: int | None = Field(description="The least; null: without bound")
    unmet: int = Field(description="Recorded gates whose downside is no longer large enough then")
    met: int = Field(description="Recorded gates whose downside is large enough only then")

    @property
    def evidence(self) -> str:
        """The figures behind the proposal, in one sentence."""
        if self.gain is None:
            return f"{self.debated} noted debates, {self.undebated} without"
        ends = f"90 %: {100 * (self.low or 0):+.1f} to {100 * (self.high or 0):+.1f}"
        return (
            f"{self.debated} noted debates were right {100 * self.gain:+.1f} points more often "
            f"than {self.undebated} answers without one ({ends}; {in_words(self.p or 0)})"
        )


class InForce(NamedTuple):
    """The factor that the gate goes by now, and the policy that says so, if one does."""

    factor: int
    policy: str | None = None
    approved: str | None = None
    due: bool = True


def calibration(
    rows: Iterable[Gated],
    in_force: InForce,
    right: Collection[str],
    wrong: Collection[str],
    not_counted: int = 0,
    **asked: str | None,
) -> Calibration:
    """Return what the gates' answers say; `asked` are `since`, `until` and `task_type`.

    Of each record the last label counts that is one of `right` or `wrong`.
    """
    known = [*rows]
    told = [(row, _noted(row, right, wrong)) for row in known]
    noted = [(row, good) for row, good in told if good is not None]
    bands = _bands(noted)
    both = [row.stratum for row in bands if row.stratum.weight]
    n, others = sum(row.first for row in both), sum(row.second for row in both)
    found, ratio = gain(both), _cost_ratio(row for row, _ in noted)
    result = _result(found, both, min(n, others))
    proposed = _worth(found.value, ratio) if found and result == "proposed" else None
    unmet, met = _moved(known, in_force.factor, proposed) if proposed else (0, 0)
    return Calibration(
        **asked,
        **in_force._asdict(),
        **dict(zip(("gain", *Gain._fields[1:]), found or (None,) * 4, strict=True)),
        result=result,
        bands=tuple(bands),
        debated=n,
        undebated=others,
        unnoted=len(known) - len(noted),
        not_counted=not_counted,
        cost_ratio=ratio,
        proposed=proposed,
        proposed_low=_worth(found.high, ratio) if found and proposed else None,
        proposed_high=_worth(found.low, ratio) if found and proposed else None,
        unmet=unmet,
        met=met,
    )


def _noted(row: Gated, right: Collection[str], wrong: Collection[str]) -> bool | None:
    """Return whether an answer turned out right; None where nobody has said so."""
    labels = [label for label in row.labels.split() if label in right or label in wrong]
    return labels[-1] in right if labels else None


def _bands(noted: Sequence[tuple[Gated, bool]]) -> list[Band]:
    found = []
    for name in (*BANDS, UNSTATED):
        inside = [(row, right) for row, right in noted if _band(row.confidence_ppm) == name]
        debated = [each for each in inside if each[0].debated]
        arms = _arm(debated), _arm([each for each in inside if not each[0].debated])
        stratum = _stratum(*arms)
        found.append(
            Band(
                confidence=name,
                debated=arms[0],
                undebated=arms[1],
                gain=stratum.gain if stratum.weight else None,
            )
        )
    return found


def _stratum(debated: Arm, undebated: Arm) -> Stratum:
    return Stratum(debated.n, debated.right, undebated.n, undebated.right)


def _band(ppm: int | None) -> str:
    inside = (name for name, (low, high) in BANDS.items() if ppm is not None and low <= ppm < high)
    return next(inside, UNSTATED)


def _arm(rows: Sequence[tuple[Gated, bool]]) -> Arm:
    n, right = len(rows), sum(right for _, right in rows)
    costs = [row.cost for row, _ in rows if row.debated and row.cost is not None]
    return Arm(
        n=n,
        right=right,
        accuracy=right / n if n else None,
        cost_micro_usd=sum(costs) // len(costs) if costs else None,
    )


def _cost_ratio(rows: Iterable[Gated]) -> float:
    """Return what debates cost, as a multiple of what their gates took them to cost."""
    pairs = [(row.cost, row.threshold) for row in rows if row.debated]
    known = [(cost, threshold) for cost, threshold in pairs if cost and threshold]
    return sum(cost for cost, _ in known) / sum(row[1] for row in known) if known else 1.0


def _result(found: Gain | None, strata: Sequence[Stratum], least: int) -> Found:
    if found is None or least < LEAST:
        return "too few to tell"
    if found.p < LEVEL and found.value > 0:
        return "proposed"
    turned = gain(
        Stratum(row.second, row.second_right, row.first, row.first_right) for row in strata
    )
    return "worse" if turned and turned.p < LEVEL else "no gain"


def _worth(value: float, ratio: float) -> int | None:
    """Return the factor that a gain is worth; None for none."""
    return min(MAX_INT, max(1, ceil(ratio / value - 1e-9))) if value > 0 else None


def _moved(rows: Iterable[Gated], old: int, new: int) -> tuple[int, int]:
    """Return how many downsides are large enough only for the one factor, and for the other."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for row in rows:
        if row.downside is not None and row.threshold is not None:
            met = (row.downside > row.threshold * old, row.downside > row.threshold * new)
            counts[met] += 1
    return counts[True, False], counts[False, True]
