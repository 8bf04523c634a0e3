"""Tool rounds within a turn, and what a synthesizer delivers (D 15, D 20)."""

import json

import pytest

from hansard.rules.replay import Difference, NotDue
from support import Debate, Die, Fail, Reply, Setup, eventful, prompts, say, script, titles, walk

USE = Reply("", tools=[("lookup", '{"what": "x"}'), ("lookup", "{}")])
ONE = Reply("", tools=[("lookup", "{}")])
ANN = "r0.draft.ann"


def run(ends, **fields):
    fields = {"tools": ["lookup"], "debaters": ("ann", "bob"), "rounds": 1} | fields
    return Debate(Setup("panel", **fields), script(ends)).run()


def kinds(debate, step):
    """The types of a step's events, in order."""
    return [
        event["type"]
        for event in debate.record.events
        if event["data"].get("step") == step
        or event["data"].get("call", "").rpartition(":")[0] == step
    ]


def test_tools_are_announced_right_after_the_reply_and_each_round_is_an_attempt():
    debate = run({f"{ANN}:1": USE})
    assert kinds(debate, ANN) == [
        *("call.started", "call.answered", "tool.called", "tool.called"),
        *("tool.returned", "tool.returned"),
        *("call.started", "call.answered", "turn.recorded"),
    ]
    answered = next(
        n for n, row in enumerate(debate.record.events) if row["data"].get("tools") == 2
    )
    after = debate.record.events[answered + 1 : answered + 3]
    assert [(row["type"], row["data"]["number"]) for row in after] == [
        ("tool.called", 1),
        ("tool.called", 2),
    ]
    assert debate.state.turns[0].data["call"] == f"{ANN}:2"
    assert debate.state.rejections == 0
    assert walk(debate.record.events, debate.record.texts.get) == []


def test_a_model_sees_its_tools_results_and_nobody_else_does():
    debate = run({f"{ANN}:1": USE, f"{ANN}:2": ONE})
    found = {call: row["user"] for call, row in prompts(debate).items()}
    own = ["tool lookup, arguments", "tool lookup, result"]
    assert titles(found[f"{ANN}:1"]) == ["question"]
    assert titles(found[f"{ANN}:2"]) == ["question", *own * 2]
    assert titles(found[f"{ANN}:3"]) == ["question", *own * 3]
    assert (
        '[tool lookup, arguments]\n| {"what": "x"}\n[tool lookup, result]\n| found\n'
        in found[f"{ANN}:2"]
    )
    assert [call for call, text in found.items() if "tool" in text] == [f"{ANN}:2", f"{ANN}:3"]


def test_a_tool_of_no_known_name_is_quoted_and_never_a_title():
    debate = Debate(Setup("panel", tools=["lookup"], debaters=("ann", "bob")), script({ANN: ONE}))
    unknown = debate.record.blob("no name]\n| at all")
    plain = debate.add
    debate.add = lambda fact: plain(
        fact._replace(data={**fact.data, "tool": unknown}) if fact.type == "tool.called" else fact
    )
    while f"{ANN}:2" not in debate.asked:
        debate.do(debate.due())
    shown = prompts(debate)[f"{ANN}:2"]["user"]
    assert titles(shown)[1:] == [
        "tool of no known name, arguments",
        "tool of no known name, result",
    ]


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_tool_rounds_in_a_turn_are_bounded(rounds):
    debate = run({ANN: ONE}, tool_rounds=rounds)
    calls = [row for row in debate.record.all("call.started") if row["step"] == ANN]
    assert len(calls) == rounds + 3  # and three tries, none of which is a turn
    rejected = [row["code"] for row in debate.record.all("turn.rejected")]
    assert rejected == ["not_finished"] * 3
    assert len(debate.record.all("tool.called")) == rounds
    assert [turn.data["step"] for turn in debate.state.turns if not turn.heard] == [ANN]


def test_each_turn_has_rounds_of_its_own():
    debate = run({"ann:1": ONE, "r0.draft.ann:1": ONE, "r1.draft.ann:1": ONE}, tool_rounds=1)
    assert len(debate.record.all("tool.called")) == 2
    assert all(turn.heard for turn in debate.state.turns)


def test_where_no_tools_are_offered_asking_for_one_is_no_turn():
    debate = run({f"{ANN}:1": ONE}, tools=[])
    assert debate.record.all("tool.called") == []
    assert [row["code"] for row in debate.record.all("turn.rejected")] == ["not_finished"]


@pytest.mark.parametrize("end", [Fail("timeout"), Reply("", finish="refusal"), Die()])
def test_what_a_tool_found_is_kept_for_the_next_try(end):
    debate = run({f"{ANN}:1": ONE, f"{ANN}:2": end})
    found = prompts(debate)
    assert titles(found[f"{ANN}:3"]["user"]) == titles(found[f"{ANN}:2"]["user"])
    assert debate.state.turns[0].heard


def test_nothing_else_is_due_before_all_tools_are_announced():
    debate = run({f"{ANN}:1": USE})
    events = debate.record.events
    first = next(n for n, row in enumerate(events) if row["type"] == "tool.called")
    for end in (first, first + 1):
        for kind in ("tool.returned", "call.started", "debate.resumed", "turn.rejected"):
            with pytest.raises(NotDue) as caught:
                walk([*events[:end], {**events[end], "type": kind}], debate.record.texts.get)
            assert caught.value.due == "tool.called"


def test_only_a_tool_that_is_out_comes_back():
    debate = run({f"{ANN}:1": USE})
    events = debate.record.events
    back = next(n for n, row in enumerate(events) if row["type"] == "tool.returned")
    for change in ({"number": 3}, {"call": f"{ANN}:2"}, {"call": "r9.draft.eve:1"}):
        wrong = {**events[back], "data": {**events[back]["data"], **change}}
        with pytest.raises(NotDue) as caught:
            walk([*events[:back], wrong], debate.record.texts.get)
        assert caught.value.due == "the end of an open call"  # bob's
    with pytest.raises(NotDue):
        walk([*events[: back + 1], events[back]], debate.record.texts.get)


def test_a_reply_that_asks_for_no_tools_has_none():
    debate = run({})
    events = list(debate.record.events)
    place = next(n for n, row in enumerate(events) if row["type"] == "call.answered")
    events[place] = {**events[place], "data": {**events[place]["data"], "tools": 1}}
    found = walk(events, debate.record.texts.get)
    assert found == [(place + 1, Difference("tools", 0, 1))]


# The synthesizer


SHAPE = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


def delivered(ends=None, **fields):
    return Debate(Setup("judged", **({"output_schema": SHAPE} | fields)), script(ends)).run()


def test_after_the_decision_the_synthesizer_writes_what_the_users_schema_asks_for():
    debate = delivered({"synthesis": Reply('{"answer": "wait"}'), "verdict": say(winner="wait")})
    kinds_ = [event["type"] for event in debate.record.events]
    assert kinds_[-5:] == [
        *("decision.reached", "call.started", "call.answered"),
        *("synthesis.recorded", "debate.closed"),
    ]
    found = debate.state.synthesis
    assert (found["step"], found["speaker"]) == ("r2.synthesis.synthesizer", "synthesizer")
    assert debate.record.texts[found["text"]["sha256"]] == '{"answer": "wait"}'
    assert found["schema"] == debate.state.spec["schemas"][-1]["sha256"]
    assert debate.state.decision["decision"] == "wait"


def test_it_is_told_the_decision_its_rule_and_the_schema():
    debate = delivered()
    shown = prompts(debate)["r2.synthesis.synthesizer:1"]["user"]
    shape = json.dumps(SHAPE, sort_keys=True, separators=(",", ":"))
    assert shown.endswith(f"<synthesizer decision=ship rule=judge_verdict>\n{shape}")
    assert titles(shown)[-1] == "verdict of the judge"


def test_what_does_not_fit_the_schema_is_asked_for_again():
    ends = {"synthesis:1": Reply('{"answer": 7}'), "synthesis:2": Reply("so")}
    debate = delivered(ends)
    rejected = [row["code"] for row in debate.record.all("turn.rejected")]
    assert rejected == ["output_schema", "unreadable"]
    assert debate.state.synthesis["call"] == "r2.synthesis.synthesizer:3"


@pytest.mark.parametrize("end", [Fail("client_error"), Reply("{}"), Reply("so", finish="refusal")])
def test_a_debate_whose_deliverable_never_comes_keeps_its_decision(end):
    debate = delivered({"synthesis": end})
    assert debate.state.synthesis is None
    assert debate.state.decision["decision"] == "ship"
    assert debate.state.closed == {"outcome": "complete", "reason": "rounds_complete"}
    assert debate.record.all("turn.forfeited")[-1]["phase"] == "synthesis"


def test_there_is_none_without_a_schema_unless_it_is_asked_for():
    assert delivered(output_schema=None).record.all("synthesis.recorded") == []
    plain = delivered(output_schema=None, synthesizer=True)
    assert json.loads(plain.record.texts[plain.state.synthesis["text"]["sha256"]]) == {
        "synthesis": "so"
    }


def test_a_failed_debate_has_no_deliverable():
    debate = delivered({"verdict": Fail("client_error")})
    assert debate.state.closed["outcome"] == "failed"
    assert not any(row["role"] == "synthesizer" for row in debate.record.all("call.started"))


def test_whether_a_deliverable_fits_the_users_schema_is_an_input():
    debate = eventful("judged")
    assert "output_schema" in [row["code"] for row in debate.record.all("turn.rejected")]
    assert walk(debate.record.events, debate.record.texts.get) == []


def test_the_synthesizer_is_the_last_seat_and_has_no_stance():
    events = delivered().record.events[:6]
    assert walk(events, {}.get) == []
    for change in ({"role": "judge"}, {"stance": events[1]["data"]["stance"]}):
        last = {**events[-1], "data": {**events[-1]["data"], **change}}
        with pytest.raises(NotDue) as caught:
            walk([*events[:-1], last], {}.get)
        assert caught.value.due == "debater.registered for the synthesizer"


# What the user gives to built-in seats


def test_context_persona_and_instructions_are_given_to_every_built_in_seat():
    fields = {"context": "A small team.", "instructions": "Be brief."}
    judge = {"persona": "You are strict."}
    found = prompts(delivered(**fields, judge=judge))
    for call, row in found.items():
        persona = ["persona of judge"] if "verdict" in call else []
        own = row["user"].partition("[context]\n| A small team.\n")[2]
        assert titles(own) == persona
        assert "\nBe brief.\n<" in own


def test_a_moderator_is_told_no_context():
    """The source gives it none: it judges what the others made of it."""
    fields = {"context": "A small team.", "instructions": "Be brief."}
    debate = Debate(Setup("moderated", **fields), script()).run()
    for call, row in prompts(debate).items():
        assert "Be brief." in row["user"]
        assert ("A small team." in row["user"]) != call.split(".")[2].startswith("moderator"), call


def test_a_seat_that_a_function_fills_gets_none_of_them():
    fields = {"context": "A small team.", "instructions": "Be brief."}
    judge = {"model": "custom:board", "persona": "You are strict."}
    shown = prompts(delivered(**fields, judge=judge))["r2.verdict.judge:1"]["user"]
    for words in ("A small team.", "Be brief.", "You are strict."):
        assert words not in shown
    assert shown.endswith("<judge rounds=2 stances=ship, wait, drop>\n")
