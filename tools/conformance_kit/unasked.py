"""Members of a reply that its schema does not name: of a function, and of another model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from conformance_kit.case import Case, bad, good, group, not_due, sound
from conformance_kit.debates import voting
from conformance_kit.exports import export
from conformance_kit.judged import arguing
from conformance_kit.moderated import POSITIONS, moderating
from conformance_kit.panel import JUDGE, YES_NO, drafting
from conformance_kit.records import Data, Record, Script
from conformance_kit.wire import relabelled
from hansard.record.blob import HEADER
from hansard.runtime.models.base import Completion

# Members that other replies have, and that nobody asked for in these.
UNASKED = {
    "winner": "nobody", "choice": "nothing", "vote": "c", "ranking": ["x", "x"], "scores": {"x": 0},
    "upholds_proposition": 7, "supporting_arguments": [], "rebuttals": "none", "answer": " ",
    "citations": [[]], "more\nthesis": {"weight": 1.50, "why": [None]},
}  # fmt: skip
REJECTED: Data = {
    "again": True, "code": "schema", "keyword": "additionalProperties", "member": None,
    "rating": None,
}  # fmt: skip


def laden(value: Any) -> Any:
    """Return a value with members beside its own in every object, whatever its depth."""
    if isinstance(value, list):
        return [laden(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {**UNASKED, **{name: laden(member) for name, member in value.items()}}


def repeated(run: Callable[..., Record], key: str, *arguments: Any, **spec: Any) -> Record:
    """Run a debate once more, with such members in each reply that is an object."""
    asked, script = run(f"asked-{key}", *arguments, **spec), {}
    for event in asked.events:
        if event["type"] == "call.answered":
            text = asked.blobs[event["data"]["reply"]["sha256"]][HEADER:].decode()
            whole = json.dumps(laden(json.loads(text))) if text.startswith("{") else text
            script[event["data"]["call"]] = Completion(whole)
    return run(f"unasked-{key}", *arguments, script, **spec)


@cache
def voted() -> Record:
    """4-5 started, 6 ann answered, 7 ben answered, 8-9 turns, 10 count, 11 decision, 12 closed."""
    return repeated(voting, "votes", {"ann": "a", "ben": "a"})


@cache
def missed() -> Record:
    """6 ann answered with too much and too little, 7 rejected, 8 ben answered."""
    script: Script = {"r1.proposal.ann:1": Completion('{"stance":"so","vote":"a","why":1}')}
    return voting("unasked-and-missing", {"ann": "a", "ben": "a"}, script)


@group
def unasked_good_cases() -> Iterator[Case]:
    """Replies of functions, in every format; a reply of another model that is rejected."""
    argued, drafted = partial(repeated, arguing), partial(repeated, drafting)
    weighed = partial(repeated, moderating)
    drafts = [["yes", "no"]] * 2
    for key, what, record in (
        ("votes", "Each vote", voted()),
        ("verdict", "The verdict", argued("verdict")),
        ("proposition", "Each reply, and every argument and citation in it,", weighed("one")),
        (
            "positions",
            "Each reply on two positions, and the scores of the moderation,",
            weighed("positions", positions=POSITIONS),
        ),
        ("choices", "Each draft", drafted("choices", drafts, options=YES_NO)),
        ("answer", "The answer of the judge", drafted("answer", drafts, **JUDGE)),
        ("pick", "The pick", drafted("pick", drafts, **JUDGE, resolution="pick")),
    ):
        why = f"{what} has members that nobody asked for: a function gave it, so it counts."
        yield sound(f"unasked-{key}", why, record)
    yield good(
        "unasked-and-missing",
        "A function leaves out a member that was asked for, and adds another: the missing one is "
        "named.",
        export(missed()),
    )
    yield good(
        "unasked-of-a-script",
        "A scripted reply has a member that nobody asked for, and is rejected.",
        export(scripted(rejected())),
    )


def rejected() -> Record:
    """The first answer of `voted`, and its rejection as 7."""
    data = {**REJECTED, "step": "r1.proposal.ann", "call": "r1.proposal.ann:1"}
    return voted().until(6).insert(7, "turn.rejected", data)


def scripted(record: Record) -> Record:
    """Return the same debate, asked of a script."""
    return relabelled(record, "scripted:replies").data(1, scripted=True)


@group
def unasked_cases() -> Iterator[Case]:
    """Check 9 and 12: whose reply may say more than it was asked for."""
    yield not_due(
        "unasked-rejected",
        7,
        "A function's vote is rejected for a member that nobody asked for.",
        rejected(),
    )
    yield not_due(
        "unasked-counted",
        7,
        "A scripted vote has a member that nobody asked for, and is not rejected.",
        scripted(voted().until(7)),
    )
    yield bad(
        "unasked-named",
        "12.keyword",
        7,
        "A function left out a member, and its reply is rejected for the one that it added.",
        export(missed().data(7, keyword="additionalProperties", member=None).until(7)),
    )
    yield bad(
        "unasked-read",
        "12.vote",
        8,
        "Ann's vote is said to be another than that of the member that was asked for.",
        export(voted().data(8, vote="b").until(8)),
    )
