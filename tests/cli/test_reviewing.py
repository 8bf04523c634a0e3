"""`review`, `outcome`, `hold` and `status`: what people say of a closed debate."""

import json
import shutil
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

import hansard as library
from cli_support import leave_open, only_debate, write_debate
from hansard.store import tampering

SPLIT = {"planner": "release", "critic": "revise", "operator": "escalate"}
AGREED = dict.fromkeys(SPLIT, "release")


@pytest.fixture
def hansard(ending):
    return ending


@pytest.fixture
def ended(hansard):
    """The id of a debate in which everybody agreed."""
    hansard("run", write_debate(AGREED))
    return only_debate()


def entries(debate):
    with library.open_store(create=False) as store:
        return len(library.read_record(store, debate).bundle.lines)


def review(hansard, debate, outcome, *more, code=0):
    said = ("--reviewer", "Ann Lee", "--outcome", outcome)
    return hansard("review", debate, *said, *more, code=code)


def test_a_decision_that_needs_no_review_is_released(hansard, ended):
    out = hansard("status", ended).out
    assert "not required" in out
    assert "yes" in out


def test_an_escalation_waits_and_is_never_released(hansard):
    hansard("run", write_debate(SPLIT))
    debate = only_debate()
    out = hansard("status", debate, code=3).out
    assert "nobody has reviewed it yet: the decision is left to a person" in " ".join(out.split())
    assert "NO. Do not act on this: nothing was decided; " in out
    review(hansard, debate, "approved")
    assert "approved: Ann Lee" in " ".join(hansard("status", debate, code=3).out.split())
    assert "INTACT" not in hansard("verify", debate).out


def test_conditions_hold_a_decision_back_until_they_are_met(hansard, ended):
    review(hansard, ended, "conditions", "--condition", "Ask the insurer.")
    assert "1 condition still to be met" in " ".join(hansard("status", ended, code=3).out.split())
    assert "1: Ask the insurer. (still to be met)" in hansard("show", ended).out
    hansard("outcome", ended, "--label", "met", "--condition", "1")
    hansard("status", ended, code=3)  # nobody signed it
    hansard("outcome", ended, "--label", "met", "--condition", "1", "--sign")
    assert "yes" in hansard("status", ended).out
    assert "1: Ask the insurer. (met)" in hansard("show", ended).out
    assert "review      pass" in hansard("verify", ended).out


def test_list_names_the_debates_whose_review_stands_so(hansard, ended):
    def listed(*words):
        rows = json.loads(hansard("list", "--json", *words).out)["debates"]
        return [(row["reviewed"], row["released"]) for row in rows]

    usual = listed()
    review(hansard, ended, "rejected", "--comment", "Not now.")
    assert listed("--review", "rejected") == [("rejected", False)]
    assert listed("--review", "approved") == []
    assert ended[:8] in hansard("list", "--review", "rejected").out
    review(hansard, ended, "approved")
    assert listed("--review", "approved") == [("approved", True)]
    assert len(listed()) == len(usual)
    hansard("list", "--review", "not required", code=2)


def test_the_last_review_of_a_key_counts(hansard, ended):
    review(hansard, ended, "rejected", "--comment", "Not now.")
    assert "rejected: Ann Lee" in " ".join(hansard("status", ended, code=3).out.split())
    review(hansard, ended, "approved")
    hansard("status", ended)
    report = json.loads(hansard("report", ended, "--as", "json").out)
    assert [row["outcome"] for row in report["reviewed"]["reviews"]] == ["rejected", "approved"]
    assert report["released"] is True
    assert "Review: approved: Ann Lee" in hansard("report", ended, "--as", "markdown").out


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (("approved", "--condition", "x"), "review.conditions"),
        (("conditions",), "review.conditions"),
        (("rejected",), "review.comment"),
        (("remanded",), "review.comment"),
        (("remanded", "--comment", " "), "review.text"),
        (("approved", "--reviewer", " "), "review.text"),
        (("approved", "--reviewer", "Ann\nLee"), "review.text"),
        (("rejected", "--comment", "\udcff"), "review.text"),
        (("rejected", "--comment", "x" * 10_001), "review.text"),
        (("conditions", "--condition", "x" * 10_001), "review.text"),
    ],
)
def test_a_review_that_says_too_little_is_refused(hansard, ended, said, code):
    before = entries(ended)
    assert f"[{code}]" in review(hansard, ended, *said, code=2).err
    assert entries(ended) == before


def test_a_long_comment_is_recorded(hansard, ended):
    review(hansard, ended, "rejected", "--comment", "x" * 10_000)
    assert "INTACT" not in hansard("verify", ended).out


def test_whose_review_would_not_count_is_refused(hansard, ended, tmp_path):
    before = entries(ended)
    review(hansard, ended, "approved")
    hansard("keys", "revoke", "reviewer")
    assert entries(ended) == before + 1
    trust = library.Trust()
    with library.open_store(create=False) as store, pytest.raises(library.UsageError) as caught:
        library.review(
            ended,
            "approved",
            store=store,
            reviewer="Ann",
            signer=library.open_keyring(tmp_path / "other").signer("reviewer"),
            trust=trust,
        )
    assert caught.value.code == "review.untrusted"
    assert entries(ended) == before + 1


def test_the_requester_may_not_review(hansard):
    ring = library.open_keyring()
    key = ring.signer("reviewer").name
    hansard("run", write_debate(AGREED, requester={"name": "Ann Lee", "key": key}))
    debate = only_debate()
    assert "[review.involved]" in review(hansard, debate, "approved", code=2).err


def test_what_was_added_while_somebody_read_is_refused(hansard, ended):
    ring = library.open_keyring()
    with library.open_store(create=False) as store:
        head = library.read_record(store, ended).head
        library.hold(ended, store=store)
        with pytest.raises(library.UsageError) as caught:
            library.review(
                ended,
                "approved",
                store=store,
                reviewer="Ann",
                signer=ring.signer("reviewer"),
                trust=ring.trust(),
                head=head,
            )
    assert caught.value.code == "review.head"


def test_holds_take_turns(hansard, ended):
    assert "[hold.none]" in hansard("hold", ended, "--lift", code=2).err
    assert "a hold stands" in hansard("hold", ended, "--reason", "An audit.").err
    assert "[hold.placed]" in hansard("hold", ended, code=2).err
    assert "a hold stands" not in hansard("hold", ended, "--lift", "--sign").err
    assert "a hold stands" not in hansard("status", ended).out


def test_how_a_hold_was_lifted_is_said_and_whether_that_counts(hansard, ended, tmp_path):
    """Also of one that stands again: a text may have been erased in between."""
    empty = tmp_path / "trust.json"
    empty.write_bytes(library.Trust().dump())

    def said(command, *more):
        return " ".join(hansard(*command.split(), ended, *more).out.split())

    for signed in ((), ("--sign",)):
        hansard("hold", ended)
        hansard("hold", ended, "--lift", *signed)
    hansard("hold", ended)
    for command in ("status", "show", "report --as markdown"):
        out = said(command)
        assert "and nobody signed that; a hold was lifted on" in out, command
        assert "with the key" in out, command
    doubted = "but not with a key that counts here: you have not said that you trust the key"
    assert doubted in said("status", "--trust", str(empty))
    for _ in range(2):
        hansard("hold", ended, "--lift", "--sign")
        hansard("hold", ended)
    out = said("status")
    assert "and nobody signed that" in out, "what is doubtful is said first"
    assert "a hold was lifted 1 more time" in out


def test_an_outcome_has_a_label_and_a_condition_that_there_is(hansard, ended):
    hansard("outcome", ended, "--label", "right", "--note", "It went well.")
    for label in ("two words", "x" * 65, ""):
        assert "[review.label]" in hansard("outcome", ended, "--label", label, code=2).err
    said = hansard("outcome", ended, "--label", "met", "--condition", "1", code=2)
    assert "[review.condition]" in said.err


def test_a_debate_that_has_not_ended_is_not_reviewed(hansard):
    write_debate(AGREED)
    leave_open()
    debate = only_debate()
    assert "[review.open]" in review(hansard, debate, "approved", code=2).err


def test_a_policy_says_who_signs_what(hansard, tmp_path):
    lines = {"*": {"review": "always", "reviewers": 2, "signed": ["outcome", "hold"]}}
    templates = library.prompt_templates(format="consensus")
    for role, body in templates.items():
        lines[f"consensus.{role}"] = {"template": sha256(body).hexdigest()}
    ring = library.open_keyring()
    note = tmp_path / "policy.note"
    note.write_bytes(library.approve_policy(ring.signer("approval"), lines))
    hansard("run", write_debate(AGREED), "--policy", str(note))
    debate = only_debate()
    assert "the policy asks for it" in " ".join(hansard("status", debate, code=3).out.split())
    assert "[review.unsigned]" in hansard("outcome", debate, "--label", "right", code=2).err
    assert "[review.unsigned]" in hansard("hold", debate, code=2).err
    hansard("hold", debate, "--sign")
    review(hansard, debate, "approved")
    assert "2 approvals needed" in " ".join(hansard("status", debate, code=3).out.split())


def test_an_export_is_released_only_for_those_who_know_its_signer(hansard, ended, tmp_path):
    hansard("export", ended, "-o", "r.zip")
    hansard("status", "r.zip")
    empty = tmp_path / "trust.json"
    empty.write_bytes(library.Trust().dump())
    out = hansard("status", "r.zip", "--trust", str(empty), code=3).out
    assert "not confirmed, so nothing is released" in out


def test_an_altered_record_is_neither_reviewed_nor_released(hansard, ended):
    tampering.alter_line(Path("hansard.db"), ended, 8, b'"at":"2', b'"at":"3')
    assert "[record.altered]" in review(hansard, ended, "approved", code=1).err
    assert "[record.altered]" in hansard("status", ended, code=1).err


# Away from the store ---------------------------------------------------------------------


@pytest.fixture
def away(ended, hansard, tmp_path, monkeypatch):
    """Run a command on the machine of a reviewer, who has an export and no store."""
    hansard("export", ended, "-o", "record.zip")
    hansard("page", ended, "-o", "record.html")
    place = tmp_path / "away"
    (place / "home").mkdir(parents=True)
    zipfile.ZipFile("record.zip").extractall(place / "record")
    for name in ("record.zip", "record.html"):
        shutil.copy(name, place / name)

    def invoke(*args, code=0):
        with monkeypatch.context() as there:
            there.chdir(place)
            there.setenv("HANSARD_HOME", str(place / "home"))
            there.setenv("HANSARD_ORG", "away")
            return hansard(*args, code=code)

    return invoke


SAID = ("--reviewer", "Ann Lee", "--outcome", "remanded", "--comment", "Ask the insurer.")
FILE = Path("away/review.json")


def known(hansard, away):
    """Let the one who keeps the record trust the reviewer's key."""
    hansard("trust", "add", away("keys", "make", "reviewer").out.strip(), "--role", "reviewer")


@pytest.mark.parametrize("export", ["record.zip", "record", "record.html"])
def test_a_review_of_an_export_is_signed_without_a_store_and_taken_in(hansard, ended, away, export):
    said = away("review", f"./{export}", *SAID, "-o", "review.json")
    assert said.out == ""
    assert "Shall we release?" in said.err
    assert f"hansard review {ended[:8]} --import review.json" in said.err
    assert "not confirmed" in said.err  # nobody told the reviewer whose key signed it
    there = {path.name for path in Path("away").iterdir()}
    assert there == {"home", "record", "record.html", "record.zip", "review.json"}
    assert FILE.stat().st_mode & 0o777 == 0o600
    known(hansard, away)
    told = hansard("review", ended, "--import", str(FILE)).err
    assert "review: sent back: Ann Lee (sent back on " in told
    assert f"hansard run SPEC --remand {ended[:8]}" in told
    assert "remanded" in hansard("verify", ended).out
    assert "[review.recorded]" in hansard("review", ended, "--import", str(FILE), code=2).err


def test_what_an_import_refuses_leaves_the_record_as_it_is(hansard, ended, away):
    before = entries(ended)
    away("review", "record.zip", *SAID, "-o", "review.json")

    def refused(path, debate=ended):
        done = hansard("review", debate, "--import", str(path), code=2)
        assert len(done.err.splitlines()) == 1
        assert entries(ended) == before
        return done.err

    assert "[review.untrusted]" in refused(FILE)
    known(hansard, away)
    changed = Path("changed.json")
    changed.write_text(FILE.read_text().replace("remanded", "rejected"))
    assert "[review.forged]" in refused(changed)
    changed.write_text(FILE.read_text().replace("Ask the", "Pay the"))
    assert "[review.forged]" in refused(changed)
    changed.write_text("[]")
    assert "[review.malformed]" in refused(changed)
    assert "[input.unreadable]" in refused("nothing.json")
    assert "[input.unreadable]" in refused("/dev/zero")
    assert "[store.unknown]" in refused(FILE, "zz")
    hansard("run", write_debate(AGREED))
    (other,) = {row["debate"] for row in listed(hansard)} - {ended}
    assert "[review.other]" in refused(FILE, other)


def listed(hansard):
    return json.loads(hansard("list", "--json").out)["debates"]


def test_a_review_file_takes_no_place_of_anything(hansard, away):
    target = Path("away/target")
    FILE.symlink_to("target")
    assert "[output.exists]" in away("review", "record.zip", *SAID, "-o", "review.json", code=2).err
    assert not target.exists()
    FILE.unlink()
    FILE.write_text("mine")
    assert "[output.exists]" in away("review", "record.zip", *SAID, "-o", "review.json", code=2).err
    assert FILE.read_text() == "mine"


def test_an_altered_or_open_export_is_not_reviewed(hansard, away):
    lines = Path("away/record/events.jsonl")
    lines.write_bytes(lines.read_bytes().replace(b'"at":"2', b'"at":"3', 1))
    altered = away("review", "./record", *SAID, "-o", "review.json", code=1)
    assert "[record.altered]" in altered.err
    write_debate(AGREED)
    left = leave_open_in("open.db")
    hansard("export", left, "-o", "away/open.zip", "--store", "sqlite:///open.db")
    assert "[review.open]" in away("review", "open.zip", *SAID, "-o", "review.json", code=2).err
    short = ("--reviewer", "Ann", "--outcome", "rejected")
    said = away("review", "record.zip", *short, "-o", "review.json", code=2)
    assert "[review.comment]" in said.err
    assert not FILE.exists()


def leave_open_in(name):
    """Leave an open debate in a store of its own; return its id."""
    kept = Path("hansard.db").rename("kept.db")
    debate = leave_open()
    Path("hansard.db").rename(name)
    kept.rename("hansard.db")
    return debate


@pytest.mark.parametrize(
    "args",
    [
        ("record.zip", *SAID),
        ("record.zip", "--import", "review.json"),
        ("record.zip", "-o", "review.json"),
        ("abc", *SAID, "-o", "review.json"),
        ("abc", "--import", "review.json", "--comment", "More."),
        ("abc", "--import", "review.json", "--signer", "mine"),
        ("abc", "--import", "review.json", "-o", "other.json"),
        ("abc", "--outcome", "approved"),
        ("abc", "--reviewer", "Ann"),
        ("abc",),
    ],
)
def test_options_of_a_review_that_do_not_go_together_are_refused(away, args):
    assert "[review.options]" in away("review", *args, code=2).err
    assert not Path("away/hansard.db").exists()


# Debated again ---------------------------------------------------------------------------


def test_what_was_sent_back_is_debated_again(hansard, ended):
    assert "[origin.not_remanded]" in hansard("run", "debate.yaml", "--remand", ended, code=2).err
    review(hansard, ended, "remanded", "--comment", "Ask the insurer.")
    step = f"hansard run SPEC --remand {ended[:8]}"
    assert f"Next        {step}" in hansard("status", ended, code=3).out
    told = hansard("run", "debate.yaml", "--remand", ended[:8]).out
    (again,) = {row["debate"] for row in listed(hansard)} - {ended}
    origin = f"sent back by a review of {ended}"
    assert f"Origin      {origin}" in told
    assert f"Origin      {origin}" in hansard("show", again).out
    assert f"Origin: {origin}" in hansard("report", again, "--as", "markdown").out
    out = hansard("status", ended, code=3).out
    assert f"Sent back   debated again as {again[:8]}" in out
    assert step not in out
    hansard("export", ended, "-o", "earlier.zip")
    assert step not in hansard("status", "earlier.zip", code=3).out
    assert "Sent back" not in hansard("status", again).out
