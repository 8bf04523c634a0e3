"""The gate of an opening: whether a debate was advised, and that it follows (FORMAT.md §3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from conformance_kit.case import Case, bad, good, group
from conformance_kit.debates import approving, decided, under, voting
from conformance_kit.exports import export, files_of, seal, withholding
from conformance_kit.people import review, texts
from conformance_kit.records import Data, Record

NAMES = ("downside", "uncertain", "high_risk")
LARGEST = 2**53 - 1
ASKED: Data = {
    "rule": "downside",
    "contested": True,
    "confidence_ppm": None,
    "downside_micro_usd": None,
    "threshold_micro_usd": None,
    "factor": 50,
    "task_type": None,
    "answer": None,
}
DEAR: Data = {"downside_micro_usd": 5_000_001, "threshold_micro_usd": 100_000}
CHEAP: Data = DEAR | {"downside_micro_usd": 5_000_000}


def conditions(*met: str) -> list[Data]:
    """Return the three conditions, of which these are met."""
    return [{"name": name, "met": name in met} for name in NAMES]


def gate(*met: str, advised: bool = False, **asked: Any) -> Data:
    """Return a gate of which these conditions are met."""
    return ASKED | {"advised": advised, "conditions": conditions(*met)} | asked


def opened(found: Mapping[str, Any] | None, base: Record | None = None) -> Record:
    """Return a record whose opening has this gate."""
    return (base or decided()).data(1, gate=found)


def answered(text: str, *met: str, **asked: Any) -> Record:
    """Return a record whose gate has an answer of a single model."""
    record, (answer,) = texts(decided(), text)
    return opened(gate(*met, answer=answer, **asked), record)


@cache
def contract() -> Record:
    """The twelve entries of `decided`, of a question about a contract."""
    return voting("contract", {"ann": "a", "ben": "a"}, task_type="contract")


@group
def accepted() -> Iterator[Case]:
    """Each condition at its bound and past it, and each rule."""
    rows: tuple[tuple[str, str, Data], ...] = (
        ("nothing", "The gate was asked nothing, so it advises nothing.", gate()),
        ("downside", "The downside is one more than the factor times the threshold.",
         gate("downside", advised=True, **DEAR)),
        ("downside-at-its-bound", "The downside is the factor times the threshold.",
         gate(**CHEAP)),
        ("downside-unknown", "There is a threshold and no downside.",
         gate(**DEAR | {"downside_micro_usd": None})),
        ("threshold-unknown", "There is a downside and no threshold.",
         gate(**DEAR | {"threshold_micro_usd": None})),
        ("free", "A debate costs nothing, a wrong answer one millionth of a dollar.",
         gate("downside", advised=True, downside_micro_usd=1, threshold_micro_usd=0)),
        ("large", "Only exact numbers tell that the downside is less than twice the threshold.",
         gate(downside_micro_usd=LARGEST, threshold_micro_usd=2**52, factor=2)),
        ("larger", "The threshold times the factor is far above any number of an entry.",
         gate(downside_micro_usd=LARGEST, threshold_micro_usd=LARGEST, factor=LARGEST)),
        ("confidence", "The confidence is one millionth below 0.7.",
         gate("uncertain", advised=True, rule="any", confidence_ppm=699_999)),
        ("confidence-at-its-bound", "The confidence is 0.7.",
         gate(rule="any", confidence_ppm=700_000)),
        ("confidence-alone", "The confidence is low, but the downside alone counts.",
         gate("uncertain", confidence_ppm=0)),
        ("any", "The downside is enough for any.", gate("downside", advised=True, rule="any",
                                                          **DEAR)),
        ("all-but-one", "Two of three conditions are not all.",
         gate("downside", "uncertain", rule="all", confidence_ppm=0, **DEAR)),
        ("lookup", "The downside is large, but the question is a lookup.",
         gate("downside", contested=False, **DEAR)),
        ("task-type-none", "No task type is stated.", gate(rule="any")),
    )  # fmt: skip
    for name, why, found in rows:
        yield good(f"gate-{name}", why, export(opened(found)))
    risky = gate("high_risk", advised=True, rule="any", task_type="contract")
    yield good("gate-high-risk", "Contracts are of high risk.", export(opened(risky, contract())))
    every = gate(
        *NAMES, advised=True, rule="all", task_type="contract", confidence_ppm=650_000, **DEAR
    )
    yield good("gate-all", "All conditions are met.", export(opened(every, contract())))


@group
def answers() -> Iterator[Case]:
    """The answer of a single model, which hedges or does not, or is gone."""
    for name, why, text, hedges in (
        ("sure", "The answer does not hedge.", "It holds, as section 4 says.", False),
        ("hedges", "The answer hedges in a phrase of two words.", "I'm NOT\nsure, it holds.", True),
        ("negated", "A negation stands right before the phrase.", "It cannot possibly hold.",
         False),
        ("apart", "The words of the phrase do not follow each other.", "It could well be.", False),
        ("last", "The phrase is one word, the last of all.", "Yes, perhaps", True),
        ("empty", "The answer is empty.", "", False),
        ("far", "The phrase begins after 65,536 characters.", "x " * 32_768 + "perhaps", False),
        ("near", "The phrase ends with the 65,536th character.", "é " * 32_764 + "é perhaps"[1:],
         True),
        ("cut", "Of the phrase, the last letter is the 65,537th character.",
         "𝒙 " * 32_764 + "x" + " perhaps", False),
    ):  # fmt: skip
        met = ["uncertain"] * hedges
        record = answered(text, *met, advised=hedges, rule="any")
        yield good(f"gate-answer-{name}", why, export(record))
        other = answered(text, *(["uncertain"] * (not hedges)), advised=not hedges, rule="any")
        yield bad(
            f"gate-answer-{name}-otherwise",
            "9.not_due",
            1,
            f"{why} The gate says otherwise.",
            export(other),
        )
    low = answered("It holds.", "uncertain", advised=True, rule="any", confidence_ppm=1)
    yield good("gate-answer-low", "The answer is sure, its confidence is low.", export(low))
    for name, why, record in (
        ("met", "An answer is withheld, of which the gate says that it hedges.",
         answered("It holds.", "uncertain", advised=True, rule="any")),
        ("not-met", "An answer is withheld, of which the gate says that it does not hedge.",
         answered("Perhaps.", rule="any")),
        ("low", "An answer is withheld whose confidence is low.", low),
    ):  # fmt: skip
        path = f"blobs/{record.event(1)['data']['gate']['answer']['sha256']}"
        yield good(f"gate-answer-withheld-{name}", why, withholding(record, path))
    gone = answered("It holds.", "uncertain", rule="any")
    path = f"blobs/{gone.event(1)['data']['gate']['answer']['sha256']}"
    yield bad(
        "gate-answer-withheld-against",
        "9.not_due",
        1,
        "The answer is withheld; the advice does not follow from what the gate says of it.",
        withholding(gone, path),
    )
    files = files_of(gone)
    del files[path]
    yield bad("gate-answer-gone", "8.missing", 1, "The answer is gone.", seal(files))


@group
def refused() -> Iterator[Case]:
    """Gates that contradict themselves."""
    rows: tuple[tuple[str, str, Data], ...] = (
        ("advised", "Nothing is met, and it advises a debate.", gate(advised=True)),
        ("not-advised", "The downside is met, and it does not advise a debate.",
         gate("downside", **DEAR)),
        ("advised-lookup", "It advises to debate a lookup.",
         gate("downside", advised=True, contested=False, **DEAR)),
        ("any-not-advised", "One is met of any, and it does not advise a debate.",
         gate("uncertain", rule="any", confidence_ppm=0)),
        ("all-advised", "Two are met of all, and it advises a debate.",
         gate("downside", "uncertain", advised=True, rule="all", confidence_ppm=0, **DEAR)),
        ("downside-at-its-bound-met", "The downside is the factor times the threshold.",
         gate("downside", advised=True, **CHEAP)),
        ("downside-past-it-not-met", "The downside is one more than that.", gate(**DEAR)),
        ("downside-unknown-met", "No downside is known.",
         gate("downside", advised=True, threshold_micro_usd=0)),
        ("threshold-unknown-met", "No threshold is known.",
         gate("downside", advised=True, downside_micro_usd=1)),
        ("large-met", "The downside is one less than twice the threshold.",
         gate("downside", advised=True, downside_micro_usd=LARGEST,
              threshold_micro_usd=2**52, factor=2)),
        ("confidence-at-its-bound-met", "The confidence is 0.7.",
         gate("uncertain", confidence_ppm=700_000)),
        ("confidence-past-it-not-met", "The confidence is one millionth below 0.7.",
         gate(confidence_ppm=699_999)),
        ("high-risk-met", "No task type is of high risk where none is stated.",
         gate("high_risk")),
        ("task-type", "The opening states no task type.",
         gate("high_risk", task_type="contract")),
        ("order", "The conditions stand in another order.",
         gate() | {"conditions": conditions()[::-1]}),
        ("two-conditions", "The last condition is missing.",
         gate() | {"conditions": conditions()[:2]}),
        ("no-conditions", "There are no conditions.", gate() | {"conditions": []}),
        ("condition-twice", "A condition stands twice.",
         gate() | {"conditions": [*conditions(), conditions()[2]]}),
    )  # fmt: skip
    for name, why, found in rows:
        yield bad(f"gate-{name}", "9.not_due", 1, why, export(opened(found)))
    for name, why, found in (
        ("other-task-type", "The opening's task type is another.", gate(task_type="vendor")),
        ("task-type-left-out", "The gate was not asked the opening's task type.", gate()),
        ("high-risk-not-met", "Contracts are of high risk.", gate(task_type="contract")),
    ):
        yield bad(f"gate-{name}", "9.not_due", 1, why, export(opened(found, contract())))


@group
def misformed() -> Iterator[Case]:
    """Gates that have not the form."""
    rows: tuple[tuple[str, str, Any], ...] = (
        ("factor-0", "The factor is 0.", gate(factor=0)),
        ("rule", "There is no such rule.", gate(rule="most")),
        ("confidence-above-1", "The confidence is more than 1.", gate(confidence_ppm=1_000_001)),
        ("downside-below-0", "The downside is negative.", gate(downside_micro_usd=-1)),
        ("contested-null", "It is not said whether the question is contested.",
         gate(contested=None)),
        ("answer-in-clear", "The answer stands in the entry.", gate(answer="Yes.")),
        ("condition", "There is no such condition.",
         gate() | {"conditions": [{"name": "urgent", "met": False}]}),
        ("met-number", "A condition is met by 1.",
         gate() | {"conditions": [{"name": "downside", "met": 1}]}),
        ("member-missing", "The rule is missing.",
         {key: value for key, value in gate().items() if key != "rule"}),
        ("false", "No gate is null, and not false.", False),
    )  # fmt: skip
    for name, why, found in rows:
        yield bad(f"gate-form-{name}", "7.schema", 1, why, export(opened(found)))


@group
def policed() -> Iterator[Case]:
    """Each term of a policy on the gate, at its bound and past it."""
    strict = ("* gate_factor 50", "* gate_rule downside", "* require gate")
    kept = opened(gate("downside", advised=True, **DEAR))
    yield good("gate-policy", "All is as the policy says.", export(under(kept, approving(*strict))))
    yield good(
        "gate-policy-without-gate",
        "The policy says what a gate must be asked, not that there is one.",
        export(under(decided(), approving(*strict[:2]))),
    )
    yield good(
        "gate-policy-scope",
        "The narrower line counts.",
        export(under(kept, approving("* gate_factor 49", "consensus gate_factor 50"))),
    )
    for name, line, record in (
        ("factor-less", "* gate_factor 51", kept),
        ("factor-more", "* gate_factor 49", kept),
        ("rule", "* gate_rule any", kept),
        ("require", "* require gate", decided()),
    ):
        yield bad(
            f"gate-policy-{name}",
            f"18.{line.split()[1]}",
            1,
            f"The policy says `{line}`, and that is not so.",
            export(under(record, approving(line))),
        )
    for name, line, why in (
        ("no-rule", "* gate_rule most", "A policy names a rule that there is not."),
        ("factor-0", "* gate_factor 0", "A policy wants a factor of 0."),
        ("no-fact", "* require answer", "A policy requires what no opening has."),
    ):
        yield bad(f"gate-policy-{name}", "10.policy", 1, why, export(under(kept, approving(line))))
    twice = approving("* gate_rule all", "* gate_rule any")
    yield bad(
        "gate-policy-twice",
        "10.policy",
        1,
        "A scope has two lines of `gate_rule`.",
        export(under(kept, twice)),
    )


@group
def reviewed() -> Iterator[Case]:
    """A debate against the gate asks for a review."""
    yield good("gate-against", "It is reviewed and approved.", export(review(opened(gate()))))
