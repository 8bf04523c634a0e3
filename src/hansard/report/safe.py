r"""Text that somebody wrote, made safe to show: on a terminal, in a list, in a report.

Models and users may write escape sequences that repaint a terminal, and bidi
marks that make a line read as what it is not. Both are spelled out.

>>> shown("all \x1b[2Kwell")
'all <U+001B>[2Kwell'
>>> one_line("first\n  second")
'first second'
"""

from __future__ import annotations

from html import escape

from hansard.rules.prompts import spell_out as shown

__all__ = ["COLUMNS", "escaped", "one_line", "shown", "untypeset"]

COLUMNS = 80  # of what `print` shows
_ENOUGH = 8  # times the limit: so many characters of a text are read at first


def one_line(text: str, limit: int | None = None) -> str:
    """Return `text` as `shown`, its white space folded to single spaces.

    Above `limit` characters it is cut there, with an ellipsis as the last one. No more of a
    long text is read than shows where, for a record may name one again and again.
    """
    read = len(text) if limit is None else _ENOUGH * limit
    while True:
        line = " ".join(shown(text[:read]).split())
        if limit is not None and len(line) > limit:
            return line[: limit - 1] + "…"
        if read >= len(text):
            return line
        read *= 4


def escaped(text: str) -> str:
    """Return `text` as `shown`, in HTML that has no element and no attribute of its own.

    >>> escaped('<img onerror="go()">')
    '&lt;img onerror=&quot;go()&quot;&gt;'
    """
    return escape(shown(text))


def untypeset(html: str) -> str:
    """Return HTML for a notebook, in which nothing is typeset as a formula."""
    return f'<div class="hansard tex2jax_ignore mathjax_ignore">{html}</div>'
