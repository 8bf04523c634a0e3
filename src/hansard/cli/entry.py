"""The way in: Ctrl-C is one word and an exit code at every moment, imports included.

While a command runs, Ctrl-C is a KeyboardInterrupt, so that the command can clean up. Before
and after, it ends the process at once: there is nothing to clean up.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130


def run() -> None:
    """Run the command line: the console script and `python -m hansard`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else somebody ignores it
        signal.signal(signal.SIGINT, _leave)
    from hansard.cli import main  # noqa: PLC0415 - it takes long enough to be interrupted

    main.run()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C be a KeyboardInterrupt while the block runs."""
    if signal.getsignal(signal.SIGINT) is not _leave:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _leave)


def _leave(*_: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
