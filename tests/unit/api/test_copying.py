"""A copy of a store has all of it, byte for byte, whatever happened on the way; or it is none."""

import asyncio
import sqlite3
from contextlib import closing, contextmanager, suppress

import psycopg
import pytest
from eventsourcing.sqlite import SQLiteDatastore

import hansard
from hansard.errors import DataError, SeatError, UsageError
from hansard.runtime import gating, session
from hansard.runtime.files import Files
from hansard.store import copying, postgres, registering
from hansard.store.application import Store
from hansard.store.tampering import alter_line
from measuring import peak
from playing import answer, spec_of

TABLES = {
    "stored_events": "rowid",
    "blobs": "debate, name",
    "templates": "sha256",
    "heads": "debate",
    "runs": "debate",
    "register": "place",
    "register_hashes": "place",
    "checkpoints": "size",
    "register_log": "id",
}
SECRET = "Whether Ann Lee of 4 Mill Lane is to be dismissed."


class Died(BaseException):
    """The process ended here: nothing after it happens."""


def contents(path):
    """All that a store keeps, in the order in which it was stored."""
    with closing(sqlite3.connect(path)) as file:
        return {
            table: file.execute(f"SELECT * FROM {table} ORDER BY {order}").fetchall()
            for table, order in TABLES.items()
        }


def run(store, format_="panel", folder=None, **changes):
    """Run a debate to its end; return its id."""
    spec = spec_of(format_, **changes)
    done = session.run(spec, store, folder, models={"bot": answer})
    return asyncio.run(done).state.debate


def redact(store, debate, keys):
    hansard.redact(
        debate,
        ["1.question"],
        store=store,
        reason="She asked.",
        basis="GDPR, Article 17",
        asked_by="Bob Ray",
        signers=[keys.signer("reviewer")],
        trust=keys.trust(),
    )


@pytest.fixture
def keys(tmp_path):
    return hansard.open_keyring(tmp_path / "keys")


@pytest.fixture
def old(tmp_path, keys):
    """A store with debates that took turns, one open, one with an erased text, and a gate's."""
    path = tmp_path / "old.db"

    async def both(store):
        asked = {"models": {"bot": answer}}
        specs = (spec_of("judged"), spec_of("consensus"))
        await asyncio.gather(*(session.run(spec, store, tmp_path, **asked) for spec in specs))

    def raises(_):
        raise ZeroDivisionError

    with Store.open(f"sqlite:///{path}", create=True) as store:
        asyncio.run(both(store))
        redact(store, run(store, question=SECRET), keys)
        hansard.sign_checkpoint(store, keys.signer("log"))
        gating.record(spec_of("panel"), Files(tmp_path), store)
        with suppress(SeatError):
            asyncio.run(session.run(spec_of("panel"), store, None, models={"bot": raises}))
        run(store, "moderated", tmp_path)
    return path


@pytest.fixture
def new(tmp_path):
    return tmp_path / "new.db"


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(copying, "_ENTRIES", 7)
    monkeypatch.setattr(copying, "_LINES", 3)


def test_through_postgresql_and_back_nothing_is_another(keys, old, new, server):
    """Also what comes later, and what is erased between two copies."""
    url = server.fresh()
    hansard.migrate_store(url)
    with Store.open(f"sqlite:///{old}") as there:
        debate = run(there, question=SECRET)
        hansard.copy_store(old, url)
        with Store.open(url) as here:
            assert hansard.list_debates(here, search="Mill Lane").totals.debates == 1
        redact(there, debate, keys)
        assert hansard.copy_store(old, url).behind is False
        with Store.open(url) as here:
            assert hansard.list_debates(here) == hansard.list_debates(there)
            assert hansard.list_debates(here, search="Mill Lane").totals.debates == 0
            for size in range(there.register.size + 1):
                assert here.register.root(size) == there.register.root(size)
            assert [*here.register.checkpoints()] == [*there.register.checkpoints()]
            assert hansard.verify_register(here).ok
            assert hansard.verify_store(here).ok
    hansard.copy_store(url, new)
    assert contents(new) == contents(old)
    hansard.copy_store(old, url)
    with Store.open(url) as here:
        run(here)
    refused("copy.holds", old, url)


def test_a_step_whose_connection_was_lost_before_that_was_told_is_copied_once(
    old, server, monkeypatch
):
    url, told = server.fresh(), []
    hansard.migrate_store(url)
    plain = postgres.Recorder._transaction
    monkeypatch.setattr(postgres, "_PAUSE", 0)

    @contextmanager
    def losing(recorder):
        with plain(recorder) as c:
            yield c
        told.append(1)
        if len(told) == 2:  # the first only takes the target
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(postgres.Recorder, "_transaction", losing)
    assert hansard.copy_store(old, url).debates == 6
    assert len(told) > 2


def test_a_checkpoint_that_is_signed_while_stores_are_compared_comes_with_them(keys, old, new):
    seen = []
    with Store.open(f"sqlite:///{old}") as there:
        number = len(there.debates())

        def sign(_):
            seen.append(1)
            if len(seen) > number:  # each was copied: they are compared
                hansard.sign_checkpoint(there, keys.signer("log"))

        assert hansard.copy_store(old, new, each=sign).behind is False
    assert contents(new) == contents(old)


@pytest.mark.parametrize(("entries", "texts"), [(1, 1), (7, 1 << 24), (10_000, 100)])
def test_a_copy_has_everything_byte_for_byte(monkeypatch, old, new, entries, texts):
    monkeypatch.setattr(copying, "_ENTRIES", entries)
    monkeypatch.setattr(copying, "_BYTES", texts)
    told = []
    done = hansard.copy_store(old, f"sqlite:///{new}", each=told.append)
    there = contents(old)
    assert contents(new) == there
    assert (done.debates, done.behind) == (6, False)
    assert (done.entries, done.texts) == (len(there["stored_events"]), len(there["blobs"]))
    with Store.open(f"sqlite:///{old}") as store:
        assert sorted(told) == sorted(store.debates() * 2)
        assert (done.lines, bytes.fromhex(done.root)) == (
            store.register.size,
            store.register.root(store.register.size),
        )


def test_its_register_has_the_same_root_at_each_size_and_the_name_and_notes(keys, old, new):
    hansard.copy_store(old, new)
    with Store.open(f"sqlite:///{old}") as there, Store.open(f"sqlite:///{new}") as here:
        for size in range(there.register.size + 1):
            assert here.register.root(size) == there.register.root(size)
        assert [*here.register.checkpoints()] == [*there.register.checkpoints()]
        kept = there.register.signed(0)
        assert 0 < kept.size < here.register.size
        found = hansard.verify_register(here, kept.note, keys.trust())
        assert (found.ok, found.signed_by) == (True, (keys.signer("log").name,))
        assert (here.register.id, here.register.origin) == (
            there.register.id,
            there.register.origin,
        )


def test_it_is_a_store_that_lists_verifies_and_goes_on(old, new):
    hansard.copy_store(old, new)
    with Store.open(f"sqlite:///{old}") as there, Store.open(f"sqlite:///{new}") as here:
        assert hansard.list_debates(here) == hansard.list_debates(there)
        found = [hansard.list_debates(store, search="Shall we") for store in (there, here)]
        assert found[0] == found[1]
        assert found[0].debates
        (left,) = [row.debate for row in hansard.list_debates(here).debates if row.state == "open"]
        asyncio.run(session.resume(left, here, models={"bot": answer}))
        assert hansard.verify_store(here).ok
        assert hansard.verify_register(here).ok


# Whoever is killed


def writes(monkeypatch, at=0, stored=False):
    """Count the writes of a copy; die at one of them, before or after it is stored."""
    count = []
    transaction = SQLiteDatastore.transaction

    class Dying:
        def __init__(self, real, commit):
            self._real, self._commit = real, commit

        def __enter__(self):
            return self._real.__enter__()

        def __exit__(self, *raised):
            if self._commit and raised == (None, None, None):
                count.append(1)
                if len(count) == at and not stored:
                    self._real.__exit__(Died, Died(), None)
                    raise Died
                self._real.__exit__(*raised)
                if len(count) == at:
                    raise Died
                return None
            return self._real.__exit__(*raised)

    monkeypatch.setattr(
        SQLiteDatastore,
        "transaction",
        lambda self, *, commit: Dying(transaction(self, commit=commit), commit),
    )
    return count


@pytest.mark.slow
@pytest.mark.parametrize("stored", [False, True], ids=["not stored", "stored"])
def test_killed_at_any_write_it_goes_on_and_is_used_by_nobody_else_before(
    monkeypatch, old, tmp_path, stored
):
    with monkeypatch.context() as patched:
        every = writes(patched)
        hansard.copy_store(old, tmp_path / "undisturbed.db")
    assert len(every) > 20
    for at in range(1, len(every) + 1):
        new = tmp_path / f"{at}.db"
        with monkeypatch.context() as patched:
            writes(patched, at, stored)
            with pytest.raises(Died):
                hansard.copy_store(old, new)
        finished = (at, stored) == (len(every), True)
        begun = (at, stored) != (1, False)
        with Store.open(f"sqlite:///{new}") as store:
            if begun and not finished:
                with pytest.raises(UsageError, match="not finished") as caught:
                    store.debates()
                assert caught.value.code == "store.copying"
            else:
                assert bool(store.debates()) == finished
        hansard.copy_store(old, new)
        assert contents(new) == contents(old)


# What is erased


def test_what_was_erased_is_in_no_copy(old, new):
    hansard.copy_store(old, new)
    assert SECRET.encode() not in new.read_bytes()


def test_what_is_erased_between_two_copies_goes_with_the_second(keys, old, new):
    with Store.open(f"sqlite:///{old}") as there:
        debate = run(there, question=SECRET)
        hansard.copy_store(old, new)
        with Store.open(f"sqlite:///{new}") as here:
            assert hansard.list_debates(here, search="Mill Lane").totals.debates == 1
        assert SECRET.encode() in new.read_bytes()
        redact(there, debate, keys)
    hansard.copy_store(old, new)
    assert contents(new) == contents(old)
    assert b"Mill Lane" not in new.read_bytes()
    with Store.open(f"sqlite:///{new}") as here:
        assert hansard.list_debates(here, search="Mill Lane").totals.debates == 0
        assert hansard.verify_store(here).ok


def test_what_was_to_be_erased_is_also_where_that_copy_was_killed(monkeypatch, keys, old, new):
    scrubbed = []
    scrub = Store.scrub
    monkeypatch.setattr(Store, "scrub", lambda store: scrubbed.append(store.url) or scrub(store))
    with Store.open(f"sqlite:///{old}") as there:
        debate = run(there, question=SECRET)
        hansard.copy_store(old, new)
        redact(there, debate, keys)
    scrubbed.clear()
    with monkeypatch.context() as patched:
        writes(patched, 2, stored=True)  # the step with the erasure
        with pytest.raises(Died):
            hansard.copy_store(old, new)
    assert scrubbed == []
    hansard.copy_store(old, new)
    hansard.copy_store(old, new)
    assert scrubbed == [f"sqlite:///{new}"]


# What is refused


def refused(code, *stores, **more):
    with pytest.raises((UsageError, DataError)) as caught:
        hansard.copy_store(*stores, **more)
    assert caught.value.code == code
    return str(caught.value)


def test_a_target_that_holds_anything_else_is_refused_and_stays_as_it_is(old, new, tmp_path):
    with Store.open(f"sqlite:///{new}", create=True) as store:
        run(store)
    before = contents(new)
    assert refused("copy.holds", old, new).endswith("name a store that is new or empty")
    refused("copy.holds", old, old)
    assert contents(new) == before
    lined = tmp_path / "lined.db"
    with Store.open(f"sqlite:///{lined}", create=True) as store:
        store.register.add([registering.Row("key_approved", "ab" * 32, "ab" * 32)])
    refused("copy.holds", old, lined)


def test_an_empty_register_that_is_signed_is_another_register(keys, old, new):
    with Store.open(f"sqlite:///{new}", create=True) as store:
        hansard.sign_checkpoint(store, keys.signer("log"))
    before = contents(new)
    refused("copy.holds", old, new)
    assert contents(new) == before


def test_a_copy_of_another_store_or_one_that_was_used_is_refused(old, new, tmp_path):
    other = tmp_path / "other.db"
    with Store.open(f"sqlite:///{other}", create=True) as store:
        run(store)
    hansard.copy_store(other, new)
    refused("copy.holds", old, new)
    with Store.open(f"sqlite:///{new}") as store:
        store.register.add([registering.Row("key_approved", "ab" * 32, "ab" * 32)])
    refused("copy.holds", other, new)
    with Store.open(f"sqlite:///{other}") as store:
        run(store)  # so that it has more lines than the copy
    refused("copy.holds", other, new)
    again = tmp_path / "again.db"
    hansard.copy_store(other, again)
    with Store.open(f"sqlite:///{again}") as store:
        run(store)
    refused("copy.holds", other, again)


@pytest.mark.parametrize("beside", [False, True], ids=["unsigned there", "signed there, too"])
def test_a_copy_in_which_somebody_signed_a_checkpoint_is_refused_and_keeps_it(
    keys, old, new, beside
):
    """Witnesses may have cosigned it, and the next copy would have overwritten their lines."""
    hansard.copy_store(old, new)
    with Store.open(f"sqlite:///{new}") as store:
        hansard.sign_checkpoint(store, keys.signer("log"))
    if beside:
        keys.rotate("log")
        with Store.open(f"sqlite:///{old}") as store:
            hansard.sign_checkpoint(store, keys.signer("log"))
            run(store)
    before = contents(new)
    refused("copy.holds", old, new)
    assert contents(new) == before


def test_a_checkpoint_that_the_source_has_with_more_signatures_comes_again(keys, old, new):
    with Store.open(f"sqlite:///{old}") as store:
        hansard.sign_checkpoint(store, keys.signer("log"))
        hansard.copy_store(old, new)
        keys.rotate("log")
        hansard.sign_checkpoint(store, keys.signer("log"))
    hansard.copy_store(old, new)
    assert contents(new) == contents(old)


def test_a_source_into_which_somebody_copies_meanwhile_makes_no_finished_copy(old, new, tmp_path):
    """It has entries whose texts and lines are still to come."""
    hansard.copy_store(old, new)
    with Store.open(f"sqlite:///{old}") as store:
        run(store)
    last, begun = tmp_path / "last.db", []

    def dies(debate):
        raise Died

    def each(debate):
        if not begun:
            begun.append(debate)
            with suppress(Died):
                hansard.copy_store(old, new, each=dies)

    refused("store.copying", new, last, each=each)
    assert begun
    with Store.open(f"sqlite:///{last}") as store:
        assert refusal(store.debates) == "store.copying"
    hansard.copy_store(old, new)
    hansard.copy_store(new, last)
    assert contents(last) == contents(old)


def test_a_source_into_which_somebody_has_begun_to_copy_leaves_a_finished_copy_as_it_is(
    old, new, tmp_path
):
    """So does the target itself by a name that is not known for its own."""
    last = tmp_path / "last.db"
    hansard.copy_store(old, new)
    hansard.copy_store(new, last)
    with Store.open(f"sqlite:///{old}") as store:
        run(store)

    def dies(debate):
        raise Died

    with Store.open(f"sqlite:///{new}") as there:
        assert there.debates()  # from here on it is open
        with suppress(Died):
            hansard.copy_store(old, new, each=dies)
        with Store.open(f"sqlite:///{last}", unfinished=True) as here:
            assert refusal(copying.copy, there, here, print) == "store.copying"
    with Store.open(f"sqlite:///{last}") as store:
        assert store.debates()


def test_a_copy_is_not_copied_into_itself(old, new, tmp_path):
    """Killed meanwhile, it could be opened by nobody any more."""
    hansard.copy_store(old, new)
    link = tmp_path / "link.db"
    link.symlink_to(new)
    for other in (new, link):
        refused("copy.holds", new, other, each=lambda _: pytest.fail("it was begun"))
    with Store.open(f"sqlite:///{new}") as store:
        assert store.debates()


def refusal(action, *arguments):
    """The code with which an action is refused."""
    with pytest.raises(UsageError) as caught:
        action(*arguments)
    return caught.value.code


def test_whoever_has_the_target_open_stores_nothing_while_it_is_copied_into(old, new):
    """The copy could not go on, and no command opened what was stored there, and paid for."""
    refusals = []

    def each(debate):
        if not refusals:
            refusals.append(refusal(run, store))

    with Store.open(f"sqlite:///{new}", create=True) as store:
        assert store.register.size == 0  # from here on it is open
        hansard.copy_store(old, new, each=each)
        assert refusals == ["store.copying"]
        assert contents(new) == contents(old)
        run(store)
    with Store.open(f"sqlite:///{new}") as store, Store.open(f"sqlite:///{old}") as there:
        assert len(store.debates()) == len(there.debates()) + 1


@pytest.mark.parametrize("after", [1, 3])
def test_whoever_has_the_target_open_signs_no_checkpoint_while_it_is_copied_into(
    keys, old, new, after
):
    """It would be one of lines that are still to come, and spoil the copy for good."""
    come, refusals = [], []

    def each(debate):
        come.append(debate)
        if len(come) == after:
            refusals.append(refusal(hansard.sign_checkpoint, store, keys.signer("log")))

    with Store.open(f"sqlite:///{new}", create=True) as store:
        assert store.register.size == 0  # from here on it is open
        hansard.copy_store(old, new, each=each)
    assert refusals == ["store.copying"]
    assert contents(new) == contents(old)


def test_of_two_copies_at_once_one_ends(old, new):
    told = []

    def each(debate):
        told.append(debate)
        if len(told) == 1:
            hansard.copy_store(old, new)

    said = refused("copy.running", old, new, each=each)
    assert "another process writes into" in said
    assert contents(new) == contents(old)


def test_there_is_no_source(new):
    refused("store.missing", new.parent / "none.db", new)
    refused("store.url", "mysql://host/name", new)


# The source goes on, or is damaged


def test_a_source_that_goes_on_is_copied_up_to_a_moment_and_the_next_copy_brings_the_rest(old, new):
    told = []

    def each(debate):
        told.append(debate)
        if len(told) == 12:  # the last one is compared
            run(store)

    with Store.open(f"sqlite:///{old}") as store:
        assert hansard.copy_store(old, new, each=each).behind
        with Store.open(f"sqlite:///{new}") as here:
            assert here.debates() == store.debates()[:-1]
            assert hansard.verify_register(here).ok
        assert not hansard.copy_store(old, new).behind
    assert contents(new) == contents(old)


def test_what_the_source_stores_while_it_is_copied_comes_along(old, new):
    told = []

    def each(debate):
        if not told:
            run(store)
        told.append(debate)

    with Store.open(f"sqlite:///{old}") as store:
        assert not hansard.copy_store(old, new, each=each).behind
    assert contents(new) == contents(old)


def test_an_altered_record_is_copied_as_it_is_and_found_out_in_the_copy(old, new):
    with Store.open(f"sqlite:///{old}") as store:
        *_, debate = store.debates()
        last = len(store.lines(debate))
    alter_line(old, debate, last, b"complete", b"Complete")
    with Store.open(f"sqlite:///{old}") as there:
        found = hansard.verify(there, debate)
    assert not found.ok
    hansard.copy_store(old, new)
    with Store.open(f"sqlite:///{new}") as here:
        assert hansard.verify(here, debate) == found


@pytest.mark.parametrize("lost", ["= 3", "> 5", "> 0"])
def test_a_source_that_lost_entries_is_refused(old, new, lost):
    with Store.open(f"sqlite:///{old}") as store:
        debate = store.debates()[0]
    with closing(sqlite3.connect(old)) as file, file:
        file.execute("DROP TRIGGER lines_stay")
        key = debate.replace("-", "")
        file.execute(
            f"DELETE FROM stored_events WHERE originator_id = ? AND originator_version {lost}",
            (key,),
        )
    assert debate[:8] in refused("copy.damaged", old, new)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("UPDATE blobs SET body = CAST(body || 'x' AS BLOB)", "debate"),
        ("UPDATE heads SET head = ''", "debate"),
        ("INSERT INTO blobs SELECT DISTINCT debate, 'other', x'00' FROM blobs", "debate"),
        ("UPDATE register_hashes SET hash = zeroblob(32)", "root"),
        ("UPDATE checkpoints SET note = 'x'", "checkpoint"),
        (
            "DROP TRIGGER lines_stay; DELETE FROM stored_events WHERE originator_id = '{first}'",
            "number",
        ),
    ],
)
def test_a_target_that_is_not_the_same_is_no_copy(old, new, change, what):
    told = []

    def each(debate):
        told.append(debate)
        if told.count(debate) == 2 and len(told) == 7:  # the first one is compared
            with closing(sqlite3.connect(new)) as file, file:
                file.executescript(change.format(first=debate.replace("-", "")))

    assert what in refused("copy.differs", old, new, each=each)
    with pytest.raises(UsageError, match="not finished"):
        Store.open(f"sqlite:///{new}").debates()


def loses_a_text(path, debate):
    """Take a text of a debate out of a store, and tell nobody; return its name."""
    key = debate.replace("-", "")
    with closing(sqlite3.connect(path)) as file, file:
        (name,) = file.execute("SELECT min(name) FROM blobs WHERE debate = ?", (key,)).fetchone()
        file.execute("DELETE FROM blobs WHERE debate = ? AND name = ?", (key, name))
    return name


@pytest.mark.parametrize("unreadable", [False, True])
@pytest.mark.parametrize("finished", [True, False])
def test_a_text_that_the_source_lost_stays_in_the_copy(
    keys, old, new, monkeypatch, finished, unreadable
):
    """Only what an entry says was erased goes, also where the debate has got other entries."""
    with Store.open(f"sqlite:///{old}") as store:
        debate = run(store)
        hansard.copy_store(old, new)
        if not finished:
            monkeypatch.setattr(copying._Copying, "_require_kept", lambda _: None)
        hansard.hold(debate, store=store, signer=keys.signer("reviewer"), trust=keys.trust())
        last = len(store.lines(debate))
    name = loses_a_text(old, debate)
    if unreadable:
        alter_line(old, debate, last, b"hold", b"held")
    assert "texts" in refused("copy.damaged", old, new)
    with Store.open(f"sqlite:///{new}", unfinished=True) as store:
        assert name in store.bundle(debate).blobs


def test_a_source_that_was_damaged_leaves_a_finished_copy_as_it_is(old, new):
    """It is a backup, and perhaps the only store that still has the record."""
    hansard.copy_store(old, new)
    with Store.open(f"sqlite:///{old}") as store:
        first, *_ = store.debates()
        run(store)
    before = contents(new)
    alter_line(old, first, 1, b"engine", b"ngine_")
    assert first in refused("copy.differs", old, new)
    assert contents(new) == before
    with Store.open(f"sqlite:///{new}") as store:
        assert hansard.verify_store(store).ok


# Beside a copy


def test_list_status_and_export_of_the_source_are_the_same_while_it_is_copied(keys, old, new):
    def said():
        with Store.open(f"sqlite:///{old}") as store:
            rows = hansard.list_debates(store, keys.trust())
            *_, debate = store.debates()
            record = hansard.read_record(store, debate, keys.trust())
            return rows, record.standing(), record.export(keys.signer("export"))

    def of_the_target():
        with Store.open(f"sqlite:///{new}") as store:
            return hansard.list_debates(store)

    before, beside = said(), []

    def each(_):
        beside.append(said())
        with pytest.raises(UsageError, match="not finished"):
            of_the_target()

    hansard.copy_store(old, new, each=each)
    assert beside == [before] * 12
    assert of_the_target() == before[0]


LARGE = """
import sys
from hansard.record.bundle import Head
from hansard.record.canonical import dump
from hansard.record.line import line_hash
from hansard.store.application import Batch, Store
from hansard.store.database import Extras
from uuid import UUID
with Store.open(sys.argv[1], create=True) as store:
    for number in range(1, int(sys.argv[2]) + 1):
        line = dump({"n": number})
        blobs = [(f"{n}" * 64, bytes(int(sys.argv[3]))) for n in range(4)]
        extras = Extras(Head(1, line_hash(line)), blobs)
        store.append(Batch(str(UUID(int=number)), 1, [("call.started", line)], extras))
"""
COPY = "import sys, hansard; hansard.copy_store(*sys.argv[1:])"


@pytest.mark.slow
def test_memory_does_not_grow_with_the_store(tmp_path):
    peaks = []
    for debates in (10, 60):
        old, new = tmp_path / f"old{debates}.db", tmp_path / f"new{debates}.db"
        made = peak(tmp_path, "-c", LARGE, f"sqlite:///{old}", str(debates), "1000000")
        assert made[0] == 0
        code, _, used = peak(tmp_path, "-c", COPY, str(old), str(new))
        assert code == 0
        peaks.append(used)
    assert peaks[1] < peaks[0] + 50_000_000  # of 200 million bytes more


@pytest.mark.slow
def test_a_debate_is_in_memory_once(tmp_path):
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    assert peak(tmp_path, "-c", LARGE, f"sqlite:///{old}", "1", "40000000")[0] == 0
    code, _, used = peak(tmp_path, "-c", COPY, str(old), str(new))
    assert code == 0
    assert used < 360_000_000  # of a debate of 160 million bytes


@pytest.mark.parametrize("left", [4_096, 0.5])
def test_a_damaged_source_is_told_of(tmp_path, left):
    source = tmp_path / "source.db"
    with Store.open(f"sqlite:///{source}", create=True) as store:
        run(store)
    data = source.read_bytes()
    source.write_bytes(data[: left if left > 1 else int(len(data) * left)])
    with pytest.raises(DataError) as caught:
        hansard.copy_store(source, tmp_path / "copy.db")
    assert caught.value.code.startswith("store.")


@pytest.mark.parametrize("what", ["register.Register.lines", "copying._Copying._page"])
def test_a_source_in_which_less_is_found_than_it_says_ends_the_copy(old, new, monkeypatch, what):
    """As where a page is damaged: the last row is there, and no other leads to it."""
    monkeypatch.setattr(f"hansard.store.{what}", lambda *_: [])
    assert refused("copy.damaged", old, new)


WRONG = {
    "originator_id": (None, "x", b"\0"),
    "originator_version": (None, 1.5, "x"),
    "topic": (None, b"\0"),
    "state": (None, 1.5, "x"),
    "length": (1.5, "x"),
}


@pytest.mark.parametrize("column", WRONG)
def test_an_entry_of_a_wrong_type_is_one_clear_error(old, tmp_path, column):
    for number, value in enumerate(WRONG[column]):
        source = tmp_path / f"{number}.db"
        source.write_bytes(old.read_bytes())
        with closing(sqlite3.connect(source)) as file, file:
            file.execute("DROP TRIGGER lines_stand")
            table = "heads" if column == "length" else "stored_events"
            only = "" if column == "length" else " WHERE rowid = 2"
            file.execute(f"UPDATE {table} SET {column} = ?{only}", [value])
        with pytest.raises(DataError) as caught:
            hansard.copy_store(source, tmp_path / f"{number}-new.db")
        assert caught.value.code in ("copy.damaged", "store.corrupt")
