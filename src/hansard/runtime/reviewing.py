"""What people add to a closed debate: a review, an outcome, a hold (FORMAT.md §18).

The record is verified first, and nothing is written that is not due, or that would not count
where it is to count. Whoever signs, signs over the last entry. Two who sign at the same time
do so one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from hansard.errors import DataError, UsageError
from hansard.record import blob
from hansard.record.bundle import MAX_EXPORT, MAX_FILES, Bundle
from hansard.record.canonical import TEXT
from hansard.record.keys import Trust
from hansard.record.line import line_hash
from hansard.record.note import Signer, VerifierKey
from hansard.record.policy import Policy
from hansard.rules import after
from hansard.rules.data import AFTER
from hansard.rules.events import Event, Fact
from hansard.rules.fields import Blob
from hansard.rules.redactions import texts_of
from hansard.runtime.carried import ReviewFile
from hansard.runtime.clock import CLOCK, Clock
from hansard.runtime.recording import Recording
from hansard.runtime.session import taken_up
from hansard.runtime.signed import Said, check_counts, check_takes, checked, signature, texts
from hansard.store.application import Store

_LONGEST = 64  # characters of a name (FORMAT.md §3)
# Of an export: its entries, VERIFY.md, SHA256SUMS, the page and its note, two proofs; in bytes what
# they take beside the record itself and without the page, which an export can do without.
_FILES_BESIDE, _BESIDE = 7, 1 << 20


@dataclass(frozen=True, slots=True)
class Adding:
    """A closed debate that something is added to: its record, its policy, and its head."""

    recording: Recording
    bundle: Bundle
    policy: Policy | None

    @property
    def head(self) -> str:
        """The hash of the last entry."""
        return line_hash(self.bundle.lines[-1])

    def text(self, name: str, text: str | None) -> Blob | None:
        """Keep a text; raises UsageError `review.text` for what cannot be one."""
        return None if text is None else self.recording.journal.blob(checked(name, text))

    def add(self, kind: str, data: Mapping[str, Any], signer: Signer | None) -> None:
        """Sign an entry where there is a signer, and store it with its texts."""
        opened, values = self.recording.state.opened, None
        if self.policy and opened:
            values = self.policy.values("signed", opened["terms"]["format"])
        if signer is None and AFTER[kind] in (values or ()):
            raise UsageError(
                "review.unsigned", f"the policy wants this signed ({AFTER[kind]}): name a key"
            )
        said = {"head": self.head, **data}
        debate = self.recording.journal.debate
        by = signature(kind, debate, said, signer) if signer else None
        self.put(kind, {**said, "signature": by})

    def put(self, kind: str, data: Mapping[str, Any], at: str | None = None) -> None:
        """Store an entry as it stands, with its texts, where an export has room for them."""
        self.recording.add(Fact(kind, data), at)
        journal, bundle = self.recording.journal, self.bundle
        files = len(journal.texts) + len(bundle.templates) + len(bundle.policies)
        is_full = journal.size > MAX_EXPORT - _BESIDE or files > MAX_FILES - _FILES_BESIDE
        if is_full and kind != "hold.lifted":  # else nothing of it could be erased any more
            raise UsageError(
                "review.full",
                f"debate {journal.debate[:8]} would be too large for an export with this: say it "
                "in fewer words, or name a document that says it",
            )
        journal.flush()


@contextmanager
def _adding(debate: str, store: Store, clock: Clock | None) -> Iterator[Adding]:
    with store.runner(debate):
        bundle, recording = taken_up(debate, store, clock or CLOCK)
        state = recording.state
        check_takes(state, debate, f"end it first with `hansard resume {debate[:8]}`")
        yield Adding(recording, bundle, recording.policy)


def review(
    debate: str,
    store: Store,
    said: Said,
    signer: Signer,
    trust: Trust,
    head: str | None = None,
    clock: Clock | None = None,
) -> None:
    """Add a review of a closed debate, which counts; `debate` is an id of the store.

    `head` is the hash of the last entry that the reviewer saw. Raises UsageError
    `store.unknown`, `store.running` or `review.*`, and DataError `record.altered`.
    """
    said = said.checked()
    with _adding(debate, store, clock) as adding:
        if head not in (None, adding.head):
            raise UsageError(
                "review.head",
                f"something was added to debate {debate[:8]} since you read it; read it again",
            )
        journal, state = adding.recording.journal, adding.recording.state
        check_counts(state, adding.policy, trust, signer.key, journal.time())
        kept = texts(journal.blob, said.reviewer, said.comment, said.conditions)
        adding.add("review.signed", {"outcome": said.outcome, **kept}, signer)


def take_in(
    debate: str, store: Store, carried: ReviewFile, trust: Trust, clock: Clock | None = None
) -> None:
    """Add a review that was signed elsewhere, if it fits this record and would count.

    Its `head` is what FORMAT.md §18 admits: others may have added something since, but
    not the key that signed it. Raises what `review` raises, UsageError `review.other`, and
    DataError `review.forged`.
    """
    if carried.debate != debate:
        raise UsageError(
            "review.other", f"this is a review of debate {carried.debate}, not of {debate}"
        )
    with _adding(debate, store, clock) as adding:
        journal, state = adding.recording.journal, adding.recording.state
        data = carried.data(lambda row: journal.keep(row.text, bytes.fromhex(row.salt)))
        _check_fits(adding, data)
        _check_salts(adding, carried, data)
        at = journal.time()
        key = VerifierKey.parse(data["signature"]["key"])
        check_counts(state, adding.policy, trust, key, at)
        adding.put("review.signed", data, at)


def _check_fits(adding: Adding, data: Mapping[str, Any]) -> None:
    """Refuse a review that the record would not hold up as an entry: a bad signature or head."""
    debate, before = adding.recording.journal.debate, adding.recording.state.after
    if any(row["data"] == data for row in before):
        raise UsageError("review.recorded", f"debate {debate[:8]} has this very review already")
    entry = {"type": "review.signed", "debate": debate, "prev": adding.head, "data": data}
    found = {row.field for row in after.faults(before, cast(Event, entry))}
    if "signature" in found:
        raise DataError(
            "review.forged",
            "the signature is not over this review: the file was changed after it was signed; "
            "ask the reviewer for it again",
        )
    if found:
        raise UsageError(
            "review.head",
            f"debate {debate[:8]} has no entry that this review is over, or its key has signed "
            "another since, or a text was erased since; export the record again, and have that "
            "reviewed",
        )


def _check_salts(adding: Adding, carried: ReviewFile, data: Mapping[str, Any]) -> None:
    """Refuse a salt that is used twice, which would spoil the record (`8.salt`).

    Of a text that was erased the salt is gone, but its name stands in the record: it would be
    back (`8.erased`).
    """
    own = [row.salt for row in carried.salted]
    known = {blob.salt_of(file) for file in adding.bundle.blobs.values()}
    named = {name for event in adding.recording.events for _, name in texts_of(event["data"])}
    brought = {name for _, name in texts_of(data)}
    if len(set(own)) < len(own) or known.intersection(own) or named & brought:
        raise UsageError(
            "review.salt",
            "a text of this review has a salt that is used already; have it signed again",
        )


def note_outcome(
    debate: str,
    store: Store,
    signer: Signer | None,
    *,
    label: str,
    note: str | None = None,
    condition: int | None = None,
    clock: Clock | None = None,
) -> None:
    """Add what came of a decision; `condition` is the number of one that it closes, from 1.

    Conditions are counted through all reviews, in order. Raises what `review` raises.
    """
    if len(label) > _LONGEST or not TEXT(label):
        raise UsageError(
            "review.label",
            f"a label is one word of at most {_LONGEST} letters, digits and . _ : / @ + = -",
        )
    with _adding(debate, store, clock) as adding:
        name = None if condition is None else _condition(adding, condition)
        data = {"label": label, "note": adding.text("note", note), "condition": name}
        adding.add("outcome.noted", data, signer)


def _condition(adding: Adding, number: int) -> str:
    reviews = [e["data"] for e in adding.recording.state.after if e["type"] == "review.signed"]
    names: list[str] = [blob["sha256"] for data in reviews for blob in data["conditions"]]
    if not 1 <= number <= len(names):
        raise UsageError(
            "review.condition", f"there is no condition {number}; the reviews name {len(names)}"
        )
    return names[number - 1]


def hold(
    debate: str,
    store: Store,
    signer: Signer | None,
    *,
    reason: str | None = None,
    lift: bool = False,
    clock: Clock | None = None,
) -> None:
    """Place a hold on a record, or lift it. Raises what `review` raises, and `hold.*`."""
    with _adding(debate, store, clock) as adding:
        if after.is_held(adding.recording.state) is not lift:
            code, what = ("hold.none", "no") if lift else ("hold.placed", "a")
            raise UsageError(code, f"{what} hold stands on debate {debate[:8]}")
        data = {"reason": adding.text("reason", reason)}
        adding.add("hold.lifted" if lift else "hold.placed", data, signer)
