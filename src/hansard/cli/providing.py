"""`models`: which models can be used here, and what the others lack."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

import hansard
from hansard.cli.console import console, say_document


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def models(as_json: bool) -> None:
    """List the models that can be used here, and what the others need.

    Each line shows what to write after `model:` in a spec. No server is contacted,
    so a wrong key or a server that is down shows only when it is first used.

    Exit codes: 0 listed, even if something is missing; 2 wrong use.
    """
    found = hansard.available_models()
    if as_json:
        say_document(found)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("Model, for example", "Here", "What it lacks, or who answers"):
        table.add_column(name)
    for row in found.providers:
        usable = Text("yes", style="green") if row.usable else Text("no", style="yellow")
        table.add_row(
            Text(row.example), usable, Text(row.about if row.usable else "; ".join(row.missing))
        )
    console().print(table)
