"""Signed notes: what `sign` writes `parse` reads, openssl agrees, and there is one spelling."""

import base64
import subprocess
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import DataError, UsageError
from hansard.record import note
from hansard.record.note import Note, Signature, Signer, VerifierKey

# RFC 8032, 7.1, test 1
SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
SIGNER = Signer("hansard.example/export", Ed25519PrivateKey.from_private_bytes(SECRET))
OTHER = Signer("hansard.example/export", Ed25519PrivateKey.from_private_bytes(bytes(32)))
# By hand: printf 'hansard.example/export\n\001<public key>' | sha256sum | cut -c 1-8
VKEY = "hansard.example/export+f6506517+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"

names = st.from_regex(r"[A-Za-z0-9._:/@=-]{1,128}", fullmatch=True)
texts = st.binary(max_size=200).map(lambda text: text + b"\n")
secrets = st.binary(min_size=32, max_size=32)
signers = st.builds(
    lambda name, secret: Signer(name, Ed25519PrivateKey.from_private_bytes(secret)), names, secrets
)


def malformed(data):
    with pytest.raises(DataError) as caught:
        note.parse(data)
    return caught.value.code == "note.malformed"


def test_the_verifier_key_of_rfc_8032():
    key_id = sha256(b"hansard.example/export\n\x01" + PUBLIC).hexdigest()[:8]
    body = base64.b64encode(b"\x01" + PUBLIC).decode()
    assert str(SIGNER.key) == f"hansard.example/export+{key_id}+{body}" == VKEY
    assert VerifierKey.parse(VKEY) == SIGNER.key == VerifierKey("hansard.example/export", PUBLIC)


def test_a_note_byte_by_byte():
    text = b"hello\n"
    signature = SIGNER.private.sign(text)
    key_id = bytes.fromhex(VKEY.split("+")[1])
    expected = b"hello\n\n\xe2\x80\x94 hansard.example/export "
    assert note.sign(text, SIGNER) == expected + base64.b64encode(key_id + signature) + b"\n"


def test_the_note_of_others_is_written_alike():
    """The example of Go's `golang.org/x/mod/sumdb/note`, whose key is part of it."""
    secret = base64.b64decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")[1:]
    signer = Signer("PeterNeumann", Ed25519PrivateKey.from_private_bytes(secret))
    key = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    text = (
        b"If you think cryptography is the answer to your problem,\n"
        b"then you don't know what your problem is.\n"
    )
    body = (
        "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJ"
        "nAM="
    )
    assert str(signer.key) == key
    assert note.sign(text, signer) == text + f"\n— PeterNeumann {body}\n".encode()


def test_openssl_verifies_what_we_sign(tmp_path):
    text = b"any text\n\nwith an empty line\n"
    written = note.sign(text, SIGNER)
    line = written.splitlines()[-1].decode()
    (tmp_path / "text").write_bytes(text)
    (tmp_path / "sig").write_bytes(base64.b64decode(line.split(" ")[2])[4:])
    (tmp_path / "key").write_bytes(bytes.fromhex("302a300506032b6570032100") + PUBLIC)
    words = "openssl pkeyutl -verify -pubin -keyform DER -inkey key -rawin -in text -sigfile sig"
    assert subprocess.run(words.split(), cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "text").write_bytes(text + b" ")
    assert subprocess.run(words.split(), cwd=tmp_path, check=False).returncode == 1


@given(texts, signers)
def test_what_is_signed_is_read_again(text, signer):
    found = note.parse(note.sign(text, signer))
    assert found.text == text
    assert [row.name for row in found.signatures] == [signer.name]
    assert found.signed_by(signer.key)
    assert not found.signed_by(VerifierKey(signer.name, bytes(32)))
    assert not found.signed_by(VerifierKey(signer.name + "x", signer.key.public))
    assert not Note(text + b"\n", found.signatures).signed_by(signer.key)


@given(signers)
def test_a_verifier_key_is_read_again(signer):
    assert VerifierKey.parse(str(signer.key)) == signer.key


@given(texts, st.lists(signers, min_size=1, max_size=4))
def test_signatures_add_up(text, signers):
    lines = [note.sign(text, signer).rpartition(b"\n\n")[2] for signer in signers]
    found = note.parse(text + b"\n" + b"".join(lines))
    assert [row.name for row in found.signatures] == [signer.name for signer in signers]
    assert all(found.signed_by(signer.key) for signer in signers)


@given(st.binary(max_size=300) | texts.map(lambda text: text + b"\n\xe2\x80\x94 a AAAA\n"))
def test_anything_else_is_refused_or_read_whole(data):
    try:
        found = note.parse(data)
    except DataError as error:
        found = error.code
    assert found == "note.malformed" or spelled(found) == data


def spelled(found):
    rows = [
        f"— {row.name} {base64.b64encode(row.key_id + row.signature).decode()}\n"
        for row in found.signatures
    ]
    return found.text + b"\n" + "".join(rows).encode()


def test_a_key_of_the_same_name_does_not_count():
    written = note.sign(b"x\n", OTHER)
    assert not note.parse(written).signed_by(SIGNER.key)


def test_a_signature_under_the_id_of_another_key():
    line = Signature(SIGNER.name, SIGNER.key.id, OTHER.sign(b"x\n"))
    assert not Note(b"x\n", (line,)).signed_by(SIGNER.key)


WHOLE = note.sign(b"a\n", SIGNER)
BODY = WHOLE.split(b" ")[-1][:-1]
SPELLINGS = {
    "empty": b"",
    "no signature": b"a\n",
    "no signature after an empty line": b"a\n\n",
    "no empty line": WHOLE.replace(b"\n\n", b"\n"),
    "no last line end": WHOLE[:-1],
    "a line more": WHOLE + b"x\n",
    "an empty line more": WHOLE + b"\n",
    "CRLF": WHOLE.replace(b"\n", b"\r\n"),
    "a hyphen": WHOLE.replace("—".encode(), b"-"),
    "two hyphens": WHOLE.replace("—".encode(), b"--"),
    "no space after the dash": WHOLE.replace("— ".encode(), "—".encode()),
    "two spaces": WHOLE.replace(b"export ", b"export  "),
    "a tab": WHOLE.replace(b"export ", b"export\t"),
    "no name": WHOLE.replace(b"hansard.example/export ", b" "),
    "a plus in the name": WHOLE.replace(b"hansard.", b"hansard+"),
    "a name of 129": WHOLE.replace(b"hansard.example/export", b"x" * 129),
    "a name that is not ASCII": WHOLE.replace(b"hansard.", "hänsard".encode()),
    "a name that is not UTF-8": WHOLE.replace(b"hansard.", b"\xff"),
    "a space at the end": WHOLE[:-1] + b" \n",
    "no base64": WHOLE.replace(BODY, b"????"),
    "base64url": WHOLE.replace(BODY, b"-_" + BODY[2:]),
    "no padding": WHOLE.replace(b"=\n", b"\n"),
    "more padding": WHOLE.replace(b"=\n", b"==\n"),
    "a line end in base64": WHOLE.replace(BODY, BODY[:40] + b"\n" + BODY[40:]),
    "a space in base64": WHOLE.replace(BODY, BODY[:40] + b" " + BODY[40:]),
    "one byte less": WHOLE.replace(BODY, base64.b64encode(bytes(67))),
    "one byte more": WHOLE.replace(BODY, base64.b64encode(bytes(69))),
    "a second line that is none": WHOLE + "— x\n".encode(),
}


@pytest.mark.parametrize("defect", SPELLINGS)
def test_another_spelling_is_refused(defect):
    assert SPELLINGS[defect] != WHOLE
    assert malformed(SPELLINGS[defect])


def test_stray_bits_of_base64_are_refused():
    digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = digits.index(BODY[-2:-1])
    for stray in (1, 2, 3):
        body = BODY[:-2] + digits[last ^ stray : (last ^ stray) + 1] + b"="
        assert base64.b64decode(body) == base64.b64decode(BODY)
        assert malformed(WHOLE.replace(BODY, body))


def test_a_note_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(note, "MAX_NOTE", len(WHOLE) - 1)
    assert malformed(WHOLE)


def test_a_text_without_a_last_line_end_is_not_signed():
    with pytest.raises(ValueError, match="ends with LF"):
        note.sign(b"a", SIGNER)


KEYS = {
    "empty": "",
    "no parts": "hansard.example/export",
    "no id": f"hansard.example/export++{VKEY.split('+', 2)[2]}",
    "another id": VKEY.replace("+f6506517+", "+ffffffff+"),
    "an id in upper case": VKEY.replace("+f6506517+", "+F6506517+"),
    "another name": "x" + VKEY,
    "no name": VKEY[VKEY.index("+") :],
    "a space in the name": VKEY.replace("hansard.", "hansard "),
    "a line end": VKEY + "\n",
    "a letter less": VKEY[:-1],
    "padding": VKEY + "=",
    "another algorithm": "hansard.example/export+f6506517+"
    + base64.b64encode(b"\x02" + PUBLIC).decode(),
    "31 bytes": "a+00000000+" + base64.b64encode(b"\x01" + bytes(31)).decode(),
    "not ASCII": VKEY.replace("A", "Ä"),
    "a lone surrogate": VKEY + "\ud800",
}  # fmt: skip


@pytest.mark.parametrize("defect", KEYS)
def test_a_verifier_key_that_is_none(defect):
    with pytest.raises(DataError) as caught:
        VerifierKey.parse(KEYS[defect])
    assert caught.value.code == "key.malformed"


P = 2**255 - 19
ORDER_8 = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"
WEAK = [
    *(y.to_bytes(32, "little") for y in (0, 1, P - 1, P, P + 1, 2**255 - 1)),
    bytes.fromhex(ORDER_8),
    (P - int.from_bytes(bytes.fromhex(ORDER_8), "little")).to_bytes(32, "little"),
]


@pytest.mark.parametrize("public", [row.hex() for row in WEAK])
@pytest.mark.parametrize("sign", [0, 0x80])
def test_a_public_key_under_which_some_signature_fits_every_text(public, sign):
    body = bytearray.fromhex(public)
    body[31] |= sign
    with pytest.raises(DataError) as caught:
        VerifierKey.parse(str(VerifierKey("a", bytes(body))))
    assert caught.value.code == "key.malformed"


def test_a_public_key_that_is_no_point_verifies_nothing():
    for public in (b"\xff" * 32, bytes(32), b"\x02" + bytes(31), bytes(31)):
        assert not VerifierKey("a", public).verifies(b"x\n", bytes(64))
        assert not VerifierKey("a", PUBLIC).verifies(b"x\n", b"")


class Elsewhere:
    """The private half of a key of which another machine says what it signed."""

    def __init__(self, said):
        self.private, self.said = Ed25519PrivateKey.from_private_bytes(bytes(32)), said

    def public_key(self):
        return self.private.public_key()

    def sign(self, data):
        return self.said(data) if callable(self.said) else self.said


WRONG = {
    "nothing": None,
    "empty": b"",
    "too short": b"x" * 63,
    "of nothing": b"x" * 64,
    "text": "x" * 64,
    "another text": OTHER.private.sign(b"another text"),
    "changed later": lambda data: bytearray(OTHER.private.sign(data)),
}


@pytest.mark.parametrize("said", WRONG.values(), ids=WRONG)
def test_what_is_no_signature_by_its_key_signs_nothing(said):
    signer = Signer(OTHER.name, Elsewhere(said))
    for sign in (
        lambda: note.sign(b"text\n", signer),
        lambda: note.cosignature(b"text\n", signer, 1),
    ):
        with pytest.raises(UsageError) as caught:
            sign()
        assert caught.value.code == "signer.wrong"
    well = Signer(OTHER.name, Elsewhere(OTHER.private.sign))
    assert note.sign(b"text\n", well) == note.sign(b"text\n", OTHER)
