"""What `export` and `verify` do with many debates: a bar on a terminal, a table, the counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

import hansard
from hansard.cli.console import compact, console, is_watched, print_notes
from hansard.cli.context import next_step
from hansard.commands import path_word
from hansard.report.safe import one_line
from hansard.vocabulary import many, words

if TYPE_CHECKING:
    from rich.progress import Progress

_SHOWN = 100  # rows of the table, of each kind
_TITLES = ("Record", "Verdict", "What is to be known")
_ALTERED = words("verdicts")["none"]


def bar_on(err: Console) -> Progress:
    """Return a bar that counts what is done; it is drawn only where somebody is watching."""
    from rich import progress as bars  # noqa: PLC0415 - to read one record, none is needed

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
    )
    return bars.Progress(*columns, console=err, transient=True, disable=not is_watched(err))


@contextmanager
def progress(
    what: str, total: int | None, err: Console | None = None
) -> Iterator[Callable[[object], None]]:
    """Give what is called with each thing that is done; on a terminal a bar shows how many are.

    Who prints beside the bar gives the console of both.
    """
    with bar_on(err or console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda _: bar.advance(task)


def export_many(
    store: hansard.Store,
    debates: list[str],
    folder: Path,
    signer: hansard.Signer,
    log: Callable[[], hansard.Signer],
) -> None:
    """Export debates into a folder, and say what was left out; exit code 1 if anything was."""
    with progress("Exporting", len(debates)) as step:
        done = hansard.export_debates(store, debates, folder, signer, log=log, each=step)
    say = console(stderr=True)
    for row in done.left_out[:_SHOWN]:
        say.print(Text(f"Left out    {row.debate}  {one_line(row.sentence)} [{row.code}]", "red"))
    if len(done.left_out) > _SHOWN:
        say.print(Text(f"            and {len(done.left_out) - _SHOWN:,} more", "red"))
    there = done.written + done.kept
    if there:
        kept = f", {done.kept:,} of them there already" if done.kept else ""
        say.print(Text(f"{folder}: {many(there, 'export')}{kept}, signed by {signer.name}"))
        say.print(Text(f"Verify them first: hansard verify {path_word(folder)}"))
    if done.left_out:
        number = many(len(done.left_out), "debate")
        say.print(
            Text(f"{number} left out; `{next_step('verify ID')}` says what is wrong with one")
        )
        raise click.exceptions.Exit(1)


class Table:
    """The records that are to be looked at, in the order of how much; the others are counted."""

    def __init__(self, required: int, policy: bool) -> None:
        self._required = required
        self._policy = policy
        self._rows: dict[str, list[tuple[str, str, str]]] = {"bad": [], "short": [], "known": []}
        self._numbers = dict.fromkeys(self._rows, 0)

    def add(self, record: hansard.Verified) -> None:
        """Take in what was found of one record."""
        kind, said = self._judge(record)
        if kind:
            self._numbers[kind] += 1
            if len(self._rows[kind]) < _SHOWN:
                self._rows[kind].append((record.name, record.verdict, said))

    @property
    def missed(self) -> bool:
        """Whether any record does not reach what is required."""
        return bool(self._numbers["bad"] or self._numbers["short"])

    def _judge(self, record: hansard.Verified) -> tuple[str | None, str]:
        result = record.result
        if result is None:
            return "bad", record.error or ""
        if not result.ok:
            return "bad", f"{result.findings[0].code}  {result.told}"
        said = "; ".join(result.caveats)
        if (record.level or 0) < min(self._required, 1):  # level 2 is that of all together
            who = next(check.evidence for check in result.checks if check.number == 3)
            return "short", "; ".join(filter(None, (who, said)))
        if self._policy and not result.policed:
            return "short", f"required: {words('policed')['required']}"
        said = "; ".join(result.own_caveats)
        return ("known", said) if said else (None, "")

    def print(self, out: Console) -> None:
        """Print the rows, those that do not hold first."""
        rows = [row for kind in self._rows for row in sorted(self._rows[kind])]
        if not rows:
            return
        widths = [max(len(row[place]) for row in (*rows, _TITLES)) for place in (0, 1)]
        for row in (_TITLES, *rows):
            style = "bold" if row is _TITLES else "bold red" if row[1] == _ALTERED else ""
            cells = (row[0].ljust(widths[0]), row[1].ljust(widths[1]), one_line(row[2]))
            out.print(Text("  ".join(cells).rstrip(), style=style))
        more = sum(self._numbers.values()) - len(rows)
        if more:
            out.print(Text(f"… and {more:,} more; --json prints all of them"))
        out.print()


def verify_many(
    verify: Callable[[Callable[[hansard.Verified], object]], hansard.Verifications],
    total: int | None,
    required: int,
    *,
    policy: bool,
    as_json: bool,
) -> None:
    """Verify records and print what is found; exit code 1 where one misses what is required."""
    table = Table(required, policy)
    with progress("Verifying", total) as step:

        def each(record: hansard.Verified) -> None:
            table.add(record)
            if as_json:
                click.echo(compact(record))
            step(record)

        found = verify(each)
    if as_json:
        click.echo(compact(found))
    else:
        out = console()
        table.print(out)
        _print_all(out, found)
    if table.missed or found.level is None or found.level < required:
        raise click.exceptions.Exit(1)


def _print_all(out: Console, found: hansard.Verifications) -> None:
    """Print the checks of the folder, what is wrong with it, the counts and the verdict."""
    for check in found.checks:
        status = "FAIL" if check.status == "fail" else check.status
        style = {"pass": "green", "fail": "bold red"}.get(check.status, "yellow")
        line = (f"{check.number:>2}  ", (f"{check.name:<10}  ", "bold"), (f"{status:<11}  ", style))
        out.print(Text.assemble(*line, one_line(check.evidence)))
    for row in found.findings[:_SHOWN]:
        if row.code != "1.record":  # the table has said so
            place = f"line {row.seq:,}: " if row.seq else ""
            out.print(
                Text(f"{row.code}  {place}{one_line(row.message)}  {_name(row)}", style="red")
            )
        if row.code == "17.fork":
            print_notes((str(row.expected), str(row.found)))
    order = list(words("verdicts").values())  # the best first
    counted = sorted(found.counts.items(), key=lambda row: -order.index(row[0]))
    counts = [f"{number:,} {verdict}" for verdict, number in counted]
    out.print(Text(f"\n{many(found.records, 'record')}: {', '.join(counts)}"))
    out.print(Text(words("claims")["unproven"], style="dim"))
    style = "reverse bold green" if found.ok else "reverse bold red"
    said = "" if found.ok else "  do not rely on these records as a whole"
    caveats = f"  {'; '.join(found.caveats)}" if found.caveats else ""
    out.print(Text.assemble((f" {found.verdict} ", style), (said, "bold red"), caveats))


def _name(row: hansard.Finding) -> str:
    """Return the name of a file that the sentence of a finding does not have."""
    name = row.found if isinstance(row.found, str) and row.check != 17 else ""
    return "" if name in row.message else json.dumps(name)
