"""`worker`: runs the debates that wait in the queue of a store."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

import click

import hansard
from hansard.cli.batching import jobs_option, line_of
from hansard.cli.console import console
from hansard.cli.context import allow_option, open_store, store_option
from hansard.cli.own import models_of, models_option


@click.command()
@jobs_option
@click.option("--once", is_flag=True, help="End once the queue has nothing for this worker.")
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=30,
    show_default=True,
    help="Seconds for which debates may still run once the worker is told to end.",
)
@models_option
@allow_option
@store_option
def worker(
    jobs: int, once: bool, grace: float, models: Path | None, allow: tuple[Path, ...]
) -> None:
    """Run the debates that `hansard batch --queue` has put into the queue of the store.

    The store must be in PostgreSQL. Any number of workers share a queue; each debate is run by one.
    SIGTERM or Ctrl-C ends the worker once its debates have ended, or puts them back after --grace.
    A line on standard error says what became of each debate, or why it waits.

    Exit codes: 0 the worker has ended; 2 there is no queue.
    """
    functions = models_of(models)
    logging.getLogger("procrastinate").setLevel(logging.ERROR)  # each debate has its line
    err = console(stderr=True)
    with open_store() as store, redirect_stdout(sys.stderr) if models else nullcontext():
        asyncio.run(
            hansard.work(
                store,
                jobs=jobs,
                models=functions,
                allow=allow,
                each=lambda row: err.print(line_of(row)),
                stay=not once,
                grace=grace,
            )
        )
