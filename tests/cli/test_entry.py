"""The way in: Ctrl-C is one word and an exit code, whatever is going on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli_support import process
from hansard.cli.interrupting import interruptible

INTERRUPT = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"


@pytest.mark.parametrize("module", ["click", "rich", "pydantic"])
def test_an_interrupted_import_is_one_word(folder, module):
    """A package of ours is imported, and Ctrl-C comes in the middle of it."""
    (folder / "shadow").mkdir()
    (folder / "shadow" / f"{module}.py").write_text(INTERRUPT)
    done = process("list", PYTHONPATH=str(folder / "shadow"))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("where", ["hansard.api.records.open_store", "hansard.cli.main.cli.main"])
def test_an_interrupted_command_is_one_word(where):
    """In a command, and in what is done before one: options are read, help is written."""
    owner, _, name = where.rpartition(".")
    script = f"""
import os, signal, sys, time, pkgutil
import hansard_entry
import hansard.cli.main
def interrupted(*args, **more):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
setattr(pkgutil.resolve_name({owner!r}), {name!r}, interrupted)
import hansard
hansard.open_store = interrupted
sys.argv = ["hansard", "list"]
hansard_entry.run()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_whoever_ignores_ctrl_c_goes_on_ignoring_it(folder):
    """As a shell does for what it starts in the background."""
    (folder / "shadow").mkdir()
    only = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise ImportError('gone on')\n"
    (folder / "shadow" / "click.py").write_text(only)
    done = subprocess.run(
        [sys.executable, "-m", "hansard", "list"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path("shadow").absolute())},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert "gone on" in done.stderr


def test_outside_the_command_line_handlers_stay_as_they_are():
    before = signal.getsignal(signal.SIGINT)
    with interruptible():
        assert signal.getsignal(signal.SIGINT) is before
    assert signal.getsignal(signal.SIGINT) is before
