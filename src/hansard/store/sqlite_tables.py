"""The tables of a store in SQLite (FORMAT.md §12), beside the one that `eventsourcing` makes."""

from __future__ import annotations

_OF_DEBATES = (
    """CREATE TABLE IF NOT EXISTS blobs
       (debate TEXT, name TEXT, body BLOB NOT NULL, PRIMARY KEY (debate, name)) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS templates
       (sha256 TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS heads
       (debate TEXT PRIMARY KEY, length INTEGER NOT NULL, head TEXT NOT NULL) WITHOUT ROWID""",
    # Where a run's relative file names begin: not part of any record.
    """CREATE TABLE IF NOT EXISTS runs
       (debate TEXT PRIMARY KEY, folder TEXT NOT NULL) WITHOUT ROWID""",
    # Of a copy of another store, up to where it stands (`copied.py`).
    """CREATE TABLE IF NOT EXISTS copied (id TEXT PRIMARY KEY, position INTEGER NOT NULL,
       place INTEGER NOT NULL, erased INTEGER NOT NULL, finished INTEGER NOT NULL)""",
    # They stop accidents, not an owner of the file; the chain shows the rest.
    """CREATE TRIGGER IF NOT EXISTS lines_stay BEFORE DELETE ON stored_events
       BEGIN SELECT RAISE(ABORT, 'lines are never deleted'); END""",
    """CREATE TRIGGER IF NOT EXISTS lines_stand BEFORE UPDATE ON stored_events
       BEGIN SELECT RAISE(ABORT, 'lines are never changed'); END""",
)
_OF_REGISTER = (
    """CREATE TABLE IF NOT EXISTS register
       (place INTEGER PRIMARY KEY, tag TEXT NOT NULL, line BLOB NOT NULL)""",
    """CREATE INDEX IF NOT EXISTS register_tags ON register (tag, place)""",
    """CREATE TABLE IF NOT EXISTS register_hashes
       (place INTEGER PRIMARY KEY, hash BLOB NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS checkpoints
       (size INTEGER PRIMARY KEY, root BLOB NOT NULL, note BLOB,
        cosigned INTEGER NOT NULL DEFAULT 0)""",
    """CREATE INDEX IF NOT EXISTS checkpoints_signed ON checkpoints (cosigned, size)
       WHERE note IS NOT NULL""",
    # One row: what tells this log from all others, and its origin once a key has signed.
    """CREATE TABLE IF NOT EXISTS register_log (id TEXT PRIMARY KEY, origin TEXT) WITHOUT ROWID""",
    """INSERT INTO register_log SELECT lower(hex(randomblob(8))), NULL
       WHERE NOT EXISTS (SELECT * FROM register_log)""",
    """CREATE TRIGGER IF NOT EXISTS register_stays BEFORE DELETE ON register
       BEGIN SELECT RAISE(ABORT, 'lines of the register are never deleted'); END""",
    """CREATE TRIGGER IF NOT EXISTS register_stands BEFORE UPDATE ON register
       BEGIN SELECT RAISE(ABORT, 'lines of the register are never changed'); END""",
)

DERIVED = tuple(
    f"projected{name}"
    for name in ("", "_names", "_reviews", "_figures", "_counts", "_until", "_texts")
)
_WORDS = "CREATE VIRTUAL TABLE IF NOT EXISTS projected_texts USING fts5(said)"
ROWS = (
    """CREATE TABLE IF NOT EXISTS projected
       (place INTEGER PRIMARY KEY, debate TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
        opened_at TEXT, closed_at TEXT, format TEXT, task_type TEXT, decision TEXT, question TEXT,
        reviewed TEXT, deadline TEXT, spoken INTEGER NOT NULL, look INTEGER NOT NULL,
        retention TEXT, held INTEGER NOT NULL, texts INTEGER NOT NULL,
        scripted INTEGER, cost INTEGER, calls INTEGER, tokens INTEGER, elapsed INTEGER,
        policy TEXT, advised INTEGER, confidence INTEGER, downside INTEGER, threshold INTEGER,
        outcomes TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS projected_question ON projected (question)",
    # The labels, models, notes and exceptions of a debate.
    """CREATE TABLE IF NOT EXISTS projected_names
       (place INTEGER, kind TEXT, name TEXT, PRIMARY KEY (place, kind, name)) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS projected_name ON projected_names (kind, name)",
    # How a review stands by the keys of one trust file.
    """CREATE TABLE IF NOT EXISTS projected_reviews
       (place INTEGER, trust TEXT, state TEXT NOT NULL, PRIMARY KEY (place, trust))
       WITHOUT ROWID""",
    # What a debate counts towards each metric, in millionths.
    """CREATE TABLE IF NOT EXISTS projected_figures
       (place INTEGER, name TEXT, value INTEGER NOT NULL, PRIMARY KEY (place, name))
       WITHOUT ROWID""",
    # Its last entry, and what it counts in a periodic report, as JSON.
    """CREATE TABLE IF NOT EXISTS projected_counts
       (place INTEGER PRIMARY KEY, head TEXT NOT NULL, numbers TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS projected_until
       (version INTEGER PRIMARY KEY, position INTEGER NOT NULL)""",
)
TABLES = (
    *_OF_DEBATES,
    *_OF_REGISTER,
    # A store of no version may have those of before: they are made anew from the records.
    *(f"DROP TABLE IF EXISTS {name}" for name in DERIVED),
    *ROWS,
    _WORDS,
)
# Makes the table of words anew, whatever it is now: SQLite drops a virtual table only where it
# can read its version and its first page (https://sqlite.org/fts5.html).
NEW_WORDS = (
    "CREATE TABLE IF NOT EXISTS projected_texts_config (k PRIMARY KEY, v) WITHOUT ROWID",
    "REPLACE INTO projected_texts_config VALUES ('version', 4)",
    "CREATE TABLE IF NOT EXISTS projected_texts_data (id INTEGER PRIMARY KEY, block BLOB)",
    "REPLACE INTO projected_texts_data VALUES (10, zeroblob(7))",
    "DROP TABLE IF EXISTS projected_texts",
    *(
        f"DROP TABLE IF EXISTS projected_texts_{part}"
        for part in ("config", "data", "idx", "content", "docsize")
    ),
    _WORDS,
    "DELETE FROM projected_until",
)
