"""Debates of three seats in a store in memory, played by callables."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from hansard.debate.spec import DebateSpec
from hansard.runtime import session
from hansard.store.application import Store
from hansard.verify.verifier import verify

SEATS = ("planner", "critic", "operator")


def reply(vote="release"):
    return {"stance": "my position", "rationale": "my reasons", "vote": vote}


def spec_of(**changes):
    fields = {
        "question": "Do we release the migration?",
        "debaters": [{"id": seat, "model": f"python:{seat}"} for seat in SEATS],
        "options": ["release", "revise", "escalate"],
        "threshold": 2,
        "max_rounds": 1,
        "attempts": 2,
    }
    return DebateSpec.model_validate(fields | changes)


@dataclass
class Table:
    """A store, and the debate played in it last."""

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

    def data(self, kind):
        return [event["data"] for event in self.events if event["type"] == kind]

    def verified(self):
        return verify(self.store.bundle(self.debate))

    def run(self, models=None, *, observe=None, clock=None, **changes):
        """Play a debate: one callable for all seats, or some seats' own (others say release)."""
        return asyncio.run(self.running(models, observe=observe, clock=clock, **changes))

    def running(self, models=None, *, observe=None, clock=None, **changes):
        return session.run(
            spec_of(**changes),
            self.store,
            self.folder,
            models=self.seated(models),
            observe=observe,
            clock=clock,
        )

    def resume(self, models=None):
        return asyncio.run(session.resume(self.debate, self.store, models=self.seated(models)))

    @staticmethod
    def seated(models):
        if callable(models) or hasattr(models, "complete"):
            return dict.fromkeys(SEATS, models)
        return dict.fromkeys(SEATS, lambda request: reply()) | (models or {})


@pytest.fixture
def table(tmp_path):
    with Store.open("sqlite:///:memory:") as store:
        yield Table(store, tmp_path)
