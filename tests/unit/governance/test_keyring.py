"""Your own keys: made at first use, told once, private, and never lost in silence."""

import json
import re
import shlex
import stat
import subprocess
from threading import Thread

import pytest

from hansard import private
from hansard.errors import DataError, HansardError, UsageError
from hansard.governance import files
from hansard.governance.keyring import Keyring
from hansard.record import keys, note
from hansard.record.keys import ROLES, Trust, who_signed
from hansard.record.note import Signer

NOW = "2026-11-21T20:16:03.123456Z"
BEFORE, AFTER = NOW.replace("456Z", "455Z"), NOW.replace("456Z", "457Z")


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("HANSARD_ORG", "house")
    for name in ("HANSARD_PASSPHRASE", "HANSARD_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def told():
    return []


@pytest.fixture
def ring(tmp_path, told):
    return Keyring(tmp_path / "home", lambda: NOW, told.append)


def again(ring):
    """The keyring of another process."""
    return Keyring(ring.folder, lambda: NOW, pytest.fail)


def path_of(ring, name):
    return ring.folder / "keys" / name


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def names(ring):
    return sorted(str(path.relative_to(ring.folder)) for path in ring.folder.rglob("*.*"))


def counts(ring, key, at, role="export"):
    signed = note.parse(note.sign(b"x\n", key))
    return who_signed(signed, role, ring.trust(), at).trusted


@pytest.mark.parametrize("role", ROLES)
def test_a_key_is_made_at_first_use_and_told_in_one_sentence(ring, told, role):
    assert ring.public(role) is None
    assert ring.trust() == Trust()
    signer = ring.signer(role)
    assert signer.name == f"house/{role}"
    assert told == [f"made a new {role} key in {path_of(ring, role)}.pem: {signer.key}"]
    assert again(ring).signer(role).key == again(ring).public(role) == signer.key
    assert path_of(ring, f"{role}.pub").read_text() == f"{signer.key}\n"
    rows = [{"role": role, "key": str(signer.key), "from": None, "until": None, "revoked": None}]
    assert json.loads(ring.trust_file.read_bytes()) == {"v": 1, "keys": rows, "witnesses": 0}
    assert names(ring) == [f"keys/{role}.pem", f"keys/{role}.pub", "trust.json"]


def test_a_witness_has_a_key_for_cosignatures(ring, tmp_path):
    signer = ring.signer("witness")
    key = ring.public("witness")
    assert key == note.witness_key(signer)
    assert [(row.role, row.key) for row in ring.trust().keys] == [("witness", str(key))]
    assert again(ring).signer("witness").key == signer.key
    assert note.witness_key(Signer(key.name, signer.private)) == key
    rotated = ring.rotate("witness")
    assert rotated == ring.public("witness") != key
    assert rotated.algorithm == note.COSIGNATURE
    pem, public = tmp_path / "token.pem", tmp_path / "token.pub"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", pem], check=True)
    subprocess.run(["openssl", "pkey", "-in", pem, "-pubout", "-out", public], check=True)
    ring.revoke("witness")
    held = ring.adopt("witness", public.read_bytes())
    command = f"openssl pkeyutl -sign -rawin -inkey {shlex.quote(str(pem))} -in /dev/stdin"
    line = note.cosignature(b"a\n", ring.signer("witness", command), 7)
    assert note.parse(b"a\n\n" + line, cosigned=True).signed_by(held)


def test_keys_are_for_their_owner_alone(ring):
    ring.signer("export")
    assert mode(path_of(ring, "export.pem")) == 0o600
    assert mode(path_of(ring, "")) == mode(ring.folder) == 0o700


@pytest.mark.parametrize("others", [0o640, 0o604, 0o620, 0o601, 0o777])
def test_a_key_that_others_can_read_is_refused_with_the_command_that_mends_it(ring, others):
    key = ring.signer("export").key
    path = path_of(ring, "export.pem")
    path.chmod(others)
    with pytest.raises(UsageError, match="others can read ") as caught:
        again(ring).signer("export")
    assert caught.value.code == "key.shared"
    (command,) = re.findall("`(.*)`", str(caught.value))
    subprocess.run(shlex.split(command), check=True)
    assert again(ring).signer("export").key == key


def test_a_link_planted_where_a_key_goes_is_replaced_not_followed(ring, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("theirs")
    path_of(ring, "").mkdir(parents=True)
    for name in ("export.pub", "export.pem.new", "export.pub.new"):
        path_of(ring, name).symlink_to(victim)
    (ring.folder / "trust.json.new").symlink_to(victim)
    path_of(ring, "export.pub").unlink()
    ring.signer("export")
    assert victim.read_text() == "theirs"
    assert not path_of(ring, "export.pub").is_symlink()


def test_keys_of_several_roles_stand_side_by_side(ring):
    made = {role: ring.signer(role).key for role in ROLES}
    assert len(set(made.values())) == 4
    assert [(row.role, row.key) for row in ring.trust().keys] == [
        (role, str(key)) for role, key in made.items()
    ]


def test_a_trust_file_that_is_there_is_kept(ring):
    ring.folder.mkdir()
    other = Signer("other/export", keys.generate()).key
    row = {"role": "export", "key": str(other), "from": BEFORE}
    ring.trust_file.write_text(json.dumps({"v": 1, "keys": [row]}))
    mine = ring.signer("export").key
    assert [row.key for row in ring.trust().keys] == [str(other), str(mine)]
    assert ring.trust().keys[0].from_ == BEFORE


def test_a_new_key_counts_for_every_debate_and_a_rotated_one_for_those_before(ring, told):
    old = ring.signer("export")
    new_key = ring.rotate("export")
    new = ring.signer("export")
    assert new.key == new_key != old.key
    assert len(told) == 2
    assert (counts(ring, old, BEFORE), counts(ring, old, NOW), counts(ring, old, AFTER)) == (
        True,
        False,
        False,
    )
    assert counts(ring, new, BEFORE)
    assert counts(ring, new, AFTER)
    kept = path_of(ring, f"export-{old.key.id.hex()}.pem")
    assert keys.from_pem(kept.read_bytes()).private_bytes_raw() == old.private.private_bytes_raw()
    assert mode(kept) == 0o600


def test_rotated_twice_each_key_is_kept(ring):
    made = [ring.signer("log").key, ring.rotate("log"), ring.rotate("log")]
    assert len({row.key for row in ring.trust().keys}) == 3
    assert [row.revoked for row in ring.trust().keys] == [NOW, NOW, None]
    assert len(list(path_of(ring, "").glob("*.pem"))) == 3
    assert ring.public("log") == made[-1]


def contents(ring):
    return {name: (ring.folder / name).read_bytes() for name in names(ring)}


@pytest.mark.parametrize("of", ["the key", "the trust file", "the passphrase"])
def test_where_no_new_key_can_be_made_the_old_one_stays(of, ring, monkeypatch, tmp_path):
    ring.signer("export")
    before, write = contents(ring), private.write
    full = {"the key": path_of(ring, ""), "the trust file": ring.folder}.get(of)

    def written(path, *given, **named):
        if path.parent == full:
            raise PermissionError(13, "Permission denied")
        write(path, *given, **named)

    monkeypatch.setattr(private, "write", written)
    if of == "the key":  # where nothing can be written, nothing can be deleted
        monkeypatch.setattr("pathlib.Path.unlink", raises(OSError(30, "Read-only file system")))
    if full is None:
        (tmp_path / "empty").touch(0o600)
        monkeypatch.setenv("HANSARD_PASSPHRASE_FILE", str(tmp_path / "empty"))
    code = "key.passphrase" if full is None else "key.unwritable"
    assert refused(ring, UsageError, "rotate") == code
    assert contents(ring) == before


def test_a_key_that_another_process_rotates_meanwhile_is_rotated_once(ring):
    old, others = ring.signer("export"), []

    def ask(words, new):
        others.append(ring.rotate("export"))
        return ""

    assert [Keyring(ring.folder, lambda: NOW, str, ask).rotate("export")] == others
    assert ring.signer("export").key == others[0]
    kept = path_of(ring, f"export-{old.key.id.hex()}.pem").read_bytes()
    assert keys.from_pem(kept).private_bytes_raw() == old.private.private_bytes_raw()


def test_rotating_what_is_not_there_makes_it(ring, told):
    assert ring.rotate("log") == ring.public("log")
    assert len(told) == 1


def test_a_revoked_key_counts_no_more_and_the_next_use_makes_another(ring, told):
    old = ring.signer("approval")
    assert ring.revoke("approval") == old.key
    assert ring.public("approval") is None
    assert counts(ring, old, BEFORE, "approval")
    assert not counts(ring, old, NOW, "approval")
    assert ring.signer("approval").key != old.key
    with pytest.raises(UsageError) as caught:
        again(ring).revoke("reviewer")
    assert caught.value.code == "key.missing"


def test_a_key_whose_private_half_is_lost_can_be_revoked(ring):
    old = ring.signer("export")
    path_of(ring, "export.pem").unlink()
    assert ring.revoke("export") == old.key
    assert not counts(ring, old, NOW)


def test_the_other_halves_of_two_keys(ring):
    ring.signer("export")
    path_of(ring, "export.pub").write_text(f"{Signer('house/export', keys.generate()).key}\n")
    assert refused(ring, DataError) == "key.mismatch"
    path_of(ring, "export.pub").unlink()
    assert refused(ring, DataError) == "key.missing"


@pytest.mark.parametrize("role", ["export", "witness"])
@pytest.mark.parametrize("trusted", [True, False])
def test_a_public_half_that_is_missing_is_written_again(role, trusted, ring, monkeypatch):
    key = ring.signer(role).key
    before = path_of(ring, f"{role}.pub").read_text()
    path_of(ring, f"{role}.pub").unlink()
    if trusted:  # by the name that the key was made with
        monkeypatch.setenv("HANSARD_ORG", "renamed")
    else:
        ring.trust_file.unlink()
    for call in ("signer", "rotate"):
        with pytest.raises(DataError, match=rf"{role}\.pub, is missing") as caught:
            getattr(again(ring), call)(role)
        assert caught.value.code == "key.missing"
    (command,) = re.findall("`(.*)`", str(caught.value))
    subprocess.run(command, shell=True, check=True)
    assert path_of(ring, f"{role}.pub").read_text() == before
    assert again(ring).signer(role).key == key


def raises(error):
    def call(*_, **__):
        raise error

    return call


def refused(ring, kind=HansardError, call="signer", role="export"):
    """The code of a clear sentence, and not a file more or less than before."""
    before = names(ring)
    with pytest.raises(kind) as caught:
        getattr(again(ring), call)(role)
    assert "\n" not in str(caught.value)
    assert names(ring) == before
    return caught.value.code


# Passphrase


def test_with_a_passphrase_the_key_is_encrypted(ring, monkeypatch):
    monkeypatch.setenv("HANSARD_PASSPHRASE", "sëcret \udcff")
    signer = Keyring(ring.folder, lambda: NOW, str).signer("export")
    assert b"ENCRYPTED" in path_of(ring, "export.pem").read_bytes()
    assert again(ring).signer("export").key == signer.key
    monkeypatch.setenv("HANSARD_PASSPHRASE", "another")
    assert refused(ring, DataError) == "key.malformed"
    monkeypatch.setenv("HANSARD_PASSPHRASE", "")
    assert refused(ring, UsageError) == "key.passphrase"
    assert again(ring).public("export") == signer.key


def asking(ring, *answers):
    """A keyring with somebody at the terminal, and what they were asked."""
    left, asked = list(answers), []

    def ask(words, new):
        asked.append((words, new))
        return left.pop(0)

    return Keyring(ring.folder, lambda: NOW, str, ask), asked


def test_a_passphrase_is_offered_when_a_key_is_made_and_asked_for_when_it_is_used(ring):
    asked_ring, asked = asking(ring, "secret", "secret")
    key = asked_ring.signer("export").key
    assert b"ENCRYPTED" in path_of(ring, "export.pem").read_bytes()
    assert asked == [
        ("Passphrase for the new export key (empty: it is not encrypted)", True),
        ("Passphrase of your export key", False),
    ]
    assert refused(ring, UsageError) == "key.passphrase", "nobody is there"
    wrong, _ = asking(ring, "wrong")
    with pytest.raises(DataError) as caught:
        wrong.signer("export")
    assert caught.value.code == "key.malformed"
    right, _ = asking(ring, "secret")
    assert right.signer("export").key == key


def test_of_two_that_make_a_key_at_once_the_second_takes_that_of_the_first(ring):
    """The first makes it while the second is asked for a passphrase."""
    others = []

    def ask(words, new):
        others.append(ring.signer("export").key)
        return ""

    assert [Keyring(ring.folder, lambda: NOW, str, ask).signer("export").key] == others
    assert len(ring.trust().keys) == 1


def test_a_key_that_another_process_has_half_written_is_waited_for(ring, monkeypatch):
    others, write = [], files.write
    other = Thread(target=lambda: others.append(ring.signer("export").key))

    def between(path, data):
        write(path, data)
        if path.suffix == ".pub":
            other.start()
            other.join(0.2)  # it must still wait, however long

    monkeypatch.setattr(files, "write", between)
    key = Keyring(ring.folder, lambda: NOW, str).signer("export").key
    other.join()
    assert others == [key]


def test_a_passphrase_may_be_declined_and_is_not_asked_for_then(ring):
    asked_ring, asked = asking(ring, "")
    asked_ring.signer("export")
    assert b"ENCRYPTED" not in path_of(ring, "export.pem").read_bytes()
    assert [new for _, new in asked] == [True]
    again(ring).signer("export")


def test_nobody_is_asked_where_a_passphrase_is_set(ring, monkeypatch):
    monkeypatch.setenv("HANSARD_PASSPHRASE", "secret")
    asked_ring, asked = asking(ring)
    asked_ring.signer("export")
    assert asked == []


def test_a_passphrase_from_a_file_that_is_private(ring, monkeypatch, tmp_path):
    file = tmp_path / "passphrase"
    file.write_bytes(b"two words \r\n")
    monkeypatch.setenv("HANSARD_PASSPHRASE_FILE", str(file))
    assert refused(ring, UsageError) == "key.shared"
    file.chmod(0o600)
    key = ring.signer("export").key
    monkeypatch.setenv("HANSARD_PASSPHRASE", "the file counts")
    assert again(ring).signer("export").key == key
    monkeypatch.delenv("HANSARD_PASSPHRASE_FILE")
    monkeypatch.setenv("HANSARD_PASSPHRASE", "two words ")
    assert again(ring).signer("export").key == key
    monkeypatch.setenv("HANSARD_PASSPHRASE_FILE", str(tmp_path / "gone"))
    assert refused(ring, DataError) == "key.unreadable"


# A key that is held elsewhere


def public_pem(private):
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\n"])
def test_an_empty_passphrase_from_a_file_makes_no_key(ring, monkeypatch, tmp_path, data):
    """It would not be encrypted, and whoever set the variable would think that it is."""
    (file := tmp_path / "passphrase").write_bytes(data)
    file.chmod(0o600)
    monkeypatch.setenv("HANSARD_PASSPHRASE_FILE", str(file))
    with pytest.raises(UsageError, match="is empty") as caught:
        ring.signer("export")
    assert caught.value.code == "key.passphrase"
    assert ring.public("export") is None


def test_the_public_half_of_a_key_that_is_held_elsewhere(ring):
    held = keys.generate()
    key = ring.adopt("export", public_pem(held))
    assert (key.name, key.public) == ("house/export", held.public_key().public_bytes_raw())
    assert ring.public("export") == key
    assert counts(ring, Signer(key.name, held), BEFORE)
    assert names(ring) == ["keys/export.pub", "trust.json"]
    assert refused(ring, UsageError) == "key.held", "no other key is made in its place"
    with pytest.raises(UsageError) as caught:
        ring.adopt("export", public_pem(keys.generate()))
    assert caught.value.code == "key.exists"
    assert ring.signer("export", "false").key == key
    ring.revoke("export")
    assert ring.public("export") is None


def test_a_command_without_a_public_half(ring):
    with pytest.raises(UsageError, match="hansard keys import export FILE") as caught:
        ring.signer("export", "true")
    assert caught.value.code == "key.missing"
    assert not ring.folder.exists()


@pytest.mark.parametrize("data", [b"", b"\xff", b"-----BEGIN PUBLIC KEY-----\n", "rsa", "private"])
def test_what_is_no_public_key_is_not_adopted(ring, data):
    if data == "rsa":
        from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

        data = public_pem(generate_private_key(65537, 2048))
    if data == "private":
        data = keys.to_pem(keys.generate())
    with pytest.raises(DataError) as caught:
        ring.adopt("export", data)
    assert caught.value.code == "key.malformed"
    assert not ring.folder.exists()


def test_a_passphrase_for_a_key_that_has_none(ring, monkeypatch):
    ring.signer("export")
    monkeypatch.setenv("HANSARD_PASSPHRASE", "secret")
    assert refused(ring, UsageError) == "key.passphrase"


def test_a_passphrase_that_is_too_long_makes_nothing(ring, monkeypatch):
    monkeypatch.setenv("HANSARD_PASSPHRASE", "x" * 5000)
    assert refused(ring, UsageError) == "key.passphrase"
    assert not ring.folder.exists()


# What is there is bad

DAMAGE = {
    "export.pem": {b"": "key.malformed", b"\xff": "key.malformed", None: "key.unreadable"},
    "export.pub": {b"": "key.malformed", b"\xff": "key.malformed", None: "key.unreadable"},
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_file_of_a_key_that_is_damaged(ring, name):
    for content, code in DAMAGE[name].items():
        damaged = Keyring(ring.folder.parent / code / str(content), lambda: NOW, str)
        damaged.signer("export")
        path = path_of(damaged, name)
        path.unlink()
        path.mkdir(0o700) if content is None else path.write_bytes(content)
        path.chmod(0o700 if content is None else 0o600)
        assert refused(damaged, DataError) == code


def test_a_trust_file_that_is_damaged_makes_no_key(ring):
    ring.folder.mkdir()
    ring.trust_file.write_bytes(b"{")
    assert refused(ring, DataError) == "trust.malformed"
    assert refused(ring, DataError, "rotate") == "trust.malformed"
    ring.trust_file.unlink()
    ring.trust_file.mkdir()
    assert refused(ring, DataError) == "key.unreadable"


def test_a_home_that_is_a_file(ring):
    ring.folder.write_text("")
    assert refused(ring) == "key.unreadable"


def test_a_home_that_cannot_be_made_or_written(ring, monkeypatch):
    blocked = Keyring(ring.folder, lambda: NOW, str)
    ring.folder.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", raises(OSError(28, "full")))
        assert refused(blocked, UsageError) == "key.unwritable"
    monkeypatch.setattr("pathlib.Path.mkdir", raises(OSError(30, "no")))
    assert refused(Keyring(ring.folder / "x", lambda: NOW, str), UsageError) == "key.unwritable"


def test_a_key_that_cannot_be_moved_away(ring, monkeypatch):
    ring.signer("export")
    monkeypatch.setattr("pathlib.Path.rename", raises(OSError(30, "no")))
    assert refused(ring, UsageError, "revoke") == "key.unwritable"


def test_no_role(ring):
    for call in ("signer", "public", "rotate", "revoke"):
        assert refused(ring, UsageError, call, "../x") == "key.role"
    assert not ring.folder.exists()


# Where, and under which name


def test_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HANSARD_HOME", str(tmp_path))
    assert Keyring.default_folder() == tmp_path
    monkeypatch.delenv("HANSARD_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert Keyring.default_folder() == tmp_path / "me" / ".config" / "hansard"
    monkeypatch.setattr("pathlib.Path.home", raises(RuntimeError()))
    with pytest.raises(UsageError) as caught:
        Keyring.default_folder()
    assert caught.value.code == "key.folder"


@pytest.mark.parametrize(
    ("org", "name"),
    [
        ("acme", "acme/log"),
        ("Acme & Søns +1", "Acme---S-ns--1/log"),
        ("x" * 300, "x" * 100 + "/log"),
        ("a/b\nc", "a-b-c/log"),
    ],
)
def test_a_key_is_named_after_its_house(ring, monkeypatch, org, name):
    monkeypatch.setenv("HANSARD_ORG", org)
    assert ring.signer("log").name == name
    assert again(ring).public("log").name == name


def test_without_a_house_after_the_host(ring, monkeypatch):
    monkeypatch.delenv("HANSARD_ORG")
    monkeypatch.setattr("socket.gethostname", lambda: "box.local")
    assert ring.signer("log").name == "box.local/log"


def test_openssl_reads_the_key(ring):
    ring.signer("export")
    words = ["openssl", "pkey", "-in", str(path_of(ring, "export.pem")), "-noout"]
    assert subprocess.run(words, check=False).returncode == 0
