"""The page of a citation, found in the folded text, is that of the text as it is (FORMAT.md §9)."""

from hypothesis import example, given
from hypothesis import strategies as st

from hansard.rules.citations import Paged, find, level
from hansard.rules.similarity import fold

SIGNS = st.sampled_from(["a", "b", " ", "\n", "\f", "\u00a0", "ab\fab", "'", "\u2019"])
TEXTS = st.lists(SIGNS, max_size=30).map("".join)


def by_search(quote, text):
    """The page of the first place of the text at which the quote begins, sign by sign."""
    wanted = level(quote)
    for at in range(len(text)):
        begins = wanted and fold(text[at]) and level(text[at:]).startswith(wanted)
        # Within a word nothing is folded away before it.
        if begins:
            return text[:at].count("\f") + 1
    return None


@given(TEXTS, TEXTS)
@example("b", "a\f\f \fb")
@example("a b", "a\fb")
@example("", "a")
@example("a", "\f\fa\f")
def test_it_is_that_of_the_first_place(quote, text):
    assert Paged(text).page(quote) == by_search(quote, text)
    assert (Paged(text).page(quote) is not None) == find(quote, text)


@given(TEXTS)
def test_a_text_is_its_pages_folded_with_a_space_between(text):
    assert fold(text) == " ".join(filter(None, map(fold, text.split("\f"))))
