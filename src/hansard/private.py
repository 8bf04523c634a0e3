"""Files for their owner alone, written as a whole or not at all.

A file is readable and writable by its owner alone (mode 0600) from its first byte,
whatever the umask. It is written beside its place under a name that nobody can guess, never
through a file or link that stands there already, and reaches the disk before it takes its
place. Its folder is held meanwhile: what somebody puts in the folder's place gets nothing.
All functions raise OSError; FileExistsError where a new file was asked for and
something has its name.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from stat import S_ISDIR, S_ISREG, S_ISVTX
from typing import BinaryIO

if sys.platform == "win32":
    fcntl = None
else:
    import fcntl

_NEW = (
    os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)
_PASS = getattr(os, "O_PATH", os.O_RDONLY)  # a folder that nobody may list is written into, too
_TOKEN = 8  # bytes of a name that nobody can guess
_part = re.compile(rf"\.[0-9a-f]{{{2 * _TOKEN}}}\.part").fullmatch
_OTHERS = 0o077  # the bits of a mode that let anybody but the owner in
_CHANGE = 0o022  # those of them that let anybody change a file


def home() -> Path:
    """Return HANSARD_HOME, or its default; raises RuntimeError where nobody is at home."""
    named = os.environ.get("HANSARD_HOME")
    return Path(named) if named else Path.home() / ".config" / "hansard"


def create(path: Path | str, folder: int | None = None) -> int:
    """Make an empty file, whose name begins in a folder that is held, and return its descriptor."""
    descriptor = os.open(path, _NEW, 0o600, dir_fd=folder)
    if os.name == "posix":  # a umask may have taken more than it should
        os.fchmod(descriptor, 0o600)
    return descriptor


def write(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a new file; with `replace`, put it in the place of what has its name, if anything.

    A link in its place is replaced, not followed.
    """
    write_parts(path, (data,), replace=replace)


def write_parts(path: Path, parts: Iterable[bytes], *, replace: bool = False) -> None:
    """Write a file as `write` does, of which only a part is in memory at a time."""
    with held(path.parent) as folder:
        folder.write(path.name, parts, replace=replace)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that is held: what somebody puts in its place meanwhile is neither read nor written.

    Without a `descriptor`, where the system can name no file by one, it is reached by its path.
    """

    path: Path
    descriptor: int | None

    def write(self, name: str, parts: Iterable[bytes], *, replace: bool = False) -> None:
        """Write a file of the folder as `write_parts` does."""
        here, at = self.descriptor, self._at(name)
        part = self._at(f".{token_hex(_TOKEN)}.part")
        descriptor = create(part, here)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                os.replace(part, at, src_dir_fd=here, dst_dir_fd=here)
            else:
                _place(part, at, here)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(part, dir_fd=here)
        if here is not None:
            _sync(here)

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        """Give a regular file of the folder to be read, as `opened` does, and no link."""

        def opener(at: str, flags: int) -> int:
            return _itself(at, flags, self.descriptor)

        with _regular(self._at(name), opener) as file:
            yield file

    def files(self) -> Iterator[tuple[str, bool]]:
        """Yield the name of each thing in the folder, and whether it is a regular file."""
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as found:
            for entry in found:
                yield entry.name, entry.is_file(follow_symlinks=False)

    @contextmanager
    def inner(self, name: str) -> Iterator[Folder]:
        """Make a folder in it, where nothing has its name, and hold that."""
        at, here = self._at(name), self.descriptor
        os.mkdir(at, 0o700, dir_fd=here)
        with held(self.path / name, own=True, within=self) as made:
            yield made

    def remove(self, name: str) -> None:
        """Take a file, or a folder in which nothing is, out of the folder."""
        at, here = self._at(name), self.descriptor
        try:
            os.unlink(at, dir_fd=here)
        except (IsADirectoryError, PermissionError):  # the second is what POSIX says of a folder
            os.rmdir(at, dir_fd=here)

    def lock(self) -> None:
        """Take the right to edit its files, until it is let go of, where there are such locks."""
        if fcntl is not None and self.descriptor is not None:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)

    def _at(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)


@contextmanager
def held(
    path: Path, *, own: bool = False, listed: bool = False, within: Folder | None = None
) -> Iterator[Folder]:
    """Hold a folder; its `own` is no link, and one that is `listed` can be locked as well.

    One `within` another that is held is found there, whatever has taken that one's place.
    """
    if os.link not in os.supports_dir_fd:
        yield Folder(path, None)
        return
    flags = os.O_DIRECTORY | (os.O_RDONLY if listed else _PASS)
    flags |= getattr(os, "O_NOFOLLOW", 0) if own else 0
    at, here = (path.name, within.descriptor) if within else (path, None)
    descriptor = os.open(at, flags, dir_fd=here)
    try:
        yield Folder(path, descriptor)
    finally:
        os.close(descriptor)


def is_part(name: str) -> bool:
    """Say whether a file's name is one that `write` gives to what a killed process leaves."""
    return bool(_part(name))


class Shared(Exception):
    """A file that was to be read is not for its owner alone."""


def read(path: Path, most: int, *, secret: bool = False, follow: bool = True) -> bytes:
    """Return the bytes of a regular file; one more than `most` where it has more.

    A pipe or a device, which may hold up its reader for ever, is not read, nor is a link where
    `follow` is not set. Raises Shared for a `secret` that others may read or change: the very
    file that is read is looked at.
    """
    with opened(path, follow=follow) as file:
        if secret and lets_others_in(os.fstat(file.fileno())):
            raise Shared
        return file.read(most + 1)


@contextmanager
def opened(path: Path, *, follow: bool = True) -> Iterator[BinaryIO]:
    """Give a regular file to be read, and no pipe or device, nor a link without `follow`."""
    with _regular(path, _at_once if follow else _itself) as file:
        yield file


@contextmanager
def _regular(path: Path | str, opener: Callable[[str, int], int]) -> Iterator[BinaryIO]:
    with open(path, "rb", opener=opener) as file:
        if not S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        yield file


def _at_once(path: str, flags: int, folder: int | None = None) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), dir_fd=folder)


def _itself(path: str, flags: int, folder: int | None = None) -> int:
    return _at_once(path, flags | getattr(os, "O_NOFOLLOW", 0), folder)


def make_folders(*folders: Path) -> None:
    """Make each folder that is not there, for its owner alone; their parents as is usual."""
    for folder in folders:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the right to edit the files of a folder, where the system has such locks.

    A pipe in its place is refused: to open it would wait for ever.
    """
    with held(folder, listed=True) as found:
        found.lock()
        yield


def lets_others_in(found: os.stat_result) -> bool:
    """Say whether others than the owner may read or change a file, where a mode tells."""
    return os.name == "posix" and bool(found.st_mode & _OTHERS)


def lets_others_change(found: os.stat_result) -> bool:
    """Say whether others than the owner may change a file or folder, where a mode tells.

    In a folder such as `/tmp` (sticky) everybody may change what is their own, and that alone.
    """
    shared = S_ISDIR(found.st_mode) and found.st_mode & S_ISVTX
    return os.name == "posix" and not shared and bool(found.st_mode & _CHANGE)


def _place(part: str, name: str, folder: int | None) -> None:
    """Give a file its name, which nothing may have."""
    try:  # unlike a rename, a link never replaces anything
        os.link(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        with suppress(FileNotFoundError):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from None
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)


def _sync(folder: int) -> None:
    """Let the name reach the disk as well, where folders can be synced."""
    with suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY, dir_fd=folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
