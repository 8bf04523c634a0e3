"""Ceilings: debates that are cut short where the next call could break one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from conformance_kit.case import Case, altered, defect, group, sound, undue
from conformance_kit.debates import voting
from conformance_kit.judged import arguing, few, ruled
from conformance_kit.moderated import HOLDS, attacked, moderating
from conformance_kit.panel import alike, drafting
from conformance_kit.records import DIES, Record, Script, fails
from hansard.runtime.models.base import Completion, ModelError

SHORT = {"settings": {"max_tokens": 100}}
PRICES = {"python:bot": {"input": "100", "output": "1000"}}


def _limits(**ceilings: int) -> dict[str, int | None]:
    none: dict[str, int | None] = dict.fromkeys(("calls", "tokens", "cost_micro_usd", "elapsed_ms"))
    return none | ceilings


def spending(name: str, script: Script | None = None, **spec: Any) -> Record:
    """Run a judged debate; each call takes 40 tokens, gives 20 and may give 100."""
    seats = [{"id": "ann", "stance": "Ship it.", "label": "ship", **SHORT}]
    seats += [{"id": "ben", "stance": "Wait.", "label": "wait", **SHORT}]
    replies = {"r1.argument.ann": "A.", "r1.argument.ben": "B."}
    ends = {
        f"{step}:{number}": Completion(text, tokens_in=40, tokens_out=20)
        for step, text in (*replies.items(), ("r1.verdict.judge", ruled("ship").text))
        for number in (1, 2)
    }
    return arguing(
        f"spending-{name}",
        {**ends, **(script or {})},
        debaters=seats,
        judge=SHORT,
        prices=PRICES,
        **spec,
    )


@cache
def spent() -> Record:
    """Fifteen entries of `judged_once`, with tokens and costs; each ceiling is met and not broken.

    The judge's call (entry 11) is the third one; 120 tokens and 48,000 micro-dollars are spent,
    and it reserves 254 and 115,400; ten milliseconds have passed.
    """
    limits = {"calls": 3, "tokens": 374, "cost_usd": "0.1634", "seconds": 0.011}
    return spending("all", limits=limits)


@cache
def capped(ceiling: str) -> Record:
    """Twelve entries: the judge's call could break a ceiling; 11 truncated, 12 closed."""
    least = {"calls": 2, "tokens": 373, "cost_usd": "0.163399", "seconds": 0.01}
    return spending(ceiling, limits={ceiling: least[ceiling]})


@cache
def capped_at_once() -> Record:
    """Six entries: no call could be made at all; 5 truncated, 6 closed."""
    return spending("at-once", limits={"tokens": 1})


@cache
def capped_in_a_phase() -> Record:
    """Nineteen entries of a panel of three.

    15 started, 16 answered, 17 truncated, 18 the turn of the reply in hand, 19 closed.
    """
    rounds = [["a", "b", "c"], ["a", "b", "c"]]
    return drafting("capped", rounds, limits={"calls": 4})


@cache
def capped_before_a_rewrite() -> Record:
    """Nineteen entries: 16 a critique is sent back, 17 truncated, 18 it counts, 19 closed."""
    weak = {"r1.critique.critic:1": attacked(4, [HOLDS])}
    return moderating("capped", weak, limits={"calls": 3})


@cache
def unstated(name: str, end: Completion | ModelError, **limits: int | str) -> Record:
    """Run the same, but for the end of the first call, which reserves 155 tokens.

    The next one reserves 163 where it is ben's, and 155 where it is ann's second one.
    """
    return spending(f"unstated-{name}", {"r1.argument.ann:1": end}, limits=limits)


@cache
def one_by_one() -> Record:
    """Two calls are due at once, and only one fits under the ceiling; then the other one does."""
    seats = [{"id": seat, **SHORT} for seat in ("ann", "ben")]
    script = {
        f"r0.draft.{seat}:1": Completion("ship it", tokens_in=40, tokens_out=20)
        for seat in ("ann", "ben")
    }
    rounds = [["", ""]]
    return drafting("one-by-one", rounds, script, debaters=seats, limits={"tokens": 250})


@cache
def capped_after_the_decision() -> Record:
    """Fourteen entries: 12 decision, 13 the synthesis is forfeited for the ceiling, 14 closed."""
    return voting(
        "capped-synthesis",
        {"ann": "a", "ben": "a"},
        synthesizer={"model": "python:bot"},
        limits={"calls": 2},
    )


@group
def ceiling_good_cases() -> Iterator[Case]:
    """Records with ceilings that must be accepted."""
    yield sound(
        "ceilings-met",
        "The last call meets the ceilings on calls, tokens and cost exactly, and the one on time "
        "is a millisecond away.",
        spent(),
    )
    for ceiling, name in (
        ("calls", "calls"),
        ("tokens", "tokens"),
        ("cost_usd", "cost"),
        ("seconds", "seconds"),
    ):
        yield sound(
            f"ceiling-of-{name}",
            "The judge's call could break the ceiling: it is not made, and the debate ends.",
            capped(ceiling),
        )
    yield sound(
        "ceiling-before-the-first-call", "Not even one call could be made.", capped_at_once()
    )
    yield sound(
        "ceiling-in-a-phase",
        "Three calls are due at once, and one more is left: it is made and waited for, and its "
        "reply becomes a turn.",
        capped_in_a_phase(),
    )
    yield sound(
        "ceiling-before-a-rewrite",
        "No call is left for the critique that was sent back: it counts as it is.",
        capped_before_a_rewrite(),
    )
    yield sound(
        "ceiling-one-call-at-a-time",
        "Two calls are due at once, and both could break the ceiling: the second one is made once "
        "the first one came back, and had used less than it had reserved.",
        one_by_one(),
    )
    yield sound(
        "ceiling-after-the-decision",
        "There is a decision, and no call is left for the synthesis.",
        capped_after_the_decision(),
    )
    yield sound(
        "ceiling-and-an-abandoned-call",
        "The process died while a call was open: what it had reserved counts as spent.",
        spending("abandoned", {"r1.argument.ben:1": DIES}, limits={"cost_usd": "0.24"}),
    )


UNSTATED: tuple[tuple[str, Completion | ModelError, str], ...] = (
    ("nothing-stated", Completion("A."), "states no tokens"),
    ("half-stated", Completion("A.", tokens_in=40), "states what it took in, and not what it gave"),
    ("timeout", fails("timeout"), "timed out"),
)


@group
def unstated_good_cases() -> Iterator[Case]:
    """Records with calls that do not say what they used, and must be accepted."""
    ceilings: dict[str, dict[str, Any]] = {
        "tokens": {"tokens": 309},
        "cost": {"cost_usd": "0.21"},
    }
    for name, end, how in UNSTATED:
        for ceiling, limits in ceilings.items():
            yield sound(
                f"ceiling-of-{ceiling}-{name}",
                f"The first call {how}: it counts as it reserved, and the next one could break "
                "the ceiling.",
                unstated(name, end, **limits),
            )
    yield sound(
        "ceiling-of-tokens-rate-limited",
        "The first call was turned away: it counts as nothing, and the next one fits.",
        unstated("rate-limited", fails("rate_limited"), tokens=374),
    )


@group
def unstated_cases() -> Iterator[Case]:
    """Checks 9 and 15: what counts of calls that do not say what they used."""
    ceilings = {"tokens": _limits(tokens=309), "cost": _limits(cost_micro_usd=210_999)}
    for name, end, how in UNSTATED:
        next_call = 7 if isinstance(end, ModelError) else 8  # after a turn, where there is one
        for ceiling, limits in ceilings.items():
            yield defect(
                f"ceiling-broken-{ceiling}-{name}",
                "15.ceiling",
                next_call,
                f"A call is started; the one before it {how}, and counts as it reserved.",
                unstated(name, end).data(1, limits=limits),
            )
        yield altered(
            f"truncated-spent-{name}",
            "15.spent",
            f"The first call {how}: it counts as the 155 tokens that it reserved.",
            unstated(name, end, tokens=309),
            next_call,
            spent=0,
        )
    cut = {"step": "r1.argument.ann", "ceiling": "tokens", "limit": 309, "by": None, "reason": None}
    yield undue(
        "truncated-too-early-rate-limited",
        7,
        "The first call was turned away and counts as nothing: the next one would have fitted.",
        unstated("rate-limited", fails("rate_limited"), tokens=374)
        .data(1, limits=_limits(tokens=309))
        .insert(7, "debate.truncated", {**cut, "spent": 155, "reserved": 155}),
    )


@group
def in_hand_cases() -> Iterator[Case]:
    """Check 9: what is due after a debate was cut short, while replies are in hand."""
    phase, rewrite = capped_in_a_phase(), capped_before_a_rewrite()
    silent = {**few().event(10)["data"], "round": 1, "phase": "draft"}
    for key, seq, record, why in (
        ("reply-in-hand", 18, phase.without(18), "A reply that counts has become no turn."),
        ("weak-critique", 18, rewrite.without(18), "The critique has become no turn."),
        (
            "forfeited",
            19,
            phase.insert(
                19, "turn.forfeited", {**silent, "step": "r1.draft.ben", "speaker": "ben"}
            ),
            "Whoever was not asked for want of a call has forfeited nothing.",
        ),
        (
            "turn-before",
            17,
            phase.moved(18, 17),
            "While the phase could go on, its turns wait for all of its replies.",
        ),
    ):
        yield undue(f"truncated-with-{key}", seq, why, record)


@group
def overspent_cases() -> Iterator[Case]:
    """Check 15: calls that were made though they could break a ceiling."""
    base = spent()
    for key, fields, why in (
        ("calls", {"calls": 2}, "Two calls were made, and the third one is one too many."),
        ("tokens", {"tokens": 373}, "120 tokens are used, and the call reserves 254."),
        ("cost", {"cost_micro_usd": 163_399}, "48,000 are spent, and the call reserves 115,400."),
        ("seconds", {"elapsed_ms": 10}, "Ten milliseconds have passed."),
    ):
        yield defect(
            f"ceiling-broken-{key}", "15.ceiling", 11, why, base.data(1, limits=_limits(**fields))
        )
    yield defect(
        "ceiling-broken-at-once",
        "15.ceiling",
        5,
        "A call is started while another one has reserved most of what is left.",
        alike().data(1, limits=_limits(tokens=60)),
    )
    priced = drafting("priced", [["a", "a"]], prices=PRICES)
    yield defect(
        "ceiling-broken-at-once-for-cost",
        "15.ceiling",
        5,
        "A call is started while another one has reserved most of what may be spent.",
        priced.data(1, limits=_limits(cost_micro_usd=6_000)),
    )
    yield defect(
        "ceiling-of-nothing",
        "7.schema",
        1,
        "A ceiling is at least 1.",
        base.data(1, limits=_limits(calls=0)),
    )


@group
def reserved_cases() -> Iterator[Case]:
    """Check 15: what a call reserves for its reply, and in money."""
    base, seq = spent(), spent().seq("call.started")
    found = base.event(seq)["data"]
    for key, field, why in (
        ("tokens", "reserved_tokens_out", "A call reserves more than the longest reply."),
        ("cost", "reserved_cost_micro_usd", "A call reserves less than it may cost."),
    ):
        change = 1 if key == "tokens" else -1
        yield defect(
            f"reserved-{key}",
            f"15.{field}",
            seq,
            why,
            base.data(seq, **{field: found[field] + change}),
        )
    yield defect(
        "reserved-cost-without-a-price",
        "15.reserved_cost_micro_usd",
        4,
        "No price is known, and a call reserves money.",
        alike().data(4, reserved_cost_micro_usd=1),
    )


@group
def truncated_cases() -> Iterator[Case]:
    """Check 15: what is said of a debate that was cut short."""
    for key, ceiling, fields, why in (
        ("step", "calls", {"step": "r1.argument.ann"}, "Another step's call was not made."),
        ("limit", "calls", {"limit": 3}, "The opening's ceiling is lower."),
        ("spent", "calls", {"spent": 3}, "Two calls were made."),
        ("reserved", "calls", {"reserved": 2}, "A call is one call."),
        ("tokens-spent", "tokens", {"spent": 160}, "120 tokens were used."),
        ("cost-spent", "cost_usd", {"spent": 48_001}, "48,000 were spent."),
        ("seconds-spent", "seconds", {"spent": 11}, "Ten milliseconds had passed."),
        ("seconds-reserved", "seconds", {"reserved": 1}, "Time is not reserved."),
    ):
        (name,) = fields
        yield altered(f"truncated-{key}", f"15.{name}", why, capped(ceiling), 11, **fields)


@group
def cut_short_cases() -> Iterator[Case]:
    """Check 9: when a debate is cut short, and what follows."""
    base, phase = capped("calls"), capped_in_a_phase()
    decision = {**few().event(11)["data"], "review": base.event(1)["data"]["review"]}
    cut = base.event(11)["data"]
    for key, seq, record, why in (
        (
            "too-early",
            11,
            base.data(1, limits=_limits(calls=3)),
            "One more call would have fitted under the ceiling.",
        ),
        (
            "for-too-little",
            11,
            capped("tokens").data(11, reserved=253),
            "A call with this reservation would have fitted under the ceiling.",
        ),
        (
            "before-the-time",
            11,
            capped("seconds").data(1, limits=_limits(elapsed_ms=11)),
            "The time was not up.",
        ),
        (
            "without-a-ceiling",
            11,
            base.data(11, ceiling="tokens"),
            "The opening sets no ceiling on tokens.",
        ),
        (
            "while-a-call-is-open",
            16,
            phase.moved(17, 16),
            "A call is open, and may use less than it has reserved.",
        ),
        ("before-a-turn", 10, base.moved(11, 10), "No call is due, but a turn."),
        (
            "before-a-decision",
            14,
            spent().insert(14, "debate.truncated", cut),
            "No call is due, but the decision.",
        ),
        (
            "twice",
            12,
            base.insert(12, "debate.truncated", cut),
            "It was cut short before.",
        ),
        (
            "and-called",
            12,
            base.insert(12, "call.started", spent().event(11)["data"]),
            "A call is started after the debate was cut short.",
        ),
        (
            "and-decided",
            12,
            base.insert(12, "decision.reached", decision),
            "There is a decision after the debate was cut short.",
        ),
    ):
        yield undue(f"truncated-{key}", seq, why, record)


@group
def outcome_cases() -> Iterator[Case]:
    """Check 16: the outcome of a debate that met a ceiling."""
    base = capped("calls")
    yield altered(
        "truncated-as-complete",
        "16.outcome",
        "The debate was cut short.",
        base,
        12,
        outcome="complete",
    )
    yield altered(
        "truncated-for-another-ceiling",
        "16.reason",
        "It was cut short for its calls.",
        base,
        12,
        reason="tokens_ceiling",
    )
    yield altered(
        "forfeited-for-a-ceiling-as-truncated",
        "16.outcome",
        "The debate was decided before its ceiling was met.",
        capped_after_the_decision(),
        14,
        outcome="truncated",
    )


@group
def forfeited_cases() -> Iterator[Case]:
    """Checks 9, 15 and 16: a ceiling that is met after the decision forfeits the synthesis."""
    late = capped_after_the_decision()
    place, missing = {"step": late.event(13)["data"]["step"]}, late.event(13)["data"]["cut"]
    for key, code, fields, why in (
        ("reason", "9.reason", {"reason": "no_reply"}, "It was never asked, for the ceiling."),
        ("spent", "15.cut", {"cut": {**missing, "spent": 3}}, "Two calls were made."),
        ("by", "15.cut", {"cut": {**missing, "by": late.event(1)["data"]["question"]}}, "Nobody."),
    ):
        yield altered(f"forfeited-for-a-ceiling-{key}", code, why, late, 13, **fields)
    for key, why, record in (
        (
            "truncated-after-the-decision",
            "Once there is a decision, only the synthesis is forfeited.",
            late.insert(13, "debate.truncated", {**place, **missing}),
        ),
        (
            "forfeited-for-nothing",
            "No ceiling is named, and the synthesizer was not asked.",
            late.data(13, cut=None, reason="no_reply"),
        ),
        (
            "forfeited-below-the-ceiling",
            "The call would have fitted under the ceiling.",
            late.data(1, limits=_limits(calls=3)),
        ),
    ):
        yield undue(key, 13, why, record)
    silent = voting(
        "no-synthesis",
        {"ann": "a", "ben": "a"},
        {"r1.synthesis.synthesizer:1": fails("no_reply")},
        synthesizer={"model": "python:bot"},
    )
    yield altered(
        "forfeited-for-silence-and-a-ceiling",
        "15.cut",
        "It was asked, and gave no reply: no ceiling kept it from that.",
        silent,
        silent.seq("turn.forfeited"),
        cut=missing,
    )
