"""What a debate says of itself, in rows: who asks, who answers for it, its cost, its gate.

Terminal and Markdown show the same rows in the same words; the page has its port.
"""

from __future__ import annotations

from collections.abc import Iterator

from hansard import vocabulary
from hansard.report import gating
from hansard.report.parts import Named
from hansard.report.result import Result
from hansard.report.words import GONE, dollars
from hansard.vocabulary import fill

_LABELS = vocabulary.words("said")


def people(
    requester: Named | None, owner: Named | None, **filed: str | None
) -> Iterator[tuple[str, str]]:
    """Yield who asks and who answers for it, and under what it is filed: labels and words."""
    yield _LABELS["requester"], _person(requester) or _LABELS["unasked"]
    yield _LABELS["owner"], _person(owner) or _LABELS["unanswered"]
    yield from ((_LABELS[name], words) for name, words in filed.items() if words)


def rows(result: Result) -> Iterator[tuple[str, str]]:
    """Yield each row's label and words: plain text, in which people's names stand as they are."""
    yield from people(
        result.requester,
        result.owner,
        task_type=result.task_type,
        labels=", ".join(result.labels),
        retention=result.retention,
        origin=origin(result),
        estimate=expected(result),
    )
    if result.gate:
        yield from gating.rows(result.gate)


def files(result: Result) -> Iterator[str]:
    """Yield of each document that was a file what it was, and its hash, as plain text."""
    for row in result.evidence:
        if row.source:
            digest = GONE if row.source.sha256 is None else row.source.sha256
            yield f"{row.id}: {row.source}, SHA-256 {digest}"


def _person(person: Named | None) -> str | None:
    if person is None:
        return None
    name = GONE if person.name is None else person.name
    return fill(_LABELS["keyed"], name=name, key=person.key) if person.key else name


def origin(result: Result) -> str | None:
    """Say which debate this one goes back to."""
    found = result.origin
    if found is None:
        return None
    kind = vocabulary.words("origins")[found["kind"]]
    place = "" if found["seq"] is None else fill(_LABELS["left"], seq=found["seq"])
    return f"{kind} {found['debate'] or _LABELS['none']}{place}"


def expected(result: Result) -> str | None:
    """Say what was expected before the first call, in calls and, where prices are known, cost."""
    found = result.estimate
    if found is None:
        return None
    fewest, largest = found["calls_least"], found["calls_most"]
    words = _LABELS["exactly" if fewest == largest else "calls"]
    calls = fill(words, least=fewest, most=largest)
    least, likely, most = (
        found[name]
        for name in ("cost_least_micro_usd", "cost_expected_micro_usd", "cost_most_micro_usd")
    )
    if least is None or likely is None or most is None:
        return calls
    costs = {"least": least, "likely": likely, "most": most}
    told = {name: dollars(value) for name, value in costs.items()}
    return fill(_LABELS["costs"], calls=calls, **told)
