"""Figures 19 and 21: what a store in PostgreSQL adds to psycopg alone, and a second worker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID, uuid4

import psycopg

import hansard
from bench_kit.debates import records_of
from bench_kit.floor import Commit
from bench_kit.measure import Figure, Pairs, Size, expect, seconds
from bench_kit.record import append_all, one_by_one
from hansard.api.storing import migrate_store
from hansard.store.application import Batch, Store
from servers import MISSING, is_there, running

DEBATE = {
    "format": "panel",
    "question": "Why?",
    "agents": 2,
    "rounds": 2,
    "convergence_check": False,
    "resolution": "similar",
    "model": "python:ask",
}
# A worker whose model takes 50 ms; it begins when it is told to, once everything is imported.
WORKER = """
import asyncio, sys
import hansard, hansard.runtime.working

async def ask(request):
    await asyncio.sleep(0.05)
    return f"Because {request.call}."

print("ready", flush=True)
sys.stdin.readline()
asyncio.run(hansard.work(sys.argv[1], models={"ask": ask}, stay=False))
"""


class Floor:
    """The same rows in the same tables, and in the same commits, with nothing around psycopg."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)

    def rows(self, key: str, commit: Commit) -> None:
        """Commit every row that the store writes of a debate."""
        head, blobs, templates, *_ = commit.extras
        with self.connection.transaction(), self.connection.cursor() as c:
            c.executemany(
                "INSERT INTO stored_events VALUES (%s, %s, %s, %s)",
                [(key, n, *line) for n, line in enumerate(commit.lines, commit.first)],
            )
            if blobs:
                c.executemany(
                    "INSERT INTO blobs VALUES (%s, %s, %s)", [(key, *blob) for blob in blobs]
                )
            if templates:
                c.executemany(
                    "INSERT INTO templates VALUES (%s, %s) ON CONFLICT DO NOTHING", templates
                )
            if commit.first == 1:
                c.execute("INSERT INTO heads VALUES (%s, %s, %s)", (key, head.length, head.hash))
            else:
                c.execute(
                    "UPDATE heads SET length = %s, head = %s WHERE debate = %s AND length = %s",
                    (head.length, head.hash, key, commit.first - 1),
                )


def figure_postgres(size: Size) -> Iterator[Figure]:
    """Figure 19: one event a commit, on a server whose commits wait for the disk."""
    if not is_there():
        print(MISSING, file=sys.stderr)
        return
    commits, pairs = one_by_one(records_of(2)[0]), Pairs()
    with running(fsync=True) as server:
        urls = [server.fresh(), server.fresh()]
        for url in urls:
            migrate_store(url)
        floor = Floor(urls[0])
        with floor.connection, Store.open(urls[1]) as store:

            def append(key: str, commit: Commit) -> None:
                store.append(Batch(str(UUID(key)), *commit))

            for turn in range(size.repeats + 1):
                ids = [uuid4().hex for _ in range(max(size.appends // 4, 1))]
                clock, per = time.perf_counter, len(ids) * len(commits)
                times = [
                    seconds(clock, append_all, write, ids, commits) / per
                    for write in (floor.rows, append)
                ]
                if turn:  # the first one opens everything
                    pairs.add(*times)
    yield pairs.rate(19, "1 event a commit: line, blobs, head beside the same in psycopg", 0.2)


def figure_workers(size: Size) -> Iterator[Figure]:
    """Figure 21: the same debates from a queue, by one worker and by two."""
    if not is_there():
        print(MISSING, file=sys.stderr)
        return
    pairs, debates = Pairs(), 4 * size.appends
    with running(fsync=True) as server:
        for _ in range(min(3, size.repeats)):
            pairs.add(*(worked(server.fresh(), debates, team) / debates for team in (1, 2)))
    found = pairs.rate(
        21, f"{debates} debates from a queue, 50 ms a call: two workers beside one", 1.9
    )
    yield replace(found, unit="debates/s")


def worked(url: str, debates: int, team: int) -> float:
    """Return the seconds of wall time in which so many workers run so many debates."""
    migrate_store(url)
    rows = {f"d{n}": {"name": f"d{n}"} for n in range(debates)}
    asyncio.run(hansard.run_batch(rows, template=DEBATE, name="bench", store=url, queue=0))
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for _ in range(team)
    ]
    for worker in workers:
        expect(worker.stdout is not None and bool(worker.stdout.readline()), "a worker starts")
    begin = time.perf_counter()
    for worker in workers:
        print("go", file=worker.stdin, flush=True)
    for worker in workers:
        expect(worker.wait() == 0, "a worker ends once the queue is empty")
    spent = time.perf_counter() - begin
    with hansard.open_store(url) as store:
        (batch,) = hansard.list_batches(store)
    expect(batch.counts == {"closed": debates}, "every debate is closed")
    return spent
