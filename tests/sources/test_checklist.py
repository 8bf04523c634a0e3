"""Every row of `checklist.md` is settled: by tests that exist, a decision, or a stated reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).parent / "checklist.md"
ROWS = {"O": 71, "F": 90, "E": 115, "L": 33, "M": 22}
IDS = [f"{source}{number}" for source, many in ROWS.items() for number in range(1, many + 1)]
RULES = (ROOT / "schemas" / "RULES.md").read_text(encoding="utf-8")
DECISIONS = {int(number) for number in re.findall(r"^### D ([0-9]+)\.", RULES, re.MULTILINE)}

LATER: dict[str, str] = {}  # rows that may be put off, each with why

# Prose, and other people's frameworks.
CONTEXT = {"O24", "O58", "O59", "O61", "O71", "F48", "F90", "E13", "E111", "E114", "E115", "L33"}

_ROW = re.compile(r"\| *([A-Z][0-9]+) *\|(.*)\|(.*)\|")
_TEST = re.compile(r"tests/[a-z_/]+\.py::\w+(?:::\w+)?")
_DECISION = re.compile(r"D ([0-9]+): \S.*")
_REASON = re.compile(r"(later|nothing to build): \S.*")

Exists = Callable[[str], bool]


def problems(table: str, exists: Exists) -> Iterator[str]:
    """Say what is wrong with a table; `exists` knows the tests there are."""
    rows = [found.groups() for line in table.splitlines() if (found := _ROW.fullmatch(line))]
    names = [name for name, _, _ in rows]
    for name in dict.fromkeys([*IDS, *names]):
        if names.count(name) != 1 or name not in IDS:
            yield f"{name} stands {names.count(name)} times"
    for name, description, settled in rows:
        if not description.strip():
            yield f"{name} says nothing of the row"
        yield from (f"{name} {what}" for what in _settled(name, settled.strip(), exists))


def _settled(name: str, settled: str, exists: Exists) -> Iterator[str]:
    decision = _DECISION.fullmatch(settled)
    reason = _REASON.fullmatch(settled)
    if decision and int(decision[1]) not in DECISIONS:
        yield f"names decision {decision[1]}, which there is not"
    if settled.startswith("later") != (name in LATER):
        yield "is left for later without leave, or has leave that it does not use"
    if settled.startswith("nothing to build") and name not in CONTEXT:
        yield "is no context: something is to be built"
    if decision or reason:
        return
    tests = settled.split("<br>")
    for test in tests:
        if not _TEST.fullmatch(test.strip(" `")):
            yield f"is settled by {test!r}, which is no test, decision or reason"
        elif not exists(test.strip(" `")):
            yield f"names {test.strip(' `')}, which there is not"


@cache
def _tests_of(file: Path) -> frozenset[str]:
    """The tests that a file defines, those of a class as `Class::test`."""
    tree = ast.parse(file.read_text()) if file.is_file() else ast.Module([], [])
    found = set(_functions(tree))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            found |= {f"{node.name}::{name}" for name in _functions(node)}
    return frozenset(found)


def _functions(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return (
        row.name for row in node.body if isinstance(row, kinds) and row.name.startswith("test_")
    )


def in_the_suite(test: str) -> bool:
    file, _, name = test.partition("::")
    return name in _tests_of(ROOT / file)


def test_every_row_of_the_five_sources_is_settled():
    assert list(problems(TABLE.read_text(), in_the_suite)) == []


# The check itself can fail


TEST = "tests/sources/test_checklist.py::test_every_row_of_the_five_sources_is_settled"


def table(**changes: str) -> str:
    """A sound table, with some rows as given."""
    rows = {name: f"| {name} | something | `{TEST}` |" for name in IDS}
    rows |= {name: f"| {name} | something | later: {why} |" for name, why in LATER.items()}
    return "\n".join(["| row | what | settled by |", "|---|---|---|", *(rows | changes).values()])


def test_a_sound_table_has_no_problems():
    assert list(problems(table(), in_the_suite)) == []
    more = {
        "O1": f"| O1 | a | `{TEST}`<br>`{TEST}` |",
        "O2": "| O2 | b | D 49: something else is done |",
        "O24": "| O24 | c | nothing to build: it tells a story |",
    }
    assert list(problems(table(**more), in_the_suite)) == []


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("", "O1 stands 0 times"),
        (f"| O1 | a | `{TEST}` |\n| O1 | a | `{TEST}` |", "O1 stands 2 times"),
        (f"| O1 | a | `{TEST}` |\n| O72 | a | `{TEST}` |", "O72 stands 1 times"),
        (f"| O1 |  | `{TEST}` |", "O1 says nothing"),
        ("| O1 | a |  |", "O1 is settled by ''"),
        ("| O1 | a | done |", "O1 is settled by 'done'"),
        (f"| O1 | a | `{TEST}`<br> |", "O1 is settled by ''"),
        (f"| O1 | a | `{TEST}x` |", f"O1 names {TEST}x"),
        ("| O1 | a | `tests/sources/test_gone.py::test_x` |", "O1 names tests/sources/test_gone"),
        ("| O1 | a | `tests/sources/played.py::answering` |", "O1 names tests/sources/played.py"),
        ("| O1 | a | D 99: not so |", "O1 names decision 99"),
        ("| O1 | a | D 0: not so |", "O1 names decision 0"),
        ("| O1 | a | D 4: |", "O1 is settled by 'D 4:'"),
        ("| O1 | a | D 4 |", "O1 is settled by 'D 4'"),
        ("| O1 | a | nothing to build: a story |", "O1 is no context"),
        ("| O1 | a | later: somebody will |", "O1 is left for later without leave"),
    ],
)
def test_a_row_that_settles_nothing_is_found(row, found):
    assert [line[: len(found)] for line in problems(table(O1=row), in_the_suite)] == [found]


def test_a_context_row_says_why_there_is_nothing_to_build():
    (found,) = problems(table(O24="| O24 | a | nothing to build: |"), in_the_suite)
    assert found.startswith("O24 is settled by 'nothing to build:'")


def test_leave_that_is_not_used_is_found(monkeypatch):
    monkeypatch.setitem(LATER, "E84", "it is still to come")
    assert list(problems(table(), in_the_suite)) == []
    row = f"| E84 | a | `{TEST}` |"
    (found,) = problems(table(E84=row), in_the_suite)
    assert found.startswith("E84 is left for later without leave, or has leave")


def test_tests_are_collected_from_classes_and_never_from_helpers(tmp_path):
    file = tmp_path / "test_some.py"
    file.write_text(
        "def test_a(): ...\nasync def test_b(): ...\ndef help_me(): ...\n"
        "class TestC:\n    def test_d(self): ...\nclass Other:\n    def test_e(self): ...\n"
    )
    assert _tests_of(file) == {"test_a", "test_b", "TestC::test_d"}
