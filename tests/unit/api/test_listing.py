"""The debates of a store, found by what their records say: always as a recount finds them."""

import hashlib
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from uuid import UUID, uuid4

import pytest

import hansard
from hansard import DataError, UsageError
from hansard.api import listing
from hansard.record.keys import Trust
from hansard.report import listing as report_listing
from hansard.report.listing import row
from hansard.report.metrics import LEAST, UNIT, figures
from hansard.runtime.clock import Clock
from hansard.runtime.models.base import Completion
from hansard.store import projection
from hansard.store.application import Store
from hansard.store.rows import Row
from hansard.store.tampering import alter_line
from instant import GUARD
from playing import answer

SPEC = {
    "question": "Is clause 11 fair?",
    "model": "python:seat",
    "debaters": [{"id": "ann"}, {"id": "bob"}],
    "options": ["release", "revise"],
    "threshold": 2,
    "max_rounds": 1,
}
SPECS = (
    {},
    {"question": "Is clause 12 fair?", "labels": ["insurance", "q4"], "task_type": "contract"},
    {"question": "Do we ship “Größe” now?", "labels": ["q4"]},
    {"limits": {"calls": 1}},
    {"format": "panel", "agents": 2, "question": "Why?", "task_type": "incident"},
)
LATER = "2999-01-01T00:00:00.000000Z"
LEFT = {"debaters", "options", "threshold", "max_rounds"}  # by a panel


@pytest.fixture
def store(tmp_path):
    with hansard.open_store(f"sqlite:///{tmp_path}/debates.db") as opened:
        yield opened


def play(store, **changes):
    spec = {**SPEC, **changes}
    if spec.get("format") == "panel":
        spec = {key: spec[key] for key in spec if key not in LEFT}
    return hansard.run_sync(spec, models={"seat": answer}, store=store).debate


@pytest.fixture
def debates(store):
    return [play(store, **changes) for changes in SPECS]


def tables(path):
    """All rows of the projection."""
    names = ("projected", "projected_names", "projected_reviews", "projected_until")
    names += ("projected_figures", "projected_counts")
    with closing(sqlite3.connect(path)) as connection:
        found = [connection.execute(f"SELECT * FROM {name}").fetchall() for name in names]
        texts = connection.execute("SELECT rowid, said FROM projected_texts").fetchall()
    return [*map(sorted, found), sorted(texts)]


def ids(store, **wanted):
    return [row.debate for row in hansard.list_debates(store, **wanted).debates]


RECOUNTS = {
    "format": lambda result, value: result.format == value,
    "task_type": lambda result, value: result.task_type == value,
    "label": lambda result, value: value in result.labels,
    "decision": lambda result, value: result.decision == value,
    "model": lambda result, value: value in {seat.model for seat in result.seats},
    "note": lambda result, value: value in {note.code for note in result.notes},
    "exception": lambda result, value: value in result.reviewed.exceptions,
    "review": lambda result, value: result.status != "open" and result.reviewed.state == value,
    "since": lambda result, value: result.opened_at >= value,
    "until": lambda result, value: result.opened_at[: len(value)] <= value,
}
VALUES = {
    "format": ("consensus", "panel", "judged"),
    "task_type": ("contract", "incident", "none"),
    "label": ("q4", "insurance", "q"),
    "decision": ("release", "escalate", "x"),
    "model": ("python:seat", "python:other"),
    "exception": ("truncated", "citations"),
    "note": ("theatre", "truncated", "fabricated_citation"),
    "review": ("not required", "waiting", "overdue"),
    "since": ("2026", "2999-01-01T00:00"),
    "until": ("2025", "2999-12-31", "2999"),
}


def test_every_term_finds_what_a_recount_of_the_records_finds(store, debates):
    results = [hansard.result(store, debate) for debate in debates]
    found = {}
    for term, values in VALUES.items():
        for value in values:
            wanted = [row.debate for row in results if RECOUNTS[term](row, value)]
            assert ids(store, **{term: value}) == wanted, (term, value)
            found[term, value] = wanted
    assert all(any(found[term, value] for value in VALUES[term]) for term in VALUES)
    assert all(not all(found[term, value] for value in VALUES[term]) for term in VALUES)
    both = ("label", "q4"), ("task_type", "contract")
    assert ids(store, **dict(both)) == [row for row in found[both[0]] if row in found[both[1]]]


@pytest.mark.parametrize(
    ("words", "places"),
    [
        ("clause", [0, 1, 3]),
        ("fair CLAUSE 12", [1]),
        ("größe", [2]),
        ("q4", [1, 2]),
        ("release", [0, 1, 2]),
        (" ", [0, 1, 2, 3, 4]),
        ('"clause', [0, 1, 3]),
        ("clause OR ship", []),
        ("said:clause", []),
        ("NEAR(clause 11)", []),
        ("*", []),
        ("^ - ( ) ' ; -- \\ \x00", []),
    ],
)
def test_all_words_are_looked_for_and_none_is_a_command(store, debates, words, places):
    assert ids(store, search=words) == [debates[place] for place in places]


def test_it_is_sorted_and_cut_while_all_are_counted(store, debates):
    results = {debate: hansard.result(store, debate) for debate in debates}
    by_calls = sorted(debates, key=lambda debate: results[debate].totals.calls)
    assert ids(store, sort="calls") == by_calls
    found = hansard.list_debates(store, sort="calls", limit=2)
    assert [row.debate for row in found.debates] == by_calls[-2:]
    assert found.totals == hansard.list_debates(store).totals
    whole = hansard.list_debates(store).debates
    assert found.totals.debates == found.totals.unpriced == len(debates)
    assert found.totals.need_a_look == sum(row.needs_a_look for row in whole) > 0
    for term, values in VALUES.items():
        for value in values:
            found = hansard.list_debates(store, **{term: value})
            assert found.totals.need_a_look == sum(row.needs_a_look for row in found.debates)


def test_what_is_no_time_or_order_is_refused(store):
    for wanted, code in (
        ({"since": "yesterday"}, "list.time"),
        ({"until": "2026-1"}, "list.time"),
        ({"sort": "place; DROP TABLE projected"}, "list.sort"),
    ):
        with pytest.raises(UsageError) as caught:
            hansard.list_debates(store, **wanted)
        assert caught.value.code == code


def test_it_catches_up_with_what_is_new_and_reads_nothing_twice(store, debates, monkeypatch):
    read = []
    row = listing._row
    monkeypatch.setattr(listing, "_row", lambda *given: read.append(given[1]) or row(*given))
    assert ids(store) == debates
    assert read == debates
    new = play(store)
    assert ids(store, limit=1) == [new]
    assert ids(store) == [*debates, new]
    assert read == [*debates, new]
    hansard.note_outcome(debates[0], "paid", store=store)
    assert ids(store, limit=1) == [new]
    assert read == [*debates, new, debates[0]]


def test_made_anew_it_is_the_same(store, debates, tmp_path):
    listing.caught_up(store)
    play(store)
    hansard.note_outcome(debates[0], "paid", store=store)
    ids(store)
    before = tables(tmp_path / "debates.db")
    assert len(before[0]) == len(debates) + 1
    assert hansard.rebuild_projection(store) == len(debates) + 1
    ids(store)
    assert tables(tmp_path / "debates.db") == before


@pytest.mark.parametrize("at_once", [1, 7, 10_000])
def test_however_few_entries_are_looked_at_each_record_is_read_once(
    store, debates, monkeypatch, at_once
):
    read, row = [], listing._row
    monkeypatch.setattr(projection, "_AT_ONCE", at_once)
    monkeypatch.setattr(listing, "_row", lambda *given: read.append(given[1]) or row(*given))
    assert ids(store) == read == debates


@pytest.mark.parametrize("lost", [False, True])
def test_long_texts_of_many_debates_are_not_held_at_once(
    store, debates, monkeypatch, tmp_path, lost
):
    ids(store)
    before = tables(tmp_path / "debates.db")
    written, read, row = [], [], listing._row

    def watched(write):
        return lambda *given: written.append(len(given[-1])) or write(*given)

    for name in ("write", "add"):
        write = watched(getattr(projection.Projection, name))
        monkeypatch.setattr(projection.Projection, name, write)
    monkeypatch.setattr(listing, "_MOST_HELD", 1, raising=False)
    monkeypatch.setattr(listing, "_row", lambda *given: read.append(given[1]) or row(*given))
    if lost:
        with closing(sqlite3.connect(tmp_path / "debates.db")) as connection, connection:
            connection.execute("DELETE FROM projected")
    else:
        store.projection.begin_again()
    assert ids(store) == read == debates or lost
    assert (written, sorted(read)) == ([1] * len(debates), sorted(debates))
    assert lost or tables(tmp_path / "debates.db") == before


def test_a_list_holds_no_more_of_long_texts_than_there_is_memory_for(store, monkeypatch):
    questions = [f"{name}\U0001f600 " + "Is it fair? " * 1_000 for name in ("A", "B")]
    for question in (questions[0], questions[1], questions[0], SPEC["question"]):
        play(store, question=question)
    asked = [row.question for row in hansard.list_debates(store).debates]
    assert asked == [questions[0], questions[1], questions[0], SPEC["question"]]
    monkeypatch.setattr(report_listing, "_MOST_HELD", 60_000, raising=False)  # one of them fits
    found = hansard.list_debates(store)
    whole, cut, again, short = (row.question for row in found.debates)
    assert (whole, short) == (questions[0], SPEC["question"])
    assert whole is again
    hash_ = hashlib.sha256(questions[1].encode()).hexdigest()
    assert cut == f"{questions[1][:1_000]}… (12,003 characters, SHA-256 {hash_})"
    assert [len(row.debates) for row in found.questions().asked] == [2, 1, 1]


def test_of_two_readers_one_writes(store, debates, tmp_path):
    rows = store.projection
    behind = next(rows.behind())
    assert list(behind.debates) == debates
    ids(store)
    before = tables(tmp_path / "debates.db")
    rows.write(behind, [Row(debate=debates[0], state="altered")])
    assert tables(tmp_path / "debates.db") == before


def test_what_was_read_before_an_erasure_is_not_written_after_it(store, debates, tmp_path):
    rows = store.projection
    behind = next(rows.behind())
    read = [listing._row(store, debate) for debate in behind.debates]
    hansard.note_outcome(debates[1], "paid", store=store)
    rows.write(behind, read)
    written = {row[1] for row in tables(tmp_path / "debates.db")[0]}
    assert written == {*debates} - {debates[1]}
    assert ids(store) == debates


def test_whoever_is_killed_leaves_what_was_there(store, debates, tmp_path, monkeypatch):
    ids(store)
    before = tables(tmp_path / "debates.db")
    play(store)
    replace = projection._replace

    def die(*given):
        replace(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(projection, "_replace", die)
    with pytest.raises(KeyboardInterrupt):
        ids(store)
    assert tables(tmp_path / "debates.db") == before
    monkeypatch.undo()
    assert len(ids(store)) == len(debates) + 1


READER = """
import sys, hansard
with hansard.open_store(sys.argv[1], create=False) as store:
    for _ in range(3):
        found = hansard.list_debates(store)
        hansard.note_outcome(found.debates[int(sys.argv[2])].debate, "seen", store=store)
print(len(found.debates))
"""


@pytest.mark.slow
def test_several_processes_read_and_write_at_once(store, debates, tmp_path):
    command = [sys.executable, "-c", READER, store.url]
    with ThreadPoolExecutor() as pool:
        readers = pool.map(
            lambda each: subprocess.run(
                [*command, str(each)], capture_output=True, text=True, check=False, timeout=GUARD
            ),
            range(4),
        )
    assert [(reader.stdout, reader.stderr) for reader in readers] == [("5\n", "")] * 4
    assert ids(store) == debates
    kept = tables(tmp_path / "debates.db")
    assert hansard.rebuild_projection(store) == len(debates)
    rebuilt = tables(tmp_path / "debates.db")
    assert (rebuilt[:2], rebuilt[3:]) == (kept[:2], kept[3:])


def change(tmp_path, *statements):
    with closing(sqlite3.connect(tmp_path / "debates.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_rows_of_another_version_are_thrown_away(store, debates, tmp_path):
    ids(store)
    before = tables(tmp_path / "debates.db")
    change(
        tmp_path, "UPDATE projected_until SET version = 99", "UPDATE projected SET state = 'open'"
    )
    assert ids(store) == debates
    assert tables(tmp_path / "debates.db") == before


def look(store):
    """Read whatever the rows say."""
    ids(store)
    hansard.metrics(store, since="2000")
    hansard.retention(store)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE projected SET debate = 'x' WHERE place = 1",
        "UPDATE projected SET cost = 'x'",
        "UPDATE projected SET task_type = x'ff', scripted = 0",
        "UPDATE projected_figures SET value = 9e999",
        "UPDATE projected SET retention = x'ff'",
        "UPDATE projected SET closed_at = '2026-02-30T00:00:00Z'",
        "UPDATE projected SET closed_at = '2026-02-03'",
    ],
)
def test_rows_that_were_changed_are_no_bug(store, debates, tmp_path, statement):
    ids(store)
    change(tmp_path, statement)
    with pytest.raises(DataError) as caught:
        look(store)
    assert caught.value.code == "store.corrupt"
    assert hansard.rebuild_projection(store) == len(debates)
    assert ids(store) == debates


def test_a_figure_of_no_metric_is_left_out(store, debates, tmp_path):
    true = hansard.metrics(store, since="2000").rows
    change(tmp_path, "INSERT INTO projected_figures SELECT place, 'x', 1 FROM projected")
    change(tmp_path, "UPDATE projected SET task_type = 'contract'")
    assert {row.name for row in hansard.metrics(store, since="2000").rows} == {
        row.name for row in true
    }


@pytest.mark.parametrize("position", ["'x'", "1.5", "9e999", "9223372036854775807", "-1"])
def test_where_no_reader_can_have_come_to_the_rows_are_made_anew(
    store, debates, tmp_path, position
):
    assert ids(store) == debates
    change(tmp_path, f"UPDATE projected_until SET position = {position}")
    new = play(store)
    assert ids(store) == [*debates, new]


def test_while_the_rows_are_made_anew_none_is_missing(store, debates, tmp_path):
    assert ids(store) == debates
    change(tmp_path, "INSERT INTO projected SELECT 9, 'x', 'open', " + ", ".join(["0"] * 24))
    store.projection.begin_again()
    assert list(store.projection.find({})) == debates


@pytest.mark.parametrize(("folder", "code"), [("none", "system.temporary"), ("", "store.failed")])
def test_where_sqlite_lacks_a_temporary_file_that_is_told(
    store, debates, tmp_path, monkeypatch, folder, code
):
    def fails(*_, **__):  # as it does without a folder that can be written
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / folder))
    with monkeypatch.context() as patch:
        patch.setattr(type(store.projection._tables), "drop_words", fails)
        with pytest.raises(hansard.HansardError) as caught:
            hansard.rebuild_projection(store)
    assert caught.value.code == code
    assert hansard.rebuild_projection(store) == len(debates)


def test_a_row_in_another_place_is_replaced(store, debates, tmp_path):
    ids(store)
    change(tmp_path, "UPDATE projected SET place = place + 1000")
    change(tmp_path, "UPDATE projected_until SET position = 0")
    assert ids(store) == debates


MOVED = "UPDATE stored_events SET rowid = {} WHERE originator_id = '{}' AND originator_version = {}"


@pytest.mark.parametrize("places", [[(1, 1_000)], [(1, -1), (2, 1), (1, 2)], [(1, -1)]])
def test_a_row_of_no_debate_is_not_kept_where_an_entry_was_moved(store, tmp_path, places):
    """It was counted in a report that its reader signed, and all records held."""
    debate, other = play(store), play(store)
    moves = [MOVED.format(place, UUID(debate).hex, seq) for seq, place in places]
    nobody = f"'{uuid4()}', 'closed', " + ", ".join(["0"] * 24)
    rows = f"INSERT INTO projected SELECT {places[-1][1]}, {nobody}"
    assert sorted(ids(store)) == sorted([debate, other])
    change(tmp_path, "DROP TRIGGER lines_stand", "DELETE FROM projected WHERE place = 1", *moves)
    change(tmp_path, rows)
    assert hansard.rebuild_projection(store) == 2
    assert sorted(ids(store)) == sorted([debate, other])
    assert hansard.verify(store, debate).ok


@pytest.mark.parametrize("headless", [False, True])
def test_a_debate_whose_entries_were_all_moved_is_in_every_list(store, tmp_path, headless):
    debate, other = play(store), play(store)
    name = UUID(debate).hex
    assert ids(store) == [debate, other]
    change(
        tmp_path, "DROP TRIGGER lines_stand", "DELETE FROM projected WHERE place = 1",
        f"UPDATE stored_events SET rowid = -rowid WHERE originator_id = '{name}'",
    )  # fmt: skip
    if headless:
        change(tmp_path, f"DELETE FROM heads WHERE debate = '{name}'")
    for _ in range(2):
        assert sorted(ids(store)) == sorted([debate, other])
        assert hansard.list_debates(store).totals.not_as_recorded == headless
        assert hansard.rebuild_projection(store) == 2


def lead_elsewhere(tmp_path, table, fill):
    """Let the index that SQLite made of a table be that of another one with as many columns."""
    index, other = f"sqlite_autoindex_{table}_1", "sqlite_autoindex_shadow_1"
    with closing(sqlite3.connect(tmp_path / "debates.db")) as connection, connection:
        (made,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,))
        connection.execute(made[0].replace(table, "shadow", 1))
        connection.executescript(fill)
    roots = "SELECT name, rootpage FROM sqlite_master WHERE name IN (?, ?)"
    swap = "UPDATE sqlite_master SET rootpage = ? WHERE name = ?"
    with closing(sqlite3.connect(tmp_path / "debates.db")) as connection, connection:
        found = dict(connection.execute(roots, (index, other)).fetchall())
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(swap, (found[other], index))
        connection.execute(swap, (found[index], other))


def refused_as_corrupt(store, *, recording=False):
    store.close()
    with hansard.open_store(store.url) as again:
        if recording:
            play(again)
        with pytest.raises(DataError) as caught:
            hansard.rebuild_projection(again)
    return caught.value.code == "store.corrupt"


def test_an_index_of_entries_that_leads_elsewhere_keeps_no_row(store, tmp_path):
    """A stranger's file had the row of no debate where its index alone had an entry."""
    debate = play(store)
    assert ids(store) == [debate]
    fill = """INSERT INTO shadow (rowid, originator_id, originator_version, topic, state)
        SELECT rowid, originator_id, originator_version, '', '' FROM stored_events
        UNION ALL SELECT 5000, '00', 1, '', ''"""
    lead_elsewhere(tmp_path, "stored_events", fill)
    nobody = f"'{uuid4()}', 'closed', " + ", ".join(["0"] * 24)
    change(tmp_path, f"INSERT INTO projected SELECT 5000, {nobody}", "DROP TABLE shadow")
    assert refused_as_corrupt(store)


@pytest.mark.parametrize("recording", [False, True])
def test_an_index_of_rows_that_leads_elsewhere_hides_no_debate(store, tmp_path, recording):
    """Nor once something was recorded, for which rows need not be sound."""
    debate, other = play(store), play(store)
    name = UUID(debate).hex
    assert ids(store) == [debate, other]
    fill = "INSERT INTO shadow SELECT * FROM projected; DELETE FROM projected WHERE place = 1"
    lead_elsewhere(tmp_path, "projected", fill)
    change(
        tmp_path, "DROP TABLE shadow", "DROP TRIGGER lines_stand",
        f"UPDATE stored_events SET rowid = -rowid WHERE originator_id = '{name}'",
        f"DELETE FROM heads WHERE debate = '{name}'",
    )  # fmt: skip
    assert refused_as_corrupt(store, recording=recording)


def test_rows_out_of_order_are_not_made_anew_beside_what_stands(store, tmp_path):
    """SQLite finds no row by its place that stands after others with higher ones."""
    for _ in range(3):
        play(store)
    assert len(ids(store)) == 3
    store.close()
    path = tmp_path / "debates.db"
    change(tmp_path, "VACUUM")
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'projected_counts'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data = bytearray(path.read_bytes())
    cells = (root - 1) * size + 8  # of a leaf, where each row begins, by its place
    data[cells : cells + 6] = data[cells + 4 : cells + 6] + data[cells : cells + 4]
    path.write_bytes(data)
    assert refused_as_corrupt(store)


def test_a_debate_without_entries_is_found_beside_one_without_a_head(store, tmp_path):
    """There are as many heads as rows then."""
    gone, other, headless = play(store), play(store), play(store)
    assert ids(store) == [gone, other, headless]
    change(
        tmp_path, "DROP TRIGGER lines_stay",
        f"DELETE FROM stored_events WHERE originator_id = '{UUID(gone).hex}'",
        f"DELETE FROM projected WHERE debate = '{gone}'",
        f"DELETE FROM heads WHERE debate = '{UUID(headless).hex}'",
    )  # fmt: skip
    store.close()
    with hansard.open_store(store.url) as again:
        assert hansard.rebuild_projection(again) == 3
        assert sorted(ids(again)) == sorted([gone, other, headless])


def test_only_the_rows_that_are_missing_are_made(store, debates, tmp_path, monkeypatch):
    assert ids(store) == debates
    gone = debates[0]
    change(tmp_path, f"DELETE FROM projected WHERE debate = '{gone}'")
    read, row = [], listing._row
    monkeypatch.setattr(listing, "_row", lambda *given: read.append(given[1]) or row(*given))
    assert ids(store) == debates
    assert read == [gone]


def test_an_id_that_is_spelled_otherwise_takes_no_row_s_place(store, debates, tmp_path):
    """Else a row that somebody wrote would stand where that of the debate is made anew."""
    assert ids(store) == debates
    first = UUID(debates[0]).hex
    again = f"SELECT '{debates[0]}', originator_version, topic, state FROM stored_events"
    change(tmp_path, f"INSERT INTO stored_events {again} WHERE originator_id = '{first}'")
    change(tmp_path, "UPDATE projected SET debate = lower(hex(randomblob(16))) WHERE place = 1")
    with pytest.raises(DataError) as caught:
        hansard.rebuild_projection(store)
    assert caught.value.code == "store.corrupt"


def test_a_record_that_adds_up_to_too_much_spoils_no_list(store, debates):
    price = {"input": "0.000001", "output": "0.000001", "cache_write": "999999"}
    spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:seat"}
    dear = Completion("So.", tokens_in=10**9, tokens_cache_write=10**9, tokens_out=1)
    spec |= {"prices": {"python:seat": price}}
    new = hansard.run_sync(spec, models={"seat": lambda _: dear}, store=store).debate
    assert ids(store) == [*debates, new]
    (found,) = (row for row in hansard.metrics(store).rows if row.name == "cost_to_estimate")
    assert found.value > 1e9


def test_many_records_that_add_up_to_too_much_spoil_no_list(store, debates, tmp_path):
    """SQLite refuses a sum beyond 2^63 - 1: that of 1,025 debates at the most that a row has."""
    before, most = hansard.list_debates(store).totals.cost_micro_usd, (1 << 53) - 1
    with closing(sqlite3.connect(tmp_path / "debates.db")) as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(projected)")]
    other = {"place": "1000 + number", "debate": "lower(hex(randomblob(16)))", "cost": str(most)}
    values = ", ".join(other.get(name, name) for name in names)
    numbers = "SELECT 1 AS number UNION ALL SELECT number + 1 FROM numbers WHERE number < 1100"
    change(
        tmp_path,
        f"WITH RECURSIVE numbers AS ({numbers}) INSERT INTO projected "
        f"SELECT {values} FROM numbers, projected WHERE place = 1",
    )
    assert store.projection.sums({}).cost == (before or 0) + 1100 * most


@pytest.mark.parametrize("term", ["label", "task_type", "decision"])
def test_what_no_name_has_is_no_term(store, debates, term):
    for ask in (hansard.list_debates, hansard.metrics, hansard.calibrate)[
        : 1 + 2 * (term == "task_type")
    ]:
        with pytest.raises(UsageError) as caught:
            ask(store, **{term: "a\0b"})
        assert caught.value.code == "list.text"


@pytest.mark.parametrize("term", ["search", "label", "task_type"])
def test_what_is_not_unicode_is_no_term(store, debates, term):
    for ask in (hansard.list_debates, hansard.metrics)[: 1 + (term == "task_type")]:
        with pytest.raises(UsageError) as caught:
            ask(store, **{term: "\udcff"})
        assert caught.value.code == "list.text"


def test_any_limit_is_one(store, debates):
    assert len(hansard.list_debates(store, limit=10**30).debates) == len(debates)


def test_a_row_never_speaks_for_its_record(store, debates, tmp_path):
    true = hansard.list_debates(store).debates
    assert "revise" not in {row.decision for row in true}
    change(tmp_path, "UPDATE projected SET decision = 'revise', state = 'failed'")
    found = hansard.list_debates(store, decision="revise").debates
    assert found == true


@pytest.mark.parametrize("seen", [True, False])
def test_an_altered_record_is_in_every_list_and_leaves_it_restored(store, tmp_path, seen):
    first, second = play(store), play(store, labels=["q4"])
    if seen:
        assert ids(store, label="q4") == [second]
    (turn,) = (row.seq for row in hansard.result(store, first).transcript[:1])
    path, words = tmp_path / "debates.db", (b'"vote":"release"', b'"vote":"revise"')
    alter_line(path, first, turn, *words)
    found = hansard.list_debates(store)
    assert [row.state for row in found.debates] == ["altered", "closed"]
    assert found.totals.not_as_recorded == 1
    assert ids(store, label="q4", since="2999") == [first]
    alter_line(path, first, turn, *reversed(words))
    assert hansard.list_debates(store).totals.not_as_recorded == 0
    assert ids(store, label="q4") == [second]


@pytest.mark.parametrize("seen", [True, False])
def test_a_debate_without_any_entry_is_in_every_list_and_leaves_it_restored(
    store, tmp_path, seen, monkeypatch
):
    """It has no place among the entries, and perhaps no row was ever made of it."""
    monkeypatch.setattr(projection, "_AT_ONCE", 1)
    debates = [play(store), play(store, labels=["q4"]), play(store)]
    first, _, third = debates
    if seen:
        assert ids(store) == debates
    gone = f"originator_id IN ('{UUID(first).hex}', '{UUID(third).hex}')"
    columns = "rowid, originator_id, originator_version, topic, state"
    with closing(sqlite3.connect(tmp_path / "debates.db")) as connection:
        kept = connection.execute(f"SELECT {columns} FROM stored_events WHERE {gone}").fetchall()
    change(tmp_path, "DROP TRIGGER lines_stay", f"DELETE FROM stored_events WHERE {gone}")
    for _ in range(2):
        assert sorted(ids(store)) == sorted(debates)
        assert {*ids(store, label="q4", since="2999")} == {first, third}
        assert hansard.list_debates(store).totals.not_as_recorded == 2
        assert hansard.rebuild_projection(store) == 3
    with closing(sqlite3.connect(tmp_path / "debates.db")) as connection, connection:
        into = f"INSERT INTO stored_events ({columns}) VALUES (?, ?, ?, ?, ?)"
        connection.executemany(into, kept)
    assert hansard.list_debates(store).totals.not_as_recorded == 0
    assert hansard.rebuild_projection(store) == 3
    assert ids(store) == debates


def test_rows_that_somebody_took_out_are_made_anew(store, debates, tmp_path, monkeypatch):
    monkeypatch.setattr(projection, "_AT_ONCE", 2)
    true = hansard.list_debates(store)
    change(tmp_path, "DELETE FROM projected WHERE place > 1")
    assert hansard.list_debates(store) == true


def test_a_row_that_was_made_before_the_last_entry_is_not_put_in_the_place_of_a_lost_one(
    store, tmp_path
):
    """A text may have been erased since, which would be found again."""
    debate = play(store)
    row = listing._row(store, debate)
    hansard.hold(debate, store=store)
    change(tmp_path, "DELETE FROM projected")
    store.projection.add([row])
    assert store.projection.find({}) == {}


def test_a_table_by_another_definition_is_refused(store, debates, tmp_path):
    change(tmp_path, "DROP TABLE projected")
    change(tmp_path, "CREATE TABLE projected (place INTEGER PRIMARY KEY, debate TEXT)")
    store.close()
    with pytest.raises(DataError) as caught, Store.open(store.url) as again:
        hansard.list_debates(again)
    assert caught.value.code == "store.foreign"


def test_reviews_are_found_by_the_keys_of_who_looks(store, tmp_path, monkeypatch):
    monkeypatch.delenv("HANSARD_PASSPHRASE", raising=False)
    ring = hansard.open_keyring(tmp_path / "home")
    trust = ring.trust()
    waiting = play(store, options=["escalate", "release"])
    other = play(store, options=["escalate", "release"])
    assert ids(store, review="waiting") == [waiting, other]
    given = {"store": store, "reviewer": "Ann", "signer": ring.signer("reviewer")}
    hansard.review(other, "rejected", comment="No.", trust=ring.trust(), **given)
    trust = ring.trust()
    assert ids(store, trust=trust, review="rejected") == [other]
    assert ids(store, trust=trust, review="waiting") == [waiting]
    assert ids(store, review="waiting") == ids(store, trust=Trust(), review="waiting")
    assert ids(store, review="rejected") == []


def test_a_review_is_overdue_by_the_clock_of_who_looks(store, tmp_path, monkeypatch):
    debate = play(store, options=["escalate", "release"])
    result = hansard.result(store, debate)
    closed = result.model_copy(update={"closed_at": "2026-12-30T01:02:03.000004Z"})
    for days, deadline in ((3, "2027-01-02T01:02:03.000004Z"), (None, None), (10**7, None)):
        reviewed = closed.reviewed.model_copy(update={"days": days})
        assert row(closed.model_copy(update={"reviewed": reviewed})).deadline == deadline
    assert ids(store, review="waiting") == [debate]
    change(tmp_path, "UPDATE projected SET deadline = '2998-12-31T00:00:00.000000Z'")
    for now, state in (("2998-12-30T00:00:00.000000Z", "waiting"), (LATER, "overdue")):
        monkeypatch.setattr(Clock, "now", lambda _, now=now: now)
        assert ids(store, review=state) == [debate]
        others = {"waiting", "overdue"} - {state}
        assert not any(ids(store, review=other) for other in others)
        assert hansard.list_debates(store).totals.need_a_look == 1


def test_texts_that_are_forgotten_are_in_no_file(store, tmp_path):
    secret = "Zyzzyva Quetzalcoatl"
    debate = play(store, question=f"Is {secret} fair?")
    others = [play(store) for _ in range(3)]
    assert ids(store, search=secret) == [debate]

    def files():
        return b"".join(path.read_bytes() for path in sorted(tmp_path.glob("debates.db*")))

    def left():
        return files().lower().count(b"zyzzyva")

    recorded = left()
    with store._recorder.datastore.transaction(commit=True) as c:
        projection.forget(store._recorder, c, debate)
        c.execute("DELETE FROM blobs WHERE debate = ?", (debate.replace("-", ""),))
    change(tmp_path, "PRAGMA wal_checkpoint(TRUNCATE)")
    assert recorded > left() == 0
    assert ids(store) == [debate, *others]  # it does not hold, with its texts gone: in every list
    assert left() == 0


def test_metrics_are_those_of_a_recount(store, debates):
    found = hansard.metrics(store)
    results = [hansard.result(store, debate) for debate in debates]
    counted = [figures(result) for result in results]
    assert (found.debates, found.scripted) == (len(debates), 0)
    tasks = {row.task_type for row in found.rows}
    assert tasks == {None, "contract", "incident"}
    for metric in found.rows:
        of_task = [
            each
            for each, result in zip(counted, results, strict=True)
            if metric.task_type in (None, result.task_type)
        ]
        values = [each[metric.name] / UNIT for each in of_task if metric.name in each]
        mean = sum(values) / len(values) if values else None
        assert (metric.n, metric.value) == (len(values), mean and pytest.approx(mean)), metric
    assert {row.n for row in found.rows if row.name == "failed"} == {5, 1}
    only = hansard.metrics(store, task_type="contract")
    assert (only.debates, {row.task_type for row in only.rows}) == (1, {None, "contract"})


def test_a_time_without_debates_has_nothing_to_say(store, debates):
    found = hansard.metrics(store, since="2020", until="2020-02")
    assert (found.debates, {row.value for row in found.rows}, found.alerts) == (0, {None}, ())
    assert found.until == "2020-02-01T00:00:00.000000Z"
    for wanted in ({"since": "2999"}, {"until": "2026-13"}, {"since": "2026", "until": "2026"}):
        with pytest.raises(UsageError) as caught:
            hansard.metrics(store, **wanted)
        assert caught.value.code == "list.time"
    assert hansard.metrics(store, until="0001-01-02").debates == 0


def test_what_was_before_is_compared_with(store, tmp_path, monkeypatch):
    monkeypatch.delenv("HANSARD_PASSPHRASE", raising=False)
    monkeypatch.setattr(Clock, "now", lambda _: "2026-08-01T00:00:00.000000Z")
    for _ in range(LEAST):
        play(store)
    monkeypatch.setattr(Clock, "now", lambda _: "2026-10-01T00:00:00.000000Z")
    for _ in range(LEAST):
        play(store, limits={"calls": 1})
    found = hansard.metrics(store, since="2026-09", until="2026-11")
    (row,) = found.alerts
    assert (row.name, row.value, row.baseline, row.against) == ("truncated", 1.0, 0.0, "before")
    ring = hansard.open_keyring(tmp_path / "home")
    signed = hansard.approve_policy(ring.signer("approval"), {"*": {"metric": ["truncated:0.9"]}})
    policy = hansard.parse_policy(signed)
    found = hansard.metrics(store, since="2026-09", until="2026-11", policy=policy)
    assert found.alerts == ()
    assert {row.against for row in found.rows if row.name == "truncated"} == {"policy"}
