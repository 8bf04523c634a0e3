"""The file of a store: told from other files, and made whole.

A store is made under SQLite's own exclusive lock, in one transaction in rollback mode, and
set to a write-ahead log only then. So a process that is killed leaves either nothing or a
store, those that come at the same time wait, and the tables never stand in the log alone.

A store may stand in the folder of a stranger, with files beside it that nobody here made. What
is no regular file, or would make SQLite touch a file elsewhere, is refused before it is opened.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from stat import S_ISREG

from hansard import private
from hansard.commands import path_word
from hansard.errors import DataError, UsageError
from hansard.store.database import LOCK_SECONDS

APPLICATION_ID = 0x48414E53  # "HANS": tells our files from other SQLite databases
_PAUSE = 0.01  # seconds between tries where SQLite itself does not wait
_LEAST = 512  # bytes of a database: one page
_STEPS = 2_000  # in which SQLite reads a schema of some 280 tables and so on; a store has 33
_LONGEST = 5_000  # bytes of a statement in it; a store's have up to 600
_MOUNTS = Path("/proc/self/mountinfo")  # as proc(5) says
# What a rollback journal begins with; and the end of one that names another file.
_JOURNAL = bytes.fromhex("d9d505f920a163d7")


def look_at(path: Path, *, create: bool) -> None:
    """Refuse what cannot be opened as a store.

    Raises OSError, UsageError `store.missing`, and what `examine` raises.
    """
    if path.exists():
        examine_beside(path)
        examine(path)
    elif path.is_symlink():
        raise UsageError(
            "store.missing", f"{path} is a link that leads to no file; name the store itself"
        )
    elif not create:
        absolute(path)
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

    Raises OSError, UsageError `store.not_writable`, DataError `store.linked`, `store.corrupt` or
    `store.foreign`.
    """
    if not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
        raise UsageError(
            "store.not_writable", f"you cannot write to {path}; copy it to where you can"
        )
    found = path.stat()
    _require_one_name(path, found)
    _require_folder(path)
    if not found.st_size or _is_ours(path):
        return
    try:
        if found.st_size < _LEAST:  # SQLite takes a file of a few bytes for an empty one
            raise sqlite3.DatabaseError("file is not a database")
        uri = uri_of(path, "mode=ro")
        with closing(sqlite3.connect(uri, timeout=LOCK_SECONDS, uri=True)) as connection:
            known = _application(connection) == APPLICATION_ID or _is_blank(connection, path)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # one may quote what is no text
        if _was_being_made(path, error):
            return
        raise DataError(
            "store.corrupt", f"{path} cannot be read as a store: {error}; restore it from a copy"
        ) from None
    if not known:
        raise _foreign(path)


def _was_being_made(path: Path, error: Exception) -> bool:
    """Whether somebody was killed while a store was first written: SQLite takes all of it back.

    Then it could not be read without that, its header says that it is ours already, and its
    journal that the file was empty before (https://sqlite.org/fileformat.html#the_rollback_journal).
    Nobody has it open: so it does no harm that closing it gives locks back.
    """
    if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_READONLY:
        return False
    try:
        with path.open("rb") as file:
            ours = file.read(72)[68:] == APPLICATION_ID.to_bytes(4)
        with Path(f"{os.path.realpath(path)}-journal").open("rb") as file:
            begin = file.read(20)
    except FileNotFoundError:  # somebody else takes it back at this moment
        return False
    return ours and begin[:8] == _JOURNAL and begin[16:] == bytes(4)


def examine_beside(path: Path) -> None:
    """Refuse what SQLite would find beside a database of ours and must not open.

    SQLite follows links and waits for pipes. It also deletes the file that a rollback journal
    names as its super-journal (https://sqlite.org/atomiccommit.html): such a journal is left
    only where several databases were written at once, which Hansard never does. And it deletes the
    write-ahead log of a database that is missing or empty, with all that stands in the log alone.
    Raises OSError and DataError `store.beside` or `store.lost`.
    """
    real = Path(os.path.realpath(path))  # SQLite names these files after what a link leads to
    store = real.stat() if real.exists() else None
    log = Path(f"{real}-wal")
    logged = _own(log, store)
    if logged and logged.st_size and not (store and store.st_size):
        raise DataError(
            "store.lost",
            f"{real} is missing or empty, and what was recorded last stands in {log}: put the file "
            "back, or restore both from a copy; to begin a new store there, move the log away",
        )
    _own(Path(f"{real}-shm"), store)
    journal = Path(f"{real}-journal")
    if not _own(journal, store):
        return
    with suppress(FileNotFoundError), journal.open("rb") as file:  # its writer may be done
        file.seek(-min(len(_JOURNAL), file.seek(0, os.SEEK_END)), os.SEEK_END)
        if file.read() == _JOURNAL:
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
            f"there; if it is yours, run `chmod 600 {path_word(path)}`",
        )
    return found


def uri_of(path: Path, how: str = "mode=rw") -> str:
    """Return the URI by which SQLite opens a file that is there; where none is, it makes none."""
    return f"{path.absolute().as_uri()}?{how}"


def exposed(path: Path) -> str | None:
    """Say who beside its owner, or instead of them, has a store's file; None where nobody has."""
    if os.name != "posix" or not path.exists():
        return None
    found = path.stat()
    if found.st_uid != os.geteuid():
        return f"{path} belongs to another user, who can read and change what is in it"
    if private.lets_others_in(found):
        what = "read and change" if private.lets_others_change(found) else "read"
        return f"others can {what} {path}: run `chmod 600 {path_word(path)}`"
    return None


def read_schema(connection: sqlite3.Connection, path: Path) -> int:
    """Let SQLite read a schema as large as a store's, and return how many tables and so on it has.

    SQLite parses all of a file's schema at its first statement (even `PRAGMA synchronous`), in a
    time that grows with the square of how many tables there are, and of how long one statement
    is. Raises sqlite3.Error, and DataError `store.foreign` for more than any store has.
    """
    longest = connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _LONGEST)
    connection.set_progress_handler(lambda: 1, _STEPS)
    try:
        return int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    except sqlite3.Error as error:
        if error.sqlite_errorcode not in (sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_TOOBIG):
            raise
        raise _foreign(path) from None
    finally:
        connection.set_progress_handler(None, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, longest)


def regular(path: Path) -> os.stat_result | None:
    """Return what a file beside a store is; None where there is none.

    Raises OSError, DataError `store.beside` for a link and whatever else is no regular file, and
    `store.linked`.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if not S_ISREG(found.st_mode):
        raise DataError(
            "store.beside", f"{path} is not a regular file: Hansard does not open it; remove it"
        )
    _require_one_name(path, found)
    return found


def stands(file: os.stat_result, path: Path) -> bool:
    """Say whether a path still leads to the file that was there; raises OSError."""
    try:
        return os.path.samestat(file, path.lstat())
    except FileNotFoundError:
        return False


def _require_one_name(path: Path, found: os.stat_result) -> None:
    """Refuse a file that has a second name; raises DataError `store.linked`.

    SQLite names the write-ahead log after the store. Opened by its other name, the store has
    another log: two processes then do not see each other, and entries are lost
    (https://sqlite.org/howtocorrupt.html). If the log itself has a second name, SQLite overwrites
    what somebody keeps under that name.
    """
    if found.st_nlink > 1:
        raise DataError(
            "store.linked",
            f"{path} has another name, too (a hard link), and what is recorded is lost where both "
            "are in use: remove the other name, or copy all files of the store while nobody uses "
            "it, and use the copy",
        )


def _require_folder(path: Path) -> None:
    """Refuse a store that was mounted without its folder, as single files are into containers.

    Its write-ahead log is then in another folder than for everybody else, as of a file with two
    names. Raises DataError `store.linked`.
    """
    real = os.fsencode(os.path.realpath(path))
    name = re.sub(rb"[ \t\n\\]", lambda found: b"\\%03o" % found[0][0], real)
    try:
        mounts = _MOUNTS.read_bytes().splitlines()
    except OSError:  # another system
        return
    if any(row.split(b" ")[4:5] == [name] for row in mounts):
        raise DataError(
            "store.linked",
            f"{path} is mounted by itself, and its write-ahead log is not, so what is recorded "
            "would be lost: mount the folder that it is in",
        )


def make(path: Path, tables: Sequence[str], version: int) -> None:
    """Make a store of a file that is missing or blank, with these tables; wait for others who do.

    A file that is a store already stays as it is. Raises sqlite3.Error, OSError and
    DataError `store.foreign`.
    """
    with suppress(FileExistsError):
        os.close(private.create(path))
    uri = uri_of(path)
    with closing(
        sqlite3.connect(uri, timeout=LOCK_SECONDS, isolation_level=None, uri=True)
    ) as connection:
        read_schema(connection, path)
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        if mode == "wal" and _application(connection) == APPLICATION_ID:
            return
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN EXCLUSIVE")
        if _application(connection) != APPLICATION_ID:
            if not _is_blank(connection, path):
                raise _foreign(path)
            _keep_private(path)
            for statement in tables:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version:d}")
        connection.execute("COMMIT")
        _set_wal(connection)


def is_in_use(real: Path) -> bool:
    """Whether a path without links leads to a store that is open, or to a file beside it.

    While one is open, its index stands beside it (https://sqlite.org/walformat.html). Who opens
    and closes such a file takes back all locks that this process has on it, as `_is_ours` says.
    """
    name = str(real)  # where case does not matter, `-SHM` is the index, too
    stores = [name, name[:-4]] if name[-4:].casefold() in ("-wal", "-shm") else [name]
    return any(os.path.exists(f"{store}-shm") for store in stores)  # noqa: PTH110 - never raises


def is_blank(path: Path) -> bool:
    """Whether there is no store in this file yet, or not even a file."""
    return not path.exists() or not _is_ours(path)


def _keep_private(path: Path) -> None:
    """Close a blank file to others before anything is in it, where it is ours to close."""
    if os.name == "posix" and path.stat().st_uid == os.geteuid():
        path.chmod(0o600)  # by name: to close a descriptor would give SQLite's locks back


def _is_ours(path: Path) -> bool:
    """Whether the header of a file says that it is a store (https://sqlite.org/fileformat.html).

    SQLite reads it, and nothing beside it: were the file opened and closed by us, the system would
    take back all locks that this process has on it, SQLite's included. Then another process
    takes the write-ahead log away in which this one stores (https://sqlite.org/howtocorrupt.html).
    """
    uri = uri_of(path, "mode=ro&immutable=1")
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            read_schema(connection, path)
            return _application(connection) == APPLICATION_ID
    except (sqlite3.Error, UnicodeDecodeError):  # what it is instead is found with locks
        return False


def _application(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA application_id").fetchone()[0])


def _is_blank(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether nobody has put anything into a database yet; raises as `read_schema` does."""
    return read_schema(connection, path) == 0 and _application(connection) == 0


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
