"""Unicode's form NFC, in linear time whatever the marks."""

from unicodedata import combining, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.report.quoting import Quoted
from hansard.rules import composed as module
from hansard.rules.composed import composed
from hansard.rules.spec_parts import Evidence

# Marks of several classes, some of which are made of others; letters, with marks and without.
SIGNS = "\u0301\u0323\u0345\u0344\u0f73\u0f81\u0fb2\u3099ae\u1faf\u1100\u1161\u11a8\u200d\U0001f600"
MARKS = "a" + "\u0301\u0323" * 30_000  # three seconds, one step at a time


@given(st.text(st.sampled_from(SIGNS + "\u0301\u0323" * 20), max_size=200))
def test_it_is_the_form_that_unicode_says(text):
    assert composed(text) == normalize("NFC", text)


@pytest.fixture
def given_to_python(monkeypatch):
    """The texts that Python brings into NFC."""
    given = []

    def watched(form, text):
        given.extend([text] if form == "NFC" else [])
        return normalize(form, text)

    monkeypatch.setattr(module, "normalize", watched)
    return given


def is_in_order(text):
    classes = [combining(sign) for sign in text[1:]]
    return classes == sorted(classes)


def test_marks_are_in_order_before_python_puts_them_there(given_to_python):
    assert composed(MARKS) == "\u1ea1" + "\u0323" * 29_999 + "\u0301" * 30_000
    assert not is_in_order(MARKS)
    assert all(map(is_in_order, given_to_python))


def test_so_it_is_with_a_document(given_to_python):
    assert Evidence(id="memo", text=MARKS).text == composed(MARKS)
    assert list(map(is_in_order, given_to_python)) == [True, True]


def test_so_it_is_with_what_may_quote_a_text_that_is_erased(given_to_python):
    quoted = Quoted("words that are meant to be erased")
    given_to_python.clear()
    assert not quoted.in_text(MARKS)
    assert list(map(is_in_order, given_to_python)) == [True, True]
