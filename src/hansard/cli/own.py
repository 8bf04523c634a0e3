"""The caller's own: functions (`--models`), and where one of them raised."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TypeVar

import click

import hansard
from hansard.api.functions import last_frame
from hansard.cli.console import say
from hansard.cli.interrupting import is_interrupt
from hansard.report.safe import one_line, shown

F = TypeVar("F", bound=Callable[..., Any])

_LONGEST = 1_000  # characters of a line of code, or of what an exception says


def models_option(command: F) -> F:
    """Let a command be told which file has the functions that a spec names."""
    return click.option(
        "--models",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Run this Python file and take from it the functions that `python:NAME` and "
        "`custom:NAME` name. Without it, no code of yours is run.",
    )(command)


def asked_options(command: F) -> F:
    """Let a command be told a question and documents in place of those of the spec."""
    evidence = click.option(
        "--evidence",
        metavar="FILE",
        type=click.Path(path_type=Path),
        multiple=True,
        help="Admit this document of yours, wherever it is; may be repeated. What SPEC admits is "
        "left out.",
    )
    question = click.option(
        "--question", metavar="TEXT", help="Ask this in place of what SPEC asks."
    )
    return question(evidence(command))


def models_of(file: Path | None) -> dict[str, Any] | None:
    """Return the functions of a file; what the file prints goes to standard error."""
    if file is None:
        return None
    try:
        with redirect_stdout(sys.stderr):
            return dict(hansard.read_models(file))
    except hansard.UsageError as error:
        if error.__cause__ and not is_interrupt(error):
            say_where(error.__cause__, file)
        raise


def say_where(error: BaseException, file: Path | None) -> None:
    """Show what was raised, with the last line of the caller's file on the way, as Python does."""
    frame = last_frame(error, file) if file else None
    if frame:
        say(f'  File "{shown(str(file))}", line {frame.lineno}, in {frame.name}', err=True)
        if frame.line:
            say(f"    {one_line(frame.line, _LONGEST)}", err=True)
    kind, words = type(error).__name__, _words(error)
    say(one_line(f"{kind}: {words}" if words else kind, _LONGEST), err=True)


def _words(error: BaseException) -> str:
    """Return what an exception says; nothing where that raises as well."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the caller's own class
        return ""
