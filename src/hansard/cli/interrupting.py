"""Ctrl-C while a command runs, and around it.

In a command it is a KeyboardInterrupt, so that the command can clean up. Before and after,
`hansard_entry` ends the process at once: there is nothing to clean up.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import hansard_entry

INTERRUPTED = 130


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C be a KeyboardInterrupt while the block runs."""
    if signal.getsignal(signal.SIGINT) is not hansard_entry.leave:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, hansard_entry.leave)


def is_interrupt(error: BaseException) -> bool:
    """Say whether an exception is Ctrl-C, or was raised from it.

    Where it comes in a `__set_name__`, as while a module is imported, Python 3.11 raises a
    RuntimeError from it.
    """
    at: BaseException | None = error
    while at is not None and not isinstance(at, KeyboardInterrupt):
        at = at.__cause__
    return at is not None
