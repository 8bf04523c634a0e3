"""Many records, one after the other: what is found of all, without keeping any (FORMAT.md §20).

Of each record a name is kept and no more, so memory does not grow with what the records hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import Field

from hansard import vocabulary
from hansard.errors import DataError
from hansard.record import folder as folders
from hansard.record import note as notes
from hansard.record.keys import Signing, Trust, who_signed
from hansard.record.note import Note
from hansard.verify.findings import (
    REPORT,
    Check,
    Finding,
    Result,
    Status,
    Verdict,
    Verification,
    checks_of,
    finding,
    told,
    verdict_of,
)
from hansard.verify.recount import Part, Recount
from hansard.verify.verifier import MOST_LISTED


class Verified(Result):
    """One of many records, and what verifying it found."""

    name: str = Field(description="The file in the folder, or the debate's id in the store")
    error: str | None = Field(
        default=None, description="Why it cannot be read at all; null where it can"
    )
    result: Verification | None = Field(
        default=None, description="What was found of it; null where it cannot be read"
    )

    @property
    def verdict(self) -> Verdict:
        """In words; what cannot be read is ALTERED, for it was a record once."""
        return self.result.verdict if self.result else verdict_of(None)


class Verifications(Result):
    """The result of verifying many records: as good as the worst of them, and as their folder."""

    records: int = Field(description="How many were looked at")
    counts: dict[Verdict, int] = Field(description="How many have each verdict")
    level: int | None = Field(description="The lowest that any reached; null where a check failed")
    verdict: Verdict = Field(description="In words, that of this level")
    caveats: list[str] = Field(description="What a reader of the verdict alone would miss")
    checks: list[Check] = Field(description="Those of the folder; of a store there are none")
    findings: list[Finding] = Field(description="Of the folder, the records that do not hold too")

    @property
    def ok(self) -> bool:
        """Whether every check of every record holds."""
        return self.level is not None


class Seen(NamedTuple):
    """A record as it was seen: of a file its SHA-256; of one that holds its first and last time.

    And what it counts in a report, where one is compared.
    """

    record: Verified
    sha256: str | None = None
    first: str | None = None
    last: str | None = None
    part: Part | None = None


@dataclass(frozen=True, slots=True)
class Folder:
    """What lies in a folder of exports: the list, the names, the hashes of what is no export.

    `strange` are the names that do not belong, which nobody opened.
    """

    sums: bytes | None
    exports: Collection[str]
    others: Mapping[str, str] = field(default_factory=dict)
    strange: Collection[str] = ()


class Gathering:
    """Takes in what was seen of each record, in any order, and says what is found of all."""

    def __init__(
        self, trust: Trust, folder: Folder | None = None, report: Recount | None = None
    ) -> None:
        self._trust = trust
        self._folder = folder
        self._report = report
        self._counts = Counter[Verdict]()
        self._levels = set[int | None]()
        self._caveats = 0
        self._first = self._last = ""  # the latest opening, and the latest last entry
        self._findings: list[Finding] = []
        self._found = Counter[int]()
        self._note: Note | None = None
        self._listed: Mapping[str, str] | None = None
        if folder:
            self._take(*self._of_folder(folder))

    def add(self, seen: Seen) -> None:
        """Take in one record."""
        record, result = seen.record, seen.record.result
        self._counts[record.verdict] += 1
        self._levels.add(result.level if result else None)
        self._caveats += bool(result and result.own_caveats)
        self._take(*self._of_record(record))
        if result and result.ok:
            self._first = max(self._first, seen.first or "")
            self._last = max(self._last, seen.last or "")
        if self._report and seen.part:
            self._report.add(seen.part)
        if self._folder and seen.sha256:
            self._take(*self._hashed(record.name, seen.sha256))

    def result(self) -> Verifications:
        """Return what is found of all records that were taken in."""
        signing = self._signing()
        reported = self._report.signing(self._last) if self._report else None
        if self._report and reported:
            self._take(*self._report.findings(reported))
        findings = list(self._findings)
        if signing.forged:
            findings.append(finding("3.signature", 0, found=signing.forged, name=signing.forged))
        findings.sort(key=lambda row: (row.check, row.code, row.message))
        level = None if findings else min((row or 0 for row in self._levels), default=0)
        if level and self._folder and not (signing.trusted and (not reported or reported.trusted)):
            level = 0
        return Verifications(
            records=self._counts.total(),
            counts=dict(self._counts),
            level=level,
            verdict=verdict_of(level),
            caveats=list(self._said()),
            checks=list(self._checks(findings, signing, reported)) if self._folder else [],
            findings=findings,
        )

    def _take(self, *findings: Finding) -> None:
        for found in findings:
            self._found[found.check] += 1
            if self._found[found.check] <= MOST_LISTED:
                self._findings.append(found)

    def _of_record(self, record: Verified) -> Iterator[Finding]:
        name = record.name
        if record.result is None:
            yield finding("1.export", 0, found=name, name=name)
        elif not record.result.ok:
            yield finding("1.record", 0, found=name, name=name)
        elif self._folder and folders.name_of(record.result.debate or "") != name:
            expected = folders.name_of(record.result.debate or "")
            yield finding("1.debate", 0, expected=expected, found=name, name=name)

    def _of_folder(self, folder: Folder) -> Iterator[Finding]:
        """Yield what is wrong with the names and the list, before any export is read."""
        for name in sorted(folder.strange):  # one need not be UTF-8
            spelled = name.encode("utf-8", "backslashreplace").decode()
            yield finding("1.name", 0, found=spelled)
        if folder.sums is None:
            yield finding("2.missing", 0)
            return
        try:
            self._note = notes.parse(folder.sums)
            self._listed = folders.parse(self._note.text)
        except DataError:
            yield finding("2.malformed", 0)
            return
        there = {*folder.exports, *folder.others}
        for name in sorted(self._listed.keys() - there):
            yield finding("2.absent", 0, expected=name, name=name)
        for name in sorted(there - self._listed.keys()):
            yield finding("2.unlisted", 0, found=name, name=name)
        for name, found in folder.others.items():
            yield from self._hashed(name, found)

    def _hashed(self, name: str, found: str) -> Iterator[Finding]:
        expected = (self._listed or {}).get(name, found)
        if found != expected:
            yield finding("2.hash", 0, expected=expected, found=found, name=name)

    def _signing(self) -> Signing:
        """Say who signed the list: nobody did before the latest entry that it covers."""
        if self._note is None:
            return Signing(False, vocabulary.words("signers")["unread"])
        first, last = self._first or None, self._last or None
        return who_signed(self._note, "export", self._trust, first, last)

    def _checks(
        self, findings: Sequence[Finding], signing: Signing, reported: Signing | None
    ) -> Iterator[Check]:
        """Yield the checks of a folder: all of its exports, its list, who signed that, a report."""
        listed = vocabulary.many(len(self._listed or ()), "file")
        rows: dict[int, tuple[Status, str]] = {
            1: ("pass", vocabulary.passed(1, "many", records=self._records)),
            2: ("pass", vocabulary.passed(2, files=listed)),
            3: ("pass" if signing.trusted else "unchecked", f"manifest {signing.words}"),
        }
        if self._report and reported:
            status: Status = "pass" if reported.trusted else "unchecked"
            rows[REPORT] = (status, self._report.evidence(reported))
        names = checks_of(*rows)
        for number, (status, words) in rows.items():
            failed = [found for found in findings if found.check == number]
            said = told(failed, max(self._found[number], len(failed))) if failed else words
            yield Check(
                number=number,
                name=names[number],
                status="fail" if failed else status,
                evidence=said,
            )

    @property
    def _records(self) -> str:
        return vocabulary.many(self._counts.total(), "record")

    def _said(self) -> Iterator[str]:
        words = vocabulary.words("caveats")
        if self._caveats:
            yield vocabulary.fill(words["some"], some=self._caveats, records=self._records)
        if self._folder and None not in self._levels:
            yield words["register"]
