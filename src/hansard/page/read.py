"""Reading a page: the record inside, and whether the code around it is this release's."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass

from hansard.errors import DataError
from hansard.page.write import CLOSING, MAX_RECORD, OPENING, region, shell
from hansard.record import bundle as bundles

_GZIP = 16 + zlib.MAX_WBITS
_block = re.compile(re.escape(OPENING) + rb"([A-Za-z0-9+/=]*)" + re.escape(CLOSING.strip()))


@dataclass(frozen=True, slots=True)
class Page:
    """A page's record, the zip of an export; empty where the data region cannot be read.

    `released` says that everything outside the data region is, byte for byte,
    what this release writes.
    """

    released: bool
    record: bytes

    def shows(self, files: Mapping[str, bytes]) -> bool:
        """Say whether its record is that of an export's files."""
        try:
            inside = bundles.unpack(self.record)
        except DataError:
            return False
        return inside == {name: files[name] for name in files if name != bundles.PAGE}


def is_page(data: bytes) -> bool:
    """Say whether a file is a page, whoever wrote its code; an export's zip is none."""
    return data[:100].lstrip().startswith(b"<") and OPENING in data


def read(data: bytes) -> Page:
    """Read a page; never raises, whatever the bytes are."""
    before, after = shell()
    packed = _decode(b"".join(_block.findall(data)))
    # A region has one spelling, so nothing that a browser would read as code hides in it.
    return Page(data == before + region(packed) + after, _decompress(packed))


def _decode(text: bytes) -> bytes:
    try:
        return b64decode(text)
    except ValueError:
        return b""


def _decompress(packed: bytes) -> bytes:
    """Return what is compressed, or nothing: not for a bomb, a rest, or an end too early."""
    stream = zlib.decompressobj(_GZIP)
    try:
        data = stream.decompress(packed, MAX_RECORD + 1)
    except zlib.error:
        return b""
    whole = stream.eof and not stream.unused_data and len(data) <= MAX_RECORD
    return data if whole else b""
