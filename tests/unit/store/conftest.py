"""A store on disk, with lines that are chained but say nothing in particular."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from hansard.record.chain import Chain
from hansard.rules.events import Fact
from hansard.runtime.clock import Clock
from hansard.runtime.journal import Journal
from hansard.store.application import Store

DEBATE = "5c1d3e0a-1111-4111-8111-111111111111"


@dataclass
class Shelf:
    path: Path
    store: Store

    def journal(self, store=None, debate=DEBATE, **place):
        return Journal(store or self.store, Chain(debate, **place), Clock())

    def fill(self, lines=3, debate=DEBATE):
        """Append some lines, each with a blob's text beside it."""
        journal = self.journal(debate=debate)
        for n in range(lines):
            journal.blob(f"text {n}")
            journal.add(Fact("debate.resumed", {"engine": f"hansard/{n}"}))
        journal.attach((("ab" * 32, b"a template"),), "/somewhere")
        journal.flush()
        return journal

    def sql(self, *statements):
        """Do what an owner of the file can do, past the triggers; return the last rows."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            for name in ("lines_stay", "lines_stand", "register_stands"):
                connection.execute(f"DROP TRIGGER IF EXISTS {name}")
            for statement, *params in statements:
                rows = connection.execute(statement, params).fetchall()
        return rows


@pytest.fixture
def shelf(tmp_path):
    path = tmp_path / "h.db"
    with Store.open(f"sqlite:///{path}", create=True) as store:
        yield Shelf(path, store)
