"""What may be said of a closed debate, and the signature over it (FORMAT.md §18).

The same holds where a review is signed in the store and where it is signed away from it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from hansard import vocabulary
from hansard.errors import UsageError
from hansard.record import note
from hansard.record.keys import Trust, standing
from hansard.record.note import Signer, VerifierKey
from hansard.record.policy import Policy
from hansard.rules import after
from hansard.rules.data import MOST_CONDITIONS
from hansard.rules.review import involved
from hansard.rules.spec_parts import A_NAME, person_name
from hansard.rules.state import DebateState
from hansard.vocabulary import fill

MAX_SAID = 10_000  # characters of a text: what is longer is a document
T = TypeVar("T")


def checked(name: str, text: str) -> str:
    """Return a text that can be kept; raises UsageError `review.text` for what cannot be one."""
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
    return text


class Said(NamedTuple):
    """What a reviewer says, in their words."""

    outcome: str
    reviewer: str
    comment: str | None
    conditions: Sequence[str]

    def checked(self) -> Said:
        """Return it as it can be recorded; raises UsageError `review.*` for what cannot be."""
        _check(self.outcome, self.comment, self.conditions)
        name = person_name(checked("reviewer", self.reviewer))
        if name is None:
            raise UsageError("review.text", f"`reviewer` says who reviews: {A_NAME}")
        if self.comment is not None:
            checked("comment", self.comment)
        for text in self.conditions:
            checked("condition", text)
        return self._replace(reviewer=name)


def texts(
    keep: Callable[[T], object], reviewer: T, comment: T | None, conditions: Sequence[T]
) -> dict[str, Any]:
    """Return the texts of a review by field, each as `keep` gives it."""
    return {
        "reviewer": keep(reviewer),
        "comment": None if comment is None else keep(comment),
        "conditions": [keep(text) for text in conditions],
    }


def _check(outcome: str, comment: str | None, conditions: Sequence[str]) -> None:
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


def check_counts(
    state: DebateState, policy: Policy | None, trust: Trust, key: VerifierKey, at: str
) -> None:
    """Refuse a review that would not count, as an entry of the time `at`."""
    found = standing(trust, key, "reviewer", at)
    if found != "trusted":
        why = fill(vocabulary.words("standings")[found], key=key.name)
        raise UsageError("review.untrusted", f"this review would not count: {why}")
    if involved(state.gated or state.spec, policy, trust, key):
        why = fill(vocabulary.words("standings")["involved"], key=key.name)
        raise UsageError("review.involved", f"this review would not count: {why}")


def signature(kind: str, debate: str, said: Mapping[str, Any], signer: Signer) -> dict[str, str]:
    """Return the signature of an entry over all that it says."""
    value = note.signature(signer, after.message(kind, debate, dict(said)))
    return {"key": str(signer.key), "value": base64.b64encode(value).decode()}


def check_takes(state: DebateState, debate: str, mend: str) -> None:
    """Refuse a debate that takes nothing after its close; `mend` says how to end an open one."""
    if not state.ended:
        raise UsageError("review.open", f"debate {debate} has not ended; {mend}")
    if len(state.after) >= after.MOST_AFTER:
        raise UsageError(
            "review.full",
            f"debate {debate} has {after.MOST_AFTER:,} entries after its close already, and "
            "takes no more",
        )
