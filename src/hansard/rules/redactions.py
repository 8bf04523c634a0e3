"""Which texts of a record were erased, by whom, and whose word counts for it (FORMAT.md §18).

A text that is gone must be explained. An entry `text.redacted` does that, if it names the text
where it stands, nothing contradicts it, and its signatures are over it. Whether its keys count
is for the reader's trust file to say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from hansard.record.keys import Role, Standing, Trust, standing
from hansard.record.note import VerifierKey
from hansard.record.policy import Policy
from hansard.rules import after
from hansard.rules.after import MOST_AFTER, Fault
from hansard.rules.data import AFTER, GateAnsweredData, OpenedData, RedactedData
from hansard.rules.events import Event
from hansard.rules.review import Standings, involved, value_of

_DIGITS = 7  # more than the number of any entry has
_ROLES: Sequence[Role] = ("reviewer", "approval")
_RANK: Sequence[Standing] = ("trusted", "revoked", "time", "undated", "role", "unknown")


@dataclass(frozen=True, slots=True)
class Redaction:
    """An entry that says that a text was erased.

    `misplaced` says that it names no text, or one that was erased before; `faulty` that this or
    anything else contradicts it, and then it explains nothing.
    """

    seq: int
    at: str
    data: RedactedData
    misplaced: Fault | None
    faulty: bool


@dataclass(frozen=True, slots=True)
class Signing:
    """How a redaction stands for a reader: each key by name, and whether they are enough."""

    keys: tuple[tuple[str, Standings], ...]
    counts: bool


def texts_of(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text that an entry's data names: its place in the data, and its name.

    >>> a, b = {"sha256": "0" * 64}, {"sha256": "1" * 64}
    >>> [place for place, _ in texts_of({"comment": None, "conditions": [a, b], "gate": {"x": a}})]
    ['conditions.0', 'conditions.1', 'gate.x']
    """
    if isinstance(value, dict) and value.keys() == {"sha256"}:
        yield path[1:], value["sha256"]
    elif isinstance(value, dict | list):
        rows = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in rows:
            yield from texts_of(item, f"{path}.{key}")


def find(events: Sequence[Event], named: str) -> str | None:
    """Return the name of the text that `12.reply` names; None where it names none."""
    entry, _, field = named.partition(".")
    place = int(entry) if entry.isascii() and entry.isdigit() and len(entry) < _DIGITS else 0
    return _named(events[place - 1], field) if 0 < place <= len(events) else None


def read(events: Iterable[Event], entry: Callable[[int], Event]) -> list[Redaction]:
    """Return the redactions of a record, in order; `entry` gives an earlier one by its place.

    Entries of a kind that follows a close are looked at as far as a record may have them.
    """
    numbered = ((place, row) for place, row in enumerate(events, 1) if row["type"] in AFTER)
    people = [*islice(numbered, MOST_AFTER)]
    there = _there(people, entry)
    before, found, erased = list[Event](), list[Redaction](), set[str]()
    for place, event in people:
        if event["type"] == "text.redacted":
            data = event["data"]
            named = there.get((data["seq"], data["field"])) if data["seq"] < place else None
            misplaced = _misplaced(named, data["blob"], erased)
            faulty = misplaced is not None or any(after.faults(before, event))
            found.append(Redaction(place, event["at"], data, misplaced, faulty))
            erased.add(data["blob"])
        before.append(event)
    return found


def _there(
    people: Iterable[tuple[int, Event]], entry: Callable[[int], Event]
) -> dict[tuple[int, str], str]:
    """Return the texts that stand where redactions say; each entry is read once for all of them."""
    wanted = {
        (event["data"]["seq"], event["data"]["field"])
        for place, event in people
        if event["type"] == "text.redacted" and event["data"]["seq"] < place
    }
    return {
        (seq, field): name
        for seq in {seq for seq, _ in wanted}
        for field, name in texts_of(entry(seq)["data"])
        if (seq, field) in wanted
    }


def _named(event: Event, place: str) -> str | None:
    return dict(texts_of(event["data"])).get(place)


def _misplaced(named: str | None, text: str, erased: Collection[str]) -> Fault | None:
    """Say that a redaction names no text that stands where it says and is not erased yet."""
    there = None if named in erased else named
    return None if there == text else Fault("blob", there, text)


def signing(
    redaction: Redaction,
    said: OpenedData | GateAnsweredData,
    policy: Policy | None,
    trust: Trust,
) -> Signing:
    """Say whether a redaction counts for a reader; `said` is what the record begins with."""
    rows = list[tuple[str, Standings]]()
    for signature in redaction.data["signatures"]:
        name = after.name_in(signature)
        key = None if redaction.faulty else after.key_of(signature)
        rows.append((name, _standing(redaction, said, policy, trust, key) if key else "faulty"))
    wanted = int(value_of(said, policy, "redactors") or 1)
    counting = sum(found == "trusted" for _, found in rows)
    return Signing(tuple(rows), counting >= wanted)


def _standing(
    redaction: Redaction,
    said: OpenedData | GateAnsweredData,
    policy: Policy | None,
    trust: Trust,
    key: VerifierKey,
) -> Standings:
    """Say how a key stands, in whichever of its roles it stands best."""
    found = min((standing(trust, key, role, redaction.at) for role in _ROLES), key=_RANK.index)
    if found == "trusted" and involved(said, policy, trust, key):
        return "involved"
    return found
