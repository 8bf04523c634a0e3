"""`store`: the tables of a store."""

from __future__ import annotations

import click

import hansard
from hansard.addresses import without_secrets
from hansard.cli.console import console, fields
from hansard.cli.context import store_option, store_url


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
