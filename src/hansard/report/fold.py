"""The fold of a record's events from which every result is made, and how its parts are read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from hansard.report import notes
from hansard.report.notes import Note, Reading
from hansard.report.reviews import Reader
from hansard.report.words import GONE
from hansard.rules import replies, spending, steps
from hansard.rules.citations import Paged
from hansard.rules.data import (
    CallAnsweredData,
    CallFailedData,
    CallStartedData,
    ToolCalledData,
    ToolReturnedData,
    TurnRejectedData,
)
from hansard.rules.events import Event
from hansard.rules.fields import SENT_BACK, UNTRIED, Blob
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState, Turn, evolve, speaker_of, step_of
from hansard.rules.terms import Role


@dataclass(slots=True)
class Used:
    """What a seat used, beside its `Spend`."""

    failed: int = 0  # calls that brought no reply, abandoned ones aside
    saved_micro_usd: int = 0  # by the cache
    cache_stated: bool = False  # a reply says what was read from the cache

    def plus(self, other: Used) -> Used:
        """Return what two used together."""
        return Used(
            self.failed + other.failed,
            self.saved_micro_usd + other.saved_micro_usd,
            self.cache_stated or other.cache_stated,
        )


@dataclass(slots=True)
class Folded:
    """A record's last state, and what of its events the state does not keep."""

    text_of: TextOf
    reader: Reader = field(default_factory=Reader)
    state: DebateState = field(default_factory=DebateState)
    seqs: list[int] = field(default_factory=list)  # the entry of each turn
    notes: list[Note] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    unpriced: int = 0  # replies whose cost is not known
    used: defaultdict[str, Used] = field(default_factory=lambda: defaultdict(Used))  # by seat
    compared: int = 0  # calls of which it is known whether they were sent as rendered
    sent_otherwise: list[str] = field(default_factory=list)  # those that were not
    rejected: dict[str, TurnRejectedData] = field(default_factory=dict)  # the last, by step
    sent_back: dict[str, TurnRejectedData] = field(default_factory=dict)  # critiques, by step
    tokens: Counter[tuple[int, Role]] = field(default_factory=Counter)  # by round and role
    started: list[tuple[int, CallStartedData]] = field(default_factory=list)  # with their entries
    answers: dict[str, CallAnsweredData] = field(default_factory=dict)  # by call
    called: list[tuple[int, ToolCalledData]] = field(default_factory=list)
    returned: dict[tuple[str, int], ToolReturnedData] = field(default_factory=dict)
    paged: dict[str, Paged] = field(default_factory=dict)  # documents, once quotes are looked for

    def turns(self, *roles: Role) -> Iterator[tuple[Turn, int]]:
        """Yield the turns of these roles, each with its entry."""
        rows = zip(self.state.turns, self.seqs, strict=True)
        return ((row, seq) for row, seq in rows if row.role in roles)

    def text(self, blob: Blob | None) -> str | None:
        """Return a blob's text; None where it is gone, or there is none."""
        return self.text_of(blob["sha256"]) if blob else None

    def shown(self, blob: Blob | None) -> str | None:
        """Return a blob's text, or that it is gone; None where there is none."""
        return (self.text(blob) or GONE) if blob else None

    def value(self, turn: Turn) -> dict[str, Any]:
        """Return the members of a turn's reply; none where it is gone or was altered."""
        return members(self.text(turn.reply))

    def words(self, turn: Turn) -> str | None:
        """Return a reply in words, trimmed as it is read."""
        text = self.text(turn.reply)
        return None if text is None else cast(str, replies.value_of(text, replies.words()))


def fold(
    events: Iterable[Event],
    text_of: TextOf,
    own: Callable[[str], Mapping[str, Reading]],
    reader: Reader,
) -> Folded:
    """Fold the events of one record, which must follow the rules.

    `own` gives the notes that a format adds on its events.
    """
    found = Folded(text_of, reader)
    for event in events:
        _add(found, event, own)
    return found


def _add(found: Folded, event: Event, own: Callable[[str], Mapping[str, Reading]]) -> None:
    state = evolve(found.state, event)
    found.kinds[event["type"]] += 1
    if len(state.turns) > len(found.seqs):
        found.seqs.append(event["seq"])
    take = _TAKEN.get(event["type"])
    if take:
        take(found, event["data"])
    of_format = own(state.spec["terms"]["format"])
    found.notes += notes.of_event(state, event, found.text_of, of_format)


def _failed(found: Folded, data: CallFailedData) -> None:
    if data["error"] not in UNTRIED:
        found.used[speaker_of(step_of(data["call"]))].failed += 1
    _sent(found, data)


def _answered(found: Folded, data: CallAnsweredData) -> None:
    place = steps.place_of(step_of(data["call"]))
    used, seat = found.used[place.speaker], found.state.seats[place.speaker]
    _sent(found, data)
    found.answers[data["call"]] = data
    found.unpriced += data["cost_micro_usd"] is None
    found.tokens[place.round, seat["role"]] += (data["tokens_in"] or 0) + (data["tokens_out"] or 0)
    used.cache_stated |= data["tokens_cached"] is not None
    tokens = spending.Tokens.of(data)
    used.saved_micro_usd += spending.saved(found.state.prices, seat["model"], tokens)


def _sent(found: Folded, data: CallAnsweredData | CallFailedData) -> None:
    found.compared += data["sent_as_rendered"] is not None
    if data["sent_as_rendered"] is False:
        found.sent_otherwise.append(data["call"])


def _rejected(found: Folded, data: TurnRejectedData) -> None:
    found.rejected[data["step"]] = data
    if data["code"] in SENT_BACK:
        found.sent_back[data["step"]] = data


def _started(found: Folded, data: CallStartedData) -> None:
    found.started.append((found.state.seq, data))


def _called(found: Folded, data: ToolCalledData) -> None:
    found.called.append((found.state.seq, data))


def _returned(found: Folded, data: ToolReturnedData) -> None:
    found.returned[data["call"], data["number"]] = data


_TAKEN: Mapping[str, Callable[[Folded, Any], None]] = {  # beside what the state keeps
    "call.started": _started,
    "call.answered": _answered,
    "call.failed": _failed,
    "tool.called": _called,
    "tool.returned": _returned,
    "turn.rejected": _rejected,
}


def turn_of(turn: Turn, seq: int) -> dict[str, Any]:
    """Return the fields of a turn that every format shows."""
    reason = cast(Any, turn.data).get("reason")
    return {"status": "forfeited" if reason else "counted", "reason": reason, "seq": seq}


def tally_of(state: DebateState) -> dict[str, int]:
    """Count the current votes of those who had a turn (D 2)."""
    spoken = {row.data["speaker"] for row in state.turns}
    held = [vote for seat, vote in state.votes.items() if seat in spoken]
    tally = dict(Counter(vote for vote in held if vote is not None))
    silent = held.count(None)
    return tally | ({"abstain": silent} if silent else {})


def members(reply: str | None) -> dict[str, Any]:
    """Return the members of a reply; none where it is gone or was altered."""
    try:
        value = replies.read(reply or "")
    except replies.Unreadable:
        return {}
    return value if isinstance(value, dict) else {}


def words_of(value: dict[str, Any], key: str) -> str | None:
    """Return the member `key` where it is text; an altered reply may hold anything."""
    found = value.get(key)
    return found if isinstance(found, str) else None


def points_of(value: dict[str, Any], key: str) -> tuple[str, ...]:
    """Return the texts in the member `key`."""
    found = value.get(key)
    rows = found if isinstance(found, list) else ()
    return tuple(row for row in rows if isinstance(row, str))


def rows_of(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects in the member `key`."""
    found = value.get(key)
    rows = found if isinstance(found, list) else ()
    return [row for row in rows if isinstance(row, dict)]
