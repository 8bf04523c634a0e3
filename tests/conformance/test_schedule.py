"""The functions of FORMAT.md §8 say what is due, after each entry of every sound record of the kit.

They see what the entries say, and nothing else; the package folds its own state.
"""

import re
import sys
from types import SimpleNamespace

import pytest

from hansard.rules.events import Fact, parse
from hansard.rules.formats import FORMATS, format_of
from hansard.rules.formats.base import Compare
from hansard.rules.state import DebateState, evolve
from kit import ROWS, export_files
from tables import section

SOURCE = "\n".join(re.findall(r"^```python\n(.*?)^```$", section(8), re.DOTALL | re.MULTILINE))
CODE = compile(SOURCE, "FORMAT.md", "exec")
SPELLED = {}
exec(CODE, SPELLED)
TURNS = ("turn.recorded", "turn.forfeited", "verdict.recorded")
ENDS = ("decision.reached", "debate.closed")
ASKED = (*TURNS, "votes.counted", "similarity.measured", *ENDS)
BROKEN = "containers"  # cannot be read, or are no export
SOUND = [
    name
    for name, row in ROWS.items()
    if row.format and not row.expected.code and row.theme != BROKEN
]


def events_of(name):
    """The entries of a case's record."""
    return [parse(line) for line in export_files(name)["events.jsonl"].splitlines()]


def as_spelled(events):
    """What the function of the record's format says, once these entries are there."""
    facts = [SimpleNamespace(**row["data"], type=row["type"]) for row in events]
    terms = SimpleNamespace(**facts[0].terms)
    seats, turns = {}, {}
    for fact in facts:
        if fact.type == "debater.registered":
            seats.setdefault(fact.role, []).append(fact.id)
        elif fact.type in TURNS:
            fact.heard = fact.type != "turn.forfeited"
            turns[fact.step] = fact
    counts, compared = (
        [fact for fact in facts if fact.type == kind]
        for kind in ("votes.counted", "similarity.measured")
    )
    return SPELLED[terms.format](terms, seats, turns, counts, compared)


def as_folded(state):
    """The same, as the package finds it."""
    found = format_of(state.spec["terms"]).due(state)
    if isinstance(found, Compare):
        return "votes.counted" if found.measure == "votes" else "similarity.measured"
    if isinstance(found, str):
        return "debate.closed"
    return found.type if isinstance(found, Fact) else [step.id for step in found]


def in_hand(state, due):
    """Of steps that are due, those with a reply and without a turn."""
    return [step for step in due if step in state.steps and state.steps[step].heard]


def compare(name):
    """Ask both after each entry between the opening and the decision."""
    state, asked = DebateState(), 0
    events = events_of(name)
    for place, event in enumerate(events, 1):
        evolve(state, event)
        if state.decision or state.closed:
            break
        if state.seated:
            asked += 1
            found = as_spelled(events[:place]), as_folded(state)
            if state.truncated:  # of what was due, only replies in hand still matter (§11)
                found = tuple(in_hand(state, due) for due in found)
            assert found[0] == found[1], (name, place)
    return asked


@pytest.mark.parametrize("format_", FORMATS)
def test_the_functions_say_what_is_due(format_):
    names = [name for name in SOUND if ROWS[name].format == format_]
    assert sum(map(compare, names)) > len(names) > 0


def test_the_kit_reaches_every_line_of_them():
    reached, before = set(), sys.gettrace()

    def trace(frame, _event, _argument):
        if frame.f_code.co_filename != "FORMAT.md":
            return None
        reached.add(frame.f_lineno)
        return trace

    sys.settrace(trace)
    try:
        for name in SOUND:
            events = events_of(name)
            for place, event in enumerate(events):
                if event["type"] in ASKED:
                    as_spelled(events[:place])
                if event["type"] in ENDS:
                    break
    finally:
        sys.settrace(before)
    codes = [code for code in CODE.co_consts if hasattr(code, "co_lines")]
    lines = {line for code in codes for _, _, line in code.co_lines() if line}
    lines -= {code.co_firstlineno for code in codes}
    assert {SOURCE.splitlines()[line - 1].strip() for line in lines - reached} == set()
