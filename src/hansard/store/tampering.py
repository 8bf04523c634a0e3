"""Altering a store the way an attacker would: raw SQL, past the triggers.

For the demonstration, and for tests, on copies: everything that these
functions change is found by `hansard verify`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import UUID


def alter_line(path: Path, debate: str, seq: int, old: bytes, new: bytes) -> None:
    """Replace `old` by `new` in a stored line."""
    where = "originator_id = ? AND originator_version = ?"
    _alter(path, "stored_events", "state", where, (UUID(debate).hex, seq), (old, new))


def alter_text(path: Path, debate: str, name: str, old: bytes, new: bytes) -> None:
    """Replace `old` by `new` in the blob of that name."""
    where = "debate = ? AND name = ?"
    _alter(path, "blobs", "body", where, (UUID(debate).hex, name), (old, new))


def _alter(
    path: Path,
    table: str,
    column: str,
    where: str,
    key: tuple[object, ...],
    change: tuple[bytes, bytes],
) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for trigger in ("lines_stay", "lines_stand"):
            connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        select = f"SELECT {column} FROM {table} WHERE {where}"  # noqa: S608 - our own names
        row = connection.execute(select, key).fetchone()
        if row is None or change[0] not in row[0]:
            raise LookupError(f"{change[0]!r} does not stand there")
        update = f"UPDATE {table} SET {column} = ? WHERE {where}"  # noqa: S608 - our own names
        connection.execute(update, (row[0].replace(*change, 1), *key))
