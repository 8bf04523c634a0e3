"""Who speaks when in the `moderated` format, and who is seated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance_kit.case import Case, altered, defect, group, undue
from conformance_kit.moderated import (
    moderated,
    ranked,
    three_rounds,
    two_rounds,
    unchallenged,
    unmoderated,
    unproposed,
)
from conformance_kit.records import Record, digest, dump
from hansard.rules.formats import FORMATS


@group
def moderated_schedule_cases() -> Iterator[Case]:
    """Check 9: who speaks when."""
    base, long, positions = moderated(), two_rounds(), ranked()

    def asking(record: Record, seq: int, before: int, step: str) -> Record:
        """Start a call for `step` in place of what is due at `before`, much as entry `seq` does."""
        data = {**record.event(seq)["data"], "step": step, "call": f"{step}:1"}
        return record.insert(before, "call.started", data)

    for key, seq, record, why in (
        ("framing-skipped", 8, base.without(8, 9, 10), "There is no framing."),
        (
            "critique-first",
            11,
            asking(base, 14, 11, "r1.critique.critic"),
            "The critique is asked for before the proposition.",
        ),
        (
            "rebuttal-of-nothing",
            17,
            asking(unchallenged(), 14, 17, "r1.rebuttal.rebuttal"),
            "There is no critique that a rebuttal could answer.",
        ),
        ("rebuttal-skipped", 17, base.without(17, 18, 19), "The critique is not answered."),
        (
            "twice",
            23,
            asking(base, 20, 23, "r1.moderation.moderator"),
            "One round is moderated twice.",
        ),
        (
            "before-the-round",
            27,
            asking(long, 24, 27, "r2.moderation.moderator"),
            "The second round is moderated before anybody spoke in it.",
        ),
        (
            "without-a-proposition",
            14,
            asking(unproposed(), 11, 14, "r1.moderation.moderator"),
            "Nothing was proposed, and the moderator is asked.",
        ),
        (
            "round-not-wanted",
            23,
            asking(base, 11, 23, "r2.proposition.proposer"),
            "A second round begins that the moderator does not want.",
        ),
        (
            "round-wanted",
            27,
            long.without(*range(27, 45)),
            "The moderator wants another round, and there is a decision.",
        ),
        (
            "round-four",
            37,
            asking(three_rounds(), 28, 37, "r4.proposition.ann"),
            "A fourth round begins; three are the most.",
        ),
        (
            "position-out-of-turn",
            18,
            asking(positions, 18, 18, "r1.critique-2.critic"),
            "The second position is attacked first.",
        ),
        (
            "position-without-its-number",
            18,
            asking(positions, 18, 18, "r1.critique.critic"),
            "The critique does not say of which position it is.",
        ),
        (
            "number-without-positions",
            14,
            asking(base, 14, 14, "r1.critique-1.critic"),
            "The critique numbers the only proposition.",
        ),
        (
            "neutrality-skipped",
            33,
            positions.without(33, 34, 35),
            "The terms want a neutrality check, and there is none.",
        ),
        (
            "neutrality-unwanted",
            23,
            asking(base, 20, 23, "r1.neutrality.moderator"),
            "The terms want no neutrality check.",
        ),
        (
            "moderator-skipped",
            20,
            base.without(20, 21, 22),
            "There is a decision without a moderation.",
        ),
    ):
        yield undue(f"moderated-{key}", seq, why, record)
    escalated = {"rule": "too_few_heard", "review": unmoderated().event(1)["data"]["review"]}
    yield undue(
        "decision-without-a-moderator",
        23,
        "The moderator failed, and there is a decision all the same.",
        unmoderated().insert(
            23, "decision.reached", {**unchallenged().event(20)["data"], **escalated}
        ),
    )


def reschemed(record: Record, **terms: Any) -> Record:
    """Change the terms, and the reply schemas as they then follow."""
    changed = record.terms(**terms)
    rules = FORMATS["moderated"].schemas(changed.event(1)["data"]["terms"])
    bodies = {role: dump(schema) for role, schema in rules.items()}
    files = {digest(body): body for body in bodies.values()}
    rows = [{"role": role, "sha256": digest(body)} for role, body in bodies.items()]
    return changed.with_templates(files).opening(schemas=rows)


@group
def moderated_seat_cases() -> Iterator[Case]:
    """Checks 7, 9 and 10: the terms and the seats."""
    base, positions = moderated(), ranked()
    stance = positions.event(3)["data"]["stance"]
    text = base.event(1)["data"]["review"]
    yield defect(
        "moderated-four-rounds",
        "7.schema",
        1,
        "The terms admit a fourth round.",
        base.terms(max_rounds=4),
    )
    one = reschemed(base, positions=["fast"]).data(3, stance={"label": "fast", "text": text})
    yield undue("moderated-one-position", 6, "One position is no choice.", one)
    reserved = reschemed(positions, positions=["critic", "slow"])
    yield undue(
        "moderated-position-called-critic",
        7,
        "A position is called as a side is.",
        reserved.data(3, stance={**stance, "label": "critic"}),
    )
    same = reschemed(positions, positions=["fast", "fast"])
    yield undue(
        "moderated-position-twice",
        7,
        "Both positions have one label.",
        same.data(4, stance={**positions.event(4)["data"]["stance"], "label": "fast"}),
    )
    off = reschemed(base, critique=False).without(4, 5).data(1, seats=3).data(4, position=3)
    yield undue("moderated-without-critique", 4, "Nobody attacks the only proposition.", off)
    yield undue(
        "moderated-label-differs",
        7,
        "A proposer's stance has another label than the terms.",
        positions.data(4, stance={**positions.event(4)["data"]["stance"], "label": "late"}),
    )
    yield undue(
        "moderated-critic-with-a-stance",
        6,
        "The critic has a stance.",
        base.data(4, stance={"label": "no", "text": text}),
    )
    swapped = base.data(4, role="rebuttal").data(5, role="critic")
    yield undue(
        "moderated-seats-swapped", 6, "Critic and rebuttal are not in their order.", swapped
    )
    yield undue(
        "moderated-seat-called-upheld",
        6,
        "A seat is called `upheld`, which is a decision of this format.",
        base.data(6, id="upheld"),
    )
    yield undue(
        "moderated-seat-called-not-upheld",
        6,
        "A seat is called `not_upheld`, which is a decision of this format.",
        base.data(3, id="not_upheld"),
    )
    schemas = positions.event(1)["data"]["schemas"]
    moderator = base.event(1)["data"]["schemas"][-1]
    mixed = positions.with_templates(base.templates)
    yield defect(
        "moderated-schema-without-positions",
        "10.schemas",
        1,
        "The moderator's reply schema is that of a debate without positions.",
        mixed.opening(schemas=[*schemas[:-1], moderator]),
    )
    rows = {row["role"]: row["sha256"] for row in positions.event(1)["data"]["templates"]}
    yield altered(
        "moderated-template-without-positions",
        "10.template",
        "The moderator was asked with the template for one proposition.",
        positions,
        30,
        template=rows["moderator"],
    )
    yield altered(
        "critic-again-as-the-template",
        "10.template",
        "What is added for a critique that is sent back is not the critic's template.",
        two_rounds(),
        18,
        template=rows["critic_again"],
    )
