"""What may follow a close, or a gate's answer, and who signed it (FORMAT.md §18).

None of it changes what was decided. Each entry names the head that its signer saw, and
holds the key that signed it, so that a signature is checked without any trust file; whose
signature counts is for `review` to say.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hansard.errors import DataError
from hansard.record.canonical import dump
from hansard.record.note import ED25519, VerifierKey
from hansard.rules.data import AFTER
from hansard.rules.events import Event
from hansard.rules.fields import Signature
from hansard.rules.state import DebateState
from hansard.rules.steps import NotDue, name_of

MOST_AFTER = 1000  # entries; each may cost a verification, or a few
REDACTED = "text.redacted"


class Fault(NamedTuple):
    """A field of an entry after the close that cannot be what it is."""

    field: str
    expected: object
    found: object


def is_held(state: DebateState) -> bool:
    """Say whether a hold stands."""
    holds = [event["type"] for event in state.after if event["type"].startswith("hold.")]
    return holds[-1:] == ["hold.placed"]


def check(state: DebateState, event: Event) -> None:
    """Raise NotDue for what may not follow a close now."""
    kind = event["type"]
    known = kind in AFTER and len(state.after) < MOST_AFTER
    held = is_held(state)
    lifts = kind.startswith("hold.") and (kind == "hold.placed") == held
    if not known or lifts or (kind == REDACTED and held):
        raise NotDue(name_of(None))


def faults(before: Sequence[Event], event: Event) -> Iterator[Fault]:
    """Yield what contradicts itself, or those `before` it, in an entry after the close."""
    data: Any = event["data"]
    heads = {event["prev"], *(row["prev"] for row in _since_own(before, event))}
    if data["head"] not in heads:
        yield Fault("head", event["prev"], data["head"])
    if event["type"] == "review.signed":
        if (data["outcome"] == "conditions") != bool(data["conditions"]):
            yield Fault("conditions", None, data["outcome"])
    elif data.get("condition") is not None and data["condition"] not in _conditions(before):
        yield Fault("condition", None, data["condition"])
    elif event["type"] == REDACTED and not _in_order(data["signatures"]):
        yield Fault("signatures", None, ",".join(map(name_in, data["signatures"])))
    for signature in signatures_of(event):
        if not is_signed(event, signature):
            yield Fault("signature", None, name_in(signature))
            return


def _since_own(before: Sequence[Event], event: Event) -> Sequence[Event]:
    """Return the entries after the last one by a key that signed `event`, which it has seen.

    Otherwise anybody could add a copy of an older entry, and undo what the owner said since. Nor
    did anybody read the record as it is who signs over what it was before a text was erased.
    """
    keys = _publics(event)
    seen = [
        place
        for place, row in enumerate(before, 1)
        if row["type"] == REDACTED or keys & _publics(row)
    ]
    return before[seen[-1] :] if seen else before


def _publics(event: Event) -> set[str]:
    """Return the public keys of an entry, without their names and ids, as they are spelled."""
    return {_public(signature) for signature in signatures_of(event)}


def _public(signature: Signature) -> str:
    return signature["key"].split("+", 2)[2]


def _in_order(signatures: Sequence[Signature]) -> bool:
    """Say whether signatures are sorted by key, and no key signs twice under any name."""
    keys = [row["key"] for row in signatures]
    return sorted(keys) == keys and len({_public(row) for row in signatures}) == len(keys)


def signatures_of(event: Event) -> Sequence[Signature]:
    """Return the signatures of an entry after the close; a redaction may have several."""
    data: Any = event["data"]
    if event["type"] == REDACTED:
        return tuple(data["signatures"])
    return (data["signature"],) if data["signature"] else ()


def name_in(signature: Signature) -> str:
    """Return the name of the key of a signature."""
    return signature["key"].partition("+")[0]


def _conditions(before: Sequence[Event]) -> set[str]:
    """Return the names of the conditions of all reviews so far."""
    reviews = [event["data"] for event in before if event["type"] == "review.signed"]
    return {blob["sha256"] for data in reviews for blob in data["conditions"]}


def message(kind: str, debate: str, data: dict[str, Any]) -> bytes:
    """Return the bytes that are signed: all of the data but signatures, and the debate's id."""
    said = {name: value for name, value in data.items() if not name.startswith("signature")}
    return f"hansard-{kind}/v1\n".encode() + dump({**said, "debate": debate})


def key_of(signature: Signature) -> VerifierKey | None:
    """Return the key that a signature names; None for one that cannot be used."""
    try:
        key = VerifierKey.parse(signature["key"])
    except DataError:
        return None
    return key if key.algorithm == ED25519 else None


def is_signed(event: Event, signature: Signature) -> bool:
    """Say whether a signature of an entry is over it, by the key that it names."""
    data: Any = event["data"]
    key = key_of(signature)
    if key is None:
        return False
    value = base64.b64decode(signature["value"])
    spelled = base64.b64encode(value).decode() == signature["value"]
    return spelled and key.verifies(message(event["type"], event["debate"], data), value)
