"""A crash at every batch of debates that do not simply end well: each comes to the same end.

A seat that is out, nobody heard, a callable that raises, a person who stops the debate, a
deliverable that a ceiling or a stop takes, a verdict for no declared stance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from crash.test_points import Died, DyingStore
from hansard.errors import SeatError, UsageError
from hansard.record import blob
from hansard.runtime import session
from hansard.runtime.models.base import ModelError, Wire
from hansard.runtime.recording import Stop
from hansard.store.application import Store
from hansard.verify.verifier import verify
from playing import data, script, spec_of

REFUSED = ModelError("client_error", wire=Wire(401))
AGREED = {"vote": "revise"}
SPLIT = {"planner": {"vote": "release"}, "critic": AGREED, "operator": {"vote": "escalate"}}
ASKED, AGAIN = Stop("wrong question", by="Ann Lee"), Stop("too late", by="Bob Ray")


class Bug(Exception):
    """What the user's own callable raises."""


class Case(NamedTuple):
    """What is played, what is said in it, what its end is, and the reasons of its forfeits.

    Once `stop_at` replies are recorded, a hook stops the debate.
    """

    format: str
    spec: Mapping[str, Any]
    ends: Mapping[str, Any]
    end: tuple[str, str, str | None]  # outcome, its reason, decision
    forfeits: frozenset[str] = frozenset()
    stop_at: int | None = None


CASES = {
    "seat out": Case(
        "consensus", {"max_rounds": 1}, {**SPLIT, "operator": REFUSED},
        ("complete", "max_rounds_exhausted", "escalate"),
        frozenset({"no_reply", "seat_out"}),
    ),
    "seats lost": Case(
        "judged", {}, {"bob": REFUSED}, ("failed", "seats_lost", None),
        frozenset({"no_reply"}),
    ),
    "nobody heard": Case(
        "consensus", {"attempts": 1}, {"debater": ModelError("timeout")},
        ("failed", "nobody_heard", None), frozenset({"no_reply"}),
    ),
    "judge out": Case(
        "judged", {"max_rounds": 1}, {"judge": REFUSED}, ("failed", "judge_failed", None),
        frozenset({"no_reply"}),
    ),
    "raised": Case(
        "consensus", {}, {"debater": AGREED, "r1.proposal.critic:1": Bug("password")},
        ("complete", "votes_reached", "revise"),
    ),
    "undeclared": Case(
        "judged", {"attempts": 1, "max_rounds": 1}, {"verdict": {"winner": "postpone"}},
        ("complete", "rounds_complete", "undeclared"),
    ),
    "stopped": Case(
        "consensus", {}, SPLIT, ("truncated", "operator", None), stop_at=4,
    ),
    "deliverable stopped": Case(
        "consensus", {"synthesizer": True}, {"debater": AGREED},
        ("complete", "votes_reached", "revise"), frozenset({"operator"}), stop_at=3,
    ),
    "deliverable beyond a ceiling": Case(
        "consensus", {"synthesizer": True, "limits": {"calls": 3}}, {"debater": AGREED},
        ("complete", "votes_reached", "revise"), frozenset({"ceiling"}),
    ),
}  # fmt: skip


class Life:
    """One debate, through as many processes as it takes, and everybody who was ever asked."""

    def __init__(self, store: Store, case: Case) -> None:
        self.store, self.case = store, case
        self.asked: list[str] = []
        self.turn, self.replied = asyncio.Lock(), -1
        self.script: Callable[[Any], Any] = script(case.ends)

    async def model(self, request: Any) -> Any:
        self.asked.append(request.call)
        async with self.turn:  # one after the other, so that each reply has its batch
            while len(self.bundle.lines) == self.replied:  # noqa: ASYNC110
                await asyncio.sleep(0)
            self.replied = len(self.bundle.lines)
        return self.script(request)

    def hook(self, _: Any) -> None:
        if self.case.stop_at and len(data(self.bundle, "call.answered")) >= self.case.stop_at:
            raise ASKED

    def process(self, at: int = 0, how: str = "") -> int:
        """Run or resume the debate until it is closed, raises or dies; return its batches."""
        store = DyingStore(self.store, at or 10_000, how)
        left = store._left
        given = {"models": {"bot": self.model}, "observe": self.hook}
        try:
            if self.store.debates():
                asyncio.run(session.resume(self.debate, store, **given))
            else:
                spec = spec_of(self.case.format, **self.case.spec)
                asyncio.run(session.run(spec, store, Path.cwd(), **given))
        except (Died, SeatError):
            pass
        return left - store._left

    def stop(self, stop: Stop, at: int = 10_000, how: str = "") -> bool:
        """Stop the debate as a person does; return whether that process died."""
        store = DyingStore(self.store, at, how)
        try:
            asyncio.run(session.stop(self.debate, store, by=stop.by, reason=stop.reason))
        except Died:
            return True
        return False

    def text(self, named: Mapping[str, str]) -> str:
        return blob.unpack(self.bundle.blobs[named["sha256"]])

    @property
    def debate(self) -> str:
        return self.store.debates()[-1]

    @property
    def bundle(self) -> Any:
        return self.store.bundle(self.debate)

    @property
    def closed(self) -> bool:
        return bool(self.store.debates() and data(self.bundle, "debate.closed"))

    def go_on(self) -> None:
        """Resume until the debate is closed: at once, and again after a callable has raised."""
        for _ in range(2):
            before = self.bundle if self.store.debates() else None
            if not self.closed:
                self.process()
            self.check_kept(before)
        with pytest.raises(UsageError, match="is closed"):
            asyncio.run(session.resume(self.debate, self.store, models={"bot": self.model}))

    def check_kept(self, before: Any) -> None:
        """What a process left is there as it was, and what it was answered was not asked again."""
        assert verify(self.bundle).findings == []
        if before is None:
            return
        kept = len(before.lines)
        assert self.bundle.lines[:kept] == before.lines
        assert before.blobs.items() <= self.bundle.blobs.items()
        paid = [row["call"].rpartition(":")[0] for row in data(before, "call.answered")]
        assert len(paid) == len(set(paid))
        again = [row["step"] for row in data(self.bundle, "call.started")]
        assert all(again.count(step) == _tries(before, step) for step in paid)

    def end(self) -> tuple[str, str, str | None]:
        (closed,) = data(self.bundle, "debate.closed")
        decided = [row["decision"] for row in data(self.bundle, "decision.reached")]
        return closed["outcome"], closed["reason"], *(decided or [None])

    def forfeits(self) -> set[str]:
        return {row["reason"] for row in data(self.bundle, "turn.forfeited")}

    def check_end(self) -> None:
        """The debate came to its end, each call was asked once, and is there."""
        assert len(self.asked) == len(set(self.asked))
        assert set(self.asked) <= {row["call"] for row in data(self.bundle, "call.started")}
        failed = [row["error"] for row in data(self.bundle, "call.failed")]
        if "limits" in self.case.spec and "abandoned" in failed:  # it counts against the ceiling
            assert self.end() == ("truncated", "calls_ceiling", None)
            return
        assert self.end() == self.case.end
        assert self.forfeits() <= self.case.forfeits


def _tries(bundle: Any, step: str) -> int:
    return [row["step"] for row in data(bundle, "call.started")].count(step)


@pytest.fixture
def live():
    """Begin debates with a store each, and close these."""
    stores = []

    def life(name):
        stores.append(Store.open("sqlite:///:memory:"))
        return Life(stores[-1], CASES[name])

    yield life
    for store in stores:
        store.close()


@pytest.mark.parametrize("name", CASES)
def test_an_undisturbed_debate_comes_to_the_end_that_is_meant(live, name):
    life = live(name)
    life.process()
    raised = [row for row in data(life.bundle, "call.failed") if row["error"] == "raised"]
    assert bool(raised) == (name == "raised") != life.closed
    life.go_on()
    life.check_end()
    assert life.forfeits() == CASES[name].forfeits


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("how", [pytest.param("not stored", marks=pytest.mark.slow), "stored"])
def test_a_crash_at_every_batch_comes_to_the_same_end(live, name, how):
    total = live(name).process()
    assert total >= 3
    for at in range(1, total + 1):
        life = live(name)
        assert life.process(at, how) >= at
        life.go_on()
        life.check_end()


@pytest.mark.parametrize("left", [1, 4, 8])
@pytest.mark.parametrize("how", ["not stored", "stored"])
def test_a_stop_of_a_left_debate_that_dies_itself_is_stopped_again(live, left, how):
    """`hansard stop`, killed at each of its batches: the second one has its words if need be."""
    at, died = 0, True
    while died:
        at += 1
        life = live("stopped")
        life.case = life.case._replace(stop_at=None)
        assert life.process(left, "stored") >= left
        before = life.bundle
        died = life.stop(ASKED, at, how)
        life.check_kept(before)
        words = ASKED if data(life.bundle, "debate.truncated") else AGAIN
        if not life.closed:
            assert not life.stop(AGAIN)
        (cut,) = data(life.bundle, "debate.truncated")
        assert [life.text(cut[name]) for name in ("by", "reason")] == [words.by, words.reason]
        life.check_kept(before)
        life.check_end()
    assert at > 1
