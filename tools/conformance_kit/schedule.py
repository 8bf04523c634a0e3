"""Check 9: each entry in its place."""

from __future__ import annotations

from collections.abc import Iterator

from conformance_kit.case import Case, bad, field, group, not_due
from conformance_kit.debates import by_rounds, decided, resumed, split, troubled, voting
from conformance_kit.exports import export
from conformance_kit.records import derived
from hansard.record import blob


@group
def schedule_cases() -> Iterator[Case]:
    """Check 9: the opening, the debaters and the evidence, each in its place."""
    base = decided()

    events = base.events
    yield not_due("opening-missing", 1, "The first line is a registration.", base.without(1))
    yield not_due(
        "opening-twice", 2, "The opening stands twice.", base.numbered([events[0], *events])
    )
    roles = base.event(1)["data"]["templates"]
    yield not_due(
        "opening-roles-swapped",
        1,
        "The template roles are not in their order.",
        base.data(1, templates=[roles[1], roles[0], *roles[2:]]),
    )
    for key, options, why in (
        ("none", [], "There is no option."),
        ("abstain", ["a", "abstain"], "An option is `abstain`, which is what silence counts as."),
        ("undeclared", ["a", "undeclared"], "An option is `undeclared`, which is a decision."),
        ("twice", ["a", "a"], "An option stands twice."),
    ):
        terms = {**base.event(1)["data"]["terms"], "options": options}
        yield not_due(f"opening-option-{key}", 1, why, base.data(1, terms=terms))
    yield not_due("seat-as-a-judge", 3, "Nobody judges here.", base.data(3, role="judge"))
    stance = {"label": "a", "text": base.event(1)["data"]["review"]}
    yield not_due("seat-with-a-stance", 3, "Nobody is given a stance.", base.data(3, stance=stance))
    yield not_due("seat-missing", 3, "One of two debaters was never registered.", base.without(3))
    three = voting("three", {"ann": "a", "ben": "b", "cy": "a"}, rule="threshold", threshold=2)
    yield not_due(
        "seat-too-many", 4, "There are two seats, and a third debater.", three.data(1, seats=2)
    )
    yield not_due("seat-id-twice", 3, "Both debaters have one id.", base.data(3, id="ann"))
    yield not_due(
        "seat-scripted",
        3,
        "A seat's replies come from a script, and the opening does not say so.",
        base.data(3, model="scripted:replies.yaml"),
    )
    yield not_due(
        "seat-not-scripted",
        3,
        "The opening says that replies are scripted, and none are.",
        base.data(1, scripted=True),
    )
    yield not_due(
        "evidence-missing", 5, "One of two documents was never admitted.", by_rounds().without(5)
    )
    yield not_due(
        "evidence-id-twice", 5, "Both documents have one id.", by_rounds().data(5, document="late")
    )
    yield not_due(
        "evidence-too-many",
        4,
        "The opening announces no document.",
        base.insert(
            4,
            "evidence.admitted",
            {
                "document": "x",
                "from_round": 1,
                "text": events[0]["data"]["question"],
                "source": None,
                "original": None,
            },
        ),
    )


@group
def call_cases() -> Iterator[Case]:
    """Check 9: calls, their ends and rejections, each in its place."""
    base, trouble, late = decided(), troubled(), resumed()
    events = base.events
    started = events[3]["data"]
    yield not_due(
        "call-of-a-later-phase",
        4,
        "A critique is asked for before any proposal.",
        base.data(4, step="r1.critique.ann", call="r1.critique.ann:1"),
    )
    yield not_due(
        "call-of-nobody",
        4,
        "Nobody of this name has a seat.",
        base.data(4, step="r1.proposal.cy", call="r1.proposal.cy:1"),
    )
    twice = {**started, "call": "r1.proposal.ann:2", "attempt": 2}
    yield not_due(
        "call-twice",
        5,
        "A second call is started while the first one is open.",
        base.insert(5, "call.started", twice),
    )
    yield not_due(
        "call-after-the-reply",
        8,
        "A step whose reply counts is called again.",
        base.insert(8, "call.started", twice),
    )
    yield not_due(
        "call-after-the-last-attempt",
        13,
        "A step whose attempts are used up is called again.",
        trouble.insert(
            13,
            "call.started",
            {**trouble.event(9)["data"], "call": "r1.proposal.ann:3", "attempt": 3},
        ),
    )
    _, other = blob.pack("Another reply.", derived("answer-twice"))
    yield not_due(
        "answer-twice",
        7,
        "One call is answered twice.",
        base.insert(7, "call.answered", events[5]["data"]).blob(7, "reply", other),
    )
    yield not_due(
        "answer-without-a-call", 5, "A reply comes that nobody asked for.", base.without(4)
    )
    yield not_due(
        "abandoned-without-a-resume",
        7,
        "A call is called abandoned, and no process took over.",
        late.without(7),
    )
    yield not_due(
        "call-before-the-abandoned",
        8,
        "A call is started before the open one is ended.",
        late.without(8),
    )
    answered = {**late.event(10)["data"], "call": "r1.proposal.ann:1"}
    yield not_due(
        "answer-before-the-abandoned",
        8,
        "The reply to an abandoned call comes after all.",
        late.insert(8, "call.answered", answered),
    )
    yield bad(
        "failure-before-the-abandoned",
        "9.error",
        8,
        "A call that was open when the process died fails in another way than by being abandoned.",
        export(late.data(8, error="timeout")),
    )
    yield not_due(
        "rejection-missing",
        8,
        "A reply that does not count is not rejected, but tried again.",
        trouble.without(8),
    )
    yield not_due(
        "rejection-late",
        12,
        "A reply is rejected, but not by the very next line.",
        trouble.numbered(
            [*trouble.events[:11], trouble.event(13), trouble.event(12), *trouble.events[13:]]
        ),
    )
    yield not_due(
        "rejection-of-a-good-reply",
        7,
        "A reply that counts is rejected, to have another one.",
        base.insert(
            7,
            "turn.rejected",
            {
                "step": "r1.proposal.ann",
                "call": "r1.proposal.ann:1",
                "code": "schema",
                "member": "vote",
                "keyword": "type",
                "rating": None,
                "again": True,
            },
        ),
    )


@group
def turn_cases() -> Iterator[Case]:
    """Check 9: turns, counts, decision and close, each in its place."""
    base, trouble = decided(), troubled()
    events = base.events
    yield not_due(
        "turn-before-the-replies",
        7,
        "Ann's turn is recorded while Ben's call is open.",
        base.numbered([*events[:6], events[7], events[6], *events[8:]]),
    )
    forfeit = {key: events[7]["data"][key] for key in ("step", "round", "phase", "speaker")}
    yield not_due(
        "forfeit-with-a-reply",
        8,
        "A turn is forfeited whose reply counts.",
        base.top(8, type="turn.forfeited", data={**forfeit, "reason": "no_reply", "cut": None}),
    )
    yield not_due(
        "turn-without-a-reply",
        14,
        "A turn is recorded whose attempts were all in vain.",
        trouble.top(
            14, type="turn.recorded", data={**events[7]["data"], "call": "r1.proposal.ann:2"}
        ),
    )
    yield not_due("count-missing", 10, "The decision comes without a count.", base.without(10))
    yield not_due(
        "count-twice",
        11,
        "The votes are counted twice.",
        base.insert(11, "votes.counted", events[9]["data"]),
    )
    yield not_due(
        "count-early",
        9,
        "The votes are counted before the phase is over.",
        base.insert(9, "votes.counted", events[9]["data"]),
    )
    yield not_due(
        "decision-missing", 11, "The debate is closed without its decision.", base.without(11)
    )
    yield not_due(
        "decision-early",
        11,
        "There is a decision before the rounds are used up or a count is reached.",
        split().insert(11, "decision.reached", split().event(32)["data"]),
    )
    yield not_due(
        "line-after-the-close",
        13,
        "A process takes over a debate that is closed.",
        base.insert(13, "debate.resumed", {"engine": "conformance/1"}),
    )
    yield not_due(
        "closed-twice",
        13,
        "The debate is closed twice.",
        base.insert(13, "debate.closed", events[11]["data"]),
    )


@group
def field_cases() -> Iterator[Case]:
    """Check 9: the fields that follow from the place of an entry."""
    base, trouble, late = decided(), troubled(), resumed()
    events = base.events
    started = events[3]["data"]
    yield field("position", 2, "Ann speaks first, whatever it says.", base.data(2, position=2))
    yield field(
        "call", 4, "The first attempt is called the second.", base.data(4, call="r1.proposal.ann:2")
    )
    yield field(
        "attempt", 4, "The first attempt is counted as the second.", base.data(4, attempt=2)
    )
    yield field("role", 4, "Ann is a debater, and no judge.", base.data(4, role="judge"))
    yield field(
        "model",
        4,
        "Another model was asked than the one in Ann's seat.",
        base.data(4, model="python:cheaper"),
    )
    yield field(
        "parameters",
        4,
        "The model was asked with other settings than the seat's.",
        base.data(4, parameters={**started["parameters"], "temperature": "1"}),
    )
    yield field(
        "again",
        6,
        "A failure that is tried again is said to be the last one.",
        trouble.data(6, again=False),
    )
    why = "Nothing is known of an abandoned call, and it is always tried again: nobody saw its end."
    yield bad(
        "abandoned-another",
        "9.call",
        8,
        "Another call than the open one is abandoned.",
        export(late.data(8, call="r1.proposal.ben:1")),
    )
    yield bad("abandoned-detail", "9.detail", 8, why, export(late.data(8, detail="killed")))
    yield bad("abandoned-latency", "9.latency_ms", 8, why, export(late.data(8, latency_ms=1)))
    for key, name, value in (
        ("status", "status", 503),
        ("request", "request_id", "req-1"),
        ("wait", "wait_ms", 0),
        ("as-rendered", "sent_as_rendered", True),
        ("body", "sent", late.event(1)["data"]["review"]),
    ):
        yield bad(f"abandoned-{key}", f"9.{name}", 8, why, export(late.data(8, **{name: value})))
    yield bad("abandoned-again", "9.again", 8, why, export(late.data(8, again=False)))
    yield field("step", 8, "The turn is of another step.", base.data(8, step="r1.proposal.ben"))
    yield field("round", 8, "The turn is of another round.", base.data(8, round=2))
    yield field("phase", 8, "The turn is of another phase.", base.data(8, phase="critique"))
    yield field("speaker", 8, "The turn is of another speaker.", base.data(8, speaker="ben"))
    yield field(
        "call", 8, "The turn rests on another call.", base.data(8, call="r1.proposal.ben:1")
    )
    yield bad(
        "turns-swapped",
        "9.call",
        8,
        "Ben's turn comes before Ann's: nobody chooses who speaks.",
        export(base.numbered([*events[:7], events[8], events[7], *events[9:]])),
    )
    yield field(
        "step", 8, "The rejection is of another step.", trouble.data(8, step="r1.proposal.ann")
    )
    yield field(
        "call", 8, "The rejection is of another call.", trouble.data(8, call="r1.proposal.ben:2")
    )
    yield field(
        "again", 12, "The last attempt is said to be tried again.", trouble.data(12, again=True)
    )
    yield field(
        "step", 14, "The forfeit is of another step.", trouble.data(14, step="r1.proposal.ben")
    )
    yield field("round", 14, "The forfeit is of another round.", trouble.data(14, round=2))
    yield field("phase", 14, "The forfeit is of another phase.", trouble.data(14, phase="critique"))
    yield field(
        "speaker", 14, "The forfeit is of another speaker.", trouble.data(14, speaker="ben")
    )
    yield field(
        "reason",
        14,
        "The last attempt brought a reply, though none that counts.",
        trouble.data(14, reason="no_reply"),
    )
