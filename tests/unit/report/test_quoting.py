"""What counts as a quote of a text that is to be erased."""

import json
import time

import pytest

from hansard.report.quoting import RUN, Quoted

TEXT = (
    "Jane Roe of 12 Elm Street owes the bank 4,000 pounds since last March.\n"
    "The ledger says so, and nobody has asked her about it yet."
)


@pytest.mark.parametrize(
    "other",
    [
        TEXT,
        f"As stated: {TEXT}",
        "… Jane  ROE of 12 Elm Street,\nowes the “bank” 4000 …",
        json.dumps({"quote": TEXT}),
        json.dumps({"inner": json.dumps({"quote": TEXT[40:110]})}),
        "| owes the bank 4,000 pounds since\n| last March.\n| The ledger says so",
        "".join(f"\\u{ord(sign):04x}" for sign in TEXT[:60]),
    ],
)
def test_a_run_of_letters_is_a_quote_however_it_is_spelled(other):
    assert Quoted(TEXT).in_text(other)


@pytest.mark.parametrize("other", ["", "Jane Roe", "The ledger says so.", "the bank of Elm Street"])
def test_a_few_words_are_none(other):
    assert not Quoted(TEXT).in_text(other)


def test_exactly_a_run_is_enough():
    letters = "".join(chr(0x4E00 + n) for n in range(100))
    for start in range(100 - RUN):
        assert Quoted(letters).in_text(f"x{letters[start : start + RUN]}y")
        assert not Quoted(letters).in_text(f"x{letters[start : start + RUN - 1]}y")


def test_a_short_text_is_quoted_whole():
    assert Quoted("Ann Lee, Basel").in_text("says Ann Lee (Basel)")
    assert not Quoted("Ann Lee, Basel").in_text("says Ann Lee")


def test_a_very_short_text_is_quoted_as_a_word():
    assert Quoted("Ann").in_text("says Ann, too")
    assert not Quoted("Ann").in_text("an annex")
    assert not Quoted("…").in_text("…"), "without a letter there is nothing to look for"
    assert Quoted("a+b").in_text("the sum A+B is")


def test_repeated_letters_take_no_quadratic_time():
    began = time.process_time()
    assert Quoted("a" * 200_000).in_text("a" * 200_000)
    assert not Quoted("a" * 200_000 + "b" * 40).in_text("c" + "ab" * 100_000)
    assert time.process_time() - began < 60
