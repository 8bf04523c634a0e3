"""The second verifier's own Ed25519, and that no input makes it raise."""

import contextlib
import hashlib
import io
import json
import random

import pytest

import verify

# RFC 8032, 7.1: public key, message, signature.
VECTORS = {
    "TEST 1": (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    "TEST 2": (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    "TEST 3": (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
    "TEST SHA(abc)": (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").hexdigest(),
        (
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
            "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"
        ),
    ),
}
KEY, MESSAGE, SIGNATURE = (bytes.fromhex(each) for each in VECTORS["TEST 2"])


@pytest.mark.parametrize("name", VECTORS)
def test_the_vectors_of_rfc_8032_verify(name):
    key, message, signature = (bytes.fromhex(each) for each in VECTORS[name])
    assert verify.ed25519_verify(key, message, signature)


@pytest.mark.parametrize("name", VECTORS)
def test_any_changed_bit_of_a_signature_is_refused(name):
    key, message, signature = (bytes.fromhex(each) for each in VECTORS[name])
    for bit in range(0, 512, 37):
        changed = bytearray(signature)
        changed[bit // 8] ^= 1 << bit % 8
        assert not verify.ed25519_verify(key, message, bytes(changed))


def test_another_message_or_key_is_refused():
    other = bytes.fromhex(VECTORS["TEST 1"][0])
    assert not verify.ed25519_verify(KEY, MESSAGE + b"x", SIGNATURE)
    assert not verify.ed25519_verify(other, MESSAGE, SIGNATURE)


@pytest.mark.parametrize("times", [1, 2, 8, 15])
def test_a_scalar_from_the_order_on_is_refused(times):
    scalar = int.from_bytes(SIGNATURE[32:], "little") + times * verify.L
    if scalar < 2**256:
        spelled = SIGNATURE[:32] + scalar.to_bytes(32, "little")
        assert not verify.ed25519_verify(KEY, MESSAGE, spelled)
    assert not verify.ed25519_verify(KEY, MESSAGE, SIGNATURE[:32] + b"\xff" * 32)


@pytest.mark.parametrize(
    "point",
    [
        verify.P.to_bytes(32, "little"),  # y = p is y = 0
        (verify.P + 1).to_bytes(32, "little"),  # y = 1
        (2**255 - 1).to_bytes(32, "little"),
        b"\xff" * 32,
        (1 | 1 << 255).to_bytes(32, "little"),  # x = 0 with its sign set
        (verify.P - 1 | 1 << 255).to_bytes(32, "little"),
        (2).to_bytes(32, "little"),  # no point of the curve
        b"",
        KEY[:31],
        KEY + b"\0",
    ],
)
def test_a_point_is_spelled_in_one_way_only(point):
    assert verify.decode_point(point) is None
    assert not verify.ed25519_verify(point, MESSAGE, SIGNATURE)
    assert not verify.ed25519_verify(KEY, MESSAGE, point + SIGNATURE[32:])


@pytest.mark.parametrize("length", [0, 32, 63, 65])
def test_a_signature_has_64_bytes(length):
    assert not verify.ed25519_verify(KEY, MESSAGE, (SIGNATURE + b"\0")[:length])


def test_it_agrees_with_another_implementation():
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    for number in range(20):
        key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
        message = b"hansard" * number
        public = key.public_key().public_bytes_raw()
        signature = key.sign(message)
        assert verify.ed25519_verify(public, message, signature)
        assert not verify.ed25519_verify(public, message + b"\n", signature)


def test_the_work_for_a_signature_does_not_depend_on_what_it_says(monkeypatch):
    """One addition is of numbers of 256 bits: it takes microseconds on any machine."""
    add, added = verify.add, []

    def counted(*points):
        added.append(points)
        return add(*points)

    monkeypatch.setattr(verify, "add", counted)
    for message in (MESSAGE, b"", b"x" * 10_000):
        added.clear()
        verify.ed25519_verify(KEY, message, SIGNATURE)
        assert len(added) == 1 + 2 * 253


# -- whatever bytes it is given, it ends with a verdict or a sentence

NASTY = [
    b"[" * 100_000,
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 50_000,
    b"9" * 5_000,
    b'{"v":' + b"9" * 100_000 + b"}",
    b"-1e999999999",
    b'"\\ud800"',
    b'{"\\udfff":"\\ud800"}',
    b"NaN",
    b"\0" * 100,
    b"\xff\xfe\xfd",
    b"\xef\xbb\xbf{}",
    "\u202e\u2066\x1b[31m".encode(),
    b"",
    b"{}",
]


def _files(events):
    """Return an export of these lines whose manifest nobody known has signed."""
    files = {"VERIFY.md": b"-\n", "events.jsonl": events}
    sums = "".join(f"{verify.sha256(data)}  {name}\n" for name, data in sorted(files.items()))
    line = "\n— a/export " + "A" * 91 + "=\n"
    return files | {"SHA256SUMS": (sums + line).encode()}


def _run(path, *options):
    """Run the tool; return its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = verify.main([str(path), *options])
    return code, out.getvalue() + err.getvalue()


@pytest.fixture
def trust(tmp_path, monkeypatch):
    monkeypatch.setenv("HANSARD_HOME", str(tmp_path / "none"))
    path = tmp_path / "trust.json"
    path.write_text('{"v":1,"keys":[]}')
    return path


def _zip(files):
    return b"".join(verify.zip_chunks(files))


def test_nasty_lines_are_findings(tmp_path, trust):
    path = tmp_path / "export.zip"
    for raw in NASTY:
        path.write_bytes(_zip(_files(raw + b"\n")))
        code, printed = _run(path)
        assert code == 1
        assert "ALTERED" in printed.splitlines()[-1]
        assert not verify.ACTING.search(printed.replace("\n", ""))


def test_nasty_files_are_findings(tmp_path, trust):
    path, base = tmp_path / "export.zip", _files(b"{}\n")
    names = [
        *base,
        "report.html",
        "register/head.proof",
        f"blobs/{'0' * 64}",
        f"policies/{'0' * 64}",
    ]
    for name in names:
        for raw in NASTY:
            path.write_bytes(_zip(base | {name: raw}))
            code, printed = _run(path, "--json")
            assert code == 1
            assert json.loads(printed)["verdict"] == "ALTERED"


def test_broken_zips_are_findings_while_a_header_and_the_end_are_left(tmp_path, trust):
    chance, path = random.Random(8032), tmp_path / "export.zip"  # the same bytes each time
    whole = _zip(_files(b"{}\n"))
    for number in range(300):
        data = bytearray(whole)
        if number % 3 == 0:
            data = data[: chance.randrange(len(data))]
        elif number % 3 == 1:
            for _ in range(chance.randint(1, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
        else:
            data = bytearray(chance.randbytes(chance.randrange(200)))
        path.write_bytes(data)
        held = verify.holds_file(bytes(data)) and verify.find_end(bytes(data)) >= 0
        assert _run(path)[0] == (1 if held else 2)


def test_nasty_replies_are_unreadable():
    for raw in NASTY[:-1]:
        text = raw.decode("utf-8", "replace")
        expected = (
            (None, float("-inf")) if text.startswith("-1e") else (("unreadable", None, None), None)
        )
        assert verify.read_reply(text, {}, "openai:m") == expected


@pytest.mark.parametrize("raw", NASTY)
def test_a_nasty_trust_file_is_wrong_use(raw, tmp_path, trust):
    path = tmp_path / "export.zip"
    path.write_bytes(_zip(_files(b"{}\n")))
    trust.write_bytes(raw)
    code, printed = _run(path, "--trust", str(trust))
    assert code == 2
    assert len(printed.splitlines()) == 1


def test_what_cannot_be_opened_is_wrong_use(tmp_path, trust):
    assert _run(tmp_path / "missing.zip")[0] == 2
    assert _run("a\0b")[0] == 2
    path = tmp_path / "export.zip"
    path.write_bytes(_zip(_files(b"{}\n")))
    code, printed = _run(path, "--since", str(tmp_path / "missing"))
    assert code == 2
    assert "the checkpoint" in printed


def test_links_in_a_folder_are_not_followed(tmp_path, trust):
    folder = tmp_path / "export"
    folder.mkdir()
    for name, data in _files(b"{}\n").items():
        (folder / name).write_bytes(data)
    (folder / "VERIFY.md").unlink(missing_ok=True)
    (folder / "VERIFY.md").symlink_to(trust)
    code, printed = _run(folder, "--json")
    assert code == 1
    assert [finding["code"] for finding in json.loads(printed)["findings"]] == ["1.name"]
