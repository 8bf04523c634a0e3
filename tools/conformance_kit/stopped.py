"""Debates that a person stops: cut short where a call is due, whatever the ceilings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from conformance_kit.case import Case, altered, group, sound, undue
from conformance_kit.ceilings import capped
from conformance_kit.debates import voting
from conformance_kit.judged import arguing
from conformance_kit.panel import drafting
from conformance_kit.records import DIES, RAISES, Record, Script, fails
from hansard.runtime.models.base import Wire


@cache
def stopped() -> Record:
    """Fifteen entries: the process died while the judge was asked.

    11 started, 12 resumed, 13 abandoned, 14 truncated by a person, 15 closed.
    """
    said = {"by": "Ann Lee", "reason": "The question was the wrong one."}
    return arguing("stopped", {"r1.verdict.judge:1": DIES}, stop=said)


@cache
def stopped_after_a_bug() -> Record:
    """Fourteen entries: 12 the judge's function raised, 13 truncated, 14 closed."""
    return arguing("stopped-after-a-bug", {"r1.verdict.judge:1": RAISES}, stop={})


@cache
def stopped_before_the_synthesis() -> Record:
    """Seventeen entries: 13 started, 16 the synthesis is forfeited, 17 closed as complete."""
    script: Script = {"r1.synthesis.synthesizer:1": DIES}
    seat = {"model": "python:bot"}
    said = {"by": "Ann Lee"}
    return voting("stopped-late", {"ann": "a", "ben": "a"}, script, synthesizer=seat, stop=said)


@cache
def stopped_beside_a_seat_out() -> Record:
    """A panel of three: ann is refused at first, then ben's function raised, and it is stopped."""
    script: Script = {
        "r0.draft.ann:1": fails("client_error", Wire(401)),
        "r1.draft.ben:1": RAISES,
    }
    return drafting("stopped", [["a", "b", "c"]] * 2, script, stop={})


@group
def stopped_good_cases() -> Iterator[Case]:
    """Records that must be accepted."""
    yield sound(
        "stopped-by-a-person",
        "The process died; a person stops the debate, and says who and why.",
        stopped(),
    )
    yield sound(
        "stopped-after-a-function-raised",
        "A person stops the debate where it could only have been resumed, and says nothing.",
        stopped_after_a_bug(),
    )
    base = stopped_beside_a_seat_out()
    yield sound(
        "stopped-beside-a-seat-out",
        "A person stops the debate after a function raised. Ann comes first, but her seat is out: "
        "the step that was not reached is ben's.",
        base,
    )
    yield sound(
        "stopped-before-the-synthesis",
        "A person stops the debate after its decision: the decision stands, without a synthesis.",
        stopped_before_the_synthesis(),
    )


@group
def stopped_cases() -> Iterator[Case]:
    """Checks 9, 15 and 16: what a stop by a person says, and where it may stand."""
    base, capped_ = stopped(), capped("calls")
    cut = base.event(14)["data"]
    for name, value, why in (
        ("step", "r1.argument.ann", "Another step's call was not made."),
        ("limit", 2, "A person has no limit."),
        ("spent", 2, "What was spent is not why it ended."),
        ("reserved", 1, "Nothing was reserved."),
    ):
        yield altered(f"stopped-{name}", f"15.{name}", why, base, 14, **{name: value})
    for name in ("by", "reason"):
        why = "A ceiling cut it short, and no person."
        question = capped_.event(1)["data"]["question"]
        yield altered(f"truncated-{name}", f"15.{name}", why, capped_, 11, **{name: question})
    yield altered(
        "stopped-for-a-ceiling",
        "16.reason",
        "A person stopped it, and no ceiling.",
        base,
        15,
        reason="calls_ceiling",
    )
    late = stopped_before_the_synthesis()
    yield altered(
        "stopped-late-for-a-ceiling",
        "9.reason",
        "A person stopped it, and no ceiling.",
        late,
        16,
        reason="ceiling",
    )
    none = capped_.data(1, limits=dict.fromkeys(capped_.event(1)["data"]["limits"]))
    numbers = {"limit": None, "spent": None, "reserved": None}
    for key, seq, why, record in (
        (
            "while-a-call-is-open",
            12,
            "A call is open: it ends first, or is abandoned.",
            base.insert(12, "debate.truncated", cut),
        ),
        (
            "before-a-turn",
            7,
            "No call is due, but a turn.",
            base.insert(7, "debate.truncated", cut),
        ),
        ("twice", 15, "It was stopped before.", base.insert(15, "debate.truncated", cut)),
        (
            "after-the-close",
            16,
            "The debate is closed.",
            base.insert(16, "debate.truncated", cut),
        ),
        (
            "as-a-ceiling",
            11,
            "The opening sets no ceiling on calls.",
            none.data(11, **numbers),
        ),
        (
            "after-a-bug-for-a-ceiling",
            13,
            "After a function raised, only a person cuts the debate short.",
            stopped_after_a_bug()
            .data(1, limits={**none.event(1)["data"]["limits"], "calls": 3})
            .data(13, ceiling="calls", limit=3, spent=3, reserved=1),
        ),
    ):
        yield undue(f"stopped-{key}", seq, why, record)
