"""A record while it is verified: its bytes, and what the checks so far took out of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hansard import vocabulary
from hansard.record.bundle import REGISTER, Bundle
from hansard.record.keys import Trust
from hansard.record.manifest import Manifest
from hansard.record.note import Note
from hansard.record.policy import Policy
from hansard.rules.data import OpenedData
from hansard.rules.events import Event
from hansard.rules.replay import Replay
from hansard.verify.findings import Status, Texts

_BLOBS = "blobs/"


@dataclass(slots=True)
class Reading:
    """What the checks work on, and what each hands on to those after it.

    `files` are those of an export, None for a record in a store. `evidence`
    says by check what it looked at, and stands where the check passes; `aside`
    says by check why it was not done, with the status that it has for that.
    """

    bundle: Bundle
    files: Mapping[str, bytes] | None = None
    trust: Trust = field(default_factory=Trust)
    manifest: Manifest = field(default_factory=lambda: Manifest({}))
    note: Note | None = None  # the signed manifest
    page_note: Note | None = None  # the signed note that covers the page
    trusted: bool = False  # trusted keys signed all there is to sign
    events: list[Event] = field(default_factory=list)  # those before the first rejected entry
    whole: bool = True  # no entry was rejected
    texts: dict[str, str] = field(default_factory=dict)  # by name
    counted: Texts = field(default_factory=Texts)  # of those that the events name
    policy: Policy | None = None
    replay: Replay | None = None
    walked: int = 0  # entries that could be replayed
    evidence: dict[int, str] = field(default_factory=dict)
    aside: dict[int, tuple[Status, str]] = field(default_factory=dict)

    @property
    def opened(self) -> OpenedData | None:
        """What the record's first entry opened; None where it opens nothing."""
        first = self.events[0] if self.events else None
        return first["data"] if first and first["type"] == "debate.opened" else None

    @property
    def withheld(self) -> frozenset[str]:
        """The names of blobs that were kept from this recipient."""
        names = self.manifest.withheld
        return frozenset(name.removeprefix(_BLOBS) for name in names if name.startswith(_BLOBS))

    @property
    def register(self) -> list[str]:
        """The names of files that no check reads yet."""
        return [name for name in REGISTER if name in (self.files or ())]

    @property
    def entries(self) -> str:
        """How many entries there are, in words."""
        return vocabulary.many(len(self.bundle.lines), "entry")

    def say(self, check: int, variant: str = "text", **values: object) -> None:
        """Say in the words of the vocabulary what a check looked at."""
        self.evidence[check] = vocabulary.passed(check, variant, **values)
