"""Which texts of a record are kept from the recipient of an export, and why (FORMAT.md §13).

What is kept back is named by the entry and field of a text, as in `12.reply`, or by its kind:
`evidence`, `originals`, `personas`, or a seat, as in `seat:ann`. Each has a reason in one word,
which the manifest states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hansard.errors import UsageError
from hansard.export.write import signed
from hansard.record import blob
from hansard.record.bundle import Bundle
from hansard.record.keys import Trust, generate
from hansard.record.note import Signer
from hansard.report.quoting import TextAt, quoting
from hansard.rules.events import Event
from hansard.rules.redactions import find, texts_of
from hansard.rules.state import speaker_of, step_of
from hansard.verify.findings import REVIEW, SIGNATURE, Verification
from hansard.verify.verifier import verify_export

_REASON = re.compile(r"[a-z0-9_]{1,64}").fullmatch
_SEAT = "seat:"
_CALLS = ("call.answered", "call.failed", "tool.called", "tool.returned")


def _evidence(event: Event) -> object:
    return event["data"] if event["type"] == "evidence.admitted" else None


def _originals(event: Event) -> object:
    return event["data"]["original"] if event["type"] == "evidence.admitted" else None


def _personas(event: Event) -> object:
    return event["data"]["persona"] if event["type"] == "debater.registered" else None


def _seat(name: str) -> Callable[[Event], object]:
    """Return what finds all that a seat was told, and all that came of its calls."""

    def of(event: Event) -> object:
        data: Any = event["data"]
        mine = event["type"] in _CALLS and speaker_of(step_of(data["call"])) == name
        told = event["type"] == "debater.registered" and data["id"] == name
        return data if mine or told else None

    return of


KINDS: Mapping[str, Callable[[Event], object]] = {
    "evidence": _evidence,
    "originals": _originals,
    "personas": _personas,
}


def withheld(
    events: Sequence[Event], blobs: Mapping[str, bytes], withhold: Mapping[str, str]
) -> dict[str, str]:
    """Return the reason for each text that is kept back, by the name of its blob.

    Raises UsageError `withhold.text` for what names none that is there, and `withhold.reason`.
    """
    found = dict[str, str]()
    for what, reason in withhold.items():
        if not _REASON(reason):
            raise UsageError(
                "withhold.reason",
                f"the reason for {what!r:.80} is one word of a-z, 0-9 and _, as in personal_data",
            )
        names = [name for name in _named(events, what) if name in blobs]
        if not names:
            kinds = ", ".join((*KINDS, "seat:NAME"))
            raise UsageError(
                "withhold.text",
                f"{what!r:.80} names no text that is there: write 12.reply, or one of {kinds}",
            )
        found |= dict.fromkeys(names, reason)
    return found


def _named(events: Sequence[Event], what: str) -> Iterator[str]:
    of = _seat(what.removeprefix(_SEAT)) if what.startswith(_SEAT) else KINDS.get(what)
    if of:
        yield from (name for event in events for _, name in texts_of(of(event)))
    else:
        name = find(events, what)
        yield from [name] if name else []


@dataclass(frozen=True, slots=True)
class Withholding:
    """What an export would lack, the texts `withheld`, and what would tell of it.

    `quoting` are the texts that quote one that is withheld, or are the same document, and are
    not withheld themselves. `verification` is what verifying the export would say.
    """

    withheld: tuple[TextAt, ...]
    quoting: tuple[TextAt, ...]
    verification: Verification

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Why the checks that would be unchecked would be so; not whose keys count."""
        rows = (row for row in self.verification.checks if row.status == "unchecked")
        aside = (SIGNATURE, REVIEW, REVIEW + 1)
        return tuple(f"{row.name}: {row.evidence}" for row in rows if row.number not in aside)


def preview(bundle: Bundle, events: Sequence[Event], withhold: Mapping[str, str]) -> Withholding:
    """Make an export of a record without these texts, with a key of nobody's, and verify it.

    Raises UsageError `withhold.*`.
    """
    names = withheld(events, bundle.blobs, withhold)
    held = {name: blob.unpack(file) for name, file in bundle.blobs.items()}
    meant = dict[str, TextAt]()
    for place, event in enumerate(events, 1):
        for field, name in texts_of(event["data"]):
            if name in names:
                meant.setdefault(name, TextAt(place, field, held[name]))
    others = dict(quoting(events, held, meant))
    made = signed(bundle, Signer("preview", generate()), names)
    return Withholding(tuple(meant.values()), tuple(others.values()), verify_export(made, Trust()))
