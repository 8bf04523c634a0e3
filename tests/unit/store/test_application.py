"""What is stored is what was hashed, whole or not at all, and damage is named."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import pytest

import playing
from hansard.api.records import read_export
from hansard.api.specs import estimate
from hansard.api.trust import read_policy
from hansard.errors import DataError, UsageError
from hansard.record import blob
from hansard.record.bundle import Head
from hansard.record.keys import Trust
from hansard.rules.events import Fact
from hansard.runtime.files import Files
from hansard.store.application import Batch, Store, migrate
from hansard.store.beside import RunnerLock, Tally
from hansard.store.database import Extras
from hansard.store.mapping import LineMapper, StoredLine
from instant import GUARD

DEBATE = "5c1d3e0a-1111-4111-8111-111111111111"
OTHER = "5c1d3e0a-2222-4222-8222-222222222222"


def code_of(function, *args, **more):
    """Return the code of the error, whose sentence is one line."""
    with pytest.raises((UsageError, DataError)) as caught:
        function(*args, **more)
    assert str(caught.value).strip()
    assert "\n" not in str(caught.value)
    return caught.value.code


# Opening


@pytest.mark.parametrize("url", ["", "h.db", "sqlite://h.db", "sqlite:///", "postgres://x"])
def test_a_store_is_named_by_its_url(url):
    assert code_of(Store.open, url, create=True) == "store.url"


def test_a_store_that_is_not_there_is_made_only_when_asked(tmp_path):
    url = f"sqlite:///{tmp_path}/h.db"
    assert code_of(Store.open, url) == "store.missing"
    assert code_of(Store.open, f"sqlite:///{tmp_path}/no/h.db", create=True) == "store.missing"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x" * 5000, "x" * 300 + "/h.db"])
@pytest.mark.parametrize("create", [False, True])
def test_a_name_that_no_file_can_have_is_told_as_what_it_is(tmp_path, name, create):
    url = f"sqlite:///{tmp_path}/{name}"
    assert code_of(Store.open, url, create=create) == "store.failed"


def test_a_new_store_makes_no_file_before_something_is_stored(shelf):
    assert shelf.store.debates() == []
    assert list(shelf.path.parent.iterdir()) == []
    shelf.fill()
    assert shelf.path.exists()


@pytest.mark.parametrize("begun", [[], ["PRAGMA journal_mode = WAL"], ["PRAGMA page_size = 512"]])
def test_a_file_without_tables_is_a_new_store(tmp_path, begun):
    path = tmp_path / "h.db"
    with closing(sqlite3.connect(path)) as connection:
        for statement in [*begun, "VACUUM"]:
            connection.execute(statement)
    with Store.open(f"sqlite:///{path}") as store:
        assert store.debates() == []
        store.append(Batch(DEBATE, 1, [("t", b"{}")], Extras(Head(1, "h"))))
    with Store.open(f"sqlite:///{path}") as store:
        assert store.debates() == [DEBATE]


def test_whatever_stops_its_making_a_store_is_made_of_what_is_left(tmp_path, monkeypatch):
    """Killed before any of its statements, it leaves nothing that is refused later."""
    for stop in range(4):
        path = tmp_path / f"{stop}.db"
        with subprocess.Popen([sys.executable, "-c", MAKE, str(path), str(stop)]) as process:
            assert process.wait() == -9
        with Store.open(f"sqlite:///{path}") as store:
            assert store.debates() == []
            store.append(Batch(DEBATE, 1, [("t", b"{}")], Extras(Head(1, "h"))))


MAKE = """
import os, signal, sys
from pathlib import Path
from hansard.store import file

class Tables(list):
    def __iter__(self):
        for number, statement in enumerate(super().__iter__()):
            if number == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)
            yield statement
        os.kill(os.getpid(), signal.SIGKILL)

file.make(Path(sys.argv[1]), Tables(f"CREATE TABLE t{n} (x)" for n in range(3)), 1)
"""


class Door:
    """A lock that says when one of `others` stands before it."""

    def __init__(self, others, come):
        self.lock, self.others, self.come = threading.RLock(), others, come

    def __enter__(self):
        if threading.current_thread() in self.others:
            self.come.set()
        self.lock.acquire()

    def __exit__(self, *_):
        self.lock.release()


def test_two_threads_that_use_a_store_first_open_it_once(shelf, monkeypatch):
    """The second to open it would close the connections of the first while it uses them."""
    shelf.fill()
    come, opened, others = threading.Event(), [], []
    with Store.open(shelf.store.url) as store:
        opens = store._database.open

        def slow():
            opened.append(threading.current_thread())
            if len(opened) == 1:
                others.append(threading.Thread(target=store.debates))
                others[0].start()
                come.wait(GUARD)
            else:
                come.set()
            return opens()

        monkeypatch.setattr(store._database, "open", slow)
        monkeypatch.setattr(store, "_opening", Door(others, come), raising=False)
        assert len(store.debates()) == 1
        others[0].join()
    assert len(opened) == 1


def test_first_runs_at_once_wait_for_each_other(tmp_path):
    """Eight processes make the same store: each of them gets one, and nothing is lost."""
    url, go = f"sqlite:///{tmp_path}/h.db", tmp_path / "go"
    ids = [str(UUID(int=number)) for number in range(8)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", FIRST, url, debate, str(go)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for debate in ids
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    go.touch()
    assert [process.communicate()[0] for process in processes] == [""] * len(ids)
    with Store.open(url) as store:
        assert sorted(store.debates()) == ids


FIRST = """
import sys, time
from pathlib import Path
from hansard.record.bundle import Head
from hansard.store.application import Batch, Store, migrate
from hansard.store.database import Extras
print("ready", flush=True)
while not Path(sys.argv[3]).exists():
    time.sleep(0.001)
with Store.open(sys.argv[1], create=True) as store:
    store.append(Batch(sys.argv[2], 1, [("t", b"{}")], Extras(Head(1, "h"))))
"""


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_store_and_what_stands_beside_it_is_for_its_owner_alone(shelf, umask):
    before = os.umask(umask)
    try:
        with shelf.store.runner(DEBATE):
            shelf.fill()
            files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in beside(shelf)}
    finally:
        os.umask(before)
    names = ("h.db", "h.db-entries", f"h.db-run-{DEBATE}", "h.db-shm", "h.db-wal")
    assert files == dict.fromkeys(names, 0o600)


def beside(shelf):
    return sorted(shelf.path.parent.iterdir())


def test_a_link_that_leads_nowhere_is_not_followed_to_make_a_store(tmp_path):
    (tmp_path / "h.db").symlink_to(tmp_path / "elsewhere.db")
    url, batch = (
        f"sqlite:///{tmp_path}/h.db",
        Batch(DEBATE, 1, [("t", b"{}")], Extras(Head(1, "h"))),
    )
    assert code_of(Store.open, url, create=True) == "store.missing"
    (tmp_path / "h.db").unlink()
    with Store.open(url, create=True) as store:
        (tmp_path / "h.db").symlink_to(tmp_path / "elsewhere.db")  # somebody is quick
        assert code_of(store.append, batch) == "store.failed"
    assert not (tmp_path / "elsewhere.db").exists()


# What stands in the write-ahead log alone


def died(shelf, *gone):
    """What a killed process leaves, but for the files whose names end so; the URL of it."""
    left = shelf.path.parent / "left"
    left.mkdir()
    for path in beside(shelf):
        if path.is_file() and not path.name.endswith(gone or ("-none",)):
            shutil.copyfile(path, left / path.name)
    return f"sqlite:///{left}/h.db"


def read(url, **more):
    with Store.open(url, **more) as store:
        return store.debates()


def test_what_a_killed_process_stored_is_there(shelf):
    shelf.fill()
    url = died(shelf)
    assert read(url) == [DEBATE]
    left = [path.name for path in (shelf.path.parent / "left").iterdir()]
    assert left == ["h.db"], "closed, everything stands in the store itself"


@pytest.mark.parametrize("gone", [("-wal",), ("-wal", "-shm")])
def test_a_log_that_was_deleted_is_named(shelf, gone):
    shelf.fill(3)
    url = died(shelf, *gone)
    for _ in range(2):  # and stays named
        with pytest.raises(DataError, match="had 3 entries and has 0") as caught:
            read(url, create=True)
        assert caught.value.code == "store.lost"
        assert "h.db-wal was deleted" in str(caught.value)
    (shelf.path.parent / "left" / "h.db-entries").unlink()
    assert read(url) == [], "whoever deletes the count goes on with what is left"


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("emptied", [True, False])
def test_a_log_whose_store_is_missing_or_empty_is_kept(shelf, emptied, create):
    """SQLite deletes it, and with it what a killed process stored; so nothing is opened."""
    shelf.fill(3)
    url = died(shelf)
    path = shelf.path.parent / "left" / "h.db"
    path.with_name("h.db-wal").chmod(0o600)
    path.rename(away := path.with_name("away"))
    if emptied:
        path.touch()
    code = code_of(Store.open, url, create=create)
    assert code == ("store.lost" if emptied or create else "store.missing")
    away.replace(path)
    assert read(url) == [DEBATE]


def test_a_log_that_was_folded_into_the_store_by_anybody_is_not_missed(shelf):
    shelf.fill(3)
    url = died(shelf)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert (shelf.path.parent / "left" / "h.db-entries").exists()
    assert read(url) == [DEBATE]


@pytest.mark.parametrize(
    "said", [b"", b"nonsense", b"9", b"x\nx", b"9\n8", b"9\n9\n9", b"\xff" * 20, b"1" * 5000]
)
def test_a_count_that_is_damaged_stands_in_nobodys_way(shelf, said):
    shelf.fill(1)
    url = died(shelf)
    (shelf.path.parent / "left" / "h.db-entries").write_bytes(said)
    assert read(url) == [DEBATE]


def test_a_count_that_somebody_else_has_noted_is_not_lowered(shelf):
    shelf.fill(3)
    tally = Tally(shelf.path)
    assert tally.read() == 3
    tally.write(2)
    assert tally.read() == 3
    tally.write(4)
    assert tally.read() == 4


def test_who_opens_a_store_twice_keeps_the_log_in_which_it_stores(shelf):
    """Whoever closes a file gives back every lock of its process on it, SQLite's included."""
    journal = shelf.fill(3)
    url = f"sqlite:///{shelf.path}"
    assert read(url) == [DEBATE]
    subprocess.run([sys.executable, "-c", READ, str(shelf.path)], check=True)
    journal.add(Fact("debate.resumed", {"engine": "hansard/4"}))
    journal.flush()
    with Store.open(died(shelf)) as store:
        assert len(store.lines(DEBATE)) == 4


READ = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT * FROM heads").fetchall()
connection.close()
"""


def taken(path):
    return path.rename(path.with_name("taken"))


TAKEN = {
    "moved": ("h.db", taken),
    "replaced": ("h.db", lambda path: shutil.copy(taken(path), path)),
    "its log removed": ("h.db-wal", taken),
    "its index removed": ("h.db-shm", taken),
    "its log made anew": ("h.db-wal", lambda path: (taken(path), path.touch(0o600))),
}


@pytest.mark.parametrize("how", TAKEN)
def test_nothing_is_stored_in_a_store_that_stands_no_more_where_it_was_opened(shelf, how):
    """It would be in a file that nobody finds."""
    journal = shelf.fill(3)
    name, take = TAKEN[how]
    path = shelf.path.with_name(name)
    take(path)
    journal.add(Fact("debate.resumed", {"engine": "hansard/4"}))
    with pytest.raises(DataError, match=f"{name} was moved, replaced or removed") as caught:
        journal.flush()
    assert caught.value.code == "store.moved"
    path.with_name("taken").replace(path)
    journal.flush()
    shelf.store.close()
    with Store.open(f"sqlite:///{shelf.path}") as store:
        assert len(store.lines(DEBATE)) == 4


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_no_spec_reads_a_file_of_an_open_store(shelf, end, own):
    """Who opens and closes one takes back the locks that this process has on it."""
    shelf.fill(3)
    path = Path(f"{shelf.path}{end}")
    with pytest.raises(UsageError, match="belongs to a store that is open") as caught:
        Files(shelf.path.parent).read(path if own else path.name, "file", "spec.unreadable")
    assert caught.value.code == "spec.file_store"
    shelf.store.close()
    if not end:
        assert Files(shelf.path.parent).read("h.db", "file", "spec.unreadable")


READERS = {
    "spec": estimate,
    "policy": lambda path: read_policy(path, Trust()),
    "export": read_export,
}


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_what_a_caller_names_is_no_file_of_an_open_store_either(shelf, end, what):
    """Another process would take away the log in which this one stores: what it paid is lost."""
    shelf.fill(3)
    link = shelf.path.with_name("stranger.yaml")
    link.symlink_to(f"{shelf.path}{end}")
    with pytest.raises(UsageError, match=r"stranger\.yaml belongs to a store that is open"):
        READERS[what](link)
    look = f"import hansard; hansard.open_store('sqlite:///{shelf.path}').debates()"
    subprocess.run([sys.executable, "-c", look], check=True)
    assert shelf.path.with_name("h.db-wal").exists()


@pytest.mark.parametrize("end", ["-WAL", "-SHM", "-\N{LATIN SMALL LETTER LONG S}hm"])
def test_a_file_of_an_open_store_has_other_names_where_case_does_not_matter(shelf, end):
    shelf.fill(3)
    shelf.path.with_name(f"h.db{end}").touch()
    with pytest.raises(UsageError, match="belongs to a store that is open"):
        Files(shelf.path.parent).read(f"h.db{end}", "file", "spec.unreadable")


def foreign(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE diary (day TEXT)")


NO_STORES = {
    "another program's database": (foreign, "store.foreign"),
    "a text": (lambda path: path.write_text("no database\n" * 100), "store.corrupt"),
    "a folder": (lambda path: path.mkdir(), "store.not_writable"),
    "bytes": (lambda path: path.write_bytes(bytes(range(256)) * 20), "store.corrupt"),
}


@pytest.mark.parametrize("what", NO_STORES)
def test_a_file_that_is_no_store_is_refused_and_not_touched(tmp_path, what):
    path = tmp_path / "h.db"
    make, code = NO_STORES[what]
    make(path)
    before = path.read_bytes() if path.is_file() else None
    assert code_of(Store.open, f"sqlite:///{path}", create=True) == code
    assert before == (path.read_bytes() if path.is_file() else None)


@pytest.mark.parametrize("kept", [1, 50, 100, 4096, 10_000])
def test_a_truncated_store_is_named_as_such(shelf, kept):
    shelf.fill(200)
    shelf.store.close()
    data = shelf.path.read_bytes()
    assert len(data) > kept
    shelf.path.write_bytes(data[:kept])

    def read():
        with Store.open(f"sqlite:///{shelf.path}") as store:
            for debate in store.debates() or [DEBATE]:
                store.bundle(debate)

    assert code_of(read) in ("store.corrupt", "store.failed", "store.foreign")


def test_a_page_of_nonsense_is_damage_and_says_what_to_do(shelf):
    shelf.fill(200)
    shelf.store.close()
    data = bytearray(shelf.path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    shelf.path.write_bytes(data)
    with (
        pytest.raises(DataError, match=r"malformed.*restore it from a copy") as caught,
        Store.open(f"sqlite:///{shelf.path}") as store,
    ):
        store.bundle(DEBATE)
    assert caught.value.code == "store.corrupt"


@pytest.mark.parametrize(
    "name", ["a b.db", "ünï.db", "a#b%20.db", "a?mode=memory.db", "x:memory:.db"]
)
def test_odd_file_names_are_file_names(tmp_path, name):
    with Store.open(f"sqlite:///{tmp_path}/{name}", create=True) as store:
        store.append(Batch(DEBATE, 1, [("t", b"{}")], Extras(Head(1, "h"))))
    assert (tmp_path / name).stat().st_size > 0
    with Store.open(f"sqlite:///{tmp_path}/{name}") as store:
        assert store.lines(DEBATE) == [b"{}"]


def test_a_relative_name_is_never_a_uri(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Store.open("sqlite:///file:h.db", create=True) as store:
        store.append(Batch(DEBATE, 1, [("t", b"{}")], Extras(Head(1, "h"))))
        assert store.debates() == [DEBATE]
    assert [path.name for path in tmp_path.iterdir()] == ["file:h.db"]


def test_stores_in_memory_are_apart():
    with Store.open("sqlite:///:memory:") as one, Store.open("sqlite:///:memory:") as other:
        one.append(Batch(DEBATE, 1, [("t", b"{}")], Extras(Head(1, "h"))))
        assert (one.debates(), other.debates()) == ([DEBATE], [])
        with one.runner(DEBATE), one.runner(DEBATE):
            pass


def test_the_environment_has_no_say(tmp_path, monkeypatch):
    """Other programs on `eventsourcing` are set up by such variables; a record is not."""
    settings = {
        "PERSISTENCE_MODULE": "eventsourcing.popo",
        "SQLITE_DBNAME": str(tmp_path / "elsewhere.db"),
        "SQLITE_LOCK_TIMEOUT": "nonsense",
        "MAPPER_TOPIC": "os:system",
        "TRANSCODER_TOPIC": "os:system",
        "COMPRESSOR_TOPIC": "zlib",
        "CIPHER_TOPIC": "eventsourcing.cipher:AESCipher",
        "CIPHER_KEY": "x",
        "CREATE_TABLE": "n",
        "IS_SNAPSHOTTING_ENABLED": "y",
        "ORIGINATOR_ID_TYPE": "text",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(f"HANSARD_{name}", value)
    path = tmp_path / "h.db"
    with Store.open(f"sqlite:///{path}", create=True) as store:
        store.append(Batch(DEBATE, 1, [("t", b'{"a":1}')], Extras(Head(1, "h"))))
        assert store.lines(DEBATE) == [b'{"a":1}']
    assert not (tmp_path / "elsewhere.db").exists()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT state FROM stored_events").fetchall() == [(b'{"a":1}',)]


def test_a_commit_is_on_disk_and_deleted_text_is_overwritten(shelf):
    shelf.fill()
    pragmas = ("synchronous", "secure_delete", "journal_mode", "application_id")
    found = {name: shelf.store._recorder.select(f"PRAGMA {name}")[0][0] for name in pragmas}
    assert found == {
        "synchronous": 2,
        "secure_delete": 1,
        "journal_mode": "wal",
        "application_id": 0x48414E53,
    }
    with shelf.store._recorder.datastore.transaction(commit=True) as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone()[0] == 60_000
        cursor.execute("PRAGMA synchronous")
        assert cursor.fetchone()[0] == 2


# Reading back


def test_what_was_appended_comes_back_byte_for_byte(shelf):
    line = b'{"any":"bytes","even":not json \xff\x00}'
    body = blob.pack("text", bytes(32))
    template = (sha256(b"x").hexdigest(), b"x")
    extras = Extras(Head(1, "h" * 64), [body], [template], "/home")
    shelf.store.append(Batch(DEBATE, 1, [("t", line)], extras))
    bundle = shelf.store.bundle(DEBATE)
    assert list(bundle.lines) == [line] == shelf.store.lines(DEBATE)
    assert bundle.blobs == dict([body])
    assert bundle.templates == {}  # only those that the opening names, and this is none
    assert bundle.head == Head(1, "h" * 64)
    assert shelf.store.folder(DEBATE) == Path("/home")
    assert shelf.store.text(DEBATE, body[0]) == "text"
    with pytest.raises(KeyError):
        shelf.store.text(OTHER, body[0])


def test_debates_are_found_by_the_beginning_of_their_id(shelf):
    shelf.fill(debate=DEBATE)
    shelf.fill(debate=OTHER)
    find = shelf.store.find
    assert shelf.store.debates() == [DEBATE, OTHER]
    assert find(OTHER) == find(OTHER[:11]) == find(OTHER[:11].upper()) == OTHER
    assert code_of(find, OTHER[:8]) == "store.ambiguous"
    spelled = ("", "6", "%", "_", "x" * 99, f"{OTHER}0", OTHER.replace("-", ""), "-", "\ud800")
    for prefix in spelled:
        assert code_of(find, prefix) == "store.unknown"


def scans(shelf, act):
    """The tables that are read row by row in what `act` asks of the store."""
    recorder = shelf.store._recorder
    with recorder.datastore.transaction(commit=False) as c:
        connection = c.sqlite_cursor.connection
    asked = []
    connection.set_trace_callback(asked.append)
    act()
    connection.set_trace_callback(None)
    selects = [statement for statement in asked if statement.startswith("SELECT")]
    assert selects
    plans = [row for text in selects for row in recorder.select(f"EXPLAIN QUERY PLAN {text}")]
    return [row["detail"] for row in plans if row["detail"].startswith("SCAN")]


def test_what_is_asked_of_one_debate_reads_nothing_of_the_others(shelf):
    """Not one statement goes through a table: the keys lead to what is wanted."""
    shelf.fill(debate=DEBATE)
    shelf.fill(debate=OTHER)
    store = shelf.store
    for act in (
        lambda: store.find(OTHER),
        lambda: store.find(OTHER[:11]),
        lambda: code_of(store.find, DEBATE[:2]),
        lambda: store.bundle(OTHER),
        lambda: store.lines(OTHER),
        lambda: store.folder(OTHER),
        lambda: store.text(OTHER, next(iter(store.bundle(OTHER).blobs))),
    ):
        assert scans(shelf, act) == []
    ids, heads = scans(shelf, store.debates)
    assert "COVERING INDEX" in ids, "no line is read for its id"
    assert heads == "SCAN heads"


def test_a_debate_that_is_not_there_is_empty(shelf):
    shelf.fill()
    bundle = shelf.store.bundle(OTHER)
    assert (list(bundle.lines), bundle.blobs, bundle.head) == ([], {}, Head(0, ""))
    assert shelf.store.folder(OTHER) is None


def test_events_are_read_through_the_closed_union(shelf):
    shelf.fill()
    assert [event["data"] for event in shelf.store.events(DEBATE)] == [
        {"engine": f"hansard/{n}"} for n in range(3)
    ]
    shelf.sql(("UPDATE stored_events SET state = ? WHERE originator_version = 2", b"{}"))
    assert code_of(shelf.store.events, DEBATE) == "7.schema"


def test_a_stored_topic_selects_no_code(shelf):
    shelf.fill()
    shelf.sql(("UPDATE stored_events SET topic = 'os:system'",))
    mapper = shelf.store._debates.mapper
    assert isinstance(mapper, LineMapper)
    (first, *_) = shelf.store._recorder.select_events(UUID(DEBATE))
    assert first.topic == "os:system"
    assert mapper.to_domain_event(first)["type"] == "debate.resumed"
    stored = mapper.to_stored_event(StoredLine(UUID(DEBATE), 9, "t", b"{}"))
    assert (stored.originator_version, stored.topic, stored.state) == (9, "t", b"{}")


def test_the_notification_log_gives_the_lines_in_order(shelf):
    shelf.fill()
    shelf.fill(debate=OTHER)
    rows = shelf.store._recorder.select_notifications(start=1, limit=10)
    assert [row.state for row in rows] == [
        *shelf.store.lines(DEBATE),
        *shelf.store.lines(OTHER),
    ]


ALTERED = {
    "line is text": "UPDATE stored_events SET state = '{}' WHERE originator_version = 2",
    "line is a number": "UPDATE stored_events SET state = 7 WHERE originator_version = 2",
    "line is nothing": "UPDATE stored_events SET state = NULL WHERE originator_version = 2",
    "blob is text": "UPDATE blobs SET body = 'text'",
    "blob is a number": "UPDATE blobs SET body = 7",
    "length is text": "UPDATE heads SET length = 'three'",
    "length is bytes": "UPDATE heads SET length = x'03'",
    "length is a fraction": "UPDATE heads SET length = 3.5",
    "head is bytes": "UPDATE heads SET head = x'00'",
    "table gone": "DROP TABLE blobs",
}


@pytest.mark.parametrize("how", ALTERED)
def test_what_is_not_of_its_kind_is_corrupt(shelf, how):
    shelf.fill()
    shelf.sql((ALTERED[how],))
    assert code_of(shelf.store.bundle, DEBATE) in ("store.corrupt", "store.failed")


def test_only_the_templates_that_an_opening_names_are_read(shelf):
    record, other = playing.play("panel"), playing.play("judged")
    for debate, bundle in ((DEBATE, record), (OTHER, other)):
        lines = [("stored", line) for line in bundle.lines]
        extras = Extras(bundle.head, (), list(bundle.templates.items()))
        shelf.store.append(Batch(debate, 1, lines, extras))
    assert shelf.store.bundle(DEBATE).templates == record.templates
    (own, *_) = record.templates.keys() - other.templates.keys()
    shelf.sql(("UPDATE templates SET body = 'text' WHERE sha256 = ?", own))
    assert code_of(shelf.store.bundle, DEBATE) == "store.corrupt"
    assert shelf.store.bundle(OTHER).templates == other.templates


def test_a_debate_whose_key_is_no_id_is_corrupt(shelf):
    shelf.fill()
    shelf.sql(("INSERT INTO stored_events (originator_id, originator_version) VALUES ('zz', 1)",))
    assert code_of(shelf.store.debates) == "store.corrupt"
    near = DEBATE[:4] + "0" * 28 + "zz"
    row = f"INSERT INTO stored_events (originator_id, originator_version) VALUES ('{near}', 1)"
    shelf.sql((row,))
    assert code_of(shelf.store.find, near[:4]) == "store.corrupt"


def test_a_failing_disk_is_one_clear_error_and_changes_nothing(shelf, monkeypatch):
    shelf.fill()
    before = shelf.store.bundle(DEBATE)

    def full(*args, **more):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(shelf.store._recorder, "_insert_events", full)
        extras = Extras(Head(4, "x"))
        assert (
            code_of(shelf.store.append, Batch(DEBATE, 4, [("t", b"{}")], extras)) == "store.failed"
        )
    assert shelf.store.bundle(DEBATE) == before


@pytest.mark.parametrize(
    "stored", [b"/home\0", "/home\0", None, "/" + "a/" * 2**14, b"a" * 2**15 + b"a"]
)
def test_a_stored_folder_that_is_no_path_is_said(shelf, stored):
    shelf.fill()
    with closing(sqlite3.connect(shelf.path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")  # past its constraint, as a page may be
        definition = "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'runs'"
        connection.execute(definition, ("folder TEXT NOT NULL", "folder TEXT"))
        connection.execute("PRAGMA schema_version = 1000")
    with closing(sqlite3.connect(shelf.path)) as connection, connection:
        connection.execute("UPDATE runs SET folder = ?", (stored,))
    assert code_of(shelf.store.folder, DEBATE) == "store.corrupt"


# Appending


def test_lines_are_neither_changed_nor_deleted(shelf):
    shelf.fill()
    before = shelf.store.lines(DEBATE)
    for statement in ("UPDATE stored_events SET state = x'00'", "DELETE FROM stored_events"):
        refused = pytest.raises(sqlite3.IntegrityError, match="lines are never")
        with closing(sqlite3.connect(shelf.path)) as connection, refused:
            connection.execute(statement)
    assert shelf.store.lines(DEBATE) == before


@pytest.mark.parametrize("kept", [b"another", "a template", None])
def test_no_debate_begins_beside_another_text_of_its_template(shelf, kept):
    shelf.fill()
    shelf.sql(("UPDATE templates SET body = coalesce(?, zeroblob(0))", kept))
    assert code_of(shelf.fill, debate=OTHER) == "store.corrupt"
    assert shelf.store.debates() == [DEBATE]


@pytest.mark.parametrize("first", [1, 2, 3, 5, 9])
def test_only_the_next_number_is_taken(shelf, first):
    shelf.fill(3)
    before = shelf.store.bundle(DEBATE)
    folder = "/new" if first == 1 else None
    extras = Extras(Head(first, "x"), [blob.pack("new", bytes(32))], [("cd" * 32, b"new")], folder)
    assert (
        code_of(shelf.store.append, Batch(DEBATE, first, [("t", b"{}")], extras))
        == "store.conflict"
    )
    assert shelf.store.bundle(DEBATE) == before
    assert shelf.store.folder(DEBATE) == Path("/somewhere")


def test_two_journals_at_one_place_one_goes_on_the_other_stops(shelf):
    """The loser's blobs, templates and head leave no trace."""
    shelf.fill(3)
    lines = shelf.store.lines(DEBATE)
    place = {"seq": 3, "prev": sha256(lines[-1]).hexdigest()}
    with Store.open(f"sqlite:///{shelf.path}") as second:
        winner, loser = shelf.journal(**place), shelf.journal(second, **place)
        for journal, name in ((winner, "winner"), (loser, "loser")):
            journal.blob(name)
            for n in range(3):
                journal.add(Fact("debate.resumed", {"engine": f"{name}/{n}"}))
        winner.flush()
        after = shelf.store.bundle(DEBATE)
        assert code_of(loser.flush) == "store.conflict"
        assert code_of(loser.flush) == "store.conflict"
        assert shelf.store.bundle(DEBATE) == second.bundle(DEBATE) == after
        winner.add(Fact("debate.resumed", {"engine": "winner/3"}))
        winner.flush()
    assert [event["data"]["engine"] for event in shelf.store.events(DEBATE)[3:]] == [
        f"winner/{n}" for n in range(4)
    ]


def test_an_older_copy_that_was_put_into_an_open_store_is_told_as_what_it_is(shelf):
    """Nobody else is writing, and what was stored since the copy is lost."""
    shelf.fill(1)
    with closing(sqlite3.connect(":memory:")) as copy:
        with closing(sqlite3.connect(shelf.path)) as connection:
            connection.backup(copy)
        shelf.store.append(Batch(DEBATE, 2, [("t", b"{}")] * 3, Extras(Head(4, "x"))))
        with closing(sqlite3.connect(shelf.path)) as connection:
            copy.backup(connection)
    batch = Batch(DEBATE, 5, [("t", b"{}")], Extras(Head(5, "x")))
    with pytest.raises(UsageError, match="older copy") as caught:
        shelf.store.append(batch)
    assert caught.value.code == "store.conflict"
    assert "nothing is lost" not in str(caught.value)
    assert "put in its place: it has 1 entry, and this process stored 4;" in str(caught.value)


def test_the_batches_of_several_debates_are_stored_all_or_none(shelf):
    """A conflict names its debate; the transaction leaves no trace of the others."""
    shelf.fill(debate=DEBATE)
    before = shelf.store.bundle(DEBATE)
    new = Extras(Head(1, "x"), [blob.pack("new", bytes(32))], [("cd" * 32, b"new")], "/new")
    good = Batch(OTHER, 1, [("t", b"{}")], new)
    bad = Batch(DEBATE, 3, [("t", b"{}")], Extras(Head(3, "x")))
    for batches in ((good, bad), (bad, good)):
        with pytest.raises(UsageError, match=DEBATE) as caught:
            shelf.store.append(*batches)
        assert caught.value.code == "store.conflict"
        assert shelf.store.debates() == [DEBATE]
        assert shelf.store.folder(OTHER) is None
        assert shelf.store.bundle(DEBATE) == before
    assert shelf.sql(("SELECT * FROM templates WHERE sha256 = ?", "cd" * 32)) == []
    shelf.store.append(good, bad._replace(first=4, extras=Extras(Head(4, "x"))))
    assert shelf.store.debates() == [DEBATE, OTHER]
    assert [shelf.store.bundle(name).head.length for name in (DEBATE, OTHER)] == [4, 1]


def test_what_is_there_already_byte_for_byte_was_stored_by_whoever_stores_it(shelf):
    """The commit went through, and the process heard of an error: it stores the same again."""
    shelf.fill()
    new = Extras(Head(1, "x"), [blob.pack("new", bytes(32))], folder="/new")
    batches = (
        Batch(OTHER, 1, [("t", b"{}")], new),
        Batch(DEBATE, 4, [("t", b"{}")], Extras(Head(4, "x"))),
    )
    shelf.store.append(*batches)
    before = [shelf.store.bundle(name) for name in (DEBATE, OTHER)]
    shelf.store.append(*batches)
    shelf.store.append(batches[1])
    for changed in (b"{ }", b""):
        other = batches[1]._replace(lines=[("t", changed)])
        assert code_of(shelf.store.append, batches[0], other) == "store.conflict"
    longer = batches[1]._replace(lines=[("t", b"{}")] * 2)
    assert code_of(shelf.store.append, longer) == "store.conflict"
    said = batches[0]._replace(extras=new._replace(blobs=[blob.pack("other", bytes(32))]))
    assert code_of(shelf.store.append, said) == "store.conflict"
    assert [shelf.store.bundle(name) for name in (DEBATE, OTHER)] == before


def test_a_debate_is_opened_once(shelf):
    shelf.fill()
    extras = Extras(Head(1, "x"))
    assert code_of(shelf.store.append, Batch(DEBATE, 1, [("t", b"{}")], extras)) == "store.conflict"


# The runner's lock

HOLD = """
import sys, time
from hansard.store.application import Store
with Store.open(sys.argv[1], create=True) as store, store.runner(sys.argv[2]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(shelf):
    """Start a process that holds the lock, and end it whatever happens."""
    started = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, f"sqlite:///{shelf.path}", DEBATE],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def runs(store):
    with store.runner(DEBATE):
        return True


def test_a_second_process_is_refused_until_the_first_is_gone(shelf, holder):
    process = holder()
    assert code_of(runs, shelf.store) == "store.running"
    with shelf.store.runner(OTHER):  # other debates are free
        pass
    process.kill()  # SIGKILL: nothing is cleaned up
    process.wait()
    assert runs(shelf.store)
    holder()


def test_the_lock_is_given_back_and_leaves_no_file(shelf):
    with pytest.raises(ZeroDivisionError), shelf.store.runner(DEBATE):
        raise ZeroDivisionError
    assert runs(shelf.store)
    assert list(shelf.path.parent.iterdir()) == []


@pytest.mark.parametrize("when", ["before it is opened", "once it is opened", "and made anew"])
def test_a_lock_whose_file_its_holder_removes_is_taken_on_a_new_file(shelf, monkeypatch, when):
    """A lock on a file that is gone is no lock: the next one would run beside it."""
    path = f"{shelf.path}-run-{DEBATE}"
    holder, late, last = (RunnerLock(path) for _ in range(3))
    connect, opened = sqlite3.connect, []

    def racing(*args, **more):
        if opened:
            return connect(*args, **more)
        if when == "before it is opened":
            holder.release()
        opened.append(connect(*args, **more))
        holder.release()
        if when == "and made anew":
            assert last.acquire()
            last.release()
            Path(path).touch()
        return opened[0]

    assert holder.acquire()
    monkeypatch.setattr(sqlite3, "connect", racing)
    try:
        assert late.acquire()
        assert not last.acquire()
    finally:
        late.release()
    assert not Path(path).exists()


def test_a_lock_is_one_open_file_and_leaves_nothing_else_behind(shelf, holder):
    with shelf.store.runner(DEBATE):
        (lock,) = shelf.path.parent.iterdir()
    process = holder()
    process.kill()
    process.wait()
    assert [path.name for path in shelf.path.parent.iterdir()] == [lock.name]


def test_a_lock_that_cannot_be_had_is_not_one_that_another_holds(tmp_path, monkeypatch):
    class Broken:
        def execute(self, statement):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_LOCK
            raise error

        def close(self):
            closed.append(1)

    closed = []
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: Broken())
    lock = RunnerLock(str(tmp_path / "lock"))
    with pytest.raises(sqlite3.OperationalError, match="disk I/O"):
        lock.acquire()
    assert closed == [1]


def test_a_place_where_no_lock_can_be_made_is_one_clear_error(shelf):
    Path(f"{shelf.path}-run-{DEBATE}").mkdir()
    assert code_of(runs, shelf.store).startswith("store.")


def test_ids_are_uuids(shelf):
    """A debate's id becomes part of a file's name and of SQL keys only as a UUID."""
    for debate in ("../../etc/passwd", "", "x" * 36):
        with pytest.raises(ValueError):
            shelf.store.lines(debate)


# Versions


def earlier(shelf):
    """Make of a store what the version before its tables were numbered would have made."""
    shelf.fill()
    shelf.store.close()
    gone = ("projected", "projected_names", "projected_reviews", "projected_figures",
            "projected_until", "projected_texts", "projected_counts")  # fmt: skip
    shelf.sql(
        *((f"DROP TABLE {name}",) for name in gone),
        ("CREATE TABLE projected (place INTEGER PRIMARY KEY, debate TEXT)",),  # as it was once
        ("PRAGMA user_version = 0",),
    )


def test_a_store_from_before_versions_is_refused_until_it_is_brought_up_to_date(shelf):
    before = shelf.fill(debate=OTHER) and shelf.store.bundle(OTHER)
    earlier(shelf)
    for create in (False, True):
        with pytest.raises(DataError, match="hansard store migrate --store") as caught:
            Store.open(shelf.store.url, create=create).debates()
        assert caught.value.code == "store.old"
    assert migrate(shelf.store.url) == (0, 1)
    assert migrate(shelf.store.url) == (1, 1)
    with Store.open(shelf.store.url) as store:
        assert store.bundle(OTHER) == before
        assert store.projection.find({}) == {}


def test_a_store_of_a_later_version_is_refused_and_not_touched(shelf):
    shelf.fill()
    shelf.store.close()
    shelf.sql(("PRAGMA user_version = 2",))
    before = shelf.path.read_bytes()
    assert code_of(lambda: Store.open(shelf.store.url).debates()) == "store.newer"
    assert code_of(migrate, shelf.store.url) == "store.newer"
    assert shelf.path.read_bytes() == before


def test_a_store_is_made_by_migrate_as_well(tmp_path):
    url = f"sqlite:///{tmp_path}/h.db"
    assert migrate(url) == (None, 1)
    with Store.open(url) as store:
        assert store.debates() == []
    assert migrate("sqlite:///:memory:") == (None, 1)


def test_what_is_no_store_is_not_made_one(tmp_path):
    foreign(tmp_path / "h.db")
    before = (tmp_path / "h.db").read_bytes()
    assert code_of(migrate, f"sqlite:///{tmp_path}/h.db") == "store.foreign"
    assert (tmp_path / "h.db").read_bytes() == before


@pytest.mark.parametrize("open_it", [Store.open, migrate])
@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///a\0b",
        "sqlite:///:memory:\0",
        "sqlite:///\ud800",
        "postgresql://a\0b@host/name",
        "postgresql://host/\ud800",
        "postgresql://other/\udcff",
        "postgresql://host/%ff",
        "postgresql://host/%00",
        "\0",
    ],
    ids=ascii,
)
def test_a_url_with_a_character_that_no_store_has_is_refused_as_such(url, open_it):
    with pytest.raises(UsageError) as caught:
        open_it(url)
    assert caught.value.code == "store.url"


def test_a_store_that_was_closed_says_so(shelf):
    shelf.fill()
    shelf.store.close()
    for act in (shelf.store.debates, lambda: shelf.store.bundle(DEBATE), shelf.fill):
        with pytest.raises(UsageError, match="was closed") as caught:
            act()
        assert caught.value.code == "store.closed"
