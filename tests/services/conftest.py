"""Debates over real HTTP on loopback, in a store on disk."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import playing
from hansard.record.blob import unpack
from hansard.report.prompt import render
from hansard.rules.formats import ConsensusSpec
from hansard.runtime import pacing, session
from hansard.store.application import Store
from hansard.verify.verifier import verify
from instant import Held
from services.dialects import CHAT
from services.server import SEATS, Server


@dataclass
class Table:
    """A store on disk, and the debate played in it last."""

    store: Store
    folder: Path

    @property
    def debate(self):
        return self.store.debates()[-1]

    @property
    def events(self):
        return self.store.events(self.debate)

    @property
    def types(self):
        return [event["type"] for event in self.events]

    def data(self, *kinds):
        return [event["data"] for event in self.events if event["type"] in kinds]

    def text(self, name):
        return unpack(self.store.bundle(self.debate).blobs[name])

    def prompt(self, call):
        """The messages of a call, rendered again from the record alone, as they go on the wire."""
        templates = self.store.bundle(self.debate).templates
        rendered = render(self.events, templates, self.text, call)
        return [{"role": row.role, "content": row.text} for row in rendered.messages]

    def starts(self):
        """How often each model was asked for each prompt, by the record."""
        asked = self.data("call.started")
        return sorted((row["model"], json.dumps(self.prompt(row["call"]))) for row in asked)

    def verified(self):
        return verify(self.store.bundle(self.debate))

    @staticmethod
    def spec(**changes):
        """A debate of three seats on `openai:<seat>`."""
        fields = {
            "question": "Do we release the migration?",
            "debaters": [{"id": seat, "model": f"openai:{seat}"} for seat in SEATS],
            "options": ["release", "revise", "escalate"],
            "threshold": 2,
            "max_rounds": 2,
            "attempts": 2,
        }
        return ConsensusSpec.model_validate(fields | changes)

    def run(self, *, observe=None, clock=None, **changes):
        """Play a debate to its end; return its state."""
        spec = self.spec(**changes)
        more = {"observe": observe, "clock": clock}
        return asyncio.run(session.run(spec, self.store, self.folder, **more)).state

    def run_late(self, answers, **changes):
        """Play a debate in which the calls time out that hang once so many are answered."""
        clock, found = Held(), []

        def observe(event):
            found.extend([event] if event["type"] == "call.answered" else [])
            if len(found) == answers:
                clock.seconds = 0.25  # a little later: more would say that the loop was held up

        return self.run(observe=observe, clock=clock, timeout_seconds=0.2, **changes)

    def play(self, format_, use=None, **changes):
        """Play a debate of a format, all seats on `openai:m`, with these functions as tools."""
        spec = playing.spec_of(format_, **{"model": "openai:m", "tools": list(use or ())} | changes)
        return asyncio.run(session.run(spec, self.store, self.folder, tools=use)).state


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """Waits after a failure grow from a millisecond: what they are in the world is tested apart."""
    monkeypatch.setattr(pacing, "FIRST_WAIT", 1)
    monkeypatch.setattr(pacing, "LONGEST_WAIT", 8)


@pytest.fixture
def table(tmp_path):
    with Store.open(f"sqlite:///{tmp_path}/hansard.db", create=True) as store:
        yield Table(store, tmp_path)


@pytest.fixture
def serve(monkeypatch):
    """Start a scripted server that speaks a shape, and point the environment at it."""
    running = []

    def start(script, shape=CHAT):
        server = Server(script)
        running.append(server.__enter__())
        for name, value in shape.variables(server).items():
            monkeypatch.setenv(name, value)
        return server

    yield start
    for server in running:
        server.__exit__()
