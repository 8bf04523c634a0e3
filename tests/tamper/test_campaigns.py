"""A sample of both campaigns, through the code of tools/campaign, which runs them whole."""

import pytest
from playwright._impl._driver import compute_driver_executable

import campaigns

pytestmark = pytest.mark.slow
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
