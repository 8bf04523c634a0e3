"""`trust`, and passphrases at a terminal: as people meet them."""

import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from dataclasses import replace
from threading import Timer

import pytest

import verify
from cli_support import only_debate, process
from exporting import STRANGER, run_tool
from hansard.record.keys import parse_trust
from instant import GUARD

pytestmark = pytest.mark.usefixtures("home")
KEY = str(STRANGER.key)


def test_a_strangers_export_is_trusted_once_its_key_is_and_no_longer_once_it_is_revoked(
    hansard, zipped, home
):
    mine = hansard("keys", "make", "export").out.strip()
    verify = ("verify", zipped, "--trust", "their.json")
    done = hansard(*verify)
    assert done.code == 2  # there is no such file yet
    add = hansard("trust", "--trust", "their.json", "add", mine, "--role", "export")
    assert (add.code, add.out) == (0, f"{mine} is trusted as export key\n")
    assert hansard(*verify).code == 1, "the register's key is another one"
    log = hansard("keys", "make", "log").out.strip()
    assert hansard("trust", "--trust", "their.json", "add", log, "--role", "log").code == 0
    assert hansard(*verify).code == 0
    listed = hansard("trust", "--trust", "their.json", "list").out
    assert mine in listed
    assert "always to now" in listed
    revoke = ("trust", "--trust", "their.json", "revoke", "house/export")
    assert hansard(*revoke, "--at", "2020-01-01").code == 0
    assert hansard(*verify).code == 1
    assert hansard("trust", "--trust", "their.json", "remove", "house/export").code == 0
    refused = hansard("trust", "--trust", "their.json", "remove", "house/export")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.endswith("[trust.unknown]\n")


def test_ones_own_trust_file_is_the_default(hansard, home):
    assert hansard("trust", "add", KEY, "--role", "export", "--until", "2026-06-01").code == 0
    (row,) = parse_trust((home / "trust.json").read_bytes()).keys
    assert (row.key, row.until) == (KEY, "2026-06-01T00:00:00.000000Z")
    assert hansard("trust", "revoke", KEY, "--at", "2026-05-01").code == 0
    assert hansard("trust", "revoke", KEY).code == 0, "now: for longer than it counts"
    (revoked,) = parse_trust((home / "trust.json").read_bytes()).keys
    assert revoked == row.model_copy(update={"revoked": "2026-05-01T00:00:00.000000Z"})
    listed = hansard("trust", "list").out
    assert "always to 2026-06-01T00:00:00.000000Z, revoked from 2026-05-01T00:" in listed


def test_a_key_that_stands_there_by_two_names_is_not_left_behind(hansard, home):
    """Whoever stole it signs by either of them."""
    twin = str(replace(STRANGER.key, name="renamed"))
    for key in (KEY, twin):
        hansard("trust", "add", key, "--role", "export")
    assert hansard("trust", "list").err == ""
    by_hand = json.loads((file := home / "trust.json").read_bytes())
    by_hand["keys"][1]["revoked"] = "2026-05-01T00:00:00.000000Z"
    file.write_text(json.dumps(by_hand))
    assert "revoked in one line and counts by another" in hansard("trust", "list").err
    hansard("trust", "revoke", twin)
    assert hansard("trust", "list").err == ""
    done = hansard("trust", "remove", KEY)
    assert (done.code, done.out) == (0, f"{KEY} is removed\n")
    assert f"the same key is still there as {twin}" in " ".join(done.err.split())
    assert "still there" not in hansard("trust", "remove", twin).err


def test_verify_says_the_command_that_adds_a_key(hansard, zipped):
    (path := zipped.with_name("none.json")).write_text('{"v":1,"keys":[]}')
    done = hansard("verify", zipped, "--trust", path)
    assert "hansard trust add KEY --role export" in done.err


def at_a_terminal(*args, typed, hidden=True):
    """Run a command whose user types; return its exit code and what the terminal showed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "hansard", *args])
    guard = Timer(GUARD, os.kill, (pid, signal.SIGKILL))
    guard.start()
    shown = b""
    try:
        for line in typed:
            while not shown.rstrip().endswith(b":"):
                shown += os.read(terminal, 1024)
            while hidden and termios.tcgetattr(terminal)[3] & termios.ECHO:
                time.sleep(0.001)  # what is typed before it stops to echo is thrown away
            os.write(terminal, line)
            shown = b""
        while block := os.read(terminal, 1024):
            shown += block
    except OSError:  # the other side is closed
        pass
    guard.cancel()
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def test_a_passphrase_is_asked_for_at_a_terminal_and_not_shown(home):
    code, shown = at_a_terminal("keys", "make", "export", typed=[b"secret\n"] * 3)
    assert code == 0
    assert "house/export+" in shown
    assert "secret" not in shown
    assert b"ENCRYPTED" in (home / "keys" / "export.pem").read_bytes()
    assert process("keys", "make", "export").returncode == 2, "nobody is there to be asked"
    assert process("keys", "make", "export", HANSARD_PASSPHRASE="secret").returncode == 0
    assert at_a_terminal("keys", "make", "export", typed=[b"wrong\n"])[0] == 2


@pytest.mark.parametrize("typed", [b"\x03", b"\x04"])
def test_ctrl_c_at_a_prompt_is_one_word(home, typed):
    code, shown = at_a_terminal("keys", "make", "export", typed=[typed])
    assert (code, shown.split()[-1]) == (130, "interrupted")
    assert not home.exists()


def test_a_passphrase_that_is_no_text_of_the_terminals_is_refused(home):
    code, shown = at_a_terminal("keys", "make", "export", typed=[b"caf\xe9\n"])
    assert (code, shown.split()[-1]) == (2, "[key.passphrase]")
    assert not home.exists()


def test_an_answer_that_is_no_text_of_the_terminals_is_asked_for_again(
    hansard, debate, monkeypatch
):
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")  # as in most locales
    hansard("keys", "make", "reviewer")
    command = ("review", debate, "--outcome", "approved", "--reviewer", "Ann")
    code, shown = at_a_terminal(*command, typed=[b"\xe9\n", b"n\n"], hidden=False)
    assert (code, shown.split()[-1]) == (130, "interrupted")


def test_a_key_of_a_token_signs_an_export(hansard, debate, home):
    words = (
        "openssl genpkey -algorithm ed25519 -out token.pem",
        "openssl pkey -in token.pem -pubout -out token.pub",
    )
    for command in words:
        subprocess.run(command.split(), check=True)
    sign = "openssl pkeyutl -sign -rawin -inkey token.pem -in /dev/stdin"
    refused = hansard("export", debate, "-o", "x.zip", "--signer", sign)
    assert refused.err.endswith("[key.missing]\n")
    assert hansard("keys", "import", "export", "token.pub").code == 0
    done = hansard("export", debate, "-o", "x.zip", "--signer", sign)
    assert done.code == 0, done.err
    assert " INTACT " in hansard("verify", "x.zip").out
    wrong = hansard("export", debate, "-o", "y.zip", "--signer", "openssl rand 64")
    assert (wrong.code, wrong.err.split("[")[-1]) == (2, "signer.wrong]\n")
    assert not os.path.exists("y.zip")  # noqa: PTH110


def test_a_pipe_or_a_device_in_place_of_a_file_holds_nothing_up(hansard, zipped, home):
    pipe = zipped.with_name("pipe")
    os.mkfifo(pipe)
    (home / "trust.json").unlink(missing_ok=True)
    os.mkfifo(home / "trust.json")
    for words in (
        ("verify", zipped, "--trust", pipe),
        ("verify", zipped, "--trust", "/dev/zero"),
        ("trust", "--trust", pipe, "list"),
        ("trust", "list"),
        ("verify", pipe),
    ):
        done = hansard(*words)
        assert (done.code, done.out) == (2, ""), words
        assert "file" in done.err
    for file in (pipe, "/dev/zero"):
        assert verify.main([str(zipped), "--trust", str(file)]) == 2


@pytest.mark.skipif(os.name != "posix", reason="modes")
@pytest.mark.parametrize(("mode", "told"), [(0o644, 0), (0o600, 0), (0o664, 1), (0o646, 1)])
def test_a_trust_file_that_others_can_change_is_told_once(hansard, zipped, home, mode, told):
    hansard("keys", "make", "reviewer")
    path = home / "trust.json"
    path.chmod(mode)
    debate = only_debate()
    note = f"Note: others can change {path}, and so whose keys you trust: run `chmod go-w {path}`"
    for words in (
        ("verify", zipped),
        ("status", debate),
        ("list", "--review", "waiting"),
        ("review", debate, "--outcome", "approved", "--reviewer", "Ann"),
        ("outcome", debate, "--label", "right"),
        ("hold", debate),
        ("trust", "list"),
    ):
        done = hansard(*words)
        assert (done.code, done.err.count(note)) == (0, told), words
    code, _, err = run_tool(zipped, "--trust", path)
    assert (code, err.count("verify.py: note: others can change")) == (0, told)
    path.chmod(0o600)
    path.parent.chmod(0o770)
    assert f"Note: others can change {path.parent}" in hansard("trust", "list").err
    assert "verify.py: note: others can change" in run_tool(zipped, "--trust", path)[2]
