"""What a gate answered: whether a debate is advised, each condition with its numbers, in words.

Terminal, Markdown and page show the same rows in the same words; the page has its port.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from hansard import vocabulary
from hansard.closed import Closed
from hansard.report.words import listed
from hansard.rules.fields import Gate, GateCondition, GateRule
from hansard.rules.gate import hedge
from hansard.rules.prompts import TextOf
from hansard.vocabulary import fill

_WORDS = vocabulary.words("gate")
_LABELS = vocabulary.words("said")


class GateAnswer(Closed):
    """Whether a debate is advised, and why. Money is in micro-US-dollars."""

    advised: bool = Field(description="Whether a debate is advised")
    rule: GateRule = Field(description="Which conditions advise a debate")
    contested: bool = Field(description="False: a factual lookup")
    conditions: tuple[GateCondition, ...] = Field(description="downside, uncertain, high_risk")
    confidence_ppm: int | None = Field(description="A single model's own, in millionths")
    downside_micro_usd: int | None = Field(
        description="What a wrong answer would cost; null: not stated"
    )
    threshold_micro_usd: int | None = Field(description="What a debate costs")
    factor: int = Field(description="How many times what a debate costs the downside must be")
    task_type: str | None = Field(description="What kind of question it is; null: not stated")
    answered: bool = Field(description="Whether the answer of a single model was given")
    answer: str | None = Field(description="That answer; null where there is none, or it is gone")
    hedge: str | None = Field(description="The first phrase by which it hedges")


def answered(gate: Gate | None, text_of: TextOf) -> GateAnswer | None:
    """Return what a recorded gate answered; None where there is none."""
    if gate is None:
        return None
    text = text_of(gate["answer"]["sha256"]) if gate["answer"] else None
    return GateAnswer(
        **{
            **gate,
            "answered": gate["answer"] is not None,
            "answer": text,
            "hedge": None if text is None else hedge(text),
        }
    )


def why(gate: Gate | GateAnswer) -> str:
    """Say why a debate is advised, or is not."""
    row = gate.model_dump() if isinstance(gate, GateAnswer) else gate
    kind = f"for_{row['rule']}" if row["advised"] else f"not_{row['rule']}"
    return _WORDS[kind if row["contested"] else "lookup"]


def advice(gate: Gate | GateAnswer) -> str:
    """Say whether a debate is advised, and why."""
    advised = gate.advised if isinstance(gate, GateAnswer) else gate["advised"]
    return fill(_WORDS["advised" if advised else "against"], why=why(gate))


def rows(found: GateAnswer) -> Iterator[tuple[str, str]]:
    """Yield the advice and each condition, met or not, with its numbers: labels and words."""
    yield _LABELS["gate"], advice(found)
    told = {
        "downside": _amounts(found),
        "uncertain": listed(_doubts(found)),
        "high_risk": _told("task_type", task_type=found.task_type),
    }
    for row in found.conditions:
        words = _WORDS["met" if row["met"] else "unmet"]
        yield _LABELS[row["name"]], fill(words, why=told[row["name"]])


def _amounts(found: GateAnswer) -> str:
    downside, threshold = found.downside_micro_usd, found.threshold_micro_usd
    if downside is None or threshold is None:
        return _WORDS["no_downside" if downside is None else "no_threshold"]
    amounts = {"downside": _dollars(downside), "threshold": _dollars(threshold)}
    return fill(_WORDS["amounts"], factor=found.factor, **amounts)


def _dollars(micro_usd: int) -> str:
    """Return an amount as people write it: 250,000.00 or 0.043284."""
    whole, rest = divmod(micro_usd, 10**6)
    return f"{whole:,}.{f'{rest:06}'.rstrip('0'):0<2}"


def _doubts(found: GateAnswer) -> Iterator[str]:
    """Yield what is known of the confidence, and of the answer where there is one."""
    ppm = found.confidence_ppm
    share = None if ppm is None else f"{ppm / 1_000_000:.6f}".rstrip("0").rstrip(".")
    yield _told("confidence", confidence=share)
    if found.hedge:
        yield fill(_WORDS["hedges"], phrase=found.hedge)
    elif found.answered:
        yield _WORDS["gone" if found.answer is None else "plain"]


def _told(name: str, **value: str | None) -> str:
    """Say what a value is, or that it is not stated."""
    return fill(_WORDS[name], **value) if value[name] is not None else _WORDS[f"no_{name}"]
