"""PostgreSQL alone: its roles, its errors, connections that are lost, versions, secrets."""

from __future__ import annotations

import asyncio
import re
import secrets
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import psycopg
import pytest

import hansard
import servers
from granting import SQL, roles
from hansard.addresses import without_secrets
from hansard.errors import DataError, HansardError, UsageError
from hansard.record.bundle import Head
from hansard.runtime.models.base import Completion
from hansard.store import (
    database,
    postgres,
    postgres_reading,
    postgres_schema,
    postgres_server,
    postgres_tables,
)
from hansard.store.application import Batch, Store
from hansard.store.database import Extras
from hansard.store.rows import Row
from hansard.testing.filling import ONE, OPENED, TWO, fill, put
from hansard.testing.found import run_by_hand
from measuring import traced
from playing import run

SECRET = "p@ss/w?rd:#1"


@pytest.fixture
def url(migrated):
    return migrated()


def code_of(function, *args, **more):
    """The code of the error, which is one sentence in one line."""
    with pytest.raises(HansardError) as caught:
        function(*args, **more)
    assert str(caught.value).strip()
    assert "\n" not in str(caught.value)
    return caught.value.code


def role_refusal(function, *args):
    with pytest.raises(DataError) as caught:
        function(*args)
    assert caught.value.code == "store.role"
    return str(caught.value)


# Bytes


def test_an_export_is_the_same_bytes_as_from_a_file(url, tmp_path, monkeypatch):
    """But for the register's own name, which is random: here both have the same one."""
    keyring = hansard.open_keyring(tmp_path / "keys")
    plain = f"sqlite:///{tmp_path}/plain.db"
    for each in (url, plain):
        hansard.migrate_store(each)
        with hansard.open_store(each) as store, store._recorder.transaction() as c:
            c.execute("UPDATE register_log SET id = '0123456789abcdef'")
    folders = [tmp_path / "here", tmp_path / "there"]
    for each, folder in zip((url, plain), folders, strict=True):
        run_by_hand(each, keyring, monkeypatch, folder)
    here, there = ({path.name: path.read_bytes() for path in f.iterdir()} for f in folders)
    assert here == there
    assert len(here) > 1


# Lost connections


def cut(url):
    """End every session of a database, as a restart of the server does."""
    servers.sql(
        servers.at(url, database="postgres"),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{servers.database(url)}'",
    )


@pytest.fixture
def lose(monkeypatch):
    """Let the next connection be lost, before or after what is stored over it is committed."""
    plain, lost = postgres.Recorder._transaction, []
    monkeypatch.setattr(postgres, "_PAUSE", 0)

    @contextmanager
    def losing(recorder, after):
        with plain(recorder) as c:
            yield c
            if not after and not lost:
                lost.append(True)
                recorder.home._session.close()
                c.execute("SELECT 1")
        if after and not lost:
            lost.append(True)
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    def start(*, after):
        monkeypatch.setattr(postgres.Recorder, "_transaction", lambda self: losing(self, after))
        return lost

    return start


@pytest.mark.parametrize("after", [False, True])
def test_what_a_lost_connection_left_in_doubt_is_stored_once(url, lose, after):
    with Store.open(url) as store:
        put(store, OPENED)
        lost = lose(after=after)
        put(store, ("debate.closed", b"{}"), first=2)
        assert lost
        assert store.lines(ONE) == [OPENED[1], b"{}"]
        assert store.register.size == 2


def test_what_another_stored_meanwhile_is_a_conflict(url, lose, monkeypatch):
    theirs = ("debate.closed", b'{"theirs":1}')
    with Store.open(url) as store, Store.open(url) as other:
        put(store, OPENED)
        lost = lose(after=False)
        monkeypatch.setattr(
            "hansard.store.postgres.time.sleep", lambda _: put(other, theirs, first=2)
        )
        assert code_of(put, store, ("debate.closed", b"{}"), first=2) == "store.conflict"
        assert lost
        assert store.lines(ONE)[1] == theirs[1]


@pytest.mark.parametrize(
    "restored",
    [
        "SELECT setval('stored_events_notification_id_seq', 1, false)",
        "ALTER TABLE stored_events ALTER notification_id DROP DEFAULT",
        "ALTER TABLE heads DISABLE TRIGGER ALL; UPDATE heads SET length = 7",
    ],
    ids=["its counter", "no counter", "another table of heads"],
)
def test_tables_that_were_restored_in_part_are_told_as_such(url, restored):
    """No other process has stored anything: to run the debate again would end the same way."""
    with Store.open(url) as store:
        put(store, OPENED)
        servers.sql(url, *restored.split("; "))
        refused = code_of(put, store, ("debate.closed", b"{}"), first=2)
        assert refused == "store.corrupt"
        assert len(store.lines(ONE)) == 1


def test_a_store_outlives_a_server_that_is_started_anew(url):
    with Store.open(url) as store:
        put(store, OPENED)
        with store.runner(ONE):
            cut(url)
            put(store, ("debate.closed", b"{}"), first=2)
            with Store.open(url) as other:
                assert code_of(other.runner(ONE).__enter__) == "store.running", "taken anew"
        cut(url)
        assert len(store.lines(ONE)) == 2
        with store.runner(ONE):
            pass


def test_what_is_asked_after_the_server_was_started_anew_is_answered(url):
    """Whoever only looks, or stops debates, needs no write in between."""
    with Store.open(url) as store:
        for ask, answer in (
            (lambda: store.exposed, None),
            (store.require_erasing, None),
            (store.require_queue, None),
            (lambda: store.cancel(ONE), False),
        ):
            cut(url)
            assert ask() == answer


def test_a_lost_lock_that_another_has_taken_stops_that_debate_and_no_other(url):
    with Store.open(url) as store, store.runner(ONE), store.runner(TWO):
        put(store, OPENED)
        cut(url)
        with Store.open(url) as other, other.runner(ONE):
            put(store, OPENED, debate=TWO)
            for _ in range(2):
                refused = code_of(put, store, ("debate.closed", b"{}"), first=2)
                assert refused == "store.running"
            assert code_of(other.runner(TWO).__enter__) == "store.running"
        assert len(store.lines(ONE)) == 1


def test_locks_are_taken_anew_also_where_the_connection_is_lost_again_meanwhile(url, monkeypatch):
    """Else two processes ran one debate, and paid twice for what each asked before it stored."""
    plain, taken = postgres_server.Postgres._hold, []
    monkeypatch.setattr(postgres, "_PAUSE", 0)

    def hold(home, debate):
        taken.append(debate)
        if len(taken) == 2:
            cut(url)
        return plain(home, debate)

    with Store.open(url) as store, store.runner(ONE), store.runner(TWO):
        cut(url)
        monkeypatch.setattr(postgres_server.Postgres, "_hold", hold)
        put(store, OPENED)
        with Store.open(url) as other:
            for debate in (ONE, TWO):
                assert code_of(other.runner(debate).__enter__) == "store.running"


def test_a_server_that_stays_away_is_one_clear_error(url, monkeypatch):
    monkeypatch.setattr(postgres, "_PATIENCE", 0)
    with Store.open(url) as store:
        put(store, OPENED)
        home: Any = store._database
        home.conninfo = {**home.conninfo, "host": "/nowhere"}
        cut(url)
        assert code_of(put, store, ("debate.closed", b"{}"), first=2) == "store.unreachable"


# Erased texts


def test_a_debate_without_any_entry_is_listed_whose_table_somebody_cut(url):
    with Store.open(url) as store:
        fill(store)
        listed = {row.debate for row in hansard.list_debates(store).debates}
        servers.sql(
            url, "ALTER TABLE stored_events DISABLE TRIGGER USER",
            f"DELETE FROM stored_events WHERE originator_id = '{ONE}'",
        )  # fmt: skip
        for _ in range(2):
            rows = hansard.list_debates(store).debates
            assert {row.debate for row in rows} == listed
            assert "closed" not in {row.state for row in rows if row.debate == ONE}
            assert hansard.rebuild_projection(store) == len(listed)


def test_an_erased_text_is_in_no_row_and_once_its_table_is_written_anew_in_no_file(server, url):
    """What is left in the write-ahead log and in backups, tools/docs/operations.md says."""
    secret = "Zyzzyva Quetzalcoatl, " + secrets.token_hex(1_000)
    with Store.open(url) as store:
        bundle = fill(store, ONE, secret)
        fill(store, TWO)
        said = {"words": secret, "names": [("label", "Zyzzyva")], "question": "the Zyzzyva's hash"}
        rows = [
            Row(debate=ONE, state="closed", **said),
            Row(debate=TWO, state="closed", question="?"),
        ]
        for behind in store.projection.behind():
            store.projection.write(behind, rows)
        assert holding(url, b"zyzzyva")
        servers.sql(url, "ANALYZE")
        erased = Extras(Head(4, "y"), erased=list(bundle.blobs))
        store.append(Batch(ONE, 4, [("text.redacted", b"{}")], erased))
        store.scrub()
    assert not holding(url, b"zyzzyva")
    (data,) = server.sql("SHOW data_directory")[0]
    ((oid,),) = servers.sql(
        url, f"SELECT oid FROM pg_database WHERE datname = '{servers.database(url)}'"
    )
    files = Path(data, "base", str(oid))
    if not files.exists():
        pytest.skip(f"the server named in {servers.URL} is elsewhere")
    servers.sql(url, *SQL[2].strip().splitlines())
    left = [path for path in files.iterdir() if b"zyzzyva" in path.read_bytes().lower()]
    assert left == []


def holding(url, word):
    """The tables one of whose rows holds a word."""
    tables = servers.sql(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    found = set()
    with psycopg.connect(url) as connection:
        for (table,) in tables:
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            if any(word in repr(row).lower().encode() for row in rows):
                found.add(table)
    return found


# Roles


@pytest.fixture
def urls(server):
    return roles(server)


def test_a_role_of_the_documents_runs_debates_and_changes_no_entry(urls, tmp_path, monkeypatch):
    app = urls["hansard_app"]
    with Store.open(app) as store:
        fill(store)
        put(store, OPENED, debate=TWO)
        put(store, ("debate.closed", b"{}"), debate=TWO, first=2)
        with store.runner(ONE):
            pass
    spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    with hansard.open_store(app) as store:
        hansard.run_sync(spec, models={"ask": lambda _: "Because."}, store=store)
        assert len(hansard.list_debates(store).debates) == 3
    for statement in (
        "UPDATE stored_events SET state = ''",
        "DELETE FROM stored_events",
        "TRUNCATE stored_events",
        "INSERT INTO blobs SELECT * FROM blobs ON CONFLICT (debate, name) DO UPDATE SET body = ''",
        "UPDATE blobs SET body = ''",
        "DELETE FROM blobs",
        "UPDATE templates SET body = ''",
        "DELETE FROM heads",
        "UPDATE register SET line = ''",
        "DELETE FROM register",
        "DELETE FROM register_hashes",
        "DELETE FROM checkpoints",
        "UPDATE checkpoints SET root = ''",
        "DELETE FROM register_log",
        "ALTER TABLE stored_events DISABLE TRIGGER ALL",
        "DROP TABLE blobs",
        "INSERT INTO hansard_versions VALUES (9, 'x')",
        "CREATE TABLE mine (x int)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            servers.sql(app, statement)
    with pytest.raises(psycopg.errors.RaiseException, match="only moves on"):
        servers.sql(app, "UPDATE heads SET length = length - 1")


def test_a_schema_that_somebody_names_after_a_role_is_never_looked_into(urls, server):
    """PostgreSQL looks there first: what it holds would be the store, its triggers our commands."""
    app = urls["hansard_app"]
    name, other = urlsplit(app).username, f"mallory_{secrets.token_hex(4)}"
    mallory = servers.at(app, user=other, password=other)
    servers.sql(
        servers.at(server.url, database=servers.database(app)),
        f"CREATE ROLE {other} LOGIN PASSWORD '{other}'",
        f"GRANT CREATE ON DATABASE {servers.database(app)} TO {other}",
    )
    with Store.open(app) as store:
        fill(store)
        servers.sql(
            mallory,
            f"CREATE SCHEMA {name} CREATE TABLE hansard_versions (version int) "
            "CREATE TABLE heads (x int) CREATE TABLE blobs (x int)",
            f"INSERT INTO {name}.hansard_versions VALUES (1)",
            f"GRANT USAGE ON SCHEMA {name} TO PUBLIC",
            f"GRANT ALL ON ALL TABLES IN SCHEMA {name} TO PUBLIC",
        )
        fill(store, TWO)
        cast(Any, store._database)._session.close()  # a connection that is made anew
        with store.runner(ONE):
            assert servers.sql(store.dsn, "SELECT current_schema()") == [("public",)]
        assert store.bundle(TWO).head.length == 3
    for act in (Store.open, hansard.migrate_store):
        with pytest.raises(DataError, match=f"belongs to {other}") as caught:
            act(app)
        assert caught.value.code == "store.server"
    assert servers.sql(mallory, f"SELECT * FROM {name}.heads") == []


PLANTED = {
    "function": (
        "CREATE FUNCTION public.to_tsvector(text, text) RETURNS tsvector LANGUAGE sql "
        "AS $$ SELECT $2::tsvector $$"
    ),
    "operator": (
        "CREATE OPERATOR public.|| (LEFTARG = text, RIGHTARG = varchar, FUNCTION = public.joined)"
    ),
    "table": "CREATE TABLE public.mine (x int)",
    "view": "CREATE VIEW public.mine AS SELECT 1 AS x",
}


def stranger(url, *rights):
    """Return the URL of a role that has nothing to do with the store, and its name."""
    name = f"mallory_{secrets.token_hex(4)}"
    granted = [f"GRANT {right} TO {name}" for right in rights]
    servers.sql(url, f"CREATE ROLE {name} LOGIN PASSWORD '{name}'", *granted)
    return servers.at(url, user=name, password=name), name


@pytest.mark.parametrize("what", PLANTED)
def test_a_schema_in_which_another_role_has_put_something_is_not_used(url, what):
    """PostgreSQL calls the function that fits best, with the rights of whoever runs a command."""
    mallory, name = stranger(url, "CREATE ON SCHEMA public")
    if what == "operator":
        servers.sql(
            mallory,
            "CREATE FUNCTION public.joined(text, varchar) RETURNS text LANGUAGE sql "
            "AS $$ SELECT $1 $$",
        )
    servers.sql(mallory, PLANTED[what])
    for act in (Store.open, hansard.migrate_store):
        with pytest.raises(DataError, match=f"of the role '{name}'") as caught:
            act(url)
        assert caught.value.code == "store.foreign"
    servers.sql(url, f"DROP OWNED BY {name}")
    Store.open(url).close()


def test_a_trigger_of_another_role_on_a_table_of_the_store_is_not_run(url):
    mallory, name = stranger(url, "TRIGGER ON heads")
    servers.sql(url, f"CREATE SCHEMA elsewhere AUTHORIZATION {name}")
    servers.sql(
        mallory,
        "CREATE FUNCTION elsewhere.run() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RETURN NEW; END $$",
        "CREATE TRIGGER planted BEFORE INSERT ON heads FOR EACH ROW "
        "EXECUTE FUNCTION elsewhere.run()",
    )
    with pytest.raises(DataError, match=f"a trigger 'planted' of the role '{name}'") as caught:
        Store.open(url)
    assert caught.value.code == "store.foreign"


def test_a_schema_in_which_everybody_may_put_something_is_told_of(server, urls):
    with Store.open(urls["hansard_app"]) as store:
        assert store.exposed is None
        fill(store)
        as_admin = servers.at(server.url, database=servers.database(urls["hansard_app"]))
        servers.sql(as_admin, "GRANT CREATE ON SCHEMA public TO PUBLIC")
        assert "REVOKE CREATE ON SCHEMA public FROM PUBLIC" in store.exposed
        assert repr(urlsplit(urls["hansard_owner"]).username) in store.exposed


def test_the_lock_of_migrate_is_waited_for_so_long_and_whoever_has_it_is_named(url, monkeypatch):
    mallory, name = stranger(url)
    settings = postgres_server._SETTINGS.replace("lock_timeout = '60s'", "lock_timeout = '10ms'")
    monkeypatch.setattr(postgres_server, "_SETTINGS", settings)
    with psycopg.connect(mallory) as holding_it:
        holding_it.execute("SELECT pg_advisory_lock(hashtext('hansard migrate'))")
        pid = holding_it.info.backend_pid
        with pytest.raises(DataError, match=f"process {pid} of '{name}'") as caught:
            hansard.migrate_store(url)
        assert caught.value.code == "store.busy"
    assert hansard.migrate_store(url) == (1, 1)
    assert servers.sql(url, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'") == []


@pytest.mark.parametrize("name", ["a b", 'a"b', "a\\b", "a,b", "pg temp", "Ä\t"])
def test_every_connection_stays_in_the_schema_that_was_found(server, name):
    url = server.fresh()
    quoted = '"' + name.replace('"', '""') + '"'
    servers.sql(url, f"CREATE SCHEMA {quoted}")
    database = servers.database(url)
    servers.sql(url, f"ALTER DATABASE {database} SET search_path = {quoted}")
    home = postgres_server.Postgres(url, current=False)
    home.close()
    servers.sql(url, f"ALTER DATABASE {database} SET search_path = public")
    assert servers.sql(home.dsn, "SELECT current_schema()") == [(name,)]


def test_a_role_of_the_documents_runs_what_is_in_the_queue(urls):
    app, ask = urls["hansard_app"], {"ask": lambda _: "Because."}
    grants = SQL[1].replace("hansard_app", urlsplit(app).username)
    spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    for work in (
        hansard.run_batch([spec, spec], name="one", store=app, queue=0),
        hansard.work(app, stay=False),
    ):  # each says it once, before it does anything
        assert role_refusal(asyncio.run, work).endswith(
            "let the owner of the tables (hansard_owner) run queue.sql, which grants it"
        )
    with hansard.open_store(app) as store:
        assert store.debates() == []  # none is opened that is not in the queue
    servers.sql(urls["hansard_owner"], grants)
    asyncio.run(hansard.run_batch([spec, spec], name="one", store=app, queue=0))
    rows = []
    asyncio.run(hansard.work(app, models=ask, stay=False, each=rows.append))
    assert [(row.row, row.state) for row in rows] == [("1", "closed"), ("2", "closed")]
    with hansard.open_store(app) as store:
        assert all(hansard.verify(store, row.debate).ok for row in rows)


def test_not_even_the_owner_changes_an_entry_by_accident(urls):
    owner = urls["hansard_owner"]
    with Store.open(owner) as store:
        fill(store)
    for table in ("stored_events", "register"):
        for statement in ("DELETE FROM {}", "UPDATE {} SET {}", "TRUNCATE {}"):
            column = "topic = 'x'" if table == "stored_events" else "tag = 'x'"
            with pytest.raises(psycopg.errors.RaiseException, match=f"rows of {table} are never"):
                servers.sql(owner, statement.format(table, column))


def test_texts_are_erased_by_a_role_of_its_own(urls):
    file = ("ab" * 32, b"a text")
    with Store.open(urls["hansard_app"]) as store:
        store.append(Batch(ONE, 1, [OPENED], Extras(Head(1, "x"), [file])))
        erasing = Batch(
            ONE, 2, [("text.redacted", b"{}")], Extras(Head(2, "y"), erased=[file[0]])
        )  # fmt: skip
        for act in (lambda: store.append(erasing), store.require_erasing):
            assert "as the role that may delete them (hansard_redactor)" in role_refusal(act)
        assert (len(store.lines(ONE)), store.bundle(ONE).blobs) == (1, dict([file]))
    with Store.open(urls["hansard_redactor"]) as store:
        store.require_erasing()
        store.append(erasing)
        store.scrub()
        assert (len(store.lines(ONE)), store.bundle(ONE).blobs) == (2, {})
    for statement in ("UPDATE stored_events SET state = ''", "DELETE FROM stored_events"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            servers.sql(urls["hansard_redactor"], statement)


def test_tables_are_made_by_their_owner_alone(server, urls):
    elsewhere = servers.at(urls["hansard_app"], database=servers.database(server.fresh()))
    said = role_refusal(hansard.migrate_store, elsewhere)
    assert "with `hansard store migrate`, and copy into them with `hansard copy`, as their" in said
    with pytest.raises(UsageError, match="as the role that is to own them") as caught:
        Store.open(elsewhere)
    assert caught.value.code == "store.missing"


def test_a_role_without_grants_is_told_how_it_gets_them(server, urls):
    servers.sql(urls["hansard_owner"], "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, "
                + urlsplit(urls["hansard_app"]).username)  # fmt: skip
    assert "run grants.sql, which grants it" in role_refusal(Store.open, urls["hansard_app"])


def test_a_copy_into_a_store_is_made_by_its_owner(urls, tmp_path):
    with Store.open(f"sqlite:///{tmp_path}/h.db", create=True) as store:
        fill(store)
    said = role_refusal(hansard.copy_store, f"sqlite:///{tmp_path}/h.db", urls["hansard_app"])
    assert "as their owner (hansard_owner)" in said


# Versions


def test_tables_are_made_by_migrate_alone_and_only_once(server):
    url = server.fresh()
    for create in (False, True):
        with pytest.raises(UsageError, match="hansard store migrate --store") as caught:
            Store.open(url, create=create)
        assert caught.value.code == "store.missing"
    assert servers.sql(url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(0,)]
    assert hansard.migrate_store(url) == (None, 1)
    assert hansard.migrate_store(url) == (1, 1)
    ((version, engine),) = servers.sql(url, "SELECT version, engine FROM hansard_versions")
    assert (version, engine) == (1, hansard.__version__)


def test_tables_of_a_later_version_are_refused_and_not_touched(url):
    servers.sql(url, "INSERT INTO hansard_versions VALUES (2, 'later')")
    assert code_of(Store.open, url) == "store.newer"
    assert code_of(hansard.migrate_store, url) == "store.newer"


def test_tables_of_an_earlier_version_are_refused_until_they_are_brought_up(url, monkeypatch):
    """With a second version that adds a table; it fails at first, and leaves nothing."""
    for module in ("database", "application"):
        monkeypatch.setattr(f"hansard.store.{module}.SCHEMA", 2)
    first = postgres_tables.VERSIONS[0]
    with pytest.raises(DataError, match="hansard store migrate --store") as caught:
        Store.open(url)
    assert caught.value.code == "store.old"
    for second, code in (
        (("CREATE TABLE more (x integer)", "CREATE TABLE blobs (x integer)"), "store.foreign"),
        (("CREATE TABLE more (x integer)",), None),
    ):
        monkeypatch.setattr(postgres_server, "VERSIONS", (first, second))
        if code:
            assert code_of(hansard.migrate_store, url) == code
            assert code_of(Store.open, url) == "store.old"
    assert hansard.migrate_store(url) == (1, 2)
    with Store.open(url) as store:
        fill(store)


def test_a_role_that_does_not_own_the_tables_is_told_who_brings_them_up_to_date(urls, monkeypatch):
    monkeypatch.setattr("hansard.store.database.SCHEMA", 2)
    owner = urlsplit(urls["hansard_owner"]).username
    with pytest.raises(DataError, match=f"migrate` as their owner, the role {owner}$") as caught:
        Store.open(urls["hansard_app"])
    assert caught.value.code == "store.old"
    with pytest.raises(DataError, match=f"hansard store migrate --store '?postgresql://{owner}@"):
        Store.open(urls["hansard_owner"])


def test_a_database_that_holds_other_tables_is_left_alone(server):
    url = server.fresh()
    servers.sql(url, "CREATE TABLE blobs (x int)")
    assert code_of(hansard.migrate_store, url) == "store.foreign"
    assert servers.sql(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == [
        ("blobs",)
    ]


def test_two_stores_stand_in_two_schemas_of_one_database(server):
    url = server.fresh()
    places = []
    for name in ("one", "two"):
        servers.sql(url, f"CREATE SCHEMA {name}")
        places.append(f"{url}&options=-csearch_path%3D{name}")
        hansard.migrate_store(places[-1])
    with Store.open(places[0]) as one, Store.open(places[1]) as two:
        fill(one)
        assert (one.debates(), two.debates()) == ([ONE], [])
        with one.runner(ONE), two.runner(ONE):
            fill(two)
    assert servers.sql(url, "SELECT count(*) FROM two.stored_events") == [(3,)]


# What goes wrong


def test_a_server_that_does_not_answer_is_one_clear_error(tmp_path):
    url = f"postgresql://ann:{'s3cret'}@/h?host={tmp_path}&connect_timeout=2"
    for act in (Store.open, hansard.migrate_store):
        with pytest.raises(DataError, match="see whether the server runs, and listens") as caught:
            act(url)
        assert caught.value.code == "store.unreachable"


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"user": "owner", "password": "wrong"}, "see to the user and the password"),
        ({"user": "nobody-here", "password": "x"}, "see to the user and the password"),
        ({"database": "nothing"}, '"nothing" does not exist; make this database, or name another'),
    ],
)
def test_a_wrong_password_user_or_database_is_one_clear_error(server, changes, advice):
    with pytest.raises(DataError, match=advice) as caught:
        Store.open(servers.at(server.url, **changes))
    assert caught.value.code == "store.unreachable"


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        (
            "failed to resolve host 'no.example': [Errno -2] Name or service not known",
            "of the host",
        ),
        ("timeout expired", "see to the server, the address, the user and the password"),
    ],
)
def test_what_keeps_a_client_from_a_server_decides_what_is_advised(monkeypatch, said, advice):
    def fail(**_):
        raise psycopg.OperationalError(said)

    monkeypatch.setattr(psycopg, "connect", fail)
    with pytest.raises(DataError, match=advice) as caught:
        Store.open("postgresql://ann@no.example/h")
    assert said in str(caught.value)


def test_a_server_that_can_only_be_read_is_read_and_says_so(url):
    with Store.open(url) as store:
        fill(store)
    readonly = f"{url}&options=-cdefault_transaction_read_only%3Don"
    with Store.open(readonly) as store:
        assert store.debates() == [ONE]
        assert code_of(put, store, OPENED, debate=TWO) == "store.not_writable"


def test_a_table_that_is_gone_is_one_clear_error(url):
    with Store.open(url) as store:
        fill(store)
        servers.sql(url, "DROP TABLE blobs")
        assert code_of(store.bundle, ONE) == "store.corrupt"
        assert store.lines(ONE)


def test_a_full_disk_changes_nothing(url, monkeypatch):
    with Store.open(url) as store:
        before = fill(store)
        with monkeypatch.context() as patch:
            failing = psycopg.errors.DiskFull("could not extend file")

            def full(*_):
                raise failing

            patch.setattr(postgres.Recorder, "_fetch_ids_after_insert_events", full)
            assert code_of(put, store, ("t", b"{}"), first=4) == "store.full"
        assert store.bundle(ONE) == before


@pytest.mark.parametrize(
    ("row", "why"),
    [((130_000, "UTF8", "public"), "13"), ((150_000, "SQL_ASCII", "public"), "SQL_ASCII"),
     ((150_000, "UTF8", None), "search_path")],
)  # fmt: skip
def test_a_server_on_which_no_store_can_be_is_refused(server, monkeypatch, row, why):
    number, encoding, schema = row
    said = f"'{schema}'" if schema else "NULL"
    monkeypatch.setattr(postgres_server, "_SERVER", f"SELECT {number}, '{encoding}', {said}, ''")
    with pytest.raises(DataError, match=why) as caught:
        Store.open(server.url)
    assert caught.value.code == "store.server"


def test_without_its_packages_the_command_that_installs_them_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "hansard.store.postgres_server")
    monkeypatch.delattr("hansard.store.postgres_server")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"hansard\[postgres\]|pip install") as caught:
        Store.open("postgresql://x")
    assert caught.value.code == "store.extra"


# What a store holds that no debate has


EAT = """CREATE FUNCTION eat() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"""
(ON_HEADS,) = (each for each in postgres_tables.VERSIONS[0] if "TRIGGER heads_grow" in each)
OWN_TYPE = (  # as an extension adds one
    "CREATE TYPE own",
    "CREATE FUNCTION own_in(cstring) RETURNS own LANGUAGE internal STRICT AS 'textin'",
    "CREATE FUNCTION own_out(own) RETURNS cstring LANGUAGE internal STRICT AS 'textout'",
    "CREATE TYPE own (INPUT = own_in, OUTPUT = own_out, LIKE = text)",
)
OTHER_TABLES = {
    "a trigger that eats entries": (
        EAT,
        "CREATE TRIGGER a BEFORE INSERT ON stored_events FOR EACH ROW EXECUTE FUNCTION eat()",
    ),
    "a trigger of ours that does other things": (
        EAT.replace("CREATE FUNCTION eat", "CREATE OR REPLACE FUNCTION grows"),
    ),
    "a function of ours with settings": ("ALTER FUNCTION stays() SET search_path = pg_temp",),
    "a trigger of ours with a condition": (
        "CREATE FUNCTION f(heads) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "DROP TRIGGER heads_grow ON heads",
        ON_HEADS.replace("FOR EACH ROW", "FOR EACH ROW WHEN (f(NEW))"),
    ),
    "a rule": ("CREATE RULE r AS ON INSERT TO projected DO INSTEAD NOTHING",),
    "a view": (
        "ALTER TABLE projected_until RENAME TO other",
        "CREATE VIEW projected_until AS SELECT * FROM other WHERE pg_sleep(1) IS NULL",
    ),
    "a domain": ("CREATE DOMAIN dom AS bytea", "ALTER TABLE blobs ALTER body TYPE dom"),
    "a type of its own": ("CREATE TYPE pg AS ENUM ('x')", "ALTER TABLE runs ADD other pg"),
    "another version's type": ("ALTER TABLE hansard_versions ALTER version TYPE numeric",),
    "another place's type": ("ALTER TABLE register ALTER place TYPE double precision",),
    "a null": ("ALTER TABLE stored_events ALTER notification_id DROP NOT NULL",),
    "an order": (
        "CREATE COLLATION own FROM \"C\"", "ALTER TABLE blobs ALTER name TYPE text COLLATE own",
    ),
    "an order named as one of PostgreSQL's": (
        "CREATE COLLATION public.\"C\" (provider = icu, locale = 'und')",
        "ALTER TABLE blobs ALTER name TYPE text COLLATE public.\"C\"",
    ),
    "a default": (
        "CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE checkpoints ALTER cosigned SET DEFAULT f()",
    ),
    "a generated column": (
        "ALTER TABLE register DROP tag",
        "ALTER TABLE register ADD tag text COLLATE \"C\" NOT NULL GENERATED ALWAYS AS ('x') STORED",
    ),
    "an identity": (
        "ALTER TABLE heads ALTER length ADD GENERATED BY DEFAULT AS IDENTITY",
    ),
    "a key that is gone": ("ALTER TABLE projected DROP CONSTRAINT projected_pkey",),
    "a column that is gone": ("ALTER TABLE projected DROP outcomes",),
    "an index of an expression": ("CREATE INDEX i ON blobs (md5(body))",),
    "an index of a part": ("CREATE INDEX i ON blobs (name) WHERE length(body) > 1",),
    "a key more": ("CREATE UNIQUE INDEX i ON blobs (name)",),
    "a key of fewer columns": (
        "CREATE UNIQUE INDEX i ON stored_events (originator_id) INCLUDE (originator_version)",
    ),
    "a key that is looked at late": (
        "ALTER TABLE templates DROP CONSTRAINT templates_pkey",
        "ALTER TABLE templates ADD PRIMARY KEY (sha256) DEFERRABLE",
    ),
    "an index of another order": (
        "CREATE COLLATION public.same (provider = icu, locale = 'und', deterministic = false)",
        "CREATE INDEX i ON blobs (name COLLATE public.same)",
    ),
    "an index by operators of its own": (
        "CREATE OPERATOR CLASS own FOR TYPE bytea USING hash AS FUNCTION 1 hashvarlena(internal)",
        "CREATE INDEX i ON blobs USING hash (body own)",
    ),
    "numbers that fall": (
        "ALTER SEQUENCE stored_events_notification_id_seq INCREMENT -1 MINVALUE 1 RESTART 900",
    ),
    "numbers that come to an end": (
        "ALTER SEQUENCE stored_events_notification_id_seq MAXVALUE 100000",
    ),
    "numbers of nobody's that fall": (
        "ALTER SEQUENCE stored_events_notification_id_seq OWNED BY NONE",
        "ALTER SEQUENCE stored_events_notification_id_seq INCREMENT -1 MINVALUE -99 RESTART -1",
    ),
    "numbers that each session puts by": (
        "ALTER SEQUENCE stored_events_notification_id_seq CACHE 1000",
    ),
    "a condition": ("ALTER TABLE blobs ADD CHECK (length(body) < 10)",),
    "a reference": (
        "ALTER TABLE blobs ADD FOREIGN KEY (debate) REFERENCES heads ON DELETE CASCADE",
    ),
    "row security": ("ALTER TABLE blobs ENABLE ROW LEVEL SECURITY",),
    "a policy": ("CREATE POLICY p ON blobs USING (false)",),
    "rows of another table": ("CREATE TABLE more () INHERITS (heads)",),
    "a table that no crash outlives": ("ALTER TABLE runs SET UNLOGGED",),
    "columns in another order": (
        "DROP TABLE projected_reviews",
        """CREATE TABLE projected_reviews
           (place bigint, state text NOT NULL, trust text, PRIMARY KEY (place, trust))""",
    ),
    "a reference to it, which would take others along": (
        "CREATE TABLE other (debate uuid REFERENCES heads ON DELETE CASCADE)",
    ),
    "a function that fits better": (
        """CREATE FUNCTION unnest(stored_event_uuid[]) RETURNS SETOF stored_event_uuid
           LANGUAGE sql AS 'SELECT pg_catalog.unnest($1)'""",
    ),
    "a function with more that need not be given": (
        """CREATE FUNCTION to_tsvector(text, text, x integer DEFAULT 1) RETURNS tsvector
           LANGUAGE sql AS 'SELECT $2::tsvector'""",
    ),
    "a function of a domain, which is taken for a text": (
        "CREATE DOMAIN own AS text",
        "CREATE FUNCTION to_tsvector(own, text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
    ),
    "a function of a type that our values are taken for": (
        *OWN_TYPE,
        "CREATE CAST (text AS own) WITHOUT FUNCTION AS IMPLICIT",
        "CREATE FUNCTION length(own) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    ),
    "a function with a type of an extension's that need not be given": (
        *OWN_TYPE,
        """CREATE FUNCTION unnest(stored_event_uuid[], x own DEFAULT NULL)
           RETURNS SETOF stored_event_uuid LANGUAGE sql AS 'SELECT pg_catalog.unnest($1)'""",
    ),
    "a function with any number of an extension's types": (
        *OWN_TYPE,
        """CREATE FUNCTION unnest(stored_event_uuid[], VARIADIC x own[])
           RETURNS SETOF stored_event_uuid LANGUAGE sql AS 'SELECT pg_catalog.unnest($1)'""",
    ),
    "statistics that call a function": (
        "CREATE FUNCTION f(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1'",
        "CREATE STATISTICS s ON (place + f(1)), cost FROM projected",
    ),
    "a function that fits the queue's better": (
        "CREATE FUNCTION pg_notify(text, varchar) RETURNS void LANGUAGE sql AS 'SELECT'",
    ),
    "an operator that fits better": (
        "CREATE FUNCTION f(text, varchar) RETURNS text LANGUAGE sql AS 'SELECT $1'",
        "CREATE OPERATOR || (LEFTARG = text, RIGHTARG = varchar, FUNCTION = f)",
    ),
    "an operator that fits a type of the queue's": (
        """CREATE FUNCTION f(procrastinate_job_status, text) RETURNS boolean LANGUAGE sql
           AS 'SELECT true'""",
        "CREATE OPERATOR = (LEFTARG = procrastinate_job_status, RIGHTARG = text, FUNCTION = f)",
    ),
    "an operator with one side": (
        "CREATE FUNCTION f(text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
        "CREATE OPERATOR - (RIGHTARG = text, FUNCTION = f)",
    ),
    "another composite type": ("ALTER TYPE stored_event_uuid ADD ATTRIBUTE x text",),
    "no composite type": ("DROP TYPE stored_event_uuid CASCADE",),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHER_TABLES)
def test_tables_that_would_do_otherwise_than_they_are_told_are_not_used(url, what):
    """An owner's trigger ate entries of paid calls, and rows of what a report signs."""
    servers.sql(url, *OTHER_TABLES[what])
    assert code_of(Store.open, url) == "store.foreign"
    assert code_of(hansard.migrate_store, url) == "store.foreign"


BEHIND = "UPDATE stored_events SET notification_id = notification_id + 1000000"


def test_no_entry_is_recorded_where_the_counter_is_behind(url):
    """Nobody found a review that was recorded so, and a batch never ended."""
    with Store.open(url) as store:
        fill(store)
    stay = "ALTER TABLE stored_events {} TRIGGER ALL"
    servers.sql(url, stay.format("DISABLE"), BEHIND, stay.format("ENABLE"))
    with Store.open(url) as store:
        before = store.debates()
        assert code_of(run, store) == "store.corrupt"
        assert store.debates() == before


@pytest.mark.parametrize(
    "setting", ["standard_conforming_strings = off", "client_encoding = LATIN1"]
)
def test_settings_of_a_database_change_no_meaning(url, setting):
    """Debates were stored otherwise than they were hashed, or ended in an error of our own."""
    servers.sql(url, f"ALTER DATABASE {servers.database(url)} SET {setting}")
    with Store.open(url) as store:
        debate = run(store)
        assert hansard.verify(store, debate).ok
        assert not hansard.list_debates(store, search="\u0141").debates


def test_nor_do_they_hold_in_any_session(url):
    """A limit leaves rows of a search out at random, and a time gives a lock to another process."""
    for setting in (
        "gin_fuzzy_search_limit = 1", "idle_session_timeout = 1000", "quote_all_identifiers = on",
    ):  # fmt: skip
        servers.sql(url, f"ALTER DATABASE {servers.database(url)} SET {setting}")
    home = postgres_server.Postgres(url)
    for name, value in postgres_server._PINNED.items():
        show = f"SHOW {name}"
        with home.writing() as session:
            assert session.execute(show.encode()).fetchall() == [(value,)]
        assert servers.sql(home.dsn, show) == [(value,)]
    home.close()


def test_no_function_of_an_owners_runs_before_it_is_looked_for(url):
    servers.sql(
        url, "CREATE TABLE ran (x text)",
        "CREATE FUNCTION current_setting(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO public.ran VALUES ($1); RETURN pg_catalog.current_setting($1); END $$",
        f"ALTER DATABASE {servers.database(url)} SET search_path = public, pg_catalog",
    )  # fmt: skip
    Store.open(url).close()
    assert servers.sql(url, "SELECT count(*) FROM public.ran") == [(0,)]


def test_no_number_of_keys_comes_in_front_of_what_is_not_ours(url):
    """So many lines are read, and triggers come last."""
    servers.sql(url, *(f"CREATE UNIQUE INDEX i{n} ON heads (debate)" for n in range(9)))
    with psycopg.connect(url) as connection:
        rows = connection.execute(postgres_schema._LINES, (["heads"],)).fetchall()
    assert len(rows) == len({*rows}) > 4
    Store.open(url).close()


def test_what_changes_nothing_of_what_is_told_is_no_matter(url):
    servers.sql(
        url, EAT, "CREATE INDEX i ON projected (cost)", "DROP INDEX projected_question",
        "DROP TRIGGER heads_grow ON heads", "ALTER TABLE register DISABLE TRIGGER ALL",
        "CREATE TABLE other (debate uuid)", "COMMENT ON TABLE blobs IS 'texts'",
        *OWN_TYPE,
        "CREATE FUNCTION max(own, own) RETURNS own LANGUAGE sql AS 'SELECT $1'",
        "CREATE FUNCTION joined(own, own) RETURNS own LANGUAGE sql AS 'SELECT $1'",
        "CREATE OPERATOR || (LEFTARG = own, RIGHTARG = own, FUNCTION = joined)",
        "CREATE FUNCTION lower(text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
        "CREATE FUNCTION similar(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR % (LEFTARG = text, RIGHTARG = text, FUNCTION = similar)",
    )  # fmt: skip
    with Store.open(url) as store:
        fill(store)
        assert store.debates() == [ONE]


def plant(url, *statements):
    """Do what an owner of the tables can do, past the triggers."""
    tables = ("stored_events", "register", "heads")
    servers.sql(url, *(f"ALTER TABLE {name} DISABLE TRIGGER ALL" for name in tables), *statements)


LONG_VALUES = {
    "entry": ("UPDATE stored_events SET state = {}::bytea", lambda store: store.bundle(ONE)),
    "text": ("UPDATE blobs SET body = {}::bytea", lambda store: store.bundle(ONE)),
    "name of a text": ("UPDATE blobs SET name = {}", lambda store: store.bundle(ONE)),
    "head": ("UPDATE heads SET head = {}", lambda store: store.bundle(ONE)),
    "line": (
        "UPDATE register SET line = {}::bytea", lambda store: [*store.register.lines(2)],
    ),
    "line as one is added": (
        "UPDATE register SET line = {}::bytea",
        lambda store: store.register.add_head(ONE, store.bundle(ONE).head.hash),
    ),
    "name of the register": (
        "UPDATE register_log SET origin = {}", lambda store: store.register.id,
    ),
    "state": ("UPDATE projected SET state = {}", lambda store: store.projection.find({})),
    "number": (
        "ALTER TABLE projected ALTER cost TYPE numeric; UPDATE projected SET cost = {}::numeric",
        lambda store: store.projection.sums({}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("where", LONG_VALUES)
def test_a_value_that_no_debate_has_does_not_leave_the_server(url, monkeypatch, where):
    """The driver has all rows of a statement in memory, even twice, before anybody counts them."""
    statement, read = LONG_VALUES[where]
    with Store.open(url) as store:
        fill(store)
        for behind in store.projection.behind():
            store.projection.write(behind, [Row(debate=ONE, state="closed")])
    monkeypatch.setattr(postgres_reading, "_TOGETHER", 10_000)
    monkeypatch.setattr(postgres_reading, "_LONGEST", 10_000)
    with Store.open(url) as store:
        plant(url, statement.format("repeat('7', 20000)"))
        assert code_of(read, store) == "store.size"
        assert store.debates() == [ONE]  # the connection is free again


def test_rows_that_come_one_by_one_are_the_same(url, monkeypatch):
    with Store.open(url) as store:
        whole = fill(store)
        lines = [*store.register.lines(2)]
    monkeypatch.setattr(postgres_reading, "_TOGETHER", 100)
    with Store.open(url) as store:
        assert store.bundle(ONE) == whole
        assert [*store.register.lines(2)] == lines
        plant(
            url,
            "INSERT INTO stored_events SELECT originator_id, 9 + n, '', '' FROM stored_events, "
            "generate_series(1, 1000) AS n WHERE originator_version = 1",
        )
        assert len(store.lines(ONE)) == 1003
        monkeypatch.setattr(database, "MOST_BYTES", 500 * database.EACH)
        assert code_of(store.lines, ONE) == "store.size"
        assert store.debates() == [ONE]


OTHERWISE = {
    "no number": ("cost TYPE numeric", "cost = 'NaN'"),
    "a part of a number": ("cost TYPE numeric", "cost = 0.5"),
    "no end": ("cost TYPE double precision", "cost = 'Infinity'"),
    "a text": ("cost TYPE text", "cost = 'x'"),
    "a time": ("closed_at TYPE timestamptz USING now()", "closed_at = 'infinity'"),
    "an object": ("closed_at TYPE jsonb USING '{}'", "closed_at = '[]'"),
}


@pytest.mark.parametrize("what", OTHERWISE)
def test_a_column_of_another_type_is_one_clear_error(url, what):
    kind, value = OTHERWISE[what]
    with Store.open(url) as store:
        fill(store)
        for behind in store.projection.behind():
            row = Row(debate=ONE, state="closed", advised=True, closed_at="x", texts=True)
            store.projection.write(behind, [row])
        plant(url, f"ALTER TABLE projected ALTER {kind}", f"UPDATE projected SET {value}")
        read = store.projection.gated if kind.startswith("cost") else store.projection.retained
        assert code_of(read, *([{}] if kind.startswith("cost") else [])) == "store.corrupt"


# Secrets


URLS = {
    "postgresql://ann:s3cret@127.0.0.1/h": "postgresql://ann@127.0.0.1/h",
    "postgresql://ann:s3c@ret@127.0.0.1:5432/h": "postgresql://ann…",
    "postgresql://ann:s3/c?r:e#t@127.0.0.1/h": "postgresql://ann…",
    "postgresql://ann:App@s3/c:et@127.0.0.1/h": "postgresql://ann…",
    "postgresql://ann:s3:c?r#t@127.0.0.1/h": "postgresql://ann@127.0.0.1/h",
    "postgresql://127.0.0.1/h?user=ann&password=x@s3cret": "postgresql://127.0.0.1…",
    "postgresql://127.0.0.1/h?options=-c%20x.y%3Ds3cret": "postgresql://127.0.0.1/h",
    "postgresql://127.0.0.1/h?options=-c%20search_path%3Done": (
        "postgresql://127.0.0.1/h?options=-c%20search_path=one"
    ),
    "postgresql://ann:s3cret/h": "postgresql://ann/h",
    "postgresql://127.0.0.1/h?user=ann&password=s3cret": "postgresql://127.0.0.1/h?user=ann",
    "postgresql://127.0.0.1/h?password=s3cret&options=a@b": None,
    "postgresql://127.0.0.1/h?options=-csearch_path%3Done": (
        "postgresql://127.0.0.1/h?options=-csearch_path=one"
    ),
    "postgresql://127.0.0.1/h?options=-csearch_path%3Done%20-cmy.key%3Ds3cret": (
        "postgresql://127.0.0.1/h"
    ),
    "postgresql://127.0.0.1/h?options=-cmy.key=s3cret": "postgresql://127.0.0.1/h",
    "host=127.0.0.1 user=ann password=s3cret": "host…",
    "postgresql:ann:s3cret@127.0.0.1": "postgresql…",
    "postgresql://ann:5318008/h": "postgresql://ann/h",
    "postgresql://ann:65536,db:53180/h": "postgresql://ann/h",
    "postgresql://ann:s3cret:1/h": "postgresql://ann/h",
    "postgresql://ann:s3,cret:1/h": "postgresql://ann/h",
    "postgresql://127.0.0.1/h?sslmode=s3cret": "postgresql://127.0.0.1/h",
    "postgresql://127.0.0.1/h?options=s3cret": "postgresql://127.0.0.1/h",
    "postgresql://127.0.0.1/h?target_session_attrs=s3cret": "postgresql://127.0.0.1/h",
    "postgresql://127.0.0.1/h?s3cret=1": "postgresql://127.0.0.1/h",
    "postgresql://ann:s3cret@[::1]:5432/h?sslpassword=s3cret": "postgresql://ann@[::1]:5432/h",
    "postgresql://ann:s3cret": "postgresql://ann",
    "postgres://ann:s3cret@127.0.0.1/h": "postgres://ann@127.0.0.1/h",
}


@pytest.mark.parametrize("named", URLS)
def test_no_url_is_shown_with_a_password(named):
    shown = without_secrets(named)
    assert not re.search("s3|ret|/c|5318", shown)
    assert URLS[named] in (None, shown)
    with pytest.raises(HansardError) as caught:
        Store.open(f"{named}{'&' if '?' in named else '?'}connect_timeout=1&port=1")
    assert not re.search("s3|ret|/c|5318", str(caught.value))


@pytest.mark.parametrize(
    "given", ["options=s3cret", "options=-c%20s3cret", "options=-c%20work_mem%3Ds3cret",
              "options=-csearch_path%3Dmine%20s3cret", "client_encoding=s3cret",
              "connect_timeout=x%0as3cret"],
)  # fmt: skip
def test_what_a_server_repeats_of_a_url_is_not_said(server, given):
    with pytest.raises(DataError) as caught:
        Store.open(f"{server.url}&{given}")
    assert caught.value.code == "store.unreachable"
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "place",
    ["localhost:5433", "db.example:5433", "[::1]:5433", "a@db:5433", "a@b:1,c:2", "a,b", "db:5433",
     "db:65535", "a:1,b:2"],
)  # fmt: skip
def test_the_port_of_a_server_is_shown(place):
    """A command that is suggested without it would go to another server."""
    assert without_secrets(f"postgresql://{place}/h") == f"postgresql://{place}/h"


UNCLEAR = [
    "postgresql://ann:App@s3/c:et@127.0.0.1/h",
    "postgresql://ann:s3@c@127.0.0.1/h",
    "postgresql://ann:s3/c@127.0.0.1/h",
    "postgresql://ann:s3cret/h",
]


@pytest.mark.parametrize("named", UNCLEAR)
def test_a_password_that_is_not_encoded_is_refused_before_any_server_is_asked(named, monkeypatch):
    """Part of it would be asked for as a host, a port or a database, and named in the answer."""
    monkeypatch.setattr(psycopg, "connect", lambda **_: pytest.fail("asked"))
    with pytest.raises(UsageError, match="@ and / in a password as %40 and %2F") as caught:
        Store.open(named)
    assert caught.value.code == "store.url"
    assert not re.search("s3|c:et|App", str(caught.value))


LONG = "".join(str(number) for number in range(3000))
SERVED = {"U+0000": "gpt\0x", "long": LONG, "a line end": "gpt\nx"}


@pytest.mark.parametrize("name", SERVED.values(), ids=SERVED)
def test_what_a_provider_calls_its_model_keeps_nobody_from_the_debates(url, name):
    said = Completion("Because.", model=name)
    for each in (url, "sqlite:///:memory:"):
        with Store.open(each) as store:
            hansard.debate("Why?", format="panel", agents=lambda _: said, store=store)
            assert len(hansard.list_debates(store, model=name).debates) == 1
            assert not hansard.list_debates(store, model=name[:-1]).debates or len(name) > 256


def test_words_of_any_length_are_found(url):
    words = [f"{number}{'x' * 195}" for number in range(9_000)]
    words += ["\ufdfa" * 100_000, "last"]
    with Store.open(url) as store:
        fill(store)
        for behind in store.projection.behind():
            rows = [Row(debate=each, state="open") for each in behind.debates if each != ONE]
            row = Row(debate=ONE, state="closed", words=" ".join(words))
            store.projection.write(behind, [row, *rows])
        for word in (words[0], words[8_999], "last"):
            assert list(store.projection.find({"words": word})) == [ONE]


def test_words_are_made_plain_in_little_memory():
    words, most = traced(lambda: sum(1 for _ in postgres._tokens("\ufdfa" * 200_000)))
    assert words == 600_001
    assert most < 16 << 20


def test_a_password_is_in_no_error_no_attribute_that_is_shown_and_no_record(server):
    user = f"u{secrets.token_hex(4)}"
    url = server.fresh()
    servers.sql(url, f"CREATE ROLE {user} SUPERUSER LOGIN PASSWORD '{SECRET}'")
    mine = servers.at(url, user=user, password=SECRET)
    hansard.migrate_store(mine)
    with Store.open(mine) as store:
        hansard.debate("Why?", format="panel", agents=lambda _: "Because.", store=store)
        assert store.url == without_secrets(mine)
        assert SECRET not in store.url
        assert store.secret_url == mine
        with pytest.raises(UsageError) as caught:
            store.find("ffff")
        assert user in str(caught.value)
        assert SECRET not in str(caught.value)
        (debate,) = store.debates()
        assert holding(url, b"because") == {"blobs"}
        for spelled in (SECRET, urlsplit(mine).password):
            assert not holding(url, spelled.lower().encode())
        servers.sql(url, "DROP TABLE heads")
        with pytest.raises(DataError) as failed:
            store.bundle(debate)
        assert SECRET not in str(failed.value)
