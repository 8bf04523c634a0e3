"""A policy: a signed, readable list of what a debate may be made of (FORMAT.md §15).

    hansard-policy/v1
    * max_calls 60
    consensus.block template <sha256>
    judged.judge persona none

Each line is a scope, a term and a value. `TERMS` says which terms there are, what values each
takes, and which stand once a scope. A policy's hash is that of the whole note, signature included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

from hansard.errors import DataError
from hansard.record import note
from hansard.record.note import Note

Approved = Mapping[str, list[str]]  # template hashes by role
MOST_LINES = 1_000  # a verifier may compare every seat and every reply with all of them
_HEAD = b"hansard-policy/v1\n"
_SCOPE = re.compile(r"\*|[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)?").fullmatch
_HASH, _NAME, _NUMBER = "[0-9a-f]{64}", "[A-Za-z0-9._:/@+=-]{1,64}", "[1-9][0-9]{0,15}"
_TEXT = f"{_HASH}|none|any"
_CLASS = "[A-Za-z0-9._/@+=-]{1,64}"  # a name without `:`, which ends it
_DECIMAL = r"(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{0,5}[1-9])?"
_MODEL = r"[A-Za-z0-9._:/@+=-]{1,256}|[A-Za-z0-9._:/@+=-]{0,255}\*"


class Term(NamedTuple):
    """What values a term takes, and whether one scope may have several lines of it."""

    value: Callable[[str], object]
    many: bool = False


class Line(NamedTuple):
    """One line; lines compare as their bytes do."""

    scope: str
    term: str
    value: str

    def __str__(self) -> str:
        return f"{self.scope} {self.term} {self.value}"


def _term(pattern: str, *, many: bool = False) -> Term:
    return Term(re.compile(pattern).fullmatch, many)


_FACTS = "requester|owner|task_type|retention|gate"
TERMS: Mapping[str, Term] = {
    "template": _term(_HASH, many=True),
    "schema": _term(_TEXT, many=True),
    "tool": _term(_TEXT, many=True),
    "persona": _term(_TEXT, many=True),
    "instructions": _term(_TEXT, many=True),
    "context": _term(_TEXT, many=True),
    "provider": _term("[a-z][a-z0-9_-]{0,63}", many=True),
    "model": _term(_MODEL, many=True),
    "served": _term(_MODEL, many=True),
    "base_url": _term("[A-Za-z0-9._:/@+=-]{1,256}", many=True),
    "callable": _term("any|none"),
    "independent": _term("family|model"),
    "max_rounds": _term(_NUMBER),
    "max_calls": _term(_NUMBER),
    "max_tokens": _term(_NUMBER),
    "max_cost_micro_usd": _term(_NUMBER),
    "max_seconds": _term(_NUMBER),
    "min_challenge_strength": _term("[1-9]|10"),
    "cited_critique": _term("required"),
    "evidence": _term("required"),
    "gate_factor": _term(_NUMBER),
    "gate_rule": _term("downside|any|all"),
    "require": _term(_FACTS, many=True),
    "task_type": _term(_NAME, many=True),
    "retention": _term(f"{_CLASS}:[1-9][0-9]{{0,5}}", many=True),
    "review": _term("never|exceptions|always"),
    "reviewers": _term("[1-9]"),
    "reviewer_may_be": _term("requester|nobody_involved"),
    "review_days": _term(_NUMBER),
    "redactors": _term("[1-3]"),
    "signed": _term("outcome|hold", many=True),
    "metric": _term(f"{_CLASS}:{_DECIMAL}", many=True),
}


@dataclass(frozen=True)
class Policy:
    """A policy as it was read: its bytes (`data`), the `note` it stands in, and its `lines`."""

    data: bytes
    note: Note
    lines: tuple[Line, ...]

    @property
    def hash(self) -> str:
        """The hash by which a debate's opening names it."""
        return sha256(self.data).hexdigest()

    @cached_property
    def names(self) -> frozenset[str]:
        """The hashes that revoke it: its own, and two of each signature.

        One is that with its line alone, one that of text and signature without the line's name.
        Anybody can add a line of an unknown key, or write a line under another name that the
        same key has for some reader, and the note has another hash then.
        """
        head, lines = note.divide(self.data)
        signed = [*lines, *(row.signature for row in self.note.signatures)]
        return frozenset({self.hash, *(sha256(head + row).hexdigest() for row in signed)})

    @cached_property
    def _values(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        found: dict[tuple[str, str], list[str]] = {}
        for line in self.lines:
            found.setdefault((line.scope, line.term), []).append(line.value)
        return {place: tuple(values) for place, values in found.items()}

    def values(self, term: str, format_: str, role: str | None = None) -> tuple[str, ...] | None:
        """Return the values of a term where it counts for a role, or for a debate as a whole.

        The most specific scope that has the term decides; None where none has it.
        """
        scopes = [f"{format_}.{role}"] if role else []
        for scope in (*scopes, format_, "*"):
            if (scope, term) in self._values:
                return self._values[scope, term]
        return None

    def approved(self, format_: str, roles: Iterable[str]) -> Approved:
        """Return the template hashes that are approved for each of these roles of a format."""
        return {role: list(self.values("template", format_, role) or ()) for role in roles}

    def required(self, format_: str) -> list[str]:
        """Return what `require` asks of a debate of this format: all scopes add up."""
        found = (self._values.get((scope, "require"), ()) for scope in (format_, "*"))
        return sorted({value for values in found for value in values})


def write(lines: Iterable[Line]) -> bytes:
    """Return the text of a policy, to be signed."""
    return _HEAD + "".join(sorted(f"{line}\n" for line in set(lines))).encode()


def parse(data: bytes) -> Policy:
    """Read a policy; raises DataError `policy.malformed`. Who signed it is not looked at."""
    try:
        signed = note.parse(data)
    except DataError:
        raise DataError("policy.malformed", "the policy is not a signed note") from None
    if signed.text.count(b"\n") > 1 + MOST_LINES:  # before it is split: there may be millions
        raise _too_many()
    rows = signed.text.decode("ascii", "replace").split("\n")[1:-1]
    lines = tuple(map(read_line, rows))
    if write(lines) != signed.text:
        raise DataError(
            "policy.malformed",
            "the policy is not headed hansard-policy/v1 with sorted lines, each once",
        )
    check(lines)
    return Policy(data, signed, lines)


def read_line(text: str) -> Line:
    """Read one line; raises DataError `policy.malformed`."""
    parts = text.split(" ")
    line = Line(*parts) if len(parts) == len(Line._fields) else None
    if line is None or not _SCOPE(line.scope):
        raise DataError(
            "policy.malformed", f"a line of the policy is not `scope term value`: {text!r:.200}"
        )
    term = TERMS.get(line.term)
    if term is None:
        raise DataError("policy.malformed", f"the policy has a term that is unknown: {line!s:.200}")
    if not term.value(line.value):
        raise DataError(
            "policy.malformed", f"this is no value that `{line.term}` can have: {line!s:.200}"
        )
    return line


def _too_many() -> DataError:
    return DataError("policy.malformed", f"the policy has more than {MOST_LINES:,} lines")


def check(lines: Sequence[Line]) -> None:
    """Raise DataError `policy.malformed` for too many lines, or a term twice that stands once.

    A metric stands once a scope, so that it has one baseline.
    """
    seen = set[tuple[str, str]]()
    if len(lines) > MOST_LINES:
        raise _too_many()
    for line in lines:
        what = line.term
        if what == "metric":
            what = f"metric {line.value.partition(':')[0]}"
        elif TERMS[what].many:
            continue
        if (line.scope, what) in seen:
            raise DataError(
                "policy.malformed", f"`{line.scope}` has `{what}` twice; it takes one value"
            )
        seen.add((line.scope, what))
