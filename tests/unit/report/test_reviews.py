"""What people wrote of a debate, on the lines that say what became of it."""

from hansard.report.outcome import rows
from reporting import of
from reviewing import redact, review
from support import Debate, Setup, votes

LONG = "so it is " * 20_000


def test_a_line_is_no_longer_whatever_they_wrote():
    """Each of a thousand reviews may name one text of a hundred megabytes, twenty times."""
    debate = Debate(Setup(), votes(planner="release", critic="release", operator="revise")).run()
    review(debate, "conditions", reviewer=debate.record.blob(LONG), conditions=[LONG, LONG])
    redact(debate, 1, "question", reason=debate.record.blob(LONG), basis=debate.record.blob(LONG))
    result = of(debate)
    found = [row for row in rows(result, result.display) if "so it is so" in row.text]
    assert [row.name for row in found] == ["Review", "Condition", "Condition", "Erased"]
    assert max(len(row.text) for row in found) < 3_000
