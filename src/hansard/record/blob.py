"""Salted texts: every text of a debate lives outside the chain (FORMAT.md §2).

A blob file is a fixed-length header with 64 hex characters of salt, LF, and
the UTF-8 text; its name is the SHA-256 of the whole file. The header's length
is fixed so that no byte can move between salt and text.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from hashlib import sha256

from hansard.errors import DataError

MAGIC = b"hansard-blob/v1 "
HEADER = len(MAGIC) + 64 + 1
_PIECE = 1 << 20
_HEADER = re.compile(rb"hansard-blob/v1 [0-9a-f]{64}\n").match


def pack(text: str, salt: bytes) -> tuple[str, bytes]:
    """Return the name and the file of `text` under 32 bytes of fresh `salt`.

    Raises DataError `8.text` when the text is not well-formed Unicode.
    """
    if len(salt) != 32:
        raise ValueError("a salt has 32 bytes")
    try:
        body = str.encode(text)  # a kind of `str` may encode itself as another text
    except UnicodeEncodeError:
        raise DataError("8.text", "a text holds a lone surrogate") from None
    file = MAGIC + salt.hex().encode() + b"\n" + body
    return sha256(file).hexdigest(), file


def unpack(file: bytes) -> str:
    """Return the text of a blob file; raise DataError `8.header` or `8.text`."""
    check(file)
    return file[HEADER:].decode()


def check(file: bytes) -> None:
    """Raise DataError `8.header` or `8.text` as `unpack` does, without a text in memory."""
    if not _HEADER(file):
        raise DataError("8.header", "a blob does not begin with its header and salt")
    decoder, end = getincrementaldecoder("utf-8")(), len(file)
    try:
        for at in range(HEADER, end + 1, _PIECE):
            decoder.decode(file[at : at + _PIECE], final=at + _PIECE > end)
    except UnicodeDecodeError:
        raise DataError("8.text", "a blob's text is not UTF-8") from None


def salt_of(file: bytes) -> str:
    """Return the salt of a blob file, in hex."""
    return file[len(MAGIC) : HEADER - 1].decode()


def blob_name(file: bytes) -> str:
    """Return the name a blob file must have: the hex SHA-256 of all its bytes."""
    return sha256(file).hexdigest()
