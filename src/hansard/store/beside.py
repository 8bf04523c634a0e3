"""What Hansard keeps beside the file of a store, and whether that stands where it was opened.

What a killed process stored may stand in the write-ahead log alone (`FILE-wal`), and SQLite
does not miss a log that somebody deletes. So the number of entries is kept beside the store
(`FILE-entries`), for as long as there is a log.

What was erased may stand in that log, too, until the store was scrubbed. So that a process which
is killed in between leaves it to the next that opens the store, `FILE-erased` stands beside it
meanwhile.

Who runs a debate holds `FILE-run-DEBATE` locked.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from hansard import private
from hansard.errors import DataError
from hansard.store.file import examine_beside, regular, stands

_WORD = 16  # random bytes


class Place:
    """Where the files of a store stand that a connection has open: they may be moved, or replaced.

    SQLite writes on into what it has open, where nobody finds it. Raises OSError.
    """

    def __init__(self, store: Path) -> None:
        paths = [Path(f"{store}{end}") for end in ("", "-wal", "-shm")]
        self._files = {path: path.stat() for path in paths}

    def require(self) -> None:
        """Refuse to write where one of them stands no more; raises DataError `store.moved`."""
        for path, file in self._files.items():
            if not stands(file, path):
                raise DataError(
                    "store.moved",
                    f"{path} was moved, replaced or removed while this process has it open; "
                    "nothing more is stored, since it would be lost: put it back as it was",
                )


class Tally:
    """How many entries the store had when it was last written, kept in a file beside it.

    It is written once they are stored, so it never says more than was there. It is not synced:
    it is for a process that is killed and a log that is deleted, not for a lost disk.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self._path = Path(f"{store}-entries")

    def read(self) -> int:
        """Return the number that was written, twice alike; 0 where none can be read.

        Raises DataError `store.beside`.
        """
        try:
            regular(self._path)
            with self._path.open("rb") as file:
                first, second = file.read(42).splitlines()
            return int(first) if first == second else 0
        except (OSError, ValueError):
            return 0

    def write(self, entries: int) -> None:
        """Note a number that is larger than what is there."""
        with suppress(OSError):  # what was stored is stored
            try:
                descriptor = private.create(self._path)
            except FileExistsError:
                descriptor = os.open(self._path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            with os.fdopen(descriptor, "r+b") as file:
                if entries > self.read():
                    file.write(b"%020d\n" % entries * 2)

    def check(self, before: int, entries: int) -> None:
        """Compare what was read before the store was with what the store has.

        Raises DataError `store.lost`.
        """
        if before > entries:
            raise DataError(
                "store.lost",
                f"{self._store} had {before:,} entries and has {entries:,}: its write-ahead log "
                f"{self._store}-wal was deleted, or an older copy was put in its place; restore "
                f"both files from a copy, or delete {self._path} to go on with what is left",
            )

    def clear(self) -> None:
        """Take the file away once everything stands in the store itself."""
        if not Path(f"{self._store}-wal").exists():
            with suppress(OSError):
                self._path.unlink()


class Unscrubbed:
    """A file beside a store whose files may still hold texts that were erased.

    Only a process that holds the store's lock for writing makes or removes it. Each erasure writes
    a new random word into it. A process that has scrubbed the store removes the file only if the
    word is still the one it read before: else something was erased meanwhile.
    """

    def __init__(self, store: Path) -> None:
        self._path = Path(f"{store}-erased")

    def set(self) -> None:
        """Make it anew, on the disk; raises OSError and DataError `store.beside`."""
        regular(self._path)
        private.write(self._path, token_hex(_WORD).encode(), replace=True)

    def read(self) -> bytes | None:
        """Return its word; None where it is not there. Raises OSError, DataError `store.beside`."""
        if regular(self._path) is None:
            return None
        with suppress(FileNotFoundError):
            return private.read(self._path, 2 * _WORD, follow=False)
        return None

    def clear(self, word: bytes | None) -> None:
        """Take it away if it has this word; raises OSError and DataError `store.beside`."""
        if word is not None and self.read() == word:
            self._path.unlink(missing_ok=True)


class RunnerLock:
    """A lock on one debate that dies with its process.

    It is SQLite's own lock on an empty file beside the store: an operating
    system lock, portable, and gone however the process ends. Should two
    runners append all the same, the sequence number decides.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._connection: sqlite3.Connection | None = None

    def acquire(self) -> bool:
        """Take the lock; False where another process holds it.

        Raises OSError, sqlite3.Error, and DataError `store.beside` for a file that is no lock.
        """
        while self._connection is None:
            with suppress(FileExistsError):
                os.close(private.create(self.path))
            file = regular(self.path)
            if file is None:  # its holder has just removed it
                continue
            if file.st_size:
                raise DataError(
                    "store.beside", f"{self.path} is not a lock, which is an empty file; remove it"
                )
            examine_beside(self.path)
            connection = sqlite3.connect(self.path, timeout=0, isolation_level=None)
            if not _is_free(connection):
                return False
            # Only the holder removes the file: a lock on one that is gone is no lock.
            if stands(file, self.path):
                self._connection = connection
            else:
                connection.close()
        return True

    def release(self) -> None:
        """Give the lock back, if it is held."""
        if self._connection is not None:
            with suppress(OSError):  # some systems keep a file that is open
                self.path.unlink()
            self._connection.close()
            self._connection = None


def _is_free(connection: sqlite3.Connection) -> bool:
    """Lock a lock's file, whose connection is closed where that fails; False where it is held."""
    try:
        connection.execute("PRAGMA cache_size = 0")  # nothing is read, and room takes 80 KB
        # A journal on disk would be a second open file for each debate that runs.
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True
