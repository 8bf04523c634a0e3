"""The times of a debate: the wall clock read once, and moved on by a clock that nobody sets."""

from __future__ import annotations

import pytest

from hansard.runtime.clock import Clock


class Given(Clock):
    """A wall clock and a monotonic clock that a test sets."""

    wall, seconds = "2026-11-21T20:00:00.000000Z", 100.0

    def now(self):
        return self.wall

    def monotonic(self):
        return self.seconds


def test_times_move_with_the_monotonic_clock_whatever_the_wall_clock_does():
    clock = Given()
    time = clock.timeline()
    assert time() == "2026-11-21T20:00:00.000000Z"
    clock.wall, clock.seconds = "2020-01-01T00:00:00.000000Z", 101.5
    assert time() == "2026-11-21T20:00:01.500000Z"
    clock.wall = "2036-01-01T00:00:00.000000Z"
    assert time() == "2026-11-21T20:00:01.500000Z"


@pytest.mark.parametrize(
    ("after", "first"),
    [
        ("", "2026-11-21T20:00:00.000000Z"),
        ("2026-11-21T19:59:59.999999Z", "2026-11-21T20:00:00.000000Z"),
        ("2026-11-21T20:00:00.000001Z", "2026-11-21T20:00:00.000001Z"),
        ("2026-02-31T00:00:00.000000Z", "2026-11-21T20:00:00.000000Z"),  # a day that is none
    ],
)
def test_they_begin_where_the_record_ends_if_the_wall_clock_is_behind_it(after, first):
    assert Given().timeline(after)() == first


def test_they_end_with_the_last_time_that_an_entry_can_hold():
    clock = Given()
    time = clock.timeline("9999-12-31T23:59:59.000000Z")
    clock.seconds += 3
    assert time() == "9999-12-31T23:59:59.999999Z"


def test_the_machines_clock_has_the_form_of_an_entry():
    assert len(Clock().now()) == len("2026-11-21T20:00:00.000000Z")
    clock = Given()
    clock.wall = "0001-01-01T00:00:00.000000Z"
    assert clock.timeline()() == clock.wall
