"""Stances in any script and length are told apart, and none of their words gets into the chain."""

from __future__ import annotations

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.rules.replies import VISIBLE
from hansard.rules.similarity import fold
from support import Debate, Setup, script

HASH = re.compile(r"[0-9a-f]{64}")
FIELDS = {"judged": "debaters", "moderated": "positions"}
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(VISIBLE)
LONG = st.builds(lambda words, times: words * times, WORDS, st.sampled_from((1, 1, 2000)))


@st.composite
def stances(draw):
    """A list of stances that no folding makes equal, and none of which is called as another."""
    rows = draw(st.lists(LONG, min_size=2, max_size=6, unique_by=fold))
    labels = {f"stance_{place}" for place in range(1, 7)}
    return [f"{row}." if fold(row) in labels else row for row in rows]


def chain(format_, rows):
    """The entries of a debate of these stances, without the names of texts and prompts."""
    spec = {FIELDS[format_]: [{"stance": words} for words in rows]}
    debate = Debate(Setup(format_, **spec), script()).run()
    labels = [seat["stance"]["label"] for seat in debate.state.seats.values() if seat["stance"]]
    return labels, HASH.sub("", json.dumps(debate.record.events))


@settings(max_examples=60, deadline=None)
@given(stances(), st.sampled_from(sorted(FIELDS)))
def test_the_chain_is_the_same_whatever_the_words_are(rows, format_):
    plain = [f"The {place}th." for place in range(1, len(rows) + 1)]
    (found, entries), (_, others) = chain(format_, rows), chain(format_, plain)
    labels = [f"stance_{place}" for place in range(1, len(rows) + 1)]
    assert found == labels
    assert entries == others
