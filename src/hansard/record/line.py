"""One event line: how it is hashed and linked (FORMAT.md §1).

>>> line = encode_line({"seq": 1, "prev": GENESIS})
>>> line
b'{"prev":"0000000000000000000000000000000000000000000000000000000000000000","seq":1}'
>>> line_hash(line)[:16]
'bf44c921c01c4cd3'
"""

from __future__ import annotations

from hashlib import sha256

from hansard.record.canonical import encode as encode_line

__all__ = ["GENESIS", "VERSION", "encode_line", "line_hash", "split_lines"]

GENESIS = "0" * 64
VERSION = 1


def line_hash(line: bytes) -> str:
    """Return the hex SHA-256 of a line's bytes, without its LF."""
    return sha256(line).hexdigest()


def split_lines(data: bytes) -> tuple[list[bytes], bool]:
    """Split a file of lines at byte 0x0A only; also say whether every line is ended by LF."""
    lines = data.split(b"\n")
    return (lines[:-1], True) if lines[-1] == b"" else (lines, False)
