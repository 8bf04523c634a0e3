"""What checks 19 and 20 looked at: reviews, outcomes and holds, which the walk has checked."""

from __future__ import annotations

from typing import Any, cast

from hansard import vocabulary
from hansard.rules.data import AFTER
from hansard.rules.review import review_of
from hansard.verify.findings import NOTES, REVIEW
from hansard.verify.reading import Reading


def look(reading: Reading) -> None:
    """Say who signed, whose signatures count, and how the review of the debate stands."""
    replay = reading.replay
    ended = replay is not None and reading.walked == len(reading.events)
    after = replay.state.after if replay and ended else reading.events
    signed = [
        (AFTER[event["type"]], cast(Any, event["data"])["signature"] is not None)
        for event in after
        if event["type"] in AFTER
    ]
    notes = [is_signed for kind, is_signed in signed if kind != "review"]
    reading.more |= {NOTES} if notes else set()
    reading.more |= {REVIEW} if len(notes) < len(signed) else set()
    reading.say(NOTES, notes=vocabulary.many(len(notes), "note"), signed=sum(notes))
    if replay and ended and replay.state.ended:
        found = reading.review = review_of(replay.state, reading.policy, reading.trust)
        counting = sum(row.counts for row in found.reviews)
        reviews = vocabulary.many(len(found.reviews), "review")
        reading.say(REVIEW, reviews=reviews, counting=counting, state=found.state)
        if counting < len(found.reviews):
            reading.aside[REVIEW] = ("unchecked", reading.evidence[REVIEW])
