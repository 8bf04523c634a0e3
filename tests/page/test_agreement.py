"""Records altered at random, each chained and signed anew: all three verifiers say the same.

The page's scripts are compared word for word with tools/verify.py, which other
tests compare with the package.
"""

from __future__ import annotations

import random

import pytest

import altering
from conformance_kit.debates import voting
from conformance_kit.exports import export, zip_of
from exporting import both, exported, tool
from hansard.record import bundle as bundles
from page.harness import ask
from support import EVENTFUL, eventful

pytestmark = pytest.mark.slow
EACH = 2  # alterations for every line; tools/campaign tries all of some


def altered(bundle, draw):
    """Change a field, or drop, repeat, swap or cut off lines."""
    lines = list(bundle.lines)
    at, other = draw.sample(range(1, len(lines)), 2)
    how = draw.choice(("drop", "repeat", "swap", "cut", *["field"] * 8))
    if how == "field":
        change = draw.choice([*altering.changes(bundle, at)])
        return altering.chained_anew(bundle, at, change.event)
    if how == "drop":
        del lines[at]
    elif how == "repeat":
        lines.insert(at, lines[other])
    elif how == "swap":
        lines[at], lines[other] = lines[other], lines[at]
    else:
        del lines[at:]
    return altering.numbered_anew(bundle, lines)


@pytest.mark.parametrize("name", EVENTFUL)
def test_all_say_the_same(node, tmp_path, name):
    record, draw = eventful(name).bundle(), random.Random(name)
    files = []
    for number in range(EACH * len(record.lines)):
        files.append(exported(altered(record, draw)))
        (tmp_path / f"{number}.zip").write_bytes(bundles.pack(files[-1]))
    questions = [{"export": str(tmp_path / f"{n}.zip"), "trust": None} for n in range(len(files))]
    told = 0
    for one, said in zip(files, ask(node, questions), strict=True):
        expected = tool.verify(one, [])
        expected["checks"] = expected["checks"][1:]  # a page sees no container
        assert {key: said.get(key) for key in expected} == expected
        told += expected["level"] is None
    assert told > len(files) / 3


def test_all_list_as_many_findings_that_say_much(node, tmp_path):
    record = voting("counted", {"ann": "a", "ben": "b"}, max_rounds=2)
    tally, place = [{"option": "a", "votes": 1}] * 24_000, tmp_path / "record.zip"
    for number in range(1, 5):
        record = record.data(record.seq("votes.counted", number), tally=tally)
    place.write_bytes(zip_of(export(record)))
    (said,) = ask(node, [{"export": str(place), "trust": None}])
    ours = both(export(record), level=0)
    assert [row.code for row in ours.findings] == ["14.tally"] * 2
    assert said["findings"] == [row.model_dump(mode="json") for row in ours.findings]
    counts = next(row for row in said["checks"] if row["number"] == 14)
    assert counts == next(row for row in ours.checks if row.number == 14).model_dump(mode="json")
