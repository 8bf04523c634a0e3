"""Whole debates as readable text, one or two of each format, run by the real engine.

Each line is one event: its place, its type and its clear fields. Times, hashes
and the names of blobs are left out, and so are fields that are null or empty. Last
come the titles of the blocks that were shown to whoever was asked last. After a
change that is meant, `pytest tests/golden --rewrite` writes the files anew;
read the difference before you commit it.
"""

import asyncio
import json
import re
from pathlib import Path

import pytest

from hansard.runtime import session
from hansard.runtime.clock import Clock
from hansard.runtime.models.base import Completion, ModelError
from hansard.store.application import Store
from hansard.verify.verifier import verify
from playing import MODEL, answer, script, spec_of, weak
from support import answered, argued

FOLDER = Path(__file__).parent
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


VOTES = {"planner": "release", "critic": "revise"}


def voting(says, operator):
    """The source's debaters, each of whom votes alike in every phase."""

    def speaker(request):
        who, phase = request.speaker, request.phase
        return {
            "stance": f"{who} {says}position during {phase}",
            "rationale": f"{who} {says}rationale during {phase}",
            "vote": VOTES.get(who, operator),
        }

    return speaker


SEED = {
    "question": "Do we release the risky migration?",
    "debaters": [{"id": who} for who in ("planner", "critic", "operator")],
    "attempts": 3,
}
EVIDENCE = [
    {"id": "runbook", "text": "A rollback takes one hour."},
    {"id": "memo", "text": "The last two migrations failed.", "from_round": 2},
]
MODERATED = {
    "proposition": {
        "supporting_arguments": [
            argued(("runbook", "one  hour")),
            argued(("runbook", "one minute")),
            argued(("memo", "failed")),
            argued(),
        ]
    },
    "critique:1": weak(4),
    "critique": {
        "counter_arguments": [argued(("memo", "two migrations")), argued(("blog", "it is bad"))],
        "challenge_strength": 5,
    },
    "rebuttal": {
        "rebuttals": [answered(2, ("runbook", "rollback"))],
        "concessions": [],
    },
    "r1.moderation.moderator": {"recommend_another_round": True, "resolved_points": ["a", "b"]},
    "r2.moderation.moderator": {"unresolved_points": ["c"], "confidence": "LOW"},
}
ANSWERS = ["we wait until the backup is tested", "we wait until the backup was tested"]


def drafting(request):
    """Differ in round 0, nearly agree in round 1, agree in round 2."""
    if request.phase == "draft":
        lone = f"{request.speaker} knows better than everybody else here"
        return [lone, ANSWERS[request.speaker == "cat"], ANSWERS[0]][request.round]
    return {"answer": "wait", "justification": "all say so"}


def priced(request):
    """Say the least that counts, and what it cost."""
    reply = answer(request)
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return Completion(text, tokens_in=1000, tokens_cached=400, tokens_out=200)


DEBATES = {
    "consensus-reached": ("consensus", voting("", "revise"), SEED),
    "consensus-split": ("consensus", voting("split ", "escalate"), SEED),
    "judged-shuffled": (
        "judged",
        script({"verdict": {"winner": "drop"}, "r1.argument.bob:1": ModelError("timeout")}),
        {
            "debaters": [
                {"id": who, "label": label, "stance": f"We {label} it."}
                for who, label in (("ann", "ship"), ("bob", "wait"), ("cat", "drop"))
            ],
            "seed": 7,
        },
    ),
    "moderated-sent-back": (
        "moderated",
        script(MODERATED),
        {"max_rounds": 2, "evidence": EVIDENCE, "neutrality_check": True},
    ),
    "baseline-counted": (
        "baseline",
        script({"draw-2": {"choice": "no"}, "r1.draw-3.debater:1": ModelError("timeout")}),
        {"draws": 4, "options": ["yes", "no"], "synthesizer": True},
    ),
    "panel-converged": ("panel", drafting, {"judge": {}, "rounds": 5}),
    "panel-truncated": (
        "panel",
        priced,
        {
            "debaters": [{"id": who, "settings": {"max_tokens": 500}} for who in "abc"],
            "rounds": 5,
            "prices": {MODEL: {"input": "10", "cached": "1", "output": "40"}},
            "limits": {"cost_usd": "0.1", "calls": 50},
        },
    ),
}


def run(name):
    """Run one of the debates and return its record, and what its last speaker saw, as text."""
    format_, replies, changes = DEBATES[name]
    shown = []

    async def model(request):
        shown[:] = [request.call, *re.findall(r"(?m)^\[(.+)\]$", request.prompt)]
        return replies(request)

    with Store.open("sqlite:///:memory:") as store:
        spec = spec_of(format_, **changes)
        asyncio.run(session.run(spec, store, FOLDER, models={"bot": model}, clock=Still()))
        bundle = store.bundle(store.debates()[0])
        events = store.events(store.debates()[0])
    assert verify(bundle).findings == []
    lines = [
        f"{event['seq']:3} {event['type']:18} {' '.join(fields(event['data']))}" for event in events
    ]
    return "\n".join([*lines, "", f"{shown[0]} was shown:", *shown[1:], ""])


@pytest.mark.parametrize("name", DEBATES)
def test_a_whole_debate_goes_as_it_is_written_down(name, rewrite):
    path = FOLDER / f"{name}.txt"
    text = run(name)
    assert text == run(name), "the same input gives the same record"
    if rewrite:
        path.write_text(text)
    assert path.read_text() == text
