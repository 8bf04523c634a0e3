"""The text of a PDF or DOCX: run as a process of its own, which bounds itself before it parses.

    python -I extracting.py pdf|docx BOUNDS < file

BOUNDS is JSON: `memory` and `output` in bytes, `seconds` of processor time, `pages`, `text`
and `xml` in bytes, and `path`, where to import from. It prints one JSON object: `text`,
`pages` and `extractor`, and of a DOCX what is `unread`; or the `problem`, one of those that
`documents` has words for. A file may do no more to the process that runs a debate than end
this one.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

# What stands for a hyphen at the end of a line, in the two ways in which PDFium gives it.
_HYPHEN = re.compile("[\x02\ufffe]")
# What means nothing in a text, and a form feed: it stands between pages and nowhere else.
_NOISE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\uffff]")
_LONE = re.compile("[\ud800-\udfff]")
_ENTITIES = tuple(
    mark.encode(coding)
    for mark in ("<!DOCTYPE", "<!ENTITY")
    for coding in ("utf-8", "utf-16-le", "utf-16-be")
)
_LOOK_SECONDS = 0.5  # between looks at who waits
# By the names of elements of a DOCX whose text its reader leaves out: the words for them.
_UNREAD = {"fldSimple": "simple fields", "oMath(Para)?": "formulas", "ruby": "ruby"}
_WRONG_PASSWORD = 4  # an error of PDFium's


class Problem(Exception):
    """Why there is no text: the name of a sentence in `documents`."""


def clean(text: str) -> str:
    """Return a page's text with LF line ends, and without what is no character of a text."""
    text = _HYPHEN.sub("-", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _LONE.sub("\ufffd", _NOISE.sub(" ", text)).strip()


def from_pdf(data: bytes, bounds: dict[str, Any]) -> dict[str, Any]:
    """Return the text of a PDF, its pages separated by U+000C."""
    import pypdfium2  # noqa: PLC0415 - lazily

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        wrong = getattr(error, "err_code", None) == _WRONG_PASSWORD or "password" in str(error)
        raise Problem("encrypted" if wrong else "damaged") from None
    if len(document) > bounds["pages"]:
        raise Problem("pages")
    pages, size = [], 0
    for number in range(len(document)):
        try:
            page = document[number]
            read = page.get_textpage()
            pages.append(clean(read.get_text_range()))
        except pypdfium2.PdfiumError:
            raise Problem("damaged") from None
        read.close()
        page.close()
        size += len(pages[-1].encode())
        if size > bounds["text"]:
            raise Problem("text")
    if not any(pages):
        raise Problem("scan" if pages else "damaged")
    extractor = f"pypdfium2/{pypdfium2.PYPDFIUM_INFO.version}"
    return {"text": "\f".join(pages), "pages": len(pages), "extractor": extractor}


def from_docx(data: bytes, bounds: dict[str, Any]) -> dict[str, Any]:
    """Return the text of a DOCX as lines: headings, paragraphs, list items, rows of tables."""
    written = _written_parts(data, bounds["xml"])
    import mammoth  # noqa: PLC0415 - lazily

    try:
        # No image is opened: it would come as base64.
        found = mammoth.convert_to_html(
            written, convert_image=mammoth.images.img_element(lambda _: {})
        )
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - whatever a damaged file makes of a parser
        raise Problem("damaged") from None
    lines = Lines()
    lines.feed(found.value)
    text = clean(lines.text())
    if not text:
        raise Problem("empty")
    if len(text.encode()) > bounds["text"]:
        raise Problem("text")
    told = "\n".join(row.message for row in found.messages)  # at the end the element's name
    unread = [words for name, words in _UNREAD.items() if re.search(f"(?m)[:}}]{name}$", told)]
    extractor = f"mammoth/{_version('mammoth')}"
    return {"text": text, "pages": None, "extractor": extractor, "unread": unread}


def _version(name: str) -> str:
    from importlib.metadata import version  # noqa: PLC0415 - lazily

    return version(name)


def _written_parts(data: bytes, most: int) -> io.BytesIO:
    """Return a DOCX of its XML parts alone: what was not looked at, its reader never sees.

    Any part could be the document, whatever it is called, or tell the reader what to leave
    out (`mammoth/style-map`). Raises Problem for what is no sound zip, is encrypted, unfolds
    to more than `most` bytes, or defines entities.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as container:
            bodies = _bodies(container, most)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError):
        raise Problem("damaged") from None
    if any(mark in body for body in bodies.values() for mark in _ENTITIES):
        raise Problem("entities")
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as container:
        for name, body in bodies.items():
            container.writestr(name, body)
    return target


def _bodies(container: zipfile.ZipFile, most: int) -> dict[str, bytes]:
    """Return the XML parts of a DOCX by name; two of one name are damage, for programs differ.

    A part is never read beyond the size that the zip states of it, so that size is its bound.
    """
    parts = container.infolist()
    written = [part for part in parts if part.filename.endswith((".xml", ".rels"))]
    if any(part.flag_bits & 1 for part in parts):
        raise Problem("encrypted")
    if sum(part.file_size for part in written) > most:
        raise Problem("unfolds")
    names = {part.filename.lower() for part in parts}
    if "word/document.xml" not in names or len(names) < len(parts):
        raise Problem("damaged")
    return {part.filename: container.read(part) for part in written}


class Lines(HTMLParser):
    """Turns the converter's HTML into lines of text: one for a row, an item, a paragraph."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[tuple[bool, str]] = []  # whether it follows the one before closely
        self._words: list[str] = []
        self._prefix = ""
        self._lists: list[tuple[str, int]] = []
        self._rows: list[list[list[str]]] = []  # of the tables that are open, the last row's cells

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        """Begin a row, a cell, a list, an item or a heading."""
        if tag == "br":
            self._words.append("\n")
        elif tag in ("ul", "ol"):
            self._flush()
            self._lists.append((tag, 0))
        elif tag == "li" and self._lists:
            self._flush()
            kind, number = self._lists.pop()
            self._lists.append((kind, number + 1))
            sign = "-" if kind == "ul" else f"{number + 1}."
            self._prefix = f"{'  ' * (len(self._lists) - 1)}{sign} "
        elif tag == "tr":
            self._flush()
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].append([])
        elif re.fullmatch("h[1-6]", tag):
            self._flush()
            self._prefix = f"{'#' * int(tag[1])} "

    def handle_endtag(self, tag: str) -> None:
        """End whatever fills a line."""
        if tag in ("p", "li", "td", "th") or re.fullmatch("h[1-6]", tag):
            self._flush()
        elif tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "tr" and self._rows:
            cells = [" ".join(cell) for cell in self._rows.pop()]
            self._put(" | ".join(cells), close=True)

    def handle_data(self, data: str) -> None:
        """Add words to the line that is read."""
        self._words.append(data)

    def text(self) -> str:
        """Return what was read: closely what belongs together, else with an empty line between."""
        self._flush()
        lines, before = list[str](), False
        for close, block in self._blocks:
            lines += [] if not lines or (close and before) else [""]
            lines.append(block)
            before = close
        return "\n".join(lines)

    def _flush(self) -> None:
        words, prefix = "".join(self._words).strip(), self._prefix
        self._words.clear()
        if words:
            self._prefix = ""
            self._put(prefix + words, close=bool(self._lists))

    def _put(self, words: str, *, close: bool) -> None:
        if self._rows and self._rows[-1]:
            self._rows[-1][-1].append(" ".join(words.split()))
        elif words.strip():
            self._blocks.append((close, words))


def end_with_parent() -> None:
    """End this process soon after the one that started it: nobody would read its answer."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def main(kind: str, told: str) -> Iterator[str]:
    """Yield the answer of this process, within its bounds."""
    bounds = json.loads(told)
    end_with_parent()
    sys.path[:] = bounds["path"]
    from hansard.runtime.fitting import limit  # noqa: PLC0415 - found on that path

    limit(bounds["seconds"], bounds["memory"], bounds["output"])
    try:
        data = sys.stdin.buffer.read()
        yield json.dumps((from_pdf if kind == "pdf" else from_docx)(data, bounds))
    except Problem as problem:
        yield json.dumps({"problem": str(problem)})
    except ImportError:
        yield json.dumps({"problem": "extra"})
    except (MemoryError, RecursionError):
        yield json.dumps({"problem": "work"})


if __name__ == "__main__":
    sys.stdout.writelines(main(*sys.argv[1:]))
