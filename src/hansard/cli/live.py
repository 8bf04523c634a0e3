"""The live view: what happens scrolls by; on a terminal, where the debate stands is below it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from hansard.cli.console import is_terminal, money, style_of
from hansard.cli.happenings import Happening, compared, happenings, moderated
from hansard.report.progress import Follower
from hansard.report.words import ERRORS
from hansard.rules import spending, steps
from hansard.rules.events import Event
from hansard.rules.formats import most_turns
from hansard.rules.state import DebateState, speaker_of, step_of

_STYLES = {"control": "yellow", "count": "dim", "decision": "bold", "critical": "bold red"}
_MARKS = ("strength 10",)  # the longest of those that every debate may have


class View:
    """Shows a debate event by event.

    `pause` lets each speaker be seen for so many seconds, where replies come
    faster than people read.
    """

    def __init__(self, console: Console, pause: float = 0) -> None:
        self.debate = Follower()
        self._console = console
        self._pause = pause
        self._began = time.monotonic()
        self._pauses: dict[str, _Pause] = {}  # by step
        self._watched = True  # until a pipe is closed
        watched = is_terminal(stderr=console.stderr) and not console.is_dumb_terminal
        self._live = (
            Live(console=console, transient=True, refresh_per_second=8) if watched else None
        )

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the standing off the terminal; what scrolled by remains."""
        if self._live:
            self._live.stop()

    def observe(self, event: Event, texts: Mapping[str, str]) -> None:
        """Show what happened just now."""
        rows = self.debate.follow(event, texts)
        self._keep_pauses(event)
        for happening in happenings(self.debate.state, event, rows):
            if self._live:
                self._console.print(self._row(happening))
            elif self._watched:
                try:
                    self._console.print(Text(_plain(happening)))
                except BrokenPipeError:  # nobody reads on, but the debate is being paid for
                    self._watched = False
        if self._live:
            if self.debate.state.seated:
                pauses = [*self._pauses.values()]
                standing = _standing(self.debate.state, self._began, pauses)
                self._live.update(standing, refresh=True)
            if event["type"] == "call.started":
                time.sleep(self._pause)

    def _keep_pauses(self, event: Event) -> None:
        """Keep which steps wait before they are tried again."""
        if event["type"] == "call.started":
            self._pauses.pop(event["data"]["step"], None)
        elif event["type"] == "call.failed":
            data = event["data"]
            if data["again"] and data["wait_ms"]:
                step = step_of(data["call"])
                end = time.monotonic() + data["wait_ms"] / 1000
                self._pauses[step] = _Pause(speaker_of(step), end, ERRORS[data["error"]])

    def _row(self, row: Happening) -> Table:
        seats = list(self.debate.state.seats)
        options = _options(self.debate.state)
        style = _STYLES.get(row.who, "")
        grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
        grid.add_column(width=5, justify="right", style="dim")
        grid.add_column(width=_width([*seats, *_STYLES]), no_wrap=True, overflow="ellipsis")
        grid.add_column(ratio=1, no_wrap=bool(row.place), overflow="ellipsis")
        cells = [
            Text(f"#{row.seq}"),
            Text(row.who, style=style or f"bold {style_of(row.who, seats)}"),
            Text(row.text, style=style),
        ]
        if row.place:
            grid.add_column(width=_width([*options, *_MARKS]), no_wrap=True, overflow="ellipsis")
            grid.add_column(width=7, justify="right", style="dim")
            grid.add_column(width=4, justify="right", style="dim")
            cells += [Text(row.mark, style=style_of(row.mark, options, options=True))]
            cells += [Text(row.cost), Text(row.time)]
        grid.add_row(*cells)
        return grid


def _plain(row: Happening) -> str:
    if not row.place:
        return f"#{row.seq} {row.who}: {row.text}"
    mark = f" -> {row.mark}" if row.mark else ""
    return f"#{row.seq} {row.place} {row.who}{mark}: {row.text} ({row.cost}, {row.time})"


def _options(state: DebateState) -> list[str]:
    """Return what can be voted for, chosen, or declared the winner."""
    terms: Any = state.spec["terms"]
    return [*terms.get("options", []), *terms.get("stances", [])]


def _width(names: list[str]) -> int:
    return min(16, max(map(len, names)))


class _Elapsed:
    """The time since the debate began, at the moment it is drawn."""

    def __init__(self, began: float) -> None:
        self._began = began

    def __rich__(self) -> Text:
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        return Text(f"{minutes}:{seconds:02}")


class _Pause:
    """A wait before a call is tried again, at the moment it is drawn."""

    def __init__(self, speaker: str, end: float, why: str) -> None:
        self._speaker, self._end, self._why = speaker, end, why

    def __rich__(self) -> Text:
        left = max(0, math.ceil(self._end - time.monotonic()))
        return Text(f"{self._speaker} waits {left} s: {self._why}", style="yellow")


def _standing(state: DebateState, began: float, pauses: list[_Pause]) -> RenderableType:
    """Return where the debate stands: round, phase, speakers, findings, how far it has come.

    It is drawn again from another thread, so it holds nothing that changes but the time.
    """
    most = most_turns(state.spec["terms"], [seat["role"] for seat in state.seats.values()])
    done = len(state.turns)
    head = Table.grid(padding=(0, 2, 0, 0))
    head.add_row(
        Text.assemble(("Round ", "bold"), _place(state)),
        Text.assemble(("Cost ", "bold"), _cost(state)),
        Text("Time", style="bold"),
        _Elapsed(began),
    )
    bar = Table.grid(padding=(0, 2, 0, 0))
    bar.add_row(
        ProgressBar(total=most, completed=done, width=40),
        Text(f"turn {done} of at most {most}", style="dim"),
    )
    return Panel(
        Group(head, bar, _speaking(state), *pauses, _findings(state)),
        title=f"debate {state.debate[:8]}",
        title_align="left",
        border_style="blue",
    )


def _place(state: DebateState) -> str:
    """Return round and phase of the call in flight, else of the last turn."""
    found = [call["step"] for call in state.calls.values()]
    found += [turn.data["step"] for turn in state.turns[-1:]]
    if not found:
        return "opening"
    step = steps.place_of(found[0])
    return f"{step.round} of at most {state.spec['terms']['max_rounds']}, {step.phase}"


def _cost(state: DebateState) -> str:
    """Return what was spent; where there is a ceiling what counts against it, with open calls."""
    limit = state.spec["limits"]["cost_micro_usd"]
    if limit:
        return f"{money(spending.spent_by(state, state.at)['cost'])} of at most {money(limit)}"
    return money(state.total().cost_micro_usd if state.spec["prices"] else None)


def _speaking(state: DebateState) -> RenderableType:
    seats = list(state.seats)
    names = [speaker_of(call["step"]) for call in state.calls.values()]
    if not names:
        return Text()
    row = Table.grid(padding=(0, 1, 0, 0))
    styled = [Text(name, style=style_of(name, seats)) for name in names]
    row.add_row(Text("Speaking", style="bold"), Text(", ").join(styled), Spinner("dots"))
    return row


def _findings(state: DebateState) -> Text:
    """Return what counts at this moment: votes, else how alike answers are, else a moderation."""
    terms: Any = state.spec["terms"]
    if terms.get("options"):
        return _votes(state, terms)
    if state.similarities:
        return Text.assemble(("Answers  ", "bold"), compared(state.similarities[-1]))
    if state.verdict and state.verdict["confidence"]:
        return Text.assemble(("Moderator  ", "bold"), moderated(state.verdict))
    return Text()


def _votes(state: DebateState, terms: Any) -> Text:
    """Return the votes that count, each with who holds it."""
    text = Text("Votes that count  ", style="bold")
    for option in terms["options"]:
        holders = [seat for seat, vote in state.votes.items() if vote == option]
        if holders:
            style = style_of(option, terms["options"], options=True)
            text.append(f"{option} {len(holders)} ", style=style)
            text.append(f"{', '.join(holders)}   ", style="not bold")
    return text.append(f"threshold {terms['threshold']}") if "threshold" in terms else text
