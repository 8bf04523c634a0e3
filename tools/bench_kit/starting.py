"""Figure 10: how long the package takes to import."""

from __future__ import annotations

import subprocess
import sys

from bench_kit.measure import Figure, Pairs, Size

OURS = "from hansard import run, verify"
CORE = "import eventsourcing, pydantic, cryptography, orjson, click"
# `import pydantic` alone loads next to nothing of it; this is what every user of the five loads.
USED = """
from eventsourcing.application import Application
from eventsourcing.sqlite import SQLiteFactory
from pydantic import BaseModel, TypeAdapter
from cryptography.hazmat.primitives.asymmetric import ed25519
import orjson, click
"""


def cpu_of(imports: str) -> float:
    """Return the CPU seconds of some imports in a fresh process."""
    timed = f"import time\nbegin = time.process_time()\n{imports}\n"
    command = [sys.executable, "-c", f"{timed}print(time.process_time() - begin)"]
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


def figure_import(size: Size) -> tuple[Figure, Figure]:
    """Figure 10: beside the core packages as they are named, and beside what is used of them."""
    core, used = Pairs(), Pairs()
    cpu_of(OURS)  # whatever is compiled once
    for _ in range(size.repeats):
        for pairs, floor in ((core, CORE), (used, USED)):
            pairs.add(cpu_of(floor), cpu_of(OURS))
    return (
        core.cost(10, "import of run, verify beside the five core packages", 2, "us"),
        used.cost(10, "import of run, verify beside what is used of the five", None, "us"),
    )
