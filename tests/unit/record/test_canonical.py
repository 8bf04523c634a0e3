"""The canonical profile: what a line may hold, and that it has one spelling (FORMAT.md §1)."""

import tracemalloc

import pytest

from hansard.errors import DataError
from hansard.record import canonical
from hansard.record.canonical import MAX_INT, MAX_LINE, decode, encode


def nested(depth, leaf=1, kind="list"):
    for _ in range(depth):
        leaf = [leaf] if kind == "list" else {"a": leaf}
    return leaf


def of_size(size):
    """A list of ids whose canonical line has `size` bytes."""
    rows, rest = divmod(size - 1, 256 + 3)
    half, odd = divmod(rest + 253, 2)
    return ["a" * 256] * (rows - 1) + ["b" * half, "b" * (half + odd)]


def refused(function, value):
    with pytest.raises(DataError) as caught:
        function(value)
    return caught.value.code


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"b": 1, "a": [True, False, None]}, b'{"a":[true,false,null],"b":1}'),
        ({"a_2": 1, "a10": 2, "a": 3}, b'{"a":3,"a10":2,"a_2":1}'),
        ([MAX_INT, -MAX_INT, 0], b"[9007199254740991,-9007199254740991,0]"),
        ("Az09._:/@+=-", b'"Az09._:/@+=-"'),
        ("0.7", b'"0.7"'),
        ("x" * 256, b'"' + b"x" * 256 + b'"'),
        ({}, b"{}"),
    ],
)
def test_a_value_in_the_profile_has_one_spelling(value, line):
    assert encode(value) == line
    assert decode(line) == value


@pytest.mark.parametrize(
    "value",
    [
        *(7.0, 1e16, 0.5, float("nan"), float("inf")),
        *(MAX_INT + 1, -MAX_INT - 1, 1 << 64),
        *("", "x" * 257, "a b", "a\n", "a\tb", "é", "\ud800", 'a"b', "a\\b"),
        *({"A": 1}, {"": 1}, {"_a": 1}, {"1a": 1}, {"a-b": 1}, {"a\n": 1}, {"é": 1}, {1: 1}),
        *(b"a", (1,), {1}, ...),
        *(nested(33), nested(33, kind="dict"), nested(300)),
        [{"deep": [0.5]}],
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_the_writer_refuses_what_is_outside_the_profile(value):
    assert refused(encode, value) == "4.profile"


def test_keys_are_checked_however_many_were_seen():
    for letter in "ab":
        encode({f"{letter}{n}": n for n in range(2000)})
    assert refused(encode, {"a1": 1, "a-1": 1}) == "4.profile"
    assert refused(encode, {"a1": 1, "A1": 1}) == "4.profile"


def test_a_line_that_is_kept_takes_no_more_memory_than_it_has_bytes():
    value = {"a": "b" * 200}
    encode(value)
    tracemalloc.start()
    try:
        lines = [encode(value) for _ in range(100)]
        taken = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    here = taken.filter_traces([tracemalloc.Filter(True, canonical.__file__)])  # no other thread's
    kept = sum(trace.size for trace in here.traces)
    assert sum(map(len, lines)) <= kept < 2 * sum(map(len, lines))


@pytest.mark.parametrize("kind", ["list", "dict"])
def test_32_nested_containers_are_admitted(kind):
    value = nested(32, kind=kind)
    assert decode(encode(value)) == value


def test_a_line_has_at_most_one_mebibyte():
    value = of_size(MAX_LINE)
    assert len(encode(value)) == 1 << 20
    assert decode(encode(value)) == value
    value[-1] += "b"
    assert refused(encode, value) == "4.size"
    assert refused(decode, b" " * (MAX_LINE + 1)) == "4.size"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        *[(line, "4.json") for line in (b"", b"{", b"NaN", b"[Infinity]", b"{'a':1}", b"[1,]")],
        *[(line, "4.json") for line in (b"{}{}", b"01", b"// a\n1", b'"a\x00b"', b"tru")],
        (b"\xef\xbb\xbf{}", "4.json"),  # a byte order mark
        (b'"\xff"', "4.json"),  # not UTF-8
        (b'"\xc0\x80"', "4.json"),  # an overlong form
        (b'"\xed\xa0\x80"', "4.json"),  # a surrogate in UTF-8
        (b'"\\ud800"', "4.profile"),
        (b'{"a":1,"a":1}', "4.bytes"),
        (b'{"a":1,"a":2}', "4.bytes"),
        (b'{"a":1,"\\u0061":1}', "4.bytes"),
        (b'{"b":1,"a":2}', "4.bytes"),
        *[(line, "4.bytes") for line in (b" 1", b"1\n", b"1\r", b'{"a": 1}', b"[1 ]")],
        *[(line, "4.bytes") for line in (b'"\\u0061"', b'"\\/"', b"-0", b"1E2", b"7.0", b"-0.0")],
        *[(line, "4.bytes") for line in (b"7.00", b"1.5e1")],
        *[(line, "4.profile") for line in (b"0.5", b"9007199254740992", b"1e16", b"1" * 30)],
        *[(line, "4.profile") for line in (b"-9007199254740992", b'""', b'"a b"', b'"\xc3\xa9"')],
        *[(line, "4.profile") for line in (b'{"A":1}', b'{"":1}', b'{"a-b":1}', b'"a\\nb"')],
        *[(b"[" * depth + b"]" * depth, "4.profile") for depth in (33, 254)],
        # Brackets in strings are none, and an escaped quote ends no string.
        (b'["' + b"]" * 9000 + b'",' + b"[" * 9000, "4.profile"),
        (b'["]",' * 9000, "4.profile"),
        (b'["' + b"[" * 40 + b'"]', "4.profile"),  # not for its depth, but for its string
        (b'"\\"' + b"[" * 40, "4.json"),  # still within the string
        (b'["\\\\",' * 40, "4.profile"),
        (b'"' + b"[" * 40, "4.json"),  # a string without an end
    ],
    ids=lambda part: part if isinstance(part, str) else ascii(part)[:30],
)
def test_the_reader_rejects_every_other_spelling(line, code):
    assert refused(decode, line) == code


@pytest.mark.parametrize("depth", [255, 1024, 1025, 500_000])
@pytest.mark.parametrize(("begin", "end"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_a_line_nested_deeper_than_any_parser_goes_is_rejected(depth, begin, end):
    line = begin * depth + b"1" + end * depth
    assert refused(decode, line) in {"4.profile", "4.json", "4.size"}
