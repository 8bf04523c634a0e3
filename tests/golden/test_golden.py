"""Whole debates as readable text: the seed's two worked examples, run by the real engine.

Each line is one event: its place, its type and its clear fields. Times, hashes
and the names of blobs are left out, and so are fields that are null or empty. After a
change that is meant, `pytest tests/golden --rewrite` writes the files anew;
read the difference before you commit it.
"""

import asyncio
import json
import re
from pathlib import Path

import pytest

from hansard.debate.spec import DebateSpec
from hansard.runtime import session
from hansard.runtime.clock import Clock
from hansard.store.application import Store

FOLDER = Path(__file__).parent
DEBATERS = ("planner", "critic", "operator")
HASH = re.compile(r"[0-9a-f]{64}").fullmatch


class Still(Clock):
    """No time passes, and salts are counted."""

    def __init__(self):
        self._salts = 0

    def now(self):
        return "2026-11-21T20:16:03.123456Z"

    def monotonic(self):
        return 0.0

    def salt(self):
        self._salts += 1
        return self._salts.to_bytes(32, "big")

    def debate_id(self):
        return "3f2b8c1e-5a7d-4c9e-8b1a-2d4f6a8c0e12"


def clear(value):
    """Write what is clear in a value: `a,b` for a list, `a:b` for a row of one, else as in JSON."""
    if isinstance(value, list):
        return ",".join(map(clear, value))
    if isinstance(value, dict):
        return ":".join(filter(None, map(clear, value.values())))
    if value is None or HASH(str(value)):
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def fields(data, prefix=""):
    """Yield `name=value` for every clear field of a fact; those of an object have dotted names."""
    for name, value in sorted(data.items()):
        if isinstance(value, dict):
            yield from fields(value, f"{prefix}{name}.")
        elif clear(value):
            yield f"{prefix}{name}={clear(value)}"


def run(votes, says):
    """Run one of the seed's debates and return its record as text."""

    async def speaker(request):
        who, phase = request.speaker, request.phase
        return {
            "stance": f"{who} {says}position during {phase}",
            "rationale": f"{who} {says}rationale during {phase}",
            "vote": votes[DEBATERS.index(who)],
        }

    spec = DebateSpec(
        question="Do we release the risky migration?",
        debaters=[{"id": who, "model": "python:speaker"} for who in DEBATERS],
        options=["release", "revise", "escalate"],
        threshold=2,
        max_rounds=2,
    )
    with Store.open("sqlite:///:memory:") as store:
        asyncio.run(session.run(spec, store, FOLDER, models={"speaker": speaker}, clock=Still()))
        events = store.events(store.debates()[0])
    return "".join(
        f"{event['seq']:3} {event['type']:18} {' '.join(fields(event['data']))}\n"
        for event in events
    )


@pytest.mark.parametrize(
    ("name", "votes", "says"),
    [
        ("consensus-reached", ("release", "revise", "revise"), ""),
        ("consensus-split", ("release", "revise", "escalate"), "split "),
    ],
)
def test_a_whole_debate_goes_as_it_is_written_down(name, votes, says, rewrite):
    path = FOLDER / f"{name}.txt"
    text = run(votes, says)
    assert text == run(votes, says), "the same input gives the same record"
    if rewrite:
        path.write_text(text)
    assert path.read_text() == text
