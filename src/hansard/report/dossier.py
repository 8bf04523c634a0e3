"""The dossier of one debate, in Markdown: a summary that comes first, then every text.

Its sections are those of the Markdown report, in the order in which somebody who answers for a
decision asks: what was decided, what needs a look, what is open, who, on what, by which models
and prompts, at what cost. What the record does not say is said. The annexes hold every text
that the record names and that is not gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hansard.report import annexes, sections
from hansard.report.display import Display
from hansard.report.formats import DISPLAYS, DebateResult
from hansard.report.result import Result
from hansard.report.signs import ids, inline, quoted, table
from hansard.report.size import Memory, require_room
from hansard.report.texts import texts_in_words
from hansard.rules.events import Event
from hansard.verify.findings import Verification
from hansard.vocabulary import many

TextOfBlob = Callable[[str], str | None]


def blocks(
    result: DebateResult, events: Iterable[Event], text_of: TextOfBlob, verified: Verification
) -> Iterator[str]:
    """Yield the dossier of a record that holds, block by block; every text in it is neutralised.

    All of it may be several times as large as the record.
    Raises DataError `report.size` where it names long texts again and again.
    """
    own: Display[Any] = DISPLAYS[result.format]
    texts = list(_texts(events, Memory().of(text_of)))  # an entry may name one text often
    require_room([result, [text for _, text in texts]])
    parts = (
        sections.head(result, own),
        own.decision(result),
        sections.output(result),
        sections.exceptions(result),
        sections.points(result, own),
        sections.people(result),
        _gaps(result),
        sections.evidence(result, own),
        sections.participants(result),
        sections.cost(result),
        annexes.begin(result),
        own.said(result),
        annexes.prompts(result),
        annexes.personas(result),
        _others(texts),
        annexes.settings(result),
        annexes.prices(result),
        annexes.others(result),
        annexes.tools(result),
        annexes.seen(result),
        _checks(verified),
        annexes.about(result, own.use(result)),
    )
    for section in parts:
        yield from section


def _gaps(result: Result) -> Iterator[str]:
    """What somebody would look for and not find."""
    unstated = sum(row.served is None for row in result.asked)
    asked = many(len(result.asked), "call")
    models = ids(result.unpriced)
    missing = {
        "No requester was recorded.": result.requester is None,
        "No owner was recorded: nobody answers for the result.": result.owner is None,
        "No type of task was recorded.": result.task_type is None,
        "No class of retention was recorded.": result.retention is None,
        "No policy was named: nobody approved the prompts.": all(
            row.code != "approved_prompts" for row in result.governance
        ),
        "The gate was not asked whether a debate was worth it.": result.gate is None,
        "No cost was estimated before the first call.": result.estimate is None,
        "No evidence was admitted.": not result.evidence,
        f"Of {unstated} of {asked} it is not known which model served it.": bool(unstated),
        f"The price of {models} is not known.": bool(result.unpriced),
        "Nobody reviewed the debate.": not result.reviewed.reviews,
        "Nobody noted what came of it.": not result.reviewed.outcomes,
        "The debate is still open.": result.status == "open",
    }
    yield "## What the record does not say"
    yield "\n".join(f"- {said}" for said, applies in missing.items() if applies) or "Nothing."


def _texts(events: Iterable[Event], text_of: TextOfBlob) -> Iterator[tuple[str, str | None]]:
    """Yield each text that no other section holds, with what it is."""
    replies: dict[str, str] = {}
    for event in events:
        data: Any = event["data"]
        for what, name in texts_in_words("annexed", event["type"], data):
            yield f"{what} (entry {event['seq']})", text_of(name)
        if event["type"] == "call.answered":
            replies[data["call"]] = data["reply"]["sha256"]
        elif event["type"] == "turn.rejected":
            what = f"Reply that does not count, to `{data['call']}` (entry {event['seq']})"
            yield what, text_of(replies[data["call"]])


def _others(texts: Sequence[tuple[str, str | None]]) -> Iterator[str]:
    """Each of these texts in full."""
    if texts:
        yield "## Texts"
        yield "The original file of a document, where it was kept, is in the export alone."
    for what, text in texts:
        yield f"{what}:"
        yield quoted(text)


def _checks(verified: Verification) -> Iterator[str]:
    """What verifying the record found just now."""
    yield "## Verification"
    caveats = f" ({inline('; '.join(verified.caveats))})" if verified.caveats else ""
    entries = many(verified.entries, "entry")
    yield f"**{verified.verdict}**{caveats}: {entries}, checked when this dossier was made."
    rows = (
        [str(row.number), row.name, row.status, inline(row.evidence)] for row in verified.checks
    )
    yield table(["check", "", "result", "found"], rows)
