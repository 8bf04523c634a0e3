"""Tools: what they give or why they give nothing is recorded, told to the model, and done once."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import warnings
from contextlib import nullcontext
from functools import partial
from hashlib import sha256
from itertools import accumulate
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter, WithJsonSchema
from typing_extensions import TypeAliasType

import instant
from hansard.errors import SeatError, ToolWarning, UsageError
from hansard.rules.state import Pending
from hansard.runtime import engine, session
from hansard.runtime.models import base
from hansard.runtime.models.base import Completion, ToolCall
from hansard.runtime.tools import Room, Tool, _UnfitError, find_tools, use
from hansard.verify.checks import MAX_REPLY
from measuring import traced
from playing import answer, spec_of


def look_up(what: str, most: int = 3) -> list[str]:
    """Look something up."""
    return [what] * most


async def look_up_async(what: str, most: int = 3) -> list[str]:
    """Look something up."""
    await asyncio.sleep(0)
    return [what] * most


def asking(*calls, times=1, seat="ann", then=answer, text="let me see"):
    """A model in one seat, or all, that asks for these tools in the first attempts of each turn."""
    rows = tuple(ToolCall(name, arguments) for name, arguments in calls)

    def model(request):
        attempt = int(request.call.rpartition(":")[2])
        if seat in (None, request.speaker) and attempt <= times:
            return Completion(text, tool_calls=rows, tokens_in=10, tokens_out=2)
        return then(request)

    return model


def results(table):
    return [(table.text(row["result"]), row["ok"]) for row in table.data("tool.returned")]


# What a tool is


def test_a_tool_is_described_by_its_name_its_words_and_its_arguments():
    tool = Tool("look_up", look_up)
    assert tool.definition.name == "look_up"
    assert tool.definition.description == "Look something up."
    assert tool.definition.parameters["required"] == ["what"]
    assert tool.definition.parameters["properties"]["most"]["type"] == "integer"
    assert json.loads(tool.document) == vars(tool.definition)
    assert tool.document == Tool("look_up", look_up_async).document


@pytest.mark.parametrize("function", [look_up, look_up_async, lambda what, most: [what] * most])
def test_sync_and_async_functions_are_called_with_what_the_model_wrote(function):
    called = asyncio.run(Tool("t", function).call('{"what": "é", "most": 2}', Room()))
    assert called == ('["é", "é"]', True)


def failing(error):
    def function() -> str:
        """Fail."""
        raise error

    return function


async def cancels():
    raise asyncio.CancelledError


BAD = {
    "arguments missing": (look_up, "{}", "the arguments do not fit: 1 errors"),
    "arguments of a kind": (look_up, '{"what": 1, "most": "x"}', "the arguments do not fit: 2 err"),
    "one argument more": (look_up, '{"what": "a", "who": 1}', "the arguments do not fit: 1 errors"),
    "no JSON": (look_up, "what?", "the arguments do not fit: 1 errors"),
    "nothing": (look_up, "", "the arguments do not fit: 1 errors"),
    "it fails": (failing(OSError("a secret")), "{}", "the tool failed: OSError"),
    "it exits": (failing(SystemExit(1)), "{}", "the tool failed: RuntimeError"),
    "no text": (lambda: [object()], "{}", "the tool failed: TypeError"),
    "no JSON result": (lambda: {1, 2}, "{}", "the tool failed: TypeError"),
    "lone surrogate": (lambda: "\ud800", "{}", "the tool failed: UnicodeEncodeError"),
    "a surrogate within": (lambda: ["\ud800"], "{}", "the tool failed: UnicodeEncodeError"),
}


@pytest.mark.parametrize("how", BAD)
def test_a_tool_that_gives_nothing_says_why_and_quotes_nothing(how):
    function, arguments, words = BAD[how]
    text, ok = asyncio.run(Tool("t", function).call(arguments, Room()))
    assert not ok
    assert text.startswith(words)
    assert "secret" not in text


async def asks_in_vain(what: str) -> str:
    raise KeyError(f"a secret \x1b[2J{what}")


def finds_wrong(what: str) -> str:
    """Look something up in data of its own, which are not as they should be."""
    return str(TypeAdapter(int).validate_json(f'"{what}"'))


async def finds_wrong_async(what: str) -> str:
    """Look something up in data of its own, which are not as they should be."""
    return finds_wrong(what)


@pytest.mark.parametrize("function", [finds_wrong, finds_wrong_async, partial(finds_wrong)])
def test_what_a_tool_finds_wrong_in_its_own_data_is_no_mistake_of_the_models(function):
    with pytest.warns(ToolWarning, match="tool t failed: .*ValidationError"):
        told = asyncio.run(Tool("t", function).call('{"what": "a secret"}', Room()))
    assert told == ("the tool failed: ValidationError", False)


class Exiting(str):
    """Text that ends the process of whoever encodes it."""

    __slots__ = ()

    def encode(self, *_):
        raise SystemExit


class Closed(dict):
    """A mapping that ends the process of whoever reads it."""

    def items(self):
        raise SystemExit


def test_no_tool_ends_the_process_by_what_it_gives():
    assert asyncio.run(use(Tool("t", lambda: Exiting("text")), "{}", Room())) == ("text", True)
    with pytest.warns(ToolWarning, match="tool t failed: RuntimeError: SystemExit"):
        told = asyncio.run(use(Tool("t", lambda: Closed(one=1)), "{}", Room()))
    assert told == ("the tool failed: RuntimeError", False)


LOUD = {"async": asks_in_vain, "sync": lambda what: {}[f"a secret \x1b[2J{what}"]}


@pytest.mark.parametrize("how", LOUD)
def test_what_a_tool_raised_reaches_the_user_and_neither_model_nor_record(table, how):
    model = asking(("look", '{"what": "it"}'))
    with pytest.warns(ToolWarning) as warned:
        table.play("judged", model, use={"look": LOUD[how]}, max_rounds=1)
    (first, *_) = [row.message for row in warned if row.category is ToolWarning]
    assert first.code == "tool.failed"
    assert isinstance(first.__cause__, KeyError)
    said = re.sub(r"\(.*test_tools\.py, line \d+\)", "(HERE)", str(first))
    words = r"'a secret \x1b[2Jit' (HERE); the model was told that it failed"
    assert said == f"tool look failed: KeyError: {words}"
    assert set(results(table)) == {("the tool failed: KeyError", False)}
    bundle = table.store.bundle(table.debate)
    assert b"secret" not in b"".join([*bundle.lines, *bundle.blobs.values()])
    assert table.verified().findings == []


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("not even that")


@pytest.mark.parametrize("error", [Mute(), SystemExit(1)], ids=["mute", "exit"])
def test_a_tool_that_fails_in_any_way_is_told_of(error):
    with pytest.warns(ToolWarning, match="tool t failed: .*test_tools.py, line"):
        text, ok = asyncio.run(Tool("t", failing(error)).call("{}", Room()))
    assert (text.partition(":")[0], ok) == ("the tool failed", False)


def test_a_warning_that_is_an_error_does_not_change_the_record():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = asyncio.run(Tool("t", failing(OSError())).call("{}", Room()))
    assert told == ("the tool failed: OSError", False)


def test_a_tool_that_works_or_was_asked_wrongly_is_not_told_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert asyncio.run(Tool("t", look_up).call('{"what": "a"}', Room()))[1]
        assert not asyncio.run(Tool("t", look_up).call("{}", Room()))[1]


def test_a_result_that_no_record_can_hold_is_none():
    assert asyncio.run(Tool("t", lambda: "12345").call("{}", Room(5))) == ("12345", True)
    assert asyncio.run(Tool("t", lambda: "123456").call("{}", Room(5))) == (
        "the result is too long",
        False,
    )


def positional(what, /):
    return what


def unknown_type(what: threading.Thread):
    return what


@pytest.mark.parametrize("function", [positional, unknown_type, lambda *many: many, len, 7, int])
def test_what_cannot_be_described_is_refused(function):
    with pytest.raises(UsageError) as caught:
        find_tools(["t"], {"t": function})
    assert caught.value.code == "tool.unfit"
    assert "\n" not in str(caught.value)


class All(BaseModel):
    kind: Literal["all"]
    of: list[Some | All | str]


class Some(BaseModel):
    kind: Literal["some"]
    of: list[Some | All | str]


class Chain(BaseModel):
    next: Chain | None = None
    more: dict[str, list[Chain]] = {}


class Step(BaseModel):
    kind: Literal["step"]
    next: Annotated[Step | Stop, Field(discriminator="kind")]


class Stop(BaseModel):
    kind: Literal["stop"]
    why: Chain | Stop | int


for kind in (All, Some, Chain, Step, Stop):
    kind.model_rebuild()

Rows = TypeAliasType("Rows", "list[Rows] | frozenset[Rows] | int")
Alike = TypeAliasType("Alike", "list[Alike] | tuple[Alike, ...] | int")
Values = TypeAliasType("Values", "list[Values] | dict[str, Values] | int | None")
One = TypeAliasType("One", "list[Both] | int")
Other = TypeAliasType("Other", "list[Both] | str")
Both = TypeAliasType("Both", "One | Other")
TAKES = {  # whether it is refused
    "a union of models": (All | Some, True),
    "one of them": (All, True),
    "a union of lists": (Rows, True),
    "a union of lists whose schemas are the same": (Alike, True),
    "a union of unions": (Both, True),
    "values of JSON": (Values, False),
    "a chain": (Chain, False),
    "a union with a discriminator": (Step, False),
    "a union that comes once": (Chain | dict[str, int], False),
    "a definition that is none": (Annotated[dict[str, Any], WithJsonSchema({"anyOf": {}})], False),
}


@pytest.mark.parametrize("what", TAKES)
def test_arguments_that_could_be_read_for_ever_are_refused(what):
    """Three types that hold one another are tried in 3 to the power of the depth ways."""
    taken, refused = TAKES[what]

    def function(what):
        return "given"

    function.__annotations__ = {"what": taken}
    assert find_tools(["t"], {"t": function}, anew=False)["t"].document
    with pytest.raises(UsageError) if refused else nullcontext() as caught:
        find_tools(["t"], {"t": function})
    assert not refused or caught.value.code == "tool.branching"


@pytest.mark.parametrize("given", [None, {}, {"other": look_up}])
def test_a_tool_that_is_not_given_is_refused_before_anything_is_recorded(table, given):
    with pytest.raises(UsageError) as caught:
        asyncio.run(
            session.run(
                spec_of("judged", tools=["look_up"]),
                table.store,
                table.folder,
                models={"bot": answer},
                tools=given,
            )
        )
    assert caught.value.code == "tool.not_given"
    assert table.store.debates() == []


# Tools in a debate


@pytest.mark.parametrize("function", [look_up, look_up_async])
def test_what_a_tool_gave_is_in_the_next_prompt_and_in_the_record(table, function):
    prompts = {}

    def model(request):
        prompts[request.call] = request.prompt
        return asking(("look_up", '{"what": "cost"}'))(request)

    state = table.play("judged", model, use={"look_up": function}, max_rounds=1)
    (called,) = table.data("tool.called")
    assert (called["call"], called["number"], called["tool"]) == ("r1.argument.ann:1", 1, "look_up")
    assert table.text(called["arguments"]) == '{"what": "cost"}'
    assert results(table) == [('["cost", "cost", "cost"]', True)]
    for shown in (
        '[tool look_up, arguments]\n| {"what": "cost"}\n',
        '[tool look_up, result]\n| ["cost", "cost", "cost"]\n',
    ):
        assert shown in prompts["r1.argument.ann:2"]
    assert "[tool " not in prompts["r1.argument.ann:1"] + prompts["r1.argument.bob:1"]
    answered = {row["call"]: row for row in table.data("call.answered")}
    assert (answered["r1.argument.ann:1"]["finish"], answered["r1.argument.ann:1"]["tools"]) == (
        "tool_calls",
        1,
    )
    assert not table.data("turn.rejected")
    assert state.turns[0].data["call"] == "r1.argument.ann:2"
    (opened,) = table.data("debate.opened")
    assert opened["tools"] == [
        {"tool": "look_up", "sha256": sha256(Tool("look_up", look_up).document).hexdigest()}
    ]
    assert table.verified().findings == []


@pytest.mark.parametrize("format_", ["consensus", "moderated", "panel"])
def test_a_tool_round_is_no_try_in_any_format(table, format_):
    seat = {"consensus": "critic", "moderated": "critic", "panel": "bob"}[format_]
    model = asking(("look_up", '{"what": "cost"}'), seat=seat)
    state = table.play(format_, model, use={"look_up": look_up}, attempts=1)
    assert all(turn.heard for turn in state.turns)
    assert state.total().tokens_in == 10 * len(table.data("tool.called"))
    assert table.verified().findings == []


def test_whatever_a_model_asks_for_it_is_told_what_came_of_it(table):
    calls = [
        ("look_up", '{"what": "a"}'),
        ("look_up", "{}"),
        ("nothing", "{}"),
        ("no name at all\n", "not JSON"),
        ("fails", "{}"),
        ("cancels", "{}"),
    ]
    prompts = {}

    def model(request):
        prompts[request.call] = request.prompt
        return asking(*calls)(request)

    use = {"look_up": look_up, "fails": failing(KeyError("secret")), "cancels": cancels}
    table.play("judged", model, use=use, max_rounds=1)
    called = table.data("tool.called")
    assert [row["number"] for row in called] == [1, 2, 3, 4, 5, 6]
    assert [row["tool"] for row in called[:3]] == ["look_up", "look_up", "nothing"]
    assert table.text(called[3]["tool"]) == "no name at all\n"
    by_number = {row["number"]: row for row in table.data("tool.returned")}
    told = [(table.text(by_number[n]["result"]), by_number[n]["ok"]) for n in range(1, 7)]
    assert told == [
        ('["a", "a", "a"]', True),
        ("the arguments do not fit: 1 errors", False),
        ("there is no such tool", False),
        ("there is no such tool", False),
        ("the tool failed: KeyError", False),
        ("the tool was stopped", False),
    ]
    assert "[tool of no known name, arguments]\n| not JSON\n" in prompts["r1.argument.ann:2"]
    assert prompts["r1.argument.ann:2"].count("[tool ") == 12
    assert table.verified().findings == []
    assert b"secret" not in b"".join(table.store.bundle(table.debate).blobs.values())


@pytest.mark.parametrize("kind", ["thread", "async"])
def test_a_tool_that_hangs_is_given_up_and_the_turn_goes_on(table, kind):
    def hangs() -> None:
        instant.hang()

    async def hangs_async() -> None:
        await asyncio.sleep(3600)

    use = {"hangs": hangs if kind == "thread" else hangs_async, "look_up": look_up}
    model = asking(("hangs", "{}"), ("look_up", '{"what": "a"}'))
    state = table.play("judged", model, use=use, max_rounds=1)
    by_number = {row["number"]: row for row in table.data("tool.returned")}
    assert table.text(by_number[1]["result"]) == "the tool did not answer in time"
    assert (by_number[1]["ok"], by_number[2]["ok"]) == (False, True)
    assert all(turn.heard for turn in state.turns)
    assert table.verified().findings == []


def test_tools_of_one_reply_give_no_more_together_than_one_may(table, monkeypatch):
    """A server asks for a hundred of them in one reply."""
    monkeypatch.setattr(engine, "Room", lambda *_, **__: Room(100))
    model = asking(*[("look", "{}")] * 3, *[("none", "{}")] * 9)
    table.play("judged", model, use={"look": lambda: "x" * 50}, max_rounds=1)
    given = [("the result is too long", False), *[("x" * 50, True)] * 2]
    why = [("there is no such tool", False)] * 9  # why a tool failed is said all the same
    assert sorted(results(table)) == sorted([*given, *why])
    assert table.verified().findings == []


def test_what_is_more_than_any_model_reads_as_prompts_show_it_is_too_long(table):
    """A control character has eight bytes there: a page of them took a gigabyte."""
    page = "\x01" * (base.MAX_PROMPT // 8)
    model = asking(("look", '{"most": 1}'), ("look", '{"most": 9}'))
    table.play("judged", model, use={"look": lambda most: page[:: 10 - most]}, max_rounds=1)
    given = {row["number"]: table.text(row["result"]) for row in table.data("tool.returned")}
    assert given == {1: page[::9], 2: "the result is too long"}
    assert table.verified().findings == []


def test_what_tools_give_that_is_too_long_waits_nowhere(table, monkeypatch):
    """A server asks for a hundred pages in one reply, and all of them come before one is read."""
    monkeypatch.setattr(engine, "Room", lambda *_, **__: Room(1_500_000))

    async def look():
        return "x" * 1_000_000

    model = asking(*[("look", "{}")] * 100)
    _, most = traced(lambda: table.play("judged", model, use={"look": look}, max_rounds=1))
    assert sum(ok for _, ok in results(table)) == 1
    assert most < 50_000_000


def test_a_thread_hands_over_nothing_that_is_too_long():
    """A hundred threads may be done before the loop looks at one of them."""
    tool, room = Tool("t", lambda: "x" * 60), Room(100)
    assert [tool._given("{}", room) for _ in range(3)] == ["x" * 60, None, None]
    assert Tool("t", lambda: "x" * 40)._given("{}", room) == "x" * 40
    room = Room(100, shown=30)
    assert [room.taken(text) for text in ("\0" * 4, "x" * 90)] == [None, None]
    assert room.taken("x" * 10) == "x" * 10


def test_a_reply_has_no_more_room_for_what_it_asks_of_tools():
    """As many as are in flight may ask for as much: nobody could read the record any more."""
    half = MAX_REPLY // 2
    asks = ToolCall("look", "é" * (half // 2 - 4))
    assert Completion("x" * half, tool_calls=(asks,)).text
    with pytest.raises(ValueError, match="1048576 bytes, with what it asks of tools"):
        Completion("x" * half, tool_calls=(asks, ToolCall("look", "12345")))


def in_many_seats(table, look, *, text="let me see", **more):
    """Play a debate in which each of twenty seats asks for a look."""
    model = asking(("look", "{}"), seat=None, text=text)
    seats = [{"id": f"seat-{number}"} for number in range(20)]
    given = {"debaters": seats, "max_rounds": 1, "use": {"look": look}}
    return table.play("consensus", model, **given, **more)


def test_tools_of_many_seats_give_no_more_than_a_record_has_room_for(table, monkeypatch):
    """A server had each of many seats ask for the longest page: nobody could read the record."""
    monkeypatch.setattr(engine, "MOST_RECORDED", 550_000)
    left, all_asked = list(range(20)), threading.Event()

    def look():
        all_asked.wait(instant.GUARD)
        return "x" * 120_000

    def observe(event):
        if event["type"] == "tool.called":
            left.pop()
        if not left:
            all_asked.set()

    state = in_many_seats(table, look, text="y" * 10_000, observe=observe)
    given = [ok for _, ok in results(table)]
    assert (len(given), sum(given)) == (20, 2)
    assert [text for text, ok in results(table) if not ok] == ["the result is too long"] * 18
    assert table.text(state.truncated["reason"]) == engine.FULL
    assert table.verified().findings == []


def test_what_models_ask_of_tools_becomes_no_more_texts_than_an_export_has_files(
    table, monkeypatch
):
    """A server had each seat ask for a hundred tools, again and again: nobody could export it."""
    monkeypatch.setattr(engine, "MOST_TEXTS", most := 1_500)
    seats, open_, texts = [{"id": f"seat-{number}"} for number in range(9)], [], []

    def observe(event, known):
        texts.append(len(known))
        open_.append({"call.started": 1, "call.answered": -1}.get(event["type"], 0))

    model = asking(*[("look", "{}")] * 100, seat=None, times=9)
    given = {"debaters": seats, "tool_rounds": 9, "use": {"look": lambda: "x"}}
    state = table.play("consensus", model, observe=observe, **given)
    assert most < max(texts) <= most + 320
    assert max(accumulate(open_)) == 5, "where each may add 320 texts"
    assert table.text(state.truncated["reason"]) == engine.FULL
    assert table.verified().findings == []


def test_what_tools_of_many_seats_give_that_is_too_long_waits_nowhere(table, monkeypatch):
    monkeypatch.setattr(engine, "MOST_RECORDED", 1_500_000)

    async def look():
        return "x" * 1_000_000

    state, most = traced(lambda: in_many_seats(table, look))
    assert sum(ok for _, ok in results(table)) == 1
    assert most < 15_000_000
    assert table.text(state.truncated["reason"]) == engine.FULL


def test_what_a_debate_gives_counts_where_it_was_taken_and_given_back():
    debate = Room(100)
    one, other = Room(60, within=debate), Room(60, shown=30, within=debate)
    assert one.taken("x" * 50) == "x" * 50
    assert other.taken("\0" * 40) is None  # shown it is too long: its room is there again
    assert other.taken("x" * 51) is None
    assert other.taken("x" * 20) == "x" * 20
    assert Room(within=debate).taken("x" * 31) is None
    assert Room(within=debate).taken("x" * 30) == "x" * 30


def test_many_tools_of_one_reply_are_used_at_once(table):
    together = threading.Barrier(8)

    def meet(who: int) -> int:
        together.wait(instant.GUARD)
        return who

    model = asking(*(("meet", json.dumps({"who": n})) for n in range(8)))
    table.play("judged", model, use={"meet": meet}, max_rounds=1)
    assert sorted(results(table)) == [(str(n), True) for n in range(8)]


def test_tools_in_flight_are_looked_through_only_where_some_were_lost(table, monkeypatch):
    """Each that came back had all of its step looked through: of 10,000 a minute and more."""
    looked = []
    monkeypatch.setattr(Pending, "open_tools", property(looked.append))
    calls = [("look_up", json.dumps({"what": str(number)})) for number in range(50)]
    table.play("judged", asking(*calls, times=2), use={"look_up": look_up}, max_rounds=1)
    assert len(table.data("tool.returned")) == 100
    assert looked == []


def test_a_reply_may_not_ask_for_more_than_a_record_holds(table):
    model = asking(*[("look_up", "{}")] * (base.MAX_TOOL_CALLS + 1))
    with pytest.raises(SeatError):
        table.play("judged", model, use={"look_up": look_up}, max_rounds=1, attempts=1)
    (failed,) = table.data("call.failed")
    assert (failed["error"], failed["detail"]) == ("raised", "ValueError")
    assert not table.data("tool.called")


@pytest.mark.parametrize("crowd", ["[]", '{"a":0}', '"x"'])
@pytest.mark.parametrize("tools", [1, 50])
def test_arguments_are_counted_before_a_parser_makes_objects_of_them(table, crowd, tools):
    """Those of one reply together: all of its tools are used at once."""
    most = base.MAX_ARGUMENTS
    given = f'{{"what": [{",".join([crowd] * (most // tools))}]}}'
    model = asking(*[("look_up", given)] * tools)
    with pytest.raises(SeatError) as raised:
        table.play("judged", model, use={"look_up": look_up}, max_rounds=1, attempts=1)
    assert f"at most {most} values" in str(raised.value.__cause__)
    assert not table.data("tool.called")


def test_what_was_found_wrong_with_arguments_is_not_kept():
    """Of one value that does not fit, pydantic tells in hundreds of bytes."""
    with pytest.raises(_UnfitError) as raised:
        Tool("look_up", look_up)._used("{}")
    assert raised.value.__context__ is None


def test_tool_rounds_are_bounded_and_then_nothing_is_offered(table):
    offered = {}

    def model(request):
        offered[request.call] = [tool.name for tool in request.tools]
        return asking(("look_up", '{"what": "a"}'), times=9)(request)

    state = table.play(
        "judged", model, use={"look_up": look_up}, tool_rounds=2, max_rounds=1, attempts=2
    )
    assert [offered[f"r1.argument.ann:{n}"] for n in (1, 2, 3, 4)] == [["look_up"]] * 2 + [[]] * 2
    assert len(table.data("tool.called")) == 2
    assert [row["code"] for row in table.data("turn.rejected")] == ["not_finished"] * 2
    assert [turn.heard for turn in state.turns] == [False, True]
    assert table.verified().findings == []


def test_a_debate_without_tools_uses_none_whatever_a_model_asks_for(table):
    state = table.play("judged", asking(("look_up", "{}"), times=9), max_rounds=1, attempts=1)
    assert not table.data("tool.called")
    assert [row["code"] for row in table.data("turn.rejected")] == ["not_finished"]
    assert not state.turns[0].heard
    assert table.verified().findings == []


def test_what_the_definitions_take_is_reserved(table):
    def model(request):
        return answer(request)

    table.play("judged", model, max_rounds=1)
    without = table.data("call.started")[0]["reserved_tokens_in"]
    table.play("judged", model, use={"look_up": look_up}, max_rounds=1)
    more = table.data("call.started")[0]["reserved_tokens_in"] - without
    assert abs(more - len(Tool("look_up", look_up).document) / 3) <= 1


def test_a_script_asks_for_tools(table):
    (table.folder / "replies.yaml").write_text(
        """
        replies:
          ann:
            "*":
              argument:
                - {reply: let me see, tools: [{tool: look_up, arguments: {what: cost, most: 1}}]}
                - it costs too much
          bob: {"*": {"*": it does not}}
          judge: {"*": {"*": {verdict: v, winner: ship, reasoning: r}}}
        """
    )
    state = table.play("judged", "scripted:replies.yaml", use={"look_up": look_up})
    assert results(table) == [('["cost"]', True)] * 2
    assert state.decision["decision"] == "ship"
    assert table.verified().findings == []


def test_a_recorded_debate_asks_for_its_tools_again(table):
    model = asking(("look_up", '{"what": "a"}'), ("no name\n", "{}"))
    first = table.play("judged", model, use={"look_up": look_up})
    recorded = table.debate
    second = table.play("judged", f"recorded:{recorded}", use={"look_up": look_up})
    assert [turn.data for turn in second.turns] == [turn.data for turn in first.turns]
    assert len(table.data("tool.called")) == 4
    assert table.verified().findings == []


# A process that dies while a tool runs


class Died(BaseException):
    pass


def left_while_a_tool_runs(table, *, tools=("book", "look_up")):
    """Play until the tools are called, and die; return how often the tool began."""
    begun = []

    async def book() -> str:
        """Book a flight, which nobody wants twice."""
        begun.append(1)
        await asyncio.sleep(3600)
        return "booked"

    async def dies():
        task = asyncio.ensure_future(
            table.debating(
                "judged",
                asking(*((name, '{"what": "a"}' if name == "look_up" else "{}") for name in tools)),
                use={"book": book, "look_up": look_up},
                max_rounds=1,
            )
        )
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    instant.run(dies())
    return begun, book


def test_a_tool_is_not_used_twice_and_the_record_says_that_nothing_came_back(table):
    begun, book = left_while_a_tool_runs(table)
    called = table.data("tool.called")
    assert [row["tool"] for row in called] == ["book", "look_up"]
    assert table.verified().ok
    prompts = {}

    def model(request):
        prompts[request.call] = request.prompt
        return answer(request)

    state = table.go_on(model, tools={"book": book, "look_up": look_up})
    assert len(begun) == 1
    assert table.data("tool.called") == called
    told = {row["number"]: table.text(row["result"]) for row in table.data("tool.returned")}
    assert told[1] == "the process that used the tool died"
    assert (
        "[tool book, result]\n| the process that used the tool died\n"
        in (prompts["r1.argument.ann:2"])
    )
    assert not table.data("call.failed")
    assert state.decision
    assert table.verified().findings == []


def test_a_reply_that_asks_for_tools_and_came_at_the_end_is_not_lost(table):
    """Its process was told to stop in the same turn of the loop: no tool begins."""
    begun = []

    def book() -> str:
        begun.append(1)
        return "booked"

    async def run():
        async def model(request):
            task.cancel()
            return Completion("let me see", tool_calls=(ToolCall("book", "{}"),))

        task = asyncio.ensure_future(table.debating("judged", model, use={"book": book}))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert table.types[-2:] == ["call.answered", "tool.called"]
    assert begun == []
    table.go_on(tools={"book": book})
    assert results(table) == [("the process that used the tool died", False)]
    assert begun == []
    assert table.verified().findings == []


def test_a_tool_that_was_described_otherwise_is_refused_and_nothing_is_added(table):
    left_while_a_tool_runs(table)
    before = table.store.lines(table.debate)

    def book(where: str) -> str:
        """Book a flight somewhere."""
        return where

    for tools, code in (
        ({"book": book, "look_up": look_up}, "tool.changed"),
        (None, "tool.not_given"),
    ):
        with pytest.raises(UsageError) as caught:
            table.go_on(tools=tools)
        assert caught.value.code == code
        assert table.store.lines(table.debate) == before
