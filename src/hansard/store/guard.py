"""Every failure of the database, and whatever it holds instead of what we wrote, is an error."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from uuid import UUID

from eventsourcing.persistence import (
    ConnectionPoolClosedError,
    ConnectionUnavailableError,
    PersistenceError,
)

from hansard.errors import DataError, UsageError
from hansard.record.bundle import MAX_EXPORT

# SQLite tells no limit on the size of a file from a disk that fails.
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Besides what SQLite calls corrupt: a table that is gone, and an index at odds with its rows.
_DAMAGED = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT)


@contextmanager
def guard() -> Iterator[None]:
    """Turn every failure of the database into one clear error."""
    try:
        yield
    except ConnectionPoolClosedError:
        said = "this store was closed; open it again with `open_store`"
        raise UsageError("store.closed", said) from None
    except MemoryError:  # also where SQLite may have no more (`memory`)
        raise DataError(
            "store.size",
            "there is not enough memory for what the store holds; Hansard reads an entry or a "
            f"text of up to {MAX_EXPORT:,} bytes",
        ) from None
    except (OSError, sqlite3.Error, PersistenceError) as error:
        found = error.__cause__ if isinstance(error, PersistenceError) else error
        number = getattr(found, "sqlite_errorcode", None)
        if number in _FULL or getattr(found, "errno", None) in _NO_ROOM:
            said = "there is no room left on the disk, or files may not be larger (`ulimit -f`)"
            raise DataError("store.full", f"the store cannot be written: {error}; {said}") from None
        is_busy = number is not None and number & 0xFF in _BUSY
        if is_busy or isinstance(error, ConnectionUnavailableError):
            raise DataError(
                "store.busy",
                f"others keep the store locked: {error}; wait until they have ended, as a process "
                "that erases texts, and try it again",
            ) from None
        if number == sqlite3.SQLITE_TOOBIG:
            said = f"an entry or a text in the store has more than {MAX_EXPORT:,} bytes, which is"
            raise DataError("store.size", f"{said} more than Hansard reads") from None
        if number == sqlite3.SQLITE_INTERRUPT:  # by `work`
            raise DataError(
                "store.corrupt",
                "the store takes more work to read than any of its size: its pages lead back to "
                "one another, so it was damaged or altered; restore it from a copy",
            ) from None
        if number is not None and number & 0xFF == sqlite3.SQLITE_CORRUPT:
            raise _damaged(f": {error}") from None
        raise DataError("store.failed", f"the store cannot be read or written: {error}") from None
    except UnicodeDecodeError:  # an error of SQLite that quotes what is no text
        raise _damaged() from None


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


def require_later(found: Any, before: Any) -> None:
    """Raise DataError `store.corrupt` where what is read next does not come after what was read.

    Pages of a file may lead back to one another; to read on would have no end.
    """
    if type(found) is not type(before) or not found > before:
        raise _damaged(": its pages lead back to one another")


def _damaged(why: str = "") -> DataError:
    said = f"the store cannot be read{why}; it was damaged or altered: restore it from a copy"
    return DataError("store.corrupt", said)


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
