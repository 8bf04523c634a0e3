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
from hansard.rules.state import DebateState
from hansard.rules.steps import NotDue, name_of

MOST_AFTER = 1000  # entries; each may cost a verification


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
    if not known or (kind.startswith("hold.") and (kind == "hold.placed") == is_held(state)):
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
    if data["signature"] and not is_signed(event):
        yield Fault("signature", None, data["signature"]["key"].partition("+")[0])


def _since_own(before: Sequence[Event], event: Event) -> Sequence[Event]:
    """Return the entries after the last one by the key that signed `event`, which it has seen.

    Otherwise anybody could add a copy of an older entry, and undo what the owner said since.
    """
    key = _public(event)
    own = [place for place, row in enumerate(before, 1) if key and _public(row) == key]
    return before[own[-1] :] if own else before


def _public(event: Event) -> str | None:
    """Return the public key of an entry, without its name and id, as it is spelled."""
    data: Any = event["data"]
    key: str | None = data["signature"] and data["signature"]["key"]
    return key and key.split("+", 2)[2]


def _conditions(before: Sequence[Event]) -> set[str]:
    """Return the names of the conditions of all reviews so far."""
    reviews = [event["data"] for event in before if event["type"] == "review.signed"]
    return {blob["sha256"] for data in reviews for blob in data["conditions"]}


def message(kind: str, debate: str, data: dict[str, Any]) -> bytes:
    """Return the bytes that are signed: all of the data but the signature, and the debate's id."""
    said = {name: value for name, value in data.items() if name != "signature"}
    return f"hansard-{kind}/v1\n".encode() + dump({**said, "debate": debate})


def key_of(event: Event) -> VerifierKey | None:
    """Return the key that an entry names; None without one, or for one that cannot be used."""
    data: Any = event["data"]
    try:
        key = VerifierKey.parse(data["signature"]["key"]) if data["signature"] else None
    except DataError:
        return None
    return key if key and key.algorithm == ED25519 else None


def is_signed(event: Event) -> bool:
    """Say whether the signature of an entry is over it, by the key that it names."""
    data: Any = event["data"]
    key = key_of(event)
    if key is None:
        return False
    value = base64.b64decode(data["signature"]["value"])
    spelled = base64.b64encode(value).decode() == data["signature"]["value"]
    return spelled and key.verifies(message(event["type"], event["debate"], data), value)
