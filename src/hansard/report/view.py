"""The one view of a debate: what every report, page and table of it shows.

`build` folds a record's events into a `DebateResult`, which is the JSON
report and the result that the API returns. Nothing is counted anywhere else,
and every text is read again from the blob it was recorded in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from hansard.debate import replies
from hansard.debate.counting import Rule
from hansard.debate.events import CloseReason, DecisionRule, Event, Phase
from hansard.debate.state import DebateState, Spend, evolve
from hansard.debate.state import Turn as TurnOver
from hansard.errors import DataError
from hansard.report import notes
from hansard.report.notes import Note, TextOf

GONE = "[text erased or missing]"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Turn(_Part):
    """One turn of the schedule. Its words are null where they are gone or never came."""

    round_index: int
    speaker_id: str
    phase: Phase
    stance: str | None
    rationale: str | None
    vote: str | None = Field(description="The option voted for; null is an abstention")
    status: Literal["counted", "forfeited"]
    reason: Literal["no_reply", "invalid_reply"] | None = Field(description="Why it was forfeited")
    seq: int = Field(description="The entry of the record that holds the turn")


class Usage(_Part):
    """What was used: tokens as far as models stated them, money where a price is known."""

    calls: int
    tokens_in: int = Field(description="Cached ones included")
    tokens_cached: int
    tokens_out: int
    cost_micro_usd: int | None = Field(
        description="Millionths of a US dollar; null: no price known"
    )


class Seat(Usage):
    """One debater: its model, its vote after each of its turns, and what it used."""

    id: str
    model: str
    persona: str | None
    votes: tuple[str | None, ...] = Field(description="After each of its turns; null: it abstained")


class Document(_Part):
    """One piece of evidence."""

    id: str
    from_round: int = Field(description="The first round in which it was seen")
    characters: int | None = Field(description="Null where the text is gone")
    sha256: str = Field(description="The name of its blob")


class Dissent(_Part):
    """A debater whose current vote is not the decision; null is an abstention."""

    speaker: str
    vote: str | None


class Calls(_Part):
    """How the calls ended; what is asked and not yet ended is in no other number."""

    asked: int
    answered: int
    failed: int = Field(description="Abandoned ones aside")
    rejected: int = Field(description="Answered, but the reply does not count")
    abandoned: int = Field(description="Open when a process died; asked again")


class DebateResult(_Part):
    """What became of a debate: its decision, how it was counted, and everything said.

    The fields down to `transcript` are those of a counted debate; the others
    say what else a reader must know. A debate that is open has no decision.
    """

    report: Literal["hansard-report/v1"] = "hansard-report/v1"
    debate: str
    engine: str
    format: Literal["consensus"]
    scripted: bool = Field(description="Whether any reply came from a script or a record")
    question: str | None
    options: tuple[str, ...]
    rule: Rule
    status: Literal["open", "complete", "failed"]
    reason: CloseReason | None = Field(description="Why it stopped; null while it is open")
    opened_at: str
    closed_at: str | None
    entries: int = Field(description="How many entries the record has")

    debater_ids: tuple[str, ...]
    max_rounds: int
    rounds_run: int
    consensus_threshold: int
    speaker_schedule: tuple[str, ...]
    phase_sequence: tuple[Phase, ...] = Field(description="Phases entered, in order")
    vote_tally: dict[str, int] = Field(
        description="Options somebody holds, by the first debater who does; then `abstain`"
    )
    decision: str | None
    decision_rule: DecisionRule | None
    speaker_selected_by: Literal["schedule"] = "schedule"
    transcript: tuple[Turn, ...]

    review: str | None = Field(description="Who must look; null unless the decision is escalate")
    dissent: tuple[Dissent, ...]
    seats: tuple[Seat, ...]
    evidence: tuple[Document, ...]
    totals: Usage
    calls: Calls
    resumes: int
    notes: tuple[Note, ...]

    def to_report(self) -> str:
        """Return the nine signals of a counted debate, one a line, without a last line end."""
        tally = ", ".join(f"{vote}: {count}" for vote, count in self.vote_tally.items())
        return "\n".join(
            [
                f"debater_ids: [{', '.join(self.debater_ids)}]",
                f"rounds_run: {self.rounds_run}",
                f"max_rounds: {self.max_rounds}",
                f"phase_sequence: [{', '.join(self.phase_sequence)}]",
                f"consensus_threshold: {self.consensus_threshold}",
                f"vote_tally: {{{tally}}}",
                f"decision: {self.decision or 'none'}",
                f"decision_rule: {self.decision_rule or 'none'}",
                f"speaker_schedule: [{', '.join(self.speaker_schedule)}]",
            ]
        )


def build(events: Iterable[Event], text_of: TextOf) -> DebateResult:
    """Fold the events of one record, from its first, into what is shown of it.

    `text_of` gives a blob's text, or None where it is gone. Nothing is checked
    here but that the events can be followed: raises DataError `report.record`
    where they cannot. `verify` says whether they are what was recorded.
    """
    state = DebateState()
    seqs: list[int] = []
    seen: list[Note] = []
    kinds: Counter[str] = Counter()
    unpriced = 0
    for event in events:
        try:
            evolve(state, event)
        except (AssertionError, LookupError, ValueError):
            raise DataError(
                "report.record", f"entry {event['seq']} does not follow from the ones before it"
            ) from None
        kinds[event["type"]] += 1
        if len(state.turns) > len(seqs):
            seqs.append(event["seq"])
        if event["type"] == "call.answered" and event["data"]["cost_micro_usd"] is None:
            unpriced += 1
        seen += notes.of_event(state, event, text_of)
    if state.opened is None:
        raise DataError("report.record", "the record has no opening")
    abandoned = sum(row["error"] == "abandoned" for row in state.failures)
    calls = Calls(
        asked=kinds["call.started"],
        answered=kinds["call.answered"],
        failed=len(state.failures) - abandoned,
        rejected=state.rejections,
        abandoned=abandoned,
    )
    found = (*notes.of_debate(state, unpriced, text_of), *seen)
    return _result(state, seqs, calls, found, text_of)


def _result(
    state: DebateState, seqs: list[int], calls: Calls, found: tuple[Note, ...], text_of: TextOf
) -> DebateResult:
    spec, decision, closed = state.spec, state.decision, state.closed
    terms = spec["terms"]
    turns = [row.data for row in state.turns]
    entered = dict.fromkeys((row["round"], row["phase"]) for row in turns)
    review = decision["review"] if decision else None
    return DebateResult(
        debate=state.debate,
        engine=spec["engine"],
        format=terms["format"],
        scripted=spec["scripted"],
        question=text_of(spec["question"]["sha256"]),
        options=tuple(terms["options"]),
        rule=terms["rule"],
        status=closed["outcome"] if closed else "open",
        reason=closed["reason"] if closed else None,
        opened_at=state.opened_at,
        closed_at=state.at if closed else None,
        entries=state.seq,
        debater_ids=tuple(state.seats),
        max_rounds=terms["max_rounds"],
        rounds_run=state.rounds_run,
        consensus_threshold=terms["threshold"],
        speaker_schedule=tuple(row["speaker"] for row in turns),
        phase_sequence=tuple(phase for _, phase in entered),
        vote_tally=_tally(state),
        decision=decision["decision"] if decision else None,
        decision_rule=decision["rule"] if decision else None,
        transcript=tuple(
            _turn(row, seq, text_of) for row, seq in zip(state.turns, seqs, strict=True)
        ),
        review=(text_of(review["sha256"]) or GONE) if review else None,
        dissent=_dissent(state),
        seats=_seats(state, text_of),
        evidence=_evidence(state, text_of),
        totals=_usage(state.total(), priced=bool(spec["prices"])),
        calls=calls,
        resumes=state.resumes,
        notes=found,
    )


def _turn(turn: TurnOver, seq: int, text_of: TextOf) -> Turn:
    data = turn.data
    text = text_of(turn.reply["sha256"]) if turn.reply else None
    stance, rationale = _words(text)
    reason = cast(Any, data).get("reason")
    return Turn(
        round_index=data["round"],
        speaker_id=data["speaker"],
        phase=data["phase"],
        stance=stance,
        rationale=rationale,
        vote=turn.vote,
        status="forfeited" if reason else "counted",
        reason=reason,
        seq=seq,
    )


def _words(text: str | None) -> tuple[str | None, str | None]:
    """Return stance and rationale as the reply gives them; an altered reply may give none."""
    try:
        value = replies.read(text or "")
    except replies.Unreadable:
        return None, None
    reply = value if isinstance(value, dict) else {}
    stance, rationale = reply.get("stance"), reply.get("rationale")
    return (
        stance if isinstance(stance, str) else None,
        rationale if isinstance(rationale, str) else None,
    )


def _tally(state: DebateState) -> dict[str, int]:
    """Count the current votes of those who had a turn (decisions.md, D 2)."""
    held = [state.votes[seat] for seat in _heard(state)]
    tally = dict(Counter(vote for vote in held if vote is not None))
    silent = held.count(None)
    return tally | ({"abstain": silent} if silent else {})


def _heard(state: DebateState) -> list[str]:
    """Return the seats that have had a turn, in registration order."""
    spoken = {row.data["speaker"] for row in state.turns}
    return [seat for seat in state.seats if seat in spoken]


def _dissent(state: DebateState) -> tuple[Dissent, ...]:
    """Return who does not hold what was decided; nobody where nothing was agreed on."""
    decision = state.decision
    if decision is None or decision["rule"] == "max_rounds_exhausted":
        return ()
    return tuple(
        Dissent(speaker=seat, vote=vote)
        for seat, vote in state.votes.items()
        if vote != decision["decision"]
    )


def _seats(state: DebateState, text_of: TextOf) -> tuple[Seat, ...]:
    priced = {row["model"] for row in state.spec["prices"]}
    votes: dict[str, list[str | None]] = {seat: [] for seat in state.seats}
    for turn in state.turns:
        votes[turn.data["speaker"]].append(turn.vote)
    return tuple(
        Seat(
            id=seat,
            model=row["model"],
            persona=(text_of(row["persona"]["sha256"]) or GONE) if row["persona"] else None,
            votes=tuple(votes[seat]),
            **_usage(state.spend[seat], priced=row["model"] in priced).model_dump(),
        )
        for seat, row in state.seats.items()
    )


def _evidence(state: DebateState, text_of: TextOf) -> tuple[Document, ...]:
    rows = []
    for row in state.evidence:
        text = text_of(row["text"]["sha256"])
        rows.append(
            Document(
                id=row["document"],
                from_round=row["from_round"],
                characters=len(text) if text is not None else None,
                sha256=row["text"]["sha256"],
            )
        )
    return tuple(rows)


def _usage(spend: Spend, *, priced: bool) -> Usage:
    return Usage(
        calls=spend.calls,
        tokens_in=spend.tokens_in,
        tokens_cached=spend.tokens_cached,
        tokens_out=spend.tokens_out,
        cost_micro_usd=spend.cost_micro_usd if priced else None,
    )
