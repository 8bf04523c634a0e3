"""Stops and ceilings: in place of which call they stand, and what they say was reserved."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from conformance_kit.case import Case, altered, group, sound, undue
from conformance_kit.ceilings import SHORT, capped, capped_after_the_decision, spending, unstated
from conformance_kit.debates import approved, refused_late, voting
from conformance_kit.deliverables import concluded
from conformance_kit.failed import unheard
from conformance_kit.judged import ruled
from conformance_kit.raised import raised
from conformance_kit.records import RAISES, Record
from conformance_kit.stopped import stopped, stopped_before_the_synthesis
from conformance_kit.tool_use import LOOK, asking_for, look, using
from hansard.runtime.models.base import Completion

OVERSPENT = Completion("A.", tokens_in=400, tokens_out=400)  # more than the call reserved


@cache
def stopped_after_the_writers_bug() -> Record:
    """Sixteen entries: 14 the synthesizer's function raised, 15 forfeited, 16 closed."""
    script = {"r1.synthesis.synthesizer:1": RAISES}
    seat = {"model": "python:bot"}
    return voting("writers-bug", {"ann": "a", "ben": "a"}, script, synthesizer=seat, stop={})


@cache
def overspent(ceiling: str, most: int | str) -> Record:
    """Nine entries: 6 answered, and more is spent than the ceiling; 8 truncated, 9 closed."""
    return unstated(f"overspent-{ceiling}", OVERSPENT, **{ceiling: most})


@cache
def overspent_by_the_judge() -> Record:
    """Seventeen entries: too many tokens are spent; 16 the synthesis is forfeited, 17 closed."""
    verdict = Completion(ruled("ship").text, tokens_in=400, tokens_out=20)
    writer = {"model": "python:bot", **SHORT}
    script = {"r1.verdict.judge:1": verdict}
    return spending("overspent-judge", script, limits={"tokens": 400}, synthesizer=writer)


@group
def raised_cases() -> Iterator[Case]:
    """§9, §11: who may cut a debate short after a call that raised."""
    base = stopped_after_the_writers_bug()
    yield sound(
        "stopped-after-the-synthesizer-raised",
        "The synthesizer's function raises, and a person stops the debate where it could only "
        "have been resumed: the synthesis is forfeited.",
        base,
    )
    cut = base.event(15)["data"]["cut"]
    calls = {"ceiling": "calls", "limit": 3, "spent": 3, "reserved": 1}
    for key, record, why in (
        (
            "for-a-ceiling",
            base.data(1, limits={**base.event(1)["data"]["limits"], "calls": 3}).data(
                15, reason="ceiling", cut={**cut, **calls}
            ),
            "After its function raised, only a person forfeits the synthesis.",
        ),
        (
            "for-nothing",
            base.data(15, reason="no_reply", cut=None),
            "After its function raised, the synthesis is forfeited, and nobody stopped it.",
        ),
    ):
        yield undue(f"synthesizer-raised-{key}", 15, why, record)
    refusal = {**refused_late().event(4)["data"], "step": "r1.proposal.ben"}
    record = approved().until(4).insert(5, "call.refused", refusal)
    record = record.insert(6, "call.failed", {**raised().event(6)["data"], "cost_micro_usd": None})
    stop = {**stopped().event(14)["data"], "step": "r1.proposal.ann", "by": None, "reason": None}
    yield undue(
        "stopped-after-a-bug-and-a-refusal",
        7,
        "A call was refused before the function raised: no call is due that could be stopped.",
        record.insert(7, "debate.truncated", stop),
    )


@group
def null_cases() -> Iterator[Case]:
    """§9: a reservation of null, where more is spent than the ceiling, and where it is not."""
    for name, ceiling, most in (("tokens", "tokens", 373), ("cost", "cost_usd", "0.2")):
        base, within = overspent(ceiling, most), capped(ceiling)
        why = f"More {name} is spent than the ceiling, so that no call fits,"
        yield sound(
            f"overspent-{name}", f"{why} whatever it reserves: 0, here.", base.data(8, reserved=0)
        )
        yield altered(
            f"overspent-{name}-null",
            "15.reserved",
            f"{why} but what it reserves is a number.",
            base,
            8,
            reserved=None,
        )
        yield undue(
            f"truncated-{name}-null",
            11,
            "Nothing is said to be reserved, and a call that reserves nothing fits.",
            within.data(11, reserved=None),
        )
    late = overspent_by_the_judge()
    cut = late.event(16)["data"]["cut"]
    yield altered(
        "overspent-tokens-null-in-a-cut",
        "15.cut",
        "No call fits, so that the synthesis is forfeited, but what it reserves is a number.",
        late,
        16,
        cut={**cut, "reserved": None},
    )


@group
def reason_cases() -> Iterator[Case]:
    """§9: the reason of a forfeit says what its `cut` says, and that of any other does not."""
    late = capped_after_the_decision()
    why = "A ceiling was met, and no person stopped it."
    yield altered(
        "forfeited-for-a-ceiling-by-a-person", "9.reason", why, late, 13, reason="operator"
    )
    silent = unheard()
    why = "Nobody stopped the debate: the call brought no reply."
    yield altered(
        "forfeited-for-silence-by-a-person", "9.reason", why, silent, 8, reason="operator"
    )
    yield altered(
        "forfeited-turn-with-a-cut",
        "15.cut",
        "A debater was asked and gave no reply: neither a ceiling nor a person kept it from that.",
        silent,
        8,
        cut=stopped_after_the_writers_bug().event(15)["data"]["cut"],
    )


@group
def elsewhere_cases() -> Iterator[Case]:
    """Check 9: a forfeit with a `cut`, where neither a call nor a forfeit is due."""
    base = stopped_before_the_synthesis()
    forfeit = stopped_after_the_writers_bug().event(15)["data"]
    asked = using(
        "synthesis",
        {"r1.synthesis.synthesizer:1": asking_for(LOOK)},
        {"look": look},
        synthesizer=True,
    )
    returned = asked.seq("tool.returned")
    made, capped_ = concluded(), capped("calls")
    judge = {**forfeit, "step": "r1.verdict.judge", "phase": "verdict", "speaker": "judge"}
    for key, seq, record, why in (
        (
            "while-it-is-asked",
            14,
            base.insert(14, "turn.forfeited", forfeit),
            "A person stops the debate while the synthesizer's call is open.",
        ),
        (
            "while-a-tool-is-out",
            returned,
            asked.insert(returned, "turn.forfeited", forfeit),
            "A person stops the debate while a tool that the synthesizer asked for is out.",
        ),
        (
            "beside-its-reply",
            15,
            made.insert(15, "turn.forfeited", forfeit),
            "The synthesizer's reply counts, and the synthesis is forfeited.",
        ),
        (
            "before-the-decision",
            11,
            capped_.insert(11, "turn.forfeited", judge),
            "Before the decision a person ends the debate, and forfeits nobody's turn.",
        ),
    ):
        yield undue(f"stopped-synthesis-{key}", seq, why, record)
