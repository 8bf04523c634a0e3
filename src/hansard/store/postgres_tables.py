"""The tables of a store in PostgreSQL (FORMAT.md §12), by the version that brought them.

They are those of SQLite. What `eventsourcing` needs is written out, without its functions, so that
one list says all that is made. Identifiers are `uuid`; what is compared as text is so byte by
byte (`COLLATE "C"`), as it is in SQLite.
"""

from __future__ import annotations

_STAYS = """CREATE FUNCTION stays() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'rows of % are never changed or deleted', TG_TABLE_NAME; END $$"""
_GROWS = """CREATE FUNCTION grows() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.debate != OLD.debate OR NEW.length <= OLD.length THEN
      RAISE EXCEPTION 'the head of a debate only moves on';
    END IF; RETURN NEW; END $$"""


def _append_only(table: str) -> tuple[str, str]:
    """Stop accidents: an owner of the table can drop them, and the chain shows the rest."""
    return (
        f"""CREATE TRIGGER {table}_stays BEFORE UPDATE OR DELETE ON {table}
        FOR EACH ROW EXECUTE FUNCTION stays()""",
        f"""CREATE TRIGGER {table}_stands BEFORE TRUNCATE ON {table}
        FOR EACH STATEMENT EXECUTE FUNCTION stays()""",
    )


_FIRST = (
    # As `eventsourcing.postgres` reads and writes them.
    """CREATE TYPE stored_event_uuid AS
       (originator_id uuid, originator_version bigint, topic text, state bytea)""",
    """CREATE TABLE stored_events
       (originator_id uuid NOT NULL, originator_version bigint NOT NULL, topic text NOT NULL,
        state bytea NOT NULL, notification_id bigserial,
        PRIMARY KEY (originator_id, originator_version))""",
    """CREATE UNIQUE INDEX stored_events_notification_id_idx
       ON stored_events (notification_id)""",
    """CREATE TABLE blobs
       (debate uuid, name text COLLATE "C", body bytea NOT NULL, PRIMARY KEY (debate, name))""",
    """CREATE TABLE templates (sha256 text COLLATE "C" PRIMARY KEY, body bytea NOT NULL)""",
    """CREATE TABLE heads (debate uuid PRIMARY KEY, length bigint NOT NULL, head text NOT NULL)""",
    # Where a run's relative file names begin: not part of any record.
    """CREATE TABLE runs (debate uuid PRIMARY KEY, folder bytea NOT NULL)""",
    # Of a copy of another store, up to where it stands (`copied.py`).
    """CREATE TABLE copied (id text PRIMARY KEY, position bigint NOT NULL, place bigint NOT NULL,
       erased integer NOT NULL, finished integer NOT NULL)""",
    """CREATE TABLE register
       (place bigint PRIMARY KEY, tag text COLLATE "C" NOT NULL, line bytea NOT NULL)""",
    """CREATE INDEX register_tags ON register (tag, place)""",
    """CREATE TABLE register_hashes (place bigint PRIMARY KEY, hash bytea NOT NULL)""",
    """CREATE TABLE checkpoints
       (size bigint PRIMARY KEY, root bytea NOT NULL, note bytea,
        cosigned integer NOT NULL DEFAULT 0)""",
    """CREATE INDEX checkpoints_signed ON checkpoints (cosigned, size) WHERE note IS NOT NULL""",
    # One row: what tells this log from all others, and its origin once a key has signed.
    """CREATE TABLE register_log (id text PRIMARY KEY, origin text)""",
    """INSERT INTO register_log VALUES (left(md5(gen_random_uuid()::text), 16), NULL)""",
    _STAYS,
    _GROWS,
    *_append_only("stored_events"),
    *_append_only("register"),
    """CREATE TRIGGER heads_grow BEFORE UPDATE ON heads
       FOR EACH ROW EXECUTE FUNCTION grows()""",
    # The projection (`projection.py`): derived, and made anew at will.
    """CREATE TABLE projected
       (place bigint PRIMARY KEY, debate uuid NOT NULL UNIQUE, state text NOT NULL,
        opened_at text COLLATE "C", closed_at text COLLATE "C", format text, task_type text,
        decision text, question text COLLATE "C", reviewed text, deadline text COLLATE "C",
        spoken boolean NOT NULL, look boolean NOT NULL, retention text, held boolean NOT NULL,
        texts boolean NOT NULL, scripted boolean, cost bigint, calls bigint, tokens bigint,
        elapsed bigint, policy text, advised boolean, confidence bigint, downside bigint,
        threshold bigint, outcomes text NOT NULL)""",
    """CREATE INDEX projected_question ON projected (question)""",
    """CREATE TABLE projected_names
       (place bigint, kind text, name text COLLATE "C", PRIMARY KEY (place, kind, name))""",
    """CREATE INDEX projected_name ON projected_names (kind, name)""",
    """CREATE TABLE projected_reviews
       (place bigint, trust text, state text NOT NULL, PRIMARY KEY (place, trust))""",
    """CREATE TABLE projected_figures
       (place bigint, name text, value bigint NOT NULL, PRIMARY KEY (place, name))""",
    """CREATE TABLE projected_counts
       (place bigint PRIMARY KEY, head text NOT NULL, numbers text NOT NULL)""",
    """CREATE TABLE projected_until (version bigint PRIMARY KEY, position bigint NOT NULL)""",
    # The words of long texts stand in several rows.
    """CREATE TABLE projected_texts (place bigint NOT NULL, said tsvector NOT NULL)""",
    """CREATE INDEX projected_texts_place ON projected_texts (place)""",
    """CREATE INDEX projected_texts_said ON projected_texts USING gin (said)""",
    # Statistics are samples: of what may be erased there are none.
    """ALTER TABLE blobs ALTER COLUMN body SET STATISTICS 0""",
    """ALTER TABLE projected ALTER COLUMN question SET STATISTICS 0""",
    """ALTER TABLE projected_names ALTER COLUMN name SET STATISTICS 0""",
    """ALTER TABLE projected_texts ALTER COLUMN said SET STATISTICS 0""",
)
VERSIONS = (_FIRST,)  # what each version adds to the one before it
