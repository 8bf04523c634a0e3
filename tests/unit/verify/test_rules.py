"""Checks 9 to 16 on a record of every format: each fact that follows is derived again."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import altering
from formats import FORMATS
from hansard.runtime.models.base import Completion, ModelError, ToolCall
from hansard.verify.verifier import verify
from hansard.vocabulary import many
from playing import MODEL, POSITIONS, answer, data, play, script, weak
from support import answered, argued

EVIDENCE = [{"id": "memo", "text": "Payment is due within thirty days."}]
ARGUED = {
    "proposition": {
        "supporting_arguments": [argued(("memo", "thirty days")), argued(("memo", "sixty days"))]
    },
    "critique:1": weak(4),
    "critique": {
        "counter_arguments": [argued(("memo", "due")), argued(("none", "x")), argued()],
        "challenge_strength": 7,
    },
    "rebuttal": {"rebuttals": [answered(1)], "concessions": []},
    "moderation": {"upholds_proposition": True, "resolved_points": ["a"]},
}


def using_a_tool(request):
    if request.speaker == "ann" and request.call.endswith(":1"):
        return Completion("let me see", tool_calls=(ToolCall("look", "{}"),) * 2)
    return answer(request)


def stating(request):
    """Say what it used: more than nothing, less than was reserved."""
    reply = answer(request)
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return Completion(text, tokens_in=300, tokens_out=900)


PRICES = {MODEL: {"input": "2", "output": "8"}}
PLAYED = {
    **{format_: (format_, answer, {}) for format_ in FORMATS},
    "judged": ("judged", answer, {"synthesizer": True}),
    "judged, with tools": ("judged", using_a_tool, {"tools": ["look"], "max_rounds": 1}),
    "moderated": ("moderated", script(ARGUED), {"evidence": EVIDENCE, "neutrality_check": True}),
    "moderated, positions": ("moderated", answer, {"positions": POSITIONS}),
    "panel, a judge": ("panel", answer, {"judge": {}, "rounds": 1}),
    "panel, picked": ("panel", answer, {"judge": {}, "resolution": "pick", "rounds": 1}),
    "panel, options": ("panel", script({"cat": {"choice": "no"}}), {"options": ["yes", "no"]}),
    "panel, chosen": ("panel", answer, {"options": ["yes", "no"], "judge": {}}),
    "panel, of texts": (
        "panel",
        script({"cat": "No!"}),
        {"resolution": "majority", "convergence_check": False},
    ),
    "calls": ("panel", answer, {"limits": {"calls": 4}}),
    "tokens": ("panel", stating, {"limits": {"tokens": 20_000}, "rounds": 9}),
    "cost": ("moderated", stating, {"prices": PRICES, "limits": {"cost_usd": "0.05"}}),
    "seconds": ("judged", answer, {"limits": {"seconds": 1e-6}}),
    "failed": ("judged", script({"judge": ModelError("no_reply")}), {}),
}


@pytest.fixture(scope="module")
def records():
    """The records, each made when it is first asked for."""
    made = {}

    def record(name):
        if name not in made:
            format_, model, changes = PLAYED[name]
            tools = {"look": lambda: "it"} if "tools" in changes else None
            made[name] = play(format_, model, use=tools, **changes)
        return made[name]

    return record


def statuses(verification):
    return {row.number: row.status for row in verification.checks}


def evidence(verification):
    return {row.number: row.evidence for row in verification.checks}


def changed(bundle, kind, field, value, which=0):
    """The record with one field of the n-th event of a type changed; and that event's place."""
    rows = [event for event in altering.events_of(bundle) if event["type"] == kind]
    event = rows[which]
    target = event["data"]
    *path, last = field.split(".")
    for name in path:
        target = target[name]
    assert target[last] != value, "a change changes"
    target[last] = value
    return altering.chained_anew(bundle, event["seq"], event), event["seq"]


NEVER = {"sha256": "0" * 64}
CHANGES = [
    # 12 replies
    ("consensus", "turn.recorded", "vote", "revise", "12.vote"),
    ("judged", "turn.recorded", "vote", "ship", "12.vote"),
    ("judged", "verdict.recorded", "winner", "bob", "12.winner"),
    ("judged", "verdict.recorded", "winner", None, "12.winner"),
    ("judged", "verdict.recorded", "undeclared", True, "12.undeclared"),
    ("judged", "synthesis.recorded", "schema", "0" * 64, "12.schema"),
    ("judged", "verdict.recorded", "round", 1, "9.round"),
    ("judged", "synthesis.recorded", "speaker", "judge", "9.speaker"),
    ("moderated", "turn.recorded", "case.arguments", 9, "12.arguments", 1),
    ("moderated", "turn.recorded", "case.rating", 9, "12.rating", 2),
    ("moderated", "turn.recorded", "case.unanswered", [], "12.unanswered", 3),
    ("moderated", "turn.recorded", "case", None, "12.case", 3),
    ("moderated", "turn.rejected", "rating", 5, "12.rating"),
    ("moderated", "turn.rejected", "code", "schema", "12.code"),
    ("moderated", "verdict.recorded", "upholds", False, "12.upholds"),
    ("moderated", "verdict.recorded", "confidence", "LOW", "12.confidence"),
    ("moderated", "verdict.recorded", "resolved", 2, "12.resolved"),
    ("moderated", "verdict.recorded", "unresolved", 2, "12.unresolved", 1),
    ("moderated", "verdict.recorded", "uncertainties", 2, "12.uncertainties"),
    ("moderated", "verdict.recorded", "scores", [], "12.scores"),
    ("moderated", "verdict.recorded", "another_round", True, "12.another_round"),
    ("moderated, positions", "verdict.recorded", "ranking", ["p2", "p1", "p3"], "12.ranking"),
    ("panel, picked", "verdict.recorded", "winner", "bob", "12.winner"),
    ("panel, chosen", "verdict.recorded", "choice", "no", "12.choice"),
    # 13 citations
    ("moderated", "turn.recorded", "case.struck", [], "13.struck", 1),
    ("moderated", "turn.recorded", "case.citations", [], "13.citations", 1),
    # 14 counts and comparisons
    ("panel", "similarity.measured", "heard", 2, "14.heard"),
    ("panel", "similarity.measured", "measure", "whole", "14.measure"),
    ("panel", "similarity.measured", "pairs", [], "14.pairs"),
    ("panel", "similarity.measured", "threshold_ppm", 1, "14.threshold_ppm"),
    ("panel", "similarity.measured", "converged", True, "14.converged"),
    ("panel", "similarity.measured", "round", 7, "14.round"),
    ("panel, options", "similarity.measured", "converged", True, "14.converged"),
    ("panel, options", "votes.counted", "threshold", 1, "14.threshold"),
    ("panel, options", "votes.counted", "abstentions", 1, "14.abstentions"),
    ("panel, options", "votes.counted", "reached", False, "14.reached"),
    ("panel, of texts", "votes.counted", "tally", [], "14.tally"),
    # 15 limits
    ("calls", "debate.truncated", "spent", 3, "15.spent"),
    ("calls", "debate.truncated", "limit", 5, "15.limit"),
    ("calls", "debate.truncated", "reserved", 2, "15.reserved"),
    ("calls", "debate.truncated", "step", "r1.draft.ann", "15.step"),
    ("tokens", "debate.truncated", "spent", 19_000, "15.spent"),
    ("cost", "debate.truncated", "limit", 1, "15.limit"),
    ("seconds", "debate.truncated", "reserved", 7, "15.reserved"),
    # 16 outcome
    ("judged", "decision.reached", "decision", "bob", "16.decision"),
    ("judged", "decision.reached", "rule", "judge_pick", "16.rule"),
    ("judged", "decision.reached", "rounds_run", 1, "16.rounds_run"),
    ("panel", "decision.reached", "score_ppm", 1, "16.score_ppm"),
    ("panel", "decision.reached", "decision", "bob", "16.decision"),
    ("panel, options", "decision.reached", "votes", 3, "16.votes"),
    ("panel, options", "decision.reached", "threshold", 1, "16.threshold"),
    ("moderated", "decision.reached", "decision", "not_upheld", "16.decision"),
    ("panel", "debate.closed", "reason", "converged", "16.reason"),
    ("calls", "debate.closed", "outcome", "complete", "16.outcome"),
    ("failed", "debate.closed", "reason", "moderator_failed", "16.reason"),
    # 9 schedule
    ("judged, with tools", "tool.called", "number", 7, "9.number"),
    ("judged, with tools", "tool.called", "call", "r1.argument.bob:1", "9.call"),
]


@pytest.mark.parametrize("change", CHANGES, ids=[f"{row[0]} {row[1]} {row[2]}" for row in CHANGES])
def test_one_field_that_does_not_follow_is_one_finding_where_it_stands(records, change):
    name, kind, field, value, code, *which = change
    bundle, seq = changed(records(name), kind, field, value, *which)
    found = verify(bundle)
    assert [(row.code, row.seq) for row in found.findings] == [(code, seq)]
    assert statuses(found)[int(code.partition(".")[0])] == "fail"
    assert found.verdict == "ALTERED"


def test_a_call_that_could_have_broken_a_ceiling_is_found(records):
    """The limit of the opening is an input; what was called above it is not."""
    for calls, seqs in ((3, 1), (2, 2), (1, 3)):
        bundle, _ = changed(records("calls"), "debate.opened", "limits.calls", calls)
        found = verify(bundle).findings
        assert [row.code for row in found] == ["15.ceiling"] * seqs + ["15.limit"]
        started = [
            event["seq"] for event in altering.events_of(bundle) if event["type"] == "call.started"
        ]
        assert [row.seq for row in found][:-1] == started[calls:]
        assert (found[0].expected, found[0].found) == (calls, calls)


@pytest.mark.parametrize(("name", "limit"), [("tokens", "tokens"), ("cost", "cost_micro_usd")])
def test_so_is_one_whose_reserve_is_made_small(records, name, limit):
    bundle = records(name)
    first = data(bundle, "call.started")[0]
    least = first["reserved_tokens_in"] + first["reserved_tokens_out"] - 1
    least = least if name == "tokens" else first["reserved_cost_micro_usd"] - 1
    found = verify(changed(bundle, "debate.opened", f"limits.{limit}", least)[0]).findings
    assert found[0].code == "15.ceiling"


@pytest.mark.parametrize("name", PLAYED)
def test_a_whole_record_passes_and_says_truly_what_was_looked_at(records, name):
    bundle = records(name)
    found = verify(bundle)
    assert found.findings == []
    assert {status for number, status in statuses(found).items() if number >= 4} == {"pass"}
    said = evidence(found)
    turns = data(
        bundle, "turn.recorded", "verdict.recorded", "synthesis.recorded", "turn.forfeited"
    )
    calls = many(len(data(bundle, "call.started")), "call")
    assert said[9] == f"{many(len(turns), 'turn')} and {calls}, each due when it was recorded"
    assert said[11] == f"{calls} recomputed".replace("call", "prompt")


SAID = {
    "consensus": {
        10: "templates, schemas, tools and policy are as the opening names them",
        12: "3 replies looked at again, 0 rejected",
        13: "0 citations looked up again, 0 found",
        14: "1 count and 0 comparisons recomputed",
        15: "costs of 3 calls recomputed; no call could exceed a ceiling",
        16: "release by threshold_vote, recomputed",
    },
    "judged": {
        12: "6 replies looked at again, 0 rejected; "
        "whether the synthesis fits its schema is not checked",
        14: "0 counts and 0 comparisons recomputed",
        16: "ship by judge_verdict, recomputed",
    },
    "judged, with tools": {12: "4 replies looked at again, 0 rejected"},
    "moderated": {
        12: "7 replies looked at again, 1 rejected",
        13: "4 citations looked up again, 2 found",
        16: "upheld by moderator_synthesis, recomputed",
    },
    "panel": {14: "0 counts and 2 comparisons recomputed", 16: "ann by most_similar, recomputed"},
    "panel, options": {14: "1 count and 2 comparisons recomputed"},
    "calls": {
        15: "costs of 4 calls recomputed; no call could exceed a ceiling",
        16: "truncated: calls_ceiling, recomputed",
    },
    "failed": {16: "failed: judge_failed, recomputed"},
}


@pytest.mark.parametrize("name", SAID)
def test_the_evidence_of_each_check(records, name):
    found = verify(records(name))
    for number, words in SAID[name].items():
        assert evidence(found)[number] == words


def test_a_debate_whose_deliverable_was_cut_short_still_has_its_decision():
    bundle = play("judged", limits={"calls": 5}, synthesizer=True)
    found = verify(bundle)
    assert found.findings == []
    assert evidence(found)[16] == "ship by judge_verdict, recomputed"


# Where a text is gone


def without(bundle, *names):
    """The record without these texts."""
    return replace(bundle, blobs={k: v for k, v in bundle.blobs.items() if k not in names})


def replies(bundle, part):
    return [row["reply"]["sha256"] for row in data(bundle, "call.answered") if part in row["call"]]


RESTS_ON_REPLIES = (12, 13, 14, 16)
GONE = {
    "consensus": "planner",
    "judged": "judge",
    "moderated": "critic",
    "moderated, positions": "r1.rebuttal-2",
    "panel": "r1.draft.bob",
    "panel, a judge": "verdict",
    "panel, options": "cat",
    "panel, of texts": "r1.draft.ann",
    "calls": "r0.draft",
}


@pytest.mark.parametrize("name", GONE)
def test_what_rests_on_a_reply_that_is_gone_is_unchecked(records, name):
    bundle = records(name)
    gone = replies(bundle, GONE[name])
    assert gone
    found = verify(without(bundle, *gone))
    assert {row.code for row in found.findings} == {"8.missing"}
    now = statuses(found)
    assert {now[number] for number in RESTS_ON_REPLIES} == {"unchecked"}
    assert {now[number] for number in (9, 10, 11, 15)} == {"pass"}
    for number in RESTS_ON_REPLIES:
        taken = "what rests on them is taken as recorded"
        assert evidence(found)[number] == f"{many(len(gone), 'reply')} gone: {taken}"
    turns = len(data(bundle, "turn.recorded", "verdict.recorded", "synthesis.recorded"))
    assert found.caveats[-1].endswith(f" of {turns} turns unchecked")


def test_a_deliverable_that_is_gone_is_unchecked_and_follows_its_reply(records):
    bundle = records("judged")
    (text,) = [row["text"]["sha256"] for row in data(bundle, "synthesis.recorded")]
    found = verify(without(bundle, text))
    assert {row.code for row in found.findings} == {"8.missing"}
    assert statuses(found)[12] == "unchecked"


def test_citations_from_a_document_that_is_gone_are_unchecked(records):
    bundle = records("moderated")
    (document,) = [row["text"]["sha256"] for row in data(bundle, "evidence.admitted")]
    found = verify(without(bundle, document))
    assert {row.code for row in found.findings} == {"8.missing"}
    now = statuses(found)
    assert {now[number] for number in (12, 13, 16)} == {"unchecked"}
    assert {now[number] for number in (9, 10, 11, 14, 15)} == {"pass"}
    assert evidence(found)[13] == "a document is gone: what rests on it is taken as recorded"
    (counted,) = found.caveats
    assert counted.endswith(" texts present, 1 missing")


def test_a_document_that_nobody_cites_from_may_be_gone():
    bundle = play("judged", evidence=EVIDENCE)
    (document,) = [row["text"]["sha256"] for row in data(bundle, "evidence.admitted")]
    found = verify(without(bundle, document))
    assert {statuses(found)[number] for number in range(9, 17)} == {"pass"}


@pytest.mark.parametrize("kind", ["tool.called", "tool.returned"])
def test_what_a_tool_gave_may_be_gone(records, kind):
    """It stands in prompts alone, and they are known by their recipes."""
    bundle = records("judged, with tools")
    names = [
        row["sha256"] for event in data(bundle, kind) for row in event.values()
        if isinstance(row, dict)
    ]  # fmt: skip
    found = verify(without(bundle, *names))
    assert {row.code for row in found.findings} == {"8.missing"}
    assert {statuses(found)[number] for number in range(9, 17)} == {"pass"}


def test_a_definition_of_a_tool_is_looked_at(records):
    bundle = records("judged, with tools")
    (row,) = data(bundle, "debate.opened")[0]["tools"]
    rest = {name: body for name, body in bundle.templates.items() if name != row["sha256"]}
    for templates, code in (
        (rest, "10.missing"),
        ({**rest, row["sha256"]: b"{}"}, "10.hash"),
        ({**bundle.templates, "0" * 64: b"{}"}, "10.unnamed"),
    ):
        found = verify(replace(bundle, templates=templates)).findings
        assert [finding.code for finding in found] == [code]
        assert code == "10.unnamed" or "tool look " in found[0].message


@pytest.mark.parametrize("format_", FORMATS)
def test_a_record_that_was_cut_off_anywhere_is_open_and_whole(records, format_):
    bundle = records(format_)
    for length in range(1, len(bundle.lines)):
        lines = bundle.lines[:length]
        text = b"".join(lines)
        blobs = {k: v for k, v in bundle.blobs.items() if k.encode() in text}
        head = altering.head_of(lines)
        found = verify(replace(bundle, lines=lines, blobs=blobs, head=head))
        assert found.findings == []
        assert found.open
        decided = any(json.loads(line)["type"] == "decision.reached" for line in lines)
        assert ("still open" in evidence(found)[16]) is not decided
