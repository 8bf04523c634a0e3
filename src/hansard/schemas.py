"""The published JSON Schemas, by name: what is read, what is recorded, what is printed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from hansard.errors import UsageError
from hansard.report.batched import Batch
from hansard.report.calibration import Calibration
from hansard.report.comparing import Comparison
from hansard.report.evaluation import Evaluation
from hansard.report.formats import DISPLAYS, DebateResult
from hansard.report.gated import GateRecord
from hansard.report.gating import GateAnswer
from hansard.report.listing import Listing, Questions
from hansard.report.metrics import Metrics
from hansard.report.periodic import PeriodicReport
from hansard.report.registered import RegisterCheck, Registered
from hansard.report.retention import Retention
from hansard.rules.events import TYPES, Event
from hansard.rules.formats import DEFAULT, SPECS, DebateSpec
from hansard.runtime.available import AvailableModels
from hansard.runtime.carried import ReviewFile
from hansard.runtime.estimate import Estimate
from hansard.runtime.golden import GoldenLine
from hansard.runtime.models.scripted import Script
from hansard.verify.findings import Verification
from hansard.verify.many import Verifications, Verified

Schema = dict[str, Any]


def render(name: str) -> str:
    """Return the schema `name` as JSON with a last line end.

    Raises UsageError `schema.unknown` for a name that is not in SCHEMAS.

    >>> json.loads(render("spec"))["$id"]
    'urn:hansard:schema:spec:v1'
    """
    if name not in SCHEMAS:
        known = ", ".join(SCHEMAS)
        raise UsageError("schema.unknown", f"there is no schema {name!r}; there are {known}")
    return json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n"


class _Named(GenerateJsonSchema):
    """Calls the schema of an entry by its data: `EvidenceEntry` has `EvidenceData`."""

    def normalize_name(self, name: str) -> str:
        return super().normalize_name(re.sub(r"^Entry\[.*?(\w+)Data\]$", r"\1Entry", name))


def _document(
    name: str, title: str, kind: Any, mode: Literal["validation", "serialization"]
) -> Schema:
    schema = TypeAdapter(kind).json_schema(mode=mode, schema_generator=_Named)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:hansard:schema:{name}:v1",
        **schema,
        "title": title,
    }


def _spec() -> Schema:
    """Return the schema of a spec; one that names no format is of the default one, and no other."""
    schema = _document("spec", "A debate as its author writes it", DebateSpec, "validation")
    for name, kind in SPECS.items():
        found = schema["$defs"][kind.__name__]
        found["properties"]["prompts"]["propertyNames"] = {"enum": list(kind.TEMPLATES)}
        if name != DEFAULT:
            found["required"].append("format")
    return schema


_PUBLISHED: list[tuple[str, str, Any, Literal["validation", "serialization"]]] = [
    ("script", "Scripted replies", Script, "validation"),
    ("event", "One entry of a record", Annotated[Event, Field(discriminator="type")], "validation"),
    *(
        (f"event.{name}", f"An entry of the type {name}", event, "validation")
        for name, event in TYPES.items()
    ),
    ("review", "A review that is signed away from the store", ReviewFile, "validation"),
    ("findings", "The result of a verification", Verification, "serialization"),
    ("verified", "One of many records, and what was found of it", Verified, "serialization"),
    ("verifications", "The result of verifying many", Verifications, "serialization"),
    ("report", "The report of a debate", DebateResult, "serialization"),
    ("list", "The debates in a store", Listing, "serialization"),
    ("batch", "What became of many debates", Batch, "serialization"),
    ("retention", "How long debates are kept, and which are due to go", Retention, "serialization"),
    ("period", "The report on all debates of a time", PeriodicReport, "serialization"),
    ("metrics", "What the debates in a store say together", Metrics, "serialization"),
    ("golden", "A line of a golden set", GoldenLine, "validation"),
    ("evaluation", "What a golden set says of a spec", Evaluation, "serialization"),
    ("calibration", "What outcomes say of the gate's factor", Calibration, "serialization"),
    ("questions", "How often each question was debated", Questions, "serialization"),
    ("register", "The register of a store", Registered, "serialization"),
    ("register-check", "Whether a register holds", RegisterCheck, "serialization"),
    ("comparison", "Two debates side by side", Comparison, "serialization"),
    ("estimate", "The calls, tokens and cost that a debate may need", Estimate, "serialization"),
    ("gate", "Whether a debate is advised", GateAnswer, "serialization"),
    ("gate-record", "The record of a gate alone", GateRecord, "serialization"),
    ("models", "The models that can be used here", AvailableModels, "serialization"),
    *(
        (
            f"source.{name}",
            f"The result of a {name} debate in the shape of its source",
            row.source,
            "validation",
        )
        for name, row in DISPLAYS.items()
    ),
    *(
        (f"{name}.{part}", title, kind, "validation")
        for name, row in DISPLAYS.items()
        for part, (title, kind) in row.published.items()
    ),
]

SCHEMAS: dict[str, Callable[[], Schema]] = {"spec": _spec} | {
    name: partial(_document, name, title, kind, mode) for name, title, kind, mode in _PUBLISHED
}
