"""`register`: what its owner hands out, what somebody outside keeps, and what that shows."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from cli_support import write_debate
from formats import NAMES
from hansard import Trust, schemas

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def again(hansard, debate):
    """Run another debate into the same store."""

    def run():
        assert hansard("run", "debate.yaml").code == 0
        listed = json.loads(hansard("list", "--json").out)["debates"]
        return listed[-1]["debate"]

    return run


def outside(monkeypatch, folder):
    """Go to the machine of a witness."""
    monkeypatch.setenv("HANSARD_HOME", str(folder.parent / f"{folder.name}-witness"))
    monkeypatch.setenv("HANSARD_ORG", "outside")


def test_show_says_what_is_in_it(hansard, debate, again):
    again()
    assert hansard("register", "show").out.splitlines() == [
        "Register    not named yet: the first key that signs names it",
        "Lines       4",
        "            2 of debates opened",
        "            2 of later ends of records",
        "Checkpoints 4, 0 of them signed",
        "Latest      4 lines, not signed: hansard register checkpoint",
        f"Root        {json.loads(hansard('register', 'show', '--json').out)['latest']['root']}",
    ]
    done = hansard("register", "checkpoint")
    assert done.err.startswith("made a new log key in ")
    origin, size, root = done.out.splitlines()[:3]
    found = json.loads(hansard("register", "show", "--json").out)
    jsonschema.validate(found, json.loads(schemas.render("register")))
    assert (found["origin"], found["latest"]["root"]) == (origin, root)
    assert (found["kinds"], found["signed"]) == ({"opened": 2, "head": 2}, 1)
    assert (origin.rpartition("/")[0], size) == ("house/log", "4")


def test_a_kept_checkpoint_shows_that_a_store_was_put_back(hansard, debate, again):
    shutil.copyfile("hansard.db", "backup.db")
    again()
    assert hansard("register", "checkpoint", "-o", "kept.txt").out == ""
    held = hansard("register", "verify", "--since", "kept.txt")
    assert (held.code, held.out.splitlines()[-1]) == (
        0,
        " HOLDS   and extends the checkpoint that was kept",
    )
    shutil.copyfile("backup.db", "hansard.db")
    assert hansard("register", "verify").code == 0
    rewound = hansard("register", "verify", "--since", "kept.txt")
    assert (rewound.code, "17.rewound" in rewound.out) == (1, True)
    again()
    forked = hansard("register", "verify", "--since", "kept.txt")
    assert (forked.code, "17.fork" in forked.out) == (1, True)
    kept = Path("kept.txt").read_text()
    assert f"--- kept ---\n{kept}" in forked.out
    assert forked.out.splitlines()[-1].startswith(" DOES NOT HOLD ")
    as_json = hansard("register", "verify", "--since", "kept.txt", "--json")
    found = json.loads(as_json.out)
    jsonschema.validate(found, json.loads(schemas.render("register-check")))
    (finding,) = found["findings"]
    assert (as_json.code, finding["notes"][0]) == (1, kept)


def test_a_witness_cosigns_and_its_signature_comes_back(
    hansard, debate, again, home, folder, monkeypatch
):
    assert hansard("register", "checkpoint", "-o", "1.txt").code == 0
    key = hansard("keys", "make", "log").out.strip()
    outside(monkeypatch, folder)
    refused = hansard("register", "cosign", "1.txt")
    assert (refused.code, "hansard trust add KEY --role log" in refused.err) == (2, True)
    assert hansard("trust", "add", key, "--role", "log").code == 0
    done = hansard("register", "cosign", "1.txt", "-o", "1.cosigned")
    assert (done.code, done.out) == (0, "")
    made, *said = done.err.splitlines()
    assert made.startswith("made a new witness key"), "what was refused made none"
    assert said == [
        "1.cosigned: written",
        "cosigned a checkpoint of 2 lines, the first one of this register",
    ]
    witness = hansard("keys", "make", "witness").out.strip()
    monkeypatch.setenv("HANSARD_HOME", str(home))
    monkeypatch.setenv("HANSARD_ORG", "house")
    stranger = hansard("register", "add", "1.cosigned")
    assert (stranger.code, "hansard trust add KEY --role witness" in stranger.err) == (2, True)
    assert "Cosigned" not in hansard("register", "show").out
    assert hansard("trust", "add", witness, "--role", "witness").code == 0
    assert hansard("register", "add", "1.cosigned").err == "1 added\n"
    assert hansard("register", "add", "1.cosigned").err == "all of it was there already\n"
    assert hansard("register", "show").out.splitlines()[-1] == "Cosigned by outside/witness"
    Path("nobody.json").write_bytes(Trust().dump())
    said = hansard("register", "show", "--trust", "nobody.json").out.splitlines()[-1]
    assert said == "Ignored     1 other signature, of no witness that you trust"
    again()
    assert hansard("register", "prove", "--since", "1.txt", "-o", "2.txt").code == 0
    assert Path("2.txt").read_text().startswith("old 2\n")
    outside(monkeypatch, folder)
    assert hansard("register", "cosign", "2.txt").code == 0


def test_a_witness_shows_both_checkpoints_of_a_fork(
    hansard, debate, again, home, folder, monkeypatch
):
    shutil.copyfile("hansard.db", "backup.db")
    again()
    hansard("register", "checkpoint", "-o", "seen.txt")
    shutil.copyfile("backup.db", "hansard.db")
    again()
    hansard("register", "checkpoint", "-o", "other.txt")
    key = hansard("keys", "make", "log").out.strip()
    forked = hansard("register", "prove", "--since", "seen.txt")
    assert (forked.code, "[register.fork]" in forked.err) == (1, True)
    outside(monkeypatch, folder)
    hansard("trust", "add", key, "--role", "log")
    assert hansard("register", "cosign", "seen.txt").code == 0
    done = hansard("register", "cosign", "other.txt")
    assert (done.code, "[checkpoint.fork]" in done.err) == (1, True)
    seen, other = Path("seen.txt").read_text(), Path("other.txt").read_text()
    assert done.out == f"\n--- kept ---\n{seen}\n--- now ---\n{other}"


def test_an_export_proves_its_place_and_can_do_so_under_a_kept_checkpoint(hansard, debate, again):
    hansard("register", "checkpoint", "-o", "kept.txt")
    late = again()
    assert hansard("register", "checkpoint").code == 0
    kept = Path("kept.txt").read_bytes()
    for more, under in (((), False), (("--checkpoint", "kept.txt"), True)):
        name = f"{under}.zip"
        assert hansard("export", debate, "-o", name, *more).code == 0
        assert hansard("verify", name).code == 0
        data = Path(name).read_bytes()
        assert b"register/head.proof" in data
        assert b"register/opened.proof" in data
        assert (kept in data) is under
    refused = hansard("export", late, "-o", "late.zip", "--checkpoint", "kept.txt")
    assert (refused.code, "[register.late]" in refused.err) == (2, True)
    assert not Path("late.zip").exists()
    proof = hansard("register", "prove", late).out
    assert proof.startswith("c2sp.org/tlog-proof@v1\n")


def test_what_the_trust_file_says_is_added(hansard, debate):
    for role in ("approval", "export"):
        hansard("keys", "make", role)
    assert hansard("register", "add").err == "2 added\n"
    hansard("keys", "revoke", "approval")
    assert hansard("register", "add").err == "1 added\n"
    assert hansard("policy", "approve", "-o", "p.note").code == 0
    assert hansard("register", "add", "p.note").err == "1 added\n"
    found = json.loads(hansard("register", "show", "--json").out)["kinds"]
    assert (found["policy_approved"], found["key_approved"], found["key_revoked"]) == (1, 2, 1)


def test_a_policy_larger_than_any_checkpoint_is_added(hansard, debate):
    rows = "".join(f'  - "{number:064x}"\n' for number in range(900))
    Path("large.yaml").write_text(f'"*":\n  persona:\n{rows}')
    assert hansard("policy", "approve", "large.yaml", "-o", "large.note").code == 0
    assert Path("large.note").stat().st_size > 1 << 16
    assert hansard("register", "add", "large.note").err == "1 added\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("prove",), "register.what"),
        (("prove", "ab", "--since", "x"), "register.what"),
        (("verify", "--since", "none.txt"), "input.unreadable"),
        (("verify", "--since", "debate.yaml"), "checkpoint.malformed"),
        (("cosign", "debate.yaml"), "checkpoint.malformed"),
        (("add", "debate.yaml"), "policy.malformed"),
        (("checkpoint", "-o", "debate.yaml"), "output.exists"),
    ],
)
def test_mistakes_are_told(hansard, debate, words, code):
    done = hansard("register", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.rstrip().endswith(f"[{code}]")


def test_without_a_store_there_is_no_register(hansard):
    write_debate(dict.fromkeys(NAMES, "release"))
    for words in (("show",), ("checkpoint",), ("verify",), ("add",)):
        done = hansard("register", *words)
        assert (done.code, "[store.missing]" in done.err) == (2, True)


def test_how_many_witnesses_are_needed_can_be_said(hansard, home):
    refused = hansard("trust", "witnesses", 1)
    assert (refused.code, "[trust.witnesses]" in refused.err) == (2, True)
    key = hansard("keys", "make", "witness").out.strip()
    assert hansard("trust", "--trust", "their.json", "add", key, "--role", "witness").code == 0
    done = hansard("trust", "--trust", "their.json", "witnesses", 1)
    assert done.out == "1 must have cosigned a checkpoint\n"
    assert (
        "witnesses   1 must have cosigned" in hansard("trust", "--trust", "their.json", "list").out
    )
    assert json.loads(Path("their.json").read_text())["witnesses"] == 1
