"""What a verifier lets go of once an entry was taken."""

from __future__ import annotations

import json
from functools import reduce
from typing import get_args

from conformance_kit.debates import by_rounds
from conformance_kit.moderated import moderated
from hansard.rules.fields import CitationFinding
from hansard.rules.state import DebateState, evolve
from hansard.verify.needed import let_go


def test_instructions_for_rounds_that_no_debate_has_are_let_go():
    record = by_rounds()
    seq = record.seq("debater.registered")
    rows = [{"round": number, "text": None} for number in (1, 1000, 1001, 2**53 - 1)]
    event = record.data(seq, instructions=rows).event(seq)
    state = reduce(evolve, record.events[: seq - 1], DebateState())
    let_go(evolve(state, event), event)
    assert state.seats[event["data"]["id"]]["instructions"] == rows[:2]
    assert event["data"]["instructions"] == rows


def test_a_seat_without_instructions_of_its_own_has_those_of_all():
    state = DebateState()
    for event in moderated().events[:6]:
        let_go(evolve(state, event), event)
    assert {seat["instructions"] for seat in state.seats.values()} == {None}


CITED = [
    {"argument": number, "citation": 2**53 - number, "finding": finding}
    for number, finding in enumerate(get_args(CitationFinding), 1)
]


def test_all_of_a_turn_stays_but_what_it_leaves_unanswered():
    record, state = moderated(), DebateState()
    for event in record.events:
        case = event["data"].get("case")
        if case:
            case["unanswered"], case["citations"] = [7], CITED
        said = json.dumps(case)
        let_go(evolve(state, event), event)
        if event["type"] == "turn.recorded":
            kept = state.turns[-1].case
            if kept:
                kept = {**kept, "citations": [*kept["citations"]]}
            assert kept == (case and {**case, "unanswered": []})
        assert json.dumps(case) == said
    assert sum(turn.case is not None for turn in state.turns) == 3
