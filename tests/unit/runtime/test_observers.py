"""An observer that breaks costs nothing: what came back is recorded first."""

from __future__ import annotations

import asyncio

import pytest

import instant
import playing
from hansard.errors import DataError, SeatError
from hansard.rules.events import blob_names
from hansard.runtime.engine import Engine
from hansard.runtime.models.base import Completion, ToolCall
from hansard.store.application import Store
from hansard.verify.verifier import verify
from playing import script, weak


class Broken(Exception):
    pass


@pytest.mark.parametrize("seq", range(5, 20))  # before that nothing is stored yet
def test_wherever_an_observer_breaks_the_record_goes_on(table, seq):
    asked = []

    def replies(request):
        asked.append(request.call)
        vote = {"planner": "release", "critic": "revise"}.get(request.speaker, "escalate")
        # The first reply of one speaker does not count: its rejection must not be parted from it.
        odd = request.speaker == "critic" and request.call.endswith(":1")
        return "no JSON" if odd else {"stance": "s", "rationale": "r", "vote": vote}

    def observe(event):
        if event["seq"] >= seq:
            raise Broken

    with pytest.raises(SeatError):
        table.run(replies, observe=observe, max_rounds=1)
    answered = [row["call"] for row in table.data("call.answered")]
    assert sorted(asked) == sorted(answered), "every reply that came back is in the record"
    state = table.resume(replies)
    assert state.closed
    assert len(set(asked)) == len(asked), "no call is made twice"
    assert verify(table.store.bundle(table.debate)).ok


def test_an_event_is_told_once_it_is_stored_and_in_order(table):
    told, early = [], []

    def observe(event):
        told.append(event["seq"])
        if len(table.store.lines(event["debate"])) < event["seq"]:
            early.append(event["seq"])

    table.run(observe=observe)
    assert early == []
    assert told == list(range(1, len(table.events) + 1))


CHANGES = {
    "all of it": lambda event: event["data"].clear(),
    "more of it": lambda event: event["data"].update(debate=event["debate"]),
    "its type": lambda event: event.update(type="debate.closed"),
    "what is in it": lambda event: [
        each.clear() for each in event["data"].values() if isinstance(each, dict | list)
    ],
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_an_observer_changes_of_an_event_is_its_own(table, what):
    table.run(observe=CHANGES[what])
    assert table.verified().findings == []
    assert table.data("debate.closed")


def test_nor_can_it_take_a_text_from_the_debate(table):
    with pytest.raises(SeatError):
        table.run(observe=lambda event, texts: texts.clear())
    assert table.resume().closed
    assert table.verified().findings == []


def test_what_the_store_refuses_is_told_to_nobody(table, monkeypatch):
    told, append = [], Store.append

    def full(self, *batches):
        if any(kind == "call.answered" for batch in batches for kind, _ in batch.lines):
            raise DataError("store.failed", "the disk is full")
        append(self, *batches)

    monkeypatch.setattr(Store, "append", full)
    with pytest.raises(DataError):
        table.run(observe=lambda event: told.append(event["type"]))
    assert told == table.types
    assert "call.answered" not in told


def test_no_call_is_made_once_an_observer_broke_at_its_start(table):
    asked = []

    def observe(event):
        if event["type"] == "call.started":
            raise Broken

    with pytest.raises(SeatError):
        table.run(lambda request: asked.append(request.call), observe=observe)
    assert asked == []


PLAYED = {
    "judged": {"output_schema": {"type": "object"}, "max_rounds": 1},
    "moderated": {"neutrality_check": True},
    "panel": {"judge": {}, "limits": {"calls": 5}},
    "baseline": {},
}


@pytest.mark.slow
@pytest.mark.parametrize("format_", PLAYED)
def test_wherever_it_breaks_in_any_format_nothing_is_asked_or_used_twice(table, format_):
    asked, used = [], []

    def look() -> str:
        """Look."""
        used.append(1)
        return "it"

    def replies(request):
        asked.append(request.call)
        first = request.call.endswith(":1")
        if first and request.speaker in ("ann", "proposer"):
            return Completion("let me see", tool_calls=(ToolCall("look", "{}"),))
        if first and request.role == "judge":
            return "no JSON"
        if first and request.phase == "critique":
            return weak(3)
        return playing.answer(request)

    state = table.play(format_, replies, use={"look": look}, **PLAYED[format_])
    usual, events = [turn.data["step"] for turn in state.turns], len(table.events)
    opening = table.types.index("call.started")

    for seq in range(opening + 1, events + 1):
        asked.clear()
        used.clear()

        def observe(event, seq=seq):
            if event["seq"] >= seq:
                raise Broken

        with pytest.raises(SeatError):
            table.play(format_, replies, use={"look": look}, observe=observe, **PLAYED[format_])
        assert verify(table.store.bundle(table.debate)).findings == []
        if table.types[-1] != "debate.closed":
            state = table.go_on(replies, tools={"look": look})
        assert [turn.data["step"] for turn in state.turns] in (usual, usual[: len(state.turns)])
        assert len(asked) == len(set(asked)) == len(table.data("call.answered"))
        lost = [row for row in table.data("tool.returned") if not row["ok"]]
        called = len(table.data("tool.called"))  # one may be used, and its result be lost
        assert len(used) <= called <= len(used) + len(lost)
        assert verify(table.store.bundle(table.debate)).findings == []


def test_what_was_recorded_is_stored_whatever_breaks_after_it(table, monkeypatch):
    """Even while the engine stops: the end of one call does not cost that of another."""
    answered = Engine._answered

    def breaks(self, *given):
        answered(self, *given)
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "_answered", breaks)
        with pytest.raises(RuntimeError):
            table.play("panel", answering)
    assert len(table.data("call.answered")) >= 2
    state = table.go_on()
    assert state.closed
    assert verify(table.store.bundle(table.debate)).findings == []


async def answering(request):
    return playing.answer(request)


@pytest.mark.parametrize("turns", [3, 1_000])
def test_a_reply_in_time_counts_though_the_loop_was_held_up(table, turns):
    held = []

    def observe(event):
        if event["type"] == "call.answered" and not held:
            held.append(event)
            instant.spend(0.4)  # the others' replies are there by now

    async def replies(request):
        await asyncio.sleep(0 if request.speaker == "planner" else 0.05)
        for _ in range(turns):  # a library takes some more turns of the loop to hand it over
            await asyncio.sleep(0)
        return {"stance": "s", "rationale": "r", "vote": "release"}

    table.run(replies, observe=observe, timeout_seconds=0.3)
    assert held
    assert table.data("call.failed") == []


@pytest.mark.parametrize(("held", "ends"), [(0.05, 0.3), (0.45, 0.6), (60, 70)])
def test_a_call_that_hangs_is_given_up_though_the_loop_was_held_up(table, held, ends):
    """One deadline is put off by as long as the loop was held up beyond it, to ten seconds."""
    given_up = []

    def observe(event):
        if event["type"] == "call.failed":
            given_up.append(asyncio.get_running_loop().time())

    async def replies(request):
        if request.speaker == "planner":
            asyncio.get_running_loop().call_soon(instant.spend, held)
        await asyncio.sleep(1_000)

    table.run(replies, observe=observe, timeout_seconds=0.3, attempts=1)
    assert given_up[0] == pytest.approx(ends)


def test_an_observer_that_breaks_at_the_close_is_told_once_all_is_stored(table):
    def observe(event):
        if event["type"] == "debate.closed":
            raise Broken

    with pytest.raises(SeatError):
        table.run(observe=observe)
    assert len(table.data("debate.closed")) == 1


def test_an_observer_that_takes_two_arguments_gets_the_texts_with_the_event(table):
    """Nothing is read back from the store: a text is there with the event that names it."""
    seen = {}

    def observe(event, texts):
        seen.update((name, texts[name]) for name in blob_names(event))

    table.play("moderated", script({"critique": weak(9)}), observe=observe, synthesizer=True)
    assert seen == {name: table.text({"sha256": name}) for name in seen}
    assert set(seen) == set(table.store.bundle(table.debate).blobs)


class Watching:
    def __init__(self):
        self.seen = []

    def of_event(self, event):
        self.seen.append((event["seq"], None))

    def of_both(self, event, texts):
        self.seen.append((event["seq"], len(texts) > 0))


def test_whoever_takes_one_argument_or_gives_the_second_a_value_gets_the_event_alone(table):
    watching, listed = Watching(), []
    wrapped = []

    def optional(event, texts=None):
        wrapped.append(texts)

    for observe in (watching.of_event, watching.of_both, listed.append, optional):
        table.play("judged", observe=observe, max_rounds=1)
    many = len(table.events)
    assert watching.seen[:many] == [(seq, None) for seq in range(1, many + 1)]
    assert watching.seen[many:] == [(seq, True) for seq in range(1, many + 1)]
    assert [event["seq"] for event in listed] == list(range(1, many + 1))
    assert wrapped == [None] * many


def test_what_is_in_flight_ends_before_a_hook_s_exception_reaches_the_caller(table):
    """It has no call, so the record says nothing of it."""

    async def replies(request):
        await asyncio.sleep(0 if request.speaker == "planner" else 2)
        return {"stance": "s", "rationale": "r", "vote": "release"}

    def observe(event):
        if event["type"] == "call.answered":
            raise Broken

    with pytest.raises(SeatError, match="a hook raised Broken") as raised:
        table.run(replies, observe=observe)
    error = raised.value
    assert isinstance(error.__cause__, Broken)
    assert (error.code, error.debate, error.seat, error.step) == (
        "hook.raised",
        table.debate,
        None,
        None,
    )
    assert len(table.data("call.answered")) == 3
    assert table.data("call.failed") == []
    assert table.verified().findings == []
