"""YAML and JSON mean what they look like, and are read in bounded work."""

from __future__ import annotations

import json
import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.errors import UsageError
from hansard.runtime.notation import (
    MAX_CHARS,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_KEY,
    MAX_VALUES,
    MAX_YAML,
    MAX_YAML_VALUES,
    is_crowded,
    parse,
)

PLAIN = {
    "": None,
    "~": None,
    "null": None,
    "NULL": None,
    "nULL": "nULL",
    "true": True,
    "True": True,
    "FALSE": False,
    "tRUE": "tRUE",
    "yes": "yes",
    "no": "no",
    "No": "No",
    "on": "on",
    "off": "off",
    "y": "y",
    "N": "N",
    "0": 0,
    "12": 12,
    "-12": -12,
    "+12": 12,
    "017": 17,
    "0o17": 15,
    "0x1F": 31,
    "0b11": "0b11",
    "0o8": "0o8",
    "0x": "0x",
    "1_000": "1_000",
    "1_000.5": "1_000.5",
    "12:30:45": "12:30:45",
    "1:2": "1:2",
    "190:20:30.15": "190:20:30.15",
    "1.5": 1.5,
    "1.10": 1.1,
    ".5": 0.5,
    "5.": 5.0,
    "1e3": 1000.0,
    "-1E-3": -0.001,
    ".": ".",
    "1.2.3": "1.2.3",
    "1,000": "1,000",
    "e5": "e5",
    ".inf": math.inf,
    "-.INF": -math.inf,
    "inf": "inf",
    "nan": "nan",
    "2026-11-21": "2026-11-21",
    "2026-11-21T10:00:00Z": "2026-11-21T10:00:00Z",
    "=": "=",
    "٣": "٣",
    "１２": "１２",
}


@pytest.mark.parametrize("text", PLAIN, ids=lambda text: ascii(text) or "nothing")
def test_an_unquoted_word_means_what_it_looks_like(text):
    found = parse(f"a: {text}\n", "s.yaml")["a"]
    assert (found, type(found)) == (PLAIN[text], type(PLAIN[text]))


def test_not_a_number_is_one_that_equals_nothing():
    assert math.isnan(parse(".nan", "s.yaml"))


@pytest.mark.parametrize("text", PLAIN, ids=lambda text: ascii(text) or "nothing")
def test_a_quoted_word_and_a_key_are_text(text):
    assert parse(f"a: '{text}'\n", "s.yaml") == {"a": text}
    assert parse(f"a: !!str '{text}'\n", "s.yaml") == {"a": text}
    if text:
        assert parse(f"{text}: a\n", "s.yaml") == {text: "a"}


def test_an_alias_stands_for_what_it_names():
    assert parse("a: &x [1, &y b]\nc: *x\nd: *y\n*y : e", "s.yaml") == {
        "a": [1, "b"],
        "c": [1, "b"],
        "d": "b",
        "b": "e",
    }


def refused(text, name="s.yaml"):
    with pytest.raises(UsageError) as caught:
        parse(text, name)
    assert caught.value.code == "spec.yaml"
    assert str(caught.value).startswith(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


DEEP = MAX_DEPTH + 1
REFUSED = {
    "a key twice": ("a: 1\nb: {c: 1, c: 2}", "line 2: this key is given twice"),
    "a key twice by an alias": ("a: &x b\nb: 1\n*x : 2", "line 3: this key is given twice"),
    "a key that is a list": ("? [a]\n: b", "not a name"),
    "a key that is a list by an alias": ("a: &x [b]\n*x : c", "not a name"),
    "a merge key": ("a: {}\nb:\n  <<: {c: d}", "line 3: merge keys"),
    "a tag": ("a: !!int 3", "line 1: tags are not read"),
    "a tag of Python's": ("!!python/object/apply:os.system [ls]", "tags are not read"),
    "a tag of a set": ("!!set {a}", "tags are not read"),
    "a binary": ("a: !!binary aGk=", "tags are not read"),
    "two documents": ("--- a\n--- b", "line 2: a second document"),
    "an alias of nothing": ("a: *b", "alias"),
    "an alias of itself": ("a: &a [*a]", "alias"),
    "deep lists": ("[" * DEEP + "]" * DEEP, "nests too deeply"),
    "deep mappings": ("{a: " * DEEP + "}" * DEEP, "nests too deeply"),
    "deep blocks": ("- " * DEEP + "a", "nests too deeply"),
    "endless lists": ("[" * 10**6, "nests too deeply"),
    "too many values": ("[" + "a," * MAX_YAML_VALUES + "]", "more than 50,000 values"),
    "many digits": ("a: " + "9" * (MAX_DIGITS + 1), "more than 100 digits"),
    "many signs": ("a: 0x" + "f" * 10**6, "more than 100 digits"),
    "a number beyond all": ("a: 1e999", "too large"),
    "a huge key": (f"? {'k' * (MAX_KEY + 1)}\n: a", "more than 1,000 signs"),
    "half a character": ('a: "\\ud83d"', "half of a character"),
    "no character": ('a: "\\U7FFFFFFF"', "not valid YAML"),
    "a control character": ("a: \x07", "does not admit"),
    "broken": ("a: [1, 2", "line 1: expected"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_in_yaml(what):
    text, words = REFUSED[what]
    assert words in refused(text)


def test_aliases_count_as_if_they_were_written_out():
    laughs = "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
    for one, other in zip("abcde", "bcdef", strict=True):
        laughs += f"{other}: &{other} [{','.join([f'*{one}'] * 10)}]\n"
    assert "more than 50,000 values" in refused(laughs)
    long = f"a: &a {'x' * 100_000}\nb: [{','.join(['*a'] * (MAX_CHARS // 100_000))}]"
    assert f"more than {MAX_CHARS:,} signs" in refused(long)


@pytest.mark.slow
def test_less_of_yaml_is_read_than_of_json():
    most = f"a: {'x' * (MAX_YAML - 3)}"
    assert parse(most, "x.yaml") == {"a": "x" * (MAX_YAML - 3)}
    assert parse("[" + ",".join(["1"] * (MAX_YAML_VALUES - 1)) + "]", "x.yaml")
    for text in (f"{most}x", "[" + "1," * MAX_YAML_VALUES + "]"):
        assert "the most in YAML" in refused(text)
        assert refused(text).endswith("save it as JSON, in a file whose name ends in .json")
    assert parse(json.dumps(["x" * MAX_YAML]), "x.json") == ["x" * MAX_YAML]
    assert parse(json.dumps([1] * (MAX_YAML_VALUES + 1)), "x.json")


def test_of_too_much_yaml_nothing_is_parsed(monkeypatch):
    monkeypatch.setattr("hansard.runtime.notation.yaml", None)
    assert "more than 1,048,576 characters" in refused("#" * (MAX_YAML + 1))


REFUSED_JSON = {
    "a key twice": ('{"a": {"b": 1, "b": 2}}', "given twice"),
    "not a number": ("[NaN]", "not JSON"),
    "a huge key": (f'{{"{"k" * (MAX_KEY + 1)}": 1}}', "more than 1,000 signs"),
    "infinite": ("[-Infinity]", "not JSON"),
    "a number beyond all": ("[1e999]", "too large"),
    "many digits": ("9" * (MAX_DIGITS + 1), "more than 100 digits"),
    "many decimals": ("0." + "9" * MAX_DIGITS, "more than 100 digits"),
    "deep": ("[" * DEEP + "]" * DEEP, "nests too deeply"),
    "endless": ("[" * 10**6, "nests too deeply"),
    "too many values": ("[" + "1," * MAX_VALUES + "1]", "more than 100,000 values"),
    "half a character": ('{"\\ud83d": 1}', "half of a character"),
    "broken": ('{\n"a" 1}', "line 2: Expecting"),
    "YAML": ("a: b", "line 1"),
    "nothing": ("", "line 1"),
}


@pytest.mark.parametrize("what", REFUSED_JSON)
def test_what_is_refused_in_json(what):
    text, words = REFUSED_JSON[what]
    assert words in refused(text, "s.json")


SECRET = "hunter2"
QUOTING = [
    f"{SECRET}: [",
    f"a: *{SECRET}",
    f"a: !{SECRET} b",
    f"a: !{SECRET}!x b",
    f"%{SECRET}\na",
    f"%TAG !{SECRET}! x\n%TAG !{SECRET}! y\n--- a",
    f"%YAML {SECRET}",
    f'a: "\\{SECRET}"',
    f'a: "\\x{SECRET}"',
    f"{SECRET}: a\n{SECRET}: b",
    f"- {SECRET}\n  {SECRET}: {SECRET}: a",
    f"a: |{SECRET}",
    f"a: !<{SECRET} b",
    f"a: &{SECRET}% b",
    f"'{SECRET}",
    f"? [{SECRET}]\n: {SECRET}",
    f"-----BEGIN KEY-----\n{SECRET}: {SECRET}\n-----END KEY-----",
]


@pytest.mark.parametrize("text", QUOTING)
def test_no_error_quotes_what_the_file_holds(text):
    for name in ("s.yaml", "s.json"):
        assert SECRET not in refused(text, name)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=100), inner),
)


@given(VALUES)
def test_json_reads_back_what_json_writes(value):
    assert parse(json.dumps(value), "s.json") == value
    assert parse(json.dumps(value, ensure_ascii=False), "s.json") == value


@given(VALUES)
def test_yaml_reads_json_as_it_is(value):
    assert parse(json.dumps(value), "s.yaml") == value


PIECES = [
    *"[]{},:?-&*!|>'\"%#~ \n\\.0",
    *("- ", ": ", "? ", "\n  ", "a", "a: ", "&a ", "*a", "1:", "0x", "1_", "<<", "!!int ", "---\n"),
    *("'a'", '"\\n"', "lorem ipsum ", "[a]", "{a: b}", "é"),
]


def calls(text):
    """Return how many functions are called to read a text, and were it refused: work, no time."""
    count = 0

    def seen(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        parse(text, "s.yaml")
    except UsageError:
        pass
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=4),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6),
)
def test_work_grows_no_faster_than_the_text(head, piece):
    start, piece = "".join(head), "".join(piece)
    # From 1,024 signs on a key cannot end any more, and what is looked ahead has its full length.
    half, whole = (calls(start + piece * (size // len(piece))) for size in (3_000, 6_000))
    assert whole <= 2.2 * half + 5_000


@pytest.mark.parametrize(
    "text", ["1:", "9", "[", "{", "- ", "? ", ".", "0", "1_", "1e", "+", "a b "]
)
def test_work_for_a_long_text_is_bounded_by_its_length(text):
    long = text * (100_000 // len(text))
    assert calls(f"a: {long}") < 12 * len(long)


# What a vendor's library makes objects of is counted before it does: the signs of JSON

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
