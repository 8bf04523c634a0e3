"""`compare`: two debates side by side, differences first."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import click
from rich.text import Text

import hansard
from hansard.cli.console import console, fields, say_document
from hansard.cli.context import find_export, next_step, open_store, sound_source, store_option
from hansard.cli.signing import save
from hansard.errors import UsageError
from hansard.report.comparing import counted
from hansard.report.safe import one_line

_TITLES = {
    "debate": "What was asked",
    "decision": "Decision",
    "votes": "Round by round",
    "models": "Models",
    "prompts": "Prompts",
    "evidence": "Evidence",
    "findings": "Findings",
    "cost": "Cost",
    "open": "Still open",
}


@click.command()
@click.argument("one", metavar="ID|EXPORT")
@click.argument("other", metavar="[ID|EXPORT]", required=False)
@click.option(
    "-o",
    "--output",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="Write the comparison as one HTML file, too, which loads nothing.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@store_option
def compare(one: str, other: str | None, output: Path | None, as_json: bool) -> None:
    """Compare two debates, differences first: each an ID in the store, or an export.

    This covers decisions, votes by round, the models asked and served, the hashes of
    the prompt templates, evidence, findings, cost, and what was left open. With one
    debate alone it compares that with the other run of its question in the store,
    or lists the others if there are several.

    Exit codes: 0 compared; 1 a record was altered; 2 there is no such debate, or nothing
    to compare it with.
    """
    if other is None:
        found = _reruns(one)
        if len(found) != 1:
            _say_reruns(one, found)
            raise click.exceptions.Exit(2 if not found else 0)
        other = found[0]
    comparison = hansard.compare(sound_source(one), sound_source(other))
    if output:
        save(output, comparison.to_html().encode())
    if as_json:
        say_document(comparison)
    else:
        _print(comparison)


def _reruns(debate: str) -> tuple[str, ...]:
    if find_export(debate):
        raise UsageError("compare.other", "name the record to compare it with, too")
    with open_store() as store:
        return hansard.reruns_of(store, debate)


def _say_reruns(debate: str, found: tuple[str, ...]) -> None:
    out = console(stderr=not found)
    if not found:
        out.print(Text("No other debate in this store was asked the same question."))
        return
    out.print(Text(f"{len(found)} other debates were asked the same question:"))
    for name in found:
        out.print(Text(f"  {next_step(f'compare {debate} {name[:8]}')}"))


def _print(found: hansard.Comparison) -> None:
    out, sides = console(), (("A", found.one), ("B", found.other))
    for letter, side in sides:
        scripted = ", scripted replies" if side.scripted else ""
        held = f"{side.opened_at[:16].replace('T', ' ')} UTC, {side.format}{scripted}"
        out.print(fields([(letter, f"{side.debate}  {held}")], 1))
    out.print(Text(f"\n{counted(found)}", style="bold"))
    for section, rows in groupby(found.differing, key=lambda row: row.section):
        out.print(Text(f"\n{_TITLES[section]}", style="bold"))
        for row in rows:
            out.print(Text(f"  {one_line(row.name)}"))
            for letter, said in (("A", row.one), ("B", row.other)):
                out.print(Text.assemble((f"    {letter} ", "bold"), said))
    same = [row.name for row in found.rows if row.same]
    if same:
        out.print(Text(f"\nThe same in both: {one_line(', '.join(same))}", style="dim"))
