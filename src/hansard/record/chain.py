"""The growing end of one record: facts in, chained lines out (FORMAT.md §2).

An entry's number is one more than that of the entry before it, its `prev` is the
hash of that entry's bytes, and its time is not before that entry's. Nothing here
looks at a clock or stores anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hansard.record.line import GENESIS, VERSION, encode_line, line_hash


class Chain:
    """The end of the chain of one debate: `seq`, hash and time of its last entry."""

    def __init__(self, debate: str, *, seq: int = 0, prev: str = GENESIS, at: str = "") -> None:
        self.debate = debate
        self.seq, self.prev, self.at = seq, prev, at

    def time(self, now: str) -> str:
        """Return the time of an entry that is added `now`: clocks may go back, records do not."""
        return max(now, self.at)

    def add(self, kind: str, data: Mapping[str, Any], now: str) -> tuple[dict[str, Any], bytes]:
        """Return the next entry and its bytes.

        Raises DataError `4.profile` for data that no line can hold; it takes no place.
        """
        at = self.time(now)
        entry = {
            "at": at,
            "data": data,
            "debate": self.debate,
            "prev": self.prev,
            "seq": self.seq + 1,
            "type": kind,
            "v": VERSION,
        }
        line = encode_line(entry)
        self.seq, self.prev, self.at = self.seq + 1, line_hash(line), at
        return entry, line
