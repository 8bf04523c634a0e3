"""What a spec is warned of before any money is spent.

Most of it is noted again of the debate that follows, under the same code and in the same words
(`vocabulary/notes.json`). What only a spec shows has its sentence in `vocabulary/warnings.json`.
`estimate` lists the warnings; `run` gives each as a `SpecWarning` before it records anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, cast, get_args

from hansard import vocabulary
from hansard.closed import Closed
from hansard.report import overall
from hansard.report.formats import DISPLAYS
from hansard.report.notes import Note, note
from hansard.report.words import listed
from hansard.rules.events import Event
from hansard.rules.fields import Estimated
from hansard.rules.model_names import has_server
from hansard.rules.prompts import PAGE_BREAK
from hansard.rules.state import DebateState, evolve
from hansard.rules.transcript import CUSTOM
from hansard.runtime.documents import Admitted
from hansard.runtime.opening import Opening, unsalted

WarningCode = Literal[  # in the order in which they are told
    "unnamed_review",
    "low_threshold",
    "many_rounds",
    "theatre",
    "single_model",
    "self_bias",
    "custom_seats",
    "against_gate",
    "no_ceiling",
    "nothing_to_cite",
    "blank_pages",
    "unread_parts",
    "price_unknown",
]
_AT = "2000-01-01T00:00:00.000000Z"  # no note on an opening reads its time


class Warned(Closed):
    """One thing that may make a debate give less than was expected of it."""

    code: WarningCode
    message: str


def warned(opening: Opening, expected: Estimated | None) -> tuple[Warned, ...]:
    """Return what must be known before the debate that `opening` opens costs anything.

    `expected` is what will be recorded of what it is expected to take.
    """
    order = get_args(WarningCode)
    return tuple(sorted(_found(opening, expected), key=lambda row: order.index(row.code)))


def _found(opening: Opening, expected: Estimated | None) -> Iterator[Warned]:
    state, texts = _opened(opening, expected)
    if "review" not in opening.spec.model_fields_set:
        yield _only_here("unnamed_review")
    notes = [
        *DISPLAYS[opening.spec.format].watch.whole(state),
        *overall.of_table(state, texts.get),
    ]
    if all(row.code != "custom_seats" for row in notes):
        notes += _unheard(opening, state)
    codes = get_args(WarningCode)
    yield from (
        Warned(code=cast(WarningCode, note.code), message=note.message)
        for note in notes
        if note.code in codes
    )
    for document in opening.spec.evidence:
        taken = document.taken if isinstance(document, Admitted) else None
        pages = (document.text or "").split(PAGE_BREAK)
        blank = sum(not page.strip() for page in pages)
        if taken and taken.pages and blank:
            counted = {"blank": blank, "pages": vocabulary.many(len(pages), "page")}
            yield _only_here("blank_pages", document=document.id, **counted)
        if taken and taken.unread:
            yield _only_here("unread_parts", document=document.id, parts=listed(taken.unread))
    priced = {row["model"] for row in state.spec["prices"]}
    unpriced = sorted({seat["model"] for seat in state.seats.values()} - priced)
    paid = [model for model in unpriced if has_server(model)]
    if paid and all(note.code != "no_ceiling" for note in notes):  # which says as much
        yield _only_here("price_unknown", models=listed(paid))


def _unheard(opening: Opening, state: DebateState) -> Iterator[Note]:
    """Yield that a function for `instructions` is for nobody: no record shows one never called."""
    seats = [key for key, seat in state.seats.items() if seat["model"].startswith(CUSTOM)]
    if opening.spec.instruct and len(seats) == len(state.seats):
        yield note("custom_seats", seats=listed(seats))


def _only_here(code: WarningCode, **values: object) -> Warned:
    return Warned(code=code, message=vocabulary.warning(code, **values))


def _opened(opening: Opening, expected: Estimated | None) -> tuple[DebateState, dict[str, str]]:
    """Return the state in which the debate would begin, and its texts by name."""
    texts: dict[str, str] = {}
    state = DebateState()
    for seq, fact in enumerate(opening.facts(unsalted(texts), expected), 1):
        row = {"seq": seq, "at": _AT, "debate": "", "type": fact.type, "data": fact.data}
        evolve(state, cast(Event, row))
    return state, texts
