"""Whether all that is in a SQLite file fits together: run as a process of its own.

    python -I looking.py pages|records|rows URI BYTES SECONDS

It prints `ok`, or what SQLite found first: of all `pages`; as well of the tables that hold
`records`, or of `rows`, those by which debates are found, and of the entries that they are made
of. The rows, whose tables are called `projected…`, may be wrong where records are written. Of an
error of SQLite it prints `error`, its number, and what it says. SQLite may have so many BYTES of
memory, and waits so many SECONDS for a lock; it follows pages that lead ever deeper until this
process ends.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing, suppress

_TABLES = {
    "pages": "0",
    "records": "name NOT LIKE 'projected%' AND name NOT LIKE 'sqlite%'",
    # What finds words is always made anew.
    "rows": "name IN ('stored_events', 'heads') OR "
    "(name LIKE 'projected%' AND name NOT LIKE 'projected#_texts%' ESCAPE '#')",
}


def first_found(what: str, uri: str, memory: int, seconds: int) -> str:
    """Return `ok`, or what is wrong with a file; raises sqlite3.Error and MemoryError."""
    with closing(sqlite3.connect(uri, timeout=seconds, uri=True)) as connection:

        def said(pragma: str) -> str:
            return str(connection.execute(f"PRAGMA {pragma}").fetchone()[0])

        connection.execute(f"PRAGMA hard_heap_limit = {memory:d}")
        connection.execute("PRAGMA trusted_schema = OFF")
        found = said("quick_check(1)")
        if found.startswith("*** in database"):  # else it is of what stands in a page
            return found.splitlines()[-1]
        names = connection.execute(
            f"SELECT name FROM sqlite_master WHERE type = 'table' AND ({_TABLES[what]})"  # noqa: S608
        )
        for (name,) in names.fetchall():
            found = said(f"integrity_check({name})")
            if found != "ok":
                return f"{name}: {found}"
    return "ok"


if __name__ == "__main__":
    with suppress(ImportError):  # what it had in memory is left in no file
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        what, uri, memory, seconds = sys.argv[1:]
        said = first_found(what, uri, int(memory), int(seconds))
    except sqlite3.Error as error:
        said = f"error {getattr(error, 'sqlite_errorcode', sqlite3.SQLITE_ERROR)} {error}"
    print(ascii(said)[1:-1])
