"""The report as Markdown, for a file or a page that renders it.

A module for each format says what was decided and what was said; the other
sections are common to all. Everything that somebody wrote goes through `signs`.
"""

from __future__ import annotations

from types import ModuleType

from hansard.report.markdown import common, consensus, judged, moderated, panel
from hansard.report.view import DebateResult

_OWN: dict[str, ModuleType] = {
    "consensus": consensus,
    "judged": judged,
    "moderated": moderated,
    "panel": panel,
}


def markdown(result: DebateResult) -> str:
    """Return the whole report; every text in it is neutralised."""
    own = _OWN[result.format]
    sections = (
        common.head(result),
        own.decision(result),
        common.output(result),
        common.evidence(result),
        common.seats(result),
        common.tools(result),
        common.seen(result),
        common.notes(result),
        own.said(result),
        common.about(result, own.use(result)),
    )
    return "\n\n".join(block for section in sections for block in section) + "\n"
