"""A sample of the campaigns, through the code of tools/campaign, which runs them whole."""

import subprocess
import sys
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

import campaigns
import faults
from crash.child import PLAYED

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parent.parent
PARTS, ALTERED, KILLED = 2, 5, 2  # trials for each part; a part is a seed


@pytest.mark.parametrize("part", range(PARTS))
def test_altered_entries(records, part):
    node = compute_driver_executable()[0]
    for trial in campaigns.sample(campaigns.mutations(records, node), ALTERED, part):
        assert trial.check() >= 0, trial.name


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_twice(part):
    for trial in campaigns.sample(campaigns.writes(), KILLED, part):
        assert trial.check() > 0, trial.name


def test_every_entry_is_altered_in_every_way_and_every_write_is_a_death(records):
    trials = campaigns.mutations(records, "node")
    assert len({(row.way, row.name) for row in trials}) == len(trials) > 1_500
    assert {row.way for row in trials} == {
        "as it stands",
        "chained anew",
        "signed by a stranger",
        "under the house's manifest",
        "derived, signed by the house",
        "in the page",
    }
    pairs = sum((2 * many) ** 2 for many in campaigns.STORED.values())
    assert len(campaigns.writes()) == pairs


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_any_moment(part):
    for trial in campaigns.sample(campaigns.moments(), 1, part):
        assert trial.check() > 0, trial.name


@pytest.mark.parametrize("part", range(PARTS))
def test_befallen(part):
    for trial in campaigns.sample(campaigns.faults(), 1, part):
        assert trial.check() > 0, trial.name


def test_what_befalls_is_of_every_kind_at_every_write_of_every_format():
    every = [faults.lives(number) for number in range(faults.FAULTS)]
    assert len(every) >= 2_000
    assert {played for played, _ in every} == {*PLAYED, "gate"}
    kinds = {life.kind for _, found in every for life in found}
    assert kinds >= {*faults.WRITES, "file limit"}
    for played in PLAYED:
        writes = range(1, faults.undisturbed(played).writes + 1)
        for kind in faults.WRITES:
            at = {
                life.at
                for name, found in every
                if name == played
                for life in found
                if life.kind == kind
            }
            assert at == set(writes), (played, kind)


SOAKED = """
import soaking
print(*soaking.soak(160).flaws(), sep="\\n")
"""
LEAKING = """
from hansard.runtime import session
kept, run = [], session.run

async def keep(*given, **more):
    kept.append(await run(*given, **more))
    return kept[-1]

session.run = keep
"""


@pytest.mark.parametrize(("before", "flaw"), [("", ""), (LEAKING, "of each debate")])
def test_soaked(before, flaw):
    """In a process of its own: what other tests leave in this one is no matter of it."""
    command = [sys.executable, "-c", before + SOAKED]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert flaw in done.stdout if flaw else done.stdout == "\n"
