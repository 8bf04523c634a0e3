"""Workers on a real PostgreSQL: each debate is run by one, and nothing is paid twice."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from threading import Event
from typing import NamedTuple
from urllib.parse import quote

import psycopg
import pytest
from click.testing import CliRunner
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from procrastinate import App, PsycopgConnector
from procrastinate.periodic import PeriodicDeferrer
from psycopg_pool import AsyncConnectionPool

import hansard
import servers
from hansard import telemetry
from hansard.addresses import without_secrets
from hansard.api import running
from hansard.cli.main import cli
from hansard.runtime import pacing, working
from hansard.runtime.models.base import Completion, ModelError
from hansard.runtime.pacing import Server
from hansard.runtime.sharing import _Places, _Sharing, shared
from hansard.store import postgres_server, queue
from hansard.store.jobs import Jobs
from instant import GUARD

PANEL = {
    "format": "panel", "question": "Why?", "agents": 2, "rounds": 2, "convergence_check": False,
    "resolution": "similar", "model": "python:ask",
}  # fmt: skip
CALLS = 6  # of such a debate
DEBATES, KILLS = 12, 4

# The seats of a worker: each question that is asked is noted, and so is each that is answered.
SEATS = """
import asyncio, json, os
from hashlib import sha256
from pathlib import Path

async def ask(request):
    note("asked", request)
    while not Path({go!r}).exists():
        await asyncio.sleep(0.01)
    await asyncio.sleep({seconds})
    note("answered", request)
    return f"Because {{request.call}}."

def note(what, request):
    row = json.dumps([what, request.collection_id, request.call, os.getpid()]) + "\\n"
    with open({notes!r}, "a") as file:
        file.write(row)
"""
WORKER = """
import asyncio, sys
import hansard

url, seats, options = sys.argv[1], sys.argv[2], eval(sys.argv[3])
models = hansard.read_models(seats) if seats else None

def tell(row):
    print(row.debate, row.state, row.code, flush=True)

times = {"heartbeat": 0.2, "dead": 1, "wait": 0.2}
try:
    asyncio.run(hansard.work(url, models=models, each=tell, **times, **options))
except hansard.HansardError as error:
    sys.exit(error.code)
"""


@pytest.fixture
def url(migrated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HANSARD_HOME", str(tmp_path / "home"))
    return migrated()


class Team:
    """Workers in processes of their own."""

    def __init__(self, url, folder):
        self.url, self.notes = url, folder / "notes.jsonl"
        self.notes.touch()
        self.seats = folder / "seats.py"
        self.processes = []
        self.go = folder / "go"  # nobody answers without it
        self.go.touch()
        self.answer_after(0.02)

    def answer_after(self, seconds):
        """Let the seats of those that are hired from now on take so long."""
        self.seats.write_text(SEATS.format(seconds=seconds, notes=str(self.notes), go=str(self.go)))

    def hire(self, *, seats=True, env=None, **options):
        file = str(self.seats) if seats else ""
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, self.url, file, repr(options)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **(env or {})},
        )  # fmt: skip
        self.processes.append(process)
        return process

    def noted(self):
        return [json.loads(row) for row in self.notes.read_text().splitlines()]

    def until(self, done):
        """Wait until something holds; where a worker had to end by itself, hire another one."""
        end = time.monotonic() + GUARD
        while not done():
            assert time.monotonic() < end
            for process in [each for each in self.processes if each.poll() == 1]:
                _, err = process.communicate()
                assert {"store.unreachable", "queue.dead"} & set(err.split()), err
                self.processes.remove(process)
                self.hire(jobs=4)
            time.sleep(0.05)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()


@pytest.fixture
def team(url, tmp_path):
    found = Team(url, tmp_path)
    yield found
    found.end()


def put(url, number=DEBATES, *, queue=0, **fields):
    """Put debates into the queue; return their ids."""
    rows = {f"d{n}": {"name": f"d{n}"} for n in range(number)}
    batch = asyncio.run(
        hansard.run_batch(rows, template=PANEL | fields, name="one", store=url, queue=queue)
    )
    assert {row.state for row in batch.rows} == {"open"}
    return [row.debate for row in batch.rows]


def counts(url):
    with hansard.open_store(url) as store:
        (found,) = hansard.list_batches(store)
    return found.counts


def all_closed(url, number=DEBATES):
    return lambda: counts(url) == {"closed": number}


def require_sound(url, debates):
    """Every record holds, and was never two."""
    with hansard.open_store(url) as store:
        for debate in debates:
            assert hansard.verify(store, debate).ok
        return [event for debate in debates for event in store.events(debate)]


class Outlived(NamedTuple):
    """What was done to workers and their server, and what the records of their debates hold."""

    debates: int
    kills: int
    restarts: int
    resumed: int
    calls: int
    answered: int
    abandoned: int


def outlive(team, number, *, workers, kills, seed, restart=None):
    """Kill workers at moments that the seed chooses, and one time in ten restart the server.

    All debates must close and hold, and nothing that was recorded be asked for again.
    """
    chance, debates = random.Random(seed), put(team.url, number)
    restarts = 0

    def done():
        return not servers.sql(team.url, _WORK)

    for _ in range(workers):
        team.hire(jobs=4)
    for death in range(kills):
        wanted = len(team.noted()) + chance.randint(2, 4 * CALLS * number // kills - 2)
        team.until(lambda wanted=wanted: len(team.noted()) >= wanted or done())
        if restart and death % 10 == 9:
            restart()
            restarts += 1
            continue
        at_work = team.noted()[-1][3]  # in the middle of something, or just after it
        alive = [process for process in team.processes if process.poll() is None]
        at_work = [process for process in alive if process.pid == at_work] or alive
        victim = chance.choice(chance.choice((alive, at_work)))
        victim.kill()
        victim.wait()
        team.hire(jobs=4)
    team.until(done)
    assert counts(team.url) == {"closed": number}
    events = require_sound(team.url, debates)
    count = Counter(event["type"] for event in events)
    asked = Counter((row[1], row[2]) for row in team.noted() if row[0] == "asked")
    assert max(asked.values()) == 1  # a call that was lost is another one when it is made again
    assert count["call.answered"] == CALLS * number, "a step was paid for twice"
    lost = [event["data"]["error"] for event in events if event["type"] == "call.failed"]
    assert set(lost) <= {"abandoned"}
    assert count["call.started"] == count["call.answered"] + len(lost) >= len(asked)
    return Outlived(
        number, kills - restarts, restarts, count["debate.resumed"], count["call.started"],
        count["call.answered"], len(lost),
    )  # fmt: skip


@pytest.mark.slow
def test_workers_killed_at_any_moment_lose_nothing_and_pay_nothing_twice(url, team):
    found = outlive(team, DEBATES, workers=2, kills=KILLS, seed=20261124)
    assert found.resumed > DEBATES  # by whoever took one up first, and by others after a death


def test_a_worker_that_is_asked_to_end_puts_back_what_it_was_running(url, team):
    debates = put(url, 3)
    team.answer_after(GUARD)
    first = team.hire(jobs=3, grace=0)
    team.until(lambda: len(team.noted()) >= 3)
    first.send_signal(signal.SIGTERM)
    _, err = first.communicate(timeout=GUARD)
    assert first.returncode == 0, err
    assert counts(url) == {"open": 3}
    team.answer_after(0)
    second = team.hire(jobs=3, stay=False)
    _, err = second.communicate(timeout=GUARD)
    assert second.returncode == 0, err
    assert all_closed(url, 3)()
    require_sound(url, debates)


def test_a_debate_waits_for_a_worker_that_has_what_it_needs(url, team):
    (debate,) = put(url, 1)
    without = team.hire(seats=False)
    assert without.stdout.readline() == f"{debate} open model.not_given\n"
    assert counts(url) == {"open": 1}
    team.hire()
    team.until(all_closed(url, 1))


def test_the_highest_priority_comes_first(url, team):
    put(url, 2)
    asyncio.run(
        hansard.run_batch(
            {"urgent": {"name": "urgent"}}, template=PANEL, name="two", store=url, queue=5
        )
    )
    team.hire(jobs=1, stay=False).communicate(timeout=GUARD)
    order = list(dict.fromkeys(row[1] for row in team.noted()))
    assert order == ["urgent", "d0", "d1"]


def test_a_debate_that_a_worker_runs_can_be_stopped(url, team):
    (debate,) = put(url, 1)
    team.answer_after(GUARD)
    team.hire()
    team.until(team.noted)
    result = hansard.stop_sync(debate, store=url, by="Ann Lee", reason="No budget")
    assert (result.status, result.truncated.by) == ("truncated", "Ann Lee")
    require_sound(url, [debate])
    assert counts(url) == {"truncated": 1}


def test_a_debate_that_waits_can_be_stopped(url):
    (debate,) = put(url, 1)
    assert hansard.stop_sync(debate, store=url).status == "truncated"
    assert servers.sql(url, _WORK) == []


def test_a_stop_that_is_cut_short_leaves_a_debate_that_waits_in_the_queue(url, monkeypatch):
    """Else nobody would run it, and nobody had stopped it."""

    async def killed(*_, **__):
        raise KeyboardInterrupt

    put(url, 1)
    with monkeypatch.context() as patch, hansard.open_store(url) as store:
        (debate,) = store.debates()
        patch.setattr("hansard.runtime.session.stop", killed)
        with pytest.raises(KeyboardInterrupt):
            hansard.stop_sync(debate, store=store)
    assert work(url) == [("d0", "closed", None)]


def test_a_job_that_a_stop_could_not_take_out_does_nothing(url, monkeypatch):
    def lost(_):
        raise hansard.DataError("store.unreachable", "the server has gone")

    (debate,) = put(url, 1)
    with monkeypatch.context() as patch, hansard.open_store(url) as store:
        patch.setattr(store, "cancel", lost)
        assert hansard.stop_sync(debate, store=store).status == "truncated"
    assert work(url) == []
    assert servers.sql(url, _WORK) == []


@pytest.mark.parametrize("words", [{"by": "\n"}, {"reason": "\ud800"}])
def test_words_that_cannot_be_recorded_take_no_debate_out_of_the_queue(url, words):
    (debate,) = put(url, 1)
    with pytest.raises(hansard.UsageError) as caught:
        hansard.stop_sync(debate, store=url, **words)
    assert caught.value.code == "stop.text"
    assert work(url) == [("d0", "closed", None)]


def test_under_a_budget_a_debate_that_waits_counts_with_the_upper_end(url):
    prices = {"python:ask": {"input": "1.00", "output": "1.00"}}
    spec = PANEL | {"prices": prices, "settings": {"max_tokens": 100}}
    most = hansard.estimate(spec).most.cost_micro_usd
    told = {"ask": lambda _: Completion("Because.", tokens_in=0, tokens_out=10)}

    def states():
        """Of two rows, of which both would fit once it is known what the first has cost."""
        batch = asyncio.run(
            hansard.run_batch(
                {"first": {}, "second": {}}, template=spec, name="one", store=url, queue=0,
                budget_usd=f"{most * 3 // 2 / 1_000_000:.6f}",
            )
        )  # fmt: skip
        return [row.state for row in batch.rows]

    assert states() == states() == ["open", "unopened"]
    assert [state for _, state, _ in work(url, models=told)] == ["closed"]
    assert states() == ["closed", "open"]


def test_a_debate_that_waits_is_put_into_the_queue_once(url, team):
    (debate,) = put(url, 1)
    assert put(url, 1) == [debate]
    jobs = servers.sql(url, "SELECT lock FROM procrastinate_jobs WHERE status = 'todo'")
    assert jobs == [(f"hansard:{debate}",)]
    team.seats.write_text("def ask(request):\n    raise KeyError('mine')\n")
    raised = team.hire()
    assert raised.stdout.readline() == f"{debate} open seat.raised\n"
    team.until(lambda: not servers.sql(url, _WORK))
    assert counts(url) == {"open": 1}  # nobody tries it again by himself
    raised.kill()
    team.answer_after(0)
    put(url, 1)
    team.hire()
    team.until(all_closed(url, 1))


_WORK = "SELECT 1 FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"


@pytest.mark.slow
def test_the_limit_of_a_provider_holds_across_workers(url, team):
    put(url, 6)
    team.go.unlink()
    for _ in range(2):
        team.hire(jobs=3, env={"HANSARD_CONCURRENCY": "python=2"})
    both = (
        "SELECT count(*), count(DISTINCT worker_id) FROM procrastinate_jobs WHERE status = 'doing'"
    )
    team.until(lambda: servers.sql(url, both) == [(6, 2)] and len(team.noted()) >= 2)
    assert len(team.noted()) == 2  # all six debates want to ask
    team.go.touch()
    team.until(all_closed(url, 6))
    at_once, most = 0, 0
    for what, *_ in team.noted():
        at_once += 1 if what == "asked" else -1
        most = max(most, at_once)
    assert most == 2


def test_a_store_in_a_file_has_no_queue(tmp_path):
    found = f"sqlite:///{tmp_path / 'hansard.db'}"
    with pytest.raises(hansard.UsageError) as caught:
        put(found, 1)
    assert caught.value.code == "queue.store"
    with hansard.open_store(found, create=True) as store:
        assert store.debates() == []


# What workers share


async def until(done):
    """Wait until the server has told something."""
    while not done():  # noqa: ASYNC110 - nothing of it is an event
        await asyncio.sleep(0.01)


def test_a_pause_is_heeded_by_all_and_by_those_that_come_later(url):
    async def both():
        first, second, later = Server(), Server(), Server()
        async with shared(url, print):
            pacing._sharing().watch("https://api.example", first)
            async with shared(url, print):
                pacing._sharing().watch("https://api.example", second)
                error = ModelError("rate_limited", retry_after=600)
                now = time.monotonic()
                first.failed("openai:m", error, 0, began=now, now=now, chance=0.0)
                await until(lambda: second.left_ms(now))  # it may have read of it as it began
                error = ModelError("rate_limited", retry_after=1200)
                first.failed("openai:m", error, 0, began=now, now=now, chance=0.0)
                await until(lambda: second.left_ms(now) > 900_000)
        async with shared(url, print):
            sharing = pacing._sharing()
            await until(lambda: sharing._until)
            sharing.watch("https://api.example", later)
            sharing.watch("https://other.example", other := Server())
        return [round(row.left_ms(now) / 60_000) for row in (first, second, later, other)]

    assert asyncio.run(both()) == [20, 20, 20, 0]


def test_a_place_of_a_worker_that_is_gone_is_free_again(url):
    async def taken():
        async with shared(url, print):
            mine = pacing._sharing().slots("openai", 1)
            first, second = mine.take(), mine.take()
            await first
            async with shared(url, print):
                theirs = pacing._sharing().slots("openai", 1).take()
                await asyncio.sleep(0.2)
                assert (second.done(), theirs.done()) == (False, False)
                mine.give_back(second)
                mine.give_back(first)
                mine.give_back(first)
                await theirs
        async with shared(url, print):  # the second session has ended without giving anything back
            await pacing._sharing().slots("openai", 1).take()

    asyncio.run(asyncio.wait_for(taken(), GUARD))


def test_who_has_the_places_that_a_worker_waits_for_is_told_ever_more_seldom(url, monkeypatch):
    """Anybody who can connect to the database can hold them."""
    mallory = f"mal\u202e\x1b[2J{secrets.token_hex(4)}"
    servers.sql(url, f"CREATE ROLE \"{mallory}\" LOGIN PASSWORD 'x'")
    clock, told, looked = [100.0], [], []
    monkeypatch.setattr("hansard.runtime.sharing._now", lambda: clock[0])
    settle = _Places.settle

    async def counted(self, connection):
        waits = await settle(self, connection)
        looked.append(clock[0])
        return waits

    monkeypatch.setattr(_Places, "settle", counted)

    async def at(sharing, *moments):
        """What was told in all once the places were looked for at these moments."""
        for moment in moments:
            clock[0] = moment
            sharing.wake.set()
            await until(lambda: clock[0] in looked)
        return len(told)

    async def waiting():
        theirs = servers.at(url, user=quote(mallory, safe=""), password="x")
        async with shared(url, told.append):
            sharing = pacing._sharing()
            slots = sharing.slots("openai", 2)
            with psycopg.connect(theirs, application_name="b\x1b[2Jad") as other:
                for number in slots.numbers:
                    other.execute("SELECT pg_advisory_lock(%s, %s)", (slots.key, number))
                pid, place = other.info.backend_pid, slots.take()
                found = [await at(sharing, 100.0, 129.0), await at(sharing, 130.0, 131.0, 159.0)]
                found += [await at(sharing, 160.0, 161.0, 219.0), await at(sharing, 220.0)]
            await place
            mine = slots.take(), slots.take()  # the second waits for this worker itself
            await mine[0]
            return pid, [*found, await at(sharing, 300.0, 9000.0)]

    pid, found = asyncio.run(asyncio.wait_for(waiting(), GUARD))
    assert found == [0, 1, 2, 3, 3]
    assert f"to openai: of 2, process {pid} of the role 'mal\\u202e\\x1b[2J" in told[0]
    assert told[0].isprintable()
    assert [line.split()[1] for line in told] == ["30", "60", "120"]


def test_a_worker_says_that_it_waits_for_a_place(url, monkeypatch):
    put(url, 1)
    monkeypatch.setattr("hansard.runtime.sharing._PATIENCE", 0)
    monkeypatch.setenv("HANSARD_CONCURRENCY", "python=1")
    told = []

    async def waiting():
        async with shared(url, print):
            await pacing._sharing().slots("python", 1).take()
            working = asyncio.create_task(
                hansard.work(url, models={"ask": lambda _: "Because."}, each=told.append, grace=0)
            )
            await asyncio.wait_for(until(lambda: told), GUARD)
            working.cancel()
            await asyncio.wait([working])

    asyncio.run(waiting())
    assert (told[0].code, told[0].debate) == ("queue.places", None)


# One worker, in this process


def work(url, **options):
    rows = []
    ask = {"ask": lambda _: "Because."}
    asyncio.run(hansard.work(url, **{"models": ask, "each": rows.append, "stay": False} | options))
    return [(row.row, row.state, row.code) for row in rows]


def test_a_result_that_takes_long_keeps_a_worker_from_no_sign_of_life(url, monkeypatch):
    """Else others took it for dead, with all else that it ran."""
    began, go, real = Event(), Event(), running.result_of

    def long(*given, **more):
        began.set()
        assert go.wait(GUARD), "nothing else was done meanwhile"
        return real(*given, **more)

    async def other():
        while not began.is_set():  # noqa: ASYNC110 - a thread sets it
            await asyncio.sleep(0.01)
        go.set()

    async def both():
        ask = {"ask": lambda _: "Because."}
        await asyncio.gather(hansard.work(url, models=ask, each=rows.append, stay=False), other())

    rows = []
    put(url, 1)
    monkeypatch.setattr(running, "result_of", long)
    asyncio.run(both())
    assert [row.state for row in rows] == ["closed"]
    assert not servers.sql(url, _WORK)


def test_a_debate_that_ended_elsewhere_is_no_work(url):
    (debate,) = put(url, 1)
    hansard.resume_sync(debate, store=url, models={"ask": lambda _: "Because."})
    assert work(url) == []
    assert not servers.sql(url, _WORK)


def test_a_debate_that_another_process_runs_waits(url):
    (debate,) = put(url, 1)
    with hansard.open_store(url) as other, other.runner(debate):
        assert work(url, wait=GUARD) == [(None, "open", "store.running")]
    servers.sql(url, "UPDATE procrastinate_jobs SET scheduled_at = NULL")  # the wait is over
    assert work(url) == [("d0", "closed", None)]


_TWICE = """INSERT INTO procrastinate_jobs (queue_name, task_name, args)
    SELECT queue_name, task_name, args FROM procrastinate_jobs"""
_DUE = "SELECT scheduled_at FROM procrastinate_jobs ORDER BY scheduled_at"


def test_what_a_worker_that_is_to_end_puts_back_again_waits_longer(url):
    (debate,) = put(url, 1)
    servers.sql(url, _TWICE)
    with hansard.open_store(url) as other, other.runner(debate):
        assert work(url, wait=GUARD) == [(None, "open", "store.running")] * 2
    ((first,), (second,)) = servers.sql(url, _DUE)
    assert second - first >= timedelta(seconds=GUARD)


def test_a_record_that_does_not_hold_is_told_of_and_not_tried_again(url):
    (debate,) = put(url, 1)
    servers.sql(
        url,
        "SET session_replication_role = replica",
        f"DELETE FROM blobs WHERE debate = '{debate.replace('-', '')}'",
    )
    assert work(url) == [(None, "open", "record.altered")]
    assert not servers.sql(url, _WORK)


# What somebody planted who may put debates into the queue

PLANTED = {  # the arguments of a job, where ID is that of a debate that waits
    "no id": '{"debate": "no\\u001b[2J"}',
    "a prefix": '{"debate": "PREFIX"}',
    "no text": '{"debate": {"a": 1}}',
    "nothing": "{}",
    "more": '{"debate": "ID", "store": "x"}',
    "its own context": '{"debate": "ID", "context": 1}',
    "in capitals": '{"debate": "CAPITALS"}',
    "in braces": '{"debate": "{ID}"}',
    "as a URN": '{"debate": "urn:uuid:ID"}',
    "no object": '["ID"]',
    "a text": '"ID"',
    "null": "null",
    "a name of Python's": '{"debate": "ID", "self": 1}',
    "too deep": f'{{"debate": {"[" * 5_000}{"]" * 5_000}}}',
    "too large a number": f'{{"debate": {"9" * 5_000}}}',
}


def plant(url, args, task="hansard.debate", priority=9):
    servers.sql(
        url,
        "INSERT INTO procrastinate_jobs (queue_name, task_name, priority, args) "
        f"VALUES ('hansard', '{task}', {priority}, '{args}')",
    )


@pytest.mark.parametrize("args", PLANTED.values(), ids=PLANTED)
def test_a_job_that_does_not_name_a_debate_as_the_store_does_is_not_run(url, args):
    """In other letters it had another lock, and its entries another debate: the record broke."""
    (debate,) = put(url, 1)
    plant(
        url,
        args.replace("ID", debate)
        .replace("PREFIX", debate[:8])
        .replace("CAPITALS", debate.upper()),
    )
    assert work(url) == [(None, "unopened", "queue.job"), ("d0", "closed", None)]
    require_sound(url, [debate])
    assert not servers.sql(url, _WORK)


@pytest.mark.parametrize(
    "name", ["builtin:procrastinate.builtin_tasks", "procrastinate.builtin_tasks"]
)
def test_a_worker_has_no_task_but_its_own(url, name):
    plant(url, "{}")
    assert work(url) == [(None, "unopened", "queue.job")]
    plant(url, '{"max_hours": 0, "remove_aborted": true}', task=f"{name}.remove_old_jobs")
    assert work(url) == [(None, "unopened", "queue.job")]
    kept = servers.sql(url, "SELECT status FROM procrastinate_jobs ORDER BY id")
    assert kept == [("aborted",), ("aborted",)]  # the first was not removed


@pytest.mark.parametrize("when", ["-infinity", "4000-01-01 BC"])
def test_a_time_that_python_cannot_write_ends_no_worker(url, when):
    put(url, 1)
    servers.sql(url, f"UPDATE procrastinate_jobs SET scheduled_at = '{when}'")
    assert work(url) == [("d0", "closed", None)]


STRANGE = {  # number, status, queueing lock, attempts: what Procrastinate cannot take or put back
    "number 0, of a dead worker": [(0, "doing", None, 0, None)],
    "number 0": [(0, "todo", None, 0, None)],
    "a lock of another job": [(7, "todo", "x", 0, "infinity"), (8, "doing", "x", 0, None)],
    "a lock that is no line": [(7, "todo", "\n", 0, "infinity"), (8, "doing", "\n", 0, None)],
    "too many attempts": [(7, "doing", None, 2**31 - 1, None)],
}


@pytest.mark.parametrize("rows", STRANGE.values(), ids=STRANGE)
def test_a_job_that_cannot_be_put_back_ends_no_worker_and_is_taken_out(url, rows):
    servers.sql(url, "SELECT nextval('procrastinate_jobs_id_seq') FROM generate_series(1, 9)")
    put(url, 1)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.cursor().executemany(
            "INSERT INTO procrastinate_jobs (id, status, queueing_lock, attempts, scheduled_at, "
            "queue_name, task_name) VALUES (%s, %s, %s, %s, %s, 'hansard', 'hansard.debate')",
            rows,
        )
    found = work(url)
    found.remove(("d0", "closed", None))  # a dead worker's job is looked for meanwhile
    assert set(found) == {(None, "unopened", "queue.job")}
    assert not servers.sql(url, f"{_WORK} AND scheduled_at IS DISTINCT FROM 'infinity'")


def test_what_cannot_be_put_back_as_another_has_done_so_stays(url, monkeypatch):
    """A job that waits again is not taken out."""
    put(url, 1)
    servers.sql(url, "UPDATE procrastinate_jobs SET status = 'doing', worker_id = NULL")

    async def put_back():
        app = App(connector=Jobs(url))
        async with app.open_async():
            stalled = [*await app.job_manager.get_stalled_jobs(queue="hansard")]

            async def listed(**_):
                return stalled

            app.job_manager.get_stalled_jobs = listed
            for _ in range(2):
                await working._put_back(app, working.Times(), lambda told: pytest.fail(str(told)))

    asyncio.run(put_back())
    assert work(url) == [("d0", "closed", None)]


TAKEN = {
    "of a job": (
        "INSERT INTO procrastinate_jobs (id, queue_name, task_name) SELECT last_value + 1, 'x', "
        "'x' FROM procrastinate_jobs_id_seq"
    ),
    "of an event": (
        "INSERT INTO procrastinate_events (id, job_id) SELECT last_value + n, (SELECT min(id) "
        "FROM procrastinate_jobs) FROM procrastinate_events_id_seq, generate_series(1, 9) AS n"
    ),
    "of a worker": (
        "INSERT INTO procrastinate_workers (id) OVERRIDING SYSTEM VALUE VALUES (1), (2)"
    ),
}


@pytest.mark.parametrize("what", TAKEN)
def test_a_number_that_somebody_has_taken_is_one_clear_error(url, what):
    """Each try takes the next number, so one of them succeeds."""
    (debate,) = put(url, 1)
    if what == "of a job":
        servers.sql(url, "DELETE FROM procrastinate_jobs")
    servers.sql(url, TAKEN[what])

    def act():
        with hansard.open_store(url) as store:
            store.enqueue(debate, 0)
        work(url)

    failed = []
    while counts(url) != {"closed": 1}:
        try:
            act()
        except hansard.DataError as error:
            failed.append((error.code, str(error)))
    assert 1 <= len(failed) < 20
    for code, said in failed:
        assert code == "store.failed"
        assert "duplicate key value violates unique constraint" in said


async def stopped(url, debate):
    """What comes of a debate that somebody stops while a worker that waits for replies runs it."""
    asked = asyncio.Event()

    async def ask(_):
        asked.set()
        await asyncio.Event().wait()

    worker = asyncio.create_task(hansard.work(url, models={"ask": ask}, grace=0))
    try:
        await asyncio.wait_for(asked.wait(), GUARD)
        return await asyncio.wait_for(hansard.stop(debate, store=url), GUARD)
    finally:
        worker.cancel()
        await asyncio.wait([worker])


def test_a_request_to_stop_is_found_among_any_number_of_others(url):
    servers.sql(
        url,
        "INSERT INTO procrastinate_jobs (queue_name, task_name, status, abort_requested) "
        "SELECT 'x', 'x', 'doing', true FROM generate_series(1, 1500)",
    )
    (debate,) = put(url, 1)
    assert asyncio.run(stopped(url, debate)).status == "truncated"


# What anybody sends who may connect to the database

SENT = [
    "x", "[]", "{}", "[1]", '["a", "b"]', '["a", NaN]', "[[], 1]", f'["a", {"9" * 5_000}]',
    '{"type": "abort_job_requested"}', '{"type": "abort_job_requested", "job_id": [1]}',
    '{"type": "abort_job_requested", "job_id": 1}',
]  # fmt: skip


@pytest.mark.parametrize(
    ("channel", "hearer", "hears"),
    [
        ("hansard_pacing", _Sharing, "_look"),
        ("procrastinate_queue_v1#hansard", Jobs, "execute_query_all_async"),
    ],
    ids=["pauses", "jobs"],
)
def test_what_anybody_tells_a_worker_ends_neither_it_nor_a_debate(
    url, monkeypatch, channel, hearer, hears
):
    """The debate goes on, though what was sent says that somebody stops it."""
    put(url, 1)
    mallory, heard, plain = f"mallory_{secrets.token_hex(4)}", [], getattr(hearer, hears)
    servers.sql(url, f"CREATE ROLE {mallory} LOGIN PASSWORD 'x'")
    monkeypatch.setattr(hearer, hears, lambda *a, **k: heard.append(1) or plain(*a, **k))
    asked = []

    async def ask(_):
        if not asked:
            with psycopg.connect(servers.at(url, user=mallory, password="x")) as connection:
                for payload in SENT:
                    connection.execute("SELECT pg_notify(%s, %s)", (channel, payload))
            wanted = len(heard) + len(SENT)
            await until(lambda: len(heard) >= wanted)
        asked.append(1)
        return "Because."

    async def until_told():
        told = asyncio.get_running_loop().create_future()
        staying = asyncio.create_task(
            hansard.work(url, models={"ask": ask}, each=told.set_result, grace=0)
        )
        await asyncio.wait([told, staying], return_when=asyncio.FIRST_COMPLETED, timeout=GUARD)
        staying.cancel()
        await asyncio.wait([staying])
        return told.result().state

    assert asyncio.run(until_told()) == "closed"
    assert len(asked) == CALLS


def test_a_pause_without_end_is_none(url):
    async def known():
        async with shared(url, print):
            sharing = pacing._sharing()
            await until(lambda: sharing._until)
        return list(sharing._until)

    names = ("e" * 64, "d" * 64, "0" * 64)
    rows = "VALUES (%s, 'infinity'), (%s, now() + '2 hours'), (%s, now() + '1 hour')"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"INSERT INTO hansard_pauses {rows}", names)
    assert asyncio.run(known()) == [names[2]]


def test_a_pause_that_no_server_asks_for_neither_counts_nor_hides_one_that_does(url):
    """Else each call would fail unasked: no step waits for longer than it may be retried."""
    put(url, 1)
    planted = sha256(b"python:ask").hexdigest()
    servers.sql(url, f"INSERT INTO hansard_pauses VALUES ('{planted}', now() + '10 years')")
    assert work(url) == [("d0", "closed", None)]
    with hansard.open_store(url) as store:
        (debate,) = store.debates()
        assert {event["type"] for event in store.events(debate)}.isdisjoint({"call.failed"})

    async def told():
        async with shared(url, print):
            pacing._sharing().watch("python:ask", server := Server())
            server.tell(60)
            await until(lambda: servers.sql(url, "SELECT 1 FROM hansard_pauses WHERE until < "
                "now() + '2 minutes'"))  # fmt: skip

    asyncio.run(asyncio.wait_for(told(), GUARD))


def test_of_many_pauses_a_few_are_known_and_those_of_known_servers_first(url):
    ours = sha256(b"https://api.example").hexdigest()
    servers.sql(
        url,
        "INSERT INTO hansard_pauses SELECT repeat('f', 60) || to_char(n, 'FM0000'), "
        "now() + '1 hour' FROM generate_series(1, 1500) AS n",
    )
    servers.sql(url, f"INSERT INTO hansard_pauses VALUES ('{ours}', now() + '1 hour')")
    servers.sql(
        url, "INSERT INTO hansard_pauses VALUES (md5('') || repeat('x', 9999), now() + '1 hour')"
    )

    async def known():
        async with shared(url, print):
            pacing._sharing().watch("https://api.example", server := Server())
            sharing = pacing._sharing()
            sharing._look()
            await until(lambda: server.left_ms(time.monotonic()))
            return {*sharing._until}

    found = asyncio.run(known())
    assert len(found) == 1000
    assert ours in found
    assert {len(name) for name in found} == {64}


def test_of_many_and_huge_jobs_a_worker_reads_little(url):
    put(url, 1)
    huge = (
        "SET lock = repeat('x', 100000) || id, queueing_lock = repeat('y', 2000) || id, "
        "args = jsonb_build_object('debate', repeat('x', 100000))"
    )
    servers.sql(
        url,
        "INSERT INTO procrastinate_jobs (queue_name, task_name, status, abort_requested) "
        "SELECT 'hansard', 'hansard.debate', 'doing', n % 2 = 0 FROM generate_series(1, 2500) AS n",
    )
    servers.sql(url, f"UPDATE procrastinate_jobs {huge} WHERE id IN (SELECT min(id) FROM "
        "procrastinate_jobs WHERE status = 'doing') OR status = 'todo'")  # fmt: skip

    async def read():
        app = App(connector=Jobs(url))
        async with app.open_async():
            stalled = [*await app.job_manager.get_stalled_jobs(queue="hansard")]
            asked = [*await app.job_manager.list_jobs_to_abort_async()]
            worker = await app.job_manager.register_worker()
            return stalled, asked, await app.job_manager.fetch_job(["hansard"], worker)

    stalled, asked, waiting = asyncio.run(read())
    assert (len(stalled), len(asked)) == (1000, 0)  # this worker runs nothing yet
    assert waiting.status == "doing"  # it was fetched
    for job in (*stalled, waiting):
        assert len(job.lock or "") + len(job.queueing_lock or "") <= 2_000
        assert job.task_kwargs == {}


def test_of_the_jobs_of_a_debate_one_is_read_at_a_time(url):
    (debate,) = put(url, 1)
    servers.sql(
        url,
        "INSERT INTO procrastinate_jobs (queue_name, task_name, status, lock) "
        f"SELECT 'hansard', 'hansard.debate', 'todo', 'hansard:{debate}' "
        "FROM generate_series(1, 5)",
    )
    rows = []

    class Counting(psycopg.Connection):
        def execute(self, *given, **named):
            rows.append((cursor := super().execute(*given, **named)).rowcount)
            return cursor

    with Counting.connect(url, autocommit=True) as connection:
        queue.put(connection, debate, 0)
        assert not queue.cancel(connection, debate)
    assert max(rows) == 1
    assert not servers.sql(url, _WORK)


def test_a_debate_whose_workers_die_waits_behind_others_and_then_for_a_person(url):
    deadly, other = put(url, 2)
    killed = f"WHERE args->>'debate' = '{deadly}'"
    order = (
        "SELECT args->>'debate' FROM procrastinate_jobs WHERE status = 'todo' "
        "ORDER BY priority DESC"
    )

    def die():
        """What is left of a worker that died long ago: a debate that nobody runs any more."""
        servers.sql(
            url, f"UPDATE procrastinate_jobs SET status = 'doing', worker_id = NULL {killed}"
        )

    async def put_back():
        rows = []
        app = App(connector=PsycopgConnector(conninfo=url))
        async with app.open_async():
            await working._put_back(app, working.Times(), rows.append)
        return [(row.debate, row.error.code) for row in rows]

    for _ in range(working.MOST_DEATHS - 1):
        die()
        assert asyncio.run(put_back()) == []
        assert [row[0] for row in servers.sql(url, order)] == [other, deadly]
    die()
    assert asyncio.run(put_back()) == [(deadly, "queue.deaths")]
    assert [row[2] for row in work(url)] == [None]
    assert counts(url) == {"open": 1, "closed": 1}
    with hansard.open_store(url) as store:
        store.enqueue(deadly, 0)  # somebody puts it there again
    assert work(url) == [("d0", "closed", None)]


@pytest.mark.parametrize("priority", [10**7, -(10**7), 10**30])
def test_a_priority_is_bounded(url, priority):
    with pytest.raises(hansard.UsageError) as caught:
        put(url, 1, queue=priority)
    assert caught.value.code == "queue.priority"
    with hansard.open_store(url) as store:
        assert store.debates() == []


def test_a_worker_whose_server_is_gone_ends_and_says_so(url):
    put(url, 1)

    async def ask(_):
        servers.sql(
            url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()",
        )
        await asyncio.Event().wait()

    with pytest.raises(hansard.DataError) as caught:
        work(url, models={"ask": ask}, stay=True, grace=0)
    assert caught.value.code == "store.unreachable"
    # As it is found where the worker could not even say so, and has long been silent.
    servers.sql(url, "UPDATE procrastinate_jobs SET status = 'doing', worker_id = NULL")
    assert work(url) == [("d0", "closed", None)]


@pytest.mark.parametrize("session", ["LISTEN hansard_pacing", "SELECT s FROM unnest%"])
def test_a_worker_that_lost_one_of_its_sessions_ends_and_says_so(url, session):
    """What hears of the places of others, or what takes them, while the rest goes on."""
    put(url, 1)

    async def ask(_):
        servers.sql(
            url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE query LIKE '{session}' AND datname = current_database()",
        )
        servers.sql(url, "NOTIFY hansard_pacing, 'pause'")
        await asyncio.Event().wait()

    with pytest.raises(hansard.DataError) as caught:
        work(url, models={"ask": ask}, stay=True, grace=0)
    assert caught.value.code == "store.unreachable"


def test_what_hears_of_jobs_is_closed_though_the_server_does_not_answer(url, monkeypatch):
    """Whoever waits for an answer to a rollback, and is cancelled once more, closes nothing."""
    heard = asyncio.Queue()

    async def listen(self, on_notification, connection):
        heard.put_nowait(connection)
        await asyncio.Event().wait()

    async def silent(self):
        await asyncio.Event().wait()

    monkeypatch.setattr(PsycopgConnector, "_loop_notify", listen)

    async def go():
        jobs = Jobs(url)
        async with App(connector=jobs).open_async():
            task = asyncio.create_task(jobs.listen_notify(None, ["jobs"]))
            connection = await heard.get()
            with monkeypatch.context() as patch:
                patch.setattr(psycopg.AsyncConnection, "rollback", silent)
                for _ in range(2):
                    task.cancel()
                    await asyncio.wait([task], timeout=0.01)
                await asyncio.wait([task])
            was_closed = connection.closed
            await connection.close()
            assert was_closed

    asyncio.run(go())


def test_a_worker_that_lost_its_connection_and_is_asked_to_end_loses_no_entry(url, team):
    """SIGTERM ends it at once, in the middle of calls; another one goes on with the debate."""
    (debate,) = put(url, 1)
    team.go.unlink()
    first = team.hire(jobs=1, grace=10 * GUARD)
    team.until(lambda: len(team.noted()) >= 2)  # both seats of the first round are asked
    servers.sql(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = current_database()",
    )

    def ended():
        first.send_signal(signal.SIGTERM)
        return first.poll() is not None

    team.until(ended)
    with hansard.open_store(url) as store:
        before = store.lines(debate)
        assert hansard.verify(store, debate).ok
    team.go.touch()
    servers.sql(url, "UPDATE procrastinate_jobs SET status = 'doing', worker_id = NULL")
    second = team.hire(stay=False)
    _, err = second.communicate(timeout=GUARD)
    assert second.returncode == 0, err
    assert all_closed(url, 1)()
    require_sound(url, [debate])
    with hansard.open_store(url) as store:
        assert store.lines(debate)[: len(before)] == before


@pytest.mark.parametrize("session", [0, 1])
def test_a_worker_whose_server_goes_down_as_it_begins_ends_and_says_so(url, monkeypatch, session):
    """A connection that is refused at once, as every one of a server that is going down."""
    made = []

    def refused(dsn):
        made.append(1)
        if len(made) > session:
            raise psycopg.OperationalError("FATAL: the database system is shutting down")
        return queue.session(dsn)

    monkeypatch.setattr("hansard.runtime.sharing.session", refused)
    with pytest.raises(hansard.DataError) as caught:
        work(url)
    assert caught.value.code == "store.unreachable"


def test_a_worker_whose_queue_others_keep_locked_ends_and_says_so(url, monkeypatch):
    put(url, 1)
    monkeypatch.setattr(postgres_server, "LOCK_SECONDS", 0.05)
    with psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE procrastinate_jobs")
        with pytest.raises(hansard.DataError) as caught:
            work(url)
    assert caught.value.code == "store.busy"
    assert work(url) == [("d0", "closed", None)]


@pytest.mark.parametrize(
    ("happens", "code"),
    [
        ("DELETE FROM procrastinate_workers", "queue.dead"),
        ("DROP FUNCTION procrastinate_fetch_job_v2", "store.failed"),
    ],
)
def test_a_worker_that_cannot_go_on_says_why(url, happens, code):
    put(url, 2)

    def ask(_):
        servers.sql(url, happens)
        return "Because."

    with pytest.raises(hansard.DataError) as caught:
        work(url, models={"ask": ask}, jobs=1)
    assert caught.value.code == code
    assert "\n" not in str(caught.value)


def test_without_the_extra_it_is_named(url, monkeypatch):
    monkeypatch.setitem(sys.modules, "procrastinate", None)
    for call in (lambda: put(url, 1), lambda: work(url)):
        with pytest.raises(hansard.UsageError, match="workers") as caught:
            call()
        assert caught.value.code == "queue.extra"


def test_without_tables_of_a_queue_the_command_is_named(server):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "procrastinate", None)
        hansard.migrate_store(url := server.fresh())
    with pytest.raises(hansard.UsageError, match="hansard store migrate") as caught:
        work(url)
    assert caught.value.code == "queue.missing"
    hansard.migrate_store(url)
    assert work(url) == []


# What workers do once an hour

HOUR = 1_800_003_600  # an hour, as a worker's clock says it
LOOKS = "SELECT status FROM procrastinate_jobs WHERE task_name = 'hansard.look' ORDER BY id"


def put_look(url, *hours):
    """Put a look for each hour into the queue, as a worker does that is there then."""

    async def put_in():
        app = working._app(url, None, None, stay=True)
        async with app.open_async():
            hourly = PeriodicDeferrer(app.periodic_registry, **app.periodic_defaults)
            for hour in hours:
                await hourly.defer_jobs(hourly.get_previous_tasks(at=hour + 1800))

    asyncio.run(put_in())


def found_by(url):
    with hansard.open_store(url) as store:
        return sorted(store.projection.find({"format": "panel"}).values())


def test_of_all_workers_one_looks_once_an_hour(url):
    put(url, 2)
    work(url)
    assert found_by(url) == []
    looks = []
    put_look(url, HOUR)
    put_look(url, HOUR)
    assert servers.sql(url, LOOKS) == [("todo",)]
    assert work(url, hourly=looks.append) == []
    assert found_by(url) == ["closed", "closed"]
    put_look(url, HOUR)
    work(url, hourly=looks.append)
    assert looks == [(0, None, 0)]
    put_look(url, HOUR + 3600)
    work(url)  # which needs nobody who hears of it
    assert servers.sql(url, LOOKS) == []


def test_hours_in_which_all_workers_are_busy_need_one_look(url):
    put_look(url, HOUR, HOUR + 3600)
    put_look(url, HOUR + 7200)
    assert servers.sql(url, LOOKS) == [("todo",)]


def test_a_worker_that_stays_looks_as_it_begins_and_one_that_does_not_puts_no_look_there(url):
    async def looked():
        looks, found = [], asyncio.Event()

        def hourly(due):
            looks.append(due)
            found.set()

        working_ = asyncio.create_task(hansard.work(url, hourly=hourly))
        await asyncio.wait_for(found.wait(), GUARD)
        working_.cancel()
        await asyncio.wait([working_])
        return looks

    assert work(url) == []
    assert servers.sql(url, "SELECT 1 FROM procrastinate_periodic_defers") == []
    assert asyncio.run(looked()) == [(0, None, 0)]


def test_a_look_says_what_is_due(url, tmp_path, monkeypatch):
    """By the policy and the keys of the worker; a record that does not hold is none of it."""
    put(url, 3, retention="short")
    work(url)
    put_look(url, HOUR)
    work(url)
    servers.sql(
        url,
        "UPDATE projected SET closed_at = '2020-01-01T00:00:00.000000Z'",
        "UPDATE projected SET deadline = '2020-01-01T00:00:00.000000Z', reviewed = 'waiting' "
        "WHERE place = (SELECT min(place) FROM projected)",
        "UPDATE projected SET state = 'altered' WHERE place = (SELECT max(place) FROM projected)",
    )
    key = hansard.open_keyring().signer("approval")
    signed = hansard.approve_policy(key, {"*": {"retention": ["short:30"]}})
    (tmp_path / "short.note").write_bytes(signed)
    put_look(url, HOUR + 3600)
    looks = []
    work(url, hourly=looks.append, policy=hansard.parse_policy(signed))
    assert looks == [(0, 2, 1)]
    put_look(url, HOUR + 7200)
    monkeypatch.setenv("HANSARD_STORE", url)
    code, out, err = run("worker", "--once", "--policy", "short.note")
    assert (code, out) == (0, "")
    assert err == (
        "0 metrics with an alert, 2 debates due by retention (`hansard retention --policy "
        "short.note`), 1 overdue review (`hansard list --review overdue`)\n"
    )


def test_a_look_that_fails_is_told_of_and_another_comes_in_an_hour(url):
    put_look(url, HOUR)
    servers.sql(url, "ALTER TABLE projected_until RENAME TO gone")
    assert work(url) == [(None, "unopened", "store.corrupt")]
    servers.sql(url, "ALTER TABLE gone RENAME TO projected_until")
    put_look(url, HOUR + 3600)
    looks = []
    assert work(url, hourly=looks.append) == []
    assert looks == [(0, None, 0)]


def test_a_look_whose_worker_died_is_not_tried_again(url):
    put_look(url, HOUR)
    servers.sql(url, "UPDATE procrastinate_jobs SET status = 'doing', worker_id = NULL")
    looks = []
    assert work(url, hourly=looks.append) == []
    assert (looks, servers.sql(url, LOOKS)) == ([], [("aborted",)])


# The command line


def run(*args):
    done = CliRunner().invoke(cli, [str(arg) for arg in args], prog_name="hansard")
    return done.exit_code, done.stdout, done.stderr


def test_the_command_line(url, tmp_path, monkeypatch):
    (tmp_path / "panel.yaml").write_text(
        "format: panel\nquestion: Why?\nreview: Ann Lee\nagents: 2\nmodel: python:ask\n"
    )
    (tmp_path / "seats.py").write_text("def ask(request):\n    return 'Because.'\n")
    code, out, err = run("batch", "panel.yaml", "--name", "one", "--queue", "0", "--store", url)
    assert (code, out) == (0, "one  1 row: 1 open; 1 needs a look\n"), err
    assert re.search(r"^panel  [0-9a-f]{8}  open$", err, re.MULTILINE)
    code, out, err = run("worker", "--once", "--models", "seats.py", "--store", url)
    assert (code, out) == (0, "")
    assert re.fullmatch(r"panel  [0-9a-f]{8}  ended  agent_1\n", err)
    assert run("batch", "status", "one", "--store", url)[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(hansard, "work", lambda *_, **__: asyncio.sleep(0))
        code, out, err = run("worker", "--store", url)
    assert (code, out) == (0, "")
    said = f"waiting for debates of {without_secrets(url)}; Ctrl-C or SIGTERM ends the worker\n"
    assert err == said
    code, _, err = run("worker", "--store", f"sqlite:///{tmp_path / 'x.db'}")
    assert (code, err.rpartition("[")[2]) == (2, "store.missing]\n")


def test_a_worker_counts_what_others_opened(url, tmp_path, monkeypatch):
    (tmp_path / "panel.yaml").write_text(
        "format: panel\nquestion: Why?\nreview: Ann Lee\nagents: 2\nmodel: python:ask\n"
    )
    (tmp_path / "seats.py").write_text("def ask(request):\n    return 'Because.'\n")
    run("batch", "panel.yaml", "--queue", "0", "--store", url)
    reader = InMemoryMetricReader()

    @contextmanager
    def exporting():
        yield telemetry.SpanObserver(None, MeterProvider([reader]))

    monkeypatch.setattr(telemetry, "exporting", exporting)
    assert run("worker", "--once", "--models", "seats.py", "--telemetry", "--store", url)[0] == 0
    data = json.loads(reader.get_metrics_data().to_json())
    found = {
        metric["name"]: metric["data"]["data_points"]
        for metric in data["resource_metrics"][0]["scope_metrics"][0]["metrics"]
    }
    (ended,) = found["hansard.debates"]
    assert (ended["attributes"]["hansard.format"], ended["value"]) == ("panel", 1)


def test_a_job_of_an_unknown_kind_is_one_line_that_does_not_repeat_it(url):
    plant(url, "{}", task="evil\x1b[2J\nd0  5c1d3e0a  ended")
    done = subprocess.run(
        [sys.executable, "-m", "hansard", "worker", "--once", "--store", url],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == (
        "–  not opened  job 1 of the queue names no debate; it was not run [queue.job]\n"
    )


@pytest.mark.parametrize("debug", ["", "1"])
def test_what_goes_wrong_below_a_worker_is_one_line_or_with_its_traceback(url, monkeypatch, debug):
    async def work(*_, **__):
        try:
            raise ValueError("two\nlines\x1b[2J") from KeyError("the cause")  # noqa: TRY301
        except ValueError:
            logging.getLogger("procrastinate.worker").exception("Job evil\x1b[2J ended")

    monkeypatch.setenv("HANSARD_DEBUG", debug)
    monkeypatch.setattr(hansard, "work", work)
    _, out, err = run("worker", "--once", "--store", url)
    assert ("Traceback" in err, out) == (bool(debug), "")
    assert "\x1b" not in err
    if not debug:
        assert err == (
            "Job evil<U+001B>[2J ended (KeyError: 'the cause'); HANSARD_DEBUG=1 shows more\n"
        )


def test_ctrl_c_while_a_worker_connects_leaves_nothing_that_keeps_its_process(monkeypatch):
    async def begin():
        begun, go = asyncio.Event(), asyncio.Event()

        async def connect(*_, **__):
            begun.set()
            await go.wait()
            raise psycopg.OperationalError("no server")

        monkeypatch.setattr(AsyncConnectionPool, "_connect", connect)
        opening = asyncio.create_task(Jobs("host=nowhere").open_async())
        await begun.wait()
        opening.cancel()
        asyncio.get_running_loop().call_soon(go.set)
        with pytest.raises(asyncio.CancelledError):
            await opening
        return [task.get_name() for task in asyncio.all_tasks() - {asyncio.current_task()}]

    assert asyncio.run(begin()) == []
