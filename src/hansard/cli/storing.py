"""`store` and `copy`: the tables of a store, and one store into another."""

from __future__ import annotations

import click
from rich.text import Text

import hansard
from hansard.addresses import without_secrets
from hansard.cli.console import console, fields
from hansard.cli.context import store_option, store_url
from hansard.cli.many import progress
from hansard.vocabulary import many


@click.group()
def store() -> None:
    """The tables in which debates are kept."""


@store.command()
@store_option
def migrate() -> None:
    """Make the tables of the store, or bring them up to date after Hansard was updated.

    A store in a file is made by its first debate as well. One in PostgreSQL is only made by this
    command, and by a role that may make tables; debates are run by one that may not.

    Exit codes: 0 the tables are up to date; 2 they are of a later version of Hansard, or the
    store cannot be read or written.
    """
    url = store_url()
    before, now = hansard.migrate_store(url)
    known = "up to date" if before == now else f"they were {before}"
    was = "made" if before is None else known
    console().print(fields([("Store", without_secrets(url)), ("Tables", f"version {now}: {was}")]))


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def copy(source: str, target: str) -> None:
    """Copy the store FROM into TO, which is new or empty, and compare the two.

    Each is the URL of a store or the path of its file. Entries, texts and the register
    come over byte for byte; what was erased stays erased. If it is interrupted, run it
    again: it goes on where it stopped, and until it is done nothing else opens TO.

    FROM may be in use. What is stored there later comes with the next copy, as long as
    nobody has used TO. Use only one of them afterwards: they have the same register.

    Exit codes: 0 TO has all that FROM has; 1 the two are not the same, or FROM has grown
    since; 2 one of them cannot be used.
    """
    with progress("Copying", None) as step:
        found = hansard.copy_store(source, target, each=step)
    rows: list[tuple[str, Text | str]] = [
        ("Copied", _counted(found)),
        ("Register", f"{many(found.lines, 'line')}, root {found.root}"),
        ("Compared", "each entry, text and checkpoint, and the root: the same in both"),
    ]
    console().print(fields(rows))
    if found.behind:
        click.echo("FROM has grown since: run this again once nobody uses it", err=True)
        raise click.exceptions.Exit(1)


def _counted(found: hansard.Copied) -> str:
    counts = ((found.debates, "debate"), (found.entries, "entry"), (found.texts, "text"))
    return ", ".join(many(number, what) for number, what in counts)
