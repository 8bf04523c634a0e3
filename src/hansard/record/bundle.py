"""What a record is made of, wherever it was read from; and its one container (FORMAT.md §13).

An export is a zip that is built in exactly one way, so that nothing hides in
its metadata: a reader takes out the files, builds the zip again and compares.
Nothing is ever decompressed: entries are stored.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hansard.errors import DataError
from hansard.record.line import split_lines

EVENTS = "events.jsonl"
MAX_EXPORT = 1 << 30
MAX_ENTRIES = 200_000
_NAMES = re.compile(
    r"report\.html|VERIFY\.md|SHA256SUMS|events\.jsonl|register\.jsonl|checkpoint"
    r"|(blobs|templates|policies)/[0-9a-f]{64}"
).fullmatch


@dataclass(frozen=True, slots=True)
class Head:
    """How long a record is and the hash of its last line, kept beside the lines."""

    length: int
    hash: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """One debate's bytes: lines without LF; blob files, templates and policies by name.

    `head` is what a store keeps beside the lines; None where nothing does.
    """

    lines: Sequence[bytes]
    blobs: Mapping[str, bytes]
    templates: Mapping[str, bytes]
    head: Head | None = None
    policies: Mapping[str, bytes] = field(default_factory=dict)


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return the one zip that holds `files`: stored, in byte order, without any metadata."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the files of an export's zip by name.

    Raises DataError `1.unreadable`, `1.name` (a name no export has, which all
    absolute and parent paths are), `1.entries` (a name twice, or too many),
    `1.size`, or `1.container` (the same files would make another zip).
    """
    if len(data) > MAX_EXPORT:
        raise DataError("1.size", f"the export has more than {MAX_EXPORT} bytes")
    files: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            _check_entries([entry.filename for entry in entries])
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise DataError("1.container", "an entry of the export is compressed")
            if sum(entry.file_size for entry in entries) > len(data):
                raise DataError("1.size", "the entries of the export overlap")
            for entry in entries:
                files[entry.filename] = archive.read(entry)
    except (
        zipfile.BadZipFile,
        ValueError,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        struct.error,
    ):
        raise DataError("1.unreadable", "the export is not a zip that can be read") from None
    if pack(files) != data:
        raise DataError("1.container", "the export's zip was not built the one way it is built")
    return files


def _check_entries(names: Sequence[str]) -> None:
    if len(names) > MAX_ENTRIES or len(set(names)) < len(names):
        raise DataError("1.entries", "the export has too many entries, or one name twice")
    check_names(names)


def check_names(names: Sequence[str]) -> None:
    """Raise DataError `1.name` unless every name is one that an export has."""
    if not all(map(_NAMES, names)):
        raise DataError("1.name", "the export holds a file that does not belong there")


def of_files(files: Mapping[str, bytes]) -> Bundle:
    """Return the record that an export's files hold; raises DataError `1.events`."""
    if EVENTS not in files:
        raise DataError("1.events", "the export has no events.jsonl")
    lines, ended = split_lines(files[EVENTS])
    if not ended:
        raise DataError("1.events", "the last line of events.jsonl is cut off")

    def folder(name: str) -> dict[str, bytes]:
        start = name + "/"
        return {
            key.removeprefix(start): body for key, body in files.items() if key.startswith(start)
        }

    return Bundle(lines, folder("blobs"), folder("templates"), None, folder("policies"))


def to_files(bundle: Bundle) -> dict[str, bytes]:
    """Return a record's lines, texts, templates and policies as the files of an export."""
    files = {EVENTS: b"".join(line + b"\n" for line in bundle.lines)}
    for name, bodies in (
        ("blobs", bundle.blobs),
        ("templates", bundle.templates),
        ("policies", bundle.policies),
    ):
        files |= {f"{name}/{key}": body for key, body in bodies.items()}
    return files
