"""A private key that somebody else holds: an HSM's or KMS's tool signs what it reads.

The command reads the text on standard input, which is a file of known size, and writes the
signature to standard output: its 64 bytes, or those in base64. It is started without a shell
and without the passphrases that Hansard knows, and what it prints counts only where it is a
signature of the public key that is expected.
"""

from __future__ import annotations

import base64
import binascii
import os
import shlex
import subprocess
from tempfile import TemporaryFile

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hansard.errors import UsageError
from hansard.record.note import VerifierKey

SECONDS = 120  # somebody may have to touch a token
_LENGTH = 64


class CommandKey:
    """The private half of `key`, as `note.Signer` needs it, behind a command."""

    def __init__(self, key: VerifierKey, command: str) -> None:
        self._key = key
        try:
            self._words = shlex.split(command)
        except ValueError:
            self._words = []
        if not self._words:
            raise UsageError("signer.command", f"{command!r:.200} is not a command and its words")

    def public_key(self) -> Ed25519PublicKey:
        """Return the public half."""
        return Ed25519PublicKey.from_public_bytes(self._key.public)

    def sign(self, data: bytes) -> bytes:
        """Return the command's signature over `data`.

        Raises UsageError `signer.failed`, or `signer.wrong` for what is no signature
        of this key.
        """
        signature = _signature(self._run(data))
        if signature is None or not self._key.verifies(data, signature):
            raise UsageError(
                "signer.wrong",
                f"what `{self._words[0]}` printed is not a signature by {self._key.name}: "
                "check that it signs with the private half of that key",
            )
        return signature

    def _run(self, data: bytes) -> bytes:
        hidden = ("HANSARD_PASSPHRASE", "HANSARD_PASSPHRASE_FILE")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        with TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            try:
                done = subprocess.run(  # noqa: S603 - the user's own command, and no shell
                    self._words,
                    stdin=file,
                    stdout=subprocess.PIPE,
                    env=environment,
                    timeout=SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                why = f"gave no signature within {SECONDS} seconds"
            except (OSError, ValueError) as error:
                why = f"cannot be started: {getattr(error, 'strerror', None) or error}"
            else:
                if done.returncode == 0:
                    return done.stdout
                why = f"ended with exit code {done.returncode}"
        raise UsageError("signer.failed", f"the signer `{self._words[0]}` {why}")


def _signature(printed: bytes) -> bytes | None:
    """Return the 64 bytes that were printed, as they are or in base64."""
    if len(printed) == _LENGTH:
        return printed
    try:
        found = base64.b64decode(b"".join(printed.split()), validate=True)
    except binascii.Error:
        return None
    return found if len(found) == _LENGTH else None
