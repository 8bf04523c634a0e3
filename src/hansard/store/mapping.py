"""Entries as `eventsourcing` keeps them: the canonical line itself is an event's state.

So the bytes which were hashed are the bytes which are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.persistence import Mapper, StoredEvent
from eventsourcing.utils import Environment
from typing_extensions import override

from hansard.errors import DataError
from hansard.rules.events import parse


@dataclass(frozen=True, slots=True)
class StoredLine:
    """A line on its way into the store; `eventsourcing` names its key originator."""

    originator_id: UUID
    originator_version: int
    type: str
    line: bytes


class LineMapper(Mapper[UUID]):
    """Stores a line's bytes untouched and reads them back through the closed union.

    A stored topic is only a label: it never selects code.
    """

    @override
    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        return StoredEvent(
            domain_event.originator_id,
            domain_event.originator_version,
            domain_event.type,
            domain_event.line,
        )

    @override
    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        return parse(bytes_of(stored_event.state))


def bytes_of(value: object) -> bytes:
    """Return a stored value that must be bytes; SQLite's columns may hold anything."""
    if type(value) is not bytes:
        raise DataError(
            "store.corrupt", "a stored entry or text is not bytes: the store was altered"
        )
    return value


class Debates(Application[UUID]):
    """Gives the wiring and the notification log."""

    name = "hansard"

    @override
    def construct_env(self, name: str, env: Any = None) -> Environment:
        return Environment(name, dict(env))  # the process environment changes nothing here

    @override
    def construct_mapper(self) -> LineMapper:
        return LineMapper(self.construct_transcoder())
