"""Every format through the engine: who is asked when, what ends it, and the same again offline."""

from __future__ import annotations

import asyncio
import json
import threading
from hashlib import sha256

import pytest

from formats import FORMATS, PLAYED
from hansard.errors import UsageError
from hansard.runtime.clock import Clock
from hansard.runtime.models.base import Completion, ModelError
from instant import GUARD
from playing import POSITIONS, answer, script, weak
from support import argued

# What is played, how it ends, and the steps in the order of their turns.
ENDS = {
    "consensus": (
        ("consensus", {}, {}),
        ("release", "threshold_vote", "votes_reached"),
        "r1.proposal.planner r1.proposal.critic r1.proposal.operator",
    ),
    "judged": (
        ("judged", {"verdict": {"winner": "wait"}}, {}),
        ("wait", "judge_verdict", "rounds_complete"),
        "r1.argument.ann r1.argument.bob r2.argument.ann r2.argument.bob r2.verdict.judge",
    ),
    "judged, a synthesis": (
        ("judged", {"verdict": {"winner": None}}, {"max_rounds": 1}),
        ("synthesis", "judge_verdict", "rounds_complete"),
        "r1.argument.ann r1.argument.bob r1.verdict.judge",
    ),
    "judged, one heard": (
        ("judged", {"ann": ModelError("no_reply")}, {"max_rounds": 1}),
        ("escalate", "too_few_heard", "rounds_complete"),
        "r1.argument.ann r1.argument.bob",
    ),
    "moderated": (
        ("moderated", {"moderator": {"upholds_proposition": True}}, {"max_rounds": 3}),
        ("upheld", "moderator_synthesis", "moderator_satisfied"),
        (
            "r1.framing.framer r1.proposition.proposer r1.critique.critic r1.rebuttal.rebuttal "
            "r1.moderation.moderator"
        ),
    ),
    "moderated, another round": (
        ("moderated", {"moderator": {"recommend_another_round": True}}, {"max_rounds": 2}),
        ("not_upheld", "moderator_synthesis", "max_rounds_exhausted"),
        (
            "r1.framing.framer r1.proposition.proposer r1.critique.critic r1.rebuttal.rebuttal "
            "r1.moderation.moderator "
            "r2.proposition.proposer r2.critique.critic r2.rebuttal.rebuttal "
            "r2.moderation.moderator"
        ),
    ),
    "moderated, positions": (
        (
            "moderated",
            {"moderator": {"ranking": ["wait", "build", "buy"]}},
            {"positions": POSITIONS, "neutrality_check": True},
        ),
        ("wait", "moderator_ranking", "moderator_satisfied"),
        (
            "r1.framing.framer r1.proposition.p1 r1.proposition.p2 r1.proposition.p3 "
            "r1.critique-1.critic r1.rebuttal-1.rebuttal "
            "r1.critique-2.critic r1.rebuttal-2.rebuttal "
            "r1.critique-3.critic r1.rebuttal-3.rebuttal r1.moderation.moderator "
            "r1.neutrality.moderator"
        ),
    ),
    "moderated, nobody attacked it": (
        ("moderated", {"critic": ModelError("no_reply")}, {}),
        ("escalate", "unchallenged", "moderator_satisfied"),
        "r1.framing.framer r1.proposition.proposer r1.critique.critic r1.moderation.moderator",
    ),
    "panel": (
        ("panel", {}, {}),
        ("ann", "most_similar", "rounds_complete"),
        "r0.draft.ann r0.draft.bob r0.draft.cat r1.draft.ann r1.draft.bob r1.draft.cat",
    ),
    "panel, converged": (
        ("panel", {"draft": "all of us say this"}, {"judge": {}}),
        ("synthesis", "judge_synthesis", "converged"),
        "r0.draft.ann r0.draft.bob r0.draft.cat r0.verdict.judge",
    ),
    "panel, picked": (
        ("panel", {"verdict": {"winner": "cat"}}, {"judge": {}, "resolution": "pick", "rounds": 1}),
        ("cat", "judge_pick", "rounds_complete"),
        (
            "r0.draft.ann r0.draft.bob r0.draft.cat r1.draft.ann r1.draft.bob r1.draft.cat "
            "r1.verdict.judge"
        ),
    ),
    "panel, options": (
        ("panel", {"cat": {"choice": "no"}}, {"options": ["yes", "no"]}),
        ("yes", "majority_vote", "rounds_complete"),
        "r0.draft.ann r0.draft.bob r0.draft.cat r1.draft.ann r1.draft.bob r1.draft.cat",
    ),
    "panel, no majority of texts": (
        ("panel", {}, {"resolution": "majority", "convergence_check": False}),
        ("escalate", "no_majority", "rounds_complete"),
        "r0.draft.ann r0.draft.bob r0.draft.cat r1.draft.ann r1.draft.bob r1.draft.cat",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_it_ends_as_its_rules_say_and_verifies(table, name):
    (format_, ends, changes), (decision, rule, reason), turns = ENDS[name]
    state = table.play(format_, script(ends), **changes)
    assert [turn.data["step"] for turn in state.turns] == turns.split()
    assert (state.decision["decision"], state.decision["rule"]) == (decision, rule)
    assert state.closed == {"outcome": "complete", "reason": reason}
    assert table.verified().findings == []


@pytest.mark.parametrize(
    ("format_", "seat", "reason"),
    [("judged", "judge", "judge_failed"), ("moderated", "moderator", "moderator_failed")],
)
def test_a_judge_or_moderator_who_cannot_be_read_fails_the_debate_with_all_of_it_kept(
    table, format_, seat, reason
):
    state = table.play(format_, script({seat: "I think that both are right."}))
    assert state.closed == {"outcome": "failed", "reason": reason}
    assert state.decision is None
    assert [row["code"] for row in table.data("turn.rejected")] == ["unreadable"] * 2
    assert len(table.data("turn.recorded")) == 4
    assert table.verified().ok


# Who is asked at once, and who sees what

PARALLEL = {
    "first proposals": ("consensus", {}, "r1.proposal", 3),
    "drafts": ("panel", {}, "r0.draft", 3),
    "revisions": ("panel", {"rounds": 2}, "r2.draft", 3),
    "propositions": ("moderated", {"positions": POSITIONS}, "r1.proposition", 3),
}


@pytest.mark.parametrize("name", PARALLEL)
def test_a_parallel_phase_is_asked_for_at_once(table, name):
    """They wait for each other: asked one by one they would run out of time."""
    format_, changes, phase, many = PARALLEL[name]
    together = threading.Barrier(many)

    def model(request):
        if request.call.startswith(phase):
            together.wait(GUARD)
        return answer(request)

    table.play(format_, model, attempts=1, **changes)
    assert not table.data("call.failed")
    turns = [row["step"] for row in table.data("turn.recorded")]
    assert len([step for step in turns if step.startswith(phase)]) == many


@pytest.mark.parametrize(
    ("format_", "changes"),
    [("judged", {}), ("moderated", {"positions": POSITIONS}), ("panel", {"judge": {}})],
)
def test_everybody_else_speaks_alone(table, format_, changes):
    now, most = [], {}

    async def model(request):
        now.append(request.call)
        phase = request.phase.partition("-")[0]
        most[phase] = max(most.get(phase, 0), len(now))
        await asyncio.sleep(0)
        now.remove(request.call)
        return answer(request)

    table.play(format_, model, **changes)
    parallel = {phase for phase, count in most.items() if count > 1}
    assert parallel == {"judged": set(), "moderated": {"proposition"}, "panel": {"draft"}}[format_]


def test_turns_of_a_parallel_round_are_recorded_in_order_whoever_is_first(table):
    async def model(request):
        await asyncio.sleep({"ann": 0.03, "bob": 0.02, "cat": 0.01}[request.speaker])
        return answer(request)

    table.play("panel", model, rounds=1)
    assert [row["call"][-5:] for row in table.data("call.answered")] == [
        "cat:1",
        "bob:1",
        "ann:1",
    ] * 2
    assert [row["speaker"] for row in table.data("turn.recorded")] == ["ann", "bob", "cat"] * 2
    assert table.verified().ok


def test_a_weak_critique_is_sent_back_once_and_the_last_one_counts(table):
    ends = {"critique:1": weak(3), "critique:2": weak(5)}
    state = table.play("moderated", script(ends))
    (rejected,) = table.data("turn.rejected")
    assert (rejected["code"], rejected["rating"], rejected["again"]) == ("weak_critique", 3, True)
    (case,) = [turn.case for turn in state.turns if turn.role == "critic"]
    assert case["rating"] == 5
    assert table.verified().ok


def test_a_weak_critique_counts_where_no_better_one_comes(table):
    ends = {"critique:1": weak(3), "critique:2": ModelError("server_error"), "critique:3": "oops"}
    state = table.play("moderated", script(ends))
    (turn,) = [turn for turn in state.turns if turn.role == "critic"]
    assert (turn.data["call"], turn.case["rating"]) == ("r1.critique.critic:1", 3)
    assert [row["code"] for row in table.data("turn.rejected")] == ["weak_critique", "unreadable"]
    assert not table.data("turn.forfeited")
    assert table.verified().ok


def test_an_argument_whose_quote_is_not_there_is_struck_and_shown_so(table):
    prompts = {}
    arguments = [argued(("memo", "thirty  days")), argued(("memo", "sixty days"))]
    ends = {"proposer": {"supporting_arguments": arguments}}

    def model(request):
        prompts[request.phase] = request.prompt
        return script(ends)(request)

    state = table.play("moderated", model)
    (case,) = [turn.case for turn in state.turns if turn.role == "proposer"]
    assert case["struck"] == [2]
    assert [row["finding"] for row in case["citations"]] == ["verified", "not_found"]
    for phase in ("critique", "rebuttal", "moderation"):
        assert "supporting_arguments 2 [STRUCK: " in prompts[phase]
        assert "supporting_arguments 1:" in prompts[phase]
    assert "argument 2, citation 1: not_found" in prompts["moderation"]


# What goes in


def test_who_asks_and_under_what_name_reaches_the_model(table):
    seen = {}

    def model(request):
        seen[request.speaker] = (request.role, request.agent_type, request.collection_id)
        return answer(request)

    given = {"name": "pro-con", "agent_types": {"debater": "worker"}}
    table.play("judged", model, output_schema={"type": "object"}, **given)
    assert seen == {
        "ann": ("debater", "worker", "pro-con"),
        "bob": ("debater", "worker", "pro-con"),
        "judge": ("judge", "primary", "pro-con"),
        "synthesizer": ("synthesizer", "primary", "pro-con"),
    }
    (opened,) = table.data("debate.opened")
    assert (opened["name"], opened["collection_id"]) == ("pro-con", "pro-con")


@pytest.mark.parametrize("format_", FORMATS)
def test_instructions_and_context_reach_every_seat_but_a_moderators_context(table, format_):
    prompts = []

    def model(request):
        prompts.append((request.role, request.prompt))
        return answer(request)

    def instructions(given, context):
        return f"Think of {given['question']} and of {context}"

    table.play(format_, model, instructions=instructions, context="the budget\nis spent")
    for role, prompt in prompts:
        assert "\nThink of Shall we? and of the budget\nis spent\n" in prompt
        told = "[context]\n| the budget\n| is spent\n" in prompt
        assert told == (role != "moderator")  # it judges what the others made of it
    (opened,) = table.data("debate.opened")
    assert table.text(opened["instructions"]).startswith("Think of Shall we?")
    assert table.text(opened["context"]) == "the budget\nis spent"


def test_instructions_of_a_panels_own_are_what_is_sent_and_recorded(table):
    seen = {}

    def model(request):
        seen.setdefault(request.role, request.prompt)
        return answer(request)

    own = {"debater_instructions": "Answer like a poet.", "judge_instructions": "Judge like one."}
    table.play("panel", model, judge={}, **own)
    assert "\nAnswer like a poet.\n\nReply with your whole answer" in seen["debater"]
    assert "In round 0, answer alone" not in seen["debater"]
    assert "\nJudge like one.\n\nReply with one JSON object" in seen["judge"]
    files = table.store.bundle(table.debate).templates
    (opened,) = table.data("debate.opened")
    hashes = {row["role"]: row["sha256"] for row in opened["templates"]}
    for role, words in (("debater", b"like a poet"), ("judge", b"like one")):
        assert words in files[hashes[role]]
        assert sha256(files[hashes[role]]).hexdigest() == hashes[role]
    assert {row["template"] for row in table.data("call.started")} == {
        hashes["debater"],
        hashes["judge"],
    }
    assert table.verified().ok


@pytest.mark.parametrize(
    ("format_", "role"),
    [("consensus", "debater"), ("judged", "judge"), ("moderated", "critic"), ("panel", "debater")],
)
def test_a_template_of_ones_own_is_sent_and_recorded(table, format_, role):
    (table.folder / "mine.md").write_text("MY OWN WORDS\n")
    seen = {}

    def model(request):
        seen[request.call] = (request.role, request.prompt)
        return answer(request)

    table.play(format_, model, prompts={role: "mine.md"})
    assert {who for who, prompt in seen.values() if prompt.endswith("MY OWN WORDS\n")} == {role}
    digest = sha256(b"MY OWN WORDS\n").hexdigest()
    sent = {row["call"] for row in table.data("call.started") if row["template"] == digest}
    assert sent == {call for call, (who, _) in seen.items() if who == role}
    assert table.verified().ok


def test_a_document_is_seen_from_its_round_on(table):
    seen = {}

    def model(request):
        seen.setdefault(request.round, []).append("| It failed twice." in request.prompt)
        return answer(request)

    table.play(
        "judged", model, evidence=[{"id": "late", "text": "It failed twice.", "from_round": 2}]
    )
    assert set(seen[1]) == {False}
    assert set(seen[2]) == {True}


# The same again, offline


def story(table):
    """What happened, without times, salts, models, and what is not known offline."""
    aside = ("reply", "latency_ms", "model", "prompt", "question", "review", "scripted", "prices")
    aside += ("context", "instructions", "cost_micro_usd", "reserved_cost_micro_usd", "text")
    aside += ("wait_ms",)
    aside += ("stance", "persona", "result", "arguments", "limits", "parameters", "tools")
    aside += ("reserved_tokens_in", "reserved_tokens_out")
    rows = [
        (event["type"], {key: row for key, row in event["data"].items() if key not in aside})
        for event in table.events
    ]
    return sorted(json.dumps(row) for row in rows)


def eventful(request):
    """Fail, stammer, be weak, cite what is not there: once each, where the format lets one."""
    attempt = int(request.call.rpartition(":")[2])
    if request.speaker in ("critic", "bob") and attempt == 1 and request.round == 1:
        raise ModelError("rate_limited", "http-429")
    if request.role in ("framer", "judge") and attempt == 1:
        return "Let me think about that."
    if request.phase == "critique":
        return weak(4 if attempt == 2 else 8)
    if request.phase == "proposition":
        return {**answer(request), "supporting_arguments": [argued(("memo", "made up"))]}
    if request.speaker == "operator":
        raise ModelError("no_reply")
    text = answer(request)
    text = text if isinstance(text, str) else json.dumps(text)
    return Completion(text, tokens_in=100, tokens_cached=10, tokens_out=5)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_record_answers_again_to_the_same_turns(table, format_):
    first = table.play(format_, eventful, **PLAYED[format_].rich)
    before, recorded = story(table), table.debate
    assert table.verified().ok
    second = table.play(format_, f"recorded:{recorded}", **PLAYED[format_].rich)
    assert table.debate != recorded
    assert [turn.data for turn in second.turns] == [
        turn.data | ({"text": again.data["text"]} if "text" in turn.data else {})
        for turn, again in zip(first.turns, second.turns, strict=True)
    ]
    assert story(table) == before
    assert second.closed == first.closed
    assert table.data("debate.opened")[0]["scripted"]
    assert table.verified().ok


# What is refused before anything is recorded


class NoClock(Clock):
    def debate_id(self):
        raise AssertionError("nothing is opened")


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_is_recorded_where_a_callable_is_missing(table, format_):
    with pytest.raises(UsageError) as caught:
        table.play(format_, "python:other", clock=NoClock())
    assert caught.value.code == "model.not_given"
    assert table.store.debates() == []
