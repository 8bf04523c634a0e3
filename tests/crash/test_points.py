"""A crash at every batch of a debate, simulated: not stored, or stored unacknowledged."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

import playing
from crash.child import PLAYED
from hansard.errors import DataError, UsageError
from hansard.rules.formats import ConsensusSpec
from hansard.runtime import session
from hansard.store.application import Store
from hansard.verify.verifier import verify

SPLIT = {"planner": "release", "critic": "revise", "operator": "escalate"}
AGREED = SPLIT | {"operator": "revise"}


class Died(BaseException):
    """The process ended here: nothing after it happens."""


class DyingStore:
    """A store whose process dies at its n-th batch, before or after the batch is stored."""

    def __init__(self, store, at, how):
        self._store, self._left, self._how = store, at, how

    def __getattr__(self, name):
        return getattr(self._store, name)

    def append(self, *args):
        self._left -= 1
        if self._left < 0:
            raise Died
        if self._left == 0 and self._how == "not stored":
            raise Died
        self._store.append(*args)
        if self._left == 0:
            raise Died


class World:
    """One store, and everybody who was ever asked."""

    def __init__(self, store, votes):
        self.store, self.votes = store, votes
        self.asked: list[str] = []
        self.replied: list[str] = []
        self.spec = ConsensusSpec(
            question="Do we release?",
            debaters=[{"id": seat, "model": "python:seats"} for seat in votes],
            options=["release", "revise", "escalate"],
            threshold=2,
            max_rounds=2,
        )

    tools = None

    async def model(self, request):
        self.asked.append(request.call)
        await asyncio.sleep(0)
        self.replied.append(request.call)
        return self.reply(request)

    def reply(self, request):
        return {"stance": "s", "rationale": "r", "vote": self.votes[request.speaker]}

    @property
    def debate(self):
        return self.store.debates()[-1]

    def live(self, at=0, how=""):
        """Run the debate, or go on with it; return its state, or None if it died or is closed."""
        store = DyingStore(self.store, at, how) if at else self.store
        given = {"models": {"seats": self.model}, "tools": self.tools}
        try:
            if self.store.debates():
                if self.closed:
                    with pytest.raises(UsageError, match="is closed"):
                        asyncio.run(session.resume(self.debate, store, **given))
                    return None
                return asyncio.run(session.resume(self.debate, store, **given)).state
            return asyncio.run(session.run(self.spec, store, Path.cwd(), **given)).state
        except Died:
            return None

    @property
    def closed(self):
        return self.store.events(self.debate)[-1]["type"] == "debate.closed"

    def data(self, kind):
        events = self.store.events(self.debate)
        return [event["data"] for event in events if event["type"] == kind]

    def check(self, state):
        """Nobody was asked twice for a reply that is there, and the outcome is the usual one."""
        verification = verify(self.store.bundle(self.debate))
        assert verification.ok, verification.findings
        assert len(self.asked) == len(set(self.asked))
        started = [row["call"] for row in self.data("call.started")]
        assert set(self.asked) <= set(started)
        answered = [row["call"] for row in self.data("call.answered")]
        failed = self.data("call.failed")
        assert {row["error"] for row in failed} <= {"abandoned"}
        assert sorted(answered + [row["call"] for row in failed]) == sorted(started)
        steps = [call.rpartition(":")[0] for call in answered]
        assert len(steps) == len(set(steps)), "a step has two replies"
        usual = ("escalate", "max_rounds_exhausted", 2, 1)
        if self.votes is AGREED:
            usual = ("revise", "threshold_vote", 1, 2)
        got = state.decision
        assert (got["decision"], got["rule"], got["rounds_run"], got["votes"]) == usual


class Played(World):
    """A debate of a format, with all that this format has."""

    def __init__(self, store, format_):
        super().__init__(store, SPLIT)
        changes, ends = PLAYED[format_]
        self.spec = playing.spec_of(format_, **{"model": "python:seats"} | changes)
        self.reply = playing.script(ends)
        self.used = []
        self.tools = {"look_up": self.look_up}

    async def look_up(self, what: str) -> str:
        self.used.append(what)
        return what

    def check(self, state):
        """Nobody was asked twice for a reply that is there, and no tool was used twice."""
        verification = verify(self.store.bundle(self.debate))
        assert verification.findings == []
        assert len(self.asked) == len(set(self.asked))
        assert set(self.asked) <= {row["call"] for row in self.data("call.started")}
        assert {row["error"] for row in self.data("call.failed")} <= {"abandoned"}
        assert state.closed["outcome"] == "complete"
        assert all(turn.heard for turn in state.turns)
        lost = [row for row in self.data("tool.returned") if not row["ok"]]
        called, returned = self.data("tool.called"), self.data("tool.returned")
        assert len(called) == len(returned)
        assert len(self.used) <= len(called) <= len(self.used) + len(lost)


@pytest.fixture
def worlds():
    """Make worlds with a store each, and close them."""
    with_stores = []

    def world(votes, kind=World):
        with_stores.append(Store.open("sqlite:///:memory:"))
        return kind(with_stores[-1], votes)

    yield world
    for store in with_stores:
        store.close()


def batches(world):
    """Count the batches of an undisturbed run."""
    counted = []
    append = world.store.append
    world.store.append = lambda *args: (counted.append(1), append(*args))
    world.check(world.live())
    return len(counted)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["not stored", "stored"])
def test_a_crash_at_every_batch_of_the_long_example(worlds, how):
    undisturbed = worlds(SPLIT)
    total = batches(undisturbed)
    assert len(undisturbed.store.lines(undisturbed.debate)) == 86
    assert total > 20
    for at in range(1, total + 1):
        world = worlds(SPLIT)
        assert world.live(at, how) is None
        replies = len(world.data("call.answered")) if world.store.debates() else 0
        state = world.live()
        if state is None:  # the last batch: everything was stored
            assert (at, how) == (total, "stored")
            continue
        assert len(world.asked) <= 24 + 3, "at most the calls in flight are asked again"
        assert len(world.data("call.answered")) == 24 >= replies
        world.check(state)


def come_to(state):
    """What a debate comes to, whichever call brought it."""
    turns = [{**turn.data, "call": "", "text": "", "heard": turn.heard} for turn in state.turns]
    return turns, state.counts, state.similarities, {**state.decision, "review": ""}, state.closed


@pytest.mark.slow
@pytest.mark.parametrize("format_", PLAYED)
@pytest.mark.parametrize("how", ["not stored", "stored"])
def test_a_crash_at_every_batch_of_every_format(worlds, format_, how):
    undisturbed = worlds(format_, Played)
    counted = []
    append = undisturbed.store.append
    undisturbed.store.append = lambda *args: (counted.append(1), append(*args))
    usual = undisturbed.live()
    undisturbed.check(usual)
    assert len(counted) >= 2
    for at in range(1, len(counted) + 1):
        world = worlds(format_, Played)
        assert world.live(at, how) is None
        state = world.live()
        if state is None:  # the last batch: everything was stored
            assert how == "stored"
            assert at >= len(counted) - 1  # ends that come at once may share a batch
            continue
        world.check(state)
        assert come_to(state) == come_to(usual)


@pytest.mark.parametrize("how", ["not stored", "stored"])
def test_two_crashes_in_a_row(worlds, how):
    total = batches(worlds(AGREED))
    for first in range(1, total + 1):
        for second in range(1, total + 1):
            world = worlds(AGREED)
            assert world.live(first, how) is None
            state = world.live(second, how) or world.live()
            assert world.closed
            if state:
                world.check(state)


class Disk:
    """Makes a store's recorder fail from its n-th batch on, for some batches."""

    def __init__(self, store, at, batches):
        self.recorder = store._recorder
        self.insert = self.recorder._insert_events
        self.count, self.full = 0, range(at, at + batches)
        self.recorder._insert_events = self

    def __call__(self, *args, **more):
        self.count += 1
        if self.count in self.full:
            raise sqlite3.OperationalError("database or disk is full")
        return self.insert(*args, **more)

    def repair(self):
        self.recorder._insert_events = self.insert


@pytest.mark.parametrize("at", range(1, 8))
@pytest.mark.parametrize("batches", [1, 1000])
def test_a_full_disk_stops_the_debate_and_loses_nothing_stored(worlds, at, batches):
    world = worlds(SPLIT)
    disk = Disk(world.store, at, batches)
    with pytest.raises(DataError, match="disk is full") as caught:
        world.live()
    assert caught.value.code == "store.failed"
    disk.repair()
    if world.store.debates():
        assert verify(world.store.bundle(world.debate)).ok
    world.check(world.live())


@pytest.mark.parametrize("at", range(3, 12))
def test_a_disk_that_fails_once_loses_no_reply(worlds, at):
    """What has arrived is offered to the store once more before the process gives up."""
    world = worlds(SPLIT)
    disk = Disk(world.store, at, 1)
    with pytest.raises(DataError, match="disk is full"):
        world.live()
    disk.repair()
    assert [row["call"] for row in world.data("call.answered")] == world.replied
    world.check(world.live())
    assert len(world.replied) == 24


def test_without_a_lock_the_sequence_number_decides_and_the_loser_stops(worlds):
    """Two runners in one store in memory, which has no lock: each reply is recorded once."""
    world = worlds(SPLIT)
    world.live(6, "stored")
    gates = []

    async def model(request):
        gates.append(asyncio.Event())
        await gates[-1].wait()
        return {"stance": "s", "rationale": "r", "vote": SPLIT[request.speaker]}

    async def race():
        runners = [
            asyncio.ensure_future(
                session.resume(world.debate, world.store, models={"seats": model})
            )
            for _ in range(2)
        ]
        while not all(runner.done() for runner in runners):
            await asyncio.sleep(0)
            for gate in gates:
                gate.set()
        return await asyncio.gather(*runners, return_exceptions=True)

    ends = asyncio.run(race())
    lost = [end for end in ends if isinstance(end, UsageError)]
    assert [error.code for error in lost] == ["store.conflict"]
    (won,) = [end for end in ends if end not in lost]
    assert won.state.closed
    assert verify(world.store.bundle(world.debate)).ok
