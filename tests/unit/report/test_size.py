"""A report has room for whatever an honest record says, and no more."""

import pytest

from hansard.cli.console import document
from hansard.errors import DataError
from hansard.report import size
from hansard.report.size import require_room
from reporting import ran

LONG = "x" * 10_000


def refused(report):
    with pytest.raises(DataError, match="this report would have more than ") as caught:
        report()
    assert caught.value.code == "report.size"
    assert "\n" not in str(caught.value)


def test_a_text_counts_as_often_as_it_stands_there(monkeypatch):
    monkeypatch.setattr(size, "MOST", 10 * len(LONG))
    for found in ([LONG] * 10, {"a": (LONG,) * 9, "b": {"c": LONG}}):
        require_room(found)
        refused(lambda found=found: require_room([found, "x"]))


def test_a_persona_of_many_seats_is_too_much(monkeypatch):
    seats = [{"id": f"s{number}", "persona": LONG} for number in range(12)]
    result = ran("panel", debaters=seats)
    assert document(result).count(LONG) == result.to_markdown().count(LONG) == 12
    monkeypatch.setattr(size, "MOST", 10 * len(LONG))
    refused(lambda: document(result))
    refused(result.to_markdown)
