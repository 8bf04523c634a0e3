"""How alike two answers are, alike in every verifier (RULES.md §7; FORMAT.md §9).

Similar wording is a reason to stop asking, never agreement: a long sentence
and its negation share nearly all their words, so answers that do not negate
equally often are never alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from typing import NamedTuple

from hansard.rules.fields import Pair

MILLION = 1_000_000
MAX_COMPARED = 65_536  # characters of an answer, the words of which are compared
_AT_ONCE = 1 << 21  # characters, of texts whose different words are held at once
_NEGATIONS = """
no not never none nor neither nobody nothing cannot without dont doesnt didnt isnt arent wasnt
werent wont wouldnt shouldnt cant couldnt hasnt havent hadnt mustnt
"""
NEGATIONS = frozenset(_NEGATIONS.split())
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "'\u2019")
_SPLIT = re.compile("[\x00-/:-@\\[-`{-\x7f\u0080-\u00bf\u2000-\u206f\u3000-\u303f]+")
SPACES = "\t-\v\r \u00a0\u2000-\u200a\u2028\u2029\u202f\u3000"  # all but a page break
_SPACE = re.compile(f"[\f{SPACES}]+")


def words(text: str) -> list[str]:
    """Return the words of a text, A-Z lowered, apostrophes dropped.

    >>> words("Don't ship it: it CAN’T work.")
    ['dont', 'ship', 'it', 'it', 'cant', 'work']
    """
    return _split(text.translate(_LOWER))


def _split(plain: str) -> list[str]:
    return [word for word in _SPLIT.split(plain) if word]


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

    The `text` whose words are compared, and how many of them negate; and hashes of all of
    it, `folded` and `normalised`.
    """

    text: str
    negations: int
    folded: bytes
    normalised: bytes


def measured(text: str) -> Measured:
    """Return what is compared of an answer."""
    compared = text[:MAX_COMPARED]
    negations = sum(word in NEGATIONS for word in words(compared))
    hashes = (sha256(part.encode()).digest() for part in (fold(text), normalised(text)))
    return Measured(compared, negations, *hashes)


def likeness(texts: Sequence[str], wanted: Iterable[tuple[int, int]]) -> list[int]:
    """Return the Jaccard index of the word sets of each pair, in millionths; 0 for two empty ones.

    `wanted` are pairs of places in `texts`. Sets of all words of a hundred long texts would take
    500 MB: so the words come in parts, and those of a text are the bits of a number.

    >>> likeness(["a b", "a c", ""], [(0, 1), (2, 2)])
    [333333, 0]
    """
    plain, wanted = [text[:MAX_COMPARED].translate(_LOWER) for text in texts], list(wanted)
    sizes, common = [0] * len(texts), [0] * len(wanted)
    parts = 1 + sum(map(len, plain)) // _AT_ONCE
    for part in range(parts):
        places: dict[str, int] = {}
        held = [
            _bits({word for word in _split(text) if hash(word) % parts == part}, places)
            for text in plain
        ]
        sizes = [size + bits.bit_count() for size, bits in zip(sizes, held, strict=True)]
        for row, (one, other) in enumerate(wanted):
            common[row] += (held[one] & held[other]).bit_count()
    return [
        MILLION * both // (sizes[one] + sizes[other] - both or 1)
        for both, (one, other) in zip(common, wanted, strict=True)
    ]


def _bits(found: Iterable[str], places: dict[str, int]) -> int:
    """Return a number with a bit for each word, at its place; a new word takes the next."""
    bits = [places.setdefault(word, len(places)) for word in found]
    made = bytearray(len(places) // 8 + 1)
    for bit in bits:
        made[bit >> 3] |= 1 << (bit & 7)
    return int.from_bytes(made, "little")


def pairs(answers: Mapping[str, Measured], *, whole: bool) -> list[Pair]:
    """Compare every answer with every later one; `whole` asks for equality, white space folded."""
    given = list(answers.values())
    wanted = list(combinations(range(len(given)), 2))
    if whole:
        alike = [MILLION * (given[a].folded == given[b].folded) for a, b in wanted]
    else:
        alike = likeness([answer.text for answer in given], wanted)
    differs = [given[a].negations != given[b].negations for a, b in wanted]
    return [
        {"one": one, "other": other, "ppm": ppm, "negation_differs": differ}
        for (one, other), ppm, differ in zip(combinations(answers, 2), alike, differs, strict=True)
    ]


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
