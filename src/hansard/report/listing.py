"""The debates of a store, one entry each, and the row by which each is found."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from sys import getsizeof
from typing import Any, Literal

from pydantic import Field

from hansard.closed import Closed
from hansard.report import metrics
from hansard.report.acting import Answer, acting
from hansard.report.formats import DebateResult
from hansard.report.gated import GateRecord
from hansard.report.gating import GateAnswer
from hansard.report.reviews import doubted_lifts
from hansard.report.safe import one_line
from hansard.rules.review import SETTLED, ReviewState
from hansard.rules.spending import milliseconds
from hansard.rules.terms import DecisionRule
from hansard.store.rows import BAD, CHARGED, SORTS, Row

_LONGEST_NAME = 256  # characters by which a model is found: as long as a model's id
_MOST_HELD = 1 << 26  # bytes of memory, of the texts of a list
_SHORT = 1000  # characters of a text for which there is no room
_TEXTS = ("question", "decision_text", "review", "stopped")

ORDERS = SORTS
State = Literal["open", "closed", "truncated", "failed", "gate", "altered", "unreadable"]


class Entry(Closed):
    """One debate. Of a record that does not hold, nothing is said but its id and its state."""

    debate: str
    state: State = Field(
        description="gate: only the gate was asked; altered: a check failed; unreadable: it "
        "cannot be read at all, or not in bounded memory"
    )
    opened_at: str | None = None
    question: str | None = Field(
        default=None,
        description="Where the texts of a list take more than 64 MiB of memory, a long one for "
        "which there is no room is cut short, and has its length and its SHA-256 behind it",
    )
    format: str | None = None
    advised: bool | None = Field(
        default=None, description="Of a record in which only the gate was asked: what it answered"
    )
    decision: str | None = None
    decision_text: str | None = Field(
        default=None, description="The words of the stance that was decided for"
    )
    rule: DecisionRule | None = None
    review: str | None = Field(
        default=None, description="Who must look, where the decision is left to a person"
    )
    reviewed: ReviewState | None = Field(
        default=None, description="How its review stands, by the keys that the reader trusts"
    )
    released: bool | None = Field(
        default=None, description="Whether the decision may be acted on, by the same keys"
    )
    acting: Answer | None = Field(
        default=None,
        description="Whether to act on it: yes, look first, not yet, or no; null of a gate",
    )
    output_missing: bool = Field(
        default=False, description="Whether nobody wrote the output that was asked for"
    )
    erased: int = Field(default=0, description="How many texts were erased")
    lifted: int = Field(
        default=0,
        description="How many times a hold was lifted, but not with a key that the reader trusts",
    )
    stopped: str | None = Field(
        default=None, description="By whom the debate was cut short and why, where a person did"
    )
    votes: int | None = Field(
        default=None, description="How many hold the decision, where it was counted"
    )
    debaters: int | None = None
    draws: int | None = Field(
        default=None, description="Of a baseline, how many answers were asked for"
    )
    cost_micro_usd: int | None = None
    scripted: bool | None = Field(default=None, description="Whether any reply came from a script")

    @property
    def holds(self) -> bool:
        """Whether its record holds."""
        return self.state not in BAD

    @property
    def needs_a_look(self) -> bool:
        """Whether somebody must look: at the record, at how it ended, or at the decision."""
        return (
            not self.holds
            or self.state in ("failed", "truncated")
            or self.output_missing
            or (self.review is not None and not self.released)
            or self.reviewed not in (None, *SETTLED)
        )


class Held:
    """The texts of a list, each kept once; one for which there is no room left is cut short."""

    def __init__(self) -> None:
        self._left, self._known = _MOST_HELD, dict[str, str]()

    def of(self, row: Entry) -> Entry:
        """Return an entry with its texts as they are kept."""
        texts = ((name, getattr(row, name)) for name in _TEXTS)
        return row.model_copy(update={name: self._kept(text) for name, text in texts if text})

    def _kept(self, text: str) -> str:
        if len(text) <= _SHORT:
            return text
        name = hashlib.sha256(text.encode()).hexdigest()
        if name not in self._known:
            fits = getsizeof(text) <= self._left
            self._left -= getsizeof(text) if fits else 0
            short = f"{text[:_SHORT]}… ({len(text):,} characters, SHA-256 {name})"
            self._known[name] = text if fits else short
        return self._known[name]


class Totals(Closed):
    """Sums over debates."""

    debates: int
    cost_micro_usd: int | None = Field(description="Null: no price known")
    unpriced: int = Field(description="Of these the cost is not known")
    need_a_look: int
    not_as_recorded: int = Field(description="Records that do not hold, or cannot be read")


class Asked(Closed):
    """A question, and the debates of a store about it."""

    question: str | None = Field(description="null: it cannot be read, or the record was altered")
    debates: tuple[str, ...] = Field(description="Their ids, in the order they were opened")
    unfinished: tuple[str, ...] = Field(description="Those that were never closed")
    decisions: dict[str, int] = Field(description="How many of them decided so, by decision")


class Questions(Closed):
    """How often each question of a store was debated; the gate alone is no debate."""

    questions: Literal["hansard-questions/v1"] = Field(
        default="hansard-questions/v1", description="The form of this list"
    )
    asked: tuple[Asked, ...] = Field(description="Those that were debated most often first")


class Listing(Closed):
    """Debates of a store."""

    listing: Literal["hansard-list/v1"] = Field(
        default="hansard-list/v1", description="The form of this list"
    )
    debates: tuple[Entry, ...] = Field(description="In the order that was asked for")
    totals: Totals = Field(description="Of all that were asked for, listed or not")

    def questions(self) -> Questions:
        """Return how often each question was debated, and which debates never finished."""
        found: dict[str | None, list[Entry]] = {}
        for row in self.debates:
            if row.state != "gate":
                found.setdefault(row.question, []).append(row)
        asked = (
            Asked(
                question=question,
                debates=tuple(row.debate for row in rows),
                unfinished=tuple(row.debate for row in rows if row.state == "open"),
                decisions=dict(Counter(row.decision for row in rows if row.decision)),
            )
            for question, rows in found.items()
        )
        return Questions(asked=tuple(sorted(asked, key=lambda row: -len(row.debates))))


def entry(result: DebateResult | GateRecord) -> Entry:
    """Return the entry of a debate, or of a gate, whose record holds."""
    if isinstance(result, GateRecord):
        return Entry(
            debate=result.debate,
            state="gate",
            opened_at=result.at,
            question=result.question,
            advised=result.advised,
            reviewed=result.reviewed.state,
            released=result.released,
            erased=len(result.reviewed.erased),
            lifted=len(doubted_lifts(result.reviewed)),
        )
    return Entry(
        debate=result.debate,
        state="closed" if result.status == "complete" else result.status,
        opened_at=result.opened_at,
        question=result.question,
        format=result.format,
        decision=result.decision,
        decision_text=result.decision_text,
        rule=result.decision_rule,
        review=result.review,
        reviewed=None if result.status == "open" else result.reviewed.state,
        released=result.released,
        acting=acting(result).answer,
        output_missing=result.output_missing is not None,
        erased=len(result.reviewed.erased),
        lifted=len(doubted_lifts(result.reviewed)),
        stopped=result.truncated.stopper if result.truncated else None,
        votes=result.votes_held,
        debaters=len(result.debater_ids),
        draws=result.drawn,
        cost_micro_usd=result.totals.cost_micro_usd,
        scripted=result.scripted,
    )


def row(result: DebateResult | GateRecord) -> Row:
    """Return the row by which a debate, or a gate's answer, is found, whose record holds.

    It says how the review stands for a reader without keys: nobody's counts.
    """
    shown = entry(result)
    without = shown.model_copy(update={"reviewed": None, "released": False})
    spoken = bool(result.reviewed.reviews or result.reviewed.outcomes)
    found = Row(
        debate=shown.debate,
        state=shown.state,
        opened_at=shown.opened_at,
        retention=result.retention,
        held=result.reviewed.held,
        format=shown.format,
        decision=shown.decision,
        question=asked(result.question),
        reviewed=shown.reviewed,
        spoken=spoken,
        look=without.needs_a_look,
        names=[("label", label) for label in result.labels],
        task_type=result.task_type,
        outcomes=" ".join(row.label for row in result.reviewed.outcomes),
        **_gate(result if isinstance(result, GateRecord) else result.gate),
    )
    if isinstance(result, GateRecord):
        return replace(found, words=_words(result.question, *result.labels))
    models = {seat.model for seat in result.seats} | {call.served for call in result.asked}
    notes = {note.code for note in result.notes}
    return replace(
        found,
        closed_at=result.closed_at,
        deadline=_deadline(result),
        scripted=result.scripted,
        figures=metrics.figures(result) | _charged(result),
        cost=result.totals.cost_micro_usd,
        calls=result.totals.calls,
        tokens=result.totals.tokens_in + result.totals.tokens_out,
        elapsed=_elapsed(result),
        names=[
            *found.names,
            *(("model", named(model)) for model in models if model),
            *(("note", code) for code in notes),
            *(("exception", name) for name in result.reviewed.exceptions),
        ],
        words=_words(
            result.question,
            result.name,
            *result.labels,
            result.decision,
            result.decision_text,
            None if result.output is None else json.dumps(result.output, ensure_ascii=False),
        ),
    )


def _charged(result: DebateResult) -> dict[str, int]:
    charged, cost = result.charged.cost_micro_usd, result.totals.cost_micro_usd
    return {} if charged is None or charged == cost else {CHARGED: charged}


def _gate(answer: GateAnswer | None) -> dict[str, Any]:
    """Return what is kept of a gate's answer, where there is one."""
    if answer is None:
        return {}
    return {
        "advised": answer.advised,
        "confidence": answer.confidence_ppm,
        "downside": answer.downside_micro_usd,
        "threshold": answer.threshold_micro_usd,
    }


def asked(question: str | None) -> str | None:
    """Return what stands for a question: white space counts."""
    return None if question is None else hashlib.sha256(question.encode()).hexdigest()


def named(model: str) -> str:
    """Return by what a model is found, for a provider may call it anything: a line, cut short."""
    return one_line(model, _LONGEST_NAME)


def _deadline(result: DebateResult) -> str | None:
    """Return from when on a review that nobody has given is overdue."""
    days = result.reviewed.days
    if days is None or result.closed_at is None:
        return None
    try:
        due = datetime.fromisoformat(result.closed_at) + timedelta(days=days)
    except OverflowError:
        return None
    return f"{due.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _elapsed(result: DebateResult) -> int | None:
    """Return how long a debate took, in milliseconds."""
    return milliseconds(result.opened_at, result.closed_at) if result.closed_at else None


def _words(*texts: str | None) -> str:
    return "\n".join(filter(None, texts))
