"""What a record is made of, wherever it was read from; and its one container (FORMAT.md §13).

An export is a zip that is built in exactly one way, so that nothing hides in
its metadata: a reader takes out the files, builds the zip again and compares.
Nothing is ever decompressed: entries are stored.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

from hansard.errors import DataError
from hansard.record.line import Lines

EVENTS = "events.jsonl"
PAGE = "report.html"
PAGE_NOTE = "SHA256SUMS.page"  # signed: that this page belongs to this record
ASIDE = frozenset({PAGE, PAGE_NOTE})  # what the record inside a page never holds
PROOFS = ("head", "opened")  # of lines in the register: register/head.proof, register/opened.proof
MAX_EXPORT = 1 << 27
MAX_FILES = 0xFFFF  # what a zip without extensions can count
FOLDERS = ("blobs", "templates", "policies", "register")
_NAMES = (
    r"report\.html|VERIFY\.md|SHA256SUMS(\.page)?|events\.jsonl|register/(head|opened)\.proof"
    r"|(blobs|templates|policies)/[0-9a-f]{64}"
)
is_name = re.compile(_NAMES).fullmatch
_is_name = re.compile(_NAMES.encode()).fullmatch
# A header of a zip, local or of its directory, up to a name that begins like one of an export:
# first what it says of the name's length.
_header = re.compile(
    rb"PK(?=(?:\x03\x04.{22}(..)..|\x01\x02.{24}(..).{16})(" + _NAMES.encode() + rb"))", re.DOTALL
)
# Version, flags, method, time, date, CRC-32, two sizes, name, extra: alike in both headers.
_COMMON = "5H3L2H"
_LOCAL = struct.Struct("<4s" + _COMMON)
_CENTRAL = struct.Struct("<4sH" + _COMMON + "3H2L")
_END = struct.Struct("<4s4H2LH")
_DATED = 0x0021  # 1980-01-01
_MADE_BY = 3 << 8 | 20  # Unix, version 2.0
_MODE = 0o100644 << 16
# Bytes that an export adds to those of a text, a template or a policy, at most: two headers, and
# a line of SHA256SUMS (its hash, two spaces, its name, a line end).
OF_FILE = _LOCAL.size + _CENTRAL.size + 3 * len(f"templates/{'0' * 64}") + 64 + 3


@dataclass(frozen=True, slots=True)
class Head:
    """How long a record is and the hash of its last line, kept beside the lines."""

    length: int
    hash: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """One debate's bytes: lines without LF; blob files, templates and policies by name.

    `head` is what a store keeps beside the lines, and `debate` the id under which it keeps them;
    None where nothing does. `proofs` are those of its first and latest line in a register, by
    `PROOFS`.
    """

    lines: Sequence[bytes]
    blobs: Mapping[str, bytes]
    templates: Mapping[str, bytes]
    head: Head | None = None
    policies: Mapping[str, bytes] = field(default_factory=dict)
    proofs: Mapping[str, bytes] = field(default_factory=dict)
    debate: str | None = None

    @property
    def size(self) -> int:
        """How many bytes it takes in an export, at most, beside proofs, signatures and a page."""
        folders = self.blobs, self.templates, self.policies
        files = [body for folder in folders for body in folder.values()]
        return sum(map(len, (*self.lines, *files))) + len(self.lines) + OF_FILE * len(files)


class _Entry(NamedTuple):
    """What the directory of a zip says of one file."""

    name: bytes  # it need not be UTF-8
    method: int
    stored: int
    size: int
    offset: int


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return the one zip that holds `files`: stored, in byte order, without any metadata.

    Raises DataError `1.entries` for more files than a zip can count.
    """
    if len(files) > MAX_FILES:
        raise DataError("1.entries", f"a record of more than {MAX_FILES} files fits no export")
    return b"".join(_chunks(files))


def is_zip_of(data: bytes, files: Mapping[str, bytes]) -> bool:
    """Whether `data` is the zip that `files` give, which is never built to say so."""
    at = 0
    for chunk in _chunks(files):
        if not data.startswith(chunk, at):
            return False
        at += len(chunk)
    return at == len(data)


def has_end(data: bytes) -> bool:
    """Say whether a zip's end record is in `data`: it is missing where a download broke off.

    Of what is too large for an export nobody reads the end (FORMAT.md §13).
    """
    return len(data) > MAX_EXPORT or _end_of(data) >= 0


def _end_of(data: bytes) -> int:
    """Return the place of the end record; -1 where there is no whole one."""
    end = data.rfind(b"PK\x05\x06", max(0, len(data) - _END.size - 0xFFFF))
    return end if end + _END.size <= len(data) else -1


def holds_any(data: bytes) -> bool:
    """Say whether any file of an export is in `data` as zips hold it, whole or not (FORMAT.md §13).

    Whether the zip can be read does not matter: of a damaged one a single header will do.
    """
    for found in _header.finditer(data):
        at, size = found.start(3), int.from_bytes(found[1] or found[2], "little")
        if _is_name(data, at, at + size):
            return True
    return False


def _chunks(files: Mapping[str, bytes]) -> Iterator[bytes]:
    """Yield, piece by piece, the zip of `files`."""
    directory, offset = [], 0
    for name in sorted(files):
        body, path = files[name], name.encode("ascii")
        size = len(body)
        common = (20, 0, 0, 0, _DATED, crc32(body), size, size, len(path), 0)
        header = _LOCAL.pack(b"PK\x03\x04", *common) + path
        yield header
        yield body
        directory.append(
            _CENTRAL.pack(b"PK\x01\x02", _MADE_BY, *common, 0, 0, 0, _MODE, offset) + path
        )
        offset += len(header) + size
    length, count = sum(map(len, directory)), len(directory)
    yield from directory
    yield _END.pack(b"PK\x05\x06", 0, 0, count, count, length, offset, 0)


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the files of an export's zip by name.

    Raises DataError `1.unreadable`, `1.name` (a name no export has, which all
    absolute and parent paths are), `1.entries` (a name twice), `1.size`, or
    `1.container` (the same files would make another zip).
    """
    if len(data) > MAX_EXPORT:
        raise DataError("1.size", f"the export has more than {MAX_EXPORT} bytes")
    entries = list(_directory(data))
    if len({entry.name for entry in entries}) < len(entries):
        raise DataError("1.entries", "the export holds one name twice")
    for entry in entries:
        if not _is_name(entry.name):
            raise _misnamed(entry.name.decode("utf-8", "surrogateescape"))
    if any(entry.method for entry in entries):
        raise DataError("1.container", "an entry of the export is compressed")
    if sum(max(entry.stored, entry.size) for entry in entries) > len(data):
        raise DataError("1.size", "the entries of the export overlap")
    files = {entry.name.decode(): _stored(data, entry) for entry in entries}
    if not is_zip_of(data, files):
        raise DataError("1.container", "the export's zip was not built the one way it is built")
    return files


def _unreadable() -> DataError:
    return DataError("1.unreadable", "the export is not a zip that can be read")


def _directory(data: bytes) -> Iterator[_Entry]:
    """Yield the entries of the directory that the end record points to."""
    end = _end_of(data)
    if end < 0:
        raise _unreadable()
    _, _, _, _, count, length, at, comment = _END.unpack_from(data, end)
    stop = at + length
    if end + _END.size + comment != len(data) or stop > end:
        raise _unreadable()
    while at < stop and count:  # no more than it says: there may be millions
        if at + _CENTRAL.size > stop or data[at : at + 4] != b"PK\x01\x02":
            raise _unreadable()
        row = _CENTRAL.unpack_from(data, at)
        method, (stored, size, name, extra, comment), offset = row[4], row[8:13], row[16]
        at += _CENTRAL.size
        yield _Entry(data[at : at + name], method, stored, size, offset)
        at += name + extra + comment
        count -= 1
    if at != stop or count:
        raise _unreadable()


def _stored(data: bytes, entry: _Entry) -> bytes:
    """Return the bytes of an entry, where its local header says that they begin."""
    at = entry.offset
    if data[at : at + 4] != b"PK\x03\x04" or at + _LOCAL.size > len(data):
        raise _unreadable()
    row = _LOCAL.unpack_from(data, at)
    at += _LOCAL.size + row[9] + row[10]
    if at + entry.stored > len(data):
        raise _unreadable()
    return data[at : at + entry.stored]


def _misnamed(name: str) -> DataError:
    spelled = name.encode("utf-8", "backslashreplace").decode()  # it may not be UTF-8
    return DataError("1.name", f"{name!a} does not belong in an export", spelled)


def check_folder(files: Mapping[str, bytes]) -> None:
    """Raise DataError `1.size` or `1.name` for what is no folder of an export.

    A name that ends in `/` stands for what is there under it and is no regular file.
    """
    if len(files) > MAX_FILES:
        raise DataError("1.size", f"the export has more than {MAX_FILES} files")
    for name in files:
        if not is_name(name):
            raise _misnamed(name.removesuffix("/"))
    if sum(map(len, files.values())) > MAX_EXPORT:
        raise DataError("1.size", f"the export has more than {MAX_EXPORT} bytes")


def of_files(files: Mapping[str, bytes]) -> Bundle:
    """Return the record that an export's files hold; raises DataError `1.events`."""
    if EVENTS not in files:
        raise DataError("1.events", "the export has no events.jsonl")
    if files[EVENTS][-1:] not in (b"", b"\n"):
        raise DataError("1.events", "the last line of events.jsonl is cut off")

    def folder(name: str) -> dict[str, bytes]:
        start = name + "/"
        return {
            key.removeprefix(start): body for key, body in files.items() if key.startswith(start)
        }

    proofs = {name.removesuffix(".proof"): body for name, body in folder("register").items()}
    return Bundle(
        Lines(files[EVENTS]), folder("blobs"), folder("templates"), None, folder("policies"), proofs
    )


def to_files(bundle: Bundle) -> dict[str, bytes]:
    """Return a record's lines, texts, templates, policies and proofs as the files of an export."""
    files = {EVENTS: b"".join(line + b"\n" for line in bundle.lines)}
    for name, bodies in (
        ("blobs", bundle.blobs),
        ("templates", bundle.templates),
        ("policies", bundle.policies),
        ("register", {f"{name}.proof": body for name, body in bundle.proofs.items()}),
    ):
        files |= {f"{name}/{key}": body for key, body in bodies.items()}
    return files
