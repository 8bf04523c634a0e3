"""Your own keys: one PEM file for each role, and the trust file.

They live in HANSARD_HOME (default ~/.config/hansard): `keys/<role>.pem`, mode
0600, beside it `<role>.pub` with the verifier key to hand out, and
`trust.json`, which has one's own keys by default. A key that is missing is
made at first use, like a host key, and whoever asks is told. Of a key that an
HSM or KMS holds there is the `.pub` alone.

A passphrase is that of HANSARD_PASSPHRASE, the content of the private file
HANSARD_PASSPHRASE_FILE, or what somebody at a terminal is asked for.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansard import private
from hansard.commands import path_word
from hansard.errors import DataError, UsageError
from hansard.governance import files
from hansard.governance.command import CommandKey
from hansard.governance.trusting import TrustFile
from hansard.record import keys
from hansard.record.keys import TRUSTED_ROLES, Trust, TrustedRole
from hansard.record.note import COSIGNATURE, ED25519, Signer, VerifierKey, witness_key

Tell = Callable[[str], None]
Ask = Callable[[str, bool], str]  # what for, and whether it is a new one; empty for none


class Keyring:
    """The keys and the trust file in one folder.

    `now` gives the time for keys that come into force; `tell` is called with a
    sentence when a key is made; `ask` gives a passphrase where none is set.
    """

    ROLES: ClassVar[tuple[TrustedRole, ...]] = TRUSTED_ROLES

    def __init__(
        self, folder: Path, now: Callable[[], str], tell: Tell, ask: Ask | None = None
    ) -> None:
        self.folder = folder
        self._now = now
        self._tell = tell
        self._ask = ask
        self._trust = TrustFile(folder / "trust.json")

    @classmethod
    def default_folder(cls) -> Path:
        """Return HANSARD_HOME, or its default."""
        try:
            return private.home()
        except RuntimeError:
            raise UsageError(
                "key.folder", "cannot determine your home directory; set HANSARD_HOME"
            ) from None

    @property
    def trust_file(self) -> Path:
        """Where the trust file is."""
        return self._trust.path

    def signer(self, role: TrustedRole, command: str | None = None) -> Signer:
        """Return the key of `role`, made now where there is none.

        With a `command`, that signs instead of the PEM file; its public half must
        be there. Raises UsageError `key.missing`, `key.held`, `key.shared`,
        `key.passphrase` or `signer.command`, and DataError `key.*`.
        """
        path, key = self._path(role), self.public(role)
        if command is not None:
            if key is None:
                raise UsageError(
                    "key.missing",
                    f"there is no {role} key: `hansard keys import {role} FILE` takes the public "
                    "half of the key that the command signs with",
                )
            plain = VerifierKey(key.name, key.public)  # also under what a witness signs
            return Signer(key.name, CommandKey(plain, command))
        if not files.is_there(path):
            if key is not None:
                self._require_whole(role)
            key = self._make(role)
        secret = self._open(role, files.read_secret(path))
        if key is None:
            raise self._public_missing(role, secret)
        if _key_of(role, Signer(key.name, secret)) != key:
            raise DataError("key.mismatch", f"{path} and its .pub file belong to different keys")
        return Signer(key.name, secret)

    def adopt(self, role: TrustedRole, public: bytes) -> VerifierKey:
        """Take the public half (PEM) of a key that an HSM or KMS holds, and trust it in `role`.

        Raises DataError `key.malformed`, and UsageError `key.exists` where there is
        a key: it is rotated or revoked first.
        """
        if self.public(role) is not None:
            raise UsageError("key.exists", f"the role {role} has a key already; revoke it first")
        algorithm = COSIGNATURE if role == "witness" else ED25519
        key = VerifierKey(_name(role), keys.public_from_pem(public), algorithm)
        VerifierKey.parse(str(key))  # as little as any reader does it take a weak key
        self._keep(role, key)
        return key

    def public(self, role: TrustedRole) -> VerifierKey | None:
        """Return the public key of `role`, or None where there is no key."""
        path = self._path(role).with_suffix(".pub")
        if not files.is_there(path):
            return None
        text = files.read(path).decode("ascii", "replace").strip()
        try:
            return VerifierKey.parse(text)
        except DataError as error:
            raise DataError(
                error.code, f"{path} does not hold a verifier key; restore it from a copy"
            ) from None

    def rotate(self, role: TrustedRole) -> VerifierKey:
        """Put a new key in the place of `role`'s; the old one counts for records until now.

        The new one is on disk before the old one goes: where it cannot be made, all stays.
        """
        old = self.public(role)
        if old is None:
            return _key_of(role, self.signer(role))
        path, (key, pem) = self._path(role), self._new(role)
        beside = path.with_name(f"{role}-{key.id.hex()}.pem")
        with files.edited(path):
            made = self.public(role)
            if made not in (old, None):  # by another process, meanwhile
                return made
            files.write(beside, pem)
            try:
                self._retire(role, old)
                self._keep(role, key)
                files.move(beside, path)
            finally:
                beside.unlink(missing_ok=True)
        self._tell(f"made a new {role} key in {path}: {key}")
        return key

    def revoke(self, role: TrustedRole) -> VerifierKey:
        """Take `role`'s key out of use: it counts for no record opened from now on."""
        key = self.public(role)
        if key is None:
            raise UsageError("key.missing", f"there is no {role} key to revoke")
        self._retire(role, key)
        return key

    def trust(self) -> Trust:
        """Return the trust file's keys; none where there is no file."""
        return self._trust.read()

    def _path(self, role: TrustedRole) -> Path:
        if role not in self.ROLES:
            raise UsageError(
                "key.role", f"there is no key role {role!r}; use one of {', '.join(self.ROLES)}"
            )
        return self.folder / "keys" / f"{role}.pem"

    def _require_whole(self, role: TrustedRole) -> None:
        """Refuse a public half alone, which another process is not about to complete."""
        path = self._path(role)
        with files.edited(path):
            if not files.is_there(path):
                raise UsageError(
                    "key.held",
                    f"the private half of your {role} key is not in {path}: name the command that "
                    "signs with it (--signer), restore the file, or revoke the key",
                )

    def _public_missing(self, role: TrustedRole, secret: Ed25519PrivateKey) -> DataError:
        """Return the error for a private half alone: the public one, as the trust file has it."""
        trusted = [VerifierKey.parse(row.key) for row in self.trust().keys if row.role == role]
        names = [*(key.name for key in trusted), _name(role)]
        made = [_key_of(role, Signer(name, secret)) for name in names]
        key = next((each for each in made if each in trusted), made[-1])
        path = self._path(role).with_suffix(".pub")
        return DataError(
            "key.missing",
            f"the public half of your {role} key, {path}, is missing: restore it from a copy, or "
            f"write it again with `echo {key} > {path_word(path)}`",
        )

    def _make(self, role: TrustedRole) -> VerifierKey:
        """Make the key of `role`, or return the one that another process has made meanwhile.

        Its PEM file comes last, so that what is there is whole.
        """
        path, (key, pem) = self._path(role), self._new(role)
        files.make_folders(self.folder, path.parent)
        with files.edited(path):
            made = self.public(role)
            if made is not None:
                return made
            self._keep(role, key)
            files.write(path, pem)
        self._tell(f"made a new {role} key in {path}: {key}")
        return key

    def _new(self, role: TrustedRole) -> tuple[VerifierKey, bytes]:
        """Return a new key, which is kept nowhere yet, and its PEM."""
        secret = keys.generate()
        self.trust()  # a file that cannot be read makes no key
        words = f"Passphrase for the new {role} key (empty: it is not encrypted)"
        pem = keys.to_pem(secret, self._passphrase(words, new=True))
        return _key_of(role, Signer(_name(role), secret)), pem

    def _keep(self, role: TrustedRole, key: VerifierKey) -> None:
        """Write a public half, and trust it."""
        path = self._path(role)
        files.make_folders(self.folder, path.parent)
        self._trust.add(str(key), role)
        files.write(path.with_suffix(".pub"), f"{key}\n".encode())

    def _open(self, role: TrustedRole, pem: bytes) -> Ed25519PrivateKey:
        """Read a private key, asking for its passphrase where somebody can be asked."""
        words = f"Passphrase of your {role} key"
        given = self._passphrase(words if keys.is_encrypted(pem) else None)
        return keys.from_pem(pem, given)

    def _passphrase(self, words: str | None, *, new: bool = False) -> bytes | None:
        """Return the passphrase that is set or, where `words` ask for one, that is given."""
        file = os.environ.get("HANSARD_PASSPHRASE_FILE")
        if file:
            found = files.read_secret(Path(file)).rstrip(b"\r\n")
            if words and not found:  # a new key would not be encrypted, and nobody would know
                raise UsageError(
                    "key.passphrase",
                    f"{file}, which HANSARD_PASSPHRASE_FILE names, is empty: write the passphrase "
                    "into it, or do not set the variable",
                )
            return found or None
        given = os.environ.get("HANSARD_PASSPHRASE", "")
        if not given and words and self._ask:
            given = self._ask(words, new)
        return os.fsencode(given) or None

    def _retire(self, role: TrustedRole, key: VerifierKey) -> None:
        if any(row.key == str(key) for row in self.trust().keys):
            self._trust.revoke(str(key), self._now())
        path = self._path(role)
        for old in filter(files.is_there, (path, path.with_suffix(".pub"))):
            files.move(old, path.with_name(f"{role}-{key.id.hex()}{old.suffix}"))


def _key_of(role: TrustedRole, signer: Signer) -> VerifierKey:
    """Return the verifier key of a signer in its role: a witness's is one for cosignatures."""
    return witness_key(signer) if role == "witness" else signer.key


def _name(role: TrustedRole) -> str:
    """Name a new key after the house that holds it: HANSARD_ORG, else this host."""
    org = os.environ.get("HANSARD_ORG") or socket.gethostname()
    return f"{re.sub('[^A-Za-z0-9._-]', '-', org)[:100]}/{role}"
