"""The two configurations of flow-state-dev's page, as Python mappings with the same keys."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from hansard import Request
from hansard.sources.flow_state import Pattern, debate


class Feature(BaseModel):
    """What `z.object({decision: z.string(), rationale: z.string()})` says."""

    decision: str
    rationale: str


def feature_debate(model: Any) -> Pattern:
    """Return a step that says whether to ship a feature: `await step({"question": …})`."""
    return debate(
        {
            "name": "feature-debate",
            "debaters": [
                {"name": "advocate", "stance": "ship now"},
                {"name": "skeptic", "stance": "do not ship now"},
            ],
            "maxRounds": 2,
            "outputSchema": Feature,
            "model": model,
        }
    )


def reviewer(request: Request) -> dict[str, str]:  # noqa: ARG001 - its words are fixed
    """Stand for one debater: its reply is scripted."""
    return {"text": "..."}


def reviewed_debate(model: Any) -> Pattern:
    """Seat a function of its own beside a built-in debater; the raw shape comes out."""
    return debate(
        {
            "name": "...",
            "debaters": [
                {"name": "a", "stance": "for", "block": reviewer},
                {"name": "b", "stance": "against"},
            ],
            "synthesizer": False,
            "model": model,
        }
    )
