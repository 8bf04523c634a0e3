"""The way in: Ctrl-C is one word and an exit code, whatever is going on."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cli_support import on_a_terminal, only_debate, process, reply, write_debate
from formats import NAMES
from hansard.cli.interrupting import interruptible
from hansard.cli.live import _cost
from hansard.report.standing import standing
from hansard.runtime.clock import Clock
from instant import GUARD
from services.server import Raw, Server, completion
from support import Debate, Setup, script, vote

ROOT = Path(__file__).parents[2]
INTERRUPT = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"


@pytest.mark.parametrize("module", ["click", "rich", "pydantic"])
def test_an_interrupted_import_is_one_word(folder, module):
    """A package of ours is imported, and Ctrl-C comes in the middle of it."""
    (folder / "shadow").mkdir()
    (folder / "shadow" / f"{module}.py").write_text(INTERRUPT)
    done = process("list", PYTHONPATH=str(folder / "shadow"))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("module", ["argparse", "zlib"])
def test_the_second_verifier_is_interrupted_in_one_word(folder, module):
    (folder / f"{module}.py").write_text(INTERRUPT)
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "verify.py", "record.zip"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("options", [[], ["-P"], ["-I"]])
def test_the_second_verifier_runs_nothing_that_lies_beside_it(folder, options):
    """It is fetched into the folder in which the record is, where the sender may have put more."""
    tool = ROOT / "tools" / "verify.py"
    for name in sys.stdlib_module_names:
        (folder / f"{name}.py").write_text("raise SystemExit('somebody else ran')\n")
    (folder / "verify.py").write_bytes(tool.read_bytes())
    words = [sys.executable, *options, "verify.py", "record.zip"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("verify.py: record.zip cannot be opened")


AT_THE_END = """
import atexit, gc, sys
late = ("asyncio", "rich.progress")
atexit.register(lambda: print(gc.isenabled(), [name for name in late if name in sys.modules]))
sys.argv[0] = "hansard"
from hansard_entry import run
run()
"""


def test_a_command_that_asks_no_model_imports_what_it_needs_and_collects_garbage(folder):
    words = [sys.executable, "-c", AT_THE_END, "verify", "record.zip"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "True []\n"), done.stderr


@pytest.mark.parametrize("where", ["hansard.api.records.open_store", "hansard.cli.main.cli.main"])
def test_an_interrupted_command_is_one_word(where):
    """In a command, and in what is done before one: options are read, help is written."""
    owner, _, name = where.rpartition(".")
    script = f"""
import os, signal, sys, time, pkgutil
import hansard_entry
import hansard.cli.main
def interrupted(*args, **more):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
setattr(pkgutil.resolve_name({owner!r}), {name!r}, interrupted)
import hansard
hansard.open_store = interrupted
sys.argv = ["hansard", "list"]
hansard_entry.run()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("when", ["a class is made", "the seats are loaded"])
def test_an_interrupt_from_which_another_error_was_raised_is_one_word(
    hansard, folder, monkeypatch, when
):
    """As in an import that a command makes: Python 3.11 gives its RuntimeError there."""
    made = """
class Member:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt

class Seats:
    ask = Member()
"""
    write_debate(dict.fromkeys(NAMES, ""), model="python:ask", debaters=[{"id": "a"}, {"id": "b"}])
    if when == "a class is made":
        monkeypatch.setattr("hansard.open_store", lambda *_, **__: exec(made, {}))
        done = hansard("list")
    else:
        (folder / "seats.py").write_text(made)
        done = hansard("run", "debate.yaml", "--models", "seats.py")
    assert (done.code, done.err) == (130, "interrupted\n")


def test_whoever_ignores_ctrl_c_goes_on_ignoring_it(folder):
    """As a shell does for what it starts in the background."""
    (folder / "shadow").mkdir()
    only = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise ImportError('gone on')\n"
    (folder / "shadow" / "click.py").write_text(only)
    done = subprocess.run(
        [sys.executable, "-m", "hansard", "list"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path("shadow").absolute())},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert "gone on" in done.stderr


def test_outside_the_command_line_handlers_stay_as_they_are():
    before = signal.getsignal(signal.SIGINT)
    with interruptible():
        assert signal.getsignal(signal.SIGINT) is before
    assert signal.getsignal(signal.SIGINT) is before


# Calls that hang and calls that are tried again: what is shown, and how Ctrl-C leaves them

SLOW = Raw(429, b"{}", {"retry-after": "60"})
LATER = "2199-01-01T00:00:00.000000Z"


@pytest.fixture
def serving(monkeypatch):
    """A server whose answers a test chooses, and a debate that asks it."""
    debaters = [{"id": seat} for seat in NAMES]
    write_debate(dict.fromkeys(NAMES, ""), debaters=debaters, model="ollama:any")
    with Server(lambda _: completion(json.dumps(reply("release")))) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        yield server


def without_answer(server, how):
    """Start a debate, and return its process once its first call hangs, or waits for the next."""
    asked, over = threading.Event(), threading.Event()
    answer = server.script

    def wait(body):
        asked.set()
        if how == "waits":
            return SLOW
        over.wait(GUARD)
        return answer(body)

    server.script = wait
    process = subprocess.Popen(
        [sys.executable, "-m", "hansard", "run", "debate.yaml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ.copy(),
    )
    assert asked.wait(GUARD)
    if how == "waits":
        for line in process.stderr:
            if "retried after 60 s" in line:
                break
    return process, over


@pytest.mark.slow
@pytest.mark.parametrize("how", ["hangs", "waits"])
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_leaves_at_once_and_the_debate_goes_on_later(
    hansard, serving, how, presses, monkeypatch
):
    answer = serving.script
    process, over = without_answer(serving, how)
    try:
        for _ in range(presses):
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=GUARD)  # a call or a wait would take as long
    finally:
        over.set()
        process.kill()
    short = only_debate()[:8]
    assert process.returncode == 130, err
    assert "Traceback" not in err
    if presses == 1:
        said = f"interrupted; debate {short} stays open, go on with: hansard resume {short}\n"
        assert err.endswith(said)
    assert hansard("verify", short).code == 0
    serving.script = answer
    monkeypatch.setattr(Clock, "now", lambda _: LATER)
    done = hansard("resume", short)
    assert (done.code, "Decision    release  " in done.out) == (0, True)


@pytest.mark.slow
def test_a_wait_is_told_and_counted_down(serving):
    answer, seen = serving.script, []

    def busy_once(body):
        seen.append(body)
        return Raw(429, b"{}", {"retry-after": "1"}) if len(seen) == 1 else answer(body)

    serving.script = busy_once
    shown = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", on_a_terminal("run", "debate.yaml")).decode()
    assert re.search(r"(planner|critic|operator) waits 1 s: rate limited", shown)
    assert "failed: rate limited (" in shown
    assert "1 of them failed" in shown


def _gone(_):
    return None


def test_what_is_reserved_is_shown_beside_what_was_spent_and_never_as_spent():
    reserved = 10 * 5 // 2 + 4096 * 10  # as the debates of these tests reserve
    debate = Debate(Setup(prices=True, limits={"cost_usd": "1"}), script())
    while not debate.state.calls:
        debate.do(debate.due())
    assert 3 * reserved == 122_955
    shown = "$0.0000 of at most $1.00, $0.1230 more reserved"
    assert _cost(standing(debate.state, _gone)) == shown
    assert _cost(standing(debate.run().state, _gone)) == shown, "no reply says what it used"
    told = {seat: vote("release", tokens=(1000, 0, 10)) for seat in NAMES}
    spent = Debate(Setup(prices=True, limits={"cost_usd": "1"}), script(told)).run()
    assert 3 * (1000 * 5 // 2 + 10 * 10) == 7_800
    assert _cost(standing(spent.state, _gone)) == "$0.0078 of at most $1.00"
    assert _cost(standing(Debate(Setup(prices=True), script()).run().state, _gone)) == "$0.0000"
    assert _cost(standing(Debate(Setup(), script()).run().state, _gone)) == "–"


def test_a_command_is_imported_and_no_other():
    """To import all of them takes a second, which whoever runs one need not wait."""
    script = """
import sys
from hansard.cli.main import cli
cli(["policy", "--help"], standalone_mode=False)
print(*(name for name in sys.modules if name.startswith("hansard.cli.")), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    found = {name.rpartition(".")[2] for name in done.stderr.split()}
    assert "policing" in found
    assert found.isdisjoint({"running", "evaluating", "batching", "verifying", "working"})
