"""Sound counting: agreement is earned (RULES.md §6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.rules.counting import RULE_NAMES, needed, tally, winner

OPTIONS = ["release", "revise", "wait"]
VOTES = st.lists(st.sampled_from([*OPTIONS, None]), min_size=1, max_size=12)


def rows(**counts):
    return [{"option": option, "votes": n} for option, n in counts.items()]


@pytest.mark.parametrize(
    ("rule", "debaters", "threshold", "count"),
    [
        *[("threshold", 5, n, n) for n in (1, 3, 5)],
        *[
            ("majority", n, None, half)
            for n, half in {1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 100: 51}.items()
        ],
        *[("unanimity", n, None, n) for n in (1, 2, 7)],
        ("threshold", 5, None, None),
    ],
)
def test_each_rule_needs_a_number_of_registered_debaters(rule, debaters, threshold, count):
    assert needed(rule, debaters, threshold) == count


def test_each_rule_has_its_name_in_the_record():
    assert RULE_NAMES == {
        "threshold": "threshold_vote",
        "majority": "majority_vote",
        "unanimity": "unanimous_vote",
    }


def test_every_option_is_counted_in_declared_order_and_silence_is_an_abstention():
    counts, abstentions = tally(OPTIONS, ["wait", None, "release", "wait", None])
    assert counts == rows(release=1, revise=0, wait=2)
    assert abstentions == 2


def test_a_vote_for_an_undeclared_option_cannot_be_counted():
    with pytest.raises(KeyError):
        tally(OPTIONS, ["abstain"])


@pytest.mark.parametrize(
    ("counts", "threshold", "option"),
    [
        (rows(release=1, revise=2), 2, "revise"),
        (rows(release=1, revise=3), 2, "revise"),
        (rows(release=1, revise=1), 2, None),
        (rows(release=2, revise=2), 2, None),  # a tie is no consensus
        (rows(release=3, revise=2), 2, None),  # two options at the threshold, whichever has more
        (rows(release=2, revise=2, wait=2), 2, None),
        (rows(release=0, revise=0), 1, None),
        ([], 1, None),
    ],
)
def test_one_option_alone_at_the_threshold_wins(counts, threshold, option):
    found = winner(counts, threshold)
    assert (found and found["option"]) == option


@given(VOTES, st.integers(1, 12))
def test_nobody_wins_without_the_votes_that_the_rule_needs(votes, threshold):
    counts, abstentions = tally(OPTIONS, votes)
    assert sum(row["votes"] for row in counts) + abstentions == len(votes)
    at_threshold = [option for option in OPTIONS if votes.count(option) >= threshold]
    found = winner(counts, threshold)
    assert (found and found["option"]) == (at_threshold[0] if len(at_threshold) == 1 else None)


@given(VOTES.flatmap(lambda it: st.tuples(st.just(it), st.permutations(it))), st.integers(1, 12))
def test_the_order_of_debaters_does_not_matter(both, threshold):
    first, second = (tally(OPTIONS, votes) for votes in both)
    assert first == second


@given(VOTES, st.permutations(OPTIONS), st.integers(1, 12))
def test_the_order_of_options_does_not_matter_for_who_wins(votes, options, threshold):
    assert winner(tally(OPTIONS, votes)[0], threshold) == winner(
        tally(options, votes)[0], threshold
    )


@given(VOTES, st.sampled_from(["majority", "unanimity"]))
def test_majority_and_unanimity_are_over_all_registered_and_never_tie(votes, rule):
    threshold = needed(rule, len(votes), None)
    assert threshold > len(votes) / 2
    assert sum(votes.count(option) >= threshold for option in OPTIONS) <= 1
    assert needed("unanimity", len(votes), None) == len(votes)
