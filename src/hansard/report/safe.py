r"""Text that somebody wrote, made safe to show: on a terminal, in a list, in a report.

Models and users may write escape sequences that repaint a terminal, bidi marks
that make a line read as what it is not, and letters that are drawn as nothing, so
that a name looks like another or like none. All are spelled out.

>>> shown("all \x1b[2Kwell")
'all <U+001B>[2Kwell'
>>> shown("Ann\u3164")
'Ann<U+3164>'
>>> one_line("first\n  second")
'first second'
"""

from __future__ import annotations

import re
from html import escape

from hansard.rules.prompts import spell_out, substituted

__all__ = ["COLUMNS", "escaped", "one_line", "shown", "substituted", "untypeset"]

COLUMNS = 80  # of what `print` shows
_ENOUGH = 8  # times the limit: so many characters of a text are read at first
# Letters that are drawn as nothing; and what joins or varies the sign before it, as in emoji, in a
# place where there is none. (`words.js` and `tools/verify.py` have the same.)
_UNSEEN = re.compile(
    "[\u115f\u1160\u17b4\u17b5\u206a-\u206f\u2800\u3164\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff]"
    "|(?<![^\t\n \xa0\u1680\u2000-\u200a\u202f\u205f\u3000])"
    "[\xad\u034f\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)


def shown(text: str) -> str:
    """Return a text with all that acts, or is drawn as nothing, as `<U+XXXX>`.

    Of what `quote` spells out in a prompt this has more: what was sent stays as it was.
    """
    spelled = spell_out(text)
    return spelled if spelled.isascii() else _UNSEEN.sub(_spelled, spelled)


def _spelled(found: re.Match[str]) -> str:
    return "".join(f"<U+{ord(char):04X}>" for char in found[0])


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
