"""How alike two answers are, alike in every verifier (RULES.md §7; FORMAT.md §9).

Similar wording is a reason to stop asking, never agreement: a long sentence
and its negation share nearly all their words, so answers that do not negate
equally often are never alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations

from hansard.rules.fields import Pair

MILLION = 1_000_000
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


def fold(text: str) -> str:
    """Return a text with each run of white space as one space, none at the ends."""
    return _SPACE.sub(" ", text).strip(" ")


def normalised(text: str) -> str:
    """Return an answer as a majority compares it: white space folded, A-Z lowered."""
    return fold(text).translate(_LOWER)


@lru_cache(maxsize=1024)
def _measured(text: str) -> tuple[frozenset[str], int]:
    found = words(text)
    return frozenset(found), sum(word in NEGATIONS for word in found)


def jaccard_ppm(one: str, other: str) -> int:
    """Return the similarity of two texts' word sets in millionths; 0 for two empty ones."""
    a, b = _measured(one)[0], _measured(other)[0]
    union = len(a | b)
    return MILLION * len(a & b) // union if union else 0


def pairs(answers: Mapping[str, str], *, whole: bool) -> list[Pair]:
    """Compare every answer with every later one; `whole` asks for equality, white space folded."""
    rows: list[Pair] = []
    for (one, a), (other, b) in combinations(answers.items(), 2):
        alike = MILLION * (fold(a) == fold(b)) if whole else jaccard_ppm(a, b)
        differs = _measured(a)[1] != _measured(b)[1]
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
