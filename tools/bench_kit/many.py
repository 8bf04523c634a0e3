"""Figure 15: what exporting and verifying many debates takes, in memory and in processes.

The debates are one debate under many ids, chained anew for each: so a store of any size is
made in little time. Memory is the sum, over all processes of a command, of the most that each
had resident at any time; it is read from /proc, and so on Linux alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from bench_kit.debates import records_of
from bench_kit.measure import Figure, Pairs, Size, expect
from hansard.record.bundle import Bundle, Head
from hansard.record.line import line_hash
from hansard.rules.events import parse
from hansard.store.application import Batch, Store
from hansard.store.database import Extras

_AT_ONCE = 100  # debates that are stored in one transaction
_PAUSE = 0.02  # seconds between two looks at the processes
_MOST = 200.0  # MiB
_PREV = re.compile(rb'"prev":"[0-9a-f]{64}"')


def figure_many(size: Size, folder: Path) -> Iterator[Figure]:
    """Export and verify a small and a large number of debates."""
    (record,) = records_of(1)
    peaks: dict[str, list[float]] = {}
    pairs = Pairs()
    for debates in size.many:
        store, out = folder / f"many-{debates}.db", folder / f"many-{debates}"
        fill(store, [record], debates)
        url = f"sqlite:///{store}"
        _, peak = timed(folder, "export", "--all", "--store", url, "-o", str(out))
        peaks.setdefault("export", []).append(peak)
        for jobs in (1, 2):
            _, peak = timed(folder, "verify", str(out), "--jobs", str(jobs))
            peaks.setdefault(f"verify, jobs {jobs}", []).append(peak)
    for _ in range(size.repeats):
        one, two = (
            timed(folder, "verify", str(out), "--jobs", str(jobs))[0] / debates for jobs in (1, 2)
        )
        pairs.add(one, two)
    small, large = size.many
    entries = large * len(record.lines)
    for name, (few, many) in peaks.items():
        what = f"{name}: {large:,} debates, {entries:,} entries"
        yield Figure(15, f"{what}, beside {small:,}", "MiB", many, few, many / few, at_most=1.25)
        yield Figure(15, what, "MiB", many, _MOST, many / _MOST, at_most=1.0)
    faster = pairs.rate(15, f"verify, jobs 2 beside 1: {large:,} debates", 1.6)
    yield replace(faster, unit="debates/s")


def fill(path: Path, records: Sequence[Bundle], debates: int) -> None:
    """Make a store of as many debates, which are these records in turns."""
    with Store.open(f"sqlite:///{path}", create=True) as store:
        for first in range(0, debates, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, debates))
            store.append(*(batch_of(records[n % len(records)], n) for n in numbers))


def batch_of(record: Bundle, number: int) -> Batch:
    """Return a record under another id, as it is stored."""
    debate = str(UUID(int=number << 80 | 4 << 76 | 8 << 60))
    old, new = parse(record.lines[0])["debate"].encode(), debate.encode()
    lines = list[tuple[str, bytes]]()
    prev = "0" * 64
    for line in record.lines:
        made = _PREV.sub(f'"prev":"{prev}"'.encode(), line.replace(old, new), count=1)
        lines.append((str(parse(line)["type"]), made))
        prev = line_hash(made)
    extras = Extras(
        Head(len(lines), prev), list(record.blobs.items()), list(record.templates.items())
    )
    return Batch(debate, 1, lines, extras)


def timed(folder: Path, *words: str) -> tuple[float, float]:
    """Run a command; return its wall time in seconds, and its peak in MiB."""
    home = {"HANSARD_HOME": str(folder / "home"), "HANSARD_ORG": "bench"}
    begin, peaks = time.monotonic(), dict[int, int]()
    process = subprocess.Popen(
        [sys.executable, "-m", "hansard", *words],
        env=os.environ | home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None:
        peaks |= look(process.pid)
        time.sleep(_PAUSE)
    expect(process.returncode == 0, f"hansard {words[0]} ends with 0")
    return time.monotonic() - begin, sum(peaks.values()) / 1024


def look(pid: int) -> dict[int, int]:
    """Return the peaks so far of a process and of those that it started, in KiB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:  # it ended just now
        return {}
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    peaks = {pid: int(found[1])} if found else {}
    for child in map(int, children):
        peaks |= look(child)
    return peaks
