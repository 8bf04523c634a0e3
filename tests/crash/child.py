"""A process that runs a debate and dies by SIGKILL where it is told to.

    child.py FOLDER FORMAT POINT...   runs the debate of that format in FOLDER/POINT, once a
                                      point, each in a fork; `many` is MANY of `consensus` at once
    child.py FOLDER --crowd N         N processes that run MANY debates each, at once in one store,
                                      beside two that list and verify it until they are done
    child.py FOLDER --resume          goes on with the `consensus` debate in FOLDER and waits
                                      for FOLDER/go

A point is `none`, `add-N` (the n-th event is chained, not stored), `before-N` or
`after-N` (just before or after the n-th batch is stored), or `at-S` (S seconds after it began,
wherever it is then); `again-…` does the same
to a resume of what is in the folder already. Each call that reaches a
model is noted in FOLDER/asked, each tool that is used in FOLDER/used.
"""

import asyncio
import os
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from hansard import list_debates, verify_register, verify_store
from hansard.errors import HansardError, SpecWarning
from hansard.runtime import session
from hansard.runtime.journal import Journal
from hansard.runtime.models.base import Completion, ToolCall
from hansard.store.application import Store
from playing import script, spec_of, weak

warnings.simplefilter("ignore", SpecWarning)
BATCHES = {"appended": 0, "replied": -1}  # when the last reply was given
MANY = 4
VOTES = {"planner": "release", "critic": "revise", "operator": "revise"}


def uses_a_tool(request):
    """Look something up in the first attempt, and say so in the second."""
    if request.call.endswith(":1"):
        return Completion("let me see", tool_calls=(ToolCall("look_up", '{"what": "it"}'),))
    return f"{request.speaker} argues"


# What is played: changes of the format's smallest spec, and what is said in it. Between them
# they have parallel phases, a critique that is sent back, tools, a judge and a deliverable.
PLAYED = {
    "baseline": (
        {"options": ["yes", "no"], "output_schema": {"type": "object"}},
        {"draw-2": {"choice": "no"}},
    ),
    "consensus": ({}, {seat: {"vote": vote} for seat, vote in VOTES.items()}),
    "judged": (
        {"max_rounds": 1, "tools": ["look_up"], "output_schema": {"type": "object"}},
        {"ann": uses_a_tool},
    ),
    "moderated": (
        {
            "positions": [{"id": f"p{n}", "label": f"l{n}", "stance": f"s{n}"} for n in (1, 2)],
            "neutrality_check": True,
        },
        {"critique:1": weak(3), "critique": weak(7)},
    ),
    "panel": ({"judge": {}, "limits": {"calls": 50}}, {}),
}


def spec_for(format_):
    return spec_of(format_, **PLAYED[format_][0])


def replies_for(format_):
    return script(PLAYED[format_][1])


def tools_for(format_, folder):
    def look_up(what: str) -> str:
        """Look something up, and note that it was done."""
        with (folder / "used").open("a") as used:
            used.write(what + "\n")
        return what

    return {"look_up": look_up} if format_ == "judged" else None


def model_in(folder, reply):
    """A model that notes each call and answers one after the other, so that each has its batch."""

    turn = asyncio.Lock()

    async def model(request):
        with (folder / "asked").open("a") as asked:
            asked.write(request.call + "\n")
        async with turn:
            while BATCHES["appended"] == BATCHES["replied"]:  # noqa: ASYNC110
                await asyncio.sleep(0)
            BATCHES["replied"] = BATCHES["appended"]
        return reply(request)

    return model


def hurried_model_in(folder, reply):
    """A model that notes whose call it is and answers at once, so that debates share batches."""

    async def model(request):
        with (folder / "asked").open("a") as asked:
            asked.write(f"{request.collection_id}/{request.call}\n")
        await asyncio.sleep(0)
        return reply(request)

    return model


def die_at(point):
    """Kill this process at a point: no handler, no cleanup, no flush."""
    kind, _, number = point.rpartition("-")
    added = 0
    add, append = Journal.add, Store.append

    def reached(here, count):
        if kind == here and count == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    def adding(self, *args):
        nonlocal added
        event = add(self, *args)
        added += 1
        reached("add", added)
        return event

    def appending(self, *args):
        reached("before", BATCHES["appended"] + 1)
        append(self, *args)
        BATCHES["appended"] += 1
        reached("after", BATCHES["appended"])

    Journal.add, Store.append = adding, appending


def live(folder, format_, point):
    folder.mkdir(exist_ok=True)
    die_at(point.removeprefix("again-"))
    with Store.open(f"sqlite:///{folder}/h.db", create=True) as store:
        given = {
            "models": {"bot": model_in(folder, replies_for(format_))},
            "tools": tools_for(format_, folder),
        }
        if point.startswith("again-"):
            asyncio.run(session.resume(store.debates()[0], store, **given))
        else:
            asyncio.run(session.run(spec_for(format_), store, folder, **given))


def live_many(folder, point):
    """Run several debates at once, and note how many transactions that took."""
    folder.mkdir()
    die_at(point)
    models = {"bot": hurried_model_in(folder, replies_for("consensus"))}
    specs = [spec_of("consensus", collection_id=f"c{n}") for n in range(MANY)]

    async def main(store):
        await asyncio.gather(*(session.run(spec, store, folder, models=models) for spec in specs))

    with Store.open(f"sqlite:///{folder}/h.db", create=True) as store:
        asyncio.run(main(store))
    (folder / "appended").write_text(str(BATCHES["appended"]))


def fork(folder, format_, point):
    """Live in a process of its own; say how it ended, and leave there how long that took."""
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            if format_ == "many":
                live_many(folder, point)
            else:
                live(folder, format_, point)
        finally:
            os._exit(sys.exc_info()[0] is not None)
    if point.startswith("at-"):
        time.sleep(float(point.removeprefix("at-")))
        os.kill(pid, signal.SIGKILL)  # one that has ended is not waited for yet: it is there
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if point == "none":
        (folder / "took").write_text(f"{time.monotonic() - began}")
    print(point, ended, flush=True)


def crowd(folder, count):
    """Write and read one store in many processes, and say of each how it ended."""

    def writer():
        models = {"bot": hurried_model_in(folder, replies_for("consensus"))}
        specs = [spec_of("consensus", collection_id=f"{os.getpid()}.{n}") for n in range(MANY)]

        async def main(store):
            runs = (session.run(spec, store, folder, models=models) for spec in specs)
            await asyncio.gather(*runs)

        with Store.open(f"sqlite:///{folder}/h.db", create=True) as store:
            asyncio.run(main(store))

    def reader():
        while not (folder / "h.db").exists():
            time.sleep(0.01)
        done = False
        while not done:
            done = (folder / "done").exists()
            with Store.open(f"sqlite:///{folder}/h.db") as store:
                found = list_debates(store)
                assert not found.totals.not_as_recorded
                assert verify_store(store).ok
                assert verify_register(store).ok

    readers = [_forked(reader) for _ in range(2)]
    for pid in [_forked(writer) for _ in range(count)]:
        print("writer", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    (folder / "done").touch()
    for pid in readers:
        print("reader", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _forked(work):
    """Do work in a process of its own, which says on standard error what it raises."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - it is told, and this process ends here
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return pid


def slow_resume(folder):
    def model(request):
        os.write(1, b"asked\n")  # whole: several threads say so
        while not (folder / "go").exists():
            time.sleep(0.01)
        return replies_for("consensus")(request)

    with Store.open(f"sqlite:///{folder}/h.db") as store:
        try:
            asyncio.run(session.resume(store.debates()[0], store, models={"bot": model}))
            print("closed", flush=True)
        except HansardError as error:
            print(error.code, flush=True)


if __name__ == "__main__":
    home = Path(sys.argv[1])
    if sys.argv[2] == "--resume":
        slow_resume(home)
    if sys.argv[2] == "--crowd":
        crowd(home, int(sys.argv[3]))
        sys.exit()
    for point in sys.argv[3:]:
        fork(home if point.startswith("again-") else home / point, sys.argv[2], point)
