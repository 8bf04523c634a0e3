"""The tables of a store: made, and brought up to date."""

from __future__ import annotations

from typing import NamedTuple


class Migrated(NamedTuple):
    """The version that a store's tables had, None where there were none, and the one they have."""

    before: int | None
    now: int


def migrate_store(url: str) -> Migrated:
    """Make the tables of the store at `url`, or bring them up to date; nothing else is changed.

    A store in a file is made by the first debate as well; one in PostgreSQL only by this, which
    a role does that owns the tables. Raises UsageError `store.url`, and DataError `store.newer`
    for tables of a later version, or `store.*` for a database that is no store, or cannot be
    reached.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     migrate_store(f"sqlite:///{home}/debates.db")
    Migrated(before=None, now=1)
    """
    from hansard.store.application import migrate

    return Migrated(*migrate(url))
