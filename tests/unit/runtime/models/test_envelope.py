"""One schema for all roles, and the reply taken out of what fits it, to the letter."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.runtime.models.envelope import envelope, refers, unwrap

SPACE = st.text(" \t\n\r", max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda rows: st.lists(rows, max_size=3) | st.dictionaries(st.text(), rows, max_size=3),
    max_leaves=8,
)
WRITTEN = st.builds(
    lambda value, ascii_, indent: json.dumps(value, ensure_ascii=ascii_, indent=indent),
    VALUES,
    st.booleans(),
    st.sampled_from([None, 1]),
)
KEY = st.sampled_from(['"reply"', '"\\u0072eply"', '"\\u0072\\u0065ply"'])
SIGNS = st.text('{}[]:,"\\ reply01.e-\n\ud800', max_size=30)


@given(WRITTEN, KEY, st.lists(SPACE, min_size=6, max_size=6))
def test_the_reply_is_taken_out_exactly_as_it_stands(text, key, gaps):
    before, inner, colon, value, end, after = gaps
    assert unwrap(f"{before}{{{inner}{key}{colon}:{value}{text}{end}}}{after}") == text


@given(WRITTEN | SIGNS | st.text())
def test_whatever_is_taken_out_was_the_only_member(text):
    taken = unwrap(text)
    if taken != text:
        whole = json.loads(text)
        assert whole == {"reply": json.loads(taken)}


@given(WRITTEN, st.sampled_from(["x", "}", ",", '"', "```", "\x0b", "\xa0"]))
def test_what_is_more_or_less_than_an_envelope_is_left_as_it_is(text, more):
    whole = f'{{"reply": {text}}}'
    rows = [whole + more, more + whole, whole[:-1], f'{{"reply": {text}, "why": 1}}']
    rows += [f'{{"reply": {text}, "reply": 1}}', f'{{"replies": {text}}}', f"[{whole}]", "{}"]
    for row in rows:
        assert unwrap(row) == row


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", '{"reply"', '{"reply":', '{"reply":}', '{"reply": {"a": }}', '{reply: 1}',
     '{"reply": ' + "[" * 200_000, '{"reply": ' + "[" * 200_000 + "]" * 200_000 + "}", "null"],
)  # fmt: skip
def test_what_is_no_json_is_left_as_it_is(text):
    assert unwrap(text) == text


@pytest.mark.parametrize("value", ["1" * 9_000, "1e999999", "-0.0", "NaN", '"\\ud800"'])
def test_a_value_is_never_read_only_measured(value):
    """Whether it counts is the rules' to say, of the text itself."""
    assert unwrap(f'{{"reply":{value}}}') == value


@given(st.lists(st.sampled_from(["string", "integer", "boolean", "array"]), min_size=1))
def test_the_envelope_is_a_schema_that_any_role_fits(types):
    schema = envelope({"type": name} for name in types)
    values = {"string": "a", "integer": 1, "boolean": True, "array": []}
    jsonschema.Draft202012Validator.check_schema(schema)
    for name, value in values.items():
        wrapped = {"reply": value}
        assert (name in types) == jsonschema.Draft202012Validator(schema).is_valid(wrapped)
    for wrong in ({}, {"reply": values[types[0]], "why": 1}, values[types[0]]):
        assert not jsonschema.Draft202012Validator(schema).is_valid(wrong)


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"$ref": "#/$defs/a"}, True),
        ({"$dynamicRef": "#a"}, True),
        ({"properties": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}}, True),
        ({"properties": {"a": {"type": "string"}}, "required": ["$ref"]}, False),
        ({"enum": ["$ref"]}, False),
    ],
)
def test_what_refers_to_itself_is_found(schema, found):
    assert refers(schema) is found
