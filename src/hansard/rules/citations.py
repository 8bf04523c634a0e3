"""What a quote rests on: found in the document, word for word, or not (FORMAT.md §9).

A model's citation is checked by code. An argument that rests on one that does
not hold is struck: it stays in the record and counts for nothing.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from hansard.rules.fields import Citation, CitationFinding
from hansard.rules.prompts import PAGE_BREAK
from hansard.rules.similarity import fold

# How a text is typeset is nobody's words: models write the plain marks for these.
_MARKS = {
    "'": range(0x2018, 0x201C),
    '"': range(0x201C, 0x2020),
    "-": (*range(0x2010, 0x2016), 0x2212),
}
_PLAIN = {kind: plain for plain, kinds in _MARKS.items() for kind in kinds}
_MOST_KEPT = 1 << 22  # characters: the documents of a debate have half as many bytes together
_MOST_TEXTS = 1000  # a debate has at most so many documents

_Made = TypeVar("_Made")


class Kept(Generic[_Made]):
    """Keeps what it makes of texts, for as long as they are few and short.

    A process may read any number of debates, so those that are over must not add up. It is
    forgotten as a whole, and without a lock: a thread that comes meanwhile makes it again.
    """

    def __init__(self, make: Callable[[str], _Made]) -> None:
        self._make = make
        self._made = dict[str, _Made]()

    def __call__(self, text: str) -> _Made:
        """Return what is made of a text."""
        made = self._made.get(text)
        if made is None:
            made = self._make(text)
            kept = tuple(self._made)
            if len(kept) >= _MOST_TEXTS or sum(map(len, kept)) + len(text) > _MOST_KEPT:
                self._made = {}
            self._made[text] = made
        return made


def level(text: str) -> str:
    r"""Return a text as quotes are looked up in it: folded, with plain marks and dashes.

    Each mark becomes one other, so every place stays where it is.

    >>> level("The  supplier’s “best efforts” – if any")
    'The supplier\'s "best efforts" - if any'
    """
    return fold(text).translate(_PLAIN)


_levelled = Kept(level)


def find(quote: str, text: str) -> bool:
    r"""Say whether a document holds the quoted words, white space and kinds of marks aside.

    >>> find("within  30\ndays", "Payment is due within 30 days.")
    True
    >>> find("", "anything")
    False
    """
    wanted = level(quote)
    return bool(wanted) and wanted in _levelled(text)


def page_of(quote: str, text: str) -> int | None:
    r"""Return the page, from 1, on which the quoted words first begin; None where they do not.

    >>> page_of("within 30\ndays", "Payment is due\fwithin  30 days.\f")
    2
    """
    wanted = level(quote)
    at = _levelled(text).find(wanted) if wanted else -1
    return bisect_right(_begins(text), at) if at >= 0 else None


def _first_signs(text: str) -> array[int]:
    """Return where each page begins in the folded text; an empty one, where the next one does.

    A page break is white space, so the whole is its pages, each folded, with a space between.
    """
    begins, at = array("I"), 0
    for page in map(fold, text.split(PAGE_BREAK)):
        begins.append(at)
        at += len(page) + bool(page)
    return begins


_begins = Kept(_first_signs)


def check(
    arguments: Iterable[Mapping[str, Any]], texts: Mapping[str, str], later: Iterable[str]
) -> list[Citation]:
    """Check every citation of a turn's arguments, in order.

    `texts` are the documents seen so far by their ids, `later` the ids of those
    that nobody has seen yet.
    """
    unseen = frozenset(later)
    rows: list[Citation] = []
    for number, argument in enumerate(arguments, 1):
        for place, cited in enumerate(argument["citations"], 1):
            document = cited["document"]
            finding: CitationFinding = "no_such_document"
            if document in unseen:
                finding = "not_yet_visible"
            elif document in texts:
                finding = "verified" if find(cited["quote"], texts[document]) else "not_found"
            rows.append({"argument": number, "citation": place, "finding": finding})
    return rows


def hold(rows: Iterable[Citation]) -> bool:
    """Say whether any of these citations holds."""
    return any(row["finding"] == "verified" for row in rows)


def struck(rows: Iterable[Citation]) -> list[int]:
    """Return the arguments that rest on a citation which does not hold."""
    return sorted({row["argument"] for row in rows if row["finding"] != "verified"})


def in_order(case: Mapping[str, Any]) -> bool:
    """Whether a case's numbers ascend, and those that are struck are of its arguments."""
    ascending = all(case[name] == sorted(set(case[name])) for name in ("struck", "unanswered"))
    return ascending and max(case["struck"], default=0) <= case["arguments"]
