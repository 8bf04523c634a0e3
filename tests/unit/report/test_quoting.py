"""What counts as a quote of a text that is to be erased."""

import json
import re
import time
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.record import blob
from hansard.report import quoting
from hansard.report.quoting import RUN, Quoted, TextAt
from hansard.rules.events import parse
from playing import play

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


@pytest.mark.parametrize(
    "text",
    [
        "José Núñez",
        "Müller",
        "Ann Lee",
        "O'Neil",
        "𠮷野家の売上𠮷",
        "the ﬁrst oﬃce pays everything twice, and everybody who works there knows it",
        "Die Prämie für größere Änderungen übersteigt jährliche Erträge erheblich, sagte sie.",
        "株式会社の売上高は前年比で大幅に減少した。これは重要な問題である。取締役会で議論すべきだ。",
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_it_is_found_in_any_form_of_unicode_and_of_json(text, form):
    quoted = Quoted(normalize(form, text))
    for other in map(normalize, ("NFC", "NFD", "NFKC", "NFKD"), [text] * 4):
        for spelled in (
            other,
            other.upper(),
            json.dumps(json.dumps({"quote": other})),
            f"__{other}__",
            other.replace(" ", "\n> ").replace("'", "’"),
            "\u200b".join(normalize("NFC", other)),
        ):
            assert quoted.in_text(f"said: {spelled}!"), spelled


def test_exactly_a_run_is_enough():
    letters = "".join(chr(0x4E00 + n) for n in range(100))
    for start in range(100 - RUN):
        assert Quoted(letters).in_text(f"x{letters[start : start + RUN]}y")
        assert not Quoted(letters).in_text(f"x{letters[start : start + RUN - 1]}y")


def test_exactly_a_run_is_enough_in_whatever_repeats():
    """As in a table, of which the same cell stands in each row."""
    rows = "".join(
        "x" * 16 + "".join(chr(0x4E00 + 16 * n + m) for m in range(16)) for n in range(9)
    )
    quoted = Quoted(rows)
    for start in range(len(rows) - RUN + 1):
        assert quoted.in_text(f"yy{rows[start : start + RUN]}yy")
        assert not quoted.in_text(f"yy{rows[start : start + RUN - 1]}yy")


def test_two_cells_that_repeat_are_found_where_they_meet():
    one, other = "x" * 16, "y" * 16
    apart = "".join(f"{cell}{n:016}" for cell in (one, other) for n in range(9))
    assert Quoted(apart + one + other).in_text(f"zz{one}{other}zz")
    assert not Quoted(apart + one + "z" + other).in_text(f"zz{one}{other}zz")


_CELLS = st.lists(st.sampled_from(["0" * 16, "0" * 15 + "a", "b" * 8, "b"]), max_size=40).map(
    "".join
)


@given(_CELLS, _CELLS, st.integers(0, 600), st.integers(0, 60))
def test_a_quote_is_what_shares_a_run_and_nothing_else(mine, theirs, begin, size):
    mine += "0a" * RUN
    other = theirs[:20] + mine[begin : begin + size] + theirs[20:]
    same = any(mine[at : at + RUN] in other for at in range(len(mine) - RUN + 1))
    assert Quoted(mine).in_text(other) == same


def test_where_too_many_runs_repeat_a_block_may_be_a_quote(monkeypatch):
    monkeypatch.setattr(quoting, "_RUNS", 100)
    rows = "".join(f"{'x' * 16}{number:016}" for number in range(40))
    assert Quoted(rows).in_text(f"{'y' * 20}{'x' * 16}{'y' * 20}")
    assert not Quoted(rows).in_text(f"{'y' * 20}{'x' * 15}{'y' * 20}")


def test_a_short_text_is_quoted_whole():
    assert Quoted("Ann Lee, Basel").in_text("says Ann Lee (Basel)")
    assert not Quoted("Ann Lee, Basel").in_text("says Ann Lee")
    assert Quoted("Jane Rowe").in_text("says Jane-Rowe"), "the last eight letters"


def test_a_very_short_text_is_quoted_as_a_word():
    assert Quoted("Ann").in_text("says Ann, too")
    assert not Quoted("Ann").in_text("an annex")
    assert not Quoted("…").in_text("…"), "without a letter there is nothing to look for"
    assert Quoted("a+b").in_text("the sum A+B is")


@pytest.mark.parametrize("parted", ["a b", "a-b", "a\n b"])
def test_words_of_a_very_short_text_may_be_written_as_one_but_not_parted_further(parted):
    for found in ("ab", "a b", "a  b", "x a_b, c"):
        assert Quoted(parted).in_text(found)
    for other in ("xa b", "a bc", "a c b", "abb", "a", "b"):
        assert not Quoted(parted).in_text(other)
    assert not Quoted("ab").in_text("a b")
    assert Quoted("a bc", "ab c").in_text("abc")
    assert not Quoted("a bc", "ab c").in_text("a b c")


_SIGNS = st.text("ab -", max_size=12)


@given(st.lists(_SIGNS, max_size=4), _SIGNS, _SIGNS)
def test_short_texts_are_found_as_a_search_for_each_finds_them(mine, one, other):
    """Of 2,000 short texts each was looked for in all of a text by itself."""
    text = one + "".join(mine[:1]) + other
    assert Quoted(*mine).in_text(text) == any(_found_alone(row, text) for row in mine)


def _found_alone(mine, text):
    words = re.findall("[ab]+", mine)
    if len("".join(words)) >= 8:
        return "".join(words) in re.sub("[^ab]", "", text)
    return bool(words) and re.search(rf"(?<![ab]){'[ -]*'.join(words)}(?![ab])", text) is not None


def test_what_would_be_compared_too_often_counts_as_found(monkeypatch):
    mine = [f"{'a' * size}b" for size in range(7, RUN)]  # all begin alike, and none is in these
    short, long = Quoted(*mine, "a" * 7 + "c"), "a" * 1000
    assert not short.in_text(long)
    monkeypatch.setattr(quoting, "_FREE", 0)
    assert short.in_text(long)
    assert not Quoted(*mine[:3]).in_text(long)


def test_repeated_letters_take_no_quadratic_time():
    began = time.process_time()
    assert Quoted("a" * 200_000).in_text("a" * 200_000)
    assert not Quoted("a" * 200_000 + "b" * 40).in_text("c" + "ab" * 100_000)
    assert time.process_time() - began < 60


_TEXTS = st.lists(_CELLS | st.sampled_from(["Ann", "a b", "", "0b", "Ann Lee, Basel"]), max_size=6)


@given(_TEXTS, _CELLS, _CELLS, st.sampled_from(["", " ann. ", " ab ", " Ann Lee (Basel)"]))
def test_texts_that_are_looked_for_at_once_are_found_as_each_by_itself(mine, one, other, word):
    mine = [one + "0a" * RUN, *mine]
    for text in (f"{one[:40]}{word}{other}", f"{mine[-1][-20:]}{mine[0][:20]}{word}"):
        assert Quoted(*mine).in_text(text) == any(Quoted(row).in_text(text) for row in mine)


def test_no_quote_goes_on_from_one_text_to_the_next():
    one, other = ("".join(chr(at + n) for n in range(40)) for at in (0x4E00, 0x5E00))
    assert not Quoted(one, other).in_text(one[-RUN + 1 :] + other[: RUN - 1])
    assert Quoted(one, other).in_text(other[:RUN])


@pytest.mark.parametrize(("together", "parts"), [(1 << 20, 1), (100, 6)])
def test_a_text_is_read_for_many_that_are_meant_at_once(monkeypatch, together, parts):
    """A record of 1.2 MB, of which 100 replies were meant, took two minutes."""
    bundle = play("panel")
    events = list(map(parse, bundle.lines))
    held = {name: blob.unpack(file) for name, file in bundle.blobs.items()}
    meant = {f"{n:064}": TextAt(1, "question", f"{n:02}" * 20) for n in range(12)}
    plain, read = quoting._plain, []
    monkeypatch.setattr(quoting, "_plain", lambda text: read.append(text) or plain(text))
    monkeypatch.setattr(quoting, "_TOGETHER", together, raising=False)
    assert list(quoting.quoting(events, held, meant)) == []
    for text in held.values():
        assert read.count(text) <= parts * list(held.values()).count(text)


def test_where_all_texts_are_meant_none_is_made_ready_to_be_looked_for(monkeypatch):
    bundle = play("panel")
    events = list(map(parse, bundle.lines))
    held = {name: blob.unpack(file) for name, file in bundle.blobs.items()}
    meant = {name: TextAt(1, "question", text) for name, text in held.items()}
    made = []
    monkeypatch.setattr(quoting, "Quoted", lambda *texts: made.extend(texts) or Quoted(*texts))
    assert (list(quoting.quoting(events, held, meant)), made) == ([], [])
    name, row = meant.popitem()
    found = dict(quoting.quoting(events, held, {name: row}))
    assert (name in found, made) == (False, [row.text])
