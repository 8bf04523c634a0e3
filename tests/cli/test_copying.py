"""`hansard copy`: what it says, and what other commands say of a copy that is not finished."""

import os
import signal
import subprocess
import sys

import hansard as library
from instant import GUARD


def test_it_says_what_was_copied_and_that_it_was_compared(hansard, debate):
    done = hansard("copy", "hansard.db", "sqlite:///new.db")
    assert (done.code, done.err) == (0, "")
    with library.open_store("sqlite:///hansard.db") as store:
        lines, texts = len(store.lines(debate)), len(store.bundle(debate).blobs)
        size, root = store.register.size, store.register.root(store.register.size).hex()
    assert done.out == (
        f"Copied      1 debate, {lines} entries, {texts} texts\n"
        f"Register    {size} lines, root {root}\n"
        "Compared    each entry, text and checkpoint, and the root: the same in both\n"
    )
    assert hansard("verify", debate, "--store", "sqlite:///new.db").code == 0
    listed = [hansard("list", *store).out for store in ((), ("--store", "sqlite:///new.db"))]
    assert listed[0] == listed[1]


def test_a_copy_that_is_not_the_same_fails_a_check(hansard, debate, monkeypatch):
    def differs(*_, **__):
        raise library.DataError("copy.differs", "debate x is not the same")

    monkeypatch.setattr(library, "copy_store", differs)
    done = hansard("copy", "hansard.db", "new.db")
    assert (done.code, done.err) == (1, "error: debate x is not the same [copy.differs]\n")


def test_of_a_source_that_went_on_it_says_so_and_fails(hansard, debate, monkeypatch):
    copy = library.copy_store

    def beside(source, target, *, each):
        def late(found):
            told.append(found)
            if len(told) == 2:  # it is compared
                assert hansard("run", "debate.yaml").code == 0

        told = []
        return copy(source, target, each=late)

    monkeypatch.setattr(library, "copy_store", beside)
    done = hansard("copy", "hansard.db", "new.db")
    assert done.code == 1
    assert done.err == "FROM has grown since: run this again once nobody uses it\n"


HELD = """
import signal, sys, hansard
from hansard.cli.main import run
from hansard.store import copying
entries = copying._Copying.entries

def held(self):
    entries(self)
    print("copied", flush=True)
    signal.pause()

copying._Copying.entries = held
sys.argv = ["hansard", "copy", "hansard.db", "new.db"]
run()
"""


def test_after_ctrl_c_it_goes_on_and_until_then_nothing_else_opens_the_copy(hansard, debate):
    process = subprocess.Popen(
        [sys.executable, "-c", HELD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "copied\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.communicate(timeout=GUARD)[1].split() == ["interrupted"]
    assert process.returncode == 130
    for command in (("list",), ("status", debate), ("export", debate, "-o", "x.zip")):
        done = hansard(*command, "--store", "sqlite:///new.db")
        assert done.code == 2
        assert done.err == (
            "error: sqlite:///new.db is a copy that is not finished; run the same `hansard copy` "
            "again, which goes on where it stopped [store.copying]\n"
        )
    assert hansard("copy", "hansard.db", "new.db").code == 0
    assert hansard("status", debate, "--store", "sqlite:///new.db") == hansard("status", debate)
