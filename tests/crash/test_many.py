"""`kill -9` while several debates share their transactions, and many processes in one store."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from crash.child import MANY, VOTES, replies_for
from crash.test_kill import CHILD, SIGKILLED, child
from hansard.record import register
from hansard.runtime import session
from hansard.store.application import Store
from hansard.verify.verifier import verify
from instant import GUARD

ALONE = 4  # transactions of one such debate
SHARED = 2  # of them all
POINTS = [f"{side}-{n}" for n in range(1, SHARED + 1) for side in ("before", "after")]


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """The folders of all points, each with what its dead process left there."""
    home = tmp_path_factory.mktemp("many")
    found = child(home, "none", *POINTS, f"before-{SHARED + 1}", format_="many")
    assert found == dict.fromkeys(POINTS, SIGKILLED) | {"none": 0, f"before-{SHARED + 1}": 0}
    return home


def rows(store, debate, kind):
    return [event["data"] for event in store.events(debate) if event["type"] == kind]


def calls(store, kind):
    """The calls of all debates, each with its debate's name for the outside."""
    return [
        f"{rows(store, debate, 'debate.opened')[0]['collection_id']}/{row['call']}"
        for debate in store.debates()
        for row in rows(store, debate, kind)
    ]


def noted(folder):
    path = folder / "asked"
    return path.read_text().split() if path.exists() else []


def resume_all(store):
    """Go on with every open debate at once; return the calls that are made."""
    asked = []

    async def model(request):
        asked.append(f"{request.collection_id}/{request.call}")
        return replies_for("consensus")(request)

    async def main():
        left = [name for name in store.debates() if verify(store.bundle(name)).open]
        going_on = (session.resume(name, store, models={"bot": model}) for name in left)
        await asyncio.gather(*going_on)

    asyncio.run(main())
    return asked


def test_debates_at_once_share_their_transactions(ends):
    assert int((ends / "none" / "appended").read_text()) == SHARED < ALONE * MANY


@pytest.mark.parametrize("point", POINTS)
def test_many_killed_and_resumed(ends, point):
    folder = ends / point
    with Store.open(f"sqlite:///{folder}/h.db", create=True) as store:
        before = {debate: store.lines(debate) for debate in store.debates()}
        for debate in before:
            assert verify(store.bundle(debate)).findings == []
        assert set(noted(folder)) <= set(calls(store, "call.started")), "asked off the record"
        answered = calls(store, "call.answered")
        asked = resume_all(store)
        every = noted(folder) + asked
        assert len(every) == len(set(every)), "one call id was asked twice"
        assert not {call.rpartition(":")[0] for call in answered} & {
            call.rpartition(":")[0] for call in asked
        }, "paid for twice"
        for debate, lines in before.items():
            verification = verify(store.bundle(debate))
            assert verification.findings == []
            assert not verification.open
            assert store.lines(debate)[: len(lines)] == lines
            (decision,) = rows(store, debate, "decision.reached")
            assert (decision["decision"], decision["votes"]) == ("revise", 2)
            assert [row["speaker"] for row in rows(store, debate, "turn.recorded")] == list(VOTES)


@pytest.mark.slow
def test_sixteen_processes_run_debates_in_one_store_beside_two_that_read_it(tmp_path):
    """All close and verify, nobody hears of a lock, and the register has every line once."""
    processes = 16
    command = [sys.executable, str(CHILD), str(tmp_path), "--crowd", str(processes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=GUARD, check=True)
    assert done.stderr == ""
    assert done.stdout == "writer 0\n" * processes + "reader 0\n" * 2
    with Store.open(f"sqlite:///{tmp_path}/h.db") as store:
        debates = store.debates()
        assert len(debates) == processes * MANY
        found = [verify(store.bundle(debate)) for debate in debates]
        assert all(row.ok and not row.open for row in found)
        assert len(noted(tmp_path)) == len(set(noted(tmp_path))) == len(debates) * len(VOTES)
        lines = [register.parse(line) for line in store.register.lines(store.register.size)]
        said = [(line.kind, line.tag) for line in lines]
        tags = [register.tag(debate) for debate in debates]
        assert sorted(said) == sorted((kind, tag) for tag in tags for kind in ("opened", "head"))
        assert [line.tag for line in lines if line.kind == "opened"] == tags
