"""Your own keys: one PEM file for each role, and the trust file.

They live in HANSARD_HOME (default ~/.config/hansard): `keys/<role>.pem`, mode
0600, beside it `<role>.pub` with the verifier key to hand out, and
`trust.json`, which has one's own keys by default. A key that is missing is
made at first use, like a host key, and whoever asks is told.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from hansard import private
from hansard.errors import DataError, UsageError
from hansard.record import keys
from hansard.record.keys import ROLES, Role, Trust, TrustedKey
from hansard.record.note import Signer, VerifierKey

Tell = Callable[[str], None]


class Keyring:
    """The keys and the trust file in one folder.

    `now` gives the time for keys that come into force; `tell` is called with a
    sentence when a key is made. A passphrase comes from HANSARD_PASSPHRASE.
    """

    ROLES: ClassVar[tuple[Role, ...]] = ROLES

    def __init__(self, folder: Path, now: Callable[[], str], tell: Tell) -> None:
        self.folder = folder
        self._now = now
        self._tell = tell
        self._passphrase = os.fsencode(os.environ.get("HANSARD_PASSPHRASE", "")) or None

    @classmethod
    def default_folder(cls) -> Path:
        """Return HANSARD_HOME, or its default."""
        named = os.environ.get("HANSARD_HOME")
        try:
            return Path(named) if named else Path.home() / ".config" / "hansard"
        except RuntimeError:
            raise UsageError(
                "key.folder", "cannot determine your home directory; set HANSARD_HOME"
            ) from None

    @property
    def trust_file(self) -> Path:
        """Where the trust file is."""
        return self.folder / "trust.json"

    def signer(self, role: Role) -> Signer:
        """Return the key of `role`, made now where there is none."""
        path = self._path(role)
        if not _there(path):
            self._make(role)
        key = self.public(role)
        _refuse_shared(path)
        secret = keys.from_pem(_read(path), self._passphrase)
        if key is None or Signer(key.name, secret).key != key:
            raise DataError("key.mismatch", f"{path} and its .pub file belong to different keys")
        return Signer(key.name, secret)

    def public(self, role: Role) -> VerifierKey | None:
        """Return the public key of `role`, or None where there is no key."""
        path = self._path(role).with_suffix(".pub")
        if not _there(path):
            return None
        text = _read(path).decode("ascii", "replace").strip()
        try:
            return VerifierKey.parse(text)
        except DataError as error:
            raise DataError(
                error.code, f"{path} does not hold a verifier key; restore it from a copy"
            ) from None

    def rotate(self, role: Role) -> VerifierKey:
        """Put a new key in the place of `role`'s; the old one counts for records until now."""
        old = self.public(role)
        if old is None:
            return self.signer(role).key
        self._retire(role, old)
        return self._make(role)

    def revoke(self, role: Role) -> VerifierKey:
        """Take `role`'s key out of use: it counts for no record opened from now on."""
        key = self.public(role)
        if key is None:
            raise UsageError("key.missing", f"there is no {role} key to revoke")
        self._retire(role, key)
        return key

    def trust(self) -> Trust:
        """Return the trust file's keys; none where there is no file."""
        return keys.parse_trust(_read(self.trust_file)) if _there(self.trust_file) else Trust()

    def _path(self, role: Role) -> Path:
        if role not in ROLES:
            raise UsageError(
                "key.role", f"there is no key role {role!r}; use one of {', '.join(ROLES)}"
            )
        return self.folder / "keys" / f"{role}.pem"

    def _make(self, role: Role) -> VerifierKey:
        """Make the key of `role`; its PEM file comes last, so that what is there is whole."""
        path = self._path(role)
        secret = keys.generate()
        key = Signer(_name(role), secret).key
        pem = keys.to_pem(secret, self._passphrase)
        trust = Trust(keys=[*self.trust().keys, TrustedKey(role=role, key=str(key))])
        _make_folders(path.parent)
        self._save(trust)
        _write(path.with_suffix(".pub"), f"{key}\n".encode())
        _write(path, pem)
        self._tell(f"made a new {role} key in {path}: {key}")
        return key

    def _retire(self, role: Role, key: VerifierKey) -> None:
        now = self._now()
        rows = [
            row.model_copy(update={"until": min(now, row.until or now)})
            if row.key == str(key)
            else row
            for row in self.trust().keys
        ]
        self._save(Trust(keys=rows))
        path = self._path(role)
        try:
            for old in filter(_there, (path, path.with_suffix(".pub"))):
                old.rename(path.with_name(f"{role}-{key.id.hex()}{old.suffix}"))
        except OSError as error:
            raise UsageError(
                "key.unwritable", f"{path} cannot be moved: {error.strerror}"
            ) from None

    def _save(self, trust: Trust) -> None:
        _write(self.trust_file, trust.dump())


def _name(role: Role) -> str:
    """Name a new key after the house that holds it: HANSARD_ORG, else this host."""
    org = os.environ.get("HANSARD_ORG") or socket.gethostname()
    return f"{re.sub('[^A-Za-z0-9._-]', '-', org)[:100]}/{role}"


def _there(path: Path) -> bool:
    """Say whether a file is there; raises DataError `key.unreadable` where nobody can tell."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DataError("key.unreadable", f"{path} cannot be read: {error.strerror}") from None
    return True


def _refuse_shared(path: Path) -> None:
    """Raise UsageError `key.shared` for a private key that others than its owner can read."""
    try:
        shared = private.is_shared(path)
    except OSError as error:
        raise DataError("key.unreadable", f"{path} cannot be read: {error.strerror}") from None
    if shared:
        command = f"chmod 600 {shlex.quote(str(path))}"
        raise UsageError(
            "key.shared",
            f"others can read the private key {path}: run `{command}`, "
            "and rotate the key if somebody may have copied it",
        )


def _make_folders(folder: Path) -> None:
    """Make the folders of the keys, for their owner alone."""
    try:
        private.make_folders(folder.parent, folder)
    except OSError as error:
        raise UsageError("key.unwritable", f"{folder} cannot be made: {error.strerror}") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError("key.unreadable", f"{path} cannot be read: {error.strerror}") from None


def _write(path: Path, data: bytes) -> None:
    """Replace a private file as a whole, readable by its owner alone."""
    try:
        private.write(path, data, replace=True)
    except OSError as error:
        raise UsageError("key.unwritable", f"{path} cannot be written: {error.strerror}") from None
