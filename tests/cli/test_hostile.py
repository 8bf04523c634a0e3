"""Whatever a model or a user wrote is inert on a terminal and in a pipe."""

import os
import pty
import re
import subprocess
import sys

import pytest

from cli_support import leave_open, only_debate, reply, write_debate

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m[red]loud[/red] :smile: \u202egnp.exe\r[link=x]\u2066"
OURS = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")  # colours, cursor movements and nothing else

COMMANDS = [
    ["list"],
    ["list", "--json"],
    ["show", "ID"],
    ["show", "ID", "--prompt", "r1.critique.planner:1"],
    ["report", "ID"],
    ["report", "ID", "--as", "markdown"],
    ["report", "ID", "--as", "json"],
    ["replay", "ID"],
    ["replay", "ID", "--until", "9"],
    ["verify", "ID"],
    ["verify", "ID", "--json"],
    ["run", "debate.yaml"],
    ["run", "debate.yaml", "--json"],
]


@pytest.fixture
def hostile():
    """A spec whose every text attacks."""
    seats = ("planner", "critic")
    script = {
        "planner": {"*": {"*": [ATTACK, reply("release", ATTACK, ATTACK)]}},
        "critic": {"*": {"*": reply("revise", ATTACK, ATTACK)}},
    }
    write_debate(
        dict.fromkeys(seats, ""),
        script=script,
        question=ATTACK,
        review=ATTACK,
        evidence=[{"id": "paper", "text": ATTACK}],
        debaters=[
            {"id": seat, "model": "scripted:replies.yaml", "persona": ATTACK} for seat in seats
        ],
    )


def assert_inert(text):
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_in_a_pipe(hansard, hostile, args):
    assert hansard("run", "debate.yaml").code == 0
    done = hansard(*[only_debate() if arg == "ID" else arg for arg in args])
    assert done.code == 0
    assert_inert(done.out)
    assert_inert(done.err)


def test_markup_and_emoji_codes_stay_as_they_were_written(hansard, hostile):
    err = hansard("run", "debate.yaml").err
    assert "<U+001B>[2J<U+009B>31m[red]loud[/red] :smile: <U+202E>gnp.exe" in err
    out = hansard("show", only_debate()).out
    assert "[red]loud[/red] :smile: <U+202E>gnp.exe<U+000D>[link=x]<U+2066>" in out


def on_a_terminal(*args, **env):
    """Run a command on a terminal of its own; return everything that reached it."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "hansard", *args],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40", **env},
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            block = os.read(leader, 65536)
        except OSError:  # the other side is closed
            break
        if not block:
            break
        seen += block
    os.close(leader)
    assert process.wait() == 0
    return seen


@pytest.mark.parametrize(
    "args",
    [["list"], ["show", "ID"], ["report", "ID", "--as", "json"], ["run", "debate.yaml"]],
    ids=" ".join,
)
def test_on_a_terminal(hansard, hostile, args):
    if args[0] != "run":
        hansard("run", "debate.yaml")
    seen = on_a_terminal(*[only_debate() if arg == "ID" else arg for arg in args])
    assert_inert(OURS.sub(b"", seen).replace(b"\r", b"").decode())


def test_no_color_is_honoured(hansard, hostile):
    seen = on_a_terminal("run", "debate.yaml", NO_COLOR="1")
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]m", seen)
    assert b"Votes that count" in seen


def test_a_dumb_terminal_gets_plain_lines(hostile):
    seen = on_a_terminal("run", "debate.yaml", TERM="dumb")
    assert b"\x1b" not in seen
    assert b"round 1 proposal critic -> revise" in seen


def test_a_resumed_debate_on_a_terminal(hansard):
    write_debate({"planner": "release", "critic": "release", "operator": "revise"}, threshold=3)
    seen = on_a_terminal("resume", leave_open(turns=4))
    assert b"turn 24 of at most 24" in seen
    assert b"max_rounds_exhausted" in seen


def test_a_narrow_terminal_shortens_the_question_and_nothing_else(hansard, debate):
    write_debate({"planner": "release", "critic": "release"}, question="Shall we " * 30)
    hansard("run", "debate.yaml")
    seen = on_a_terminal("list", COLUMNS="80").decode()
    assert debate[:8] in seen
    assert "…" in seen
    assert "closed, scripted" in seen
