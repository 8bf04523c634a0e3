#!/usr/bin/env python3
"""The conformance kit: what every verifier of a record must say of it.

    tools/conformance.py make             write tests/conformance/ anew
    tools/conformance.py make --check     only compare; exit 1 where it is stale
    tools/conformance.py run [--without N,…] [--kit FOLDER] -- COMMAND…

`run` asks a verifier about every case: it runs `COMMAND EXPORT --trust FILE --json`,
reads the JSON that it prints, and compares. It needs nothing but Python's standard
library. tests/conformance/README.md says what it expects.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

KIT = Path(__file__).resolve().parent.parent / "tests" / "conformance"
CASES = "cases"
TRUST = "trust.json"
SECONDS = 60  # a verifier that takes longer for one small record does not end
CHECKS = range(1, 17)
SIGNED = {2, 3}  # the checks on which a level above 0 rests


@dataclass(frozen=True)
class Expected:
    """What must come out: the verdict, the first finding's code and place, and the exit code."""

    verdict: str
    level: int | None
    code: str | None
    seq: int | None
    exit: int


@dataclass(frozen=True)
class Case:
    """One case as it lies in the kit."""

    name: str
    export: Path
    trust: Path
    expected: Expected

    def needs(self) -> set[int]:
        """Return the checks that a verifier must support for this case to concern it."""
        code = self.expected.code
        return set() if code is None else {int(code.partition(".")[0])}

    def unpacked(self, folder: Path) -> Case:
        """Return the case with its zip taken out into `folder`, for a verifier that reads none."""
        with ZipFile(self.export) as container:
            container.extractall(folder)
        return replace(self, export=folder)


@dataclass(frozen=True)
class Answer:
    """What a verifier said of one export."""

    verdict: object
    level: object
    findings: list[tuple[str, int]]
    exit: int


class Unusable(Exception):
    """A verifier's answer cannot be read at all."""


# ------------------------------------------------------------------ reading the kit


def read_cases(kit: Path) -> list[Case]:
    """Return the cases of the kit in `kit`, by name."""
    return [read_case(kit, folder) for folder in sorted((kit / CASES).iterdir())]


def read_case(kit: Path, folder: Path) -> Case:
    """Return the case in `folder`."""
    zipped, own = folder / "record.zip", folder / TRUST
    return Case(
        folder.name,
        zipped if zipped.exists() else folder / "bundle",
        own if own.exists() else kit / TRUST,
        Expected(**json.loads((folder / "expected.json").read_text(encoding="utf-8"))),
    )


# ------------------------------------------------------------------ asking a verifier


def read_answer(output: str, code: int) -> Answer:
    """Read what a verifier printed."""
    try:
        value = json.loads(output)
        findings = [(str(row["code"]), int(row["seq"])) for row in value["findings"]]
        return Answer(value["verdict"], value.get("level"), findings, code)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unusable(f"no JSON with verdict and findings ({type(error).__name__})") from None


def ask(command: Sequence[str], case: Case) -> Answer:
    """Run a verifier on one case."""
    words = [*command, str(case.export), "--trust", str(case.trust), "--json"]
    try:
        done = subprocess.run(
            words, check=False, capture_output=True, encoding="utf-8", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Unusable(f"no answer within {SECONDS} seconds") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(str(error)) from None
    return read_answer(done.stdout, done.returncode)


def disagreements(
    expected: Expected, answer: Answer, without: Collection[int] = ()
) -> Iterator[str]:
    """Yield, in words, where an answer differs from what is expected.

    Without checks 2 and 3 nobody can tell who signed: then only findings are compared.
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


def judge(case: Case, command: Sequence[str], without: Collection[int]) -> tuple[str, str]:
    """Return what became of one case: ok, WRONG or left out; and why."""
    missing = sorted(case.needs() & set(without))
    if missing:
        return "left out", f"needs check {', '.join(map(str, missing))}"
    with TemporaryDirectory() as folder:
        if 1 in without and case.export.is_file():
            case = case.unpacked(Path(folder))
        try:
            found = "; ".join(disagreements(case.expected, ask(command, case), without))
        except Unusable as error:
            found = str(error)
    return ("WRONG", found) if found else ("ok", "")


def run(kit: Path, command: Sequence[str], without: Collection[int]) -> int:
    """Ask a verifier about every case and print a line for each; return the exit code."""
    rows = []
    for case in read_cases(kit):
        word, why = judge(case, command, without)
        rows.append(word)
        print(f"{word:<8}  {case.name}" + (f": {why}" if why else ""), flush=True)
    wrong = rows.count("WRONG")
    print(f"{rows.count('ok')} ok, {wrong} wrong, {rows.count('left out')} left out")
    return 1 if wrong or not rows else 0


# ------------------------------------------------------------------ making the kit


def made() -> Mapping[str, bytes]:
    """Return every file of the kit that is made, by its name below the kit's folder."""
    from conformance_kit import build  # noqa: PLC0415 - it needs the package; asking does not

    return build()


def stale(kit: Path, files: Mapping[str, bytes]) -> list[str]:
    """Return the names below `kit` that are missing, too much, or not what is made."""
    there = {path.relative_to(kit).as_posix(): path for path in (kit / CASES).rglob("*")}
    there = {name: path for name, path in there.items() if path.is_symlink() or not path.is_dir()}
    there[TRUST] = kit / TRUST
    found = [name for name in there.keys() - files.keys() if name != TRUST]
    for name, body in files.items():
        path = there.get(name)
        if path is None or path.is_symlink() or not path.is_file() or path.read_bytes() != body:
            found.append(name)
    return sorted(found)


def write(kit: Path, files: Mapping[str, bytes]) -> None:
    """Make the files below `kit` what they should be, and touch no others."""
    for name in stale(kit, files):
        (kit / name).unlink(missing_ok=True)
    for name, body in files.items():
        path = kit / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
    for folder in sorted((kit / CASES).rglob("*/"), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def make(kit: Path, *, check: bool) -> int:
    """Write the kit, or only compare it; return the exit code."""
    files = made()
    if not check:
        write(kit, files)
        return 0
    names = stale(kit, files)
    for name in names:
        print(f"stale: {name}; run tools/conformance.py make")
    return 1 if names else 0


# ------------------------------------------------------------------ the command line


def checks(text: str) -> set[int]:
    """Read `2,3` as the numbers of checks."""
    numbers = {int(word) for word in text.split(",")}
    if not numbers.issubset(CHECKS):
        raise ValueError(text)
    return numbers


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="conformance.py", description=__doc__.split("\n")[0])
    parser.add_argument("--kit", type=Path, default=KIT, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="action", required=True)
    maker = commands.add_parser("make", help="write the cases anew")
    maker.add_argument("--check", action="store_true", help="only compare them")
    runner = commands.add_parser("run", help="ask a verifier about every case")
    runner.add_argument(
        "--without", type=checks, default=set(), metavar="N,…",
        help="checks that the verifier does not support",
    )  # fmt: skip
    runner.add_argument("--kit", type=Path, default=KIT, metavar="FOLDER", help="another kit")
    runner.add_argument("command", nargs="+", metavar="COMMAND", help="the verifier, after `--`")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    options: Any = arguments(words)
    if options.action == "make":
        return make(options.kit, check=options.check)
    return run(options.kit, options.command, options.without)


if __name__ == "__main__":
    sys.exit(main())
