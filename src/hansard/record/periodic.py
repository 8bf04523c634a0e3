"""The text of a periodic report that is signed: numbers, and the head of each debate they count.

Its lines are in one order, so that a text has one spelling (FORMAT.md §21). It is the text of
a note that is signed with the export key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hansard.errors import DataError
from hansard.record.keys import TIME

_HEAD = re.compile(rf"hansard-report/v1\nsince ({TIME})\nuntil ({TIME})\nat ({TIME})\n").match
_LONGEST_HEAD = 200  # bytes, and more than it has
_HUGE = 10**40  # and no number is as large
_NUMBER = re.compile(r"number ([a-z0-9_.]{1,128}) ([1-9][0-9]{0,39})\n")
_DEBATE = re.compile(
    r"debate ([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}) ([0-9a-f]{64})\n"
)


@dataclass(frozen=True, slots=True)
class Counted:
    """What the debates opened from `since` to before `until` come to, as it stood `at` a time.

    `numbers` are by name, none of them 0; `heads` are the hashes of the last entries, by debate.
    """

    since: str
    until: str
    at: str
    numbers: Mapping[str, int]
    heads: Mapping[str, str]


def write(found: Counted) -> bytes:
    """Return the text in its one spelling."""
    lines = ["hansard-report/v1", f"since {found.since}", f"until {found.until}", f"at {found.at}"]
    lines += [f"number {name} {found.numbers[name]}" for name in sorted(found.numbers)]
    lines += [f"debate {name} {found.heads[name]}" for name in sorted(found.heads)]
    return "".join(f"{line}\n" for line in lines).encode()


def is_countable(numbers: Mapping[str, object], debate: str, head: object) -> bool:
    """Say whether the numbers of a record, and its head, can each be said in a line of the text."""
    return bool(_DEBATE.fullmatch(f"debate {debate} {head}\n")) and all(
        type(value) is int and abs(value) < _HUGE and _NUMBER.fullmatch(f"number {name} {value}\n")
        for name, value in numbers.items()
    )


def times(text: bytes) -> tuple[str, str, str] | None:
    """Return `since`, `until` and `at` of a text whose rest is not looked at; None without them."""
    head = _HEAD(text[:_LONGEST_HEAD].decode("ascii", "replace"))
    return (head[1], head[2], head[3]) if head else None


def parse(text: bytes) -> Counted:
    """Read a text; raises DataError `21.malformed` for anything but its one spelling."""
    spelled, head = text.decode("ascii", "replace"), times(text)
    if head:
        numbers = {name: int(value) for name, value in _NUMBER.findall(spelled)}
        heads = dict(_DEBATE.findall(spelled))
        found = Counted(*head, numbers, heads)
        if write(found) == text:
            return found
    raise DataError("21.malformed", "the text is no periodic report, or not in its one spelling")
