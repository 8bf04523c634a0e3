"""The one view of a debate: what every report, page and table of it shows.

`build` folds a record's events into a result, which is the JSON report and
what the API returns: a class of its own for each format. Nothing is counted
anywhere else, and every text is read again from the blob it was recorded in.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import cast

from hansard.report.fold import fold
from hansard.report.formats import DISPLAYS, DebateResult, notings
from hansard.report.reviews import Reader
from hansard.rules.events import Event
from hansard.rules.prompts import TextOf


def build(events: Iterable[Event], text_of: TextOf, reader: Reader | None = None) -> DebateResult:
    """Fold the events of one record, from its first, into what is shown of it.

    `text_of` gives a blob's text, or None where it is gone; `reader` says whose reviews
    count, and when they are overdue. The record must follow
    the rules: nothing is checked here, so whoever reads one verifies it first
    (`hansard.read_record`), and whatever fails here is a bug of ours.
    """
    found = fold(events, cache(text_of), notings, reader or Reader())
    return cast(DebateResult, DISPLAYS[found.state.spec["terms"]["format"]].of(found))
