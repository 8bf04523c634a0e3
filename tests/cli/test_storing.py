"""`store`, and every command on a store in PostgreSQL."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import hansard as library
from cli_support import write_debate
from formats import NAMES
from instant import GUARD

SAID = ("--reason", "She asked.", "--basis", "GDPR, Article 17", "--asked-by", "Ann Lee")


@pytest.fixture
def at_server(server, monkeypatch):
    """The URL of an empty database, which is the store that every command means."""
    url = server.fresh()
    monkeypatch.setenv("HANSARD_STORE", url)
    return url


@pytest.mark.slow
def test_every_command_works_on_a_server_and_shows_no_password(ending, at_server, monkeypatch):
    secret = at_server.partition("@")[0].rpartition(":")[2]
    done = []

    def hansard(*args, code=0):
        done.append(ending(*args, code=code))
        return done[-1]

    refused = hansard("list", code=2)
    assert refused.err.endswith("[store.missing]\n")
    assert "`hansard store migrate --store postgresql://owner@" in refused.err.replace("'", "")
    made = hansard("store", "migrate").out.splitlines()
    assert made[1] == "Tables      version 1: made"
    write_debate(dict(zip(NAMES, ("release", "revise", "revise"), strict=True)))
    hansard("run", "debate.yaml")
    ((debate, state),) = (
        (row["debate"], row["state"])
        for row in json.loads(hansard("list", "--json", "--search", "release").out)["debates"]
    )
    assert state == "closed"
    short = debate[:8]
    for command in (
        ("show", short),
        ("report", short),
        ("replay", short),
        ("verify", short),
        ("status", short),
        ("page", short, "-o", "record.html"),
        ("run", "debate.yaml"),
        ("compare", short),
        ("review", short, "--outcome", "approved", "--reviewer", "Ann Lee"),
        ("outcome", short, "--label", "right"),
        ("hold", short),
        ("hold", short, "--lift"),
        ("redact", short, "1.question", *SAID, "--yes"),
        ("register", "checkpoint", "-o", "kept.txt"),
        ("register", "verify", "--since", "kept.txt"),
        ("register", "prove", short, "-o", "proof.txt"),
        ("batch", "debate.yaml", "--name", "one", "--queue", "0"),
        ("worker", "--once"),
        ("batch", "status", "one"),
        ("batch", "report", "one"),
        ("retention",),
        ("metrics",),
        ("projection", "rebuild"),
        ("verify", "--all", "--jobs", "2"),
        ("export", short, "-o", "record.zip"),
        ("verify", "record.zip"),
    ):
        hansard(*command)
    shown = hansard("show", short, "--store", at_server).out
    assert "The text of the question is not available" in shown
    written = b"".join(path.read_bytes() for path in Path().iterdir())
    assert secret not in "".join(each.out + each.err for each in done)
    assert secret.encode() not in written


def test_a_store_in_a_file_from_before_versions_is_brought_up_to_date(ending, debate):
    with closing(sqlite3.connect("hansard.db")) as connection:
        connection.execute("PRAGMA user_version = 0")
    refused = ending("list", code=2).err
    assert refused.endswith("[store.old]\n")
    command = refused.partition("`hansard ")[2].partition("`")[0]
    assert ending(*command.split()).out.splitlines()[1] == "Tables      version 1: they were 0"
    assert ending("store", "migrate").out.splitlines()[1] == "Tables      version 1: up to date"
    assert debate[:8] in ending("list").out


# `hansard copy`: what it says, and what other commands say of a copy that is not finished


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
