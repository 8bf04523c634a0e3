"""The limits of FORMAT.md §10.2: a record at a bound, and one past it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance_kit.case import Case, bad, good, group
from conformance_kit.debates import decided
from conformance_kit.exports import ABOUT, export, seal, zip_of
from conformance_kit.judged import few, naming
from conformance_kit.moderated import HOLDS, POSITIONS, moderated, moderating, proposed
from conformance_kit.records import Data, Record, derived, digest, dump
from hansard.record import blob
from hansard.runtime.models.base import Completion

MIB = 1 << 20


def documented(*sizes: int) -> Record:
    """Return an opening with documents of these sizes, in bytes, and nothing after it."""
    base = moderated().until(7)
    record = base.data(1, documents=len(sizes)).without(7)
    for seq, size in enumerate(sizes, 7):
        name, file = blob.pack("d" * size, derived("document", seq))
        data = {"document": f"d{seq}", "text": {"sha256": name}, "from_round": 1}
        data |= {"source": None, "original": None}
        record = record.insert(seq, "evidence.admitted", data)
        record = replace(record, blobs={**record.blobs, name: file})
    return record


def argued(stance: str) -> Record:
    """Return a debate with this as a stance, in entry 2; a function judges, and names none."""
    wait = {"id": "ben", "label": "wait", "stance": "Wait."}
    seats = [{"id": "ann", "label": "ship", "stance": stance}, wait]
    return naming("large", "neither", debaters=seats)


def with_stance(text: str) -> Record:
    """Return an opening with this as the stance of entry 2, as long as no spec has it."""
    record = argued("Ship it.").until(4)
    stance = record.event(2)["data"]["stance"]
    name, file = blob.pack(text, derived("stance"))
    record = replace(record, blobs={**record.blobs, name: file})
    return record.data(2, stance=stance | {"text": {"sha256": name}}).pruned()


def answered(size: int) -> Record:
    """Return a record that ends with a reply of so many bytes, most of them white space."""
    base = decided()
    seq = base.seq("call.answered")
    name = base.event(seq)["data"]["reply"]["sha256"]
    said = blob.unpack(base.blobs[name])
    return base.text(seq, "reply", said.ljust(size)).until(seq)


def cited(number: int) -> Completion:
    """Return a proposition with so many citations, ten an argument."""
    whole, rest = divmod(number, 10)
    return proposed(*[[HOLDS] * 10] * whole, *[[HOLDS] * rest] * bool(rest))


def full(before: int, *last: tuple[str, Data]) -> Record:
    """Return a record that was resumed until it had so many entries, and what comes `last`."""
    base = few().until(0)
    resumed: tuple[str, Data] = ("debate.resumed", {"engine": "conformance/1"})
    entries = [resumed] * (before - len(base.lines))
    lines, prev = [*base.lines], digest(base.lines[-1])
    shared = {**base.event(1), "at": base.event(4)["at"]}
    for kind, data in (*entries, *last):
        event = {**shared, "type": kind, "data": data}
        lines.append(dump({**event, "prev": prev, "seq": len(lines) + 1}))
        prev = digest(lines[-1])
    return replace(base, lines=tuple(lines)).pruned()


def cut_short(spent: int, limit: int = 99_000) -> Record:
    """Return a record that is cut short for want of room after so many entries."""
    numbers = {"limit": limit, "spent": spent, "reserved": 1, "by": None, "reason": None}
    cut = {"step": "r1.argument.ann", "ceiling": "entries", **numbers}
    close = {"outcome": "truncated", "reason": "entries_ceiling"}
    return full(spent, ("debate.truncated", cut), ("debate.closed", close))


def started(before: int) -> Record:
    """Return a record that ends with a call after so many entries."""
    return full(before, ("call.started", few().event(5)["data"]))


def at_the_bound(limit: int) -> list[tuple[Record, list[str]]]:
    """Return records that are full, and one past it or short of it, with the codes found."""
    return [
        (cut_short(limit, limit), []),
        (cut_short(limit - 1, limit), ["9.not_due"]),
        (started(limit - 1), []),
        (started(limit), ["15.ceiling"]),
    ]


@group
def limit_cases() -> Iterator[Case]:
    """Numbers of entries, and sizes of documents and replies."""
    lines, more = ({"VERIFY.md": ABOUT, "events.jsonl": b"{}\n" * (100_000 + n)} for n in (0, 1))
    yield bad(
        "limit-entries",
        "7.schema",
        1,
        "100,000 entries are read, whatever they are.",
        zip_of(seal(lines)),
    )
    yield bad(
        "limit-entries-past",
        "4.entries",
        0,
        "Of 100,001 entries none is read.",
        zip_of(seal(more)),
    )
    yield good("limit-document", "A document has 2 MiB.", zip_of(export(documented(1, 2 * MIB))))
    yield bad(
        "limit-document-past",
        "8.size",
        8,
        "A document has 2 MiB and one byte.",
        zip_of(export(documented(1, 2 * MIB + 1))),
    )
    yield good("limit-reply", "A reply has 1 MiB.", zip_of(export(answered(MIB))))
    yield bad(
        "limit-reply-past",
        "12.size",
        answered(MIB).seq("call.answered"),
        "A reply has 1 MiB and one byte, though of white space.",
        zip_of(export(answered(MIB + 1))),
    )
    ten = {"r1.proposition.proposer:1": proposed([HOLDS] * 10)}
    yield good(
        "limit-citations",
        "An argument has ten citations; one more is in `rejected-by-every-keyword`.",
        zip_of(export(moderating("ten-citations", ten))),
    )
    for key, first, most, fields in (
        ("reply", "r1.proposition.proposer:1", 500, {}),
        ("reply-of-two", "r1.proposition.ann:1", 250, {"positions": POSITIONS}),
    ):
        counts = moderating(f"cited-{key}", {first: cited(most)}, **fields)
        yield good(
            f"limit-citations-of-a-{key}",
            f"A reply has {most} citations.",
            zip_of(export(counts)),
        )
        rejected = moderating(f"cited-{key}-past", {first: cited(most + 1)}, **fields)
        yield good(
            f"limit-citations-of-a-{key}-past",
            f"A reply has {most + 1} citations, and is rejected.",
            zip_of(export(rejected)),
        )
        seq = counts.seq("call.answered", 2)
        yield bad(
            f"limit-citations-of-a-{key}-accepted",
            "9.not_due",
            seq + 1,
            f"A reply has {most + 1} citations, and counts.",
            zip_of(export(counts.text(seq, "reply", cited(most + 1).text))),
        )
