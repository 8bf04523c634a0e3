"""Checks 19 and 20: what people say of a closed debate, and who signed it (FORMAT.md §18)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from conformance_kit.case import Case, bad, good, group
from conformance_kit.debates import approving, decided, under, voting
from conformance_kit.exports import export, withholding, zip_of
from conformance_kit.records import (
    KEYS,
    STRANGER,
    Data,
    Record,
    derived,
    digest,
    dump,
    signer,
    time_of,
    trust,
)
from conformance_kit.stopped import stopped
from hansard.record import blob
from hansard.record.note import Signer

ANN, BEN = KEYS["reviewer"], signer("example.org/ben")
RENAMED = Signer("example.org/another", ANN.private)
NOBODY = "0" * 64


class Careless(Signer):
    """A key that signs something else than it is given."""

    def sign(self, message: bytes) -> bytes:
        """Sign other bytes."""
        return super().sign(message + b" ")


def texts(record: Record, *words: str) -> tuple[Record, list[Data]]:
    """Add texts to a record; return their references too."""
    blobs, found = dict(record.blobs), list[Data]()
    for text in words:
        name, file = blob.pack(text, derived("salt", "people", len(record.lines), text))
        blobs[name] = file
        found.append({"sha256": name})
    return replace(record, blobs=blobs), found


def add(record: Record, kind: str, by: Signer | None, **data: Any) -> Record:
    """Add an entry over the last one, signed by a key; `head` may be another entry's."""
    last = record.event(len(record.lines))
    prev = digest(record.lines[-1])
    data = {"head": prev, **data}
    message = f"hansard-{kind}/v1\n".encode() + dump({**data, "debate": last["debate"]})
    signature = by and {
        "key": str(by.key),
        "value": base64.b64encode(by.sign(message)).decode(),
    }
    seq = last["seq"] + 1
    event = {"type": kind, "data": {**data, "signature": signature}, "prev": prev}
    line = dump({**last, **event, "seq": seq, "at": time_of(seq)})
    return replace(record, lines=(*record.lines, line))


def review(record: Record, outcome: str = "approved", by: Signer = ANN, **data: Any) -> Record:
    """Add a review; `conditions` are texts."""
    wanted = data.pop("conditions", ["Ask the insurer."] if outcome == "conditions" else [])
    record, rows = texts(record, by.name, *wanted)
    said = {"reviewer": rows[0], "conditions": rows[1:], "outcome": outcome, "comment": None}
    return add(record, "review.signed", by, **(said | data))


def noted(record: Record, by: Signer | None = ANN, **data: Any) -> Record:
    """Add an outcome."""
    said = {"label": "right", "note": None, "condition": None}
    return add(record, "outcome.noted", by, **(said | data))


def hold(record: Record, by: Signer | None = ANN, *, lift: bool = False) -> Record:
    """Place a hold, or lift it."""
    record, (reason,) = texts(record, "An audit is announced.")
    return add(record, "hold.lifted" if lift else "hold.placed", by, reason=reason)


def wanting(record: Record, *lines: str) -> Record:
    """Put a record under a policy that approves its templates, with these lines beside."""
    return under(record, approving(*lines))


def trusting(*more: Signer) -> bytes:
    """Return the kit's trust file with more keys of reviewers."""
    given = json.loads(trust())
    given["keys"] += [{"role": "reviewer", "key": str(each.key)} for each in more]
    return dump(given) + b"\n"


TWO = trusting(BEN)
ALWAYS, BOTH = "* review always", "* reviewers 2"


@cache
def split() -> Record:
    """A debate whose decision is `escalate`."""
    return voting("escalated", {"ann": "a", "ben": "b"})


@cache
def involving(*people: str) -> Record:
    """The debate of `decided`, whose requester or owner has the key of the first reviewer."""
    person = {"name": "Ann Lee", "key": ANN.name}
    other = {"name": "Ben Roe", "key": BEN.name}
    rows: dict[str, Any] = {
        name: person if name in people else other for name in ("requester", "owner")
    }
    return voting("involved-" + "-".join(people), {"ann": "a", "ben": "a"}, **rows)


@group
def states() -> Iterator[Case]:
    """Each state of a review but overdue, which no verifier says."""
    named = {
        "approved": [("approved", ANN)],
        "partly": [("conditions", ANN)],
        "rejected": [("approved", ANN), ("rejected", ANN)],
        "remanded": [("remanded", ANN), ("rejected", BEN)],
        "disagreement": [("approved", BEN), ("rejected", ANN)],
    }
    for state, rows in named.items():
        record = decided()
        for outcome, by in rows:
            record = review(record, outcome, by)
        yield good(f"review-{state}", f"The review is: {state}.", export(record), TWO)
    yield good("review-waiting", "An escalation waits for a review.", export(split()))
    yield good("review-of-an-escalation", "It is approved.", export(review(split())))
    yield good("review-of-a-truncation", "It is sent back.", export(review(stopped(), "remanded")))
    for name, lines, approving_ in (
        ("always", [ALWAYS], []),
        ("never", ["* review never"], []),
        ("one-of-two", [ALWAYS, BOTH], [ANN]),
        ("both-of-two", [ALWAYS, BOTH], [ANN, BEN]),
        ("twice-the-same", [ALWAYS, BOTH], [ANN, ANN]),
    ):
        record = wanting(split() if name == "never" else decided(), *lines)
        for each in approving_:
            record = review(record, by=each)
        why = f"The policy says: {'; '.join(lines)}. Approvals: {len(approving_)}."
        yield good(f"review-{name}", why, export(record), TWO)
    record = review(decided(), "conditions", conditions=["One.", "Two."])
    one, two = (row["sha256"] for row in record.event(13)["data"]["conditions"])
    both = noted(noted(record, condition=one), condition=two)
    yield good("review-conditions-met", "Each condition is noted as met.", export(both))
    closing: dict[str, Signer | None] = {"unsigned": None, "by-a-stranger": STRANGER}
    for name, key in closing.items():
        open_ = noted(noted(record, condition=one), key, condition=two)
        why = "What closes a condition counts only where a review of that key would."
        yield good(f"review-condition-closed-{name}", why, export(open_))
    again = {key: record.event(13)["data"][key] for key in ("reviewer", "conditions", "comment")}
    yield good(
        "review-condition-stated-again",
        "A condition is met by what is noted after the review that states it.",
        export(add(both, "review.signed", ANN, outcome="conditions", **again)),
    )


@group
def reviewers() -> Iterator[Case]:
    """Whose review counts."""
    record = review(split())
    at = record.event(len(record.lines))["at"]
    before, after = time_of(len(record.lines) - 1), time_of(len(record.lines) + 1)
    yield good(
        "review-by-nobody-known",
        "The trust file does not name the reviewer's key, so the review is unchecked.",
        export(review(split(), by=BEN)),
    )
    yield good(
        "review-by-another-role",
        "The key is trusted to sign exports, and not reviews.",
        export(review(split(), by=KEYS["export"])),
    )
    for name, times in (
        ("before-its-time", (after, None)),
        ("from-its-time", (at, None)),
        ("after-its-time", (None, at)),
        ("revoked", (None, None, at)),
        ("revoked-later", (before, None, after)),
    ):
        yield good(
            f"review-{name}",
            "A reviewer's key counts at the time of its own entry.",
            export(record),
            trust(reviewer=times),
        )
    yield good(
        "review-by-the-same-name",
        "A key of the same name as the trusted one is another key.",
        export(review(split(), by=signer(ANN.name, "another"))),
    )
    for name, people, lines in (
        ("requester", ("requester",), []),
        ("requester-allowed", ("requester",), ["* reviewer_may_be requester"]),
        ("owner", ("owner",), []),
    ):
        record = wanting(involving(*people), ALWAYS, *lines)
        yield good(
            f"review-by-the-{name}",
            "Whether a review counts that is signed by somebody involved, the policy says.",
            export(review(record)),
        )
    yield good(
        "review-by-the-requester-renamed",
        "The trust file has the requester's key under a second name, too.",
        export(review(wanting(involving("requester"), ALWAYS), by=RENAMED)),
        trusting(RENAMED),
    )
    strict = "* reviewer_may_be nobody_involved"
    for name in ("requester", "owner"):
        record = review(wanting(involving(name), ALWAYS, strict))
        yield bad(
            f"review-by-the-{name}-forbidden",
            "18.reviewer_may_be",
            len(record.lines),
            "The policy says that nobody involved may review.",
            export(record),
        )
    yield good(
        "review-by-nobody-involved",
        "Requester and owner have another key.",
        export(review(wanting(involving(), ALWAYS, strict))),
    )
    yield bad(
        "review-involved-unknown",
        "18.reviewer_may_be",
        1,
        "The policy says that nobody involved may review, and the opening names no key of theirs.",
        export(wanting(decided(), strict)),
    )


def repeated(record: Record, seq: int) -> Record:
    """Add an entry once more at the end, as somebody can who does not hold its key."""
    event = record.event(seq)
    return record.insert(len(record.lines) + 1, event["type"], event["data"])


def repetitions() -> Iterator[Case]:
    """Entries that the same key signed before what it had signed already."""
    record = decided()
    head = digest(record.lines[-1])
    changed = review(review(record), "rejected")
    stood = hold(hold(hold(record), lift=True))
    why = "A key cannot sign again without having seen what it signed before."
    for name, code, made in (
        ("review-repeated", "19.head", repeated(changed, 13)),
        ("review-repeated-at-once", "19.head", repeated(review(record), 13)),
        ("review-renamed-repeated", "19.head", review(changed, by=RENAMED, head=head)),
        ("review-not-after-the-last", "19.head", review(noted(record), head=head)),
        ("after-lifted-repeated", "20.head", repeated(stood, 14)),
        ("after-noted-repeated", "20.head", repeated(noted(record), 13)),
    ):
        yield bad(name, code, len(made.lines), why, export(made))
    yield good(
        "after-seen-before",
        "It is signed over what the same key said last, and somebody else spoke since.",
        export(noted(noted(review(record), BEN), head=digest(review(record).lines[-1]))),
        TWO,
    )
    yield good(
        "after-unsigned-earlier-head",
        "Nobody signed either of two outcomes that name the same head.",
        export(noted(noted(record, None), None, head=head)),
    )


@group
def faults() -> Iterator[Case]:
    """Reviews, outcomes and holds that contradict themselves, or what came before."""
    record = decided()
    twelfth, earlier = digest(record.lines[-1]), record.event(12)["prev"]
    yield good(
        "after-over-an-earlier-head",
        "Two reviewers sign the same head, one entry after the other.",
        export(review(review(record), by=BEN, head=twelfth)),
        TWO,
    )
    yield from repetitions()
    other = review(voting("other", {"ann": "a", "ben": "a"}))
    replayed = other.event(len(other.lines))["data"]
    copied = texts(record, ANN.name)[0]
    copied = replace(
        copied,
        blobs={
            **record.blobs,
            replayed["reviewer"]["sha256"]: other.blobs[replayed["reviewer"]["sha256"]],
        },
    ).insert(13, "review.signed", replayed)
    for key, code, why, made in (
        ("head", "19.head", "It names an entry before the close.", review(record, head=earlier)),
        ("no-head", "19.head", "It names no entry at all.", review(record, head=NOBODY)),
        ("replayed", "19.head", "It was signed over another debate's head.", copied),
        (
            "without-conditions",
            "19.conditions",
            "It approves with conditions, and names none.",
            review(record, "conditions", conditions=[]),
        ),
        (
            "with-conditions",
            "19.conditions",
            "It approves, and names a condition.",
            review(record, conditions=["Ask the insurer."]),
        ),
    ):
        yield bad(f"review-{key}", code, 13, why, export(made))
    signed = review(record)
    said = signed.event(13)["data"]
    signature = said["signature"]
    flipped = ("B" if signature["value"][0] == "A" else "A") + signature["value"][1:]
    weak = f"{ANN.name}\n".encode() + b"\x01" + bytes(32)
    weak_key = f"{ANN.name}+{digest(weak)[:8]}+AQ{'A' * 42}"
    for key, change in (
        ("outcome", {"outcome": "rejected"}),
        ("value", {"signature": signature | {"value": flipped}}),
        ("key", {"signature": signature | {"key": str(BEN.key)}}),
        ("key-name", {"signature": signature | {"key": "eve" + signature["key"][3:]}}),
        ("weak-key", {"signature": signature | {"key": weak_key}}),
    ):
        yield bad(
            f"review-altered-{key}",
            "19.signature",
            13,
            "The signature is not over this review, by the key that it names.",
            export(signed.data(13, **change)),
        )
    for kind, made in (("noted", noted(record, head=earlier)), ("hold", hold(record))):
        changed = made if kind == "noted" else made.data(13, head=earlier)
        yield bad(
            f"after-{kind}-head",
            "20.head",
            13,
            "It names an entry before the close.",
            export(changed),
        )
    yield bad(
        "after-condition-of-nobody",
        "20.condition",
        13,
        "No review has this condition.",
        export(noted(record, condition=NOBODY)),
    )
    yield bad(
        "after-outcome-altered",
        "20.signature",
        13,
        "The label is not the one that was signed.",
        export(noted(record).data(13, label="wrong")),
    )


@group
def orders() -> Iterator[Case]:
    """What may follow a close, in which order, how often; and what the policy wants signed."""
    record = decided()
    every = hold(noted(hold(review(record), None), None), lift=True)
    yield good(
        "after-everything", "A review, a hold, an outcome; the hold is lifted.", export(every)
    )
    for key, made in (
        ("hold-twice", hold(hold(record))),
        ("lifted-without", hold(record, lift=True)),
        ("closed-again", record.insert(13, "debate.closed", record.event(12)["data"])),
        ("resumed", record.insert(13, "debate.resumed", {"engine": "x/1"})),
    ):
        seq = len(made.lines)
        why = "After the close only what people say is due, and holds take turns."
        yield bad(f"after-{key}", "9.not_due", seq, why, export(made))
    open_ = record.until(11)
    yield bad(
        "after-nothing",
        "9.not_due",
        12,
        "A review of a debate that is open.",
        export(review(open_)),
    )
    most = record
    for _ in range(1000):
        most = noted(most, None)
    faulty, careless = record, Careless(ANN.name, ANN.private)
    for _ in range(600):
        faulty = noted(faulty, careless, head=NOBODY)
    yield bad(
        "after-faults",
        "20.head",
        13,
        "More findings than are listed: the first are those of the first entries.",
        zip_of(export(faulty)),
    )
    yield good("after-most", "A thousand entries after the close.", zip_of(export(most)))
    yield bad(
        "after-more",
        "9.not_due",
        1013,
        "A thousand and one entries after the close.",
        zip_of(export(noted(most, None))),
    )
    for what, said in (("outcome", noted), ("hold", hold)):
        strict = wanting(record, f"* signed {what}")
        yield good(
            f"after-signed-{what}", "It is signed, as the policy wants.", export(said(strict))
        )
        yield bad(
            f"after-unsigned-{what}",
            "18.signed",
            13,
            "The policy wants it signed.",
            export(said(strict, None)),
        )
    yield good(
        "review-text-withheld",
        "The reviewer's name is withheld: the key says who signed.",
        withholding(review(record), review(record).file_of(13, "reviewer")),
    )
