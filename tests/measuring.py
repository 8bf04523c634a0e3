"""How much memory a process takes at its peak.

The system counts for a new process what the one that started it had at that moment. So a small
one stands in between: a process of the tests may be larger than what it measures.
"""

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_BETWEEN = """
import os, sys
child = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[2:]], os.environ)
_, ended, used = os.wait4(child, 0)
with open(sys.argv[1], "w") as file:
    file.write(str(used.ru_maxrss * 1024))
sys.exit(os.waitstatus_to_exitcode(ended))
"""


def peak(folder: Path, *words: str) -> tuple[int, bytes, int]:
    """Run Python with these words; return its exit code, what it printed, and its peak in bytes."""
    told = folder / "peak"
    done = subprocess.run(
        [sys.executable, "-c", _BETWEEN, told, *words], stdout=subprocess.PIPE, check=False
    )
    return done.returncode, done.stdout, int(told.read_text())


def traced(work: Callable[[], T]) -> tuple[T, int]:
    """Do some work here; return what it gives, and the most bytes that its objects had at once."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
