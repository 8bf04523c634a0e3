"""The tables say something of every member of every enum, and of nothing else."""

import re
from pathlib import Path
from typing import get_args

import pytest

from hansard import vocabulary
from hansard.report.notes import NoteCode
from hansard.rules.fields import CallError, CitationFinding, Rejection, Silence
from hansard.rules.terms import CloseReason, DecisionRule
from hansard.verify.findings import REGISTER, checks_of
from hansard.vocabulary import Severity, fill

ENUMS = {
    "silences": Silence,
    "rejections": Rejection,
    "errors": CallError,
    "findings": CitationFinding,
    "stopped": CloseReason,
    "how": DecisionRule,
}


@pytest.mark.parametrize("name", ENUMS)
def test_every_member_has_words_and_nothing_else(name):
    assert list(vocabulary.words(name)) == list(get_args(ENUMS[name]))


def test_every_note_has_a_severity_and_sentences():
    notes = vocabulary.table("notes")
    assert list(notes) == list(get_args(NoteCode))
    assert {severity for row in notes.values() for severity in row} == {*get_args(Severity)}
    several = [row.values() for row in notes.values() if len(row) > 1]
    for rows in several:  # a variant has one severity
        assert all(isinstance(row, dict) for row in rows)
        names = [name for row in rows for name in row]
        assert len(set(names)) == len(names)


def test_a_note_that_is_more_than_information_belongs_to_one_row():
    codes = [code for row in vocabulary.governance().values() for code in row.get("notes", ())]
    serious = [code for code, row in vocabulary.table("notes").items() if row.keys() - {"info"}]
    assert sorted(codes) == sorted(serious)


def test_every_check_has_a_name_and_what_it_means_that_it_failed():
    checks = vocabulary.checks()
    more = range(REGISTER, len(checks) + 1)
    assert {number: row["name"] for number, row in checks.items()} == checks_of(*more)
    assert all(row["name"] and row["failed"] for row in checks.values())


def test_every_check_stands_in_the_document_of_what_is_proven():
    path = Path(__file__).parents[2] / "tools/docs/what-is-proven.md"
    rows = re.findall(r"(?m)^\| (\d.*?) \|", path.read_text(encoding="utf-8"))
    checks = [f"{number} {row['name']}" for number, row in vocabulary.checks().items()]
    assert ", ".join(rows).split(", ") == checks


def sentences(value):
    if isinstance(value, str):
        yield value
    elif not isinstance(value, int):
        for item in value.values() if isinstance(value, dict) else value:
            yield from sentences(item)


def test_sentences_are_sentences():
    for name in vocabulary.TABLES:
        for text in sentences(vocabulary.table(name)):
            assert text == text.strip() != ""
            assert "  " not in text
            assert not text.startswith(("{", "}")) or text[1].isalpha()


def test_values_are_filled_in_once():
    assert fill("{a} and {b}", a="{b}", b="{a}") == "{b} and {a}"
    assert fill("$1 \\1 {a}", a="$& \\g<0>") == "$1 \\1 $& \\g<0>"
    with pytest.raises(KeyError):
        fill("{a}")
