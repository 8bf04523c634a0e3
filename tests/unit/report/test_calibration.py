"""What outcomes say of the gate's factor, and when they say nothing."""

import pytest

from hansard.report.calibration import BANDS, UNSTATED, Gated, InForce, calibration
from hansard.report.chance import Stratum, gain

IN_FORCE = InForce(50, "ab" * 32, "2026-07-01T00:00:00.000000Z", True)
EVERYTHING = {"since": None, "until": None, "task_type": None}


def asked(debated, label, *, confidence=0.65, cost=2, threshold=1, downside=60, n=1):
    ppm = None if confidence is None else round(1_000_000 * confidence)
    row = Gated(debated, "panel", ppm, downside, threshold, cost if debated else None, label)
    return [row] * n


def found(*rows, right=("right",), wrong=("wrong",), in_force=IN_FORCE):
    return calibration([row for each in rows for row in each], in_force, right, wrong, **EVERYTHING)


def arms(right, n, other_right, other_n, **fields):
    return [
        *asked(True, "right", n=right, **fields),
        *asked(True, "wrong", n=n - right, **fields),
        *asked(False, "right", n=other_right, **fields),
        *asked(False, "wrong", n=other_n - other_right, **fields),
    ]


def test_a_gain_is_worth_the_factor_at_which_a_debate_pays():
    """0.2 more are right: a wrong answer must cost more than five debates, at twice the price."""
    row = found(arms(40, 50, 30, 50))
    assert (row.result, row.debated, row.undebated) == ("proposed", 50, 50)
    assert (row.gain, row.cost_ratio, row.proposed) == (pytest.approx(0.2), 2.0, 10)
    expected = gain([Stratum(50, 40, 50, 30)])
    assert (row.low, row.high, row.p) == (expected.low, expected.high, expected.p)
    assert row.proposed_low < row.proposed < row.proposed_high
    assert found(arms(40, 50, 30, 50, cost=1)).proposed == 5
    assert found(arms(40, 50, 30, 50, cost=None)).proposed == 5  # at the threshold itself


def test_with_fewer_than_twenty_on_either_arm_nothing_is_proposed():
    assert found(arms(20, 20, 4, 20)).result == "proposed"
    for rows in (arms(19, 19, 4, 20), arms(20, 20, 4, 19)):
        row = found(rows)
        assert (row.result, row.proposed, row.proposed_low) == ("too few to tell", None, None)
    nothing = found([])
    assert (nothing.result, nothing.gain, nothing.p, nothing.cost_ratio) == (
        "too few to tell", None, None, 1.0,
    )  # fmt: skip


def test_what_chance_may_have_made_proposes_nothing_and_worse_is_said():
    assert found(arms(16, 20, 15, 20)).result == "no gain"
    assert found(arms(15, 20, 16, 20)).result == "no gain"
    worse = found(arms(8, 20, 16, 20))
    assert (worse.result, worse.proposed) == ("worse", None)


def test_answers_are_compared_within_bands_of_confidence():
    """Hard questions go to debates: without bands, debates would look worse than no debate."""
    hard = arms(24, 40, 2, 10, confidence=0.4)
    easy = arms(10, 10, 34, 40, confidence=0.95)
    row = found(hard, easy)
    assert row.gain > 0.2
    assert (24 + 10) / 50 - (2 + 34) / 50 < 0
    assert [band.confidence for band in row.bands] == [*BANDS, UNSTATED]
    assert [band.debated.n for band in row.bands] == [40, 0, 0, 10, 0]
    assert row.bands[0].gain == pytest.approx(0.4)
    assert row.bands[1].gain is None


@pytest.mark.parametrize(
    ("confidence", "band"),
    [(0, 0), (0.499999, 0), (0.5, 1), (0.699999, 1), (0.7, 2), (0.9, 3), (1, 3), (None, 4)],
)
def test_a_confidence_is_in_one_band(confidence, band):
    row = found(asked(True, "right", confidence=confidence))
    assert [each.debated.n for each in row.bands] == [int(at == band) for at in range(5)]


def test_a_band_with_one_arm_alone_counts_for_nothing():
    row = found(arms(40, 50, 30, 50), asked(True, "wrong", confidence=0.95, n=500))
    assert (row.debated, row.undebated, row.gain) == (50, 50, pytest.approx(0.2))
    assert row.bands[3].debated.n == 500


def test_the_last_label_of_right_or_wrong_counts_and_others_are_none():
    rows = [
        *asked(True, "right wrong"),
        *asked(True, "wrong met right later"),
        *asked(True, ""),
        *asked(False, "met"),
    ]
    row = found(rows)
    assert (row.bands[1].debated.n, row.bands[1].debated.right, row.unnoted) == (2, 1, 2)
    own = found(rows, right=("met", "later"), wrong=("wrong",))
    assert (own.bands[1].debated.right, own.bands[1].undebated.right, own.unnoted) == (1, 1, 1)


def test_it_says_which_recorded_downsides_would_be_judged_otherwise():
    """From 50 to 5: a downside of 30 becomes large enough, 60 was, and 4 is not."""
    rows = arms(40, 50, 30, 50, cost=1)
    more = [*asked(True, "", downside=30, n=7), *asked(False, "", downside=4, n=3)]
    row = found(rows, more, asked(True, "", downside=None), asked(False, "", threshold=None))
    assert (row.proposed, row.unmet, row.met) == (5, 0, 7)
    row = found(rows, more, in_force=InForce(2))
    assert (row.unmet, row.met) == (3, 0)
    assert (row.policy, row.approved, row.due, row.factor) == (None, None, True, 2)
