"""Who at the table is too much alike: one model, one family of models, one prompt.

Roles that differ only by their label are theatre; a critic of the proposer's
family shares its blind spots, and a judge of a debater's family may favour its
own kin.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hansard.report.words import kin
from hansard.rules.data import RegisteredData
from hansard.rules.demands import family
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState
from hansard.rules.terms import Role


class Alike(NamedTuple):
    """Seats of one role that have one prompt, and one model or only one family of models."""

    seats: tuple[str, ...]
    model: str | None
    family: str | None
    persona: bool


def shared(one: RegisteredData, other: RegisteredData) -> str | None:
    """Say what two seats share, a model or a family of models; None: neither."""
    found = family(one["model"])
    if found is None or found != family(other["model"]):
        return None
    return kin(one["model"] if one["model"] == other["model"] else None, found)


def theatre(state: DebateState, text_of: TextOf) -> Iterator[Alike]:
    """Yield the groups of seats that differ in nothing but their names."""
    groups: dict[tuple[Role, str | None, str | None], list[RegisteredData]] = {}
    for seat in state.seats.values():
        blob, stance = seat["persona"], seat["stance"]
        # A persona that is gone is compared by its salted name: it is like no other.
        persona = (text_of(blob["sha256"]) or blob["sha256"]) if blob else None
        prompt = (seat["role"], persona, stance["label"] if stance else None)
        groups.setdefault(prompt, []).append(seat)
    for (_, persona, _), rows in groups.items():
        for model in dict.fromkeys(row["model"] for row in rows):
            seats = tuple(row["id"] for row in rows if row["model"] == model)
            if len(seats) > 1:
                yield Alike(seats, model, family(model), persona is not None)
        for found in dict.fromkeys(family(row["model"]) for row in rows):
            of_kin = [row for row in rows if found and family(row["model"]) == found]
            if len({row["model"] for row in of_kin}) > 1:
                seats = tuple(row["id"] for row in of_kin)
                yield Alike(seats, None, found, persona is not None)
