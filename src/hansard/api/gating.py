"""Whether a question is worth a debate, before one is paid for."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from hansard.api.records import read_record
from hansard.api.running import opened
from hansard.api.specs import allowed_in, fields_of, folder_in, stated

if TYPE_CHECKING:
    from hansard.api.specs import Spec
    from hansard.report.gating import GateAnswer
    from hansard.runtime.seats import Models
    from hansard.store.application import Store

    Dollars = str | int | float | Decimal


def should_debate(
    task_type: str | None = None,
    confidence: str | float | None = None,
    estimated_downside: Dollars | None = None,
    *,
    answer: str | None = None,
    contested: bool = True,
    cost_threshold: Dollars | None = None,
    factor: int = 50,
    rule: Literal["downside", "any", "all"] = "downside",
) -> GateAnswer:
    """Say whether a debate is advised, and which conditions are met.

    `downside` is met where `estimated_downside` (what a wrong answer would cost, in US
    dollars) is more than `factor` times `cost_threshold` (what a debate costs); never where
    one of them is not known. `uncertain` is met where `confidence`, a single model's own from
    0 to 1, is below 0.7, or where its `answer` hedges. `high_risk` is met where `task_type` is
    contract, security, architecture, investment or compliance. A debate is advised where the
    question is `contested`, and by `rule` the downside alone is met, any of the three, or all.

    No model is asked, and nothing is recorded. Raises UsageError `spec.*` for a value that
    cannot be used.

    >>> found = should_debate("contract", 0.9, 250_000, cost_threshold="2.50")
    >>> found.advised, [row["name"] for row in found.conditions if row["met"]]
    (True, ['downside', 'high_risk'])
    >>> should_debate("contract", 0.9).advised
    False
    """
    from hansard.runtime.gating import of_question

    given = {
        "task_type": task_type,
        "confidence": confidence,
        "downside": estimated_downside,
        "answer": answer or None,
        "contested": contested,
        "threshold": cost_threshold,
        "factor": factor,
        "rule": rule,
    }
    return of_question({name: value for name, value in given.items() if value is not None})


def ask_gate(
    spec: Spec,
    *,
    downside: Dollars | None = None,
    confidence: str | float | None = None,
    answer: str | Path | None = None,
    contested: bool | None = None,
    models: Models | None = None,
    folder: Path | str | None = None,
    allow: Iterable[Path | str] = (),
    store: Store | str | None = None,
) -> GateAnswer:
    """Say whether a debate of `spec` is advised, as its record would.

    What is given stands in place of what the spec's `gate` says: `downside` in US dollars,
    `confidence` from 0 to 1, `answer` as a text or as the `Path` of a file of your own. Where
    the gate states no threshold, it is what this debate is expected to cost. The other
    arguments are those of `estimate`, and it raises what that raises: no model is asked.

    Nothing is recorded, unless a `store` is given, or the URL of one: then the answer is a
    `GateRecord`, whose `debate` is the id of a record of its own. Record what is not debated,
    to note later what came of it (`note_outcome`); a debate records its gate itself.

    >>> spec = {"format": "panel", "question": "What comes first?", "model": "python:steady"}
    >>> ask_gate(spec | {"judge": {}, "task_type": "security", "gate": {"rule": "any"}}).advised
    True
    """
    from hansard.runtime.files import Files
    from hansard.runtime.gating import of_spec, record

    told = {
        "downside": downside,
        "confidence": confidence,
        "answer": {"file": answer} if isinstance(answer, Path) else answer,
        "contested": contested,
    }
    given = {name: value for name, value in told.items() if value is not None}
    allowed = allowed_in(allow)
    fields, where, begin = fields_of(spec, folder_in(folder))
    parsed = stated(fields, where)
    if given:
        own = parsed.gate
        kept = {name: getattr(own, name) for name in own.model_fields_set} if own else {}
        parsed = stated(fields, where, {"gate": kept | given})
    files = Files(begin, allowed)
    if store is None:
        return of_spec(parsed, files, models)
    with opened(store, create=True) as shelf:
        made = read_record(shelf, record(parsed, files, shelf, models))
        return cast("GateAnswer", made.gate())
