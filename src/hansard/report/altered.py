"""What an alteration means, in words: what the record says, what follows, and what rests on it.

The terminal and the page say the same (`page/altered.js`); hashes, lists and long texts stand
in the finding itself.
"""

from __future__ import annotations

import re

from hansard import vocabulary
from hansard.report.safe import one_line
from hansard.report.words import TITLE
from hansard.verify.findings import Finding
from hansard.vocabulary import fill

_WORDS = vocabulary.words("altered")
_HASH = re.compile("[0-9a-f]{64}")
_MARKS = str.maketrans("“”", "‘’")
_UNITS = ("micro_usd", "ppm", "ms")  # in which a field ends
_PAIR = 2


def in_words(finding: Finding) -> str:
    """Say what is recorded, what follows, and what rests on it, in one sentence.

    >>> row = Finding(code="12.vote", seq=14, message="", expected="escalate", found="revise")
    >>> in_words(row).partition(";")[0]
    'The record says “revise”, the reply says “escalate”'
    """
    _, _, defect = finding.code.partition(".")
    check = vocabulary.checks()[finding.check]
    whole, own = check["altered"], check["altered"].get("own", {}).get(defect, {})
    plain = _plain(finding.found), _plain(finding.expected)
    says = own.get("says") or ("" if defect in check["findings"] else whole.get("says"))
    known = says and None not in plain and finding.found != finding.expected
    values = {"found": plain[0], "expected": plain[1], "field": _field(defect)}
    what = fill(str(says), **values) if known else finding.message
    return fill(_WORDS["sentence"], what=what, rests=own.get("rests") or whole["rests"])


def _field(name: str) -> str:
    """Return the name of a field in words, with its unit."""
    unit = next((unit for unit in _UNITS if name.endswith(f"_{unit}")), None)
    if unit is None:
        return name.replace("_", " ")
    return fill(_WORDS[unit], field=name.removesuffix(f"_{unit}").replace("_", " "))


def _plain(value: object) -> str | None:
    """Return a value in words; None for what is neither short nor a list of what is."""
    if not isinstance(value, list):
        return _short(value)
    rows = [
        _pair(row) if isinstance(row, dict) and len(row) == _PAIR else _short(row) for row in value
    ]
    line = ", ".join(row or "" for row in rows) or _WORDS["nothing"]
    return None if None in rows or len(line) > TITLE else line


def _pair(row: dict[str, object]) -> str | None:
    """Return two values, such as an option and its votes, beside each other."""
    one, other = map(_short, row.values())
    return None if one is None or other is None else f"{one} {other}"


def _short(value: object) -> str | None:
    if value is None:
        return _WORDS["nothing"]
    if isinstance(value, bool):
        return _WORDS["true" if value else "false"]
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str) or _HASH.fullmatch(value):
        return None
    line = one_line(value)
    return fill(_WORDS["value"], value=line.translate(_MARKS)) if len(line) <= TITLE else None
