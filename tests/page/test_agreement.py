"""Records altered at random, each chained and signed anew: all three verifiers say the same.

The page's scripts are compared word for word with tools/verify.py, which other
tests compare with the package.
"""

from __future__ import annotations

import random

import pytest

import altering
from exporting import exported, tool
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
    for export, said in zip(files, ask(node, questions), strict=True):
        expected = tool.verify(export, [])
        expected["checks"] = expected["checks"][1:]  # a page sees no container
        assert {key: said.get(key) for key in expected} == expected
        told += expected["level"] is None
    assert told > len(files) / 3
