"""`show`, `report` and `replay`: what is in the record, without changing it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

import hansard
from hansard.cli.console import (
    console,
    fields,
    money,
    printed,
    say,
    say_document,
    say_text,
    style_of,
    value,
)
from hansard.cli.context import (
    keyring,
    next_step,
    open_store,
    read_source,
    sound_source,
    store_option,
    trust_of,
)
from hansard.cli.signing import require_new, save
from hansard.cli.summary import ARROW, MOST, Rows, gate_rows, option, print_outcome, say_notes
from hansard.commands import path_word
from hansard.errors import UsageError
from hansard.report import said
from hansard.report.periodic import CountedDebate
from hansard.report.replayed import Differing
from hansard.report.safe import one_line
from hansard.report.standing import Standing
from hansard.report.words import GONE, percent
from hansard.vocabulary import many

_UNVERIFIED = "ALTERED: this is not what was recorded."
_ALARM = "reverse bold red"
_FORMS = ("text", "markdown", "dossier", "json", "source")  # of a report on one debate


@click.command()
@click.argument("source", metavar="ID|EXPORT")
@click.option(
    "--prompt",
    "call",
    metavar="CALL",
    help="Print the prompt of this call, exactly as it was sent.",
)
@store_option
def show(source: str, call: str | None) -> None:
    """Show the outcome and the cost of the debate ID, or of an export.

    This includes the decision and how it was reached and, depending on the format,
    dissent, confidence and open points. If the debate was cut short, it shows the
    leading option.

    With --prompt r1.critique.NAME:1 it prints exactly what that call sent.

    Exit codes: 0 shown; 1 the record was altered; 2 there is no such debate or
    call.
    """
    record = sound_source(source)
    if call is not None:
        _show_prompt(record, call)
        return
    result, out, head = record.standing(), console(), ("Head", record.head)
    if isinstance(result, hansard.GateRecord):
        out.print(Text(one_line(result.question or GONE, MOST), style="bold"))
        out.print(gate_rows(result, head))
        return
    rows: Rows = []
    if result.evidence:
        rows.append(("Evidence", ", ".join(row.id for row in result.evidence)))
        rows += [("File", one_line(told)) for told in said.files(result)]
    if result.unpriced:
        rows.append(("No price", ", ".join(result.unpriced)))
    rows.append(("Held", f"{result.opened_at} to {result.closed_at or 'now: still open'}"))
    rows.append(("Record", f"{result.debate}, {result.entries} entries, as recorded"))
    print_outcome(out, result, [*rows, head])
    out.print()
    for block in _seats(result):
        out.print(block)
    if result.notes:
        out.print(Text("\nTo know", style="bold"))
        for note in result.notes:
            style = "red" if note.severity == "critical" else ""
            where = f" (#{note.seq})" if note.seq else ""
            out.print(Text(f"  - {note.message}{where}", style=style))
    name = path_word(source) if record.exported else result.debate[:8]
    for step in (f"report {name} --as markdown", f"replay {name}", f"verify {name}"):
        console(stderr=True).print(Text(next_step(step), style="dim"))


def _seats(result: hansard.DebateResult) -> Iterator[RenderableType]:
    """Yield what each seat used, and beneath it how it voted."""
    names = [seat.id for seat in result.seats]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("Seat", "Role"):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    table.add_column("Model", overflow="fold")
    for name in ("Calls", "failed", "Tokens in", "cached", "out", "Cost"):
        table.add_column(name, justify="right")
    for seat in result.seats:
        table.add_row(
            Text(seat.id, style=style_of(seat.id, names)),
            Text(seat.role),
            Text(seat.model),
            str(seat.calls),
            str(seat.failed),
            f"{seat.tokens_in:,}",
            "–" if seat.cached_ppm is None else percent(seat.cached_ppm),
            f"{seat.tokens_out:,}",
            money(seat.cost_micro_usd),
        )
    yield table
    votes: Rows = [
        (seat.id, Text(ARROW).join(option(result, vote) for vote in seat.votes))
        for seat in result.seats
        if seat.votes
    ]
    if votes:
        yield Text("\nVotes", style="bold")
        yield fields(votes)


def _show_prompt(record: hansard.Record, call: str) -> None:
    found = record.prompt(call)
    for message in found.messages:
        say_text(message.role, message.pieces)
    same = "is" if found.digest == found.recorded else "IS NOT"
    say_notes([f"The digest of this prompt {same} the one recorded in entry {found.seq}"])


@click.command()
@click.argument("source", metavar="[ID|EXPORT]", required=False)
@click.option(
    "--as",
    "form",
    type=click.Choice([*_FORMS, "csv"]),
    help="text: one line for each signal; markdown, json: everything that was said; dossier: "
    "two pages that sum up, then every text; source: JSON in the shape of the format's source. "
    "Default: text. With --period: markdown (the default), json, or csv, a row for each debate.",
)
@click.option(
    "--period",
    metavar="TIME",
    help="Report on all debates opened in a time: 2026, 2026-Q4, 2026-11 or 2026-11-24 (UTC).",
)
@click.option("--since", metavar="TIME", help="In place of --period: opened at this time or later.")
@click.option(
    "--until", metavar="TIME", help="With --since: opened by the end of this time. Default: now."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --period: count all records again, and write the numbers to this new file, signed "
    "with your export key.",
)
@store_option
def report(
    source: str | None,
    form: str | None,
    period: str | None,
    since: str | None,
    until: str | None,
    output: Path | None,
) -> None:
    """Print the report on the debate ID, on an export, or on all debates of a period.

    With --period it says how many debates there were and how they ended, which need a look,
    which were overridden or never reviewed, which policies they ran under, what they cost,
    and what has changed. Anybody who has the exports can check the numbers that -o writes:
    `hansard verify FOLDER --report FILE`.

    Exit codes: 0 printed; 1 the record was altered; 2 there is no such debate, or the time
    cannot be read.
    """
    of_time = any(each is not None for each in (period, since, until))
    if of_time == (source is not None):
        raise UsageError("report.which", "name a debate or an export, or a time with --period")
    forms = ("markdown", "json", "csv") if of_time else _FORMS
    if form and form not in forms:
        what = "all debates of a time" if of_time else "a debate"
        raise UsageError(
            "report.form",
            f"a report on {what} is not printed as {form}; use --as {', '.join(forms)}",
        )
    if output and not of_time:
        raise UsageError(
            "report.output", "-o signs the numbers of --period; send this report to a file with >"
        )
    if source is None:
        _print_period(period, since, until, form or "markdown", output)
        return
    _print_report(sound_source(source), form or "text")


def _print_report(record: hansard.Record, form: str) -> None:
    if form == "json":
        say_document(record.standing())
    elif form == "source":
        say_document(record.result().source())
    elif form == "markdown":
        from hansard.report.markdown import blocks  # noqa: PLC0415 - only this report needs it

        result = record.result()
        _say_blocks(blocks(result, result.display))
    elif form == "dossier":
        _say_blocks(record.dossier_blocks())
    else:
        result = record.result()
        say(result.to_report())
        say_notes(note.message for note in result.notes)


def _say_blocks(blocks: Iterable[str]) -> None:
    """Print what `Result.to_markdown` or `Record.dossier` returns, block by block."""
    for place, block in enumerate(blocks):
        say(f"\n{block}" if place else block)


def _print_period(
    period: str | None, since: str | None, until: str | None, form: str, output: Path | None
) -> None:
    """Print the report on a time, and write its signed numbers where that is wanted."""
    if output:
        require_new(output)
    trust = trust_of(None)
    with open_store() as store:
        if output:  # somebody may have changed a record since its row was made, or the row
            hansard.rebuild_projection(store)
        found = hansard.periodic_report(store, period, since=since, until=until, trust=trust)
    if not printed(form, found, CountedDebate.model_fields, map(_cells, found.debates)):
        say(found.to_markdown().removesuffix("\n"))
    if output:
        signer = keyring().signer("export")
        save(output, found.signed(signer))
        said = f"{many(len(found.numbers), 'number')} over {many(len(found.debates), 'record')}"
        console(stderr=True).print(Text(f"{output}: {said}, signed by {signer.name}"))


def _cells(row: CountedDebate) -> Iterable[object]:
    return {**row.model_dump(mode="json"), "exceptions": " ".join(row.exceptions)}.values()


@click.command()
@click.argument("source", metavar="ID|EXPORT")
@click.option(
    "--until", type=click.IntRange(min=1), metavar="N", help="Show the state after entry N."
)
@click.option(
    "--unverified", is_flag=True, help="Replay an altered record too, to see where it departs."
)
@store_option
def replay(source: str, until: int | None, unverified: bool) -> None:
    """Run the rules again on the record of the debate ID, or of an export.

    No model is called; the recorded replies are read again. The command says
    whether the same events come out. With --until N it shows the debate as it stood
    after entry N: votes, counts, who is due next, and what was spent.

    The record is verified first. An altered one is refused; with --unverified it is
    replayed all the same, under a warning, and the exit code is 1.

    Exit codes: 0 the same events come out; 1 they differ, or the record was
    altered; 2 there is no such debate, or it cannot be read.
    """
    record = read_source(source) if unverified else sound_source(source)
    altered = not record.verification.ok
    out = console()
    if altered:
        out.print(Text(f"{_UNVERIFIED} First finding: {record.verification.told}", style=_ALARM))
    found = record.replay(until, unverified=unverified)
    for row in found.differing:
        out.print(Text(_differs(row)))
    if until is not None and found.standing and not found.differing:
        out.print(fields([*_stood(found.standing, found.due)]))
    style = "red" if found.differing else "green"
    out.print(Text(f"{found.same} of {found.entries} events come out the same", style=style))
    if altered:
        out.print(Text(_UNVERIFIED, style=_ALARM))
    if found.differing or altered:
        raise click.exceptions.Exit(1)


def _differs(row: Differing) -> str:
    if row.due is not None:
        return f"#{row.seq} {row.type} was not due, but {row.due}; the walk ends here"
    parts = [
        f"{each.field}: derived {value(each.expected)}, recorded {value(each.found)}"
        for each in row.fields
    ]
    return f"#{row.seq} {row.type} differs in {'; '.join(parts)}"


def _stood(now: Standing, due: str | None) -> Iterable[tuple[str, Text | str]]:
    """Yield the debate as it stood: what was voted, counted, compared and found, what is due."""
    yield "After", f"entry {now.entries}, {now.at}"
    yield "Turns", f"{now.turns}, round {now.rounds_run}"
    if now.votes is not None:
        votes = ", ".join(f"{seat}: {vote or '–'}" for seat, vote in now.votes.items())
        yield "Votes", votes or "nobody is seated yet"
        yield "Counted", now.counted or "nothing yet"
    others = {
        "Compared": now.compared,
        "Found": now.found,
        "Cut short": now.cut_short,
        "Decided": now.decided,
        "Due next": due,
    }
    yield from ((label, words) for label, words in others.items() if words)
    yield "Spent", f"{now.calls} calls, {money(now.cost_micro_usd)}"
