"""Two debates side by side, and the debates of a store that were asked the same question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.api.listing import asking
from hansard.api.records import Record, read_record

if TYPE_CHECKING:
    from hansard.report.comparing import Comparison
    from hansard.store.application import Store


def compare(one: Record, other: Record) -> Comparison:
    """Return two debates side by side: decisions, votes, models, prompts, evidence, cost, and more.

    `rows` has everything in one order, `differing` what is not the same; `to_html()` gives both
    as one file that loads nothing. Raises DataError `record.altered` for a record that does
    not hold, and UsageError `record.gate` for one in which only the gate was asked.

    >>> from hansard import open_store, run_sync
    >>> def seat(request):
    ...     vote = "wait" if request.round == 1 and request.speaker == "bob" else "ship"
    ...     return {"stance": "s", "rationale": "r", "vote": vote}
    >>> seats = [{"id": name, "model": "python:seat"} for name in ("ann", "bob")]
    >>> spec = {"question": "Do we ship?", "options": ["ship", "wait"], "debaters": seats}
    >>> with open_store("sqlite:///:memory:") as store:
    ...     given = {"models": {"seat": seat}, "store": store}
    ...     runs = [run_sync({**spec, "threshold": 2, "max_rounds": n}, **given) for n in (2, 1)]
    ...     assert reruns_of(store, runs[0].debate) == (runs[1].debate,)
    ...     found = compare(*(read_record(store, made.debate) for made in runs))
    >>> [(row.one, row.other) for row in found.differing if row.name == "Decision"]
    [('ship', 'escalate')]
    """
    from hansard.report.comparing import Debated
    from hansard.report.comparing import compare as side_by_side
    from hansard.report.size import Memory

    debated, memory = [], Memory()
    for record in (one, other):
        result = record.result_within(memory)
        debated.append(Debated(result, result.display, record.text, record.head))
    return side_by_side(*debated)


def reruns_of(store: Store, debate: str) -> tuple[str, ...]:
    """Return the ids of the other debates of a store that were asked the same question.

    `debate` is an id or an unambiguous prefix of it. They come in the order in which they were
    opened; white space counts, and a question that is gone is like no other. Verifies none of
    them: `read_record` does. Raises
    UsageError `store.unknown` or `store.ambiguous`, and DataError `record.altered` where
    the record of `debate` does not hold.

    >>> from hansard import debate, open_store
    >>> with open_store("sqlite:///:memory:") as store:
    ...     given = {"format": "panel", "agents": lambda _: "Because.", "store": store}
    ...     first, again = (debate("Why?", **given) for _ in range(2))
    ...     reruns_of(store, first.debate) == (again.debate,)
    True
    """
    record = read_record(store, debate)
    question = record.standing().question
    found = [] if question is None else asking(store, question)
    return tuple(name for name in found if name != record.debate)
