"""`run` and `resume`: what goes where, and what a run leaves behind."""

import asyncio
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import click
import pytest
from rich.console import Console

from cli_support import (
    files,
    leave_open,
    on_a_terminal,
    only_debate,
    process,
    reply,
    write_debate,
    write_format,
)
from formats import NAMES
from hansard.cli.live import _row
from hansard.cli.running import until_closed
from hansard.report.following import Follower
from hansard.report.happenings import Happening, happenings
from hansard.report.standing import standing
from hansard.store.application import Store
from instant import GUARD
from support import Debate, Reply, Setup, say, script

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
    time.sleep({seconds}) if {block} else await asyncio.sleep({seconds})

ScriptedModel.complete = hang
sys.argv[1:] = ["run", "debate.yaml"]
run()
"""


def text_report(hansard):
    """What the published source prints, of the only debate there is."""
    return hansard("report", only_debate(), "--as", "text").out


def votes(*given):
    return dict(zip(NAMES, given, strict=True))


def test_first_worked_example(hansard):
    write_debate(votes("release", "revise", "revise"))
    done = hansard("run", "debate.yaml")
    assert done.code == 0
    assert done.out.startswith(
        "revise: 2 of 3 votes, planner dissented; the debaters are scripts\n"
    )
    assert "Decision    revise  2 of 3 votes, 2 needed, round 1 of at most 2" in done.out
    assert text_report(hansard) == REVISE


def test_second_worked_example_escalates_at_the_cap(hansard):
    write_debate(votes("release", "revise", "escalate"), review="Head of Release")
    done = hansard("run", "debate.yaml")
    phases = ", ".join(["proposal, critique, revision, consensus"] * 2)
    assert done.code == 0
    assert text_report(hansard).splitlines() == [
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
    assert "Must look   Head of Release" in done.out


def test_what_happens_goes_to_standard_error_and_what_came_of_it_to_standard_output(hansard):
    write_debate(votes("release", "revise", "revise"))
    done = hansard("run", "debate.yaml")
    short = only_debate()[:8]
    for part in (
        "round 1 proposal critic -> revise: a position",
        "round 1 proposal: release 1, revise 2; threshold 2 reached",
        f"Next        hansard verify {short}\n",
    ):
        assert part in done.err
        assert part not in done.out
    for part in (
        "Decision    revise  2 of 3 votes",
        "Dissent     planner: release",
        "Note        Replies were scripted: no model was asked",
        f"Debate      {only_debate()}",
    ):
        assert part in done.out
        assert part not in done.err


@pytest.mark.parametrize("command", ["run", "show"])
def test_the_lines_of_a_source_stand_in_the_text_report_alone(hansard, command):
    write_debate(votes("release", "revise", "revise"))
    done = hansard("run", "debate.yaml")
    done = done if command == "run" else hansard("show", only_debate())
    keys = [line.partition(":")[0] for line in REVISE.splitlines()]
    assert len(keys) == 9
    for key in keys:
        assert f"{key}:" not in done.out
    assert text_report(hansard) == REVISE


@pytest.mark.parametrize("command", ["run", "show"])
def test_a_deliverable_stands_whole(hansard, command):
    words = [f"sentence {number} of the deliverable" for number in range(300)]
    done = hansard("run", write_format("judged", "\n".join(words)))
    done = done if command == "run" else hansard("show", only_debate())
    shown = done.out.partition("\nOutput\n")[2]
    (output, _) = json.JSONDecoder().raw_decode(shown.lstrip())
    assert output == {"synthesis": "\n".join(words)}


def test_with_json_the_summary_stands_on_standard_error(hansard):
    write_debate(votes("release", "revise", "revise"))
    assert "Decision    revise  2 of 3 votes" in hansard("run", "debate.yaml", "--json").err


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
    assert "Call r1.proposal.critic:1 failed: timeout (scripted); retried" in done.err
    assert "does not count: it is not valid JSON; retried" in done.err
    assert "planner (round 1, proposal) was not heard, so it abstains" in done.err
    summary = " ".join(done.out.split())
    assert (
        "Note 1 turn not heard because the last reply was rejected: planner (round 1, proposal): "
        "it is not valid JSON" in summary
    )
    assert "vote_tally: {revise: 2, abstain: 1}" in text_report(hansard)


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
    assert "Decision    escalate  " in done.out
    assert text_report(hansard).splitlines()[6] == "decision: escalate"
    assert "The debate was interrupted here, and another process took it over" in done.err
    assert "round 1 proposal planner" not in done.err
    assert hansard("verify", debate).code == 0


def test_resume_of_a_closed_debate(hansard, debate):
    done = hansard("resume", debate)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("[debate.closed]\n")


def test_stop_says_who_and_why_on_every_first_screen(hansard):
    write_debate(votes("release", "revise", "escalate"))
    debate = leave_open(turns=5)
    done = hansard("stop", debate[:8], "--by", "Ann Lee", "--reason", "wrong question")
    assert done.code == 0
    whose = "it was stopped, by Ann Lee: wrong question"
    assert f"none: cut short, {whose} (operator)" in " ".join(done.out.split())
    assert whose in " ".join(hansard("show", debate).out.split())
    assert "truncated by Ann Lee: wrong" in " ".join(hansard("list").out.split())
    assert json.loads(hansard("list", "--json").out)["debates"][0]["decision"] is None
    report = hansard("report", debate, "--as", "markdown").out
    assert "**None: the debate was cut short**" in report
    assert "by Ann Lee: wrong question" in report
    assert hansard("verify", debate).code == 0
    again = hansard("stop", debate)
    assert (again.code, again.out) == (2, "")
    assert again.err.endswith("it cannot be resumed or stopped [debate.closed]\n")


@pytest.mark.parametrize("option", ["by", "reason"])
def test_stop_refuses_words_that_are_no_unicode(hansard, option):
    """The shell's bytes come as lone surrogates where they are not UTF-8."""
    write_debate(votes("release", "revise", "escalate"))
    debate = leave_open(turns=5)
    lines = hansard("show", debate, "--json").out
    done = hansard("stop", debate, f"--{option}", os.fsdecode(b"Ann \xff Lee"))
    assert (done.code, done.out) == (2, "")
    said = f"`{option}` is not Unicode: what stands at character 5 is no character"
    assert said in " ".join(done.err.split())
    assert done.err.endswith("[stop.text]\n")
    assert hansard("show", debate, "--json").out == lines


@pytest.mark.parametrize("name", [" ", "\u200b", "Ann\nLee", "x" * 201])
def test_stop_refuses_a_name_that_is_none(hansard, name):
    write_debate(votes("release", "revise", "escalate"))
    debate = leave_open(turns=5)
    done = hansard("stop", debate, "--by", name)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("[stop.text]\n")
    assert json.loads(hansard("list", "--json").out)["debates"][0]["state"] == "open"


@pytest.mark.parametrize("option", ["--requester", "--owner"])
@pytest.mark.parametrize("name", ["", " ", " <acme/reviewer>", "<acme/reviewer>", "\u2060"])
def test_run_refuses_a_name_that_is_none(hansard, option, name):
    write_debate(votes("revise", "revise", "revise"))
    done = hansard("run", "debate.yaml", option, name)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("[spec.person]\n")
    assert not Path("hansard.db").exists()


@pytest.mark.parametrize(
    ("votes_", "limits", "code"),
    [
        (("release", "release", "release"), {}, 0),
        (("release", "revise", "escalate"), {}, 3),
        (("release", "revise", "escalate"), {"calls": 4}, 4),
    ],
    ids=["decided", "escalated", "cut short"],
)
def test_an_exit_code_tells_outcomes_apart_where_it_is_asked_for(hansard, votes_, limits, code):
    write_debate(votes(*votes_), review="Head of Release", limits=limits)
    assert hansard("run", "debate.yaml").code == 0
    assert hansard("run", "debate.yaml", "--exit-code").code == code


def test_an_escalation_names_who_must_look_on_the_first_screen_and_in_the_list(hansard):
    write_debate(votes("release", "revise", "escalate"), review="Head of Release")
    done = hansard("run", "debate.yaml")
    assert "Must look   Head of Release" in done.out
    assert "escalate: Head of Release" in hansard("list").out
    (row,) = json.loads(hansard("list", "--json").out)["debates"]
    assert (row["decision"], row["review"]) == ("escalate", "Head of Release")


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
        [sys.executable, "-c", HANGING.format(block=block, seconds=GUARD)],
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
    _, err = process.communicate(timeout=GUARD)
    short = only_debate()[:8]
    assert process.returncode == 130, err
    assert f"debate {short} stays open, go on with: hansard resume {short}\n" in err
    assert "Traceback" not in err
    assert "Decision    revise  2 of 3 votes" in hansard("resume", short).out
    assert text_report(hansard) == REVISE


def test_an_interruption_before_a_debate_is_opened_names_none(capsys):
    async def cancelled():
        raise asyncio.CancelledError

    view = Mock(debate="")
    with click.Context(click.Command("run")), pytest.raises(click.exceptions.Exit) as ended:
        until_closed(cancelled(), view)
    assert (ended.value.exit_code, view.close.called) == (130, True)
    assert capsys.readouterr().err == "interrupted; no debate was opened\n"


def test_a_second_ctrl_c_leaves_at_once(hansard):
    write_debate(votes("release", "revise", "revise"))
    process = hanging(block=True)
    while process.poll() is None:  # which of them comes second is the system's business
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
    _, err = process.communicate(timeout=GUARD)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert hansard("verify", only_debate()).code == 0


def test_python_m_hansard():
    write_debate(votes("release", "revise", "revise"))
    done = process("run", "debate.yaml")
    assert done.returncode == 0
    assert "Decision    revise  2 of 3 votes" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", ["list", "report", "verify"])
def test_a_closed_pipe_is_quiet(debate, command):
    read, write = os.pipe()
    os.close(read)
    args = [command] if command == "list" else [command, debate]
    closed = process(*args, stdout=write)
    os.close(write)
    assert closed.returncode == 141
    assert "rror" not in closed.stderr


COMPLETING = {"_HANSARD_COMPLETE": "bash_complete", "COMP_WORDS": "hansard ", "COMP_CWORD": "1"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "env"),
    [
        (["--help"], {}),
        (["--version"], {}),
        (["--nope"], {}),
        (["verify", "nowhere.zip"], {}),
        ([], {"_HANSARD_COMPLETE": "bash_source"}),
        ([], COMPLETING),
    ],
    ids=["help", "version", "wrong use", "error", "completion", "completing"],
)
def test_a_closed_pipe_is_quiet_where_no_command_runs(args, env):
    """Output and errors go into one pipe, as with `2>&1 | true`."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "hansard", *args]
    closed = subprocess.run(
        command, check=False, stdout=write, stderr=write, env={**os.environ, **env}
    )
    os.close(write)
    assert closed.returncode == 141


@pytest.mark.slow
@pytest.mark.parametrize("args", [["models"], ["--help"], ["--version"], ["verify", "--help"]])
def test_a_full_disk_is_no_bug_of_ours(args):
    with Path("/dev/full").open("w") as full:
        done = process(*args, stdout=full)
    assert done.returncode == 2
    assert done.stderr == (
        "error: the output cannot be written: no space is left on the device [output.full]\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("args", [["show", "nothing"], ["nothing"]])
def test_what_cannot_be_told_changes_no_exit_code(args):
    command = [sys.executable, "-m", "hansard", *args]
    with Path("/dev/full").open("w") as full:
        assert subprocess.run(command, check=False, stderr=full).returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_bug_of_ours(closed):
    command = f"exec {sys.executable} -m hansard keys {closed}"
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("args", ["show nothing", "nothing"])
def test_what_is_told_to_a_closed_stream_changes_no_exit_code(args):
    command = f"exec {sys.executable} -m hansard {args} 2>&-"
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 2


@pytest.mark.slow
def test_a_debate_that_can_tell_nobody_is_run(debate):
    command = f"exec {sys.executable} -m hansard run debate.yaml 2>&-"
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True)
    assert done.returncode == 0
    assert "Decision    revise" in done.stdout


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "as it says"), MemoryError()])
def test_what_the_system_refuses_is_no_bug_of_ours(error, hansard, monkeypatch):
    monkeypatch.setattr("hansard.available_models", Mock(side_effect=error))
    done = hansard("models")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: the system refused what the command needs (")


@pytest.mark.parametrize("left", [0, 1, 2])
def test_an_event_loop_without_descriptors_is_one_sentence(debate, left):
    """The rest of the process has what it needs; `left` is what remains for a loop."""
    short_of = f"""
import os, resource, sys
from hansard.cli import interrupting, main, running
started = running.ended
def ended(work):
    lowest = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + {left}, 4096))
    return started(work)
running.ended = ended
sys.argv = ["hansard", "run", "debate.yaml"]
main.run()
"""
    command = [sys.executable, "-c", short_of]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith("[system.limit]\n")


@pytest.mark.slow
@pytest.mark.parametrize("size", [8, 40])  # KiB: less than the index of a log, and more
def test_a_store_that_may_not_grow_says_why(debate, size):
    """What was stored before is there."""
    command = f"ulimit -f {size}; exec {sys.executable} -m hansard run debate.yaml"
    done = subprocess.run(["bash", "-c", command], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "files may not be larger (`ulimit -f`) [store.full]\n" in done.stderr
    assert process("verify", debate).returncode == 0


def test_a_file_that_may_not_grow_is_no_bug_of_ours(tmp_path):
    command = f"trap '' XFSZ; ulimit -f 0; exec {sys.executable} -m hansard models > full"
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        "error: the output cannot be written: the file may not be larger [output.full]\n"
    )


def test_text_that_the_output_cannot_encode_is_escaped():
    write_debate({"planner": "release", "critic": "release"}, question="Größer → besser?")
    assert process("run", "debate.yaml", PYTHONIOENCODING="ascii").returncode == 0
    done = process("list", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert r"Gr\xf6\xdfer \u2192 besser?" in done.stdout


MODERATED = (
    "count: scores proposer 4, critic 8, rebuttal 5; points resolved 0, open 1, uncertain 2; "
    "proposition upheld; no further round wanted"
)
TOLD = {
    "consensus": [
        "control: debate ID is open: consensus",
        "control: round 1 begins",
        "round 1 proposal planner -> release: so ($0.0100, 0s)",
        "round 1 proposal critic -> release: so ($0.0100, 0s)",
        "round 1 proposal operator -> release: so ($0.0100, 0s)",
        "count: round 1 proposal: release 3; threshold 2 reached",
        "decision: release (threshold_vote)",
        "round 1 synthesis synthesizer: so (–, 0s)",
        "control: complete: enough debaters hold one option",
    ],
    "judged": [
        "control: debate ID is open: judged",
        "control: round 1 begins",
        "round 1 argument ann: so ($0.0100, 0s)",
        "round 1 argument bob: so ($0.0100, 0s)",
        "round 1 verdict judge -> ship: so (–, 0s)",
        "decision: Ship it now. (ship), argued by ann (judge_verdict)",
        "round 1 synthesis synthesizer: so (–, 0s)",
        "control: complete: all rounds were complete",
    ],
    "moderated": [
        "control: debate ID is open: moderated",
        "control: round 1 begins",
        "round 1 framing framer: so ($0.0100, 0s)",
        "round 1 proposition proposer: so (–, 0s)",
        "critical: proposer (round 1, proposition) gives citations that do not hold (argument 1",
        "control: proposer (round 1, proposition) cites nothing for argument 2",
        (
            "control: A reply of critic (round 1, critique) does not count: the critic itself "
            "rates it too weak"
        ),
        (
            "control: A critique of critic (round 1, critique) is rated 4 of 10 by the critic "
            "itself, below 5"
        ),
        "round 1 critique critic -> strength 8: so (–, 0s)",
        (
            "control: The critique of critic (round 1, critique) counts, but no quote of it was "
            "found in the evidence"
        ),
        "control: critic (round 1, critique) cites nothing for argument 1",
        "round 1 rebuttal rebuttal: so (–, 0s)",
        "control: rebuttal (round 1, rebuttal) leaves objection 1 unanswered",
        "round 1 moderation moderator -> MODERATE: so (–, 0s)",
        MODERATED,
        "decision: upheld (moderator_synthesis)",
        "round 1 synthesis synthesizer: so (–, 0s)",
        "control: complete: the moderator wanted no further round",
    ],
    "panel": [
        "control: debate ID is open: panel",
        "control: round 0 begins",
        "round 0 draft ann: so ($0.0100, 0s)",
        "round 0 draft bob: so ($0.0100, 0s)",
        "count: round 0: similar wording 1.00, all pairs; the rounds end",
        "round 0 verdict judge -> synthesis: so (–, 0s)",
        "decision: synthesis (judge_synthesis)",
        "round 0 synthesis synthesizer: so (–, 0s)",
        "control: complete: the answers of a round were alike",
    ],
}


@pytest.mark.parametrize("format_", TOLD)
def test_each_format_is_told_line_by_line(hansard, format_):
    write_format(format_)
    err = hansard("run", "debate.yaml").err.replace(only_debate(), "ID")
    told = re.findall(r"(?m)^#[0-9]+ (.*)$", err)
    expected = TOLD[format_]
    assert [line[: len(begin)] for line, begin in zip(told, expected, strict=True)] == expected


SHOWN = {
    "consensus": ["Votes that count", "threshold 2", "turn 4 of at most 13"],
    "judged": ["Round 1 of at most 1, argument", "turn 4 of at most 4", "ship"],
    "moderated": ["Cost $0.0100 of at most $0.5000", "Moderator", "turn 6 of at most 6"],
    "panel": ["Answers", "similar wording 1.00", "Round 0 of at most 2", "turn 4 of at most 8"],
}


@pytest.mark.slow
@pytest.mark.parametrize("format_", SHOWN)
def test_on_a_terminal_each_format_shows_where_it_stands(format_):
    write_format(format_)
    seen = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", on_a_terminal("run", "debate.yaml")).decode()
    for part in SHOWN[format_]:
        assert part in seen


def test_drafts_that_are_not_alike(hansard):
    drafts = {"ann": "We should release.", "bob": "We should not release."}
    script = {seat: {"*": {"draft": words}} for seat, words in drafts.items()}
    write_format("panel", script=script, convergence_similarity=0.5, rounds=1)
    err = hansard("run", "debate.yaml").err
    for round_ in (0, 1):
        told = f"round {round_}: similar wording from 0.75, but not all negate equally often"
        assert told in err
    script["bob"] = {"*": {"draft": "Wait."}}
    write_format("panel", script=script, rounds=1)
    err = hansard("run", "debate.yaml").err
    assert "round 1: similar wording from 0.00; 0.85 in all pairs ends the rounds" in err


@pytest.mark.parametrize(
    ("changes", "drafts", "told"),
    [
        ({"convergence_similarity": 1}, ("so", "so"), "all answers are the same; the rounds end"),
        ({"convergence_similarity": 1}, ("so", "no"), "not all answers are the same"),
        ({"options": ["yes", "no"]}, ("yes", "yes"), "all choose the same; the rounds end"),
        ({"options": ["yes", "no"]}, ("yes", "no"), "not all choose the same"),
        ({"attempts": 1}, ("so", {"error": "timeout"}), "there are no two answers to compare"),
    ],
)
def test_what_else_ends_the_rounds_of_a_panel(hansard, changes, drafts, told):
    def draft(words):
        chosen = "options" in changes and isinstance(words, str)
        return {"answer": "so", "choice": words} if chosen else words

    script = {
        seat: {"*": {"draft": draft(words)}}
        for seat, words in zip(("ann", "bob"), drafts, strict=True)
    }
    write_format("panel", script=script, judge=None, synthesizer=False, rounds=1, **changes)
    done = hansard("run", "debate.yaml")
    assert done.code == 0
    assert f"count: round 1: {told}\n" in done.err or f"count: round 0: {told}\n" in done.err


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"calls": 2}, "ceiling on calls"),
        ({"cost_usd": "0.04"}, "ceiling on cost"),
        ({"tokens": 6000}, "ceiling on tokens"),
    ],
)
def test_a_debate_that_is_cut_short_says_so(hansard, limits, why):
    write_format("judged", limits=limits, max_rounds=3)
    done = hansard("run", "debate.yaml")
    assert done.code == 0
    assert f"control: truncated: the next call could have exceeded the {why}" in done.err
    assert "control: The debate was cut short before r" in done.err
    assert hansard("verify", only_debate()).code == 0


def test_a_debate_that_failed(hansard):
    write_format("judged", script={"judge": {"*": {"verdict": "no JSON"}}}, attempts=1)
    done = hansard("run", "debate.yaml")
    assert done.code == 1
    assert "control: failed: the judge gave no valid reply" in done.err
    assert "critical: The judge gave no valid reply, so there is no verdict" in done.err


def test_a_long_speech_is_cut_in_the_live_view(hansard):
    write_format("judged", "word " * 1000)
    err = hansard("run", "debate.yaml").err
    lines = [line for line in err.splitlines() if " argument ann: " in line]
    assert len(lines) == 1
    assert len(lines[0]) < 400
    assert "…" in lines[0]


@pytest.mark.parametrize(("words", "lines"), [(5, 1), (14, 2), (60, 2)])
def test_a_statement_has_at_most_two_lines_in_the_live_view(words, lines):
    now = standing(Debate(Setup(), script()).run().state, lambda _: None)
    said = " ".join(f"word-{number}" for number in range(words))
    row = Happening(7, "planner", said, place="round 1 proposal", mark="release")
    out = io.StringIO()
    Console(width=100, file=out).print(_row(row, now))
    shown = out.getvalue().splitlines()
    assert len(shown) == lines
    assert max(map(len, shown)) <= 100
    assert ("…" in out.getvalue()) == (words == 60)
    assert "word-4 " in out.getvalue()


def told(setup, ends):
    """The lines for a debate that only Python can open."""
    record = Debate(setup, script(ends)).run().record
    follower = Follower()
    for event in record.events:
        for row in happenings(follower.state, event, follower.follow(event, record.texts)):
            yield f"{row.who}: {row.mark or row.text}"


def test_tools_that_were_used_are_told():
    asks = Reply("", tools=[("lookup", "{}")])
    lines = list(told(Setup("panel", tools=["lookup"]), {"r0.draft.ann:1": asks}))
    assert "control: ann used the tool lookup" in lines


def test_a_winner_that_was_never_declared_is_no_winner():
    lines = list(told(Setup("judged"), {"verdict": say(winner="nobody")}))
    assert "judge: undeclared" in lines
    assert "decision: undeclared (judge_undeclared)" in lines


def test_a_ranking_is_told():
    positions = [{"id": name[0], "label": name, "stance": name} for name in ("left", "right")]
    moderation = say(ranking=["right", "left"], recommend_another_round=True)
    lines = list(told(Setup("moderated", positions=positions), {"moderation": moderation}))
    assert any("ranking r, l; another round wanted" in line for line in lines)
    assert "decision: right, argued by r (moderator_ranking)" in lines


def test_a_debate_that_nobody_answered_ends_with_1_and_says_so(hansard):
    dead = {seat: {"*": {"*": {"error": "client_error"}}} for seat in ("ann", "bob")}
    ended = hansard("run", write_debate(dict.fromkeys(dead, "release"), script=dead))
    assert ended.code == 1
    told = " ".join(ended.out.split())
    assert "Decision none: failed (nobody_heard)" in told
    assert "ann, bob (scripted:replies.yaml): the server rejected the request" in told
    assert "decision: none" in text_report(hansard)


def test_options_say_who_asks_and_win_over_the_spec(hansard):
    said = {"owner": {"name": "Ann", "key": "acme/reviewer"}, "labels": ["q4"], "task_type": "code"}
    write_debate(votes("revise", "revise", "revise"), **said)
    options = ["--requester", "Zoë", "--owner", "Bo", "--label", "b", "--label", "a"]
    assert hansard("run", "debate.yaml", *options, "--retention", "7y").code == 0
    with Store.open("sqlite:///hansard.db") as store:
        bundle = store.bundle(only_debate())
    opened = json.loads(bundle.lines[0])["data"]

    def person(field):
        row = opened[field]
        return bundle.blobs[row["name"]["sha256"]][81:].decode(), row["key"]

    assert (person("requester"), person("owner")) == (("Zoë", None), ("Bo", None))
    assert (opened["labels"], opened["task_type"], opened["retention"]) == (
        *(["a", "b"], "code", "7y"),
    )
    assert opened["origin"] is None


@pytest.mark.parametrize("given", ["Zoë Hart <acme/reviewer>", "Zoë Hart<acme/reviewer>"])
def test_a_person_may_be_named_with_a_key(hansard, given):
    write_debate(votes("revise", "revise", "revise"), requester={"name": "Ann", "key": "a/b"})
    assert hansard("run", "debate.yaml", "--requester", given, "--owner", "Bo: <3").code == 0
    with Store.open("sqlite:///hansard.db") as store:
        bundle = store.bundle(only_debate())
    opened = json.loads(bundle.lines[0])["data"]
    names = [
        bundle.blobs[opened[field]["name"]["sha256"]][81:].decode()
        for field in ("requester", "owner")
    ]
    assert names == ["Zoë Hart", "Bo: <3"]
    assert [opened[field]["key"] for field in ("requester", "owner")] == ["acme/reviewer", None]


@pytest.mark.parametrize("key", ["", "acme reviewer", "é"])
def test_a_key_that_is_no_name_of_one_is_refused(hansard, key):
    write_debate(votes("revise", "revise", "revise"))
    done = hansard("run", "debate.yaml", "--owner", f"Ann <{key}>")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: owner.key: a key's name has 1 to 128 letters")
    assert not Path("hansard.db").exists()


def test_each_mistake_of_options_and_spec_has_its_line_and_nothing_is_recorded(hansard):
    write_debate(votes("revise", "revise", "revise"), labels=["x y"], retention="7 years")
    done = hansard("run", "debate.yaml", "--task-type", "a b", "--requester", "Ann\nLee")
    names = "use letters, digits and ._:/@+=- only, at most 64 of them [spec.invalid_value]"
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        f"error: task_type: {names}",
        "error: requester.name: a name is 1 to 200 characters on one line [spec.person]",
        f"error: debate.yaml: labels.0: {names}",
        f"error: debate.yaml: retention: {names}",
    ]
    assert not Path("hansard.db").exists()


def test_a_follow_up_names_the_earlier_debate_and_shows_it(hansard):
    write_debate(votes("revise", "revise", "revise"))
    assert hansard("run", "debate.yaml").code == 0
    first = only_debate()
    done = hansard("run", "debate.yaml", "--follow-up", first[:8])
    assert done.code == 0
    assert f"Origin a follow-up of {first}" in " ".join(done.out.split())
    assert hansard("run", "debate.yaml", "--follow-up", "zz").code == 2
