"""Altering a store the way an attacker would: raw SQL, past the triggers.

For the demonstration, and for tests, on copies: whatever is changed like this
is found by `hansard verify`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import UUID


def alter_line(path: Path, debate: str, seq: int, old: bytes, new: bytes) -> None:
    """Replace `old` by `new` in a stored line; raises LookupError where it does not stand."""
    key = (UUID(debate).hex, seq)
    where = "originator_id = ? AND originator_version = ?"
    with closing(sqlite3.connect(path)) as connection, connection:
        for trigger in ("lines_stay", "lines_stand"):
            connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        select = f"SELECT state FROM stored_events WHERE {where}"  # noqa: S608 - our own names
        row = connection.execute(select, key).fetchone()
        if row is None or old not in row[0]:
            raise LookupError(f"{old!r} does not stand in line {seq}")
        line = row[0].replace(old, new, 1)
        update = f"UPDATE stored_events SET state = ? WHERE {where}"  # noqa: S608 - our own names
        connection.execute(update, (line, *key))
