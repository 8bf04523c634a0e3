"""`hansard`: the group of commands, and what becomes of every kind of failure."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import click

import hansard
from hansard.cli import (
    batching,
    calibrating,
    comparing,
    demo,
    estimating,
    evaluating,
    gating,
    listing,
    measuring,
    policing,
    providing,
    reading,
    redacting,
    registering,
    retaining,
    reviewing,
    running,
    signing,
    starting,
    storing,
    trusting,
    verifying,
    working,
)
from hansard.cli.context import ALTERED, store_option
from hansard.cli.interrupting import INTERRUPTED, interruptible
from hansard.errors import HansardError
from hansard.report.safe import one_line
from hansard.version import __version__

_PACKAGE = Path(hansard.__file__).parent
_PIPE_CLOSED = 141  # as a shell reports a process that SIGPIPE ended
_BUG = 70  # EX_SOFTWARE of sysexits
_FAILED = (ALTERED, "copy.differs")  # a check failed
_LONGEST = 4_000  # characters of an error: it may name what a stranger named
_EPILOG = """\b
Exit codes: 0 done, and everything that was checked holds; 1 a check failed;
2 wrong use, or the input cannot be read; 70 a bug in Hansard; 130
interrupted.

\b
Completion for bash (zsh and fish alike):
  eval "$(_HANSARD_COMPLETE=bash_source hansard)"
"""


class _Commands(click.Group):
    """Turns every failure into one line on standard error and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with interruptible():
                done = super().invoke(ctx)
                sys.stdout.flush()  # here a full disk can still be told of
                return done
        except HansardError as error:
            for each in (error, *getattr(error, "others", ())):
                _say(getattr(each, "sentence", str(each)), each.code)
            ctx.exit(1 if error.code in _FAILED else 2)
        except (KeyboardInterrupt, click.Abort):  # the second one comes from a prompt
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:  # whoever read has enough
            _discard_output()
            ctx.exit(_PIPE_CLOSED)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, people get one sentence
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                _discard_output()
                _say("the output cannot be written: no space is left on the device", "output.full")
                ctx.exit(2)
            if os.environ.get("HANSARD_DEBUG") == "1":
                traceback.print_exc()
            _say(_bug(error), "internal")
            ctx.exit(_BUG)


def _discard_output() -> None:
    """Send the rest nowhere: Python would complain once more while it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bug(error: Exception) -> str:
    """Say where in this package an exception came up that nobody raised on purpose."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    place = f"{Path(ours[-1].filename).relative_to(_PACKAGE)}, line {ours[-1].lineno}"
    return (
        f"bug in Hansard: {type(error).__name__} in {place}; nothing that was recorded is lost "
        "or changed; please report it with the traceback, which HANSARD_DEBUG=1 shows"
    )


def _say(sentence: str, code: str) -> None:
    click.echo(f"error: {one_line(sentence, _LONGEST)} [{code}]", err=True)


@click.group(
    cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="hansard %(version)s")
@store_option
def cli() -> None:
    """Structured debates between language models, with a record that proves itself.

    Start with `hansard demo`, then `hansard init my-debate`. Name a debate by its
    id or by any unambiguous prefix of it.
    """


for _command in (
    demo.demo,
    starting.init,
    providing.models,
    estimating.estimate,
    gating.gate,
    running.run,
    running.resume,
    running.stop,
    batching.batch,
    working.worker,
    listing.list_,
    reading.show,
    reading.report,
    reading.replay,
    comparing.compare,
    verifying.verify,
    reviewing.review,
    reviewing.status,
    reviewing.outcome,
    reviewing.hold,
    redacting.redact,
    signing.export,
    signing.page,
    signing.keys,
    policing.policy,
    trusting.trust,
    listing.projection,
    storing.store,
    measuring.metrics,
    evaluating.evaluate,
    calibrating.calibrate,
    retaining.retention,
    registering.register,
    storing.copy,
    starting.schema,
):
    cli.add_command(_command)


def run() -> None:
    """Run the group of commands; `hansard_entry` is the way in."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="hansard")
