"""The types of events: what each holds, and the closed union of all (FORMAT.md §3).

Every key is always there; what is not known is `null`, so that one fact has one
spelling. A type is a class of its data and a row of `Event`, at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field
from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard.rules.fields import (
    Blob,
    CallError,
    Case,
    Confidence,
    Count,
    Cut,
    DebateId,
    Documents,
    Estimated,
    Finish,
    Gate,
    Hash,
    Hundred,
    Id,
    Instructions,
    Layout,
    Limits,
    Name,
    One,
    OptionVotes,
    Origin,
    Outcome,
    Pair,
    Parameters,
    Person,
    Positive,
    Ppm,
    Price,
    Rating,
    Rejection,
    Review,
    Score,
    ScorePpm,
    Seed,
    Signature,
    Silence,
    Source,
    Stance,
    TemplateHash,
    Time,
    ToolHash,
    closed,
)
from hansard.rules.terms import CloseReason, DecisionRule, Phase, Role, Terms

MOST_LABELS = 20
MOST_CONDITIONS = 20
MOST_SIGNERS = 3  # of one redaction: each costs a verification


@closed
class OpenedData(TypedDict):
    """The frozen spec: everything the rules depend on."""

    engine: Id
    rules: One
    name: Name | None
    collection_id: Name | None
    task_type: Name | None
    requester: Person | None
    owner: Person | None
    labels: Annotated[list[Name], Field(max_length=MOST_LABELS)]
    retention: Name | None
    origin: Origin | None
    gate: Gate | None
    terms: Terms
    question: Blob
    context: Blob | None
    instructions: Blob | None
    review: Blob
    seats: Hundred
    documents: Documents
    attempts: Hundred
    timeout_ms: Positive
    retry_ms: Positive
    seed: Seed
    layout: Layout
    leading_call: bool
    policy: Hash | None
    templates: list[TemplateHash]
    schemas: list[TemplateHash]
    tools: list[ToolHash]
    tool_rounds: Count
    prices: list[Price]
    limits: Limits
    estimate: Estimated | None
    scripted: bool


@closed
class GateAnsweredData(TypedDict):
    """A question that was asked of the gate and not debated: a record of its own begins with it.

    The task type is that of `gate`. No model was called, so nothing is said of seats or costs.
    """

    engine: Id
    rules: One
    question: Blob
    requester: Person | None
    owner: Person | None
    labels: Annotated[list[Name], Field(max_length=MOST_LABELS)]
    retention: Name | None
    gate: Gate


@closed
class ResumedData(TypedDict):
    """A process took the debate over; calls open until here are abandoned next."""

    engine: Id


@closed
class RegisteredData(TypedDict):
    """A seat at the table; its own `instructions` stand in place of the opening's."""

    id: Name
    role: Role
    position: Positive
    model: Id
    parameters: Parameters
    persona: Blob | None
    instructions: Annotated[list[Instructions], Field(min_length=1)] | None
    stance: Stance | None
    agent_type: Name


@closed
class EvidenceData(TypedDict):
    """A document, the first round in which it may be seen, and the file that it was taken from.

    `source` is null of what was a text from the first. The text of `original` is the base64 of
    the file, null where it was not kept; its pages are separated in `text` by U+000C.
    """

    document: Name
    text: Blob
    from_round: Positive
    source: Source | None
    original: Blob | None


@closed
class CallStartedData(TypedDict):
    """A model is about to be asked: what for, and the digest of the prompt's recipe."""

    call: Id
    step: Id
    attempt: Positive
    role: Role
    model: Id
    parameters: Parameters
    template: Hash
    schema: Hash
    prompt: Hash
    reserved_tokens_in: Count
    reserved_tokens_out: Count
    reserved_cost_micro_usd: Count | None


@closed
class CallRefusedData(TypedDict):
    """A template was not the approved one, so its model was not called."""

    step: Id
    role: Name
    found: Hash
    approved: list[Hash]


@closed
class CallAnsweredData(TypedDict):
    """A reply came back: its text, where it came from, what it used."""

    call: Id
    reply: Blob
    model: Id | Blob | None
    response_id: Id | Blob | None
    request_id: Id | Blob | None
    status: Count | None
    fingerprint: Id | Blob | None
    finish: Finish
    tools: Count
    tokens_in: Count | None
    tokens_cached: Count | None
    tokens_cache_write: Count | None
    tokens_out: Count | None
    cost_micro_usd: Count | None
    latency_ms: Count
    sent_as_rendered: bool | None
    sent: Blob | None


@closed
class CallFailedData(TypedDict):
    """A call that brought no reply: its class, and whether it will be tried again."""

    call: Id
    error: CallError
    detail: Id | None
    status: Count | None
    request_id: Id | Blob | None
    wait_ms: Count | None
    again: bool
    cost_micro_usd: Count | None
    latency_ms: Count | None
    sent_as_rendered: bool | None
    sent: Blob | None


@closed
class ToolCalledData(TypedDict):
    """A model asked for a tool: which, and with what arguments, in the words it used."""

    call: Id
    number: Positive
    tool: Name | Blob
    arguments: Blob


@closed
class ToolReturnedData(TypedDict):
    """What a tool gave back, or why it gave nothing."""

    call: Id
    number: Positive
    result: Blob
    ok: bool


class _Place(TypedDict):
    """Where in the schedule a turn stands."""

    step: Id
    round: Count
    phase: Phase
    speaker: Name


@closed
class TurnRecordedData(_Place):
    """A turn that counts: what was read from its reply."""

    call: Id
    vote: Name | None
    case: Case | None


@closed
class VerdictData(_Place):
    """What a judge or a moderator found: the turn of whoever does not argue.

    `winner` is the id of a seat; null where several were combined, or where a
    custom judge named something `undeclared`.
    """

    call: Id
    winner: Name | None
    undeclared: bool
    choice: Name | None
    upholds: bool | None
    ranking: list[Name]
    scores: list[Score]
    resolved: Count
    unresolved: Count
    uncertainties: Count
    confidence: Confidence | None
    another_round: bool | None


@closed
class SynthesisData(_Place):
    """The final deliverable, and the schema that it satisfies."""

    call: Id
    text: Blob
    schema: Hash


@closed
class TurnRejectedData(TypedDict):
    """A reply that does not count, and why."""

    step: Id
    call: Id
    code: Rejection
    member: Name | None
    keyword: Name | None
    rating: Rating | None
    again: bool


@closed
class CutData(TypedDict):
    """Why the next call was not made: it could have broken a ceiling, or the debate was stopped.

    `limit`, `spent` and `reserved` (what the call would add) are in calls, tokens,
    micro-US-dollars, milliseconds or entries, as the ceiling is. Of a stop (`operator`) they
    are null; `by` and `reason` are what was said of it, if anything.
    """

    ceiling: Cut
    limit: Positive | None
    spent: Count | None
    reserved: Count | None
    by: Blob | None
    reason: Blob | None


@closed
class TurnForfeitedData(_Place):
    """A speaker who could not be heard: an abstention, never agreement.

    `cut` is there where a synthesizer was not asked, for a ceiling or since it was stopped.
    """

    reason: Silence
    cut: CutData | None


@closed
class VotesCountedData(TypedDict):
    """The current votes after a phase, every declared option in declared order."""

    round: Count
    phase: Phase
    tally: list[OptionVotes]
    abstentions: Count
    threshold: Positive
    reached: bool


@closed
class SimilarityData(TypedDict):
    """How alike the answers of a round are, and whether that ends the rounds.

    `measure` says what was compared: declared options, word sets, or whole
    texts. Alike is similar wording: it is neither agreement nor correctness.
    """

    round: Count
    measure: Literal["options", "words", "whole"]
    heard: Count
    pairs: list[Pair]
    threshold_ppm: Ppm
    converged: bool


@closed
class TruncatedData(CutData):
    """A debate is cut short where the call of `step` was due, before its decision."""

    step: Id


@closed
class DecisionData(TypedDict):
    """What was decided, under which rule, on which numbers; who must look if escalated.

    `decision` is an option, a stance, a debater of a panel, or a word of the format's own
    (`escalate`, `synthesis`, `upheld`, `not_upheld`).
    """

    decision: Name
    rule: DecisionRule
    votes: Count | None
    threshold: Positive | None
    score_ppm: ScorePpm | None
    rounds_run: Count
    review: Blob | None


@closed
class ClosedData(TypedDict):
    """How the debate ended and why it stopped."""

    outcome: Outcome
    reason: CloseReason


@closed
class ReviewData(TypedDict):
    """What a person finds of a closed debate, over the `head` that they saw, signed."""

    reviewer: Blob
    head: Hash
    outcome: Review
    comment: Blob | None
    conditions: Annotated[list[Blob], Field(max_length=MOST_CONDITIONS)]
    signature: Signature


@closed
class NotedData(TypedDict):
    """What came of a decision later; `condition` is one of a review's that it closes."""

    head: Hash
    label: Name
    note: Blob | None
    condition: Hash | None
    signature: Signature | None


@closed
class HoldData(TypedDict):
    """A closed record must not be deleted or lose a text, or may be again."""

    head: Hash
    reason: Blob | None
    signature: Signature | None


@closed
class RedactedData(TypedDict):
    """The text that entry `seq` names in `field` was erased: why, on what basis, at whose wish."""

    head: Hash
    seq: Positive
    field: Id
    blob: Hash
    reason: Blob
    basis: Blob
    asked_by: Blob
    signatures: Annotated[list[Signature], Field(min_length=1, max_length=MOST_SIGNERS)]


Kind = TypeVar("Kind")
Data = TypeVar("Data")


@closed
class Entry(TypedDict, Generic[Kind, Data]):
    """An event in its place in the chain."""

    at: Time
    debate: DebateId
    prev: Hash
    seq: Positive
    v: One
    type: Kind
    data: Data


Event = (
    Entry[Literal["debate.opened"], OpenedData]
    | Entry[Literal["gate.answered"], GateAnsweredData]
    | Entry[Literal["debate.resumed"], ResumedData]
    | Entry[Literal["debater.registered"], RegisteredData]
    | Entry[Literal["evidence.admitted"], EvidenceData]
    | Entry[Literal["call.started"], CallStartedData]
    | Entry[Literal["call.refused"], CallRefusedData]
    | Entry[Literal["call.answered"], CallAnsweredData]
    | Entry[Literal["call.failed"], CallFailedData]
    | Entry[Literal["tool.called"], ToolCalledData]
    | Entry[Literal["tool.returned"], ToolReturnedData]
    | Entry[Literal["turn.recorded"], TurnRecordedData]
    | Entry[Literal["turn.rejected"], TurnRejectedData]
    | Entry[Literal["turn.forfeited"], TurnForfeitedData]
    | Entry[Literal["votes.counted"], VotesCountedData]
    | Entry[Literal["similarity.measured"], SimilarityData]
    | Entry[Literal["verdict.recorded"], VerdictData]
    | Entry[Literal["debate.truncated"], TruncatedData]
    | Entry[Literal["decision.reached"], DecisionData]
    | Entry[Literal["synthesis.recorded"], SynthesisData]
    | Entry[Literal["debate.closed"], ClosedData]
    | Entry[Literal["review.signed"], ReviewData]
    | Entry[Literal["outcome.noted"], NotedData]
    | Entry[Literal["hold.placed"], HoldData]
    | Entry[Literal["hold.lifted"], HoldData]
    | Entry[Literal["text.redacted"], RedactedData]
)

# Of each type of entry that may follow a close, or a gate's answer, what a policy calls it.
AFTER: Mapping[str, str] = {
    "review.signed": "review",
    "outcome.noted": "outcome",
    "hold.placed": "hold",
    "hold.lifted": "hold",
    "text.redacted": "redaction",
}
