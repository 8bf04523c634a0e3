"""The manifest, `SHA256SUMS`, over every file of an export, and that of its page (FORMAT.md §13).

The lines of both are what `sha256sum -c` reads. In the manifest, the files that are
withheld from a recipient stand in comments. `SHA256SUMS.page` has two lines: a page, and
the manifest of the record that it belongs to. Each is the text of a note signed with the
export key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from hansard.errors import DataError
from hansard.record.bundle import ASIDE, PAGE

NAME = "SHA256SUMS"
UNLISTED = ASIDE | {NAME}
_lines = re.compile(r".*\n|.+").finditer  # one by one: there may be millions
_LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9./]+)\n").fullmatch
_PAGE = re.compile(rf"([0-9a-f]{{64}})  {NAME}\n([0-9a-f]{{64}})  {re.escape(PAGE)}\n".encode())
_WITHHELD = re.compile(r"# withheld ([A-Za-z0-9./]+) ([a-z0-9_]{1,64})\n").fullmatch


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an export holds, by name and hash, and what it withholds, by name and reason."""

    files: Mapping[str, str]
    withheld: Mapping[str, str] = field(default_factory=dict)


def write(files: Mapping[str, bytes], withheld: Mapping[str, str] | None = None) -> bytes:
    """Return the manifest's text for `files`, names in byte order."""
    listed = [
        f"{sha256(files[name]).hexdigest()}  {name}\n"
        for name in sorted(files)
        if name not in UNLISTED
    ]
    left_out = [
        f"# withheld {name} {reason}\n" for name, reason in sorted((withheld or {}).items())
    ]
    return "".join(listed + left_out).encode()


def parse(text: bytes) -> Manifest:
    """Read a manifest's text; raises DataError `2.malformed` for anything but its one spelling."""
    files: dict[str, str] = {}
    withheld: dict[str, str] = {}
    last = (False, "")
    for row in _lines(text.decode("ascii", "replace")):
        if (found := _LINE(row[0])) and found[2] not in UNLISTED:
            files[found[2]], place = found[1], (False, found[2])
        elif found := _WITHHELD(row[0]):
            withheld[found[1]], place = found[2], (True, found[1])
        else:
            raise DataError("2.malformed", "a line of SHA256SUMS cannot be read")
        if place <= last:
            raise DataError(
                "2.malformed", "SHA256SUMS is not in its one order, or names a file twice"
            )
        last = place
    return Manifest(files, withheld)


def write_page(manifest: bytes, page: bytes) -> bytes:
    """Return the text that binds a page to the manifest, a whole note, of its record."""
    return f"{sha256(manifest).hexdigest()}  {NAME}\n{sha256(page).hexdigest()}  {PAGE}\n".encode()


def parse_page(text: bytes) -> Mapping[str, str]:
    """Return the hashes of manifest and page by name; raises DataError `2.page_malformed`."""
    found = _PAGE.fullmatch(text)
    if found is None:
        raise DataError("2.page_malformed", "SHA256SUMS.page is not the two lines that it must be")
    return {NAME: found[1].decode(), PAGE: found[2].decode()}
