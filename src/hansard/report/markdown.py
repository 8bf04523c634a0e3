"""The report as Markdown, for a file or a page that renders it, in the order of the page.

Each format says what was decided and what was said (`report.display`); the
other sections are common to all. Everything that somebody wrote goes through `signs`.
"""

from __future__ import annotations

from collections.abc import Iterator

from hansard.report import annexes, sections
from hansard.report.display import Display, R
from hansard.report.size import require_room


def markdown(result: R, own: Display[R]) -> str:
    """Return the whole report; every text in it is neutralised.

    Raises DataError `report.size` where it names long texts again and again.
    """
    return "\n\n".join(blocks(result, own)) + "\n"


def blocks(result: R, own: Display[R]) -> Iterator[str]:
    """Yield it block by block: all of it may be several times as large as the record."""
    require_room(result)
    parts = (
        sections.head(result, own),
        sections.exceptions(result),
        own.decision(result),
        sections.output(result),
        sections.points(result, own),
        sections.people(result),
        sections.participants(result),
        sections.evidence(result, own),
        sections.cost(result),
        annexes.begin(result),
        own.said(result),
        annexes.prompts(result),
        annexes.personas(result),
        annexes.settings(result),
        annexes.prices(result),
        annexes.others(result),
        annexes.tools(result),
        annexes.seen(result),
        annexes.about(result, own.use(result)),
    )
    for section in parts:
        yield from section
