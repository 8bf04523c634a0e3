"""Opening and taking over: everything is checked before the first event is written."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event
from uuid import UUID, uuid4

import pytest

from hansard.errors import DataError, SeatError, UsageError
from hansard.rules import prompts, steps
from hansard.rules.formats import ConsensusSpec
from hansard.runtime import inputs, session, sizing
from hansard.store.application import Store
from instant import GUARD
from playing import answer

SCRIPT = """
price: {input: "1", output: "2"}
replies:
  planner: {"*": {"*": {reply: {stance: s, rationale: r, vote: release}, tokens: {in: 3, out: 4}}}}
  critic: {"*": {"*": {stance: s, rationale: r, vote: release}}}
  operator: {"*": {"*": {stance: s, rationale: r, vote: revise}}}
"""
SEATS = ("planner", "critic", "operator")


def seats(model):
    return [{"id": seat, "model": model} for seat in SEATS]


def good(request):
    return {"stance": "s", "rationale": "r", "vote": "release"}


WRONG = {
    "callable not given": ({"debaters": seats("python:absent")}, "model.not_given"),
    "no script": ({"debaters": seats("scripted:absent.yaml")}, "spec.unreadable"),
    "bad script": ({"debaters": seats("scripted:bad.yaml")}, "spec.unknown_field"),
    "no such record": ({"debaters": seats("recorded:abc")}, "model.recorded"),
    "no evidence": ({"evidence": ["absent.md"]}, "spec.evidence_missing"),
    "empty evidence": ({"evidence": ["empty.md"]}, "spec.evidence_empty"),
    "no template": ({"prompts": {"block": "absent.md"}}, "spec.prompt_missing"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_nothing_is_written_before_all_is_read(table, mistake):
    (table.folder / "bad.yaml").write_text("replies: {}\nmood: bad\n")
    (table.folder / "empty.md").write_text("\n")
    changes, code = WRONG[mistake]
    with pytest.raises(UsageError) as caught:
        table.run(**changes)
    assert caught.value.code == code
    assert table.store.debates() == []


def test_a_script_speaks_for_its_seats_and_says_so(table):
    (table.folder / "replies.yaml").write_text(SCRIPT)
    state = table.run(debaters=seats("scripted:replies.yaml"))
    assert state.decision["decision"] == "release"
    (opened,) = table.data("debate.opened")
    assert opened["scripted"] is True
    (price,) = opened["prices"]
    assert price == {
        "model": "scripted:replies.yaml",
        "source": "model",
        "input_micro_usd": 1_000_000,
        "cached_micro_usd": 1_000_000,
        "cache_write_micro_usd": 1_000_000,
        "output_micro_usd": 2_000_000,
    }
    assert [row["cost_micro_usd"] for row in table.data("call.answered")] == [11, None, None]
    assert table.verified().ok


def test_a_price_in_the_spec_stands_above_the_models_own(table):
    (table.folder / "replies.yaml").write_text(SCRIPT)
    prices = {"scripted:replies.yaml": {"input": "0.000001", "output": "0", "cached": "0"}}
    table.run(debaters=seats("scripted:replies.yaml"), prices=prices)
    (price,) = table.data("debate.opened")[0]["prices"]
    assert (price["input_micro_usd"], price["cached_micro_usd"]) == (1, 0)
    assert price["source"] == "spec"
    assert table.data("call.answered")[0]["cost_micro_usd"] == 1  # rounded up from 3 millionths


def test_the_opening_holds_the_whole_spec(table):
    table.run(
        debaters=[
            {"id": seat, "model": f"python:{seat}", "persona": f"You are {seat}."} for seat in SEATS
        ],
        evidence=[{"id": "memo", "text": "a fact"}],
        seed=7,
        timeout_seconds=0.5,
    )
    (opened,) = table.data("debate.opened")
    assert (opened["seats"], opened["documents"], opened["seed"]) == (3, 1, "7")
    assert (opened["timeout_ms"], opened["attempts"], opened["scripted"]) == (500, 2, False)
    bundle = table.store.bundle(table.debate)
    for row in (*opened["templates"], *opened["schemas"]):
        assert row["sha256"] in bundle.templates
    for row in table.data("debater.registered"):
        assert table.store.text(table.debate, row["persona"]["sha256"]) == f"You are {row['id']}."


def resuming(table, debate=None):
    models = dict.fromkeys(SEATS, good)
    return asyncio.run(session.resume(debate or table.debate, table.store, models=models)).state


def test_a_closed_debate_is_not_resumed_and_stays_as_it_is(table):
    table.run()
    before = table.store.lines(table.debate)
    with pytest.raises(UsageError) as caught:
        resuming(table)
    assert caught.value.code == "debate.closed"
    assert table.store.lines(table.debate) == before


LONG = {
    "its record": (session, "verify"),
    "its prompts": (session, "require_bounded"),
    "its answers": (steps, "compare"),
}


@pytest.mark.parametrize("what", LONG)
def test_a_debate_that_takes_long_keeps_no_other_from_its_turn(table, monkeypatch, what):
    """Else a worker gives no sign of life meanwhile, and counts as dead with all its debates."""
    place, name = LONG[what]
    began, go, real = Event(), Event(), getattr(place, name)

    def long(*given):
        began.set()
        assert go.wait(GUARD), "nothing else was done meanwhile"
        return real(*given)

    def raising(_):
        raise KeyError("mine")

    async def other():
        while not began.is_set():  # noqa: ASYNC110 - a thread sets it
            await asyncio.sleep(0.01)
        go.set()

    async def both():
        going_on = session.resume(table.debate, table.store, models={"bot": answer})
        return (await asyncio.gather(going_on, other()))[0]

    with pytest.raises(SeatError):
        table.play("panel", raising)
    monkeypatch.setattr(place, name, long)
    assert asyncio.run(both()).state.closed
    monkeypatch.undo()
    assert table.verified().ok


def test_a_debate_that_is_not_there_is_not_resumed(table):
    with pytest.raises(UsageError) as caught:
        resuming(table, str(uuid4()))
    assert caught.value.code == "store.unknown"
    assert table.store.debates() == []


@pytest.fixture
def left_open(tmp_path):
    """A store on disk with a debate whose process died in its second phase."""

    async def dies(request):
        if request.phase == "critique" and request.speaker == "critic":
            raise KeyboardInterrupt
        vote = {"planner": "release", "critic": "revise"}.get(request.speaker, "escalate")
        return {"stance": "s", "rationale": "r", "vote": vote}

    path = tmp_path / "h.db"
    spec = ConsensusSpec(
        question="q",
        debaters=[{"id": seat, "model": f"python:{seat}"} for seat in SEATS],
        options=["release", "revise", "escalate"],
        threshold=2,
        max_rounds=1,
    )
    with Store.open(f"sqlite:///{path}", create=True) as store:
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(session.run(spec, store, tmp_path, models=dict.fromkeys(SEATS, dies)))
        yield store, path


def alter(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement, params in statements:
            connection.execute("DROP TRIGGER IF EXISTS lines_stay")
            connection.execute("DROP TRIGGER IF EXISTS lines_stand")
            connection.execute(statement, params)


SECOND_AS_FIRST = """
    REPLACE INTO stored_events
    SELECT originator_id, 1, topic, state FROM stored_events WHERE originator_version = 2
"""
DAMAGE = {
    "head altered": (
        "UPDATE heads SET head = ?",
        ("0" * 64,),
        "The store had another last entry (entry 19)",
    ),
    "head gone": (
        "DELETE FROM heads",
        (),
        "The store counted another number of entries",
    ),
    "last line gone": (
        "DELETE FROM stored_events WHERE originator_version = (SELECT length FROM heads)",
        (),
        "The store counted another number of entries",
    ),
    "line gone": (
        "DELETE FROM stored_events WHERE originator_version = 6",
        (),
        "its hash no longer matches the next entry (entry 5; ",
    ),
    "opening gone": (
        "DELETE FROM stored_events WHERE originator_version = 1",
        (),
        "altered: The first entry is linked to an entry before it",
    ),
    "line garbled": (
        "UPDATE stored_events SET state = ? WHERE originator_version = 6",
        (b"{}",),
        "not of a known type and form (entry 6); ",
    ),
    "opening is no opening": (
        SECOND_AS_FIRST,
        (),
        "The first entry is linked to an entry before it",
    ),
    "blob gone": ("DELETE FROM blobs", (), "A text of this entry is missing (entry 1; "),
    "blob garbled": (
        "UPDATE blobs SET body = ?",
        (b"no blob",),
        "A text of this entry was changed",
    ),
    "template gone": (
        "DELETE FROM templates",
        (),
        "The template, schema or tool protocol is missing (entry 1; ",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_record_is_not_gone_on_with_and_the_first_finding_is_named(left_open, damage):
    store, path = left_open
    statement, params, said = DAMAGE[damage]
    alter(path, (statement, params))
    if damage == "opening gone":
        debate = str(UUID(store._recorder.select("SELECT debate FROM heads")[0][0]))
    else:
        debate = store.debates()[0]
    count = "SELECT count(*) FROM stored_events"
    before = store._recorder.select(count)[0][0]
    with pytest.raises(DataError) as caught:
        asyncio.run(session.resume(debate, store, models=dict.fromkeys(SEATS, good)))
    assert caught.value.code == "record.altered"
    assert said in str(caught.value)
    assert store._recorder.select(count)[0][0] == before


COSTLY = {
    "fields": (
        {"protocol": b"{{options}}" * 101},
        "",
        "a protocol template has at most 100 fields",
    ),
    "block": ({"block": b"x" * 20_000}, "", "a block template has at most 16,384 bytes"),
    "long": ({"protocol": b"x" * 70_000}, "", "a protocol template has more than 65,000 bytes"),
    "text": ({}, "\x7f" * 9_000, "its texts take more memory than 65,000 bytes each"),
    "texts": ({}, "\x7f" * 2_000, "or 12,000 together, as prompts show them"),
}


@pytest.mark.parametrize("way", COSTLY)
def test_a_record_whose_prompts_would_be_too_large_does_not_go_on(monkeypatch, way):
    """A stranger's store of 1 MB took 1 GiB, one text of 58 MB 3.4 GB; it can still be stopped."""
    templates, question, said = COSTLY[way]

    async def dies(request):
        raise KeyboardInterrupt

    def read(spec, files):
        return inputs.read_templates(spec, files) | templates

    monkeypatch.setattr(session, "read_templates", read)
    spec = ConsensusSpec(
        question=question or "q",
        debaters=[{"id": seat, "model": "python:seat"} for seat in SEATS],
        options=["release", "revise"],
        threshold=2,
        max_rounds=1,
    )
    with Store.open("sqlite:///:memory:", create=True) as store:
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(session.run(spec, store, None, models={"seat": dies}))
        (debate,) = store.debates()
        before = store.lines(debate)
        for module in (prompts, sizing):
            monkeypatch.setattr(module, "MOST_SHOWN", 65_000)
        monkeypatch.setattr(sizing, "MOST_IN_PROMPTS", 12_000)
        with pytest.raises(DataError, match=said) as caught:
            asyncio.run(session.resume(debate, store, models={"seat": good}))
        assert caught.value.code == "record.size"
        assert store.lines(debate) == before
        assert asyncio.run(session.stop(debate, store)).state.closed


def test_a_line_that_is_no_bytes_is_the_stores_own_finding(left_open):
    store, path = left_open
    alter(path, ("UPDATE stored_events SET state = ? WHERE originator_version = 6", ("{}",)))
    with pytest.raises(DataError) as caught:
        asyncio.run(session.resume(store.debates()[0], store))
    assert caught.value.code == "store.corrupt"


def test_the_same_debate_undamaged_is_gone_on_with(left_open):
    store, _ = left_open
    (debate,) = store.debates()
    found = asyncio.run(session.resume(debate, store, models=dict.fromkeys(SEATS, good)))
    assert found.state.closed


def test_a_run_finds_its_files_again_from_anywhere(tmp_path, monkeypatch):
    """Relative names begin in the folder of the run, wherever it is resumed."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "replies.yaml").write_text(SCRIPT)
    monkeypatch.chdir(home)
    spec = ConsensusSpec(
        question="q",
        debaters=seats("scripted:replies.yaml"),
        options=["release", "revise"],
        threshold=2,
        max_rounds=1,
    )

    class Stop(BaseException):
        pass

    def stop(event):
        if event["type"] == "call.answered":
            raise Stop

    with Store.open(f"sqlite:///{home}/h.db", create=True) as store:
        with pytest.raises(Stop):
            asyncio.run(session.run(spec, store, Path.cwd(), observe=stop))
        monkeypatch.chdir("/")
        (debate,) = store.debates()
        assert asyncio.run(session.resume(debate, store)).state.decision["decision"] == "release"
