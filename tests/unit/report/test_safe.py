import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.report import safe
from hansard.report.safe import one_line, shown


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("\x1b[2J", "<U+001B>[2J"),
        ("a\r\nb\tc", "a<U+000D>\nb\tc"),
        ("\u202eexe.txt", "<U+202E>exe.txt"),
        ("\u2066\u2069\u200e\ufeff\x7f\x9b", "<U+2066><U+2069><U+200E><U+FEFF><U+007F><U+009B>"),
        ("naïve – 語 🙂", "naïve – 語 🙂"),
    ],
)
def test_control_and_bidi_characters_are_spelled_out(text, safe):
    assert shown(text) == safe


def test_one_line_folds_white_space_and_cuts():
    assert one_line("  a\n\n b\tc ") == "a b c"
    assert one_line("12345", 5) == "12345"
    assert one_line("123456", 5) == "1234…"


@given(st.text(st.sampled_from("ab \n\t\x01\u202e\u3000\U0001f642")), st.integers(1, 9))
def test_a_line_is_cut_where_the_whole_one_would_be(text, limit):
    whole = " ".join(shown(text).split())
    assert one_line(text, limit) == (whole if len(whole) <= limit else whole[: limit - 1] + "…")


def test_no_more_of_a_long_text_is_read_than_shows_where_it_is_cut(monkeypatch):
    read = []
    monkeypatch.setattr(safe, "shown", lambda text: read.append(len(text)) or text)
    assert one_line("so " * 1_000_000, 80).endswith("…")
    assert sum(read) < 1_000
