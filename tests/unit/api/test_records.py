"""Records through the library: read, verified, shown, replayed, written."""

import sqlite3
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

import pytest

import hansard
from hansard import DataError, UsageError
from hansard.record import bundle
from hansard.store import tampering
from playing import answer

SPEC = {
    "question": "Do we release?",
    "model": "python:seat",
    "debaters": [{"id": "ann"}, {"id": "bob"}],
    "options": ["release", "revise"],
    "threshold": 2,
    "max_rounds": 1,
}


@pytest.fixture
def store(tmp_path):
    with hansard.open_store(f"sqlite:///{tmp_path}/debates.db") as opened:
        yield opened


@pytest.fixture
def made(store):
    return hansard.run_sync(SPEC, models={"seat": answer}, store=store)


@pytest.fixture
def ring(tmp_path, monkeypatch):
    monkeypatch.delenv("HANSARD_PASSPHRASE", raising=False)
    return hansard.open_keyring(tmp_path / "home")


@pytest.fixture
def zipped(store, made, ring, tmp_path):
    path = tmp_path / "record.zip"
    path.write_bytes(hansard.read_record(store, made.debate).export(ring.signer("export")))
    return path


def alter(tmp_path, made, old=b'"vote":"release"', new=b'"vote":"revise"'):
    turn = made.transcript[0]
    tampering.alter_line(tmp_path / "debates.db", made.debate, turn.seq, old, new)


def test_a_record_of_a_store_is_read_verified_and_shown(store, made):
    record = hansard.read_record(store, made.debate[:8])
    assert (record.debate, record.verification.ok) == (made.debate, True)
    assert record.result() == made == hansard.result(store, made.debate)
    assert len(record.events) == made.entries
    assert record.text("0" * 64) is None


def sql(store, *statements):
    """Do what an owner of the file can do, past the triggers."""
    path = store.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as connection, connection:
        for name in ("lines_stay", "lines_stand"):
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
        for statement in statements:
            connection.execute(statement)


def test_a_record_that_is_kept_under_the_id_of_another_debate_does_not_hold(store, made):
    other = hansard.run_sync(SPEC, models={"seat": answer}, store=store)
    one, two = (found.debate.replace("-", "") for found in (made, other))
    columns = {"stored_events": "originator_id", "blobs": "debate", "heads": "debate"}
    for old, new in ((one, "x"), (two, one), ("x", two)):
        sql(
            store,
            *(f"UPDATE {at} SET {of} = '{new}' WHERE {of} = '{old}'" for at, of in columns.items()),
        )
    for debate in (made.debate, other.debate):
        found = hansard.read_record(store, debate).verification
        assert {row.code for row in found.findings} == {"5.debate"}
        with pytest.raises(DataError) as caught:
            hansard.result(store, debate)
        assert caught.value.code == "record.altered"
    assert hansard.verify_store(store).counts == {"ALTERED": 2}
    assert [row.state for row in hansard.list_debates(store).debates] == ["altered"] * 2


@pytest.mark.parametrize("gone", ["originator_version = 1", "TRUE"])
def test_a_debate_whose_first_entry_is_gone_is_still_a_debate_of_the_store(store, made, gone):
    other = hansard.run_sync(SPEC, models={"seat": answer}, store=store).debate
    name = made.debate.replace("-", "")
    sql(store, f"DELETE FROM stored_events WHERE originator_id = '{name}' AND {gone}")
    assert store.debates() == [other, made.debate]
    assert not hansard.read_record(store, made.debate[:12]).verification.ok
    assert hansard.verify_store(store).level is None


def test_what_each_call_sent_can_be_read(store, made):
    record = hansard.read_record(store, made.debate)
    sent = record.prompt("r1.proposal.ann:1")
    assert sent.digest == sent.recorded
    assert "Do we release?" in "".join(row.text for row in sent.messages)
    with pytest.raises(UsageError) as caught:
        record.prompt("r9.proposal.ann:1")
    assert caught.value.code == "prompt.unknown"


def test_a_replay_says_where_the_debate_stood(store, made):
    record = hansard.read_record(store, made.debate)
    whole = record.replay()
    assert (whole.same, whole.differing) == (whole.entries, ())
    assert (whole.standing.decided, whole.due) == (
        "release (threshold_vote)",
        "a review, an outcome, a hold or a redaction, and nothing else",
    )
    part = record.replay(until=made.transcript[0].seq)
    assert part.entries == made.transcript[0].seq
    assert part.standing.votes == {"ann": "release", "bob": None}
    assert (part.standing.turns, part.standing.decided) == (1, None)
    for beyond in (0, whole.entries + 1):
        with pytest.raises(UsageError) as caught:
            record.replay(until=beyond)
        assert caught.value.code == "replay.until"


def test_nothing_is_drawn_from_an_altered_record(store, made, ring, tmp_path):
    alter(tmp_path, made)
    record = hansard.read_record(store, made.debate)
    assert record.verification.verdict == "ALTERED"
    signer = ring.signer("export")
    for draw in (
        record.result,
        lambda: record.prompt("r1.proposal.ann:1"),
        lambda: record.export(signer),
        lambda: record.page(signer),
        record.replay,
        lambda: hansard.result(store, made.debate),
    ):
        with pytest.raises(DataError, match=f"debate {made.debate[:8]} was altered: ") as caught:
            draw()
        assert caught.value.code == "record.altered"
        assert record.verification.told in str(caught.value)
    replayed = record.replay(unverified=True)
    assert [(row.type, row.fields[0].field) for row in replayed.differing] == [
        ("turn.recorded", "vote")
    ]
    assert replayed.same == replayed.entries - 1


def test_an_event_that_was_not_due_ends_the_replay(store, made, tmp_path):
    alter(tmp_path, made, b"proposal", b"critique")
    replayed = hansard.read_record(store, made.debate).replay(unverified=True)
    assert replayed.differing[-1].seq == made.transcript[0].seq


def test_a_list_names_what_does_not_hold(store, made, tmp_path):
    (row,) = hansard.list_debates(store).debates
    assert (row.debate, row.state, row.decision, row.votes) == (made.debate, "closed", "release", 2)
    alter(tmp_path, made)
    (row,) = hansard.list_debates(store).debates
    assert (row.state, row.decision, row.question) == ("altered", None, None)


def test_an_export_is_checked_against_the_keys_that_are_trusted(zipped, made, ring):
    assert hansard.verify_export(zipped).verdict == "SELF-CONSISTENT, SIGNER UNKNOWN"
    assert hansard.verify_export(zipped, ring.trust()).verdict == "INTACT"
    assert hansard.verify_export(zipped.read_bytes(), ring.trust()).level == 1
    record = hansard.read_export(str(zipped), ring.trust())
    assert (record.debate, record.result()) == (made.debate, made)


def test_an_export_may_be_a_folder_or_a_page(zipped, store, made, ring, tmp_path):
    with ZipFile(zipped) as archive:
        archive.extractall(tmp_path / "folder")
    page = tmp_path / "page.html"
    page.write_bytes(hansard.read_record(store, made.debate).page(ring.signer("export")))
    for path in (tmp_path / "folder", page):
        assert hansard.read_export(path, ring.trust()).verification.level == 1
        assert hansard.read_export(path, ring.trust()).result() == made
        unsigned = hansard.read_export(path).result()
        assert unsigned == made.model_copy(update={"released": False})
    assert hansard.verify_export(page).page.released


def test_the_same_record_and_key_give_the_same_bytes(store, made, ring):
    record, signer = hansard.read_record(store, made.debate), ring.signer("export")
    assert record.export(signer) == record.export(signer)
    assert record.page(signer) == record.page(signer)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "input.unreadable"),
        (b"<html>", "input.unknown"),
        (b"no export", "input.unknown"),
        (bundle.pack({"SHA256SUMS": b""})[:-1], "input.unknown"),
    ],
)
def test_what_is_no_export_is_refused(tmp_path, content, code):
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises((UsageError, DataError)) as caught:
        hansard.read_export(path)
    assert caught.value.code == code


def test_a_device_is_not_read():
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        hansard.verify_export(Path("/dev/null"))


@pytest.mark.parametrize(
    "helper", ["hansard.report.notes.of_event", "hansard.report.common._seats"]
)
def test_a_bug_of_ours_is_raised_as_it_is(store, made, monkeypatch, helper):
    def broken(*_):
        raise KeyError("ours")

    monkeypatch.setattr(helper, broken)
    for call in (
        lambda: hansard.result(store, made.debate),
        lambda: hansard.list_debates(store),
        lambda: hansard.run_sync(SPEC, models={"seat": answer}),
    ):
        with pytest.raises(KeyError, match="ours"):
            call()
