"""What a call sends is what it reserves: prompt, reply schema, tools, and a server's envelope."""

import json
from types import SimpleNamespace

import pytest

from hansard.record.canonical import dump
from hansard.rules.calls import Calls
from hansard.rules.formats import FORMATS
from hansard.rules.spending import BYTES_A_TOKEN
from support import PRICE, Debate, Reply, Setup, script

LOOKUP = Reply("", tools=[("lookup", "{}")])


def upcoming(debate):
    """The next call of the first step that is due, and how many bytes its prompt has."""
    files, texts = debate.setup.opening().files, debate.record.texts
    calls = Calls(debate.state, files, texts.__getitem__)
    call = calls.next(debate.due().steps[0])
    text = "".join(row.text for row in calls.messages(call.prompt))
    assert calls.size(call.prompt) == len(text.encode())
    return call, len(text.encode()), files


def test_a_call_sends_its_prompt_and_the_schema_of_its_reply():
    call, prompt, _ = upcoming(Debate(Setup("panel"), script()))
    assert call.size == prompt + len(dump(call.schema))
    assert (call.tools, call.data["call"]) == ([], "r0.draft.ann:1")


def test_the_definitions_of_the_tools_that_are_offered_are_sent_too():
    plain, prompt, _ = upcoming(Debate(Setup("panel"), script()))
    call, same, files = upcoming(Debate(Setup("panel", tools=["lookup"]), script()))
    (row,) = call.tools
    assert row["tool"] == "lookup"
    assert same == prompt
    assert call.size == plain.size + len(files[row["sha256"]])


def test_no_tool_is_offered_once_the_rounds_of_a_step_are_used_up():
    setup = Setup("panel", tools=["lookup"], tool_rounds=1)
    debate = Debate(setup, script({"r0.draft.ann:1": LOOKUP}), pick=lambda open_: open_[0])
    while not debate.record.all("tool.returned"):
        debate.do(debate.due())
    call, prompt, _ = upcoming(debate)
    assert (call.data["call"], call.tools) == ("r0.draft.ann:2", [])
    assert call.size == prompt + len(dump(call.schema))


def test_a_seat_that_a_function_fills_is_offered_none():
    setup = Setup("panel", tools=["lookup"], model="custom:bot")
    assert upcoming(Debate(setup, script()))[0].tools == []


@pytest.mark.parametrize("format_", FORMATS)
def test_a_providers_server_may_be_sent_the_schemas_of_all_roles_in_one_envelope(format_):
    call, prompt, _ = upcoming(Debate(Setup(format_, model="openai:m", synthesizer=True), script()))
    together = sum(len(json.dumps(row)) for row in call.schemas)
    assert all(row.get("type") != "string" for row in call.schemas)
    own = [json.loads(dump(row)) for row in call.schemas]
    assert len(own) == len({dump(row) for row in own}) >= 1
    assert call.size == prompt + len(dump(call.schema)) + together


def test_the_schemas_of_an_envelope_are_written_out_once_for_all_calls(monkeypatch):
    """An output schema of 1 MiB was written out for each turn that was rehearsed."""
    debate = Debate(Setup("panel", model="openai:m", synthesizer=True), script())
    calls = Calls(debate.state, debate.setup.opening().files, debate.record.texts.__getitem__)
    written = []
    counted = SimpleNamespace(
        dumps=lambda row: written.append(row) or json.dumps(row), loads=json.loads
    )
    monkeypatch.setattr("hansard.rules.calls.json", counted)
    step = debate.due().steps[0]
    first, *rest = [calls.next(step) for _ in range(5)]
    assert {call.size for call in rest} == {first.size}
    assert written == [*first.schemas]


def test_a_deliverable_is_what_the_user_describes():
    shape = {"type": "object", "properties": {"answer": {"type": "string"}}}
    debate = Debate(Setup("judged", output_schema=shape), script())
    while not debate.state.decision:
        debate.do(debate.due())
    call, _, _ = upcoming(debate)
    assert (call.data["role"], call.schema) == ("synthesizer", shape)
    assert shape in call.schemas


def test_all_that_is_sent_is_reserved_with_the_longest_reply():
    setup = Setup("panel", prices=(PRICE,), settings={"max_tokens": 100}, tools=["lookup"])
    call, _, _ = upcoming(Debate(setup, script()))
    assert call.data["reserved_tokens_in"] == -(-call.size // BYTES_A_TOKEN)
    assert call.data["reserved_tokens_out"] == 100
    assert call.data["reserved_cost_micro_usd"] > 1000  # of the reply alone, at 10 dollars
    unpriced, _, _ = upcoming(Debate(Setup("panel"), script()))
    assert unpriced.data["reserved_cost_micro_usd"] is None
    assert unpriced.data["reserved_tokens_out"] == 0
