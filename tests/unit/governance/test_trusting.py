"""A trust file is edited as a whole, never by hand: added to, revoked, removed, listed."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import hansard
from hansard.errors import DataError, HansardError, UsageError
from hansard.governance.trusting import TrustFile, time_of
from hansard.record import keys, note, policy
from hansard.record.keys import Trust
from hansard.record.note import COSIGNATURE, Signer, VerifierKey
from playing import answer

SIGNERS = [Signer(name, keys.generate()) for name in ("acme/one", "acme/two")]
JANUARY, JUNE = "2026-01-01T00:00:00.000000Z", "2026-06-01T00:00:00.000000Z"


def made(name="acme/export"):
    return Signer(name, keys.generate()).key


@pytest.fixture
def file(tmp_path):
    return TrustFile(tmp_path / "home" / "trust.json")


def refused(code, call, *args, **more):
    with pytest.raises(HansardError) as caught:
        call(*args, **more)
    assert (caught.value.code, "\n" in str(caught.value)) == (code, False)


def test_a_key_is_added_with_its_role_and_time(file):
    assert file.read() == Trust()
    key = made()
    row = file.add(str(key), "export", start="2026-01-01", end=JUNE)
    assert (row.role, row.key, row.from_, row.until) == ("export", str(key), JANUARY, JUNE)
    file.add(str(key), "log")
    assert json.loads(file.path.read_bytes())["keys"] == [
        {"role": "export", "key": str(key), "from": JANUARY, "until": JUNE, "revoked": None},
        {"role": "log", "key": str(key), "from": None, "until": None, "revoked": None},
    ]
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert [path.name for path in file.path.parent.iterdir()] == ["trust.json"]


def test_those_who_edit_at_once_lose_nothing(file):
    known = [str(made(f"acme/{number}")) for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        assert len([*pool.map(lambda key: file.add(key, "export"), known)]) == 24
    assert {row.key for row in file.read().keys} == set(known)


def test_what_is_no_key_or_there_already_changes_nothing(file):
    key = made()
    file.add(str(key), "export")
    before = file.path.read_bytes()
    refused("trust.known", file.add, str(key), "export")
    refused("key.malformed", file.add, "nonsense", "export")
    refused("key.malformed", file.add, str(key)[:-4], "export")
    refused("trust.time", file.add, str(made()), "log", start="soon")
    refused("trust.unknown", file.revoke, "nobody", JUNE)
    refused("trust.time", file.revoke, key.name, "")
    refused("trust.unknown", file.remove, "")
    assert file.path.read_bytes() == before


@pytest.mark.parametrize("named", [str, lambda key: key.name, lambda key: key.id.hex()])
def test_a_key_is_named_whole_or_by_its_name_or_id(file, named):
    key, other = made(), made("other/export")
    for row in (key, other):
        file.add(str(row), "export")
    assert file.revoke(named(key), JUNE) == key
    assert [row.revoked for row in file.read().keys] == [JUNE, None]
    assert file.remove(named(key)) == key
    assert [row.key for row in file.read().keys] == [str(other)]


def test_of_two_keys_of_one_name_the_whole_one_is_wanted(file):
    old, new = made(), made()
    for key in (old, new):
        file.add(str(key), "export")
    refused("trust.ambiguous", file.revoke, "acme/export", JUNE)
    refused("trust.ambiguous", file.remove, "acme/export")
    file.revoke(str(old), JUNE)
    assert [row.revoked for row in file.read().keys] == [JUNE, None]


def test_a_key_is_revoked_in_all_of_its_roles_and_never_for_longer(file):
    key = made()
    file.add(str(key), "export", end=JANUARY)
    file.add(str(key), "log")
    file.revoke(key.name, JUNE)
    file.revoke(key.name, "2027-01-01")
    assert [(row.until, row.revoked) for row in file.read().keys] == [(JANUARY, JUNE), (None, JUNE)]
    file.remove(key.name)
    assert file.read() == Trust(keys=[])


def test_a_key_is_revoked_by_whatever_names_it_stands_there(file):
    """Whoever stole it signs by each of them."""
    key, other = made(), made()
    renamed = replace(key, name="house/renamed")
    for each in (key, renamed, other):
        file.add(str(each), "reviewer")
    assert file.revoke(str(key), JUNE) == key
    assert [row.revoked for row in file.read().keys] == [JUNE, JUNE, None]
    file.remove(str(renamed))
    assert [row.key for row in file.read().keys] == [str(key), str(other)]


def test_a_policy_is_revoked_and_never_for_longer(file):
    first, second = (policy.parse(note.sign(policy.write([]), each)) for each in SIGNERS)
    line = second.data.rpartition(b"\n\n")[2]
    both = policy.parse(first.data + line)
    assert file.revoke_policy(first, "2026-06-01") == JUNE
    listed = [(row.sha256, row.revoked) for row in file.read().policies]
    assert listed == [(name, JUNE) for name in sorted(first.names)]
    assert file.revoke_policy(first, "2027-01-01") == JUNE
    refused("trust.time", file.revoke_policy, second, "soon")
    assert file.read().revoked_policy(second.names) is None
    assert file.revoke_policy(both, JANUARY) == JANUARY, "with the policies of each line alone"
    assert [row.sha256 for row in file.read().policies] == sorted(both.names)
    assert {row.revoked for row in file.read().policies} == {JANUARY}
    key = made()
    file.add(str(key), "log")
    assert file.read().revoked_policy(first.names) == JANUARY


def test_a_witness_has_a_key_for_cosignatures_and_nobody_else_has(file):
    signer = made("acme/witness")
    witness = VerifierKey(signer.name, signer.public, COSIGNATURE)
    refused("trust.role", file.add, str(signer), "witness")
    refused("trust.role", file.add, str(witness), "log")
    assert not file.path.exists()
    file.add(str(witness), "witness")
    assert [(row.role, row.key) for row in file.read().keys] == [("witness", str(witness))]


def test_how_many_witnesses_are_wanted_stays_as_it_is(file):
    key = made()
    file.path.parent.mkdir()
    file.path.write_bytes(b'{"v":1,"keys":[],"witnesses":2}')
    file.add(str(key), "log")
    file.revoke(key.name, JUNE)
    file.remove(key.name)
    assert file.read() == Trust(keys=[], witnesses=2)


def test_no_more_witnesses_can_be_required_than_are_known(file):
    for name in ("one/witness", "two/witness"):
        file.add(str(VerifierKey(name, made().public, COSIGNATURE)), "witness")
    file.require_witnesses(2)
    assert file.read().witnesses == 2
    for count in (3, -1):
        refused("trust.witnesses", file.require_witnesses, count)
    file.require_witnesses(0)
    assert file.read().witnesses == 0


def test_a_file_that_is_no_trust_file_stays_as_it_is(file):
    file.path.parent.mkdir()
    file.path.write_bytes(b'{"v":1}')
    for call in (lambda: file.add(str(made()), "log"), lambda: file.remove("x"), file.read):
        with pytest.raises(DataError) as caught:
            call()
        assert caught.value.code == "trust.malformed"
    assert file.path.read_bytes() == b'{"v":1}'


def test_a_link_in_its_place_is_replaced(file, tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(Trust(keys=[]).dump())
    file.path.parent.mkdir()
    file.path.symlink_to(victim)
    file.add(str(made()), "export")
    assert victim.read_bytes() == Trust(keys=[]).dump()
    assert len(file.read().keys) == 1


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-06-01", JUNE),
        ("2026-06-01T00:00:00Z", JUNE),
        ("2026-06-01T02:00:00+02:00", JUNE),
        ("2026-05-31 22:30-01:30", JUNE),
        (JUNE, JUNE),
        ("0009-01-01", "0009-01-01T00:00:00.000000Z"),
    ],
)
def test_a_time_is_written_as_trust_files_have_it(text, time):
    assert time_of(text) == time


@pytest.mark.parametrize("text", ["", "tomorrow", "2026", "2026-13-01", "0001-01-01T00:00+02:00"])
def test_what_is_no_time(text):
    with pytest.raises(UsageError) as caught:
        time_of(text)
    assert caught.value.code == "trust.time"


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_file_of_another_user_or_that_others_can_change_is_told(tmp_path, monkeypatch):
    file = TrustFile(tmp_path / "trust.json")
    assert file.exposed is None, "there is none"
    file.add(str(Signer("house/export", keys.generate()).key), "export")
    assert file.exposed is None
    file.path.chmod(0o644)
    assert file.exposed is None, "others may read whom you trust"
    file.path.chmod(0o620)
    assert (file.exposed or "").endswith(f"run `chmod go-w {file.path}`")
    file.path.chmod(0o600)
    tmp_path.chmod(0o777)
    assert (file.exposed or "").endswith(f"run `chmod go-w {tmp_path}`")
    tmp_path.chmod(0o1777)
    assert file.exposed is None, "as in /tmp, nobody else may replace it"
    tmp_path.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(file.path, 4711, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert "belongs to another user" in file.exposed


# Keys, trust files and policies through the library

SPEC = {
    "format": "judged",
    "question": "Do we ship?",
    "model": "python:seat",
    "debaters": [{"stance": "Ship now"}, {"stance": "Wait"}],
    "max_rounds": 1,
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("HANSARD_PASSPHRASE", raising=False)
    monkeypatch.setenv("HANSARD_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_key_that_is_made_is_told_once(home):
    told = []
    ring = hansard.open_keyring(tell=told.append)
    key = ring.signer("export").key
    assert ring.signer("export").key == key == hansard.open_keyring(home).public("export")
    assert len(told) == 1
    assert str(key) in told[0]


def test_a_trust_file_is_read(home, tmp_path):
    ring = hansard.open_keyring()
    ring.signer("export")
    assert hansard.read_trust(str(ring.trust_file)) == ring.trust()
    for content, code in ((b"{}", "trust.malformed"), (None, "input.unreadable")):
        path = tmp_path / "trust.json"
        path.unlink(missing_ok=True)
        if content:
            path.write_bytes(content)
        with pytest.raises((DataError, UsageError)) as caught:
            hansard.read_trust(path)
        assert caught.value.code == code


def approved(ring, **what):
    return hansard.read_policy(
        hansard.approve_prompts(ring.signer("approval"), **what), ring.trust()
    )


def test_a_debate_runs_under_a_policy_that_approves_its_prompts(home):
    ring = hansard.open_keyring()
    policy = approved(ring, spec=SPEC)
    assert hansard.unapproved_prompts(policy, SPEC) == {}
    with hansard.open_store("sqlite:///:memory:") as store:
        made = hansard.run_sync(SPEC, models={"seat": answer}, policy=policy, store=store)
        record = hansard.read_record(store, made.debate)
    assert made.status == "complete"
    assert any(note.code == "policy" for note in made.notes)
    zipped = record.export(ring.signer("export"))
    assert hansard.verify_export(zipped, ring.trust()).level == 1


def test_no_model_is_called_with_a_prompt_that_is_not_approved(home, tmp_path):
    policy, asked = approved(hansard.open_keyring(), format="judged"), []
    (tmp_path / "own.md").write_text("Argue for {{stance}}.\n")
    spec = SPEC | {"prompts": {"debater": "own.md"}}
    assert set(hansard.unapproved_prompts(policy, spec, folder=tmp_path)) == {"debater"}
    with pytest.raises(UsageError) as caught:
        hansard.run_sync(spec, models={"seat": asked.append}, policy=policy, folder=tmp_path)
    assert caught.value.code == "policy.not_allowed"
    assert "judged.debater: the template" in caught.value.sentence
    assert asked == []


def test_a_policy_of_another_format_approves_nothing(home):
    policy = approved(hansard.open_keyring(), format="panel")
    assert set(hansard.unapproved_prompts(policy, SPEC)) == set(hansard.prompt_templates(SPEC))


def test_a_policy_that_nobody_trusted_signed_does_not_count(home, tmp_path):
    stranger = hansard.open_keyring(tmp_path / "elsewhere")
    signed = hansard.approve_prompts(stranger.signer("approval"))
    path = tmp_path / "policy"
    path.write_bytes(signed)
    assert hansard.parse_policy(path).lines
    for content, code in (
        (signed, "policy.untrusted"),
        (b"no policy", "policy.malformed"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            hansard.read_policy(path, hansard.open_keyring().trust())
        assert caught.value.code == code


def test_a_format_that_is_not_there():
    with pytest.raises(UsageError, match="there is no format 'duel'"):
        hansard.prompt_templates(format="duel")
