"""`run` and `resume`: what goes where, and what a run leaves behind."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from cli_support import NAMES, files, leave_open, only_debate, process, reply, write_debate
from hansard.store.application import Store

REVISE = """debater_ids: [planner, critic, operator]
rounds_run: 1
max_rounds: 2
phase_sequence: [proposal]
consensus_threshold: 2
vote_tally: {release: 1, revise: 2}
decision: revise
decision_rule: threshold_vote
speaker_schedule: [planner, critic, operator]
"""

# A debate whose first model call hangs; `block` says whether it also blocks the event loop.
HANGING = """
import asyncio, sys, time
from hansard.cli.main import run
from hansard.runtime.models.scripted import ScriptedModel

async def hang(self, request):
    print("asked", flush=True)
    time.sleep(60) if {block} else await asyncio.sleep(60)

ScriptedModel.complete = hang
sys.argv[1:] = ["run", "debate.yaml"]
run()
"""


def votes(*given):
    return dict(zip(NAMES, given, strict=True))


def test_first_worked_example(hansard):
    write_debate(votes("release", "revise", "revise"))
    done = hansard("run", "debate.yaml")
    assert (done.code, done.out) == (0, REVISE)


def test_second_worked_example_escalates_at_the_cap(hansard):
    write_debate(votes("release", "revise", "escalate"), review="Head of Release")
    done = hansard("run", "debate.yaml")
    phases = ", ".join(["proposal, critique, revision, consensus"] * 2)
    assert done.code == 0
    assert done.out.splitlines() == [
        "debater_ids: [planner, critic, operator]",
        "rounds_run: 2",
        "max_rounds: 2",
        f"phase_sequence: [{phases}]",
        "consensus_threshold: 2",
        "vote_tally: {release: 1, revise: 1, escalate: 1}",
        "decision: escalate",
        "decision_rule: max_rounds_exhausted",
        f"speaker_schedule: [{', '.join(NAMES * 8)}]",
    ]
    assert "Must look   Head of Release" in done.err


def test_all_but_the_report_goes_to_standard_error(hansard):
    write_debate(votes("release", "revise", "revise"))
    done = hansard("run", "debate.yaml")
    short = only_debate()[:8]
    assert "round 1 proposal critic -> revise: a position" in done.err
    assert "round 1 proposal: release 1, revise 2; threshold 2 reached" in done.err
    assert "Replies were scripted: no model was asked" in done.err
    assert "Dissent     planner: release" in done.err
    assert f"Next        hansard verify {short}\n" in done.err


def test_json_is_alone_on_standard_output(hansard):
    write_debate(votes("release", "revise", "revise"))
    done = hansard("run", "debate.yaml", "--json")
    result = json.loads(done.out)
    assert result["decision"] == "revise"
    assert result["debate"] == only_debate()


def test_replies_that_do_not_count_are_explained(hansard):
    late = [{"error": "timeout"}, reply("revise")]
    script = {
        "planner": {"*": {"*": "no JSON at all"}},
        "critic": {"*": {"*": late}},
        "operator": {"*": {"*": reply("revise")}},
    }
    write_debate(votes("", "", ""), script=script, attempts=2)
    done = hansard("run", "debate.yaml")
    assert "No reply from critic: timeout (scripted); asked again" in done.err
    assert "does not count: it is not the JSON that was asked for; it was asked again" in done.err
    assert "planner in round 1, proposal, was not heard" in done.err
    assert "vote_tally: {revise: 2, abstain: 1}" in done.out


@pytest.mark.parametrize("before", [True, False])
def test_the_store_is_named_before_or_after_the_command(hansard, before):
    write_debate(votes("release", "revise", "revise"))
    store = ["--store", "sqlite:///other.db"]
    args = ["run", "debate.yaml"]
    done = hansard(*(store + args if before else args + store))
    assert done.code == 0
    assert f"hansard verify {only_debate('other.db')[:8]} --store sqlite:///other.db" in done.err
    assert "hansard.db" not in files()


def test_the_store_may_come_from_the_environment(hansard):
    write_debate(votes("release", "revise", "revise"))
    assert hansard("run", "debate.yaml", env={"HANSARD_STORE": "sqlite:///env.db"}).code == 0
    assert only_debate("env.db")


def test_resume_goes_on_where_the_process_died(hansard):
    write_debate(votes("release", "revise", "escalate"))
    debate = leave_open(turns=5)
    done = hansard("resume", debate[:8])
    assert done.code == 0
    assert done.out.splitlines()[6] == "decision: escalate"
    assert "The debate stopped here and was resumed by another process" in done.err
    assert "round 1 proposal planner" not in done.err
    assert hansard("verify", debate).code == 0


def test_resume_of_a_closed_debate(hansard, debate):
    done = hansard("resume", debate)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("[debate.closed]\n")


def test_resume_while_another_process_runs_it(hansard):
    write_debate(votes("release", "revise", "escalate"))
    debate = leave_open()
    with Store.open("sqlite:///hansard.db") as store, store.runner(debate):
        done = hansard("resume", debate)
    assert done.code == 2
    assert done.err.endswith("[store.running]\n")
    assert hansard("resume", debate).code == 0


def hanging(block):
    process = subprocess.Popen(
        [sys.executable, "-c", HANGING.format(block=block)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "asked\n"
    return process


def test_ctrl_c_leaves_the_debate_open(hansard):
    write_debate(votes("release", "revise", "revise"))
    process = hanging(block=False)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    short = only_debate()[:8]
    assert process.returncode == 130, err
    assert f"debate {short} stays open, go on with: hansard resume {short}\n" in err
    assert "Traceback" not in err
    assert hansard("resume", short).out == REVISE


def test_a_second_ctrl_c_leaves_at_once(hansard):
    write_debate(votes("release", "revise", "revise"))
    process = hanging(block=True)
    for _ in range(50):
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        if process.poll() is not None:
            break
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert hansard("verify", only_debate()).code == 0


def test_python_m_hansard():
    write_debate(votes("release", "revise", "revise"))
    done = process("run", "debate.yaml")
    assert (done.returncode, done.stdout) == (0, REVISE)


@pytest.mark.parametrize("command", ["list", "report", "verify"])
def test_a_closed_pipe_is_quiet(debate, command):
    read, write = os.pipe()
    os.close(read)
    args = [command] if command == "list" else [command, debate]
    closed = process(*args, stdout=write)
    os.close(write)
    assert closed.returncode == 141
    assert "rror" not in closed.stderr


def test_text_that_the_output_cannot_encode_is_escaped():
    write_debate({"planner": "release", "critic": "release"}, question="Größer → besser?")
    assert process("run", "debate.yaml", PYTHONIOENCODING="ascii").returncode == 0
    done = process("list", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert r"Gr\xf6\xdfer \u2192 besser?" in done.stdout
