"""Asking the gate: of a spec, with this debate's own cost, or of nothing but what is given.

What it answers to a spec may be recorded, for a question that is not debated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import Field

from hansard.record.chain import Chain
from hansard.report.gating import GateAnswer, answered
from hansard.rules.fields import Gate, Name
from hansard.rules.formats import AnySpec
from hansard.rules.spec_gate import GateSpec
from hansard.runtime.clock import CLOCK, Clock
from hansard.runtime.estimate import expectation, rehearsed
from hansard.runtime.files import Files
from hansard.runtime.inputs import validate
from hansard.runtime.journal import Journal
from hansard.runtime.opening import Opening, unsalted
from hansard.runtime.recording import Recording
from hansard.runtime.seats import Models
from hansard.store.application import Store


class _Question(GateSpec):
    """A gate that belongs to no spec, so that it states the task type itself."""

    task_type: Name | None = Field(default=None)


def of_question(given: Mapping[str, Any]) -> GateAnswer:
    """Return what the gate answers to what is given; UsageError `spec.*` for what cannot be."""
    asked = validate(_Question, dict(given), "the gate")
    texts: dict[str, str] = {}
    text = asked.answer.text if asked.answer else None
    name = None if text is None else unsalted(texts)(text)
    return cast(GateAnswer, answered(asked.asked(asked.task_type, name, None), texts.get))


def of_spec(spec: AnySpec, files: Files, models: Models | None = None) -> GateAnswer:
    """Return what the gate of a spec answers, which need not have one.

    Raises what an estimate of it would raise.
    """
    opening, texts = _rehearsed(spec, files, models), dict[str, str]()
    asked = opening.asked(unsalted(texts), expectation(opening)).data
    return cast(GateAnswer, answered(cast(Gate, asked["gate"]), texts.get))


def record(
    spec: AnySpec,
    files: Files,
    store: Store,
    models: Models | None = None,
    clock: Clock | None = None,
) -> str:
    """Record what the gate of a spec answers; return the id of its record.

    Raises what `of_spec` raises, before anything is written.
    """
    clock = clock or CLOCK
    opening = _rehearsed(spec, files, models)
    expected, debate = expectation(opening), clock.debate_id()
    journal = Journal(store, Chain(debate), clock)
    with store.runner(debate):
        Recording(journal).add(opening.asked(journal.blob, expected))
        journal.flush()
    return debate


def _rehearsed(spec: AnySpec, files: Files, models: Models | None) -> Opening:
    if spec.gate is None:
        spec = spec.model_copy(update={"gate": GateSpec()})
    return rehearsed(spec, files, models)
