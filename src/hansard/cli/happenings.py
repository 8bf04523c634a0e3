"""What happens in a debate, one line each, while it happens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from hansard.cli.console import money
from hansard.report import notes, progress
from hansard.report.progress import Progress
from hansard.report.safe import one_line
from hansard.report.words import STOPPED
from hansard.rules.events import Event, SimilarityData, VerdictData, VotesCountedData
from hansard.rules.similarity import MILLION
from hansard.rules.state import DebateState
from hansard.rules.terms import DecisionRule

_LENGTH = 300  # characters of what somebody said
_TOLD = ("similar_wording",)  # notes that say what a line says already


@dataclass(frozen=True, slots=True)
class Happening:
    """One line: the entry it stands for, who acted; and of a turn what marks it, cost and time."""

    seq: int
    who: str
    text: str
    place: str = ""
    mark: str = ""
    cost: str = ""
    time: str = ""


def happenings(state: DebateState, event: Event, rows: Iterable[Progress]) -> Iterator[Happening]:
    """Yield the lines for what an event meant; `state` is the state after it."""
    for row in rows:
        yield from _lines(state, row)
    # Notes that rest on a text would be about one that is gone: none is, while it runs.
    for note in notes.of_event(state, event, lambda _: ""):
        if note.code not in _TOLD:
            who = "critical" if note.severity == "critical" else "control"
            yield Happening(event["seq"], who, note.message)


def _lines(state: DebateState, row: Progress) -> Iterator[Happening]:
    """Yield the lines of one happening; replies and calls that failed have their notes."""
    match row:
        case progress.DebateOpened():
            yield Happening(row.seq, "control", f"debate {row.debate} is open: {row.format}")
        case progress.RoundStarted():
            yield Happening(row.seq, "control", f"round {row.round} begins")
        case progress.Response():
            yield _said(row, row.vote or (f"strength {row.rating}" if row.rating else ""))
        case progress.SynthesisWritten():
            yield _said(row, "")
        case progress.VerdictGiven():
            yield _said(row, _finding(state, row))
            if row.role == "moderator":
                found = cast(VerdictData, state.turns[-1].data)
                yield Happening(row.seq, "count", moderated(found))
        case progress.ToolUsed():
            tool, came = row.tool or "of no known name", "" if row.ok else "; it gave nothing"
            yield Happening(row.seq, "control", f"{row.speaker} used the tool {tool}{came}")
        case progress.VotesCounted():
            yield Happening(row.seq, "count", counted(state.counts[-1]))
        case progress.SimilarityMeasured():
            yield Happening(row.seq, "count", compared(state.similarities[-1]))
        case progress.Decided():
            yield Happening(row.seq, "decision", decided(state, row.decision, row.rule))
        case progress.DebateClosed():
            yield Happening(row.seq, "control", f"{row.outcome}: {STOPPED[row.reason]}")


def _said(
    row: progress.Response | progress.VerdictGiven | progress.SynthesisWritten, mark: str
) -> Happening:
    return Happening(
        row.seq,
        row.speaker,
        one_line(row.text, _LENGTH),
        place=f"round {row.round} {row.phase}",
        mark=mark,
        cost=money(row.cost_micro_usd),
        time=f"{row.latency_ms / 1000:.0f}s",
    )


def _finding(state: DebateState, row: progress.VerdictGiven) -> str:
    """Return a verdict in one word."""
    if row.undeclared:
        return "undeclared"
    winner = _stance(state, row.winner) or row.winner if row.winner else None
    return row.confidence or winner or row.choice or "synthesis"


def _stance(state: DebateState, seat: str) -> str | None:
    """Return the label of the stance that a seat argues."""
    row = state.seats.get(seat)
    return row["stance"]["label"] if row and row["stance"] else None


def decided(state: DebateState, decision: str, rule: DecisionRule) -> str:
    """Say what was decided, who argued it where it is a stance, and under which rule."""
    argued = [f", argued by {seat}" for seat in state.seats if _stance(state, seat) == decision]
    return f"{decision}{''.join(argued)} ({rule})"


def counted(count: VotesCountedData) -> str:
    """Say what was counted after a phase."""
    votes = [f"{row['option']} {row['votes']}" for row in count["tally"] if row["votes"]]
    votes += [f"abstain {count['abstentions']}"] if count["abstentions"] else []
    reached = "reached" if count["reached"] else "not reached"
    where = f"round {count['round']} {count['phase']}"
    return f"{where}: {', '.join(votes)}; threshold {count['threshold']} {reached}"


def compared(found: SimilarityData) -> str:
    """Say how alike the answers of a round are, and whether that ends the rounds."""
    ends = "; the rounds end" if found["converged"] else ""
    if found["measure"] == "options":
        what = "all choose the same" if found["converged"] else "not all choose the same"
    elif not found["pairs"]:
        what = "there are no two answers to compare"
    elif found["measure"] == "whole":
        what = "all answers are the same" if found["converged"] else "not all answers are the same"
    else:
        what = _alike(found)
    return f"round {found['round']}: {what}{ends}"


def _alike(found: SimilarityData) -> str:
    least, limit = min(row["ppm"] for row in found["pairs"]), found["threshold_ppm"]
    if found["converged"]:
        return f"similar wording {share(least)}, all pairs"
    if least < limit:
        return f"similar wording from {share(least)}; {share(limit)} in all pairs ends the rounds"
    differs = any(row["negation_differs"] for row in found["pairs"])
    negated = ", but not all negate equally often" if differs else ""
    return f"similar wording from {share(least)}{negated}"


def share(ppm: int) -> str:
    """Return millionths with two digits, rounded down.

    >>> share(849_999)
    '0.84'
    """
    return f"{ppm * 100 // MILLION / 100:.2f}"


def moderated(found: VerdictData) -> str:
    """Say what a moderator found, in numbers."""
    scores = ", ".join(f"{row['side']} {row['score']}" for row in found["scores"])
    points = f"points resolved {found['resolved']}, open {found['unresolved']}"
    more = "another round wanted" if found["another_round"] else "no further round wanted"
    outcome = ["ranking " + ", ".join(found["ranking"])] if found["ranking"] else []
    if found["upholds"] is not None:
        outcome = ["proposition upheld" if found["upholds"] else "proposition not upheld"]
    uncertain = f"uncertain {found['uncertainties']}"
    return "; ".join([f"scores {scores}", f"{points}, {uncertain}", *outcome, more])
