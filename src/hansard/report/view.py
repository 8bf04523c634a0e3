"""The one view of a debate: what every report, page and table of it shows.

`build` folds a record's events into a result, which is the JSON report and
what the API returns: a class of its own for each format. Nothing is counted
anywhere else, and every text is read again from the blob it was recorded in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated

from pydantic import Field

from hansard.errors import DataError
from hansard.report.fold import Folded, fold
from hansard.report.results import consensus, judged, moderated, panel
from hansard.report.results.consensus import ConsensusResult
from hansard.report.results.judged import JudgedResult
from hansard.report.results.moderated import ModeratedResult
from hansard.report.results.panel import PanelResult
from hansard.rules.events import Event
from hansard.rules.prompts import TextOf

AnyResult = ConsensusResult | JudgedResult | ModeratedResult | PanelResult
DebateResult = Annotated[AnyResult, Field(discriminator="format")]

_RESULTS: Mapping[str, Callable[[Folded], AnyResult]] = {
    "consensus": consensus.of,
    "judged": judged.of,
    "moderated": moderated.of,
    "panel": panel.of,
}


def build(events: Iterable[Event], text_of: TextOf) -> DebateResult:
    """Fold the events of one record, from its first, into what is shown of it.

    `text_of` gives a blob's text, or None where it is gone. Nothing is checked
    here but that the events can be followed: raises DataError `report.record`
    where they cannot. `verify` says whether they are what was recorded.
    """
    found = fold(events, text_of)
    try:
        return _RESULTS[found.state.spec["terms"]["format"]](found)
    except (AssertionError, LookupError, StopIteration, ValueError, TypeError) as error:
        raise DataError("report.record", "the record is none that the rules give") from error
