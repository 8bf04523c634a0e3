"""The files of keys and of trust: read and written with one clear error for whatever fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hansard import private
from hansard.commands import path_word
from hansard.errors import DataError, UsageError

MAX_FILE = 4_000_000  # bytes of a trust file or a key


def is_there(path: Path) -> bool:
    """Say whether a file is there; raises DataError `key.unreadable` where nobody can tell."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unreadable(path, error) from None
    return True


def read(path: Path, *, secret: bool = False) -> bytes:
    """Return a file's bytes; raises DataError `key.unreadable`, also for one that is too large."""
    try:
        data = private.read(path, MAX_FILE, secret=secret)
    except OSError as error:
        raise _unreadable(path, error) from None
    if len(data) > MAX_FILE:
        raise DataError("key.unreadable", f"{path} is larger than {MAX_FILE:,} bytes")
    return data


@contextmanager
def edited(path: Path) -> Iterator[None]:
    """Let nobody else edit the files beside `path` meanwhile; its folder is made if need be.

    Raises DataError `key.unreadable` and UsageError `key.unwritable`.
    """
    if not is_there(path.parent):
        make_folders(path.parent)
    with ExitStack() as stack:
        try:
            stack.enter_context(private.locked(path.parent))
        except OSError as error:
            raise _unreadable(path.parent, error) from None
        yield


def read_secret(path: Path) -> bytes:
    """Return the bytes of a file that nobody but its owner may read.

    Raises DataError `key.unreadable`, and UsageError `key.shared` with the command
    that mends it.
    """
    try:
        return read(path, secret=True)
    except private.Shared:
        command = f"chmod 600 {path_word(path)}"
        raise UsageError(
            "key.shared",
            f"others can read {path}: run `{command}`, "
            "and rotate the key if somebody may have copied it",
        ) from None


def write(path: Path, data: bytes) -> None:
    """Replace a private file as a whole; raises UsageError `key.unwritable`."""
    try:
        private.write(path, data, replace=True)
    except OSError as error:
        raise UsageError("key.unwritable", f"{path} cannot be written: {error.strerror}") from None


def move(path: Path, target: Path) -> None:
    """Give a file another name; raises UsageError `key.unwritable`."""
    try:
        path.rename(target)
    except OSError as error:
        raise UsageError("key.unwritable", f"{path} cannot be moved: {error.strerror}") from None


def make_folders(*folders: Path) -> None:
    """Make folders for their owner alone; raises UsageError `key.unwritable`."""
    try:
        private.make_folders(*folders)
    except OSError as error:
        raise UsageError(
            "key.unwritable", f"{folders[-1]} cannot be made: {error.strerror}"
        ) from None


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError("key.unreadable", f"{path} cannot be read: {error.strerror}")
