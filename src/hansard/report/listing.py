"""The debates of a store, one entry each."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hansard.report.formats import DebateResult
from hansard.report.gated import GateRecord
from hansard.rules.review import SETTLED, ReviewState
from hansard.rules.terms import DecisionRule

State = Literal["open", "closed", "truncated", "failed", "gate", "altered", "unreadable"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Entry(_Part):
    """One debate. Of a record that does not hold, nothing is said but its id and its state."""

    debate: str
    state: State = Field(
        description="gate: only the gate was asked; altered: a check failed; unreadable: it "
        "cannot be read at all"
    )
    opened_at: str | None = None
    question: str | None = None
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
    output_missing: bool = Field(
        default=False, description="Whether nobody wrote the output that was asked for"
    )
    stopped: str | None = Field(
        default=None, description="By whom the debate was cut short and why, where a person did"
    )
    votes: int | None = Field(
        default=None, description="How many hold the decision, where it was counted"
    )
    debaters: int | None = None
    cost_micro_usd: int | None = None
    scripted: bool | None = Field(default=None, description="Whether any reply came from a script")

    @property
    def needs_a_look(self) -> bool:
        """Whether somebody must look: at the record, at how it ended, or at the decision."""
        return (
            self.state in ("altered", "unreadable", "failed", "truncated")
            or self.output_missing
            or (self.review is not None and not self.released)
            or self.reviewed not in (None, *SETTLED)
        )


class Listing(_Part):
    """The debates of a store, in the order they were opened."""

    listing: Literal["hansard-list/v1"] = Field(
        default="hansard-list/v1", description="The form of this list"
    )
    debates: tuple[Entry, ...] = Field(description="In the order they were opened")


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
        output_missing=result.output_missing is not None,
        stopped=result.truncated.stopper if result.truncated else None,
        votes=result.votes_held,
        debaters=len(result.debater_ids),
        cost_micro_usd=result.totals.cost_micro_usd,
        scripted=result.scripted,
    )
