"""A queue of which somebody else made a part: it is not used, and the rest of the store is."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
from procrastinate.schema import SchemaManager

import servers
from hansard.errors import DataError
from hansard.record.bundle import Head
from hansard.store import queue_schema
from hansard.store.application import Batch, Store
from hansard.store.database import Extras

DEBATE = "5c1d3e0a-1111-4111-8111-111111111111"
ANY_SQL = "query_to_xml('DELETE FROM heads', true, true, '') IS NOT NULL"
EAT = """CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN DELETE FROM projected; RETURN NEW; END $$;"""
INSERTED = "procrastinate_notify_queue_job_inserted_v1"
(HONEST,) = re.findall(
    rf"CREATE FUNCTION {INSERTED}\(\).*?\$\$;", SchemaManager.get_schema(), re.DOTALL
)
PLANTED = {
    "a function with another text": EAT.replace("CREATE", "CREATE OR REPLACE").format(INSERTED),
    "a function with more text": HONEST.replace("CREATE", "CREATE OR REPLACE").replace(
        "BEGIN", "BEGIN DELETE FROM heads;"
    ),
    "a function that runs as its owner": f"ALTER FUNCTION {INSERTED} SECURITY DEFINER",
    "a function with settings": f"ALTER FUNCTION {INSERTED} SET search_path = pg_temp",
    "a function that fits better": """
        CREATE FUNCTION procrastinate_fetch_job_v2(text[], smallint) RETURNS procrastinate_jobs
        LANGUAGE sql AS 'SELECT * FROM procrastinate_jobs'""",
    "a trigger": f"""{EAT.format("f")}
        CREATE TRIGGER a AFTER INSERT ON procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION f()""",
    "a trigger of another table": f"""{EAT.format("f")}
        CREATE TRIGGER jobs BEFORE UPDATE ON procrastinate_workers EXECUTE FUNCTION f()""",
    "a trigger's condition": f"""
        CREATE TRIGGER jobs AFTER INSERT ON procrastinate_jobs FOR EACH ROW WHEN ({ANY_SQL})
        EXECUTE FUNCTION {INSERTED}()""",
    "a condition": f"ALTER TABLE procrastinate_jobs ADD CONSTRAINT jobs CHECK ({ANY_SQL})",
    "a condition behind a long one": f"""
        ALTER TABLE procrastinate_jobs
        ADD CONSTRAINT jobs CHECK (lock = '{" " * 2000}' AND {ANY_SQL})""",
    "a default": """
        ALTER TABLE procrastinate_jobs ALTER attempts SET DEFAULT length(pg_read_file('x'))""",
    "a trigger that runs what is in another schema": f"""
        CREATE SCHEMA jobs; {EAT.format("jobs.status")}
        CREATE TRIGGER jobs AFTER DELETE ON procrastinate_jobs EXECUTE FUNCTION jobs.status()""",
    "a condition with what is in another schema": """
        CREATE SCHEMA jobs; CREATE FUNCTION jobs.now() RETURNS integer LANGUAGE sql AS 'SELECT 1';
        ALTER TABLE procrastinate_jobs ADD CONSTRAINT jobs CHECK (jobs.now() IS NOT NULL)""",
    "a trigger's condition with what is in a schema called new": f"""
        CREATE SCHEMA new; CREATE FUNCTION new.status(text) RETURNS boolean LANGUAGE sql
        AS 'SELECT true';
        CREATE TRIGGER jobs AFTER INSERT ON procrastinate_jobs FOR EACH ROW
        WHEN (new.status(new.lock)) EXECUTE FUNCTION {INSERTED}()""",
    "a trigger's condition with a type in a schema called new": f"""
        CREATE SCHEMA new; CREATE DOMAIN new.job AS text CHECK (VALUE IS NOT NULL);
        CREATE TRIGGER jobs AFTER INSERT ON procrastinate_jobs FOR EACH ROW
        WHEN (new.lock::new.job IS NULL) EXECUTE FUNCTION {INSERTED}()""",
    "a rule": "CREATE RULE r AS ON INSERT TO procrastinate_jobs DO ALSO DELETE FROM heads",
    "a view": f"""
        ALTER TABLE hansard_pauses RENAME TO other;
        CREATE VIEW hansard_pauses AS SELECT * FROM other WHERE {ANY_SQL}""",
    "a domain with a name that is known": """
        CREATE DOMAIN job AS text CHECK (query_to_xml(VALUE, true, true, '') IS NOT NULL);
        ALTER TABLE procrastinate_jobs ALTER lock TYPE job""",
    "an index of an expression": "CREATE INDEX i ON procrastinate_jobs (lower(lock))",
    "an index of a part": "CREATE INDEX i ON procrastinate_jobs (lock) WHERE sha256('x') IS NULL",
    "row security": "ALTER TABLE procrastinate_jobs ENABLE ROW LEVEL SECURITY",
}
HARMLESS = (
    "CREATE INDEX i ON procrastinate_jobs (attempts)",
    "COMMENT ON TABLE procrastinate_jobs IS 'jobs'",
    "CREATE TABLE other (status procrastinate_job_status)",
    EAT.format("other"),
)


@pytest.fixture
def url(migrated):
    return migrated()


def refused(act, *given):
    with pytest.raises(DataError) as caught:
        act(*given)
    assert "\n" not in str(caught.value)
    assert caught.value.code == "store.foreign"
    return str(caught.value)


ACTS = {
    "a worker": Store.require_queue,
    "cancel": lambda store: store.cancel(DEBATE),
    "batch": lambda store: store.append(
        Batch(DEBATE, 1, [("t", b"{}")], Extras(Head(1, "x"), priority=0))
    ),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_queue_that_could_do_anything_else_is_not_used(url, what):
    """A trigger of an owner's deleted rows of what a report signs, as a debate was put there."""
    servers.sql(url, PLANTED[what])
    for act in ACTS.values():
        with Store.open(url) as store:
            assert "its queue has" in refused(act, store)
            assert store.debates() == []


def test_whatever_words_its_sql_has_a_queue_has_no_rule(url, monkeypatch):
    known = queue_schema._known()
    more = known._replace(words=known.words | {"rule", "r"})
    monkeypatch.setattr(queue_schema, "_known", lambda: more)
    servers.sql(url, PLANTED["a rule"])
    with Store.open(url) as store:
        refused(store.require_queue)


def test_no_number_of_triggers_comes_in_front_of_one(url, monkeypatch):
    monkeypatch.setattr(queue_schema, "_MOST", 5)
    with Store.open(url) as store:
        assert "5 functions and triggers" in refused(store.require_queue)


def test_a_queue_of_whatever_release_is_known(server):
    """Those of Procrastinate's releases, from the first, each brought up to date by the next."""
    url = server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        paths = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
        for path in paths:
            connection.execute(path.read_text("utf-8").encode())
            queue_schema.require_ours(connection, url)
    assert len(paths) > 30


def test_what_an_administrator_adds_of_no_harm_is_no_matter(url):
    servers.sql(url, *HARMLESS)
    with Store.open(url) as store:
        for act in ACTS.values():
            act(store)


def test_what_an_extension_adds_is_no_matter(url):
    """All that the server has; those of Debian's have operators and functions of many names."""
    names = servers.sql(url, "SELECT name FROM pg_available_extensions")
    servers.sql(url, *(f'CREATE EXTENSION IF NOT EXISTS "{name}" CASCADE' for (name,) in names))
    with Store.open(url) as store:
        store.require_queue()
