"""Printing: pipes and NO_COLOR are respected, and record text is inert.

Whatever a record holds goes through `report.safe` before it is printed, and
into `rich` only as `Text`: escape sequences and bidi characters are spelled
out, and nothing a model wrote is ever read as markup.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import indent
from typing import Any

import click
from pydantic import BaseModel
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

from hansard.cli.context import next_step
from hansard.report.safe import one_line, shown, substituted
from hansard.report.size import require_room
from hansard.vocabulary import many

_SEATS = ("blue", "magenta", "cyan", "yellow", "green")
_OPTIONS = ("green", "yellow", "red", "magenta", "cyan")
_BEYOND_ASCII = re.compile("[\x7f-\U0010ffff]")
# Where spreadsheets begin a cell that they run: also behind what some take for its end. To those
# that end a cell at `;` a quotation mark within a line quotes nothing, so a line ends it too. One
# that begins such a cell is doubled in CSV, so it quotes nothing there either.
_FORMULA = re.compile(r'^(?=[\t\r\n])|(?:^|(?<=[;\t\n]))(?="*[=+\-@＝＋－＠])')
_PIECE = 1 << 16  # characters
_CELLS = 20  # of a bar
_INSET = 2  # columns by which the rest of a line stands further in than the line
_UNBOUNDED = 1_000_000  # columns, where nobody looks at a width


class _Console(Console):
    def print(self, *objects: Any, **more: Any) -> None:
        """Print; a text that was not made safe is, for the name of a file may be anybody's."""
        safe = map(_inert, objects)
        hung = safe if more.get("no_wrap") else (_hung(found, self.width) for found in safe)
        super().print(*hung, **more)

    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to `main`, which is quiet about it in every command alike."""
        raise BrokenPipeError


def _inert(found: Any) -> Any:
    if not isinstance(found, Text) or shown(found.plain) == found.plain:
        return found
    return Text(shown(found.plain), style=found.style)


class _Hanging:
    """Lines of which what has no room goes on further in: no words begin a line as ours do.

    Each is given to `rich` by itself, which takes quadratic time to split them.
    """

    def __init__(self, text: Text) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width = options.max_width
        for line in self._text.split("\n", allow_blank=True):
            if line.cell_len <= width:
                yield line
                continue
            own = len(line.plain) - len(line.plain.lstrip(" "))
            inset = " " * min(own + _INSET, width // 2)
            first, *rest = line.wrap(console, width - len(inset))
            yield first
            yield from (Text.assemble(inset, part) for part in rest)


def _hung(found: Any, width: int) -> Any:
    if not isinstance(found, Text):
        return found
    if "\t" in found.plain:
        found = found.copy()
        found.expand_tabs(8)
    return _Hanging(found) if "\n" in found.plain or cell_len(found.plain) > width else found


def is_terminal(*, stderr: bool = False) -> bool:
    """Say whether somebody is watching."""
    return (sys.stderr if stderr else sys.stdout).isatty()


def is_watched(out: Console) -> bool:
    """Say whether somebody is watching a console on which lines can be drawn anew."""
    return is_terminal(stderr=out.stderr) and not out.is_dumb_terminal


def console(*, stderr: bool = False) -> Console:
    """Return a console on standard output or error that reads no markup."""
    return _Console(
        stderr=stderr,
        markup=False,
        emoji=False,
        highlight=False,
        width=None if is_terminal(stderr=stderr) else _UNBOUNDED,
    )


def say(words: str, *, err: bool = False) -> None:
    """Print lines in which words of others stand, in a pipe as they are."""
    for lines in _pieces([words]):
        if is_terminal(stderr=err):
            console(stderr=err).print(Text(lines))
        else:
            click.echo(lines, err=err)


def say_text(title: str, words: Iterable[str]) -> None:
    """Print a text that is not ours under its title: as it is, and on a terminal indented."""
    say(f"--- {title} ---")
    for lines in _pieces(words):
        safe = shown(lines)
        say(indent(safe, " " * _INSET) if is_terminal() else safe)


def _pieces(words: Iterable[str]) -> Iterator[str]:
    """Yield a text, given in parts, in pieces of whole lines, each without its last line end.

    What is printed is copied several times on its way, and a prompt may be very long.
    """
    left = ""
    for part in words:
        left, begin = left + part, 0
        while (end := left.find("\n", begin + _PIECE)) >= 0:
            yield left[begin:end]
            begin = end + 1
        left = left[begin:]
    yield left


def value(found: object, limit: int = 100) -> str:
    """Return a value from a record as short, safe JSON."""
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return one_line(text, limit)


def say_document(found: BaseModel | Mapping[str, Any]) -> None:
    """Print the one JSON document that `--json` prints; raises DataError `report.size`."""
    for piece in document(found):
        click.echo(piece, nl=False)
    click.echo()


def document(found: BaseModel | Mapping[str, Any]) -> Iterator[str]:
    """Yield that document in pieces, since it may be long, without a last line end.

    What a terminal would obey is escaped as JSON escapes it: the values stay the same.
    """
    require_room(found)
    row = found.model_dump(mode="json") if isinstance(found, BaseModel) else found
    parts: list[str] = []
    size = 0
    for part in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(row):
        for begin in range(0, len(part), _PIECE):
            parts.append(part[begin : begin + _PIECE])
            size += len(parts[-1])
            if size >= _PIECE:
                yield substituted(_BEYOND_ASCII, _escaped, "".join(parts))
                parts, size = [], 0
    yield substituted(_BEYOND_ASCII, _escaped, "".join(parts))


def compact(found: BaseModel) -> str:
    """Return one line of JSON, of the many that `--json` prints of many records."""
    line = json.dumps(found.model_dump(mode="json"), ensure_ascii=False)
    return substituted(_BEYOND_ASCII, _escaped, line)


def table_of(names: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV under these names; what a spreadsheet would run as a formula is words."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(names)
    for row in rows:
        table.writerow([_harmless(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()


def printed(
    form: str | None,
    found: BaseModel,
    names: Iterable[str],
    rows: Iterable[Iterable[object]],
) -> bool:
    """Print what was found as JSON, or its rows as CSV; False where neither is wanted."""
    if form == "json":
        say_document(found)
    elif form == "csv":
        click.echo(table_of(names, rows), nl=False)
    return form in ("json", "csv")


def _harmless(text: str) -> str:
    return _FORMULA.sub("'", shown(text))


def _escaped(found: re.Match[str]) -> str:
    return found[0] if shown(found[0]) == found[0] else json.dumps(found[0])[1:-1]


def money(micro_usd: int | None) -> str:
    """Return micro-US-dollars as people write them; a dash where nobody knows."""
    if micro_usd is None:
        return "–"
    dollars = abs(micro_usd) / 1_000_000
    return f"{'-' if micro_usd < 0 else ''}${dollars:.{2 if dollars >= 1 else 4}f}"


def bar_of(share: float) -> str:
    """Return a share of 0 to 1 as a bar, which is full only where the share is."""
    filled = int(min(max(share, 0), 1) * _CELLS)
    return "█" * filled + "░" * (_CELLS - filled)


def style_of(name: str, names: Sequence[str], *, options: bool = False) -> str:
    """Return the colour of a seat or an option, by its place among `names`."""
    palette = _OPTIONS if options else _SEATS
    return palette[names.index(name) % len(palette)] if name in names else ""


def fields(rows: Sequence[tuple[str, Text | str]], width: int = 11) -> Text:
    """Lay out label and content, one row a line."""
    lines = [Text.assemble((f"{label:<{width}} ", "bold"), content) for label, content in rows]
    return Text("\n").join(lines)


def print_notes(notes: Iterable[str]) -> None:
    """Print two checkpoints that cannot both be true, as they stand: the one kept, and now."""
    for title, note in zip(("kept", "now"), notes, strict=False):
        click.echo(f"\n--- {title} ---\n{shown(note)}", nl=False)


def print_not_counted(number: int) -> None:
    """Print how many records of the store were left out of what is counted, if any were."""
    if number:
        said = f"Not counted, for they do not hold: {many(number, 'record')}"
        console().print(Text(f"{said}; see `{next_step('list')}`", style="bold red"))
