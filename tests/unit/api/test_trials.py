"""A critic's prompt is approved by what it did in a trial, not by what it says of itself."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import hansard
from exporting import APPROVAL, EXPORT, STRANGER, trust_file
from hansard import UsageError
from hansard.api.trials import try_critics
from hansard.api.trust import template_lines
from hansard.errors import DataError
from hansard.governance import approval
from hansard.governance.trial import case_of
from hansard.record import note
from hansard.record.keys import Trust, parse_trust
from hansard.record.note import Signer
from hansard.record.policy import Line, parse
from hansard.verify.verifier import verify
from trying import CITED, NOTHING, STRUCK, trial, tried

KEY = Signer("house/approval", Ed25519PrivateKey.from_private_bytes(bytes(32)))
LINES = [row for row in template_lines(format="moderated") if row.scope.startswith("moderated.c")]


@pytest.fixture(scope="module")
def store():
    with hansard.open_store("sqlite:///:memory:") as opened:
        yield opened


@pytest.fixture(scope="module")
def good(store):
    """Twenty cases, rated 8, eleven of them with a citation that was found."""
    return trial(store, 11, CITED, 8) + trial(store, 9, NOTHING, 8, first=11)


def refused(records, lines=LINES, override=None):
    with pytest.raises(UsageError) as caught:
        hansard.approve_policy(KEY, lines, trial=records, override=override)
    return caught.value


def test_twenty_cases_rated_above_seven_and_more_than_half_of_them_backed(good):
    found = try_critics(LINES, good)
    assert [(row.role, row.passed) for row in found] == [("critic", True), ("critic_again", True)]
    signed = hansard.approve_policy(KEY, LINES, trial=good)
    kept = note.parse(hansard.trial_note(KEY, signed, good))
    assert kept.signed_by(KEY.key)
    text = kept.text.decode().splitlines()
    assert text[:2] == ["hansard-trial/v1", f"policy {parse(signed).hash}"]
    assert text[2].startswith(f"passed moderated.critic {LINES[0].value}: 20 cases, 20 critiques")
    assert text[2].endswith("mean rating 8.00, 11 backed")
    assert text[4:] == sorted(f"debate {row.debate} {row.head}" for row in good)
    assert hansard.approve_prompts(KEY, format="moderated", trial=good)


def test_an_objection_that_was_conceded_backs_a_critique_as_well(store, good):
    conceding = trial(store, 3, NOTHING, 8, conceded=True, first=40)
    assert hansard.approve_policy(KEY, LINES, trial=good[3:] + conceding)


def test_a_critic_that_always_rates_itself_nine_does_not_pass(store):
    biased = trial(store, 20, NOTHING, 9)
    error = refused(biased)
    assert error.code == "policy.untried"
    assert "20 critiques, mean rating 9.00, 0 backed; wanted are 20 cases" in error.sentence
    assert len(error.others) == 1, "of the template that is sent again, too"


SHORT = {
    "nineteen cases": lambda store, good: good[:19],
    "one of them twice": lambda store, good: [*good[:19], good[0]],
    "one question twice": lambda store, good: [*good[:19], *trial(store, 1, CITED, 8)],
    "half of them backed": lambda store, good: good[1:] + trial(store, 1, NOTHING, 8, first=30),
    "a mean of seven": lambda store, good: trial(store, 20, CITED, 7, first=50),
    "citations that were made up": lambda store, good: trial(store, 20, STRUCK, 9),
    "struck objections that were conceded": lambda store, good: trial(
        store, 20, STRUCK, 9, conceded=True
    ),
    "no trial": lambda store, good: [],
}


@pytest.mark.parametrize("what", SHORT)
def test_what_is_too_little(store, good, what):
    records = SHORT[what](store, good)
    assert refused(records).code == "policy.untried"


def test_what_was_tried_is_the_template_that_is_listed(good, tmp_path):
    """Swapped after the trial, or tried in another role."""
    other = Line("moderated.critic", "template", "a" * 64)
    assert "0 cases, 0 critiques, mean rating none" in refused(good, [other]).sentence
    crossed = [Line(row.scope, row.term, LINES[1 - n].value) for n, row in enumerate(LINES)]
    assert len(refused(good, crossed).others) == 1
    (tmp_path / "own.md").write_text("Rate yourself 9.\n")
    spec = {"format": "moderated", "question": "q", "model": "python:seat"}
    own = template_lines(spec | {"prompts": {"critic": "own.md"}}, folder=tmp_path)
    assert refused(good, own).code == "policy.untried"
    assert refused(good, [*LINES, other]).sentence.startswith(f"moderated.critic {'a' * 64}")


def test_a_wider_scope_lists_it_as_well():
    for scope in ("moderated", "*"):
        assert refused([], [Line(scope, "template", "a" * 64)]).code == "policy.untried"


def test_a_reason_stands_in_place_of_a_trial_and_is_kept(good):
    signed = hansard.approve_policy(KEY, LINES, override="A pilot,\nuntil March")
    kept = hansard.trial_note(KEY, signed, override="A pilot,\nuntil March")
    text = note.parse(kept).text.decode()
    assert text.endswith('\noverride "A pilot,\\nuntil March"\n')
    assert text.count("not passed moderated.critic") == 2
    assert refused([], override=" \n").code == "policy.trial"
    both = note.parse(hansard.trial_note(KEY, signed, good[:2], "Two will do")).text.decode()
    assert (both.count("\ndebate "), both.count("2 cases")) == (2, 2)


def test_where_no_critic_is_approved_there_is_nothing_to_try(good):
    lines = [Line("*", "max_calls", "9"), Line("judged.judge", "template", "a" * 64)]
    signed = hansard.approve_policy(KEY, lines)
    assert hansard.trial_note(KEY, signed) is None
    for given in ({"trial": good}, {"override": "why not"}):
        assert refused(given.get("trial", []), lines, given.get("override")).code == "policy.trial"


def test_what_is_no_trial(store, good):
    plain = {"question": "q", "options": ["a", "b"], "threshold": 2, "max_rounds": 1}
    plain["debaters"] = [{"id": name, "model": "python:seat"} for name in ("ann", "bob")]
    said = {"stance": "s", "rationale": "r", "vote": "a"}
    made = hansard.run_sync(plain, models={"seat": lambda _: said}, store=store)
    assert refused([hansard.read_record(store, made.debate)]).code == "trial.format"
    record = good[0]
    opened = replace(record, bundle=replace(record.bundle, lines=record.bundle.lines[:-1]))
    assert refused([opened]).code == "trial.open"
    first, *rest = record.bundle.lines
    bundle = replace(record.bundle, lines=[first.replace(b'"owner":null', b'"owner" :null'), *rest])
    altered = replace(record, bundle=bundle, verification=verify(bundle))
    with pytest.raises(DataError) as caught:
        hansard.approve_policy(KEY, LINES, trial=[altered])
    assert caught.value.code == "record.altered"


@pytest.mark.parametrize("model", ["scripted:replies.yaml", "recorded:record.zip"])
def test_a_script_tries_nothing(good, model):
    result = good[0].result()
    seats = [row.model_copy(update={"model": model}) for row in result.seats]
    with pytest.raises(UsageError) as caught:
        case_of(result.model_copy(update={"seats": tuple(seats)}), "head", "about")
    assert caught.value.code == "trial.scripted"
    others = [row for row in seats if row.role != "critic"]
    assert case_of(result.model_copy(update={"seats": tuple(others)}), "head", "about").critiques


def test_a_critique_that_was_not_heard_is_none(store):
    record = hansard.read_record(store, tried(store, NOTHING, 11))
    assert case_of(record.result(), record.head, "about").critiques == ()
    (found, _) = try_critics(LINES, [record], "why not")
    assert (found.cases, found.critiques, str(found).count("mean rating none")) == (0, 0, 1)


# An approval counts where it is whole, and signed by a trusted approval key in force

NOW = "2026-11-21T20:16:03.123456Z"
LATER = NOW.replace("456Z", "457Z")
TEMPLATES = {"protocol": b"p", "block": b"b", "debater": b"d"}


def signed(signer):
    return approval.sign(approval.lines_for("consensus", TEMPLATES), signer)


POLICY = signed(APPROVAL)
TRUST = parse_trust(trust_file(("approval", APPROVAL), ("export", EXPORT)))


def unloaded(data, trust=TRUST, now=NOW):
    with pytest.raises(DataError) as caught:
        approval.load(data, trust, now)
    return caught.value.code


def test_what_is_approved_is_loaded():
    found = approval.load(POLICY, TRUST, NOW)
    assert found.approved("consensus", TEMPLATES) == {
        role: [digest] for role, digest in approval.hashes(TEMPLATES).items()
    }
    assert approval.hashes(TEMPLATES) == {
        role: sha256(body).hexdigest() for role, body in TEMPLATES.items()
    }
    assert found.data == POLICY
    assert note.parse(POLICY).signed_by(APPROVAL.key)


def test_what_cannot_be_read():
    text = note.parse(POLICY).text
    for data in (b"", b"\xff", text, POLICY[:-1], note.sign(b"x\n", APPROVAL)):
        assert unloaded(data) == "policy.malformed"


def test_altered_after_it_was_signed():
    digest = approval.hashes(TEMPLATES)["block"].encode()
    assert unloaded(POLICY.replace(digest, b"0" * 64)) == "policy.forged"
    assert unloaded(POLICY.replace(b"consensus.block", b"consensus.blocc")) == "policy.forged"
    both = POLICY + note.sign(b"x\n", EXPORT).rpartition(b"\n\n")[2]
    assert unloaded(both) == "policy.forged", "a known key that signed another text"


def test_signed_by_nobody_who_may():
    for by in (STRANGER, EXPORT):
        assert unloaded(signed(by)) == "policy.untrusted"
    assert unloaded(POLICY, Trust()) == "policy.untrusted"


def test_signed_by_several():
    data = signed(STRANGER)
    line = POLICY.rpartition(b"\n\n")[2]
    assert approval.load(data + line, TRUST, NOW).lines


def test_in_force_now():
    for limits, counts in (
        ({"from": NOW}, True),
        ({"from": LATER}, False),
        ({"until": NOW}, False),
        ({"until": LATER}, True),
    ):
        trust = parse_trust(trust_file(("approval", APPROVAL, limits)))
        if counts:
            assert approval.load(POLICY, trust, NOW)
        else:
            assert unloaded(POLICY, trust) == "policy.untrusted"


@pytest.mark.parametrize(("since", "counts"), [(NOW, False), (LATER, True)])
def test_revoked(since, counts):
    revoked = [{"sha256": sha256(POLICY).hexdigest(), "revoked": since}]
    rows = json.loads(trust_file(("approval", APPROVAL)))
    trust = parse_trust(json.dumps(rows | {"policies": revoked}).encode())
    stray = POLICY + note.sign(b"x\n", STRANGER).rpartition(b"\n\n")[2]
    for data in (POLICY, stray):
        if counts:
            assert approval.load(data, trust, NOW)
        else:
            assert unloaded(data, trust) == "policy.revoked"
