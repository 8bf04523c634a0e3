"""What the whole records of the tamper tests do not show."""

from exporting import both, first, signed
from hansard.record.bundle import Bundle
from hansard.record.line import GENESIS
from hansard.verify.checks import MOST_REJECTED, check_chain, check_entries
from hansard.verify.reading import Reading


def test_entries_that_are_rejected_are_listed_up_to_a_bound():
    for count in (MOST_REJECTED - 1, MOST_REJECTED, MOST_REJECTED + 1):
        reading = Reading(Bundle([b"x"] * count, {}, {}))
        assert len([*check_entries(reading)]) == min(count, MOST_REJECTED)
        assert (reading.events, reading.whole) == ([], False)
        found = both(signed({"events.jsonl": b"x\n" * count}))
        assert (first(found), found.entries) == (("4.json", 1), count)


def test_a_chain_that_does_not_begin_is_said_so():
    event = {"seq": 1, "prev": "1" * 64, "debate": "d"}
    (found,) = check_chain(Reading(Bundle([b"{}"], {}, {}), events=[event]))
    assert (found.code, found.seq) == ("5.prev", 0)
    assert (found.expected, found.found) == (GENESIS, "1" * 64)
    assert found.message == "The first entry is linked to an entry before it"
