"""What an evaluation runs beside a debate, and which debate of a store it need not run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hansard.rules.context import as_text
from hansard.rules.events import Event
from hansard.rules.formats import AnySpec
from hansard.rules.prompts import TextOf
from hansard.rules.terms import ARGUING
from hansard.runtime.golden import choices
from hansard.runtime.inputs import parse_spec
from hansard.runtime.opening import Opening, unsalted

MOST_DRAWS = 99
SEAT = "single"  # the id of who answers alone, for scripted replies
_SHARED = (
    "question", "instructions", "tools", "tool_rounds", "seed", "name", "collection_id",
    "task_type", "requester", "owner", "labels", "retention", "review", "attempts",
    "timeout_seconds", "retry_seconds", "limits",
)  # fmt: skip
# What the opening says that changes no reply: another version, or price list, says it otherwise.
_APART = ("engine", "estimate", "prices")


def rival(spec: AnySpec, draws: int) -> AnySpec:
    """Return the rival of a debate: one seat that answers its question `draws` times.

    The model is that of the first seat that argues. It sees the same evidence, all of it at
    once, and is told what each choice means.
    """
    known = choices(spec)
    seat = next(row for row in spec.table() if row.role in ARGUING)
    meanings = [f"{name}: {words}" for name, words in known.items() if words != name]
    told = ["\n".join(("What the choices mean:", *meanings))] if meanings else []
    context = [] if spec.context is None else [as_text(spec.context)]
    fields = {
        "format": "baseline",
        **{name: getattr(spec, name) for name in _SHARED if name in spec.model_fields_set},
        "evidence": [row.model_copy(update={"from_round": 1}) for row in spec.evidence],
        "context": "\n\n".join([*context, *told]) or None,
        "prices": {name: row for name, row in spec.prices.items() if name == seat.model},
        "debater": {"id": SEAT, "model": seat.own or seat.model, "settings": seat.settings},
        "options": [*known],
        "draws": max(1, min(draws, MOST_DRAWS)),
    }
    return parse_spec(fields, "the rival of the debate")


def is_alike(opening: Opening, events: Sequence[Event], text_of: TextOf) -> bool:
    """Say whether a debate was opened as `opening` would open one: to the letter of every text."""
    texts: dict[str, str] = {}
    facts = opening.facts(unsalted(texts))
    asked = [(fact.type, _said(fact.data, texts.get)) for fact in facts]
    found = [(row["type"], _said(row["data"], text_of)) for row in events[: len(facts)]]
    return asked == found


def _said(value: Any, text_of: TextOf) -> Any:
    """Return data of an entry with each text in place of the name of its blob."""
    if isinstance(value, Mapping):
        if value.keys() == {"sha256"}:
            return text_of(value["sha256"])
        return {name: _said(row, text_of) for name, row in value.items() if name not in _APART}
    return [_said(row, text_of) for row in value] if isinstance(value, list) else value
