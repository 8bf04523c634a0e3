"""What a quote rests on: found in the document, word for word, or not (FORMAT.md §9).

A model's citation is checked by code. An argument that rests on one that does
not hold is struck: it stays in the record and counts for nothing.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any

from hansard.rules.fields import Citation, CitationFinding
from hansard.rules.prompts import PAGE_BREAK
from hansard.rules.similarity import SPACES, fold

# How a text is typeset is nobody's words: models write the plain marks for these.
_MARKS = {
    "'": range(0x2018, 0x201C),
    '"': range(0x201C, 0x2020),
    "-": (*range(0x2010, 0x2016), 0x2212),
}
_PLAIN = {kind: plain for plain, kinds in _MARKS.items() for kind in kinds}
_SPACE = re.compile(f"[{SPACES}]+")
_AFTER_WORD = re.compile(rb"(?<=[^\f])\f")
_MOST_KEPT = 20 << 20  # bytes, as many as the documents of a debate have (FORMAT.md §10.2)
_MOST_TEXTS = 1000  # a debate has at most so many documents


def level(text: str) -> str:
    r"""Return a text as quotes are looked up in it: folded, with plain marks and dashes.

    Each mark becomes one other, so every place stays where it is.

    >>> level("The  supplier’s “best efforts” – if any")
    'The supplier\'s "best efforts" - if any'
    """
    return fold(text).translate(_PLAIN)


def _spelled(text: str) -> bytes:
    """Return a text in UTF-8, in which what a quote begins with begins no other character."""
    return text.encode(errors="surrogatepass")


# Page breaks in a document that is ready, as bytes that are in no UTF-8.
_SPACE_TOO, _NO_SPACE = b"\xfe", b"\xff"
_PART = 1 << 12  # bytes of a document, of which each is known by what comes before it
_WORDS = bytes.maketrans(_SPACE_TOO, b" ")


class Kept:
    """Keeps what it makes of documents, as long as that has few bytes together.

    A process may read any number of debates, so those that are over must not add up. It is
    forgotten as a whole, and without a lock: a thread that comes meanwhile makes it again.
    """

    def __init__(self, make: Callable[[str], bytes]) -> None:
        self._make = make
        self._made = dict[bytes, bytes]()

    def __call__(self, text: str) -> bytes:
        """Return what is made of a text."""
        name = sha256(_spelled(text)).digest()
        made = self._made.get(name)
        if made is None:
            made = self._make(text)
            kept = tuple(self._made.values())
            if len(kept) >= _MOST_TEXTS or sum(map(len, kept)) + len(made) > _MOST_KEPT:
                self._made = {}
            self._made[name] = made
        return made


def _with_breaks(text: str) -> bytes:
    """Return a document levelled, in UTF-8, with its page breaks.

    A page break is white space like any other: the first of those after a word is a space too.
    """
    folded = _SPACE.sub(" ", text).replace(f" {PAGE_BREAK}", PAGE_BREAK)
    folded = folded.replace(f"{PAGE_BREAK} ", PAGE_BREAK).strip(" ")
    levelled = _spelled(folded.translate(_PLAIN))
    made = bytearray(levelled)
    for found in _AFTER_WORD.finditer(levelled):  # one by one: a list of a million is too large
        made[found.start()] = _SPACE_TOO[0]
    return bytes(made.replace(b"\f", _NO_SPACE))


_ready = Kept(_with_breaks)


def _words_of(made: bytes) -> bytes:
    """Return what quotes are looked for in."""
    return made.translate(_WORDS, _NO_SPACE)


def find(quote: str, text: str) -> bool:
    r"""Say whether a document holds the quoted words, white space and kinds of marks aside.

    >>> find("within  30\ndays", "Payment is due within 30 days.")
    True
    >>> find("", "anything")
    False
    """
    return _is_in(quote, _words_of(_ready(text)))


def _is_in(quote: str, words: bytes) -> bool:
    wanted = _spelled(level(quote))
    return bool(wanted) and wanted in words


class Paged:
    r"""A document with pages, on which quotes are looked for.

    >>> document = Paged("Payment is due\fwithin  30 days.\f")
    >>> document.page("within 30\ndays"), document.page("31 days")
    (2, None)
    """

    def __init__(self, text: str) -> None:
        self._made = made = _ready(text)
        self._words = _words_of(made)
        self._before, self._breaks = array("I"), array("I")  # bytes of words, breaks: of each part
        words = breaks = 0
        for begin in range(0, len(made), _PART):
            self._before.append(words)
            self._breaks.append(breaks)
            part = made[begin : begin + _PART]
            gone = part.count(_NO_SPACE)
            words, breaks = words + len(part) - gone, breaks + gone + part.count(_SPACE_TOO)

    def page(self, quote: str) -> int | None:
        """Return the page, from 1, on which the words first begin; None where they do not."""
        wanted = _spelled(level(quote))
        at = self._words.find(wanted) if wanted else -1
        if at < 0:
            return None
        number = bisect_right(self._before, at) - 1
        left, part = at - self._before[number], self._made[number * _PART : (number + 1) * _PART]
        begin, end = 0, len(part)  # the quote begins after `left` bytes of words from `begin`
        while begin < end:
            middle = (begin + end + 1) // 2
            words = middle - begin - part.count(_NO_SPACE, begin, middle)
            if words <= left:
                begin, left = middle, left - words
            else:
                end = middle - 1
        here = part.count(_SPACE_TOO, 0, begin) + part.count(_NO_SPACE, 0, begin)
        return self._breaks[number] + here + 1


def check(
    arguments: Iterable[Mapping[str, Any]], texts: Mapping[str, str], later: Iterable[str]
) -> list[Citation]:
    """Check every citation of a turn's arguments, in order.

    `texts` are the documents seen so far by their ids, `later` the ids of those
    that nobody has seen yet.
    """
    unseen, ready = frozenset(later), dict[str, bytes]()
    rows: list[Citation] = []
    for number, argument in enumerate(arguments, 1):
        for place, cited in enumerate(argument["citations"], 1):
            document = cited["document"]
            finding: CitationFinding = "no_such_document"
            if document in unseen:
                finding = "not_yet_visible"
            elif document in texts:
                if document not in ready:
                    ready[document] = _words_of(_ready(texts[document]))
                finding = "verified" if _is_in(cited["quote"], ready[document]) else "not_found"
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
