"""`hansard batch`: what is printed of many debates, and how they end."""

import csv
import io
import json
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cli_support import on_a_terminal, only_debate, write_debate
from formats import NAMES
from hansard import open_store
from instant import GUARD

# Asks for one debate, and never answers for the other; then Ctrl-C comes.
HANGING = """
import asyncio

async def ask(request):
    if "south" in request.prompt:
        print("asked", flush=True)
        await asyncio.Event().wait()
    return "Because."
"""
PANEL = """
format: panel
question: What of the north?
agents: 2
rounds: 1
model: python:ask
"""


@pytest.fixture
def template():
    return write_debate(
        dict(zip(NAMES, ("release", "revise", "revise"), strict=True)), review="Ann Lee"
    )


def table(*rows):
    Path("claims.csv").write_text("\n".join(("id,question", *rows)) + "\n")
    return "claims.csv"


def test_a_line_for_each_debate_and_the_sum(hansard, template):
    rows = table("north,Do we pay north?", "south,Do we pay south?")
    done = hansard("batch", "--csv", rows, "--template", template)
    assert done.code == 0
    with open_store("sqlite:///hansard.db") as store:
        north, south = store.debates()
    assert [line for line in done.err.splitlines() if not line.startswith("Warning")] == [
        f"north  {north[:8]}  ended  revise",
        f"south  {south[:8]}  ended  revise",
        "Next        hansard batch report claims",
    ]
    assert done.out == "claims  2 rows: 2 ended\n"
    again = hansard("batch", "--csv", rows, "--template", template)
    assert (again.code, again.out) == (0, done.out)
    assert "north" not in again.err


def test_specs_alone_are_a_batch_of_their_folder(hansard, template, folder):
    done = hansard("batch", template)
    assert (done.code, done.out) == (0, f"{folder.name}  1 row: 1 ended\n")
    with open_store("sqlite:///hansard.db") as store:
        labels = store.opening(only_debate())["data"]["labels"]
    assert labels == [f"batch:{folder.name}", "row:debate"]


def test_mistakes_are_told_and_nothing_is_made(hansard, template):
    rows = table("north,Do we pay north?", "north,Do we?", "south")
    done = hansard("batch", "--csv", rows, "--template", template)
    assert done.code == 2
    twice, cells = done.err.splitlines()
    assert twice == (
        "error: row 3: an earlier row has the name north, too; give each its own [batch.twice]"
    )
    assert cells == (
        "error: row 4: this row has 1 cell, the heading has 2; put text with a comma into quotes "
        "[batch.cells]"
    )
    assert not Path("hansard.db").exists()


@pytest.mark.parametrize(
    "wrong",
    [(), ("--csv", "x.csv"), ("a.yaml", "--csv", "x.csv"), ("a.yaml", "--template", "b.yaml")],
)
def test_specs_or_a_table_with_its_template(hansard, wrong):
    done = hansard("batch", "run", *wrong)
    assert done.code == 2
    assert "name SPEC..., or --csv FILE with --template SPEC" in done.err


def test_what_is_left_out_is_said(hansard, template):
    price = "prices: {'scripted:replies.yaml': {input: '9.00', output: '9.00'}}\n"
    with Path(template).open("a") as file:
        file.write(price)
    rows = table("north,Do we pay north?", "south,Do we pay south?")
    done = hansard("batch", "--csv", rows, "--template", template, "--budget-usd", "0.00")
    assert done.code == 1
    assert "north  not opened  it may cost " in done.out
    assert "and the budget has 0.00 left [batch.budget]" in done.out
    assert done.out.splitlines()[-1] == "claims  2 rows: 2 not opened; 2 need a look"
    assert "Next" not in done.err


def test_status_and_report(hansard, template):
    assert hansard("batch", template).code == 0
    rows = table("north,Do we pay north?", "south,Do we pay south?")
    assert hansard("batch", "--csv", rows, "--template", template).code == 0
    done = hansard("batch", "status", "claims")
    assert (done.code, done.out) == (0, f"claims  {'█' * 20}  2 of 2 ended\n  2 ended\n")
    assert len(hansard("batch", "status").out.splitlines()) == 4
    missing = hansard("batch", "status", "x")
    assert missing.code == 2
    assert missing.err.startswith("error: sqlite:///hansard.db has no batch 'x'; it has 'claims', ")
    assert hansard("batch", "report", "x").err == missing.err
    found = list(
        csv.DictReader(io.StringIO(hansard("batch", "report", "claims", "--as", "csv").out))
    )
    assert [(row["row"], row["state"], row["decision"], row["reviewed"]) for row in found] == [
        ("north", "closed", "revise", "not required"),
        ("south", "closed", "revise", "not required"),
    ]
    report = json.loads(hansard("batch", "report", "claims", "--as", "json").out)
    assert [row["debate"] for row in report["rows"]] == [row["debate"] for row in found]
    assert hansard("batch", "report", "claims").out.endswith("claims  2 rows: 2 ended\n")


def test_no_spreadsheet_runs_what_a_row_is_called(hansard, template):
    assert hansard("batch", "--csv", table("=1+1,Do we?"), "--template", template).code == 0
    assert "'=1+1," in hansard("batch", "report", "claims", "--as", "csv").out


def test_a_bar_is_shown_on_a_terminal_alone(template):
    rows = table("north,Do we pay north?", "south,Do we pay south?")
    seen = on_a_terminal("batch", "--csv", rows, "--template", template)
    assert b"2/2" in seen
    assert b"north" not in seen


def test_a_warning_beside_a_bar_has_a_line_of_its_own():
    Path("seats.py").write_text("def ask(request):\n    return 'Because.'\n")
    Path("panel.yaml").write_text(PANEL)
    seen = on_a_terminal("batch", "panel.yaml", "--name", "one", "--models", "seats.py")
    assert b"Warning" in seen
    assert all(
        re.search(rb"(\n|\x1b\[2K)(\x1b\[[0-9;]*m)*$", before)
        for before in seen.split(b"Warning")[:-1]
    ), seen


def test_a_function_that_raises_leaves_its_debate_open(hansard):
    Path("seats.py").write_text("def ask(request):\n    raise KeyError('mine')\n")
    Path("panel.yaml").write_text(PANEL)
    done = hansard("batch", "panel.yaml", "--name", "one", "--models", "seats.py")
    assert done.code == 1
    assert "panel  " in done.out
    assert "agent_1 raised KeyError" in done.out
    open_ = hansard("batch", "status", "one")
    assert (open_.code, open_.out) == (1, f"one  {'░' * 20}  0 of 1 ended\n  1 open\n")
    Path("seats.py").write_text("def ask(request):\n    return 'Because.'\n")
    again = hansard("batch", "resume", "one", "--models", "seats.py")
    assert (again.code, again.out) == (0, "one  1 row: 1 ended\n")


def test_of_a_debate_that_failed_it_is_said_why(hansard):
    Path("seats.py").write_text("def ask(request):\n    return ''\n")
    Path("panel.yaml").write_text(PANEL)
    assert hansard("batch", "panel.yaml", "--name", "one", "--models", "seats.py").code == 1
    status = hansard("batch", "status", "one")
    assert (status.code, status.err) == (1, "Next        hansard batch report one\n")
    (row,) = csv.DictReader(io.StringIO(hansard("batch", "report", "one", "--as", "csv").out))
    assert (row["state"], row["code"]) == ("failed", "nobody_heard")
    assert row["error"] == "Failed without a decision: nobody gave a valid reply"
    assert row["error"] in hansard("batch", "report", "one").out.replace("\n", " ")


def test_ctrl_c_leaves_open_what_was_running(hansard):
    Path("seats.py").write_text(HANGING)
    Path("panel.yaml").write_text(PANEL)
    rows = table("north,What of the north?", "south,And the south?", "east,And the east?")
    command = ["batch", "--csv", rows, "--template", "panel.yaml", "--models", "seats.py"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hansard", *command, "--jobs", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    seen = []
    while "asked\n" not in seen:  # what the functions print goes to standard error
        seen.append(process.stderr.readline())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=GUARD)
    assert (process.returncode, out) == (130, ""), err
    assert "Run the same command again" in err
    assert "how far it is: hansard batch status claims\n" in err
    assert "Traceback" not in err
    assert hansard("batch", "status", "claims").out.endswith("  1 ended, 1 open\n")
    Path("seats.py").write_text("def ask(request):\n    return 'Because.'\n")
    done = hansard(*command)
    assert (done.code, done.out) == (0, "claims  3 rows: 3 ended\n")


def test_a_batch_of_no_debate_is_no_bug(hansard, debate):
    """Whoever changes the rows by which debates are found may leave a batch without any."""
    assert hansard("batch", "debate.yaml", "--name", "one").code == 0
    hansard("list")
    with closing(sqlite3.connect("hansard.db")) as connection, connection:
        connection.execute("UPDATE projected_names SET place = -1 - place")
    done = hansard("batch", "status", "one")
    assert (done.code, "0 of 0 ended" in done.out) == (0, True)
