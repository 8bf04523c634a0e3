"""The page and both verifiers spell out the same letters that nobody would see."""

import re

import pytest

from exporting import tool
from hansard.report.safe import shown
from page.harness import ask

EVERY = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
JOINING = "\xad\u034f\u180b\u180d\u180f\u200c\u200d\ufe00\ufe0f\U000e0100\U000e01ef"


@pytest.mark.parametrize("before", ["", "x", " ", "\u3000"], ids=ascii)
def test_all_three_spell_out_the_same(node, before):
    """Each sign behind these, and others that join behind it."""
    every = "".join(before + sign for sign in EVERY if sign not in "\t\n")
    texts = [every[at : at + 99_999] for at in range(0, len(every), 99_999)]
    texts += [before + one + two for one in JOINING for two in f"{JOINING}\u3164\u200b y"]
    expected = [shown(text) for text in texts]
    assert ask(node, texts, "unseen.js") == expected
    assert list(map(tool.inert, texts)) == expected
    assert all(shown(text) == text for text in expected)


def test_what_is_drawn_as_nothing_is_seen_and_what_is_drawn_stays():
    nothing = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufff0\U0001bca0\U0001d173\U000e0080"
    assert re.fullmatch("(<U[+][0-9A-F]{4,5}>)+", shown(JOINING + nothing))
    drawn = "❤\ufe0f\u200d🔥 می\u200cخواهم Ver\xadtrag 葛\U000e0100 क\u094d\u200d"
    assert shown(drawn) == drawn
    assert shown("\u200d ok \ufe0f\u200c") == "<U+200D> ok <U+FE0F><U+200C>"
