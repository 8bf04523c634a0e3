"""The files that a spec names: what it may name, and how much of each is read.

A spec may come from a stranger, and what it names goes to the server that it
names. So a name in a spec reaches a file only

- below the spec's own folder, no part of the path being hidden, or anywhere below
  a folder that the caller allowed, links being resolved before either is asked;
- never below the folder of the caller's keys, nor one that the environment names as a file of
  theirs, nor what the kernel shows as files;
- that is a regular file, not larger than `LIMITS` says, and no file of an open store.

A `Path` instead of text is the caller's own, from Python: keys, kind, size and stores
are looked at alone, and it begins in the working directory. Nothing that a file holds stands
in an error's sentence, but for short keys of a script (`slip`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os.path import samestat
from pathlib import Path
from stat import S_ISREG
from typing import Literal

from hansard.errors import UsageError
from hansard.governance.keyring import Keyring
from hansard.record.bundle import MAX_EXPORT
from hansard.rules.spec_parts import OwnPath
from hansard.store.file import is_in_use
from hansard.verify.checks import MAX_DOCUMENT

Kind = Literal["spec", "script", "schema", "template", "file", "document", "answer", "export"]

MIB = 1 << 20
LIMITS: dict[Kind, int] = {  # bytes
    "spec": 4 * MIB,
    "script": 4 * MIB,
    "schema": MIB,
    "template": MIB,
    "file": 64 * MIB,  # of evidence, of whatever kind
    "document": MAX_DOCUMENT,
    "answer": MAX_DOCUMENT,
    "export": MAX_EXPORT,
}

_LONGEST_TOLD = 24  # characters: keys for an API have more

# Without O_NONBLOCK, opening what has become a FIFO would wait for its writer.
_OPTIONS = ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY")  # where the system has them
_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in _OPTIONS)
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_WALKS = os.open in os.supports_dir_fd
# What lies there is a stream or the kernel's: a spec that is read from there has no folder.
_STREAMS = ("/dev", "/proc")
# Words in the names of variables that name a file of the caller's with a key, a token or a
# passphrase. Libraries of providers, of PostgreSQL and of telemetry read dozens, and more with each
# release, so they are told by their names (`AWS_CREDENTIAL_FILE`, `NETRC`, `PGSERVICEFILE`).
_NAMES_KEYS = re.compile(
    "AUTH|CONFIG|CRED|IDENTITY|KEY|NETRC|PASS|SECRET|SERVICEFILE|TOKEN", re.IGNORECASE
).search
_KEY_FOLDERS = ("CLOUDSDK_CONFIG", "ANTHROPIC_CONFIG_DIR", "AWS_LOGIN_CACHE_DIRECTORY")
_KERNEL = ("/proc", "/sys")  # such as the environment of this process: no spec may name it


@dataclass(frozen=True)
class Files:
    """Where the file names of a spec begin, and what they may reach.

    `folder` is None for a spec that has none, such as a mapping; `allowed` are
    the folders that the caller opens to the spec beside it: both without links, as
    `settled` gives them before the spec is read. Who can write above one could else make
    another of it while the spec's files are read. Where the folder is not known to be the
    spec's own (`is_own`), it has to be allowed like any other.
    """

    folder: Path | None
    allowed: tuple[Path, ...] = ()
    is_own: bool = True

    def text(self, name: str | OwnPath, kind: Kind, code: str) -> str:
        """Return a UTF-8 file's text with LF line ends; UsageError `code`, `spec.file_*`."""
        return decoded(self.read(name, kind, code), name, code)

    def read(self, name: str | OwnPath, kind: Kind, code: str) -> bytes:
        """Return what a file holds.

        Raises UsageError `code` where it cannot be read, `spec.file_size`, or
        `spec.file_outside`, `spec.file_keys` or `spec.file_store` for one that the spec may not
        name.
        """
        with _told(name, code):
            real = self._resolved(name)
            file = _open(real, name)
            try:
                _refuse_keys(real, os.fstat(file), name)  # by now it may be another file
                data = _bounded(file, LIMITS[kind])
            finally:
                os.close(file)
        return check_size(data, name, kind)

    def _resolved(self, name: str | OwnPath) -> Path:
        """Return where `name` leads to; raises UsageError where it may not lead there."""
        if isinstance(name, str) and self.folder is None and not Path(name).is_absolute():
            raise UsageError(
                "spec.file_outside",
                f"the spec names the file {name}, but the spec itself is not a file, so it has no "
                "folder; write Path(NAME) in Python, or pass the `folder` where names begin",
            )
        begin = self.folder if isinstance(name, str) and self.folder else Path()
        real = Path(os.path.realpath(begin / name, strict=True))
        _refuse_keys(real, real.stat(), name)
        _refuse_store(real, name)
        if isinstance(name, str) and any(map(real.is_relative_to, _KERNEL)):
            raise _no_file(name)
        if isinstance(name, str) and not self._reaches(real):
            if not self.is_own:
                raise UsageError(
                    "spec.file_outside",
                    f"{name}: only the store says that the files of this debate are in "
                    f"{self.folder}, which is below neither the store nor the working directory; "
                    "if the spec may read them, allow that folder: --allow DIR (in Python: "
                    "allow=[DIR])",
                )
            raise UsageError(
                "spec.file_outside",
                f"{name} is hidden or outside the spec's folder; if the spec may read it, allow "
                "its folder: --allow DIR (in Python: allow=[DIR])",
            )
        return real

    def _reaches(self, real: Path) -> bool:
        if any(map(real.is_relative_to, self.allowed)):
            return True
        own = self.folder if self.is_own else None
        if own is None or not real.is_relative_to(own):
            return False
        return not any(part.startswith(".") for part in real.relative_to(own).parts)


def stored_files(folder: Path | None, store: Path | None, allowed: tuple[Path, ...]) -> Files:
    """Return the files of a debate whose folder a store in the folder `store` names.

    A store may come from a stranger as well, so the folder counts as the spec's own
    only below the store's, or below the working directory. None: a store in memory.
    """
    if folder is None or store is None:
        return Files(folder, allowed)
    known = [os.path.realpath(place) for place in (store, Path())]
    real = settled(folder)
    return Files(real, allowed, is_own=any(map(real.is_relative_to, known)))


def settled(folder: Path | str) -> Path:
    """Return where a folder is now, without links: so it stays the one that its name meant."""
    try:
        return Path(os.path.realpath(folder))
    except (OSError, ValueError, RecursionError):  # reading a file there will say what is wrong
        return Path(folder)


def read_own(path: Path, folder: Path | None = None) -> bytes:
    """Return what the spec file `path` holds, which the caller names; it may be a pipe.

    It is read in its `folder` where that is known already. Raises UsageError
    `spec.unreadable`, `spec.file_size`, or `spec.file_store` for what is, or leads to, a file
    of an open store.
    """
    place = path if folder is None else folder / path.name
    with _told(path, "spec.unreadable"):
        _refuse_store(settled(place), path)
        with place.open("rb", buffering=0) as file:
            data = _bounded(file.fileno(), LIMITS["spec"])
    return check_size(data, path, "spec")


def folder_of(path: Path) -> Path | None:
    """Return the folder of a spec file, without links; None where it is a pipe or a stream."""
    try:
        is_stream = any(path.absolute().is_relative_to(place) for place in _STREAMS)
        return settled(path.parent) if path.is_file() and not is_stream else None
    except OSError:  # reading the file will say what is wrong
        return None


def slip(name: str) -> str:
    """Return how an error names a key of a file: a slip as it is, but nothing as long as a secret.

    >>> slip("propsal"), slip("a key for an API or a password")
    ('propsal', '…')
    """
    return name if len(name) <= _LONGEST_TOLD else "…"


@contextmanager
def _told(name: object, code: str) -> Iterator[None]:
    """Say in a UsageError `code` why a file cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise UsageError(code, f"there is no file {name}") from None
    except RecursionError:
        raise UsageError(code, f"{name} cannot be read: too many links on the way") from None
    except OSError as error:
        raise UsageError(code, f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(code, f"{name} is not UTF-8 text") from None
    except UsageError:
        raise
    except ValueError:
        raise UsageError(code, f"{str(name)!r} is not a valid file name") from None


def check_size(data: bytes, name: object, kind: Kind) -> bytes:
    """Return `data`, which is no larger than its kind may be; UsageError `spec.file_size`."""
    if len(data) > LIMITS[kind]:
        raise UsageError(
            "spec.file_size", f"{name} is larger than {LIMITS[kind]:,} bytes, the most for a {kind}"
        )
    return data


def decoded(data: bytes, name: object, code: str) -> str:
    """Return UTF-8 text without its mark and with LF line ends; raises UsageError `code`."""
    with _told(name, code):
        text = data.decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _refuse_store(real: Path, name: object) -> None:
    """Raise UsageError `spec.file_store` where a path without links leads to an open store."""
    if is_in_use(real):
        raise UsageError(
            "spec.file_store", f"{name} belongs to a store that is open; name another file"
        )


def _refuse_keys(real: Path, found: os.stat_result, name: object) -> None:
    """Raise UsageError `spec.file_keys` where a file at a path without links is one of keys."""
    if by := _told_secret_by(real, found):
        raise UsageError(
            "spec.file_keys", f"{name} belongs to your keys (by {by}), which no spec may read"
        )


def _told_secret_by(real: Path, found: os.stat_result) -> str | None:
    """Return the variable by which a file belongs to the caller's keys, if any."""
    for name, value in os.environ.items():
        if value and _NAMES_KEYS(name) and _is_file(found, _spelled_out(value)):
            return name
        if value and name in _KEY_FOLDERS and _is_below(real, _spelled_out(value)):
            return name
    try:
        home = Keyring.default_folder()
    except UsageError:  # nobody can tell where it would be: there is none
        return None
    is_inside = real.is_relative_to(os.path.realpath(home)) or _is_below(real, home)
    return "HANSARD_HOME" if is_inside or _is_key(real, found, home / "keys") else None


def _is_key(real: Path, found: os.stat_result, folder: Path) -> bool:
    """Say whether a file is one of a folder of keys: that, or a key in it, may be a link."""
    try:
        keys = list(folder.iterdir())
    except OSError:  # there is none
        return False
    return _is_below(real, folder) or any(_is_file(found, key) for key in keys)


def _is_file(found: os.stat_result, other: Path) -> bool:
    """Say whether a file is that other one, by whichever of its names."""
    try:
        return samestat(found, other.stat())
    except OSError:  # there is no such file
        return False


def _spelled_out(name: str) -> Path:
    """Return the path in a variable, in which AWS's library reads `~` and `$NAME`."""
    return Path(os.path.expandvars(os.path.expanduser(name)))  # noqa: PTH111 - without a home, too


def _is_below(real: Path, folder: Path) -> bool:
    """Say whether a path leads through a folder, however that is spelled on its way.

    Where case does not matter, or a folder is mounted twice, one has several names.
    """
    try:
        found = folder.stat()
        return any(samestat(found, each.stat()) for each in real.parents)
    except OSError:  # no such folder
        return False


def _open(real: Path, name: object) -> int:
    """Open the regular file at a path without links; OSError where a link stands there by now.

    It goes folder by folder, so that no part of the path can become a link between
    look and opening. What is no regular file is not opened: that alone can wait, or
    set a device going. Raises UsageError `spec.file_kind` for it.
    """
    place: int | None = None
    try:
        if _WALKS:
            place = os.open(real.anchor, _PASS)
            for part in real.parts[1:-1]:
                inner = os.open(part, _PASS | os.O_NOFOLLOW, dir_fd=place)
                os.close(place)
                place = inner
            real = Path(real.name)
        _check_kind(os.stat(real, dir_fd=place, follow_symlinks=False), name)
        file = os.open(real, _READ, dir_fd=place)
    finally:
        if place is not None:
            os.close(place)
    try:
        _check_kind(os.fstat(file), name)
    except UsageError:
        os.close(file)
        raise
    return file


def _check_kind(found: os.stat_result, name: object) -> None:
    if not S_ISREG(found.st_mode):
        raise _no_file(name)


def _no_file(name: object) -> UsageError:
    return UsageError("spec.file_kind", f"{name} is not a regular file; name one that holds text")


def _bounded(file: int, most: int) -> bytes:
    """Return what can be read from a file, and at most one byte more than `most`."""
    body = bytearray()
    while len(body) <= most and (piece := os.read(file, most + 1 - len(body))):
        body += piece
    return bytes(body)
