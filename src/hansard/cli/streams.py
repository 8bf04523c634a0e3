"""Standard input, output and error, however the process was started.

A stream that is closed leads to /dev/null, so that no file of a command gets its number. If
standard error cannot be written, the words are lost and the command goes on: its exit code still
says how it ended.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from typing import TextIO, cast

from hansard.report.safe import one_line

_FULL = {
    errno.ENOSPC: "no space is left on the device",
    errno.EDQUOT: "your quota there is used up",
    errno.EFBIG: "the file may not be larger",
}
_SHORT = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}


def prepare() -> None:
    """Make all three usable; what one cannot encode or decode is escaped, warnings are inert."""
    warnings.formatwarning = _warning
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # it was closed before this process started
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # one that nothing refers to closes itself
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_Lossy(sys.stderr.buffer)),
            encoding=sys.stderr.encoding,
            errors="backslashreplace",
            line_buffering=True,
        )


def discard(*streams: TextIO) -> None:
    """Send the rest nowhere: Python would complain once more while it flushes at exit."""
    for stream in streams:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def refused(error: BaseException) -> tuple[str, str] | None:
    """Return what the system did not give, and its code; None for what is no such error.

    What is left of an output that has no room goes nowhere.
    """
    number = errno.ENOMEM if isinstance(error, MemoryError) else getattr(error, "errno", None)
    if number in _FULL:
        discard(sys.stdout)
        return f"the output cannot be written: {_FULL[number]}", "output.full"
    if number in _SHORT:
        said = f"the system refused what the command needs ({os.strerror(number)})"
        return f"{said}; raise that limit, then run the command again", "system.limit"
    return None


def _warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,  # noqa: ARG001 - the text of the source, which Python shows
) -> str:
    """Return a line of a warning of anybody's, who may quote what a stranger wrote."""
    return one_line(f"{filename}:{lineno}: {category.__name__}: {message}", 1_000) + "\n"


class _Lossy(io.RawIOBase):
    """A stream that ignores what it fails to write, unless its reader has closed the pipe."""

    def __init__(self, buffer: object) -> None:
        self._raw = cast("io.RawIOBase", getattr(buffer, "raw", buffer))

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int | None:
        try:
            return self._raw.write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            raise
        except OSError:
            return len(cast("memoryview", data))
