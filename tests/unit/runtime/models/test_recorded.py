"""A record answers again as it answered before, without any model."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path
from threading import current_thread, main_thread

import pytest

from exporting import exported
from hansard.errors import DataError, SeatError, UsageError
from hansard.record.bundle import pack
from hansard.runtime import replies
from hansard.runtime.models import base
from hansard.runtime.models.base import Completion, ModelError
from hansard.runtime.models.recorded import RecordedModel
from hansard.verify.verifier import verify_export


def answers(request):
    """Split votes with a failure, a rejection and a forfeit on the way."""
    attempt = int(request.call.rpartition(":")[2])
    if request.speaker == "critic" and request.phase == "critique":
        raise ModelError("server_error", "HTTP-503")
    if request.speaker == "operator" and attempt == 1:
        return "no JSON"
    if request.speaker == "planner" and attempt == 1:
        raise ModelError("timeout")
    vote = {"planner": "release", "critic": "revise"}.get(request.speaker, "escalate")
    text = f'{{"stance": "s", "rationale": "r", "vote": "{vote}"}}'
    return Completion(text, tokens_in=100, tokens_cached=10, tokens_out=5)


def good(request):
    return {"stance": "s", "rationale": "r", "vote": "release"}


def seats(debate):
    return [
        {"id": seat, "model": f"recorded:{debate}"} for seat in ("planner", "critic", "operator")
    ]


def story(table):
    """What happened, time and waits, salts, models and the offline label aside."""
    dropped = {
        *(
            "reply",
            "latency_ms",
            "wait_ms",
            "model",
            "prompt",
            "question",
            "review",
            "scripted",
            "prices",
        ),
        *("reserved_cost_micro_usd", "cost_micro_usd"),
    }
    return [
        (event["type"], {key: row for key, row in event["data"].items() if key not in dropped})
        for event in table.events
    ]


def test_a_recorded_debate_runs_again_to_the_same_decision(table):
    first = table.run(answers)
    before = story(table)
    second = table.run(debaters=seats(table.debate))
    assert len(table.store.debates()) == 2
    assert second.decision == first.decision | {"review": second.decision["review"]}
    assert sorted(map(str, story(table))) == sorted(map(str, before))
    assert {row["wait_ms"] for row in table.data("call.failed") if row["again"]} == {0}
    (opened,) = table.data("debate.opened")
    assert opened["scripted"] is True
    assert table.verified().ok


def test_a_call_that_was_abandoned_is_no_end_and_its_second_try_answers(table):
    """A record with a crash in it re-runs to the same decision."""

    class Died(BaseException):
        pass

    def die(event):
        if event["type"] == "call.answered":
            raise Died

    async def hangs(request):
        await asyncio.sleep(3600 if request.speaker == "critic" else 0)
        return good(request)

    with pytest.raises(Died):
        table.run(hangs, observe=die)
    first = table.resume(good)
    assert "abandoned" in [row["error"] for row in table.data("call.failed")]
    assert first.decision["votes"] == 3
    second = table.run(debaters=seats(table.debate))
    assert second.votes == first.votes


def test_a_call_that_is_not_in_the_record_has_no_reply(table):
    table.run(max_rounds=1)  # all say release: decided after the proposals
    late = [*seats(table.debate), {"id": "newcomer", "model": f"recorded:{table.debate}"}]
    state = table.run(debaters=late)
    (failed,) = table.data("call.failed")
    assert (failed["call"], failed["error"]) == ("r1.proposal.newcomer:1", "no_reply")
    assert failed["detail"] == "not-in-record"
    assert state.votes["newcomer"] is None


def test_an_altered_record_gives_no_reply(table):
    """What it would say, nobody may have said: nothing is recorded on the strength of it."""
    table.run()
    first = table.debate
    recorder = table.store._recorder
    with recorder.datastore.transaction(commit=True) as c:
        c.execute("UPDATE heads SET length = length - 1")
    with pytest.raises(DataError, match=f"record of recorded:{first} was altered: ") as caught:
        table.run(debaters=seats(first))
    assert caught.value.code == "record.altered"
    assert table.store.debates() == [first]


def test_a_record_whose_reply_is_gone_is_refused(table):
    table.run()
    bundle = table.store.bundle(table.debate)
    gone = table.data("call.answered")[0]["reply"]["sha256"]
    blobs = {name: file for name, file in bundle.blobs.items() if name != gone}
    with pytest.raises(UsageError) as caught:
        RecordedModel(dataclasses.replace(bundle, blobs=blobs))
    assert caught.value.code == "model.recorded"


def test_a_record_of_a_reply_that_no_call_may_bring_is_refused(table, monkeypatch):
    """It verifies: the format bounds fewer things than a call, and whoever wrote it had none."""
    with monkeypatch.context() as patched:
        patched.setattr(base, "MAX_TOKENS", 10**12)
        table.run(lambda request: Completion(json.dumps(good(request)), tokens_in=10**12))
    assert table.verified().findings == []
    with pytest.raises(UsageError, match="cannot be given again: a token count is") as caught:
        table.run(debaters=seats(table.debate))
    assert caught.value.code == "model.recorded"


def test_a_failure_comes_back_with_its_class_and_status_and_a_bug_does_not(table):
    class Status(Exception):
        status_code = 401

    def critic(request):
        if request.call.endswith(":1"):
            raise KeyError
        raise Status

    with pytest.raises(SeatError):
        table.run({"critic": critic})
    table.resume({"critic": critic})
    assert [row["error"] for row in table.data("call.failed")] == ["raised", "client_error"]
    table.run(debaters=seats(table.debate))
    (failed,) = table.data("call.failed")
    assert (failed["error"], failed["status"], failed["again"]) == ("client_error", 401, False)
    assert table.verified().findings == []


@pytest.fixture
def export(table):
    """Play a debate and write its export beside the spec."""

    def export(name="x.zip", alter=lambda files: files):
        table.run()
        files = exported(table.store.bundle(table.debate))
        (table.folder / name).write_bytes(pack(alter(files)))
        return table.debate

    return export


@pytest.fixture
def verified(monkeypatch):
    """The threads in which an export is verified."""
    found = []

    def noted(*given):
        found.append(current_thread())
        return verify_export(*given)

    monkeypatch.setattr(replies, "verify_export", noted)
    return found


SPELLED = [
    {"id": seat, "model": f"recorded:{'./' * n}x.zip"}
    for n, seat in enumerate(("planner", "critic", "operator"))
]


def test_an_export_is_verified_once_whatever_names_it_and_not_in_the_event_loop(
    table, export, verified
):
    """One of 40 MB that ten seats named in ways of their own stopped the loop for a minute."""
    first = export()
    for _ in range(2):  # the next debate is told what was found
        table.run(debaters=SPELLED)
        assert table.debate != first
        assert table.data("decision.reached")[0]["decision"] == "release"
    assert len(verified) == 1
    assert verified[0] is not main_thread()


def test_an_altered_export_is_refused_by_each_name_and_verified_once(table, export, verified):
    export(alter=lambda files: files | {"events.jsonl": files["events.jsonl"] + b"{}\n"})
    for row in (*SPELLED, *SPELLED):
        seats = [{**row, "id": "planner"}, {"id": "critic", "model": "python:critic"}]
        with pytest.raises(DataError, match=f"record of {row['model']} was altered") as caught:
            table.run(debaters=seats)
        assert caught.value.code == "record.altered"
    assert len(verified) == 1


def test_exports_are_bounded_together(table, export, monkeypatch):
    export()
    size = RecordedModel(table.store.bundle(table.debate)).size
    monkeypatch.setattr(replies, "MOST_RECORDED", size + 100)
    table.run(debaters=SPELLED)
    export("y.zip")
    others = [*SPELLED[1:], {**SPELLED[0], "model": "recorded:y.zip"}]
    with pytest.raises(UsageError, match="bytes of replies together") as caught:
        table.run(debaters=others)
    assert caught.value.code == "model.recorded"


def test_exports_are_forgotten_before_one_is_read_that_they_leave_no_room_for(
    table, export, monkeypatch
):
    """Reading one takes several times its size, and 128 MiB of others were held meanwhile."""
    held = []

    def noted(*given):
        held.append(len(replies._said))
        return verify_export(*given)

    monkeypatch.setattr(replies, "verify_export", noted)
    monkeypatch.setattr(replies, "_said", {})
    names = ("x.zip", "y.zip", "z.zip")
    for name in names:
        export(name)
    size = max((table.folder / name).stat().st_size for name in names)
    for bound, before in ((size + 100, [0, 0, 0]), (9 * size, [0, 1, 2])):
        monkeypatch.setattr(replies, "MOST_RECORDED", bound)
        replies._said.clear()
        held.clear()
        for name in names:
            table.run(debaters=[{**row, "model": f"recorded:{name}"} for row in SPELLED])
        assert held == before


def test_exports_have_together_what_the_documents_say():
    said = (Path(__file__).parents[4] / "tools/docs/models.md").read_text(encoding="utf-8")
    assert f"| {replies.MOST_RECORDED >> 20} MiB of replies |" in said


def test_of_a_record_only_its_replies_are_kept(table):
    """Its prompts and documents may be many times as large."""
    table.run(question="Do we release? " + "x" * 100_000)
    bundle = table.store.bundle(table.debate)
    assert 0 < RecordedModel(bundle).size < 10_000 < sum(map(len, bundle.blobs.values()))
