"""What is stored: entries and texts, the register, and who stores at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

import pytest

import hansard
from hansard.errors import DataError, HansardError, UsageError
from hansard.record import blob, checkpoint, keys, register, tree
from hansard.record.bundle import Head
from hansard.record.line import line_hash
from hansard.record.note import Signer
from hansard.store import registering
from hansard.store.application import Batch, Store
from hansard.store.database import Extras
from hansard.store.registering import Row as Line
from hansard.testing.filling import ONE, OPENED, THREE, TWO, fill, put

_TRIES, _PAUSE = 600, 0.05  # until what never comes is given up; seconds


def _code(function: Callable[..., object], *args: object) -> str:
    with pytest.raises(HansardError) as caught:
        function(*args)
    assert "\n" not in str(caught.value)
    return caught.value.code


# What is stored


def test_what_was_appended_comes_back_byte_for_byte(store_url: str) -> None:
    line = b'{"any":"bytes","even":not json \xff\x00 ? % :name}'
    file = blob.pack("a text \0 with ? and % and :name", bytes(32))
    folder = os.fsdecode(b"/home/\xff?%")
    with hansard.open_store(store_url) as store:
        store.append(
            Batch(ONE, 1, [("t", line)], Extras(Head(1, "h" * 64), [file], (), folder))
        )  # fmt: skip
    with hansard.open_store(store_url) as store:
        found = store.bundle(ONE)
        assert (list(found.lines), found.blobs, found.head) == (
            [line],
            dict([file]),
            Head(1, "h" * 64),
        )
        assert type(found.lines[0]) is bytes
        assert (store.lines(ONE), store.folder(ONE)) == ([line], Path(folder))
        assert store.text(ONE, file[0]) == "a text \0 with ? and % and :name"
        with pytest.raises(KeyError):
            store.text(TWO, file[0])


def test_a_debate_that_is_not_there_is_empty(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        fill(store)
        found = store.bundle(TWO)
        assert (list(found.lines), found.blobs, found.head) == ([], {}, Head(0, ""))
        assert (store.lines(TWO), store.folder(TWO)) == ([], None)
        assert _code(store.opening, TWO) == "4.json"


@pytest.mark.parametrize("first", [1, 2, 3, 5, 9])
def test_only_the_next_number_is_taken(store_url: str, first: int) -> None:
    with hansard.open_store(store_url) as store:
        before, lines = fill(store), store.register.size
        file, folder = blob.pack("new", bytes(32)), "/new" if first == 1 else None
        extras = Extras(Head(first, "x"), [file], [("cd" * 32, b"new")], folder)
        assert (
            _code(store.append, Batch(ONE, first, [("debate.closed", b"{}")], extras))
            == "store.conflict"
        )
        assert (store.bundle(ONE), store.register.size) == (before, lines)
        assert store.folder(ONE) == Path("/somewhere")
        put(store, ("review.signed", b"{}"), first=4)
        assert len(store.lines(ONE)) == 4


def test_what_is_there_already_byte_for_byte_is_stored_once(store_url: str) -> None:
    """Its process heard of an error, though it was stored; another text is a conflict."""
    with hansard.open_store(store_url) as store:
        before = fill(store)
        assert fill(store) == before
        lines = [("t", line) for line in before.lines]
        other = Extras(Head(3, "x"), [blob.pack("another text", bytes(32))])
        assert _code(store.append, Batch(ONE, 1, lines, other)) == "store.conflict"
        assert store.bundle(ONE) == before


def test_the_batches_of_several_debates_are_stored_all_or_none(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        before = fill(store)
        good = Batch(TWO, 1, [OPENED], Extras(Head(1, "x"), folder="/new"))
        bad = Batch(ONE, 3, [("t", b"{}")], Extras(Head(3, "x")))
        for batches in ((good, bad), (bad, good)):
            with pytest.raises(UsageError, match=ONE) as caught:
                store.append(*batches)
            assert caught.value.code == "store.conflict"
            assert (store.debates(), store.folder(TWO)) == ([ONE], None)
            assert store.bundle(ONE) == before
        store.append(good, bad._replace(first=4, extras=Extras(Head(4, "x"))))
        assert store.debates() == [ONE, TWO]


def test_nothing_is_stored_of_what_fails_on_the_way(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DataError("store.test", "it fails once all else is written")

    with hansard.open_store(store_url) as store:
        before = fill(store)
        with monkeypatch.context() as patch:
            patch.setattr(registering, "append", fail)
            batch = Batch(ONE, 4, [("debate.closed", b"{}")], Extras(Head(4, "x")))
            assert _code(store.append, batch) == "store.test"
        assert store.bundle(ONE) == before


def test_erased_texts_are_gone_and_the_rest_is_not(store_url: str) -> None:
    files = [blob.pack(text, bytes([n]) * 32) for n, text in enumerate(("stays", "goes"))]
    with hansard.open_store(store_url) as store:
        for debate in (ONE, TWO):
            store.append(Batch(debate, 1, [OPENED], Extras(Head(1, "x"), files)))
        said = Extras(Head(2, "y"), erased=[files[1][0]])
        store.append(Batch(ONE, 2, [("text.redacted", b"{}")], said))
        store.scrub()
        assert store.bundle(ONE).blobs == dict(files[:1])
        assert store.bundle(TWO).blobs == dict(files)


# Finding


def test_debates_are_found_by_the_beginning_of_their_id(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        for debate in (THREE, ONE, TWO):
            fill(store, debate)
        assert store.debates() == [THREE, ONE, TWO], "as they were opened"
        assert store.find(TWO) == store.find(TWO[:11]) == store.find(TWO[:11].upper()) == TWO
        assert store.find("aa") == THREE
        assert _code(store.find, TWO[:8]) == "store.ambiguous"
        spelled = ("", "6", "%", "_", "?", "x" * 99, f"{TWO}0", TWO.replace("-", ""), "-", "\ud800")
        for prefix in spelled:
            assert _code(store.find, prefix) == "store.unknown"


def test_texts_are_found_in_other_debates_word_for_word(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        for debate in (ONE, TWO, THREE):
            fill(store, debate, f"The ledger of {debate[:2]} says 100 % \\ 'so'?")
        assert store.holding(ONE, ["ledger of 5c says 100 % \\ 'so'?", "short"]) == {TWO: 1}
        assert store.holding(ONE, ["the ledger of 5c", "short"]) == {}
        many = [f"the ledger of {number:02}" for number in range(20)]
        assert store.holding(ONE, many) == {}
        assert store.holding(ONE, [*many, " edger of 5c says"]) == {TWO: 1}
        assert store.holding(TWO, [*many, "says 100 % \\ 'so'?"]) == {ONE: 1, THREE: 1}


def test_a_long_text_is_found_whole_in_another_debate_and_not_by_its_ends(
    store_url: str,
) -> None:
    long = "a clause of the lease, " * 40
    with hansard.open_store(store_url) as store:
        fill(store, ONE, long)
        fill(store, TWO, f"It says: {long}and so on")
        fill(store, THREE, f"{long[:400]}(in part) {long[400:]}")
        assert store.holding(ONE, [long, long]) == {TWO: 1}


def test_debates_whose_opening_names_another_are_found(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        put(store, OPENED)
        put(store, ("debate.opened", b'{"data":{"policy":null},"of":"%s"}' % ONE.encode()),
             debate=TWO)  # fmt: skip
        assert (store.naming(ONE), store.naming(TWO)) == ([TWO], [])


# The register


def _filled(store: Store, lines: int) -> None:
    rows = (Line("head", str(UUID(int=n)), f"{n:064x}") for n in range(lines))
    assert store.register.add(rows) == lines


def test_the_register_has_a_line_for_each_head_in_the_order_in_which_they_came(
    store_url: str,
) -> None:
    with hansard.open_store(store_url) as store:
        for debate in (TWO, ONE):
            fill(store, debate)
        put(store, ("review.signed", b"{}"), debate=TWO, first=4)
        found = store.register
        lines = [register.parse(line) for line in found.lines(found.size)]
        order = [("opened", TWO), ("head", TWO), ("opened", ONE), ("head", ONE), ("head", TWO)]
        assert [(row.index, row.kind, row.tag) for row in lines] == [
            (n, kind, register.tag(debate)) for n, (kind, debate) in enumerate(order)
        ]
        assert [row.size for row in found.checkpoints()] == [2, 4, 5]
        assert [row.index for row in found.of(TWO)] == [0, 1, 4]
        hashes = [line_hash(line) for line in store.bundle(TWO).lines]
        assert list(found.entries(TWO)) == hashes[::-1]
        assert [(row.debate, row.over) for row in found.debates()] == [(ONE, True), (TWO, True)]


def test_every_root_and_proof_is_that_of_the_lines(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        _filled(store, 11)
        found = store.register
        leaves = [tree.leaf_hash(data) for data in found.lines(11)]
        edge, roots, hashes = tree.Edge(), [tree.EMPTY], list[bytes]()
        for leaf in leaves:
            hashes += tree.added(edge.size, leaf, tree.reader(hashes))
            edge.add(leaf)
            roots.append(edge.root())
        assert [found.root(size) for size in range(12)] == roots
        assert list(found.hashes(11)) == hashes
        for index in range(11):
            proof = found.inclusion(index, 11)
            assert tree.includes(index, 11, leaves[index], proof, roots[11])
            assert tree.extends(index, 11, roots[index], roots[11], found.consistency(index, 11))


def test_a_checkpoint_is_kept_with_its_note(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        _filled(store, 3)
        found = store.register
        assert (found.origin, found.signed(0)) == (None, None)
        head = checkpoint.Head(found.name("acme/log"), 3, found.root(3))
        note = checkpoint.sign(head, Signer("acme/log", keys.generate()))
        with found.keeping(3) as (_, keep):
            keep(checkpoint.parse(note))
        assert (found.signed(0), found.checkpoint(3)) == ((3, head.root, note),) * 2
        assert found.origin == f"acme/log/{found.id}" == found.name("acme/log")
        assert found.is_named(head.origin)
        assert _code(found.name, "other/log") == "register.key"


def test_a_head_is_registered_once_and_only_as_it_stands(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        put(store, OPENED, ("call.started", b"{}"))
        for _ in range(2):
            store.register.add_head(ONE, line_hash(b"{}"))
        assert store.register.size == 2
        assert _code(store.register.add_head, ONE, "ab" * 32) == "register.moved"


def test_a_row_is_said_once(store_url: str) -> None:
    policy = "ab" * 32
    rows = [Line("policy_approved", policy, policy), Line("policy_revoked", policy, policy)]
    with hansard.open_store(store_url) as store:
        assert (store.register.add(rows), store.register.add(rows)) == (2, 0)


# Several processes


_APPEND = """
import sys
from hansard.testing.stored import OPENED, UUID, Batch, Extras, Head, hansard
number = int(sys.argv[2])
with hansard.open_store(sys.argv[1]) as store:
    store.register.size
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(10):
        debate = str(UUID(int=number * 100 + n))
        store.append(Batch(debate, 1, [OPENED], Extras(Head(1, "h"))))
        store.append(Batch(debate, 2, [("debate.closed", b"{}")], Extras(Head(2, "h"))))
"""
_HOLD = """
import sys
import hansard
with hansard.open_store(sys.argv[1]) as store, store.runner(sys.argv[2]):
    print("ready", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def _processes(*commands: Sequence[str]) -> Iterator[list[subprocess.Popen[str]]]:
    """Start processes, wait until each is ready, and end them whatever happens."""
    started = list[subprocess.Popen[str]]()
    try:
        for script, *words in commands:
            process = subprocess.Popen(
                [sys.executable, "-c", script, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            started.append(process)
        for process in started:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def test_processes_that_append_at_once_do_so_one_after_the_other(store_url: str) -> None:
    with _processes(*((_APPEND, store_url, str(n)) for n in range(1, 4))) as started:
        for process in started:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        assert [process.communicate()[0] for process in started] == [""] * 3
    with hansard.open_store(store_url) as store:
        found = store.register
        lines = [register.parse(data) for data in found.lines(found.size)]
        assert [row.index for row in lines] == list(range(3 * 10 * 2))
        edge, roots = tree.Edge(), {}
        for row in lines:
            edge.add(row.leaf)
            roots[edge.size] = edge.root()
        assert {row.size: row.root for row in found.checkpoints()} == roots
        opened = [row.tag for row in lines if row.kind == "opened"]
        assert opened == [register.tag(debate) for debate in store.debates()], "one order for all"


def _runs(store: Store, debate: str = ONE) -> bool:
    try:
        with store.runner(debate):
            return True
    except UsageError as error:
        assert error.code == "store.running"
        return False


def test_a_debate_is_run_by_one_process_until_it_is_gone(store_url: str) -> None:
    with hansard.open_store(store_url) as store:
        fill(store)
        with _processes((_HOLD, store_url, ONE)) as (holder,):
            assert not _runs(store)
            assert _runs(store, TWO), "other debates are free"
            holder.kill()  # nothing is cleaned up
            holder.wait()
            for _ in range(_TRIES):  # a server may hear of it a moment later
                if _runs(store):
                    break
                time.sleep(_PAUSE)
            assert _runs(store)
        with hansard.open_store(store_url) as other, store.runner(ONE), other.runner(TWO):
            assert not _runs(store)
            assert not _runs(other)
        with suppress(ZeroDivisionError), store.runner(ONE):
            raise ZeroDivisionError
        assert _runs(store)
