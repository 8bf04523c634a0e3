"""Whether a file keeps what is recorded in it: it may be a stranger's.

In such a file one page may have two uses, be called free while it is in use, or hold its keys out
of order. SQLite reads it all; but what it writes for one use destroys the other, and what it puts
where a key belongs it does not find again. So before the first entry is added it looks through
the whole file (https://sqlite.org/security.html), in a process of its own (`looking`). Before
rows are made anew, it looks through entries and rows in the same way: an index may lead elsewhere.

That takes about as long as to read the file. So HANSARD_HOME notes how Hansard left a large store:
by the time at which the system changed its file (`st_ctime`), which nobody can give to another.
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Literal

from hansard import apart, private
from hansard.errors import DataError
from hansard.store import file as files
from hansard.store.database import LOCK_SECONDS
from hansard.store.memory import HEAP

_error = re.compile(r"error (\d+) (.*)").fullmatch
_LOOKING = Path(__file__).with_name("looking.py")
_SMALL = 16 << 20  # bytes that are looked through faster than a process begins
_MOST = 1_000  # stores that are noted, the newest at the end
_NOTED = "stores"  # the file of HANSARD_HOME
_SIGNALS = 256  # other exit codes than a program gives itself


def require_sound(what: Literal["pages", "records", "rows"], path: Path) -> None:
    """Refuse a file of which SQLite says that its pages, records or rows do not fit together.

    Raises OSError, sqlite3.Error, and DataError `store.corrupt`, or `store.failed` where nothing
    could look through it.
    """
    looked = subprocess.run(  # noqa: S603 - this Python, and a file of this package
        apart.command(_LOOKING, what, files.uri_of(path), str(HEAP), str(LOCK_SECONDS)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=apart.environment(),
        start_new_session=True,  # Ctrl-C is for us alone: that it ended is no word on the file
        check=False,
    )
    said = looked.stdout.decode("ascii").strip()
    if said == "ok":
        return
    if told := _error(said):
        error = sqlite3.DatabaseError(told[2])
        error.sqlite_errorcode = int(told[1])
        raise error
    if not said and 0 <= looked.returncode < _SIGNALS:
        raise DataError(
            "store.failed",
            f"{path} is not written, since nothing could look through it: {sys.executable!r} is "
            f"no Python that runs {_LOOKING}, or has too little memory",
        )
    raise DataError(
        "store.corrupt",
        f"{path} is not written, since its parts do not fit together: SQLite looked through it, "
        f"and {f'found {said:.200}' if said else 'was ended by it'}; restore it from a copy, or "
        "name another store",
    )


class Sound:
    """What is known of a store's file, from before it is opened until it was closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _alone(path)
        self._is_new = not path.exists()
        self._is_sound = self._file is not None and _name(self._file) in _noted()

    def require(self) -> None:
        """Look through it, unless it is known; raises what `require_sound` does."""
        if self._is_sound:
            return
        file = self._path.stat()
        if not self._is_new:
            require_sound("records", self._path)
        self._file, self._is_sound = file, True

    def require_rows(self) -> None:
        """Look through its rows, of which nothing else is known, and what they are made of."""
        if not self._is_new:
            require_sound("rows", self._path)

    def note(self) -> None:
        """Note how it was left, once it is closed; where that cannot be kept, it is none."""
        left = _alone(self._path)
        if not (self._is_sound and self._file and left and os.path.samestat(self._file, left)):
            return
        names = _noted()
        new = [name for name in names if name != _name(self._file)] + [_name(left)]
        if new != names:
            with suppress(OSError, RuntimeError):
                private.make_folders(private.home())
                text = "".join(f"{name}\n" for name in new[-_MOST:])
                private.write(private.home() / _NOTED, text.encode(), replace=True)


def _alone(path: Path) -> os.stat_result | None:
    """Return what a large file is, if nothing beside it has a part of the store.

    On other systems a file does not tell when it was changed.
    """
    if os.name != "posix" or any(Path(f"{path}{end}").exists() for end in ("-wal", "-journal")):
        return None
    with suppress(OSError):
        found = path.stat()
        return found if found.st_size > _SMALL else None
    return None


def _name(file: os.stat_result) -> str:
    """Return what no other file has, nor this one once it is changed."""
    told = (file.st_dev, file.st_ino, file.st_size, file.st_ctime_ns)
    return sha256(repr(told).encode()).hexdigest()


def _noted() -> list[str]:
    """Return what was noted; nothing where that cannot be read, or others can write it."""
    with suppress(OSError, RuntimeError, ValueError, private.Shared):
        data = private.read(private.home() / _NOTED, 1 << 17, secret=True)
        return data.decode("ascii").splitlines()
    return []
