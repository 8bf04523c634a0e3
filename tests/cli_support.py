"""Debates for the command line: specs, scripts, a run that dies half-way, a terminal."""

import asyncio
import os
import pty
import subprocess
import sys
from pathlib import Path

import yaml

from formats import PLAYED
from hansard.api.specs import read_spec
from hansard.record.bundle import Head
from hansard.record.line import line_hash
from hansard.rules.events import blob_names, parse
from hansard.runtime import session
from hansard.store.application import Batch, Store
from hansard.store.database import Extras


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
    return _write(spec, script or replies, name)


def _write(spec, replies, name="debate.yaml", **script):
    Path("replies.yaml").write_text(yaml.safe_dump({"replies": replies, **script}))
    Path(name).write_text(yaml.safe_dump({k: v for k, v in spec.items() if v is not None}))
    return name


def write_format(format_, words="so", script=None, **fields):
    """Write a small spec of a format in which all the text that a model writes is `words`.

    The proposer cites what stands nowhere, the first critique is too weak and
    the rebuttal passes it over; the drafts of a panel are alike.
    """
    spec = {
        "format": format_,
        "question": "Shall we release?",
        "model": "scripted:replies.yaml",
        "synthesizer": True,
        **PLAYED[format_].command,
        **fields,
    }
    replies = {seat: {"*": phases} for seat, phases in PLAYED[format_].replies(words).items()}
    replies["synthesizer"] = {"*": {"synthesis": {"synthesis": words}}}
    price = {"input": "2.00", "output": "8.00"}
    return _write(spec, replies | (script or {}), price=price)


def only_debate(path="hansard.db"):
    with Store.open(f"sqlite:///{path}") as store:
        (found,) = store.debates()
        return found


def leave_open(spec="debate.yaml", turns=2):
    """Leave what a process that dies right after its n-th turn leaves in the store; return its id.

    The debate is run whole, elsewhere, and recorded up to that turn: what an observer
    hears is stored already, with whatever was stored at once with it.
    """
    with Store.open("sqlite:///:memory:", create=True) as whole:
        asyncio.run(session.run(read_spec(Path(spec)), whole, Path.cwd()))
        (debate,) = whole.debates()
        bundle = whole.bundle(debate)
    events = [parse(line) for line in bundle.lines]
    length = [n for n, row in enumerate(events, 1) if row["type"] == "turn.recorded"][turns - 1]
    events, lines = events[:length], bundle.lines[:length]
    named = {name for event in events for name in blob_names(event)}
    extras = Extras(
        Head(length, line_hash(lines[-1])),
        [(name, bundle.blobs[name]) for name in sorted(named)],
        list(bundle.templates.items()),
        str(Path().absolute()),
    )
    rows = [(event["type"], line) for event, line in zip(events, lines, strict=True)]
    with Store.open("sqlite:///hansard.db", create=True) as store:
        store.append(Batch(debate, 1, rows, extras))
    return debate


def process(*args, stdin=None, stdout=subprocess.PIPE, **env):
    """Run a command in a process of its own, as people do; `stdin` is what is piped into it."""
    return subprocess.run(
        [sys.executable, "-m", "hansard", *args],
        check=False,
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )


def files():
    """Return what stands in the working directory."""
    return sorted(path.name for path in Path().iterdir())


def on_a_terminal(*args, **env):
    """Run a command on a terminal of its own; return everything that reached it."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "hansard", *args],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40", **env},
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            block = os.read(leader, 65536)
        except OSError:  # the other side is closed
            break
        if not block:
            break
        seen += block
    os.close(leader)
    assert process.wait() == 0
    return seen
