"""A record walked through the rules again: what comes out differently, and where that led."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from hansard.errors import UsageError
from hansard.record.policy import Approved
from hansard.report.standing import Standing, due_next, standing
from hansard.rules.events import Event
from hansard.rules.prompts import TextOf
from hansard.rules.replay import Difference, NotDue, Replay
from hansard.verify.needed import let_go


@dataclass(frozen=True, slots=True)
class Differing:
    """An entry that does not come out the same: its fields that differ, each with both values.

    `due` says what was due in its place, where the entry itself was not; the walk
    ends there.
    """

    seq: int
    type: str
    fields: tuple[Difference, ...] = ()
    due: str | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay showed: how many entries come out the same, and which do not.

    Of the `entries` asked for, `same` come out the same; `differing` has the others, each with
    what was derived and what was recorded.
    `standing` and `due` say where the debate stood after the last entry that could
    be followed (None where the first could not), and what came next.
    """

    entries: int
    same: int
    differing: tuple[Differing, ...]
    standing: Standing | None
    due: str


def replay(
    events: Iterable[Event],
    entries: int,
    text_of: TextOf,
    approved: Approved | None = None,
    until: int | None = None,
) -> Replayed:
    """Run the rules again on so many `events`, each read once, up to the entry `until`.

    `text_of` and `approved` are those of `rules.replay.Replay`. Raises UsageError
    `replay.until` for an entry that there is not.
    """
    if until is not None and not 0 < until <= entries:
        raise UsageError("replay.until", f"the record has {entries} entries, not {until}")
    walked, asked = Replay(text_of, approved), until or entries
    differing = tuple(_walk(walked, islice(events, asked)))
    state = walked.state
    whole = state.seq == asked
    return Replayed(
        entries=asked,
        same=asked - len(differing) if whole else state.seq,
        differing=differing,
        standing=standing(state, text_of) if state.opened else None,
        due=due_next(walked.due()) if state.seated else "the seats and documents of the opening",
    )


def _walk(walked: Replay, events: Iterable[Event]) -> Iterable[Differing]:
    for seq, event in enumerate(events, 1):
        try:
            found = walked.step(event)
        except NotDue as error:
            yield Differing(seq, event["type"], due=error.due)
            return
        let_go(walked.state, event)
        if found:
            yield Differing(seq, event["type"], fields=tuple(found))
