"""What a gate answered in a record of its own, and what people have said of it since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, reduce
from typing import Literal

from pydantic import Field

from hansard import vocabulary
from hansard.errors import UsageError
from hansard.report import erasing, gating, reviews, said
from hansard.report.gating import GateAnswer, answered
from hansard.report.parts import Named, Reviewed
from hansard.report.reviews import Reader
from hansard.report.safe import one_line
from hansard.report.words import LINE
from hansard.rules.events import Event
from hansard.rules.fields import Blob, Person
from hansard.rules.prompts import TextOf
from hansard.rules.state import DebateState, evolve
from hansard.vocabulary import fill


class GateRecord(GateAnswer):
    """The record of a gate's answer after which no debate was held."""

    record: Literal["hansard-gate/v1"] = Field(
        default="hansard-gate/v1", description="The form of this record"
    )
    debate: str = Field(description="The id of the record")
    engine: str = Field(description="What recorded it, as in hansard/0.1.0")
    at: str = Field(description="When the gate was asked")
    question: str | None = Field(description="Null where the text is gone")
    requester: Named | None = Field(description="Who asks; null where nobody is named")
    owner: Named | None = Field(description="Who answers for it; null: nobody is named")
    labels: tuple[str, ...] = Field(description="As the spec lists them")
    retention: str | None = Field(description="The class that says how long the record is kept")
    entries: int = Field(description="How many entries the record has")
    reviewed: Reviewed = Field(description="What people say of it")
    released: Literal[False] = Field(default=False, description="Nothing was decided")


def build(events: Iterable[Event], text_of: TextOf, reader: Reader) -> GateRecord | None:
    """Fold the events of a record that holds into what is shown of it; None of a debate's."""
    left = iter(events)
    first = next(left)
    if first["type"] != "gate.answered":
        return None
    state, data = reduce(evolve, left, evolve(DebateState(), first)), first["data"]
    text_of = cache(text_of)  # people may say the same a thousand times

    def text(blob: Blob | None) -> str | None:
        return text_of(blob["sha256"]) if blob else None

    def named(person: Person | None) -> Named | None:
        return Named(name=text(person["name"]), key=person["key"]) if person else None

    gate = answered(data["gate"], text_of)
    return GateRecord(
        **(gate.model_dump() if gate else {}),
        debate=state.debate,
        engine=data["engine"],
        at=state.opened_at,
        question=text(data["question"]),
        requester=named(data["requester"]),
        owner=named(data["owner"]),
        labels=tuple(data["labels"]),
        retention=data["retention"],
        entries=state.seq,
        reviewed=reviews.reviewed(state, text, reader)[0],
    )


def refuse(events: Iterable[Event]) -> None:
    """Raise UsageError `record.gate` for the events of such a record: nothing was debated."""
    first = next(iter(events), None)
    if first and first["type"] == "gate.answered":
        short = first["debate"][:8]
        raise UsageError("record.gate", fill(vocabulary.words("gated")["refused"], debate=short))


def rows(found: GateRecord) -> Iterator[tuple[str, str]]:
    """Yield what the gate answered, who asked, and what was noted since: labels and words."""
    words = vocabulary.words("gated")

    @cache  # outcomes may name one text of blanks again and again
    def noted(text: str) -> str:
        return fill(words["note"], note=one_line(text, LINE))

    yield from gating.rows(found)
    filed = {"labels": ", ".join(found.labels), "retention": found.retention}
    yield from said.people(found.requester, found.owner, **filed)
    for row in found.reviewed.outcomes:
        note = "" if row.note is None else noted(row.note)
        key = words["unsigned"] if row.key is None else fill(words["signed"], key=row.key)
        yield words["outcome"], fill(words["noted"], label=row.label, note=note, key=key)
    people = reviews.notable(found)
    if people:
        yield vocabulary.words("reviewed")["label"], people
    yield from ((words["condition"], told) for told in reviews.conditions(found, LINE))
    yield from ((erasing.LABEL, told) for told in erasing.in_words(found.reviewed, LINE))
    yield words["at"], found.at
    yield (
        words["record"],
        fill(
            words["entries"], debate=found.debate, entries=vocabulary.many(found.entries, "entry")
        ),
    )
