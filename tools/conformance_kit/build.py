"""The whole kit in memory: every case, the table that pins them, and the archive."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from pkgutil import iter_modules

import conformance_kit
from conformance_kit.case import GROUPS, Case, Group
from conformance_kit.folders import folder_cases
from conformance_kit.reading import page
from conformance_kit.records import Files, trust
from conformance_kit.runner import CASES, FOLDERS, FOLDERS_TABLE, TABLE, TRUST, digest
from hansard.rules.formats import FORMATS

TOP = "hansard-conformance-1"  # the folder in the archive: the kit pins version 1 of the format
COLUMNS = (
    "name", "theme", "format", "verdict", "level", "code", "seq", "exit", "sha256", "why",
)  # fmt: skip

# The cases that the repository shows, beside the first of each module that is named after a
# format: each verdict, records that must be accepted, and a finding from most parts of the
# verification.
_TO_READ = {
    "case-not-found-as-verified_fail",
    "ceiling-broken-at-once_fail",
    "chain-line-altered_fail",
    "decided-by-two-of-three",
    "judged-other-stance_fail",
    "nobody-trusted_fail",
    "refused-before-the-first-call",
    "register-cosigned-by-enough",
    "reply-withheld",
    "similarity-rounded-up_fail",
    "text-missing_fail",
    "tie-until-the-last-round",
    "vote-altered_fail",
}

PACKED = {  # what the archive holds beside the cases, and where the repository has it
    "README.md": "tests/conformance/README.md",
    "FORMAT.md": "schemas/FORMAT.md",
    "LICENSE": "LICENSE",
    "run.py": "tools/conformance_kit/runner.py",
}


def groups() -> list[Group]:
    """Return what makes the cases."""
    for module in iter_modules(conformance_kit.__path__):
        import_module(f"conformance_kit.{module.name}")
    return GROUPS


def theme_of(group: Group) -> str:
    """Return the theme of its cases: the module that makes them."""
    return group.__module__.rpartition(".")[2]


def to_read() -> set[str]:
    """Return the names of the cases that the repository shows."""
    of_format = {theme_of(group): group for group in reversed(groups())}  # the first of each
    return _TO_READ | {next(iter(of_format[name]())).name for name in FORMATS if name in of_format}


def cases() -> list[tuple[str, Case]]:
    """Return all cases with their themes, by name."""
    found = [(theme_of(group), case) for group in groups() for case in group()]
    found.sort(key=lambda row: row[1].name)
    names = [case.name for _, case in found]
    twice = {name for name, following in pairwise(names) if name == following}
    if twice:
        raise ValueError(f"cases of one name: {sorted(twice)}")
    return found


def folders() -> list[tuple[str, Case]]:
    """Return the cases of folders of exports with their theme, by name."""
    return [("folders", case) for case in sorted(folder_cases(), key=lambda case: case.name)]


def table(found: list[tuple[str, Case]]) -> bytes:
    """Return the table of these cases."""
    lines = ["\t".join(COLUMNS)]
    for theme, case in found:
        cells = {
            "name": case.name,
            "theme": theme,
            "format": format_of(case),
            **case.expected(),
            "sha256": digest(case.files()),
            "why": case.why,
        }
        values = (cells[column] for column in COLUMNS)
        line = "\t".join("" if value is None else str(value) for value in values)
        if line.count("\t") != len(COLUMNS) - 1 or "\n" in line:
            raise ValueError(f"a cell of {case.name} holds a tab or a line feed")
        lines.append(line)
    return "".join(f"{line}\n" for line in lines).encode()


def format_of(case: Case) -> str:
    """Return the format that the record's opening names; "" where the record is gone."""
    body = case.export if isinstance(case.export, bytes) else case.export.get("events.jsonl", b"")
    found = re.search(rb'"format":"(\w+)"', body)
    return found[1].decode() if found else ""


def kit() -> Files:
    """Return every file of the kit by its path in the kit's folder."""
    files = {TRUST: trust()}
    for name, place, found in ((TABLE, CASES, cases()), (FOLDERS_TABLE, FOLDERS, folders())):
        files[name] = table(found)
        for _, case in found:
            files |= {f"{place}/{case.name}/{path}": body for path, body in case.files().items()}
    return files


def stored() -> Files:
    """Return what the repository stores of the kit, by its path below tests/conformance/."""
    found, shown = cases(), to_read()
    tables = {TABLE: table(found), FOLDERS_TABLE: table(folders())}
    return {**tables, TRUST: trust()} | {
        f"{CASES}/{case.name}.md": page(case) for _, case in found if case.name in shown
    }


def packed(root: Path) -> Files:
    """Return what the archive holds: the kit, and what somebody needs who has nothing else."""
    return kit() | {name: (root / path).read_bytes() for name, path in PACKED.items()}


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return a tar archive that depends on the files alone: no dates, owners or modes of disk.

    It is compressed by bzip2, whose output does not change from one version to the next.
    """
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:bz2", format=tarfile.USTAR_FORMAT) as container:
        for name, body in sorted(files.items()):
            row = tarfile.TarInfo(f"{TOP}/{name}")
            row.size = len(body)
            container.addfile(row, io.BytesIO(body))
    return target.getvalue()
