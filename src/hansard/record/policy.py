"""Approved prompts: a signed, readable list of template hashes (FORMAT.md §15).

    hansard-policy/v1
    consensus.block <sha256>
    consensus.debater <sha256>
    consensus.protocol <sha256>

A policy's hash is that of the whole note, signature included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from hansard.errors import DataError
from hansard.record import note
from hansard.record.note import Note

_HEAD = b"hansard-policy/v1\n"
_LINE = re.compile(r"([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*) ([0-9a-f]{64})").fullmatch


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as it was read, and the note it stands in."""

    data: bytes
    note: Note
    templates: Mapping[tuple[str, str], str]  # by format and role

    @property
    def hash(self) -> str:
        """The hash by which a debate's opening names it."""
        return sha256(self.data).hexdigest()

    def approved(self, format_: str) -> dict[str, str]:
        """Return the approved template hash of each role of a format."""
        return {role: digest for (name, role), digest in self.templates.items() if name == format_}


def write(templates: Mapping[tuple[str, str], str]) -> bytes:
    """Return the text of a policy, to be signed, that approves these template hashes."""
    lines = sorted(f"{format_}.{role} {digest}\n" for (format_, role), digest in templates.items())
    return _HEAD + "".join(lines).encode()


def parse(data: bytes) -> Policy:
    """Read a policy; raises DataError `policy.malformed`. Who signed it is not looked at."""
    try:
        signed = note.parse(data)
    except DataError:
        raise DataError("policy.malformed", "the policy is not a signed note") from None
    lines = signed.text.decode("ascii", "replace").split("\n")[1:-1]
    templates = {}
    for line in lines:
        found = _LINE(line)
        if not found:
            raise DataError("policy.malformed", "a line of the policy is not `format.role sha256`")
        templates[found[1], found[2]] = found[3]
    if write(templates) != signed.text:
        raise DataError(
            "policy.malformed", "the policy is not headed hansard-policy/v1 with sorted lines"
        )
    return Policy(data, signed, templates)
