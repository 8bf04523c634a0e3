"""`kill -9` at every boundary of the source's first example, and at each batch of other formats."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from crash.child import PLAYED, VOTES, replies_for, tools_for
from formats import FORMATS
from hansard.errors import UsageError
from hansard.record import blob
from hansard.rules.replay import Replay
from hansard.rules.state import evolve
from hansard.runtime import session
from hansard.store.application import Store
from hansard.verify.verifier import verify
from instant import GUARD

CHILD = Path(__file__).with_name("child.py")
EVENTS, BATCHES = 16, 4
FIRST = 7  # events of the first batch: the opening, and the calls that are made then
POINTS = [
    *(f"add-{n}" for n in range(1, EVENTS + 1)),
    *(f"{side}-{n}" for n in range(1, BATCHES + 1) for side in ("before", "after")),
]
SIGKILLED = -9


def child(folder, *points, format_="consensus"):
    """Run the child and return how each point ended."""
    command = [sys.executable, str(CHILD), str(folder), format_, *points]
    done = subprocess.run(command, capture_output=True, text=True, timeout=GUARD, check=True)
    assert not done.stderr, done.stderr
    return {point: int(code) for point, code in map(str.split, done.stdout.splitlines())}


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """The folders of all points, each with what its dead process left there."""
    home = tmp_path_factory.mktemp("points")
    assert child(home, "none", *POINTS) == {"none": 0} | dict.fromkeys(POINTS, SIGKILLED)
    return home


@pytest.fixture
def asked():
    return []


@pytest.fixture
def resume(asked):
    def resume(store, format_="consensus", tools=None):
        def model(request):
            asked.append(request.call)
            return replies_for(format_)(request)

        debate = store.debates()[0]
        found = session.resume(debate, store, models={"bot": model}, tools=tools)
        return asyncio.run(found).state

    return resume


def data(store, *kinds):
    (debate,) = store.debates()
    return [event["data"] for event in store.events(debate) if event["type"] in kinds]


def calls(store, kind):
    return [row["call"] for row in data(store, kind)]


def noted(folder):
    """The calls that reached the dead process's model."""
    path = folder / "asked"
    return path.read_text().split() if path.exists() else []


def check(store, state):
    """The record is whole and gives what an undisturbed run gives."""
    (debate,) = store.debates()
    assert state.closed == {"outcome": "complete", "reason": "votes_reached"}
    assert state.decision == {
        "decision": "revise",
        "rule": "threshold_vote",
        "votes": 2,
        "threshold": 2,
        "score_ppm": None,
        "rounds_run": 1,
        "review": None,
    }
    assert state.votes == VOTES
    assert [turn["speaker"] for turn in data(store, "turn.recorded")] == list(VOTES)
    bundle = store.bundle(debate)
    verification = verify(bundle)
    assert verification.ok, verification.findings
    assert not verification.open
    texts = {name: blob.unpack(file) for name, file in bundle.blobs.items()}
    replay = Replay(texts.get)
    assert [replay.step(event) for event in store.events(debate)] == [[]] * len(bundle.lines)
    assert replay.state.decision == state.decision


def test_an_undisturbed_run_has_the_boundaries_that_are_tested(ends):
    with Store.open(f"sqlite:///{ends}/none/h.db") as store:
        (debate,) = store.debates()
        assert len(store.lines(debate)) == EVENTS
        state = Replay(lambda name: None).state
        for event in store.events(debate):
            evolve(state, event)
        check(store, state)
    assert len(noted(ends / "none")) == 3
    assert child(ends, f"before-{BATCHES + 1}") == {f"before-{BATCHES + 1}": 0}


@pytest.mark.parametrize("point", POINTS)
def test_killed_and_resumed(ends, point, asked, resume):
    folder = ends / point
    with Store.open(f"sqlite:///{folder}/h.db", create=True) as store:
        if not store.debates():  # it died before anything was stored: nobody was asked
            assert point in ("before-1", *(f"add-{n}" for n in range(1, FIRST + 1)))
            assert noted(folder) == []
            return
        (debate,) = store.debates()
        before = store.lines(debate)
        left = verify(store.bundle(debate))
        assert left.ok, left.findings
        started, answered = calls(store, "call.started"), calls(store, "call.answered")
        assert set(noted(folder)) <= set(started), "a model was asked off the record"
        if not left.open:
            assert point == f"after-{BATCHES}"
            with pytest.raises(UsageError, match="is closed"):
                resume(store)
            return
        state = resume(store)
        assert store.lines(debate)[: len(before)] == before
        abandoned = [row["call"] for row in data(store, "call.failed")]
        assert {row["error"] for row in data(store, "call.failed")} <= {"abandoned"}
        assert abandoned == [call for call in started if call not in answered]
        steps = {call.rpartition(":")[0] for call in answered}
        assert not steps & {call.rpartition(":")[0] for call in asked}, "paid for twice"
        assert sorted(asked) == sorted(
            f"r1.proposal.{seat}:{2 if f'r1.proposal.{seat}:1' in started else 1}"
            for seat in VOTES
            if f"r1.proposal.{seat}" not in steps
        )
        check(store, state)


# The other formats

TURNS = ("turn.recorded", "verdict.recorded", "synthesis.recorded", "turn.forfeited")
# Batches of an undisturbed run.
STORED = {"baseline": 5, "judged": 7, "moderated": 12, "panel": 10}


def ending(store):
    """What a debate comes to: its turns, whichever call brought them, its decision, its close."""
    kinds = (*TURNS, "votes.counted", "similarity.measured", "decision.reached", "debate.closed")
    aside = ("call", "text", "review")
    rows = data(store, *kinds)
    return [{key: row for key, row in data.items() if key not in aside} for data in rows]


@pytest.fixture(scope="module", params=STORED)
def played(request, tmp_path_factory):
    """A format, and the folders of a debate of it that was killed before or after each batch.

    Before one, after the next; tools/campaign kills on both sides of each, and twice.
    """
    format_ = request.param
    home = tmp_path_factory.mktemp(format_)
    sides = ("after", "before")
    points = [f"{sides[n % 2]}-{n}" for n in range(1, STORED[format_] + 1)]
    found = child(home, "none", *points, f"before-{STORED[format_] + 1}", format_=format_)
    assert [point for point, code in found.items() if code == SIGKILLED] == points
    return format_, home, points


@pytest.mark.slow
def test_every_format_killed_and_resumed(played, asked, resume):
    format_, home, points = played
    with Store.open(f"sqlite:///{home}/none/h.db") as store:
        usual = ending(store)
        assert not data(store, "call.failed", "turn.forfeited")
        assert verify(store.bundle(store.debates()[0])).findings == []
    for point in points:
        folder = home / point
        asked.clear()
        with Store.open(f"sqlite:///{folder}/h.db", create=True) as store:
            if not store.debates():
                assert (point, noted(folder)) == ("before-1", [])
                continue
            before = store.lines(store.debates()[0])
            left = verify(store.bundle(store.debates()[0]))
            assert left.ok, left.findings
            if left.open:
                resume(store, format_, tools_for(format_, folder))
            assert store.lines(store.debates()[0])[: len(before)] == before
            assert ending(store) == usual, point
            assert_nothing_twice(store, noted(folder) + asked, folder)
            assert verify(store.bundle(store.debates()[0])).findings == []


def assert_nothing_twice(store, every, folder):
    """No call was asked twice or off the record, no step paid twice, no tool used twice."""
    started = calls(store, "call.started")
    assert len(every) == len(set(every))
    assert set(every) <= set(started)
    failed = data(store, "call.failed")
    assert {row["error"] for row in failed} <= {"abandoned"}
    answered = data(store, "call.answered")
    assert sorted(calls(store, "call.answered") + [row["call"] for row in failed]) == sorted(
        started
    )
    sent_back = calls(store, "turn.rejected")
    count = [row["call"] for row in answered if not row["tools"] and row["call"] not in sent_back]
    steps = [call.rpartition(":")[0] for call in count]
    assert len(steps) == len(set(steps))
    used = (folder / "used").read_text().split() if (folder / "used").exists() else []
    assert len(used) <= len(data(store, "tool.called")) == len(data(store, "tool.returned"))
    lost = [row for row in data(store, "tool.returned") if not row["ok"]]
    assert len(used) + len(lost) >= len(data(store, "tool.called"))


def test_all_formats_are_killed():
    assert {"consensus", *STORED} == set(PLAYED) == set(FORMATS)


@pytest.mark.slow
def test_killed_again_and_again(tmp_path, asked, resume):
    """Every resume is killed too; what one of them was paid for, the next one keeps."""
    folder = tmp_path / "after-1"
    assert child(tmp_path, "after-1") == {"after-1": SIGKILLED}
    for point in ("again-add-1", "again-before-1", "again-after-1", "again-add-3", "again-after-1"):
        assert child(folder, point) == {point: SIGKILLED}
        with Store.open(f"sqlite:///{folder}/h.db") as store:
            left = verify(store.bundle(store.debates()[0]))
            assert left.ok, left.findings
    with Store.open(f"sqlite:///{folder}/h.db") as store:
        answered = calls(store, "call.answered")
        state = resume(store)
        assert state.resumes == 1 + len(data(store, "debate.resumed")) - 1 > 1
        assert not {call.rpartition(":")[0] for call in answered} & {
            call.rpartition(":")[0] for call in asked
        }
        every = noted(folder) + asked
        assert len(every) == len(set(every)), "one call id was asked twice"
        check(store, state)


@pytest.fixture
def runner(tmp_path):
    """A process that goes on with a killed debate and stands in the middle of a call."""
    child(tmp_path, "after-3")
    folder = tmp_path / "after-3"
    command = [sys.executable, str(CHILD), str(folder), "--resume"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "asked\n"
            yield process, folder
        finally:
            process.kill()


def another(process):
    """Start the same command once more and return what it says."""
    done = subprocess.run(process.args, capture_output=True, text=True, timeout=GUARD, check=True)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_of_two_processes_on_one_debate_one_goes_on(runner, asked, resume):
    process, folder = runner
    assert another(process) == "store.running\n"
    with Store.open(f"sqlite:///{folder}/h.db") as store:
        (debate,) = store.debates()
        before = store.lines(debate)
        with pytest.raises(UsageError, match="another process is running") as caught:
            resume(store)
        assert caught.value.code == "store.running"
        assert store.lines(debate) == before
        assert asked == []
        (folder / "go").touch()
        assert process.stdout.read().split()[-1] == "closed"
        assert another(process) == "debate.closed\n"
        assert verify(store.bundle(debate)).ok
        assert len(data(store, "debate.resumed")) == 1


def test_a_killed_runner_frees_its_debate(runner, resume):
    process, folder = runner
    process.kill()
    process.wait()
    with Store.open(f"sqlite:///{folder}/h.db") as store:
        check(store, resume(store))
