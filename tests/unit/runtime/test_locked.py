"""A store that others keep locked while debates run: what was paid for is kept until it is free."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest

import instant
from hansard.errors import DataError
from hansard.runtime import session
from hansard.runtime.models.base import Completion, ToolCall
from hansard.store import sqlite
from hansard.store.application import Store
from playing import answer, spec_of

LONG = 1_000  # seconds


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store in a file, of which no writer waits for a lock by itself."""
    monkeypatch.setattr(sqlite, "LOCK_SECONDS", 0)
    with Store.open(f"sqlite:///{tmp_path}/hansard.db", create=True) as opened:
        yield opened


@pytest.fixture
def other(store, tmp_path):
    """Somebody else's connection to it."""
    store.debates()  # it is there
    with closing(sqlite3.connect(tmp_path / "hansard.db", isolation_level=None)) as connection:
        yield connection


@pytest.fixture
def slept(other, monkeypatch):
    """How long the loop is held up, each time; after the fifth the store is free."""
    found = []

    def sleep(seconds):
        found.append(seconds)
        if len(found) == 5:
            other.rollback()

    monkeypatch.setattr("hansard.runtime.journal.time.sleep", sleep)
    return found


def debating(store, model, tmp_path, **given):
    return session.run(
        spec_of("panel", **given),
        store,
        tmp_path,
        models={"bot": model},
        clock=instant.Clock(),
        tools=given.get("tools") and {"look": lambda: "nothing"},
    )


def locking(other, at):
    """Answer, and lock the store before the reply to the call of that number, for long."""
    asked = []

    async def model(request):
        asked.append(request.call)
        if len(asked) == at:
            other.execute("BEGIN IMMEDIATE")
            asyncio.get_running_loop().call_later(LONG, other.rollback)
        await asyncio.sleep(10 if len(asked) > at else 0)
        return answer(request)

    return model, asked


@pytest.mark.parametrize("at", range(1, 7))
def test_a_debate_waits_for_as_long_as_it_takes(store, other, tmp_path, caplog, at):
    model, asked = locking(other, at)

    async def play():
        found = await debating(store, model, tmp_path, convergence_check=False)
        return found, asyncio.get_running_loop().time()

    found, now = instant.run(play())
    assert found.state.closed["outcome"] == "complete"
    assert len(asked) == len(set(asked)) == 6
    assert LONG <= now < LONG + 100
    locked, free = (row.message for row in caplog.records)
    assert f"{tmp_path}/hansard.db locked" in locked
    assert f"{tmp_path}/hansard.db is free again" in free


def test_debates_that_wait_try_once_and_are_told_of_once(
    store, other, tmp_path, caplog, monkeypatch
):
    """Each attempt holds up the loop for a minute."""
    model, asked = locking(other, 4)
    append, failed = store.append, []

    def counted(*batches):
        try:
            append(*batches)
        except DataError as error:
            failed.append(error.code)
            raise

    monkeypatch.setattr(store, "append", counted)

    async def play():
        return await asyncio.gather(
            *(debating(store, model, tmp_path, convergence_check=False) for _ in range(5))
        )

    played = instant.run(play())
    assert [row.state.closed["outcome"] for row in played] == ["complete"] * 5
    assert len(asked) == 30
    assert len(caplog.records) == 2
    assert failed == ["store.busy"]


def test_a_tool_is_not_used_before_its_call_is_stored(store, other, tmp_path, slept):
    """The loop does nothing else meanwhile."""

    async def model(request):
        if request.call == "r0.draft.ann:1":
            other.execute("BEGIN IMMEDIATE")
            return Completion("", tool_calls=(ToolCall("look", "{}"),))
        return answer(request)

    found = instant.run(debating(store, model, tmp_path, tools=["look"]))
    assert found.state.closed["outcome"] == "complete"
    assert len(slept) == 5


def test_a_debate_that_has_not_begun_does_not_wait(store, other, tmp_path):
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DataError) as caught:
        instant.run(debating(store, answer, tmp_path))
    assert caught.value.code == "store.busy"
    other.rollback()
    assert instant.run(debating(store, answer, tmp_path)).state.closed["outcome"] == "complete"


def test_who_is_interrupted_while_it_waits_ends_once_all_is_stored(store, other, tmp_path, slept):
    model, asked = locking(other, 2)

    async def play():
        task = asyncio.ensure_future(debating(store, model, tmp_path))
        await asyncio.sleep(LONG / 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (debate,) = store.debates()
        return await session.resume(debate, store, models={"bot": model}, clock=instant.Clock())

    assert instant.run(play()).state.closed["outcome"] == "complete"
    assert len(slept) == 5
    assert len(asked) == len(set(asked)), "no reply was lost"


@pytest.mark.parametrize("what", ["BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_store_is_locked_while_somebody_else_writes(store, other, what):
    assert not store.is_locked()
    other.execute(what)
    assert store.is_locked() == (what != "BEGIN")
    other.rollback()
    assert not store.is_locked()


def test_a_store_in_memory_is_locked_by_nobody():
    with Store.open("sqlite:///:memory:") as store:
        assert not store.is_locked()
