"""Unicode's form NFC in linear time.

Python puts the marks on a letter in their order one step at a time, which takes the square of
their number and lets nothing else run: two megabytes of marks took it ten minutes. So long runs
of marks are put in order here before, by which no text becomes another in NFC.
"""

from __future__ import annotations

import re
from itertools import groupby
from unicodedata import combining, normalize

# Each mark is among these signs, and few other texts have as many of them in a row.
_MARKS = re.compile(r"[^\w\x00-\x7f]{32,}")


def composed(text: str) -> str:
    r"""Return a text in NFC.

    >>> composed("e\u0301"), composed("plain")
    ('é', 'plain')
    """
    return normalize("NFC", _MARKS.sub(_in_order, text))


def _in_order(run: re.Match[str]) -> str:
    signs = "".join(normalize("NFD", sign) for sign in run[0])
    parts = groupby(signs, lambda sign: combining(sign) > 0)
    return "".join("".join(sorted(part, key=combining)) for _, part in parts)
