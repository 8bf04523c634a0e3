"""`hansard`: the group of commands, and what becomes of every kind of failure."""

from __future__ import annotations

import gc
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import hansard
from hansard.api.storing import bound_memory
from hansard.cli.context import ALTERED, store_option
from hansard.cli.interrupting import INTERRUPTED, interruptible, is_interrupt
from hansard.cli.streams import discard, prepare, refused
from hansard.errors import HansardError
from hansard.report.safe import one_line
from hansard.version import __version__

_PACKAGE = Path(hansard.__file__).parent
_PIPE_CLOSED = 141  # as a shell reports a process that SIGPIPE ended
_BUG = 70  # EX_SOFTWARE of sysexits
_FAILED = (ALTERED, "copy.differs")  # a check failed
_LONGEST = 4_000  # characters of an error: it may name what a stranger named
_END = 400  # of them at its end: what is wrong, and what to do
_LONG_WORD = re.compile(r"(\S{200})\S{400,}(\S{2})")  # behind the last sign of a name is a quote
_EPILOG = """\b
Exit codes: 0 done, and everything that was checked holds; 1 a check failed;
2 wrong use, or the input cannot be read; 70 a bug in Hansard; 130
interrupted.

\b
Completion for bash (zsh and fish alike):
  eval "$(_HANSARD_COMPLETE=bash_source hansard)"
"""

# Each with its module and function. Only that module is imported: all of them take a second.
_COMMANDS = {
    "demo": "demo.demo",
    "init": "starting.init",
    "models": "providing.models",
    "estimate": "estimating.estimate",
    "gate": "gating.gate",
    "run": "running.run",
    "resume": "running.resume",
    "stop": "running.stop",
    "batch": "batching.batch",
    "worker": "working.worker",
    "list": "listing.list_",
    "show": "reading.show",
    "report": "reading.report",
    "replay": "reading.replay",
    "compare": "comparing.compare",
    "verify": "verifying.verify",
    "review": "reviewing.review",
    "status": "reviewing.status",
    "outcome": "reviewing.outcome",
    "hold": "reviewing.hold",
    "redact": "redacting.redact",
    "export": "signing.export",
    "page": "signing.page",
    "keys": "signing.keys",
    "policy": "policing.policy",
    "trust": "trusting.trust",
    "projection": "listing.projection",
    "store": "storing.store",
    "metrics": "measuring.metrics",
    "eval": "evaluating.evaluate",
    "calibrate": "calibrating.calibrate",
    "retention": "retaining.retention",
    "register": "registering.register",
    "copy": "storing.copy",
    "schema": "starting.schema",
}


class _Imported(Mapping[str, click.Command]):
    """The commands by name, each of which is imported where it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        module, function = _COMMANDS[name].split(".")
        found: click.Command = getattr(import_module(f"hansard.cli.{module}"), function)
        if not gc.isenabled():  # by hansard_entry: what is imported stays, and is left out
            gc.freeze()
            gc.enable()
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


@contextmanager
def _while_read() -> Iterator[None]:
    """End the process quietly if the reader of its output or errors has closed the pipe."""
    try:
        yield
    except BrokenPipeError:
        discard(sys.stdout, sys.stderr)
        sys.exit(_PIPE_CLOSED)


class _Commands(click.Group):
    """Turns every failure into one line on standard error and an exit code."""

    @_while_read()
    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Read the words before a command; help and the version are printed here."""
        return super().make_context(*args, **more)

    @_while_read()
    def invoke(self, ctx: click.Context) -> Any:
        try:
            with interruptible():
                done = super().invoke(ctx)
                sys.stdout.flush()  # here a full disk can still be told of
                return done
        except click.ClickException as error:
            vars(error)["message"] = _brief(error.message)  # it may name a file
            raise
        except (BrokenPipeError, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001 - people get one sentence
            ctx.exit(_told(error))


def _told(error: BaseException) -> int:
    """Say in one sentence what ended a command, and return its exit code."""
    if isinstance(error, click.Abort) or is_interrupt(error):  # the first one comes from a prompt
        click.echo("interrupted", err=True)
        return INTERRUPTED
    if isinstance(error, HansardError):
        for each in (error, *getattr(error, "others", ())):
            _say(getattr(each, "sentence", str(each)), each.code)
        return 1 if error.code in _FAILED else 2
    if said := refused(error):
        _say(*said)
        return 2
    if os.environ.get("HANSARD_DEBUG") == "1":
        traceback.print_exception(error)
    _say(_bug(error), "internal")
    return _BUG


def _bug(error: BaseException) -> str:
    """Say where in this package an exception came up that nobody raised on purpose."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    place = f"{Path(ours[-1].filename).relative_to(_PACKAGE)}, line {ours[-1].lineno}"
    return (
        f"bug in Hansard: {type(error).__name__} in {place}; nothing that was recorded is lost "
        "or changed; please report it with the traceback, which HANSARD_DEBUG=1 shows"
    )


def _say(sentence: str, code: str) -> None:
    from hansard.cli.console import say  # noqa: PLC0415 - only an error needs it

    say(f"error: {_brief(sentence)} [{code}]", err=True)


def _brief(sentence: str) -> str:
    """Return an error on one line, short enough that what is wrong is read behind what it names."""
    told = _LONG_WORD.sub(r"\1…\2", sentence)
    if len(told) > _LONGEST:
        told = f"{told[: _LONGEST - _END]}… {told[-_END:]}"
    return one_line(told, 2 * _LONGEST)


@click.group(
    cls=_Commands,
    commands=_Imported(),
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="hansard %(version)s")
@store_option
def cli() -> None:
    """Structured debates between language models, with a record that proves itself.

    Start with `hansard demo`, then `hansard init my-debate`. Name a debate by its
    id or by any unambiguous prefix of it.
    """


@_while_read()
def run() -> None:
    """Run the group of commands; `hansard_entry` is the way in."""
    prepare()
    bound_memory()
    try:
        cli(prog_name="hansard")
    except OSError as error:  # of the words before any command: help, or the version
        if (said := refused(error)) is None:
            raise
        _say(*said)
        sys.exit(2)
