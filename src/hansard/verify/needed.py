"""What is kept of an entry that was taken: what a later one rests on.

Parsed, an entry takes many times its bytes (FORMAT.md §10.2), and a hostile record has many that
are as long as they may be.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from typing import cast, get_args

from hansard.rules.data import TurnRecordedData
from hansard.rules.events import Event
from hansard.rules.fields import Citation, CitationFinding
from hansard.rules.state import DebateState

_LAST_ROUND = 1000  # that a debate of any format can have
_FINDINGS: tuple[CitationFinding, ...] = get_args(CitationFinding)


def let_go(state: DebateState, event: Event) -> None:
    """Let go of what an event that was just folded in said, and nothing later rests on.

    Those are a seat's instructions for rounds that no debate has, and the objections that a
    rebuttal says nothing about. Citations, of which a moderator is told, are packed.
    """
    if event["type"] == "debater.registered":
        seat = state.seats[event["data"]["id"]]
        if rows := seat["instructions"]:
            rows = [row for row in rows if row["round"] <= _LAST_ROUND]
            state.seats[seat["id"]] = {**seat, "instructions": rows}
    elif event["type"] == "turn.recorded":
        turn = state.turns[-1]
        if turn.case:
            cited = _Citations(turn.case["citations"])
            case = {**turn.case, "unanswered": [], "citations": cited}
            data = cast(TurnRecordedData, {**turn.data, "case": case})
            state.turns[-1] = turn._replace(data=data)


class _Citations:
    """Citations in order, each in the 17 bytes of its two numbers and its finding."""

    def __init__(self, rows: Collection[Citation]) -> None:
        self._arguments = array("q", (row["argument"] for row in rows))
        self._places = array("q", (row["citation"] for row in rows))
        self._findings = bytes(_FINDINGS.index(row["finding"]) for row in rows)

    def __iter__(self) -> Iterator[Citation]:
        rows = zip(self._arguments, self._places, self._findings, strict=True)
        for argument, place, finding in rows:
            yield {"argument": argument, "citation": place, "finding": _FINDINGS[finding]}
