"""What is kept of an entry that was taken: what a later one rests on.

Parsed, an entry takes many times its bytes (FORMAT.md §10.2), and a hostile record has many that
are as long as they may be.
"""

from __future__ import annotations

from typing import cast

from hansard.rules.data import TurnRecordedData
from hansard.rules.events import Event
from hansard.rules.state import DebateState

_LAST_ROUND = 1000  # that a debate of any format can have


def let_go(state: DebateState, event: Event) -> None:
    """Let go of what an event that was just folded in said, and nothing later rests on.

    Those are a seat's instructions for rounds that no debate has, and the objections that a
    rebuttal says nothing about.
    """
    if event["type"] == "debater.registered":
        seat = state.seats[event["data"]["id"]]
        if rows := seat["instructions"]:
            rows = [row for row in rows if row["round"] <= _LAST_ROUND]
            state.seats[seat["id"]] = {**seat, "instructions": rows}
    elif event["type"] == "turn.recorded":
        turn = state.turns[-1]
        if turn.case:
            case = {**turn.case, "unanswered": []}
            data = cast(TurnRecordedData, {**turn.data, "case": case})
            state.turns[-1] = turn._replace(data=data)
