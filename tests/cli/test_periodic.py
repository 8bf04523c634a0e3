"""`report --period` and `verify --report`: what debates of a time come to, counted again."""

import csv
import json
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import jsonschema
import pytest

from cli_support import write_debate
from exporting import TOOL_FILE, run_tool
from formats import NAMES
from hansard.schemas import render


@pytest.fixture
def several(hansard, home):
    """Three debates in hansard.db, one of them left to a person."""
    for votes in (("release", "revise", "revise"), ("release", "revise", "escalate")):
        write_debate(dict(zip(NAMES, votes, strict=True)))
        assert hansard("run", "debate.yaml").code == 0
    assert hansard("run", "debate.yaml").code == 0


def test_a_signed_report_is_counted_again_from_a_folder_of_exports(hansard, several):
    done = hansard("report", "--since", "2000", "-o", "report.txt")
    assert (done.code, done.out[:8]) == (0, "# Debate")
    assert "| Debates | 3 |" in done.out
    assert "report.txt: " in done.err
    assert "over 3 records, signed by house/export" in done.err
    assert Path("report.txt").stat().st_mode & 0o777 == 0o600
    assert hansard("export", "--all", "-o", "all").code == 0
    sound = hansard("verify", "all", "--report", "report.txt")
    assert sound.code == 0
    assert "21  report      pass         " in sound.out
    text = Path("report.txt").read_text().replace("number debates 3", "number debates 2")
    Path("other.txt").write_text(text)
    other = hansard("verify", "all", "--report", "other.txt")
    assert other.code == 1
    assert "21  report      FAIL         " in other.out
    assert "21.number  The report gives another number than the folder: debates" in other.out
    code, out, _ = run_tool("all", "--report", "other.txt")
    assert code == 1
    assert "21.number at the folder: " in out


def test_what_is_signed_is_counted_from_the_records(hansard, several):
    """In a store whose rows were made before a record, and one of the rows, was altered."""
    rows = json.loads(hansard("report", "--since", "2000", "--as", "json").out)["debates"]
    altered = rows[0]["debate"]
    with closing(sqlite3.connect("hansard.db")) as store, store:
        lie = (
            """UPDATE projected_counts SET numbers = replace(numbers, '"calls": ', '"calls": 9')"""
        )
        store.execute(lie)
        store.execute("DELETE FROM blobs WHERE debate = ?", [altered.replace("-", "")])
    done = hansard("report", "--since", "2000", "-o", "report.txt")
    assert (done.code, "| Debates | 2 |" in done.out) == (0, True)
    assert altered in done.out
    assert "number debates 2\n" in Path("report.txt").read_text()
    calls = sum(row["calls"] for row in rows[1:])
    assert f"number calls {calls}\n" in Path("report.txt").read_text()


def test_what_is_signed_is_counted_from_records_wherever_their_entries_stand(hansard, several):
    """Also of a debate whose entries somebody moved before the place where readers begin."""
    rows = json.loads(hansard("report", "--since", "2000", "--as", "json").out)["debates"]
    name = rows[0]["debate"].replace("-", "")
    with closing(sqlite3.connect("hansard.db")) as store, store:
        (trigger,) = store.execute("SELECT sql FROM sqlite_master WHERE name = 'lines_stand'")
        store.execute("DROP TRIGGER lines_stand")
        moved = "UPDATE stored_events SET rowid = rowid - 1000 WHERE originator_id = ?"
        store.execute(moved, [name])
        store.execute(*trigger)
        for table in ("projected", "projected_names", "projected_figures", "projected_counts"):
            store.execute(f"UPDATE {table} SET place = -999 WHERE place = 1")
        lie = """UPDATE projected_counts SET numbers = replace(numbers, '"calls": ', '"calls": 9')
            WHERE place = -999"""
        assert store.execute(lie).rowcount == 1
    done = hansard("report", "--since", "2000", "-o", "report.txt")
    assert "over 3 records, signed by house/export" in done.err
    calls = sum(row["calls"] for row in rows)
    assert f"number calls {calls}\n" in Path("report.txt").read_text()


def test_an_export_that_went_on_is_superseded(hansard, several):
    assert hansard("report", "--since", "2000", "-o", "report.txt").code == 0
    name = json.loads(hansard("report", "--since", "2000", "--as", "json").out)["debates"][0]
    assert hansard("outcome", name["debate"], "--label", "right").code == 0
    assert hansard("export", "--all", "-o", "all").code == 0
    done = hansard("verify", "all", "--report", "report.txt")
    assert done.code == 1
    assert f"than the folder holds: {name['debate']}" in done.out


def test_json_and_csv_have_a_row_for_each_debate(hansard, several):
    found = json.loads(hansard("report", "--since", "2000", "--as", "json").out)
    jsonschema.validate(found, json.loads(render("period")))
    rows = [*csv.DictReader(hansard("report", "--since", "2000", "--as", "csv").out.splitlines())]
    assert [row["debate"] for row in rows] == [row["debate"] for row in found["debates"]]
    assert [row["decision"] for row in rows] == ["revise", "escalate", "escalate"]
    assert [row["exceptions"] for row in rows] == ["", "escalated", "escalated"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "report.which"),
        (("0a1b", "--period", "2026"), "report.which"),
        (("--period", "2026-Q5"), "period.time"),
        (("--until", "2026"), "period.time"),
        (("--period", "2026", "--as", "dossier"), "report.form"),
        (("0a1b", "--as", "csv"), "report.form"),
        (("0a1b", "-o", "x"), "report.output"),
    ],
)
def test_what_cannot_be_is_refused(hansard, several, words, code):
    done = hansard("report", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.rstrip().endswith(f"[{code}]")


def test_a_report_overwrites_nothing_and_is_for_folders_alone(hansard, several):
    Path("report.txt").write_text("mine")
    assert hansard("report", "--period", "2026", "-o", "report.txt").code == 2
    assert Path("report.txt").read_text() == "mine"
    for words in (("--all",), ("hansard.db",)):
        done = hansard("verify", *words, "--report", "report.txt")
        assert (done.code, done.err.rstrip().endswith("[verify.report]")) == (2, True)
    assert run_tool("report.txt", "--report", "report.txt")[0] == 2
    assert hansard("export", "--all", "-o", "all").code == 0
    assert run_tool("all", "--report", "nowhere.txt")[0] == 2
    assert hansard("verify", "all", "--report", "nowhere.txt").code == 2


def test_the_dossier_is_printed(hansard, debate):
    done = hansard("report", debate, "--as", "dossier")
    assert done.code == 0
    assert "## What the record does not say\n\n- No requester was recorded.\n" in done.out


QUESTIONS = re.findall(
    r"^\| (.+?) \| `hansard (.+?)` \|$",
    (TOOL_FILE.parent / "docs" / "for-compliance.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize(("question", "command"), QUESTIONS)
def test_each_question_of_the_document_is_answered_by_its_command(
    hansard, several, question, command
):
    done = hansard(*shlex.split(command))
    assert (done.code, bool(done.out)) == (0, True), question


def test_the_document_answers_the_questions_of_a_quarter():
    asked = " ".join(question for question, _ in QUESTIONS)
    for words in ("overridden or never reviewed", "does not exist", "clause 11", "low confidence"):
        assert words in asked
    assert "committee" in asked
