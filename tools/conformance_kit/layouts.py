"""Prompts that begin with the speaker's role, in every format."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from conformance_kit.case import Case, defect, group, sound
from conformance_kit.debates import decided, voting
from conformance_kit.judged import SEED, arguing, judged
from conformance_kit.moderated import EVIDENCE, HOLDS, POSITIONS, attacked, moderating, weighed
from conformance_kit.panel import JUDGE, YES_NO, drafting
from conformance_kit.records import Record, Script, fails
from conformance_kit.tool_use import LOOK, asking_for, look
from hansard.runtime.models.base import Completion

GIVEN: dict[str, Any] = {
    "layout": "role-first",
    "context": "It is December.",
    "instructions": "Be brief.",
}
LATE = {"id": "late", "text": "The supplier was late twice.", "from_round": 2}
VAGUE = Completion("I would rather not.")


@cache
def voted() -> Record:
    """Nineteen entries: 5-6 started, 7 ann answered, 8 rejected, 9 ben answered, 10 started."""
    return voting(
        "role-first",
        {"ann": "a", "ben": "a"},
        {"r1.proposal.ann:1": VAGUE},
        personas={"ann": "You pay."},
        synthesizer={"model": "python:bot", "persona": "You write."},
        **GIVEN,
    )


@cache
def shown() -> Record:
    """A judge who sees round 2 in the other order; ann uses a tool, and is rejected after it.

    1 opened, 2-5 ann, ben, judge and synthesizer, 6 evidence, 7 started, 8 answered, 9 tool
    called, 10 returned, 11 started, 12 answered, 13 rejected, 14 started.
    """
    script: Script = {"r1.argument.ann:1": asking_for(LOOK), "r1.argument.ann:2": Completion(" ")}
    return arguing(
        "role-first",
        script,
        given={"look": look},
        tools=["look"],
        max_rounds=2,
        seed=SEED,
        evidence=[LATE],
        judge={"persona": "You are old."},
        synthesizer=True,
        **GIVEN,
    )


@cache
def checked() -> Record:
    """Two rounds; the critique is sent back, the next one cannot be read; then neutrality."""
    script: Script = {
        "r1.critique.critic:1": attacked(4, [HOLDS]),
        "r1.critique.critic:2": VAGUE,
        "r1.moderation.moderator:1": weighed(recommend_another_round=True),
    }
    given = {**GIVEN, "evidence": [*EVIDENCE, LATE]}
    return moderating("role-first", script, max_rounds=2, neutrality_check=True, **given)


@cache
def drafted() -> Record:
    """A panel; ben's seat is filled by a function, which is told its template alone."""
    script: Script = {"r0.draft.ann:1": fails("timeout"), "r1.verdict.judge:1": VAGUE}
    return drafting(
        "role-first",
        [YES_NO, YES_NO],
        script,
        options=YES_NO,
        debaters=[
            {"id": "ann", "persona": "You pay."},
            {"id": "ben", "model": "custom:bot", "persona": "Not told."},
        ],
        evidence=[{**LATE, "from_round": 1}],
        **GIVEN,
        **JUDGE,
    )


@group
def layout_good_cases() -> Iterator[Case]:
    """Records with the role first that must be accepted."""
    for name, record, why in (
        (
            "consensus",
            voted(),
            (
                "Context, persona, instructions and the template stand before what all share; why "
                "a reply did not count comes last. The synthesizer's prompt begins alike."
            ),
        ),
        (
            "judged",
            shown(),
            (
                "The judge sees the arguments in an order of its own, after its role; what a tool "
                "gave comes last, and then why the reply did not count."
            ),
        ),
        (
            "moderated",
            checked(),
            (
                "A critique is sent back, the next one cannot be read: both are said last. The "
                "neutrality check is shown the turns in an order of its own."
            ),
        ),
        (
            "positions",
            moderating("role-first-ranked", positions=POSITIONS, neutrality_check=True, **GIVEN),
            "Both positions are proposed at once, each prompt under its own role.",
        ),
        (
            "panel",
            drafted(),
            "A seat that a function fills is told its template alone before what all share.",
        ),
    ):
        yield sound(f"role-first-{name}", why, record)


@group
def layout_cases() -> Iterator[Case]:
    """Check 11: prompts in the order of another layout."""
    verdict, neutrality = shown(), checked()
    judges = verdict.seq("call.started", role="judge")
    check = neutrality.seq("call.started", step="r2.neutrality.moderator")
    moderation = neutrality.event(neutrality.seq("call.started", step="r2.moderation.moderator"))
    again = voted().seq("call.started", call="r1.proposal.ann:2")
    first = {"layout": "role-first"}
    for key, record, seq, why in (
        (
            "as-shared",
            voted().data(1, layout="shared-prefix"),
            5,
            "The layout is said to be `shared-prefix`, and the prompts begin with the role.",
        ),
        (
            "but-shared",
            decided().data(1, **first),
            4,
            "The layout is said to be `role-first`, and the role stands last.",
        ),
        (
            "but-shown-shared",
            judged().data(1, **first),
            5,
            "The layout is said to be `role-first`, and the role stands last.",
        ),
        (
            "other-seed",
            verdict.data(1, seed="0"),
            judges,
            "The judge saw the arguments in an order that the seed does not give.",
        ),
        (
            "neutrality-as-moderation",
            neutrality.data(check, prompt=moderation["data"]["prompt"]),
            check,
            "The neutrality check was shown the turns as they stood.",
        ),
        (
            "not-told-again",
            voted().data(again, prompt=voted().event(5)["data"]["prompt"]),
            again,
            "The second prompt is the first one: it does not say why the reply did not count.",
        ),
        (
            "without-persona",
            voted().data(2, persona=None),
            5,
            "Ann's persona was taken out of her registration.",
        ),
    ):
        yield defect(f"role-first-{key}", "11.prompt", seq, why, record)
