"""How a fresh machine gets browsers, and what is said where it cannot have one."""

import os
import sys

import pytest

import browsers
from hansard.page.printing import flags

INSTALLS = """[ $1 = update ] || for name; do
  case $name in webkit2gtk-driver) name=WebKitWebDriver ;; xvfb) name=Xvfb ;; esac
  echo > $0.d/$name; /bin/chmod +x $0.d/$name
done"""
UPDATE, INSTALL = "update -qq", "install -y -qq --no-install-recommends"
WITHOUT = "no {} found: install one (Debian: apt-get install --no-install-recommends {})"
OTHERS = [
    WITHOUT.format("Firefox", "firefox-esr"),
    WITHOUT.format("WebKitGTK", "webkit2gtk-driver xvfb"),
]
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


def test_they_are_installed_where_none_is(machine, capsys):
    log = machine(INSTALLS)
    assert browsers.find() is None
    assert browsers.main() == 0
    *said, firefox, webkit, path = capsys.readouterr().out.splitlines()
    assert said == [
        "no Chromium found: installing Debian's chromium-headless-shell …",
        "no Firefox found: installing Debian's firefox-esr …",
        "no WebKitGTK found: installing Debian's webkit2gtk-driver and xvfb …",
    ]
    assert path == browsers.find()
    assert firefox.endswith("/firefox-esr")
    assert [name.rpartition("/")[2] for name in webkit.split(" and ")] == [
        "WebKitWebDriver",
        "Xvfb",
    ]
    assert log.read_text().splitlines() == [
        UPDATE,
        f"{INSTALL} chromium-headless-shell",
        f"{INSTALL} firefox-esr",
        f"{INSTALL} webkit2gtk-driver xvfb",
    ]
    assert browsers.main() == 0
    assert capsys.readouterr().out.splitlines() == [firefox, webkit, path]
    assert len(log.read_text().splitlines()) == 4


def test_chromium_is_enough(machine, capsys):
    machine(f'case "$*" in update*|*chromium*) {INSTALLS} ;; *) {FAILS} ;; esac')
    assert browsers.main() == 0
    out = capsys.readouterr().out
    assert out.count("E: no network") == 2
    assert out.splitlines()[-3:] == [*OTHERS, browsers.find()]


def test_what_kept_them_from_being_installed_is_said(machine, capsys):
    machine(FAILS)
    assert browsers.main() == 1
    out = capsys.readouterr().out
    assert "E: no network" in out
    assert out.splitlines()[-3:] == [*OTHERS, browsers.MISSING]


def test_nobody_but_root_installs(machine, monkeypatch, capsys):
    log = machine(INSTALLS)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert browsers.main() == 1
    assert capsys.readouterr().out.splitlines() == [*OTHERS, browsers.MISSING]
    assert log.read_text() == ""
    assert flags() == []


def test_without_apt_get_nothing_is_installed(machine, capsys):
    assert browsers.main() == 1
    assert capsys.readouterr().out.splitlines() == [*OTHERS, browsers.MISSING]


def test_one_may_be_named(machine, monkeypatch, capsys):
    monkeypatch.setenv("HANSARD_CHROMIUM", sys.executable)
    assert browsers.main() == 0
    assert capsys.readouterr().out.splitlines() == [*OTHERS, sys.executable]
