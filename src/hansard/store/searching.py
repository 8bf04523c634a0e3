"""Texts of one debate, looked for word for word in those of the others.

A database looks for a few, one by one. For more, each other text is read, once. It is cut into
blocks: a stretch of a text that is as long as two blocks less a byte has one of them whole in
it, wherever it stands. So only where a block is one of those that the stretch in the middle of a
text can give is anything compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from uuid import UUID

from hansard.store.database import Select
from hansard.store.guard import id_of, require_later
from hansard.store.mapping import bytes_of

_HOLDING = "SELECT debate, name FROM blobs WHERE debate != ? AND {body_holds} AND {body_holds}"
_BODY = "SELECT body FROM blobs WHERE debate = ? AND name = ?"
_OTHERS = "SELECT DISTINCT debate FROM blobs WHERE debate != ?"
_SOME = "SELECT name, body FROM blobs WHERE debate = ? AND name > ? ORDER BY name LIMIT 16"
_LEAST = 12  # characters of a text that is looked for
_FEW = 8  # texts that a database looks for
# Bytes of its beginning and of its end that a database looks for: at each place of what it looks
# through, it may compare all of them.
_SOUGHT = 64
_BLOCKS = (16, 6)  # bytes; the second for texts that have no stretch of the first
_COMPARED = 16  # bytes that are compared for each that is looked through,
_FREE = 1 << 20  # beside these


class Sought:
    """Texts of at least 11 bytes, twice the smaller block less one, that are looked for.

    >>> Sought([b"The seller bears all costs."]).is_in(b'{"quote":"The seller bears all costs."}')
    True
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._texts = frozenset(texts)
        # By size and content of a block: where it stands in a text, and how long that text is.
        self._places: dict[int, dict[bytes, set[tuple[int, int]]]] = {}
        for text in self._texts:
            block = next(size for size in _BLOCKS if 2 * size - 1 <= len(text))
            places = self._places.setdefault(block, {})
            middle = (len(text) - 2 * block + 1) // 2
            for at in range(middle, middle + block):
                places.setdefault(text[at : at + block], set()).add((at, len(text)))

    def is_in(self, body: bytes) -> bool:
        """Say whether one of the texts is in `body`; or may be, where too many must be compared."""
        return any(self._is_in(body, *row) for row in self._places.items())

    def _is_in(self, body: bytes, block: int, places: Mapping[bytes, set[tuple[int, int]]]) -> bool:
        left = _FREE + _COMPARED * len(body)
        for at in range(0, len(body) - block + 1, block):
            for before, size in places.get(body[at : at + block], ()):
                begin = at - before
                if begin >= 0 and body[begin : begin + size] in self._texts:
                    return True
                left -= size
                if left < 0:
                    return True
        return False


def holding(select: Select, debate: str, texts: Iterable[str]) -> dict[str, int]:
    """Return how many texts of each other debate hold one of these; `Store.holding`."""
    wanted = {text.strip().encode() for text in texts if len(text.strip()) >= _LEAST}
    look = _found if len(wanted) <= _FEW else _read
    found = Counter(other for other, _ in set(look(select, debate, wanted)))
    return {name: found[name] for name in sorted(found)}


def _found(select: Select, debate: str, wanted: Collection[bytes]) -> Iterator[tuple[str, str]]:
    """Yield other debates and names of their texts, as a database finds these in them."""
    for sought in wanted:
        ends = sought[:_SOUGHT], sought[-_SOUGHT:]
        for key, name in select(_HOLDING, UUID(debate).hex, *ends):
            whole = len(sought) <= _SOUGHT
            if whole or any(sought in bytes_of(body) for (body,) in select(_BODY, key, name)):
                yield id_of(key), str(name)


def _read(select: Select, debate: str, wanted: Collection[bytes]) -> Iterator[tuple[str, str]]:
    """Yield the same, reading each text of the others."""
    sought = Sought(wanted)
    for (key,) in select(_OTHERS, UUID(debate).hex):
        last = ""
        while rows := select(_SOME, key, last):
            yield from (
                (id_of(key), str(name)) for name, body in rows if sought.is_in(bytes_of(body))
            )
            require_later(rows[-1][0], last)
            last = rows[-1][0]
