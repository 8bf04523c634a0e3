"""Tools: replies that ask for them, and what came back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cache
from typing import Any

from conformance_kit.case import Case, altered, defect, group, sound, undue
from conformance_kit.ceilings import capped
from conformance_kit.judged import arguing, own_judge
from conformance_kit.panel import drafting
from conformance_kit.records import DIES, Record, Script, Tools
from hansard.runtime.models.base import Completion, ToolCall

LOOK = ToolCall("look", '{"word": "contract"}')


def look(word: str) -> str:
    """Look a word up."""
    return f"{word}: see page 2"


def asking_for(*calls: ToolCall) -> Completion:
    """Return a reply that asks for tools."""
    return Completion("", tool_calls=calls)


def using(name: str, script: Script, given: Tools, **spec: Any) -> Record:
    """Run a judged debate in which ann uses tools."""
    spec = {"tool_rounds": 2, **spec}
    return arguing(f"tools-{name}", script, given=given, tools=[*given], **spec)


@cache
def one_tool() -> Record:
    """Nineteen entries.

    5 started, 6 answered, 7 tool called, 8 tool returned, 9 started, 10 answered, 11 turn, 12-14
    ben's, 15-17 verdict, 18 decision, 19 closed.
    """
    return using("one", {"r1.argument.ann:1": asking_for(LOOK)}, {"look": look})


@cache
def several_tools() -> Record:
    """Twenty-three entries: 6 answered, 7-9 tools called, 10-12 returned, 13 started."""
    first = asyncio.Event()

    async def count(words: list[str]) -> int:
        """Count words."""
        first.set()
        return len(words)

    async def fail(reason: str) -> str:
        """Fail, after the other one is done."""
        await first.wait()
        raise ValueError(reason)

    asked = asking_for(
        ToolCall("see page 2", "not even JSON"),
        ToolCall("count", '{"words": ["a", "b"]}'),
        ToolCall("fail", '{"reason": "r"}'),
    )
    return using("several", {"r1.argument.ann:1": asked}, {"count": count, "fail": fail})


@cache
def used_up() -> Record:
    """Twenty-two entries: 10 answered, 11 rejected, for one round of tools is the most."""
    script = {f"r1.argument.ann:{number}": asking_for(LOOK) for number in (1, 2)}
    return using("used-up", script, {"look": look}, tool_rounds=1)


def asked_too_much(tools: int) -> Record:
    """Twenty entries: 6 answered, asking for so many tools, 7 rejected, 8 started."""
    script = {"r1.argument.ann:1": Completion("", finish="tool_calls")}
    hurried = using("hurried", script, {"look": look})
    return hurried.data(6, tools=tools)


@cache
def without_room() -> Record:
    """Twenty entries: after entry 6, 49,498 tools would make 98,996 more."""
    return asked_too_much(49_498)


@cache
def died() -> Record:
    """Twenty entries: 7 tool called, 8 resumed, 9 tool returned, 10 started."""
    hang = asking_for(ToolCall("hang", "{}"))
    return using("died", {"r1.argument.ann:1": hang}, {"hang": DIES})


@cache
def died_in_a_phase() -> Record:
    """Nineteen entries of a panel.

    4-5 started, 6 ann answered, 7 tool called, 8 resumed, 9 ben's call abandoned, 10
    started, 11 tool returned, 13 started.
    """
    script = {"r0.draft.ann:1": asking_for(LOOK), "r0.draft.ben:1": DIES}
    return drafting("tools", [["yes", "yes"]], script, given={"look": look}, tools=["look"])


@group
def tool_good_cases() -> Iterator[Case]:
    """Records with tools that must be accepted."""
    yield sound(
        "tool-used",
        "A reply asks for a tool; what it gave back stands in the next prompt of that step alone.",
        one_tool(),
    )
    yield sound(
        "tools-of-every-kind",
        "Three tools in one reply: one whose name is no name, with arguments that are no JSON, one "
        "that counts, and one that fails.",
        several_tools(),
    )
    yield sound(
        "tool-that-nobody-offers",
        "The model asks for a tool that the opening does not name: nothing comes of it.",
        using(
            "unknown",
            {"r1.argument.ann:1": asking_for(ToolCall("peek", "{}"))},
            {"look": look},
        ),
    )
    yield sound(
        "tools-twice",
        "Two rounds of tools in one turn: all that came back stands in the third prompt.",
        using(
            "twice",
            {f"r1.argument.ann:{number}": asking_for(LOOK) for number in (1, 2)},
            {"look": look},
        ),
    )
    yield sound(
        "tools-used-up",
        "One round of tools is the most: a reply that asks for more is rejected as not finished.",
        used_up(),
    )
    yield sound(
        "tools-without-room",
        "A reply asks for more tools than could come back before entry 99,000: it is rejected as "
        "not finished.",
        without_room(),
    )
    yield sound(
        "tools-with-just-enough-room",
        "A reply at entry 6 asks for 49,497 tools, each of which makes two entries: the last one "
        "would be entry 99,000.",
        asked_too_much(49_497).until(6),
    )
    yield sound(
        "tools-without-any",
        "There are no tools in this debate: a reply that asks for one is not finished.",
        using("none", {"r1.argument.ann:1": asking_for(LOOK)}, {}),
    )
    yield sound(
        "tool-when-the-process-died",
        "The process died while a tool was used: that it did not come back is said, and the model "
        "is asked again.",
        died(),
    )
    yield sound(
        "tool-and-call-when-the-process-died",
        "A tool was used and a call was open: the call is abandoned first.",
        died_in_a_phase(),
    )


@group
def tool_cases() -> Iterator[Case]:
    """Checks 9 to 12: tools that were called, and what came back."""
    base, many, last = one_tool(), several_tools(), used_up()
    yield altered(
        "tools-of-a-function-in-the-seat",
        "9.tools",
        "A function of the user's fills the judge's seat, and its reply is said to ask for a tool.",
        own_judge(),
        12,
        finish="tool_calls",
        tools=1,
    )
    called, returned = base.event(7)["data"], base.event(8)["data"]
    rejection = last.event(11)["data"]
    for key, code, record, seq, fields, why in (
        ("number", "9.number", base, 7, {"number": 2}, "The first tool is called the second."),
        ("numbers", "9.number", many, 8, {"number": 3}, "The second tool is called the third."),
        (
            "of-another-call",
            "9.call",
            base,
            7,
            {"call": "r1.argument.ben:1"},
            "Another call asked for the tool.",
        ),
        (
            "count",
            "9.tools",
            base,
            10,
            {"tools": 1},
            "A reply that is finished asks for no tools.",
        ),
        (
            "used-up-as-schema",
            "12.code",
            last,
            11,
            {"code": "schema"},
            "A reply that asks for tools is not finished, whatever it says.",
        ),
    ):
        yield altered(f"tool-{key}", code, why, record, seq, **fields)
    yield defect(
        "tool-renamed",
        "11.prompt",
        9,
        "The tool's name is another one than the next prompt says.",
        base.data(7, tool="peek"),
    )
    for key, seq, field in (("result", 8, "result"), ("arguments", 7, "arguments")):
        yield defect(
            f"tool-other-{key}",
            "11.prompt",
            9,
            f"The tool's {key} are not what the next prompt was made of.",
            base.text(seq, field, "{}"),
        )
    for key, seq, record, why in (
        ("called-late", 9, many.moved(9, 10), "A tool comes back before all were called."),
        ("missing", 9, many.without(9), "The reply asks for three tools, and two are called."),
        (
            "too-many",
            8,
            base.insert(8, "tool.called", {**called, "number": 2}),
            "The reply asks for one tool, and two are called.",
        ),
        (
            "not-asked-for",
            11,
            base.insert(11, "tool.called", {**called, "call": "r1.argument.ann:2"}),
            "The reply asks for no tool.",
        ),
        (
            "rejected",
            7,
            base.insert(7, "turn.rejected", {**rejection, "call": "r1.argument.ann:1"}),
            "The reply asks for a tool, and is rejected.",
        ),
        (
            "and-called-again",
            8,
            base.without(8),
            "The model is asked again before its tool came back.",
        ),
        (
            "returned-first",
            7,
            base.moved(8, 7),
            "The tool comes back before it was called.",
        ),
        (
            "returned-twice",
            9,
            base.insert(9, "tool.returned", returned),
            "One tool comes back twice.",
        ),
        ("returned-of-none", 8, base.data(8, number=2), "No second tool was called."),
        (
            "returned-of-another-call",
            8,
            base.data(8, call="r1.argument.ben:1"),
            "That call asked for no tool.",
        ),
        (
            "of-no-round",
            7,
            base.data(1, tool_rounds=0),
            "The opening admits no round of tools: the reply had to be rejected.",
        ),
        (
            "after-the-last-round",
            11,
            last.insert(11, "tool.called", {**last.event(7)["data"], "call": "r1.argument.ann:2"}),
            "The rounds of tools are used up.",
        ),
        (
            "counted",
            11,
            last.without(11),
            "A reply that asks for more tools than admitted is not rejected.",
        ),
        (
            "truncated",
            8,
            base.data(1, limits={**base.event(1)["data"]["limits"], "calls": 1}).insert(
                8, "debate.truncated", {**capped("calls").event(11)["data"], "limit": 1, "spent": 1}
            ),
            "The debate is cut short while a tool is out.",
        ),
        (
            "lost",
            9,
            died().without(9),
            "A process took over, and does not say that the tool is lost.",
        ),
        (
            "before-the-abandoned",
            9,
            died_in_a_phase().moved(11, 9),
            "A tool comes back before the open call is ended.",
        ),
        (
            "turn-before-its-return",
            8,
            base.without(*range(8, 11)),
            "The turn is recorded while a tool is out.",
        ),
    ):
        yield undue(f"tool-{key}", seq, why, record)
    (row,) = base.event(1)["data"]["tools"]
    files = {name: body for name, body in base.templates.items() if name != row["sha256"]}
    yield defect(
        "tool-definition-missing",
        "10.missing",
        1,
        "The definition of the tool is gone.",
        base.with_only(files),
    )
    yield defect(
        "tool-definition-altered",
        "10.hash",
        1,
        "The definition of the tool is another one than its name says.",
        base.with_only({**files, row["sha256"]: b"{}"}),
    )
    yield defect(
        "tool-definition-not-named",
        "10.unnamed",
        0,
        "The definition of a tool is there that the opening does not name.",
        base.data(1, tools=[]),
    )
