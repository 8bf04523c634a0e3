"""What a quote rests on: found word for word, or not (FORMAT.md §9; RULES.md §8)."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.rules import citations
from hansard.rules.citations import Kept, Paged, check, find, level, struck
from measuring import traced
from support import argued

DOCUMENT = "Payment is due within 30 days.\n\nNo refund\u00a0is given."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("within 30 days", True),
        ("within  30\ndays", True),
        ("days. No refund is given", True),
        ("No refund\u2003is", True),
        (" within 30 days ", True),
        (DOCUMENT, True),
        ("Within 30 days", False),
        ("within 30 days of", False),
        ("within thirty days", False),
        ("within … days", False),
        ("within30 days", False),
        ("", False),
        (" \n\u3000", False),
        ("refund\u200bis", False),
        ("e\u0301", False),
    ],
)
def test_a_quote_is_found_word_for_word_white_space_aside(quote, found):
    assert find(quote, DOCUMENT) is found


TYPESET = (
    "The supplier\u2019s \u201cbest efforts\u201d \u2013 \u201eif any\u201f "
    "\u201ahe\u2018 said\u2014end within 5\u201310 days "
    "at \u22122\u2010\u2011\u2012\u2015 C, \u201bt"
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ('The supplier\'s "best efforts" - "if any"', True),
        ("'he' said-end within 5-10 days at -2---- C, 't", True),
        ("supplier\u2018s \u201dbest efforts\u201c", True),
        ("suppliers", False),
        ("supplier s", False),
        ("supplier\u2032s", False),
        ("supplier`s", False),
        ("'best efforts'", False),
        ("said -end", False),
        ("5 10 days", False),
    ],
)
def test_marks_that_are_typeset_in_several_ways_are_one(quote, found):
    assert find(quote, TYPESET) is found


def test_a_typeset_quote_is_found_in_a_plain_text():
    assert find("supplier\u2019s \u201cbest\u201d\u2014", 'the supplier\'s "best"-')


def test_a_quote_is_not_normalised():
    assert find("é", "é")
    assert not find("e\u0301", "é")


@given(st.text(min_size=1, max_size=30), st.data())
def test_whatever_is_copied_is_found(text, data):
    begin = data.draw(st.integers(0, len(text)))
    quote = text[begin : data.draw(st.integers(begin, len(text)))]
    assert find(quote, text) or not quote.strip(
        "\t\n\v\f\r \u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
        "\u2028\u2029\u202f\u3000"
    )


def test_every_citation_is_checked_in_order():
    rows = [
        argued(("memo", "so"), ("memo", "not so")),
        argued(),
        argued(("late", "so"), ("none", "so"), ("MEMO", "so")),
    ]
    findings = check(rows, {"memo": "so it is"}, ["late"])
    assert [(row["argument"], row["citation"], row["finding"]) for row in findings] == [
        (1, 1, "verified"),
        (1, 2, "not_found"),
        (3, 1, "not_yet_visible"),
        (3, 2, "no_such_document"),
        (3, 3, "no_such_document"),
    ]
    assert struck(findings) == [1, 3]
    assert struck(findings[:1]) == struck([]) == []


@pytest.mark.parametrize(
    ("quote", "page"),
    [("One.", 1), ("Two\nwords", 2), ("Two words. Three.", 2), ("Three.", 4), ("Four.", None)],
)
def test_the_page_of_a_quote_is_where_it_begins(quote, page):
    assert Paged("One.\fTwo  words.\f \fThree.").page(quote) == page


@pytest.mark.parametrize("sign", ["a ", "a\f"], ids=["words", "pages"])
def test_documents_of_debates_that_are_over_do_not_add_up(sign):
    def read():
        return [
            Paged(f"number {each} " + sign * 500_000).page(f"number {each}") for each in range(32)
        ]

    pages, most = traced(read)
    assert pages == [1] * 32
    assert most < 40_000_000  # all of them: 64,000,000, and as much again for their words


MOST = 20 << 20  # bytes, of all documents of a debate (FORMAT.md §10.2)


@pytest.mark.parametrize(
    ("many", "size"),
    [(1000, 5), (1000, MOST // 1000), (10, MOST // 10)],
    ids=["short", "many", "large"],
)
def test_a_document_of_a_debate_is_made_ready_once_whatever_was_read_before(many, size):
    made = list[str]()
    kept = Kept(lambda text: made.append(text) or text.encode())
    for each in range(500):
        kept(f"{each} of another debate".ljust(2000))
    texts = [str(each).rjust(size) for each in range(many)]
    for _ in range(2):  # one that was made before what is kept was forgotten is made once more
        assert list(map(kept, texts)) == [text.encode() for text in texts]
    made.clear()
    assert list(map(kept, texts)) == [text.encode() for text in texts]
    assert not made


def test_documents_at_the_bounds_are_levelled_once_however_often_they_are_cited(monkeypatch):
    made, make = list[str](), citations._with_breaks
    monkeypatch.setattr(citations, "_ready", Kept(lambda text: made.append(text[0]) or make(text)))
    texts = {str(each): f"{each} ’".ljust(MOST // 10 - 2, "a") for each in range(10)}
    rows = [argued(*((name, f"{name} '") for name in texts)) for _ in range(5)]
    for _ in range(3):
        assert {row["finding"] for row in check(rows, texts, [])} == {"verified"}
        assert [Paged(text).page(f"{name} '") for name, text in texts.items()] == [1] * 10
    assert made == [*texts]


@given(st.text("ab’\U0001f600 \f\n", max_size=40), st.text("ab’\U0001f600 \f", max_size=4))
def test_a_quote_is_found_and_its_page_counted_as_the_format_says(text, quote):
    wanted, at = level(quote), level(text).find(level(quote)) if level(quote) else -1
    assert find(quote, text) is (at >= 0)
    begins = (n for n in range(len(text)) if not text[n].isspace())
    first = next((n for n in begins if level(text[n:]).startswith(wanted)), None)
    page = text[:first].count("\f") + 1
    assert Paged(text).page(quote) == (page if at >= 0 else None)
    assert len(citations._with_breaks(text)) <= len(text.encode())  # all of a debate are kept


@given(st.text("a’ \f", max_size=30), st.sampled_from([1, 2, 3, 7]), st.text("a’ ", max_size=4))
def test_a_page_is_the_same_by_whatever_parts_it_is_found(text, part, quote):
    with patch.object(citations, "_PART", part):
        found = Paged(text).page(quote)
    assert found == Paged(text).page(quote)
