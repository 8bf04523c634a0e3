#!/usr/bin/env python3
"""The conformance kit: what every verifier of a record must say of it.

    tools/conformance.py make DIR                      write the whole kit into a new folder
    tools/conformance.py pack FILE                     write it as one archive, for others
    tools/conformance.py run [--kit DIR|FILE] [--without N,…] [--single] -- COMMAND…
                                                       ask a verifier about every case
    tools/conformance.py table [--check]               write what the repository stores of it
                                                       anew, or only compare it

The cases are made from tools/conformance_kit/. tests/conformance/README.md says what the
kit is, what a verifier must print, and how to add a case.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from conformance_kit import build, runner

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "tests" / "conformance"


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their paths below a folder."""
    for name, body in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)


def make(folder: Path) -> int:
    """Write the kit into a new or empty folder; return the exit code."""
    if folder.exists() and any(folder.iterdir()):
        print(f"{folder} is not empty; name a new folder", file=sys.stderr)
        return 1
    write(folder, build.kit())
    return 0


def pack(file: Path) -> int:
    """Write the kit as one archive; return the exit code."""
    file.write_bytes(build.archive(build.packed(ROOT)))
    return 0


def run(options: Any) -> int:
    """Ask a verifier about every case of a kit, of a new one where none is given."""
    with TemporaryDirectory() as folder:
        kit = options.kit or Path(folder) / "kit"
        if options.kit is None:
            make(kit)
        with runner.opened(kit) as top:
            return runner.run(top, options.command, options.without, single=options.single)


def stale(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """Return the paths below `folder` whose files are missing, changed, or not to be there."""
    there = {f"{runner.CASES}/{name}" for name in runner.files_below(folder / runner.CASES)}
    changed = {
        name
        for name, body in files.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != body
    }
    return sorted(changed | (there - files.keys()))


def table(folder: Path, *, check: bool) -> int:
    """Write what the repository stores of the kit, or only compare it; return the exit code."""
    files = build.stored()
    names = stale(folder, files)
    if check:
        for name in names:
            print(f"{name} is out of date; run tools/conformance.py table")
        return 1 if names else 0
    for name in names:
        (folder / name).unlink(missing_ok=True)
    write(folder, files)
    return 0


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    about, _, usage = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="conformance.py",
        description=about,
        epilog=usage,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="action", required=True)
    maker = commands.add_parser("make", help="write the whole kit into a new folder")
    maker.add_argument("folder", type=Path, metavar="DIR")
    packer = commands.add_parser("pack", help="write the kit as one archive")
    packer.add_argument("file", type=Path, metavar="FILE")
    asker = commands.add_parser("run", help="ask a verifier about every case")
    asker.add_argument(
        "--kit", type=Path, metavar="DIR|FILE", help="a kit made before, or a packed one"
    )
    runner.add_arguments(asker)
    storer = commands.add_parser("table", help="write the stored table and pages anew")
    storer.add_argument("--check", action="store_true", help="only compare them")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    options: Any = arguments(words)
    if options.action == "make":
        return make(options.folder)
    if options.action == "pack":
        return pack(options.file)
    if options.action == "run":
        return run(options)
    return table(STORED, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
