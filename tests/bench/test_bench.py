"""tools/bench runs and prints every figure; how large they are is not a test's business."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from bench_kit import readme
from bench_kit.measure import Figure

BENCH = Path(__file__).parents[2] / "tools" / "bench"


def bench(*options: str) -> str:
    command = [sys.executable, str(BENCH), "--quick", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_every_figure_is_printed():
    figures = json.loads(bench("--json"))["figures"]
    counts = dict(enumerate((4, 13, 4, 8, 4, 18, 1, 1, 1, 2, 7, 1, 4, 2, 7), 1))
    counts |= {17: 10, 18: 1, 19: 1, 20: 2, 21: 1}  # 16 only where it is asked for
    assert Counter(row["number"] for row in figures) == counts
    # What is beyond a start is a difference of two times, of which each has its noise.
    assert all(row["ours"] > 0 for row in figures if "beyond its start" not in row["name"])
    targets = Counter((row["number"], row["target"]) for row in figures if row["target"])
    assert targets == {
        (1, ">= 0.5"): 2,
        (1, ">= 0.28"): 2,
        (2, "<= 5"): 3,
        (2, "<= 1.1"): 4,
        (3, "0.95 to 1.05"): 4,
        (4, ">= 0.1"): 2,
        (4, ">= 0.2"): 2,
        (4, ">= 0.3"): 2,
        (5, ">= 0.05"): 2,
        (6, ">= 0.6"): 3,
        (6, ">= 0.72"): 3,
        (6, ">= 0.9"): 3,
        (6, "<= 1"): 9,
        (7, "<= 1.15"): 1,
        (8, "<= 1.5"): 1,
        (9, "<= 0.9"): 1,
        (10, "<= 2"): 1,
        (11, "<= 1.25"): 3,
        (11, "<= 1.1"): 4,
        (12, "<= 1.25"): 1,
        (13, "<= 1.5"): 4,
        (14, "<= 0.1"): 2,
        (15, "<= 1.25"): 3,
        (15, "<= 1"): 3,
        (15, ">= 1.6"): 1,
        (17, "<= 1"): 8,
        (17, "<= 1.1"): 1,
        (18, "<= 0.05"): 1,
        (19, ">= 0.2"): 1,
        (20, "<= 0.15"): 1,
        (21, ">= 1.9"): 1,
    }
    assert all((row["met"] is None) == (row["target"] == "") for row in figures)


@pytest.mark.slow
def test_the_table_shows_each_target_beside_its_figure():
    head, *rows, about = bench("--only", "1", "3", "6").splitlines()
    assert head.split() == ["figure", "ours", "floor", "unit", "ratio", "target"]
    assert len(rows) == 4 + 4 + 18
    assert all(row.endswith(("met", "MISSED")) for row in rows if "=" in row)
    assert about.startswith("python ")


ROW = r"\| [^|]+ \| [\d,]+\.\d [^|\d]+ \| [\d,]+\.\d \| \d+\.\d\d \| [<>]= [\d.]+(, missed)? \|"


def test_the_table_of_the_readme_is_one_that_the_command_writes():
    _, table, after = readme.parts(readme.README.read_text(encoding="utf-8"))
    assert table.startswith(readme.HEAD)
    assert "## What to read next" in after
    rows = table.removeprefix(readme.HEAD).splitlines()
    assert len(rows) >= 5
    assert all(re.fullmatch(ROW, row) for row in rows)


def test_the_command_writes_what_is_shown_with_its_floor_and_target(tmp_path, monkeypatch):
    file = tmp_path / "README.md"
    file.write_text(f"a\n{readme.BEGIN}old\n{readme.END}b\n")
    monkeypatch.setattr(readme, "README", file)
    shown = Figure(20, "catching up", "us", 1500.0, 1000.0, 1.5, at_most=0.15)
    readme.write([shown, Figure(20, "without a target", "us", 1.0), Figure(3, "other", "us", 1.0)])
    before, table, after = readme.parts(file.read_text())
    assert (before, after) == ("a\n", "b\n")
    row = "| catching up | 1,500.0 us | 1,000.0 | 1.50 | <= 0.15, missed |"
    assert table == f"{readme.HEAD}{row}\n"
    assert re.fullmatch(ROW, row)
