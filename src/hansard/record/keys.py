"""Keys and trust: role-bound, in force for a time, from outside the record (FORMAT.md §14).

A trust file names the keys that a reader believes, each for one role:

    {"v":1,"keys":[{"role":"export","key":"<verifier key>","from":"<time>","until":"<time>",
                    "revoked":"<time>"}],
     "policies":[{"sha256":"<hash of a policy>","revoked":"<time>"}],"witnesses":0}

The times of a key may be null. A key is in force for a debate opened at `from` or later
and before `until`, and counts for nothing that is dated from `revoked` on; a policy for no
debate that was opened from `revoked` on. A witness cosigns checkpoints, each at a time of
its own; `witnesses` says how many must have cosigned one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from operator import is_
from typing import Annotated, Literal, NamedTuple, get_args

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from pydantic import ConfigDict, Field, StringConstraints

from hansard import vocabulary
from hansard.closed import Closed
from hansard.errors import DataError, UsageError
from hansard.record.note import COSIGNATURE, Note, Signature, VerifierKey

Role = Literal["log", "export", "approval", "reviewer"]
TrustedRole = Literal[Role, "witness"]
Standing = Literal["trusted", "unknown", "role", "witness", "origin", "undated", "time", "revoked"]
ROLES: tuple[Role, ...] = get_args(Role)  # of which one may have keys of one's own
TRUSTED_ROLES: tuple[TrustedRole, ...] = get_args(TrustedRole)
TIME = (
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z"
)
_Time = Annotated[str, StringConstraints(pattern=f"^{TIME}$")]


class TrustedKey(Closed):
    """A key that is believed in one role for a time."""

    role: TrustedRole = Field(description="What it may sign")
    key: str = Field(description="NAME+ID+BASE64, as its owner gave it")
    from_: _Time | None = Field(
        default=None, description="Of debates opened from then on, UTC; null: always"
    )
    until: _Time | None = Field(
        default=None, description="Of debates opened before, UTC; null: still"
    )
    revoked: _Time | None = Field(
        default=None, description="For nothing that is dated from then on; null: not revoked"
    )

    model_config = ConfigDict(strict=True, alias_generator=lambda name: name.rstrip("_"))

    def in_force(self, at: str | None) -> bool:
        """Say whether the key counts for a debate opened at `at`; it counts for none without."""
        if at is None:
            return False
        return (self.from_ is None or self.from_ <= at) and (self.until is None or at < self.until)

    def revoked_at(self, dated: str) -> bool:
        """Say whether the key counts no more for what is dated `dated`."""
        return self.revoked is not None and self.revoked <= dated


class RevokedPolicy(Closed, strict=True):
    """A policy that counts for no debate opened at `revoked` or later."""

    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    revoked: _Time


class Trust(Closed, strict=True):
    """A trust file."""

    v: Annotated[int, Field(ge=1, le=1)] = Field(
        default=1, description="The version of the file"
    )  # Literal[1] would let true pass for it
    keys: list[TrustedKey] = Field(default=[], description="Whom the reader believes")
    policies: list[RevokedPolicy] = Field(default=[], description="Policies that count no more")
    witnesses: Annotated[int, Field(ge=0, lt=1 << 53)] = Field(
        default=0, description="How many must have cosigned a checkpoint, for level 2"
    )

    def dump(self) -> bytes:
        """Return the file's bytes."""
        rows = self.model_dump(by_alias=True, exclude=None if self.policies else {"policies"})
        return json.dumps(rows, indent=1).encode() + b"\n"

    def revoked_policy(self, names: Collection[str]) -> str | None:
        """Return from when on a policy is revoked that has these hashes; None where it is not."""
        return min((row.revoked for row in self.policies if row.sha256 in names), default=None)


def parse_trust(data: bytes, name: object = "") -> Trust:
    """Read a trust file, which an error calls by its `name`; raises DataError `trust.malformed`."""
    try:
        text = data.decode()
        json.loads(text, object_pairs_hook=_no_twins)
        trust = Trust.model_validate_json(text)
        parsed = {VerifierKey.parse(row.key) for row in trust.keys}
        suited = all(suits(VerifierKey.parse(row.key), row.role) for row in trust.keys)
    except (ValueError, RecursionError, DataError):
        trust, parsed, suited = Trust(), set(), False
    twins = len({(key.name, key.id) for key in parsed}) < len(parsed)
    hashes = [row.sha256 for row in trust.policies]
    unsorted = hashes != sorted(set(hashes))
    if twins or unsorted or not suited or not trust.model_fields_set >= {"v", "keys"}:
        file = f"the trust file {name}".rstrip()
        raise DataError("trust.malformed", f"{file} cannot be read; see FORMAT.md §14")
    return trust


def suits(key: VerifierKey, role: TrustedRole) -> bool:
    """Say whether a key is one for cosignatures exactly where its role is witness."""
    return (key.algorithm == COSIGNATURE) == (role == "witness")


def _no_twins(pairs: list[tuple[str, object]]) -> None:
    """Refuse a key that stands twice in one object: readers would differ on which counts."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")


# The keys of a trust file, each parsed once: all that a file has room for are kept.
verifier_key = lru_cache(maxsize=1 << 16)(VerifierKey.parse)


class _Known:
    """The keys of a trust file by what is asked of them: a record may ask a thousand times."""

    def __init__(self, rows: Sequence[TrustedKey] = ()) -> None:
        self._rows = tuple(rows)
        self.by_key: dict[VerifierKey, list[TrustedKey]] = {}
        self.by_line: dict[tuple[str, bytes], tuple[VerifierKey, list[TrustedKey]]] = {}
        self.names: dict[bytes, set[str]] = {}
        for row in rows:
            key = verifier_key(row.key)
            self.by_key.setdefault(key, []).append(row)
            self.by_line.setdefault((key.name, key.id), (key, []))[1].append(row)
            self.names.setdefault(key.public, set()).add(key.name)

    def is_of(self, rows: Sequence[TrustedKey]) -> bool:
        """Say whether these are the very same rows."""
        return len(rows) == len(self._rows) and all(map(is_, rows, self._rows))


_latest = [_Known()]  # of the trust file that was asked last


def _known(trust: Trust) -> _Known:
    found = _latest[0]
    if not found.is_of(trust.keys):
        found = _latest[0] = _Known(trust.keys)
    return found


def key_of(trust: Trust, line: Signature) -> VerifierKey | None:
    """Return the key of a trust file that has the name and id of a signature line."""
    found = _known(trust).by_line.get((line.name, line.key_id))
    return found and found[0]


def names_of(trust: Trust, key: VerifierKey) -> set[str]:
    """Return the name of a key, and those under which a trust file has the same public key."""
    return {key.name} | _known(trust).names.get(key.public, set())


class Signing(NamedTuple):
    """Who signed a note, as far as a trust file tells."""

    trusted: bool  # a key of the right role in force did
    words: str
    forged: str | None = None  # the first known name whose signature is not over this text


def who_signed(
    note: Note,
    role: Role,
    trust: Trust,
    at: str | None,
    dated: str | None = None,
    origin: str | None = None,
) -> Signing:
    """Look at each signature of `note` for one by a key of `role` that is in force at `at`.

    `at` is None where nobody can tell when the debate was opened; `dated` is what the
    signatures are dated, where that is not `at` (FORMAT.md §14). A key counts for a
    checkpoint only where its name is that of the `origin`. Anybody can add a line of a
    key that the reader does not know, or repeat one: `words` says so.
    """
    dated = dated or at
    said = vocabulary.words("signers")
    known = _known(trust).by_line
    for line in dict.fromkeys(note.signatures):
        found = known.get((line.name, line.key_id))
        if found and not found[0].verifies(note.text, line.signature):
            return Signing(False, vocabulary.fill(said["forged"], name=line.name), line.name)
    trusted, words = False, []
    lines = Counter((line.name, line.key_id) for line in note.signatures)
    for (name, key_id), number in lines.items():
        rows = known[name, key_id][1] if (name, key_id) in known else []
        standing = _standing(rows, role, at, dated)
        if standing == "trusted" and origin is not None and not is_origin_of(name, origin):
            standing = "origin"
        if origin is not None and rows and rows[0].role == "witness":
            standing = "witness"  # whether it counts is not asked here
        trusted = trusted or standing == "trusted"
        other = rows[0].role if rows else None
        values = {"name": name, "id": key_id.hex(), "role": other, "wanted": role, "at": at}
        values |= {"dated": dated, "origin": origin}
        more = f" {vocabulary.fill(said['lines'], number=number)}" if number > 1 else ""
        words.append(vocabulary.fill(said[standing], **values) + more)
    return Signing(trusted, vocabulary.fill(said["signed"], keys=f"{said['next']} ".join(words)))


def is_origin_of(name: str, origin: str) -> bool:
    """Say whether a log key of this name signs for the register of this origin.

    The origin is the name, or begins with it and a slash: one key may serve several stores,
    each of which must have an origin of its own.
    """
    return origin == name or origin.startswith(f"{name}/")


def standing(trust: Trust, key: VerifierKey, role: TrustedRole, at: str) -> Standing:
    """Say how a key stands to `role` in a trust file, for what it signed at `at`."""
    return _standing(_known(trust).by_key.get(key, ()), role, at, at)


def _standing(
    rows: Sequence[TrustedKey], role: TrustedRole, at: str | None, dated: str | None
) -> Standing:
    """Say by a member of the vocabulary's `signers` how the rows of one key stand to `role`."""
    own = [row for row in rows if row.role == role]
    if not own:
        return "role" if rows else "unknown"
    if at is None or dated is None:
        return "undated"
    counting = [row for row in own if row.in_force(at)]
    if not counting:
        return "time"
    return "revoked" if all(row.revoked_at(dated) for row in counting) else "trusted"


def generate() -> Ed25519PrivateKey:
    """Return a new private key."""
    return Ed25519PrivateKey.generate()


def to_pem(key: Ed25519PrivateKey, passphrase: bytes | None = None) -> bytes:
    """Return a private key as PKCS#8 PEM, encrypted where a passphrase is given.

    Raises UsageError `key.passphrase` for one that is too long.
    """
    locked: serialization.KeySerializationEncryption = serialization.NoEncryption()
    try:
        if passphrase:
            locked = serialization.BestAvailableEncryption(passphrase)
        return key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked
        )
    except ValueError:
        raise UsageError("key.passphrase", "the passphrase is too long") from None


def is_encrypted(data: bytes) -> bool:
    """Say whether a PEM file needs a passphrase."""
    return b"ENCRYPTED" in data


def public_from_pem(data: bytes) -> bytes:
    """Return the 32 bytes of a public key; raises DataError `key.malformed`."""
    try:
        key = serialization.load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise DataError("key.malformed", "the file does not hold an Ed25519 public key in PEM")
    return key.public_bytes_raw()


def from_pem(data: bytes, passphrase: bytes | None = None) -> Ed25519PrivateKey:
    """Read a private key; raises DataError `key.malformed` or UsageError `key.passphrase`."""
    try:
        key = serialization.load_pem_private_key(data, passphrase)
    except TypeError:
        told = "has no passphrase: unset" if passphrase else "has a passphrase: set"
        raise UsageError("key.passphrase", f"the key {told} HANSARD_PASSPHRASE") from None
    except (ValueError, UnsupportedAlgorithm):
        raise DataError(
            "key.malformed", "the key cannot be read: no PEM of Ed25519, or another passphrase"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise DataError("key.malformed", "the key is not an Ed25519 key")
    return key
