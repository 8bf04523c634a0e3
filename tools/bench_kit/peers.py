"""Figure 16: what a call costs in libraries of debate beside ours, each in its own environment.

Ours is on disk before each call; theirs is in memory, and nothing of it is kept.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench_kit.measure import Figure, Size
from bench_kit.peer import PEERS
from hansard.runtime.pacing import VARIABLE

PEER = Path(__file__).with_name("peer.py")
OURS = "hansard"
SERIAL = {"lemmas"}  # makes one call after the other: no crowd, nothing waits beside anything


class Shape(NamedTuple):
    """Debates that are measured, and how much of a peer's figure ours should be at most."""

    name: str
    options: Mapping[str, float]
    value: str  # of what the runner prints
    targets: Mapping[str, float]
    crowd: bool = False


def shapes(size: Size) -> tuple[Shape, ...]:
    """Return the shapes that are measured."""
    short, long_ = size.rounds[:2]
    crowd = {"rounds": short, "debates": size.crowd}
    half = {"loomflow, audited": 0.5, "AutoGen": 0.5}
    fifth = {"loomflow": 0.2, "loomflow, audited": 0.2, "AutoGen": 0.5}
    at_once = f"{size.crowd} of 3x{short} at once"
    return (
        Shape(f"3x{short}", {"rounds": short, "times": size.public}, "cpu", half),
        Shape(f"3x{long_}", {"rounds": long_}, "cpu", fifth),
        Shape(f"{at_once}", crowd, "cpu", fifth, crowd=True),
        Shape(f"{at_once}", crowd, "peak", dict.fromkeys(PEERS, 1.0), crowd=True),
        Shape(f"{at_once}, 50 ms a call", {**crowd, "latency": 0.05}, "wall", {}, crowd=True),
    )


def environments(folder: Path) -> dict[str, Path]:
    """Return a Python for each peer that has its package and no other peer's."""
    found = {OURS: Path(sys.executable)}
    made: dict[str, Path] = {}
    for name, (package, _) in PEERS.items():
        if package and package not in made:
            place = folder / package
            venv.create(place, with_pip=True)
            made[package] = place / "bin" / "python"
            command = (str(made[package]), "-m", "pip", "install", "--quiet", package)
            subprocess.run(command, check=True)
        if package:
            found[name] = made[package]
    return found


def measured(python: Path, name: str, options: Mapping[str, float]) -> dict[str, float]:
    """Return what the runner prints of a peer, `cpu` and `wall` in seconds a call."""
    flags = [str(part) for pair in options.items() for part in (f"--{pair[0]}", pair[1])]
    # Theirs have no limit of calls at a time.
    environment = os.environ | {VARIABLE: "100000", "PYTHONPATH": str(PEER.parent.parent)}
    done = subprocess.run(
        [python, PEER, name, *flags], env=environment, capture_output=True, check=True
    )
    row: dict[str, float] = json.loads(done.stdout)
    return row | {clock: row[clock] / row["calls"] for clock in ("cpu", "wall")}


def figure_peers(size: Size, folder: Path) -> Iterator[Figure]:
    """Measure every peer and ours in turns, and yield ours beside each."""
    pythons = environments(folder)
    units = {"cpu": ("us/call", 1e6), "wall": ("us/call", 1e6), "peak": ("MiB", 1 / 1024)}
    for shape in shapes(size):
        names = [name for name in pythons if not (shape.crowd and name in SERIAL)]
        rows: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(min(3, size.repeats)):
            for name in names:
                rows[name].append(measured(pythons[name], name, shape.options)[shape.value])
        unit, scale = units[shape.value]
        for name in names[1:]:
            pairs = zip(rows[OURS], rows[name], strict=True)
            ratio = median(ours / theirs for ours, theirs in pairs)
            ours, theirs = (scale * median(rows[who]) for who in (OURS, name))
            text = f"{shape.name}: {shape.value} beside {name}"
            target = shape.targets.get(name)
            yield Figure(16, text, unit, ours, theirs, ratio, at_most=target)
