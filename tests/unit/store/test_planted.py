"""A store in a stranger's folder: what was put there touches no other file and never hangs."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from hansard.errors import DataError
from hansard.store.application import Store

DEBATE = "5c1d3e0a-1111-4111-8111-111111111111"
MAGIC = bytes.fromhex("d9d505f920a163d7")
PAGE, SECTOR, LOCK_BYTE = 4096, 512, 0x40000000


def journal(pages, victim=None):
    """A rollback journal without a page in it; where there is a victim, its super-journal."""
    head = (MAGIC + struct.pack(">IIIII", 0, 0, pages, SECTOR, PAGE)).ljust(SECTOR, b"\0")
    if victim is None:
        return head
    name = os.fsencode(victim)
    end = struct.pack(">II", len(name), sum(name)) + MAGIC
    return head + struct.pack(">I", LOCK_BYTE // PAGE + 1) + name + end


@pytest.fixture
def planted(shelf):
    """A closed store, set back to a rollback journal as SQLite asks for it to read one."""
    shelf.fill()
    shelf.store.close()
    with closing(sqlite3.connect(shelf.path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return shelf.path


def read(path):
    with Store.open(f"sqlite:///{path}") as store:
        return store.debates()


def refusal(act, *names):
    """The code of the refusal, whose sentence is one line and has these names."""
    with pytest.raises(DataError) as caught:
        act()
    said = str(caught.value)
    assert "\n" not in said
    assert all(str(name) in said for name in names), said
    return caught.value.code


@pytest.mark.parametrize("linked", [False, True])
def test_a_journal_that_names_a_file_deletes_none(planted, tmp_path, linked):
    victim = tmp_path / "VICTIM"
    victim.write_text("precious")
    beside = Path(f"{planted}-journal")
    beside.write_bytes(journal(planted.stat().st_size // PAGE, victim))
    opened = planted
    if linked:  # SQLite looks beside the file that the link leads to
        (tmp_path / "sub").mkdir()
        opened = tmp_path / "sub" / "link.db"
        opened.symlink_to(planted)
    assert refusal(lambda: read(opened), beside) == "store.beside"
    assert victim.read_text() == "precious"
    with closing(sqlite3.connect(planted)) as connection:  # the danger is real
        connection.execute("SELECT * FROM heads")
    assert not victim.exists()


@pytest.mark.parametrize("left", [b"", MAGIC[:4], "whole"])
def test_a_journal_that_names_no_file_is_sqlites_own_matter(planted, left):
    pages = planted.stat().st_size // PAGE
    Path(f"{planted}-journal").write_bytes(journal(pages) if left == "whole" else left)
    assert read(planted) == [DEBATE]


PLANTS = {
    "a link": lambda path, home: path.symlink_to(home / "VICTIM"),
    "a link to nowhere": lambda path, home: path.symlink_to(home / "nowhere"),
    "a pipe": lambda path, home: os.mkfifo(path),
    "a folder": lambda path, home: path.mkdir(),
}


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm", "-entries", f"-run-{DEBATE}"])
@pytest.mark.parametrize("kind", PLANTS)
def test_what_is_no_regular_file_is_not_opened(planted, tmp_path, end, kind):
    victim = tmp_path / "VICTIM"
    victim.write_bytes(b"")
    beside = Path(f"{planted}{end}")
    PLANTS[kind](beside, tmp_path)

    def act():
        with Store.open(f"sqlite:///{planted}") as store, store.runner(DEBATE):
            store.debates()

    assert refusal(act, beside) == "store.beside"
    assert victim.read_bytes() == b""
    assert not (tmp_path / "nowhere").exists()


def test_a_lock_that_is_a_database_is_not_opened(planted, tmp_path):
    victim = tmp_path / "VICTIM"
    victim.write_text("precious")
    lock = Path(f"{planted}-run-{DEBATE}")
    shutil.copy(planted, lock)
    beside = Path(f"{lock}-journal")

    def act():
        with Store.open(f"sqlite:///{planted}") as store, store.runner(DEBATE):
            pass

    assert refusal(act, lock) == "store.beside"
    lock.write_bytes(b"")
    beside.write_bytes(journal(1, victim))
    assert refusal(act, beside) == "store.beside"
    assert victim.read_text() == "precious"


def test_a_count_without_an_end_is_read_no_further(planted):
    with Path(f"{planted}-entries").open("wb") as file:
        file.truncate(60 << 30)
    assert read(planted) == [DEBATE]
