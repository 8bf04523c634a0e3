"""`list`: the debates of a store. `projection`: the rows by which they are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import click
from rich.cells import cell_len
from rich.text import Text

import hansard
from hansard.cli.console import console, money, printed, say_document
from hansard.cli.context import open_store, store_option, trust_of
from hansard.report.listing import ORDERS, Entry, Questions
from hansard.report.reviews import STATES
from hansard.report.safe import one_line
from hansard.report.words import GONE, stance
from hansard.vocabulary import fill, many, words

EXCEPTIONS = tuple(words("exceptions"))


class _Column(NamedTuple):
    """A column of `list`."""

    title: str
    cell: Callable[[Entry], str]


def _state(row: Entry) -> str:
    state = row.state if row.holds else row.state.upper()
    state += f" {_cut(row.stopped)}" if row.stopped else ""
    state += ", no output" if row.output_missing else ""
    state += f", {fill(words('erased')['some'], number=row.erased)}" if row.erased else ""
    state += ", hold lifted (untrusted)" if row.lifted else ""
    return f"{state}, scripted" if row.scripted else state


_MOST = 30  # cells of what somebody wrote beside the question, in a row of `list`
_LONGEST = 1000  # characters of a question, where nobody looks at a width


def _cut(text: str) -> str:
    """Return `text` on one line that is no wider than that; some signs take two cells."""
    line = Text(one_line(text, _LONGEST))
    line.truncate(_MOST, overflow="ellipsis")
    return line.plain


def _decision(row: Entry) -> str:
    if row.advised is not None:
        return _cut(words("gated")["advised" if row.advised else "against"])
    if row.decision is None:
        return "–"
    if row.review is None:
        text = row.decision_text
        return row.decision if text is None else _cut(stance(row.decision, text, _MOST))
    return _cut(f"{row.decision}: {row.review}")


def _acting(row: Entry) -> str:
    """Whether to act on what was decided; nothing of the record of a gate."""
    if not row.holds:
        return "no"
    return {"yet": "wait", None: "–"}.get(row.acting, row.acting or "")


def _votes(row: Entry) -> str:
    """How many hold the decision, of how many; of answers that nobody counted, how many."""
    if row.votes is not None:
        return f"{row.votes}/{row.draws or row.debaters}"
    return many(row.draws, "draw") if row.draws else "–"


_COLUMNS = (
    _Column("Debate", lambda row: row.debate),
    _Column("Held (UTC)", lambda row: (row.opened_at or "–")[:16].replace("T", " ")),
    _Column(
        "Question", lambda row: one_line(row.question or GONE, _LONGEST) if row.opened_at else "–"
    ),
    _Column("Decision", _decision),
    _Column("Votes", _votes),
    _Column("Cost", lambda row: money(row.cost_micro_usd)),
    _Column("Act", _acting),
    _Column("Record", _state),
)
_TITLES = [column.title for column in _COLUMNS]
# The question has a line of its own where there is little room; the others are cut short.
_QUESTION, *_PROSE = map(_TITLES.index, ("Question", "Decision", "Record"))
_ASKED = 40  # cells of a question, at least, for it to stand beside the others
_GAP = 2
_DIGITS = 8  # of an id, at least


_TERMS = (
    ("--since", "TIME", "Opened at this time or later, such as 2026-10-01 (UTC)."),
    ("--until", "TIME", "Opened by the end of this time: 2026-12-31, or 2026."),
    ("--format", "NAME", "Of this format."),
    ("--task-type", "NAME", "Of this type of task."),
    ("--label", "NAME", "With this label."),
    ("--decision", "NAME", "With this decision."),
    ("--model", "NAME", "In which this model was asked or answered."),
    ("--note", "CODE", "With this note, such as capitulation; `show --json` names the codes."),
    ("--exception", "NAME", f"With this reason to ask for a review: {', '.join(EXCEPTIONS)}."),
    ("--search", "WORDS", "With all these words in its question, name, labels or result."),
)
_MOST_ROWS = 50


def _terms(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command be told which debates are wanted."""
    for name, metavar, text in reversed(_TERMS):
        command = click.option(name, metavar=metavar, help=text)(command)
    return command


@click.command("list")
@_terms
@click.option(
    "--review",
    type=click.Choice(STATES),
    help="With a review that stands so, by the keys in your trust file.",
)
@click.option(
    "--sort",
    type=click.Choice(ORDERS),
    default="opened",
    show_default=True,
    help="What comes last: the newest, or the largest.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=_MOST_ROWS,
    show_default=True,
    help="List at most this many debates, the last ones; 0 lists all.",
)
@click.option(
    "--questions",
    is_flag=True,
    help="List their questions instead: how often each was debated, and what never finished.",
)
@click.option("--json", "form", flag_value="json", help="Print the list as JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print the list as CSV.")
@store_option
def list_(form: str | None, limit: int, questions: bool, **wanted: Any) -> None:
    """List debates in the store: the newest, or those that match all options.

    Each record that is listed is verified; altered ones are marked, and stand in every list.
    The last line counts all debates that match the options, listed or not.

    Exit codes: 0 listed, even if a record was altered; 2 there is no store, or it
    cannot be read.
    """
    if questions and form == "csv":
        raise hansard.UsageError("list.csv", "questions are listed as text or with --json")
    most = None if questions else limit or None
    with open_store() as store:
        listing = hansard.list_debates(store, trust_of(None), limit=most, **wanted)
        digits = _distinct(store.debates())
    if questions:
        _print_questions(listing.questions(), digits, form)
        return
    rows = (row.model_dump(mode="json").values() for row in listing.debates)
    if printed(form, listing, Entry.model_fields, rows):
        return
    out, debates = console(), listing.debates
    if debates:
        for line in _lines(debates, digits, out.width):
            out.print(line, no_wrap=True, overflow="ellipsis")
    bad = listing.totals.not_as_recorded
    out.print(Text(_told(listing), style="red" if bad else "dim"))


def _print_questions(found: Questions, digits: int, form: str | None) -> None:
    """Print each question, how often it was debated and decided how, and what never finished."""
    if form == "json":
        say_document(found)
        return
    out = console()
    if not found.asked:
        out.print(Text("0 questions", style="dim"))
    for row in found.asked:
        said = GONE if row.question is None else one_line(row.question, _LONGEST)
        text = Text(f"{many(len(row.debates), 'debate'):<11} {said}")
        out.print(text, no_wrap=True, overflow="ellipsis")
        if row.decisions:
            told = ", ".join(f"{number} {name}" for name, number in row.decisions.items())
            out.print(Text(f"{'':<11} decided: {told}"))
        if row.unfinished:
            names = ", ".join(name[:digits] for name in row.unfinished)
            out.print(Text(f"{'':<11} never finished: {names}", style="bold yellow"))


@click.group()
def projection() -> None:
    """The rows by which debates are found; they catch up with the records by themselves."""


@projection.command()
@store_option
def rebuild() -> None:
    """Make the rows by which debates are found anew, from the records.

    Exit codes: 0 made; 2 there is no store, or it cannot be read.
    """
    with open_store() as store:
        made = hansard.rebuild_projection(store)
    click.echo(f"{many(made, 'debate')} can be found again.")


def _distinct(debates: Sequence[str]) -> int:
    """Return how many characters tell the ids of these debates apart."""
    whole = max(map(len, debates), default=_DIGITS)
    enough = (n for n in range(_DIGITS, whole) if len({row[:n] for row in debates}) == len(debates))
    return next(enough, whole)


def _told(listing: hansard.Listing) -> str:
    """Say how many debates there are, what they cost, and how many need a look."""
    all_, shown_ = listing.totals, len(listing.debates)
    look, bad, cost = all_.need_a_look, all_.not_as_recorded, all_.cost_micro_usd
    told = [
        f"{shown_} of {many(all_.debates, 'debate')}"
        if shown_ < all_.debates
        else many(shown_, "debate"),
        "" if cost is None else money(cost),
        f"{all_.unpriced} of unknown cost" if all_.unpriced else "",
        f"{look} {'needs' if look == 1 else 'need'} a look" if look else "",
        f"{bad} altered or unreadable" if bad else "",
    ]
    return ", ".join(filter(None, told))


def _lines(debates: Iterable[Entry], digits: int, width: int) -> Iterator[Text]:
    """Yield a heading and a line a debate; two where there is little room for the question."""
    rows = [(row, [column.cell(row) for column in _COLUMNS]) for row in debates]
    for _, cells in rows:
        cells[0] = cells[0][:digits]
    widths = [
        max(map(cell_len, column))
        for column in zip(_TITLES, *(row[1] for row in rows), strict=True)
    ]
    others = sum(widths) - widths[_QUESTION] + _GAP * (len(widths) - 1)
    apart = width - others < min(widths[_QUESTION], _ASKED)
    if apart:
        decision, record = _PROSE
        room = max(0, width - (others - _GAP) + widths[decision] + widths[record])
        widths[record] = min(widths[record], max(room - widths[decision], room * 7 // 10))
        widths[decision] = min(widths[decision], room - widths[record])
    else:
        widths[_QUESTION] = min(widths[_QUESTION], width - others)
    yield _line(_TITLES, widths, apart, "bold")
    for row, cells in rows:
        style = "bold red" if not row.holds else ""
        yield _line(cells, widths, apart, style)
        if apart:
            yield Text(" " * (digits + _GAP) + cells[_QUESTION], style=style or "dim")


def _line(cells: Sequence[str], widths: Sequence[int], apart: bool, style: str) -> Text:
    found = []
    for at, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        if not (apart and at == _QUESTION):
            text = Text(cell)
            text.truncate(width, overflow="ellipsis", pad=True)
            found.append(text.plain)
    return Text((" " * _GAP).join(found).rstrip(), style=style)
