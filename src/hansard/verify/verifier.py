"""The verifier: every check over the bytes of one record, one after another (FORMAT.md §10).

It reads bytes and nothing else: no store, no clock, no network. No computed
result is taken on trust: all of them are recomputed. A check is `pass`,
`fail`, `unchecked` (what it rests on is gone or was not reached) or
`unsupported` (there is nothing here to check it on); only `fail` makes a
record ALTERED. `vocabulary/checks.json` names the checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hansard import vocabulary
from hansard.errors import DataError
from hansard.record import bundle as bundles
from hansard.record import page as pages
from hansard.record.bundle import Bundle
from hansard.record.checkpoint import Checkpoint
from hansard.record.keys import Trust
from hansard.rules.review import SETTLED
from hansard.verify import people
from hansard.verify.checks import STEPS
from hansard.verify.envelope import files_of
from hansard.verify.findings import (
    CHECKS,
    Check,
    Finding,
    Place,
    Status,
    Verification,
    checks_of,
    finding,
    told,
    verdict_of,
)
from hansard.verify.reading import Reading
from hansard.verify.register import is_anchored, place_of

MOST_LISTED = 1000  # findings of a check: a hostile record may have nothing else
MOST_EVIDENCE = 1 << 20  # bytes of it in JSON, past which no more of them is listed


def verify(bundle: Bundle, trust: Trust | None = None) -> Verification:
    """Check everything that a record in a store can show; never raises for bad bytes.

    `trust` names the keys whose reviews count.
    """
    return _verify(Reading(bundle, trust=trust or Trust()))


def verify_export(
    export: bytes | Mapping[str, bytes], trust: Trust, since: Checkpoint | None = None
) -> Verification:
    """Check an export against the keys that its reader trusts; never raises for bad bytes.

    `export` is the bytes of a zip or of a page, or the files of a folder by
    name; `since` a checkpoint that the reader kept. The level reached is in the
    result; whether it is enough is for the caller to say.
    """
    try:
        files = files_of(export)
        bundle = bundles.of_files(files)
    except DataError as error:
        return _refused(finding(error.code, 0, found=error.found))
    of_page = isinstance(export, bytes) and pages.is_page(export)
    return _verify(Reading(bundle, files, trust, since, of_page=of_page))


def _verify(reading: Reading) -> Verification:
    findings, counts, said = list[Finding](), Counter[int](), Counter[int]()
    for found in (found for step in STEPS for found in step(reading)):
        counts[found.check] += 1
        if counts[found.check] <= MOST_LISTED and said[found.check] <= MOST_EVIDENCE:
            findings.append(found)
            said[found.check] += found.size
    people.look(reading)
    findings.sort(key=lambda found: (found.seq, found.check, found.code))
    place = place_of(reading)
    anchored = place is not None and is_anchored(place, reading.trust.witnesses)
    level = None if findings else int(reading.trusted) + (reading.trusted and anchored)
    return Verification(
        debate=reading.events[0]["debate"] if reading.events else None,
        entries=len(reading.bundle.lines),
        open=_is_open(reading),
        level=level,
        verdict=verdict_of(level),
        caveats=list(_caveats(reading, level, place)),
        texts=reading.counted,
        checks=sorted(_checks(reading, findings, counts), key=lambda row: row.number),
        findings=findings,
        place=place,
    )


def _refused(found: Finding) -> Verification:
    """Return the result for a container that is refused: one check, and no other."""
    reading = Reading(Bundle([], {}, {}))
    why = vocabulary.passed(1, "refused")
    reading.aside = dict.fromkeys(CHECKS, ("unchecked", why))
    return Verification(
        debate=None,
        entries=0,
        open=True,
        level=None,
        verdict=verdict_of(None),
        caveats=[],
        texts=reading.counted,
        checks=list(_checks(reading, [found], Counter([found.check]))),
        findings=[found],
    )


def _checks(
    reading: Reading, findings: Sequence[Finding], counts: Mapping[int, int]
) -> Iterator[Check]:
    """Yield each check with its status: what has findings fails, whatever else it is."""
    for number, name in checks_of(*reading.more).items():
        row: tuple[Status, str] = ("pass", reading.evidence.get(number, ""))
        failed = [found for found in findings if found.check == number]
        if failed:
            row = ("fail", told(failed, counts[number]))
        else:
            row = reading.aside.get(number) or _resting(reading, number) or row
        yield Check(number=number, name=name, status=row[0], evidence=row[1])


def _resting(reading: Reading, number: int) -> tuple[Status, str] | None:
    """Return why a check is unchecked that rests on what is gone or was not reached."""
    rests_on, replay = vocabulary.checks()[number].get("rests_on", ()), reading.replay
    why = vocabulary.words("unchecked")
    if "walk" in rests_on and (replay is None or reading.walked < len(reading.events)):
        words = vocabulary.fill(why["walk"], walked=reading.walked, entries=reading.entries)
        return ("unchecked", words)
    if replay and replay.gone and "replies" in rests_on:
        gone = vocabulary.many(len(replay.gone), "reply")
        return ("unchecked", vocabulary.fill(why["replies"], gone=gone))
    if replay and replay.uncited and "documents" in rests_on:
        return ("unchecked", why["documents"])
    if replay and replay.ungated and "answer" in rests_on:
        return ("unchecked", why["answer"])
    return None


def _is_open(reading: Reading) -> bool:
    """Say whether a debate was not closed, as far as the record could be followed."""
    return reading.replay is None or not reading.replay.state.ended


def _caveats(reading: Reading, level: int | None, place: Place | None) -> Iterator[str]:
    """Yield what a reader of the verdict alone would miss (FORMAT.md §16)."""
    said, replay, counted = vocabulary.words("caveats"), reading.replay, reading.counted
    if level is not None and _is_open(reading):
        yield said["open"]
    if counted.present < counted.named:
        yield str(counted)
    if replay and replay.unread:
        turns = vocabulary.many(len(replay.state.turns), "turn")
        yield vocabulary.fill(said["turns"], gone=len(replay.unread), turns=turns)
    if level is not None and place:
        yield vocabulary.fill(said["logged"], line=place.head, size=place.size)
    elif level is not None and reading.files is not None:
        yield said["register"]
    if level is not None and reading.since and not (place and place.kept == "same"):
        yield said["kept"]
    if level is not None and reading.review and reading.review.state not in SETTLED:
        yield vocabulary.fill(said["review"], state=reading.review.state)
