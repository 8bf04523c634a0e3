"""What chance alone would do: tests and intervals, without a single random number.

- `sign_test`: two ways on the same questions. Only questions that one way alone got right count;
  if neither way were better, each of them would fall to either side like a coin.
- `interval`: the bootstrap's percentiles of a mean of values that are 1, 0 or -1. The
  distribution of its resampled means is known, so it is computed and not sampled: what endless
  resampling would give, the same on every machine.
- `gain`: two ways on different questions, in strata that are alike. If neither way were better,
  which of the right answers fell to the first would be a draw from an urn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import ceil, comb, exp, lgamma, sqrt
from typing import NamedTuple

LEVEL = 0.1  # a result holds if chance alone gives as much with a smaller probability
LEAST = 20  # questions, without which nothing is claimed
_BOTH, _BEYOND = 1.6449, 1.2816  # standard errors: 90 % lie within the one, 10 % beyond the other
_NOTHING = 1e-16  # a probability that moves no figure

_Spread = tuple[int, list[float]]  # the least value, and the probability of each from there on


def sign_test(more: int, fewer: int) -> float:
    """Return the probability that chance gives one side `more` or above of `more` + `fewer`.

    >>> sign_test(7, 2)
    0.08984375
    """
    n = more + fewer
    ways: int = 2**n
    return sum(comb(n, k) for k in range(more, n + 1)) / ways


def in_words(p: float) -> str:
    """Return a probability as people are told it.

    >>> in_words(0.08984), in_words(1e-9)
    ('p = 0.090', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def interval(plus: int, minus: int, n: int) -> tuple[float, float] | None:
    """Return the 90 % bootstrap interval of the mean of `n` values; None where there are none.

    `plus` of them are 1, `minus` are -1, the others 0.

    >>> interval(18, 0, 20)
    (0.8, 1.0)
    """
    if not n:
        return None
    one: _Spread = (-1, [minus / n, (n - plus - minus) / n, plus / n])
    found: _Spread = (0, [1.0])
    for _ in range(n):
        found = _sum(one, found)
    least, shares = found
    below = list(accumulate(shares))
    low, high = (
        next((at for at, share in enumerate(below) if share > wanted - 1e-9), len(below) - 1)
        for wanted in (LEVEL / 2, 1 - LEVEL / 2)
    )
    return (least + low) / n, (least + high) / n


def _sum(one: _Spread, other: _Spread) -> _Spread:
    """Return how the sum of two values is spread that do not depend on each other."""
    shares = [0.0] * (len(one[1]) + len(other[1]) - 1)
    for at, share in enumerate(one[1]):
        for beyond, more in enumerate(other[1], at):
            shares[beyond] += share * more
    kept = [at for at, share in enumerate(shares) if share > _NOTHING]
    return one[0] + other[0] + kept[0], shares[kept[0] : kept[-1] + 1]


def more_needed(more: int, fewer: int, n: int) -> int | None:
    """Return about how many more questions would tell which side is better.

    If they go as these `n` did; by the normal distribution, corrected for whole numbers. None
    where the two sides are even: then nobody can say.

    >>> more_needed(6, 3, 20)
    26
    """
    lead, least = abs(more - fewer), max(0, LEAST - n)
    if not lead:
        return least or None
    spread = _BEYOND * sqrt(more + fewer)
    times = ((spread + sqrt(spread * spread + 4 * lead)) / (2 * lead)) ** 2
    return max(1, ceil(n * times) - n, least)


class Stratum(NamedTuple):
    """Questions that are alike: how many each way had, and how many of these were right."""

    first: int
    first_right: int
    second: int
    second_right: int

    @property
    def weight(self) -> float:
        """How much it says of the difference; nothing where one way had no question."""
        n = self.first + self.second
        return self.first * self.second / n if n else 0.0

    @property
    def gain(self) -> float:
        """By how much more was right of the first way, where both had questions."""
        return self.first_right / self.first - self.second_right / self.second

    @property
    def variance(self) -> float:
        """The variance of that, with a right and a wrong answer added to each way."""
        ways = ((self.first_right, self.first), (self.second_right, self.second))
        shares = [((right + 1) / (n + 2), n + 2) for right, n in ways]
        return sum(share * (1 - share) / n for share, n in shares)


class Gain(NamedTuple):
    """By how much more is right of one way: the difference, its 90 % interval, and the test."""

    value: float
    low: float
    high: float
    p: float


def gain(strata: Iterable[Stratum]) -> Gain | None:
    """Return by how much more was right of the first way; None where no stratum has both.

    Strata are weighed as Mantel and Haenszel do, the interval is that of Agresti and Caffo,
    and `p` that of Fisher's test over all strata.
    """
    rows = [row for row in strata if row.weight]
    whole = sum(row.weight for row in rows)
    if not rows:
        return None
    value = sum(row.weight * row.gain for row in rows) / whole
    reach = _BOTH * sqrt(sum(row.weight**2 * row.variance for row in rows)) / whole
    return Gain(value, max(-1.0, value - reach), min(1.0, value + reach), urn_test(rows))


def urn_test(strata: Sequence[Stratum]) -> float:
    """Return the probability that chance gives the first way as many right answers, or more.

    Given how many were asked and how many were right in each stratum; of one it is Fisher's.

    >>> round(urn_test([Stratum(4, 3, 4, 1)]), 6)  # the lady tasting tea
    0.242857
    """
    found: _Spread = (0, [1.0])
    for row in strata:
        found = _sum(found, _drawn(row))
    least, shares = found
    seen = sum(row.first_right for row in strata)
    return min(1.0, sum(shares[max(0, seen - least) :]))


def _drawn(row: Stratum) -> _Spread:
    """Return how many of the right answers fall to the first way, by chance."""
    right, n = row.first_right + row.second_right, row.first + row.second
    least, most = max(0, right - row.second), min(right, row.first)
    whole = _ways(n, row.first)
    shares = [
        exp(_ways(right, k) + _ways(n - right, row.first - k) - whole)
        for k in range(least, most + 1)
    ]
    return _sum((least, shares), (0, [1.0]))


def _ways(n: int, k: int) -> float:
    """Return the logarithm of the number of ways to take `k` of `n`."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
