"""Entries are numbered and linked by their bytes, and their times never go back."""

import json
from hashlib import sha256

import pytest

from hansard.errors import DataError
from hansard.record.chain import Chain

DEBATE = "5c1d3e0a-1111-4111-8111-111111111111"
EARLY, LATE = "2026-11-21T20:16:03.000000Z", "2026-11-21T20:16:04.000000Z"


def test_the_first_entry_begins_the_chain_and_each_later_one_links_to_the_one_before():
    chain = Chain(DEBATE)
    prev = "0" * 64
    for seq in (1, 2, 3):
        entry, line = chain.add("debate.resumed", {"engine": f"hansard/{seq}"}, EARLY)
        assert json.loads(line) == entry
        assert entry == {
            "v": 1,
            "debate": DEBATE,
            "seq": seq,
            "type": "debate.resumed",
            "at": EARLY,
            "prev": prev,
            "data": {"engine": f"hansard/{seq}"},
        }
        prev = sha256(line).hexdigest()
    assert (chain.seq, chain.prev, chain.at) == (3, prev, EARLY)


def test_a_chain_goes_on_where_another_ended():
    first = Chain(DEBATE)
    first.add("debate.resumed", {"engine": "a"}, EARLY)
    other = Chain(DEBATE, seq=first.seq, prev=first.prev, at=first.at)
    expected = first.add("debate.resumed", {"engine": "b"}, LATE)
    assert other.add("debate.resumed", {"engine": "b"}, LATE) == expected


def test_a_clock_that_goes_back_moves_no_entry_before_another():
    chain = Chain(DEBATE)
    chain.add("debate.resumed", {"engine": "a"}, LATE)
    assert chain.time(EARLY) == LATE
    entry, _ = chain.add("debate.resumed", {"engine": "a"}, EARLY)
    assert entry["at"] == LATE


def test_what_no_line_can_hold_takes_no_place():
    chain = Chain(DEBATE)
    with pytest.raises(DataError) as caught:
        chain.add("debate.resumed", {"engine": "two words"}, EARLY)
    assert caught.value.code == "4.profile"
    assert (chain.seq, chain.at) == (0, "")
