"""What a record counts in a periodic report, and a report counted again (FORMAT.md §21).

The numbers follow from the entries alone, so a text that is gone changes none of them; how the
reviews stand also hangs on the keys that the reader trusts, at the time of the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from hansard import vocabulary
from hansard.errors import DataError
from hansard.record import note as notes
from hansard.record import periodic
from hansard.record.bundle import Bundle
from hansard.record.keys import Signing, Trust, who_signed
from hansard.record.line import line_hash
from hansard.record.note import Note
from hansard.record.periodic import Counted
from hansard.rules.events import Event, parse
from hansard.rules.replay import policy_of
from hansard.rules.review import ReviewState, review_of
from hansard.rules.state import DebateState, evolve
from hansard.verify.findings import REPORT, Finding, finding
from hansard.verify.needed import let_go

# What an entry of each type adds to the numbers; a sum of 0 is not among them.
_COUNTED: Mapping[str, Callable[[Any], Mapping[str, int]]] = {
    "debate.opened": lambda data: {
        "debates": 1,
        "open": 1,
        "scripted": int(data["scripted"]),
        f"format.{data['terms']['format']}": 1,
        f"policy.{data['policy'] or 'none'}": 1,
    },
    "gate.answered": lambda _: {"gates": 1},
    "call.started": lambda _: {"calls": 1},
    "call.answered": lambda data: {
        "tokens.in": data["tokens_in"] or 0,
        "tokens.out": data["tokens_out"] or 0,
        "calls.unpriced": int(data["cost_micro_usd"] is None),
        "cost_micro_usd": data["cost_micro_usd"] or 0,
    },
    "call.failed": lambda data: {
        "calls.failed": 1,
        "cost_micro_usd": data["cost_micro_usd"] or 0,
    },
    "turn.rejected": lambda _: {"turns.rejected": 1},
    "turn.forfeited": lambda _: {"turns.forfeited": 1},
    "decision.reached": lambda data: {f"rule.{data['rule']}": 1},
    "debate.closed": lambda data: {"open": -1, f"closed.{data['outcome']}": 1},
    "hold.placed": lambda _: {"held": 1},
    "hold.lifted": lambda _: {"held": -1},
    "text.redacted": lambda _: {"redactions": 1},
}


class Part(NamedTuple):
    """What one record counts: its id, when it was opened, its head, and its numbers."""

    debate: str
    opened_at: str
    head: str
    numbers: Mapping[str, int]


def part_of(bundle: Bundle, trust: Trust, at: str) -> Part:
    """Return what a record that holds counts, its review as it stands at a time."""
    state = DebateState()
    for event in map(parse, bundle.lines):
        let_go(evolve(state, event), event)
    review = review_of(state, policy_of(state.opened, bundle.policies), trust, at)
    numbers = numbers_of(map(parse, bundle.lines), review.exceptions)
    if state.closed:
        numbers[of_review(review.state)] = 1
    return Part(state.debate, state.opened_at, line_hash(bundle.lines[-1]), numbers)


def numbers_of(events: Iterable[Event], exceptions: Sequence[str]) -> Counter[str]:
    """Return the numbers of one record, but for its review; `exceptions` are why one is asked."""
    found = Counter[str]()
    for event in events:
        if event["type"] in _COUNTED:
            found.update(_COUNTED[event["type"]](event["data"]))
    if not found["open"]:
        found.update(f"exception.{name}" for name in exceptions)
    return +found


def of_review(state: ReviewState) -> str:
    """Return the name of the number of debates whose review stands so."""
    return f"review.{state.replace(' ', '_')}"


class Recount:
    """Takes in what each record of a folder counts, and compares that with a report."""

    def __init__(self, data: bytes, trust: Trust) -> None:
        self._trust = trust
        self._numbers = Counter[str]()
        self._heads = dict[str, str]()
        self._note: Note | None = None
        with suppress(DataError):
            self._note = notes.parse(data)
        self._times = periodic.times(self._note.text) if self._note else None
        self.at = self._times and self._times[2]

    @cached_property
    def report(self) -> Counted | None:
        """What the report says: read once all records are counted, since it may be large itself."""
        try:
            return periodic.parse(self._note.text) if self._note else None
        except DataError:
            return None

    def add(self, part: Part) -> None:
        """Take in one record, where it is of the time of the report."""
        since, until, _ = self._times or ("", "", "")
        if since <= part.opened_at < until and part.debate not in self._heads:
            self._heads[part.debate] = part.head
            self._numbers.update(part.numbers)

    def signing(self, last: str) -> Signing:
        """Say who signed the report: nobody did before `last`, the last entry that it covers."""
        if self.report is None or self._note is None:
            return Signing(False, vocabulary.words("signers")["unread"])
        at = self.report.at
        return who_signed(self._note, "export", self._trust, at, max(at, last))

    def findings(self, signing: Signing) -> Iterator[Finding]:
        """Yield what differs from the report."""
        said, heads = self.report, self._heads
        if said is None:
            yield finding("21.malformed", 0)
            return
        if signing.forged:
            yield finding("21.signature", 0, found=signing.forged, name=signing.forged)
        for name in sorted(said.heads.keys() | heads.keys()):
            listed, there = said.heads.get(name), heads.get(name)
            if listed != there:
                code = "unlisted" if listed is None else "superseded" if there else "missing"
                yield finding(f"21.{code}", 0, expected=there, found=listed, name=name)
        for name in sorted(said.numbers.keys() | self._numbers.keys()):
            counted, given = self._numbers[name], said.numbers.get(name, 0)
            if counted != given:
                yield finding("21.number", 0, expected=counted, found=given, name=name)

    def evidence(self, signing: Signing) -> str:
        """Say what was counted again."""
        return vocabulary.passed(
            REPORT,
            numbers=vocabulary.many(len(self._numbers), "number"),
            debates=vocabulary.many(len(self._heads), "record"),
            signed=signing.words,
        )
