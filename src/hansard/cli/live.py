"""The live view: what happens scrolls by; on a terminal, where the debate stands is below it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

import hansard
from hansard.cli.console import is_watched, money, style_of
from hansard.report.following import Follower
from hansard.report.happenings import Happening, happenings
from hansard.report.progress import CallFailed
from hansard.report.standing import Standing, standing
from hansard.report.words import ERRORS

_STYLES = {"control": "yellow", "count": "dim", "decision": "bold", "critical": "bold red"}
_STATEMENT = 2  # lines of what somebody said
_MARKS = ("strength 10",)  # the longest of those that every debate may have


class View:
    """Shows a debate event by event.

    `pause` lets each speaker be seen for so many seconds, where replies come
    faster than people read.
    """

    def __init__(self, console: Console, pause: float = 0) -> None:
        self._follower = Follower()
        self._console = console
        self._pause = pause
        self._began = time.monotonic()
        self._pauses: dict[str, _Pause] = {}  # by speaker
        self._watched = True  # until a pipe is closed
        watched = is_watched(console)
        self._live = (
            Live(console=console, transient=True, refresh_per_second=8) if watched else None
        )

    @property
    def debate(self) -> str:
        """The id of the debate; empty before its first event."""
        return self._follower.state.debate

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

    def fold(self, event: hansard.Event) -> None:
        """Take in what happened earlier, without showing it."""
        self._follower.fold(event)

    def observe(self, event: hansard.Event, texts: Mapping[str, str]) -> None:
        """Show what happened just now."""
        rows = self._follower.follow(event, texts)
        lines = happenings(self._follower.state, event, rows)
        if self._live:
            self._draw(self._live, lines, rows, texts)
            if event["type"] == "call.started":
                time.sleep(self._pause)
        elif self._watched:
            try:
                for line in lines:
                    self._console.print(Text(_plain(line)))
            except BrokenPipeError:  # nobody reads on, but the debate is being paid for
                self._watched = False

    def _draw(
        self,
        live: Live,
        lines: Iterable[Happening],
        rows: list[hansard.Progress],
        texts: Mapping[str, str],
    ) -> None:
        """Let the lines scroll by, and draw beneath them where the debate stands."""
        now = standing(self._follower.state, texts.get)
        for line in lines:
            self._console.print(_row(line, now))
        for row in rows:
            if isinstance(row, CallFailed) and row.again and row.wait_ms:
                end = time.monotonic() + row.wait_ms / 1000
                self._pauses[row.speaker] = _Pause(row.speaker, end, ERRORS[row.error])
        for speaker in now.speaking:
            self._pauses.pop(speaker, None)
        if now.seated:
            live.update(_standing(now, self._began, [*self._pauses.values()]), refresh=True)


class _Lines:
    """A text on at most so many lines, as wide as there is room."""

    def __init__(self, text: Text, most: int) -> None:
        self._text, self._most = text, most

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        lines = self._text.wrap(console, options.max_width)
        shown = lines[: self._most]
        if len(lines) > self._most:
            shown[-1] = Text(f"{shown[-1].plain.rstrip()} …", style=self._text.style)
            shown[-1].truncate(options.max_width, overflow="ellipsis")
        yield from shown


def _row(row: Happening, now: Standing) -> Table:
    style = _STYLES.get(row.who, "")
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    grid.add_column(width=5, justify="right", style="dim")
    grid.add_column(width=_width([*now.seats, *_STYLES]), no_wrap=True, overflow="ellipsis")
    grid.add_column(ratio=1)
    text = Text(row.text, style=style)
    cells: list[RenderableType] = [
        Text(f"#{row.seq}"),
        Text(row.who, style=style or f"bold {style_of(row.who, now.seats)}"),
        _Lines(text, _STATEMENT) if row.place else text,
    ]
    if row.place:
        grid.add_column(width=_width([*now.options, *_MARKS]), no_wrap=True, overflow="ellipsis")
        grid.add_column(width=7, justify="right", style="dim")
        grid.add_column(width=4, justify="right", style="dim")
        cells += [Text(row.mark, style=style_of(row.mark, now.options, options=True))]
        cells += [Text(cell) for cell in _took(row)]
    grid.add_row(*cells)
    return grid


def _plain(row: Happening) -> str:
    if not row.place:
        return f"#{row.seq} {row.who}: {row.text}"
    mark = f" -> {row.mark}" if row.mark else ""
    return f"#{row.seq} {row.place} {row.who}{mark}: {row.text} ({', '.join(_took(row))})"


def _took(row: Happening) -> tuple[str, str]:
    """Return what the call of a turn cost, and how long it took."""
    return money(row.cost_micro_usd), f"{row.latency_ms / 1000:.0f}s"


def _width(names: Sequence[str]) -> int:
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


def _standing(now: Standing, began: float, pauses: list[_Pause]) -> RenderableType:
    """Draw where the debate stands: round, phase, speakers, findings, how far it has come.

    It is drawn again from another thread, so it holds nothing that changes but the time.
    """
    head = Table.grid(padding=(0, 2, 0, 0))
    head.add_row(
        Text.assemble(("Round ", "bold"), _place(now)),
        Text.assemble(("Cost ", "bold"), _cost(now)),
        Text("Time", style="bold"),
        _Elapsed(began),
    )
    bar = Table.grid(padding=(0, 2, 0, 0))
    bar.add_row(
        ProgressBar(total=now.most_turns, completed=now.turns, width=40),
        Text(f"turn {now.turns} of at most {now.most_turns}", style="dim"),
    )
    return Panel(
        Group(head, bar, _speaking(now), *pauses, _findings(now)),
        title=f"debate {now.debate[:8]}",
        title_align="left",
        border_style="blue",
    )


def _place(now: Standing) -> str:
    if now.round is None:
        return "opening"
    return f"{now.round} of at most {now.max_rounds}, {now.phase}"


def _cost(now: Standing) -> str:
    """Return what was spent, and where there is a ceiling what is reserved beside it."""
    spent, limit = now.cost_micro_usd, now.cost_limit_micro_usd
    if not limit:
        return money(spent)
    reserved = now.charged_micro_usd - (spent or 0)
    more = f", {money(reserved)} more reserved" if reserved > 0 else ""
    return f"{money(spent)} of at most {money(limit)}{more}"


def _speaking(now: Standing) -> RenderableType:
    if not now.speaking:
        return Text()
    row = Table.grid(padding=(0, 1, 0, 0))
    styled = [Text(name, style=style_of(name, now.seats)) for name in now.speaking]
    row.add_row(Text("Speaking", style="bold"), Text(", ").join(styled), Spinner("dots"))
    return row


def _findings(now: Standing) -> Text:
    """Return what counts at this moment: votes, else how alike answers are, else a moderation."""
    if now.votes is not None:
        return _votes(now, now.votes)
    if now.compared:
        return Text.assemble(("Answers  ", "bold"), now.compared)
    if now.moderated:
        return Text.assemble(("Moderator  ", "bold"), now.moderated)
    return Text()


def _votes(now: Standing, votes: Mapping[str, str | None]) -> Text:
    """Return the votes that count, each with who holds it."""
    text = Text("Votes that count  ", style="bold")
    for option in now.options:
        holders = [seat for seat, vote in votes.items() if vote == option]
        if holders:
            style = style_of(option, now.options, options=True)
            text.append(f"{option} {len(holders)} ", style=style)
            text.append(f"{', '.join(holders)}   ", style="not bold")
    return text.append(f"threshold {now.threshold}") if now.threshold else text
