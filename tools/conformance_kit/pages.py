"""Checks 2 and 3: the page of an export, and the signed note that ties it to the record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from conformance_kit.case import Case, bad, good, group, unknown
from conformance_kit.debates import decided, split
from conformance_kit.exports import (
    PAGE,
    PAGE_NOTE,
    SUMS,
    export,
    page_text,
    paged,
    signature_line,
    zip_of,
)
from conformance_kit.records import APPROVAL, EXPORT, KEYS, STRANGER, Files, signer, trust
from hansard.record import note
from hansard.record.note import Signer

FORGED = b"<!doctype html>\n<p>Forged.</p>\n"


def retold(change: Callable[[str], str]) -> Files:
    """Return an export whose page's note has another text, signed anew."""
    files = paged(export(decided()))
    return {**files, PAGE_NOTE: note.sign(change(page_text(files).decode()).encode(), EXPORT)}


def exporting(other: Signer) -> bytes:
    """Return the kit's trust file with another export key."""
    given = json.loads(trust())
    return json.dumps(
        {**given, "keys": [*given["keys"], {"role": "export", "key": str(other.key)}]}
    ).encode()


@group
def page_cases() -> Iterator[Case]:
    """Exports with a page: what no verifier runs, it compares."""
    files = paged(export(decided()))
    yield good("page", "The export has a page, and the page's note is signed.", files)
    yield good("page-in-a-zip", "The same files in the one zip that they give.", zip_of(files))
    yield good(
        "page-signed-twice",
        "A second signature of the page's note is by a key that the trust file does not name.",
        {**files, PAGE_NOTE: files[PAGE_NOTE] + signature_line(STRANGER, page_text(files))},
    )
    other = signer("example.org/pages")
    yield good(
        "page-signed-by-another-export-key",
        "The manifest is signed by one export key, the page's note by another one: both are "
        "trusted.",
        paged(export(decided()), other),
        exporting(other),
    )
    forged = {**files, PAGE: FORGED}
    yield bad(
        "page-forged", "2.page_hash", 0, "The page is another than the one that was signed.", forged
    )
    yield bad(
        "page-of-another-record",
        "2.page_hash",
        0,
        "Page and note are genuine, and those of another record by the same signer.",
        {**files, PAGE_NOTE: paged(export(split()))[PAGE_NOTE]},
    )
    yield bad(
        "page-without-its-note",
        "2.page_missing",
        0,
        "There is a page, and nobody signed it.",
        {name: body for name, body in forged.items() if name != PAGE_NOTE},
    )
    yield bad(
        "note-without-its-page",
        "2.page_missing",
        0,
        "The page was taken out of the export, and its note left in.",
        {name: body for name, body in files.items() if name != PAGE},
    )
    yield bad(
        "page-but-no-manifest",
        "2.missing",
        0,
        "Page and note are there, and SHA256SUMS is not: its line in the note is not compared.",
        {name: body for name, body in files.items() if name != SUMS},
    )


@group
def page_note_cases() -> Iterator[Case]:
    """How the page's note is spelled, and who signed it."""
    files = paged(export(decided()))
    texts: dict[str, tuple[str, Callable[[str], str]]] = {
        "swapped": (
            "Its two lines are swapped.",
            lambda text: "".join(text.splitlines(True)[::-1]),
        ),
        "of-the-page-alone": (
            "It has a line for the page alone, which would fit beside any record.",
            lambda text: text.splitlines(True)[1],
        ),
        "of-a-third-file": (
            "It has a third line.",
            lambda text: f"{text}{'0' * 64}  VERIFY.md\n",
        ),
        "crlf": ("Its lines end with CR LF.", lambda text: text.replace("\n", "\r\n")),
        "binary-mark": (
            "A star stands before a name, as sha256sum writes for binary files.",
            lambda text: text.replace("  ", " *", 1),
        ),
        "upper-case": (
            "A hash is written with upper-case letters.",
            lambda text: text.replace(text[:64], text[:64].upper()),
        ),
        "comment": ("It ends with a comment.", lambda text: text + "# checked\n"),
    }
    for key, (why, change) in texts.items():
        yield bad(f"page-note-{key}", "2.page_malformed", 0, why, retold(change))
    yield bad(
        "page-note-not-signed",
        "2.page_malformed",
        0,
        "The page's note has no signature at all, so it is no note.",
        {**files, PAGE_NOTE: page_text(files)},
    )
    other = {**files, PAGE: FORGED}
    text = note.parse(files[PAGE_NOTE]).text
    yield bad(
        "page-note-forged",
        "3.page",
        0,
        "The page was replaced and its note made to fit; the signature, of a key that the reader "
        "knows, is over another text.",
        {**other, PAGE_NOTE: files[PAGE_NOTE].replace(text, page_text(other))},
    )
    yield bad(
        "page-note-second-signature-forged",
        "3.page",
        0,
        "The export key's signature is sound, but a second one, of a known key of another role, "
        "does not verify.",
        {**files, PAGE_NOTE: files[PAGE_NOTE] + signature_line(KEYS["reviewer"], b"other\n")},
    )
    yield unknown(
        "page-forged-and-signed-by-a-stranger",
        "The page was replaced and its note signed by somebody else: of the record itself, the "
        "export key's signature is still sound.",
        paged(export(decided()), STRANGER, FORGED),
    )
    yield unknown(
        "page-signed-by-the-approval-key",
        "The page's note is signed with a key that the reader trusts for policies.",
        paged(export(decided()), APPROVAL),
    )
