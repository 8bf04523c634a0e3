"""An approval that is killed at any step of what it writes: a second try works."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

import hansard
from hansard.api.trials import doubt_of_trial
from hansard.cli.main import cli

STEPS = ("open", "fsync", "link", "replace", "unlink")
WORDS = ("policy", "approve", "--format", "moderated", "--override", "A pilot", "-o", "policy.txt")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HANSARD_HOME", str(tmp_path / "home"))
    ring = hansard.open_keyring()
    ring.signer("approval")
    return ring


def approve(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, words or WORDS)
    return done.exit_code, done.output


def killed_at(step: int) -> bool:
    """Approve in a process that is killed before a step on files; say whether it came to that."""
    child = os.fork()
    if child == 0:
        left = step

        def counted(call):
            def counting(*args, **more):
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*args, **more)

            return counting

        for name in STEPS:
            setattr(os, name, counted(getattr(os, name)))
        os._exit(approve()[0])
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_a_second_try_works_after_a_kill_at_any_step(home, process):
    policy, beside = Path("policy.txt"), Path("policy.txt.trial")
    alone, step = 0, 0
    while process.submit(killed_at, step).result():
        step += 1
        assert beside.exists() or not policy.exists(), "the policy comes last"
        alone += beside.exists() and not policy.exists()
        if not policy.exists():
            code, said = approve()
            assert code == 0, said
        found = hansard.read_policy(policy, home.trust())
        assert doubt_of_trial(beside, found, home.trust()) is None
        policy.unlink()
        beside.unlink()
    assert step > 10
    assert alone > 2, "some were killed between the two files"


def test_what_an_approval_left_is_not_taken_for_the_trial_of_another_policy(home):
    assert approve()[0] == 0
    Path("policy.txt").unlink()
    kept = Path("policy.txt.trial").read_bytes()
    code, said = approve(*WORDS[:4], "--override", "Another reason", "-o", "policy.txt")
    assert code == 0, said
    assert b"Another reason" in Path("policy.txt.trial").read_bytes()

    Path("policy.txt").unlink()
    Path("draft.yaml").write_text(f"moderated.critic: {{template: {'a' * 64}}}\n")
    other = ("policy", "approve", "draft.yaml", "--override", "A pilot", "-o", "policy.txt")
    code, said = approve(*other)
    assert (code, "output.exists" in said) == (2, True), said
    plain = ("policy", "approve", "--format", "panel", "-o", "policy.txt")
    assert approve(*plain)[0] == 0, "which needs no trial"
    Path("policy.txt.trial").write_bytes(kept)
    assert (
        "policy.txt.trial, which is not of this policy"
        in approve("policy", "show", "policy.txt")[1]
    )


def test_a_trial_that_nobody_whom_the_reader_knows_signed_is_told(home, tmp_path):
    assert approve()[0] == 0
    shown = approve("policy", "show", "policy.txt")[1]
    assert shown.rstrip().endswith("policy.txt.trial")
    stranger = hansard.open_keyring(tmp_path / "other").signer("approval")
    policy = Path("policy.txt").read_bytes()
    forged = hansard.trial_note(stranger, policy, override="All is well")
    Path("policy.txt.trial").write_bytes(forged)
    assert "which you do not know" in " ".join(approve("policy", "show", "policy.txt")[1].split())
