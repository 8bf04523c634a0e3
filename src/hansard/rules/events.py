"""The closed union of event types (FORMAT.md §3).

Events are plain dictionaries, typed here and in `data`: they are written as
they stand and read back only through `parse`, which admits exactly these
shapes. A type's name never selects code by import path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, cast, get_args, get_type_hints

from pydantic import Field, TypeAdapter
from pydantic_core import ValidationError
from typing_extensions import TypedDict  # pydantic reads only this one before Python 3.12

from hansard.errors import DataError
from hansard.record import canonical
from hansard.rules.data import (
    CallAnsweredData,
    CallFailedData,
    CallRefusedData,
    CallStartedData,
    ClosedData,
    DecisionData,
    EvidenceData,
    OpenedData,
    RegisteredData,
    ResumedData,
    SimilarityData,
    SynthesisData,
    ToolCalledData,
    ToolReturnedData,
    TruncatedData,
    TurnForfeitedData,
    TurnRecordedData,
    TurnRejectedData,
    VerdictData,
    VotesCountedData,
)
from hansard.rules.fields import Blob, DebateId, Hash, One, Positive, Stance, Time, closed

RULES = 1  # the version of schedule, counting and rendering


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
class ToolCalled(_Line):
    type: Literal["tool.called"]
    data: ToolCalledData


@closed
class ToolReturned(_Line):
    type: Literal["tool.returned"]
    data: ToolReturnedData


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
class SimilarityMeasured(_Line):
    type: Literal["similarity.measured"]
    data: SimilarityData


@closed
class VerdictRecorded(_Line):
    type: Literal["verdict.recorded"]
    data: VerdictData


@closed
class DebateTruncated(_Line):
    type: Literal["debate.truncated"]
    data: TruncatedData


@closed
class DecisionReached(_Line):
    type: Literal["decision.reached"]
    data: DecisionData


@closed
class SynthesisRecorded(_Line):
    type: Literal["synthesis.recorded"]
    data: SynthesisData


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
    | ToolCalled
    | ToolReturned
    | TurnRecorded
    | TurnRejected
    | TurnForfeited
    | VotesCounted
    | SimilarityMeasured
    | VerdictRecorded
    | DebateTruncated
    | DecisionReached
    | SynthesisRecorded
    | DebateClosed
)
EVENTS: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])
_READ = EVENTS.validator.validate_json


# Each type by its name.
TYPES: Mapping[str, type] = {
    get_args(get_type_hints(event)["type"])[0]: event for event in get_args(Event)
}


def _named(event: type) -> tuple[str, ...]:
    """Return the fields that may name a blob, or a stance with one, in the order of a line."""
    fields = get_type_hints(get_type_hints(event)["data"])
    return tuple(
        name for name, kind in sorted(fields.items()) if {Blob, Stance} & {kind, *get_args(kind)}
    )


_BLOB_FIELDS = {name: _named(event) for name, event in TYPES.items()}


def blob_names(event: Event) -> Iterator[str]:
    """Yield the names of the blobs that an event names; such a field may also be an id, or null."""
    data = cast(Mapping[str, Any], event["data"])
    for key in _BLOB_FIELDS[event["type"]]:
        value = data[key]
        if type(value) is dict:
            yield value["text"]["sha256"] if key == "stance" else value["sha256"]


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
