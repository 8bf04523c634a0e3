"""Whether one text quotes another: what must be looked at before a text is erased.

Texts are compared by their letters and digits alone, in lower case and in Unicode's form NFC, as
they stand or as JSON spells them: so line breaks, quotation marks, the marks of a quote and the
ways in which one letter may be encoded make no difference. A quote
is a run of at least `RUN` of them, or all of a shorter text. Nobody can find a paraphrase so.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hansard.rules.composed import composed
from hansard.rules.events import Event
from hansard.rules.redactions import texts_of

RUN = 32  # letters and digits: about six words
_BLOCK = 16  # every run of RUN holds one of the blocks of this length that a text falls into
_MOST = 4  # places of one block that are tried one by one
_RUNS = 1 << 20  # runs around further places of a block that are kept: about 100 MiB
_SHORT = 8  # a text of fewer letters is looked for as a word
_COMPARED = 4  # times that letters are compared with short texts for each that is looked through,
_FREE = 1 << 20  # beside these
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|[bfnrt]?)")  # also of JSON in JSON
_HALF = re.compile("[\ud800-\udfff]")  # of a sign that JSON escapes in two parts
_UNSEEN = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)  # such as soft hyphens
_NO_LETTER = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W_]+")
_BETWEEN = "\0"  # two texts, and no letter: no quote goes on from one to the next
_TOGETHER = 1 << 20  # characters of texts that are looked for at once, or one that is longer


def _plain(text: str) -> str:
    """Return a text in lower case and in one form, with what JSON escapes in it written out."""
    plain = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", text)
    if _HALF.search(plain):
        plain = plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return composed(composed(_UNSEEN.sub("", plain)).casefold())


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", _plain(text))


class TextAt(NamedTuple):
    """A text of a record: the entry and the field that name it first, and its words."""

    entry: int
    field: str
    text: str

    def __str__(self) -> str:
        """Return how a text is named on the command line: `12.reply`."""
        return f"{self.entry}.{self.field}"


class Quoted:
    r"""Texts, to be looked for in others.

    >>> quoted = Quoted("The seller bears all costs of the audit, whatever it finds.")
    >>> quoted.in_text('{"quote": "bears all costs of\\nthe AUDIT, whatever it"}')
    True
    >>> quoted.in_text("The seller bears the costs of an audit."), quoted.in_text("costs")
    (False, False)
    >>> Quoted("Ann Lee").in_text("As Ann  Lee said"), Quoted("Ann").in_text("Annex")
    (True, False)
    """

    def __init__(self, *texts: str) -> None:
        long = list[str]()
        self._words: dict[str, set[int]] = {}  # where the letters of one may be parted
        self._short = set[str]()
        self._sizes: dict[str, set[int]] = {}  # of short ones, by their first letters
        for text in texts:
            letters = _letters(text)
            if len(letters) > RUN:
                long.append(letters)
            elif len(letters) >= _SHORT:
                self._short.add(letters)
                self._sizes.setdefault(letters[:_SHORT], set()).add(len(letters))
            elif letters:
                *_, (_, parted) = _ending(reversed(_WORD.findall(_plain(text))))
                self._words.setdefault(letters, set()).add(parted)
        self._letters = _BETWEEN.join(long)
        self._blocks: dict[str, list[int]] = {}
        self._runs = set[int]()  # hashes of those around a block that repeats, as in a table
        begin = 0
        for letters in long:
            self._add(begin, begin + len(letters))
            begin += len(letters) + 1

    def _add(self, begin: int, end: int) -> None:
        """Take in the blocks of the text whose letters stand here."""
        for start in range(begin, end - _BLOCK + 1, _BLOCK):
            places = self._blocks.setdefault(self._letters[start : start + _BLOCK], [])
            if len(places) < _MOST:
                places.append(start)
            elif len(self._runs) < _RUNS:
                self._runs.update(_around(self._letters, start))

    def in_text(self, text: str) -> bool:
        """Say whether a text quotes one of these."""
        plain = _plain(text)
        if self._words and self._has_word(plain):
            return True
        theirs = _NO_LETTER.sub("", plain)
        return (bool(self._short) and self._has_short(theirs)) or any(
            self._quotes(theirs, at, places)
            for at in range(len(theirs) - _BLOCK + 1 if self._blocks else 0)
            if (places := self._blocks.get(theirs[at : at + _BLOCK]))
        )

    def _has_word(self, plain: str) -> bool:
        """Say whether one of the very short texts is among the words of a text."""
        last = deque[str](maxlen=_SHORT)  # the last word first
        for word in _WORD.finditer(plain):
            last.appendleft(word[0])
            for letters, parted in _ending(last):
                if any(parted | mine == mine for mine in self._words.get(letters, ())):
                    return True
        return False

    def _has_short(self, theirs: str) -> bool:
        """Say whether a short text is in another; or may be, where too many must be compared."""
        left = _FREE + _COMPARED * len(theirs)
        for at in range(len(theirs) - _SHORT + 1):
            for size in self._sizes.get(theirs[at : at + _SHORT], ()):
                left -= 1
                if left < 0 or theirs[at : at + size] in self._short:
                    return True
        return False

    def _quotes(self, theirs: str, at: int, places: list[int]) -> bool:
        """Say whether a run around a block is one of these texts, or may be where too many are."""
        return any(self._run(theirs, at, place) >= RUN for place in places) or (
            len(places) == _MOST
            and (len(self._runs) >= _RUNS or not self._runs.isdisjoint(_around(theirs, at)))
        )

    def _run(self, theirs: str, at: int, place: int) -> int:
        """Return how long the two are alike around a block, as far as it matters."""
        mine, before, after = self._letters, 0, _BLOCK
        while before < RUN and min(at, place) > before:
            if mine[place - before - 1] != theirs[at - before - 1]:
                break
            before += 1
        while after < RUN and place + after < len(mine) and at + after < len(theirs):
            if mine[place + after] != theirs[at + after]:
                break
            after += 1
        return before + after


def _ending(words: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the letters of the last word, of the last two, and so on, as long as they are few.

    Beside them stands where they are parted: bit n for n letters before the end.
    """
    letters, parted = "", 0
    for word in words:
        parted |= 1 << len(letters)
        letters = word + letters
        if len(letters) >= _SHORT:
            return
        yield letters, parted


def _around(letters: str, block: int) -> Iterator[int]:
    """Yield the hash of each run of letters that holds the block at that place as its first."""
    for at in range(max(0, block - _BLOCK + 1), min(block, len(letters) - RUN) + 1):
        yield hash(letters[at : at + RUN])


def texts(events: Iterable[Event], text_of: Callable[[str], str | None]) -> Iterator[TextAt]:
    """Yield each text of a record once, where it is named first, as far as they are there."""
    seen = set[str]()
    for place, event in enumerate(events, 1):
        for field, name in texts_of(event["data"]):
            text = None if name in seen else text_of(name)
            if text is not None:
                yield TextAt(place, field, text)
            seen.add(name)


def erasable(events: Sequence[Event], text_of: Callable[[str], str | None]) -> Iterator[TextAt]:
    """Yield each text of a record that is there, but for what erasures say of themselves."""
    for row in texts(events, text_of):
        if events[row.entry - 1]["type"] != "text.redacted":
            yield row


def quoting(
    events: Sequence[Event], held: Mapping[str, str], meant: Mapping[str, TextAt]
) -> Iterator[tuple[str, TextAt]]:
    """Yield the other texts, by name, that quote those that are meant, or are the same document."""
    others: dict[str, tuple[int, str]] = {}
    found = set[str]()
    for place, event in enumerate(events, 1):
        rows = [row for row in texts_of(event["data"]) if row[1] in held]
        same = event["type"] == "evidence.admitted" and any(name in meant for _, name in rows)
        for field, name in rows:
            if name not in meant and name not in others:
                others[name] = place, field
                found |= {name} if same else set()
    for part in _together(meant.values()):
        left = [name for name in others if name not in found]
        if left:
            quoted = Quoted(*(row.text for row in part))
            found.update(name for name in left if quoted.in_text(held[name]))
    for name, (place, field) in others.items():
        if name in found:
            yield name, TextAt(place, field, held[name])


def _together(meant: Iterable[TextAt]) -> Iterator[Sequence[TextAt]]:
    """Yield the texts in few parts: each takes several times its size, and a look at all others."""
    rows, size = list[TextAt](), 0
    for row in meant:
        if rows and size + len(row.text) > _TOGETHER:
            yield rows
            rows, size = [], 0
        rows.append(row)
        size += len(row.text)
    if rows:
        yield rows
