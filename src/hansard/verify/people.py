"""What checks 19 and 20 looked at: reviews, outcomes, holds and redactions.

The walk has checked them, but for the texts that redactions name: these stand in entries that it
no longer has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hansard import vocabulary
from hansard.rules import redactions
from hansard.rules.after import signatures_of
from hansard.rules.data import AFTER
from hansard.rules.review import review_of
from hansard.verify.findings import NOTES, REVIEW, Finding, finding
from hansard.verify.reading import Reading


def read_redactions(reading: Reading) -> None:
    """Find which texts the record says were erased, and whether that counts for its reader."""
    said = reading.said
    if said is None:
        return
    for row in redactions.read(reading.events, lambda seq: reading.events[seq - 1]):
        signing = redactions.signing(row, said, reading.policy, reading.trust)
        reading.redactions.append((row, signing))


def check_redactions(reading: Reading) -> Iterator[Finding]:
    """Check 20 of the entries that the walk came to: each names a text that was there."""
    for row, _ in reading.redactions:
        if row.misplaced and row.seq <= reading.walked:
            _, expected, found = row.misplaced
            yield finding("20.blob", row.seq, expected=expected, found=found)


def look(reading: Reading) -> None:
    """Say who signed, whose signatures count, and how the review of the debate stands."""
    replay = reading.replay
    ended = replay is not None and reading.walked == len(reading.events)
    after = replay.state.after if replay and ended else reading.events
    said = [
        (AFTER[event["type"]], bool(signatures_of(event)))
        for event in after
        if event["type"] in AFTER
    ]
    notes = [(kind, is_signed) for kind, is_signed in said if kind != "review"]
    reading.more |= {NOTES} if notes else set()
    reading.more |= {REVIEW} if len(notes) < len(said) else set()
    _say_notes(reading, notes, ended=ended)
    if replay and ended and replay.state.ended:
        found = reading.review = review_of(replay.state, reading.policy, reading.trust)
        counting = sum(row.counts for row in found.reviews)
        reviews = vocabulary.many(len(found.reviews), "review")
        reading.say(REVIEW, reviews=reviews, counting=counting, state=found.state)
        if counting < len(found.reviews):
            reading.aside[REVIEW] = ("unchecked", reading.evidence[REVIEW])


def _say_notes(reading: Reading, notes: Sequence[tuple[str, bool]], *, ended: bool) -> None:
    """Say what check 20 looked at; a redaction that does not count leaves it unchecked."""
    erasing = [kind for kind, _ in notes].count("redaction")
    counting = sum(signing.counts for _, signing in reading.redactions)
    reading.say(
        NOTES,
        "redacted" if erasing else "text",
        notes=vocabulary.many(len(notes), "note"),
        signed=sum(is_signed for _, is_signed in notes),
        erasing=vocabulary.many(erasing, "redaction"),
        counting=counting,
    )
    if ended and counting < erasing:
        reading.aside[NOTES] = ("unchecked", reading.evidence[NOTES])
