"""What is written after the decision, what seats are told beside the debate, and by whom."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from conformance_kit.case import Case, altered, defect, group, sound, undue
from conformance_kit.debates import (
    OTHER,
    approving,
    policy_of,
    split,
    under,
    voting,
)
from conformance_kit.judged import arguing
from conformance_kit.moderated import moderating
from conformance_kit.records import TEMPLATES, Record, dump, fails
from hansard.rules.spec_parts import Seat
from hansard.runtime.models.base import Completion

SHAPE = {
    "type": "object",
    "properties": {"decision": {"type": "string", "maxLength": 4}},
    "required": ["decision"],
}


@cache
def concluded() -> Record:
    """Sixteen entries of the `consensus` format.

    1 opened, 2-4 ann, ben and the synthesizer, 5-11 as in `decided`, 12 decision, 13 started,
    14 answered, 15 synthesis, 16 closed.
    """
    return voting("concluded", {"ann": "a", "ben": "a"}, synthesizer={"model": "python:bot"})


@cache
def shaped() -> Record:
    """Twenty-two entries of the `judged` format.

    15 decision, 16 started, 17 answered, 18 rejected, 19 started, 20 answered, 21 synthesis,
    22 closed.
    """
    script = {
        "r1.synthesis.synthesizer:1": Completion('{"decision":"We ship."}'),
        "r1.synthesis.synthesizer:2": Completion('```json\n{"decision":"Ship"}\n```'),
    }
    return arguing("shaped", script, output_schema=SHAPE)


@cache
def told_all() -> Record:
    """Fifteen entries of `judged_once`: all that a seat can be told, and ben's is a function's."""
    debaters: list[dict[str, Any]] = [
        {"id": "ann", "label": "ship", "stance": "Ship it.", "persona": "You pay."},
        {"id": "ben", "label": "wait", "stance": "Wait.", "model": "custom:bot", "persona": "No."},
    ]
    return arguing(
        "told-all",
        debaters=debaters,
        judge={"persona": "You are old."},
        context="It is December.",
        instructions="Be brief.\n{{stance}}",
    )


@group
def deliverable_good_cases() -> Iterator[Case]:
    """Records with a synthesizer, or with more to tell, that must be accepted."""
    yield sound(
        "synthesis",
        "After the decision a synthesizer writes what it comes to; it does not count among the "
        "debaters.",
        concluded(),
    )
    yield sound(
        "synthesis-of-a-shape",
        "The first synthesis does not fit the user's own schema, the second one does.",
        shaped(),
    )
    yield sound(
        "synthesis-unreadable",
        "A synthesis is rejected as `unreadable` before anybody looks at the user's schema.",
        arguing(
            "synthesis-unreadable",
            {"r1.synthesis.synthesizer:1": Completion("We ship.")},
            synthesizer=True,
        ),
    )
    yield sound(
        "synthesis-not-had",
        "No synthesis can be had: the debate has its decision and is complete.",
        arguing(
            "synthesis-not-had",
            {"r1.synthesis.synthesizer:1": fails("client_error")},
            synthesizer=True,
        ),
    )
    yield sound(
        "synthesis-of-an-escalation",
        "Nobody challenged the proposition: it is escalated, and the synthesizer says what was "
        "found.",
        moderating(
            "synthesis",
            {
                "r1.critique.critic:1": fails("client_error"),
                "r1.synthesis.synthesizer:1": Completion('{"synthesis":"Nothing."}'),
            },
            synthesizer=True,
        ),
    )
    for key, kind, text in (("a-list", "array", "[null]"), ("null", "null", "null")):
        yield sound(
            f"synthesis-that-is-{key}",
            "After a `moderated` debate the user's own schema asks for what is no object.",
            moderating(
                f"synthesis-{key}",
                {"r1.synthesis.synthesizer:1": Completion(text)},
                output_schema={"type": kind},
            ),
        )
    yield sound(
        "synthesizer-called-escalate",
        "A synthesizer may be called as an outcome, in every format.",
        arguing(
            "synthesizer-called-escalate",
            synthesizer=True,
            unchecked={"synthesizer": Seat(id="escalate", model="python:bot")},
        ),
    )
    yield sound(
        "told-everything",
        "Context, personas and instructions stand in the prompts of all seats but the one that a "
        "function fills. Instructions are added as they are.",
        told_all(),
    )
    yield sound(
        "seat-called-escalate",
        "In `consensus` a seat may be called as an outcome of other formats.",
        voting("seat-called-escalate", {"escalate": "a", "upheld": "a"}),
    )
    yield sound(
        "named-and-collected",
        "The debate has a name and a collection, and seats have types of their own.",
        arguing("named", name="q1", collection_id="board", agent_types={"debater": "main"}),
    )
    yield sound(
        "judged-approved-prompts",
        "The policy approves the templates of this format, and no call is refused.",
        arguing("approved", policy=approving(format_="judged")),
    )
    yield sound(
        "judged-refused-for-the-judge",
        "The policy approves another template for the judge: the first debater is not called.",
        arguing("refused", policy=approving(format_="judged", judge=OTHER)),
    )


@group
def synthesis_cases() -> Iterator[Case]:
    """Checks 9 to 12: the synthesis."""
    base, own = concluded(), shaped()
    asked = base.event(13)["data"]
    for name, value in (
        ("step", "r2.synthesis.synthesizer"),
        ("round", 2),
        ("phase", "verdict"),
        ("speaker", "ann"),
        ("call", "r1.synthesis.synthesizer:2"),
    ):
        why = f"The synthesis has another {name} than its place gives."
        yield altered(f"synthesis-{name}", f"9.{name}", why, base, 15, **{name: value})
    question = base.event(1)["data"]["question"]
    first = own.event(17)["data"]["reply"]
    for key, code, record, seq, fields, why in (
        ("text", "12.text", base, 15, {"text": question}, "The text is not the reply."),
        ("rejected-text", "12.text", own, 21, {"text": first}, "The text is the rejected reply."),
        (
            "schema",
            "12.schema",
            base,
            15,
            {"schema": base.event(1)["data"]["schemas"][0]["sha256"]},
            "The schema is the debaters'.",
        ),
        (
            "rejected-as-schema",
            "12.code",
            own,
            18,
            {"code": "schema"},
            "A synthesis that can be read is rejected as `output_schema` alone.",
        ),
        (
            "rejected-as-unreadable",
            "12.code",
            own,
            18,
            {"code": "unreadable"},
            "The synthesis can be read.",
        ),
        (
            "rejected-with-a-rating",
            "12.rating",
            own,
            18,
            {"rating": 3},
            "Only a critique that is sent back has a rating.",
        ),
        (
            "called-with-another-schema",
            "10.schema",
            base,
            13,
            {"schema": base.event(1)["data"]["schemas"][0]["sha256"]},
            "The synthesizer was asked for what debaters reply.",
        ),
        (
            "called-with-another-template",
            "10.template",
            base,
            13,
            {"template": base.event(5)["data"]["template"]},
            "The synthesizer was asked with the debaters' template.",
        ),
    ):
        yield altered(f"synthesis-{key}", code, why, record, seq, **fields)
    unread = base.text(14, "reply", "We hold it.")
    later = {**asked, "step": "r2.synthesis.synthesizer", "call": "r2.synthesis.synthesizer:1"}
    again = {**asked, "call": "r1.synthesis.synthesizer:2", "attempt": 2}
    for key, seq, record, why in (
        (
            "before-the-decision",
            12,
            base.insert(12, "call.started", asked),
            "The synthesizer is asked before there is a decision.",
        ),
        ("skipped", 13, base.without(13, 14, 15), "The synthesizer is seated, and not asked."),
        (
            "twice",
            16,
            base.insert(16, "call.started", again),
            "The synthesizer is asked again after its synthesis.",
        ),
        (
            "of-another-round",
            13,
            base.put(13, dump({**base.event(13), "data": later})),
            "There was one round, and the synthesis is of a second one.",
        ),
        (
            "as-a-turn",
            15,
            base.retyped(15, "turn.recorded", vote=None, case=None),
            "The synthesis is recorded as a turn.",
        ),
        (
            "unreadable-counted",
            15,
            unread.data(15, text=unread.event(14)["data"]["reply"]).pruned(),
            "The synthesis is no JSON, and counts.",
        ),
    ):
        yield undue(f"synthesis-{key}", seq, why, record)


@group
def told_cases() -> Iterator[Case]:
    """Checks 9 to 11: the synthesizer's seat, what seats are told, and what is approved."""
    base, told = concluded(), told_all()
    schemas = base.event(1)["data"]["schemas"]
    stance: Any = {"label": "a", "text": base.event(1)["data"]["review"]}
    plain = split().with_templates(base.templates).opening(schemas=schemas)
    for key, seq, record, why in (
        ("with-a-stance", 4, base.data(4, stance=stance), "The synthesizer has a stance."),
        ("as-a-debater", 4, base.data(4, role="debater"), "The last seat is a debater's."),
        (
            "first",
            4,
            base.data(3, role="synthesizer").data(4, role="debater"),
            "The synthesizer is not the last.",
        ),
        (
            "without-a-schema",
            4,
            base.opening(schemas=schemas[:1]),
            "The opening does not say what the synthesizer is to write.",
        ),
        (
            "not-seated",
            3,
            plain,
            "The opening says what a synthesizer is to write, and none is seated.",
        ),
    ):
        yield undue(f"synthesizer-{key}", seq, why, record)
    alone = voting(
        "alone",
        {"ann": "a", "ben": "a"},
        rule="threshold",
        threshold=1,
        synthesizer={"model": "python:bot"},
    )
    yield undue(
        "synthesizer-alone",
        2,
        "There is nobody but a synthesizer.",
        alone.data(1, seats=1).data(2, role="synthesizer"),
    )
    yield defect(
        "synthesizer-schema-first",
        "10.schemas",
        1,
        "The schema of the synthesis stands first, and not last.",
        base.opening(schemas=schemas[::-1]),
    )
    gone = {row["sha256"] for row in schemas[1:]}
    yield defect(
        "synthesizer-schema-missing",
        "10.missing",
        1,
        "The user's own schema is gone.",
        base.with_only({name: body for name, body in base.templates.items() if name not in gone}),
    )
    for key, seq, record, why in (
        ("context", 5, told.data(1, context=None), "The context was taken out of the opening."),
        ("instructions", 5, told.data(1, instructions=None), "The instructions were taken out."),
        ("persona", 11, told.data(4, persona=None), "The judge's persona was taken out."),
        (
            "instructions-but-others",
            5,
            told.data(1, instructions=told.event(1)["data"]["context"]),
            "The instructions are others than those that were given.",
        ),
    ):
        yield defect(f"told-without-{key}", "11.prompt", seq, why, record.pruned())
    other = policy_of(
        sorted(f"consensus.{role} template {OTHER}" for role in TEMPLATES["consensus"])
    )
    approved = arguing("approved", policy=approving(format_="judged"))
    yield defect(
        "approved-for-another-format",
        "10.not_approved",
        5,
        "The policy approves templates of another format alone, and the models were called.",
        under(approved, other),
    )
