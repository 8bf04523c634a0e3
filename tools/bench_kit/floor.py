"""The floor of the store: sqlite3 alone, with the same tables and pragmas."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from bench_kit.debates import MEMORY, Instant, run_debates, spec_of
from hansard.record.bundle import Head
from hansard.store.application import Batch, Store
from hansard.store.database import Extras


class Commit(NamedTuple):
    """What one commit stores: a Batch without its debate."""

    first: int
    lines: Sequence[tuple[str, bytes]]
    extras: Extras


class Tap(Store):
    """A store that remembers what was committed together."""

    commits: list[Commit]

    def append(self, *batches: Batch) -> None:
        """Remember and append."""
        self.commits += [Commit(*batch[1:]) for batch in batches]
        super().append(*batches)


def commits_of(rounds: int) -> list[Commit]:
    """Return the commits of one debate, grouped as the engine groups them."""
    with Tap.open(MEMORY) as tap:
        tap.commits = []
        asyncio.run(run_debates(tap, spec_of(rounds), 1, Instant()))
        return tap.commits


class Floor:
    """The same tables and pragmas with nothing but sqlite3 around them."""

    def __init__(self, path: Path, schema: Sequence[str]) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        for statement in schema:
            self._connection.execute(statement)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def lines(self, key: str, commit: Commit) -> None:
        """Commit the lines alone."""
        self._connection.execute("BEGIN")
        self._insert_lines(key, commit)
        self._connection.execute("COMMIT")

    def rows(self, key: str, commit: Commit) -> None:
        """Commit every row that the store writes."""
        execute, executemany = self._connection.execute, self._connection.executemany
        head, blobs, templates, folder, *_ = commit.extras
        execute("BEGIN")
        self._insert_lines(key, commit)
        if blobs:
            executemany("INSERT INTO blobs VALUES (?,?,?)", [(key, *blob) for blob in blobs])
        if templates:
            executemany("INSERT OR IGNORE INTO templates VALUES (?,?)", templates)
        if folder is not None:
            execute("INSERT INTO runs VALUES (?,?)", (key, folder))
        if commit.first == 1:
            execute("INSERT INTO heads VALUES (?,?,?)", (key, head.length, head.hash))
        else:
            execute(
                "UPDATE heads SET length=?, head=? WHERE debate=? AND length=?",
                (head.length, head.hash, key, commit.first - 1),
            )
        execute("COMMIT")

    def _insert_lines(self, key: str, commit: Commit) -> None:
        insert, first, lines = "INSERT INTO stored_events VALUES (?,?,?,?)", *commit[:2]
        if len(lines) == 1:
            self._connection.execute(insert, (key, first, *lines[0]))
        else:
            rows = [(key, first + i, kind, line) for i, (kind, line) in enumerate(lines)]
            self._connection.executemany(insert, rows)


class Files:
    """Makes stores and floors in one temporary folder, each with one row, so that it is open."""

    _first = Commit(1, [("opened", b"{}")], Extras(Head(1, "")))

    def __init__(self, folder: Path) -> None:
        self._folder, self._numbers = folder, count()
        self.store().close()
        # The projection is written when somebody reads, and its search has tables of its own.
        query = (
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name NOT LIKE 'projected%'"
        )
        with closing(sqlite3.connect(folder / "0.db")) as connection:
            self._schema = [row[0] for row in connection.execute(query)]

    def store(self) -> Store:
        """Return a store in a new file."""
        store = Store.open(f"sqlite:///{self._path()}", create=True)
        store.append(Batch(str(uuid4()), *self._first))
        return store

    def floor(self) -> Floor:
        """Return a floor in a new file, with the tables that a store has."""
        floor = Floor(self._path(), self._schema)
        floor.rows(uuid4().hex, self._first)
        return floor

    def _path(self) -> Path:
        return self._folder / f"{next(self._numbers)}.db"
