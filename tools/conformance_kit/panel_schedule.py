"""What happens when in the `panel` format, and who is seated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance_kit.case import Case, altered, defect, group, undue
from conformance_kit.judged import NOTHING
from conformance_kit.panel import (
    alike,
    chosen,
    combined,
    converged_texts,
    counted_texts,
    fallback,
    majority,
    not_judged,
    picked,
    similar,
    tie,
)
from conformance_kit.records import Record, digest, dump
from hansard.rules.formats.panel import PANEL


@group
def panel_schedule_cases() -> Iterator[Case]:
    """Check 9: who drafts when, and what is measured, counted and judged."""

    def asking(record: Record, before: int, step: str) -> Record:
        """Start a call for `step` in place of what is due at `before`."""
        data = {**record.event(5)["data"], "step": step, "call": f"{step}:1"}
        return record.insert(before, "call.started", data)

    def copied(record: Record, seq: int, before: int) -> Record:
        event = record.event(seq)
        return record.insert(before, event["type"], event["data"])

    escalated = {**tie().event(17)["data"], "review": fallback().event(1)["data"]["review"]}
    unjudged = {**tie().event(17)["data"], "review": not_judged().event(1)["data"]["review"]}
    for key, seq, record, why in (
        (
            "next-round-early",
            11,
            asking(majority(), 11, "r1.draft.ann"),
            "The next round begins before the drafts of round 0 are recorded.",
        ),
        (
            "round-after-convergence",
            11,
            asking(alike(), 11, "r1.draft.ann"),
            "The answers converged, and another round begins.",
        ),
        (
            "round-after-the-last",
            25,
            asking(majority(), 25, "r2.draft.ann"),
            "Another round begins after the last one.",
        ),
        (
            "round-skipped",
            15,
            majority().without(*range(15, 25)),
            "The drafts differ, and there is no other round.",
        ),
        (
            "phase-of-consensus",
            5,
            majority().data(5, step="r0.proposal.ann", call="r0.proposal.ann:1"),
            "A panel drafts; it does not propose.",
        ),
        (
            "similarity-missing",
            14,
            majority().without(14),
            "The drafts of round 0 are not compared.",
        ),
        ("similarity-twice", 15, copied(majority(), 14, 15), "One round is compared twice."),
        (
            "similarity-off",
            10,
            tie().insert(10, "similarity.measured", majority().event(14)["data"]),
            "The terms say that nothing is compared.",
        ),
        (
            "similarity-missing-in-the-end",
            23,
            similar().without(23),
            "The most similar draft is taken, and nothing was compared.",
        ),
        (
            "similarity-again-in-the-end",
            11,
            copied(alike(), 10, 11),
            "The words of the last round were compared before.",
        ),
        (
            "similarity-in-place-of-escalation",
            17,
            tie().insert(17, "similarity.measured", fallback().event(17)["data"]),
            "The terms fall back on nothing: somebody must look.",
        ),
        (
            "escalation-in-place-of-similarity",
            17,
            fallback().insert(17, "decision.reached", escalated),
            "The terms fall back on the most similar draft.",
        ),
        ("count-missing", 25, majority().without(25), "The last round is not counted."),
        ("count-twice", 26, copied(majority(), 25, 26), "The last round is counted twice."),
        (
            "count-of-what-converged",
            11,
            converged_texts().insert(11, "votes.counted", counted_texts().event(23)["data"]),
            "Answers that are alike are no exact majority: none is counted.",
        ),
        ("judge-skipped", 17, combined().without(17, 18, 19), "The judge is not asked."),
        (
            "judge-unwanted",
            16,
            asking(tie(), 16, "r1.verdict.judge"),
            "There is no judge in this debate.",
        ),
        (
            "judge-early",
            11,
            asking(combined(), 11, "r0.verdict.judge"),
            "The judge is asked after the first of two rounds.",
        ),
        (
            "decision-without-its-judge",
            20,
            not_judged().insert(20, "decision.reached", unjudged),
            "The judge failed, and there is a decision all the same.",
        ),
        (
            "draft-as-a-verdict",
            8,
            alike().retyped(8, "verdict.recorded", **NOTHING),
            "A draft is recorded as a verdict.",
        ),
        (
            "verdict-as-a-draft",
            19,
            combined().retyped(19, "turn.recorded", vote=None, case=None),
            "The verdict is recorded as a draft.",
        ),
    ):
        yield undue(f"panel-{key}", seq, why, record)


@group
def panel_seat_cases() -> Iterator[Case]:
    """Checks 7, 9 and 10: the terms and the seats."""
    base, texts = majority(), combined()
    stance: Any = {"label": "yes", "text": base.event(1)["data"]["review"]}
    for key, seq, record, why in (
        ("seat-of-no-label", 4, base.data(3, id="bob"), "A debater's id is none of the labels."),
        (
            "seats-unsorted",
            4,
            base.data(2, id="ben").data(3, id="ann"),
            "The debaters are not in the order of the labels.",
        ),
        ("seat-with-a-stance", 4, base.data(2, stance=stance), "A debater has a stance."),
        (
            "seat-missing",
            3,
            base.data(1, seats=2),
            "The terms name three debaters, and there are two seats.",
        ),
        (
            "without-a-judge",
            3,
            texts.data(1, seats=2),
            "A judge is to combine the drafts, and there is no seat for one.",
        ),
        (
            "with-a-judge",
            4,
            texts.terms(resolution="similar"),
            "A judge is seated, and the terms ask for none.",
        ),
        ("judge-as-a-moderator", 4, texts.data(4, role="moderator"), "There is no moderator."),
        (
            "judge-called-synthesis",
            4,
            texts.data(4, id="synthesis"),
            "A seat is called `synthesis`, which is a decision of this format.",
        ),
        ("alone", 2, alike().terms(labels=["ann"]).data(1, seats=1), "One debater is no panel."),
        ("option-abstain", 1, base.terms(options=["yes", "abstain"]), "An option is `abstain`."),
        (
            "option-undeclared",
            1,
            base.terms(options=["yes", "undeclared"]),
            "An option is `undeclared`, which is a decision.",
        ),
        ("option-twice", 1, base.terms(options=["yes", "yes"]), "An option stands twice."),
    ):
        yield undue(f"panel-{key}", seq, why, record)
    terms: Any = {**base.event(1)["data"]["terms"], "options": ["yes", "synthesis"]}
    files = {role: dump(schema) for role, schema in PANEL.schemas(terms).items()}
    schemas = [{"role": role, "sha256": digest(file)} for role, file in files.items()]
    yield undue(
        "panel-option-synthesis",
        4,
        "An option is `synthesis`, a decision: that is looked at with the last registration.",
        base.with_templates({digest(file): file for file in files.values()}).opening(
            terms=terms, schemas=schemas
        ),
    )
    yield defect(
        "panel-share-above-one",
        "7.schema",
        1,
        "Answers can be no more alike than 1,000,000.",
        base.terms(convergence_ppm=1_000_001),
    )
    yield defect(
        "panel-other-options",
        "10.schemas",
        1,
        "The reply schemas are not those that follow from the options.",
        base.terms(options=["no", "yes"]),
    )
    rows = {row["role"]: row["sha256"] for row in base.event(1)["data"]["templates"]}
    for key, record, seq, role, why in (
        ("without-options", base, 5, "debater", "The debater was not told the options."),
        ("with-options", alike(), 4, "chooser", "There are no options to be told."),
        ("of-a-combining-judge", picked(), 17, "judge", "The judge was not asked to pick."),
        ("of-a-picking-judge", chosen(), 17, "judge_picking", "The judge is not to pick."),
        ("of-a-judge-without-options", chosen(), 17, "judge", "There are options to choose."),
    ):
        yield altered(f"panel-template-{key}", "10.template", why, record, seq, template=rows[role])
