"""`batch`: many debates at once, how far they are, and what became of them."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

import hansard
from hansard.api.batches import unknown
from hansard.api.batching import AT_ONCE
from hansard.cli.console import bar_of, console, is_watched, money, printed
from hansard.cli.context import (
    allow_option,
    keyring,
    next_step,
    open_store,
    policy_of,
    policy_option,
    store_option,
    trust_of,
)
from hansard.cli.interrupting import INTERRUPTED
from hansard.cli.many import bar_on
from hansard.cli.own import models_of, models_option
from hansard.cli.running import ended, warned
from hansard.report.batched import BatchRow
from hansard.report.safe import one_line, shown
from hansard.vocabulary import many

_TOLD = 50  # rows that need a look, after a run
_COLUMNS = ("row", "debate", "state", "decision", "confidence", "cost_usd", "reviewed",
            "needs_a_look", "code", "error")  # fmt: skip
# What is said of debates in each state, in this order.
_STATES = {
    "closed": "ended",
    "truncated": "cut short",
    "failed": "failed",
    "open": "open",
    "unopened": "not opened",
    "altered": "ALTERED",
    "unreadable": "UNREADABLE",
}
Work = Coroutine[Any, Any, hansard.Batch]


class _Batches(click.Group):
    """Runs what is no command of its own: `batch SPEC…` is `batch run SPEC…`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Batches)
def batch() -> None:
    """Run many debates at once: `hansard batch SPEC…`, or `batch --csv FILE --template SPEC`.

    That is short for `hansard batch run`, whose options `hansard batch run --help` lists.
    """


jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=AT_ONCE,
    show_default=True,
    help="How many debates run at once.",
)


@batch.command()
@click.argument("specs", metavar="[SPEC...]", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--csv",
    "table",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Run a debate for each row of this file. Each column replaces a field of the template.",
)
@click.option(
    "--template",
    metavar="SPEC",
    type=click.Path(path_type=Path),
    help="The spec in which the rows of --csv replace fields.",
)
@click.option(
    "--name",
    metavar="BATCH",
    help="The name of the batch. Default: that of the --csv file, else of the folder of the first "
    "SPEC.",
)
@jobs_option
@click.option(
    "--budget-usd",
    metavar="USD",
    help="Open no debate that could take the total above this, by the high end of its estimate.",
)
@click.option(
    "--budget-over",
    metavar="WHAT",
    default="batch",
    show_default=True,
    help="What the budget covers: the batch, this month (`month`, in UTC), or `label:NAME`.",
)
@click.option(
    "--queue",
    type=int,
    metavar="PRIORITY",
    help="Leave the debates to workers (`hansard worker`), who run those of the highest priority "
    "first. Usually 0.",
)
@policy_option("Run only what this signed policy allows.")
@models_option
@allow_option
@store_option
def run(
    specs: tuple[Path, ...],
    table: Path | None,
    template: Path | None,
    name: str | None,
    models: Path | None,
    policy_file: Path | None,
    allow: tuple[Path, ...],
    **given: Any,
) -> None:
    """Run a debate for each SPEC, or for each row of a CSV file.

    Every row is checked before any debate is opened, and each mistake is shown with its row. A
    row that has a debate in this batch already is not run again; if that debate is still open,
    it continues. So after Ctrl-C, or with a larger budget, run the same command again.

    Exit codes: 0 all debates have ended; 1 one failed, was left open or was not opened; 2 the
    batch cannot be run; 130 interrupted.
    """
    if (table is None) is not bool(specs) or (table is None) is not (template is None):
        raise click.UsageError("name SPEC..., or --csv FILE with --template SPEC")
    name = name or _called(table.stem if table else specs[0].absolute().parent.name)
    functions = models_of(models)
    policy = policy_of(policy_file)
    err = console(stderr=True)
    with open_store(create=True) as store, warned(err):
        with _watched(name, err) as (begun, each):
            work = hansard.run_batch(
                table or specs,
                name=name,
                store=store,
                template=template,
                models=functions,
                policy=policy,
                trust=keyring().trust,
                allow=allow,
                begun=begun,
                each=each,
                **given,
            )
            found = _until_over(work, name)
        _end(found, queued=given["queue"] is not None)


@batch.command()
@click.argument("name", metavar="BATCH")
@jobs_option
@models_option
@allow_option
@store_option
def resume(name: str, jobs: int, models: Path | None, allow: tuple[Path, ...]) -> None:
    """Continue the open debates of a batch.

    No recorded reply is asked for again. The store does not know rows whose debates were never
    opened: for those, repeat `hansard batch run`.

    Exit codes: as for `batch run`.
    """
    functions = models_of(models)
    with open_store() as store:
        with _watched(name, console(stderr=True)) as (begun, each):
            work = hansard.resume_batch(
                name,
                store=store,
                jobs=jobs,
                models=functions,
                allow=allow,
                begun=begun,
                each=each,
            )
            found = _until_over(work, name)
        _end(found)


@batch.command()
@click.argument("name", metavar="[BATCH]", required=False)
@store_option
def status(name: str | None) -> None:
    """Show how far a batch is, or every batch of the store.

    Exit codes: 0 every debate has ended and none failed; 1 one is open, failed or does not hold;
    2 there is no such batch.
    """
    with open_store() as store:
        found = [row for row in hansard.list_batches(store) if name in (None, row.name)]
        if not found:
            raise unknown(store, name)
    out = console()
    for row in found:
        number = sum(row.counts.values())
        drawn = bar_of(row.ended / max(number, 1))  # somebody may have changed the rows
        out.print(Text(f"{row.name}  {drawn}  {row.ended} of {number} ended", style="bold"))
        cost = "" if row.cost_micro_usd is None else f"; {money(row.cost_micro_usd)}"
        out.print(Text(f"  {_counted(row.counts)}{cost}"))
        if row.counts.keys() - {"closed", "truncated", "open"}:
            _say_next(row.name)
    if any(row.counts.keys() - {"closed", "truncated"} for row in found):
        raise click.exceptions.Exit(1)


@batch.command()
@click.argument("name", metavar="BATCH")
@click.option(
    "--as",
    "form",
    type=click.Choice(("text", "csv", "json")),
    default="text",
    show_default=True,
    help="How it is printed.",
)
@store_option
def report(name: str, form: str) -> None:
    """Say what became of each debate of a batch; every record is verified.

    Exit codes: 0 printed; 2 there is no such batch.
    """
    with open_store() as store:
        found = hansard.batch_report(store, name, trust_of(None))
    if not printed(form, found, _COLUMNS, map(_cells, found.rows)):
        for row in found.rows:
            console().print(line_of(row))
        console().print(_sum(found))


def _called(name: str) -> str:
    """Return the name of a batch that is made from a file's."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip("-")[:58] or "batch"


@contextmanager
def _watched(
    name: str, err: Console
) -> Iterator[tuple[Callable[[Sequence[str]], object], Callable[[BatchRow], object]]]:
    """Give what hears of a run: a bar on a terminal, else a line for each debate that is over."""
    if not is_watched(err):
        yield (lambda _: None), lambda row: err.print(line_of(row))
        return
    with bar_on(err) as bar:
        task = bar.add_task(shown(name), total=None)
        yield (lambda rows: bar.update(task, total=len(rows))), lambda _: bar.advance(task)


def _until_over(work: Work, name: str) -> hansard.Batch:
    """Run a batch; Ctrl-C ends the process and leaves its debates open."""
    try:
        return ended(work)
    except asyncio.CancelledError:
        command = next_step(f"batch status {shlex.quote(name)}")
        click.echo(
            "interrupted; debates that were running stay open. Run the same command again to go on "
            f"with them and with the other rows; how far it is: {command}",
            err=True,
        )
        raise click.exceptions.Exit(INTERRUPTED) from None


def _end(found: hansard.Batch, *, queued: bool = False) -> None:
    """Print what became of a batch; exit code 1 where not all of it is done, or will be."""
    out = console()
    rows = [row for row in found.rows if row.needs_a_look and not (queued and row.error is None)]
    queued = queued and not any(row.error for row in found.rows)
    for row in rows[:_TOLD]:
        out.print(line_of(row))
    if len(rows) > _TOLD:
        out.print(Text(f"… and {len(rows) - _TOLD:,} more that need a look"))
    out.print(_sum(found))
    if any(row.debate for row in found.rows):
        _say_next(found.name)
    if not (found.done or queued):
        raise click.exceptions.Exit(1)


def _say_next(name: str) -> None:
    """Name the command that says what became of each debate of a batch."""
    step = next_step(f"batch report {shlex.quote(name)}")
    console(stderr=True).print(Text(f"Next        {one_line(step, 200)}"))


def line_of(row: BatchRow) -> Text:
    """Say in a line what became of a row."""
    said = [
        row.row or "–",
        (row.debate or "")[:8],
        _STATES.get(row.state, row.state),
        row.decision,
        row.confidence,
        "" if row.cost_micro_usd is None else money(row.cost_micro_usd),
        f"review {row.reviewed}" if row.reviewed not in (None, "not required") else "",
        f"{row.error} [{row.code}]" if row.error else "",
    ]
    style = "bold red" if row.state in ("failed", "unreadable", "altered") else ""
    return Text("  ".join(one_line(cell, 1000) for cell in said if cell), style=style)


def _sum(found: hansard.Batch) -> Text:
    cost = found.cost_micro_usd
    look = sum(row.needs_a_look for row in found.rows)
    needs = "needs" if look == 1 else "need"
    parts = [
        f"{many(len(found.rows), 'row')}: {_counted(found.counts)}",
        "" if cost is None else money(cost),
        f"{look} {needs} a look" if look else "",
    ]
    return Text(f"{found.name}  {'; '.join(filter(None, parts))}", style="bold")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(
        f"{counts[state]:,} {said}" for state, said in _STATES.items() if counts.get(state)
    )


def _cells(row: BatchRow) -> Iterable[object]:
    cost = row.cost_micro_usd
    dollars = None if cost is None else f"{cost / 1_000_000:.6f}"
    values = row.model_dump(mode="json") | {"cost_usd": dollars}
    return (values[name] for name in _COLUMNS)
