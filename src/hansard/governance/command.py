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
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from typing import IO, NoReturn, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hansard.errors import UsageError, on_disk
from hansard.record.note import VerifierKey

SECONDS = 120  # somebody may have to touch a token
_LENGTH = 64
_ENDS = ("SIGTERM", "SIGHUP")  # not every system has the second
_MOST = 1_000  # bytes that are read: a signature in base64 has 88, and white space around it


class _Ended(BaseException):
    """A signal that ends this process."""


@contextmanager
def _ending_it_too() -> Iterator[None]:
    """Let a signal that ends this process end the command first, which would go on alone.

    A signal that this process handles, or ignores, is its own affair; and only the main
    thread is told of signals.
    """
    main = threading.current_thread() is threading.main_thread()
    signals = [getattr(signal, name) for name in _ENDS if main and hasattr(signal, name)]
    caught = [each for each in signals if signal.getsignal(each) is signal.SIG_DFL]

    def end(number: int, _: object) -> NoReturn:
        for each in caught:  # a second one does not stop what the first one began
            signal.signal(each, signal.SIG_IGN)
        raise _Ended(number)

    ended = None
    try:
        for each in caught:
            signal.signal(each, end)
        yield
    except _Ended as error:
        ended = error.args[0]
    finally:
        for each in caught:
            signal.signal(each, signal.SIG_DFL)
    if ended is not None:
        signal.raise_signal(ended)


class CommandKey:
    """The private half of `key`, as `note.Signer` needs it, behind a command."""

    def __init__(self, key: VerifierKey, command: str) -> None:
        self._key = key
        try:
            self._words = shlex.split(command)
        except ValueError:
            self._words = []
        if not self._words:
            raise UsageError(  # it is not shown, for a PIN may stand in it
                "signer.command",
                "what --signer names is not a command and its words: a quote may be open",
            )
        # `PIN=1234 sign`, as one writes it for a shell, has the PIN in its first word.
        self._name = "--signer" if "=" in self._words[0] else self._words[0]

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
                f"what `{self._name}` printed is not a signature by {self._key.name}: "
                "check that it signs with the private half of that key",
            )
        return signature

    @_ending_it_too()
    def _run(self, data: bytes) -> bytes:
        hidden = ("HANSARD_PASSPHRASE", "HANSARD_PASSPHRASE_FILE")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        with on_disk():
            file = TemporaryFile()  # noqa: SIM115 - closed below
        with file:
            file.write(data)
            file.seek(0)
            try:  # in our own process group: somebody may type a PIN at the terminal
                process = subprocess.Popen(  # noqa: S603 - the user's own command, and no shell
                    self._words, stdin=file, stdout=subprocess.PIPE, bufsize=0, env=environment
                )
            except (OSError, ValueError) as error:
                raise self._failed(
                    f"cannot be started: {getattr(error, 'strerror', None) or error}"
                ) from None
        with process:  # in the end its pipe is closed, and whatever it started can print no more
            end = time.monotonic() + SECONDS
            try:
                printed = _read(cast(IO[bytes], process.stdout))
                if len(printed) > _MOST:
                    raise self._failed(f"printed more than {_MOST:,} bytes, which is no signature")
                code = process.wait(max(0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise self._failed(f"gave no signature within {SECONDS} seconds") from None
            finally:
                process.kill()
        if code:
            raise self._failed(f"ended with exit code {code}")
        return printed

    def _failed(self, why: str) -> UsageError:
        return UsageError("signer.failed", f"the signer `{self._name}` {why}")


def _read(pipe: IO[bytes]) -> bytes:
    """Return what is printed into a pipe, and no more than tells that it is too much.

    Raises TimeoutExpired.
    """
    printed = bytearray()

    def read() -> None:
        with suppress(OSError, ValueError):  # the pipe is closed once nobody waits any more
            while len(printed) <= _MOST and (more := pipe.read(_MOST + 1)):
                printed.extend(more)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(SECONDS)
    if reader.is_alive():
        raise subprocess.TimeoutExpired("", SECONDS)
    return bytes(printed)


def _signature(printed: bytes) -> bytes | None:
    """Return the 64 bytes that were printed, as they are or in base64."""
    if len(printed) == _LENGTH:
        return printed
    try:
        found = base64.b64decode(b"".join(printed.split()), validate=True)
    except binascii.Error:
        return None
    return found if len(found) == _LENGTH else None
