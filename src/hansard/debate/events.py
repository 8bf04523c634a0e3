"""The closed union of event types (FORMAT.md §3).

Events are plain dictionaries, typed here: they are written as they stand and
read back only through `parse`, which admits exactly these shapes. A type's
name never selects code by import path. Every key is always there; what is
not known is `null`, so that one fact has one spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, cast

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, with_config
from pydantic_core import ValidationError
from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard.errors import DataError
from hansard.record import canonical

RULES = 1  # the version of schedule, counting and rendering

_TIME = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z$"
)
_UUID4 = r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:/@+=-]{1,256}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:/@+=-]{1,64}$")]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Time = Annotated[str, StringConstraints(pattern=_TIME)]
DebateId = Annotated[str, StringConstraints(pattern=_UUID4)]
Decimal = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?$")]
Seed = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,76})$")]
Count = Annotated[int, Field(ge=0, le=canonical.MAX_INT)]
Hundred = Annotated[int, Field(ge=1, le=100)]
Thousand = Annotated[int, Field(ge=1, le=1000)]
Documents = Annotated[int, Field(ge=0, le=1000)]
One = Annotated[int, Field(ge=1, le=1)]  # Literal[1] would let 1.0 and true pass for it
Positive = Annotated[int, Field(ge=1, le=canonical.MAX_INT)]

Phase = Literal["proposal", "critique", "revision", "consensus"]
Role = Literal["debater"]
Finish = Literal["stop", "length", "refusal", "content_filter", "other"]
CallError = Literal[
    "rate_limited",
    "timeout",
    "server_error",
    "client_error",
    "unreachable",
    "crashed",
    "no_reply",
    "abandoned",
]
Rejection = Literal[
    "unreadable", "schema", "unknown_option", "cut_off", "refused", "filtered", "not_finished"
]
DecisionRule = Literal["threshold_vote", "majority_vote", "unanimous_vote", "max_rounds_exhausted"]
Outcome = Literal["complete", "failed"]
CloseReason = Literal["votes_reached", "max_rounds_exhausted", "prompt_refused"]

closed = with_config(ConfigDict(extra="forbid", strict=True))


@closed
class Blob(TypedDict):
    """A text outside the chain, by the name of its blob."""

    sha256: Hash


@closed
class ConsensusTerms(TypedDict):
    """What the debaters decide on and how it is counted, in the `consensus` format."""

    format: Literal["consensus"]
    options: list[Name]
    rule: Literal["threshold", "majority", "unanimity"]
    threshold: Positive
    max_rounds: Thousand


@closed
class TemplateHash(TypedDict):
    """A prompt template or a reply schema: its role and the plain SHA-256 of its bytes."""

    role: Name
    sha256: Hash


@closed
class Price(TypedDict):
    """What a model costs, in micro-US-dollars per million tokens."""

    model: Id
    input_micro_usd: Count
    cached_micro_usd: Count
    output_micro_usd: Count


@closed
class Parameters(TypedDict):
    """A seat's settings; decimals as the user wrote them, null where none was given."""

    temperature: Decimal | None
    top_p: Decimal | None
    seed: Count | None
    max_tokens: Positive | None
    reasoning_effort: Name | None


@closed
class OpenedData(TypedDict):
    """The frozen spec: everything the rules depend on."""

    engine: Id
    rules: One
    terms: ConsensusTerms
    question: Blob
    review: Blob
    seats: Hundred
    documents: Documents
    attempts: Hundred
    timeout_ms: Positive
    seed: Seed
    layout: Literal["shared-prefix"]
    policy: Hash | None
    templates: list[TemplateHash]
    schemas: list[TemplateHash]
    prices: list[Price]
    scripted: bool


@closed
class ResumedData(TypedDict):
    """A process took the debate over; calls open until here are abandoned next."""

    engine: Id


@closed
class RegisteredData(TypedDict):
    """A seat at the table."""

    id: Name
    role: Role
    position: Positive
    model: Id
    parameters: Parameters
    persona: Blob | None


@closed
class EvidenceData(TypedDict):
    """A document and the first round in which it may be seen."""

    document: Name
    text: Blob
    from_round: Positive


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
    approved: Hash | None


@closed
class CallAnsweredData(TypedDict):
    """A reply came back: its text, where it came from, what it used."""

    call: Id
    reply: Blob
    model: Id | Blob
    response_id: Id | Blob | None
    request_id: Id | Blob | None
    fingerprint: Id | Blob | None
    finish: Finish
    tokens_in: Count | None
    tokens_cached: Count | None
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
    again: bool
    cost_micro_usd: Count | None
    latency_ms: Count | None


@closed
class TurnRecordedData(TypedDict):
    """A turn that counts: what was read from its reply."""

    step: Id
    round: Positive
    phase: Phase
    speaker: Name
    call: Id
    vote: Name


@closed
class TurnRejectedData(TypedDict):
    """A reply that does not count, and why."""

    step: Id
    call: Id
    code: Rejection
    again: bool


@closed
class TurnForfeitedData(TypedDict):
    """A speaker who could not be heard: an abstention, never agreement."""

    step: Id
    round: Positive
    phase: Phase
    speaker: Name
    reason: Literal["no_reply", "invalid_reply"]


@closed
class OptionVotes(TypedDict):
    """How many registered debaters hold an option now."""

    option: Name
    votes: Count


@closed
class VotesCountedData(TypedDict):
    """The current votes after a phase, every declared option in declared order."""

    round: Positive
    phase: Phase
    tally: list[OptionVotes]
    abstentions: Count
    threshold: Positive
    reached: bool


@closed
class DecisionData(TypedDict):
    """What was decided, under which rule, on which numbers; who must look if escalated."""

    decision: Name
    rule: DecisionRule
    votes: Count
    threshold: Positive
    rounds_run: Positive
    review: Blob | None


@closed
class ClosedData(TypedDict):
    """How the debate ended and why it stopped."""

    outcome: Outcome
    reason: CloseReason


class _Line(TypedDict):
    """What every line has beside its type and data."""

    at: Time
    debate: DebateId
    prev: Hash
    seq: Positive
    v: One


@closed
class DebateOpened(_Line):
    type: Literal["debate.opened"]
    data: OpenedData


@closed
class DebateResumed(_Line):
    type: Literal["debate.resumed"]
    data: ResumedData


@closed
class DebaterRegistered(_Line):
    type: Literal["debater.registered"]
    data: RegisteredData


@closed
class EvidenceAdmitted(_Line):
    type: Literal["evidence.admitted"]
    data: EvidenceData


@closed
class CallStarted(_Line):
    type: Literal["call.started"]
    data: CallStartedData


@closed
class CallRefused(_Line):
    type: Literal["call.refused"]
    data: CallRefusedData


@closed
class CallAnswered(_Line):
    type: Literal["call.answered"]
    data: CallAnsweredData


@closed
class CallFailed(_Line):
    type: Literal["call.failed"]
    data: CallFailedData


@closed
class TurnRecorded(_Line):
    type: Literal["turn.recorded"]
    data: TurnRecordedData


@closed
class TurnRejected(_Line):
    type: Literal["turn.rejected"]
    data: TurnRejectedData


@closed
class TurnForfeited(_Line):
    type: Literal["turn.forfeited"]
    data: TurnForfeitedData


@closed
class VotesCounted(_Line):
    type: Literal["votes.counted"]
    data: VotesCountedData


@closed
class DecisionReached(_Line):
    type: Literal["decision.reached"]
    data: DecisionData


@closed
class DebateClosed(_Line):
    type: Literal["debate.closed"]
    data: ClosedData


Event = (
    DebateOpened
    | DebateResumed
    | DebaterRegistered
    | EvidenceAdmitted
    | CallStarted
    | CallRefused
    | CallAnswered
    | CallFailed
    | TurnRecorded
    | TurnRejected
    | TurnForfeited
    | VotesCounted
    | DecisionReached
    | DebateClosed
)
EVENTS: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])
_READ = EVENTS.validator.validate_json


# The fields of each type that name a blob. A field may also hold an id, or null.
_BLOB_FIELDS: dict[str, tuple[str, ...]] = {
    "debate.opened": ("question", "review"),
    "debater.registered": ("persona",),
    "evidence.admitted": ("text",),
    "call.answered": ("reply", "model", "response_id", "request_id", "fingerprint", "sent"),
    "decision.reached": ("review",),
}


def blob_names(event: Event) -> Iterator[str]:
    """Yield the names of the blobs that an event names."""
    data = cast(Mapping[str, Any], event["data"])
    for key in _BLOB_FIELDS.get(event["type"], ()):
        if type(data[key]) is dict:
            yield data[key]["sha256"]


class Fact(NamedTuple):
    """An event before it has a place in the chain: its type and its data."""

    type: str
    data: Mapping[str, Any]


def parse(line: bytes) -> Event:
    """Read one stored line as an event.

    Every string, integer and key that the closed union admits lies inside the
    canonical profile, so a line that is spelled canonically and fits the union
    needs no second walk; only a line that does not is examined further, to
    name its defect. Raises DataError `4.*` (FORMAT.md §1) or `7.schema`.
    """
    try:
        value = _READ(line)
        if canonical.dump(value) == line and len(line) <= canonical.MAX_LINE:
            return cast(Event, value)
    except (ValueError, TypeError):
        pass  # whatever is wrong is found and named below
    raise _defect(line)


def _defect(line: bytes) -> DataError:
    """Return what is wrong with a line that `parse` does not admit."""
    try:
        value = canonical.decode(line)
        EVENTS.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        kind = value.get("type") if isinstance(value, dict) else None
        field = ".".join(str(part) for part in first["loc"] if part != kind)
        return DataError("7.schema", f"{field or 'the entry'}: {first['msg']}")
    except DataError as error:
        return error
    raise AssertionError("parse refuses what the union admits")
