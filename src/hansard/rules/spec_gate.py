"""The `gate` of a spec: what is asked before a question is debated."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.config import JsonDict, JsonValue

from hansard.record.canonical import MAX_INT
from hansard.rules.fields import Blob, Gate, GateRule
from hansard.rules.gate import FACTOR, RULE, hedge, settled
from hansard.rules.spec_parts import FileName, Strict, Text, refuse

_MONEY = r"^[0-9]{1,9}(\.[0-9]{1,6})?$"
_MOST_DIGITS = 64  # of a number, before its point or behind it
_BEYOND: int = 10**_MOST_DIGITS
_SHARE = re.compile(r"0(\.[0-9]{1,60})?|1(\.0{1,60})?").fullmatch


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _is_within(number: float | Decimal) -> bool:
    """Say whether a number has few enough digits before its point to be written out.

    A `Decimal("1E+999999999")` has a thousand million of them.
    """
    if isinstance(number, Decimal):
        return number.adjusted() < _MOST_DIGITS
    return -_BEYOND < number < _BEYOND


def _as_money(value: Any) -> Any:
    """Return an amount as decimal text; one that was computed has as many decimals as money has."""
    text = value
    if _is_number(value):
        text = f"{value:.6f}" if _is_within(value) else ""
    if not isinstance(text, str) or not re.fullmatch(_MONEY, text):
        refuse(
            "spec.invalid_value",
            "an amount of US dollars has up to nine digits and six decimals, such as 250000 or "
            '"2.50"',
        )
    return text


def _or_number(schema: JsonDict) -> None:
    """Say in the published schema that a decimal may also be written as a number."""
    text = dict(schema)
    schema.clear()
    schema["anyOf"] = [text, {"type": "number", "minimum": 0}]


Amount = Annotated[
    str,
    BeforeValidator(_as_money),
    Field(pattern=_MONEY, json_schema_extra=_or_number),
]


def _or_text(schema: JsonDict) -> None:
    """Say in the published schema that the answer itself will do."""
    sources: JsonValue = [
        {"required": [name], "properties": {name: {"type": "string"}}} for name in ("file", "text")
    ]
    row: JsonDict = {**schema, "oneOf": sources}
    schema.clear()
    schema["anyOf"] = [{"type": "string", "minLength": 1}, row]


class SingleAnswer(Strict):
    """The answer of a single model: its text, or a file that holds it."""

    model_config = ConfigDict(json_schema_extra=_or_text)

    file: FileName | None = Field(default=None, description="UTF-8")
    text: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _said(cls, value: object) -> object:
        return {"text": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.file is None) == (self.text is None):
            refuse("spec.gate_answer", "an answer is either a `text` or a `file`, and not both")
        return self


class GateSpec(Strict):
    """What decides whether a question is worth a debate; money in US dollars."""

    downside: Amount | None = Field(default=None, description="What a wrong answer would cost")
    threshold: Amount | None = Field(
        default=None, description="What a debate costs; default: the expected cost of this one"
    )
    factor: int = Field(
        default=FACTOR,
        ge=1,
        le=MAX_INT,
        description="The downside must be more than so many times the threshold",
    )
    confidence: str | None = Field(
        default=None,
        pattern=r"^(0(\.[0-9]+)?|1(\.0+)?)$",
        description="A single model's own confidence in its answer, from 0 to 1",
        json_schema_extra=_or_number,
    )
    answer: SingleAnswer | None = Field(
        default=None, description="What a single model answers, or its file: it may hedge"
    )
    contested: bool = Field(default=True, description="False: a factual lookup")
    rule: GateRule = Field(
        default=RULE, description="Which conditions advise a debate: the downside alone, any, all"
    )

    @field_validator("confidence", mode="before")
    @classmethod
    def _from_0_to_1(cls, value: Any) -> Any:
        text = value
        if _is_number(value):
            number = Decimal(str(value)) if _is_within(value) else Decimal("nan")
            text = f"{number:f}" if number.adjusted() > -_MOST_DIGITS else ""
        if isinstance(text, str) and not _SHARE(text):
            refuse("spec.out_of_range", "a confidence is a number from 0 to 1, such as 0.65")
        return text

    def asked(self, task_type: str | None, answer: Blob | None, expected: int | None) -> Gate:
        """Return the gate as it is recorded.

        `answer` names the text of the single answer, and `expected` is what the debate is
        expected to cost, in micro-US-dollars.
        """
        said = self.answer.text if self.answer else None
        gate: Gate = {
            "advised": False,
            "rule": self.rule,
            "contested": self.contested,
            "conditions": [],
            "confidence_ppm": _millionths(self.confidence),
            "downside_micro_usd": _millionths(self.downside),
            "threshold_micro_usd": expected
            if self.threshold is None
            else _millionths(self.threshold),
            "factor": self.factor,
            "task_type": task_type,
            "answer": answer,
        }
        return settled(gate, hedged=said is not None and hedge(said) is not None)


def _millionths(text: str | None) -> int | None:
    """Return a decimal in whole millionths, rounded down."""
    return None if text is None else int(Decimal(text) * 1_000_000)
