"""What a record is made of, wherever it was read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Head:
    """How long a record is and the hash of its last line, kept beside the lines."""

    length: int
    hash: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """One debate's bytes: lines without LF, blob files and templates by name.

    `head` is what the store keeps beside the lines; None where nothing does.
    """

    lines: Sequence[bytes]
    blobs: Mapping[str, bytes]
    templates: Mapping[str, bytes]
    head: Head | None = None
