"""Reading what a caller names: a file of bounded size, or all of an export."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from hansard import private
from hansard.errors import DataError, UsageError
from hansard.record import page as pages
from hansard.record.bundle import FOLDERS, MAX_EXPORT, MAX_FILES, is_name

MAX_FILE = 4_000_000  # bytes of a trust file or a policy


def read_file(path: Path, most: int = MAX_FILE) -> bytes:
    """Return a file's bytes; raises UsageError `input.unreadable`, also for more than `most`."""
    data = _read(path, most)
    if len(data) > most:
        raise UsageError("input.unreadable", f"{path} is larger than {most:,} bytes")
    return data


def _read(path: Path, most: int) -> bytes:
    """Return at most one byte more than `most`: enough to see that it is too much."""
    try:
        return private.read(path, most)
    except OSError as error:
        raise UsageError("input.unreadable", f"{path} cannot be read: {error.strerror}") from None


def export_at(path: Path) -> bytes | dict[str, bytes]:
    """Return the bytes of a zip or of a page, or the files of a folder by name.

    What has no place in an export is not opened and stands as a file without
    content under a name that verifying refuses: its own, or, where it is no
    regular file, its own with `/` after it. Raises UsageError
    `input.unreadable`, and DataError `input.unknown` for HTML that is no page,
    `page.damaged` for a page without a record that can be read.
    """
    try:
        mode = path.stat().st_mode
        if S_ISDIR(mode):
            return dict(_files(path))
    except OSError as error:
        raise UsageError("input.unreadable", f"{path} cannot be read: {error.strerror}") from None
    if not S_ISREG(mode):
        raise UsageError("input.unreadable", f"{path} is neither a file nor a folder")
    data = _read(path, MAX_EXPORT)
    if pages.is_page(data):
        if not pages.record_in(data):
            raise DataError("page.damaged", f"the record in the page {path} is damaged or cut off")
    elif data.lstrip().startswith(b"<"):
        raise DataError("input.unknown", f"{path} is neither a Hansard page nor an export")
    return data


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file of an export's folder; links are never followed.

    No more is read than shows that it is too much, in files or in bytes.
    """
    left = MAX_EXPORT
    found = islice(_names(folder, ""), MAX_FILES + 1)
    for name, item in sorted(found, key=lambda row: row[0].removesuffix("/")):
        content = _read(item, left) if is_name(name) and left >= 0 else b""
        left -= len(content)
        yield name, content


def _names(folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    """Yield the files below a folder by the names that they have in an export."""
    for item in folder.iterdir():
        name, mode = prefix + item.name, item.lstat().st_mode
        if S_ISDIR(mode) and name in FOLDERS:
            yield from _names(item, f"{name}/")
        else:
            good = S_ISREG(mode) or not is_name(name)  # a link may have a good name
            yield (name if good else f"{name}/"), item
