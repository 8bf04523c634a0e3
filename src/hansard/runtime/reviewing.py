"""What people add to a closed debate: a review, an outcome, a hold (FORMAT.md §18).

The record is verified first, and nothing is written that is not due, or that would not count
where it is to count. Whoever signs, signs over the last entry. Two who sign at the same time
do so one after the other.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hansard import vocabulary
from hansard.errors import UsageError
from hansard.record.canonical import TEXT
from hansard.record.keys import Trust, standing
from hansard.record.line import line_hash
from hansard.record.note import Signer
from hansard.record.policy import Policy
from hansard.rules import after
from hansard.rules.data import AFTER, MOST_CONDITIONS
from hansard.rules.events import Fact
from hansard.rules.fields import Blob
from hansard.rules.replay import policy_of
from hansard.rules.review import involved
from hansard.runtime.clock import CLOCK, Clock
from hansard.runtime.recording import Recording
from hansard.runtime.session import taken_up
from hansard.store.application import Store
from hansard.vocabulary import fill

MAX_SAID = 10_000  # characters of a text: a thousand entries of them leave room for an export
_LONGEST = 64  # characters of a name (FORMAT.md §3)


@dataclass(frozen=True, slots=True)
class Adding:
    """A closed debate that something is added to: its record, its policy, and its head."""

    recording: Recording
    policy: Policy | None
    head: str

    def text(self, name: str, text: str | None) -> Blob | None:
        """Keep a text; raises UsageError `review.text` for what cannot be one."""
        if text is None:
            return None
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UsageError(
                "review.text", f"the text of `{name}` is not Unicode; write it in UTF-8"
            ) from None
        if not text.strip():
            raise UsageError("review.text", f"the text of `{name}` is empty")
        if len(text) > MAX_SAID:
            raise UsageError(
                "review.text",
                f"the text of `{name}` has more than {MAX_SAID:,} characters; name a document "
                "that holds it",
            )
        return self.recording.journal.blob(text)

    def add(self, kind: str, data: Mapping[str, Any], signer: Signer | None) -> None:
        """Sign an entry where there is a signer, and store it with its texts."""
        debate, opened = self.recording.journal.debate, self.recording.state.opened
        said, values = {"head": self.head, **data}, None
        if self.policy and opened:
            values = self.policy.values("signed", opened["terms"]["format"])
        if signer is None and AFTER[kind] in (values or ()):
            raise UsageError(
                "review.unsigned", f"the policy wants this signed ({AFTER[kind]}): name a key"
            )
        signature = None
        if signer:
            value = signer.sign(after.message(kind, debate, said))
            signature = {"key": str(signer.key), "value": base64.b64encode(value).decode()}
        self.recording.add(Fact(kind, {**said, "signature": signature}))
        self.recording.journal.flush()


@contextmanager
def _adding(debate: str, store: Store, clock: Clock | None) -> Iterator[Adding]:
    with store.runner(debate):
        bundle, recording = taken_up(debate, store, clock or CLOCK)
        state = recording.state
        if not state.ended:
            raise UsageError(
                "review.open",
                f"debate {debate} has not ended; end it first with `hansard resume {debate[:8]}`",
            )
        if len(state.after) >= after.MOST_AFTER:
            raise UsageError(
                "review.full",
                f"debate {debate} has {after.MOST_AFTER:,} entries after its close already, and "
                "takes no more",
            )
        policy = policy_of(state.opened, bundle.policies) if state.opened else None
        yield Adding(recording, policy, line_hash(bundle.lines[-1]))


def review(
    debate: str,
    store: Store,
    signer: Signer,
    trust: Trust,
    *,
    outcome: str,
    reviewer: str,
    comment: str | None = None,
    conditions: Sequence[str] = (),
    head: str | None = None,
    clock: Clock | None = None,
) -> None:
    """Add a review of a closed debate, which counts; `debate` is an id of the store.

    `head` is the hash of the last entry that the reviewer saw. Raises UsageError
    `store.unknown`, `store.running` or `review.*`, and DataError `record.altered`.
    """
    _check_review(outcome, comment, conditions)
    with _adding(debate, store, clock) as adding:
        if head not in (None, adding.head):
            raise UsageError(
                "review.head",
                f"something was added to debate {debate[:8]} since you read it; read it again",
            )
        _check_counts(adding, signer, trust)
        data = {
            "reviewer": adding.text("reviewer", reviewer),
            "outcome": outcome,
            "comment": adding.text("comment", comment),
            "conditions": [adding.text("condition", text) for text in conditions],
        }
        adding.add("review.signed", data, signer)


def _check_review(outcome: str, comment: str | None, conditions: Sequence[str]) -> None:
    if outcome not in vocabulary.words("reviews"):
        known = ", ".join(vocabulary.words("reviews"))
        raise UsageError("review.outcome", f"a review's outcome is one of: {known}")
    if (outcome == "conditions") != bool(conditions):
        raise UsageError(
            "review.conditions", "conditions are named exactly where the outcome is `conditions`"
        )
    if len(conditions) > MOST_CONDITIONS:
        raise UsageError("review.conditions", f"a review has at most {MOST_CONDITIONS} conditions")
    if outcome in ("rejected", "remanded") and comment is None:
        raise UsageError("review.comment", f"say why it is {outcome}, in a comment")


def _check_counts(adding: Adding, signer: Signer, trust: Trust) -> None:
    """Refuse a review that would not count."""
    state, key = adding.recording.state, signer.key
    found = standing(trust, key, "reviewer", adding.recording.journal.time())
    if found != "trusted":
        why = fill(vocabulary.words("standings")[found], key=key.name)
        raise UsageError("review.untrusted", f"this review would not count: {why}")
    if involved(state, adding.policy, trust, key):
        why = fill(vocabulary.words("standings")["involved"], key=key.name)
        raise UsageError("review.involved", f"this review would not count: {why}")


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
