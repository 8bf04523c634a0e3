"""The report as Markdown, for a file or a page that renders it.

Each format says what was decided and what was said (`report.display`); the
other sections are common to all. Everything that somebody wrote goes through `signs`.
"""

from __future__ import annotations

from hansard.report import sections
from hansard.report.display import Display, R


def markdown(result: R, own: Display[R]) -> str:
    """Return the whole report; every text in it is neutralised."""
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
