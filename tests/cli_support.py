"""Debates for the command line: specs, scripts, a run that dies half-way."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hansard.runtime import session
from hansard.runtime.inputs import load_spec
from hansard.store.application import Store

NAMES = ("planner", "critic", "operator")


def reply(vote, stance="a position", rationale="a reason"):
    return {"stance": stance, "rationale": rationale, "vote": vote}


def write_debate(votes, name="debate.yaml", script=None, **fields):
    """Write a spec in which each debater votes alike in every phase; return its path."""
    replies = {seat: {"*": {"*": reply(vote)}} for seat, vote in votes.items()}
    spec = {
        "question": "Shall we release?",
        "options": ["release", "revise", "escalate"],
        "threshold": 2,
        "max_rounds": 2,
        "debaters": [{"id": seat, "model": "scripted:replies.yaml"} for seat in votes],
        **fields,
    }
    Path("replies.yaml").write_text(yaml.safe_dump({"replies": script or replies}))
    Path(name).write_text(yaml.safe_dump({k: v for k, v in spec.items() if v is not None}))
    return name


def only_debate(path="hansard.db"):
    with Store.open(f"sqlite:///{path}") as store:
        (found,) = store.debates()
        return found


class Died(Exception):
    pass


def leave_open(spec="debate.yaml", turns=2):
    """Run a debate in a process that dies at its n-th turn; return its id."""
    seen = []

    def observe(event):
        if event["type"] == "turn.recorded":
            seen.append(event)
            if len(seen) == turns:
                raise Died

    with Store.open("sqlite:///hansard.db", create=True) as store, pytest.raises(Died):
        asyncio.run(session.run(load_spec(Path(spec)), store, Path(), observe=observe))
    return only_debate()


def process(*args, stdout=subprocess.PIPE, **env):
    """Run a command in a process of its own, as people do."""
    return subprocess.run(
        [sys.executable, "-m", "hansard", *args],
        check=False,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )


def files():
    """Return what stands in the working directory."""
    return sorted(path.name for path in Path().iterdir())
