"""Check 8 of a document and the file that it was taken from: what the texts say of each other.

The pages follow from the document's text, the file's hash from the original. Each is
looked at as far as its text is at hand (FORMAT.md §2); no text is read twice.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from re import compile as pattern

from hansard.rules.data import EvidenceData
from hansard.rules.prompts import PAGE_BREAK
from hansard.verify.findings import Finding, finding
from hansard.verify.reading import Reading

_HASH_SIZE = 64  # bytes
_HASH = pattern("[0-9a-f]{64}").fullmatch


def check_sources(reading: Reading) -> Iterator[Finding]:
    """Check 8: pages, the file's hash, and the original of each document agree."""
    pages, found = _Once(reading.texts.get, _pages), _Once(reading.texts.get, _hash_of)
    stated = _Once(lambda name: reading.texts.short(name, _HASH_SIZE), _stated)
    for seq, event in enumerate(reading.events, 1):
        if event["type"] == "evidence.admitted":
            yield from _disagreeing(seq, event["data"], pages, stated, found)


class _Once:
    """What `read` makes of a text by its name; None where the text is gone. Each is read once."""

    def __init__(
        self, text_of: Callable[[str], str | None], read: Callable[[str], int | str]
    ) -> None:
        self._text_of, self._read = text_of, read
        self._known: dict[str, int | str | None] = {}

    def of(self, name: str) -> int | str | None:
        if name not in self._known:
            text = self._text_of(name)
            self._known[name] = None if text is None else self._read(text)
        return self._known[name]


def _pages(text: str) -> int:
    return text.count(PAGE_BREAK) + 1


def _stated(text: str) -> str:
    """Return a hash in hex as it is, and "" for any other text."""
    return text if _HASH(text) else ""


def _hash_of(original: str) -> str:
    """Return the hash of the file that a text is the base64 of; "" where it is none's."""
    try:
        file = b64decode(original, validate=True)
    except (binascii.Error, ValueError):
        return ""
    return sha256(file).hexdigest() if b64encode(file).decode() == original else ""


def _disagreeing(
    seq: int, data: EvidenceData, pages: _Once, stated: _Once, found: _Once
) -> Iterator[Finding]:
    source, original = data["source"], data["original"]
    digest = found.of(original["sha256"]) if original else None
    if original and digest == "":
        yield finding("8.original", seq, found=original["sha256"])
    if source is None:
        return
    count = pages.of(data["text"]["sha256"])
    if count is not None and (source["pages"] or 1) != count:
        yield finding("8.pages", seq, expected=count, found=source["pages"])
    said = stated.of(source["file"]["sha256"])
    if said is not None and (not said or (digest and said != digest)):
        yield finding("8.file", seq, expected=digest or None, found=said or None)
