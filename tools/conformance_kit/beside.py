"""What is found beside an entry that is rejected, or is not due, and what is not (§10, §11)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance_kit.case import Case, bad, group
from conformance_kit.debates import approved, approving, decided, under, vote
from conformance_kit.exports import export, files_of, seal, zip_of
from conformance_kit.limits import MIB
from conformance_kit.people import ANN, Careless, noted, review
from conformance_kit.records import Record

SPACED = (b'"seq":', b'"seq": ')
CARELESS = Careless(ANN.name, ANN.private)


def rejected(record: Record) -> Record:
    """Return a record whose last entry has a space in it."""
    return record.swap(len(record.lines), *SPACED)


def closed_again(record: Record) -> Record:
    """Return a record with its close once more at its end."""
    (close,) = (event for event in record.events if event["type"] == "debate.closed")
    return record.insert(len(record.lines) + 1, close["type"], close["data"])


@group
def beside_cases() -> Iterator[Case]:
    """Findings before an entry that cannot be read, or that ends the walk."""
    long = decided().text(6, "reply", vote("a").text.ljust(MIB + 1))
    yield bad(
        "reply-too-large-before-a-rejected-line",
        "12.size",
        6,
        "A reply is too large, and the last line has a space in it: the size of a text is found "
        "as the findings of check 8 are.",
        zip_of(export(rejected(long))),
    )
    files = files_of(decided().swap(7, *SPACED))
    del files[decided().file_of(1, "question")]
    yield bad(
        "text-missing-before-a-rejected-line",
        "8.missing",
        1,
        "The question is missing, and Ben's answer has a space in it: of the three texts that the "
        "lines before it name two are there.",
        seal(files),
    )
    strict = under(approved(), approving("consensus max_calls 5"))
    yield bad(
        "policy-before-a-rejected-line",
        "4.bytes",
        12,
        "The policy wants a ceiling that is not set, and the last line has a space in it: then "
        "nothing is compared with the policy.",
        export(rejected(strict)),
    )
    yield bad(
        "policy-before-what-is-not-due",
        "18.max_calls",
        1,
        "The policy wants a ceiling that is not set, and the last line is not due: the policy is "
        "compared all the same.",
        export(strict.insert(12, "debate.closed", strict.event(12)["data"])),
    )
    for key, what, check, record in (
        ("review", "A review", 19, review(decided(), by=CARELESS)),
        ("outcome", "An outcome", 20, noted(decided(), CARELESS)),
    ):
        yield bad(
            f"{key}-before-a-rejected-line",
            "4.bytes",
            14,
            f"{what} is not signed by its key, and the line after it has a space in it: then "
            f"check {check} is unchecked.",
            export(rejected(noted(record, None))),
        )
        yield bad(
            f"{key}-before-what-is-not-due",
            f"{check}.signature",
            13,
            f"{what} is not signed by its key, and the line after it is not due: check {check} "
            "looks at what the walk came to.",
            export(closed_again(record)),
        )
