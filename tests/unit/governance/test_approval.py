"""An approval counts where it is whole, and signed by a trusted approval key in force."""

import json
from hashlib import sha256

import pytest

from exporting import APPROVAL, EXPORT, STRANGER, trust_file
from hansard.errors import DataError
from hansard.governance import approval
from hansard.record import note
from hansard.record.keys import Trust, parse_trust

NOW = "2026-11-21T20:16:03.123456Z"
LATER = NOW.replace("456Z", "457Z")
TEMPLATES = {"protocol": b"p", "block": b"b", "debater": b"d"}


def signed(signer):
    return approval.sign(approval.lines_for("consensus", TEMPLATES), signer)


POLICY = signed(APPROVAL)
TRUST = parse_trust(trust_file(("approval", APPROVAL), ("export", EXPORT)))


def refused(data, trust=TRUST, now=NOW):
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
        assert refused(data) == "policy.malformed"


def test_altered_after_it_was_signed():
    digest = approval.hashes(TEMPLATES)["block"].encode()
    assert refused(POLICY.replace(digest, b"0" * 64)) == "policy.forged"
    assert refused(POLICY.replace(b"consensus.block", b"consensus.blocc")) == "policy.forged"
    both = POLICY + note.sign(b"x\n", EXPORT).rpartition(b"\n\n")[2]
    assert refused(both) == "policy.forged", "a known key that signed another text"


def test_signed_by_nobody_who_may():
    for by in (STRANGER, EXPORT):
        assert refused(signed(by)) == "policy.untrusted"
    assert refused(POLICY, Trust()) == "policy.untrusted"


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
            assert refused(POLICY, trust) == "policy.untrusted"


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
            assert refused(data, trust) == "policy.revoked"
