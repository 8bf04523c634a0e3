"""A folder of exports: one zip a debate, and one signed list over all of them (FORMAT.md §20).

The list, `SHA256SUMS`, is a signed note like an export's own. `sha256sum -c` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from hansard.errors import DataError
from hansard.record.bundle import EVENTS
from hansard.record.manifest import NAME

VERIFY = "VERIFY.md"
LINES, CHECKPOINT, KEPT = "register.jsonl", "checkpoint", "checkpoints"
REGISTER = (CHECKPOINT, KEPT, LINES)  # all three, or none
MAX_FILES = 100_000  # of a folder: a list of as many is a note that can be read
MAX_FILE = 2**33  # bytes of one that is no export: a file with holes claims any number of them
_END = ".zip"
_EXPORT = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.zip"
_OTHERS = "|".join(map(re.escape, (VERIFY, *REGISTER)))
is_export = re.compile(_EXPORT).fullmatch
is_listed = re.compile(f"{_EXPORT}|{_OTHERS}").fullmatch  # what else a folder may hold is the list
_LINE = re.compile(f"([0-9a-f]{{64}})  ({_EXPORT}|{_OTHERS})").fullmatch


def name_of(debate: str) -> str:
    """Return the name of a debate's export."""
    return f"{debate}{_END}"


def debate_of(name: str) -> str:
    """Return the id of the debate that an export of this name is of."""
    return name.removesuffix(_END)


def is_folder(names: Collection[str], sums: bytes) -> bool:
    """Say whether a folder with these names is one of exports, and no export itself.

    `sums` is what its SHA256SUMS holds: where all exports were taken away, the list tells.
    """
    return EVENTS not in names and (any(map(is_export, names)) or f"{_END}\n".encode() in sums)


def write(hashes: Mapping[str, str]) -> bytes:
    """Return the text of the list of files, given by name with their SHA-256."""
    return "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes)).encode()


def parse(text: bytes) -> dict[str, str]:
    """Read the text of a list; raises DataError `2.malformed` for anything but its one spelling."""
    hashes: dict[str, str] = {}
    for line in text.decode("ascii", "replace").split("\n")[:-1]:
        found = _LINE(line)
        if found is None:
            raise DataError("2.malformed", f"a line of {NAME} cannot be read")
        hashes[found[2]] = found[1]
    if write(hashes) != text:
        raise DataError("2.malformed", f"{NAME} is not in its one order, or names a file twice")
    return hashes
