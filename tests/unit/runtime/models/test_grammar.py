"""What a grammar can express of a schema, and which schemas it leaves their sense."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

import playing
from hansard.rules.formats import FORMATS
from hansard.runtime.models.grammar import is_closed, narrowed
from support import example

TEXT = {"type": "string"}
SHUT = {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False}
OPEN = {"type": "object", "properties": {"a": TEXT}}


@pytest.mark.parametrize(
    ("schema", "left"),
    [
        ({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "x"}, TEXT),
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 9}, {"type": "integer"}),
        ({"type": "array", "items": {"type": "number", "multipleOf": 2}, "minItems": 2},
         {"type": "array", "items": {"type": "number"}}),
        ({"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3},
         {"type": "array", "items": TEXT, "minItems": 1}),
        ({"enum": ["a", None], "type": ["string", "null"]}, {"enum": ["a", None]}),
        ({"const": 1, "type": "integer", "title": "One"}, {"const": 1, "title": "One"}),
        ({"type": ["string", "null"], "description": "d"},
         {"type": ["string", "null"], "description": "d"}),
        ({"oneOf": [{**TEXT, "minLength": 1}, {"$ref": "#/$defs/a"}], "$defs": {"a": TEXT}},
         {"anyOf": [TEXT, {"$ref": "#/$defs/a"}], "$defs": {"a": TEXT}}),
        ({**SHUT, "required": ["a"], "minProperties": 1}, {**SHUT, "required": ["a"]}),
        ({"type": "object", "properties": {"minLength": {**TEXT, "format": "uri"}}},
         {"type": "object", "properties": {"minLength": TEXT}}),
        ({**SHUT, "properties": {"a": True, "b": False}},
         {**SHUT, "properties": {"a": {}, "b": {}}}),
        ({"anyOf": [True, TEXT], "$defs": {"a": False}}, {"anyOf": [{}, TEXT], "$defs": {"a": {}}}),
    ],
)  # fmt: skip
def test_what_a_grammar_has_no_word_for_is_left_out(schema, left):
    assert narrowed(schema) == left


@pytest.mark.parametrize("format_", FORMATS)
def test_what_fits_a_schema_of_ours_fits_what_is_left_of_it(format_):
    terms = playing.spec_of(format_).terms()
    for schema in FORMATS[format_].schemas(terms).values():
        left = narrowed(schema)
        Draft202012Validator.check_schema(left)
        assert Draft202012Validator(left).is_valid(example(schema))
        assert is_closed(schema)
        assert narrowed(left) == left


@pytest.mark.parametrize(
    ("schema", "closed"),
    [
        (SHUT, True),
        (OPEN, False),
        ({**OPEN, "additionalProperties": True}, False),
        ({**SHUT, "properties": {"a": OPEN}}, False),
        ({"type": "array", "items": SHUT}, True),
        ({"type": "array", "items": OPEN}, False),
        ({"type": "array"}, False),
        ({"anyOf": [SHUT, {"type": "null"}]}, True),
        ({"anyOf": [SHUT, {}]}, False),
        ({"type": ["object", "null"]}, False),
        ({"type": ["string", "null"]}, True),
        ({"enum": [{"a": 1}]}, True),
        ({"$ref": "#/$defs/a", "$defs": {"a": TEXT}}, False),
        ({**SHUT, "properties": {"a": True}}, False),
        ({**SHUT, "properties": {"a": False}}, False),
        ({}, False),
    ],
)
def test_a_schema_keeps_its_sense_where_all_its_objects_are_closed(schema, closed):
    assert is_closed(schema) == closed
