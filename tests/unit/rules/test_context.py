"""A context is any JSON value: recorded as text, and given back as what it was."""

from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hansard
from hansard.errors import UsageError
from hansard.rules.context import as_text, value_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=9,
)


@given(VALUES | VALUES.map(json.dumps) | VALUES.map(as_text))
@example("NaN")
@example("[" * 5000)
@example("9" * 5000)
def test_each_value_comes_back_as_what_it_was(value):
    found = value_of(as_text(value))
    assert (found, type(found)) == (value, type(value))


@given(TEXTS)
def test_a_text_is_recorded_as_it_is_unless_it_would_be_read_as_another_value(text):
    assert (as_text(text) == text) == (value_of(text) == text)


@pytest.mark.parametrize(
    "context",
    [{"team": ["Ann", "Bo"], "budget": 1.5}, [1, None], 0, False, {}, "Words.", '{"a":1}'],
)
@pytest.mark.parametrize("is_custom", [False, True])
def test_a_function_is_given_the_value_and_the_prompt_shows_it_as_json(context, is_custom):
    seen = []

    def ask(request):
        seen.append((request.context, request.prompt))
        return "Because."

    spec = {"format": "panel", "question": "Why?", "agents": 2, "rounds": 1, "context": context}
    spec["model"] = "custom:ask" if is_custom else "python:ask"
    with hansard.open_store("sqlite:///:memory:") as store:
        result = hansard.run_sync(spec, models={"ask": ask}, store=store)
        assert hansard.verify(store, result.debate).ok
    for value, prompt in seen:
        assert value == (None if is_custom else context)
        assert type(value) is (type(None) if is_custom else type(context))
        assert (f"| {as_text(context)}\n" in prompt) is not is_custom


@pytest.mark.parametrize(
    "context", [date(2026, 1, 1), {"a": {1, 2}}, float("nan"), "", "\ud800", ["x" * 4_000_000]]
)
def test_what_no_text_can_be_is_refused_in_one_sentence(context):
    with pytest.raises(UsageError) as caught:
        hansard.Debate(format="panel", agents=[str, str], question="Why?", context=context)
    assert "context" in str(caught.value)
    assert "\n" not in str(caught.value)
