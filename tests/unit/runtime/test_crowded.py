"""What a vendor's library makes objects of is counted before it does: the signs of JSON."""

from __future__ import annotations

import json

import pytest

from hansard.runtime.notation import is_crowded

MOST = 10
FULL = {
    "a list": [0] * MOST,
    "an object": {f"key {n}": f'a, [text] with "{{signs}} and \\ in it {n}' for n in range(MOST)},
    "lists": [[]] * (MOST // 2),
    "a text": ["," * 1000 + "\\" * 3 + '"' * 7 + "{" * 1000],
    "nothing": {},
}


def crowded(text):
    return is_crowded(bytearray(text.encode()), MOST)


@pytest.mark.parametrize("name", FULL)
def test_what_is_in_a_string_does_not_count(name):
    text = json.dumps(FULL[name])
    assert not crowded(text)
    assert not crowded(text.replace(" ", "\n"))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([0] * (MOST + 1)),
        json.dumps([{}] * MOST),
        "[" * (MOST + 1),
        json.dumps([["\\"], *([0] * MOST)]),
        json.dumps(['\\"', *([0] * MOST)]),
        '"' * 1000,
        '["\\\\",' + "0," * MOST + "0]",
    ],
)
def test_one_more_is_too_many(text):
    assert crowded(text)
