"""The tables of FORMAT.md, as tests read them."""

import re
from pathlib import Path

FORMAT = (Path(__file__).parents[1] / "schemas" / "FORMAT.md").read_text(encoding="utf-8")


def section(number: int) -> str:
    """The text of a section."""
    return FORMAT.partition(f"\n## {number}. ")[2].partition("\n## ")[0]


def rows(number: int) -> list[list[str]]:
    """The rows of a section's tables, cell by cell."""
    lines = [line for line in section(number).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def words(text: str) -> list[str]:
    """What a text sets as code."""
    return re.findall(r"`([^`]+)`", text)


_TYPES = {row[0].strip("`"): row[1:] for row in rows(3) if row[0].startswith("`")}
INPUTS = {kind: words(row[0]) for kind, row in _TYPES.items()}  # by type of event
DERIVED = {kind: words(row[1]) for kind, row in _TYPES.items()}

# What may come whatever else is due; whether anything rests on it, only what follows can say.
ANYTIME = re.findall(r"^at any time: +(.+)$", section(11), re.MULTILINE)[0].split(" or ")


def _codes() -> dict[tuple[str, str], str]:
    found = {}
    for kind, (_, derived) in _TYPES.items():
        for check, fields in re.findall(r"(\d+): (.*?)(?=; |$)", derived):
            for name in re.findall("`([a-z_.]+)`", re.split(" unless | where `", fields)[0]):
                found[kind, name] = f"{check}.{name.rpartition('.')[2]}"
    return found


CODES = _codes()  # by type of event and derived field: the finding where it has another value
