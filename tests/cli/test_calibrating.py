"""`calibrate`: records of both arms and their outcomes, up to a policy that can be signed."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import yaml

import hansard as library
from hansard.api.trust import read_draft
from hansard.runtime.clock import Clock
from hansard.schemas import render
from hansard.store import projection
from hansard.store.rows import Row

SPEC = {
    "format": "panel",
    "agents": 2,
    "rounds": 1,
    "question": "Do we sign?",
    "model": "python:ask",
    "task_type": "contract",
    "gate": {"downside": 100, "threshold": 1, "confidence": 0.6},
}
MODELS = {"ask": lambda request: "Because."}


@pytest.fixture
def store(home):
    with library.open_store("sqlite:///hansard.db") as opened:
        yield opened


def note(store, labels, *, debated):
    for label in labels:
        if debated:
            made = library.run_sync(SPEC, models=MODELS, store=store)
        else:
            made = library.ask_gate(SPEC, store=store)
        library.note_outcome(made.debate, label, store=store)


def keep(store, n, label, *, debated, policy=None, **changes):
    """Rows as the projection has them of as many records: what is calibrated is read from them."""
    rows = store.projection
    with rows._tables.transaction() as c:
        c.execute("SELECT count(*) FROM projected", ())
        first = 1_000_000 + c.fetchone()[0]
        for place in range(first, first + n):
            projected = Row(
                debate=f"00000000-0000-4000-8000-{place:012}",
                state="closed" if debated else "gate",
                opened_at="2026-07-01T00:00:00.000000Z",
                format="panel" if debated else None,
                task_type="contract",
                scripted=False if debated else None,
                cost=1_000_000 if debated else None,
                policy=policy,
                advised=True,
                confidence=600_000,
                downside=100_000_000,
                threshold=1_000_000,
                outcomes=label,
            )
            projection._replace(rows._tables, c, place, replace(projected, **changes))


def test_records_of_both_arms_count_with_their_outcomes(hansard, store):
    note(store, ["right", "wrong"], debated=True)
    note(store, ["wrong", "met"], debated=False)
    library.run_sync({**SPEC, "gate": None}, models=MODELS, store=store)
    done = hansard("calibrate", "--json")
    found = json.loads(done.out)
    jsonschema.validate(found, json.loads(render("calibration")))
    assert (done.code, found["result"], found["unnoted"]) == (1, "too few to tell", 1)
    (band,) = [row for row in found["bands"] if row["debated"]["n"]]
    assert (band["confidence"], band["debated"]["right"]) == ("0.5 to 0.7", 1)
    assert (band["undebated"]["n"], band["undebated"]["right"]) == (1, 0)
    done = hansard("calibrate")
    assert "it needs 18 more with a debate and 19 more without a debate" in " ".join(
        done.out.split()
    )
    assert "the default: no policy of this store names one" in done.out
    row = json.loads(hansard("calibrate", "--json", "--right", "met", "--right", "right").out)
    assert row["undebated"] == 2
    rows = list(csv.DictReader(hansard("calibrate", "--csv").out.splitlines()))
    assert len(rows) == 10
    assert rows[2] == {
        "confidence": "0.5 to 0.7", "arm": "debated", "n": "2", "right": "1", "accuracy": "0.5",
        "cost_micro_usd": "",
    }  # fmt: skip


def test_too_little_data_writes_no_policy(hansard, store, folder):
    note(store, ["right"], debated=True)
    done = hansard("calibrate", "-o", "policy.yaml")
    assert done.code == 1
    assert "nothing: too few noted questions" in done.out
    assert not (folder / "policy.yaml").exists()
    assert hansard("calibrate", "--right", "wrong").err.endswith("[calibrate.labels]\n")
    assert hansard("calibrate", "--since", "soon").err.endswith("[list.time]\n")


def test_a_proposed_factor_comes_as_a_policy_that_can_be_signed(hansard, store):
    for n, label, debated in ((36, "right", True), (4, "wrong", True), (28, "right", False),
                              (12, "wrong", False)):  # fmt: skip
        keep(store, n, label, debated=debated)
    done = hansard("calibrate", "-o", "draft.yaml")
    assert done.code == 0
    words = " ".join(done.out.split())
    assert "gate_factor 5 = 1.00 / 0.200" in words
    assert "40 noted debates were right +20.0 points more often than 40 answers" in words
    assert "no lot was drawn" in words
    assert "hansard policy approve draft.yaml" in done.err
    text = Path("draft.yaml").read_text()
    draft = yaml.safe_load(text)
    assert text.startswith("# gate_factor 5 in place of 50: 40 noted debates")
    assert draft["*"]["gate_factor"] == 5
    assert "panel.debater" in draft
    assert hansard("policy", "approve", "draft.yaml", "-o", "policy").code == 0
    again = hansard("calibrate", "-o", "draft.yaml")
    assert (again.code, "exists" in again.err) == (2, True)


def test_the_policy_in_force_is_the_base_and_is_due_after_a_quarter(hansard, store, monkeypatch):
    """The draft has all lines of the policy, and the new factor wherever it had one."""
    Path("mine.yaml").write_text(
        '"*": {gate_factor: 40, require: [owner, gate]}\npanel: {gate_factor: 30, max_calls: 9}\n'
    )
    assert hansard("policy", "approve", "mine.yaml", "-o", "policy").code == 0
    policy = library.read_policy("policy", library.open_keyring().trust())
    keep(store, 25, "right", debated=True, policy=policy.hash)
    keep(store, 25, "wrong", debated=False)
    monkeypatch.setattr(type(store), "bundle", lambda self, debate: _Holding(policy))
    now = Clock().now()
    for opened_at, due in ((now, False), ("2026-01-01T00:00:00.000000Z", True)):
        with store.projection._tables.transaction() as c:
            c.execute("UPDATE projected SET opened_at = ?", (opened_at,))
        found = json.loads(hansard("calibrate", "--json").out)
        assert (found["factor"], found["policy"], found["due"]) == (40, policy.hash, due)
        assert found["approved"] == opened_at
    words = " ".join(hansard("calibrate", "-o", "draft.yaml").out.split())
    assert f"gate_factor 40 of policy {policy.hash[:8]}, approved by 2026-01-01; review it" in words
    lines = {str(line) for line in read_draft("draft.yaml")}
    assert lines == {
        "* gate_factor 1", "* require owner", "* require gate", "panel gate_factor 1",
        "panel max_calls 9",
    }  # fmt: skip
    given = hansard("calibrate", "--policy", "policy", "--json")
    assert json.loads(given.out)["factor"] == 40


class _Holding:
    def __init__(self, policy):
        self.policies = {policy.hash: policy.data}


def test_what_is_scripted_open_altered_or_of_another_time_or_type_does_not_count(hansard, store):
    keep(store, 2, "right", debated=True)
    for changes in (
        {"scripted": True},
        {"state": "open"},
        {"state": "altered"},
        {"advised": None},
        {"opened_at": "2026-01-01T00:00:00.000000Z"},
        {"opened_at": "2026-08-01T00:00:00.000000Z"},
        {"task_type": "security"},
    ):
        keep(store, 1, "wrong", debated=True, **changes)
    wanted = ("--since", "2026-07", "--until", "2026-07", "--task-type", "contract")
    found = json.loads(hansard("calibrate", "--json", *wanted).out)
    assert (found["bands"][1]["debated"]["n"], found["unnoted"]) == (2, 0)


def test_what_was_changed_in_the_projection_is_refused(hansard, store):
    keep(store, 1, "right", debated=True)
    with store.projection._tables.transaction() as c:
        c.execute("UPDATE projected SET cost = 'x'", ())
    done = hansard("calibrate")
    assert (done.code, "[store.corrupt]" in done.err) == (2, True)
