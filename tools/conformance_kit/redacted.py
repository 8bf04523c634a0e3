"""Checks 8 and 20: texts that were erased, and who signed for it (FORMAT.md §18)."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from conformance_kit.case import Case, bad, good, group, unknown
from conformance_kit.debates import decided, voting
from conformance_kit.exports import export, withholding
from conformance_kit.moderated import two_rounds
from conformance_kit.people import (
    ANN,
    BEN,
    TWO,
    Careless,
    hold,
    involving,
    noted,
    review,
    texts,
    wanting,
)
from conformance_kit.records import (
    EXPORT,
    KEYS,
    STRANGER,
    Data,
    Record,
    digest,
    dump,
    time_of,
    trust,
)
from hansard.record.note import Signer

RENAMED = Signer("example.org/yet-another", ANN.private)
NOBODY = "0" * 64


def name_at(record: Record, seq: int, field: str) -> str:
    """Return the name of the text that an entry names at a place in its data."""
    value: Any = record.event(seq)["data"]
    for part in field.split("."):
        value = value[int(part) if isinstance(value, list) else part]
    return str(value["sha256"])


def signed(data: Data, debate: str, by: Sequence[Signer]) -> list[Data]:
    """Return the signatures of these keys over a redaction, in order."""
    message = b"hansard-text.redacted/v1\n" + dump({**data, "debate": debate})
    rows = [
        {"key": str(each.key), "value": base64.b64encode(each.sign(message)).decode()}
        for each in by
    ]
    return sorted(rows, key=lambda row: row["key"])


def without(record: Record, *names: str) -> Record:
    """Take blobs out of a record."""
    left = {name: file for name, file in record.blobs.items() if name not in names}
    return replace(record, blobs=left)


def redact(
    record: Record,
    seq: int = 1,
    field: str = "question",
    by: Sequence[Signer] = (ANN,),
    *,
    kept: bool = False,
    **more: Any,
) -> Record:
    """Add a redaction over the last entry, and take the text out unless it is `kept`."""
    record, words = texts(record, "She asked for it.", "GDPR, Article 17(1)(b)", "Jane Roe")
    last, prev = record.event(len(record.lines)), digest(record.lines[-1])
    signatures = more.pop("signatures", None)
    data = {"head": prev, "seq": seq, "field": field, "blob": more.pop("blob", None)}
    data |= dict(zip(("reason", "basis", "asked_by"), words, strict=True)) | more
    data["blob"] = data["blob"] or name_at(record, seq, field)
    rows = signatures or signed(data, last["debate"], by)
    place = last["seq"] + 1
    event = {"type": "text.redacted", "data": {**data, "signatures": rows}, "prev": prev}
    line = dump({**last, **event, "seq": place, "at": time_of(place)})
    record = replace(record, lines=(*record.lines, line))
    return record if kept else without(record, data["blob"])


@group
def erased() -> Iterator[Case]:
    """Texts that a redaction explains."""
    yield good(
        "erased-question",
        "The question of the opening is erased: no check rests on its words.",
        export(redact(decided())),
    )
    record = decided()
    yield good(
        "erased-reply",
        "A reply is erased: what was read from it is taken as recorded.",
        export(redact(record, record.seq("call.answered"), "reply")),
    )
    record = two_rounds()
    yield good(
        "erased-document",
        "A document is erased: whether quotes hold is taken as recorded.",
        export(redact(record, 7, "text")),
    )
    record = review(decided(), "conditions", conditions=["One.", "Two."])
    yield good(
        "erased-condition",
        "The second condition of a review is erased: its place is conditions.1.",
        export(redact(record, 13, "conditions.1")),
    )
    yield good(
        "erased-requester",
        "The name of the requester is erased: its place is requester.name.",
        export(redact(involving("owner"), 1, "requester.name")),
    )
    first = redact(decided())
    yield good(
        "erased-asked-by",
        "The name of who asked for a redaction is erased by another one.",
        export(redact(first, 13, "asked_by")),
    )
    yield good(
        "erased-and-reviewed",
        "A review is signed over the redaction.",
        export(review(redact(decided()))),
    )
    yield good(
        "erased-after-a-hold",
        "A hold was lifted before.",
        export(redact(hold(hold(decided()), lift=True))),
    )
    yield good(
        "erased-and-withheld",
        "Another text is withheld from this recipient.",
        withholding(redact(decided()), redact(decided()).file_of(1, "review")),
    )


@group
def trusted() -> Iterator[Case]:
    """Whose signature explains a missing text."""
    record = redact(decided())
    at = record.event(13)["at"]
    yield good(
        "erased-by-an-approver",
        "The key of a role that approves policies signs redactions, too.",
        export(redact(decided(), by=(KEYS["approval"],))),
    )
    yield good(
        "erased-by-two",
        "One of two signatures is by a key that the trust file does not name; one is enough.",
        export(redact(decided(), by=(ANN, BEN))),
    )
    why = "Nobody whom the reader trusts says that the text was erased."
    for name, by, given in (
        ("by-a-stranger", STRANGER, None),
        ("by-the-export-key", EXPORT, None),
        ("by-a-revoked-key", ANN, trust(reviewer=(None, None, at))),
        ("by-a-key-after-its-time", ANN, trust(reviewer=(None, at))),
    ):
        yield bad(
            f"erased-{name}",
            "8.missing",
            1,
            why,
            export(redact(decided(), by=(by,))),
            given,
        )
    yield bad(
        "erased-by-the-requester",
        "8.missing",
        1,
        "The requester's key signs no redaction, unless the policy says so.",
        export(redact(involving("requester"))),
    )
    allowed = wanting(involving("requester"), "* reviewer_may_be requester")
    yield good("erased-by-the-requester-allowed", "The policy says so.", export(redact(allowed)))
    yield unknown(
        "erased-by-a-stranger-who-exports",
        "The record agrees with itself: a stranger signed the export and the redaction.",
        export(redact(decided(), by=(STRANGER,)), STRANGER),
    )
    pair = wanting(decided(), "* redactors 2")
    yield good(
        "erased-under-four-eyes",
        "The policy asks for two signatures, and two count.",
        export(redact(pair, by=(ANN, BEN))),
        TWO,
    )
    yield bad(
        "erased-under-two-eyes",
        "8.missing",
        1,
        "The policy asks for two signatures, and there is one.",
        export(redact(pair)),
    )
    yield bad(
        "erased-under-two-eyes-and-withheld",
        "18.redactors",
        13,
        "The policy asks for two signatures, and there is one; the text is withheld as well.",
        withholding(redact(pair), pair.file_of(1, "question")),
    )
    yield bad(
        "erased-under-four-eyes-of-a-stranger",
        "8.missing",
        1,
        "The policy asks for two signatures, and the reader trusts one of them.",
        export(redact(pair, by=(ANN, BEN))),
    )


@group
def contradicted() -> Iterator[Case]:
    """Redactions that contradict themselves, the texts, or what came before."""
    record = decided()
    question, other = name_at(record, 1, "question"), name_at(record, 1, "review")
    yield bad(
        "erased-but-there",
        "8.erased",
        1,
        "The text is there.",
        export(redact(record, kept=True)),
    )
    yield bad(
        "erased-without-a-redaction", "8.missing", 1, "No entry explains it.",
        export(without(record, question)),
    )  # fmt: skip
    why = "It names a text that does not stand where it says, so it explains nothing."
    for name, seq, field, blob in (
        ("of-another-field", 1, "review", question),
        ("of-another-entry", 2, "question", question),
        ("of-no-text", 1, "terms", question),
        ("of-no-place", 1, "stances.0", question),
        ("of-a-hash", 1, "templates.0", question),
        ("of-a-name", 1, "question.sha256", question),
        ("of-its-own", 13, "reason", question),
        ("of-what-comes-later", 14, "note", question),
    ):
        yield bad(
            f"erased-{name}", "8.missing", 1, why, export(redact(record, seq, field, blob=blob))
        )
        yield bad(
            f"erased-{name}-but-there",
            "20.blob",
            13,
            why,
            export(redact(record, seq, field, blob=blob, kept=True)),
        )
    yield bad(
        "erased-unknown-but-there",
        "20.blob",
        13,
        "It names a text that no entry names.",
        export(redact(record, blob=NOBODY)),
    )
    yield bad(
        "erased-twice",
        "20.blob",
        14,
        "A text is erased once.",
        export(redact(redact(record), by=(BEN,))),
        TWO,
    )
    twice = noted(record)
    yield bad(
        "erased-under-a-hold",
        "9.not_due",
        14,
        "A hold stands, and nothing may be erased.",
        export(redact(hold(record))),
    )
    yield bad(
        "erased-before-the-close",
        "9.not_due",
        12,
        "A debate that is open is not erased from.",
        export(redact(record.until(11))),
    )
    yield bad(
        "erased-over-an-earlier-head",
        "8.missing",
        1,
        "It names an entry before the close.",
        export(redact(record, head=record.event(12)["prev"])),
    )
    yield good(
        "erased-over-a-head-before",
        "It was signed over the close, and an outcome was noted since.",
        export(redact(noted(record, None), head=twice.event(13)["prev"])),
    )
    gone, before = redact(record), digest(record.lines[-1])
    for kind, code, made in (
        ("review", "19.head", review(gone, by=BEN, head=before)),
        ("outcome", "20.head", noted(gone, None, head=before)),
        ("redaction", "8.missing", redact(gone, 1, "review", (BEN,), head=before)),
    ):
        seq = 1 if kind == "redaction" else 14
        yield bad(
            f"erased-since-a-{kind}",
            code,
            seq,
            "It is signed over the record as it was before a text was erased.",
            export(made),
            TWO,
        )
    yield from forged(record, other)


def forged(record: Record, other: str) -> Iterator[Case]:
    """Redactions whose signatures are not over them, or not in order."""
    right = redact(record)
    data = right.event(13)["data"]
    said = {name: value for name, value in data.items() if name != "signatures"}
    debate = record.event(1)["debate"]
    elsewhere = voting("redacted-elsewhere", {"ann": "a", "ben": "a"}).event(1)["debate"]
    both = signed(said, debate, (ANN, BEN))
    careless = Careless(ANN.name, ANN.private)
    for name, code, rows in (
        ("altered-value", "20.signature", signed(said, debate, (careless,))),
        ("of-another-text", "20.signature", signed({**said, "blob": other}, debate, (ANN,))),
        ("replayed", "20.signature", signed(said, elsewhere, (ANN,))),
        ("half-signed", "20.signature", [both[0], {**both[1], "value": both[0]["value"]}]),
        ("out-of-order", "20.signatures", both[::-1]),
        ("by-one-key-twice", "20.signatures", [both[0], both[0]]),
        ("by-one-key-renamed", "20.signatures", signed(said, debate, (ANN, RENAMED))),
    ):
        made = redact(record, signatures=rows)
        why = "A signature is not over this redaction, so it explains nothing."
        if code == "20.signatures":
            why = "Signatures are sorted by key, and no public key signs twice."
        yield bad(f"erased-{name}", "8.missing", 1, why, export(made), TWO)
        there = redact(record, signatures=rows, kept=True)
        yield bad(f"erased-{name}-but-there", code, 13, why, export(there), TWO)
    there = redact(record, kept=True)
    for name, change in (
        ("unsigned", {"signatures": []}),
        ("by-four", {"signatures": [data["signatures"][0]] * 4}),
        ("without-a-reason", {"reason": None}),
        ("of-entry-0", {"seq": 0}),
    ):
        why = "A redaction has a reason, a place, and one to three signatures."
        yield bad(f"erased-{name}", "7.schema", 13, why, export(there.data(13, **change)))
