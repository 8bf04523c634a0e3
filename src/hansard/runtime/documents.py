"""Documents of the evidence that are files of their own kind: PDF and DOCX become text.

What a file is, its first bytes say, not its name. Its text is taken by `extracting`, in a
process with bounds of its own, from bytes alone: no name, no secret of the environment and
no other file is handed on. Without a text there is an error that says what to do.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from math import inf
from pathlib import Path
from sys import getsizeof
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, Literal

from hansard import apart
from hansard.errors import UsageError, on_disk
from hansard.installing import install_command
from hansard.rules.spec_parts import Evidence
from hansard.verify.checks import MAX_DOCUMENT, MAX_ORIGINAL

Kind = Literal["pdf", "docx"]

MEDIA_TYPES: dict[Kind, str] = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
_PACKAGES: dict[Kind, str] = {"pdf": "pypdfium2", "docx": "mammoth"}
MOST_PAGES = 5_000
MOST_SECONDS = 60  # of processor time, and of waiting
MOST_TOGETHER = 600  # seconds that the documents of a spec may take
MOST_MEMORY = 1 << 30  # bytes of addresses
MOST_XML = 32 << 20  # bytes of the parts of a DOCX, once they are unfolded
now = time.monotonic
# What was taken from files, and until when it holds: the process keeps so many bytes of texts.
_MOST_KEPT, _MOST_FILES = 32 << 20, 1_000
_read_before = dict[tuple[str, Kind], tuple[float, dict[str, Any]]]()
_keeping = Lock()  # the debates of a batch read their files in threads
_EXTRACTING = Path(__file__).with_name("extracting.py")
_MOST_OUTPUT = 8 * MAX_DOCUMENT  # bytes: JSON spells a character in up to six

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# A PDF begins with its sign. Some programs put a mark or white space before it.
_PDF = re.compile(rb"(?:\xef\xbb\xbf)?[\0\t\n\f\r ]{0,1000}%PDF-[0-9]")
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # in the container of a DOCX with a password

# By the problem: the end of the sentence that begins with the file.
_SENTENCES = {
    "damaged": "is damaged, or no {what} that can be read; open it in its program, save it anew, "
    "and give that",
    "empty": "holds no text; give a document that has some",
    "encoding": "is not UTF-8 text, nor PDF or DOCX; save it as UTF-8, and give that",
    "encrypted": "is protected by a password; save a copy without one, and give that",
    "entities": "defines entities of its own, which no DOCX does; open it in its program, save it "
    "anew, and give that",
    "extra": "is a {what}, which needs a package that is not installed: {install}",
    "kind": "is neither text, PDF nor DOCX; save it as one of these, and give that",
    "pages": f"has more than {MOST_PAGES:,} pages; give the part that matters",
    "scan": "has no text on any page, as a scan has none; run OCR on it first (such as ocrmypdf), "
    "and give the file that comes out",
    "together": f"comes after documents of this spec that took {MOST_TOGETHER} s together; give "
    "fewer documents, or save some of them as UTF-8 text",
    "text": f"holds more than {MAX_DOCUMENT:,} bytes of text; give the part that matters",
    "unfolds": f"unfolds to more than {MOST_XML:,} bytes; give the part that matters",
    "work": f"could not be read to its end with {MOST_SECONDS} s and {MOST_MEMORY:,} bytes of "
    "memory; save it anew in its program, or give the part that matters",
}
# The codes of problems that do not give their own name to one.
_CODES = {
    "entities": "evidence_damaged",
    "extra": "missing_extra",
    **dict.fromkeys(("pages", "text", "together", "unfolds", "work"), "evidence_bounds"),
}


@dataclass(frozen=True)
class Taken:
    """The file that a document's text was taken from: its facts, and its bytes where kept."""

    media_type: str
    sha256: str
    extractor: str
    pages: int | None
    original: str | None  # its base64
    unread: tuple[str, ...] = ()  # what of it has a text that was not taken, in words


class Admitted(Evidence):
    """A document as it is admitted: its text, and the file that it was taken from."""

    taken: Taken | None = None


def refused(problem: str, name: object, kind: Kind = "pdf") -> UsageError:
    """Return the error for a document, `spec.evidence_*` or `spec.missing_extra`."""
    code = _CODES.get(problem, f"evidence_{problem}")
    sentence = _SENTENCES[problem].format(what=kind.upper(), install=install_command("documents"))
    return UsageError(f"spec.{code}", f"{name} {sentence}")


def kind_of(data: bytes, name: object) -> Kind | None:
    """Return what a file is; None for a text.

    Raises UsageError `spec.evidence_kind` for what is neither, `spec.evidence_encrypted`
    for a DOCX with a password, and `spec.evidence_damaged` where only the name says so.
    """
    if _PDF.match(data):
        return "pdf"
    if data.startswith(_OLE):
        raise refused("encrypted" if _ENCRYPTED in data else "kind", name)
    if data.startswith(_ZIP):
        if b"word/document.xml" in data:
            return "docx"
        raise refused("kind", name)
    for kind in MEDIA_TYPES:
        if str(name).lower().endswith(f".{kind}"):
            raise refused("damaged", name, kind)
    return None


def read(data: bytes, name: object, kind: Kind, *, most: int, until: float) -> tuple[str, Taken]:
    """Return the text of a PDF or DOCX, and what it was taken from.

    The file is kept where it has at most 8 MiB, and its base64 at most `most` characters. It is
    read `until` then, a deadline that `now` gives.
    Raises UsageError `spec.missing_extra`, or `spec.evidence_scan`, `_empty`, `_encrypted`,
    `_damaged` or `_bounds`.
    """
    if find_spec(_PACKAGES[kind]) is None:
        raise refused("extra", name, kind)
    hashed = sha256(data).hexdigest()
    found = _found(data, hashed, kind, until)
    if "problem" in found:
        raise refused(found["problem"], name, kind)
    kept = _spelled(data) <= min(most, MAX_ORIGINAL)
    original = b64encode(data).decode() if kept else None
    facts = (MEDIA_TYPES[kind], hashed, found["extractor"], found["pages"], original)
    taken = Taken(*facts, tuple(found.get("unread", ())))
    return found["text"], taken


def _found(data: bytes, hashed: str, kind: Kind, end: float) -> dict[str, Any]:
    """Return what `_extracted` does, or did when this file was read before.

    A thousand rows may be about one file, which may take its reader a minute each time. What went
    wrong may have been the machine's fault, so it is tried again later.
    """
    at = now()
    until, found = _read_before.get((hashed, kind), (at, {}))
    if at >= until:
        found = _extracted(data, kind, end - at)
        until = at + MOST_TOGETHER if "problem" in found else inf
    with _keeping:
        _read_before.pop((hashed, kind), None)
        if found.get("problem") != "together":
            _read_before[hashed, kind] = until, found
        size = sum(getsizeof(row.get("text")) for _, row in _read_before.values())
        while size > _MOST_KEPT or len(_read_before) > _MOST_FILES:  # what was asked for long ago
            _, old = _read_before.pop(next(iter(_read_before)))
            size -= getsizeof(old.get("text"))
    return found


def _spelled(data: bytes) -> int:
    """Return how many characters the base64 of a file has."""
    return (len(data) + 2) // 3 * 4


def _extracted(data: bytes, kind: Kind, seconds: float) -> dict[str, Any]:
    """Return what the process that reads the file says, or that it took too much."""
    if seconds <= 0:
        return {"problem": "together"}
    bounds = {
        "memory": MOST_MEMORY,
        "seconds": MOST_SECONDS,
        "output": _MOST_OUTPUT,
        "pages": MOST_PAGES,
        "text": MAX_DOCUMENT,
        "xml": MOST_XML,
        "path": [str(Path(place).absolute()) for place in sys.path],
    }
    with on_disk():
        given, answer = TemporaryFile(), TemporaryFile()  # noqa: SIM115 - closed below
    with given, answer:
        given.write(data)
        given.seek(0)
        try:
            subprocess.run(  # noqa: S603 - this Python, and a file of this package
                apart.command(_EXTRACTING, kind, json.dumps(bounds)),
                stdin=given,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                env=apart.environment(),
                timeout=min(seconds, MOST_SECONDS),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"problem": "work" if seconds >= MOST_SECONDS else "together"}
        answer.seek(0)
        said = answer.read(_MOST_OUTPUT)
    try:
        found = json.loads(said)
    except ValueError:  # it was ended: by a bound, or by what the file did to its parser
        return {"problem": "work"}
    return found if isinstance(found, dict) else {"problem": "work"}
