"""What became of each debate of a batch, one row each."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from pydantic import Field

from hansard.closed import Closed
from hansard.report.formats import AnyResult, ModeratedResult
from hansard.report.listing import State, entry
from hansard.rules.review import ReviewState


class BatchRow(Closed):
    """One row of a batch. Of a record that does not hold, only its id and its state are said."""

    row: str | None = Field(description="Its name in the batch; null: the debate names none")
    debate: str | None = Field(default=None, description="null: it was not opened")
    state: State | Literal["unopened"] = Field(
        description="How its debate stands; unopened: there is none"
    )
    decision: str | None = Field(default=None, description="null: nothing was decided")
    confidence: str | None = Field(default=None, description="The moderator's own, where one is")
    cost_micro_usd: int | None = Field(default=None, description="null: nobody knows")
    charged_micro_usd: int | None = Field(
        default=None,
        description="What it counts under a budget: a call that does not say what it used counts "
        "as what was reserved for it",
    )
    reviewed: ReviewState | None = Field(
        default=None, description="How its review stands, by the keys that the reader trusts"
    )
    needs_a_look: bool = Field(default=True, description="Whether somebody must look at it")
    code: str | None = Field(
        default=None, description="Why it was not opened, failed, or went no further"
    )
    error: str | None = Field(default=None, description="The same in a sentence")


class Batch(Closed):
    """What became of a batch."""

    batch: Literal["hansard-batch/v1"] = Field(
        default="hansard-batch/v1", description="The form of this report"
    )
    name: str = Field(description="Its debates have the label `batch:NAME`")
    rows: tuple[BatchRow, ...] = Field(
        description="In the order in which they were given or opened"
    )

    @property
    def counts(self) -> Counter[str]:
        """How many rows are in each state."""
        return Counter(row.state for row in self.rows)

    @property
    def cost_micro_usd(self) -> int | None:
        """What its debates cost together; None where no cost is known."""
        known = [row.cost_micro_usd for row in self.rows if row.cost_micro_usd is not None]
        return sum(known) if known else None

    @property
    def done(self) -> bool:
        """Whether every row was opened and has ended, and none failed."""
        return all(row.state in ("closed", "truncated") for row in self.rows)


class BatchCounts(Closed):
    """How many debates of a batch are in which state."""

    name: str = Field(description="As in the label `batch:NAME`")
    counts: dict[str, int] = Field(description="By state; a state without any is left out")
    cost_micro_usd: int | None = Field(description="null: no cost is known")

    @property
    def ended(self) -> int:
        """How many are no longer open."""
        return sum(self.counts.values()) - self.counts.get("open", 0)


def row_of(name: str | None, result: AnyResult) -> BatchRow:
    """Return the row of a debate whose record holds."""
    found = entry(result)
    moderation = result.moderation if isinstance(result, ModeratedResult) else None
    return BatchRow(
        row=name,
        debate=found.debate,
        state=found.state,
        decision=found.decision,
        confidence=moderation.confidence if moderation else None,
        cost_micro_usd=found.cost_micro_usd,
        charged_micro_usd=result.charged.cost_micro_usd,
        reviewed=found.reviewed,
        needs_a_look=found.needs_a_look or found.state == "open",
        code=result.reason if found.state == "failed" else None,
        error=result.sentence if found.state == "failed" else None,
    )
