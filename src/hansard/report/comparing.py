"""Two debates side by side: the same questions asked of both records, and which answers differ.

What is compared is what each record says once it was verified. Texts are compared whole, however
short they are shown; blobs are salted, so their names say nothing here.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import sha256
from typing import Literal, NamedTuple, get_args

from pydantic import Field

from hansard.closed import Closed
from hansard.report.display import Display
from hansard.report.outcome import reached, undecided
from hansard.report.result import Result
from hansard.report.safe import escaped, one_line
from hansard.report.words import GONE, dollars, listed, stance
from hansard.vocabulary import many

Section = Literal[
    "debate", "decision", "votes", "models", "prompts", "evidence", "findings", "cost", "open"
]
TextOf = Callable[[str], str | None]
NONE = "–"
_VERIFIED = (
    "Both records were verified before they were compared. This file proves nothing by itself: "
    "verify each record, and compare the last hashes."
)
_LENGTH = 300  # characters of a text that somebody wrote, in one cell
_HASH = 16  # characters of a hash, in one cell
_SECTIONS: tuple[str, ...] = get_args(Section)


class Side(Closed):
    """One of the two debates."""

    debate: str
    head: str = Field(description="The hash of its last entry")
    opened_at: str
    format: str
    scripted: bool = Field(description="Whether any reply came from a script or a record")
    question: str | None = Field(description="Null where the text is gone")


class Compared(Closed):
    """One question that was asked of both records, and what each answers; "–": nothing."""

    section: Section
    name: str
    one: str
    other: str
    same: bool = Field(description="Whether both say the same, also where it is shown cut short")


class Comparison(Closed):
    """Two debates side by side, row by row in one order."""

    comparison: Literal["hansard-comparison/v1"] = Field(
        default="hansard-comparison/v1", description="What this document is"
    )
    one: Side = Field(description="The debate that was named first")
    other: Side = Field(description="The debate that it is compared with")
    rows: tuple[Compared, ...] = Field(description="What was asked of both, section by section")

    def to_html(self) -> str:
        """Return one file that loads nothing: every text in it is inert."""
        return _html(self)

    @property
    def differing(self) -> tuple[Compared, ...]:
        """The rows in which the two differ."""
        return tuple(row for row in self.rows if not row.same)


_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%;table-layout:fixed;margin:0 0 2rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid #8886;
overflow-wrap:anywhere;overflow:clip}
thead th{border-bottom-width:2px}
col:first-child{width:22%}
:root{color-scheme:light dark}
"""


class _Fact(NamedTuple):
    """What a record says of one thing: as it is shown, and as it is compared."""

    section: Section
    name: str
    shown: str
    whole: object


class Debated(NamedTuple):
    """A debate to be compared: its result, how its format is shown, its texts, its last hash."""

    result: Result
    display: Display[Result]
    text: TextOf
    head: str


def compare(one: Debated, other: Debated) -> Comparison:
    """Return two debates side by side, section by section."""
    left, right = ({fact[:2]: fact for fact in _facts(*each)} for each in (one, other))
    rows = []
    for section, name in sorted({**left, **right}, key=lambda key: _SECTIONS.index(key[0])):
        here, there = left.get((section, name)), right.get((section, name))
        rows.append(
            Compared(
                section=section,
                name=name,
                one=here.shown if here else NONE,
                other=there.shown if there else NONE,
                same=here is not None and there is not None and here.whole == there.whole,
            )
        )
    return Comparison(one=_side(one), other=_side(other), rows=tuple(rows))


def _html(found: Comparison) -> str:
    style = b64encode(sha256(_STYLE.encode()).digest()).decode()
    differing, same = found.differing, tuple(row for row in found.rows if row.same)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{style}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Two debates compared</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Two debates compared</h1>
<p>{_VERIFIED}</p>
{_rows((), found, _identity(found))}
<h2>{counted(found)}</h2>
{_rows(differing, found)}
<h2>The same in both</h2>
{_rows(same, found)}
</body>
</html>
"""


def _identity(found: Comparison) -> str:
    """Return the rows that say which two debates these are."""
    labels = {"debate": "Debate", "head": "Last hash", "opened_at": "Held"}
    rows = {
        name: [getattr(side, key) for side in (found.one, found.other)]
        for key, name in labels.items()
    }
    rows["Replies"] = [
        "scripted" if side.scripted else "from models" for side in (found.one, found.other)
    ]
    return "".join(_row(name, *said) for name, said in rows.items())


def _rows(rows: Iterable[Compared], found: Comparison, more: str = "") -> str:
    """Return rows as a table, under the ids of the two debates."""
    ids = "".join(
        f'<th scope="col">{escaped(side.debate[:8])}</th>' for side in (found.one, found.other)
    )
    body = more + "".join(_row(row.name, row.one, row.other) for row in rows)
    return (
        f'<table><colgroup><col><col><col></colgroup><thead><tr><th scope="col">What</th>{ids}</tr>'
        f"</thead><tbody>{body}</tbody></table>"
    )


def _row(name: str, *said: str) -> str:
    cells = "".join(f"<td>{escaped(text)}</td>" for text in said)
    return f'<tr><th scope="row">{escaped(name)}</th>{cells}</tr>'


def counted(found: Comparison) -> str:
    """Say how much of it differs."""
    return f"{len(found.differing)} of {many(len(found.rows), 'row')} differ"


def _side(debated: Debated) -> Side:
    found = debated.result
    return Side(
        debate=found.debate,
        head=debated.head,
        opened_at=found.opened_at,
        format=found.format,
        scripted=found.scripted,
        question=found.question,
    )


def _fact(section: Section, name: str, said: object, whole: object = None) -> _Fact:
    """Return what is said of a thing; `whole` is what is compared, if that is more."""
    shown = one_line(str(said), _LENGTH)
    return _Fact(section, name, shown, str(said) if whole is None else whole)


def _written(section: Section, name: str, text: str | None) -> _Fact:
    """Return a text that somebody wrote: one that is gone is like no other."""
    if text is None:
        return _fact(section, name, GONE, object())
    return _fact(section, name, text, sha256(text.encode()).digest())


def _facts(found: Result, own: Display[Result], text: TextOf, _: str) -> Iterator[_Fact]:
    """Yield what a record says of everything that is compared; each text is read once."""
    text = cache(text)
    yield _written("debate", "Question", found.question)
    yield _fact("debate", "Format", found.format)
    yield _fact("debate", "Rounds at most", found.max_rounds)
    yield from _of_decision(found, own)
    for row in own.by_round(found):
        yield _fact("votes", *row)
    for seat in found.seats:
        served = dict.fromkeys(
            row.served or "not stated" for row in found.asked if row.seat == seat.id
        )
        asked = f"{seat.model}, served: {listed(served)}" if served else f"{seat.model}, not asked"
        yield _fact("models", f"{seat.id} ({seat.role})", asked)
        settings = [f"{key} {value}" for key, value in seat.parameters.items() if value is not None]
        if settings:
            yield _fact("models", f"Settings of {seat.id}", listed(settings))
    yield from _of_prompts(found, text)
    for document in found.evidence:
        words = text(document.sha256)
        size = GONE if words is None else many(len(words), "character")
        said = f"{size}, from round {document.from_round}"
        yield _fact("evidence", document.id, said, object() if words is None else (said, words))
    for code in dict.fromkeys(note.code for note in found.notes):
        notes = [note.message for note in found.notes if note.code == code]
        yield _fact("findings", code.replace("_", " "), "; ".join(notes))
    yield from _of_cost(found)
    for number, point in enumerate(own.points(found), 1):
        yield _fact("open", f"Point {number}", point)
    yield _fact("open", "Must look", found.review or NONE)


def _of_decision(found: Result, own: Display[Result]) -> Iterator[_Fact]:
    yield _fact("decision", "Status", found.status)
    if found.decision is None:
        yield _fact("decision", "Decision", undecided(found))
    else:
        words = found.decision_text
        yield _fact("decision", "Decision", stance(found.decision, words), words or found.decision)
        yield _fact("decision", "How", reached(found, own))
    if found.output is not None:
        yield _fact("decision", "Output", json.dumps(found.output, ensure_ascii=False))
    said = own.words(found)
    if said is not None:
        yield _fact("decision", "In words", said)


def _of_prompts(found: Result, text: TextOf) -> Iterator[_Fact]:
    for row in found.templates:
        yield _fact("prompts", f"Template {row['role']}", row["sha256"][:_HASH], row["sha256"])
    known: dict[str, _Fact] = {}  # by the name of a text: a thousand rounds may have the same
    for use in found.texts:
        if use.what != "question":
            if use.sha256 not in known:
                known[use.sha256] = _written("prompts", "", text(use.sha256))
            yield known[use.sha256]._replace(name=f"The {use.what}")


def _of_cost(found: Result) -> Iterator[_Fact]:
    used = found.totals
    yield _fact("cost", "Calls", f"{used.calls:,}, {used.failed:,} failed")
    yield _fact("cost", "Tokens", f"{used.tokens_in:,} in, {used.tokens_out:,} out")
    yield _fact("cost", "US dollars", dollars(used.cost_micro_usd))
    yield _fact("cost", "Rounds", found.rounds_run)
