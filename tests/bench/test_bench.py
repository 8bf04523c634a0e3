"""tools/bench runs and prints every figure; how large they are is not a test's business."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "tools" / "bench"


def bench(*options: str) -> str:
    command = [sys.executable, str(BENCH), "--quick", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_every_figure_is_printed():
    figures = json.loads(bench("--json"))["figures"]
    counts = dict(enumerate((4, 13, 4, 8, 4, 18, 1, 1, 1, 2, 7, 1, 4, 2, 7), 1))
    counts |= {17: 6, 18: 1, 19: 1}  # 16 only where it is asked for
    assert Counter(row["number"] for row in figures) == counts
    assert all(row["ours"] > 0 for row in figures)
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
        (17, "<= 1"): 5,
        (18, "<= 0.05"): 1,
        (19, ">= 0.2"): 1,
    }
    assert all((row["met"] is None) == (row["target"] == "") for row in figures)


@pytest.mark.slow
def test_the_table_shows_each_target_beside_its_figure():
    head, *rows, about = bench("--only", "1", "3", "6").splitlines()
    assert head.split() == ["figure", "ours", "floor", "unit", "ratio", "target"]
    assert len(rows) == 4 + 4 + 18
    assert all(row.endswith(("met", "MISSED")) for row in rows if "=" in row)
    assert about.startswith("python ")
