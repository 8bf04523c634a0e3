"""A line is an event in exactly one spelling, or it is refused (FORMAT.md §1)."""

import json

import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.errors import DataError
from hansard.rules.events import parse
from support import eventful

LINES = eventful().record.lines
BITS = [b"1.0", b"true", b"null", b'"1"', b"-0", b"1e0", b"{}", b"[]", b'"a":1,', b",", b"[" * 300]


@settings(max_examples=500)
@given(st.sampled_from(LINES), st.data())
def test_a_changed_line_is_refused_or_read_as_what_it_says(line, data):
    begin = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(begin, min(begin + 4, len(line))))
    other = data.draw(st.sampled_from(BITS) | st.binary(max_size=3))
    changed = line[:begin] + other + line[end:]
    try:
        event = parse(changed)
    except DataError as error:
        assert changed != line
        assert error.code in ("4.json", "4.bytes", "4.profile", "7.schema")  # noqa: PT017
    else:
        assert rfc8785.dumps(event) == changed
        assert event == json.loads(changed)
