"""Work in processes of its own: all of it comes back, and what ends a process costs one thing."""

import multiprocessing
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import partial

import pytest

from hansard.api.workers import each
from hansard.errors import DataError


def work(number):
    """Say what it was given; some things end the process, or raise."""
    if number == 13:
        os._exit(7)
    if number == 14:
        raise DataError("store.failed", "the store is gone")
    if number == 15:
        raise ZeroDivisionError("a bug")
    if number == 16:
        signal.pause()  # for ever
    return f"{number} was here"


@contextmanager
def start(log=None):
    yield work
    if log is not None:
        log.append("closed")


def lost(number, why):
    return f"{number}: {why}"


def test_in_this_process_it_comes_in_order():
    log = []
    assert list(each(partial(start, log), [3, 1, 2], 1, lost)) == [
        f"{number} was here" for number in (3, 1, 2)
    ]
    assert log == ["closed"]


@pytest.mark.parametrize("jobs", [2, 9])
def test_in_several_all_of_it_comes(jobs):
    found = list(each(start, range(6), jobs, lost))
    assert sorted(found) == [f"{number} was here" for number in range(6)]


def test_nothing_to_do_starts_nothing():
    assert list(each(start, [], 2, lost)) == []


def test_what_ends_a_process_costs_nobody_else_anything():
    found = sorted(each(start, [1, 13, 2, 13, 13, 3, 4, 13], 2, lost))
    ended = "13: its process ended with exit code 7"
    assert found == ["1 was here", *[ended] * 4, "2 was here", "3 was here", "4 was here"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_the_work_raises_is_raised(jobs):
    with pytest.raises(DataError) as caught:
        list(each(start, [1, 14], jobs, lost))
    assert (caught.value.code, str(caught.value)) == ("store.failed", "the store is gone")
    with pytest.raises((ZeroDivisionError, RuntimeError), match="a bug"):
        list(each(start, [15], jobs, lost))


def test_whoever_stops_listening_ends_the_processes():
    found = each(start, [1, *[16] * 5], 2, lost)
    next(found)
    assert len(multiprocessing.active_children()) == 2
    found.close()
    assert multiprocessing.active_children() == []


def test_a_process_imports_nothing_from_the_working_directory(tmp_path, monkeypatch):
    for name in ("multiprocessing", "pickle", "signal"):
        (tmp_path / f"{name}.py").write_text("import os\nos._exit(9)\n")
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    assert sorted(each(start, [1, 2], 2, lost)) == ["1 was here", "2 was here"]
    assert dict(os.environ) == before


SCRIPT = """
import signal
from contextlib import contextmanager
from hansard.api.workers import each

def is_deaf(_):
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

@contextmanager
def start():
    yield is_deaf

if __name__ == "__main__":
    print(sorted(each(start, range(3), 3, None)))
"""


def test_no_process_hears_of_ctrl_c_while_it_begins_not_even_the_first(tmp_path):
    """With the first one, Python starts a process of its own, and then lets signals through."""
    (tmp_path / "script.py").write_text(SCRIPT)
    here = tmp_path / "here"
    here.mkdir()
    (here / "multiprocessing.py").write_text("import os\nos.write(2, b'planted')\n")
    call = [sys.executable, tmp_path / "script.py"]
    done = subprocess.run(call, check=False, cwd=here, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[True, True, True]\n", "")
