"""Exports, keys and policies at the prompt: what is written, what is refused, how it is said."""

import json
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

import hansard as library
from cli_support import files, leave_open, only_debate, process, reply, write_debate
from exporting import APPROVAL, EXPORT, LOG, STRANGER, TOOL_FILE, approved, run_tool, trust_file
from formats import NAMES
from hansard import private
from hansard.export.write import export as write_export
from hansard.record import bundle, note
from hansard.record.bundle import Bundle, pack, unpack
from hansard.runtime.models.scripted import ScriptedModel
from hansard.store import tampering
from hansard.store.application import Store
from instant import GUARD
from measuring import peak
from trying import CITED, NOTHING, trial

VOTES = dict(zip(NAMES, ("release", "revise", "revise"), strict=True))
pytestmark = pytest.mark.usefixtures("home")


def assert_refused(done, code, exit_code=2):
    assert (done.code, done.out) == (exit_code, ""), done.err
    assert done.err.startswith("error: ")
    assert done.err.endswith(f" [{code}]\n")
    assert done.err.count("\n") == 1


def folder_of(path, name="out"):
    shutil.rmtree(name, ignore_errors=True)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(name)
    return Path(name)


def record():
    with Store.open("sqlite:///hansard.db") as store:
        return store.bundle(only_debate())


def last(done):
    return done.out.rstrip().splitlines()[-1].strip()


# Export


def test_an_export_is_written_and_says_what_comes_next(hansard, debate, home):
    done = hansard("export", debate[:8], "-o", "record.zip")
    assert (done.code, done.out) == (0, "")
    *made, written, step = done.err.splitlines()
    for said, role in zip(made, ("log", "export"), strict=True):
        assert said.startswith(f"made a new {role} key in {home}/keys/{role}.pem: house/{role}+")
    assert re.fullmatch(r"record.zip: \d+ entries, signed by house/export", written)
    read = "then unpack it and open report.html in a browser"
    assert step == f"Verify it first: hansard verify record.zip; {read}"
    names = set(unpack(Path("record.zip").read_bytes()))
    assert {"SHA256SUMS", "SHA256SUMS.page", "VERIFY.md", "events.jsonl", "report.html"} == {
        name for name in names if "/" not in name
    }
    assert hansard("verify", "record.zip").code == 0


def test_the_same_record_gives_the_same_bytes_in_another_process_too(hansard, debate, zipped):
    assert hansard("export", debate, "-o", "again.zip").err.count("\n") == 2
    done = process("export", debate, "-o", "third.zip", PYTHONHASHSEED="7")
    assert done.returncode == 0, done.stderr
    assert zipped.read_bytes() == Path("again.zip").read_bytes() == Path("third.zip").read_bytes()


def test_the_same_record_gives_the_same_bytes_in_whatever_order_its_texts_came(debate):
    bundle = record()
    turned = Bundle(
        bundle.lines,
        dict(reversed(bundle.blobs.items())),
        dict(reversed(bundle.templates.items())),
        None,
        bundle.policies,
    )
    assert write_export(turned, EXPORT) == write_export(bundle, EXPORT)


def test_an_open_debate_can_be_exported(hansard):
    write_debate(dict(zip(NAMES, ("release", "revise", "escalate"), strict=True)), max_rounds=2)
    debate = leave_open(turns=1)
    assert hansard("export", debate, "-o", "open.zip").code == 0
    done = hansard("verify", "open.zip")
    assert done.code == 0
    assert last(done) == (
        "INTACT   open: a longer version may exist; register: line 2 of 2, other lines not checked"
    )


def test_an_altered_record_is_not_exported(hansard, debate, home):
    tampering.alter_line(Path("hansard.db"), debate, 9, b'"seq":9', b'"seq":8')
    before = files()
    done = hansard("export", debate, "-o", "record.zip")
    assert_refused(done, "record.altered", 1)
    assert files() == before
    assert not home.exists(), "nor is a key made for it"


WRITTEN = {
    "export": ("export", "{debate}", "-o"),
    "page": ("page", "{debate}", "-o"),
    "policy": ("policy", "approve", "-o"),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_what_is_written_is_private_and_goes_through_no_link(hansard, debate, what):
    """A link under the name itself, or under any that it had on the way, is left alone."""
    words = [word.format(debate=debate) for word in WRITTEN[what]]
    hansard("keys", "make", "export")
    hansard("keys", "make", "approval")
    victim = Path("victim")
    victim.write_text("theirs")
    for name in ("out", "new.part", "new.new", "new.tmp"):
        Path(name).symlink_to(victim)
    assert_refused(hansard(*words, "out"), "output.exists")
    Path("nowhere").symlink_to("not-there")
    assert_refused(hansard(*words, "nowhere"), "output.exists")
    assert hansard(*words, "new").code == 0
    assert stat.S_IMODE(Path("new").stat().st_mode) == 0o600
    assert victim.read_text() == "theirs"
    assert not Path("not-there").exists()
    assert not [name for name in files() if name.startswith(".")]


def test_a_place_that_cannot_be_written(hansard, debate):
    Path("a-file").write_text("")
    Path("a-folder").mkdir()
    for role in ("log", "export"):
        hansard("keys", "make", role)
    before = files()
    for path in (
        "nowhere/x.zip",
        "a-file/x.zip",
        "a-folder",
        ".",
        "..",
        "/",
        "x" * 300,
        "/dev/null",
    ):
        done = hansard("export", debate, "-o", path)
        assert (done.code, done.out) == (2, ""), path
        assert re.search(r"^error: [^\n]* \[output\.[a-z]+\]\n$", done.err), done.err
        assert files() == before
    assert list(Path("a-folder").iterdir()) == []
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_an_export_of_nothing(hansard, debate):
    assert_refused(hansard("export", "zzz", "-o", "x.zip"), "store.unknown")
    assert hansard("export", debate).code == 2
    assert "x.zip" not in files()


# Verify


def test_zip_and_folder_are_intact_to_whoever_made_them(hansard, zipped):
    for source in (zipped, folder_of(zipped), f"{folder_of(zipped)}/"):
        done = hansard("verify", source)
        assert (done.code, done.err) == (0, "")
        assert last(done) == "INTACT   register: line 2 of 2, other lines not checked"


def test_trust_is_what_the_reader_names(hansard, zipped, home):
    mine = home / "trust.json"
    Path("none.json").write_bytes(trust_file())
    Path("other.json").write_bytes(trust_file(("export", STRANGER)))
    Path("theirs.json").write_bytes(mine.read_bytes())
    assert hansard("verify", zipped, "--trust", "theirs.json").code == 0
    for file in ("none.json", "other.json"):
        done = hansard("verify", zipped, "--trust", file)
        assert done.code == 1
        assert " SELF-CONSISTENT, SIGNER UNKNOWN " in done.out
        assert hansard("verify", zipped, "--trust", file, "--require-level", "0").code == 0
    mine.unlink()
    assert hansard("verify", zipped).code == 1
    assert hansard("verify", zipped, "--trust", "theirs.json").code == 0


@pytest.mark.parametrize(("level", "code"), [("0", 0), ("1", 0), ("2", 1)])
def test_the_level_that_is_required(hansard, zipped, home, level, code):
    done = hansard("verify", zipped, "--require-level", level)
    assert done.code == code
    assert " INTACT " in done.out
    words = [zipped, "--trust", home / "trust.json", "--require-level", level]
    assert run_tool(*words)[0] == code


def test_a_store_reaches_level_0_alone(hansard, debate):
    assert hansard("verify", debate).code == 0
    assert hansard("verify", debate, "--require-level", "0").code == 0
    assert hansard("verify", debate, "--require-level", "1").code == 1


def test_as_json_both_verifiers_print_one_document_of_one_form(hansard, zipped, home):
    done = hansard("verify", zipped, "--json")
    ours = json.loads(done.out)
    code, out, err = run_tool(zipped, "--json", "--trust", home / "trust.json")
    theirs = json.loads(out)
    assert (done.code, code, done.err, err) == (0, 0, "", "")
    assert ours.keys() - theirs.keys() == {"page"}, "which only the release that wrote it knows"
    assert theirs.keys() <= ours.keys()
    assert (ours["level"], ours["verdict"]) == (theirs["level"], theirs["verdict"]) == (1, "INTACT")


def test_one_word_altered(hansard, zipped):
    out = folder_of(zipped)
    events = out / "events.jsonl"
    events.write_bytes(events.read_bytes().replace(b'"vote":"release"', b'"vote":"revise"', 1))
    read = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    Path("forged.zip").write_bytes(pack(read))
    for source in (out, Path("forged.zip")):
        done = hansard("verify", source)
        assert done.code == 1
        assert last(done).startswith("ALTERED ")
        assert "2.hash" in done.out
        assert "12.vote" in done.out
        assert hansard("verify", source, "--require-level", "0").code == 1


TRUST_FILES = {"empty": b"", "no JSON": b"{", "no keys": b'{"v":1}', "binary": b"\xff" * 9}


@pytest.mark.parametrize("what", [*TRUST_FILES, "missing", "a folder"])
def test_a_trust_file_that_cannot_be_read(hansard, zipped, home, what):
    path = Path("trust.json")
    code = "trust.malformed"
    if what in TRUST_FILES:
        path.write_bytes(TRUST_FILES[what])
    else:
        code = "input.unreadable"
        if what == "a folder":
            path.mkdir()
    refused = hansard("verify", zipped, "--trust", path)
    assert_refused(refused, code)
    assert "trust.json" in refused.err
    assert run_tool(zipped, "--trust", path)[0] == 2
    if what in TRUST_FILES:
        (home / "trust.json").write_bytes(TRUST_FILES[what])
        assert_refused(hansard("verify", zipped), code)


# Replay, and recorded replies


def test_an_export_is_replayed(hansard, zipped, debate):
    for source in (zipped, folder_of(zipped)):
        done = hansard("replay", source)
        assert done.code == 0
        assert done.out == hansard("replay", debate).out
    assert "After" in hansard("replay", zipped, "--until", "9").out


def test_an_export_whose_facts_do_not_follow_is_replayed_and_differs(hansard, zipped):
    out = folder_of(zipped)
    events = out / "events.jsonl"
    events.write_bytes(events.read_bytes().replace(b'"vote":"release"', b'"vote":"revise"', 1))
    assert_refused(hansard("replay", out), "record.altered", 1)
    done = hansard("replay", out, "--unverified")
    assert done.code == 1
    assert "differs in vote" in done.out


def test_what_is_no_export_is_not_replayed(hansard):
    Path("x.zip").write_bytes(b"no zip")
    assert_refused(hansard("replay", "x.zip"), "input.unknown")
    assert_refused(hansard("replay", "nowhere.zip"), "input.unreadable")
    write_debate({}, debaters=[{"id": seat, "model": "recorded:x.zip"} for seat in NAMES])
    assert_refused(hansard("run", "debate.yaml"), "input.unknown")


@pytest.mark.parametrize("junk", [b"x\n", b"{}\n", b""])
def test_an_export_that_cannot_be_read_as_events_is_not_replayed(hansard, zipped, junk):
    out = folder_of(zipped)
    (out / "events.jsonl").write_bytes(junk)
    done = hansard("replay", out)
    assert (done.code, done.out) in ((1, ""), (2, ""))
    assert done.err.count("\n") == 1
    assert "[internal]" not in done.err


def test_recorded_replies_of_an_export_give_the_same_decision(hansard, zipped):
    model = {"debaters": [{"id": seat, "model": f"recorded:{zipped}"} for seat in NAMES]}
    before = hansard("report", only_debate()).out
    write_debate(VOTES, name="again.yaml", **model)
    done = hansard("run", "again.yaml", "--store", "sqlite:///again.db")
    assert done.code == 0
    again = ("--store", "sqlite:///again.db")
    assert hansard("report", only_debate("again.db"), *again).out == before


def test_recorded_replies_of_an_altered_export_are_refused(hansard, zipped):
    parts = unpack(zipped.read_bytes())
    events = parts["events.jsonl"].replace(b'"vote":"release"', b'"vote":"revise"', 1)
    Path("x.zip").write_bytes(pack(parts | {"events.jsonl": events}))
    model = {"debaters": [{"id": seat, "model": "recorded:x.zip"} for seat in NAMES]}
    write_debate(VOTES, **model)
    before = files()
    done = hansard("run", "debate.yaml", "--store", "sqlite:///again.db")
    assert_refused(done, "record.altered", 1)
    assert "the record of recorded:x.zip was altered: " in done.err
    assert files() == before


@pytest.mark.parametrize("content", [b"", b"no zip", None])
def test_recorded_replies_of_what_is_no_export(hansard, content):
    if content is not None:
        Path("x.zip").write_bytes(content)
    model = {"debaters": [{"id": seat, "model": "recorded:x.zip"} for seat in NAMES]}
    write_debate(VOTES, **model)
    before = files()
    done = hansard("run", "debate.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert "[internal]" not in done.err
    assert files() == before


# Keys


def test_keys_are_shown_made_rotated_and_revoked(hansard, home):
    shown = hansard("keys")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.count("none yet") == 5
    assert not home.exists(), "showing makes nothing"
    made = hansard("keys", "make", "export")
    assert made.out.startswith("house/export+")
    assert made.err.startswith("made a new export key")
    assert hansard("keys", "make", "export") == (0, made.out, "")
    assert made.out.strip() in hansard("keys").out
    rotated = hansard("keys", "rotate", "export")
    assert rotated.code == 0
    assert rotated.out != made.out
    revoked = hansard("keys", "revoke", "export")
    assert (revoked.code, revoked.out) == (0, f"revoked {rotated.out}")
    assert_refused(hansard("keys", "revoke", "export"), "key.missing")
    assert hansard("keys", "make", "nonsense").code == 2


def test_what_no_verifier_would_read_is_not_exported(hansard, debate, monkeypatch):
    """Its recipient would be told that it is altered."""
    monkeypatch.setattr(bundle, "MAX_EXPORT", 10_000)
    done = hansard("export", debate, "-o", "large.zip")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("[export.size]\n")
    assert not Path("large.zip").exists()


def test_what_a_rotated_key_signed_before_still_counts(hansard, zipped, debate):
    hansard("keys", "rotate", "export")
    assert hansard("verify", zipped).code == 0
    hansard("export", debate, "-o", "new.zip")
    assert hansard("verify", "new.zip").code == 0
    hansard("run", "debate.yaml")
    hansard("keys", "revoke", "export")
    assert hansard("verify", zipped).code == 0


def test_what_a_revoked_key_signs_later_does_not_count(hansard, debate, home):
    """A thief of the key can sign only debates that were opened before."""
    hansard("keys", "make", "export")
    stolen = (
        (home / "keys" / "export.pem").read_bytes(),
        (home / "keys" / "export.pub").read_bytes(),
    )
    hansard("keys", "revoke", "export")
    for suffix, data in zip((".pem", ".pub"), stolen, strict=True):
        private.write(home / "keys" / f"export{suffix}", data)
    hansard("run", "debate.yaml")
    with Store.open("sqlite:///hansard.db") as store:
        later = next(found for found in store.debates() if found != debate)
    hansard("export", debate, "-o", "before.zip")
    hansard("export", later, "-o", "later.zip")
    assert hansard("verify", "before.zip").code == 0
    done = hansard("verify", "later.zip")
    assert done.code == 1
    assert "already revoked" in done.out


def test_a_key_with_a_passphrase(hansard, debate, monkeypatch):
    monkeypatch.setenv("HANSARD_PASSPHRASE", "secret")
    assert hansard("export", debate, "-o", "a.zip").code == 0
    monkeypatch.setenv("HANSARD_PASSPHRASE", "wrong")
    assert_refused(hansard("export", debate, "-o", "b.zip"), "key.malformed")
    monkeypatch.delenv("HANSARD_PASSPHRASE")
    assert_refused(hansard("export", debate, "-o", "b.zip"), "key.passphrase")
    assert "b.zip" not in files()
    assert hansard("verify", "a.zip").code == 0, "reading needs no passphrase"


def test_a_home_that_cannot_be_used(hansard, debate, home):
    home.write_text("a file")
    assert_refused(hansard("export", debate, "-o", "a.zip"), "key.unreadable")
    assert_refused(hansard("keys"), "key.unreadable")
    assert "a.zip" not in files()


# Policies


@pytest.fixture
def policy(hansard):
    write_debate(VOTES)
    done = hansard("policy", "approve", "-o", "policy.txt")
    assert done.code == 0
    assert done.err.splitlines()[-1] == ("policy.txt: 5 templates of consensus, by house/approval")
    return Path("policy.txt")


def own_prompt(text="Vote, {{speaker}}.\n"):
    Path("own.md").write_text(text)
    write_debate(VOTES, prompts={"debater": "own.md"})


def test_a_policy_is_readable_shown_and_checked(hansard, policy):
    lines = policy.read_text().splitlines()
    assert lines[0] == "hansard-policy/v1"
    shown = hansard("policy", "show", policy)
    assert shown.code == 0
    for line in lines[1:5]:
        role, term, digest = line.split(" ")
        assert re.search(rf"{role} {term} +{digest}", shown.out)
    done = hansard("policy", "check", policy)
    assert (done.code, done.out.count("approved")) == (0, 5)
    own_prompt()
    done = hansard("policy", "check", policy, "--spec", "debate.yaml")
    assert done.code == 1
    assert done.out.count("NOT ALLOWED") == 1


def test_a_policy_of_the_longest_name_has_no_trial_beside_it(hansard, policy, folder):
    name = "p" * 252
    (folder / name).write_bytes((folder / policy).read_bytes())
    assert hansard("policy", "show", name).code == 0


def test_without_a_policy_what_is_to_be_approved_is_shown(hansard):
    done = hansard("policy", "show")
    assert (done.code, done.out.count("--- ")) == (0, 5)
    own_prompt()
    assert "Vote, {{speaker}}." in hansard("policy", "show", "--spec", "debate.yaml").out


ROLES = {
    "consensus": ["protocol", "block", "again", "debater", "synthesizer"],
    "judged": ["protocol", "block", "again", "debater", "judge", "synthesizer"],
    "moderated": [
        *("protocol", "block", "again", "framer", "proposer", "critic", "critic_again", "rebuttal"),
        *("moderator", "moderator_ranking", "synthesizer"),
    ],
    "panel": [
        *("protocol", "block", "again", "debater", "chooser"),
        *("judge", "judge_choosing", "judge_picking", "synthesizer"),
    ],
}


@pytest.mark.parametrize("format_", ROLES)
def test_the_prompts_of_every_format_are_shown_approved_and_checked(hansard, format_):
    roles = ROLES[format_]
    named = ["--format", format_]
    shown = hansard("policy", "show", *named)
    assert re.findall(r"(?m)^--- (\w+) ---$", shown.out) == roles
    reason = ["--override", "a pilot"] if "critic" in roles else []
    done = hansard("policy", "approve", *named, *reason, "-o", "policy.txt")
    assert done.err.splitlines()[-1] == (
        f"policy.txt: {len(roles)} templates of {format_}, by house/approval"
    )
    listed = hansard("policy", "show", "policy.txt").out.splitlines()
    assert [line.split()[0] for line in listed] == [
        *sorted(f"{format_}.{role}" for role in roles),
        *("hash", "trial")[: 1 + bool(reason)],
    ]
    assert len({line.index(line.split()[-1]) for line in listed}) == 1, "one column"
    checked = hansard("policy", "check", "policy.txt", *named)
    assert (checked.code, checked.out.split()) == (0, [w for r in roles for w in (r, "approved")])
    other = "judged" if format_ == "panel" else "panel"
    assert hansard("policy", "check", "policy.txt", "--format", other).code == 1


def test_a_spec_names_its_own_format(hansard):
    fields = {"threshold": None, "max_rounds": 1, "options": None}
    seats = [{"label": "go", "stance": "Go."}, {"label": "stay", "stance": "Stay."}]
    model = "scripted:replies.yaml"
    said = {"*": {"argument": "so", "verdict": {"verdict": "v", "winner": "go", "reasoning": "r"}}}
    write_debate(
        dict.fromkeys(("go", "stay", "judge")),
        script=dict.fromkeys(("go", "stay", "judge"), said),
        **fields | {"format": "judged", "model": model, "debaters": seats},
    )
    Path("own.md").write_text("Judge them.\n")
    spec = Path("debate.yaml")
    plain = spec.read_text()
    spec.write_text(plain + "prompts: {judge: own.md}\n")
    assert "Judge them." in hansard("policy", "show", "--spec", spec).out
    done = hansard("policy", "approve", "--spec", spec, "-o", "policy.txt")
    assert done.err.endswith("6 templates of judged, by house/approval\n")
    assert hansard("policy", "check", "policy.txt", "--spec", spec).code == 0
    assert hansard("run", spec, "--policy", "policy.txt").code == 0
    spec.write_text(plain)
    done = hansard("policy", "check", "policy.txt", "--spec", spec)
    assert (done.code, done.out.count("NOT ALLOWED")) == (1, 1)
    assert_refused(hansard("run", spec, "--policy", "policy.txt"), "policy.not_allowed")


def test_a_policy_that_keeps_the_involved_from_reviewing_says_what_a_spec_must_state(hansard):
    write_debate(VOTES)
    assert hansard("policy", "init", "--spec", "debate.yaml", "-o", "policy.yaml").code == 0
    draft = Path("policy.yaml").read_text()
    kept = draft[draft.index("consensus:") :].replace(
        "evidence: required", "reviewer_may_be: nobody_involved"
    )
    Path("policy.yaml").write_text(kept)
    assert hansard("policy", "approve", "policy.yaml", "-o", "policy.txt").code == 0
    plain = Path("debate.yaml").read_text()
    for stated in ("", "requester: Ann\nowner: {name: Bo, key: acme/bo}\n"):
        Path("debate.yaml").write_text(plain + stated)
        refused = hansard("run", "debate.yaml", "--policy", "policy.txt")
        assert_refused(refused, "policy.not_allowed")
        assert refused.err.count("error: ") == 1
        assert (
            "consensus: the policy says `reviewer_may_be: nobody_involved`; state `requester` and "
            "`owner`, each with `name` and with `key`"
        ) in refused.err
    people = "requester: {name: Ann, key: acme/ann}\nowner: {name: Bo, key: acme/bo}\n"
    Path("debate.yaml").write_text(plain + people)
    assert hansard("run", "debate.yaml", "--policy", "policy.txt").code == 0


def test_a_policy_is_drafted_edited_signed_and_kept_to(hansard):
    own_prompt()
    assert hansard("policy", "init", "--spec", "debate.yaml", "-o", "policy.yaml").code == 0
    draft = Path("policy.yaml").read_text()
    assert "template: " in draft
    done = hansard("policy", "approve", "policy.yaml", "-o", "strict.txt")
    assert done.code == 0
    done = hansard("policy", "check", "strict.txt", "--spec", "debate.yaml")
    points = [line for line in done.out.splitlines() if line.startswith("NOT ALLOWED")]
    assert done.code == 1
    assert len(points) > 4, "all points at once"
    refused = hansard("run", "debate.yaml", "--policy", "strict.txt")
    assert (refused.code, refused.err.count("[policy.not_allowed]")) == (2, len(points))
    assert all(point.removeprefix("NOT ALLOWED: ") in refused.err for point in points)
    templates = draft.partition("consensus:")[2]
    Path("mild.yaml").write_text(templates.replace("  evidence: required", ""))
    assert hansard("policy", "approve", "mild.yaml", "-o", "mild.txt").code == 0
    assert hansard("run", "debate.yaml", "--policy", "mild.txt").code == 0
    done = hansard("policy", "diff", "strict.txt", "mild.txt")
    assert (done.code, done.out.count("- * require")) == (1, 4)
    assert "+" not in done.out
    assert hansard("policy", "diff", "mild.txt", "mild.txt").code == 0


def test_every_mistake_in_a_draft_is_told(hansard):
    Path("policy.yaml").write_text(
        '"*": {max_calls: many, max_words: 9}\nJudged: {persona: none}\n"consensus": 5\n'
        "panel: {model: []}\n"
    )
    done = hansard("policy", "approve", "policy.yaml", "-o", "policy.txt")
    assert (done.code, done.err.count("[policy.draft]")) == (2, 5)
    for words in ("max_calls", "max_words", "Judged", "maps no terms", "panel lists no value"):
        assert words in done.err
    assert not Path("policy.txt").exists()


def test_there_is_no_policy_of_a_format_that_is_none(hansard):
    done = hansard("policy", "show", "--format", "trial")
    assert (done.code, done.out) == (2, "")
    assert "moderated" in done.err


def test_a_policy_of_nothing_is_shown(hansard):
    hansard("keys", "make", "approval")
    Path("policy.txt").write_bytes(note.sign(b"hansard-policy/v1\n", APPROVAL))
    done = hansard("policy", "show", "policy.txt")
    assert (done.code, done.out.split()[0]) == (0, "hash")


def test_a_debate_under_a_policy_is_intact_to_whoever_trusts_both_keys(hansard, policy, home):
    assert hansard("run", "debate.yaml", "--policy", policy).code == 0
    hansard("export", only_debate(), "-o", "record.zip")
    assert hansard("verify", "record.zip").code == 0
    rows = json.loads((home / "trust.json").read_bytes())
    rows["keys"] = [row for row in rows["keys"] if row["role"] == "export"]
    Path("half.json").write_text(json.dumps(rows))
    for code, out in (
        hansard("verify", "record.zip", "--trust", "half.json")[:2],
        run_tool("record.zip", "--trust", "half.json")[:2],
    ):
        assert code == 1
        assert "SELF-CONSISTENT, SIGNER UNKNOWN" in out


@pytest.fixture
def asked(monkeypatch):
    """How often a model was asked."""
    calls = []
    complete = ScriptedModel.complete

    async def counted(self, request):
        calls.append(request.call)
        return await complete(self, request)

    monkeypatch.setattr(ScriptedModel, "complete", counted)
    return calls


def test_one_character_changed_after_approval_and_no_model_is_called(hansard, asked):
    own_prompt()
    assert hansard("policy", "approve", "--spec", "debate.yaml", "-o", "policy.txt").code == 0
    assert (
        hansard("run", "debate.yaml", "--policy", "policy.txt", "--store", "sqlite:///a.db").code
        == 0
    )
    assert len(asked) == 3
    asked.clear()
    own_prompt("Vote, {{speaker}}!\n")
    done = hansard("run", "debate.yaml", "--policy", "policy.txt", "--store", "sqlite:///b.db")
    assert_refused(done, "policy.not_allowed")
    assert "consensus.debater: the template" in done.err
    assert asked == []
    assert not Path("b.db").exists() or not hansard("list", "--store", "sqlite:///b.db").out.strip()


def bad_policies():
    data = approved().data
    text = note.parse(data).text
    yield "unsigned", text, "policy.malformed"
    yield "empty", b"", "policy.malformed"
    yield "binary", b"\xff\x00", "policy.malformed"
    yield "another head", note.sign(text.replace(b"v1", b"v2"), APPROVAL), "policy.malformed"
    yield "altered", data.replace(b"consensus.block", b"consensus.blocc"), "policy.forged"
    yield "signed in the wrong role", approved(EXPORT).data, "policy.untrusted"
    yield "signed by the log's key", approved(LOG).data, "policy.untrusted"
    yield "signed by a stranger", approved(STRANGER).data, "policy.untrusted"


@pytest.mark.parametrize(("data", "code"), [row[1:] for row in bad_policies()], ids=[row[0] for row in bad_policies()])  # fmt: skip # noqa: E501
def test_a_policy_that_does_not_count_runs_nothing(hansard, home, asked, data, code):
    home.mkdir()
    (home / "trust.json").write_bytes(
        trust_file(("approval", APPROVAL), ("export", EXPORT), ("log", LOG))
    )
    write_debate(VOTES)
    Path("policy.txt").write_bytes(data)
    before = files()
    assert_refused(hansard("run", "debate.yaml", "--policy", "policy.txt"), code)
    assert_refused(hansard("policy", "check", "policy.txt"), code)
    assert (files(), asked) == (before, [])


@pytest.mark.parametrize("path", ["nowhere.txt", ".", "huge.txt", "/dev/zero"])
def test_a_policy_that_is_no_file_or_too_large(hansard, path):
    write_debate(VOTES)
    Path("huge.txt").write_bytes(bytes(4_000_001))
    before = files()
    for words in (["run", "debate.yaml", "--policy"], ["policy", "show"], ["policy", "check"]):
        assert_refused(hansard(*words, path), "input.unreadable")
    assert files() == before


def test_an_approval_that_was_revoked_runs_nothing(hansard, policy):
    hansard("keys", "revoke", "approval")
    assert_refused(hansard("run", "debate.yaml", "--policy", policy), "policy.untrusted")
    assert "hansard.db" not in files()


def test_a_policy_that_was_revoked_counts_for_what_was_opened_before(hansard, policy, home):
    assert hansard("run", "debate.yaml", "--policy", policy).code == 0
    hansard("export", only_debate(), "-o", "record.zip")
    digest = hansard("policy", "show", policy).out.split()[-1]
    done = hansard("policy", "revoke", policy, "--at", "2999-01-01")
    assert (done.code, done.err) == (0, f"in {home / 'trust.json'}\n")
    assert done.out.startswith(f"{digest} is revoked for debates opened from 2999-01-01T")
    assert hansard("policy", "check", policy).code == 0, "not yet"
    assert hansard("policy", "revoke", policy).code == 0
    since = hansard("policy", "revoke", policy, "--at", "2999-01-01").out.split()[-2]
    assert f"revoked from {since} on" in hansard("trust", "list").out
    assert f"for debates opened from {since} on" in hansard("policy", "show", policy).out
    before = files()
    for words in (["run", "debate.yaml", "--policy", policy], ["policy", "check", policy]):
        assert_refused(hansard(*words), "policy.revoked")
    assert files() == before
    assert hansard("verify", "record.zip").code == 0, "it was opened before"
    assert run_tool("record.zip", "--trust", home / "trust.json")[0] == 0
    copied = home / "trust.json", "other.json"
    shutil.copy(*copied)
    revoke = ("policy", "revoke", policy, "--at", "2020-01-01", "--trust", "other.json")
    assert hansard(*revoke).code == 0
    for code, out in (
        hansard("verify", "record.zip", "--trust", "other.json")[:2],
        run_tool("record.zip", "--trust", "other.json")[:2],
    ):
        assert code == 1
        assert "SELF-CONSISTENT, SIGNER UNKNOWN" in out
        assert "; the policy was revoked already at" in " ".join(out.split())
    assert_refused(hansard("policy", "revoke", "debate.yaml"), "policy.malformed")
    assert_refused(hansard("policy", "revoke", policy, "--at", "soon"), "trust.time")


def test_a_critics_prompt_is_approved_by_its_trial(hansard):
    with library.open_store("sqlite:///hansard.db", create=True) as store:
        good = [row.debate for row in trial(store, 20, CITED, 8)]
        biased = [row.debate for row in trial(store, 20, NOTHING, 9)]
    assert hansard("policy", "init", "--format", "moderated", "-o", "policy.yaml").code == 0

    def approve(*words, output="policy.txt"):
        return hansard("policy", "approve", "policy.yaml", "-o", output, *words)

    def named(debates):
        return [word for debate in debates for word in ("--trial", debate)]

    before = files()
    for words in ([], named(biased), named(good[1:])):
        done = approve(*words)
        assert (done.code, done.out, done.err.count("[policy.untried]")) == (2, "", 2)
    assert "19 cases, 19 critiques, mean rating 8.00, 19 backed; wanted are 20" in done.err
    assert_refused(approve("--trial", "nowhere"), "store.unknown")
    Path("kept.txt.trial").write_text("of another policy")
    assert_refused(approve(*named(good), output="kept.txt"), "output.exists")
    Path("kept.txt.trial").unlink()
    assert files() == before
    assert not (Path("home") / "keys").exists(), "all is right before a key is made"
    done = approve(*named(good))
    assert (done.code, done.err.count("passed: moderated.critic")) == (0, 2), done.err
    assert "policy.txt.trial: what was shown\n" in done.err
    assert "trial" in hansard("policy", "show", "policy.txt").out
    kept = note.parse(Path("policy.txt.trial").read_bytes())
    digest = sha256(Path("policy.txt").read_bytes()).hexdigest()
    assert kept.text.decode().startswith(f"hansard-trial/v1\npolicy {digest}\npassed ")
    done = approve("--override", "A pilot", output="pilot.txt")
    assert (done.code, done.err.count("not passed: moderated.critic")) == (0, 2)
    assert 'override "A pilot"' in Path("pilot.txt.trial").read_text()


def test_what_was_shown_is_signed_though_the_file_changes_meanwhile(hansard, monkeypatch):
    """The file is read once: nobody signs what came into it in between."""
    path = Path("policy.yaml")
    path.write_text('"*": {max_calls: 9}\n')
    make = library.Keyring.signer

    def swapped(ring, *words):
        path.write_text('"*": {max_calls: 999}\n')
        return make(ring, *words)

    monkeypatch.setattr(library.Keyring, "signer", swapped)
    assert hansard("policy", "approve", path, "-o", "policy.txt").code == 0
    assert "max_calls 9\n" in Path("policy.txt").read_text()


def test_a_metric_is_shown_and_differs(hansard):
    for number in ("0.2", "0.25"):
        Path(f"{number}.yaml").write_text(f'"*": {{metric: [challenge_rate:{number}, cost:1]}}\n')
        assert hansard("policy", "approve", f"{number}.yaml", "-o", f"{number}.txt").code == 0
    assert "challenge_rate:0.2\n" in hansard("policy", "show", "0.2.txt").out
    done = hansard("policy", "diff", "0.2.txt", "0.25.txt")
    assert done.out.splitlines() == [
        "- * metric challenge_rate:0.2",
        "+ * metric challenge_rate:0.25",
    ]
    Path("no.yaml").write_text('"*": {metric: [cost:0.50]}\n')
    assert_refused(hansard("policy", "approve", "no.yaml", "-o", "no.txt"), "policy.draft")


def test_a_draft_and_its_check_reach_what_a_spec_is_allowed_to_reach(hansard):
    Path("shared").mkdir()
    Path("shared/own.md").write_text("Vote, {{speaker}}.\n")
    Path("specs").mkdir()
    write_debate(VOTES, prompts={"debater": "../shared/own.md"})
    spec = Path("debate.yaml").rename("specs/debate.yaml")
    init = ("policy", "init", "--spec", spec, "-o", "policy.yaml")
    assert_refused(hansard(*init), "spec.file_outside")
    assert hansard(*init, "--allow", "shared").code == 0
    assert "consensus.debater:" in Path("policy.yaml").read_text()


def test_each_point_is_said_once(hansard, policy):
    own_prompt()
    done = hansard("policy", "check", policy, "--spec", "debate.yaml")
    assert (done.code, done.out.count("consensus.debater: the template")) == (1, 1)
    assert "NOT APPROVED" not in done.out
    assert done.out.count("approved\n") == 4
    other = ("policy", "approve", "--format", "panel", "-o", "panel.txt")
    assert hansard(*other).code == 0
    done = hansard("policy", "check", "panel.txt", "--spec", "debate.yaml")
    assert (done.code, done.out.count("NOT ALLOWED"), done.out.count("\n")) == (1, 5, 5)


def test_a_policy_for_a_spec_that_is_not_there(hansard):
    assert_refused(hansard("policy", "approve", "--spec", "no.yaml", "-o", "p"), "spec.unreadable")
    assert files() == []


# Hostile exports


def hostile(name):
    """The bytes of a zip that means harm."""
    path = Path("hostile.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        if name == "bomb":
            archive.writestr("events.jsonl", bytes(100_000_000))
        elif name == "link":
            entry = zipfile.ZipInfo("events.jsonl")
            entry.external_attr = 0o120777 << 16
            archive.writestr(entry, "/etc/passwd")
        elif name == "many":
            for number in range(70_000):
                archive.writestr(f"blobs/{number:064}", b"")
        else:
            archive.writestr("events.jsonl", b"x")
            if name != "claim":
                archive.writestr(name, b"x")
    data = path.read_bytes()
    if name == "claim":  # of 1 GiB, and more
        at = data.index(b"PK\x01\x02")
        data = data[: at + 10] + b"\0\0" + data[at + 12 : at + 20] + struct.pack("<2L", 1 << 30, 1 << 30) + data[at + 28 :]  # fmt: skip # noqa: E501
    path.unlink()
    return data


HOSTILE = {
    "bomb": "1.container",
    "link": "1.container",
    "many": "1.unreadable",
    "claim": "1.size",
    "../../evil": "1.name",
    "/etc/evil": "1.name",
    "..\\evil": "1.name",
    "blobs/../../evil": "1.name",
    "C:evil": "1.name",
    "\x1b[2Jevil": "1.name",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_zip_is_refused_and_nothing_is_written(hansard, name):
    Path("x.zip").write_bytes(hostile(name))
    before = files()
    for words in (["verify", "x.zip"], ["replay", "x.zip"]):
        done = hansard(*words)
        assert done.code == 1
        assert "\x1b" not in done.out + done.err
    code, out, _ = run_tool("x.zip", "--json")
    findings = json.loads(out)["findings"]
    ours = json.loads(hansard("verify", "x.zip", "--json").out)["findings"]
    assert code == 1
    assert [row["code"] for row in ours] == [row["code"] for row in findings] == [HOSTILE[name]]
    assert files() == before
    assert not Path("../evil").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["-m", "hansard", "verify"], [str(TOOL_FILE)]], ids=["ours", "tool"]
)
def test_a_bomb_is_not_unpacked(words, tmp_path):
    """Of 100 MB; and of a file that claims to be of 1 GiB no more is read than there is."""
    peaks = {}
    for name in ("C:evil", "bomb", "claim"):
        Path("x.zip").write_bytes(hostile(name))
        code, _, peaks[name] = peak(tmp_path, *words, "x.zip")
        assert code == 1
    assert max(peaks["bomb"], peaks["claim"]) < peaks["C:evil"] + 50_000_000


@pytest.mark.parametrize("what", ["link", "link to a folder", "fifo", "folder", "device", "file"])
def test_a_folder_with_what_is_no_file_of_an_export(hansard, zipped, what):
    out = folder_of(zipped)
    spot = out / "checkpoint"
    if what == "link":
        (out / "events.jsonl").rename("events")
        (out / "events.jsonl").symlink_to("../events")
    elif what == "link to a folder":
        (out / "templates").rename("elsewhere")
        (out / "templates").symlink_to("../elsewhere")
    elif what == "fifo":
        os.mkfifo(spot)
    elif what == "device":
        spot.symlink_to("/dev/zero")
    elif what == "folder":
        spot.mkdir()
    else:
        (out / "notes.txt").write_text("mine")
    done = hansard("verify", out, "--json")
    code, theirs, _ = run_tool(out, "--json")
    found = [json.loads(document)["findings"] for document in (done.out, theirs)]
    assert [row["code"] for row in found[0]] == ["1.name"]
    assert found[0] == found[1]
    assert (done.code, code) == (1, 1)


def test_of_two_names_that_do_not_belong_the_first_is_said(hansard, zipped):
    """Also where the first is a good name of what is no file."""
    out = folder_of(zipped)
    (out / "VERIFY.md").unlink()
    (out / "VERIFY.md").mkdir()
    (out / "VERIFY.md-").write_text("mine")
    for document in (hansard("verify", out, "--json").out, run_tool(out, "--json")[1]):
        assert [row["found"] for row in json.loads(document)["findings"]] == ["VERIFY.md"]


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(hansard, zipped, monkeypatch):
    """Between the moment in which the folder was listed and that in which the file is read."""
    out = folder_of(zipped)
    (out / "events.jsonl").unlink()
    os.mkfifo(out / "events.jsonl")
    paths = [path for path in out.rglob("*") if not path.is_dir()]
    listed = [(str(path.relative_to(out)), True, path) for path in paths]
    monkeypatch.setattr("verify.list_folder", lambda *_: iter(listed))
    monkeypatch.setattr("hansard.api.files._names", lambda *_: ((row[0], row[2]) for row in listed))
    for code, _, err in (hansard("verify", out), run_tool(out)):
        assert code == 2
        assert "events.jsonl" in err
        assert "regular file" in err


def test_an_empty_folder_more_does_not_belong(hansard, zipped):
    out = folder_of(zipped)
    (out / "empty").mkdir()
    assert hansard("verify", out).code == run_tool(out)[0] == 1


@pytest.mark.slow
@pytest.mark.parametrize("what", ["fifo", "zero", "null", "terminal"])
def test_what_is_no_file_does_not_hang(what):
    """In a process of its own, which is ended if it hangs."""
    path = {"zero": "/dev/zero", "null": "/dev/null", "terminal": "/dev/tty"}.get(what, "./fifo")
    if what == "fifo":
        os.mkfifo(path)
    write_debate(VOTES, debaters=[{"id": seat, "model": f"recorded:{path}"} for seat in NAMES])
    for words in (
        ["-m", "hansard", "verify", path],
        ["-m", "hansard", "replay", path],
        ["-m", "hansard", "run", "debate.yaml"],
        [str(TOOL_FILE), path],
    ):
        done = subprocess.run(
            [sys.executable, *words], check=False, capture_output=True, text=True, timeout=GUARD
        )
        assert done.returncode == 2, done
        assert "Traceback" not in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["x" * 300, "a/" + "x" * 300, "\udcff.zip", "nowhere.zip"])
def test_a_name_that_is_no_file(hansard, debate, name):
    done = hansard("verify", name)
    assert (done.code, done.out) == (2, "")
    assert re.search(r"^error: [^\n]* \[(input.unreadable|store.unknown)\]\n$", done.err), done.err
    assert run_tool(name)[0] == 2


# By hand, as VERIFY.md says


def commands(text, key):
    """The recipe's command lines, with the key filled in."""
    lines = text.partition("## By hand")[2].splitlines()
    return [line.strip().replace("KEY", key) for line in lines if line.startswith("    ")]


OF_PAGE = 6  # so many commands are run again with the page's list


def by_hand(out, key):
    """Run the recipe literally; say of each command whether it found everything in order.

    The one on the names in the page's list comes last, after those that are run again.
    """
    found, given = [], commands((out / "VERIFY.md").read_text(), key)
    again = [command.replace("SHA256SUMS", "SHA256SUMS.page") for command in given[:OF_PAGE]]
    (names,) = (command for command in given if "diff" in command)
    given.remove(names)
    for command in [*given, *again, names]:
        done = subprocess.run(
            ["bash", "-c", command], cwd=out, check=False, capture_output=True, text=True
        )
        ok = done.returncode == 0 and "FAILED" not in done.stdout
        if command.startswith("sed -n 5p"):
            sixth = (out / "events.jsonl").read_bytes().split(b"\n")[5]
            ok = done.stdout[:64].encode() in sixth
        elif command.startswith(("for file in blobs", "find")):
            ok = done.stdout == ""
        found.append(ok)
    return found


def change(path, at=None):
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 1
    path.write_bytes(data)


def test_the_trust_file_of_verify_md_is_enough(hansard, zipped):
    about = (folder_of(zipped) / "VERIFY.md").read_text()
    (sample,) = (line.strip() for line in about.splitlines() if line.startswith('    {"v":1'))
    for word, role in (("KEY", "export"), ("LOG", "log")):
        sample = sample.replace(word, hansard("keys", "make", role).out.strip())
    Path("theirs.json").write_text(sample)
    assert json.loads(sample)["v"] == 1
    code, out, _ = run_tool(zipped, "--trust", "theirs.json")
    assert (code, out.splitlines()[-1].partition(",")[0]) == (0, "INTACT")


def test_the_recipe_of_verify_md(hansard, zipped):
    key = hansard("keys", "make", "export").out.strip()
    out = folder_of(zipped)
    given = commands((out / "VERIFY.md").read_text(), key)
    given.remove(next(command for command in given if "diff" in command))
    names = [command.split()[0] for command in given]
    openssl, sums, find, texts = map(names.index, ("openssl", "sha256sum", "find", "for"))
    chain = names.index("sed", sums)
    page_openssl, page_sums = len(given) + openssl, len(given) + sums
    page_names = len(given) + OF_PAGE
    assert sums == OF_PAGE - 1

    def wrong():
        return {place for place, ok in enumerate(by_hand(out, key)) if not ok}

    assert wrong() == set()
    assert files().count("out") == 1
    assert hansard("verify", out).code == 0, "the recipe adds nothing to the folder"

    change(min((out / "blobs").iterdir()))
    assert wrong() == {sums, texts}

    out = folder_of(zipped)
    fifth = (out / "events.jsonl").read_bytes().split(b"\n")
    change(out / "events.jsonl", at=sum(len(line) + 1 for line in fifth[:4]) + 30)
    assert wrong() == {sums, chain}

    out = folder_of(zipped)
    manifest = out / "SHA256SUMS"
    manifest.write_bytes(manifest.read_bytes().replace(b"  VERIFY.md", b"  VERIFY.me"))
    assert wrong() == {openssl, sums, find, page_sums}

    out = folder_of(zipped)
    change(out / "report.html")
    assert wrong() == {page_sums}

    out = folder_of(zipped)
    (out / "report.html").write_bytes(b"forged")
    page = out / "SHA256SUMS.page"
    _, empty, line = page.read_bytes().rpartition(b"\n\n")
    page.write_bytes(forged_list(out, "SHA256SUMS", "report.html") + empty[1:] + line)
    assert wrong() == {page_openssl}
    page.write_bytes((out / "SHA256SUMS").read_bytes())
    assert wrong() == {page_names}, "a list that was signed, and says nothing about the page"

    out = folder_of(zipped)
    change(out / "VERIFY.md", at=3)
    assert wrong() == {sums}

    out = folder_of(zipped)
    (out / "added").write_bytes(b"so")
    assert wrong() == {find}
    (out / "added").rename(out / "a\nSHA256SUMS")
    assert wrong() == {find}
    (out / "a\nSHA256SUMS").rename(out / "added")
    text, empty, line = (out / "SHA256SUMS").read_bytes().rpartition(b"\n\n")
    (out / "SHA256SUMS").write_bytes(text + empty + forged_list(out, "added") + line)
    assert wrong() == {find, page_sums}, "what is listed below the empty line is not signed"

    out = folder_of(zipped)
    key = str(STRANGER.key)
    assert wrong() == {openssl, page_openssl}


def forged_list(out, *names):
    """Lines of a list that nobody signed."""
    sums = [f"{sha256((out / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    return "".join(sums).encode()


def test_verify_md_names_the_verifier_of_this_release(zipped):
    digest = subprocess.run(
        ["sha256sum", str(TOOL_FILE)], check=True, capture_output=True, text=True
    ).stdout[:64]
    assert f"\n    {digest}\n" in (folder_of(zipped) / "VERIFY.md").read_text()


def test_an_attack_in_a_record_is_inert_in_what_is_printed(hansard):
    attack = "\x1b]0;owned\x07\u202e"
    script = {seat: {"*": {"*": reply("release", attack, attack)}} for seat in NAMES}
    write_debate(VOTES, script=script, question=attack)
    hansard("run", "debate.yaml")
    hansard("export", only_debate(), "-o", "record.zip")
    for words in (
        ["verify", "record.zip"],
        ["replay", "record.zip"],
        ["verify", "record.zip", "--json"],
    ):
        done = hansard(*words)
        assert done.code == 0
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.out + done.err)


def test_an_export_shown_by_a_stranger_says_that_its_signer_is_not_confirmed(
    hansard, zipped, tmp_path, monkeypatch
):
    assert "not confirmed" not in hansard("report", zipped).err
    monkeypatch.setenv("HANSARD_HOME", str(tmp_path / "elsewhere"))
    for command in ("report", "show"):
        done = hansard(command, zipped)
        assert done.code == 0
        assert "who signed this export is not confirmed" in done.err
