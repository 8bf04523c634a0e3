"""`retention`: how long debates are kept, by class, and which are due to go."""

import json
from pathlib import Path

import jsonschema
import pytest

import hansard as library
from cli_support import write_debate
from formats import NAMES
from hansard.runtime.clock import Clock
from hansard.schemas import render

VOTES = dict.fromkeys(NAMES, "release")
SAID = ("--reason", "Kept.", "--basis", "class", "--asked-by", "the officer", "--yes")


def at(monkeypatch, day):
    monkeypatch.setattr(Clock, "now", lambda _: f"{day}T00:00:00.000000Z")


@pytest.fixture
def kept(hansard, monkeypatch):
    """Three debates of two classes and one of none, held on the first days of 2026."""
    found = []
    for day, name in enumerate(("claims", "claims", "pricing", None), 1):
        at(monkeypatch, f"2026-01-0{day}")
        write_debate(VOTES, **({"retention": name} if name else {}))
        hansard("run", "debate.yaml")
        found.append(json.loads(hansard("list", "--json").out)["debates"][-1]["debate"])
    terms = {"*": {"retention": ["claims:30", "pricing:60"]}, "panel": {"retention": ["claims:10"]}}
    signed = library.approve_policy(library.open_keyring().signer("approval"), terms)
    Path("policy").write_bytes(signed)
    return found


def listed(hansard, code):
    done = hansard("retention", "--policy", "policy", "--json")
    assert done.code == code
    found = json.loads(done.out)
    jsonschema.validate(found, json.loads(render("retention")))
    return {row["retention"]: row for row in found["classes"]}


def test_a_debate_is_due_once_its_days_have_passed(hansard, kept, monkeypatch):
    at(monkeypatch, "2026-01-30")
    rows = listed(hansard, 0)
    assert list(rows) == ["claims", "pricing", None]
    assert [(row["days"], row["debates"], row["next"]) for row in rows.values()] == [
        (30, 2, "2026-01-31"),
        (60, 1, "2026-03-04"),
        (None, 1, None),
    ]
    at(monkeypatch, "2026-02-01")  # they ended shortly after midnight
    rows = listed(hansard, 1)
    assert rows["claims"]["due"] == kept[:1]
    assert rows["claims"]["next"] == "2026-02-01"
    done = hansard("retention", "--policy", "policy")
    assert done.code == 1
    assert "claims      2 debates, kept 30 days, 1 due, next on 2026-02-01\n" in done.out
    assert f"1 debate due: {kept[0]}" in done.out
    assert f"redact {kept[0][:8]} --all --dry-run" in done.out
    at(monkeypatch, "2027-01-01")
    rows = listed(hansard, 1)
    assert [row["due"] for row in rows.values()] == [kept[:2], kept[2:3], []]


def test_without_a_policy_nothing_is_due(hansard, kept, monkeypatch):
    at(monkeypatch, "2999-01-01")
    done = hansard("retention")
    assert done.code == 0
    assert done.out.count("no policy says how long") == 3


def test_a_hold_keeps_and_what_was_erased_is_not_due_again(hansard, kept, monkeypatch):
    at(monkeypatch, "2026-06-01")
    hansard("hold", kept[0], "--reason", "inquiry")
    row = listed(hansard, 1)["claims"]
    assert (row["held"], row["due"]) == (1, kept[1:2])
    assert hansard("redact", kept[1], "--all", *SAID).code == 0
    row = listed(hansard, 1)["claims"]
    assert (row["debates"], row["held"], row["due"]) == (1, 1, [])
    hansard("hold", kept[0], "--lift")
    assert listed(hansard, 1)["claims"]["due"] == kept[:1]


def test_an_open_debate_is_never_due(hansard, kept, monkeypatch):
    at(monkeypatch, "2999-01-01")
    assert sum(row["debates"] for row in listed(hansard, 1).values()) == len(kept)
