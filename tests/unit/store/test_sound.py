"""A stranger's file whose parts do not fit together: nothing is recorded where it would be lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import sys
from contextlib import closing
from pathlib import Path

import pytest

import hansard
from hansard.errors import DataError
from hansard.store import sound
from hansard.store.application import Store
from hansard.store.registering import Row
from hansard.store.sound import Sound, require_sound
from playing import run

PAGE = 4096


def refused(act, path):
    """Whether an act is refused, in one line that names the file."""
    with pytest.raises(DataError) as caught:
        act()
    said = str(caught.value)
    assert str(path) in said, said
    assert "\n" not in said
    return caught.value.code == "store.corrupt"


def root(path, name):
    """The page in which a table or index begins."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,))
        return found.fetchone()[0]


def free(path, *pages):
    """Say of pages of a closed store that they are free, and of two new ones, one of them twice."""
    data = bytearray(path.read_bytes())
    count = len(data) // PAGE
    leaves = [count + 2, count + 2, *pages]
    data += struct.pack(f">{2 + len(leaves)}I", 0, len(leaves), *leaves).ljust(2 * PAGE, b"\0")
    data[28:40] = struct.pack(">III", count + 2, count + 1, 1 + len(leaves))
    path.write_bytes(data)


def turn_round(path, name):
    """Put the cells of a table's leaves in the opposite order."""
    data = bytearray(path.read_bytes())
    begin = (root(path, name) - 1) * PAGE
    assert data[begin] in (10, 13)
    (cells,) = struct.unpack_from(">H", data, begin + 3)
    at = begin + 8
    places = struct.unpack_from(f">{cells}H", data, at)
    struct.pack_into(f">{cells}H", data, at, *reversed(places))
    assert cells > 1
    path.write_bytes(data)


def deepen(path):
    """Let an index begin with small pages that each lead to the next one, and nowhere else."""
    small, pages = 512, 60_000
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(f"PRAGMA page_size = {small}")
        connection.execute("VACUUM")
    data = bytearray(path.read_bytes())
    count, begin = len(data) // small, (root(path, "register_tags") - 1) * small
    chain = [begin, *range(len(data), len(data) + pages * small, small)]
    for at, follows in zip(chain, range(count + 1, count + pages + 2), strict=True):
        data[at : at + small] = struct.pack(">BHHHBI", 2, 0, 0, 0, 0, follows).ljust(small, b"\0")
    data[28:32] = struct.pack(">I", len(data) // small)
    path.write_bytes(data)


SPOILED = {
    "a free page twice": free,
    "a page in use is free": lambda path: free(path, root(path, "blobs")),
    "keys of a record": lambda path: turn_round(path, "blobs"),
    "ever deeper": deepen,
}


@pytest.fixture
def closed(shelf):
    """The file of a closed store with two debates, and the rows that find them."""
    shelf.fill()
    run(shelf.store)
    hansard.list_debates(shelf.store)
    shelf.store.close()
    return shelf.path


@pytest.mark.parametrize("how", SPOILED)
def test_nothing_is_recorded_where_it_would_be_lost(closed, how):
    """The debate was paid for, said to be complete, and could not be read."""
    SPOILED[how](closed)
    with Store.open(f"sqlite:///{closed}") as store:
        there = store.debates()
        assert refused(lambda: run(store), closed)
        assert store.debates() == there


def test_nor_are_rows_made_where_a_page_in_use_is_free(closed):
    """Rows that had just been made were lost, and what was signed then lacked debates."""
    free(closed, root(closed, "projected"))
    with Store.open(f"sqlite:///{closed}") as store:
        assert refused(lambda: hansard.rebuild_projection(store), closed)


LAST = "UPDATE stored_events SET rowid = ? WHERE rowid = (SELECT max(rowid) FROM stored_events)"


def number_last(path, number):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER lines_stand")
        connection.execute(LAST, (number,))


@pytest.mark.parametrize("number", [1 << 52, (1 << 63) - 1])
def test_nor_is_anything_recorded_that_would_not_come_last(closed, number):
    """SQLite then numbers entries at random, and a budget counted no debate that came later."""
    number_last(closed, number)
    with Store.open(f"sqlite:///{closed}") as store:
        there = store.debates()
        assert refused(lambda: run(store), closed)
        assert store.debates() == there


def test_a_debate_that_was_opened_is_recorded_to_its_end(closed):
    """Else replies are paid for that cannot be recorded."""
    number_last(closed, (1 << 52) - 9)
    with Store.open(f"sqlite:///{closed}") as store:
        assert hansard.verify(store, run(store)).ok
        assert refused(lambda: run(store), closed)


def test_nor_is_a_line_of_its_register(closed):
    free(closed, root(closed, "blobs"))
    with Store.open(f"sqlite:///{closed}") as store:
        row = Row("head", store.debates()[0], "0" * 64)
        assert refused(lambda: store.register.add([row]), closed)


def test_nor_is_it_written_anew(closed):
    """SQLite itself ended the process."""
    deepen(closed)
    with Store.open(f"sqlite:///{closed}") as store:
        assert refused(store.scrub, closed)


def test_what_is_made_of_the_records_may_be_wrong(closed):
    turn_round(closed, "projected_names")
    with Store.open(f"sqlite:///{closed}") as store:
        run(store)
        assert len(store.debates()) == 3


def test_an_error_of_sqlite_is_told_as_such(tmp_path):
    path = tmp_path / "none.db"
    with pytest.raises(sqlite3.DatabaseError, match="unable to open") as caught:
        require_sound("records", path)
    assert caught.value.sqlite_errorcode == sqlite3.SQLITE_CANTOPEN


def test_what_is_no_python_is_told_as_such(closed, monkeypatch):
    """Where a server runs Python within itself, that is what the system calls Python."""
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(DataError, match="is no Python that runs") as caught:
        require_sound("records", closed)
    assert caught.value.code == "store.failed"


def test_what_looks_through_a_file_has_no_more_memory_than_a_command(closed, monkeypatch):
    monkeypatch.setattr(sound, "HEAP", 50_000)
    with pytest.raises(DataError, match="too little memory") as caught:
        require_sound("records", closed)
    assert caught.value.code == "store.failed"


@pytest.mark.skipif(os.name != "posix", reason="no other system has groups of processes")
def test_ctrl_c_does_not_end_the_process_that_looks(tmp_path, monkeypatch):
    """Its end would be taken for what the file did to it."""
    path = tmp_path / "looking.py"
    path.write_text("import os\nprint('ok' if os.getpgrp() == os.getpid() else 'ours')\n")
    monkeypatch.setattr(sound, "_LOOKING", path)
    require_sound("pages", tmp_path / "any.db")


@pytest.fixture
def looked(closed, monkeypatch, tmp_path):
    """The files that are looked through, each a large one; what is noted of them is new."""
    found, look = [], sound.require_sound
    monkeypatch.setenv("HANSARD_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sound, "_SMALL", 0)
    monkeypatch.setattr(
        sound, "require_sound", lambda *given: (found.append(given[1]), look(*given))
    )
    return found


def add(path):
    """Open a store and run two debates in it."""
    with Store.open(f"sqlite:///{path}", create=True) as store:
        run(store)
        run(store)


@pytest.mark.skipif(os.name != "posix", reason="no other system tells when a file was changed")
class TestWhatIsNoted:
    def test_a_new_store_is_not_looked_through_nor_one_that_is_known(self, looked, tmp_path):
        for _ in range(3):
            add(tmp_path / "new.db")
        assert looked == []

    def test_a_known_store_may_be_read(self, looked, closed):
        add(closed)
        for _ in range(2):
            with Store.open(f"sqlite:///{closed}") as store:
                hansard.list_debates(store)
        add(closed)
        assert looked == [closed]
        assert len((Path(os.environ["HANSARD_HOME"]) / "stores").read_text().splitlines()) == 1

    def test_what_somebody_wrote_into_it_is_not_known(self, looked, closed):
        add(closed)
        found = closed.stat()
        with closed.open("r+b") as file:  # as another store that is put in its place
            begin = file.read(PAGE)
            file.seek(0)
            file.write(begin)
        os.utime(closed, ns=(found.st_atime_ns, found.st_mtime_ns))
        add(closed)
        assert looked == [closed, closed]

    def test_nor_is_a_copy(self, looked, closed):
        add(closed)
        copy = closed.with_name("copy.db")
        shutil.copy2(closed, copy)
        add(copy)
        add(closed)
        assert looked == [closed, copy]

    @pytest.mark.parametrize("end", ["-wal", "-journal"])
    def test_nor_is_what_a_file_beside_it_may_change(self, looked, closed, end):
        add(closed)
        beside = Path(f"{closed}{end}")
        beside.touch(0o600)
        add(closed)
        assert looked == [closed, closed]

    def test_nor_is_one_that_was_replaced_while_it_was_open(self, looked, closed):
        other = closed.with_name("other.db")
        shutil.copy(closed, other)
        known = Sound(closed)
        known.require()
        other.replace(closed)
        known.note()
        Sound(closed).require()
        assert looked == [closed, closed]

    def test_what_is_spoiled_is_not_noted(self, looked, closed):
        free(closed)
        for _ in range(2):
            looked.clear()
            assert refused(lambda: add(closed), closed)
            assert closed in looked

    def test_of_stores_the_newest_are_noted(self, looked, closed, monkeypatch):
        monkeypatch.setattr(sound, "_MOST", 1)
        other = closed.with_name("other.db")
        shutil.copy(closed, other)
        for path in (closed, other, other, closed):
            add(path)
        assert looked == [closed, other, closed]

    @pytest.mark.parametrize("what", ["others may write", "no text", "a folder", "no home"])
    def test_a_note_that_cannot_be_relied_on_is_none(self, looked, closed, monkeypatch, what):
        add(closed)
        note = Path(os.environ["HANSARD_HOME"]) / "stores"
        if what == "others may write":
            note.chmod(0o666)
        elif what == "no text":
            note.write_bytes(b"\xff")
        elif what == "a folder":
            note.unlink()
            note.mkdir()
        else:
            monkeypatch.delenv("HANSARD_HOME")
            monkeypatch.setattr("pathlib.Path.home", lambda: (_ for _ in ()).throw(RuntimeError()))
        add(closed)
        assert looked == [closed, closed]
