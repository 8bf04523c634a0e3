"""A review that is signed away from the store, and carried there in a file.

The file holds all that the signature is over, and each text with its salt: so the entry that
it becomes is the one that the reviewer would have added. It holds no time. An entry has the
time at which it is added, and that decides whether its key is in force (FORMAT.md §18).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import reduce
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from hansard.closed import Closed
from hansard.errors import DataError
from hansard.record import blob
from hansard.record.bundle import Bundle
from hansard.record.keys import Trust
from hansard.record.line import line_hash
from hansard.record.note import Signer
from hansard.rules.data import MOST_CONDITIONS
from hansard.rules.events import parse as parse_event
from hansard.rules.fields import Blob, DebateId, Hash, Review, Signature
from hansard.rules.replay import policy_of
from hansard.rules.state import DebateState, evolve
from hansard.runtime import notation
from hansard.runtime.clock import CLOCK, Clock
from hansard.runtime.signed import MAX_SAID, Said, check_counts, check_takes, signature, texts

FORM = "hansard-review/v1"
MAX_REVIEW = 4_000_000  # bytes of a file: more than its texts can have


class SaltedText(Closed, strict=True):
    """A text, and the salt under which the record names it (FORMAT.md §2)."""

    salt: Hash
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_SAID)]


class ReviewFile(Closed, strict=True):
    """A review of a closed debate, signed over the entry `head`, for whoever keeps the record."""

    review: Literal["hansard-review/v1"]
    debate: DebateId
    head: Hash
    outcome: Review
    reviewer: SaltedText
    comment: SaltedText | None
    conditions: Annotated[list[SaltedText], Field(max_length=MOST_CONDITIONS)]
    signature: Signature

    def dump(self) -> bytes:
        """Return the file's bytes."""
        return json.dumps(self.model_dump(), indent=1).encode() + b"\n"

    @property
    def salted(self) -> list[SaltedText]:
        """All that it says in words."""
        return [row for row in (self.reviewer, self.comment, *self.conditions) if row]

    def data(self, keep: Callable[[SaltedText], Blob]) -> dict[str, Any]:
        """Return the data of its entry, its texts as `keep` names them.

        Raises UsageError `review.*` for what no review may say.
        """
        said, noted = self.comment, [row.text for row in self.conditions]
        Said(self.outcome, self.reviewer.text, said.text if said else None, noted).checked()
        return {
            "head": self.head,
            "outcome": self.outcome,
            **texts(keep, self.reviewer, said, self.conditions),
            "signature": dict(self.signature),
        }


def parse(data: bytes) -> ReviewFile:
    """Read a review file; raises DataError `review.malformed` for anything but its form."""
    try:
        whole = data[: MAX_REVIEW + 1].decode()
        found = ReviewFile.model_validate(notation.parse(whole, "review.json"))
    except ValueError:
        found = None
    if found is None or len(data) > MAX_REVIEW:
        raise DataError(
            "review.malformed",
            "the file is not a signed review as `hansard review` writes one "
            "(`hansard schema review` has its form); ask the reviewer for it again",
        )
    return found


def _blob(row: SaltedText) -> Blob:
    return {"sha256": blob.pack(row.text, bytes.fromhex(row.salt))[0]}


def sign(
    bundle: Bundle, said: Said, signer: Signer, trust: Trust, clock: Clock = CLOCK
) -> ReviewFile:
    """Return a review over the last entry of a record that was verified; nothing is written.

    Raises UsageError `review.*` for one that would not count, as far as can be told here.
    """
    said = said.checked()
    events = [parse_event(line) for line in bundle.lines]
    state = reduce(evolve, events, DebateState())
    check_takes(state, state.debate, "ask for a new export of it once it has")
    at = max(clock.now(), events[-1]["at"])
    check_counts(state, policy_of(state.opened, bundle.policies), trust, signer.key, at)

    def salted(text: str) -> SaltedText:
        return SaltedText(salt=clock.salt().hex(), text=text)

    fields = {"head": line_hash(bundle.lines[-1]), "outcome": said.outcome}
    kept = texts(salted, said.reviewer, said.comment, said.conditions)
    data = fields | texts(_blob, **kept)
    by = signature("review.signed", state.debate, data, signer)
    whole = {"review": FORM, "debate": state.debate, **fields, **kept, "signature": by}
    return ReviewFile.model_validate(whole)
