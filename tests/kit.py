"""The conformance kit as tests use it: the stored table says which cases there are.

Collecting tests reads the table alone. The first test that needs a case's files makes the
whole kit, in a process of its own, and all tests of this run share it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path

from conformance_kit import runner
from hansard.record import bundle as bundles

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "tests" / "conformance"
ROWS = {row.name: row for row in runner.read_table(STORED)}
KEYS = {row["role"]: row["key"] for row in json.loads((STORED / "trust.json").read_bytes())["keys"]}


@cache
def folder():
    """The folder of the whole kit: who needs it first makes it, for all processes of the tests."""
    top = Path(os.environ["HANSARD_TEST_KIT"])  # conftest.py
    path, unfinished = top / "kit", top / "unfinished"
    with (top / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not path.exists():
            words = [sys.executable, str(ROOT / "tools" / "conformance.py"), "make"]
            subprocess.run([*words, str(unfinished)], check=True)
            unfinished.rename(path)
    return path


@cache
def case(name):
    """The case of this name, with its files."""
    return runner.case_of(folder(), ROWS[name])


@cache
def export_files(name):
    """The files of a case's export by name."""
    export = case(name).export
    if export.is_file():
        return bundles.unpack(export.read_bytes())
    return runner.files_below(export)
