"""`worker`: runs the debates that wait in the queue of a store."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path

import click
from rich.text import Text
from typing_extensions import override

import hansard
from hansard.api.working import Due
from hansard.cli.awaiting import awaited
from hansard.cli.batching import jobs_option, line_of
from hansard.cli.console import console
from hansard.cli.context import (
    allow_option,
    next_step,
    open_store,
    policy_of,
    policy_option,
    store_option,
    trust_of,
)
from hansard.cli.own import models_of, models_option
from hansard.cli.running import telemetry_option
from hansard.commands import path_word
from hansard.report.safe import one_line, shown


class _Inert(logging.Formatter):
    """Makes a line of what a log says, safe for a terminal: what is in it comes from the queue.

    With HANSARD_DEBUG=1 the traceback follows.
    """

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(record.message, 1000)

    @override
    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or os.environ.get("HANSARD_DEBUG") == "1":
            return shown(super().format(record))
        cause = error.__cause__ or error
        said = f"{record.getMessage().rstrip(', ')} ({type(cause).__name__}: {cause})"
        return f"{one_line(said, 1000)}; HANSARD_DEBUG=1 shows more"


def _quieten() -> None:
    """Let what runs below a worker say only what went wrong: each debate has its line."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Inert())
    for name in ("procrastinate", "psycopg", "asyncio"):
        log = logging.getLogger(name)
        log.setLevel(logging.ERROR)
        log.handlers, log.propagate = [handler], False


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
@policy_option("Say each hour what is due by this policy: baselines of metrics, and retention.")
@telemetry_option
@store_option
def worker(
    jobs: int,
    once: bool,
    grace: float,
    models: Path | None,
    allow: tuple[Path, ...],
    policy_file: Path | None,
    telemetry: bool,
) -> None:
    """Run the debates that `hansard batch --queue` has put into the queue of the store.

    The store must be in PostgreSQL. Any number of workers share a queue; each debate is run by one.
    SIGTERM or Ctrl-C ends the worker once its debates have ended, or puts them back after --grace.
    A line on standard error says what became of each debate, or why it waits.
    Once an hour one of the workers says there how many metrics alert, how many debates are due by
    retention and how many reviews are overdue.

    Exit codes: 0 the worker has ended; 2 there is no queue, or the server is gone: start the
    worker again.
    """
    functions, policy, trust = models_of(models), policy_of(policy_file), trust_of(None)
    held_to = f" --policy {path_word(policy_file)}" if policy_file else ""
    steps = [
        next_step(f"metrics{held_to}"),
        next_step(f"retention{held_to}"),
        next_step("list --review overdue"),
    ]
    _quieten()
    err = console(stderr=True)
    with open_store() as store, redirect_stdout(sys.stderr) if models else nullcontext():
        store.require_queue()
        if not once:
            err.print(
                Text(f"waiting for debates of {store.url}; Ctrl-C or SIGTERM ends the worker")
            )
        with _observed(store) if telemetry else nullcontext() as observe:
            awaited(
                hansard.work(
                    store,
                    jobs=jobs,
                    models=functions,
                    allow=allow,
                    each=lambda row: err.print(line_of(row)),
                    policy=policy,
                    trust=trust,
                    hourly=lambda due: err.print(_line(due, steps)),
                    observe=observe,
                    stay=not once,
                    grace=grace,
                )
            )


@contextmanager
def _observed(store: hansard.Store) -> Iterator[Callable[[hansard.Event], None]]:
    """Give an observer that knows what others recorded of a debate before it was taken up here."""
    from hansard.telemetry import exporting  # noqa: PLC0415 - its packages are an extra

    with exporting() as telling:

        def observe(event: hansard.Event) -> None:
            if event["type"] == "debate.resumed":
                with suppress(hansard.HansardError):  # telemetry ends no debate
                    earlier = hansard.read_record(store, event["debate"]).events
                    for before in earlier[: event["seq"] - 1]:
                        telling.fold(before)
            telling(event)

        yield observe


def _line(due: Due, steps: Sequence[str]) -> Text:
    """Say in a line how much is due, and which command shows it."""
    said = zip(
        (due.alerts, due.texts, due.reviews),
        ("metric with an alert", "debate due by retention", "overdue review"),
        ("metrics with an alert", "debates due by retention", "overdue reviews"),
        steps,
        strict=True,
    )
    return Text(
        ", ".join(
            f"{number:,} {one if number == 1 else more}" + (f" (`{step}`)" if number else "")
            for number, one, more, step in said
            if number is not None
        )
    )
