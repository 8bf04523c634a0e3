"""An observer that breaks costs nothing: what came back is recorded first."""

from __future__ import annotations

import asyncio
import time

import pytest

from hansard.verify.verifier import verify


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

    with pytest.raises(Broken):
        table.run(replies, observe=observe, max_rounds=1)
    answered = [row["call"] for row in table.data("call.answered")]
    assert sorted(asked) == sorted(answered), "every reply that came back is in the record"
    state = table.resume(replies)
    assert state.closed
    assert len(set(asked)) == len(asked), "no call is made twice"
    assert verify(table.store.bundle(table.debate)).ok


def test_a_reply_in_time_counts_though_the_loop_was_held_up(table):
    held = []

    def observe(event):
        if event["type"] == "call.answered" and not held:
            held.append(event)
            time.sleep(0.4)  # the others' replies are there by now

    async def replies(request):
        await asyncio.sleep(0 if request.speaker == "planner" else 0.05)
        return {"stance": "s", "rationale": "r", "vote": "release"}

    table.run(replies, observe=observe, timeout_seconds=0.3)
    assert held
    assert table.data("call.failed") == []


def test_an_observer_that_breaks_at_the_close_is_told_once_all_is_stored(table):
    def observe(event):
        if event["type"] == "debate.closed":
            raise Broken

    with pytest.raises(Broken):
        table.run(observe=observe)
    assert len(table.data("debate.closed")) == 1
