"""A debate that a person stops: what is in flight ends, no call follows, the record says who."""

from __future__ import annotations

import asyncio
from itertools import accumulate

import pytest

from hansard import (
    SeatError,
    Stop,
    UsageError,
    open_store,
    read_record,
    resume_sync,
    run,
    run_sync,
    stop_sync,
)
from hansard.runtime import engine
from hansard.verify.checks import MAX_REPLY
from hansard.verify.verifier import verify

SPEC = {
    "question": "Shall we release?",
    "options": ["release", "revise"],
    "threshold": 2,
    "max_rounds": 2,
    "debaters": [{"id": name, "model": "python:seat"} for name in ("ann", "bob")],
}
OPENING = 3  # entries that are stored before anybody is told of one


class Broken(Exception):
    pass


def seat(request):
    return {"stance": "s", "rationale": request.speaker, "vote": "release"}


def data(store, debate, kind):
    return [event["data"] for event in read_record(store, debate).events if event["type"] == kind]


def checked(store, debate):
    found = verify(store.bundle(debate))
    assert found.ok, found.findings
    assert not found.open


@pytest.mark.parametrize("seq", range(1, 12))
def test_wherever_a_hook_stops_it_the_debate_ends(seq):
    told = []

    def observe(event):
        told.append(event["seq"])
        if event["seq"] == seq:
            raise Stop("It took too long.", by="Ann Lee")

    with open_store("sqlite:///:memory:") as store:
        found = run_sync(SPEC, models={"seat": seat}, store=store, observe=observe)
        checked(store, found.debate)
        cuts = data(store, found.debate, "debate.truncated")
        assert told == list(range(1, found.entries + 1)), "who stopped it hears of the end"
        if seq <= OPENING:
            assert found.status == "truncated"
            assert found.reason == "operator"
            assert found.truncated.by == "Ann Lee"
            assert found.truncated.reason == "It took too long."
            assert found.truncated.limit is None
            assert found.totals.calls == 0
        else:
            assert found.status == "complete", "what was started ended, and decided it"
            assert cuts == []


@pytest.mark.parametrize("begun", [False, True])
def test_a_record_that_is_nearly_full_ends_with_what_stands(monkeypatch, begun):
    """One that grew beyond what a store reads could neither be resumed nor shown: it was lost."""
    asked = []

    def split(request):
        asked.append(request.call)
        vote = "release" if request.speaker == "ann" else "revise"
        return {"stance": "s", "rationale": "r" * 5_000, "vote": vote}

    def leave(event):
        if begun and event["type"] == "call.answered":
            raise Broken

    with open_store("sqlite:///:memory:") as store:
        if begun:
            with pytest.raises(SeatError):
                run_sync(SPEC, models={"seat": split}, store=store, observe=leave)
        monkeypatch.setattr(engine, "MOST_RECORDED", 9_000)
        if begun:
            (debate,) = store.debates()
            found = resume_sync(debate, models={"seat": split}, store=store)
        else:
            found = run_sync(SPEC, models={"seat": split}, store=store)
        checked(store, found.debate)
        assert len(asked) == len(SPEC["debaters"])
        assert (found.status, found.truncated.by) == ("truncated", None)
        assert found.truncated.reason == engine.FULL


@pytest.mark.parametrize(("what", "most"), [("MOST_RECORDED", 2_000), ("MOST_TEXTS", 0)])
def test_a_spec_that_leaves_no_room_for_what_is_said_opens_nothing(monkeypatch, what, most):
    """It became a record in which nobody is heard, and that no export held."""
    monkeypatch.setattr(engine, what, most)
    with open_store("sqlite:///:memory:") as store:
        with pytest.raises(UsageError) as caught:
            run_sync(SPEC, models={"seat": seat}, store=store)
        assert caught.value.code == "spec.size"
        assert list(store.debates()) == []


@pytest.mark.parametrize(
    ("room", "calls"),
    [
        (5 * MAX_REPLY // 2, 2),
        (2 * MAX_REPLY + 30_000, 1),  # a call leaves more than its reply: names, entries
    ],
)
def test_as_many_calls_are_in_flight_as_an_export_has_room_for_their_replies(
    monkeypatch, room, calls
):
    """A server answered a hundred seats twice with the longest reply: nobody could export it."""
    monkeypatch.setattr(engine, "MOST_IN_ALL", room)
    seats = [{"id": f"seat-{number}", "model": "python:seat"} for number in range(6)]
    vote = {"stance": "s", "rationale": "r", "vote": "release"}
    with open_store("sqlite:///:memory:") as store:
        spec = SPEC | {"debaters": seats, "threshold": 6}
        found = run_sync(spec, models={"seat": lambda _: vote}, store=store)
        checked(store, found.debate)
        steps = {"call.started": 1, "call.answered": -1}
        open_ = list(accumulate(steps.get(row["type"], 0) for row in store.events(found.debate)))
    assert (found.decision, max(open_)) == ("release", calls)


def test_after_a_stop_nobody_is_asked_again():
    asked = []

    def split(request):
        asked.append(request.call)
        vote = "release" if request.speaker == "ann" else "revise"
        return {"stance": "s", "rationale": "r", "vote": vote}

    def observe(event):
        if event["type"] == "call.answered":
            raise Stop

    with open_store("sqlite:///:memory:") as store:
        found = run_sync(SPEC, models={"seat": split}, store=store, observe=observe)
        checked(store, found.debate)
        assert len(asked) == len(SPEC["debaters"])
        assert (found.status, found.truncated.by, found.truncated.reason) == (
            "truncated",
            None,
            None,
        )
        assert found.vote_tally == {"release": 1, "revise": 1}


@pytest.mark.parametrize("seq", range(4, 15))
def test_a_debate_that_was_left_open_anywhere_is_stopped_without_its_functions(seq):
    def split(request):
        vote = "release" if request.speaker == "ann" else "revise"
        return {"stance": "s", "rationale": "r", "vote": vote}

    def observe(event):
        if event["seq"] == seq:
            raise Broken

    with open_store("sqlite:///:memory:") as store:
        with pytest.raises(SeatError) as caught:
            run_sync(SPEC, models={"seat": split}, store=store, observe=observe)
        debate = caught.value.debate
        before = store.lines(debate)
        asked = len(data(store, debate, "call.started"))
        found = stop_sync(debate[:8], store=store, by="Ann Lee", reason="wrong question")
        checked(store, debate)
        assert store.lines(debate)[: len(before)] == before
        assert len(data(store, debate, "call.started")) == asked
        assert (found.status, found.reason) == ("truncated", "operator")
        assert found.truncated.stopper == "by Ann Lee: wrong question"
        with pytest.raises(UsageError) as closed:
            stop_sync(debate, store=store)
        assert closed.value.code == "debate.closed"


def test_a_stop_by_a_hook_beside_a_bug_closes_the_debate_and_tells_of_the_bug():
    def broken(request):
        if request.speaker == "ann":
            raise Broken
        return seat(request)

    def observe(event):
        if event["type"] == "call.failed":
            raise Stop(by="Ann Lee")

    with open_store("sqlite:///:memory:") as store:
        with pytest.raises(SeatError, match="the debate is closed") as caught:
            run_sync(SPEC, models={"seat": broken}, store=store, observe=observe)
        debate = caught.value.debate
        checked(store, debate)
        assert data(store, debate, "debate.resumed") == []
        (closed,) = data(store, debate, "debate.closed")
        assert closed == {"outcome": "truncated", "reason": "operator"}


def test_calls_that_were_open_are_abandoned():
    async def interrupted(store):
        asked = asyncio.Event()

        async def hanging(_):
            asked.set()
            await asyncio.Event().wait()

        task = asyncio.ensure_future(run(SPEC, models={"seat": hanging}, store=store))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with open_store("sqlite:///:memory:") as store:
        asyncio.run(interrupted(store))
        (debate,) = store.debates()
        found = stop_sync(debate, store=store)
        checked(store, debate)
        assert (found.status, found.truncated.stopper) == (
            "truncated",
            "without a name or a reason",
        )
        assert {row["error"] for row in data(store, debate, "call.failed")} == {"abandoned"}


@pytest.mark.parametrize("limits", [{}, {"calls": 2, "seconds": 3600}], ids=["a stop", "a ceiling"])
def test_after_the_decision_only_the_output_is_missing(limits):
    def observe(event):
        if not limits and event["type"] == "call.answered":
            raise Stop(by="Ann Lee")

    spec = {**SPEC, "synthesizer": {"model": "python:seat"}, "limits": limits}
    with open_store("sqlite:///:memory:") as store:
        found = run_sync(spec, models={"seat": seat}, store=store, observe=observe)
        checked(store, found.debate)
        assert (found.status, found.decision, found.truncated) == ("complete", "release", None)
        assert found.totals.calls == len(SPEC["debaters"])
        (forfeited,) = data(store, found.debate, "turn.forfeited")
        assert forfeited["reason"] == ("ceiling" if limits else "operator")
        assert found.output_missing == (
            "its call could have exceeded a ceiling"
            if limits
            else "the debate was stopped, by Ann Lee"
        )
