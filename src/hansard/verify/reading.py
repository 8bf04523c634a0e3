"""A record while it is verified: its bytes, and what the checks so far took out of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import cast

import orjson

from hansard import vocabulary
from hansard.record import blob
from hansard.record.bundle import Bundle
from hansard.record.checkpoint import Checkpoint, Proof
from hansard.record.keys import Trust
from hansard.record.manifest import Manifest
from hansard.record.note import Note
from hansard.record.policy import Policy
from hansard.rules.data import GateAnsweredData, OpenedData
from hansard.rules.events import Event
from hansard.rules.redactions import Redaction, Signing
from hansard.rules.replay import Replay
from hansard.rules.review import Reviewed
from hansard.verify.findings import Status, Texts

LONGEST_NAME = 256  # characters of a served model's name that is a text (FORMAT.md §15)
_BLOBS = "blobs/"
_KEPT = 1 << 20  # bytes of the entries of a record that is not long


class Events:
    """The events of the entries that were read; those of a long record are parsed again each time.

    Parsed, an entry takes many times its bytes; all of a long record at once would be
    too much (FORMAT.md §10).
    """

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        self._kept = list[Event]()
        self._keeps = sum(map(len, lines)) <= _KEPT
        self._read = 0  # how many were, from the first

    def take(self, event: Event) -> None:
        """Take in the event of the next entry."""
        self._read += 1
        if self._keeps:
            self._kept.append(event)

    def __len__(self) -> int:
        return self._read

    def __getitem__(self, place: int) -> Event:
        if self._keeps:
            return self._kept[place]
        return cast(Event, orjson.loads(self._lines[range(self._read)[place]]))

    def __iter__(self) -> Iterator[Event]:
        return iter(self._kept or map(orjson.loads, islice(self._lines, self._read)))


class Held:
    """The texts at hand, each decoded when it is asked for."""

    def __init__(self, blobs: Mapping[str, bytes]) -> None:
        self._blobs = blobs
        self._sound: set[str] = set()

    def __len__(self) -> int:
        return len(self._sound)

    def add(self, name: str) -> None:
        """Take in a text whose blob is sound."""
        self._sound.add(name)

    def get(self, name: str) -> str | None:
        """Return a text by name; None where it is gone."""
        return blob.unpack(self._blobs[name]) if name in self._sound else None

    def short(self, name: str, most: int) -> str | None:
        """Return a text by name, or "" where it has more than `most` bytes; None where gone."""
        if name in self._sound and len(self._blobs[name]) > blob.HEADER + most:
            return ""
        return self.get(name)

    def hash(self, name: str) -> str | None:
        """Return the SHA-256 of a text without its header, in hex; None where it is gone."""
        if name not in self._sound:
            return None
        return sha256(memoryview(self._blobs[name])[blob.HEADER :]).hexdigest()

    def name(self, name: str) -> str | None:
        """Return a text that is a name of somebody's; of a longer one the beginning and `…`."""
        if name not in self._sound:
            return None
        begins = self._blobs[name][blob.HEADER : blob.HEADER + 4 * (LONGEST_NAME + 1)]
        text = begins.decode(errors="ignore")  # its last character may be cut in two
        return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"


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
    since: Checkpoint | None = None  # that the reader kept
    of_page: bool = False  # the files are those in a page, which holds none itself
    manifest: Manifest = field(default_factory=lambda: Manifest({}))
    note: Note | None = None  # the signed manifest
    page_note: Note | None = None  # the signed note that covers the page
    proofs: dict[str, Proof] = field(default_factory=dict)  # of lines in a register
    trusted: bool = False  # trusted keys signed all there is to sign
    events: Events = field(init=False)  # those before the first rejected entry
    whole: bool = True  # no entry was rejected
    texts: Held = field(init=False)
    counted: Texts = field(default_factory=Texts)  # of those that the events name
    redactions: list[tuple[Redaction, Signing]] = field(default_factory=list)
    policy: Policy | None = None
    replay: Replay | None = None
    walked: int = 0  # entries that could be replayed
    review: Reviewed | None = None  # of a closed debate that was followed to its end
    more: set[int] = field(default_factory=set)  # checks that not every record has
    evidence: dict[int, str] = field(default_factory=dict)
    aside: dict[int, tuple[Status, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.events, self.texts = Events(self.bundle.lines), Held(self.bundle.blobs)

    @property
    def opened(self) -> OpenedData | None:
        """What the record's first entry opened; None where it opens nothing."""
        first = self.events[0] if self.events else None
        return first["data"] if first and first["type"] == "debate.opened" else None

    @property
    def said(self) -> OpenedData | GateAnsweredData | None:
        """What the first entry says, where it is one that a record begins with."""
        first = self.events[0] if self.events else None
        if first and (first["type"] == "debate.opened" or first["type"] == "gate.answered"):
            return first["data"]
        return None

    @property
    def begins(self) -> bool:
        """Whether the first entry is one that a record begins with."""
        return self.said is not None

    @property
    def withheld(self) -> frozenset[str]:
        """The names of blobs that were kept from this recipient."""
        names = self.manifest.withheld
        return frozenset(name.removeprefix(_BLOBS) for name in names if name.startswith(_BLOBS))

    @property
    def explained(self) -> frozenset[str]:
        """The names of texts whose erasure the record explains.

        Where trusted keys signed the record, trusted keys must have signed that as well.
        """
        return frozenset(
            row.data["blob"]
            for row, signing in self.redactions
            if not row.faulty and (signing.counts or not self.trusted)
        )

    @property
    def entries(self) -> str:
        """How many entries there are, in words."""
        return vocabulary.many(len(self.bundle.lines), "entry")

    def say(self, check: int, variant: str = "text", **values: object) -> None:
        """Say in the words of the vocabulary what a check looked at."""
        self.evidence[check] = vocabulary.passed(check, variant, **values)
