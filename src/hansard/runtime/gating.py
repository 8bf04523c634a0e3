"""Asking the gate: of a spec, with this debate's own cost, or of nothing but what is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import Field

from hansard.report.gating import GateAnswer, answered
from hansard.rules.fields import Gate, Name
from hansard.rules.formats import AnySpec
from hansard.rules.spec_gate import GateSpec
from hansard.runtime.estimate import expectation, rehearsed
from hansard.runtime.files import Files
from hansard.runtime.inputs import validate
from hansard.runtime.opening import unsalted
from hansard.runtime.seats import Models


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
    if spec.gate is None:
        spec = spec.model_copy(update={"gate": GateSpec()})
    opening, texts = rehearsed(spec, files, models), dict[str, str]()
    opened = opening.facts(unsalted(texts), expectation(opening))[0].data
    return cast(GateAnswer, answered(cast(Gate, opened["gate"]), texts.get))
