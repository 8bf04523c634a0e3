"""Debates that wait for the disk together share a transaction, and nothing else."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.errors import DataError, HansardError, UsageError
from hansard.record import blob
from hansard.record.bundle import Head
from hansard.record.chain import Chain
from hansard.rules.events import Fact
from hansard.runtime import journal as module
from hansard.runtime.clock import Clock
from hansard.runtime.journal import Journal
from hansard.store.application import Store
from instant import GUARD


class Shelf(Store):
    """A store in memory that notes whose lines a transaction brought, and can be made to fail."""

    def ready(self):
        self.stored, self.tried, self.fails = [], [], lambda debates: None
        return self

    def append(self, *batches):
        debates = [batch.debate for batch in batches]
        self.tried.append(debates)
        if error := self.fails(debates):
            raise error
        super().append(*batches)
        self.stored.append(debates)


class Debate(Journal):
    """A journal that remembers what it was given."""

    def __init__(self, shelf, number):
        super().__init__(shelf, Chain(f"5c1d3e0a-1111-4111-8111-{number:012}"), Clock())
        self.shelf, self.given = shelf, []

    def grow(self, lines=1):
        for _ in range(lines):
            text = f"text {len(self.given)}"
            self.given.append(text)
            self.blob(text)
            self.add(Fact("debate.resumed", {"engine": f"hansard/{len(self.given)}"}))
        return self

    @property
    def kept(self):
        """How many lines are stored, once they are seen to be the first of what was given."""
        bundle = self.shelf.bundle(self.debate)
        assert [json.loads(line)["data"]["engine"] for line in bundle.lines] == [
            f"hansard/{n}" for n in range(1, len(bundle.lines) + 1)
        ]
        prev = "0" * 64
        for line in bundle.lines:
            assert json.loads(line)["prev"] == prev
            prev = sha256(line).hexdigest()
        assert bundle.head == (Head(len(bundle.lines), prev) if bundle.lines else Head(0, ""))
        texts = {blob.unpack(file) for file in bundle.blobs.values()}
        assert texts == set(self.given[: len(bundle.lines)])
        return len(bundle.lines)


@pytest.fixture
def shelf():
    with Shelf.open("sqlite:///:memory:") as store:
        yield store.ready()
    assert module._waiting == {}


@pytest.fixture
def debates(shelf):
    return [Debate(shelf, number) for number in range(5)]


def ids(journals):
    return [journal.debate for journal in journals]


async def together(*awaitables):
    return await asyncio.gather(*awaitables, return_exceptions=True)


def commit(journals):
    return asyncio.run(together(*(journal.commit() for journal in journals)))


def test_those_who_wait_at_the_same_time_are_one_transaction(shelf, debates):
    for lines, journal in enumerate(debates, 1):
        journal.grow(lines)
    assert commit(debates) == [None] * 5
    assert shelf.stored == [ids(debates)]
    for lines, journal in enumerate(debates, 1):
        assert journal.kept == lines
        journal.grow()
    assert commit(debates[3:]) == [None] * 2
    assert shelf.stored[1:] == [ids(debates[3:])]
    assert [journal.kept for journal in debates] == [1, 2, 3, 5, 6]


def test_so_many_and_no_more_are_one_transaction(shelf, debates, monkeypatch):
    monkeypatch.setattr(module, "_TOGETHER", 2)
    for each in debates:
        each.grow()
    assert commit(debates) == [None] * 5
    assert shelf.stored == [ids(debates[:2]), ids(debates[2:4]), ids(debates[4:])]
    assert [each.kept for each in debates] == [1] * 5


def test_one_alone_costs_one_turn_of_the_loop_and_one_transaction(shelf, debates):
    turns = []

    async def alone():
        asyncio.get_running_loop().call_soon(turns.append, "next")
        await debates[0].grow(3).commit()
        asyncio.get_running_loop().call_soon(turns.append, "one more")
        await debates[0].commit()  # there is nothing to store
        return list(turns)

    assert asyncio.run(alone()) == ["next"]
    assert shelf.tried == [ids(debates[:1])]
    assert debates[0].kept == 3


def test_what_is_added_while_one_waits_goes_with_it(shelf, debates):
    async def late():
        task = asyncio.ensure_future(debates[0].grow().commit())
        asyncio.get_running_loop().call_soon(debates[0].grow)
        await together(task, debates[1].grow().commit())

    asyncio.run(late())
    assert debates[0].kept == 2
    assert shelf.stored == [ids(debates[:2])]


def test_one_that_waits_twice_is_stored_once(shelf, debates):
    one = debates[0].grow()
    assert commit([one, debates[1].grow(), one]) == [None] * 3
    assert shelf.stored == [ids(debates[:2])]


def test_who_goes_on_at_once_waits_for_the_others_again(shelf, debates):
    async def twice(journal):
        await journal.grow().commit()
        await journal.grow().commit()

    asyncio.run(together(*map(twice, debates)))
    assert shelf.stored == [ids(debates)] * 2
    assert [journal.kept for journal in debates] == [2] * 5


def test_who_has_stored_its_own_meanwhile_spoils_nothing(shelf, debates):
    async def main():
        waiting = [asyncio.ensure_future(journal.grow().commit()) for journal in debates]
        asyncio.get_running_loop().call_soon(debates[1].flush)
        return await together(*waiting)

    assert asyncio.run(main()) == [None] * 5
    assert shelf.tried == [ids(debates[1:2]), ids(debates[:1] + debates[2:])]
    assert [journal.kept for journal in debates] == [1] * 5


def test_a_conflict_stops_its_own_debate_alone(shelf, debates):
    Debate(shelf, 2).grow(2).flush()  # another process was first
    for journal in debates:
        journal.grow()
    found = commit(debates)
    assert found.pop(2).code == "store.conflict"
    assert found == [None] * 4
    assert [row.kept for row in debates if row is not debates[2]] == [1] * 4
    assert len(shelf.lines(debates[2].debate)) == 2
    assert shelf.tried[1:] == [ids(debates), *([name] for name in ids(debates))]


@pytest.mark.parametrize(
    "error", [DataError("store.failed", "too large"), OverflowError("too large")]
)
def test_what_cannot_be_stored_stops_its_own_debate_alone(shelf, debates, error):
    poisoned = debates[0].grow()  # whoever waits first stores for all
    shelf.fails = lambda names: error if poisoned.debate in names else None
    first, *others = commit([poisoned, *(journal.grow() for journal in debates[1:])])
    assert first is error
    assert others == [None] * 4
    assert [journal.kept for journal in debates] == [0, 1, 1, 1, 1]
    shelf.fails = lambda names: None
    poisoned.flush()
    assert poisoned.kept == 1


def test_a_disk_that_is_full_is_said_to_each(shelf, debates):
    shelf.fails = lambda names: DataError("store.failed", "the disk is full")
    found = commit([journal.grow() for journal in debates])
    assert [error.code for error in found] == ["store.failed"] * 5
    shelf.fails = lambda names: None
    for journal in debates:
        journal.flush()
        assert journal.kept == 1


def test_who_is_interrupted_while_it_stores_for_all_leaves_the_others_to_store_alone(
    shelf, debates
):
    class Stopped(BaseException):
        pass

    shelf.fails = lambda names: Stopped() if len(names) > 1 else None
    first, *others = commit([journal.grow() for journal in debates])
    assert isinstance(first, Stopped)
    assert others == [None] * 4
    assert [journal.kept for journal in debates] == [0, 1, 1, 1, 1]


@pytest.mark.parametrize("cancelled", [[0], [2], [0, 1], [4], [0, 1, 2, 3, 4]])
@pytest.mark.parametrize("full", [False, True])
def test_who_is_cancelled_has_stored_or_still_can(shelf, debates, cancelled, full):
    """As the engine does: cancelled while it waits, it flushes and says so."""
    if full:
        shelf.fails = lambda names: DataError("store.failed", "full") if len(names) > 1 else None
    ends = []

    async def run(journal):
        try:
            await journal.grow().commit()
        finally:
            journal.flush()
            ends.append((journal, journal.kept))

    async def main():
        tasks = [asyncio.ensure_future(run(journal)) for journal in debates]
        await asyncio.sleep(0)
        for number in cancelled:
            tasks[number].cancel()
        return await together(*tasks)

    found = asyncio.run(main())
    assert [number for number, end in enumerate(found) if end is not None] == cancelled
    assert ends == [(journal, 1) for journal in debates]
    assert sum(map(len, shelf.stored)) == 5, "nothing is stored twice"


def test_a_loop_that_ends_while_debates_wait_leaves_nothing_undone(shelf, debates):
    async def main():
        for journal in debates:
            asyncio.ensure_future(journal.grow().commit())  # noqa: RUF006
        await asyncio.sleep(0)

    asyncio.run(main())
    assert [journal.kept for journal in debates] == [1] * 5


def test_loops_and_stores_have_groups_of_their_own(shelf, debates):
    """Two threads on one store never write each other's lines."""
    debates[4].grow().flush()  # the store is open
    shelf.stored.clear()
    both = threading.Barrier(2, timeout=GUARD)
    found = []

    async def meet(journals):
        tasks = [asyncio.ensure_future(journal.grow().commit()) for journal in journals]
        asyncio.get_running_loop().call_soon(both.wait)  # all of them wait
        found.append(await together(*tasks))

    threads = [
        threading.Thread(target=asyncio.run, args=(meet(some),))
        for some in (debates[:2], debates[2:])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found in ([[None] * 2, [None] * 3], [[None] * 3, [None] * 2])
    assert sorted(shelf.stored) == [ids(debates[:2]), ids(debates[2:])]
    with Shelf.open("sqlite:///:memory:") as other:
        there = Debate(other.ready(), 9)
        assert commit([debates[0].grow(), there.grow(), debates[1].grow()]) == [None] * 3
        assert (shelf.stored[2:], other.stored) == ([ids(debates[:2])], [[there.debate]])


def test_many_at_once_leave_no_thread(shelf, debates):
    before = threading.active_count()
    assert commit([journal.grow() for journal in debates]) == [None] * 5
    assert threading.active_count() == before


STEPS = st.lists(st.sampled_from(["grow", "commit", "turn", "flush"]), max_size=8)
PLAN = st.lists(st.tuples(STEPS, st.none() | st.integers(0, 8)), min_size=1, max_size=5)


@settings(max_examples=150, deadline=None)
@given(PLAN, st.sets(st.integers(1, 30), max_size=4), st.sets(st.integers(0, 4), max_size=2))
def test_whatever_happens_each_debate_keeps_exactly_its_own_lines_in_order(plan, full, lost):
    """Debates take their steps in turns; some are cancelled, some appends fail, some conflict."""
    with Shelf.open("sqlite:///:memory:") as shelf:
        shelf.ready()
        debates = [Debate(shelf, number) for number in range(len(plan))]
        first = [Debate(shelf, number) for number in lost]  # another process is before these
        for journal in first:
            journal.grow().flush()
        shelf.fails = lambda names: (
            DataError("store.failed", "full") if len(shelf.tried) - len(first) in full else None
        )
        ends = asyncio.run(play(debates, plan))
        assert [journal.kept for journal in first] == [1] * len(first)
        for number, (journal, end) in enumerate(zip(debates, ends, strict=True)):
            if number not in lost:
                assert journal.kept <= len(journal.given)
                assert end is not None or journal.kept == len(journal.given)
            elif journal.given:
                assert end is not None, "who lost the race says so"
    assert module._waiting == {}


async def play(journals, plan):  # noqa: C901 - one walk
    """Take the steps of every journal; return the error with which each ended, or None."""

    async def live(journal, steps):
        try:
            for step in steps:
                if step == "grow":
                    journal.grow()
                elif step == "turn":
                    await asyncio.sleep(0)
                elif step == "flush":
                    journal.flush()
                else:
                    await journal.commit()
                if step in ("flush", "commit") and journal.given:
                    assert journal.kept == len(journal.given), "it returned before it was stored"
        finally:
            journal.flush()

    async def end(journal, steps, turns):
        task = asyncio.ensure_future(live(journal, steps))
        for _ in range(0 if turns is None else turns):
            await asyncio.sleep(0)
        if turns is not None:
            task.cancel()
        with suppress(asyncio.CancelledError):
            try:
                await task
            except HansardError as error:
                return error
        return None

    rows = zip(journals, plan, strict=True)
    return await asyncio.gather(*(end(row, *steps) for row, steps in rows))


def test_a_conflict_of_one_alone_is_raised_where_it_waits(shelf, debates):
    Debate(shelf, 0).grow(2).flush()
    with pytest.raises(UsageError, match=debates[0].debate):
        asyncio.run(debates[0].grow().commit())
    assert len(shelf.tried) == 2, "it is not tried again"
