"""The one view of a debate: what every report, page and table of it shows.

`build` folds a record's events into a result, which is the JSON report and
what the API returns: a class of its own for each format. Nothing is counted
anywhere else, and every text is read again from the blob it was recorded in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from hansard.errors import DataError
from hansard.report.fold import fold
from hansard.report.formats import DISPLAYS, DebateResult
from hansard.rules.events import Event
from hansard.rules.prompts import TextOf
from hansard.rules.replay import NotDue, Replay


def build(events: Iterable[Event], text_of: TextOf) -> DebateResult:
    """Fold the events of one record, from its first, into what is shown of it.

    `text_of` gives a blob's text, or None where it is gone. Events that follow the
    rules can always be shown; only of others it is asked whether they do. Raises
    DataError `report.record` where they do not and cannot be shown. `verify` says
    whether they are what was recorded.
    """
    record = list(events)
    try:
        found = fold(record, text_of)
        display = DISPLAYS[found.state.spec["terms"]["format"]]
        return cast(DebateResult, display.of(found))
    except Exception as error:
        seq = _departure(record, text_of)
        if seq is None:  # the record is sound: whatever failed here is a bug of ours
            raise
        raise DataError(
            "report.record",
            f"entry {seq} does not follow the debate rules; verify the record to see why",
        ) from error


def _departure(record: Iterable[Event], text_of: TextOf) -> int | None:
    """Return the first entry that is not what the rules give; None where all are."""
    replay = Replay(text_of)
    for event in record:
        try:
            differs = bool(replay.step(event))
        except NotDue:
            differs = True
        if differs:
            return event["seq"]
    return None
