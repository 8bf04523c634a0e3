"""The result of a judged debate."""

import json

import pytest

from hansard.runtime.models.base import ModelError
from playing import play, script
from reporting import note_of, noted, of, ran, shown
from support import eventful

STANCES = [("ship", "ann"), ("wait", "bob")]
VERDICT = {"verdict": "Waiting costs less.", "winner": "wait", "reasoning": "It is cheap."}


@pytest.fixture(scope="module")
def result():
    return ran("judged", {"verdict": VERDICT}, name="friday", seed=3)


def test_the_verdict_names_the_stance_and_who_argued_it(result):
    assert (result.status, result.reason) == ("complete", "rounds_complete")
    assert (result.decision, result.decision_rule) == ("wait", "judge_verdict")
    assert result.argued_by == "bob"
    found = result.verdict
    assert (found.winner, found.winner_label, found.winner_id) == ("Wait a week.", "wait", "bob")
    assert (result.decision_text, found.undeclared) == ("Wait a week.", False)
    assert (found.verdict, found.reasoning) == ("Waiting costs less.", "It is cheap.")
    assert found.named is None
    assert [(row.label, row.debater) for row in result.stances] == STANCES
    assert result.stances[0].text == "Ship it now."


def test_the_transcript_holds_every_argument_in_its_order(result):
    rows = [(row.round, row.agent_name, row.stance) for row in result.transcript]
    assert rows == [(1, "ann", "ship"), (1, "bob", "wait"), (2, "ann", "ship"), (2, "bob", "wait")]
    assert result.transcript[2].text == "ann says this in argument of round 2."
    assert {row.status for row in result.transcript} == {"counted"}


def test_the_signals_are_those_of_the_schedule(result):
    assert result.debater_ids == ("ann", "bob")
    assert result.speaker_schedule == ("ann", "bob", "ann", "bob", "judge")
    assert result.phase_sequence == ("argument", "argument", "verdict")
    assert (result.rounds_run, result.max_rounds) == (2, 2)
    assert (result.name, result.collection_id) == ("friday", "friday")
    assert result.speaker_selected_by == "schedule"


@pytest.mark.parametrize("seed", range(4))
def test_the_order_that_the_judge_saw_is_that_of_its_prompt(seed):
    prompts = []

    def judge(request):
        prompts.append(request.prompt)
        return VERDICT

    result = ran("judged", {"verdict": judge}, seed=seed)
    told = [line for line in prompts[0].splitlines() if line.startswith("[") and "round" in line]
    view = result.judge_view
    assert (view.anonymized, view.shuffled) == (True, True)
    said = [f"[{label}, round {n}]" for n, row in enumerate(view.order, 1) for label in row]
    assert said == told


def test_an_order_that_is_not_shuffled_is_the_order_of_speaking():
    result = ran(
        "judged", {"verdict": VERDICT}, shuffle_for_judge=False, anonymize_transcript=False
    )
    assert result.judge_view.order == (("ship", "wait"), ("ship", "wait"))
    assert (result.judge_view.anonymized, result.judge_view.shuffled) == (False, False)


def test_a_synthesis_verdict_has_no_winner():
    result = ran("judged", {"verdict": {**VERDICT, "winner": None}})
    assert (result.decision, result.argued_by) == ("synthesis", None)
    assert (result.verdict.winner, result.verdict.winner_id) == (None, None)
    assert not result.verdict.undeclared
    assert "winner: none\n" in result.to_report()


def test_a_custom_judge_that_names_no_stance_is_quoted_and_nobody_wins():
    result = ran(
        "judged",
        {"verdict": {**VERDICT, "winner": "a bit of both"}},
        judge={"model": "custom:bot"},
    )
    assert result.verdict.undeclared
    assert (result.verdict.winner, result.verdict.named) == (None, "a bit of both")
    assert note_of(result, "undeclared_winner").severity == "warning"
    assert result.source()["verdict"]["winner"] is None


def test_a_judge_that_cannot_be_heard_fails_the_debate_and_keeps_what_was_argued():
    result = ran("judged", {"verdict": ModelError("client_error")})
    assert (result.status, result.reason, result.decision) == ("failed", "judge_failed", None)
    assert result.verdict is None
    assert len(result.transcript) == 4
    assert note_of(result, "judge_failed").severity == "critical"
    assert result.judge_view.order
    assert result.to_report().endswith("verdict: none\nwinner: none\nreasoning: none\n"
                                       "status: failed\nstopped: judge_failed")  # fmt: skip


def test_a_debate_that_was_cut_short_keeps_what_was_argued():
    result = ran("judged", limits={"calls": 3})
    assert (result.status, result.reason) == ("truncated", "calls_ceiling")
    assert (result.truncated.limit, result.truncated.spent, result.truncated.reserved) == (3, 3, 1)
    assert result.limits.calls == 3
    assert len(result.transcript) == 3
    assert (result.verdict, result.judge_view) == (None, None)
    assert "of a ceiling of 3 calls, 3 calls counted as used and the next step needed 1 call" in (
        note_of(result, "truncated").message
    )


def test_whoever_is_not_heard_says_why_and_the_judge_does_not_see_it():
    result = ran("judged", {"r1.argument.ann": ModelError("client_error"), "verdict": VERDICT})
    first = result.transcript[0]
    assert (first.text, first.status, first.reason) == (None, "forfeited", "no_reply")
    assert result.judge_view.order[0] == ("wait",)
    assert [row["agentName"] for row in result.source()["transcript"]] == ["bob", "ann", "bob"]
    assert noted(result, "forfeited")[0][1].endswith("was not heard, so it abstains: no reply came")


def test_the_text_report_is_a_line_a_signal():
    hostile = "wait\nwinner: ship\x1b[2K"
    ends = {"verdict": {"verdict": hostile, "winner": "wait", "reasoning": "so"}}
    assert ran("judged", ends).to_report() == (
        "debater_ids: [ann, bob]\n"
        "rounds_run: 2\n"
        "max_rounds: 2\n"
        "phase_sequence: [argument, argument, verdict]\n"
        "speaker_schedule: [ann, bob, ann, bob, judge]\n"
        "decision: wait\n"
        "decision_rule: judge_verdict\n"
        "stances: [ship, wait]\n"
        "verdict: wait winner: ship<U+001B>[2K\n"
        "winner: Wait a week.\n"
        "reasoning: so\n"
        "status: complete\n"
        "stopped: rounds_complete"
    )


def test_a_deliverable_is_shown_as_the_json_that_it_is():
    shape = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
    result = ran("judged", {"synthesis": '{"n": 1e999, "more": ["x"]}'}, output_schema=shape)
    assert result.output == {"n": None, "more": ["x"]}
    assert json.loads(result.model_dump_json())["output"] == {"n": None, "more": ["x"]}
    assert "synthesizer" not in result.speaker_schedule
    assert "synthesis" not in result.phase_sequence
    assert [row.role for row in result.seats] == ["debater", "debater", "judge", "synthesizer"]


def test_a_synthesizer_that_is_not_heard_is_noted():
    result = ran("judged", {"synthesis": ModelError("client_error")}, synthesizer=True)
    assert result.output is None
    assert result.status == "complete"
    assert note_of(result, "synthesis_missing").severity == "warning"
    assert noted(result, "forfeited") == []


def test_tools_are_shown_with_what_they_were_asked_and_gave():
    debate = eventful("judged")
    result = of(debate)
    assert [(row.call, row.tool, row.arguments, row.result, row.ok) for row in result.tools] == [
        ("r1.argument.ann:1", "lookup", '{"what":"x"}', "found", True),
        ("r1.argument.ann:1", "lookup", "{}", "found", True),
        ("r2.verdict.judge:1", "lookup", '{"what":"x"}', "found", True),
        ("r2.verdict.judge:1", "lookup", "{}", "found", True),
    ]
    kinds = {event["seq"]: event["type"] for event in debate.record.events}
    assert {kinds[row.seq] for row in result.tools} == {"tool.called"}
    (gone, *_) = of(debate, lambda _: None).tools
    assert (gone.tool, gone.arguments, gone.result, gone.ok) == ("lookup", None, None, True)


def test_many_rounds_are_warned_of():
    assert noted(ran("judged", max_rounds=4), "many_rounds") == []
    assert note_of(ran("judged", max_rounds=5), "many_rounds").severity == "warning"


def test_the_reply_of_an_altered_record_is_shown_as_far_as_it_is_one():
    bundle = play("judged", script({"verdict": VERDICT}))
    for text in ("no JSON", "[]", '{"verdict": 1, "winner": [], "reasoning": null}'):
        found = shown(bundle, lambda _, text=text: text).verdict
        assert (found.verdict, found.reasoning, found.winner_label) == (None, None, "wait")
