"""Many records, one after the other: what is found of all, without keeping any (FORMAT.md §20).

Of each record a name is kept and no more, so memory does not grow with what the records hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import Field

from hansard import vocabulary
from hansard.closed import Closed
from hansard.errors import DataError
from hansard.record import folder as folders
from hansard.record import note as notes
from hansard.record.keys import Signing, Trust, who_signed
from hansard.record.note import Note
from hansard.record.register import tag
from hansard.verify.envelope import signed_by
from hansard.verify.findings import (
    REGISTER,
    REPORT,
    Check,
    Finding,
    Status,
    Verdict,
    Verification,
    checks_of,
    finding,
    told,
    verdict_of,
)
from hansard.verify.recount import Part, Recount
from hansard.verify.register import cosigners
from hansard.verify.registers import RegisterCheck, check_export
from hansard.verify.verifier import MOST_LISTED


class Verified(Closed):
    """One of many records, and what verifying it found."""

    name: str = Field(description="The file in the folder, or the debate's id in the store")
    error: str | None = Field(
        default=None, description="Why it cannot be read at all; null where it can"
    )
    level: int | None = Field(
        default=None,
        description="What it reaches here: beside its own level, 2 where it is at 1 and agrees "
        "with the register of its folder, which a trusted key signed and somebody outside saw",
    )
    result: Verification | None = Field(
        default=None, description="What was found of it alone; null where it cannot be read"
    )

    @property
    def verdict(self) -> Verdict:
        """In words; what cannot be read is ALTERED, for it was a record once."""
        return verdict_of(self.level)


class Verifications(Closed):
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

    `entries` are the hashes of all entries of an export that holds, in order; `part` is what it
    counts in a report, where one is compared.
    """

    name: str
    result: Verification | None = None
    error: str | None = None  # why it cannot be read
    sha256: str | None = None
    first: str | None = None
    last: str | None = None
    entries: Sequence[str] = ()
    part: Part | None = None


@dataclass(frozen=True, slots=True)
class Folder:
    """What lies in a folder of exports: the list, the names, the hashes of what is no export.

    `strange` are the names that do not belong, which nobody opened. `register` is what was
    found of the register, where all of its files are there; `since` the number of lines under
    the checkpoint that the reader kept, if they did.
    """

    sums: bytes | None
    exports: Collection[str]
    others: Mapping[str, str] = field(default_factory=dict)
    strange: Collection[str] = ()
    register: RegisterCheck | None = None
    since: int | None = None


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
        self._caveats = self._compared = 0
        self._first = self._last = ""  # the latest opening, and the latest last entry
        self._findings: list[Finding] = []
        self._found = Counter[int]()
        self._note: Note | None = None
        self._listed: Mapping[str, str] | None = None
        if folder:
            self._take(self._of_folder(folder))

    def add(self, seen: Seen) -> Verified:
        """Take in one record, and return what is to be said of it."""
        result, level = seen.result, seen.result.level if seen.result else None
        self._caveats += bool(result and result.own_caveats)
        self._take(self._of_record(seen))
        if result and result.ok:
            self._first = max(self._first, seen.first or "")
            self._last = max(self._last, seen.last or "")
            if self._agrees(seen, result) and level == 1:
                level = 2
        if self._report and seen.part:
            self._report.add(seen.part)
        if self._folder and seen.sha256:
            self._take(self._hashed(seen.name, seen.sha256))
        record = Verified(name=seen.name, error=seen.error, level=level, result=result)
        self._counts[record.verdict] += 1
        self._levels.add(level)
        return record

    def result(self) -> Verifications:
        """Return what is found of all records that were taken in."""
        signings = list(self._signings())
        for code, _, signing in signings:
            if signing.forged:
                self._take([finding(code, 0, found=signing.forged, name=signing.forged)])
        reported = self._report.signing(self._last) if self._report else None
        if self._report and reported:
            self._take(self._report.findings(reported))
        findings = sorted(
            self._findings, key=lambda row: (row.seq, row.check, row.code, row.message)
        )
        level = None if findings else min((row or 0 for row in self._levels), default=0)
        trusted = all(signing.trusted for _, _, signing in signings)
        if level and not (trusted and (not reported or reported.trusted)):
            level = 0
        return Verifications(
            records=self._counts.total(),
            counts=dict(self._counts),
            level=level,
            verdict=verdict_of(level),
            caveats=list(self._said()),
            checks=list(self._checks(findings, signings, reported)) if self._folder else [],
            findings=findings,
        )

    def _take(self, findings: Iterable[Finding]) -> None:
        for found in findings:  # one by one: there may be a million
            self._found[found.check] += 1
            if self._found[found.check] <= MOST_LISTED:
                self._findings.append(found)

    def _of_record(self, seen: Seen) -> Iterator[Finding]:
        name = seen.name
        if seen.result is None:
            yield finding("1.export", 0, found=name, name=name)
        elif not seen.result.ok:
            yield finding("1.record", 0, found=name, name=name)
        elif self._folder and (expected := folders.name_of(seen.result.debate or "")) != name:
            yield finding("1.debate", 0, expected=expected, found=name, name=name)

    def _agrees(self, seen: Seen, result: Verification) -> bool:
        """Compare an export that holds with the register; say whether that anchors it.

        Only the one that bears its debate's name: of others a folder may hold any number, and
        each comparison reads all lines about the record.
        """
        check, own = self._register, folders.name_of(result.debate or "")
        if not check or not check.whole or seen.name != own:
            return False
        found = list(check_export(check, seen.name, seen.entries, result))
        self._take(found)
        self._compared += tag(result.debate or "") in check.heads
        return check.level == 2 and not found

    def _of_folder(self, folder: Folder) -> Iterator[Finding]:
        """Yield what is wrong with the names and the list, before any export is read."""
        for name in sorted(folder.strange):  # one need not be UTF-8
            spelled = name.encode("utf-8", "backslashreplace").decode()
            yield finding("1.name", 0, found=spelled)
        given = [name for name in folders.REGISTER if name in folder.others]
        for name in folders.REGISTER:
            if given and name not in given:
                yield finding("17.missing", 0, expected=name, variant="file", name=name)
        if folder.register:
            yield from folder.register.findings
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

    def _signings(self) -> Iterator[tuple[str, str, Signing]]:
        """Yield who signed the list and the checkpoint: nobody before the latest entry there is."""
        if not self._folder:
            return
        first, last = self._first or None, self._last or None
        unread = Signing(False, vocabulary.words("signers")["unread"])
        note, trust = self._note, self._trust
        signing = who_signed(note, "export", trust, first, last) if note else unread
        yield "3.signature", "manifest", signing
        if self._folder.register:
            own = self._folder.register.checkpoint
            signing = unread
            if own:
                signing = who_signed(own.note, "log", trust, first, last, own.head.origin)
            yield "3.checkpoint", "checkpoint", signing

    def _checks(
        self,
        findings: Sequence[Finding],
        signings: Sequence[tuple[str, str, Signing]],
        reported: Signing | None,
    ) -> Iterator[Check]:
        """Yield the checks of a folder: its exports, its list, who signed, register, report."""
        listed = vocabulary.many(len(self._listed or ()), "file")
        trusted = all(signing.trusted for _, _, signing in signings)
        signers = signed_by((what, signing) for _, what, signing in signings)
        rows: dict[int, tuple[Status, str]] = {
            1: ("pass", vocabulary.passed(1, "many", records=self._records)),
            2: ("pass", vocabulary.passed(2, files=listed)),
            3: ("pass" if trusted else "unchecked", signers),
        }
        if self._register or self._found[REGISTER]:
            rows[REGISTER] = ("pass", self._registered())
        if self._report and reported:
            status: Status = "pass" if reported.trusted else "unchecked"
            rows[REPORT] = (status, self._report.evidence(reported))
        names = checks_of(*rows)
        for number, (status, words) in rows.items():
            failed = [found for found in findings if found.check == number]
            yield Check(
                number=number,
                name=names[number],
                status="fail" if failed else status,
                evidence=told(failed, self._found[number], "line") if failed else words,
            )

    @property
    def _records(self) -> str:
        return vocabulary.many(self._counts.total(), "record")

    def _said(self) -> Iterator[str]:
        words = vocabulary.words("caveats")
        if self._caveats:
            yield vocabulary.fill(words["some"], some=self._caveats, records=self._records)
        if not self._folder:
            return
        check = self._register
        if None not in self._levels:
            if not check or not check.whole:
                yield words["register"]
            elif (absent := check.opened - self._compared) > 0:
                records = vocabulary.many(check.opened, "record")
                yield vocabulary.fill(words["absent"], absent=absent, records=records)
        if self._folder.since is not None and not check:
            yield words["kept"]

    @property
    def _register(self) -> RegisterCheck | None:
        return self._folder.register if self._folder else None

    def _registered(self) -> str:
        """Say what the register was compared with, where it holds."""
        check = self._register
        if not check or not check.checkpoint:
            return ""
        said, own = vocabulary.words("register"), check.checkpoint
        since = self._folder.since if self._folder else None
        passed = vocabulary.passed(
            REGISTER,
            "file",
            lines=vocabulary.many(check.size, "line"),
            origin=own.head.origin,
            cosigned=cosigners(own.cosigned(self._trust)),
            records=vocabulary.many(self._compared, "record"),
            checkpoints=vocabulary.many(check.compared, "earlier checkpoint"),
        )
        if since is None:
            return passed
        return passed + vocabulary.fill(said["extends"], lines=vocabulary.many(since, "line"))
