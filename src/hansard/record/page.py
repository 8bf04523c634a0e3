"""A page's data region: the record inside the program that shows it (FORMAT.md §13).

Only the region is part of the format: lines of one `<script>` element each,
whose contents, joined, are the base64 of one gzip member, whose content is the
zip of an export without a page. What stands around the region is the program.
"""

from __future__ import annotations

import gzip
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator

OPENING, CLOSING = b'<script type="application/octet-stream">', b"</script>\n"
MAX_PAGE = 1 << 26  # bytes of a page, and of the zip in it, which a browser holds several times
BLOCK = 65_536  # characters of base64; one script element with all of them takes minutes
_GZIP = 16 + zlib.MAX_WBITS
_block = re.compile(re.escape(OPENING) + rb"([A-Za-z0-9+/=]*)" + re.escape(CLOSING.strip()))


def compress(record: bytes) -> bytes:
    """Return the gzip member that holds a record's zip."""
    return gzip.compress(record, mtime=0)


def region(packed: bytes) -> bytes:
    """Return the data region that holds `packed`: one block of base64 on each line."""
    text = b64encode(packed)
    blocks = (text[at : at + BLOCK] for at in range(0, len(text), BLOCK))
    return b"".join(OPENING + block + CLOSING for block in blocks)


def is_page(data: bytes) -> bool:
    """Say whether a file is a page, whoever wrote its code; an export's zip is none."""
    return data[:100].lstrip().startswith(b"<") and OPENING in data


def packed_in(page: bytes) -> Iterator[bytes]:
    """Yield, block by block, what the blocks of a page hold; raises ValueError for no base64."""
    rest = b""
    for found in _block.finditer(page):
        text = rest + found[1]
        whole = len(text) & ~3
        yield b64decode(text[:whole])
        rest = text[whole:]
    yield b64decode(rest)


def record_in(page: bytes) -> bytes:
    """Return the zip in a page's data region; empty where the region cannot be read to its end.

    Never raises, and never decompresses more than MAX_PAGE bytes: what comes next is
    decompressed only once all before it was little enough.
    """
    stream, data = zlib.decompressobj(_GZIP), bytearray()
    if len(page) > MAX_PAGE:
        return b""
    try:
        for piece in packed_in(page):
            if stream.eof and piece:
                return b""
            data += stream.decompress(piece, MAX_PAGE + 1 - len(data))
            if len(data) > MAX_PAGE:
                return b""
    except (ValueError, zlib.error):
        return b""
    return bytes(data) if stream.eof and not stream.unused_data else b""
