"""`retention`: how long debates are kept, and which are due to go."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

import hansard
from hansard.cli.console import console, fields, print_not_counted, say_document
from hansard.cli.context import (
    next_step,
    open_store,
    policy_of,
    policy_option,
    store_option,
)
from hansard.report.retention import Class
from hansard.report.safe import shown
from hansard.vocabulary import many

_MOST = 20  # ids that are shown of a class


@click.command()
@policy_option("The policy that says how long each class is kept.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, with every id.")
@store_option
def retention(policy_file: Path | None, as_json: bool) -> None:
    """Show how long debates are kept, by their class of retention, and which are due to go.

    Nothing is deleted by it. Whoever answers for that erases all texts of a debate with
    `hansard redact ID --all`; its entries stay, and say so. A debate under a hold is never due.

    Exit codes: 0 nothing is due; 1 something is; 2 there is no store, or it cannot be read.
    """
    policy = policy_of(policy_file)
    with open_store() as store:
        found = hansard.retention(store, policy)
    due = [debate for row in found.classes for debate in row.due]
    if as_json:
        say_document(found)
    else:
        out = console()
        out.print(fields([(_name(row), _line(row)) for row in found.classes]))
        print_not_counted(found.not_counted)
        if due:
            step = next_step(f"redact {due[0][:8]} --all --dry-run")
            out.print(Text(f"{many(len(due), 'debate')} due: {', '.join(due[:_MOST])}"))
            out.print(Text(f"Look first: {step}"))
    if due:
        raise click.exceptions.Exit(1)


def _name(row: Class) -> str:
    return shown(row.retention) if row.retention else "no class"


def _line(row: Class) -> str:
    kept = "no policy says how long" if row.days is None else f"kept {many(row.days, 'day')}"
    told = [
        many(row.debates, "debate"),
        kept,
        f"{row.held} under a hold" if row.held else "",
        f"{len(row.due)} due" if row.due else "",
        f"next on {row.next}" if row.next else "",
    ]
    return ", ".join(filter(None, told))
