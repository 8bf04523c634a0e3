"""`metrics`: what the debates of a store say together."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

import hansard
from hansard.cli.console import bar_of, console, print_not_counted, printed
from hansard.cli.context import open_store, policy_of, policy_option, store_option
from hansard.report.metrics import Metric
from hansard.report.safe import shown
from hansard.vocabulary import many


@click.command()
@click.option(
    "--since", metavar="TIME", help="Opened at this time or later. Default: 90 days before --until."
)
@click.option("--until", metavar="TIME", help="Opened before this time, such as 2026-12-31 (UTC).")
@click.option("--task-type", metavar="NAME", help="Only debates of this task type.")
@policy_option("Compare with the baselines of this policy, in place of the time before.")
@click.option("--json", "form", flag_value="json", help="Print them as JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print them as CSV.")
@store_option
def metrics(
    since: str | None,
    until: str | None,
    task_type: str | None,
    policy_file: Path | None,
    form: str | None,
) -> None:
    """Show what closed debates say together, and what has changed.

    Beside each number stands how many debates it is taken from, and what it is compared with: a
    threshold, a policy's baseline, or the same number of days before. Scripted debates do not
    count. Fewer than 20 debates give no alert.

    Exit codes: 0 no alert; 1 at least one; 2 there is no store, or the time cannot be read.
    """
    policy = policy_of(policy_file)
    with open_store() as store:
        found = hansard.metrics(store, since=since, until=until, task_type=task_type, policy=policy)
    rows = (row.model_dump(mode="json").values() for row in found.rows)
    if not printed(form, found, Metric.model_fields, rows):
        _print(found)
    if found.alerts:
        raise click.exceptions.Exit(1)


def _print(found: hansard.Metrics) -> None:
    out = console()
    left = f"; {many(found.scripted, 'scripted one')} left out" if found.scripted else ""
    place = f" of type {shown(found.task_type)}" if found.task_type else ""
    out.print(
        Text(
            f"{many(found.debates, 'closed debate')}{place} from {_day(found.since)} "
            f"to {_day(found.until)}{left}"
        )
    )
    print_not_counted(found.not_counted)
    for row in found.rows:
        style = "bold red" if row.alert else ""
        name = f"{row.what}, {shown(row.task_type)}" if row.task_type else row.what
        out.print(Text(f"{'ALERT: ' if row.alert else ''}{name}", style=style))
        out.print(Text(f"  {_line(row)}", style="" if row.n else "dim"))


def _line(row: Metric) -> str:
    if row.value is None:
        return "no debate has it"
    beside = "nothing to compare with"
    if row.baseline is not None:
        beside = f"{row.against} {row.spelled(row.baseline)}"
    drawn = f"{bar_of(row.value)} " if row.share else ""
    return f"{drawn}{row.spelled(row.value)} of {many(row.n, 'debate')}; {beside}"


def _day(at: str) -> str:
    return at[:16].replace("T", " ").removesuffix(" 00:00")
