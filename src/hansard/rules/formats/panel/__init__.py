"""The `panel` format: independent drafts, then rounds in which all revise in parallel.

In round 0 nobody sees another's draft; from then on everybody sees all drafts
of all earlier rounds. After every round the answers are compared, and once all
are alike the rounds end. Then a judge combines them or picks one, or without a
judge the answers of the last round are counted, or the one most similar to the
others is taken (RULES.md §5; D 30 to D 37; FORMAT.md §8.4).

When to use it: a high-stakes decision on which specialists may well differ, and
blind spots of different models or perspectives should cover for each other.
When not: there is one right answer that can be computed, somebody is waiting
for it, or there are very many to be answered cheaply. Cost: debaters x
(rounds + 1) calls, and one with a judge.
"""

from __future__ import annotations

from hansard.rules.formats.base import Format
from hansard.rules.formats.panel.reading import (
    admits,
    label,
    read,
    schemas,
    template,
    values,
)
from hansard.rules.formats.panel.schedule import due, lost, most_turns, reason, settled, wrong_seats
from hansard.rules.formats.panel.spec import PanelSpec

__all__ = ["PANEL", "PanelSpec"]

PANEL = Format(
    summary="everybody revises independent drafts",
    spec=PanelSpec,
    schemas=schemas,
    most_turns=most_turns,
    settled=settled,
    wrong_seats=wrong_seats,
    due=due,
    lost=lost,
    reason=reason,
    read=read,
    admits=admits,
    template=template,
    values=values,
    label=label,
)
