"""Chromium at the other end: what it is given, and what is said where it makes no PDF."""

import sys
import tempfile
import time
from pathlib import Path

import pytest

from hansard.errors import UsageError
from hansard.page import printing
from hansard.page.printing import MISSING, find, print_page
from instant import GUARD


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """Name a program that does this, and give it no other folder than one that is looked at."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))

    def named(does):
        program = tmp_path / "browser"
        program.write_text(f"#!/bin/sh\n{does}\n")
        program.chmod(0o755)
        monkeypatch.setenv("HANSARD_CHROMIUM", str(program))

    return named


def refused():
    with pytest.raises(UsageError) as error:
        print_page(b"<p>")
    return error.value.code, str(error.value)


def is_alive(pid):
    """Whether a process runs: one that ended may wait for whoever started it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_where_there_is_no_disk_it_says_so(browser, monkeypatch, tmp_path):
    browser("exit 0")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    code, said = refused()
    assert code == "system.temporary"
    assert said.startswith("no temporary file can be written (No such file or directory): ")


def test_where_there_is_none_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delenv("HANSARD_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find() is None
    assert refused() == ("pdf.browser", f"{MISSING}; or print the page from another browser")


def test_one_that_cannot_be_started(monkeypatch, tmp_path):
    monkeypatch.setenv("HANSARD_CHROMIUM", str(tmp_path / "none"))
    code, said = refused()
    assert code == "pdf.browser"
    assert f"{tmp_path / 'none'} cannot be started: No such file" in said


def test_one_that_ends_or_says_nonsense(browser, tmp_path):
    for does in ("exit 0", "printf '{}\\0' >&4; exit 0"):
        browser(does)
        code, said = refused()
        assert (code, "it ended" in said) == ("pdf.failed", True)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_one_that_never_answers(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(printing, "_MOST_SECONDS", 0.1)
    browser("exec sleep 600")
    code, said = refused()
    assert (code, "was not done within" in said) == ("pdf.failed", True)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_one_that_takes_too_much_memory(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(printing, "_MOST_MEMORY", 2**27)
    monkeypatch.setattr(printing, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(printing, "_MOST_SECONDS", GUARD)
    script = "import time; held = bytearray(b'x') * 2**28; time.sleep(600)"
    browser(f'{sys.executable} -c "{script}" & wait')
    code, said = refused()
    assert (code, "it took more than 128 MiB of memory" in said) == ("pdf.failed", True)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_all_that_it_started_ends_with_it(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(printing, "_MOST_BYTES", 9)
    browser(f"sleep 600 & echo $! $$ > {tmp_path}/pids; echo more than nine bytes >&4; wait")
    code, said = refused()
    assert (code, "more than 9 bytes" in said) == ("pdf.failed", True)
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    until = time.monotonic() + GUARD  # they were killed, which takes the system a moment
    while any(map(is_alive, pids)):
        assert time.monotonic() < until


def test_it_is_told_no_secret_and_has_a_folder_of_its_own(browser, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    browser(f'env > {tmp_path}/env; echo "$@" > {tmp_path}/words')
    refused()
    env = dict(row.split("=", 1) for row in (tmp_path / "env").read_text().splitlines())
    assert "OPENAI_API_KEY" not in env
    assert env["HOME"] == env["TMPDIR"]
    assert Path(env["HOME"]).parent == tmp_path / "tmp"
    words = (tmp_path / "words").read_text()
    assert f"--user-data-dir={env['HOME']}/profile" in words
    assert "--disable-background-networking" in words
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in words
