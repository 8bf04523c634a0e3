"""Checks 4 and 7: objects within an entry, entries with several defects, and half characters."""

from __future__ import annotations

from collections.abc import Iterator

from conformance_kit.case import Case, bad, group
from conformance_kit.debates import decided, priced
from conformance_kit.exports import export
from conformance_kit.moderated import moderated
from conformance_kit.records import Record
from conformance_kit.stopped import stopped_before_the_synthesis


@group
def within_cases() -> Iterator[Case]:
    """§3: an object within `data` has exactly its keys, as `data` has."""
    base, argued = decided(), moderated()
    opened = base.event(1)["data"]
    late = stopped_before_the_synthesis()
    cut, turn = late.event(16)["data"]["cut"], argued.seq("turn.recorded", 2)
    case = argued.event(turn)["data"]["case"]
    (price,) = priced().event(1)["data"]["prices"]
    first, *others = opened["templates"]
    more: tuple[tuple[str, str, Record, int], ...] = (
        ("text", "question", base.data(1, question={**opened["question"], "size": 9}), 1),
        ("limits", "limits", base.data(1, limits={**opened["limits"], "words": None}), 1),
        ("template", "templates", base.data(1, templates=[{**first, "size": 9}, *others]), 1),
        ("price", "prices", priced().data(1, prices=[{**price, "currency": "usd"}]), 1),
        ("terms", "terms", base.data(1, terms={**opened["terms"], "labels": []}), 1),
        ("cut", "cut", late.data(16, cut={**cut, "step": None}), 16),
        ("turn", "case", argued.data(turn, case={**case, "vote": None}), turn),
    )
    for key, field, record, seq in more:
        why = f"An object within `{field}` has a key more."
        yield bad(f"within-{key}-unknown-key", "7.schema", seq, why, export(record))
    less = {name: value for name, value in cut.items() if name != "by"}
    none = {name: value for name, value in opened["limits"].items() if name != "calls"}
    for key, field, record, seq in (
        ("limits", "limits", base.data(1, limits=none), 1),
        ("cut", "cut", late.data(16, cut=less), 16),
    ):
        why = f"The object under `{field}` has a key less, whose value would be null."
        yield bad(f"within-{key}-missing-key", "7.schema", seq, why, export(record.pruned()))


@group
def several_cases() -> Iterator[Case]:
    """§10: how often an entry is found wrong, and as what."""
    base = decided()
    yield bad(
        "event-two-defects",
        "7.schema",
        12,
        "An entry has an outcome and a reason that there are not: that is one finding.",
        export(base.data(12, outcome="cancelled", reason="nobody_cared")),
    )
    for key, half, old, where in (
        ("low-surrogate", b"\\udc00", b"votes_reached", "string"),
        ("lone-surrogate-in-a-key", b"\\ud800", b"outcome", "key"),
    ):
        yield bad(
            f"line-{key}",
            "4.profile",
            12,
            f"A {where} is half of a surrogate pair, as an escape: it is JSON, and outside the "
            "profile.",
            export(base.swap(12, old, half)),
        )
