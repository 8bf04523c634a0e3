"""Every failure of the database, and whatever it holds instead of what we wrote, is an error."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast
from uuid import UUID

from eventsourcing.persistence import PersistenceError

from hansard.errors import DataError
from hansard.record.bundle import MAX_EXPORT

# Besides what SQLite calls corrupt: a table that is gone, and an index at odds with its rows.
_DAMAGED = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT)


@contextmanager
def guard() -> Iterator[None]:
    """Turn every failure of the database into one clear error."""
    try:
        yield
    except (OSError, sqlite3.Error, PersistenceError) as error:
        found = error.__cause__ if isinstance(error, PersistenceError) else error
        if getattr(found, "sqlite_errorcode", None) == sqlite3.SQLITE_TOOBIG:
            said = f"an entry or a text in the store has more than {MAX_EXPORT:,} bytes, which is"
            raise DataError("store.size", f"{said} more than Hansard reads") from None
        raise DataError("store.failed", f"the store cannot be read or written: {error}") from None
    except UnicodeDecodeError:  # an error of SQLite that quotes what is no text
        raise DataError(
            "store.corrupt", "the store cannot be read: it was damaged; restore it from a copy"
        ) from None


@contextmanager
def guard_rows() -> Iterator[None]:
    """As `guard`, of the rows that are made of the records: once damaged, they are made anew."""
    with guard():
        try:
            yield
        except (sqlite3.Error, PersistenceError) as error:
            found = error if isinstance(error, sqlite3.Error) else error.__cause__
            if getattr(found, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
                raise
            raise to_be_rebuilt() from None


def to_be_rebuilt() -> DataError:
    """Return the error of rows that somebody changed."""
    return DataError(
        "store.corrupt",
        "what finds debates was changed or damaged: run `hansard projection rebuild`, and if "
        "that fails, restore the store from a copy",
    )


def id_of(value: object) -> str:
    """Return a stored debate's id; raises DataError `store.corrupt`."""
    try:
        return str(value if isinstance(value, UUID) else UUID(cast(str, value)))
    except (AttributeError, TypeError, ValueError):
        raise DataError("store.corrupt", f"{value!r:.64} is not a debate's id") from None


def id_or_none(value: object) -> str | None:
    """Return a stored debate's id; None for what is none."""
    try:
        return id_of(value)
    except DataError:
        return None
