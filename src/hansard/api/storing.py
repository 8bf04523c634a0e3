"""A store: opened, its tables made and brought up to date, and copied into another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hansard.store.application import Store

DEFAULT_STORE = "sqlite:///hansard.db"  # in the working directory


def open_store(url: str = DEFAULT_STORE, create: bool = True) -> Store:
    """Open the store at `sqlite:///PATH/FILE.db`, `sqlite:///:memory:` or `postgresql://…`.

    Close it, or use it as a context manager. Raises UsageError `store.url`,
    `store.extra`, or `store.missing` where there is none and `create` is False, or
    where it is on a server (`migrate_store`); DataError for a database that is no
    store, or cannot be reached.

    >>> with open_store("sqlite:///:memory:") as store:
    ...     store.debates()
    []
    """
    from hansard.rules.looks import require
    from hansard.store.application import Store

    require(bool, create=create)
    return Store.open(url, create=create)


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


@dataclass(frozen=True)
class Copied:
    """What a copy holds, once it was compared with its source.

    `debates`, `entries` and `texts` are counts of all that it has; `lines` and `root` are those
    of the register, the root in hex. `behind` says whether the source has got more in the
    meantime, which the next copy brings.
    """

    debates: int
    entries: int
    texts: int
    lines: int
    root: str
    behind: bool


def copy_store(
    source: str | Path, target: str | Path, *, each: Callable[[str], object] | None = None
) -> Copied:
    """Copy a store into a new or empty one, byte for byte, and compare both.

    Each is the URL of a store or the path of its file. Entries, texts, the lines of the register
    and its checkpoints come over as they stand, in the order in which they were stored; what was
    erased stays erased. The source may be in use. A copy that was interrupted goes on where it
    stopped, and one that is finished gets what its source has got since: call this again. Until
    it is finished, nothing else opens the target. `each` is called with the id of every debate
    that is copied, and again once it was compared.

    Raises UsageError `copy.holds` for a target that holds anything else or was used itself,
    `copy.running` where somebody else writes into it meanwhile, `store.copying` where somebody
    copies into the source; DataError `copy.damaged` for a source that lacks entries of a debate, or
    texts that the copy has and that nobody erased; `copy.differs` where the two are not the same;
    and what `open_store` raises of either. A finished copy whose source was damaged since stays
    as it is.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import debate, open_store
    >>> with TemporaryDirectory() as home:
    ...     with open_store(f"sqlite:///{home}/old.db") as store:
    ...         _ = debate("Do we ship?", format="panel", agents=lambda _: "Yes.", store=store)
    ...     copied = copy_store(f"{home}/old.db", f"{home}/new.db")
    >>> copied.debates, copied.lines, copied.behind
    (1, 2, False)
    """
    from hansard.store.application import Store
    from hansard.store.copying import copy

    with (
        Store.open(url_of(source)) as there,
        Store.open(url_of(target), create=True, unfinished=True) as here,
    ):
        found = copy(there, here, each or (lambda _: None))
    return Copied(**{**found._asdict(), "root": found.root.hex()})


def url_of(name: str | Path) -> str:
    """Return the URL of a store that is named by its URL or by the path of its file."""
    return name if isinstance(name, str) and "://" in name else f"sqlite:///{name}"


def bound_memory() -> None:
    """Limit the memory of SQLite in this process; only for one that runs nothing but Hansard."""
    from hansard.store import memory

    memory.bound()
