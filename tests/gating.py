"""Gates as an opening records them."""

from __future__ import annotations

from typing import Any

from hansard.rules.gate import settled

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
