"""The signed text of a periodic report: what is written is read, in its one spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import DataError
from hansard.record.periodic import Counted, is_countable, parse, write

A = "a" * 64
ONE, TWO = (f"{n}0000000-0000-4000-8000-000000000000" for n in (1, 2))
SINCE, UNTIL, AT = (f"2026-1{n}-01T00:00:00.000000Z" for n in range(3))
WHOLE = Counted(SINCE, UNTIL, AT, {"calls": 12, "rule.threshold_vote": 1}, {ONE: A, TWO: A})
TEXT = (
    "hansard-report/v1\nsince 2026-10-01T00:00:00.000000Z\nuntil 2026-11-01T00:00:00.000000Z\n"
    "at 2026-12-01T00:00:00.000000Z\nnumber calls 12\nnumber rule.threshold_vote 1\n"
    f"debate {ONE} {A}\ndebate {TWO} {A}\n"
)
numbers = st.dictionaries(
    st.from_regex("[a-z0-9_.]{1,128}", fullmatch=True), st.integers(1, 10**40 - 1), max_size=5
)


def test_the_text_is_as_the_format_says():
    assert write(WHOLE).decode() == TEXT


@given(numbers, st.booleans())
def test_what_is_written_is_read_again(found, listed):
    whole = Counted(SINCE, UNTIL, AT, found, WHOLE.heads if listed else {})
    assert parse(write(whole)) == whole


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_spelled_as_they_are(text):
    try:
        found = write(parse(text))
    except DataError as error:
        found = error.code
    assert found in (text, "21.malformed")


MALFORMED = {
    "nothing": "",
    "another version": TEXT.replace("v1", "v2"),
    "no time": TEXT.replace("at 2026-12-01T00:00:00.000000Z\n", ""),
    "a time in another spelling": TEXT.replace("00.000000Z\nuntil", "00Z\nuntil"),
    "two in another order": TEXT.replace(ONE, "3" + ONE[1:]),
    "one twice": TEXT.replace(TWO, ONE),
    "a number twice": TEXT.replace("rule.threshold_vote", "calls"),
    "a number of 0": TEXT.replace("calls 12", "calls 0"),
    "a number that begins with 0": TEXT.replace("calls 12", "calls 012"),
    "a number after the debates": TEXT + "number open 1\n",
    "a line of another kind": TEXT.replace("number calls", "count calls"),
    "an id that is none": TEXT.replace("0000-4000", "0000-1000"),
    "two spaces": TEXT.replace(f"{ONE} ", f"{ONE}  "),
    "an empty line": TEXT.replace("number calls", "\nnumber calls"),
    "no last line end": TEXT[:-1],
    "another digit": TEXT.replace("12\n", "1²\n"),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_spelled_otherwise_is_refused(what):
    assert MALFORMED[what] != TEXT
    with pytest.raises(DataError) as caught:
        parse(MALFORMED[what].encode())
    assert caught.value.code == "21.malformed"


odd = st.one_of(st.integers(), st.booleans(), st.floats(), st.text(max_size=9), st.none())
names = st.from_regex(r"[a-z. ]{0,5}\n?[0-9]?", fullmatch=True)


@given(
    st.dictionaries(names, st.one_of(st.integers(1, 9), odd), max_size=2),
    st.sampled_from([ONE, ONE + "\n", "x", ONE.upper().replace("1", "A")]),
    st.sampled_from([A, A + "\n", A[1:], None, 7]),
)
def test_what_is_countable_is_what_is_read_again(found, debate, head):
    try:
        parsed = parse(write(Counted(SINCE, UNTIL, AT, found, {debate: head})))
        again = (parsed.numbers, parsed.heads) == (found, {debate: head})
    except DataError:
        again = False
    assert is_countable(found, debate, head) == again
