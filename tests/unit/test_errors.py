"""Errors and warnings go from one process to another as what they are."""

from __future__ import annotations

import copy
import pickle

import pytest

from hansard.errors import (
    DataError,
    ForkError,
    HansardError,
    SeatError,
    SpecWarning,
    UsageError,
)
from hansard.runtime.models.base import ModelError, Unavailable, Wire
from hansard.runtime.recording import Stop

MADE = {
    "plain": HansardError("a.b", "So."),
    "usage": UsageError("a.b", "So.", [UsageError("c.d", "And so.")]),
    "data": DataError("a.b", "So.", "there"),
    "fork": ForkError("a.b", "So.", (b"one", b"other")),
    "seat": SeatError("seat.raised", "So.", "debate", "seat", "step"),
    "warning": SpecWarning("theatre", "So."),
    "model": ModelError("rate_limited", "http-429", retry_after=3, wire=Wire(429)),
    "unavailable": Unavailable("So.", retry_after=3),
    "stop": Stop("So.", by="Ann"),
}


def members(error):
    """All that an error says; errors are not equal to each other."""
    told = {name: value for name, value in vars(error).items() if name != "others"}
    return type(error), error.args, told, [members(row) for row in getattr(error, "others", ())]


@pytest.mark.parametrize("kind", MADE)
def test_an_error_is_the_same_in_another_process(kind):
    error = MADE[kind]
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert members(again) == members(error)
        assert str(again) == str(error)
