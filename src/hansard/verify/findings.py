"""What a verification finds: checks with their evidence, findings, a verdict."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Status = Literal["pass", "fail", "unchecked", "unsupported"]
Verdict = Literal["INTACT", "SELF-CONSISTENT, SIGNER UNKNOWN", "ALTERED"]
VERDICTS: dict[int | None, Verdict] = {
    1: "INTACT",
    0: "SELF-CONSISTENT, SIGNER UNKNOWN",
    None: "ALTERED",
}

CHECKS: dict[int, str] = {
    1: "container",
    2: "manifest",
    3: "signature",
    4: "canonical",
    5: "chain",
    6: "time",
    7: "schema",
    8: "blobs",
    9: "schedule",
    10: "templates",
    11: "prompts",
    12: "replies",
    13: "citations",
    14: "counts",
    15: "limits",
    16: "outcome",
}


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Finding(_Result):
    """One defect: a stable code `<check>.<defect>`, the entry it is in, and its evidence."""

    code: str = Field(pattern=r"^[0-9]+\.[a-z_]+$")
    seq: int = Field(ge=0, description="The entry's place in the record; 0 is the record itself")
    message: str
    expected: JsonValue = None
    found: JsonValue = None

    @property
    def check(self) -> int:
        """The number of the check that failed."""
        return int(self.code.partition(".")[0])


class Check(_Result):
    """One numbered check, whether it holds, and on what evidence."""

    number: int
    name: str
    status: Status
    evidence: str


class PageCheck(_Result):
    """Whether a page can be relied on: it is neither signed nor a part of the record."""

    released: bool = Field(
        description="Whether all but its data is, byte for byte, the page of this release"
    )
    same_record: bool | None = Field(
        description="Whether its record is that of the export it lies in; null for a page alone"
    )


class Verification(_Result):
    """The result of verifying one record. `ok` says that no check failed."""

    debate: str | None = Field(description="The debate's id as its first entry states it")
    entries: int
    open: bool = Field(description="Whether the debate has not been closed")
    level: int | None = Field(
        description="1: signed by trusted keys; 0: the record agrees with itself; null: it does not"
    )
    verdict: Verdict
    unchecked: str = Field(description="What could not be checked because a text is gone")
    checks: list[Check]
    findings: list[Finding]
    page: PageCheck | None = Field(
        default=None, description="What was found of the page that was read; null without one"
    )

    @property
    def ok(self) -> bool:
        """Whether every check that could be made holds."""
        return self.level is not None
