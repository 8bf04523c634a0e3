#!/usr/bin/env python3
"""Write schemas/<name>.schema.json for every published schema; `--check` only compares.

`--check` lists what is stale, missing or one too many, and exits 1 where
anything is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hansard.schemas import SCHEMAS, render

FOLDER = Path(__file__).resolve().parent.parent / "schemas"
SUFFIX = ".schema.json"


def stale(folder: Path) -> list[Path]:
    """Return the files under `folder` that are not what the schemas give."""
    wanted = {folder / f"{name}{SUFFIX}": render(name) for name in SCHEMAS}
    found = {path: path.read_text(encoding="utf-8") for path in folder.glob(f"*{SUFFIX}")}
    return sorted(
        path for path in wanted.keys() | found.keys() if wanted.get(path) != found.get(path)
    )


def write(folder: Path) -> None:
    """Make the files under `folder` what the schemas give."""
    folder.mkdir(exist_ok=True)
    for path in folder.glob(f"*{SUFFIX}"):
        path.unlink()
    for name in SCHEMAS:
        text = render(name)
        (folder / f"{name}{SUFFIX}").write_text(text, encoding="utf-8", newline="\n")


def main() -> int:
    """Compare or write; return the exit code."""
    if "--check" not in sys.argv[1:]:
        write(FOLDER)
        return 0
    rows = stale(FOLDER)
    for path in rows:
        print(f"stale: {path.relative_to(FOLDER.parent)}; run tools/schemas.py")
    return 1 if rows else 0


if __name__ == "__main__":
    sys.exit(main())
