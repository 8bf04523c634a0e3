"""What an evaluation runs beside a debate: its rivals."""

from __future__ import annotations

from hansard.rules.context import as_text
from hansard.rules.formats import AnySpec
from hansard.rules.terms import ARGUING
from hansard.runtime.golden import choices
from hansard.runtime.inputs import parse_spec

MOST_DRAWS = 99
SEAT = "single"  # the id of who answers alone, for scripted replies
_SHARED = (
    "question", "instructions", "tools", "tool_rounds", "seed", "name", "collection_id",
    "task_type", "requester", "owner", "labels", "retention", "review", "attempts",
    "timeout_seconds", "retry_seconds", "limits",
)  # fmt: skip


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
