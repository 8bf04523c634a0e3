"""Copying a store into another: from one file to another, or from a file to PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


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
    `copy.running` where somebody else writes into it meanwhile; DataError `copy.damaged` for a
    source that lacks entries of a debate, `copy.differs` where the two are not the same; and what
    `open_store` raises of either.

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
