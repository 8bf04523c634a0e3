"""A store in a stranger's folder: what was put there touches no other file and never hangs."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import struct
from contextlib import closing
from pathlib import Path

import pytest

import hansard
from hansard.errors import DataError, UsageError
from hansard.record.bundle import MAX_EXPORT, Head
from hansard.store.application import Batch, Store
from hansard.store.database import Extras
from playing import BASE, MODEL, answer

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
    beside = Path(f"{planted}-journal")
    beside.touch(0o600)
    beside.write_bytes(journal(pages) if left == "whole" else left)
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


# What a stranger's store holds

ACTS = {
    "a trigger": "CREATE TRIGGER z AFTER INSERT ON blobs BEGIN SELECT zeroblob(9); END",
    "a trigger of our name": "CREATE TRIGGER lines_stay BEFORE DELETE ON stored_events "
    "BEGIN SELECT zeroblob(9); END",
    "a view": "CREATE VIEW z AS SELECT 1",
    "a table": "CREATE TABLE z (x)",
    "an index": "CREATE INDEX z ON blobs (upper(debate))",
    "a virtual table": "CREATE VIRTUAL TABLE z USING fts5(x)",
    "a view in a table's place": "CREATE VIEW heads AS SELECT 'x' AS debate, 1 AS length",
}


@pytest.mark.parametrize("what", ACTS)
def test_a_store_that_could_act_is_refused(planted, what):
    with closing(sqlite3.connect(planted)) as connection:
        connection.execute("DROP TRIGGER lines_stay")
        if "place" in what:
            connection.execute("DROP TABLE heads")
        connection.execute(ACTS[what])
        connection.commit()
    assert refusal(lambda: read(planted), planted) == "store.foreign"


def test_a_store_in_whose_schema_a_name_is_wild_is_refused_in_one_line(planted):
    with closing(sqlite3.connect(planted)) as connection:
        connection.execute(f'CREATE TABLE "z\n\x1b[2J{"x" * 999}" (x)')
    assert refusal(lambda: read(planted)) == "store.foreign"


def test_a_store_that_cannot_be_read_is_one_clear_error(planted, monkeypatch):
    def broken(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "open", broken)
    assert refusal(lambda: read(planted), "Input/output error") == "store.failed"


@pytest.mark.parametrize("part", ["name", "sql"])
def test_a_schema_that_is_no_text_is_refused(planted, part):
    with closing(sqlite3.connect(planted)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        change = f"UPDATE sqlite_master SET {part} = CAST(x'7aff7a' AS TEXT) WHERE name = 'blobs'"
        connection.execute(change)
    assert refusal(lambda: read(planted)) in ("store.failed", "store.foreign", "store.corrupt")


def test_more_than_any_record_has_is_not_read(shelf, monkeypatch):
    """The pages of a store may form a ring, so a small file can hold any number of long texts."""
    shelf.fill()
    size = sum(map(len, shelf.store.lines(DEBATE)))
    shelf.sql(("INSERT INTO blobs VALUES (?, 'x', zeroblob(5000))", DEBATE.replace("-", "")))
    monkeypatch.setattr("hansard.store.database.MOST_BYTES", 5000)
    assert refusal(lambda: shelf.store.bundle(DEBATE), shelf.path) == "store.size"
    monkeypatch.setattr("hansard.store.database.MOST_BYTES", size)
    assert len(shelf.store.lines(DEBATE)) == 3
    monkeypatch.setattr("hansard.store.database.MOST_BYTES", size - 1)
    assert refusal(lambda: shelf.store.lines(DEBATE)) == "store.size"


@pytest.mark.parametrize("where", ["entry", "text", "line of the register"])
def test_one_value_that_no_export_could_hold_is_refused_by_sqlite_itself(shelf, where):
    """Else it is in memory twice before its bytes are counted."""
    debate = run(shelf.store)
    key, long = debate.replace("-", ""), f"zeroblob({MAX_EXPORT + 1})"
    shelf.sql(
        {
            "entry": (f"UPDATE stored_events SET state = {long} WHERE originator_version = 2",),
            "text": (f"INSERT INTO blobs VALUES (?, 'x', {long})", key),
            "line of the register": (f"UPDATE register SET line = {long}",),
        }[where]
    )
    register = shelf.store.register
    act = {"line of the register": lambda: [*register.lines(register.size, 0)]}
    read_it = act.get(where, lambda: shelf.store.bundle(debate))
    assert refusal(read_it, f"{MAX_EXPORT:,} bytes") == "store.size"


def test_the_schema_of_a_store_is_not_trusted(shelf):
    shelf.fill()
    assert shelf.store._recorder.select("PRAGMA trusted_schema")[0][0] == 0


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("store", ["there", "new"])
@pytest.mark.parametrize("mode", [0o666, 0o644, 0o660])
def test_what_others_can_read_beside_a_store_of_ones_own_is_not_written(
    planted, tmp_path, end, store, mode
):
    path = planted if store == "there" else tmp_path / "new.db"
    beside = Path(f"{path}{end}")
    beside.touch()
    beside.chmod(mode)
    said = refusal(lambda: Store.open(f"sqlite:///{path}", create=True), f"chmod 600 {beside}")
    assert said == "store.beside"
    assert beside.exists()
    beside.chmod(0o600)
    Store.open(f"sqlite:///{path}", create=True).close()
    if store == "there":  # where others share the store, they share what is beside it
        path.chmod(mode)
        beside.chmod(mode)
        Store.open(f"sqlite:///{path}").close()


@pytest.mark.parametrize("store", ["there", "new"])
def test_what_belongs_to_somebody_else_beside_a_store_is_not_written(
    planted, tmp_path, monkeypatch, store
):
    path = planted if store == "there" else tmp_path / "new.db"
    beside = Path(f"{path}-wal")
    beside.touch(0o600)
    found = beside.lstat()
    theirs = os.stat_result((found.st_mode, *found[1:4], os.geteuid() + 1, *found[5:]))
    real = Path.lstat
    monkeypatch.setattr(Path, "lstat", lambda self: theirs if self == beside else real(self))
    said = refusal(lambda: Store.open(f"sqlite:///{path}", create=True), beside)
    assert said == "store.beside"


def test_who_beside_its_owner_has_a_store_is_told(shelf, monkeypatch):
    assert shelf.store.exposed is None
    shelf.fill()
    assert shelf.store.exposed is None
    for mode, what in ((0o644, "read"), (0o640, "read"), (0o666, "read and change")):
        shelf.path.chmod(mode)
        assert (
            shelf.store.exposed == f"others can {what} {shelf.path}: run `chmod 600 {shelf.path}`"
        )
    theirs = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: theirs)
    assert "belongs to another user" in shelf.store.exposed
    assert Store.open("sqlite:///:memory:").exposed is None


@pytest.mark.parametrize("begun", ["an empty file", "an empty database"])
def test_a_blank_file_that_others_can_read_is_closed_to_them_before_it_is_filled(shelf, begun):
    shelf.path.touch()
    if begun == "an empty database":
        with closing(sqlite3.connect(shelf.path)) as connection:
            connection.execute("VACUUM")
    shelf.path.chmod(0o644)
    shelf.fill()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in shelf.path.parent.iterdir()}
    assert modes == dict.fromkeys(("h.db", "h.db-entries", "h.db-shm", "h.db-wal"), 0o600)


def test_a_working_directory_that_was_removed_is_named(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError, match="working directory was removed") as caught:
        Store.open("sqlite:///h.db", create=True)
    assert caught.value.code == "store.missing"


def test_a_folder_whose_name_is_not_utf_8_is_kept(shelf):
    name = os.fsdecode(b"/home/\xff")
    shelf.store.append(Batch(DEBATE, 1, [("t", b"{}")], Extras(Head(1, "h"), folder=name)))
    assert shelf.store.folder(DEBATE) == Path(name)
    shelf.sql(("UPDATE runs SET folder = '/text'",))
    assert shelf.store.folder(DEBATE) == Path("/text")


# Debates are looked for by what their first entry says; a row that cannot be read is left out

CONFUSED = "UPDATE stored_events SET {} = ? WHERE originator_version = 1 AND originator_id = ?"


def run(store, **more):
    spec = {"format": "judged", "question": "Shall we?", "model": MODEL, **BASE["judged"]}
    return hansard.run_sync(spec, models={"bot": answer}, store=store, **more).debate


@pytest.mark.parametrize("value", [7, 1.5, b"\xff\0", "no id", None])
@pytest.mark.parametrize("column", ["originator_id", "state"])
def test_a_row_of_a_wrong_type_is_left_out(tmp_path, column, value):
    path = tmp_path / "a.db"
    with hansard.open_store(f"sqlite:///{path}") as store:
        first = run(store)
        again, altered = (run(store, follow_up=first) for _ in range(2))
        assert store.naming(first) == [again, altered]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER lines_stand")
        connection.execute(CONFUSED.format(column), [value, altered.replace("-", "")])
    with hansard.open_store(f"sqlite:///{path}") as store:
        assert store.naming(first) == [again]
