"""The formats of debate, each found by its name: this is the only place that lists them.

What a format answers is said in `base`; whoever follows the rules asks `format_of`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Discriminator, Tag

from hansard.rules.formats.base import Format
from hansard.rules.formats.baseline import BASELINE, BaselineSpec
from hansard.rules.formats.consensus import CONSENSUS, ConsensusSpec
from hansard.rules.formats.judged import JUDGED, JudgedSpec
from hansard.rules.formats.moderated import MODERATED, ModeratedSpec
from hansard.rules.formats.panel import PANEL, PanelSpec
from hansard.rules.spec_base import BaseSpec
from hansard.rules.terms import Role, Terms

__all__ = [
    "DEFAULT",
    "FORMATS",
    "SPECS",
    "AnySpec",
    "BaselineSpec",
    "ConsensusSpec",
    "DebateSpec",
    "JudgedSpec",
    "ModeratedSpec",
    "PanelSpec",
    "format_of",
    "most_turns",
]

FORMATS: Mapping[str, Format[Any]] = {  # each takes the terms of its own name: see `format_of`
    "consensus": CONSENSUS,
    "judged": JUDGED,
    "moderated": MODERATED,
    "panel": PANEL,
    "baseline": BASELINE,
}
SPECS: Mapping[str, type[BaseSpec]] = {name: row.spec for name, row in FORMATS.items()}
DEFAULT = "consensus"  # the format of a spec that does not say


def _named(value: Any) -> str:
    """Return the format of a spec, or of what is to become one."""
    if isinstance(value, dict):
        return str(value.get("format", DEFAULT))
    return str(value.format)


AnySpec = BaselineSpec | ConsensusSpec | JudgedSpec | ModeratedSpec | PanelSpec
DebateSpec = Annotated[
    Annotated[BaselineSpec, Tag("baseline")]
    | Annotated[ConsensusSpec, Tag("consensus")]
    | Annotated[JudgedSpec, Tag("judged")]
    | Annotated[ModeratedSpec, Tag("moderated")]
    | Annotated[PanelSpec, Tag("panel")],
    Discriminator(_named),
]


def format_of(terms: Terms) -> Format[Terms]:
    """Return what the format of these terms answers."""
    return FORMATS[terms["format"]]


def most_turns(terms: Terms, roles: Sequence[Role]) -> int:
    """Return how many turns a debate can have whose seats have these roles."""
    turns = format_of(terms).most_turns(terms, roles.count("debater"))
    return turns + roles.count("synthesizer")
