"""Documents that were files: their pages, the hash of the file, and the original."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from conformance_kit.case import Case, bad, defect, good, group, sound, undue
from conformance_kit.exports import export, withholding, zip_of
from conformance_kit.limits import documented
from conformance_kit.moderated import attacked, defended, moderated, moderating, proposed
from conformance_kit.records import Data, Record, derived, digest
from hansard.record import blob

TEXT = "Payment is due\nwithin thirty days.\fEither party may\nterminate this agreement."
FILE = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\nThese bytes stand for a file of two pages.\n%%EOF\n"
SPELLED = b64encode(FILE).decode()
PDF, DOCX = (
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
)
ON_PAGE_2, ACROSS = ("clause", "terminate this\nagreement"), ("clause", "thirty days. Either party")


def with_texts(record: Record, seq: int, source: Data | None, **texts: str | None) -> Record:
    """Say what a document was taken from; `file` and `original` are texts of their own."""
    blobs, refs = dict(record.blobs), dict[str, Any]()
    for name, text in texts.items():
        if text is None:
            refs[name] = None
            continue
        key, file = blob.pack(text, derived("source", seq, name))
        blobs[key], refs[name] = file, {"sha256": key}
    whole = None if source is None else {**source, "file": refs.pop("file")}
    return replace(record.data(seq, source=whole, **refs), blobs=blobs)


@cache
def paged(text: str = TEXT) -> Record:
    """Run a debate about a document whose second page is cited; its entry is 7."""
    cited = [ON_PAGE_2] if text == TEXT else []
    script = {
        "r1.proposition.proposer:1": proposed(cited, cited and [ACROSS]),
        "r1.critique.critic:1": attacked(8, cited),
        "r1.rebuttal.rebuttal:1": defended((1, cited)),
    }
    return moderating(
        f"of-{digest(text.encode())[:8]}", script, evidence=[{"id": "clause", "text": text}]
    )


def taken(
    text: str = TEXT, *, file: str = digest(FILE), original: str | None = SPELLED, **source: Any
) -> Record:
    """Return that record with the file that the document was taken from."""
    whole = {"media_type": PDF, "extractor": "conformance/1", "pages": text.count("\f") + 1}
    return with_texts(paged(text), 7, whole | source, file=file, original=original)


def with_original(size: int, *more: int) -> Record:
    """Return an opening with documents whose originals have these sizes, in bytes of base64."""
    record = documented(*[1] * (1 + len(more)))
    source = {"media_type": PDF, "extractor": "conformance/1", "pages": 1}
    for seq, length in enumerate((size, *more), 7):
        original = "A" * length
        hashed = digest(bytes(length // 4 * 3))
        record = with_texts(record, seq, source, file=hashed, original=original)
    return record


@group
def source_good_cases() -> Iterator[Case]:
    """Documents that were files, with and without what there could be of them."""
    yield sound(
        "source-of-two-pages",
        "A document was a PDF of two pages, which is kept. The citations are of its second page, "
        "and of words that begin on the first: the page break is white space.",
        taken(),
    )
    yield sound("source-without-original", "The file was not kept.", taken(original=None))
    yield sound(
        "source-without-pages",
        "The file was a DOCX, which has no pages of its own.",
        taken("Payment is due within thirty days.", media_type=DOCX, pages=None),
    )
    yield sound("source-of-one-page", "The file has one page.", taken("Payment is due."))
    yield sound("source-with-empty-pages", "Its first and last pages are empty.", taken("\fTwo.\f"))
    yield sound(
        "source-empty-original",
        "The file is empty: so is its base64.",
        taken(file=digest(b""), original=""),
    )
    yield sound(
        "page-break-without-source",
        "A text has U+000C between its pages, and was no file: there is nothing to compare.",
        paged(),
    )
    for what, text in (("original", taken()), ("file", taken()), ("text", taken())):
        seen = text.event(7)["data"]
        name = (seen["source"] if what == "file" else seen)[what]["sha256"]
        why = {
            "original": "The original is withheld: the hash of the file is as recorded.",
            "file": "The hash of the file is withheld: the original has none to be compared with.",
            "text": "The document is withheld: its number of pages is as recorded.",
        }[what]
        yield good(f"withheld-source-{what}", why, zip_of(withholding(text, f"blobs/{name}")))
    wrong = taken(file="none", original="-", pages=9)
    yield good(
        "withheld-source-whole",
        "Document, hash and original are withheld, and none of them could be true.",
        zip_of(
            withholding(
                wrong,
                *(f"blobs/{name}" for name in named_by(wrong)),
            )
        ),
    )


def named_by(record: Record) -> list[str]:
    """Return the names of the texts of the document: its own, the hash, the original."""
    data = record.event(7)["data"]
    return [row["sha256"] for row in (data["text"], data["source"]["file"], data["original"])]


@group
def source_bad_cases() -> Iterator[Case]:
    """Checks 7 to 9: what a document, the hash of its file and the original say of each other."""
    key: str
    why: str
    fields: dict[str, Any]
    for key, why, fields in (
        ("pages-more", "The text has one page break, and three pages are stated.", {"pages": 3}),
        ("pages-fewer", "The text has one page break, and one page is stated.", {"pages": 1}),
        ("pages-none", "The text has a page break, and no pages are stated.", {"pages": None}),
    ):
        yield defect(f"source-{key}", "8.pages", 7, why, taken(**fields))
    for key, why, fields in (
        ("of-another", "The hash is that of another file.", {"file": digest(b"another")}),
        ("upper-case", "The hash is in upper case.", {"file": digest(FILE).upper()}),
        ("no-hash", "In place of the hash stand words.", {"file": "a file", "original": None}),
        ("line-feed", "The hash is ended by LF.", {"file": f"{digest(FILE)}\n"}),
        ("of-the-base64", "It is the hash of the base64.", {"file": digest(SPELLED.encode())}),
    ):
        yield defect(f"source-file-{key}", "8.file", 7, why, taken(**fields))
    for key, why, original in (
        ("words", "The original is no base64.", "These are words."),
        ("line-feed", "The base64 of the original is ended by LF.", f"{SPELLED}\n"),
        (
            "broken",
            "The base64 of the original is broken into lines.",
            f"{SPELLED[:8]}\n{SPELLED[8:]}",
        ),
        ("unpadded", "The base64 of the original lacks its padding.", "QQ"),
        ("overpadded", "The base64 of the original has padding that it does not need.", "QUJD===="),
        ("tail", "The base64 of the original has bits that belong to no byte.", "QR=="),
        ("url", "The original is in the alphabet for addresses.", "-_-_"),
        ("beyond-ascii", "A digit of the original is one of another script.", "QUJ\u0664"),
    ):
        hashed = digest(b"A")
        yield defect(
            f"source-original-{key}", "8.original", 7, why, taken(file=hashed, original=original)
        )
    yield defect(
        "source-all-wrong",
        "8.file",
        7,
        "Pages, hash and original are all wrong: the hash is none, whatever the original says.",
        taken(file="none", original="-", pages=9),
    )
    for key, why, fields in (
        ("media-type-bare", "The media type has no subtype.", {"media_type": "pdf"}),
        ("media-type-upper", "The media type is in upper case.", {"media_type": "Application/PDF"}),
        ("media-type-more", "The media type has parameters.", {"media_type": "text/html/utf-8"}),
        ("pages-zero", "A file has no pages at all, which is written as null.", {"pages": 0}),
        ("extractor-null", "Nobody took the text from the file.", {"extractor": None}),
    ):
        yield defect(f"source-{key}", "7.schema", 7, why, taken(**fields))
    yield undue(
        "source-missing",
        7,
        "There is an original, and no source.",
        with_texts(moderated(), 7, None, original=SPELLED),
    )
    yield good(
        "limit-original", "An original has 8 MiB.", zip_of(export(with_original(11_184_812)))
    )
    yield bad(
        "limit-original-past",
        "8.size",
        7,
        "The base64 of an original has four bytes more than that of 8 MiB.",
        zip_of(export(with_original(11_184_816))),
    )
