"""Pieces of the dialects in blocks: cache points, and values as JSON text."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hansard.rules.prompts import Message
from hansard.runtime.models.base import MAX_TOKENS
from hansard.runtime.models.blocks import MAX_POINTS, as_json, mapped_blocks, marked, total
from hansard.runtime.models.wire import loads


def _whole(number):
    """Whether a decimal is spelled as a whole number of more than 64 bits: no record holds that."""
    return str(number).lstrip("-").isdigit() and abs(number) > 2**63


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.decimals(allow_nan=False, allow_infinity=False).filter(lambda number: not _whole(number))
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_a_value_is_written_as_it_was_read(value):
    text = as_json(value)
    assert loads(text.encode()) == value
    assert as_json(loads(text.encode())) == text


@pytest.mark.parametrize(
    "number", ["1.10", "0.1000000000000000055511151231257827", "1E+400", "-0.0"]
)
def test_a_number_keeps_its_digits(number):
    assert json.loads(as_json([Decimal(number)]), parse_float=str) == [number]


@pytest.mark.parametrize("value", ["\ud800", 10**30, object(), {"a": {1, 2}}])
def test_what_no_json_holds_is_refused(value):
    with pytest.raises(TypeError):
        as_json(value)


@example([*"abcdefghijkl"], 6, (5, 1, 2, 6, 3, 4))
@given(
    st.lists(st.text(min_size=1), min_size=2, max_size=24),
    st.integers(0, 12),
    st.lists(st.integers(-1, 14)).map(tuple),
)
def test_the_blocks_are_the_message_and_the_last_points_are_marked(pieces, blocks, repeats):
    titled = min(blocks, len(pieces) // 2) * 2
    message = Message("user", pieces, titled, repeats)
    rows = marked(message)
    assert "".join(text for text, _ in rows) == message.text
    points = [at for at, (_, point) in enumerate(rows, 1) if point]
    due = sorted({at for at in repeats if 0 < at <= len(rows)})
    assert points == due[-MAX_POINTS:]
    content = mapped_blocks(message).parts[0].content
    assert [row for row in content if isinstance(row, str)] == [text for text, _ in rows]
    assert len(content) == len(rows) + len(points)


@pytest.mark.parametrize(
    ("values", "sum_"),
    [
        *[((1, None, 2), 3), ((None, "3", -1), None), ((0,), 0), ((True, 4), 4), ((), None)],
        ((MAX_TOKENS, 1), None),  # such a reply was lost
    ],
)
def test_a_total_is_of_what_is_known(values, sum_):
    assert total(*values) == sum_
