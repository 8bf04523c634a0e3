"""Exports of a record, signed, and zips that are written in every way."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha512
from typing import Any, cast
from zlib import crc32

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from conformance_kit.debates import decided
from conformance_kit.records import EXPORT, Files, Record, derived, digest
from hansard.record import note
from hansard.record.note import Signer

SUMS = "SHA256SUMS"
PAGE, PAGE_NOTE = "report.html", "SHA256SUMS.page"
ORDER_OF_ED25519 = 2**252 + 27742317777372353535851937790883648493
SOME_PAGE = b"<!doctype html>\n<p>The page of some release.</p>\n"
ABOUT = b"The record of one debate. schemas/FORMAT.md says how to check it.\n"


def files_of(record: Record) -> Files:
    """Return the files of an export but for its manifest."""
    files = {"VERIFY.md": ABOUT, "events.jsonl": b"".join(line + b"\n" for line in record.lines)}
    folders = {"blobs": record.blobs, "templates": record.templates, "policies": record.policies}
    for folder, bodies in folders.items():
        files |= {f"{folder}/{name}": body for name, body in bodies.items()}
    return files


def manifest(files: Mapping[str, bytes], withheld: Mapping[str, str] | None = None) -> bytes:
    """Return the text of SHA256SUMS for `files`, and for those that are withheld, with reasons."""
    lines = [f"{digest(files[name])}  {name}\n" for name in sorted(files)]
    left_out = [
        f"# withheld {name} {reason}\n" for name, reason in sorted((withheld or {}).items())
    ]
    return "".join(lines + left_out).encode()


def seal(files: Files, by: Signer = EXPORT, text: bytes | None = None) -> Files:
    """Add a signed manifest; `text` stands in the place of its text."""
    return {**files, SUMS: note.sign(manifest(files) if text is None else text, by)}


def export(record: Record, by: Signer = EXPORT) -> Files:
    """Return a record's export, signed."""
    return seal(files_of(record), by)


def page_text(files: Files) -> bytes:
    """Return the text that ties an export's page to its manifest."""
    return "".join(f"{digest(files[name])}  {name}\n" for name in (SUMS, PAGE)).encode()


def paged(files: Files, by: Signer = EXPORT, page: bytes = SOME_PAGE) -> Files:
    """Return an export with a page and its signed note."""
    made = {**files, PAGE: page}
    return {**made, PAGE_NOTE: note.sign(page_text(made), by)}


def withholding(record: Record, *paths: str) -> Files:
    """Return a record's export without some of its files, which the manifest says."""
    files = {name: body for name, body in files_of(record).items() if name not in paths}
    return seal(files, text=manifest(files, dict.fromkeys(paths, "personal_data")))


def noted(change: Callable[[bytes], bytes]) -> Files:
    """Return the export of `decided` with its manifest spelled otherwise, not signed anew."""
    files = export(decided())
    return {**files, SUMS: change(files[SUMS])}


def retold(change: Callable[[str], str]) -> Files:
    """Return the export of `decided` with another text of the manifest, signed anew."""
    files = files_of(decided())
    return seal(files, text=change(manifest(files).decode()).encode())


def signature_of(data: bytes) -> bytes:
    """Return the last base64 text of a note."""
    return data.rpartition(b" ")[2].rstrip(b"\n")


def signature_line(by: Signer, message: bytes) -> bytes:
    """Return the line with which `by` signs `message`."""
    return note.sign(message, by).rpartition(b"\n\n")[2]


def second_signature_line(by: Signer, message: bytes) -> bytes:
    """Return another sound line of the same key: only the signer can choose another nonce."""
    nonce, private = derived("another nonce"), cast(Ed25519PrivateKey, by.private)
    point, hashed = commitment(nonce, by.key.public, message)
    s = (scalar(nonce) + hashed * scalar(private.private_bytes_raw())) % ORDER_OF_ED25519
    body = base64.b64encode(by.key.id + point + s.to_bytes(32, "little"))
    return signature_line(by, message).rpartition(b" ")[0] + b" " + body + b"\n"


def scalar(seed: bytes) -> int:
    """Return the number by which the base point is multiplied for a private key."""
    low = int.from_bytes(sha512(seed).digest()[:32], "little")
    return low & ((1 << 254) - 8) | 1 << 254


def commitment(nonce: bytes, public: bytes, message: bytes) -> tuple[bytes, int]:
    """Return R and k of RFC 8032, 5.1.6, for a nonce of the signer's choice."""
    point = Ed25519PrivateKey.from_private_bytes(nonce).public_key().public_bytes_raw()
    hashed = sha512(point + public + message).digest()
    return point, int.from_bytes(hashed, "little") % ORDER_OF_ED25519


def malleable(data: bytes) -> bytes:
    """Return a note with the order of the curve's base point added to its signature's S."""
    body = base64.b64decode(signature_of(data))
    s = int.from_bytes(body[36:], "little") + ORDER_OF_ED25519
    return data.replace(signature_of(data), base64.b64encode(body[:36] + s.to_bytes(32, "little")))


def loose_bits(data: bytes) -> bytes:
    """Return a note whose base64 has other bits behind its last byte."""
    spelled = signature_of(data)
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = alphabet.index(spelled[-2]) + 1
    return data.replace(spelled, spelled[:-2] + alphabet[last : last + 1] + b"=")


# ------------------------------------------------------------------ zips


@dataclass(frozen=True)
class Entry:
    """One file of a zip, and everything about it that may be wrong."""

    name: str
    body: bytes
    method: int = 0
    date: int = 0x0021
    mode: int = 0o100644
    extra: bytes = b""
    comment: bytes = b""
    checksum: int | None = None
    size: int | None = None
    local_name: str | None = None


def entries_of(record: Record) -> list[Entry]:
    """Return the entries of a record's export, as they must be."""
    files = export(record)
    return [Entry(name, files[name]) for name in sorted(files)]


def zipped(
    entries: Sequence[Entry],
    *,
    prefix: bytes = b"",
    hidden: bytes = b"",
    comment: bytes = b"",
) -> bytes:
    """Write a zip; `hidden` stands between the entries and the directory."""
    body, directory = prefix, b""
    for entry in entries:
        stored = entry.body
        if entry.method == 8:  # one block of deflate that is not compressed
            length = len(entry.body)
            stored = b"\1" + struct.pack("<HH", length, length ^ 0xFFFF) + entry.body
        checksum = crc32(entry.body) if entry.checksum is None else entry.checksum
        size = len(entry.body) if entry.size is None else entry.size
        common = (20, 0, entry.method, 0, entry.date, checksum, len(stored))
        name = entry.name.encode()
        local = (entry.local_name or entry.name).encode()
        offset = len(body)
        body += struct.pack("<4s5H3L2H", b"PK\3\4", *common, size, len(local), len(entry.extra))
        body += local + entry.extra + stored
        row = (size, len(name), len(entry.extra), len(entry.comment), 0, 0, entry.mode << 16)
        directory += struct.pack("<4sH5H3L5H2L", b"PK\1\2", 3 << 8 | 20, *common, *row, offset)
        directory += name + entry.extra + entry.comment
    body += hidden
    end = (0, 0, len(entries), len(entries), len(directory), len(body), len(comment))
    return body + directory + struct.pack("<4s4H2LH", b"PK\5\6", *end) + comment


def zip_of(files: Files) -> bytes:
    """Return the zip that an export's files give."""
    return zipped([Entry(name, files[name]) for name in sorted(files)])


def rezipped(name: str, **fields: Any) -> bytes:
    """Return the zip of `decided` with one entry written otherwise."""
    entries = entries_of(decided())
    return zipped([replace(row, **fields) if row.name == name else row for row in entries])


def with_entry(name: str, body: bytes = b"") -> bytes:
    """Return the zip of `decided` with one more entry."""
    return zipped([*entries_of(decided()), Entry(name, body)])
