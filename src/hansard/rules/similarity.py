"""How alike two answers are, alike in every verifier (RULES.md §7; FORMAT.md §9).

Similar wording is a reason to stop asking, never agreement: a long sentence
and its negation share nearly all their words, so answers that do not negate
equally often are never alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from hashlib import sha256
from itertools import combinations
from typing import NamedTuple

from hansard.rules.fields import Pair

MILLION = 1_000_000
MAX_COMPARED = 65_536  # characters of an answer, the words of which are compared
_NEGATIONS = """
no not never none nor neither nobody nothing cannot without dont doesnt didnt isnt arent wasnt
werent wont wouldnt shouldnt cant couldnt hasnt havent hadnt mustnt
"""
NEGATIONS = frozenset(_NEGATIONS.split())
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "'\u2019")
_SPLIT = re.compile("[\x00-/:-@\\[-`{-\x7f\u0080-\u00bf\u2000-\u206f\u3000-\u303f]+")
_SPACE = re.compile("[\t-\r \u00a0\u2000-\u200a\u2028\u2029\u202f\u3000]+")


def words(text: str) -> list[str]:
    """Return the words of a text, A-Z lowered, apostrophes dropped.

    >>> words("Don't ship it: it CAN’T work.")
    ['dont', 'ship', 'it', 'it', 'cant', 'work']
    """
    return [word for word in _SPLIT.split(text.translate(_LOWER)) if word]


def first_phrase(text: str, phrases: Collection[str]) -> str | None:
    """Return the first of these phrases that a text has; None where it has none.

    Its words follow each other in the text, and no negation stands right before them.
    """
    said, longest = words(text), max(phrase.count(" ") + 1 for phrase in phrases)
    for n in range(len(said)):
        if n and said[n - 1] in NEGATIONS:
            continue
        for end in range(n + 1, n + 1 + longest):
            if (phrase := " ".join(said[n:end])) in phrases:
                return phrase
    return None


def fold(text: str) -> str:
    """Return a text with each run of white space as one space, none at the ends."""
    return _SPACE.sub(" ", text).strip(" ")


def normalised(text: str) -> str:
    """Return an answer as a majority compares it: white space folded, A-Z lowered."""
    return fold(text).translate(_LOWER)


class Measured(NamedTuple):
    """What is compared of an answer, small enough for a round of the longest ones.

    Its `words` and how many of them negate; and hashes of all of it, `folded` and
    `normalised`.
    """

    words: frozenset[str]
    negations: int
    folded: bytes
    normalised: bytes


def measured(text: str) -> Measured:
    """Return what is compared of an answer."""
    found = words(text[:MAX_COMPARED])
    negations = sum(word in NEGATIONS for word in found)
    hashes = (sha256(part.encode()).digest() for part in (fold(text), normalised(text)))
    return Measured(frozenset(found), negations, *hashes)


_words_of = lru_cache(maxsize=128)(lambda text: frozenset(words(text[:MAX_COMPARED])))


def jaccard_ppm(one: str, other: str) -> int:
    """Return the similarity of two texts' word sets in millionths; 0 for two empty ones."""
    return _ppm(_words_of(one), _words_of(other))


def _ppm(one: frozenset[str], other: frozenset[str]) -> int:
    common = len(one & other)
    union = len(one) + len(other) - common
    return MILLION * common // union if union else 0


def pairs(answers: Mapping[str, Measured], *, whole: bool) -> list[Pair]:
    """Compare every answer with every later one; `whole` asks for equality, white space folded."""
    rows: list[Pair] = []
    for (one, a), (other, b) in combinations(answers.items(), 2):
        alike = MILLION * (a.folded == b.folded) if whole else _ppm(a.words, b.words)
        differs = a.negations != b.negations
        rows.append({"one": one, "other": other, "ppm": alike, "negation_differs": differs})
    return rows


def converged(rows: list[Pair], threshold_ppm: int) -> bool:
    """Say whether all pairs, and at least one, are alike enough and negate equally often."""
    alike = (row["ppm"] >= threshold_ppm and not row["negation_differs"] for row in rows)
    return bool(rows) and all(alike)


def scores(rows: list[Pair]) -> dict[str, int]:
    """Return for each answer the sum of its similarities with the others."""
    found: dict[str, int] = {}
    for row in rows:
        for name in (row["one"], row["other"]):
            found[name] = found.get(name, 0) + row["ppm"]
    return found
