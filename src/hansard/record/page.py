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

OPENING, CLOSING = b'<script type="application/octet-stream">', b"</script>\n"
MAX_RECORD = 1 << 28  # bytes of the zip: what a browser still holds in memory several times
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


def packed_in(page: bytes) -> bytes:
    """Return what the blocks of a page hold; empty where they are not base64. Never raises."""
    try:
        return b64decode(b"".join(_block.findall(page)))
    except ValueError:
        return b""


def record_in(page: bytes) -> bytes:
    """Return the zip in a page's data region; empty where the region cannot be read to its end.

    Never raises, and never decompresses more than MAX_RECORD bytes.
    """
    stream = zlib.decompressobj(_GZIP)
    try:
        data = stream.decompress(packed_in(page), MAX_RECORD + 1)
    except zlib.error:
        return b""
    whole = stream.eof and not stream.unused_data and len(data) <= MAX_RECORD
    return data if whole else b""
