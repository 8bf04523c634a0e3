"""The canonical profile against RFC 8785 as another package has it (FORMAT.md §1)."""

import json

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import DataError
from hansard.record.canonical import MAX_INT, decode, encode

KEYS = st.from_regex(r"[a-z][a-z0-9_]*", fullmatch=True)
TEXTS = st.from_regex(r"[A-Za-z0-9._:/@+=-]{1,256}", fullmatch=True)
LEAVES = st.none() | st.booleans() | st.integers(-MAX_INT, MAX_INT) | TEXTS
PROFILE = st.recursive(LEAVES, lambda it: st.lists(it) | st.dictionaries(KEYS, it), max_leaves=30)

ANY_LEAF = LEAVES | st.floats() | st.integers() | st.text()
ANY = st.recursive(
    ANY_LEAF, lambda it: st.lists(it) | st.dictionaries(KEYS | st.text(), it), max_leaves=15
)


def read(line):
    """The value of a line, or None (which is not drawn alone) for one that is rejected."""
    try:
        return [decode(line)]
    except DataError:
        return None


@given(PROFILE)
def test_inside_the_profile_the_bytes_are_those_of_rfc_8785(value):
    line = encode(value)
    assert line == rfc8785.dumps(value)
    assert decode(line) == value


@given(ANY)
def test_outside_the_profile_nothing_is_written(value):
    try:
        line = encode(value)
    except DataError as error:
        assert error.code == "4.profile"  # noqa: PT017 - either outcome is right for some value
    else:
        assert line == rfc8785.dumps(value)


@given(ANY, st.booleans(), st.booleans())
def test_a_line_that_is_read_has_the_bytes_of_rfc_8785(value, escaped, spaced):
    separators = (", ", ": ") if spaced else (",", ":")
    text = json.dumps(value, ensure_ascii=escaped, separators=separators, sort_keys=True)
    line = text.encode(errors="surrogatepass")
    found = read(line)
    assert found is None or rfc8785.dumps(found[0]) == line


@given(PROFILE, st.data())
def test_a_changed_byte_is_rejected_or_another_value(value, data):
    line = bytearray(encode(value))
    place = data.draw(st.integers(0, len(line) - 1))
    line[place] ^= data.draw(st.integers(1, 255))
    found = read(bytes(line))
    assert found is None or (found != [value] and encode(found[0]) == line)
