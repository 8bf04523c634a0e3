"""The conformance kit as tests use it: the stored table says which cases there are.

Collecting tests reads the table alone. The first test that needs a case's files makes the
whole kit, in a process of its own, and all tests of this process share it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from conformance_kit import runner
from hansard.record import bundle as bundles

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "tests" / "conformance"
ROWS = {row.name: row for row in runner.read_table(STORED)}
KEYS = {row["role"]: row["key"] for row in json.loads((STORED / "trust.json").read_bytes())["keys"]}


@cache
def folder():
    """The folder of the whole kit."""
    path = Path(mkdtemp(prefix="hansard-kit-"))
    words = [sys.executable, str(ROOT / "tools" / "conformance.py"), "make", str(path)]
    subprocess.run(words, check=True)
    return path


def remove():
    """Remove the kit's folder if there is one; conftest.py does it at the end."""
    if folder.cache_info().currsize:
        rmtree(folder())
        folder.cache_clear()


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
