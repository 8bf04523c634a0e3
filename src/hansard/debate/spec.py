"""What a user writes: the spec of a debate.

Nothing here reads a file or a clock: `runtime.inputs` loads a spec and the
files that it names.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.config import JsonDict, JsonValue
from pydantic_core import PydanticCustomError

from hansard.debate.counting import needed
from hansard.debate.events import Decimal, Name
from hansard.debate.formats.consensus import TEMPLATES

Text = Annotated[str, Field(min_length=1, max_length=4_000_000)]
TemplateRole = Literal["protocol", "block", "debater"]
assert set(TEMPLATES) == {"protocol", "block", "debater"}
NAME = re.compile(r"[A-Za-z0-9._:/@+=-]{1,64}").fullmatch
PROVIDERS = ("scripted", "recorded", "python", "openai")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PriceSpec(_Strict):
    """A price in US dollars per million tokens, as decimal text ("2.50")."""

    input: str = Field(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6})?$")
    output: str = Field(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6})?$")
    cached: str | None = Field(default=None, pattern=r"^[0-9]{1,6}(\.[0-9]{1,6})?$")


def _or_number(schema: JsonDict) -> None:
    """Say in the published schema that a decimal may also be written as a number."""
    text = dict(schema)
    schema.clear()
    schema["anyOf"] = [text, {"type": "number", "minimum": 0, "maximum": 999_999_999}]


Number = Annotated[Decimal, Field(json_schema_extra=_or_number)]


class Settings(_Strict):
    """What a model is asked to keep to; decimals as text, recorded as written."""

    temperature: Number | None = None
    top_p: Number | None = None
    seed: int | None = Field(default=None, ge=0, le=(1 << 53) - 1)
    max_tokens: int | None = Field(default=None, ge=1, le=10**9)
    reasoning_effort: Name | None = None

    @field_validator("temperature", "top_p", mode="before")
    @classmethod
    def _as_written(cls, value: object) -> object:
        """YAML reads 0.7 as a number; its shortest spelling is what the user wrote."""
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return str(value) if is_number else value


class Debater(_Strict):
    """A seat: who speaks, from which point of view, and which model answers."""

    id: Name = Field(description="Letters, digits and ._:/@+=- only; speaks in the order listed")
    model: str = Field(
        description="provider:name, as in openai:<model>, scripted:replies.yaml, "
        "recorded:<debate>, python:<name>",
        pattern=r"^[A-Za-z0-9._:/@+=-]{1,256}$",
    )
    persona: Text | None = None
    settings: Settings = Settings()

    @field_validator("model")
    @classmethod
    def _known(cls, value: str) -> str:
        provider, _, name = value.partition(":")
        if provider not in PROVIDERS or not name:
            known = ", ".join(f"{name}:…" for name in PROVIDERS)
            _refuse("spec.unknown_model", f"there is no model {value}; a model is one of {known}")
        return value


def _or_file_name(schema: JsonDict) -> None:
    """Say in the published schema that a file's name alone will do, and that a text needs an id."""
    sources: JsonValue = [
        {"required": ["file"], "properties": {"file": {"type": "string"}}},
        {"required": ["text", "id"], "properties": {"text": {"type": "string"}}},
    ]
    row: JsonDict = {**schema, "oneOf": sources}
    schema.clear()
    schema["anyOf"] = [{"type": "string", "minLength": 1}, row]


class Evidence(_Strict):
    """A document: a file (named alone, or with an id and a round) or its text."""

    model_config = ConfigDict(json_schema_extra=_or_file_name)

    id: Name = Field(
        default_factory=str, validate_default=True, description="Default: the file's stem"
    )
    file: str | None = Field(
        default=None, min_length=1, description="Markdown or plain text, UTF-8"
    )
    text: Text | None = None
    from_round: int = Field(default=1, ge=1, description="The first round in which it is seen")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        """Admit a file's name alone, and take the id from the name where it fits."""
        row = {"file": value} if isinstance(value, str) else value
        if isinstance(row, dict) and "id" not in row and isinstance(row.get("file"), str):
            stem = row["file"].rpartition("/")[2].partition(".")[0]
            if not NAME(stem):
                raise PydanticCustomError(
                    "spec.evidence_id",
                    "the file name {stem} cannot be an id; give the document an id of its own",
                    {"stem": stem},
                )
            row = {**row, "id": stem}
        return row

    @field_validator("text")
    @classmethod
    def _normalised(cls, value: str | None) -> str | None:
        """NFC, once, here: quotes are later looked up in exactly this text."""
        return value and unicodedata.normalize("NFC", value)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.file is None) == (self.text is None):
            raise PydanticCustomError(
                "spec.evidence_source", "a document has either a file or a text"
            )
        return self


def _threshold_with_its_rule(schema: JsonDict) -> None:
    """Say in the published schema which rule takes a threshold."""
    schema["if"] = {"properties": {"rule": {"const": "threshold"}}}
    schema["then"] = {"required": ["threshold"], "properties": {"threshold": {"type": "integer"}}}
    schema["else"] = {"properties": {"threshold": {"type": "null"}}}


class DebateSpec(_Strict):
    """A debate in the `consensus` format.

    `threshold` belongs to the rule `threshold` and has no default; `majority`
    is more than half of the debaters, `unanimity` all of them.
    """

    model_config = ConfigDict(json_schema_extra=_threshold_with_its_rule)

    format: Literal["consensus"] = "consensus"
    question: Text
    debaters: list[Debater] = Field(min_length=2, max_length=100)
    evidence: list[Evidence] = Field(default=[], max_length=1000)
    options: list[Name] = Field(min_length=1, max_length=100, description="What may be voted for")
    rule: Literal["threshold", "majority", "unanimity"] = "threshold"
    threshold: int | None = Field(default=None, ge=1)
    max_rounds: int = Field(ge=1, le=1000)
    seed: int = Field(default=0, ge=0, lt=10**77)
    review: Text = Field(
        default="the person who answers for this question",
        description="Who must look when the debate ends in escalate",
    )
    attempts: int = Field(default=3, ge=1, le=100, description="Tries per turn before forfeit")
    timeout_seconds: float = Field(default=120, gt=0, le=86_400, description="Per call")
    prompts: dict[TemplateRole, str] = Field(
        default={}, description="Files of your own templates, in place of the packaged ones"
    )
    prices: dict[str, PriceSpec] = Field(
        default={}, description="US dollars per million tokens, by model"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _unique("debater id", [debater.id for debater in self.debaters])
        _unique("evidence id", [document.id for document in self.evidence])
        _unique("option", self.options)
        if "abstain" in self.options:
            _refuse("spec.option", "'abstain' cannot be an option: it is what silence counts as")
        if self.rule == "threshold" and self.threshold is None:
            _refuse("spec.threshold", "the rule threshold needs `threshold`: how many must agree")
        if self.rule != "threshold" and self.threshold is not None:
            _refuse("spec.threshold", f"the rule {self.rule} sets its threshold; leave yours out")
        if self.needed > len(self.debaters):
            many = len(self.debaters)
            _refuse("spec.threshold", f"threshold {self.needed} is above the {many} debaters")
        for document in self.evidence:
            if document.from_round > self.max_rounds:
                _refuse("spec.evidence_round", f"{document.id} would come after the last round")
        seats = {debater.model for debater in self.debaters}
        for model in self.prices:
            if model not in seats:
                _refuse("spec.price", f"prices names {model}, which no debater uses")
        return self

    @property
    def needed(self) -> int:
        """How many debaters must hold one option."""
        count = needed(self.rule, len(self.debaters), self.threshold)
        assert count is not None, "validated: the rule 'threshold' has one"
        return count


def _refuse(code: str, sentence: str) -> NoReturn:
    raise PydanticCustomError(code, sentence)


def _unique(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            _refuse("spec.duplicate", f"{what} {name} stands twice; each must be unique")
