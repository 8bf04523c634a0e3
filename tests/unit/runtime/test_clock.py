"""The world's time and chance."""

from __future__ import annotations

import re
from uuid import UUID

from hansard.runtime.clock import Clock


def test_now_is_utc_with_microseconds_and_sorts_as_text():
    first, second = Clock().now(), Clock().now()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", first)
    assert first <= second


def test_monotonic_never_goes_back():
    clock = Clock()
    times = [clock.monotonic() for _ in range(100)]
    assert times == sorted(times)


def test_salts_are_fresh_and_long_enough():
    salts = {Clock().salt() for _ in range(100)}
    assert len(salts) == 100
    assert {len(salt) for salt in salts} == {32}


def test_a_debate_id_is_a_random_uuid():
    name = Clock().debate_id()
    assert UUID(name).version == 4
    assert name == name.lower() != Clock().debate_id()
