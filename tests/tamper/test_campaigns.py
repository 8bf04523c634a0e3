"""A sample of the campaigns, through the code of tools/campaign, which runs them whole."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

import campaigns
import faults
import servers
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


@pytest.fixture
def needs_server():
    """The server's programs: faults of a server are of one that is started for them."""
    if not servers.programs():
        pytest.skip(servers.MISSING)


@pytest.mark.parametrize("part", range(PARTS))
def test_befallen(part):
    trials = [trial for trial in campaigns.faults() if trial.way == "faults"]
    for trial in campaigns.sample(trials, 1, part):
        assert trial.check() > 0, trial.name


@pytest.mark.usefixtures("needs_server")
@pytest.mark.parametrize("part", range(PARTS))
def test_befallen_on_a_server(part):
    trials = [trial for trial in campaigns.faults() if trial.way == "faults on a server"]
    for trial in campaigns.sample(trials, 1, part):
        assert trial.check() > 0, trial.name


def kinds_at(every, played):
    """Each kind that befalls what is played, with the writes that it befalls."""
    found = defaultdict(set)
    for life in (life for name, lives in every if name == played for life in lives):
        found[life.kind].add(life.at)
    return found


def test_what_befalls_is_of_every_kind_at_every_write_of_every_format(process):
    every = list(process.map(faults.lives, range(faults.FILES), chunksize=faults.FILES))
    assert len(every) >= 2_000
    assert {played for played, _ in every} == {*PLAYED, "gate"}
    for played in PLAYED:
        found = kinds_at(every, played)
        assert "file limit" in found
        usual = process.submit(faults.undisturbed, played).result()
        for kind in faults.WRITES:
            assert found[kind] == set(range(1, usual.writes + 1)), (played, kind)


@pytest.mark.usefixtures("needs_server")
def test_every_write_of_every_format_on_a_server_meets_every_kind(process):
    points = process.submit(faults.points).result()
    assert len(points) <= faults.SERVERS
    for played in [*PLAYED, "gate"]:
        found = kinds_at([(name, [faults.Life(*point)]) for name, *point in points], played)
        usual = process.submit(faults.undisturbed, played, served=True).result()
        writes = set(range(1, usual.writes + 1))
        assert found == dict.fromkeys((*faults.WRITES, *faults.SESSIONS), writes)
        assert len(writes) >= (1 if played == "gate" else 4)


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
