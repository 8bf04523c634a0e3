"""The report as Markdown, for a file or a page that renders it.

Each format says what was decided and what was said (`report.formats`); the
other sections are common to all. Everything that somebody wrote goes through `signs`.
"""

from __future__ import annotations

from hansard.report import sections
from hansard.report.formats import DebateResult, display_of


def markdown(result: DebateResult) -> str:
    """Return the whole report; every text in it is neutralised."""
    own = display_of(result)
    parts = (
        sections.head(result),
        own.decision(result),
        sections.output(result),
        sections.evidence(result),
        sections.seats(result),
        sections.prompts(result),
        sections.tools(result),
        sections.seen(result),
        sections.notes(result),
        sections.governance(result),
        own.said(result),
        sections.about(result, own.use(result)),
    )
    return "\n\n".join(block for section in parts for block in section) + "\n"
