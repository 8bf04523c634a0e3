"""How alike two answers are, alike in every verifier (FORMAT.md §9)."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.rules import similarity
from hansard.rules.similarity import (
    NEGATIONS,
    converged,
    fold,
    likeness,
    measured,
    normalised,
    scores,
    words,
)
from measuring import traced

TEXTS = st.text(st.sampled_from("ab no't \n\t.,!’éİ\u00a0\u2003"), max_size=12)


def jaccard_ppm(one, other):
    return likeness([one, other], [(0, 1)])[0]


def pairs(answers, *, whole):
    """The answers compared as they are in a debate."""
    return similarity.pairs({name: measured(text) for name, text in answers.items()}, whole=whole)


def test_the_words_of_the_first_65536_characters_are_compared():
    same, long = "a " * 32_767, "b" * 65_536
    for one, other, ppm in ((same + "b", same + "c", 333_333), (same + "a b", same + "a c", 10**6)):
        found = pairs({"x": one, "y": other}, whole=False)[0]
        assert (found["ppm"], jaccard_ppm(one, other)) == (ppm, ppm)
        assert pairs({"x": one, "y": other}, whole=True)[0]["ppm"] == 0, "all of it"
    assert pairs({"x": long + "x", "y": long + "y"}, whole=False)[0]["ppm"] == 10**6
    assert not pairs({"x": long + " not", "y": long}, whole=False)[0]["negation_differs"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don't ship it: it CAN’T work.", ["dont", "ship", "it", "it", "cant", "work"]),
        ("a-b_c/d", ["a", "b", "c", "d"]),
        ("v1.2", ["v1", "2"]),
        ("\u00abja\u00bb a\u00a0b a\u2003b a\u3000b", ["ja", *"ab" * 3]),
        ("naïve Äpfel", ["naïve", "Äpfel"]),  # only A-Z are lowered
        ("İstanbul ﬁx ß", ["İstanbul", "ﬁx", "ß"]),
        ("…—–", []),
        ("", []),
        ("''", []),
        ("日本、東京。", ["日本", "東京"]),
    ],
)
def test_words_are_split_at_what_record_md_names_and_at_nothing_else(text, found):
    assert words(text) == found


@pytest.mark.parametrize(
    ("low", "high"), [(0x00, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0xBF), (0x2000, 0x206F)]
)
def test_every_other_ascii_character_and_these_blocks_separate(low, high):
    for code in range(low, high + 1):
        joined = f"a{chr(code)}b"
        kept = chr(code) in "'\u2019"
        assert words(joined) == (["ab"] if kept else ["a", "b"]), hex(code)
    assert words(f"a{chr(0xC0)}b") == [f"a{chr(0xC0)}b"]


def test_the_negation_words_are_those_of_record_md():
    assert len(NEGATIONS) == 26
    assert all(words(word) == [word] for word in NEGATIONS)


@pytest.mark.parametrize(
    ("one", "other", "ppm"),
    [
        ("a b", "a b", 1_000_000),
        ("a a b", "b a", 1_000_000),
        ("a b", "a c", 333_333),  # floored
        ("a b c", "a b d", 500_000),
        ("a", "b", 0),
        ("", "", 0),
        ("", "a", 0),
        ("disagree", "agree", 0),
        ("should release", "should not release", 666_666),
    ],
)
def test_the_jaccard_index_of_two_word_sets_in_millionths(one, other, ppm):
    assert jaccard_ppm(one, other) == jaccard_ppm(other, one) == ppm


@given(st.lists(TEXTS, max_size=6), st.integers(1, 40))
def test_words_that_come_in_parts_are_as_alike_as_whole_sets(texts, at_once):
    wanted = list(product(range(len(texts)), repeat=2))
    sets = [frozenset(words(text)) for text in texts]
    expected = [10**6 * len(sets[a] & sets[b]) // (len(sets[a] | sets[b]) or 1) for a, b in wanted]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "_AT_ONCE", at_once)
        assert likeness(texts, wanted) == expected


def test_a_round_of_the_longest_answers_takes_little_memory():
    """Sets of all their words took 4.7 MB an answer."""
    signs = [chr(code) for code in range(0x20000, 0x20000 + 80_000)]
    texts = {f"s{n}": " ".join(signs[1000 * n :][:32_768]) for n in range(40)}
    found, most = traced(lambda: pairs(texts, whole=False))
    assert found[0]["ppm"] == 10**6 * 31_768 // 33_768
    assert found[38]["ppm"] == 0
    assert most < 60_000_000


def test_each_answer_is_compared_with_every_later_one():
    rows = pairs({"ann": "a", "bob": "not a", "cat": "no a"}, whole=False)
    assert rows == [
        {"one": "ann", "other": "bob", "ppm": 500_000, "negation_differs": True},
        {"one": "ann", "other": "cat", "ppm": 500_000, "negation_differs": True},
        {"one": "bob", "other": "cat", "ppm": 333_333, "negation_differs": False},
    ]
    assert scores(rows) == {"ann": 1_000_000, "bob": 833_333, "cat": 833_333}
    assert pairs({"ann": "a"}, whole=False) == []


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("a  b\n", " a b", True),
        ("a\u00a0b", "a\u3000b", True),
        ("no risk but all gain", "all risk but no gain", False),
        ("Ship", "ship", False),
        ("a\u200bb", "a b", False),  # no white space
    ],
)
def test_whole_answers_are_equal_white_space_folded(one, other, alike):
    rows = pairs({"ann": one, "bob": other}, whole=True)
    assert rows[0]["ppm"] == alike * 1_000_000
    assert converged(rows, 1_000_000) is alike


def test_negations_are_counted_with_repeats():
    rows = pairs({"ann": "not a, not b", "bob": "not a b"}, whole=False)
    assert rows == [{"one": "ann", "other": "bob", "ppm": 1_000_000, "negation_differs": True}]
    assert not converged(rows, 0)


def row(ppm, differs=False):
    return {"one": "a", "other": "b", "ppm": ppm, "negation_differs": differs}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([], False),
        ([row(850_000)], True),
        ([row(849_999)], False),
        ([row(1_000_000, differs=True)], False),
        ([row(900_000), row(849_999)], False),
        ([row(900_000), row(850_000)], True),
    ],
)
def test_all_pairs_and_at_least_one_must_be_alike(rows, found):
    assert converged(rows, 850_000) is found


@pytest.mark.parametrize(
    ("text", "folded"),
    [(" a \t\n b ", "a b"), ("\u2028a\u202fb\u3000", "a b"), ("", ""), ("\x1f", "\x1f")],
)
def test_white_space_is_folded_to_one_space_and_trimmed(text, folded):
    assert fold(text) == folded
    assert normalised(text.upper()) == folded


@given(TEXTS, TEXTS)
def test_an_answer_is_alike_to_itself_and_likeness_has_no_direction(one, other):
    assert jaccard_ppm(one, one) == (1_000_000 if words(one) else 0)
    assert 0 <= jaccard_ppm(one, other) == jaccard_ppm(other, one) <= 1_000_000
    rows = pairs({"a": one, "b": other}, whole=False)
    negations = [sum(word in NEGATIONS for word in words(text)) for text in (one, other)]
    assert rows[0]["negation_differs"] == (negations[0] != negations[1])
    assert fold(fold(one)) == fold(one)
