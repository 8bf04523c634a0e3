"""What a verification finds: checks with their evidence, findings, a verdict.

The names of the checks and every sentence come from the vocabulary's table of
checks; a finding's code says which sentence it is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, cast

from pydantic import Field, JsonValue

from hansard import vocabulary
from hansard.closed import Closed
from hansard.errors import DataError

Status = Literal["pass", "fail", "unchecked", "unsupported"]
Kept = Literal["same", "fork", "size", "origin"]
Verdict = Literal["INTACT, ANCHORED", "INTACT", "SELF-CONSISTENT, SIGNER UNKNOWN", "ALTERED"]
TEMPLATES = 10  # and the texts that a policy is about
REGISTER = 17  # of records with proofs of their lines in one
SIGNATURE = 3
POLICY, REVIEW, NOTES = 18, 19, 20  # of records that have what they look at, and of no others
REPORT = 21  # of a folder that a periodic report is compared with
_NAMES = {number: row["name"] for number, row in vocabulary.checks().items()}
CHECKS = {number: name for number, name in _NAMES.items() if number < REGISTER}


def checks_of(*more: int) -> dict[int, str]:
    """Return the checks of a record by number, `more` among them, with their names."""
    return {**CHECKS, **{number: _NAMES[number] for number in sorted(more)}}


class Finding(Closed):
    """One defect: a stable code `<check>.<defect>`, the entry it is in, and its evidence."""

    code: str = Field(
        pattern=r"^[0-9]+\.[a-z_]+$", description="The check and the defect, as in 12.vote"
    )
    seq: int = Field(ge=0, description="The entry's place in the record; 0 is the record itself")
    message: str = Field(description="One sentence")
    expected: JsonValue = Field(
        default=None, description="What follows from the rest; null where nothing can be said"
    )
    found: JsonValue = Field(default=None, description="What is there")

    @property
    def check(self) -> int:
        """The number of the check that failed."""
        return int(self.code.partition(".")[0])

    @property
    def size(self) -> int:
        """How many bytes its evidence has in JSON."""
        evidence = [self.expected, self.found]
        said = json.dumps(evidence, ensure_ascii=False, separators=(",", ":"))
        return len(said.encode(errors="surrogatepass"))


def finding(
    code: str,
    seq: int,
    *,
    expected: object = None,
    found: object = None,
    variant: str = "",
    **values: object,
) -> Finding:
    """Return the finding with this code, in the words of the vocabulary.

    `values` fill the sentence's places; `variant` names another sentence of the check.
    """
    message = vocabulary.finding(code, variant, **values)
    return Finding(
        code=code,
        seq=seq,
        message=message,
        expected=cast(JsonValue, expected),
        found=cast(JsonValue, found),
    )


def told(findings: Sequence[Finding], count: int, place: str = "entry") -> str:
    """Return what was found first, where, and how many more of `count` findings there are."""
    first, more = findings[0], count - 1
    places = [f"{place} {first.seq}"] if first.seq else []
    places += [f"{more} more"] if more else []
    return f"{first.message} ({'; '.join(places)})" if places else first.message


class Check(Closed):
    """One numbered check, whether it holds, and on what evidence."""

    number: int = Field(description="As in FORMAT.md §10")
    name: str = Field(description="One word")
    status: Status = Field(description="unchecked: not all that it needs is there")
    evidence: str = Field(description="One sentence on what was looked at")


class Texts(Closed):
    """The texts that the entries name, counted."""

    named: int = 0
    present: int = Field(default=0, description="There, and as recorded")
    withheld: int = Field(default=0, description="Kept from this recipient, as the manifest says")
    erased: int = Field(default=0, description="Gone, as an entry says that was signed for it")
    missing: int = 0
    damaged: int = Field(default=0, description="There, and refused by check 8")

    def __str__(self) -> str:
        """Say how many there are, and what became of the others."""
        said = vocabulary.words("counted")
        named = vocabulary.many(self.named, "text")
        rows = [vocabulary.fill(said["present"], present=self.present, named=named)]
        gone = {key: getattr(self, key) for key in ("withheld", "erased", "missing", "damaged")}
        rows += [vocabulary.fill(said[key], number=gone[key]) for key in gone if gone[key]]
        return ", ".join(rows)


class Cosignature(Closed):
    """A witness that the reader trusts, and when it cosigned a checkpoint."""

    name: str = Field(description="Of its key")
    at: str = Field(description="UTC, as the witness says")


class Place(Closed):
    """Where a record stands in a register, as two proofs under one checkpoint say."""

    origin: str = Field(description="Which register it is")
    size: int = Field(description="How many lines it had at the checkpoint")
    opened: int = Field(description="The line of the opening; the first line is 1")
    head: int = Field(description="The line of the latest version")
    checkpoint: str = Field(description="The checkpoint itself, a signed note, to be kept")
    cosigned: list[Cosignature] = Field(description="The trusted witnesses that cosigned it")
    kept: Kept | None = Field(
        default=None,
        description="How it stands to the checkpoint that the reader kept: same; fork, of as "
        "many lines and another root; or size or origin, where the two alone show nothing; "
        "null where none was given",
    )


class PageCheck(Closed):
    """What a page is, beside the record: whether a trusted key signed it, the level says."""

    released: bool = Field(
        description="Whether all but its data is, byte for byte, the page of this release"
    )
    same_record: bool | None = Field(
        description="Whether its record is that of the export it lies in; null for a page alone"
    )


class Verification(Closed):
    """The result of verifying one record. `ok` says that no check failed."""

    debate: str | None = Field(description="The debate's id as its first entry states it")
    entries: int = Field(description="How many entries the record has")
    open: bool = Field(description="Whether the debate has not been closed")
    level: int | None = Field(
        description="2: signed by trusted keys, and somebody outside saw the checkpoint; "
        "1: signed by trusted keys; 0: the record agrees with itself; null: it does not"
    )
    verdict: Verdict = Field(description="In words; ALTERED where a check failed")
    caveats: list[str] = Field(
        description="What a reader of the verdict alone would miss; it belongs beside the verdict"
    )
    texts: Texts = Field(description="How many of the texts are there")
    checks: list[Check] = Field(description="By number")
    findings: list[Finding] = Field(description="Every defect; none where all holds")
    place: Place | None = Field(
        default=None, description="Where it stands in a register; null without proofs of that"
    )
    page: PageCheck | None = Field(
        default=None, description="What was found of the page that was read; null without one"
    )

    @property
    def ok(self) -> bool:
        """Whether every check that could be made holds."""
        return self.level is not None

    @property
    def signed(self) -> bool:
        """Whether keys that the reader trusts signed all there is to sign: level 1 or 2."""
        return bool(self.level)

    @property
    def policed(self) -> bool:
        """Whether the record names a policy, and was compared with all of it.

        Who signed the policy is for `level` to say: 1 asks for a trusted key.
        """
        passed = {check.number for check in self.checks if check.status == "pass"}
        return {TEMPLATES, POLICY} <= passed

    @property
    def own_caveats(self) -> list[str]:
        """Those that are not about the register, which are the same for all of a folder."""
        return [row for row in self.caveats if not row.startswith("register")]

    @property
    def told(self) -> str:
        """The first finding, its place, and how many more there are; empty without any."""
        return told(self.findings, len(self.findings)) if self.findings else ""

    def require_ok(self, name: str, then: str = "verify it to see every finding") -> None:
        """Refuse the record `name` where a check failed, before anything is drawn from it.

        Raises DataError `record.altered`, which names the first finding; `then` says
        what to do next.
        """
        if not self.ok:
            raise DataError("record.altered", f"{name} was altered: {self.told}; {then}")


def verdict_of(level: int | None) -> Verdict:
    """Return the words for a level that was reached (FORMAT.md §16)."""
    key = "none" if level is None else str(level)
    return cast(Verdict, vocabulary.words("verdicts")[key])
