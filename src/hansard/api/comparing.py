r"""Two debates side by side, and the debates of a store that were asked the same question.

>>> from hansard import open_store, run_sync
>>> def seat(request):
...     vote = "wait" if request.round == 1 and request.speaker == "bob" else "ship"
...     return {"stance": "s", "rationale": "r", "vote": vote}
>>> spec = {
...     "question": "Do we ship?",
...     "options": ["ship", "wait"],
...     "threshold": 2,
...     "max_rounds": 2,
...     "debaters": [{"id": "ann", "model": "python:seat"}, {"id": "bob", "model": "python:seat"}],
... }
>>> with open_store("sqlite:///:memory:") as store:
...     first = run_sync(spec, models={"seat": seat}, store=store)
...     again = run_sync(spec | {"threshold": 1}, models={"seat": seat}, store=store)
...     assert reruns_of(store, first.debate) == (again.debate,)
...     both = [read_record(store, made.debate) for made in (first, again)]
>>> found = compare(*both)
>>> [(row.one, row.other) for row in found.differing if row.name == "Decision"]
[('ship', 'escalate')]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.api.records import Record, read_record

if TYPE_CHECKING:
    from hansard.report.comparing import Comparison
    from hansard.store.application import Store


def compare(one: Record, other: Record) -> Comparison:
    """Return two debates side by side: decisions, votes, models, prompts, evidence, cost, and more.

    `rows` has everything in one order, `differing` what is not the same; `to_html()` gives both
    as one file that loads nothing. Raises DataError `record.altered` for a record that does
    not hold, and UsageError `record.gate` for one in which only the gate was asked.
    """
    from hansard.report.comparing import Debated
    from hansard.report.comparing import compare as side_by_side

    debated = []
    for record in (one, other):
        result = record.result()
        debated.append(Debated(result, result.display, record.text, record.head))
    return side_by_side(*debated)


def reruns_of(store: Store, debate: str) -> tuple[str, ...]:
    """Return the ids of the other debates of a store that were asked the same question.

    `debate` is an id or an unambiguous prefix of it. They come in the order in which they were
    opened; white space counts, and a question that is gone is like no other. Reads one
    entry and one text of each debate, and verifies none of them: `read_record` does. Raises
    UsageError `store.unknown` or `store.ambiguous`, and DataError `record.altered` where
    the record of `debate` does not hold.
    """
    record = read_record(store, debate)
    question = record.standing().question
    found = [] if question is None else store.asking(question)
    return tuple(name for name in found if name != record.debate)
