"""What the whole records of the tamper tests do not show."""

from typing import cast

from exporting import both, first, signed
from hansard.record.bundle import Bundle
from hansard.record.canonical import dump
from hansard.record.line import GENESIS
from hansard.rules.events import Event
from hansard.verify.checks import check_chain, check_entries
from hansard.verify.reading import Reading
from hansard.verify.verifier import MOST_LISTED


def test_findings_are_listed_up_to_a_bound_and_counted_beyond_it():
    for count in (MOST_LISTED - 1, MOST_LISTED, MOST_LISTED + 1):
        reading = Reading(Bundle([b"x"] * count, {}, {}))
        assert len([*check_entries(reading)]) == count
        assert (len(reading.events), reading.whole) == (0, False)
        found = both(signed({"events.jsonl": b"x\n" * count}))
        assert (first(found), found.entries) == (("4.json", 1), count)
        assert len(found.findings) == min(count, MOST_LISTED)
        assert f"{count - 1} more" in found.checks[3].evidence


def test_a_chain_that_does_not_begin_is_said_so():
    event = {"seq": 1, "prev": "1" * 64, "debate": "d"}
    reading = Reading(Bundle([dump(event)], {}, {}))
    reading.events.take(cast(Event, event))
    (found,) = check_chain(reading)
    assert (found.code, found.seq) == ("5.prev", 0)
    assert (found.expected, found.found) == (GENESIS, "1" * 64)
    assert found.message == "The first entry is linked to an entry before it"
