"""Tests and intervals, beside what all cases, one by one, say."""

import itertools
import math
import random
import statistics

import pytest

from hansard.report.chance import LEAST, Stratum, gain, interval, more_needed, sign_test, urn_test


@pytest.mark.parametrize(
    ("more", "fewer", "expected"),
    [
        # One-sided critical values of the sign test (Dixon and Mood, 1946; Conover, table A3).
        (5, 0, 0.03125), (4, 0, 0.0625), (3, 0, 0.125), (7, 1, 0.03515625), (6, 2, 0.14453125),
        (8, 2, 0.0546875), (7, 3, 0.171875), (10, 5, 0.15087890625), (0, 0, 1.0), (0, 4, 1.0),
        (15, 5, 0.020694732666015625),
    ],
)  # fmt: skip
def test_the_sign_test_gives_the_published_values(more, fewer, expected):
    assert sign_test(more, fewer) == expected


def test_the_sign_test_counts_coins():
    for n in range(1, 9):
        tosses = [sum(row) for row in itertools.product((0, 1), repeat=n)]
        for more in range(n + 1):
            assert sign_test(more, n - more) == sum(row >= more for row in tosses) / 2**n


def _percentiles(values):
    """Resample in every way that there is."""
    means = sorted(map(statistics.fmean, itertools.product(values, repeat=len(values))))
    return tuple(means[math.ceil(share * len(means)) - 1] for share in (0.05, 0.95))


@pytest.mark.parametrize(
    "values",
    [(1, 1, 0, -1, 0, 1), (1, 0, 0, 0, 0), (1, 1, 1, 1), (-1, -1, 0, -1, 1), (0, 0, 0), (1, -1)],
)
def test_the_interval_is_that_of_all_resamples(values):
    found = interval(values.count(1), values.count(-1), len(values))
    assert found == pytest.approx(_percentiles(values))


def test_the_interval_is_that_of_many_resamples():
    values = [1] * 9 + [-1] * 3 + [0] * 18
    drawn = random.Random(7)
    means = sorted(statistics.fmean(drawn.choices(values, k=30)) for _ in range(20_000))
    assert interval(9, 3, 30) == pytest.approx((means[1_000], means[19_000]), abs=1 / 30)
    assert interval(0, 0, 0) is None


@pytest.mark.parametrize(
    ("more", "fewer", "n"), [(6, 3, 20), (3, 1, 20), (4, 8, 60), (50, 40, 200)]
)
def test_as_many_more_as_are_said_would_tell(more, fewer, n):
    """If they go as the others did, the test passes at about that many and not well before."""

    def p(times):
        lead, trail = (round(times * row) for row in (max(more, fewer), min(more, fewer)))
        return sign_test(lead, trail)

    total = n + more_needed(more, fewer, n)
    assert p(1.15 * total / n) < 0.1
    assert p(0.8 * total / n) > 0.1


def test_few_questions_are_never_enough_and_even_sides_never_tell():
    assert more_needed(5, 0, 5) == LEAST - 5
    assert more_needed(2, 2, 30) is None
    assert more_needed(2, 2, 12) == 8


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # The lady tasting tea (Fisher, 1935), and Agresti's table of two drugs' like.
        ((4, 4, 4, 0), 1 / 70), ((4, 3, 4, 1), 17 / 70), ((4, 0, 4, 4), 1.0), ((3, 3, 0, 0), 1.0),
    ],
)  # fmt: skip
def test_the_urn_gives_the_published_values(row, expected):
    assert urn_test([Stratum(*row)]) == pytest.approx(expected)


def test_the_urn_of_several_strata_counts_all_draws():
    strata = [Stratum(3, 2, 2, 1), Stratum(2, 2, 3, 1), Stratum(1, 0, 2, 1)]
    falls = []
    for row in strata:
        answers = [1] * (row.first_right + row.second_right)
        answers += [0] * (row.first + row.second - len(answers))
        falls.append([sum(each) for each in itertools.combinations(answers, row.first)])
    totals = [sum(row) for row in itertools.product(*falls)]
    seen = sum(row.first_right for row in strata)
    assert urn_test(strata) == pytest.approx(sum(row >= seen for row in totals) / len(totals))


def test_a_gain_is_weighed_over_the_strata_that_have_both():
    # Weights 10*10/20 and 5*20/25: (5 * 0.4 + 4 * 0.2) / 9.
    rows = [Stratum(10, 8, 10, 4), Stratum(5, 4, 20, 12), Stratum(7, 7, 0, 0)]
    found = gain(rows)
    assert found.value == pytest.approx(2.8 / 9)
    assert found.low < found.value < found.high
    assert found.p == pytest.approx(urn_test(rows[:2]))
    assert gain(rows[2:]) is gain([]) is None


def test_the_interval_of_a_gain_is_agrestis_and_caffos():
    """Of one stratum: 1.6449 standard errors of (9 of 12) and (5 of 12)."""
    found = gain([Stratum(10, 8, 10, 4)])
    reach = 1.6449 * math.sqrt(0.75 * 0.25 / 12 + 5 / 12 * 7 / 12 / 12)
    assert (found.low, found.high) == pytest.approx((0.4 - reach, 0.4 + reach))
    assert gain([Stratum(30, 30, 30, 0)]).high == 1


def test_thousands_of_questions_are_computed_to_the_end():
    assert urn_test([Stratum(2_500, 2_000, 2_500, 1_750)] * 2) < 1e-9
    assert interval(400, 300, 1_000)[0] > 0
