"""Figures 17, 18 and 20: what many stored debates cost a question, metrics, a run, a new row.

The debates are a few of different kinds under many ids, as in figure 15. The rows by which they
are found are made first: that verifies each record once, and has a figure of its own. What a
command takes beyond its start is what it takes beyond itself in a store of one debate.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import hansard
from bench_kit.debates import SEATS, Instant, run_debates, spec_of
from bench_kit.many import fill
from bench_kit.measure import Figure, Pairs, Size, expect, seconds
from bench_kit.public import by_api, cpu_of
from bench_kit.record import read_all
from hansard.record.bundle import Bundle
from hansard.report.metrics import UNIT, Sum, figures
from hansard.store.application import Batch, Store

_MOST = 2.0  # seconds
_BEYOND = 0.3  # seconds beyond the start of a list
_BEYOND = 0.3  # seconds
_FEW = 100  # debates
_RARE = 100  # one of as many debates is about clause 11
QUESTIONS = {
    "overridden or never reviewed": "report --period {year} --as csv",
    "cited what does not exist": "list --exception citations",
    "clause 11, and how often": "list --questions --search|clause 11",
    "which model ends LOW": "report --period {year} --as json",
    "the committee's report": "report --period {year} -o {file}",
}
LISTS = {
    "the newest 50": "list --limit 50",
    "a filter": "list --limit 50 --exception citations",
    "a search": "list --limit 50 --search|clause 11",
}

LISTS = {
    "the newest 50": "list --limit 50",
    "a filter": "list --limit 50 --exception citations",
    "a search": "list --limit 50 --search|clause 11",
}


def figure_questions(size: Size, folder: Path) -> Iterator[Figure]:
    """Make a store, bring its rows up to date, ask it, and count its metrics again."""
    path, debates = folder / "questions.db", size.asked
    fill(path, records(), debates)
    with hansard.open_store(f"sqlite:///{path}", create=False) as store:
        begin = time.process_time()
        rows_of(store)
        spent = (time.process_time() - begin) / debates
        yield Figure(17, f"rows of {debates:,} debates made anew", "us/debate", 1e6 * spent)
    for name, words in QUESTIONS.items():
        times = [asked(folder, path, words, n) for n in range(min(3, size.repeats))]
        ours = sorted(times)[len(times) // 2]
        what = f"{debates:,} debates: {name}"
        yield Figure(17, what, "s of CPU", ours, _MOST, ours / _MOST, at_most=1.0)
    single, few = folder / "single.db", folder / "few.db"
    fill(single, records(), 1)
    for name, words in LISTS.items():
        times = [
            asked(folder, path, words, n) - asked(folder, single, words, n)
            for n in range(min(5, size.repeats))
        ]
        what = f"{debates:,} debates: list of {name}, beyond its start"
        ours = median(times)
        yield Figure(17, what, "s of CPU", ours, _BEYOND, ours / _BEYOND, at_most=1.0)
    yield from figure_metrics(path, debates)
    fill(few, records(), _FEW)
    yield figure_run(size, few, path)


def figure_run(size: Size, few: Path, many: Path) -> Figure:
    """Time a debate through `hansard.run` where many are stored, beside where few are."""
    pairs = Pairs()
    with Store.open(f"sqlite:///{few}") as one, Store.open(f"sqlite:///{many}") as other:
        for turn in range(size.repeats + 1):
            times = [cpu_of(by_api, store, size.public) for store in (one, other)]
            if turn:  # the first one opens everything
                pairs.add(*times)
    what = f"hansard.run, {size.asked:,} debates stored, beside {_FEW}"
    return pairs.cost(17, what, 1.1, "us/debate")


class Timed(Store):
    """A store that knows the CPU time of its appends."""

    spent = 0.0

    def append(self, *batches: Batch) -> None:
        """Append, and add the time to `spent`."""
        self.spent += seconds(time.process_time, super().append, *batches)


def figure_following(size: Size, folder: Path) -> Iterator[Figure]:
    """Figure 20: catching up with new debates, and the least that reads them, beside appends."""
    caught, least = Pairs(), Pairs()
    with Timed.open(f"sqlite:///{folder / 'following.db'}", create=True) as store:
        for turn in range(size.repeats + 1):
            store.spent, before = 0.0, len(store.debates())
            asyncio.run(run_debates(store, spec_of(2), size.appends, Instant()))
            appends = store.spent / size.appends
            added = store.debates()[before:]
            times = [
                seconds(time.process_time, work) / size.appends
                for work in (partial(read, store, added), partial(rows_of, store))
            ]
            if turn:  # the first one opens everything
                for pairs, spent in zip((least, caught), times, strict=True):
                    pairs.add(appends, spent)
    what, unit = "new debates of 3x2, beside their appends", "us/debate"
    yield caught.cost(20, f"catching up with {what}", 0.15, unit)
    yield least.cost(20, f"reading, parsing and hashing {what}", None, unit)


def read(store: Store, debates: Sequence[str]) -> None:
    """Read debates of a store, parse their entries, and hash everything."""
    for debate in debates:
        bundle = store.bundle(debate)
        read_all(bundle.lines, list(bundle.blobs.values()))


def rows_of(store: Store) -> None:
    """Bring the rows up to date, and list nothing."""
    expect(not hansard.list_debates(store, limit=0).debates, "nothing is listed")


def figure_metrics(path: Path, debates: int) -> Iterator[Figure]:
    """Time metrics beside a recount of all records, which must give the same."""
    with hansard.open_store(f"sqlite:///{path}", create=False) as store:
        begin = time.process_time()
        found = hansard.metrics(store)
        ours = time.process_time() - begin
        begin = time.process_time()
        sums: dict[str, Sum] = defaultdict(Sum)
        for debate in store.debates():
            for name, value in figures(hansard.result(store, debate)).items():
                sums[name] = sums[name].plus(1, value / UNIT, (value / UNIT) ** 2)
        floor = time.process_time() - begin
    rows = {row.name: row for row in found.rows if row.task_type is None and row.n}
    expect(found.debates == debates and rows.keys() == sums.keys(), "every debate is counted")
    for name, row in rows.items():
        mean = sums[name].mean
        same = row.n == sums[name].n and abs((row.value or 0) - (mean or 0)) < 1e-9
        expect(same, f"the metric {name} is that of a recount")
    what = f"metrics over {debates:,} debates beside a recount of their records"
    yield Figure(18, what, "ms", 1e3 * ours, 1e3 * floor, ours / floor, at_most=0.05)


def records() -> list[Bundle]:
    """Return the records that are there in turns: few moderated ones, and votes of all kinds."""
    with hansard.open_store("sqlite:///:memory:") as store, warnings.catch_warnings():
        warnings.simplefilter("ignore", hansard.SpecWarning)
        split = dict(SEATS)
        whole = dict.fromkeys(SEATS, "release")
        made = [voted(store, split), voted(store, whole), moderated(store)]
        escalated, decided, rare = (hansard.read_record(store, name).bundle for name in made)
    return [rare, *[escalated] * (_RARE // 10), *[decided] * (_RARE - _RARE // 10 - 1)]


def voted(store: hansard.Store, votes: dict[str, str]) -> str:
    """Run a debate of three that vote so."""
    spec = {
        "question": "Should the new matching engine be released to all customers this week?",
        "debaters": [{"id": seat, "model": "python:seat"} for seat in votes],
        "options": list(SEATS.values()),
        "threshold": 2,
        "max_rounds": 2,
    }
    said = {"stance": "What was measured decides.", "rationale": "The load test is open. " * 9}
    seat = {"seat": lambda request: {**said, "vote": votes[request.speaker]}}
    return hansard.run_sync(spec, models=seat, store=store).debate


def moderated(store: hansard.Store) -> str:
    """Run one about a clause, with a quote that stands nowhere and a moderator who is not sure."""
    spec = {
        "format": "moderated",
        "question": "Is clause 11 of the hosting agreement fair?",
        "model": "python:seat",
        "evidence": [{"id": "memo", "text": "Payment is due within thirty days."}],
    }
    return hansard.run_sync(spec, models={"seat": argue}, store=store).debate


def argue(request: hansard.Request) -> Any:
    """Say the least that the schema admits, cite what is not there, and be unsure."""
    said = least(request.reply_schema)
    for argument in said.get("counter_arguments", ()):
        argument["citations"] = [{"source": "memo", "quote": "within ten days"}]
    return {**said, "confidence": "LOW"} if "confidence" in said else said


def least(schema: Any) -> Any:
    """Return what a schema admits and says least."""
    if schema["type"] == "object":
        return {key: least(schema["properties"][key]) for key in schema["properties"]}
    if schema["type"] == "array":
        return [least(schema["items"])] * schema.get("minItems", 0)
    other = {"integer": schema.get("maximum"), "boolean": False, "string": "because"}
    return schema["enum"][0] if "enum" in schema else other[schema["type"]]


def asked(folder: Path, path: Path, words: str, number: int) -> float:
    """Run a command; return the CPU time that it took, its start included."""
    file = folder / f"asked-{time.monotonic_ns()}-{number}"
    year = time.gmtime().tm_year
    told = words.replace("{year}", str(year)).replace("{file}", str(file))
    first, _, last = told.partition("|")
    home = {"HANSARD_HOME": str(folder / "home"), "HANSARD_ORG": "bench"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "hansard", *first.split(), *([last] if last else [])],
        env=os.environ | home | {"HANSARD_STORE": f"sqlite:///{path}"},
        check=False,
        capture_output=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    expect(done.returncode == 0 and bool(done.stdout), f"hansard {told} ends with 0")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
