"""Which texts of a record were erased, when, why, and by whom: what a result shows, and its words.

Whether that is enough is for the reader's trust file to say, as of a review.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

from hansard import vocabulary
from hansard.record.keys import Trust
from hansard.record.policy import Policy
from hansard.report.parts import ErasedText, Reviewed
from hansard.report.safe import one_line
from hansard.report.words import GONE
from hansard.rules import after
from hansard.rules.redactions import Redaction, signing
from hansard.rules.state import DebateState
from hansard.vocabulary import fill

LABEL = vocabulary.words("erased")["label"]


def erased(
    state: DebateState, text: Callable[[Any], str | None], policy: Policy | None, trust: Trust
) -> Iterator[ErasedText]:
    """Yield the texts that were erased, of a record that holds."""
    for place, event in enumerate(state.after):
        if event["type"] != "text.redacted":
            continue
        data, faulty = event["data"], any(after.faults(state.after[:place], event))
        seq = state.seq - len(state.after) + 1 + place
        row = Redaction(seq, event["at"], data, None, faulty)
        found = signing(row, cast(Any, state.said), policy, trust)
        yield ErasedText(
            seq=seq,
            at=event["at"],
            entry=data["seq"],
            field=data["field"],
            reason=text(data["reason"]),
            basis=text(data["basis"]),
            asked_by=text(data["asked_by"]),
            keys=tuple(name for name, _ in found.keys),
            standings=tuple(standing for _, standing in found.keys),
            counts=found.counts,
        )


def in_words(found: Reviewed, limit: int | None = None) -> Iterator[str]:
    """Say of each text that was erased what it was, when, why, at whose request, and who signed.

    With a limit what they wrote is on one line, cut there.
    """

    @cache  # redactions may name one text of blanks again and again
    def written(text: str | None) -> str:
        text = GONE if text is None else text
        return text if limit is None else one_line(text, limit)

    words, reasons = vocabulary.words("erased"), vocabulary.words("standings")
    for row in found.erased:
        told = fill(
            words["row"],
            field=row.field,
            seq=row.entry,
            day=row.at[:10],
            reason=written(row.reason),
            basis=written(row.basis),
            asked_by=written(row.asked_by),
            keys=", ".join(row.keys),
        )
        named = zip(row.keys, row.standings, strict=True)
        why = [fill(reasons[how], key=key) for key, how in named if how != "trusted"]
        why = why or [words["policy"]]
        yield told if row.counts else fill(words["doubted"], row=told, why=", ".join(why))
