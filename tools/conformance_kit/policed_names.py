"""Check 18: names with and without a colon, families of models, and which scope counts (§15)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance_kit.case import Case, bad, good, group
from conformance_kit.debates import approving, decided, under, voting
from conformance_kit.exports import export
from conformance_kit.judged import judged_once
from conformance_kit.policed import JUDGED, held, served
from conformance_kit.records import Record


def family_of(debaters: str, judge: str) -> Record:
    """Return three seats of these models; the judge must be of another family."""
    seats = judged_once().until(4)
    for seq, model in ((2, debaters), (3, debaters), (4, judge)):
        seats = seats.data(seq, model=model)
    return held(seats, *JUDGED, "judged.judge independent family")


@group
def colon_cases() -> Iterator[Case]:
    """A function and a script begin with a word and a colon; a task type is one name."""
    bare = under(decided().until(3), approving("* callable none"))
    yield good(
        "policy-function-without-a-colon",
        "The models are called `python`. None begins with `python:`, so none is a function.",
        export(bare.data(2, model="python").data(3, model="python")),
    )
    yield bad(
        "policy-script-without-a-colon",
        "18.independent",
        4,
        "All models are called `scripted`. None begins with `scripted:`, so none is a script, and "
        "the family of each is the whole model.",
        export(family_of("scripted", "scripted")),
    )
    whole, part = (
        voting(f"kind-{name}", {"ann": "a", "ben": "a"}, task_type=kind)
        for name, kind in (("whole", "legal:lease"), ("part", "legal"))
    )
    policy = approving("* task_type legal:lease")
    yield good(
        "policy-task-type-with-a-colon",
        "The task type of policy and debate has a colon.",
        export(under(whole, policy)),
    )
    yield bad(
        "policy-task-type-in-part",
        "18.task_type",
        1,
        "The task type is what the policy's has before a colon.",
        export(under(part, policy)),
    )


@group
def scope_cases() -> Iterator[Case]:
    """What is no part of a family, and what is not looked at for a debate as a whole."""
    yield good(
        "policy-family-behind-a-place-and-a-maker",
        "The models of debaters and judge have the same place and maker in front; neither is a "
        "part of the family.",
        export(family_of("bedrock:us.anthropic.claude-3", "bedrock:us.anthropic.titan-1")),
    )
    yield good(
        "policy-require-of-a-role",
        "An owner is required in the scope of a role, which is not looked at for a debate.",
        export(held(served(), *JUDGED, "judged.judge require owner")),
    )
