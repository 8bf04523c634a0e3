"""What happens in a debate, one line each, while it happens.

One row of `_LINES` a type of `Progress`; what has no row there is told by its notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from hansard.report import notes, progress
from hansard.report.formats import notings
from hansard.report.progress import Progress
from hansard.report.safe import one_line
from hansard.report.sentences import compared, decided, moderated, stance_of
from hansard.rules.data import VerdictData
from hansard.rules.events import Event
from hansard.rules.state import DebateState

_LENGTH = 300  # characters of what somebody said
_TOLD = ("similar_wording",)  # notes that say what a line says already


@dataclass(frozen=True, slots=True)
class Happening:
    """One line: the entry it stands for, and who acted; of a turn, what marks it.

    What the call of a turn cost is in micro-US-dollars, None where nobody knows;
    how long it took in milliseconds. `place` is empty for what is not a turn.
    """

    seq: int
    who: str
    text: str
    place: str = ""
    mark: str = ""
    cost_micro_usd: int | None = None
    latency_ms: int = 0


def happenings(state: DebateState, event: Event, rows: Iterable[Progress]) -> Iterator[Happening]:
    """Yield the lines for what an event meant; `state` is the state after it."""
    for row in rows:
        lines = _LINES.get(type(row))
        if lines:
            yield from lines(state, row)
    # Notes that rest on a text would be about one that is gone: none is, while it runs.
    own = notings(state.spec["terms"]["format"])
    for note in notes.of_event(state, event, lambda _: "", own):
        if note.code not in _TOLD:
            who = "critical" if note.severity == "critical" else "control"
            yield Happening(event["seq"], who, note.message)


def _response(_: DebateState, row: progress.Response) -> Iterator[Happening]:
    yield _said(row, row.mark)


def _verdict(state: DebateState, row: progress.VerdictGiven) -> Iterator[Happening]:
    yield _said(row, _finding(state, row))
    if row.role == "moderator":  # the turn that was just recorded, also of a neutrality check
        yield Happening(row.seq, "count", moderated(cast(VerdictData, state.turns[-1].data)))


def _said(
    row: progress.Response | progress.VerdictGiven | progress.SynthesisWritten, mark: str
) -> Happening:
    return Happening(
        row.seq,
        row.speaker,
        one_line(row.text, _LENGTH),
        place=f"round {row.round} {row.phase}",
        mark=mark,
        cost_micro_usd=row.cost_micro_usd,
        latency_ms=row.latency_ms,
    )


def _finding(state: DebateState, row: progress.VerdictGiven) -> str:
    """Return a verdict in one word."""
    named = stance_of(state, row.winner) if row.winner and not row.confidence else None
    return named or row.mark


def _line(who: str, text: Callable[[DebateState, Any], str]) -> Callable[..., Iterator[Happening]]:
    """Return what yields one line without a place."""

    def line(state: DebateState, row: Any) -> Iterator[Happening]:
        yield Happening(row.seq, who, text(state, row))

    return line


def _told(_: DebateState, row: Progress) -> str:
    return row.told


_LINES: Mapping[type[Progress], Callable[[DebateState, Any], Iterator[Happening]]] = {
    progress.DebateOpened: _line("control", _told),
    progress.RoundStarted: _line("control", _told),
    progress.Response: _response,
    progress.SynthesisWritten: lambda _, row: iter([_said(row, "")]),
    progress.VerdictGiven: _verdict,
    progress.ToolUsed: _line("control", _told),
    progress.VotesCounted: _line("count", _told),
    progress.SimilarityMeasured: _line("count", lambda state, _: compared(state.similarities[-1])),
    progress.Decided: _line(
        "decision", lambda state, row: decided(state, row.decision, row.rule, row.text)
    ),
    progress.DebateClosed: _line("control", _told),
}
