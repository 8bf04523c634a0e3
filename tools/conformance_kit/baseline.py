"""The `baseline` format: answers of one seat to one prompt, and which of them is taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from conformance_kit.case import Case, altered, defect, group, sound, undue
from conformance_kit.panel import YES_NO, drafted
from conformance_kit.records import DIES, SHARED, Record, Script, fails, play
from hansard.runtime.models.base import Completion, Request, Wire

SEAT = "debater"
TEMPLATES = {
    "protocol": "Answer alone.\n",
    "debater": "\nYour answer?\n",
    "chooser": "\nYour answer: {{options}}?\n",
    **SHARED,
}


def drawn(
    name: str, answers: Sequence[str | None], script: Script | None = None, **spec: Any
) -> Record:
    """Run a baseline in which each answer is given; None is a draw that is not heard.

    With options the answers are the choices.
    """

    def answer(request: Request) -> Completion:
        said = answers[int(request.phase.partition("-")[2]) - 1]
        if said is None:
            raise fails("no_reply")
        return drafted(f"I say {said}.", said) if "options" in spec else drafted(said)

    whole = {
        "format": "baseline",
        "model": "python:bot",
        "review": "the board",
        "draws": len(answers),
        **spec,
    }
    return play(f"baseline-{name}", whole, answer, script, templates=TEMPLATES)


@cache
def most() -> Record:
    """Twenty entries: 2 debater, 3-7 started, 8-12 ended, 13-17 draws, 18 count, 19 decision."""
    options = [*YES_NO, "later"]
    return drawn("most", ["later", "yes", None, "no", "yes"], options=options)


@cache
def tie() -> Record:
    """Eleven entries: 3-4 started, 5-6 answered, 7-8 draws, 9 count, 10 decision, 11 closed."""
    return drawn("tie", YES_NO, options=YES_NO)


@cache
def first() -> Record:
    """Thirteen entries: 3-5 started, 6-8 ended, 9-11 draws, 12 decision, 13 closed."""
    return drawn("first", [None, "Forty-one.", "Forty-two."])


@cache
def refused() -> Record:
    """The seat is out after its first draw, and is asked for the others all the same."""
    script = {f"r1.draw-1.{SEAT}:1": fails("client_error", Wire(401))}
    return drawn("refused", ["yes", "no", "no"], script, options=YES_NO, leading_call=True)


@group
def baseline_cases() -> Iterator[Case]:
    """How draws are asked for and counted."""
    yield sound("baseline-most", "Two of five answers are more than any other option has.", most())
    yield sound("baseline-tie", "Two options have one answer each: somebody must look.", tie())
    yield sound(
        "baseline-first", "The first answer that counts is that of the second draw.", first()
    )
    yield sound("baseline-one", "One answer is all.", drawn("one", ["Forty-two."]))
    yield sound(
        "baseline-one-choice", "One answer decides.", drawn("one-choice", ["no"], options=YES_NO)
    )
    yield sound("baseline-nobody", "Every draw was forfeited.", drawn("nobody", [None, None]))
    yield sound(
        "baseline-asked-while-out",
        "All draws are due at once, so the seat was in when they were.",
        refused(),
    )
    yield sound(
        "baseline-resumed",
        "The process died during a draw, and the next one asked again with the same prompt.",
        drawn("resumed", ["yes"] * 3, {f"r1.draw-2.{SEAT}:1": DIES}, options=YES_NO),
    )
    yield sound(
        "baseline-synthesized",
        "Only who writes the deliverable sees the draws.",
        drawn("synthesized", ["So."] * 2, _deliverable(), synthesizer=True),
    )
    yield sound(
        "baseline-truncated",
        "The second call could break the ceiling, so one answer stands and none is taken.",
        drawn("truncated", ["So.", "So."], leading_call=True, limits={"calls": 1}),
    )


def _deliverable() -> Script:
    return {"r1.synthesis.synthesizer:1": Completion('{"synthesis": "So."}')}


@group
def baseline_defects() -> Iterator[Case]:
    """What is wrong with records of the format."""
    count = most().event(18)["data"]
    for key, code, why, record, seq, fields in (
        ("prompt", "11.prompt", "Each draw has the prompt of the first.", first(), 4,
         {"prompt": first().event(3)["data"]["schema"]}),
        ("count-phase", "14.phase", "The draws are counted together.", most(), 18,
         {"phase": "draw-5"}),
        ("count-threshold", "14.threshold", "One more than the second most is enough.", most(), 18,
         {"threshold": 3}),
        ("count-tally", "14.tally", "Options that nobody chose are listed as well.", tie(), 9,
         {"tally": tie().event(9)["data"]["tally"][:1]}),
        ("count-forfeited", "14.abstentions", "One draw was not heard.", most(), 18,
         {"abstentions": count["abstentions"] - 1}),
        ("count-tie", "14.reached", "Neither option has more answers than the other.", tie(), 9,
         {"reached": True}),
        ("tie-decided", "16.decision", "The first of two that lead is not taken.", tie(), 10,
         {"decision": "yes"}),
        ("majority", "16.rule", "More than half is not asked for.", most(), 19,
         {"rule": "majority_vote"}),
        ("first", "16.decision", "Without options the decision names the seat.", first(), 12,
         {"decision": "synthesis"}),
        ("seat-out", "9.reason", "It was asked, and no reply came.", refused(),
         refused().seq("turn.forfeited"), {"reason": "seat_out"}),
        ("vote", "12.vote", "The reply chooses another option.", most(), 13, {"vote": "yes"}),
        ("case", "12.case", "An answer argues no case.", first(), 10, {"case": {
            "arguments": 1, "rating": None, "unanswered": [], "citations": [], "struck": []}}),
    ):  # fmt: skip
        yield altered(f"baseline-{key}", code, why, record, seq, **fields)
    for key, terms, why in (
        ("draws", {"draws": 100}, "There are at most 99 draws."),
        ("no-draws", {"draws": 0}, "There is at least one draw."),
        ("rounds", {"max_rounds": 2}, "There is one round."),
    ):
        yield defect(f"baseline-{key}", "7.schema", 1, why, first().terms(**terms))
    for key, seq, fields, why in (
        ("second-seat", 2, {"role": "judge"}, "There is one debater and nobody else."),
        ("reserved", 2, {"id": "escalate"}, "No seat is called as an outcome is."),
        ("one-draw-more", 5, {"step": f"r1.draw-4.{SEAT}"}, "Three draws are all."),
        ("unnumbered", 5, {"step": f"r1.draw.{SEAT}"}, "Draws are numbered."),
        ("other-round", 5, {"step": f"r0.draw-3.{SEAT}"}, "The one round is round 1."),
    ):
        yield undue(f"baseline-{key}", seq, why, first().data(seq, **fields))
    yield undue("baseline-early", 8, "All draws end before any is recorded.", first().without(8))
