"""What every result can do by itself: a class above `Result` that knows its format's `Display`."""

from __future__ import annotations

from typing import Any, ClassVar

from hansard.report.display import Display
from hansard.report.markdown import markdown
from hansard.report.result import Result


class Shown(Result):
    """A result that shows itself; each format sets `display`, and is one of these."""

    display: ClassVar[Display[Any]]

    def to_markdown(self) -> str:
        """Return the whole report as Markdown: what `hansard report --as markdown` prints."""
        return markdown(self, self.display)
