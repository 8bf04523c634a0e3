"""Events as they are read and written: `data` has their types (FORMAT.md §3).

Events are plain dictionaries: they are written as they stand and read back
only through `parse`, which admits exactly these shapes. A type's name never
selects code by import path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple, cast, get_args, get_type_hints

from pydantic import Field, TypeAdapter
from pydantic_core import ValidationError

from hansard.errors import DataError
from hansard.record import canonical
from hansard.rules.data import CutData, Event
from hansard.rules.fields import Blob, Gate, Instructions, Person, Source, Stance

__all__ = ["EVENTS", "RULES", "TYPES", "Event", "Fact", "blob_names", "parse"]

RULES = 1  # the version of schedule, counting and rendering

EVENTS: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])
_READ = EVENTS.validator.validate_json

# Each type by its name.
TYPES: Mapping[str, type] = {get_args(get_args(event)[0])[0]: event for event in get_args(Event)}


_HOLDS_BLOB = (Stance, Person, Gate, Source, CutData, list[Instructions])
_WITHIN = {
    "stance": ("text",),
    "instructions": ("text",),  # of a seat; the opening's are a blob
    "requester": ("name",),
    "owner": ("name",),
    "gate": ("answer",),
    "source": ("file",),
    "cut": ("by", "reason"),
}


def _named(event: type) -> tuple[str, ...]:
    """Return the fields that may name a blob, or hold one, in the order of a line."""
    fields = get_type_hints(get_args(event)[1])
    return tuple(
        name
        for name, kind in sorted(fields.items())
        if {Blob, *_HOLDS_BLOB} & {kind, *get_args(kind)}
    )


_BLOB_FIELDS = {name: _named(event) for name, event in TYPES.items()}


def blob_names(event: Event) -> Iterator[str]:
    """Yield the names of the blobs that an event names; such a field may also be an id, or null."""
    data = cast(Mapping[str, Any], event["data"])
    for key in _BLOB_FIELDS[event["type"]]:
        value = data[key]
        rows = value if type(value) is list else [value] if type(value) is dict else []
        for row in rows:
            blobs = [row] if "sha256" in row else [row[name] for name in _WITHIN[key]]
            yield from (blob["sha256"] for blob in blobs if blob)


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
    if len(line) <= canonical.MAX_LINE:  # parsed, a line takes many times its bytes
        try:
            value = _READ(line)
            if canonical.dump(value) == line:
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
