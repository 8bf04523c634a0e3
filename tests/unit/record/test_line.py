"""How lines are hashed, linked and split (FORMAT.md §1)."""

import doctest
import subprocess

import pytest

from hansard.record import line
from hansard.record.line import GENESIS, Lines, line_hash
from support import eventful


def test_the_modules_own_examples_run():
    result = doctest.testmod(line)
    assert result.attempted >= 3
    assert result.failed == 0


def test_anyone_can_check_a_link_with_stock_tools(tmp_path):
    lines = eventful().record.lines
    (tmp_path / "events.jsonl").write_bytes(b"".join(row + b"\n" for row in lines))
    recipe = "sed -n 5p events.jsonl | tr -d '\\n' | sha256sum"
    printed = subprocess.check_output(["sh", "-c", recipe], cwd=tmp_path, text=True)
    assert f'"prev":"{printed[:64]}","seq":6,'.encode() in lines[5]
    assert printed[:64] == line_hash(lines[4])


def test_the_first_line_is_linked_to_64_zeros():
    assert GENESIS == "0" * 64
    assert eventful().record.events[0]["prev"] == GENESIS


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\nb", [b"a"]),  # the last one is not ended: it is none
        (b"\n\n", [b"", b""]),
        (b"a\r\nb\x0bc\x0cd\x85e\xe2\x80\xa8f\n", [b"a\r", b"b\x0bc\x0cd\x85e\xe2\x80\xa8f"]),
    ],
)
def test_lines_are_split_at_lf_only(data, lines):
    found = Lines(data)
    assert found == lines
    assert (len(found), found[:], found[-1:]) == (len(lines), lines, lines[-1:])
    assert [found[n - len(lines)] for n in range(len(lines))] == lines
    assert found != [*lines, b""]
    with pytest.raises(IndexError):
        found[len(lines)]


def test_more_lines_than_entries_are_only_counted(monkeypatch):
    monkeypatch.setattr(line, "MAX_ENTRIES", 2)
    found = Lines(b"a\nb\nc\n")
    assert (len(found), found[1]) == (3, b"b")
    with pytest.raises(IndexError):
        found[2]
