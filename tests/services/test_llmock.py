"""OpenAI's two dialects against llmock, a server that others wrote: the wire and its faults."""

from __future__ import annotations

import pytest
from llmock.scenarios import Reply, ToolCall, ToolFault

from formats import FORMATS
from hansard.runtime.models import reading
from services.dialects import CHAT, LOCAL, RESPONSES
from services.packaged import check_as_rendered, play_packaged

SHAPES = {"openai": CHAT, "openai-responses": RESPONSES}


def one_seat_a_time(provider="openai", **more):
    """Two seats in one phase; `attempts` tells how often a turn is tried."""
    seats = [{"id": name, "model": f"{provider}:gpt-x"} for name in ("planner", "critic")]
    return {"debaters": seats, "threshold": 2, "max_rounds": 1, **more}


def requests_and_calls(llmock, table):
    return len(llmock.requests), len(table.data("call.started"))


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("provider", SHAPES)
def test_the_packaged_debates_on_a_real_endpoint(llmock, table, provider, format_):
    play_packaged(table, format_, f"{provider}:gpt")
    requests, calls = requests_and_calls(llmock, table)
    assert requests == calls
    check_as_rendered(table, [SHAPES[provider].prompt(row.body) for row in llmock.requests])
    answers = table.data("call.answered")
    assert {(row["finish"], row["status"]) for row in answers} == {("stop", 200)}
    assert all(row["model"].startswith("gpt-") for row in answers)
    assert not table.data("call.failed", "turn.forfeited")
    llmock.assert_resilient(strict=True)


def test_a_server_of_ones_own(llmock, table, monkeypatch):
    monkeypatch.setenv("OLLAMA_BASE_URL", llmock.base_url("openai"))
    result = play_packaged(table, "consensus", "ollama:qwen3")
    assert (result.decision, result.decision_rule) == ("release", "threshold_vote")
    assert requests_and_calls(llmock, table) == (3, 3)
    check_as_rendered(table, [LOCAL.prompt(row.body) for row in llmock.requests])
    llmock.assert_resilient(strict=True)


def fail(status):
    return lambda llmock: llmock.fail(status)


FAULTS = {
    "rate limit": (
        lambda llmock: llmock.rate_limit(retry_after=0.0), ("rate_limited", "http-429", True)
    ),
    "server error": (fail(500), ("server_error", "http-500", True)),
    "bad gateway": (fail(502), ("server_error", "http-502", True)),
    "request timeout": (fail(408), ("timeout", "http-408", True)),
    "no credit": (fail(402), ("client_error", "http-402", False)),
    "wrong key": (fail(401), ("client_error", "http-401", False)),
    "prompt too long": (
        lambda llmock: llmock.context_overflow(), ("client_error", "http-400", False)
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("provider", SHAPES)
def test_a_fault_is_an_event_and_the_debate_goes_on_where_it_can(llmock, table, provider, fault):
    inject, expected = FAULTS[fault]
    inject(llmock)
    table.run(**one_seat_a_time(provider))
    (failed,) = table.data("call.failed")
    assert (failed["error"], failed["detail"], failed["again"]) == expected
    if fault in ("no credit", "wrong key"):  # the seat is out, and two are needed
        assert table.data("debate.closed")[0]["reason"] == "seats_lost"
    else:
        assert table.data("decision.reached")[0]["decision"] == "release"
    requests, calls = requests_and_calls(llmock, table)
    assert requests == calls
    assert table.verified().ok
    llmock.assert_resilient()


@pytest.mark.parametrize("provider", SHAPES)
def test_a_retry_waits_as_long_as_the_endpoint_asks(llmock, table, provider):
    llmock.rate_limit(retry_after=1.5)
    table.run(**one_seat_a_time(provider))
    (failed,) = table.data("call.failed")
    assert (failed["status"], failed["wait_ms"]) == (429, 1500)
    llmock.assert_resilient(strict=True)


def test_an_outage_is_no_decision(llmock, table):
    llmock.fail(503, times=None, retry_after=0.0)
    table.run(**one_seat_a_time())
    requests, calls = requests_and_calls(llmock, table)
    assert requests == calls == 4
    assert not table.data("decision.reached")
    assert table.data("debate.closed")[0]["reason"] == "nobody_heard"
    assert table.verified().ok


REPLIES = {
    "cut off": (Reply(text='{"stance": "I wou', finish_reason="length"), "length", "cut_off"),
    "filtered": (Reply(text="", finish_reason="content_filter"), "content_filter", "filtered"),
    "a tool call": (Reply(text="x", finish_reason="tool_calls"), "tool_calls", "not_finished"),
    "no JSON": (Reply(text="{oops"), "stop", "unreadable"),
    "not the schema": (Reply(text='{"vote": "release"}'), "stop", "schema"),
    "no such option": (
        Reply(text='{"stance": "s", "rationale": "r", "vote": "ship"}'), "stop", "unknown_option"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ["cut off", "no JSON"])
def test_a_response_that_does_not_count_is_tried_again(llmock, table, case):
    reply, finish, code = REPLIES[case]
    llmock.add(reply)
    table.run(**one_seat_a_time("openai-responses"))
    (rejected,) = table.data("turn.rejected")
    answers = {row["call"]: row["finish"] for row in table.data("call.answered")}
    assert (rejected["code"], answers[rejected["call"]]) == (code, finish)
    assert requests_and_calls(llmock, table) == (3, 3)


@pytest.mark.parametrize("case", REPLIES)
def test_a_reply_that_does_not_count_is_tried_again(llmock, table, case):
    reply, finish, code = REPLIES[case]
    llmock.add(reply)
    table.run(**one_seat_a_time())
    (rejected,) = table.data("turn.rejected")
    assert (rejected["code"], rejected["again"]) == (code, True)
    answer = next(row for row in table.data("call.answered") if row["call"] == rejected["call"])
    assert answer["finish"] == finish
    assert table.text(answer["reply"]["sha256"]) == (reply.text or "")
    assert requests_and_calls(llmock, table) == (3, 3)
    assert table.verified().ok


def test_quotas_of_the_endpoint_are_counted_as_it_sees_them(llmock, table, monkeypatch):
    """A client that retried by itself would spend more requests than the record has calls."""
    monkeypatch.setattr(reading, "LONGEST_WAIT", 0.01)  # the endpoint asks to wait for a minute
    llmock.limits(rpm=1)
    table.run(**one_seat_a_time(attempts=1))
    requests, calls = requests_and_calls(llmock, table)
    assert requests == calls
    assert {row["error"] for row in table.data("call.failed")} == {"rate_limited"}
    assert {row.sdk_retry_count for row in llmock.requests} == {0}


def look_up(what: str) -> str:
    """Look something up."""
    return f"{what} is found"


TOOLS = {
    "a tool": (
        Reply(tool_calls=(ToolCall("look_up", {"what": "it"}), ToolCall("look_up", {}))),
        [("it is found", True), ("the arguments do not fit: 1 errors", False)],
    ),
    "arguments that are no JSON": (
        ToolFault("malformed_arguments"),
        [("the arguments do not fit: 1 errors", False)],
    ),
    "a tool that was never offered": (
        ToolFault("unknown_tool"),
        [("there is no such tool", False)],
    ),
}


@pytest.mark.parametrize("case", TOOLS)
@pytest.mark.parametrize("provider", SHAPES)
def test_a_tool_round_on_an_endpoint_that_others_wrote(llmock, table, provider, case):
    """By itself the mock uses a tool wherever one is offered."""
    behaviour, told = TOOLS[case]
    llmock.add(behaviour)
    model = SHAPES[provider].model
    table.play("judged", {"look_up": look_up}, max_rounds=1, tool_rounds=1, model=model)
    results = table.data("tool.returned")
    first, later = [row for row in results if "ann" in row["call"]], results[len(told) :]
    for rows, said in ((first, told), (later, [("mock-what is found", True)] * 2)):
        texts = sorted((table.text(row["result"]["sha256"]), row["ok"]) for row in rows)
        assert texts == sorted(said)
    answers = table.data("call.answered")
    assert (answers[0]["finish"], answers[0]["tools"]) == ("tool_calls", len(told))
    assert {row["sent_as_rendered"] for row in answers} == {True}
    assert table.data("turn.recorded")[0]["call"] == "r1.argument.ann:2"
    assert requests_and_calls(llmock, table) == (6, 6)
    assert table.verified().findings == []
