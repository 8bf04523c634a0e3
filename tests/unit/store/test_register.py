"""The register is written with the heads that it covers, and its hashes are those of its lines."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from uuid import UUID

import pytest

from hansard.errors import DataError, UsageError
from hansard.record import checkpoint, keys, register, tree
from hansard.record.bundle import Head
from hansard.record.canonical import dump
from hansard.record.line import line_hash
from hansard.record.note import Signer
from hansard.store import registering
from hansard.store.application import Batch, Store
from hansard.store.database import Extras
from hansard.store.registering import Row

DEBATE = "5c1d3e0a-1111-4111-8111-111111111111"
OTHER = "5c1d3e0a-2222-4222-8222-222222222222"
POLICY = "ab" * 32


def entry(kind, n=1, **data):
    return kind, dump({"type": kind, "n": n, "data": data})


OPENED = entry("debate.opened", policy=None)


def put(store, *lines, debate=DEBATE, first=1):
    """Store entries in one batch."""
    head = Head(first + len(lines) - 1, line_hash(lines[-1][1]))
    store.append(Batch(debate, first, lines, Extras(head)))


def said(store):
    """The lines as kind, who, and head."""
    rows = map(register.parse, store.register.lines(store.register.size))
    return [(row.kind, row.tag, row.head) for row in rows]


def line(kind, data, subject=DEBATE):
    return (kind, register.tag(subject), line_hash(data) if type(data) is bytes else data)


def test_an_opening_and_each_head_after_the_close_has_a_line(shelf):
    call, closed = entry("call.started"), entry("debate.closed")
    later = [
        entry(kind, n) for n, kind in enumerate(("review.signed", "outcome.noted", "hold.placed"))
    ]
    put(shelf.store, OPENED, call)
    put(shelf.store, closed, first=3)
    for seq, each in enumerate(later, 4):
        put(shelf.store, each, first=seq)
    assert said(shelf.store) == [
        line("opened", OPENED[1]),
        line("head", closed[1]),
        *(line("head", each[1]) for each in later),
    ]
    rows = [register.parse(row).index for row in shelf.store.register.lines(5)]
    assert rows == [0, 1, 2, 3, 4]
    assert [row.size for row in shelf.store.register.checkpoints()] == [1, 2, 3, 4, 5]


def test_a_gate_has_a_line_and_an_entry_of_an_open_debate_has_none(shelf):
    gate = entry("gate.answered")
    put(shelf.store, gate)
    put(shelf.store, entry("call.started"), debate=OTHER)
    assert said(shelf.store) == [line("gate", gate[1])]


def test_a_policy_has_a_line_before_the_first_debate_under_it_and_no_other(shelf):
    opened = entry("debate.opened", policy=POLICY)
    for debate in (DEBATE, OTHER):
        put(shelf.store, opened, debate=debate)
    assert said(shelf.store) == [
        line("policy_approved", POLICY, POLICY),
        line("opened", opened[1]),
        line("opened", opened[1], OTHER),
    ]
    assert [row.size for row in shelf.store.register.checkpoints()] == [2, 3]


def test_what_is_not_stored_is_not_registered(shelf):
    put(shelf.store, OPENED)
    with pytest.raises(UsageError, match="another process is writing"):
        put(shelf.store, entry("debate.opened", 2, policy=None))
    closed, far = entry("debate.closed"), entry("review.signed")
    batches = [
        Batch(debate, first, [each], Extras(Head(first, line_hash(each[1]))))
        for debate, first, each in ((DEBATE, 2, closed), (OTHER, 9, far))
    ]
    with pytest.raises(UsageError, match="another process is writing"):
        shelf.store.append(*batches)
    assert said(shelf.store) == [line("opened", OPENED[1])]
    assert len([*shelf.store.register.checkpoints()]) == 1


def filled(store, lines):
    """A register of so many lines."""
    rows = (Row("head", str(UUID(int=n)), f"{n:064x}") for n in range(lines))
    assert store.register.add(rows) == lines
    return store.register


def test_every_root_and_proof_is_that_of_the_lines(shelf):
    found = filled(shelf.store, 21)
    leaves = [tree.leaf_hash(data) for data in found.lines(21)]
    edge, roots = tree.Edge(), [tree.EMPTY]
    for leaf in leaves:
        edge.add(leaf)
        roots.append(edge.root())
    assert [found.root(size) for size in range(22)] == roots
    for size in range(1, 22):
        for index in range(size):
            proof = found.inclusion(index, size)
            assert tree.includes(index, size, leaves[index], proof, roots[size])
            proof = found.consistency(index, size)
            assert tree.extends(index, size, roots[index], roots[size], proof)


def test_appending_and_proving_read_as_many_hashes_as_the_tree_is_high(shelf, monkeypatch):
    read, plain = [], registering.reader

    def counting(select):
        inner = plain(select)

        def counted(places):
            read.extend(places)
            return inner(places)

        return counted

    monkeypatch.setattr(registering, "reader", counting)
    found = filled(shelf.store, 1000)
    read.clear()
    found.add([Row("head", DEBATE, POLICY)])
    assert len(read) <= 2 * 10
    for work in (lambda: found.inclusion(500, 1001), lambda: found.consistency(77, 1001)):
        read.clear()
        work()
        assert len(read) <= 10 * 10


def test_a_first_entry_is_a_head_already(shelf):
    put(shelf.store, entry("gate.answered"))
    shelf.store.register.add_head(DEBATE, line_hash(entry("gate.answered")[1]))
    assert len(said(shelf.store)) == 1


def test_a_head_is_registered_once_and_only_as_it_stands(shelf):
    put(shelf.store, OPENED, entry("call.started"))
    head = line_hash(entry("call.started")[1])
    for _ in range(2):
        shelf.store.register.add_head(DEBATE, head)
    assert said(shelf.store)[1:] == [line("head", head)]
    put(shelf.store, entry("debate.closed"), first=3)
    with pytest.raises(UsageError, match="went on since it was read") as caught:
        shelf.store.register.add_head(DEBATE, head)
    assert caught.value.code == "register.moved"
    assert said(shelf.store)[2:] == [line("head", entry("debate.closed")[1])]


@pytest.mark.parametrize("what", ["policy", "key"])
def test_of_a_policy_or_key_each_thing_is_said_once(shelf, what):
    approved, revoked = (Row(f"{what}_{end}", POLICY, POLICY) for end in ("approved", "revoked"))
    register_ = shelf.store.register
    assert register_.add([approved, revoked]) == 2
    assert register_.add([approved, revoked]) == 0
    assert len([*register_.checkpoints()]) == 1


@pytest.mark.slow
def test_processes_that_append_at_once_do_so_one_after_the_other(shelf, tmp_path):
    put(shelf.store, OPENED)
    go = tmp_path / "go"
    command = [sys.executable, "-c", APPEND, shelf.store.url, str(go)]
    processes = [
        subprocess.Popen(
            [*command, str(number)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for number in range(1, 5)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    go.touch()
    assert [process.communicate()[0] for process in processes] == [""] * 4
    found = shelf.store.register
    lines = [register.parse(data) for data in found.lines(found.size)]
    assert [row.index for row in lines] == list(range(1 + 4 * 3 * 10))
    edge, roots = tree.Edge(), {}
    for row in lines:
        edge.add(row.leaf)
        roots[edge.size] = edge.root()
    kept = [*found.checkpoints()]
    assert len(kept) == 1 + 4 * 2 * 10
    assert all(row.root == roots[row.size] for row in kept)


APPEND = """
import sys, time
from pathlib import Path
from uuid import UUID
from hansard.record.bundle import Head
from hansard.store.application import Batch, Store
from hansard.store.registering import Row
from hansard.store.database import Extras
number = int(sys.argv[3])
with Store.open(sys.argv[1]) as store:
    store.register.size
    print("ready", flush=True)
    while not Path(sys.argv[2]).exists():
        time.sleep(0.001)
    for n in range(10):
        debate = str(UUID(int=number * 100 + n))
        line = ("debate.opened", b'{"data":{"policy":null}}')
        store.append(Batch(debate, 1, [line], Extras(Head(1, "h"))))
        subject = f"{number * 100 + n:064x}"
        store.register.add([Row(f"key_{end}", subject, subject) for end in ("approved", "revoked")])
"""


def test_the_origin_is_given_by_the_first_key_that_signs_and_stays(shelf):
    found = shelf.store.register
    assert found.origin is None
    assert found.name("acme/log") == found.origin == f"acme/log/{found.id}"
    assert found.name("acme/log") == found.origin
    with pytest.raises(UsageError, match="another name") as caught:
        found.name("other/log")
    assert caught.value.code == "register.key"
    assert found.origin == f"acme/log/{found.id}"
    with Store.open("sqlite:///:memory:") as other:
        assert other.register.id != found.id


def signed(found, size, *names):
    """Sign the checkpoint after `size` lines by the log key, and as many witnesses."""
    head = checkpoint.Head(found.name("acme/log"), size, found.root(size))
    data = checkpoint.sign(head, Signer("acme/log", keys.generate()))
    for name in names:
        data = checkpoint.cosign(data, Signer(name, keys.generate()), 1)
    with found.keeping(size) as (_, keep):
        keep(checkpoint.parse(data))
    return data


def test_the_checkpoint_that_most_witnesses_saw_is_given_and_of_those_the_newest(shelf):
    found = filled(shelf.store, 3)
    for n in range(3):
        found.add([Row("head", DEBATE, f"{n:064x}")])
    assert found.signed(0) is None
    data = {size: signed(found, size) for size in (2, 4, 5)}
    assert found.signed(0).note == data[5]
    assert found.signed(6) is None
    seen = signed(found, 4, "one/witness", "two/witness")
    signed(found, 5, "one/witness")
    assert found.signed(0).note == seen
    assert found.signed(5).size == 5
    assert found.checkpoint(4).note == seen
    assert found.checkpoint(6).note is None
    assert found.checkpoint(2) == (2, found.root(2), data[2])
    assert found.checkpoint(1) is None


@pytest.mark.parametrize("trigger", ["DELETE FROM register", "UPDATE register SET line = x'00'"])
def test_lines_are_neither_deleted_nor_changed_by_accident(shelf, trigger):
    put(shelf.store, OPENED)
    said = "lines of the register are never"
    with closing(sqlite3.connect(shelf.path)) as file, pytest.raises(sqlite3.Error, match=said):
        file.execute(trigger)


DAMAGED = {
    "a line that is no line": ("register", "line", b"{}", "of"),
    "a line that is no bytes": ("register", "line", "text", "lines"),
    "a hash of another length": ("register_hashes", "hash", b"x", "root"),
    "a root of another length": ("checkpoints", "root", b"x", "checkpoints"),
    "a note that is no bytes": ("checkpoints", "note", "text", "checkpoints"),
    "an id that is no text": ("register_log", "id", b"x", "id"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damage_is_named(shelf, what):
    put(shelf.store, OPENED)
    table, column, value, read = DAMAGED[what]
    unlocked = ("DROP TRIGGER IF EXISTS register_stands",)
    shelf.sql(unlocked, (f"UPDATE {table} SET {column} = ?", value))
    reads = {
        "of": lambda found: found.of(DEBATE),
        "lines": lambda found: list(found.lines(1)),
        "root": lambda found: found.root(1),
        "checkpoints": lambda found: list(found.checkpoints()),
        "id": lambda found: found.id,
    }
    with pytest.raises(DataError) as caught:
        reads[read](shelf.store.register)
    assert caught.value.code in ("register.damaged", "register.line")


def test_a_line_far_beyond_the_others_is_not_walked_to(shelf):
    put(shelf.store, OPENED)
    added = "INSERT INTO register VALUES (?, 'tag', x'00')"
    shelf.sql((added, tree.MAX_SIZE - 1))
    assert shelf.store.register.size == tree.MAX_SIZE
    assert len(list(shelf.store.register.lines(tree.MAX_SIZE))) == 1
    assert len(list(shelf.store.register.hashes(tree.MAX_SIZE))) == 1
    shelf.sql((added, (1 << 63) - 1))
    for read in (lambda found: found.size, lambda found: found.add([Row("head", DEBATE, "x")])):
        with pytest.raises(DataError) as caught:
            read(shelf.store.register)
        assert caught.value.code == "register.damaged"


def test_a_hash_that_is_gone_is_named(shelf):
    put(shelf.store, OPENED)
    shelf.sql(("DELETE FROM register_hashes",))
    with pytest.raises(DataError, match="a hash is missing"):
        shelf.store.register.root(1)


def test_a_store_without_a_register_is_refused(shelf):
    shelf.fill()
    shelf.store.close()
    shelf.sql(*((f"DROP TABLE {name}",) for name in ("register",)))
    with pytest.raises(DataError, match="has no register") as caught:
        Store.open(shelf.store.url).debates()
    assert caught.value.code == "store.old"
