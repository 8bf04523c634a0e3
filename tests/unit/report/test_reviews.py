"""What people wrote of a debate, on the lines that say what became of it."""

from gating import recorded
from hansard.report import acting, erasing, gated, reviews
from hansard.report.outcome import rows
from hansard.report.parts import NotedOutcome
from hansard.report.safe import one_line
from hansard.rules.events import parse
from reporting import of
from reviewing import redact, review
from support import Debate, Setup, votes

LONG = "so it is " * 20_000
BLANKS = " " * 20_000  # of which a line shows as little as of none, however much of them is read


def count_reading(monkeypatch):
    """A list of the texts that are cut from now on."""
    read = []
    for module in (acting, erasing, gated, reviews):
        monkeypatch.setattr(module, "one_line", lambda *row: read.append(row[0]) or one_line(*row))
    return read


def test_a_line_is_no_longer_whatever_they_wrote():
    """Each of a thousand reviews may name one text of a hundred megabytes, twenty times."""
    debate = Debate(Setup(), votes(planner="release", critic="release", operator="revise")).run()
    review(debate, "conditions", reviewer=debate.record.blob(LONG), conditions=[LONG, LONG])
    redact(debate, 1, "question", reason=debate.record.blob(LONG), basis=debate.record.blob(LONG))
    result = of(debate)
    found = [row for row in rows(result, result.display) if "so it is so" in row.text]
    assert [row.name for row in found] == ["Review", "Condition", "Condition", "Erased"]
    assert max(len(row.text) for row in found) < 3_000


def test_blanks_are_read_once_however_often_they_are_named(monkeypatch):
    """Of sixty megabytes of them 20,000 conditions would take hours."""
    debate = Debate(Setup(), votes(planner="release", critic="release", operator="revise")).run()
    blanks = debate.record.blob(BLANKS)
    for place, field in ((1, "question"), (1, "review")):
        review(debate, "conditions", conditions=[BLANKS, BLANKS])
        review(debate, "rejected", reviewer=blanks)
        redact(debate, place, field, reason=blanks, basis=blanks, asked_by=blanks)
    result = of(debate)
    read = count_reading(monkeypatch)
    told = [row.text for row in rows(result, result.display) if row.name in ("Condition", "Erased")]
    assert len(told) == 6
    assert read.count(BLANKS) == 3  # as condition, of an erasure, as the name of one who rejects
    read.clear()
    assert "“”" in acting.acting(result).sentence
    assert read.count(BLANKS) == 1


def test_blanks_are_read_once_however_often_outcomes_of_a_gate_name_them(monkeypatch):
    rows_of = [NotedOutcome(seq=seq, at="", label="right", note=BLANKS, key=None) for seq in (2, 3)]
    found = gated.build(map(parse, recorded().lines), lambda _: "so", reviews.Reader())
    people = found.reviewed.model_copy(update={"outcomes": tuple(rows_of)})
    read = count_reading(monkeypatch)
    told = [words for _, words in gated.rows(found.model_copy(update={"reviewed": people}))]
    assert told.count("right:  (unsigned)") == 2
    assert read.count(BLANKS) == 1
