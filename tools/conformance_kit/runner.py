#!/usr/bin/env python3
"""Ask a verifier about every case of the conformance kit, and compare its answers.

    python3 run.py [--without N,…] [--single] -- COMMAND…

runs `COMMAND EXPORT --trust FILE --json` for each case, reads the JSON that it prints,
prints one line for each case, and exits with 1 if any answer is wrong. README.md says
what a verifier must print. This file needs nothing but Python 3.11 or newer; in the
packed kit it is `run.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

TABLE = "cases.tsv"
CASES = "cases"
FOLDERS_TABLE = "folders.tsv"  # of the cases that are folders of exports
FOLDERS = "folders"
TRUST = "trust.json"
SECONDS = 60  # the timeout of one answer: every record of the kit is small
NO_EXPORT = 2  # the exit code for what is no export: there is no verdict, and no JSON
SIGNED = {2, 3}  # the checks on which a level above 0 rests
SAID_BY_THE_TABLE = {"README.md", "expected.json"}  # the files that no digest covers


@dataclass(frozen=True)
class Expected:
    """What a verifier must say: verdict, level, the first finding's code and place, exit code.

    Of what is no export it says nothing but the exit code.
    """

    verdict: str | None
    level: int | None
    code: str | None
    seq: int | None
    exit: int


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    name: str
    theme: str
    format: str
    expected: Expected
    sha256: str
    place: str = CASES  # the folder of the kit that holds the case

    @property
    def check(self) -> int | None:
        """The check that the first finding belongs to; None without a finding.

        Whether there is a verdict at all, of an export with a trust file, belongs to check 1.
        """
        if self.expected.exit == NO_EXPORT:
            return 1
        code = self.expected.code
        return None if code is None else int(code.partition(".")[0])


@dataclass(frozen=True)
class Case:
    """One case of a kit: its row, and where its files are."""

    row: Row
    export: Path
    trust: Path

    def unpacked(self, folder: Path) -> Case:
        """Return the case with its zip extracted into `folder`, for a verifier that reads none."""
        with ZipFile(self.export) as container:
            container.extractall(folder)  # noqa: S202 - a zip keeps its files inside
        return replace(self, export=folder)


@dataclass(frozen=True)
class Answer:
    """What a verifier said of one export."""

    verdict: object
    level: object
    findings: list[tuple[str, int]]
    exit: int


class Unusable(Exception):
    """A verifier's answer, or a case itself, cannot be used at all."""


# ------------------------------------------------------------------ reading the kit


def read_table(kit: Path) -> list[Row]:
    """Return the rows of the table in `kit`: cells between tabs, the names of the columns first."""
    return read_rows(kit / TABLE, CASES)


def read_folders(kit: Path) -> list[Row]:
    """Return the rows of the table of folders of exports; none where a kit has no such table."""
    table = kit / FOLDERS_TABLE
    return read_rows(table, FOLDERS) if table.exists() else []


def read_rows(table: Path, place: str) -> list[Row]:
    """Return the rows of a table, whose cases are in the folder `place` of the kit."""
    columns, *rows = table.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    names = columns.split("\t")
    return [read_row(dict(zip(names, row.split("\t"), strict=True)), place) for row in rows]


def read_row(cells: Mapping[str, str], place: str) -> Row:
    """Read one row of the table; an empty cell is null."""
    level, seq = (int(cells[name]) if cells[name] else None for name in ("level", "seq"))
    verdict, code = (cells[name] or None for name in ("verdict", "code"))
    expected = Expected(verdict, level, code, seq, int(cells["exit"]))
    named = (cells["name"], cells["theme"], cells["format"])
    return Row(*named, expected, cells["sha256"], place)


def case_of(kit: Path, row: Row) -> Case:
    """Return the case of a row, whose files are in `kit`."""
    folder = kit / row.place / row.name
    zipped, own = folder / "record.zip", folder / TRUST
    return Case(
        row,
        zipped if zipped.exists() else folder / "bundle",
        own if own.exists() else kit / TRUST,
    )


def digest(files: Mapping[str, bytes]) -> str:
    """Return the digest of a case's files, which are given by their paths in its folder.

    It is the SHA-256 of what `sha256sum` prints for the files in the order of their paths.
    The README and the expectation are left out: the table itself holds what they say.
    """
    covered = sorted(files.keys() - SAID_BY_THE_TABLE)
    lines = [f"{sha256(files[name]).hexdigest()}  {name}\n" for name in covered]
    return sha256("".join(lines).encode()).hexdigest()


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder and its subfolders by their paths in it."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@contextmanager
def opened(kit: Path) -> Iterator[Path]:
    """Give the kit's folder; a packed kit is extracted for as long as it is used."""
    if not kit.is_file():
        yield kit
        return
    with TemporaryDirectory() as folder, tarfile.open(kit) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # since Python 3.11.4
        archive.extractall(folder)  # noqa: S202 - filtered
        (top,) = Path(folder).iterdir()
        yield top


# ------------------------------------------------------------------ asking a verifier


def read_answer(output: str, code: int, place: str = CASES) -> Answer:
    """Read what a verifier printed; of a folder of exports the last line tells."""
    if code == NO_EXPORT:
        return Answer(None, None, [], code)
    try:
        value = json.loads(output if place == CASES else output.splitlines()[-1])
        findings = [(str(row["code"]), int(row["seq"])) for row in value["findings"]]
        return Answer(value["verdict"], value.get("level"), findings, code)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unusable(
            f"it printed no JSON with a verdict and findings ({type(error).__name__})"
        ) from None


def ask(command: Sequence[str], case: Case) -> Answer:
    """Run a verifier on one case."""
    words = [*command, str(case.export), "--trust", str(case.trust), "--json"]
    try:
        done = subprocess.run(
            words, check=False, capture_output=True, encoding="utf-8", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Unusable(f"it did not answer within {SECONDS} seconds") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(str(error)) from None
    return read_answer(done.stdout, done.returncode, case.row.place)


def disagreements(
    expected: Expected, answer: Answer, without: Collection[int] = ()
) -> Iterator[str]:
    """Yield, in words, where an answer differs from what is expected.

    Without checks 2 and 3 a verifier cannot tell who signed: then only findings are compared.
    """
    keys = [(seq, int(code.partition(".")[0]), code) for code, seq in answer.findings]
    if keys != sorted(keys):
        yield "findings are not ordered by place, check and code"
    code, seq = answer.findings[0] if answer.findings else (None, None)
    for what, found, wanted in (("code", code, expected.code), ("seq", seq, expected.seq)):
        if found != wanted:
            yield f"{what} is {found}, expected {wanted}"
    if not SIGNED.isdisjoint(without) and expected.code is None:
        return
    if answer.verdict != expected.verdict:
        yield f"verdict is {answer.verdict}, expected {expected.verdict}"
    if answer.exit != expected.exit:
        yield f"exit code is {answer.exit}, expected {expected.exit}"
    if answer.level not in (None, expected.level):
        yield f"level is {answer.level}, expected {expected.level}"


def judge(kit: Path, row: Row, command: Sequence[str], without: Collection[int]) -> tuple[str, str]:
    """Return the result of one case (ok, WRONG or left out) and the reason."""
    if row.check in without:
        return "left out", f"needs check {row.check}"
    if digest(files_below(kit / row.place / row.name)) != row.sha256:
        table = TABLE if row.place == CASES else FOLDERS_TABLE
        return "WRONG", f"the case itself is damaged: its digest is not the one in {table}"
    case = case_of(kit, row)
    with TemporaryDirectory() as folder:
        if 1 in without and case.export.is_file():
            case = case.unpacked(Path(folder))
        try:
            found = "; ".join(disagreements(row.expected, ask(command, case), without))
        except Unusable as error:
            found = str(error)
    return ("WRONG", found) if found else ("ok", "")


def run(kit: Path, command: Sequence[str], without: set[int], *, single: bool = False) -> int:
    """Ask a verifier about every case and print a line for each; return the exit code.

    One that reads `single` exports alone is not asked about folders of them.
    """
    rows, results = read_table(kit) + ([] if single else read_folders(kit)), []
    if unknown := sorted(without - {row.check for row in rows}):
        print(f"--without: no case of this kit is about check {unknown[0]}", file=sys.stderr)
        return 2
    for row in rows:
        result, why = judge(kit, row, command, without)
        results.append(result)
        print(f"{result:<8}  {row.name}" + (f": {why}" if why else ""), flush=True)
    wrong = results.count("WRONG")
    print(f"{results.count('ok')} ok, {wrong} wrong, {results.count('left out')} left out")
    return 1 if wrong or not results else 0


# ------------------------------------------------------------------ the command line


def checks(text: str) -> set[int]:
    """Read `2,3` as the numbers of checks."""
    return {int(word) for word in text.split(",")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which verifier is asked, and what it supports."""
    parser.add_argument(
        "--without", type=checks, default=set(), metavar="N,…",
        help="the numbers of the checks that the verifier does not support",
    )  # fmt: skip
    parser.add_argument(
        "--single", action="store_true", help="leave out the folders of many exports"
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="the verifier, after `--`")


def main(words: Sequence[str] | None = None) -> int:
    """Run the packed kit that this file is part of; return the exit code."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    add_arguments(parser)
    options: Any = parser.parse_args(words)
    kit = Path(__file__).resolve().parent
    return run(kit, options.command, options.without, single=options.single)


if __name__ == "__main__":
    sys.exit(main())
