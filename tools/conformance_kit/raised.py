"""Calls in which the user's own function raised: the debate stands still until it is resumed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from conformance_kit.case import Case, bad, good, group, not_due
from conformance_kit.debates import voting
from conformance_kit.exports import export
from conformance_kit.records import RAISES, Record, Script
from conformance_kit.wire import relabelled
from hansard.runtime.models.base import Completion


@cache
def raised() -> Record:
    """Fifteen entries, with prices, and one attempt a turn.

    4-5 started, 6 ann raised, 7 ben answered, 8 resumed, 9 started, 10 answered,
    11-12 turns, 13 count, 14 decision, 15 closed.
    """
    prices = {"python:bot": {"input": "2.50", "output": "10"}}
    script: Script = {"r1.proposal.ann:1": RAISES}
    votes = {"ann": "a", "ben": "a"}
    return voting("raised", votes, script, prices=prices, tokens=(100, 0, 10), attempts=1)


@cache
def raised_by_both() -> Record:
    """Seventeen entries: 4-5 started, 6-7 both raised, 8 resumed, 9-10 started."""
    script: Script = dict.fromkeys(("r1.proposal.ann:1", "r1.proposal.ben:1"), RAISES)
    return voting("raised-by-both", {"ann": "a", "ben": "a"}, script)


@cache
def rejected_beside() -> Record:
    """Eighteen entries: 6 ann raised, 7 ben answered, 8 rejected, 9 resumed, 10-11 started."""
    script: Script = {"r1.proposal.ann:1": RAISES, "r1.proposal.ben:1": Completion("I hold a.")}
    return voting("rejected-beside", {"ann": "a", "ben": "a"}, script)


@group
def raised_good_cases() -> Iterator[Case]:
    """Records that must be accepted."""
    yield good(
        "raised-and-resumed",
        "Ann's function raises, and Ben's reply, which was in flight, still comes. The call "
        "is charged what it reserved, is no attempt, and is made anew after the resume.",
        export(raised()),
    )
    for key, record, why in (
        (
            "and-left-open",
            raised().until(7).pruned(),
            "Nobody has resumed the debate: it is open, and all its calls have ended.",
        ),
        ("by-both", raised_by_both(), "What was in flight beside it raises as well."),
        (
            "beside-a-rejection",
            rejected_beside(),
            "The reply that was in flight beside it does not count: it is rejected at once.",
        ),
        (
            "without-a-class",
            raised().data(6, detail=None),
            "The class of the exception has a name that no entry can hold.",
        ),
    ):
        yield good(f"raised-{key}", why, export(record))


@group
def raised_cases() -> Iterator[Case]:
    """Checks 9, 12 and 15: what follows from a call that raised."""
    base = raised()
    for key, code, why, record in (
        (
            "as-the-last",
            "9.again",
            "A call that raised is always made anew, though each turn has one attempt.",
            base.data(6, again=False),
        ),
        ("wait", "9.wait_ms", "A call that raised waits for somebody.", base.data(6, wait_ms=0)),
        (
            "free",
            "15.cost_micro_usd",
            "A call that raised costs what it reserved.",
            base.data(6, cost_micro_usd=None),
        ),
        (
            "compared",
            "12.wire",
            "What a function was sent is said to be as rendered.",
            base.data(6, sent_as_rendered=True),
        ),
    ):
        yield bad(f"raised-{key}", code, 6, why, export(record))
    why = "Only a function of the user's raises: what a client does is another error."
    for key, model in (("provider", "openai:gpt-5"), ("script", "scripted:replies")):
        record = relabelled(raised_by_both(), model).data(1, scripted=key == "script")
        yield not_due(f"raised-by-a-{key}", 6, why, record)
    yield not_due(
        "raised-then-a-call",
        8,
        "After a function raised, a call is made before another process takes over.",
        base.without(8),
    )
    yield not_due(
        "raised-then-cut-short",
        8,
        "After a function raised, the debate is cut short before another process takes over.",
        base.data(1, limits={**base.event(1)["data"]["limits"], "calls": 2})
        .until(7)
        .insert(
            8,
            "debate.truncated",
            {
                "step": "r1.proposal.ann",
                "ceiling": "calls",
                "limit": 2,
                "spent": 2,
                "reserved": 1,
                "by": None,
                "reason": None,
            },
        ),
    )
    yield not_due(
        "raised-then-closed",
        8,
        "After a function raised, the debate is closed.",
        base.until(7).insert(8, "debate.closed", base.event(15)["data"]),
    )
