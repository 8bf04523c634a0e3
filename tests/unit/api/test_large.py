"""A record whose texts take too much memory is refused where it is shown; nothing of it is lost."""

from typing import cast

import pytest

import hansard
from hansard import DataError
from hansard.api import running, working
from hansard.api.batches import kept_row
from hansard.report import quoting, size
from hansard.runtime.working import Told
from playing import answer

SPEC = {
    "question": "\U0001f600" + "Do we release? " * 1000,  # 60,000 bytes of memory
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


def run(store):
    return hansard.run_sync(SPEC, models={"seat": answer}, store=store)


@pytest.fixture
def debate(store):
    return run(store).debate


@pytest.fixture
def small(monkeypatch):
    """Less room than the question takes, and more than it has letters."""
    return lambda: monkeypatch.setattr(size, "MOST_HELD", 50_000)


def refused(show, *, done=None):
    with pytest.raises(DataError) as caught:
        show()
    assert caught.value.code == "report.size"
    says = f"what was asked for is done and recorded in debate {done and done[:8]}, but the texts"
    assert str(caught.value).startswith(says if done else "the texts to be shown")


def test_it_is_verified_and_exported_but_not_shown(store, debate, small, tmp_path):
    small()
    record = hansard.read_record(store, debate)
    for show in (record.result, record.standing, record.dossier):
        refused(show)
    refused(lambda: hansard.result(store, debate))
    data = record.export(hansard.open_keyring(tmp_path / "home").signer("export"))
    (tmp_path / "it.zip").write_bytes(data)
    assert hansard.verify_export(
        tmp_path / "it.zip", hansard.open_keyring(tmp_path / "home").trust()
    ).ok


def test_the_answer_of_a_gate_is_refused_alike(store, small):
    gate = cast("hansard.GateRecord", hansard.ask_gate(SPEC, store=store))
    record = hansard.read_record(store, gate.debate)
    assert record.gate() == gate
    small()
    refused(record.gate)


def test_a_run_that_is_kept_says_where_it_is(store, small):
    small()
    with pytest.raises(DataError) as caught:
        run(store)
    (debate,) = store.debates()
    assert (caught.value.code, debate[:8] in str(caught.value)) == ("report.size", True)
    assert hansard.read_record(store, debate).events[-1]["type"] == "debate.closed"


def test_a_run_that_nobody_could_read_again_is_shown(small):
    small()
    assert run(None).question == SPEC["question"]


def test_in_lists_it_is_unreadable_until_there_is_room(store, debate, small, monkeypatch):
    assert [row.state for row in hansard.list_debates(store).debates] == ["closed"]
    with monkeypatch.context() as room:
        room.setattr(size, "MOST_HELD", 50_000)
        for _ in range(2):  # with a row of it, and made anew
            found = hansard.list_debates(store)
            assert [row.state for row in found.debates] == ["unreadable"]
            hansard.rebuild_projection(store)
        assert found.totals.not_as_recorded == 1
        row = kept_row(store, "one", debate)
        assert (row.state, row.code, row.row) == ("unreadable", "report.size", "one")
    assert [row.state for row in hansard.list_debates(store).debates] == ["closed"]


def test_a_worker_names_its_row(store, small, monkeypatch):
    kept, build = [], running.result_of
    monkeypatch.setattr(
        running, "result_of", lambda found, **how: kept.append(found) or build(found, **how)
    )
    debate = run(store).debate
    (found,) = kept
    assert working._row(Told(debate, found)).state == "closed"
    small()
    row = working._row(Told(debate, found))
    assert (row.state, row.code, row.debate) == ("unreadable", "report.size", debate)


def test_it_can_be_held_and_erased_from(store, debate, small, tmp_path):
    """What is refused then is the result alone, and it says so: nobody does it once more."""
    keys = hansard.open_keyring(tmp_path / "home")
    small()
    record = hansard.read_record(store, debate)
    refused(lambda: hansard.hold(debate, store=store, reason="Inquiry 14"), done=debate)
    assert hansard.read_record(store, debate).reviewed().held
    refused(lambda: hansard.hold(debate, store=store, lift=True), done=debate)
    said = {"reason": "She asked for it.", "basis": "GDPR, Article 17", "asked_by": "Ann Lee"}
    said |= {"signers": [keys.signer("reviewer")], "trust": keys.trust()}
    names = [str(row) for row in quoting.erasable(record.events, record.text)]
    result = hansard.redact(debate, names, store=store, **said)
    assert (result.question, result.reviewed) == (
        None,
        hansard.read_record(store, debate, keys.trust()).reviewed(),
    )


def test_two_that_are_compared_share_the_room(store, debate, monkeypatch):
    record = hansard.read_record(store, debate)
    monkeypatch.setattr(size, "MOST_HELD", 100_000)
    assert record.result().question == SPEC["question"]
    refused(lambda: hansard.compare(record, record))
    monkeypatch.setattr(size, "MOST_HELD", 200_000)
    assert not hansard.compare(record, record).differing
