"""Keys, trust files and policies through the library."""

import pytest

import hansard
from hansard import DataError, UsageError
from playing import answer

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
