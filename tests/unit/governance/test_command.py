"""A command that signs: an HSM's or KMS's tool, and whatever else it may do."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile

import pytest

from hansard.errors import UsageError
from hansard.governance import command
from hansard.governance.command import CommandKey
from hansard.record import keys, note
from hansard.record.note import Signer
from instant import GUARD

MINE = Signer("acme/export", keys.generate())
READ = "import sys; data = sys.stdin.buffer.read(); out = sys.stdout.buffer; "
SIGNS = (
    "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey; "
    f"key = Ed25519PrivateKey.from_private_bytes({MINE.private.private_bytes_raw()!r}); "  # type: ignore[attr-defined]
    "signature = key.sign(data); "
)


def signer(code):
    return Signer(MINE.name, CommandKey(MINE.key, words(code)))


def words(code):

    return shlex.join([sys.executable, "-c", code])


@pytest.mark.parametrize(
    "printing",
    [
        "out.write(signature)",
        "import base64; out.write(base64.b64encode(signature))",
        "import base64; out.write(base64.encodebytes(signature) + b'\\r\\n')",
    ],
)
def test_what_a_command_signs_is_signed_by_the_key(printing):
    held = signer(READ + SIGNS + printing)
    assert held.key == MINE.key
    assert note.sign(b"text\n", held) == note.sign(b"text\n", MINE)


def test_the_text_is_a_file_of_known_size():
    """Tools that sign in one go ask how much there is before they read."""
    code = "import os; assert os.fstat(0).st_size == 5; " + READ + SIGNS + "out.write(signature)"
    assert signer(code).sign(b"text\n") == MINE.sign(b"text\n")


WRONG = {
    "nothing": "",
    "another text": SIGNS + "out.write(key.sign(data + b'x'))",
    "a key's": "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey; "
    "out.write(Ed25519PrivateKey.generate().sign(data))",
    "too much": SIGNS + "out.write(signature + b'!')",
    "base64 of something": "out.write(b'YWJj')",
    "JSON": "out.write(b'{}')",
    "zeros": "out.write(bytes(64))",
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_signature_of_the_key_is_used_for_nothing(what):
    with pytest.raises(UsageError, match="is not a signature by acme/export") as caught:
        signer(READ + WRONG[what]).sign(b"text\n")
    assert caught.value.code == "signer.wrong"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (words(READ + SIGNS + "out.write(signature); sys.exit(3)"), "signer.failed", "code 3"),
        ("/nowhere/to-be-found", "signer.failed", "cannot be started"),
        ("a\0b", "signer.failed", "cannot be started"),
        ("PIN=1234 sign", "signer.failed", "the signer `--signer` cannot be started"),
        ("", "signer.command", "is not a command"),
        ("'open", "signer.command", "is not a command"),
    ],
)
def test_a_command_that_fails_says_how(text, code, said):
    with pytest.raises(UsageError, match=said) as caught:
        CommandKey(MINE.key, text).sign(b"text\n")
    assert caught.value.code == code


def test_a_command_that_cannot_be_read_is_not_shown():
    """A PIN may stand in it."""
    with pytest.raises(UsageError) as caught:
        CommandKey(MINE.key, "tool --pin 1234 'open")
    assert "1234" not in str(caught.value)


def test_a_command_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(command, "SECONDS", 0.2)
    with pytest.raises(UsageError, match="no signature within") as caught:
        signer("import time; time.sleep(600)").sign(b"text\n")
    assert caught.value.code == "signer.failed"


def test_a_command_that_floods_its_output_is_ended_at_once():
    with pytest.raises(UsageError, match="printed more than 1,000 bytes") as caught:
        signer("import time; print('x' * 1_001, flush=True); time.sleep(600)").sign(b"text\n")
    assert caught.value.code == "signer.failed"


def test_what_a_command_started_floods_nobody_either(tmp_path):
    over = tmp_path / "over"
    os.mkfifo(over)
    flood = (
        "import os, signal; signal.signal(signal.SIGPIPE, signal.SIG_IGN)\n"
        "try:\n    while True: os.write(1, bytes(50))\n"
        f"except BrokenPipeError: open({str(over)!r}, 'w').write('over')\n"
    )
    starting = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {flood!r}])"
    with pytest.raises(UsageError, match="printed more than 1,000 bytes"):
        signer(starting).sign(b"text\n")
    assert over.read_text() == "over"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_this_process_ends_the_command_too(number, tmp_path):
    reads = tmp_path / "reads"
    os.mkfifo(reads)
    hangs = (
        f"import time; file = open({str(reads)!r}, 'w'); print('reads', flush=True, file=file); "
        f"time.sleep({GUARD}); print('goes on', file=file)"
    )
    code = (
        "from hansard.governance.command import CommandKey\n"
        "from hansard.record.note import VerifierKey\n"
        f"CommandKey(VerifierKey.parse({str(MINE.key)!r}), {words(hangs)!r}).sign(b'text')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as signing, reads.open() as file:
        assert file.readline() == "reads\n"
        signing.send_signal(number)
        assert file.read() == ""
    assert signing.returncode == -number


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_a_signal_that_is_handled_leaves_the_command_alone(handler):
    code = f"import os, signal; os.kill({os.getpid()}, signal.SIGTERM); "
    before = signal.signal(signal.SIGTERM, handler)
    try:
        signs = signer(code + READ + SIGNS + "out.write(signature)").sign(b"text\n")
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signs == MINE.sign(b"text\n")
    assert signal.getsignal(signal.SIGTERM) is before


def test_no_shell_reads_the_command(tmp_path):
    with pytest.raises(UsageError):
        CommandKey(MINE.key, f"true; touch {tmp_path}/x && touch {tmp_path}/x").sign(b"x")
    assert list(tmp_path.iterdir()) == []


def test_where_there_is_no_disk_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(UsageError) as caught:
        signer("").sign(b"x")
    assert caught.value.code == "system.temporary"


def test_passphrases_stay_here(monkeypatch):
    monkeypatch.setenv("HANSARD_PASSPHRASE", "secret")
    monkeypatch.setenv("HANSARD_PASSPHRASE_FILE", os.devnull)
    check = "import os; assert not [n for n in os.environ if 'PASSPHRASE' in n]; "
    assert signer(check + READ + SIGNS + "out.write(signature)").sign(b"x") == MINE.sign(b"x")
