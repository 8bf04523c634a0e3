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


def build(events: Iterable[Event], text_of: TextOf) -> DebateResult:
    """Fold the events of one record, from its first, into what is shown of it.

    `text_of` gives a blob's text, or None where it is gone. Nothing is checked
    here but that the events can be followed: raises DataError `report.record`
    where they cannot. `verify` says whether they are what was recorded.
    """
    found = fold(events, text_of)
    display = DISPLAYS[found.state.spec["terms"]["format"]]
    try:
        return cast(DebateResult, display.of(found))
    except (AssertionError, LookupError, StopIteration, ValueError, TypeError) as error:
        raise DataError("report.record", "the record is none that the rules give") from error
