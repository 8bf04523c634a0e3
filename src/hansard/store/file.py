"""The file of a store: told from other files, made whole, and missed where it lost its end.

A store is made under SQLite's own exclusive lock, in one transaction in rollback mode, and
set to a write-ahead log only then. So a process that is killed leaves either nothing or a
store, those that come at the same time wait, and the tables never stand in the log alone.

What a killed process stored may stand in the write-ahead log alone (`FILE-wal`), and SQLite
does not miss a log that somebody deletes. So the number of entries is kept beside the store
(`FILE-entries`), for as long as there is a log.

What was erased may stand in that log, too, until the store was scrubbed. So that a process which
is killed in between leaves it to the next that opens the store, `FILE-erased` stands beside it
meanwhile.

A store may stand in the folder of a stranger, with files beside it that nobody here made. What
is no regular file, or would make SQLite touch a file elsewhere, is refused before it is opened.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from stat import S_ISREG

from hansard import private
from hansard.errors import DataError, UsageError
from hansard.store.database import LOCK_SECONDS

APPLICATION_ID = 0x48414E53  # "HANS": tells our files from other SQLite databases
_PAUSE = 0.01  # seconds between tries where SQLite itself does not wait
_MAGIC = b"SQLite format 3\0"
_WAL = b"\x02\x02"  # both versions of the header, at byte 18
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")  # the end of a journal that does


def look_at(path: Path, *, create: bool) -> None:
    """Refuse what cannot be opened as a store.

    Raises OSError, UsageError `store.missing`, and what `examine` raises.
    """
    if path.exists():
        examine_beside(path)
        examine(path)
    elif not create:
        raise UsageError(
            "store.missing", f"there is no store at {path}; run a debate first, or name --store"
        )
    elif not path.parent.is_dir():
        raise UsageError(
            "store.missing", f"there is no folder {path.parent} for the store; create it first"
        )
    else:
        examine_beside(absolute(path))


def absolute(path: Path) -> Path:
    """Return a path that a change of folder does not change; raises UsageError `store.missing`."""
    try:
        return path.absolute()
    except FileNotFoundError:
        raise UsageError(
            "store.missing",
            "the working directory was removed; change to one that is there, or name --store",
        ) from None


def examine(path: Path) -> None:
    """Refuse a file that is not a store, before anything is written into it.

    Raises UsageError `store.not_writable`, DataError `store.corrupt` or `store.foreign`.
    """
    if not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
        raise UsageError(
            "store.not_writable", f"you cannot write to {path}; copy it to where you can"
        )
    header = _header(path)
    if not header or _is_ours(header):
        return
    try:
        if not header.startswith(_MAGIC):  # SQLite takes a file of a few bytes for an empty one
            raise sqlite3.DatabaseError("file is not a database")
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, timeout=LOCK_SECONDS, uri=True)) as connection:
            known = _application(connection) == APPLICATION_ID or _is_blank(connection)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # one may quote what is no text
        raise DataError(
            "store.corrupt", f"{path} cannot be read as a store: {error}; restore it from a copy"
        ) from None
    if not known:
        raise _foreign(path)


def examine_beside(path: Path) -> None:
    """Refuse what SQLite would find beside a database of ours and must not open.

    SQLite follows links and waits for pipes. It also deletes the file that a rollback journal
    names as its super-journal (https://sqlite.org/atomiccommit.html): such a journal is left
    only where several databases were written at once, which Hansard never does. Raises OSError
    and DataError `store.beside`.
    """
    real = Path(os.path.realpath(path))  # SQLite names these files after what a link leads to
    store = real.stat() if real.exists() else None
    for end in ("-wal", "-shm"):
        _own(Path(f"{real}{end}"), store)
    journal = Path(f"{real}-journal")
    if not _own(journal, store):
        return
    with suppress(FileNotFoundError), journal.open("rb") as file:  # its writer may be done
        file.seek(-min(len(_NAMES_ANOTHER), file.seek(0, os.SEEK_END)), os.SEEK_END)
        if file.read() == _NAMES_ANOTHER:
            raise DataError(
                "store.beside",
                f"{journal} names another file, which SQLite would delete; no store leaves such "
                "a journal: name another store, or find out who put it there",
            )


def _own(path: Path, store: os.stat_result | None) -> os.stat_result | None:
    """Return what a file beside a store is, as `regular` does.

    SQLite writes texts into what is there. So of a store that is for its owner alone, that is
    for nobody else either. Raises OSError and DataError `store.beside`.
    """
    found = regular(path)
    if os.name != "posix" or not found or (store and private.lets_others_in(store)):
        return found
    owners = {0, os.geteuid(), *([store.st_uid] if store else [])}
    if found.st_uid not in owners or private.lets_others_in(found):
        raise DataError(
            "store.beside",
            f"{path} is open to others, and the store beside it is not: find out who put it "
            f"there; if it is yours, run `chmod 600 {shlex.quote(str(path))}`",
        )
    return found


def exposed(path: Path) -> str | None:
    """Say who beside its owner, or instead of them, has a store's file; None where nobody has."""
    if os.name != "posix" or not path.exists():
        return None
    found = path.stat()
    if found.st_uid != os.geteuid():
        return f"{path} belongs to another user, who can read and change what is in it"
    if private.lets_others_in(found):
        what = "read and change" if private.lets_others_change(found) else "read"
        return f"others can {what} {path}: run `chmod 600 {shlex.quote(str(path))}`"
    return None


def regular(path: Path) -> os.stat_result | None:
    """Return what a file beside a store is; None where there is none.

    Raises OSError, and DataError `store.beside` for a link and whatever else is no regular file.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if not S_ISREG(found.st_mode):
        raise DataError(
            "store.beside", f"{path} is not a regular file: Hansard does not open it; remove it"
        )
    return found


def make(path: Path, tables: Sequence[str], version: int) -> None:
    """Make a store of a file that is missing or blank, with these tables; wait for others who do.

    A file that is a store already stays as it is. Raises sqlite3.Error, OSError and
    DataError `store.foreign`.
    """
    with suppress(FileExistsError):
        os.close(private.create(path))
    header = _header(path)
    if _is_ours(header) and header[18:20] == _WAL:
        return
    with closing(sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN EXCLUSIVE")
        if _application(connection) != APPLICATION_ID:
            if not _is_blank(connection):
                raise _foreign(path)
            _keep_private(path)
            for statement in tables:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version:d}")
        connection.execute("COMMIT")
        _set_wal(connection)


def is_blank(path: Path) -> bool:
    """Whether there is no store in this file yet, or not even a file."""
    return not path.exists() or not _is_ours(_header(path))


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
    """An empty file beside a store whose files may still hold texts that were erased."""

    def __init__(self, store: Path) -> None:
        self._path = Path(f"{store}-erased")

    def set(self) -> None:
        """Make it, on the disk; raises OSError and DataError `store.beside`."""
        if not self.is_set():
            private.write(self._path, b"", replace=True)

    def is_set(self) -> bool:
        """Whether it is there; raises OSError and DataError `store.beside`."""
        return regular(self._path) is not None

    def clear(self) -> None:
        """Take it away; raises OSError."""
        self._path.unlink(missing_ok=True)


def _keep_private(path: Path) -> None:
    """Close a blank file to others before anything is in it, where it is ours to close."""
    if os.name == "posix" and path.stat().st_uid == os.geteuid():
        path.chmod(0o600)  # by name: to close a descriptor would give SQLite's locks back


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(100)


def _is_ours(header: bytes) -> bool:
    """Whether a database's header says that it is a store (https://sqlite.org/fileformat.html)."""
    return header[:16] == _MAGIC and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _application(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA application_id").fetchone()[0])


def _is_blank(connection: sqlite3.Connection) -> bool:
    """Whether nobody has put anything into a database yet."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return tables == 0 and _application(connection) == 0


def _foreign(path: Path) -> DataError:
    return DataError(
        "store.foreign", f"{path} is a SQLite database, but not a Hansard store; name another"
    )


def _set_wal(connection: sqlite3.Connection) -> None:
    """Set the store to a write-ahead log, which takes a moment in which nobody else has it open."""
    end = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(_PAUSE)
