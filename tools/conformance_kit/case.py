"""One case of the kit: an export, and what every verifier must say of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from conformance_kit.exports import export, zip_of
from conformance_kit.records import Files, Record


@dataclass(frozen=True)
class Case:
    """One export, and what every verifier must say of it."""

    name: str
    why: str
    export: Files | bytes
    level: int | None
    code: str | None = None
    seq: int | None = None
    trust: bytes | None = None  # in place of the kit's own trust file

    def expected(self) -> dict[str, Any]:
        """Return what every verifier must say (tests/conformance/README.md)."""
        verdicts = {
            None: "ALTERED",
            0: "SELF-CONSISTENT, SIGNER UNKNOWN",
            1: "INTACT",
            2: "INTACT, ANCHORED",
        }
        is_export = self.level is not None or self.code is not None
        return {
            "verdict": verdicts[self.level] if is_export else None,
            "level": self.level,
            "code": self.code,
            "seq": self.seq,
            "exit": 0 if self.level else 1 if is_export else 2,
        }

    def files(self) -> Files:
        """Return the case's files by their paths in its folder."""
        files = {
            "README.md": f"# {self.name}\n\n{self.why}\n".encode(),
            "expected.json": json.dumps(self.expected()).encode() + b"\n",
        }
        if isinstance(self.export, bytes):
            files["record.zip"] = self.export
        else:
            files |= {f"bundle/{name}": body for name, body in self.export.items()}
        if self.trust is not None:
            files["trust.json"] = self.trust
        return files


Group = Callable[[], Iterator[Case]]
GROUPS: list[Group] = []


def group(cases: Group) -> Group:
    """Make what a function yields part of the kit."""
    GROUPS.append(cases)
    return cases


def good(name: str, why: str, files: Files | bytes, given: bytes | None = None) -> Case:
    """A case that must be accepted."""
    return Case(name, why, files, 1, trust=given)


def anchored(name: str, why: str, files: Files | bytes, given: bytes) -> Case:
    """A case that must be accepted, at the level of what somebody outside saw."""
    return Case(name, why, files, 2, trust=given)


def unknown(name: str, why: str, files: Files, given: bytes | None = None) -> Case:
    """A case that agrees with itself, but is not signed by whom it should be."""
    return Case(f"{name}_fail", why, files, 0, trust=given)


def bad(
    name: str, code: str, seq: int, why: str, files: Files | bytes, given: bytes | None = None
) -> Case:
    """A case that must be refused, with the code and place of its first finding."""
    return Case(f"{name}_fail", why, files, None, code, seq, given)


def no_export(name: str, why: str, files: Files | bytes) -> Case:
    """What is no export at all, so that there is no verdict."""
    return Case(f"{name}_fail", why, files, None)


def untrusted(name: str, why: str, files: Files, given: bytes) -> Case:
    """A trust file that cannot be used, so that there is no verdict."""
    return Case(f"{name}_fail", why, files, None, trust=given)


def not_due(key: str, seq: int, why: str, record: Record) -> Case:
    """A case in which an entry is not due."""
    return bad(key, "9.not_due", seq, why, export(record))


def field(name: str, seq: int, why: str, record: Record) -> Case:
    """A case in which a field of an entry does not follow from its place."""
    kind = record.event(seq)["type"].replace(".", "-")
    return bad(f"{kind}-{name.replace('_', '-')}", f"9.{name}", seq, why, export(record))


# Records of the formats with more entries are zips in the kit, one file each.


def sound(name: str, why: str, record: Record) -> Case:
    """A record that must be accepted."""
    return good(name, why, zip_of(export(record)))


def defect(key: str, code: str, seq: int, why: str, record: Record) -> Case:
    """A record that must be refused; it ends with the defect."""
    return bad(key, code, seq, why, zip_of(export(record.until(seq))))


def undue(key: str, seq: int, why: str, record: Record) -> Case:
    """A record in which an entry is not due."""
    return defect(key, "9.not_due", seq, why, record)


def altered(key: str, code: str, why: str, record: Record, seq: int, /, **fields: Any) -> Case:
    """A record in which fields of one entry were altered."""
    return defect(key, code, seq, why, record.data(seq, **fields))
