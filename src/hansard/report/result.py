"""What the result of every format shows."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, PlainSerializer
from pydantic_core import to_jsonable_python

from hansard.closed import Closed
from hansard.report.gating import GateAnswer
from hansard.report.notes import Note
from hansard.report.parts import (
    Asked,
    Calls,
    CeilingUse,
    Charged,
    Document,
    Drift,
    GovernanceRow,
    Limits,
    Named,
    Participant,
    Reviewed,
    Share,
    TextUse,
    Theatre,
    ToolUse,
    Truncation,
    Usage,
)
from hansard.report.words import GONE
from hansard.rules.fields import (
    Estimated,
    Layout,
    Origin,
    Price,
    TemplateHash,
)
from hansard.rules.terms import CloseReason, DecisionRule, Phase

Status = Literal["open", "complete", "truncated", "failed"]


def _finite(value: Any) -> Any:
    """Return JSON with null for a number too large for any machine: nothing else can spell it."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> JsonValue:
    """Return the JSON that an instance of the caller's own class stands for."""
    return to_jsonable_python(value)  # type: ignore[no-any-return]


# JSON; for a caller who asked for a class of their own, an instance of it.
Output = Annotated[Any, BeforeValidator(_finite), PlainSerializer(_plain, return_type=JsonValue)]


class Result(Closed):
    """What became of a debate, in any format. One that is open or was cut short has no decision."""

    report: Literal["hansard-report/v1"] = Field(
        default="hansard-report/v1", description="The form of this report"
    )
    debate: str = Field(description="Its id")
    engine: str = Field(description="What recorded it, as in hansard/0.1.0")
    format: str = Field(description="The format of the debate")
    name: str | None = Field(description="As the spec says; null where it says none")
    collection_id: str | None = Field(
        description="The group of debates that it belongs to; null: none"
    )
    task_type: str | None = Field(description="What kind of question it is")
    requester: Named | None = Field(description="Who asks; null where nobody is named")
    owner: Named | None = Field(description="Who answers for the result; null: nobody is named")
    labels: tuple[str, ...] = Field(description="As the spec lists them")
    retention: str | None = Field(description="The class that says how long the record is kept")
    origin: Origin | None = Field(description="The debate that this one goes back to")
    estimate: Estimated | None = Field(description="What was expected before the first call")
    gate: GateAnswer | None = Field(description="Whether a debate was advised, and why")
    scripted: bool = Field(description="Whether any reply came from a script or a record")
    question: str | None = Field(description="Null where the text is gone")
    status: Status = Field(
        description="complete, truncated, failed or open; only a complete one has a decision"
    )
    reason: CloseReason | None = Field(description="Why it stopped; null while it is open")
    opened_at: str = Field(description="UTC, to the microsecond")
    closed_at: str | None = Field(description="UTC; null while it is open")
    entries: int = Field(description="How many entries the record has")

    debater_ids: tuple[str, ...] = Field(description="The seats that argue")
    layout: Layout = Field(description="What stands first in a prompt")
    leading_call: bool = Field(description="Whether one call of a parallel phase went first")
    max_rounds: int = Field(description="The most rounds there could be")
    rounds_run: int = Field(description="Rounds begun")
    speaker_schedule: tuple[str, ...] = Field(description="Who spoke, up to the decision")
    phase_sequence: tuple[Phase, ...] = Field(description="Phases entered, in order")
    decision: str | None = Field(
        description="An option, a label or an outcome; null where nothing was decided"
    )
    decision_text: str | None = Field(
        description="The words of the stance that was decided for; null where they are gone, or "
        "the decision is none"
    )
    decision_rule: DecisionRule | None = Field(
        description="The rule that gave the decision; null where there is none"
    )
    speaker_selected_by: Literal["schedule"] = Field(
        default="schedule", description="Always the schedule: no model picks who is next"
    )
    output: Output = Field(description="The synthesizer's deliverable; null where there is none")
    output_missing: str | None = Field(description="Why nobody wrote the output asked for")
    truncated: Truncation | None = Field(description="What cut it short; null where nothing did")

    reviewed: Reviewed = Field(description="What people say of the closed debate")
    released: bool = Field(
        description="Whether the decision may be acted on: it was reached, whoever signed the "
        "record is known, and every review that is required approves it"
    )
    review: str | None = Field(description="Who must look; null unless a person must decide")
    seats: tuple[Participant, ...] = Field(description="Who sat at the table, with use and cost")
    evidence: tuple[Document, ...] = Field(description="The documents, in the order admitted")
    prices: tuple[Price, ...] = Field(description="Per million tokens, each with who says so")
    limits: Limits = Field(description="The ceilings, as recorded")
    charged: Charged = Field(description="What counts against the ceilings")
    totals: Usage = Field(description="Tokens and cost of all seats together")
    ceilings: tuple[CeilingUse, ...] = Field(description="Those that were set")
    calls: Calls = Field(description="How many calls there were, by how they ended")
    asked: tuple[Asked, ...] = Field(description="Every call, in order")
    templates: tuple[TemplateHash, ...] = Field(description="By role, by plain SHA-256")
    texts: tuple[TextUse, ...] = Field(description="Of the opening, in the order recorded")
    tools: tuple[ToolUse, ...] = Field(description="Tools used, in the order asked for")
    resumes: int = Field(description="How often it was resumed after it had stopped")
    drift: tuple[Drift, ...] = Field(
        description="Votes, answers and theses that changed between two turns of one speaker"
    )
    shares: tuple[Share, ...] = Field(description="How much each seat wrote")
    theatre: tuple[Theatre, ...] = Field(
        description="Seats too much alike for their agreement to mean much"
    )
    notes: tuple[Note, ...] = Field(description="What a reader must know beside the decision")
    governance: tuple[GovernanceRow, ...] = Field(
        description="One row for each rule that an auditor asks for"
    )

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models whose price is not known."""
        known = {row["model"] for row in self.prices}
        return tuple(dict.fromkeys(row.model for row in self.seats if row.model not in known))

    @property
    def choices(self) -> tuple[str, ...]:
        """The options that can be voted for; none where the format has none."""
        return ()

    @property
    def winner(self) -> str | None:
        """What won: a stance in its words, or an option; None where nothing that was declared."""
        return self.decision_text or (self.decision if self.decision in self.choices else None)

    @property
    def votes_held(self) -> int | None:
        """How many hold what was decided; None where nobody counted."""
        return None

    @property
    def drawn(self) -> int | None:
        """How many answers one seat was asked for alone; None where seats debate."""
        return None

    @property
    def first_answer(self) -> str | None:
        """What the first who argued stood for: a stance, or its first vote; None without either."""
        for seat in self.seats:
            if seat.id in self.debater_ids:
                return seat.stance.label if seat.stance else next(filter(None, seat.votes), None)
        return None

    @property
    def argued_by(self) -> str | None:
        """The seat whose stance was decided for; None where a decision is no stance."""
        stances = {seat.stance.label: seat.id for seat in self.seats if seat.stance}
        return stances.get(self.decision) if self.decision else None

    def signals(self, **more: str) -> dict[str, str]:
        """Return the lines of a text report by their keys, those of one format last."""
        return {
            "debater_ids": listed(self.debater_ids),
            "rounds_run": str(self.rounds_run),
            "max_rounds": str(self.max_rounds),
            "phase_sequence": listed(self.phase_sequence),
            "speaker_schedule": listed(self.speaker_schedule),
            "decision": self.decision or "none",
            "decision_rule": self.decision_rule or "none",
            **more,
        }

    def ended(self) -> dict[str, str]:
        """Return the last lines of a text report: how and why it stopped."""
        return {"status": self.status, "stopped": self.reason or "not yet"}


def listed(names: tuple[str, ...]) -> str:
    """Return names as a text report shows them."""
    return f"[{', '.join(names)}]"


def tallied(tally: dict[str, int]) -> str:
    """Return a tally as a text report shows it."""
    return f"{{{', '.join(f'{vote}: {count}' for vote, count in tally.items())}}}"


def lines(rows: dict[str, str]) -> str:
    """Return the lines of a text report, without a last line end."""
    return "\n".join(f"{key}: {value}" for key, value in rows.items())


def told(text: str | None) -> str:
    """Return a text as a format's source shows it: one that is gone says so."""
    return GONE if text is None else text
