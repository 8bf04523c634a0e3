"""`list`, `show`, `report` and `replay`: what is in the record, without changing it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from hansard.cli.console import console, document, fields, money, style_of, value
from hansard.cli.context import (
    Record,
    next_step,
    open_store,
    read_record,
    read_source,
    sound_source,
    store_option,
)
from hansard.cli.happenings import compared, counted, decided, moderated
from hansard.cli.summary import ARROW, LENGTH, option, outcome, say_notes
from hansard.errors import DataError, UsageError
from hansard.report import prompt
from hansard.report.formats import DebateResult
from hansard.report.listing import Entry, Listing, entry
from hansard.report.markdown import markdown
from hansard.report.safe import one_line, shown
from hansard.report.words import GONE, percent
from hansard.rules import steps
from hansard.rules.events import Event, VerdictData
from hansard.rules.replay import NotDue, Replay
from hansard.rules.state import DebateState
from hansard.rules.steps import Ask, Conclude
from hansard.store.application import Store

_COLUMNS = ("Held (UTC)", "Debate", "Question", "Decision", "Votes", "Cost", "Record")
_BAD = ("altered", "unreadable")


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@store_option
def list_(as_json: bool) -> None:
    """List the debates of the store.

    The record of each is checked: one that was altered says so.

    Exit codes: 0 listed, whatever the records hold; 2 there is no store, or it
    cannot be read.
    """
    with open_store() as store:
        listing = Listing(debates=tuple(_entry(store, debate) for debate in store.debates()))
    if as_json:
        click.echo(document(listing))
        return
    out = console()
    if listing.debates:
        out.print(_table(listing, out.width))
    bad = sum(row.state in _BAD for row in listing.debates)
    many = len(listing.debates)
    text = f"{many} debate{'' if many == 1 else 's'}" + (f", {bad} not as recorded" if bad else "")
    out.print(Text(text, style="red" if bad else "dim"))


def _entry(store: Store, debate: str) -> Entry:
    try:
        record = read_record(store, debate)
        return entry(record.result) if record.verification.ok else _bad(debate, "altered")
    except DataError:
        return _bad(debate, "unreadable")


def _bad(debate: str, state: Literal["altered", "unreadable"]) -> Entry:
    return Entry(debate=debate, state=state)


def _table(listing: Listing, width: int) -> Table:
    rows = [_cells(row) for row in listing.debates]
    columns = list(zip(_COLUMNS, *rows, strict=True))
    taken = sum(2 + max(map(len, column)) for column in columns if column[0] != "Question")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in _COLUMNS:
        # What is short and exact stands in full; the question gives way.
        room = max(8, width - taken) if name == "Question" else None
        table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=room)
    for row, cells in zip(listing.debates, rows, strict=True):
        style = "bold red" if row.state in _BAD else ""
        table.add_row(*(Text(cell, style=style) for cell in cells))
    return table


def _cells(row: Entry) -> list[str]:
    state = row.state.upper() if row.state in _BAD else row.state
    return [
        (row.opened_at or "–")[:16].replace("T", " "),
        row.debate[:8],
        one_line(row.question or GONE) if row.opened_at else "–",
        row.decision or "–",
        f"{row.votes}/{row.debaters}" if row.votes is not None else "–",
        money(row.cost_micro_usd),
        f"{state}, scripted" if row.scripted else state,
    ]


@click.command()
@click.argument("source", metavar="ID|EXPORT")
@click.option(
    "--prompt", "call", metavar="CALL", help="Print what the model was sent in that call."
)
@store_option
def show(source: str, call: str | None) -> None:
    """Show what became of the debate ID, or of an export, and what it cost.

    The decision and how it came about, dissent, confidence and open points, as
    far as its format has them; of a debate that was cut short the best standing.

    With --prompt r1.critique.NAME:1 it prints exactly what that call sent.

    Exit codes: 0 shown; 1 the record was altered; 2 there is no such debate or
    call.
    """
    record = sound_source(source)
    if call is not None:
        _show_prompt(record, call)
        return
    result = record.result
    out = console()
    out.print(Text(shown(result.question or GONE), style="bold"))
    rows = outcome(result)
    if result.evidence:
        rows.append(("Evidence", ", ".join(row.id for row in result.evidence)))
    if result.output is not None:
        rows.append(("Output", value(result.output, LENGTH)))
    if result.unpriced:
        rows.append(("No price", ", ".join(result.unpriced)))
    rows.append(("Held", f"{result.opened_at} to {result.closed_at or 'now: still open'}"))
    rows.append(("Record", f"{result.debate}, {result.entries} entries, as recorded"))
    out.print(fields(rows))
    out.print()
    out.print(_seats(result))
    if result.notes:
        out.print(Text("\nTo know", style="bold"))
        for note in result.notes:
            style = "red" if note.severity == "critical" else ""
            where = f" (#{note.seq})" if note.seq else ""
            out.print(Text(f"  - {note.message}{where}", style=style))
    short = result.debate[:8]
    for step in (f"report {short} --as markdown", f"replay {short}", f"verify {short}"):
        console(stderr=True).print(Text(next_step(step), style="dim"))


def _seats(result: DebateResult) -> RenderableType:
    names = [seat.id for seat in result.seats]
    voting = any(seat.votes for seat in result.seats)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("Seat", "Role", "Model", *(["Votes"] if voting else [])):
        table.add_column(name)
    for name in ("Calls", "failed", "Tokens in", "cached", "out", "Cost"):
        table.add_column(name, justify="right")
    for seat in result.seats:
        votes = Text(ARROW).join(option(result, vote) for vote in seat.votes)
        table.add_row(
            Text(seat.id, style=style_of(seat.id, names)),
            Text(seat.role),
            Text(seat.model),
            *([votes] if voting else []),
            str(seat.calls),
            str(seat.failed),
            f"{seat.tokens_in:,}",
            "–" if seat.cached_ppm is None else percent(seat.cached_ppm),
            f"{seat.tokens_out:,}",
            money(seat.cost_micro_usd),
        )
    return table


def _show_prompt(record: Record, call: str) -> None:
    found = prompt.render(
        record.events, record.bundle.templates, record.text_of, call, record.approved
    )
    for message in found.messages:
        click.echo(f"--- {message.role} ---\n{shown(message.text)}")
    same = "is" if found.digest == found.recorded else "IS NOT"
    say_notes([f"The digest of this prompt {same} the one recorded in entry {found.seq}"])


@click.command()
@click.argument("source", metavar="ID|EXPORT")
@click.option(
    "--as",
    "form",
    type=click.Choice(["text", "markdown", "json", "source"]),
    default="text",
    show_default=True,
    help="text is a line a signal; markdown and json hold everything said; source is JSON in "
    "the shape of the format's source.",
)
@store_option
def report(source: str, form: str) -> None:
    """Print the report of the debate ID, or of an export.

    Exit codes: 0 printed; 1 the record was altered; 2 there is no such debate.
    """
    result = sound_source(source).result
    if form == "json":
        click.echo(document(result))
    elif form == "source":
        click.echo(document(result.source()))
    elif form == "markdown":
        click.echo(markdown(result).rstrip("\n"))
    else:
        click.echo(result.to_report())
        say_notes(note.message for note in result.notes)


@click.command()
@click.argument("source", metavar="ID|EXPORT")
@click.option(
    "--until", type=click.IntRange(min=1), metavar="N", help="Show the state after entry N."
)
@store_option
def replay(source: str, until: int | None) -> None:
    """Run the rules again on the record of the debate ID, or of an export.

    No model is asked: the recorded replies are read again. It says whether the
    same events come out. With --until N it shows the debate as
    it stood after entry N: votes, counts, who is due, what was spent.

    Exit codes: 0 the same events come out; 1 they differ; 2 there is no such
    debate, or it cannot be read.
    """
    record = read_source(source)
    events = record.events
    if until is not None and until > len(events):
        raise UsageError("replay.until", f"the record has {len(events)} entries, not {until}")
    walked = Replay(record.text_of, record.approved)
    asked = events[:until]
    out = console()
    differing = 0
    for row in _differences(walked, asked):
        differing += 1
        out.print(row)
    if until is not None and not differing:
        out.print(_state(walked))
    same = len(asked) - differing if walked.state.seq == len(asked) else walked.state.seq
    style = "red" if differing else "green"
    out.print(Text(f"{same} of {len(asked)} events come out the same", style=style))
    if differing:
        raise click.exceptions.Exit(1)


def _differences(walked: Replay, events: Iterable[Event]) -> Iterable[Text]:
    """Walk the events and yield a line for each that does not come out the same."""
    for seq, event in enumerate(events, 1):
        try:
            found = walked.step(event)
        except NotDue as error:
            yield Text(f"#{seq} {event['type']} was not due, but {error.due}; the walk ends here")
            return
        if found:
            parts = [
                f"{row.field}: derived {value(row.expected)}, recorded {value(row.found)}"
                for row in found
            ]
            yield Text(f"#{seq} {event['type']} differs in {'; '.join(parts)}")


def _state(walked: Replay) -> Text:
    """Return the debate as it stood."""
    state = walked.state
    spent = state.total()
    cost = spent.cost_micro_usd if state.spec["prices"] else None
    rows: list[tuple[str, Text | str]] = [
        ("After", f"entry {state.seq}, {state.at}"),
        ("Turns", f"{len(state.turns)}, round {state.rounds_run}"),
        *_findings(state),
        ("Due next", _due(walked)),
        ("Spent", f"{spent.calls} calls, {money(cost)}"),
    ]
    return fields(rows)


def _findings(state: DebateState) -> Iterable[tuple[str, str]]:
    """Yield what was voted, counted, compared and found so far, as far as there is such."""
    terms: Any = state.spec["terms"]
    if not state.seated or terms.get("options"):
        votes = [f"{seat}: {vote or '–'}" for seat, vote in state.votes.items()]
        yield "Votes", ", ".join(votes) or "nobody is seated yet"
    if state.counts or terms.get("options"):
        yield "Counted", counted(state.counts[-1]) if state.counts else "nothing yet"
    if state.similarities:
        yield "Compared", compared(state.similarities[-1])
    if state.verdict:
        yield "Found", _found(state.verdict)
    if state.truncated:
        yield (
            "Cut short",
            f"before {state.truncated['step']}, ceiling on {state.truncated['ceiling']}",
        )
    if state.decision:
        yield "Decided", decided(state, state.decision["decision"], state.decision["rule"])


def _found(verdict: VerdictData) -> str:
    """Say what a judge or a moderator found."""
    if verdict["scores"]:
        return moderated(verdict)
    nobody = "no declared stance" if verdict["undeclared"] else "several combined"
    return f"{verdict['speaker']}: {verdict['winner'] or verdict['choice'] or nobody}"


def _due(walked: Replay) -> str:
    """Say what the rules call for next."""
    if not walked.state.seated:
        return "the seats and documents of the opening"
    due = walked.due()
    if due is None:
        return "nothing: the debate is closed"
    if isinstance(due, Ask):
        names = [step.id for step in due.steps]
        return f"a call for {', '.join(names)}" if names else "the end of a call in flight"
    if isinstance(due, Conclude):
        return f"the turn {due.step.id}, from the reply that came"
    return steps.name_of(due)
