"""The instructions that a function gives, asked once a seat and round before anything runs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

from hansard.errors import UsageError
from hansard.rules.formats import AnySpec
from hansard.rules.own import name_of
from hansard.rules.spec_base import Instruct
from hansard.rules.spec_parts import LONGEST_TEXT, Seated
from hansard.rules.transcript import CUSTOM

Rows = list[tuple[int, str]]  # a round, and what holds from it on; an empty text: nothing


class Instructed(NamedTuple):
    """What built-in seats are instructed: all of them alike, or each by rows of its own."""

    everybody: str | None
    own: dict[str, Rows]

    @property
    def longest(self) -> str | None:
        """The longest text of all."""
        texts = [text for rows in self.own.values() for _, text in rows]
        return max([self.everybody or "", *texts], key=lambda text: len(text.encode()))


def instructed(spec: AnySpec) -> Instructed:
    """Return what the seats of a spec are instructed.

    A function is called for each seat that it can reach, in each round that may come. Raises
    UsageError `spec.instructions` where it raises, or gives no text.
    """
    instruct = spec.instruct
    if instruct is None:
        return Instructed(spec.instructions, {})
    rounds = range(spec.FIRST_ROUND, spec.last_round + 1)
    told = {
        seat.id: [(number, _text(instruct, spec, seat, number)) for number in rounds]
        for seat in spec.table()
        if not seat.model.startswith(CUSTOM)
    }
    texts = {text for rows in told.values() for _, text in rows}
    if texts == {""}:
        raise _refused(instruct, "returned an empty text; return words")
    if len(texts) < 2:
        return Instructed(texts.pop() if texts else None, {})
    return Instructed(None, {seat: _changes(rows) for seat, rows in told.items()})


def _changes(rows: Rows) -> Rows:
    """Return the rows that say something else than the one before; before the first is nothing."""
    before = ["", *(text for _, text in rows)]
    return [row for row, last in zip(rows, before, strict=False) if row[1] != last]


def _text(instruct: Instruct, spec: AnySpec, seat: Seated, number: int) -> str:
    """Return what a seat is instructed in a round."""
    asked = {
        "question": spec.question,
        "seat": seat.id,
        "role": seat.role,
        "stance": seat.stance.stance if seat.stance else None,
        "round": number,
    }
    try:
        text: Any = instruct(asked, deepcopy(spec.context))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is named, and nothing runs
        why = f"raised {type(error).__name__} for {seat.id} in round {number}; mend it"
        raise _refused(instruct, why) from None
    if not isinstance(text, str):
        why = f"returned a {type(text).__name__} for {seat.id} in round {number}; return words"
        raise _refused(instruct, why)
    if len(text) > LONGEST_TEXT:
        why = f"returned more than {LONGEST_TEXT:,} characters; return fewer"
        raise _refused(instruct, why)
    return text


def _refused(instruct: Instruct, why: str) -> UsageError:
    said = f"`instructions` is the function {name_of(instruct)}, which {why}"
    return UsageError("spec.instructions", said)
