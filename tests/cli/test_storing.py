"""`store`, and every command on a store in PostgreSQL."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli_support import write_debate
from formats import NAMES

SAID = ("--reason", "She asked.", "--basis", "GDPR, Article 17", "--asked-by", "Ann Lee")


@pytest.fixture
def at_server(server, monkeypatch):
    """The URL of an empty database, which is the store that every command means."""
    url = server.fresh()
    monkeypatch.setenv("HANSARD_STORE", url)
    return url


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
