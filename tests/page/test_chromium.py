"""How a fresh machine gets a browser, and what is said where it cannot have one."""

import os
import sys

import pytest

import chromium
from hansard.page.printing import flags

INSTALLS = (
    "[ $1 = update ] || "
    "{ echo > $0.d/chromium-headless-shell; /bin/chmod +x $0.d/chromium-headless-shell; }"
)
FAILS = "echo E: no network; exit 100"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of root's with an apt-get that does what it is told, and nothing else."""
    (tmp_path / "apt-get.d").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{tmp_path / 'apt-get.d'}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("HANSARD_CHROMIUM", raising=False)

    def apt(does):
        log = tmp_path / "log"
        log.touch()
        (tmp_path / "apt-get").write_text(f'#!/bin/sh\necho "$@" >> {log}\n{does}\n')
        (tmp_path / "apt-get").chmod(0o755)
        return log

    return apt


def test_it_is_installed_where_none_is(machine, capsys):
    log = machine(INSTALLS)
    assert chromium.find() is None
    assert chromium.main() == 0
    said, path = capsys.readouterr().out.splitlines()
    assert said == "no Chromium found: installing Debian's package chromium-headless-shell …"
    assert path == chromium.find()
    assert log.read_text().splitlines() == [
        "update -qq",
        "install -y -qq --no-install-recommends chromium-headless-shell",
    ]
    assert chromium.main() == 0
    assert capsys.readouterr().out.splitlines() == [path]
    assert len(log.read_text().splitlines()) == 2


def test_what_kept_it_from_being_installed_is_said(machine, capsys):
    machine(FAILS)
    assert chromium.main() == 1
    out = capsys.readouterr().out
    assert "E: no network" in out
    assert out.endswith(f"{chromium.MISSING}\n")


def test_nobody_but_root_installs(machine, monkeypatch, capsys):
    log = machine(INSTALLS)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert chromium.main() == 1
    assert capsys.readouterr().out == f"{chromium.MISSING}\n"
    assert log.read_text() == ""
    assert flags() == []


def test_without_apt_get_nothing_is_installed(machine, capsys):
    assert chromium.main() == 1
    assert capsys.readouterr().out == f"{chromium.MISSING}\n"


def test_one_may_be_named(machine, monkeypatch, capsys):
    monkeypatch.setenv("HANSARD_CHROMIUM", sys.executable)
    assert chromium.main() == 0
    assert capsys.readouterr().out == f"{sys.executable}\n"
