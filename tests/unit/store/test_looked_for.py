"""Debates are looked for by what their first entry says; a row that cannot be read is left out."""

import sqlite3
from contextlib import closing

import pytest

import hansard
from playing import BASE, MODEL, answer

CONFUSED = "UPDATE stored_events SET {} = ? WHERE originator_version = 1 AND originator_id = ?"


def run(store, **more):
    spec = {"format": "judged", "question": "Shall we?", "model": MODEL, **BASE["judged"]}
    return hansard.run_sync(spec, models={"bot": answer}, store=store, **more).debate


@pytest.mark.parametrize("value", [7, 1.5, b"\xff\0", "no id", None])
@pytest.mark.parametrize("column", ["originator_id", "state"])
def test_a_row_of_a_wrong_type_is_left_out(tmp_path, column, value):
    path = tmp_path / "a.db"
    with hansard.open_store(f"sqlite:///{path}") as store:
        first = run(store)
        again, altered = (run(store, follow_up=first) for _ in range(2))
        assert store.naming(first) == [again, altered]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER lines_stand")
        connection.execute(CONFUSED.format(column), [value, altered.replace("-", "")])
    with hansard.open_store(f"sqlite:///{path}") as store:
        assert store.naming(first) == [again]
