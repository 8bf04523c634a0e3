"""What the whole records of the tamper tests do not show."""

from exporting import both, first, signed
from hansard.verify.checks import MOST_REJECTED, check_chain, check_lines


def test_lines_that_are_rejected_are_listed_up_to_a_bound():
    for count in (MOST_REJECTED - 1, MOST_REJECTED, MOST_REJECTED + 1):
        events, findings = check_lines([b"x"] * count)
        assert (events, len(findings)) == ([], min(count, MOST_REJECTED))
        found = both(signed({"events.jsonl": b"x\n" * count}))
        assert (first(found), found.entries) == (("4.json", 1), count)


def test_a_chain_that_does_not_begin_is_said_so():
    event = {"seq": 1, "prev": "1" * 64, "debate": "d"}
    (finding,) = check_chain([b"{}"], [event], None)
    assert (finding.code, finding.seq) == ("5.prev", 0)
    assert "does not begin" in finding.message
