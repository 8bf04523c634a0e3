"""The lines of a register: one log over all debates of a store (FORMAT.md §19).

    {"head":"<64 hex>","index":0,"kind":"opened","tag":"<64 hex>"}

A line says that a debate was opened, that it has a later head, or that a policy or key was
approved or revoked; `index` counts from 0. The tag says whom a line is about to those who
know its id, and to nobody else.

>>> line = Line(0, "opened", tag("0b4ad1f3-9a64-4d4b-8f43-3d0e0a5b7c21"), "0" * 64)
>>> parse(line.data) == line
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Literal, get_args

from hansard.errors import DataError
from hansard.record.canonical import dump
from hansard.record.tree import MAX_SIZE, leaf_hash

Kind = Literal[
    "opened", "head", "policy_approved", "policy_revoked", "key_approved", "key_revoked", "gate"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
OPENING = ("opened", "gate")  # kinds of a record's first line
OF_RECORDS = (*OPENING, "head")
MAX_LINE = 256  # bytes without the LF; the longest has 198
_LINE = re.compile(
    rb'\{"head":"([0-9a-f]{64})","index":(0|[1-9][0-9]{0,15}),"kind":"('
    + "|".join(KINDS).encode()
    + rb')","tag":"([0-9a-f]{64})"\}'
).fullmatch


@dataclass(frozen=True)
class Line:
    """One line: its place, what happened, to whom, and the hash that counts since.

    `head` is of `opened` and `gate` the hash of the first entry, of `head` that of the last
    one; of a policy the hash of its note, of a key that of its verifier key.
    """

    index: int
    kind: Kind
    tag: str
    head: str

    @cached_property
    def data(self) -> bytes:
        """The line's bytes, without its LF."""
        return dump({"head": self.head, "index": self.index, "kind": self.kind, "tag": self.tag})

    @property
    def leaf(self) -> bytes:
        """The hash of its leaf in the tree."""
        return leaf_hash(self.data)


def tag(subject: str) -> str:
    """Return the tag of a debate's id, or of the hash of a policy or a key."""
    return sha256(f"hansard-register/v1\n{subject}".encode()).hexdigest()


def key_hash(key: str) -> str:
    """Return the hash by which lines name a key, of its verifier key as text."""
    return sha256(key.encode()).hexdigest()


def parse(data: bytes) -> Line:
    """Read a line without its LF; raises DataError `register.line` for any other spelling."""
    found = _LINE(data) if len(data) <= MAX_LINE else None
    if found is None or int(found[2]) >= MAX_SIZE:
        raise DataError("register.line", "a line of the register cannot be read")
    kind = next(kind for kind in KINDS if kind.encode() == found[3])
    line = Line(int(found[2]), kind, found[4].decode(), found[1].decode())
    if kind not in OF_RECORDS and line.tag != tag(line.head):
        raise DataError("register.line", "a line of the register has the tag of something else")
    return line
