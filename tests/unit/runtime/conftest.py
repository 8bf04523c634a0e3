"""Debates in a store in memory, played by callables, in no time (see `instant`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import instant
import playing
from hansard.rules.formats import ConsensusSpec
from hansard.rules.spending import milliseconds
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
    return ConsensusSpec.model_validate(fields | changes)


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
    def seconds(self):
        """How long the debate took, by its record."""
        return milliseconds(self.events[0]["at"], self.events[-1]["at"]) / 1000

    @property
    def types(self):
        return [event["type"] for event in self.events]

    def data(self, *kinds):
        return [event["data"] for event in self.events if event["type"] in kinds]

    def text(self, blob):
        return self.store.text(self.debate, blob["sha256"])

    def verified(self):
        return verify(self.store.bundle(self.debate))

    def run(self, models=None, *, observe=None, clock=None, **changes):
        """Play a debate: one callable for all seats, or some seats' own (others say release)."""
        return instant.run(self.running(models, observe=observe, clock=clock, **changes)).state

    def running(self, models=None, *, observe=None, clock=None, **changes):
        return session.run(
            spec_of(**changes),
            self.store,
            self.folder,
            models=self.seated(models),
            observe=observe,
            clock=clock or instant.Clock(),
        )

    def play(self, format_, model=playing.answer, *, models=None, **given):
        """Play a debate of a format on `python:bot`; `models` are more callables by name.

        What a spec does not know (tools as functions, observe, clock) goes to the session.
        """
        return instant.run(self.debating(format_, model, models=models, **given)).state

    def debating(self, format_, model=playing.answer, *, models=None, use=None, **given):
        if isinstance(model, str):
            given["model"], model = model, playing.answer
        more = {key: given.pop(key) for key in ("observe", "clock", "policy") if key in given}
        more.setdefault("clock", instant.Clock())
        if use:
            more["tools"] = use
            given["tools"] = list(use)
        return session.run(
            playing.spec_of(format_, **given),
            self.store,
            self.folder,
            models={"bot": model} | (models or {}),
            **more,
        )

    def resume(self, models=None):
        return self.go_on(models=self.seated(models))

    def go_on(self, model=playing.answer, **more):
        """Resume the debate, with one callable for `python:bot` or with `models` by name."""
        more = {"models": {"bot": model}, "clock": instant.Clock(), **more}
        return instant.run(session.resume(self.debate, self.store, **more)).state

    @staticmethod
    def seated(models):
        if callable(models) or hasattr(models, "complete"):
            return dict.fromkeys(SEATS, models)
        return dict.fromkeys(SEATS, lambda request: reply()) | (models or {})


@pytest.fixture
def table(tmp_path):
    with Store.open("sqlite:///:memory:") as store:
        yield Table(store, tmp_path)
