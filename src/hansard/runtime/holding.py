"""What many specs hold together, as the rows of a batch: how much, and alike texts but once."""

from __future__ import annotations

from collections.abc import Iterator
from sys import getsizeof
from typing import Any, TypeVar

from pydantic import BaseModel

from hansard.rules.formats import AnySpec

M = TypeVar("M", bound=BaseModel)

MOST_TOGETHER = 1_000_000  # values of specs that are held at once; each takes up to 260 bytes


def values_in(spec: object) -> int:
    """Return how many values a spec, or fields of one, state: those within others count as well.

    >>> values_in({"labels": ["north", "urgent"], "evidence": [{"id": "a", "file": "a.txt"}]})
    8
    """
    return sum(1 for _ in _stated(spec))


def text_in(spec: object, seen: set[int]) -> int:
    """Return how much memory the texts of a spec take that are not `seen` yet, in bytes.

    Those by which values are found count as well.
    """
    texts = {id(value): value for value in _stated(spec, names=True) if isinstance(value, str)}
    new = texts.keys() - seen
    seen |= new
    return sum(getsizeof(texts[each]) for each in new)


def _stated(spec: object, *, names: bool = False) -> Iterator[object]:
    left = [spec]
    while left:
        value = left.pop()
        yield value
        if isinstance(value, BaseModel):
            left += (getattr(value, name) for name in value.model_fields_set)
        elif isinstance(value, dict):
            left += (*value.values(), *(value if names else ()))
        elif isinstance(value, (list, tuple)):
            left += value


class Shared:
    """The texts of the files of many specs, each once; `size` is how much memory they take.

    A thousand rows may be about one document, of which each would keep a copy until it is run:
    what is not written in NFC is made anew for each.
    """

    def __init__(self) -> None:
        self.size = 0  # bytes
        self._kept = dict[object, object]()

    def among(self, spec: AnySpec) -> AnySpec:
        """Return a spec that has its texts in common with those that came before."""
        gate = spec.gate
        if gate and gate.answer:
            gate = gate.model_copy(update={"answer": self._one(gate.answer, "text")})
        evidence = [self._one(row, "text", "taken") for row in spec.evidence]
        had = {"gate": gate, "evidence": evidence}
        return spec.model_copy(update={name: each for name, each in had.items() if each})

    def _one(self, value: M, *names: str) -> M:
        held = {name: getattr(value, name, None) for name in names}
        kept = {name: self._keep(each) for name, each in held.items() if each}
        return value.model_copy(update=kept)

    def _keep(self, text: Any) -> object:
        """Return a text, or the file that one was taken from, as it was kept before."""
        if text not in self._kept:
            self._kept[text] = text
            self.size += getsizeof(text if isinstance(text, str) else text.original)
        return self._kept[text]
