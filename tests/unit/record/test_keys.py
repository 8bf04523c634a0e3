"""Keys at rest, and whom a reader trusts, in which role, for how long."""

import json
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa, x25519
from hypothesis import example, given
from hypothesis import strategies as st

from hansard.errors import DataError, UsageError
from hansard.record import keys, note
from hansard.record.keys import ROLES, Trust, TrustedKey, parse_trust, who_signed
from hansard.record.note import COSIGNATURE, Signer, VerifierKey

AT = "2026-11-21T20:16:03.123456Z"
JUST_BEFORE, JUST_AFTER = AT.replace("456Z", "455Z"), AT.replace("456Z", "457Z")
MINE, OTHER = (Signer(name, keys.generate()) for name in ("house/export", "other/export"))
KEY = str(MINE.key)
WITNESS = str(VerifierKey("house/witness", MINE.key.public, COSIGNATURE))
NOTE_TEXT = note.sign(b"text\n", MINE)
NOTE = note.parse(NOTE_TEXT)
MINE_AS_WITNESS = Signer("house/witness", MINE.private)

times = st.datetimes().map(lambda time: time.isoformat("T", "microseconds") + "Z")
rows = st.fixed_dictionaries(
    {"role": st.sampled_from(ROLES), "key": st.just(KEY)},
    optional=dict.fromkeys(("from", "until", "revoked"), times | st.none()),
)


def row(role="export", key=KEY, **limits):
    return TrustedKey.model_validate({"role": role, "key": str(key), **limits})


def trust(*found):
    return Trust(keys=list(found))


# PEM


def refused(data, passphrase=None, kind=DataError):
    with pytest.raises(kind) as caught:
        keys.from_pem(data, passphrase)
    return caught.value


def pem(key, passphrase=None):
    locked = form.BestAvailableEncryption(passphrase) if passphrase else form.NoEncryption()
    return key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, locked)


@pytest.mark.parametrize("passphrase", [None, b"secret", "gehëim".encode()])
def test_a_key_is_read_again(passphrase):
    data = keys.to_pem(MINE.private, passphrase)
    assert data.startswith(b"-----BEGIN ENCRYPTED" if passphrase else b"-----BEGIN PRIVATE")
    found = keys.from_pem(data, passphrase)
    assert found.sign(b"x") == MINE.private.sign(b"x")


def test_openssl_reads_what_is_written_and_writes_what_is_read(tmp_path):
    (tmp_path / "key").write_bytes(keys.to_pem(MINE.private, b"secret"))
    words = ["openssl", "pkey", "-in", "key", "-passin", "pass:secret", "-out", "plain"]
    subprocess.run(words, cwd=tmp_path, check=True)
    found = keys.from_pem((tmp_path / "plain").read_bytes())
    assert found.sign(b"x") == MINE.private.sign(b"x")


def test_the_passphrase_must_be_the_one():
    locked = keys.to_pem(MINE.private, b"secret")
    assert refused(locked, None, UsageError).code == "key.passphrase"
    assert "has a passphrase: set" in str(refused(locked, None, UsageError))
    assert refused(locked, b"Secret").code == "key.malformed"
    plain = keys.to_pem(MINE.private)
    assert "has no passphrase: unset" in str(refused(plain, b"secret", UsageError))
    with pytest.raises(UsageError) as caught:
        keys.to_pem(MINE.private, b"x" * 5000)
    assert caught.value.code == "key.passphrase"


OTHERS = {
    "RSA": lambda: rsa.generate_private_key(65537, 2048),
    "EC": lambda: ec.generate_private_key(ec.SECP256R1()),
    "DSA": lambda: dsa.generate_private_key(2048),
    "X25519": x25519.X25519PrivateKey.generate,
    "Ed448": ed448.Ed448PrivateKey.generate,
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_key_of_another_kind(kind):
    key = OTHERS[kind]()
    assert refused(pem(key)).code == "key.malformed"
    assert refused(pem(key, b"p"), b"p").code == "key.malformed"


GARBAGE = {
    "empty": b"",
    "no PEM": b"hello",
    "a public key": MINE.private.public_key().public_bytes(
        form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo
    ),
    "cut off": keys.to_pem(MINE.private)[:-40],
    "another body": keys.to_pem(MINE.private).replace(b"MC4CAQ", b"MC4CAg"),
    "an OpenSSH key": keys.to_pem(MINE.private).replace(b"PRIVATE", b"OPENSSH PRIVATE"),
    "NUL": b"\0" * 100,
    "not ASCII": b"\xff\xfe",
}  # fmt: skip


@pytest.mark.parametrize("what", GARBAGE)
def test_what_is_no_key(what):
    assert refused(GARBAGE[what]).code == "key.malformed"
    assert refused(GARBAGE[what], b"secret").code in ("key.malformed", "key.passphrase")


# The trust file


def malformed(data):
    with pytest.raises(DataError) as caught:
        parse_trust(data if isinstance(data, bytes) else json.dumps(data).encode())
    return caught.value.code == "trust.malformed"


@given(st.lists(rows), st.fixed_dictionaries({}, optional={"witnesses": st.integers(0, 9)}))
def test_a_trust_file_is_read_again(found, wanted):
    parsed = parse_trust(json.dumps({"v": 1, "keys": found} | wanted).encode())
    assert parse_trust(parsed.dump()) == parsed
    again = json.loads(parsed.dump())
    filled = [dict.fromkeys(("from", "until", "revoked")) | one for one in found]
    assert again == {"v": 1, "keys": filled, "witnesses": 0} | wanted


@example(b'{"v":1,"keys":[]}')
@given(st.binary(max_size=100) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_refused_with_one_code_or_a_file_without_a_key(data):
    """A key takes more bytes than that; a file without one may come up by chance."""
    try:
        assert parse_trust(data).keys == []
    except DataError:
        assert malformed(data)


GOOD = {"role": "export", "key": KEY}
ENDED = {"sha256": "a" * 64, "revoked": AT}
TRUST_FILES = {
    "empty": b"",
    "no JSON": b"{",
    "a list": [],
    "null": None,
    "no version": {"keys": []},
    "no keys": {"v": 1},
    "keys that are no list": {"v": 1, "keys": {}},
    "version 2": {"v": 2, "keys": []},
    "version 1.0": b'{"v":1.0,"keys":[]}',
    "version true": {"v": True, "keys": []},
    "version in quotes": {"v": "1", "keys": []},
    "a field more": {"v": 1, "keys": [], "x": 1},
    "a field of a key more": {"v": 1, "keys": [GOOD | {"x": 1}]},
    "from as Python spells it": {"v": 1, "keys": [GOOD | {"from_": AT}]},
    "an unknown role": {"v": 1, "keys": [GOOD | {"role": "admin"}]},
    "no role": {"v": 1, "keys": [{"key": KEY}]},
    "no key": {"v": 1, "keys": [{"role": "export"}]},
    "a key that is none": {"v": 1, "keys": [GOOD | {"key": KEY + "="}]},
    "a key that is null": {"v": 1, "keys": [GOOD | {"key": None}]},
    "a time without fraction": {"v": 1, "keys": [GOOD | {"from": "2026-11-21T20:16:03Z"}]},
    "a time of month 13": {"v": 1, "keys": [GOOD | {"from": AT.replace("-11-", "-13-")}]},
    "a time of hour 24": {"v": 1, "keys": [GOOD | {"until": AT.replace("T20", "T24")}]},
    "a time with a line end": {"v": 1, "keys": [GOOD | {"until": AT + "\n"}]},
    "a time in another zone": {"v": 1, "keys": [GOOD | {"until": AT[:-1] + "+00:00"}]},
    "a revocation without a zone": {"v": 1, "keys": [GOOD | {"revoked": AT[:-1]}]},
    "witnesses in words": {"v": 1, "keys": [], "witnesses": "two"},
    "witnesses that are null": {"v": 1, "keys": [], "witnesses": None},
    "witnesses below none": {"v": 1, "keys": [], "witnesses": -1},
    "a witness with a key that signs": {"v": 1, "keys": [GOOD | {"role": "witness"}]},
    "a signer with a key for cosignatures": {"v": 1, "keys": [GOOD | {"key": WITNESS}]},
    "policies that are null": {"v": 1, "keys": [], "policies": None},
    "a policy that is a hash alone": {"v": 1, "keys": [], "policies": ["a" * 64]},
    "a policy without a time": {"v": 1, "keys": [], "policies": [{"sha256": "a" * 64}]},
    "a policy with a null time": {"v": 1, "keys": [], "policies": [ENDED | {"revoked": None}]},
    "a policy whose hash is none": {"v": 1, "keys": [], "policies": [ENDED | {"sha256": "a"}]},
    "a policy with a field more": {"v": 1, "keys": [], "policies": [ENDED | {"x": 1}]},
    "a policy twice": {"v": 1, "keys": [], "policies": [ENDED, ENDED]},
    "policies not sorted": {"v": 1, "keys": [], "policies": [ENDED, ENDED | {"sha256": "0" * 64}]},
    "a time that is a number": {"v": 1, "keys": [GOOD | {"until": 1}]},
    "a key twice in one object": b'{"v":1,"v":1,"keys":[]}',
    "a key twice in a row": b'{"v":1,"keys":[{"role":"log","role":"export","key":"%s"}]}'
    % KEY.encode(),
    "UTF-16": '{"v":1,"keys":[]}'.encode("utf-16"),
    "a mark": b'\xef\xbb\xbf{"v":1,"keys":[]}',
    "deep": b"[" * 100_000,
    "a huge number": b'{"v":' + b"1" * 10_000 + b',"keys":[]}',
    "a lone surrogate": b'{"v":1,"keys":[{"role":"export","key":"\\ud800"}]}',
}  # fmt: skip


@pytest.mark.parametrize("defect", TRUST_FILES)
def test_a_trust_file_that_is_none(defect):
    assert malformed(TRUST_FILES[defect])


def test_two_keys_under_one_name_and_id_are_refused():
    """They can be found: an id has four bytes. A reader would not know which one is meant."""
    seen = {}
    for number in range(2, 1 << 20):
        key = VerifierKey("house/export", number.to_bytes(32, "little"))
        other = seen.setdefault(key.id, key)
        if other != key:
            break
    twins = {"v": 1, "keys": [GOOD | {"key": str(key)}, GOOD | {"key": str(other)}]}
    assert malformed(twins)
    assert parse_trust(json.dumps(twins | {"keys": [twins["keys"][0]] * 2}).encode()).keys


def test_policies_that_are_revoked_are_read_again_and_left_out_where_there_are_none():
    rows = [ENDED, ENDED | {"sha256": "b" * 64, "revoked": JUST_BEFORE}]
    found = parse_trust(json.dumps({"v": 1, "keys": [], "policies": rows}).encode())
    assert parse_trust(found.dump()) == found
    assert json.loads(found.dump())["policies"] == rows
    assert b"policies" not in found.model_copy(update={"policies": []}).dump()
    assert found.revoked_policy({"a" * 64}) == AT
    assert found.revoked_policy({"a" * 64, "b" * 64, "c" * 64}) == JUST_BEFORE
    assert found.revoked_policy({"c" * 64}) is None


def test_nothing_is_trusted_by_an_empty_trust_file():
    assert parse_trust(b'{"v":1,"keys":[]}') == Trust()


# Who signed


def test_in_force_from_its_first_moment_and_not_at_its_last():
    for at, counts in ((JUST_BEFORE, False), (AT, True), (JUST_AFTER, True)):
        assert row(**{"from": AT}).in_force(at) is counts
    for at, counts in ((JUST_BEFORE, True), (AT, False), (JUST_AFTER, False)):
        assert row(until=AT).in_force(at) is counts
    assert not row(**{"from": AT, "until": AT}).in_force(AT)
    assert row().in_force("0000-01-01T00:00:00.000000Z")
    assert not row().in_force(None), "nobody knows when it was opened"


def test_a_witness_is_read_and_signs_nothing_here():
    data = {"v": 1, "keys": [{"role": "witness", "key": WITNESS}], "witnesses": 1}
    found = parse_trust(json.dumps(data).encode())
    assert (found.keys[0].key, found.witnesses) == (WITNESS, 1)
    assert not who_signed(NOTE, "export", found, AT).trusted


def signing(*found, role="export", signed=NOTE, at=AT, dated=None):
    return who_signed(signed, role, trust(*found), at, dated)


def test_a_key_counts_for_nothing_that_is_dated_from_its_revocation_on():
    known = row(revoked=AT)
    assert signing(known, at=JUST_BEFORE).trusted
    assert not signing(known, at=AT).trusted
    late = signing(known, at=JUST_BEFORE, dated=AT)
    assert late == (False, f"signed by house/export, which was already revoked at {AT}", None)
    assert signing(known, row(), at=JUST_BEFORE, dated=AT).trusted, "one row that counts is enough"
    never = row(until=JUST_BEFORE, revoked=AT)
    assert "was not in force" in signing(never, at=JUST_BEFORE, dated=AT).words
    forged = note.Note(b"another\n", NOTE.signatures)
    assert signing(known, signed=forged, dated=JUST_AFTER).forged == "house/export"


def test_a_trusted_signer():
    assert signing(row()) == (True, "signed by house/export, which you trust", None)
    assert signing(row(until=AT), row()).trusted
    assert signing(row("log"), row()).trusted


def test_a_signer_that_does_not_count():
    unknown = signing(row(key=OTHER.key))
    shown = f"house/export (key {MINE.key.id.hex()})"
    assert unknown == (False, f"signed by {shown}, which you do not know", None)
    assert "not as export" in signing(row("log")).words
    assert f"was not in force at {AT}" in signing(row(until=AT)).words
    assert f"was not in force at {AT}" in signing(row("log"), row(until=AT)).words
    assert not signing(row(), at=None).trusted
    assert not any(signing(row(role), role="export").trusted for role in ROLES if role != "export")


def test_a_known_name_over_another_text_is_forged_in_whatever_role():
    other = note.Note(b"another\n", NOTE.signatures)
    for known in (row(), row("log"), row(until=JUST_BEFORE)):
        found = signing(known, signed=other)
        assert (found.trusted, found.forged) == (False, "house/export")
    assert signing(row(key=OTHER.key), signed=other).forged is None


def test_of_several_signers_one_that_counts_is_enough():
    both = note.Note(
        NOTE.text, note.parse(note.sign(NOTE.text, OTHER)).signatures + NOTE.signatures
    )
    ours, stranger = "house/export, which you trust", f"other/export (key {OTHER.key.id.hex()})"
    words = f"signed by {stranger}, which you do not know, and by {ours}"
    assert signing(row(), signed=both) == (True, words, None)
    late = signing(row(key=OTHER.key, until=AT), row(), signed=both)
    words = f"signed by other/export, which was not in force at {AT}, and by {ours}"
    assert late == (True, words, None)
    early = note.Note(NOTE.text, both.signatures[::-1])
    assert signing(row(), row("log", OTHER.key), signed=early).trusted
    assert signing(row(), row(key=OTHER.key, until=AT), signed=early).trusted


def test_a_line_that_somebody_added_or_repeated_is_shown():
    mine, theirs = NOTE.signatures, note.parse(note.sign(b"text\n", OTHER)).signatures
    stranger = f"other/export (key {OTHER.key.id.hex()}), which you do not know"
    for lines, words in (
        (mine * 2, "house/export, which you trust (2 lines)"),
        (mine + theirs * 3, f"house/export, which you trust, and by {stranger} (3 lines)"),
        (theirs + mine + theirs, f"{stranger} (2 lines), and by house/export, which you trust"),
    ):
        found = signing(row(), signed=note.Note(b"text\n", lines))
        assert found == (True, f"signed by {words}", None)
    both = signing(row(), row("log", OTHER.key), signed=note.Note(b"text\n", mine + theirs))
    other = "other/export, which you trust as log key, not as export key"
    assert both.words == f"signed by house/export, which you trust, and by {other}"
    undated = "house/export, which counts for no record without a date"
    assert signing(row(), at=None).words == f"signed by {undated}"


def test_a_public_key_is_read_from_pem():
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()
    data = key.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    assert keys.public_from_pem(data) == key.public_bytes_raw()
    other = x25519.X25519PrivateKey.generate().public_key()
    wrong = other.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    for data in (wrong, b"", b"-----BEGIN PUBLIC KEY-----"):
        with pytest.raises(DataError) as caught:
            keys.public_from_pem(data)
        assert caught.value.code == "key.malformed"


def test_only_an_encrypted_key_needs_a_passphrase():
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32))
    assert not keys.is_encrypted(keys.to_pem(key))
    assert keys.is_encrypted(keys.to_pem(key, b"secret"))


def test_a_log_key_signs_for_the_registers_of_its_name():
    found = trust(row("log"), row("witness", WITNESS))
    cosigned = note.parse(
        NOTE_TEXT + note.cosignature(b"text\n", MINE_AS_WITNESS, 1), cosigned=True
    )
    for origin, trusted, words in (
        ("house/export", True, "house/export, which you trust"),
        ("house/export/2", True, "house/export, which you trust"),
        (
            "house/exports",
            False,
            "house/export, which does not sign for the register house/exports",
        ),
        (None, True, "house/export, which you trust"),
    ):
        said = who_signed(NOTE, "log", found, AT, origin=origin)
        assert (said.trusted, said.words) == (trusted, f"signed by {words}")
    said = who_signed(cosigned, "log", found, AT, origin="house/export")
    assert said.words == "signed by house/export, which you trust, and by house/witness, a witness"
