"""Signed notes: one envelope for everything that is signed (FORMAT.md §14).

A C2SP signed note is readable text, an empty line, and signature lines:

    <text, ended by LF>
    LF
    — <key name> <base64(key id ‖ ed25519 signature)>LF

The signature is over the text. A key is known by its name and its id, the
first four bytes of SHA-256(name ‖ LF ‖ 0x01 ‖ public key); a verifier key is
written `<name>+<hex id>+<base64(0x01 ‖ public key)>`; of a witness, with 0x04 in both places.
A witness adds to a checkpoint a cosignature: eight bytes of a time, and a signature over
that time and the text.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hansard.errors import DataError, UsageError

ED25519 = b"\x01"
COSIGNATURE = b"\x04"  # of a witness: Ed25519 over a checkpoint and a time
MAX_NOTE = 1 << 24
MAX_SIGNATURES = 16  # each costs a verification
SIGNATURE, _TIME = 64, 8  # bytes of a signature; a cosignature has a time before it
_MAX_TIME = (1 << 63) - 1
DASH = "— ".encode()
_P = 2**255 - 19
_ORDER_8 = int("05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826", 16)
_SMALL_ORDER = {0, 1, _P - 1, _ORDER_8, _P - _ORDER_8}
KEY_NAME = re.compile(r"[A-Za-z0-9._:/@=-]{1,128}").fullmatch


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A key's 32 bytes (`public`) under a `name`; `algorithm` says what it signs.

    As text it is NAME+ID+BASE64.
    """

    name: str
    public: bytes
    algorithm: bytes = ED25519

    @property
    def id(self) -> bytes:
        """The four bytes that signature lines begin with."""
        return sha256(self.name.encode() + b"\n" + self.algorithm + self.public).digest()[:4]

    def __str__(self) -> str:
        body = base64.b64encode(self.algorithm + self.public).decode()
        return f"{self.name}+{self.id.hex()}+{body}"

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Read a verifier key; raises DataError `key.malformed`."""
        name, _, rest = text.partition("+")
        key_id, _, encoded = rest.partition("+")
        body = decode(encoded.encode("ascii", "replace"))
        known = body is not None and len(body) == 33 and body[:1] in (ED25519, COSIGNATURE)
        if KEY_NAME(name) and body and known:
            key = cls(name, body[1:], body[:1])
            if key.id.hex() == key_id and not _is_weak(key.public):
                return key
        raise DataError("key.malformed", "a verifier key is not <name>+<id>+<base64>")

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Say whether `signature` over `message` is this key's, or its cosignature."""
        if self.algorithm == COSIGNATURE:
            seconds = cosigned_at(signature)
            if len(signature) != _TIME + SIGNATURE or seconds > _MAX_TIME:
                return False
            message, signature = _timed(message, seconds), signature[_TIME:]
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


def _is_weak(public: bytes) -> bool:
    """Whether a key is not spelled canonically, or is one of the eight points of small order.

    Under such a key some signature verifies for every text, and libraries
    differ on which of them they admit (RFC 8032, 5.1).
    """
    y = int.from_bytes(public, "little") & ((1 << 255) - 1)
    return y >= _P or y in _SMALL_ORDER


class PrivateKey(Protocol):
    """What signs: an `Ed25519PrivateKey`, or something that holds one elsewhere."""

    def public_key(self) -> Ed25519PublicKey:
        """Return the public half."""

    def sign(self, data: bytes, /) -> bytes:
        """Return the 64 bytes of a signature over `data`."""


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key (`private`) under a `name`: what signs."""

    name: str
    private: PrivateKey

    @property
    def key(self) -> VerifierKey:
        """The public half."""
        return VerifierKey(self.name, self.private.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """Return the 64 bytes of a signature over `message`."""
        return self.private.sign(message)


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line. `signature` has 64 bytes, of a cosignature 72."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it was read: nothing about it is believed yet."""

    text: bytes
    signatures: tuple[Signature, ...]

    def signed_by(self, key: VerifierKey) -> bool:
        """Say whether `key` signed this text."""
        return any(
            row.name == key.name and row.key_id == key.id and key.verifies(self.text, row.signature)
            for row in self.signatures
        )


def sign(text: bytes, signer: Signer) -> bytes:
    """Return `text`, which must end with LF, as a note signed by `signer`."""
    if not text.endswith(b"\n"):
        raise ValueError("a note's text ends with LF")
    return text + b"\n" + _line(signer.key, signature(signer, text))


def signature(signer: Signer, message: bytes) -> bytes:
    """Return the signature over `message`, once it was verified: a record that has another is lost.

    What signs may be code of its own, or a machine elsewhere. Raises UsageError `signer.wrong`.
    """
    value = signer.sign(message)
    if type(value) is not bytes or not signer.key.verifies(message, value):
        raise UsageError(
            "signer.wrong",
            f"what signs for {signer.name} gave no signature by that key, so nothing was signed: "
            "check that it signs with the private half of it",
        )
    return value


def cosignature(text: bytes, witness: Signer, seconds: int) -> bytes:
    """Return the signature line that a witness adds to a checkpoint at this POSIX time."""
    key = witness_key(witness)
    return _line(key, seconds.to_bytes(_TIME, "big") + signature(witness, _timed(text, seconds)))


def witness_key(witness: Signer) -> VerifierKey:
    """Return the verifier key under which this signer's cosignatures are known."""
    return VerifierKey(witness.name, witness.key.public, COSIGNATURE)


def cosigned_at(signature: bytes) -> int:
    """Return the POSIX time that a cosignature states."""
    return int.from_bytes(signature[:_TIME], "big")


def _timed(text: bytes, seconds: int) -> bytes:
    return b"cosignature/v1\ntime %d\n" % seconds + text


def _line(key: VerifierKey, signature: bytes) -> bytes:
    body = base64.b64encode(key.id + signature)
    return DASH + key.name.encode() + b" " + body + b"\n"


def parse(note: bytes, *, cosigned: bool = False) -> Note:
    """Read a note; raises DataError `note.malformed` for anything but its one spelling.

    Signature lines have 68 bytes each; those of a note that may be `cosigned` have any
    number from 5 on, since witnesses may use algorithms that are not known here.
    """
    text, found, tail = note.rpartition(b"\n\n")
    signed = tail.count(b"\n")  # before it is split: there may be millions
    ended = tail.endswith(b"\n") and 1 <= signed <= MAX_SIGNATURES
    if not found or len(note) > MAX_NOTE or not ended:
        raise DataError("note.malformed", "a signed note does not end with signature lines")
    rows = tuple(map(_signature, tail.split(b"\n")[:-1]))
    if not cosigned and any(len(row.signature) != SIGNATURE for row in rows):
        raise DataError("note.malformed", "a signature line of a note has another length")
    return Note(text + b"\n", rows)


def divide(note: bytes) -> tuple[bytes, list[bytes]]:
    """Return what precedes the signature lines of a note that can be read, and each line."""
    head, between, tail = note.rpartition(b"\n\n")
    return head + between, tail.splitlines(keepends=True)


def _signature(line: bytes) -> Signature:
    name, _, encoded = line.removeprefix(DASH).partition(b" ")
    body = decode(encoded)
    readable = name.decode("ascii", "replace")
    if not line.startswith(DASH) or not KEY_NAME(readable) or not body or len(body) < 5:
        raise DataError("note.malformed", "a signature line of a note cannot be read")
    return Signature(readable, body[:4], body[4:])


def decode(encoded: bytes) -> bytes | None:
    """Return the bytes of base64 that encodes to itself again; None for any other spelling."""
    try:
        body = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        return None
    return body if base64.b64encode(body) == encoded else None
