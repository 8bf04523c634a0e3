"""Our notes and proofs, as Go reads them: golang.org/x/mod, which the checksum database uses.

Skipped where Go or that package is not installed: `apt-get install golang-go
golang-golang-x-mod-dev` on Debian. Nothing is fetched.
"""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansard.record import checkpoint, tree
from hansard.record.checkpoint import Head
from hansard.record.note import Signer, witness_key
from hansard.record.register import Line, tag

SOURCE = Path(__file__).with_name("oracle.go")
DEBIAN = Path("/usr/share/gocode")
there = shutil.which("go") and (DEBIAN / "src/golang.org/x/mod/sumdb/tlog").is_dir()
pytestmark = pytest.mark.skipif(
    not there, reason="needs Debian's packages golang-go and golang-golang-x-mod-dev"
)
LOG, WITNESS = (
    Signer(name, Ed25519PrivateKey.from_private_bytes(name[-1:].encode() * 32))
    for name in ("example.org/log", "example.net/witness")
)
SIZE = 21
LINES = [Line(index, "opened", tag(str(index)), "0" * 64) for index in range(SIZE)]
STORED: list[bytes] = []
for _line in LINES:
    STORED += tree.added(_line.index, _line.leaf, tree.reader(STORED))
READ = tree.reader(STORED)
ROOTS = [tree.root(size, READ) for size in range(SIZE + 1)]


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    """What Go says of a note and of proofs."""
    folder = tmp_path_factory.mktemp("go")
    program = folder / "oracle"
    own = {"GO111MODULE": "off", "GOPATH": str(DEBIAN), "GOFLAGS": "", "GOPROXY": "off"}
    env = os.environ | own | {"GOCACHE": str(folder / "cache"), "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-o", program, SOURCE], env=env, check=True, cwd=folder)

    def ask(note=b"", key=str(LOG.key), lines=(), trees=()):
        asked = {"Note": note.decode(), "Key": key, "Lines": lines, "Trees": trees}
        done = subprocess.run(
            [program], input=json.dumps(asked).encode(), capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    return ask


def in_text(value):
    return base64.b64encode(value).decode()


def proof(hashes, size, root, other, **more):
    rows = {"Hashes": [in_text(row) for row in hashes], "Size": size, "Root": in_text(root)}
    return {**rows, "Other": other} | {key: in_text(value) for key, value in more.items()}


def test_a_checkpoint_is_a_note(go):
    head = Head("example.org/log/1", SIZE, ROOTS[-1])
    signed = checkpoint.sign(head, LOG)
    assert go(signed)["Text"] == head.text().decode()
    assert go(signed.replace(b"\n21\n", b"\n20\n"))["Text"] == ""
    cosigned = checkpoint.cosign(signed, WITNESS, 1_767_606_000)
    assert go(cosigned)["Text"] == head.text().decode(), "whoever else signed it"
    assert go(cosigned, str(WITNESS.key))["Text"] == "", "a witness's key signs nothing else"
    assert str(witness_key(WITNESS)) != str(WITNESS.key)


def test_every_proof_of_a_line_and_of_an_older_register_holds(go):
    lines = [
        proof(tree.inclusion(at, size, READ), size, ROOTS[size], at, Line=LINES[at].data)
        for size in range(1, SIZE + 1)
        for at in range(size)
    ]
    trees = [
        proof(tree.consistency(old, size, READ), size, ROOTS[size], old, OlderRoot=ROOTS[old])
        for size in range(1, SIZE + 1)
        for old in range(1, size + 1)
    ]
    said = go(lines=lines, trees=trees)
    assert len(said["Lines"]) == len(said["Trees"]) == SIZE * (SIZE + 1) // 2
    assert all(said["Lines"])
    assert all(said["Trees"])


def test_none_holds_of_another_line_or_root(go):
    other = LINES[6].data
    lines = [proof(tree.inclusion(5, SIZE, READ), SIZE, ROOTS[SIZE], 5, Line=other)]
    trees = [
        proof(tree.consistency(7, SIZE, READ), SIZE, ROOTS[SIZE], 7, OlderRoot=ROOTS[size])
        for size in (6, 8)
    ]
    said = go(lines=lines, trees=trees)
    assert (said["Lines"], said["Trees"]) == ([False], [False, False])
