"""How each format of debate is shown: its result, its source's shape and its Markdown together.

This is the only place that names them: whoever shows a debate asks its result's `display`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from hansard.report.display import Display
from hansard.report.formats.baseline import BASELINE, BaselineResult
from hansard.report.formats.consensus import CONSENSUS, ConsensusResult
from hansard.report.formats.judged import JUDGED, JudgedResult
from hansard.report.formats.moderated import MODERATED, ModeratedResult
from hansard.report.formats.panel import PANEL, PanelResult
from hansard.report.notes import Reading

__all__ = [
    "DISPLAYS",
    "AnyResult",
    "BaselineResult",
    "ConsensusResult",
    "DebateResult",
    "JudgedResult",
    "ModeratedResult",
    "PanelResult",
    "notings",
]

AnyResult = BaselineResult | ConsensusResult | JudgedResult | ModeratedResult | PanelResult
DebateResult = Annotated[AnyResult, Field(discriminator="format")]

DISPLAYS: Mapping[str, Display[Any]] = {
    "baseline": BASELINE,
    "consensus": CONSENSUS,
    "judged": JUDGED,
    "moderated": MODERATED,
    "panel": PANEL,
}


def notings(name: str) -> Mapping[str, Reading]:
    """Return the notes that the format of this name adds, by type of event."""
    return DISPLAYS[name].watch.events
