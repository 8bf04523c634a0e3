"""A program of this package in a process of its own: a hostile file can do no more than end it.

No secret of the environment is handed on.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_KEPT_OF_ENVIRONMENT = ("SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "LD_LIBRARY_PATH")


def command(program: Path, *words: str) -> list[str]:
    """Return the command that runs it with this Python, whatever stands in the working folder."""
    return [sys.executable, "-I", str(program), *words]


def environment() -> dict[str, str]:
    """Return what it has of our environment."""
    return {name: os.environ[name] for name in _KEPT_OF_ENVIRONMENT if name in os.environ}
