"""`run`, `resume`, `stop`: the debate on standard error, what came of it on standard output."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

import hansard
from hansard.api.rows import documents_of
from hansard.cli.awaiting import awaited
from hansard.cli.console import console, fields, say_document
from hansard.cli.context import (
    allow_option,
    next_step,
    open_store,
    policy_of,
    policy_option,
    sound_record,
    store_option,
    trust_of,
)
from hansard.cli.interrupting import INTERRUPTED
from hansard.cli.live import View
from hansard.cli.own import asked_options, models_of, models_option, say_where
from hansard.cli.summary import say_ended
from hansard.commands import path_word
from hansard.report.safe import one_line

Observer = Callable[[hansard.Event, Mapping[str, str]], None]
Work = Coroutine[Any, Any, hansard.DebateResult]
T = TypeVar("T")

_SHOW_CURSOR = b"\x1b[?25h"

# With --exit-code: a decision that somebody must look at, and a debate that was cut short.
_MUST_LOOK, _CUT_SHORT = 3, 4

exit_code_option = click.option(
    "--exit-code",
    is_flag=True,
    help="Exit with 3 if a person must decide (`escalate`, `undeclared`), 4 if cut short.",
)
telemetry_option = click.option(
    "--telemetry",
    is_flag=True,
    help="Send OpenTelemetry spans and metrics, without texts, to where the OTEL_* variables say.",
)


def _person(_: click.Context, __: click.Parameter, given: str | None) -> object:
    """Return a name, or the name and the key as a spec has them."""
    both = re.fullmatch(r"([^<>]*)<([^<>]*)>", given or "")
    return {"name": both[1], "key": both[2]} if both else given


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead.")
@models_option
@asked_options
@policy_option("Run only what this signed policy allows.")
@click.option("--task-type", metavar="NAME", help="Record what kind of question this is.")
@click.option(
    "--requester",
    metavar="WHO",
    callback=_person,
    help="Record who asks: a name, or 'NAME <KEY>' with the name of the key that they sign with.",
)
@click.option(
    "--owner",
    metavar="WHO",
    callback=_person,
    help="Record who answers for the result, as in --requester.",
)
@click.option(
    "--label", "labels", metavar="NAME", multiple=True, help="Record a label; may be repeated."
)
@click.option(
    "--follow-up", metavar="ID", help="Admit the transcript of the ended debate ID as evidence."
)
@click.option(
    "--remand",
    metavar="ID",
    help="Debate again what a review of ID sent back: its comment is evidence, too.",
)
@click.option("--retention", metavar="NAME", help="Record how long to keep it, by class.")
@allow_option
@telemetry_option
@exit_code_option
@store_option
def run(
    spec: Path,
    as_json: bool,
    exit_code: bool,
    models: Path | None,
    evidence: tuple[Path, ...],
    policy_file: Path | None,
    labels: tuple[str, ...],
    allow: tuple[Path, ...],
    telemetry: bool,
    **stated: Any,
) -> None:
    """Run the debate that the file SPEC describes.

    What became of it goes to standard output, everything else to standard error. Warnings
    come first, before any model is called; they change no exit code. Each
    step is recorded as it is taken. Ctrl-C leaves the debate open; `hansard resume`
    continues it. What an option says stands in place of what SPEC says.

    Exit codes: 0 the debate ended, including in `escalate` or at a ceiling; 1 it
    failed; 2 the spec cannot be run, or a function of yours raised; 130 interrupted.
    With --exit-code, 3 a person must decide; 4 it was cut short.
    """
    functions = models_of(models)
    policy = policy_of(policy_file)
    trust = trust_of(None) if stated["remand"] else None
    with open_store(create=True) as store:
        around = console(stderr=True)
        with View(around) as view, warned(around), _observed(view, telemetry) as observe:
            work = hansard.run(
                spec,
                models=functions,
                evidence=documents_of(evidence) or None,
                allow=allow,
                store=store,
                policy=policy,
                trust=trust,
                observe=observe,
                labels=labels or None,
                **stated,
            )
            result = until_closed(work, view)
        _end(result, as_json=as_json, exit_code=exit_code)


@click.command()
@click.argument("debate", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead.")
@models_option
@allow_option
@telemetry_option
@exit_code_option
@store_option
def resume(
    debate: str,
    as_json: bool,
    exit_code: bool,
    models: Path | None,
    allow: tuple[Path, ...],
    telemetry: bool,
) -> None:
    """Continue the open debate ID.

    It continues where the process stopped. Recorded replies are not requested
    again.

    Exit codes: 0 the debate ended, as in `run`; 1 it failed, or its record was
    altered; 2 it cannot be resumed, or a function of yours raised; 130 interrupted.
    """
    functions = models_of(models)
    with open_store() as store:
        record = sound_record(store, debate)
        with View(console(stderr=True)) as view:
            for event in record.events:
                view.fold(event)
            with _observed(view, telemetry, record.events) as observe:
                work = hansard.resume(
                    record.debate, store=store, models=functions, allow=allow, observe=observe
                )
                result = until_closed(work, view)
        _end(result, as_json=as_json, exit_code=exit_code)


@click.command()
@click.argument("debate", metavar="ID")
@click.option("--by", metavar="NAME", help="Record who stops it.")
@click.option("--reason", metavar="TEXT", help="Record why.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead.")
@store_option
def stop(debate: str, by: str | None, reason: str | None, as_json: bool) -> None:
    """Cut short the open debate ID; what stands is its result.

    No model is called. While another process runs it, press Ctrl-C there first; a worker is told
    to leave it.

    Exit codes: 0 the debate ended; 1 it failed, or its record was altered; 2 it cannot
    be stopped.
    """
    with open_store() as store:
        record = sound_record(store, debate)
        result = hansard.stop_sync(record.debate, store=store, by=by, reason=reason)
        _end(result, as_json=as_json, exit_code=False)


@contextmanager
def warned(around: Console) -> Iterator[None]:
    """Print what the library warns of a spec, once, in place of Python's own lines."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", hansard.SpecWarning)
        elsewhere, told = warnings.showwarning, set[str]()

        def show(message: Warning | str, *rest: Any, **named: Any) -> None:
            if isinstance(message, hansard.SpecWarning):
                if str(message) in told:
                    return
                told.add(str(message))
                around.print(fields([("Warning", one_line(str(message), 1000))]), style="yellow")
            else:
                elsewhere(message, *rest, **named)

        warnings.showwarning = show
        yield


@contextmanager
def _observed(
    view: View, telemetry: bool, before: Iterable[hansard.Event] = ()
) -> Iterator[Observer]:
    """Give what observes a debate: the view, and telemetry where it is asked for."""
    if not telemetry:
        yield view.observe
        return
    from hansard.telemetry import exporting  # noqa: PLC0415 - its packages are an extra

    with exporting() as telling:
        for event in before:
            telling.fold(event)

        def both(event: hansard.Event, texts: Mapping[str, str]) -> None:
            view.observe(event, texts)
            telling(event)

        yield both


def _end(result: hansard.DebateResult, *, as_json: bool, exit_code: bool) -> None:
    """Print what became of a debate; one that failed ends with 1."""
    console(stderr=True).print()
    if as_json:
        say_document(result)
    say_ended(result, aside=as_json)
    short = result.debate[:8]
    steps = (f"verify {short}", f"show {short}", f"report {short} --as markdown")
    rows = [("Next" if n == 0 else "", next_step(step)) for n, step in enumerate(steps)]
    console(stderr=True).print(fields(rows))
    if result.status == "failed":
        raise click.exceptions.Exit(1)
    if exit_code and result.status == "truncated":
        raise click.exceptions.Exit(_CUT_SHORT)
    if exit_code and result.review is not None:
        raise click.exceptions.Exit(_MUST_LOOK)


def until_closed(work: Work, view: View) -> hansard.DebateResult:
    """Run the debate to its end; Ctrl-C ends the process with the debate left open."""
    try:
        return ended(work)
    except hansard.SeatError as error:
        if error.seat is None and error.__cause__:  # the view is ours: it is our bug
            raise error.__cause__ from None
        view.close()
        say_where(error.__cause__ or error, click.get_current_context().params.get("models"))
        click.echo(f"go on, once that is mended, with: {_resume(view)}", err=True)
        raise
    except asyncio.CancelledError:
        view.close()
        left = "no debate was opened"
        if view.debate:
            left = f"debate {view.debate[:8]} stays open, go on with: {_resume(view)}"
        click.echo(f"interrupted; {left}", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


def ended(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end; Ctrl-C raises CancelledError once what has arrived is recorded.

    What functions of the caller print goes to standard error: only the report is output.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        own = click.get_current_context().params.get("models")
        with closing(work), redirect_stdout(sys.stderr) if own else nullcontext():
            return awaited(_interruptible(work))
    finally:
        signal.signal(signal.SIGINT, before)


def _resume(view: View) -> str:
    """Return the command that goes on with a debate, with what it has to be told again."""
    given = click.get_current_context().params
    more = [f" --allow {path_word(folder)}" for folder in given.get("allow", ())]
    if given.get("models"):
        more.insert(0, f" --models {path_word(given['models'])}")
    return next_step(f"resume {view.debate[:8]}{''.join(more)}")


async def _interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`; Ctrl-C cancels it so that what has arrived is recorded, a second one kills."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, _leave)
        loop.call_soon_threadsafe(task.cancel)

    signal.signal(signal.SIGINT, stop)
    return await task


def _leave(*_: object) -> None:
    """Leave at once, whatever hangs; the record on disk is whole at every moment."""
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)  # the live view hid it
    os._exit(INTERRUPTED)
