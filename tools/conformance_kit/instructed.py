"""Instructions that a seat has of its own, from one round on or another (FORMAT.md §3, §7, §15)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from conformance_kit.case import Case, bad, defect, good, group, sound, undue
from conformance_kit.deliverables import told_all
from conformance_kit.exports import export, withholding
from conformance_kit.judged import arguing
from conformance_kit.panel import JUDGE, drafting
from conformance_kit.policed import JUDGED, held
from conformance_kit.records import TEMPLATES, Record, digest

OPEN, SHORT, CLOSE = "Open wide.", "Be short.", "Close.\n{{stance}}"
SAID = {("ann", 1): OPEN, ("ben", 1): SHORT, ("ben", 2): CLOSE}
PANEL = [
    f"panel.{role} template {digest(text.encode())}" for role, text in TEMPLATES["panel"].items()
]


def approving(*texts: str) -> list[str]:
    """Return the lines of a policy that approve these instructions, and none."""
    return ["* instructions none", *(f"* instructions {digest(text.encode())}" for text in texts)]


@cache
def instructed() -> Record:
    """Two rounds: ann's rows begin in 1 and end in 2 (null), ben's begin in 1 and 2; no judge's.

    1 opened, 2-4 ann, ben and judge.
    """

    def instructions(given: Mapping[str, Any], _context: Any) -> str:
        return SAID.get((given["seat"], given["round"]), "")

    return arguing("instructed", max_rounds=2, instructions=instructions)


@cache
def drafted() -> Record:
    """A panel, role first: ann and the judge are told in round 0 and later, ben from 1 on.

    1 opened, 2-4 ann, ben and judge.
    """

    def instructions(given: Mapping[str, Any], _context: Any) -> str:
        return "" if given["seat"] == "ben" and given["round"] < 1 else OPEN

    rounds = [["red", "blue"], ["green", "grey"]]
    return drafting("instructed", rounds, instructions=instructions, layout="role-first", **JUDGE)


def rows(record: Record, seq: int) -> list[Any]:
    """Return the rows of a seat."""
    found: list[Any] = record.event(seq)["data"]["instructions"]
    return found


@group
def instructed_good_cases() -> Iterator[Case]:
    """Records with rows that must be accepted."""
    record, panel, told = instructed(), drafted(), told_all()
    yield sound(
        "instructed-by-round",
        "Ann is instructed in round 1 and not in round 2, ben in each round otherwise, and the "
        "judge never.",
        record,
    )
    yield sound(
        "instructed-from-round-0",
        "A panel with the role first: ben is instructed from round 1 on, the others from round 0.",
        panel,
    )
    yield good(
        "instructed-withheld",
        "One of ben's instructions is withheld: prompts rest on its name alone.",
        withholding(record, f"blobs/{rows(record, 3)[0]['text']['sha256']}"),
    )
    shared = told.event(1)["data"]["instructions"]
    own = [{"round": 0, "text": shared}]
    others = {"round": 2, "text": told.event(1)["data"]["context"]}
    yield sound(
        "instructed-each-alike",
        "Ann and the judge have rows of their own with what the opening had for all. One holds "
        "from round 0 on; one begins after the last round. Ben is a function, which is told none.",
        told.data(1, instructions=None)
        .data(2, instructions=own)
        .data(4, instructions=[*own, others]),
    )
    yield sound(
        "instructed-beside-the-opening",
        "A function's seat has rows, which it is not told; the others have the opening's.",
        told.data(3, instructions=[{"round": 1, "text": told.event(1)["data"]["context"]}]),
    )


@group
def instructed_cases() -> Iterator[Case]:
    """Check 7, 9 and 11: rows without order, and prompts that they do not give."""
    record, panel, told = instructed(), drafted(), told_all()
    ann, ben = rows(record, 2), rows(record, 3)
    yield defect(
        "instructed-by-nothing",
        "7.schema",
        2,
        "Ann has a list of instructions without a row.",
        record.data(2, instructions=[]),
    )
    for key, changed, why in (
        ("backwards", ben[::-1], "Ben's rows do not stand in the order of their rounds."),
        ("twice", [ben[0], {**ben[1], "round": 1}], "Both of ben's rows are of round 1."),
    ):
        yield undue(f"instructed-{key}", 3, why, record.data(3, instructions=changed))
    told_otherwise: tuple[tuple[str, Record, int, Any, str, str], ...] = (
        ("as-before", record, 3, ben[:1], "r2.argument.ben", "Ben's second row was taken out."),
        (
            "too-late",
            record,
            3,
            [ben[0], {**ben[1], "round": 3}],
            "r2.argument.ben",
            "Ben's second row holds from round 3 on, and he was told it in round 2.",
        ),
        (
            "no-longer",
            record,
            2,
            ann[:1],
            "r2.argument.ann",
            "Ann's row without a text was taken out, and she was told nothing in round 2.",
        ),
        (
            "not-by-the-opening",
            record,
            2,
            None,
            "r1.argument.ann",
            "Ann's rows were taken out, so the opening's instructions hold, and there are none.",
        ),
        (
            "too-early",
            panel,
            3,
            [{**rows(panel, 3)[0], "round": 0}],
            "r0.draft.ben",
            "Ben's row holds from round 0 on, and he was told nothing in that round.",
        ),
        (
            "by-none",
            told,
            4,
            [{"round": 1, "text": None}],
            "r1.verdict.judge",
            "The judge has a row without a text, and was told the opening's instructions.",
        ),
    )
    for key, base, seq, changed, step, why in told_otherwise:
        place = base.seq("call.started", step=step)
        altered = base.data(seq, instructions=changed)
        yield defect(f"instructed-{key}", "11.prompt", place, why, altered.pruned())
    place = record.seq("call.started", step="r2.argument.ben")
    yield defect(
        "instructed-by-the-first-text",
        "11.prompt",
        place,
        "Ben's second row names the text of his first one.",
        record.data(3, instructions=[ben[0], {**ben[1], "text": ben[0]["text"]}]).pruned(),
    )


@group
def instructed_policy_cases() -> Iterator[Case]:
    """Check 10: each text that a seat can be told is compared, and that there can be none."""
    record, panel = instructed(), drafted()
    told = held(record, *JUDGED, *approving(OPEN, SHORT, CLOSE))
    yield good("policy-instructed", "All rows of all seats are approved.", export(told))
    for key, lines, seq, why in (
        ("second-row", approving(OPEN, SHORT), 3, "Ben's second row is not approved."),
        (
            "without",
            approving(OPEN, SHORT, CLOSE)[1:],
            2,
            "Ann has a row without a text, and the policy wants one.",
        ),
    ):
        yield bad(
            f"policy-instructed-{key}",
            "10.instructions",
            seq,
            why,
            export(held(record, *JUDGED, *lines)),
        )
    yield bad(
        "policy-instructed-late",
        "10.instructions",
        3,
        "Ben is instructed from round 1 on, but a panel begins with round 0.",
        export(held(panel, *PANEL, *approving(OPEN)[1:])),
    )
    yield bad(
        "policy-instructed-judge",
        "10.instructions",
        4,
        "The policy does not speak of the judge's instructions, so there must be none.",
        export(held(panel, *PANEL)),
    )
    paths = [f"blobs/{row['text']['sha256']}" for row in rows(record, 3)]
    yield good(
        "policy-instructed-withheld",
        "Ben's second row is withheld, and the first is approved: nobody can compare it.",
        withholding(held(record, *JUDGED, *approving(OPEN, SHORT)), paths[1]),
    )
    yield bad(
        "policy-instructed-withheld-beside",
        "10.instructions",
        3,
        "Ben's first row is withheld, and the second is not approved.",
        withholding(held(record, *JUDGED, *approving(OPEN, SHORT)), paths[0]),
    )
