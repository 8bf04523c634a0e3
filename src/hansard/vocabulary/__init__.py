"""Every word that is shown in more than one place: tables that Python and the page read.

- A table is a JSON file beside this one, so that a sentence stands once for the terminal, the
  reports and the page. What a table is about, and when a row of it applies, is code elsewhere.
- A sentence names its places in braces: `{who} cites nothing for argument {arguments}`.
- A sentence that has several variants is an object of them by name.
- A note has one severity or, where its variants differ in that, several.
- A page gets all tables but that of the warnings: it shows debates, and no specs.
- The values of places are ids, numbers and other words of these tables, never a text that
  somebody wrote.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files as resources
from typing import Any, Literal, NotRequired, TypedDict

TABLES = ("checks", "governance", "notes", "words")
_PLACE = re.compile(r"\{([a-z_]+)\}")

Severity = Literal["info", "warning", "critical"]


class Altered(TypedDict):
    """What an alteration means in words: what is recorded and what follows, and what rests on it.

    `says` is for what has a value on either side; without it the sentence of the finding says
    what is wrong. `own` has what is said otherwise of one defect.
    """

    says: NotRequired[str]
    rests: NotRequired[str]
    own: NotRequired[dict[str, Altered]]


class Check(TypedDict):
    """A check of the verification: its stable name, and all that is said of it.

    `failed` is what it means that the check failed, `altered` what each defect means;
    `passed` are the sentences for what it looked at, and `findings` those for each defect,
    `differs` for any field that is not what it should be. A check that `rests_on` the walk
    is unchecked where an entry could not be followed; on replies, documents or a
    gate's answer, where one of them is gone.
    """

    name: str
    failed: str
    altered: Altered
    passed: NotRequired[str | dict[str, str]]
    findings: dict[str, str]
    rests_on: NotRequired[list[Literal["walk", "replies", "documents", "answer"]]]


class Row(TypedDict):
    """A governance row: its rule, the checks and codes of notes it rests on, what may be found."""

    name: str
    rule: str
    checks: NotRequired[list[int]]
    notes: NotRequired[list[str]]
    found: str | dict[str, str]


@cache
def table(name: str) -> Any:
    """Return the table of this name as its file spells it."""
    return json.loads((resources(__name__) / f"{name}.json").read_text(encoding="utf-8"))


@cache
def checks() -> dict[int, Check]:
    """Return the checks by their numbers (FORMAT.md §10), in order."""
    return {int(number): row for number, row in table("checks").items()}


def governance() -> dict[str, Row]:
    """Return the governance rows by their codes, in order."""
    rows: dict[str, Row] = table("governance")
    return rows


def finding(code: str, variant: str = "", **values: object) -> str:
    """Return the sentence of a finding, `<check>.<defect>`, or of the check's `variant`.

    >>> finding("12.vote")
    '`vote` is not what the reply says'
    """
    number, _, defect = code.partition(".")
    sentences = checks()[int(number)]["findings"]
    sentence = sentences.get(variant or defect) or sentences["differs"]
    return fill(sentence, field=defect, **values)


def passed(check: int, variant: str = "text", **values: object) -> str:
    """Return what a check looked at, in the variant that fits."""
    return fill(_variant(checks()[check]["passed"], variant), **values)


def note(code: str, variant: str = "text", **values: object) -> tuple[Severity, str]:
    """Return how severe the notes with this code and variant are, and their sentence."""
    severity, sentences = next(
        row for row in table("notes")[code].items() if isinstance(row[1], str) or variant in row[1]
    )
    return severity, fill(_variant(sentences, variant), **values)


def warning(code: str, **values: object) -> str:
    """Return the sentence of a warning that only a spec gives; the others are notes as well."""
    return fill(table("warnings")[code], **values)


def found(code: str, variant: str = "text", **values: object) -> str:
    """Return what was found for a governance row, in the variant that fits."""
    return fill(_variant(table("governance")[code]["found"], variant), **values)


def _variant(sentences: str | dict[str, str], variant: str) -> str:
    return sentences if isinstance(sentences, str) else sentences[variant]


def words(name: str) -> dict[str, str]:
    """Return a group of words: what each member of an enum is called, or some sentences."""
    found: dict[str, str] = table("words")[name]
    return found


def word(name: str) -> str:
    """Return a single word or sentence."""
    found: str = table("words")[name]
    return found


def many(number: int, noun: str) -> str:
    """Return a number of things.

    >>> many(1, "reply"), many(2, "reply")
    ('1 reply', '2 replies')
    """
    plural = words("nouns").get(noun, f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"


def fill(sentence: str, **values: object) -> str:
    """Return a sentence with its places filled, in one pass: a value may hold braces itself.

    >>> fill("{who} cites nothing for argument {arguments}", who="{ann}", arguments=2)
    '{ann} cites nothing for argument 2'
    """
    return _PLACE.sub(lambda place: str(values[place[1]]), sentence)
