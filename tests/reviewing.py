"""Debates that are closed, and what people say of them afterwards (FORMAT.md §18)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansard.record.keys import Trust, TrustedKey
from hansard.record.line import line_hash
from hansard.record.note import Signer
from hansard.rules import after
from hansard.rules.events import Fact
from hansard.rules.redactions import texts_of
from support import DEBATE, Debate, Setup, votes


def signer(name: str) -> Signer:
    """The key of this name: always the same one."""
    return Signer(name, Ed25519PrivateKey.from_private_bytes(sha256(name.encode()).digest()))


ANN, BOB = signer("house/ann"), signer("house/bob")


def trusting(*signers: Signer, role: str = "reviewer", **times: str) -> Trust:
    """A trust file that names these keys."""
    rows = {"role": role} | times
    return Trust(keys=[TrustedKey.model_validate(rows | {"key": str(one.key)}) for one in signers])


TRUST = trusting(ANN, BOB)


def signed(kind: str, data: dict[str, Any], by: Signer | None, debate: str = DEBATE) -> Fact:
    """The fact, signed over this data."""
    found = by and {
        "key": str(by.key),
        "value": base64.b64encode(by.sign(after.message(kind, debate, data))).decode(),
    }
    return Fact(kind, {**data, "signature": found})


def say(debate: Debate, kind: str, by: Signer | None = ANN, **data: Any) -> Fact:
    """Add what somebody says of a debate to it, over its last entry unless `head` says else."""
    data.setdefault("head", line_hash(debate.record.lines[-1]))
    fact = signed(kind, data, by)
    debate.add(fact)
    return fact


def review(debate: Debate, outcome: str = "approved", by: Signer = ANN, **data: Any) -> Fact:
    """Add a review; each of `conditions` is a text."""
    texts = data.pop("conditions", ["Ask the insurer."] if outcome == "conditions" else [])
    data |= {"conditions": [debate.record.blob(text) for text in texts], "outcome": outcome}
    said = {"reviewer": debate.record.blob(by.name), "comment": None}
    return say(debate, "review.signed", by, **(said | data))


def note(debate: Debate, by: Signer | None = ANN, **data: Any) -> Fact:
    """Add an outcome."""
    said = {"label": "right", "note": None, "condition": None}
    return say(debate, "outcome.noted", by, **(said | data))


def hold(debate: Debate, by: Signer | None = ANN, *, lift: bool = False) -> Fact:
    """Place a hold, or lift it."""
    return say(debate, "hold.lifted" if lift else "hold.placed", by, reason=None)


def redact(
    debate: Debate, seq: int, field: str, by: Sequence[Signer] = (ANN,), **data: Any
) -> Fact:
    """Say that a text was erased, and erase it; `blob` may be another than stands there."""
    record = debate.record
    name = data.pop("blob", dict(texts_of(record.events[seq - 1]["data"]))[field])
    words = {"reason": "She asked for it.", "basis": "GDPR, Article 17", "asked_by": "Jane Roe"}
    said = {"head": line_hash(record.lines[-1]), "seq": seq, "field": field, "blob": name}
    said |= {key: record.blob(text) for key, text in words.items()} | data
    debate.add(Fact("text.redacted", {**said, "signatures": signatures(said, by)}))
    record.texts.pop(name, None)
    record.blobs.pop(name, None)
    return Fact("text.redacted", record.events[-1]["data"])


def signatures(
    said: dict[str, Any], by: Sequence[Signer], debate: str = DEBATE
) -> list[dict[str, str]]:
    """The signatures of these keys over a redaction, in the order in which they must stand."""
    rows = [signed("text.redacted", said, one, debate).data["signature"] for one in by]
    return sorted(rows, key=lambda row: row["key"])


def closed(script: Any = None, **setup: Any) -> Debate:
    """A debate that has ended; without a script with a decision that asks for no review."""
    agreed = votes(planner="release", critic="release", operator="release")
    return Debate(Setup(**setup), script or agreed).run()


def reviewed() -> Debate:
    """A debate of which people said everything that they can say."""
    debate = closed()
    say(debate, "hold.placed", reason=debate.record.blob("An audit is announced."))
    fact = review(debate, "conditions", comment=debate.record.blob("Nearly."))
    condition = fact.data["conditions"][0]["sha256"]
    note(debate, condition=condition, note=debate.record.blob("The insurer agrees."))
    say(debate, "hold.lifted", None, reason=debate.record.blob("The audit is over."))
    hold(debate, BOB)
    hold(debate, BOB, lift=True)
    review(debate, "rejected", BOB, comment=debate.record.blob("Not in this quarter."))
    redact(debate, len(debate.record.events), "comment", (ANN, BOB))
    return debate
