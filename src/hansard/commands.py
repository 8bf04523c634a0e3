"""Paths in commands that somebody is told to type."""

from __future__ import annotations

import shlex
from pathlib import Path


def path_word(path: Path | str) -> str:
    """Return a path as one word of a command, which takes it for no option.

    >>> print(path_word("my debates/-record.zip"), path_word("-record.zip"))
    'my debates/-record.zip' ./-record.zip
    """
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))
