"""A process that runs the seed's first example and dies by SIGKILL where it is told to.

    child.py FOLDER POINT...     runs the debate in FOLDER/POINT once a point, each in a fork
    child.py FOLDER --resume     goes on with the debate in FOLDER and waits for FOLDER/go

A point is `none`, `add-N` (the n-th event is chained, not stored), `before-N` or
`after-N` (just before or after the n-th batch is stored); `again-…` does the
same to a resume of what is in the folder already. Each call that reaches a
model is noted in FOLDER/asked.
"""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from hansard.debate.spec import DebateSpec
from hansard.errors import HansardError
from hansard.runtime import session
from hansard.runtime.journal import Journal
from hansard.store.application import Store

VOTES = {"planner": "release", "critic": "revise", "operator": "revise"}
BATCHES = {"appended": 0, "replied": -1}  # when the last reply was given
SPEC = DebateSpec(
    question="Do we release the risky migration?",
    debaters=[{"id": seat, "model": "python:seats"} for seat in VOTES],
    options=["release", "revise", "escalate"],
    threshold=2,
    max_rounds=2,
)


def model_in(folder):
    """A model that notes each call and answers one after the other, so that each has its batch."""

    turn = asyncio.Lock()

    async def model(request):
        with (folder / "asked").open("a") as asked:
            asked.write(request.call + "\n")
        async with turn:
            while BATCHES["appended"] == BATCHES["replied"]:  # noqa: ASYNC110
                await asyncio.sleep(0)
            BATCHES["replied"] = BATCHES["appended"]
        return {"stance": "s", "rationale": "r", "vote": VOTES[request.speaker]}

    return model


def die_at(point):
    """Kill this process at a point: no handler, no cleanup, no flush."""
    kind, _, number = point.rpartition("-")
    added = 0
    add, append = Journal.add, Store.append

    def reached(here, count):
        if kind == here and count == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    def adding(self, fact):
        nonlocal added
        event = add(self, fact)
        added += 1
        reached("add", added)
        return event

    def appending(self, *args):
        reached("before", BATCHES["appended"] + 1)
        append(self, *args)
        BATCHES["appended"] += 1
        reached("after", BATCHES["appended"])

    Journal.add, Store.append = adding, appending


def live(folder, point):
    folder.mkdir(exist_ok=True)
    die_at(point.removeprefix("again-"))
    with Store.open(f"sqlite:///{folder}/h.db", create=True) as store:
        models = {"seats": model_in(folder)}
        if point.startswith("again-"):
            asyncio.run(session.resume(store.debates()[0], store, models=models))
        else:
            asyncio.run(session.run(SPEC, store, folder, models=models))


def fork(folder, point):
    """Live in a process of its own; say how it ended."""
    pid = os.fork()
    if pid == 0:
        try:
            live(folder, point)
        finally:
            os._exit(sys.exc_info()[0] is not None)
    print(point, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def slow_resume(folder):
    def model(request):
        os.write(1, b"asked\n")  # whole: several threads say so
        while not (folder / "go").exists():
            time.sleep(0.01)
        return {"stance": "s", "rationale": "r", "vote": VOTES[request.speaker]}

    with Store.open(f"sqlite:///{folder}/h.db") as store:
        try:
            asyncio.run(session.resume(store.debates()[0], store, models={"seats": model}))
            print("closed", flush=True)
        except HansardError as error:
            print(error.code, flush=True)


if __name__ == "__main__":
    home = Path(sys.argv[1])
    if sys.argv[2] == "--resume":
        slow_resume(home)
    for point in sys.argv[2:] if sys.argv[2] != "--resume" else ():
        fork(home if point.startswith("again-") else home / point, point)
