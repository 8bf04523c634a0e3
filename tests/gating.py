"""Gates as an opening records them, or a record of their own."""

from __future__ import annotations

from typing import Any

from hansard.api.gating import ask_gate
from hansard.record.bundle import Bundle
from hansard.rules.gate import settled
from hansard.store.application import Store

ASKED: dict[str, Any] = {
    "advised": False,
    "rule": "downside",
    "contested": True,
    "conditions": [],
    "confidence_ppm": None,
    "downside_micro_usd": None,
    "threshold_micro_usd": None,
    "factor": 50,
    "task_type": None,
    "answer": None,
}
NOTHING_MET = [{"name": name, "met": False} for name in ("downside", "uncertain", "high_risk")]


def gate(hedged: bool = False, **asked: Any) -> dict[str, Any]:
    """A gate that was asked with this, and nothing else."""
    return dict(settled(ASKED | asked, hedged=hedged))  # type: ignore[arg-type]


def met(found: dict[str, Any]) -> list[str]:
    """The conditions that are met."""
    return [row["name"] for row in found["conditions"] if row["met"]]


ASKING: dict[str, Any] = {
    "question": "Shall we sign?",
    "format": "panel",
    "model": "python:seat",
    "judge": {},
    "task_type": "contract",
    "requester": {"name": "Ann Lee", "key": "house/ann"},
    "owner": "Ben Roe",
    "labels": ["a", "b"],
    "retention": "ten-years",
    "gate": {"downside": "5.000001", "threshold": "0.1", "confidence": 0.8, "answer": "Perhaps."},
}


def recorded(**changes: Any) -> Bundle:
    """The record of a gate that was asked all that it can be asked."""
    with Store.open("sqlite:///:memory:") as store:
        ask_gate(ASKING | changes, store=store)
        return store.bundle(store.debates()[0])
