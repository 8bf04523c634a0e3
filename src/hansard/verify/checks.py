"""The checks in the order in which they are made, and those of bytes: 4 to 8, and 10 in part.

One function for each check, or for several that read the same: it yields its
findings, and leaves in the reading what later checks need. STEPS, at the end,
is all of them; `envelope` has 1 to 3 and `rules` those of the walk (FORMAT.md §10).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256

from hansard.errors import DataError
from hansard.record import blob
from hansard.record.bundle import Head
from hansard.record.line import GENESIS, MAX_ENTRIES, line_hash
from hansard.record.policy import parse as parse_policy
from hansard.rules.data import OpenedData
from hansard.rules.events import Event, blob_names, parse
from hansard.rules.fields import Blob
from hansard.verify.envelope import check_manifest, check_signatures
from hansard.verify.findings import Finding, Texts, finding
from hansard.verify.people import check_redactions, read_redactions
from hansard.verify.policies import check_policy
from hansard.verify.reading import Reading
from hansard.verify.register import check_register
from hansard.verify.rules import check_rules
from hansard.verify.sources import check_sources

MAX_DOCUMENT = 1 << 21  # bytes of a document's text, and of all of them (FORMAT.md §10.2)
MAX_DOCUMENTS = 20 << 20
MAX_ORIGINAL = 11_184_812  # bytes of a file's base64, here of 8 MiB, and of all of them, 64 MiB
MAX_ORIGINALS = 89_478_488
MAX_WORDS = 16_000_000  # of a text that is compared word by word
MAX_REPLY = 1 << 20


def check_entries(reading: Reading) -> Iterator[Finding]:
    """Checks 4 and 7: read every entry; the events stop at the first one that is rejected."""
    lines = reading.bundle.lines
    if len(lines) > MAX_ENTRIES:  # none is read
        reading.whole = False
        yield finding("4.entries", 0, expected=MAX_ENTRIES, found=len(lines))
        lines = ()
    for seq, line in enumerate(lines, 1):
        try:
            event = parse(line)
        except DataError as error:
            reading.whole = False
            yield finding(error.code, seq, found=str(error))
        else:
            if reading.whole:
                reading.events.take(event)
    for check in (4, 7):
        reading.say(check, read=len(reading.events), entries=reading.entries)


def check_chain(reading: Reading) -> Iterator[Finding]:
    """Check 5: links, sequence, one debate, and what is kept beside the entries: id and head.

    A broken link is reported at the entry before it: that is the one whose
    bytes no longer have the hash that was recorded.
    """
    lines, events, head = reading.bundle.lines, reading.events, reading.bundle.head
    first = events[0]["debate"] if events else None
    before, debate = GENESIS, reading.bundle.debate or first
    for seq, (line, event) in enumerate(zip(lines, events, strict=False), 1):
        prev = event["prev"]
        if prev != before and seq == 1:
            yield finding("5.prev", 0, expected=GENESIS, found=prev, variant="first")
        elif prev != before:
            yield finding("5.prev", seq - 1, expected=prev, found=before)
        if event["seq"] != seq:
            yield finding("5.seq", seq, expected=seq, found=event["seq"])
        if event["debate"] != debate:
            yield finding("5.debate", seq, expected=debate, found=event["debate"])
        before = line_hash(line)
    if not lines:
        yield finding("5.empty", 0)
    elif head is not None:
        yield from _against_head(lines[-1], len(lines), head)
    reading.say(5, "head" if head else "text", read=len(events), entries=reading.entries)


def _against_head(last: bytes, length: int, head: Head) -> Iterator[Finding]:
    if head.length != length:
        yield finding("5.length", length, expected=head.length, found=length)
    elif head.hash != (found := line_hash(last)):
        yield finding("5.head", length, expected=head.hash, found=found)


def check_time(reading: Reading) -> Iterator[Finding]:
    """Check 6: no entry is dated before an entry before it."""
    latest = ""
    for seq, event in enumerate(reading.events, 1):
        if event["at"] < latest:
            yield finding("6.order", seq, expected=latest, found=event["at"])
        latest = max(latest, event["at"])
    if reading.events:
        reading.say(6, first=reading.events[0]["at"], last=reading.events[-1]["at"])
    else:
        reading.say(6, "empty")


def check_blobs(reading: Reading) -> Iterator[Finding]:
    """Check 8: every text named is there, is what its name says, and no other one is.

    A text that is withheld need not be there, and is not read. Only where
    every entry could be read can a text be called unnamed.
    """
    read_redactions(reading)
    blobs, withheld, explained = reading.bundle.blobs, reading.withheld, reading.explained
    erased = {row.data["blob"] for row, _ in reading.redactions if not row.faulty}
    places = _places(reading.events)
    named, reused = places.all, places.reused
    salts: set[bytes] = set()
    totals = Counter[str]()  # of the documents and of the originals so far
    for name, seq in named.items():
        file = blobs.get(name)
        if name in reused:
            yield finding("8.reused", reused[name], found=name)
        if file is None:
            if name not in withheld | explained:
                variant = "unexplained" if name in erased else ""
                yield finding("8.missing", seq, expected=name, variant=variant)
            continue
        wrong = _wrong(name, file, seq, salts)
        if name in erased and not wrong:
            wrong = finding("8.erased", seq, found=name)
        if wrong:
            yield wrong
        elif name not in withheld:
            size = len(file) - blob.HEADER
            over = [*_oversize(name, size, places, totals)]
            yield from over
            if not over and name not in reused:
                reading.texts.add(name)
    for name in sorted(blobs.keys() - named) if reading.whole else ():
        yield finding("8.unnamed", 0, found=name)
    present, kept = len(reading.texts), len(named.keys() & withheld)
    gone = named.keys() - blobs.keys() - withheld
    missing = len(gone - explained)
    damaged = len(named) - present - kept - len(gone)
    reading.counted = Texts(
        named=len(named),
        present=present,
        withheld=kept,
        erased=len(gone) - missing,
        missing=missing,
        damaged=damaged,
    )
    reading.say(8, "text" if present == len(named) else "gone", texts=reading.counted)


@dataclass(slots=True)
class _Places:
    """Which entry names each text first: as anything, and as what is bounded in size.

    And which is answered with a text that an earlier one names: each reply has a salt of its
    own, and is read as often as a call is answered with it.
    """

    all: dict[str, int] = field(default_factory=dict)
    documents: dict[str, int] = field(default_factory=dict)
    originals: dict[str, int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    replies: dict[str, int] = field(default_factory=dict)
    reused: dict[str, int] = field(default_factory=dict)


def _places(events: Iterable[Event]) -> _Places:
    places = _Places()
    for seq, event in enumerate(events, 1):
        for name in blob_names(event):
            places.all.setdefault(name, seq)
        if in_words := _in_words(event):
            places.words.setdefault(in_words["sha256"], seq)
        if event["type"] == "evidence.admitted":
            original = event["data"]["original"]
            places.documents.setdefault(event["data"]["text"]["sha256"], seq)
            if original:
                places.originals.setdefault(original["sha256"], seq)
        elif event["type"] == "call.answered":
            reply = event["data"]["reply"]["sha256"]
            places.replies.setdefault(reply, seq)
            if places.all[reply] != seq:
                places.reused.setdefault(reply, seq)
    return places


def _in_words(event: Event) -> Blob | None:
    """Return the text of an entry that is compared word by word: a stance, a gate's answer."""
    if event["type"] == "debater.registered":
        stance = event["data"]["stance"]
        return stance["text"] if stance else None
    if event["type"] in ("debate.opened", "gate.answered"):
        gate = event["data"]["gate"]
        return gate["answer"] if gate else None
    return None


def _wrong(name: str, file: bytes, seq: int, salts: set[bytes]) -> Finding | None:
    """Return what is wrong with a blob, if anything; its salt joins `salts` (FORMAT.md §10)."""
    found = blob.blob_name(file)
    if found != name:
        return finding("8.hash", seq, expected=name, found=found)
    header = file[: blob.HEADER]
    known = header in salts
    salts.add(header)
    try:
        blob.check(file)
    except DataError as error:
        return finding(error.code, seq, found=name)
    return finding("8.salt", seq, found=name) if known else None


def _oversize(name: str, size: int, places: _Places, totals: Counter[str]) -> Iterator[Finding]:
    """Yield what is too large of a text of `size` bytes, which joins the totals of its kind.

    A text that is too large is gone. One that is several of them has one finding.
    """
    bounds = (
        ("documents", places.documents.get(name), MAX_DOCUMENT, MAX_DOCUMENTS),
        ("originals", places.originals.get(name), MAX_ORIGINAL, MAX_ORIGINALS),
    )
    over = []
    for kind, place, most, most_of_all in bounds:
        if place:
            totals[kind] += size
            one = (most, size) if size > most else (most_of_all, totals[kind])
            over += [(place, *one)] if one[1] > one[0] else []
    words = places.words.get(name)
    if words and size > MAX_WORDS:
        over.append((words, MAX_WORDS, size))
    for place, most, found in over[:1]:
        yield finding("8.size", place, expected=most, found=found)
    reply = places.replies.get(name)
    if reply and size > MAX_REPLY:
        yield finding("12.size", reply, expected=MAX_REPLY, found=size)


def check_templates(reading: Reading) -> Iterator[Finding]:
    """Check 10, first half: templates, schemas, tools and policy are those of the opening.

    Where an entry was rejected they are read all the same, for the signature of the policy.
    """
    opened = reading.opened
    if not reading.begins:
        return
    if opened and opened["policy"] is not None:
        with suppress(KeyError, DataError):
            policy = parse_policy(reading.bundle.policies[opened["policy"]])
            reading.policy = policy if policy.hash == opened["policy"] else None
    if reading.whole:
        yield from _against_opening(reading, opened)
    reading.say(10)


def _against_opening(reading: Reading, opened: OpenedData | None) -> Iterator[Finding]:
    """Compare templates and policies with an opening; without one, nothing names any."""
    templates, policies = reading.bundle.templates, reading.bundle.policies
    rows, policy = list[tuple[str, str]](), None
    if opened:
        policy = opened["policy"]
        rows += [(row["sha256"], row["role"]) for row in (*opened["templates"], *opened["schemas"])]
        rows += [(row["sha256"], row["tool"]) for row in opened["tools"]]
    named = dict(reversed(rows))  # by hash, under the first name that it has
    for digest in dict(rows):
        body, name = templates.get(digest), named[digest]
        if body is None:
            yield finding("10.missing", 1, expected=digest, name=name)
        elif (found := sha256(body).hexdigest()) != digest:
            yield finding("10.hash", 1, expected=digest, found=found, name=name)
    for name in sorted((*templates.keys() - named, *policies.keys() - {policy})):
        yield finding("10.unnamed", 0, found=name)
    if policy is not None and reading.policy is None:
        yield finding("10.policy", 1, expected=policy)


STEPS: tuple[Callable[[Reading], Iterator[Finding]], ...] = (
    check_manifest,  # 2, once 1 could be read
    check_entries,  # 4 and 7: a rejected entry leaves 9 to 16 unchecked
    check_chain,  # 5
    check_time,  # 6
    check_templates,  # 10, of the files
    check_register,  # 17
    check_signatures,  # 3: by the keys in force when the debate was opened
    check_blobs,  # 8: who signed says whose word is enough for a text that was erased
    check_sources,  # 8, of what the texts say of each other
    check_rules,  # 9 to 16
    check_redactions,  # 20, of the texts that were erased
    check_policy,  # 18, and 10 of texts
)
