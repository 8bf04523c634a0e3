"""Seats that a function of the user's own fills: what it may return, and what it is not told."""

from __future__ import annotations

import warnings

import pytest

from hansard import run_sync
from hansard.errors import SeatError, SpecWarning
from hansard.runtime.models.base import Completion, ToolCall
from playing import POSITIONS, answer, script

ADVOCATES = [
    {"id": "ann", "label": "ship", "stance": "Ship it now."},
    {"id": "bob", "label": "wait", "stance": "Wait a week.", "model": "custom:own"},
]
GIVEN = {"text": "so", "a mapping": {"text": "so"}, "a completion": Completion("so")}


CHANGES = {
    "its settings": lambda request: request.parameters.update(max_tokens=7, key="x"),
    "no settings": lambda request: request.parameters.clear(),
    "the schema of its reply": lambda request: request.reply_schema.clear(),
    "all schemas": lambda request: [each.clear() for each in request.schemas],
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_a_function_changes_of_its_request_is_its_own(table, what):
    def own(request):
        reply = answer(request)
        CHANGES[what](request)
        return reply

    for ask in (own, answer):  # the next debate asks with the same schemas
        table.play("judged", ask)
        assert table.verified().findings == []


def said(table, seat):
    replies = {row["call"]: table.text(row["reply"]) for row in table.data("call.answered")}
    return [replies[row["call"]] for row in table.data("turn.recorded") if row["speaker"] == seat]


@pytest.mark.parametrize("shape", GIVEN)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_debater_says_words(table, shape, is_async):
    def own(request):
        return GIVEN[shape]

    async def own_async(request):
        return GIVEN[shape]

    models = {"own": own_async if is_async else own}
    table.play("judged", models=models, debaters=ADVOCATES)
    assert said(table, "bob") == ["so", "so"]
    assert table.verified().findings == []


def test_any_other_shape_becomes_words_with_one_warning(table):
    with pytest.warns(UserWarning, match="own returned") as warned:
        table.play("judged", models={"own": lambda _: {"stance": 7}}, debaters=ADVOCATES)
    assert [str(row.message) for row in warned if row.category is UserWarning] == [
        "custom:own returned a dict, neither text nor {text}; str() made it text"
    ]
    assert said(table, "bob") == ["{'stance': 7}"] * 2
    assert table.verified().findings == []


@pytest.mark.parametrize("model", ["custom:own", "python:own"])
def test_what_is_no_reply_is_a_bug_of_the_function(table, model):
    value = None if model == "custom:own" else {"stance": 7}
    debaters = [ADVOCATES[0], ADVOCATES[1] | {"model": model}]
    with pytest.raises(SeatError) as raised:
        table.play("judged", models={"own": lambda _: value}, debaters=debaters)
    assert isinstance(raised.value.__cause__, TypeError)
    assert (raised.value.seat, raised.value.step) == ("bob", "r1.argument.bob")
    assert [row["error"] for row in table.data("call.failed")] == ["raised"]
    assert table.verified().findings == []


def test_a_judge_returns_a_mapping(table):
    seen = []

    def own(request):
        seen.append(request)
        return {"verdict": "v", "winner": "wait", "reasoning": "r"}

    state = table.play("judged", models={"own": own}, judge={"model": "custom:own"})
    assert (state.decision["decision"], state.decision["rule"]) == ("wait", "judge_verdict")
    assert (state.verdict["winner"], state.verdict["undeclared"]) == ("bob", False)
    assert "ann says this in argument of round 1." in seen[0].prompt
    assert "You are the judge" in seen[0].prompt
    assert table.verified().findings == []


def test_a_judge_of_ones_own_may_name_what_nobody_argued(table):
    """Its words are kept, nobody wins, and it is not asked again (D 13)."""
    calls = []

    def own(request):
        calls.append(request.call)
        return {"verdict": "v", "winner": "a third way", "reasoning": "r"}

    state = table.play("judged", models={"own": own}, judge={"model": "custom:own"})
    assert calls == ["r2.verdict.judge:1"]
    assert (state.verdict["winner"], state.verdict["undeclared"]) == (None, True)
    assert state.decision["decision"] == "undeclared"
    answered = table.data("call.answered")[-1]
    assert '"a third way"' in table.text(answered["reply"])
    assert table.verified().findings == []


def test_a_built_in_judge_is_asked_again_first(table):
    odd = {"winner": "a third way"}
    state = table.play("judged", script({"r2.verdict.judge:1": odd, "verdict": {"winner": "ship"}}))
    assert [row["code"] for row in table.data("turn.rejected")] == ["unknown_option"]
    assert state.decision["decision"] == "ship"
    state = table.play("judged", script({"verdict": odd}), attempts=3)
    assert [row["code"] for row in table.data("turn.rejected")] == ["unknown_option"] * 2
    assert (state.verdict["winner"], state.verdict["undeclared"]) == (None, True)
    assert table.verified().findings == []


def test_a_judge_that_returns_no_mapping_is_not_read_between_the_lines(table):
    def own(request):
        return "I find for wait."

    state = table.play("judged", models={"own": own}, judge={"model": "custom:own"})
    assert state.closed == {"outcome": "failed", "reason": "judge_failed"}
    assert [row["code"] for row in table.data("turn.rejected")] == ["unreadable"] * 2


def test_tools_that_it_asks_for_are_ignored(table):
    """It was offered none: a reply that asks for one is not finished."""
    asked = []

    def own(request):
        asked.append(request.call)
        again = request.call.endswith(":2")
        return Completion("so", tool_calls=() if again else (ToolCall("look", "{}"),))

    with pytest.warns(SpecWarning, match="fill bob; .* and tools do not reach them"):
        state = table.play(
            "judged", models={"own": own}, use={"look": lambda: "it"}, debaters=ADVOCATES
        )
    assert asked == [f"r{round_}.argument.bob:{attempt}" for round_ in (1, 2) for attempt in (1, 2)]
    answered = {row["call"]: row for row in table.data("call.answered")}
    assert {(answered[call]["finish"], answered[call]["tools"]) for call in asked} == {
        ("tool_calls", 0),
        ("stop", 0),
    }
    assert [row["code"] for row in table.data("turn.rejected")] == ["not_finished"] * 2
    assert not table.data("tool.called", "tool.returned")
    assert said(table, "bob") == ["so", "so"]
    assert state.closed["outcome"] == "complete"
    assert table.verified().findings == []


ROLES = {
    "consensus": {"debaters": [{"id": seat, "model": "custom:own"} for seat in "abc"]},
    "moderated": {"critic": {"model": "custom:own"}, "moderator": {"model": "custom:own"}},
    "moderated with positions": {
        "positions": [POSITIONS[0], {**POSITIONS[1], "model": "custom:own"}]
    },
    "panel": {"debaters": [{"id": "a", "model": "custom:own"}, {"id": "b"}], "judge": {}},
}


@pytest.mark.parametrize("name", ROLES)
def test_a_function_may_fill_a_seat_of_any_format(table, name):
    asked = []

    def own(request):
        asked.append(request.speaker)
        return answer(request)

    state = table.play(name.split()[0], models={"own": own}, **ROLES[name])
    assert asked
    assert all(turn.heard for turn in state.turns)
    assert table.verified().findings == []


TOLD = {"context": "CONTEXT", "instructions": "INSTRUCTIONS"}


def test_what_is_for_built_in_roles_is_kept_from_it_with_one_warning(table):
    seen = {}

    def keep(request):
        seen[request.speaker] = request
        return answer(request)

    def look() -> str:
        return "it"

    seats = [ADVOCATES[0] | {"persona": "PERSONA"}, ADVOCATES[1] | {"persona": "PERSONA"}]
    with pytest.warns(SpecWarning) as warned:
        table.play("judged", keep, models={"own": keep}, use={"look": look}, debaters=seats, **TOLD)
    said = "Custom functions fill bob; persona, instructions, context and tools do not reach them"
    assert [str(row.message) for row in warned if row.message.code == "custom_seats"] == [said]
    for word in ("PERSONA", "CONTEXT", "INSTRUCTIONS"):
        assert word in seen["ann"].prompt
        assert word not in seen["bob"].prompt
    assert [tool.name for tool in seen["ann"].tools] == ["look"]
    assert seen["bob"].tools == ()
    assert "Shall we?" in seen["bob"].prompt
    assert "ann says this" in seen["bob"].prompt
    assert table.verified().findings == []


@pytest.mark.parametrize("context", [None, "x"])
def test_instructions_of_a_function_that_nobody_hears_are_warned_of_once(context):
    def instruct(asked, context):
        raise AssertionError

    seats = {"model": "custom:own", "debaters": [{"stance": "Yes."}, {"stance": "No."}]}
    spec = {
        "format": "judged",
        "question": "Shall we?",
        "review": "Ann",
        "context": context,
        **seats,
    }
    with pytest.warns(SpecWarning) as warned:
        run_sync({**spec, "judge": {}, "instructions": instruct}, models={"own": answer})
    said = (
        "Custom functions fill stance_1, stance_2, judge; persona, instructions, context and tools"
    )
    (row,) = [row for row in warned if row.message.code == "custom_seats"]
    assert str(row.message) == f"{said} do not reach them"


@pytest.mark.parametrize(
    "given", [{"context": "x"}, {"instructions": "x"}, {"tools": 1}, {"persona": 1}]
)
def test_each_of_them_alone_is_warned_of_and_nothing_else_is(table, given):
    given = dict(given)
    debaters = [ADVOCATES[0], dict(ADVOCATES[1])]
    use = {"look": lambda: "it"} if given.pop("tools", None) else None
    if given.pop("persona", None):
        debaters[1]["persona"] = "p"
    with pytest.warns(SpecWarning, match="Custom functions fill bob"):
        table.play("judged", models={"own": answer}, use=use, debaters=debaters, **given)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Custom functions", SpecWarning)
        table.play("judged", models={"own": answer}, debaters=ADVOCATES)
        table.play("judged", use=use, **given)
