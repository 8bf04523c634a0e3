"""Reading what a caller names: a file of bounded size, or all of an export."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from hansard import private
from hansard.errors import DataError, UsageError
from hansard.record import folder as folders
from hansard.record.bundle import FOLDERS, MAX_EXPORT, MAX_FILES, is_name
from hansard.record.manifest import NAME
from hansard.record.note import MAX_NOTE
from hansard.record.page import is_page
from hansard.verify.envelope import require_export

MAX_FILE = 4_000_000  # bytes of a trust file or a policy


def read_file(path: Path, most: int = MAX_FILE) -> bytes:
    """Return a file's bytes; raises UsageError `input.unreadable`, also for more than `most`."""
    data = _read(path, most)
    if len(data) > most:
        raise _too_large(path, most)
    return data


def _too_large(path: Path, most: int) -> UsageError:
    return UsageError("input.unreadable", f"{path} is larger than {most:,} bytes")


def _refuse_store(path: Path) -> None:
    """Refuse a file of an open store: to read it takes back the locks that this process has on it.

    Raises UsageError `input.unreadable`.
    """
    from hansard.runtime.files import settled
    from hansard.store.file import is_in_use

    if is_in_use(settled(path)):
        said = f"{path} belongs to a store that is open; name another file"
        raise UsageError("input.unreadable", said)


def read_own(path: Path, most: int = MAX_EXPORT) -> bytes:
    """Return at most one byte more than `most` of a file that is no link."""
    return _read(path, most, follow=False)


@contextmanager
def open_own(path: Path, most: int) -> Iterator[BinaryIO]:
    """Give a file that is no link, to be read in parts.

    Raises UsageError `input.unreadable`, also for more than `most` bytes.
    """
    _refuse_store(path)
    try:
        with private.opened(path, follow=False) as file:
            if os.fstat(file.fileno()).st_size > most:
                raise _too_large(path, most)
            yield file
    except OSError as error:
        raise UsageError("input.unreadable", f"{path} cannot be read: {error.strerror}") from None


def _read(path: Path, most: int, *, follow: bool = True) -> bytes:
    """Return at most one byte more than `most`: enough to see that it is too much."""
    _refuse_store(path)
    try:
        return private.read(path, most, follow=follow)
    except OSError as error:
        raise UsageError("input.unreadable", f"{path} cannot be read: {error.strerror}") from None


def export_at(path: Path) -> bytes | dict[str, bytes]:
    """Return the bytes of a zip or of a page, or the files of a folder by name.

    What has no place in an export is not opened and stands as a file without
    content under a name that verifying refuses: its own, or, where it is no
    regular file, its own with `/` after it. Raises UsageError
    `input.unreadable`, and DataError as `require_export` does.
    """
    try:
        mode = path.stat().st_mode
        if S_ISDIR(mode):
            _require_one(path)
            require_export((name for name, _ in _names(path, "")), path)
            return dict(_files(path))
    except OSError as error:
        raise UsageError("input.unreadable", f"{path} cannot be read: {error.strerror}") from None
    if not S_ISREG(mode):
        raise UsageError("input.unreadable", f"{path} is neither a file nor a folder")
    data = _read(path, MAX_EXPORT)
    require_export(data, path)
    return data


def require_zip(data: bytes, path: Path) -> None:
    """Raise DataError `input.unknown` for what is no zip in a folder of exports: a page, too."""
    if is_page(data):
        raise DataError("input.unknown", f"{path} is a page and not a zip")
    require_export(data, path)


def names_in(folder: Path) -> dict[str, bool]:
    """Return the names in a folder, and of each whether it is a regular file.

    No more are read than show that they are too many for a folder of exports. Raises
    UsageError `input.unreadable`.
    """
    try:
        with os.scandir(folder) as found:
            entries = islice(found, folders.MAX_FILES + 2)
            return {entry.name: entry.is_file(follow_symlinks=False) for entry in entries}
    except OSError as error:
        raise UsageError("input.unreadable", f"{folder} cannot be read: {error.strerror}") from None


def holds_exports(folder: Path, names: Mapping[str, bool] | None = None) -> bool:
    """Say whether a path leads to a folder of exports; `names` are those that `names_in` found.

    Raises UsageError `input.unreadable` for a folder that cannot be read.
    """
    if names is None:
        if not os.path.isdir(folder):  # noqa: PTH112 - unlike that of a Path, it raises nothing
            return False
        names = names_in(folder)
    sums = read_own(folder / NAME, MAX_NOTE) if names.get(NAME) else b""
    return folders.is_folder(names, sums)


def count_exports(folder: Path) -> int:
    """Return how many exports a folder of exports holds; raises UsageError `input.unreadable`."""
    return sum(map(bool, map(folders.is_export, names_in(folder))))


def _require_one(folder: Path) -> None:
    """Raise UsageError `input.many` for a folder of exports, where one export is wanted."""
    if holds_exports(folder):
        raise UsageError("input.many", f"{folder} holds many exports; name one of the zips in it")


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file of an export's folder; links are never followed.

    No more is read than shows that it is too much, in files or in bytes.
    """
    left = MAX_EXPORT
    found = islice(_names(folder, ""), MAX_FILES + 1)
    for name, item in sorted(found, key=lambda row: row[0].removesuffix("/")):
        content = _read(item, left, follow=False) if is_name(name) and left >= 0 else b""
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
