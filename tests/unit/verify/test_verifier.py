"""What a verification says: a row a check, the evidence, what could not be looked at."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

import altering
from hansard.rules.formats import ConsensusSpec
from hansard.runtime import session
from hansard.runtime.models.base import Completion
from hansard.store.application import Store
from hansard.verify.findings import CHECKS, Finding, Texts
from hansard.verify.verifier import verify

SEATS = ("planner", "critic", "operator")


def model(request):
    vote = "release" if request.speaker == "planner" else "revise"
    return Completion(
        json.dumps({"stance": "s", "rationale": "r", "vote": vote}), tokens_in=5, tokens_out=5
    )


@pytest.fixture(scope="module")
def bundle():
    spec = ConsensusSpec(
        question="Do we release?",
        debaters=[{"id": seat, "model": f"python:{seat}"} for seat in SEATS],
        options=["release", "revise"],
        threshold=2,
        max_rounds=2,
    )
    with Store.open("sqlite:///:memory:") as store:
        asyncio.run(session.run(spec, store, Path.cwd(), models=dict.fromkeys(SEATS, model)))
        return store.bundle(store.debates()[0])


def statuses(verification):
    return {row.number: row.status for row in verification.checks}


def without(bundle, *kinds):
    """Take away the replies of some calls, by the speakers' names."""
    gone = [
        event["data"]["reply"]["sha256"]
        for event in altering.events_of(bundle)
        if event["type"] == "call.answered" and event["data"]["call"].split(".")[2][:-2] in kinds
    ]
    blobs = {name: file for name, file in bundle.blobs.items() if name not in gone}
    return replace(bundle, blobs=blobs)


def test_a_whole_record_passes_every_check_there_is_something_to_do_for(bundle):
    verification = verify(bundle)
    assert verification.ok
    assert verification.verdict == "SELF-CONSISTENT, SIGNER UNKNOWN"
    assert (verification.level, verification.entries, verification.open) == (0, 16, False)
    assert verification.caveats == []
    named = verification.texts.named
    assert verification.texts == Texts(named=named, present=named)
    assert verification.findings == []
    assert (
        [row.number for row in verification.checks]
        == list(range(1, len(CHECKS) + 1))
        == list(CHECKS)
    )
    assert [row.name for row in verification.checks] == list(CHECKS.values())
    found = statuses(verification)
    assert {found[number] for number in (1, 2, 3)} <= {"unsupported", "unchecked"}
    assert {found[number] for number in CHECKS if number >= 4} == {"pass"}
    for row in verification.checks:
        assert row.evidence
        assert "\n" not in row.evidence


def test_evidence_says_what_was_looked_at(bundle):
    evidence = {row.name: row.evidence for row in verify(bundle).checks}
    assert evidence["canonical"].startswith("16 of 16 ")
    assert "3 turns" in evidence["schedule"]
    assert "3 prompts recomputed" in evidence["prompts"]
    assert "3 replies" in evidence["replies"]
    assert "revise by threshold_vote" in evidence["outcome"]
    assert evidence["chain"].endswith("up to the last one in the store")
    unshelved = verify(replace(bundle, head=None)).checks[4]
    assert unshelved.evidence == "16 of 16 entries read, each linked to the one before it"


def test_an_open_debate_is_open_and_whole(bundle):
    cut = list(bundle.lines[:10])
    blobs = {k: v for k, v in bundle.blobs.items() if k.encode() in b"".join(cut)}
    verification = verify(replace(bundle, lines=cut, blobs=blobs, head=altering.head_of(cut)))
    assert verification.ok
    assert verification.open
    assert "still open" in verification.checks[15].evidence
    assert verification.caveats == ["open: a longer version may exist"]


def test_replies_that_are_gone_leave_what_rests_on_them_unchecked(bundle):
    """A missing text fails check 8; votes, counts and outcome are believed, and it says so."""
    verification = verify(without(bundle, "critic", "operator"))
    assert [row.code for row in verification.findings] == ["8.missing", "8.missing"]
    named = verification.texts.named
    assert verification.texts == Texts(named=named, present=named - 2, missing=2)
    assert verification.caveats == [
        f"{named - 2} of {named} texts present, 2 missing",
        "2 of 3 turns unchecked",
    ]
    found = statuses(verification)
    assert found[8] == "fail"
    assert [found[number] for number in (12, 14, 16)] == ["unchecked"] * 3
    assert [found[number] for number in (9, 11, 15)] == ["pass"] * 3


def test_after_a_rejected_line_the_rules_are_unchecked(bundle):
    event = json.loads(bundle.lines[6])
    verification = verify(altering.chained_anew(bundle, 7, event | {"v": 2}))
    assert [(row.seq, row.code) for row in verification.findings] == [(7, "7.schema")]
    found = statuses(verification)
    assert found[7] == "fail"
    assert {found[number] for number in range(9, 17)} == {"unchecked"}
    assert verification.level is None
    assert verification.verdict == "ALTERED"


def test_where_the_rules_are_left_the_rest_is_unchecked_but_one_finding_is_enough(bundle):
    order = [*bundle.lines[:13], *bundle.lines[14:]]  # a count that never was
    verification = verify(altering.numbered_anew(bundle, order))
    found = [(row.seq, row.code) for row in verification.findings]
    assert [code for _, code in found] == ["9.not_due"]
    assert statuses(verification)[9] == "fail"
    assert verification.checks[15].evidence.endswith("only 13 of 15 entries could be followed")


def test_one_change_is_one_finding_with_what_was_expected_and_found(bundle):
    turn = next(row for row in altering.events_of(bundle) if row["type"] == "turn.recorded")
    turn["data"]["vote"] = "revise"
    (finding,) = verify(altering.chained_anew(bundle, turn["seq"], turn)).findings
    assert (finding.code, finding.seq, finding.check) == ("12.vote", turn["seq"], 12)
    assert (finding.expected, finding.found) == ("release", "revise")
    row = verify(altering.chained_anew(bundle, turn["seq"], turn)).checks[11]
    assert row.evidence == f"`vote` is not what the reply says (entry {turn['seq']})"


def test_findings_are_ordered_by_line_then_check(bundle):
    event = json.loads(bundle.lines[12])
    event["data"]["vote"] = "revise"
    broken = replace(
        altering.as_it_stands(bundle, 13, event),
        templates={},
        blobs=dict(bundle.blobs) | {"ab" * 32: b"x"},
    )
    found = [(row.seq, row.check) for row in verify(broken).findings]
    assert found == sorted(found)
    assert len(found) > 4
    more = next(row for row in verify(broken).checks if row.name == "templates")
    assert "more)" in more.evidence


def test_lines_out_of_time(bundle):
    event = json.loads(bundle.lines[4]) | {"at": "2001-01-01T00:00:00.000000Z"}
    found = verify(altering.chained_anew(bundle, 5, event)).findings
    assert [(row.seq, row.code) for row in found] == [(5, "6.order")]
    assert found[0].found == "2001-01-01T00:00:00.000000Z"


def test_a_verification_is_json_and_cannot_be_changed(bundle):
    verification = verify(bundle)
    again = type(verification).model_validate_json(verification.model_dump_json())
    assert again == verification
    with pytest.raises(ValidationError):
        verification.level = 2


@pytest.mark.parametrize("code", ["", "vote", "12", "12.", "12.Vote", "12.vote!"])
def test_a_findings_code_is_check_and_defect(code):
    with pytest.raises(ValidationError):
        Finding(code=code, seq=1, message="x")
