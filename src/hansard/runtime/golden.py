"""A golden set: questions whose answers an expert has labelled, a JSON object on each line.

    {"question": "Shall we sign with a cap of one month's fees?", "label": "not_upheld"}

`label` is what the debate is to decide: one of its options, `upheld` or `not_upheld`, or the
label or the words of a stance or position. A line may also have an `id`, and fields that stand in
place of the spec's own: `evidence`, `context` and `options`. It never says who answers.

All mistakes of a set, or the first fifty, are told at once, each with its line, and nothing is run
before. A set has a bounded number of lines that say anything, right or wrong, and each of them a
bounded size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from pydantic import Field, JsonValue

from hansard.errors import UsageError, together
from hansard.rules.fields import Name
from hansard.rules.formats import AnySpec
from hansard.rules.spec_parts import Evidence, Strict, Text
from hansard.runtime.files import LIMITS, MIB
from hansard.runtime.holding import MOST_TOGETHER, Shared, text_in, values_in
from hansard.runtime.inputs import validate
from hansard.runtime.notation import parse

MOST, MOST_BYTES = 1_000, 64 * MIB
MOST_WRONG = 50  # lines that are told at once: to find what is wrong with one may take seconds
MOST_HELD = 64 * MIB  # of memory: one emoji makes a text four times as large
_TOO_MUCH = (
    "the specs of the questions up to here state more values than are held at once; split the set "
    "here, or make the spec smaller"
)
_TOO_LONG = (
    f"the texts of the questions up to here take more than {MOST_HELD // MIB} MiB of memory "
    "together; split the set here"
)
_BOM = "\ufeff"
_LINE = re.compile(rb"\S[^\n]*").finditer
_EXAMPLE = '{"question": "…", "label": "…"}'
_UPHOLDING = {
    "upheld": "what the question proposes is so, or should be done",
    "not_upheld": "it is not so, or should not be done",
}


class GoldenLine(Strict):
    """A question of a golden set, and its right answer."""

    id: Name | None = Field(default=None, description="Default: line-1, line-2, …")
    question: Text = Field(description="In place of what the spec asks")
    label: Text = Field(description="The answer of an expert: what is to be decided")
    evidence: list[Evidence] | None = Field(
        default=None, description="In place of the spec's; files begin in the spec's folder"
    )
    context: JsonValue = Field(default=None, description="In place of the spec's")
    options: list[Name] | None = Field(default=None, description="In place of the spec's")


@dataclass(frozen=True)
class Case:
    """A question as it is run: the spec that asks it, and the choice that is right."""

    id: str
    line: int
    label: str
    spec: AnySpec


def read(
    data: bytes, name: str, specify: Callable[[Mapping[str, Any]], AnySpec], collection: str
) -> list[Case]:
    """Return the questions of a golden set, each with the spec that `specify` makes of its fields.

    Raises UsageError with every mistake: `golden.bom`, `golden.malformed`, `golden.unlabelled`,
    `golden.duplicate`, `golden.label`, `golden.empty`, `golden.too_many`, or what is wrong with
    the spec of a line, `spec.*`.
    """
    wrong: list[tuple[int, UsageError]] = []
    cases: list[Case] = []
    seen, held, shared = dict[str, int](), 0, Shared()
    size, texts = 0, set[int]()
    for number, line in _lines(data, name, wrong):
        where = f"{name}, line {number}"
        try:
            case = _case(line, where, number, specify, collection)
        except UsageError as error:
            wrong.append((number, together([error])))  # without the frames, which hold the line
            continue
        case = replace(case, spec=shared.among(case.spec))
        held, size = held + values_in(case.spec), size + text_in(case.spec, texts)
        if held > MOST_TOGETHER or size > MOST_HELD:
            said = f"{where}: {_TOO_MUCH if held > MOST_TOGETHER else _TOO_LONG}"
            wrong.append((number, UsageError("golden.too_many", said)))
            break
        cases.append(case)
        for what, key in (("id", case.id), ("question", _asked(case.spec))):
            first = seen.setdefault(f"{what} {key}", number)
            if first != number:
                said = f"{where}: line {first} has the same {what}; remove one of them"
                wrong.append((number, UsageError("golden.duplicate", said)))
    if not cases and not wrong:
        said = f"{name} holds no question; write one JSON object a line, such as {_EXAMPLE}"
        wrong.append((0, UsageError("golden.empty", said)))
    if wrong:
        raise together(each for _, each in sorted(wrong, key=lambda row: row[0]))
    return cases


def lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    r"""Yield the lines that say something, by their numbers; none is kept.

    >>> list(lines(b"a\n\nb"))
    [(1, b'a'), (3, b'b')]
    """
    number, before = 1, 0
    for found in _LINE(data):
        number += data.count(b"\n", before, found.start())
        before = found.start()
        yield number, found[0].rstrip()


def _lines(
    data: bytes, name: str, wrong: list[tuple[int, UsageError]]
) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, by their numbers; note in `wrong` what is no text.

    Nothing is read behind as many mistakes as are told at once.
    """
    for seen, (number, line) in enumerate(lines(data)):
        where = f"{name}, line {number}"
        if seen == MOST:
            said = f"{where}: put at most {MOST:,} questions into one golden set; split it here"
            wrong.append((0, UsageError("golden.too_many", said)))
            return
        if len(wrong) >= MOST_WRONG:
            said = f"{where}: it and what follows was not read; mend the lines above first"
            wrong.append((number, UsageError("golden.too_many", said)))
            return
        if len(line) > LIMITS["spec"]:
            said = f"{where}: it has more than {LIMITS['spec']:,} bytes, the most for a question"
            wrong.append((number, UsageError("golden.malformed", said)))
            continue
        try:
            text = line.decode()
        except UnicodeDecodeError:
            wrong.append((number, UsageError("golden.malformed", f"{where}: this is not UTF-8")))
            continue
        if text.startswith(_BOM):
            said = f"{where}: it begins with a byte order mark; save the file as UTF-8 without one"
            wrong.append((number, UsageError("golden.bom", said)))
        text = text.strip(_BOM)
        if text.strip():
            yield number, text


def _case(
    text: str,
    where: str,
    number: int,
    specify: Callable[[Mapping[str, Any]], AnySpec],
    collection: str,
) -> Case:
    row = _line(text, where)
    own = {name: getattr(row, name) for name in row.model_fields_set - {"id", "label"}}
    name = row.id or f"line-{number}"
    filed = {"name": name, "collection_id": collection, "gate": None}
    try:
        spec = specify({**own, **filed})
    except UsageError as error:
        told = (UsageError(row.code, f"{where}: {row.sentence}") for row in (error, *error.others))
        raise together(told) from None
    known = choices(spec)
    if not known:
        raise UsageError(
            "golden.label",
            f"{where}: no label can be right, because the spec declares nothing to choose from; "
            "give it `options`",
        )
    meant = [choice for choice, said in known.items() if row.label in (choice, said)]
    if not meant:
        raise UsageError(
            "golden.label",
            f"{where}: the debate cannot decide {row.label!r:.100}; label it with one of "
            f"{', '.join(known)}",
        )
    return Case(name, number, meant[0], spec)


def _line(text: str, where: str) -> GoldenLine:
    """Return what a line says; raises UsageError `golden.*`."""
    try:
        value = parse(text, "line.json")
    except UsageError as error:
        what = error.sentence.rpartition(": ")[2]
        raise UsageError("golden.malformed", f"{where}: this is not JSON: {what}") from None
    if not isinstance(value, dict):
        said = f'{where}: this is not a JSON object, such as {{"question": "…", "label": "…"}}'
        raise UsageError("golden.malformed", said)
    label = value.get("label")
    if label is None or label == "":
        said = f"{where}: it has no `label`; write which answer is right"
        raise UsageError("golden.unlabelled", said)
    try:
        return validate(GoldenLine, value, where)
    except UsageError as error:
        told = (UsageError("golden.malformed", row.sentence) for row in (error, *error.others))
        raise together(told) from None


def _asked(spec: AnySpec) -> str:
    """Return a digest of what makes one question another: words, documents and context."""
    documents = [(row.id, row.text, str(row.file)) for row in spec.evidence]
    return sha256(repr((spec.question, documents, spec.context)).encode()).hexdigest()


def choices(spec: AnySpec) -> dict[str, str]:
    """Return what a debate can decide for, each with its words; nothing where that is open.

    >>> from hansard.rules.formats import JudgedSpec
    >>> sides = [{"label": "ship", "stance": "Ship now."}, {"label": "wait", "stance": "Wait."}]
    >>> choices(JudgedSpec(question="Do we ship?", model="python:ask", debaters=sides))
    {'ship': 'Ship now.', 'wait': 'Wait.'}
    """
    stances = {row.stance.label: row.stance.stance for row in spec.table() if row.stance}
    if stances:
        return stances
    if spec.format == "moderated":
        return dict(_UPHOLDING)
    return {option: option for option in getattr(spec, "options", ())}
