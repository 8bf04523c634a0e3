r"""Text that somebody wrote, made safe to show: on a terminal, in a list, in a report.

Models and users may write escape sequences that repaint a terminal, and bidi
marks that make a line read as what it is not. Both are spelled out.

>>> shown("all \x1b[2Kwell")
'all <U+001B>[2Kwell'
>>> one_line("first\n  second")
'first second'
"""

from __future__ import annotations

from hansard.rules.prompts import spell_out as shown

__all__ = ["one_line", "shown"]


def one_line(text: str, limit: int | None = None) -> str:
    """Return `text` as `shown`, its white space folded to single spaces.

    Above `limit` characters it is cut there, with an ellipsis as the last one.
    """
    line = " ".join(shown(text).split())
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"
