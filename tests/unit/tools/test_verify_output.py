"""`verify.py` ends with the exit code of what it found, wherever its words go."""

import subprocess
import sys

import pytest

import verify
from conformance_kit.debates import decided
from conformance_kit.exports import export, zip_of

NO_ROOM = "verify.py: the output cannot be written: No space left on device\n"


def written(folder):
    """A record whose signer nobody trusts, in a file."""
    path = folder / "record.zip"
    path.write_bytes(zip_of(export(decided())))
    return path


def ended(words, streams):
    """The exit code of the tool, and what is left on standard error."""
    command = f'exec {sys.executable} "$0" {words} {streams}'
    done = subprocess.run(
        ["sh", "-c", command, verify.__file__], check=False, capture_output=True, text=True
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("streams", [">&-", ">&- 2>&-", "<&- >&- 2>&-", "2>&-", "2>/dev/full"])
@pytest.mark.parametrize(("words", "code"), [("none.zip", 2), ("RECORD", 1)])
def test_what_cannot_be_told_changes_no_exit_code(words, code, streams, tmp_path):
    record = written(tmp_path)
    found, said = ended(words.replace("RECORD", str(record)), streams)
    assert found == code
    assert "Traceback" not in said


@pytest.mark.parametrize("more", ["", " --json"])
def test_an_output_without_room_is_one_sentence(more, tmp_path):
    record = written(tmp_path)
    assert ended(f"{record}{more}", ">/dev/full") == (2, NO_ROOM)
    assert ended(f"{record}{more}", ">/dev/full 2>&1") == (2, "")
