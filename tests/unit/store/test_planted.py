"""A store in a stranger's folder: what was put there touches no other file and never hangs."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hansard
from hansard.errors import DataError, UsageError
from hansard.record.bundle import MAX_EXPORT, Head
from hansard.store import copying, register, searching
from hansard.store.application import Batch, Store
from hansard.store.database import EACH, Extras
from hansard.store.guard import guard
from hansard.store.work import Work
from instant import GUARD
from measuring import peak
from playing import run

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
    "a second name": lambda path, home: path.hardlink_to(home / "VICTIM"),
}


def test_a_store_that_was_moved_away_is_not_made_as_texts_are_erased(shelf):
    shelf.fill()
    shelf.path.rename(f"{shelf.path}.moved")
    with pytest.raises(DataError):
        shelf.store.scrub()
    assert not shelf.path.exists()


def partly(path, part, application):
    """Leave what a kill leaves in the moment in which a database is first written."""
    with Store.open(f"sqlite:///{path}", create=True) as store:
        store.append(Batch(DEBATE, 1, [("t", b"{}")], Extras(Head(1, "x"))))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(f"PRAGMA application_id = {application}")
    pages = path.stat().st_size // PAGE
    os.truncate(path, PAGE * (1 + int(part * (pages - 1))))
    beside = Path(f"{path}-journal")
    beside.touch(0o600)
    beside.write_bytes(journal(0))


@pytest.mark.parametrize("part", [0, 0.03, 0.5, 0.99])
def test_a_store_whose_making_was_killed_is_made_again(tmp_path, part):
    path = tmp_path / "made.db"
    partly(path, part, 0x48414E53)
    with Store.open(f"sqlite:///{path}", create=True) as store:
        assert store.debates() == []
        store.append(Batch(DEBATE, 1, [("t", b"{}")], Extras(Head(1, "x"))))
        assert store.lines(DEBATE) == [b"{}"]
    assert not Path(f"{path}-journal").exists()


@pytest.mark.parametrize("part", [0, 0.5])
def test_so_it_is_of_no_database_of_others(tmp_path, part):
    path = tmp_path / "made.db"
    partly(path, part, 7)
    before = path.read_bytes()
    with pytest.raises(DataError) as caught, Store.open(f"sqlite:///{path}", create=True) as store:
        store.debates()
    assert caught.value.code == "store.corrupt"
    assert path.read_bytes() == before


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

    assert refusal(act, beside) == f"store.{'linked' if kind == 'a second name' else 'beside'}"
    assert victim.read_bytes() == b""
    assert not (tmp_path / "nowhere").exists()


def test_a_store_with_a_second_name_is_not_opened_by_either(planted, tmp_path):
    other = tmp_path / "other.db"
    other.hardlink_to(planted)
    for path in (planted, other):
        assert refusal(lambda: read(path), path) == "store.linked"  # noqa: B023
    other.unlink()
    assert read(planted) == [DEBATE]


def test_a_store_that_is_mounted_without_its_folder_is_not_opened(planted, tmp_path, monkeypatch):
    path, mounts = planted.rename(tmp_path / "my store.db"), tmp_path / "mountinfo"
    spelled = str(path).replace(" ", r"\040")
    monkeypatch.setattr("hansard.store.file._MOUNTS", mounts)
    assert read(path) == [DEBATE], "another system has no such list"
    for place, code in ((tmp_path, None), (spelled, "store.linked")):
        mounts.write_text(f"65 44 254:0 /a/x.db {place} rw,relatime - ext4 /dev/vda rw\n\n")
        if code:
            assert refusal(lambda: read(path), path) == code
        else:
            assert read(path) == [DEBATE]


def test_a_store_has_one_lock_and_one_mark_by_whatever_link_it_is_opened(planted, tmp_path):
    link = tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(planted)
    with Store.open(f"sqlite:///{planted}") as one, Store.open(f"sqlite:///{link}") as other:
        with one.runner(DEBATE), pytest.raises(UsageError) as caught, other.runner(DEBATE):
            pass
        assert caught.value.code == "store.running"
        assert other.place == link.parent, "what it trusts is the folder that was named"
    erased = Path(f"{planted}-erased")
    erased.touch(0o600)
    assert read(link) == [DEBATE]
    assert not erased.exists()


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


@pytest.mark.parametrize("name", ["stored_events", "sqlite_autoindex_stored_events_1"])
@pytest.mark.parametrize("part", ["type", "name", "tbl_name"])
def test_a_table_that_sqlite_finds_and_whoever_asks_for_tables_does_not_is_refused(
    planted, part, name
):
    """Nothing looked through it: what was recorded there was lost, what was signed was wrong."""
    with closing(sqlite3.connect(planted)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            f"UPDATE sqlite_master SET {part} = upper({part}) WHERE name = ?", (name,)
        )
    assert refusal(lambda: read(planted), planted) in {"store.foreign", "store.corrupt"}


@pytest.mark.parametrize("space", ["\xa0", "\u2003", "\x85", "\x1c"])
def test_a_statement_with_a_space_that_is_none_to_sqlite_is_refused(planted, space):
    """A row without a place stood for a debate, and survived a rebuild."""
    with closing(sqlite3.connect(planted)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'PRIMARY KEY', ?) WHERE name = ?",
            (f"PRIMARY{space}KEY", "projected"),
        )
    codes = {"store.foreign", "store.failed", "store.corrupt"}
    assert refusal(lambda: read(planted)) in codes


def test_a_store_in_which_two_tables_share_a_page_is_refused(planted):
    """What `list` wrote for itself stood in the place of the first entry of a debate."""
    with closing(sqlite3.connect(planted)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master "
            "WHERE name = 'stored_events') WHERE name = 'projected_texts_content'"
        )
    assert refusal(lambda: read(planted), planted) == "store.corrupt"


HEADERS = {"as it is": (), "with a log": ((18, 2), (19, 2)), "of nobody": ((68, 0),)}


@pytest.mark.parametrize("header", HEADERS)
def test_of_a_schema_that_no_store_has_sqlite_reads_a_part(planted, header):
    """All of it takes a time that grows with its square; what stands last here is no SQL."""
    rows = [(f"z{n}", f"CREATE TABLE z{n} (x)") for n in range(600)]
    with closing(sqlite3.connect(planted)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.executemany(
            "INSERT INTO sqlite_master VALUES ('table', ?1, ?1, 2, ?2)",
            [*rows, ("last", "CREATE TABLE last (")],
        )
    with planted.open("r+b") as file:
        for place, byte in HEADERS[header]:
            file.seek(place)
            file.write(bytes([byte]))
    assert refusal(lambda: read(planted), planted) == "store.foreign"


def test_of_a_statement_that_no_store_has_sqlite_reads_a_part(planted):
    with closing(sqlite3.connect(planted)) as connection:
        connection.execute(f"CREATE TABLE z ({', '.join(f'c{n} INTEGER' for n in range(900))})")
    with pytest.raises(DataError, match="too big"):
        read(planted)


def test_a_store_in_whose_schema_a_name_is_wild_is_refused_in_one_line(planted):
    with closing(sqlite3.connect(planted)) as connection:
        connection.execute(f'CREATE TABLE "z\n\x1b[2J{"x" * 999}" (x)')
    assert refusal(lambda: read(planted)) == "store.foreign"


def test_a_store_that_cannot_be_read_is_one_clear_error(planted, monkeypatch):
    def broken(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "lstat", broken)
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
    size = sum(EACH + sys.getsizeof(line) for line in shelf.store.lines(DEBATE))
    shelf.sql(("INSERT INTO blobs VALUES (?, 'x', zeroblob(5000))", DEBATE.replace("-", "")))
    monkeypatch.setattr("hansard.store.database.MOST_BYTES", 5000)
    assert refusal(lambda: shelf.store.bundle(DEBATE), shelf.path) == "store.size"
    monkeypatch.setattr("hansard.store.database.MOST_BYTES", size)
    assert len(shelf.store.lines(DEBATE)) == 3
    monkeypatch.setattr("hansard.store.database.MOST_BYTES", size - 1)
    assert refusal(lambda: shelf.store.lines(DEBATE)) == "store.size"


def test_rows_without_a_byte_count_too(shelf, monkeypatch):
    shelf.fill()
    many = "WITH RECURSIVE n (x) AS (SELECT 9 UNION ALL SELECT x + 1 FROM n WHERE x < 1000)"
    shelf.sql(
        (f"{many} INSERT INTO stored_events SELECT ?, x, '', x'' FROM n", DEBATE.replace("-", ""))
    )
    monkeypatch.setattr("hansard.store.database.MOST_BYTES", 500 * EACH)
    assert refusal(lambda: shelf.store.lines(DEBATE)) == "store.size"


def test_of_short_values_all_that_they_take_in_memory_counts(shelf, monkeypatch):
    shelf.fill()
    many = "WITH RECURSIVE n (x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM n WHERE x < 599)"
    shelf.sql((f"{many} INSERT INTO blobs SELECT ?, x, x'0001' FROM n", DEBATE.replace("-", "")))
    monkeypatch.setattr("hansard.store.database.MOST_BYTES", 500 * (EACH + 80))
    assert refusal(lambda: shelf.store.bundle(DEBATE)) == "store.size"


def test_a_long_text_where_a_name_should_be_is_not_read(shelf, monkeypatch):
    """With one sign beyond ASCII it takes four times its bytes."""
    shelf.fill()
    monkeypatch.setattr("hansard.store.sqlite._LONGEST_TEXT", 1000)
    for length, code in ((999, "store.size"), (1, None)):
        shelf.sql(("UPDATE heads SET head = ?", "\N{GRINNING FACE}" + length * "a"))
        if code:
            assert refusal(lambda: shelf.store.bundle(DEBATE)) == code
        else:
            assert len(shelf.store.bundle(DEBATE).lines) == 3


@pytest.mark.slow
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


def ring(path, name, *, fan=600, depth=8):
    """Let pages above the first one of a table or index lead to it 600^8 times."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        ((root,),) = connection.execute(found, (name,))
    data = bytearray(path.read_bytes())
    first = data[(root - 1) * PAGE : root * PAGE]
    is_index = first[0] in (2, 10)
    inner = first[0] in (2, 5)
    place = 8 + 4 * inner + 2 * (int.from_bytes(first[3:5], "big") - 1)  # of its last cell
    start = int.from_bytes(first[place : place + 2], "big") + 4 * inner
    key = first[start : start + 1 + first[start]] if is_index else b"\x87\xff\x7f"  # above all
    data += first
    for _ in range(depth):
        cell = struct.pack(">I", len(data) // PAGE) + key
        end, kind = PAGE - len(cell), 2 if is_index else 5
        page = struct.pack(">BHHHBI", kind, 0, fan, end, 0, len(data) // PAGE)
        data += (page + fan * struct.pack(">H", end)).ljust(end, b"\0") + cell
    data[(root - 1) * PAGE : root * PAGE] = data[-PAGE:]
    data[28:32] = struct.pack(">I", len(data) // PAGE)
    path.write_bytes(data)


LITTLE = """
from hansard.store import work
work._ALWAYS = 1
from hansard_entry import run
run()
"""
RINGS = {
    "ids": ("sqlite_autoindex_stored_events_1", "list", 2),
    "ids of all": ("sqlite_autoindex_stored_events_1", "verify --all", 2),
    "entries": ("stored_events", "list", 2),
    "what finds debates": ("projected", "list", 2),
    "heads": ("heads", "list", 2),
    "what is made anew": ("projected", "projection rebuild", 2),
    "texts": ("blobs", "verify --all", 1),
}


def asked(path, command):
    """Run a command on a store, with little work allowed; its exit code and its errors."""
    words = [sys.executable, "-c", LITTLE, *command.split(), "--store", f"sqlite:///{path}"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=GUARD)
    return ended.returncode, ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("where", RINGS)
def test_pages_that_lead_back_to_one_another_hold_no_command_up(shelf, where):
    """SQLite walks through them for ever, and what it passes over is no row that is read."""
    run(shelf.store)
    hansard.list_debates(shelf.store)
    shelf.store.close()
    name, command, code = RINGS[where]
    ring(shelf.path, name)
    ended, said = asked(shelf.path, command)
    assert ended == code, said
    assert code == 1 or said.endswith("[store.corrupt]\n")


def test_a_step_that_reads_much_counts_by_its_time(tmp_path, monkeypatch):
    """Each may read a value of any size: 17 MB of them held `list` up for hours."""
    times = [5.0, 35.9, 36.1, 100, 130.9]
    monkeypatch.setattr("hansard.store.work.thread_time", lambda: times.pop(0))
    path = tmp_path / "h.db"
    path.write_bytes(bytes(1_000_000))
    work = Work(path)
    assert (work(), work(), work.exceeded) == (False, True, True)
    work.time()
    assert not work()
    with ThreadPoolExecutor() as pool:  # whose clock is another
        assert not pool.submit(work).result()


def test_what_is_done_between_statements_does_not_count(shelf, monkeypatch):
    """An export holds one state of the store for as long as it takes."""
    now = [0.0]
    monkeypatch.setattr("hansard.store.work.thread_time", lambda: now[0])
    monkeypatch.setattr("hansard.store.sqlite.STEPS", 1)
    shelf.store.close()
    with Store.open(f"sqlite:///{shelf.path}", create=True) as store:
        run(store)
        with store.register.at_once() as register:
            for now[0] in (1000, 2000):
                assert [*register.lines(register.size)]


def lead_back(path, table):
    """Put what a leaf of a table says first at its end as well: to read on has no end."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        ((root,),) = connection.execute(found, (table,))
    data = bytearray(path.read_bytes())
    begin = (root - 1) * PAGE
    kind, cells = data[begin], int.from_bytes(data[begin + 3 : begin + 5], "big")
    assert kind in (10, 13)
    assert cells > 1
    first = begin + 8
    data[first : first + 2 * cells] = (
        data[first : first + 2 * (cells - 1)] + data[first : first + 2]
    )
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("table", "read_all"),
    [
        ("checkpoints", lambda store: list(store.register.checkpoints())),
        ("checkpoints", lambda store: list(store.register.notes(1 << 60))),
        ("heads", lambda store: list(store.register.debates())),
    ],
)
def test_what_is_read_in_parts_has_an_end(shelf, monkeypatch, table, read_all):
    for _ in range(5):
        run(shelf.store)
    shelf.sql(("UPDATE checkpoints SET note = x'00'",))
    shelf.store.close()
    lead_back(shelf.path, table)
    monkeypatch.setattr("hansard.store.register._FEW", 3)
    with Store.open(f"sqlite:///{shelf.path}") as store:
        assert refusal(lambda: read_all(store), "lead back") == "store.corrupt"


AGAIN = {
    searching._OTHERS: [(DEBATE,)],
    searching._SOME: [("name", b"")],
    register._ENTRIES: [(5, b"{}")] * 500,
    copying._CHECKPOINTS: [(3, b"", None, 0)],
}
FULL: Any = SimpleNamespace(_target=SimpleNamespace(register=SimpleNamespace(size=9)))
READ: dict[str, Any] = {
    "texts": lambda tables: searching._read(tables.select, DEBATE, [b"x" * 100]),
    "entries": lambda tables: register.Register(tables, tables.select).entries(DEBATE),
    "checkpoints": lambda tables: copying._Copying._kept(FULL, tables),
}


@pytest.mark.parametrize("what", READ)
def test_a_part_that_is_found_again_is_not_read_for_ever(what):
    tables = SimpleNamespace(select=lambda statement, *_: AGAIN[statement])
    with pytest.raises(DataError, match="lead back") as caught:
        list(READ[what](tables))
    assert caught.value.code == "store.corrupt"


def test_nor_are_they_written_anew_without_an_end(shelf):
    run(shelf.store)
    shelf.store.close()
    ring(shelf.path, "blobs")
    erased = Path(f"{shelf.path}-erased")
    erased.touch(0o600)
    size = shelf.path.stat().st_size
    with Store.open(f"sqlite:///{shelf.path}") as store:
        assert len(store.debates()) == 1
        assert refusal(store.scrub, shelf.path) == "store.corrupt"
    assert shelf.path.stat().st_size == size
    assert erased.exists()


def test_an_honest_store_may_take_any_work(shelf, monkeypatch):
    """What a file of its size can ask for is never too much."""
    monkeypatch.setattr("hansard.store.work._ALWAYS", 0)
    monkeypatch.setattr("hansard.store.sqlite.STEPS", 1)
    monkeypatch.setattr("hansard.store.work.STEPS", 1)
    shelf.store.close()
    with Store.open(f"sqlite:///{shelf.path}", create=True) as store:
        for _ in range(5):
            run(store)
        assert len(hansard.list_debates(store, search="shall").debates) == 5
        assert hansard.rebuild_projection(store) == 5
        assert hansard.verify(store, store.debates()[0]).ok


def test_ctrl_c_while_sqlite_works_is_no_damage(shelf, monkeypatch):
    """Python runs what a signal asks for in the middle of the look, and swallows what it raises."""

    def struck(_):
        raise KeyboardInterrupt

    shelf.fill()
    shelf.store.close()
    monkeypatch.setattr("hansard.store.work.Work.__call__", struck)
    with Store.open(f"sqlite:///{shelf.path}") as store:
        recursive = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 400000)"
        with pytest.raises(KeyboardInterrupt):
            store._select(f"{recursive} SELECT count(*) FROM n")


def no_memory():
    raise MemoryError


def test_memory_that_does_not_suffice_is_one_clear_error():
    with pytest.raises(DataError, match="not enough memory") as caught, guard():
        no_memory()
    assert caught.value.code == "store.size"


COMMANDS = {
    "list": (["list"], 0, ""),
    "rebuild": (["projection", "rebuild"], 0, ""),
    "show": (["show", "{debate}"], 2, "[store.size]"),
    "verify in processes": (["verify", "--all", "--jobs", "2"], 1, ""),
    "copy": (["copy", "sqlite:///{path}", "sqlite:///{path}-new"], 2, "[store.size]"),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_text_of_any_size_takes_no_memory(shelf, tmp_path, capfd, command):
    """SQLite has all of a row in memory before it looks at a limit of its length."""
    debate = run(shelf.store)
    shelf.store.close()
    with closing(sqlite3.connect(shelf.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("DELETE FROM blobs")  # so that any search looks at the one
        long = (debate.replace("-", ""), 4 * MAX_EXPORT)
        connection.execute("INSERT INTO blobs VALUES (?, 'x', zeroblob(?))", long)
    words, code, said = COMMANDS[command]
    words = [word.format(debate=debate, path=shelf.path) for word in words]
    store = ["--store", f"sqlite:///{shelf.path}"]
    ended, _, took = peak(tmp_path, "-m", "hansard", *store, *words)
    assert (ended, said in capfd.readouterr().err) == (code, True)
    assert took < 2 * MAX_EXPORT


@pytest.mark.slow
def test_nor_does_one_that_comes_after_as_many_texts_as_are_read(shelf, tmp_path, capfd):
    debate = run(shelf.store)
    shelf.store.close()
    with closing(sqlite3.connect(shelf.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("DELETE FROM blobs")
        for name, size in zip("abcdx", (62_000_000,) * 4 + (170 << 20,), strict=True):
            row = (debate.replace("-", ""), name * 64, size)
            connection.execute("INSERT INTO blobs VALUES (?, ?, zeroblob(?))", row)
    words = ("--store", f"sqlite:///{shelf.path}", "show", debate)
    ended, _, took = peak(tmp_path, "-m", "hansard", *words)
    assert (ended, "[store.size]" in capfd.readouterr().err) == (2, True)
    assert 2 * MAX_EXPORT < took < 4 * MAX_EXPORT


LARGEST = """
import sys, hansard
from hansard.record.bundle import Head
from hansard.record.canonical import dump
from hansard.record.line import line_hash
from hansard.store.application import Batch, Store
from hansard.store.database import Extras
from hansard.store import memory
memory.bound()
debate, new, size, line = *sys.argv[1:3], int(sys.argv[3]), dump({"n": 1})
texts = [(f"{n}" * 64, b"x" * each) for n, each in enumerate((5_000, size, 5_000))]
with Store.open(f"sqlite:///{new}-old", create=True) as store:
    store.append(Batch(debate, 1, [("t", line)], Extras(Head(1, line_hash(line)), texts)))
del texts
hansard.copy_store(f"{new}-old", new)
"""


@pytest.mark.slow
def test_the_longest_text_is_stored_and_copied_within_the_bound(tmp_path):
    words = (DEBATE, str(tmp_path / "new.db"), "64000100")  # with its salt
    ended, _, took = peak(tmp_path, "-c", LARGEST, *words)
    assert (ended, took <= 4 * MAX_EXPORT) == (0, True)


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


@pytest.mark.parametrize("value", [7, 1.5, b"\xff\0", "no id", None])
def test_what_finds_debates_is_not_made_of_an_entry_of_none(shelf, value):
    debate = run(shelf.store)
    shelf.sql((CONFUSED.format("originator_id"), value, debate.replace("-", "")))
    assert refusal(lambda: hansard.list_debates(shelf.store), "debate's id") == "store.corrupt"


def test_nor_where_the_index_of_ids_lacks_an_entry(shelf):
    run(shelf.store)
    name = "sqlite_autoindex_stored_events_1"
    rows = "SELECT rootpage FROM sqlite_master WHERE name = '{}'"
    pages = [shelf.sql((rows.format(each),))[0][0] for each in (name, "sqlite_autoindex_copied_1")]
    shelf.store.close()
    data = bytearray(shelf.path.read_bytes())
    full, empty = (slice((page - 1) * PAGE, page * PAGE) for page in pages)
    data[full] = data[empty]  # the index of a table without a row
    shelf.path.write_bytes(data)
    with Store.open(f"sqlite:///{shelf.path}") as store:
        assert refusal(lambda: hansard.list_debates(store)) == "store.corrupt"
